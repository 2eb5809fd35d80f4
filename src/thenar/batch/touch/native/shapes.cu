struct Faces {  // of all hulls, see touch/solver/collision.py; a hull's first face and their number by geom
    const float4* planes;
    const int *first_beside, *beside, *hulls;
};

struct Shape {
    static __device__ __forceinline__ float miss() { return 1e30f; }
    static __device__ __forceinline__ float hit() { return 1e29f; }
    static __device__ __forceinline__ float over(float w) { return fabsf(w) > 1e-9f ? 1.0f / w : (w < 0.0f ? -1e9f : 1e9f); }
    static __device__ __forceinline__ void local(const float* R, float x, float y, float z, Real (&o)[3]) {
#pragma unroll
        for (int a = 0; a < 3; ++a) o[a] = R[a] * x + R[3 + a] * y + R[6 + a] * z;
    }
    // Where a line enters a hull: from face to face, each time to the one beside it that the line meets last.
    static __device__ __noinline__ float hull(const Faces& faces, int first, int count, const Real (&x)[3], const Real (&w)[3], int& face) {
        float toward = 0.0f, entry = 0.0f;
        if (face < 0) {  // begin at the one that looks most towards the line
            float least = 1.0f;
            for (int k = first; k < first + count; ++k) {
                const float4 q = faces.planes[k];
                toward = q.x * w[0] + q.y * w[1] + q.z * w[2];
                if (toward < least) { least = toward; face = k; }
            }
        }
        const float4 q = faces.planes[face];
        toward = q.x * w[0] + q.y * w[1] + q.z * w[2];
        entry = (q.w - (q.x * x[0] + q.y * x[1] + q.z * x[2])) / toward;
        for (int step = 0; step < count; ++step) {
            int best = face;
            float latest = entry;
            bool missed = false;
            for (int k = faces.first_beside[face]; k < faces.first_beside[face + 1]; ++k) {
                const int other = faces.beside[k];
                const float4 o = faces.planes[other];
                const float along = o.x * w[0] + o.y * w[1] + o.z * w[2], away = o.w - (o.x * x[0] + o.y * x[1] + o.z * x[2]);
                if (along < -1e-6f) {
                    if (away < latest * along) { best = other; latest = away / along; }
                } else if (away < entry * along - 1e-9f) {
                    missed = true;
                }
            }
            if (best == face) return missed ? miss() : entry;
            face = best;
            entry = latest;
        }
        return miss();
    }
    // Where lines along w through s + u a + v b enter a shape, for a column of cells: the skin's heights (-t), or gaps.
    // A round entry is base + u cu + v cv + q / (c + sqrt(c^2 - q)) f with q a sum of squares that are linear in u and
    // v: no difference of large numbers, so single precision resolves gaps of nanometres.
    static __device__ __forceinline__ void enter(
        int kind, const float* size, const Faces& faces, int geom, const Real (&s)[3], const Real (&a)[3],
        const Real (&b)[3], const Real (&w)[3], float u0, float du, float v, bool is_skin, int rows, float* height,
        float* gap) {
        const float r = size[0], half = size[1];
        const float su = s[0] * a[0] + s[1] * a[1] + s[2] * a[2], sv = s[0] * b[0] + s[1] * b[1] + s[2] * b[2] + v;
        const float sw = s[0] * w[0] + s[1] * w[1] + s[2] * w[2];
        float base = 0.0f, cu = 0.0f, c = 1.0f, f = 1.0f;
        float k0 = 0.0f, k1 = 0.0f, l0 = 0.0f, l1 = 0.0f, m0 = 0.0f, m1 = 0.0f, h0 = 1e9f, h1 = 1e9f, h2 = 0.0f, iw = 0.0f;
        if (kind == 2) {  // sphere
            base = -sw - r; c = r; k0 = su; k1 = 1.0f; l0 = sv;
        } else if (kind == 3 || kind == 5) {  // the side of a capsule or cylinder along z
            const float A = w[0] * w[0] + w[1] * w[1];
            f = A > 1e-12f ? 1.0f / A : 0.0f;
            c = r * sqrtf(A);
            base = f > 0.0f ? -(s[0] * w[0] + s[1] * w[1] + c) * f - v * (b[0] * w[0] + b[1] * w[1]) * f : -1e9f;
            cu = -(a[0] * w[0] + a[1] * w[1]) * f;
            k0 = s[0] * w[1] - s[1] * w[0] + v * (b[0] * w[1] - b[1] * w[0]); k1 = a[0] * w[1] - a[1] * w[0];
            iw = over(w[2]);
        } else if (kind == 4) {  // an ellipsoid is a unit sphere after scaling
            const float x = 1.0f / r, y = 1.0f / half, z = 1.0f / size[2];
            const float wx = w[0] * x, wy = w[1] * y, wz = w[2] * z, A = wx * wx + wy * wy + wz * wz;
            const float px = (s[0] + v * b[0]) * x, py = (s[1] + v * b[1]) * y, pz = (s[2] + v * b[2]) * z;
            const float ax = a[0] * x, ay = a[1] * y, az = a[2] * z;
            c = sqrtf(A); f = 1.0f / A;
            base = -(s[0] * x * wx + s[1] * y * wy + s[2] * z * wz + c) * f
                   - v * (b[0] * x * wx + b[1] * y * wy + b[2] * z * wz) * f;
            cu = -(ax * wx + ay * wy + az * wz) * f;
            k0 = py * wz - pz * wy; k1 = ay * wz - az * wy;
            l0 = pz * wx - px * wz; l1 = az * wx - ax * wz;
            m0 = px * wy - py * wx; m1 = ax * wy - ay * wx;
        } else {  // box or plane: slabs
            const float i0 = over(w[0]), i1 = over(w[1]), i2 = over(w[2]);
            k0 = -s[0] * i0 - v * b[0] * i0; k1 = -a[0] * i0;
            l0 = -s[1] * i1 - v * b[1] * i1; l1 = -a[1] * i1;
            m0 = -s[2] * i2 - v * b[2] * i2; m1 = -a[2] * i2;
            if (kind == 6) { h0 = r * fabsf(i0); h1 = half * fabsf(i1); h2 = size[2] * fabsf(i2); }
        }
        int face = -1;
#pragma unroll 2
        for (int i = 0; i < rows; ++i) {
            const float u = u0 + i * du, k = k0 + u * k1, l = l0 + u * l1, m = m0 + u * m1;
            float t = miss();
            if (kind >= 2 && kind <= 5) {
                const float q = k * k + l * l + m * m, in = c * c - q, root = sqrtf(fmaxf(in, 0.0f));
                float first = base + u * cu + __fdividef(q, c + root) * f;
                bool ok = in > 0.0f;
                if (kind == 3) {  // beyond the straight part there are round ends
                    const float at = s[2] + u * a[2] + v * b[2] + first * w[2];
                    if (f == 0.0f || fabsf(at) > half) {
                        const float end = f == 0.0f ? (w[2] < 0.0f ? half : -half) : at > 0.0f ? half : -half;
                        const float eu = u + su - end * a[2], ev = sv - end * b[2], e = eu * eu + ev * ev, left = r * r - e;
                        first = -(sw - end * w[2]) - r + __fdividef(e, r + sqrtf(fmaxf(left, 0.0f)));
                        ok = left > 0.0f;
                    }
                } else if (kind == 5) {  // flat ends
                    const float z = s[2] + u * a[2] + v * b[2], zi = -z * iw, zh = half * fabsf(iw);
                    const float x = s[0] + u * a[0] + v * b[0], y = s[1] + u * a[1] + v * b[1];
                    const float last = f == 0.0f ? 1e9f : first + 2.0f * root * f;
                    ok = f == 0.0f ? x * x + y * y <= r * r : ok;
                    first = fmaxf(first, zi - zh);
                    ok = ok && first <= fminf(last, zi + zh);
                }
                t = ok ? first : miss();
            } else if (kind == 6) {
                const float first = fmaxf(fmaxf(k - h0, l - h1), m - h2);
                t = first <= fminf(fminf(k + h0, l + h1), m + h2) ? first : miss();
            } else if (kind == 0) {
                t = w[2] < 0.0f ? m : miss();
            } else if (HULLS && kind == 7) {
                const float x[3] = {s[0] + u * a[0] + v * b[0], s[1] + u * a[1] + v * b[1], s[2] + u * a[2] + v * b[2]};
                t = hull(faces, faces.hulls[2 * geom], faces.hulls[2 * geom + 1], x, w, face);
            }
            if (is_skin) height[i * G] = -t;
            else if (height[i * G] > -hit() && t < hit()) gap[i * G] = fminf(gap[i * G], t - height[i * G]);
        }
    }
};
