struct Inset {  // how far a cell reaches towards edges: a word of four times seven bits, in 64 steps; and whether it is a wall
    enum : int { WALL = 1 << 28 };
    static __device__ __forceinline__ float at(int word, int side) {
        const int steps = word >> 7 * side & 127;
        return steps ? 0.02f + 0.98f / 64.0f * (steps - 1) - 0.5f : 0.0f;
    }
    static __device__ __forceinline__ float wide(int word, int axis) { return 1.0f + at(word, 2 * axis) + at(word, 2 * axis + 1); }
    static __device__ __forceinline__ float shift(int word, int axis) { return 0.5f * (at(word, 2 * axis + 1) - at(word, 2 * axis)); }
    // What such a cell adds to the influence on itself of a whole one with the same force.
    static __device__ __forceinline__ float middle(float a, float b) { return 2.0f * (a * asinhf(b / a) + b * asinhf(a / b)); }
    static __device__ __noinline__ float own(int word, float aspect) {
        const float u = wide(word, 0), v = wide(word, 1);
        return (middle(u, v * aspect) / (u * v) - middle(1.0f, aspect)) * 0.31830989f;
    }
};

struct Net {  // what neighbours press away under a window, at the nodes of a net over it
    enum { SIDE = 8, NODES = 81 };
    static __device__ __forceinline__ float at(const float* net, float x, float y) {  // from 0 to 8
        const int p = min((int)x, SIDE - 1), q = min((int)y, SIDE - 1);
        const float* const n = net + p * (SIDE + 1) + q;
        const float low = fmaf(y - q, n[1] - n[0], n[0]), high = fmaf(y - q, n[SIDE + 2] - n[SIDE + 1], n[SIDE + 1]);
        return fmaf(x - p, high - low, low);
    }
};
