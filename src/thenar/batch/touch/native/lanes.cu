struct Lanes {  // reductions over the lanes of a window
    static __device__ __forceinline__ float sum(float x) {
#pragma unroll
        for (int o = LW / 2; o; o >>= 1) x += __shfl_xor_sync(ALL, x, o);
        return x;
    }
    static __device__ __forceinline__ float least(float x) {
#pragma unroll
        for (int o = LW / 2; o; o >>= 1) x = fminf(x, __shfl_xor_sync(ALL, x, o));
        return x;
    }
    static __device__ __forceinline__ unsigned mix(unsigned x) {
#pragma unroll
        for (int o = LW / 2; o; o >>= 1) x ^= __shfl_xor_sync(ALL, x, o);
        return x;
    }
    static __device__ __forceinline__ unsigned any(unsigned x) {
#pragma unroll
        for (int o = LW / 2; o; o >>= 1) x |= __shfl_xor_sync(ALL, x, o);
        return x;
    }
};

struct Plane {  // three equations by Cramer's rule; m is 00 01 02 11 12 22
    static __device__ __forceinline__ void solve(const Real (&m)[6], float x, float y, float z, Real (&o)[3]) {
        const float c0 = m[3] * m[5] - m[4] * m[4], c1 = m[4] * m[2] - m[1] * m[5], c2 = m[1] * m[4] - m[3] * m[2];
        const float inv = 1.0f / (m[0] * c0 + m[1] * c1 + m[2] * c2);
        o[0] = (x * c0 + y * c1 + z * c2) * inv;
        o[1] = (x * c1 + y * (m[0] * m[5] - m[2] * m[2]) + z * (m[1] * m[2] - m[0] * m[4])) * inv;
        o[2] = (x * c2 + y * (m[1] * m[2] - m[0] * m[4]) + z * (m[0] * m[3] - m[1] * m[1])) * inv;
    }
};
