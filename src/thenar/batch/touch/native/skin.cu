struct Skin {
    static __device__ __forceinline__ void local(const float* R, float x, float y, float z, Real (&o)[3]) {
#pragma unroll
        for (int a = 0; a < 3; ++a) o[a] = R[a] * x + R[3 + a] * y + R[6 + a] * z;
    }
    static __device__ __forceinline__ float dot(const Real (&a)[3], const float* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
    // Height of the skin over a point of the window's plane, and the outward normal there (of any length).
    static __device__ __forceinline__ float height(int kind, const float* size, const Real (&p)[3], const Real (&n)[3], Real (&N)[3]) {
        const float w0 = -n[0], w1 = -n[1], w2 = -n[2];
        float t = 0.0f;
        if (kind == 6) {  // box: the face that a line meets last
            const float i0 = fabsf(w0) > 1e-9f ? 1.0f / w0 : 1e9f, i1 = fabsf(w1) > 1e-9f ? 1.0f / w1 : 1e9f, i2 = fabsf(w2) > 1e-9f ? 1.0f / w2 : 1e9f;
            const float t0 = -p[0] * i0 - size[0] * fabsf(i0), t1 = -p[1] * i1 - size[1] * fabsf(i1), t2 = -p[2] * i2 - size[2] * fabsf(i2);
            t = fmaxf(fmaxf(t0, t1), t2);
            N[0] = t == t0 ? -w0 : 0.0f; N[1] = t != t0 && t == t1 ? -w1 : 0.0f; N[2] = t != t0 && t != t1 ? -w2 : 0.0f;
        } else if (kind == 4) {  // ellipsoid
            const float a = 1.0f / size[0], b = 1.0f / size[1], c = 1.0f / size[2];
            const float wx = w0 * a, wy = w1 * b, wz = w2 * c, px = p[0] * a, py = p[1] * b, pz = p[2] * c;
            const float A = wx * wx + wy * wy + wz * wz, B = px * wx + py * wy + pz * wz, root = sqrtf(A);
            const float X = py * wz - pz * wy, Y = pz * wx - px * wz, Z = px * wy - py * wx, q = X * X + Y * Y + Z * Z;
            t = (-(B + root) + __fdividef(q, root + sqrtf(fmaxf(A - q, 0.0f)))) / A;
            N[0] = (px + t * wx) * a; N[1] = (py + t * wy) * b; N[2] = (pz + t * wz) * c;
        } else {  // round about z: sphere, capsule, cylinder
            const float r = size[0], half = kind == 2 ? 0.0f : size[1], A = w0 * w0 + w1 * w1;
            float at = w2 < 0.0f ? 1e9f : -1e9f;  // a line along the axis meets the end that it comes from
            if (A > 1e-12f) {
                const float B = p[0] * w0 + p[1] * w1, X = p[0] * w1 - p[1] * w0, root = r * sqrtf(A), q = X * X;
                t = __fdividef(-(B + root) + __fdividef(q, root + sqrtf(fmaxf(root * root - q, 0.0f))), A);
                at = p[2] + t * w2;
            }
            const float end = fminf(fmaxf(at, -half), half);
            if (end != at && kind != 5) {
                const float z = p[2] - end, B = p[0] * w0 + p[1] * w1 + z * w2;
                const float X = p[1] * w2 - z * w1, Y = z * w0 - p[0] * w2, Z = p[0] * w1 - p[1] * w0, q = X * X + Y * Y + Z * Z;
                t = -(B + r) + __fdividef(q, r + sqrtf(fmaxf(r * r - q, 0.0f)));
            }
            N[0] = p[0] + t * w0; N[1] = p[1] + t * w1; N[2] = p[2] + t * w2 - end;
        }
        return -t;
    }
};
