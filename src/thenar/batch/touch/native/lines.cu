struct Lines {  // lines along a contact's normal, asked one at a time where they enter skin and object
    const float *R, *X, *sizes;  // of the world's geoms
    const int *kinds, *parts;
    Faces faces;
    int skin, first, end;
    float o[3], e[3], f[3], n[3];
    __device__ __noinline__ void measure(float u, float v, Real* height, Real* gap) const {
        *height = -Shape::miss();
        *gap = Shape::miss();
#pragma unroll 1
        for (int part = first - 1; part < end; ++part) {
            const bool is_skin = part < first;
            const int geom = is_skin ? skin : parts[part];
            const float* const r = R + geom * 9;
            const float* const x = X + geom * 3;
            const float way = is_skin ? -1.0f : 1.0f;
            float at[3], la[3], lb[3], lw[3];
            Shape::local(r, o[0] - x[0], o[1] - x[1], o[2] - x[2], at);
            Shape::local(r, e[0], e[1], e[2], la);
            Shape::local(r, f[0], f[1], f[2], lb);
            Shape::local(r, way * n[0], way * n[1], way * n[2], lw);
            Shape::enter(kinds[geom], sizes + geom * 3, faces, geom, at, la, lb, lw, u, 0.0f, v, is_skin, 1, height, gap);
            if (*height < -Shape::hit()) return;
        }
    }
    // Does a line meet skin and object, and not a wall of the object? The step is towards the edge that may be there;
    // the rise is that from a step behind, see touch/solver/gap.py.
    __device__ __noinline__ bool over(float u, float v, float du, float dv) const {
        float height, here, behind;
        measure(u, v, &height, &here);
        if (here >= Shape::hit()) return false;
        measure(u - du, v - dv, &height, &behind);
        return here - behind < 3.0f * sqrtf(du * du + dv * dv);
    }
};
