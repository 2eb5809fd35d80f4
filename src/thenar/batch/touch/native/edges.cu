// Windows whose patch ends at edges of object or skin, see touch/solver/edges.py and gap.py: parts of solve.cu, each at the
// word that stands above it.
//: EDGES
struct Edge {  // edges that cut a patch, see touch/solver/edges.py; sides are low and high u, low and high v
    enum { PROBES = 8, LEFT = 3, RECORD = 5 };
    // First and last row, first and last column with pressure; -1: none.
    static __device__ __forceinline__ void extent(const float* p, int grid, int stride, int lane, Whole (&o)[4]) {
        unsigned rows = 0u, cols = 0u;
#pragma unroll 1
        for (int k = lane; k < grid * grid; k += 32)
            if (p[k / grid * stride + k % grid] > 0.0f) { rows |= 1u << k / grid; cols |= 1u << k % grid; }
        rows = Lanes::any(rows);
        cols = Lanes::any(cols);
        o[0] = __ffs(rows) - 1; o[1] = 31 - __clz(rows); o[2] = __ffs(cols) - 1; o[3] = 31 - __clz(cols);
    }
    // Where a probe starts in the middle of the patch, where it is near a side and where beyond; its place across.
    static __device__ __forceinline__ void place(
        const float4& lie, int grid, const Whole (&extent)[4], unsigned cut, int side, float share, Real (&o)[4]) {
        const int axis = side >> 1, first = extent[2 * axis], last = extent[2 * axis + 1];
        const int low = extent[2 - 2 * axis], high = extent[3 - 2 * axis];
        const float cell = axis ? lie.x * lie.y : lie.x, other = axis ? lie.x : lie.x * lie.y, half = 0.5f * (grid - 1);
        const float centre = axis ? lie.w : lie.z, across = axis ? lie.z : lie.w;
        const int sign = side & 1 ? 1 : -1, border = side & 1 ? grid - 1 : 0;
        int end = side & 1 ? last : first, reach = 1;
        if (cut >> side & 1u && abs(border - end) <= LEFT) { end = border; reach = LEFT; }
        o[0] = centre + (0.5f * (first + last) - half) * cell;
        o[1] = centre + (end - sign - half) * cell;
        o[2] = centre + (end + reach * sign - half) * cell;
        o[3] = across + (low + share * (high - low) - half) * other;
    }
    // Puts the window's borders on the edges that cut the patch, or gives the angle by which it should be turned first.
    static __device__ __noinline__ int lay(
        const Lines& lines, float4& lie, int grid, const Whole (&extent)[4], unsigned& cut, bool& edged,
        float most_turn, float* edge, int lane, Real& angle) {
        const float none = 1e30f, goes_on = 2e30f;
        float ends[4] = {
            lie.z - 0.5f * grid * lie.x, lie.z + 0.5f * grid * lie.x,
            lie.w - 0.5f * grid * lie.x * lie.y, lie.w + 0.5f * grid * lie.x * lie.y};
        if (extent[1] < 0) return KEPT;
        __syncwarp();
#pragma unroll 1
        for (int k = lane; k < 4 * PROBES; k += 32) {
            const int side = k / PROBES;
            float at[4];
            place(lie, grid, extent, cut, side, (k - side * PROBES + 0.5f) / PROBES, at);
            const float step = 0.05f * (side & 1 ? 1.0f : -1.0f) * (side < 2 ? lie.x : lie.x * lie.y);
            const float du = side < 2 ? step : 0.0f, dv = side < 2 ? 0.0f : step;
            float inside = at[0], outside = at[2], found = none;
            bool looks = true;  // the first three lines: beyond the side, near it, in the middle; then bisections
#pragma unroll 1
            for (int look = 0; looks && look < 11; ++look) {
                const float here = look == 0 ? outside : look == 1 ? at[1] : look == 2 ? at[0] : 0.5f * (inside + outside);
                const bool is = lines.over(side < 2 ? here : at[3], side < 2 ? at[3] : here, du, dv);
                if (look == 0 && is) { found = goes_on; looks = false; }
                else if (look == 1 && is) { inside = here; look = 2; }
                else if (look == 2 && !is) looks = false;
                else if (look > 2) { if (is) inside = here; else outside = here; }
            }
            edge[k] = looks ? inside : found;
        }
        __syncwarp();
        unsigned now = 0u, seen = 0u;
        int change = KEPT, count = 0;
        float cosine = 0.0f, sine = 0.0f;
        edged = false;
#pragma unroll 1
        for (int side = 0; side < 4; ++side) {
            const float* const e = edge + side * PROBES;
            const float sign = side & 1 ? 1.0f : -1.0f, cell = side < 2 ? lie.x : lie.x * lie.y, other = side < 2 ? lie.x * lie.y : lie.x;
            const float across = (side < 2 ? extent[3] - extent[2] : extent[1] - extent[0]) * other / PROBES;
            bool all = true, any = false;
            float far = none;
#pragma unroll 1
            for (int k = 0; k < PROBES; ++k) {
                all = all && e[k] < goes_on;
                if (e[k] >= none) continue;
                any = true;
                float at = e[k];
                if (k == 0 || k == PROBES - 1) {  // a slanted edge goes on beyond the last probe, to the end of the patch
                    const float beside = e[k == 0 ? 1 : PROBES - 2];
                    if (beside < none && sign * (at - beside) > 0.0f) at += (0.5f + PROBES / 44.0f) * (at - beside);
                }
                if (far >= none || sign * (at - far) > 0.0f) far = at;
                if (k > 0 && e[k - 1] < none && across > 0.0f) {
                    const float t = (e[k] - e[k - 1]) / across * (side < 2 ? -1.0f : 1.0f), q = 1.0f / (1.0f + t * t);
                    const float c = (1.0f - t * t) * q, s = 2.0f * t * q;  // of twice the angle
                    cosine += c * c - s * s; sine += 2.0f * c * s;
                    ++count;
                    seen |= 1u << (side >> 1);
                }
            }
            if (!any) continue;
            edged = true;
            if (all) {
                now |= 1u << side;
                if (fabsf(far - ends[side]) > 0.02f * cell) { ends[side] = far; change = RESIZED; }
            }
        }
        cut = now;
        const float shape = (extent[1] - extent[0] + 1) / ((extent[3] - extent[2] + 1) * lie.y);
        angle = 0.25f * atan2f(sine, cosine);
        if (seen == 3u && sqrtf(cosine * cosine + sine * sine) >= 0.6f * count && fabsf(angle) > most_turn
            && fmaxf(shape, 1.0f / shape) <= 3.0f) return TURNED;
        if (change == RESIZED) {
            lie.z = 0.5f * (ends[0] + ends[1]); lie.w = 0.5f * (ends[2] + ends[3]);
            lie.y = fminf(fmaxf((ends[3] - ends[2]) / (ends[1] - ends[0]), 0.015625f), 64.0f);
            lie.x = fmaxf(ends[1] - ends[0], (ends[3] - ends[2]) / lie.y) / grid;
        }
        return change;
    }
    // Where a window lies that is turned by an angle, around its patch.
    static __device__ __noinline__ void turn(const float* p, int grid, int stride, int lane, float angle, float4& lie) {
        const float cell_u = lie.x, cell_v = lie.x * lie.y, half = 0.5f * (grid - 1), cell = 0.5f * (cell_u + cell_v);
        float sn, cs, ax = 1e9f, bx = 1e9f, ay = 1e9f, by = 1e9f;
        sincosf(angle, &sn, &cs);
#pragma unroll 1
        for (int k = lane; k < grid * grid; k += 32)
            if (p[k / grid * stride + k % grid] > 0.0f) {
                const float u = lie.z + (k / grid - half) * cell_u, v = lie.w + (k % grid - half) * cell_v;
                const float x = u * cs + v * sn, y = v * cs - u * sn;
                ax = fminf(ax, x); bx = fminf(bx, -x); ay = fminf(ay, y); by = fminf(by, -y);
            }
        ax = Lanes::least(ax); bx = -Lanes::least(bx); ay = Lanes::least(ay); by = -Lanes::least(by);
        const float wide_u = 1.02f * (bx - ax + 1.6f * cell), wide_v = 1.02f * (by - ay + 1.6f * cell);
        lie.y = fminf(fmaxf(wide_v / wide_u, 0.015625f), 64.0f);
        lie.x = fmaxf(wide_u, wide_v / lie.y) / grid;
        lie.z = 0.5f * (ax + bx); lie.w = 0.5f * (ay + by);
    }
};
//: FOLLOW
        // Where nothing has moved by a part of a cell since edges were looked for, they are where they were.
        float4* const record = reinterpret_cast<float4*>(anchor.data) + (size_t)slot * Edge::RECORD;
        const float* const body_X = reinterpret_cast<const float*>(body_xpos.data) + ((size_t)who.z * bodies + who.y) * 3;
        const float* const skin_X = reinterpret_cast<const float*>(geom_xpos.data) + (geom0 + who.x) * 3;
        if (!COLD) {
            const float most_u = (cuts & 3u ? 0.02f : 0.1f) * lie.x, most_v = (cuts & 12u ? 0.02f : 0.1f) * lie.x * lie.y;
            rests = true;
#pragma unroll 1
            for (int k = 0; k < 2; ++k) {
                const float* const R = k ? body_R : skin_R;
                const float* const X = k ? body_X : skin_X;
                const float4 at = record[1 + 2 * k], up = record[2 + 2 * k];
                const float dx = R[0] * at.x + R[1] * at.y + R[2] * at.z + X[0] - ox, dy = R[3] * at.x + R[4] * at.y + R[5] * at.z + X[1] - oy;
                const float dz = R[6] * at.x + R[7] * at.y + R[8] * at.z + X[2] - oz;
                const float tx = R[0] * up.x + R[1] * up.y + R[2] * up.z - nx, ty = R[3] * up.x + R[4] * up.y + R[5] * up.z - ny;
                const float tz = R[6] * up.x + R[7] * up.y + R[8] * up.z - nz;
                rests = rests && fabsf(dx * ex + dy * ey + dz * ez) < most_u && fabsf(dx * fx + dy * fy + dz * fz) < most_v
                        && tx * tx + ty * ty + tz * tz < 2.5e-7f;
            }
        }
        if (!polish && !rests && (warm || settle)) {  // borders go onto the edges that cut the patch, see touch/solver/frame.py
            if (untouched && warm) {  // where a patch ends at edges it moves with the object that has them
                const float4 a = record[0];
                const float ax = body_R[0] * a.x + body_R[1] * a.y + body_R[2] * a.z + body_X[0] - ox;
                const float ay = body_R[3] * a.x + body_R[4] * a.y + body_R[5] * a.z + body_X[1] - oy;
                const float az = body_R[6] * a.x + body_R[7] * a.y + body_R[8] * a.z + body_X[2] - oz;
                if (cuts & 3u) lie.z = ax * ex + ay * ey + az * ez;
                if (cuts & 12u) lie.w = ax * fx + ay * fy + az * fz;
                net_lie = lie;
            }
            Lines lines = {
                reinterpret_cast<const float*>(geom_xmat.data) + geom0 * 9, reinterpret_cast<const float*>(geom_xpos.data) + geom0 * 3,
                sizes, geom_kind.data, parts.data, faces, who.x, first_part.data[who.y], first_part.data[who.y + 1],
                {ox, oy, oz}, {ex, ey, ez}, {fx, fy, fz}, {nx, ny, nz}};
            int from_grid = untouched ? what.x : G, stride = from_grid == 14 ? 16 : from_grid, change = KEPT;
            // Pressures wait in shared memory, where all lanes see all cells.
            float* const from = shared_height[warp][0];
            __syncwarp();
            if (untouched) {
                for (int k = lane; k < from_grid * stride; k += 32) from[k] = stored[k];
            } else if (on) {
#pragma unroll
                for (int i = 0; i < G; ++i) heights[i * G] = p[i];
            }
            __syncwarp();
            bool turned = false;
#pragma unroll 1
            for (int look = 0; look < 2; ++look) {
                int extent[4];
                float angle = 0.0f;
                Edge::extent(from, from_grid, stride, lane, extent);
                const float most = look ? 10.0f : !settle ? 0.02f : from_grid != G ? 0.005f : 10.0f;
                change = Edge::lay(
                    lines, lie, from_grid, extent, cuts, edged, most, shared_edge[warp], lane, angle);
                if (change != TURNED) break;
                const float4 was = lie;
                const float wx = ex, wy = ey, wz = ez, gx = fx, gy = fy, gz = fz;
                float sn, cs;
                Edge::turn(from, from_grid, stride, lane, angle, lie);
                sincosf(angle, &sn, &cs);
                ex = cs * wx + sn * gx; ey = cs * wy + sn * gy; ez = cs * wz + sn * gz;
                fx = cs * gx - sn * wx; fy = cs * gy - sn * wy; fz = cs * gz - sn * wz;
                cuts = 0u;
                turned = true;
                if (settle) break;
                lie.x *= (float)from_grid / G;
                CARRY
                __syncwarp();
                if (on) {
#pragma unroll
                    for (int i = 0; i < G; ++i) heights[i * G] = p[i];
                }
                __syncwarp();
                from_grid = stride = G;
                lines.e[0] = ex; lines.e[1] = ey; lines.e[2] = ez;
                lines.f[0] = fx; lines.f[1] = fy; lines.f[2] = fz;
            }
            if (settle) {
                settle = false;
                turns = MAX_TURNS;
                const bool stays = !edged && change != TURNED;  // there are no edges
                if (stays && untouched) { then = SMOOTH; break; }
                if (stays || (change == KEPT && from_grid == G)) polish = warm = true;
                else lie.x *= (float)from_grid / G;
            } else if (!edged && (which == AT_EDGES || (untouched && what.x != G))) {
                then = SMOOTH;
                break;
            } else if (from_grid != G) {
                const float4 was = lie;
                const float wx = ex, wy = ey, wz = ez, gx = fx, gy = fy, gz = fz;
                lie.x *= (float)from_grid / G;
                CARRY
            } else if (untouched && !turned && on) {
#pragma unroll
                for (int i = 0; i < G; ++i) p[i] = heights[i * G];
            }
            __syncwarp();
            untouched = false;
        }
//: CARRY
                {  // the cells take over the pressures of those that lay there before
                    const float c = ex * wx + ey * wy + ez * wz, d = ex * gx + ey * gy + ez * gz, half = 0.5f * (from_grid - 1);
                    const float vv = lie.w + (col - middle) * lie.x * lie.y;
#pragma unroll
                    for (int i = 0; i < G; ++i) {
                        const float u = lie.z + (i - middle) * lie.x;
                        const int row = __float2int_rn((u * c - vv * d - was.z) / was.x + half);
                        const int column = __float2int_rn((u * d + vv * c - was.w) / (was.x * was.y) + half);
                        p[i] = on && row >= 0 && row < from_grid && column >= 0 && column < from_grid ? from[row * stride + column] : 0.0f;
                    }
                }
//: REACH
        {  // Cells beside an edge reach as far as it does and are measured in their new middles; walls have no gap.
            const Lines lines = {
                reinterpret_cast<const float*>(geom_xmat.data) + geom0 * 9, reinterpret_cast<const float*>(geom_xpos.data) + geom0 * 3,
                sizes, geom_kind.data, parts.data, faces, who.x, part_first, part_end,
                {ox, oy, oz}, {ex, ey, ez}, {fx, fy, fz}, {nx, ny, nz}};
            int* const list = reinterpret_cast<int*>(shared_edge[warp]);
            int listed = 0;
            for (int k = lane; k < G * G; k += 32) {
                shared_word[warp][k] = rests ? insets.data[(size_t)slot * SLOT + k] : 0;
                shared_own[warp][k] = 0.0f;
            }
            __syncwarp();
#pragma unroll 1
            for (int k = rests ? 4 * G + 1 : 0; k <= 4 * G; ++k) {  // cells beside which the gap jumps are listed, and looked at 32 at a time
                const int i = k >> 2, d = k & 3, sign = d & 1 ? 1 : -1, beside = d < 2 ? sign * G : sign;
                bool wanted = false;
                if (k < 4 * G && on) {
                    const int at = d < 2 ? i + sign : col + sign;
                    wanted = at >= 0 && at < G && gaps[i * G] < Shape::hit()
                             && gaps[i * G + beside] - gaps[i * G] >= 0.5f * (d < 2 ? cell_u : cell_v);
                }
                const unsigned all = __ballot_sync(ALL, wanted);
                if (wanted) list[listed + __popc(all & ((1u << lane) - 1u))] = (i * G + col) << 2 | d;
                listed += __popc(all);
                if (listed < 32 && k < 4 * G) continue;
                __syncwarp();
                const int item = lane < listed ? list[lane] : -1, later = 32 + lane < listed ? list[32 + lane] : 0;
                if (item >= 0) {
                    const int cell = item >> 2, side = item & 3, step = side & 1 ? 1 : -1;
                    const float du = side < 2 ? step * cell_u : 0.0f, dv = side < 2 ? 0.0f : step * cell_v;
                    const float u = lie.z + (cell / G - middle) * cell_u, w = lie.w + (cell % G - middle) * cell_v;
                    if (!lines.over(u + du, w + dv, 0.05f * du, 0.05f * dv)) {
                        int inside = 0;  // in 64 steps
#pragma unroll 1
                        for (int half = 32; half; half >>= 1) {
                            const float share = 0.02f + 0.98f / 64.0f * (inside + half);
                            if (lines.over(u + share * du, w + share * dv, 0.05f * du, 0.05f * dv)) inside += half;
                        }
                        atomicOr(shared_word[warp] + cell + (side < 2 ? step * G : step), (int)Inset::WALL);
                        atomicOr(shared_word[warp] + cell, (inside + 1) << 7 * side);
                    }
                }
                __syncwarp();
                list[lane] = later;
                listed = listed > 32 ? listed - 32 : 0;
                __syncwarp();
            }
            listed = 0;
#pragma unroll 1
            for (int k = 0; k <= G; ++k) {
                const int word = k < G && on ? words[k * G] : 0;
                const bool wanted = word && !(word & Inset::WALL);
                if (word & Inset::WALL) gaps[k * G] = Shape::miss();
                const unsigned all = __ballot_sync(ALL, wanted);
                if (wanted) list[listed + __popc(all & ((1u << lane) - 1u))] = k * G + col;
                listed += __popc(all);
                if (listed < 32 && k < G) continue;
                __syncwarp();
                const int cell = lane < listed ? list[lane] : -1, later = 32 + lane < listed ? list[32 + lane] : 0;
                if (cell >= 0) {
                    const int there = shared_word[warp][cell];
                    float height, apart;
                    lines.measure(
                        u_first + (cell / G + Inset::shift(there, 0)) * cell_u,
                        lie.w + (cell % G - middle + Inset::shift(there, 1)) * cell_v, &height, &apart);
                    if (apart < Shape::hit()) shared_gap[warp][0][cell] = apart;  // round a corner it may be missed
                    shared_own[warp][cell] = Inset::own(there, lie.y);
                }
                __syncwarp();
                list[lane] = later;
                listed = listed > 32 ? listed - 32 : 0;
                __syncwarp();
            }
        }
//: PLANES
            // The middles of cells that reach to edges are moved.
#pragma unroll 1
            for (int i = 0; i < G && on; ++i) {
                const int word = words[i * G];
                const bool moved = word && who.w;
                const float u = moved ? Inset::shift(word, 0) : 0.0f, w = moved ? Inset::shift(word, 1) : 0.0f;
                shared_plane[0][warp][i * G + col] = fmaf(x1, i + u, x0) + w * cell_v * lv / reach;
                shared_plane[1][warp][i * G + col] = who.w == 2 ? (v + w * cell_v) / reach : 0.0f;
            }
            __syncwarp();
//: LEAVE
        if (!valid) continue;
        const float fx = ny * ez - nz * ey, fy = nz * ex - nx * ez, fz = nx * ey - ny * ex;
        if (then) {  // no edge is left, or another start is needed: for the kernels of smooth patches, where these come first
            __syncwarp();
            if (then == REFIT) {
                if (lane == 0) queue.data[next_which * room + atomicAdd(&count.data[next_which], 1)] = slot;
            } else if (which == AT_EDGES) {
                float peak = 0.0f, pressed = 0.0f, whole = 0.0f;  // under a corner pressure is far above its mean
                for (int k = lane; k < G * G && then == SMOOTH; k += 32) {
                    const float one = shared_height[warp][0][k];
                    peak = fmaxf(peak, one); whole += one; pressed += one > 0.0f ? 1.0f : 0.0f;
                }
                peak = -Lanes::least(-peak); whole = Lanes::sum(whole); pressed = Lanes::sum(pressed);
                const bool thin = fmaxf(lie.y, 1.0f / lie.y) >= 8.0f, sharp = thin || peak * pressed > 2.2f * whole;
                const int grid = then == ANEW || !sharp ? 14 : 20, stride = grid == 14 ? 16 : grid, leans = who.w > 0 ? 4 : 0;
                const float* const R = thin ? body_R : skin_R;
                if (then == SMOOTH) {
                    for (int k = lane; k < grid * grid; k += 32) {  // nearest cells: the window lies as it did
                        const float ratio = (float)G / grid, half = 0.5f * (grid - 1);
                        const int row = __float2int_rn((k / grid - half) * ratio + middle), column = __float2int_rn((k % grid - half) * ratio + middle);
                        stored[k / grid * stride + k % grid] = shared_height[warp][0][row * G + column];
                    }
                }
                if (lane == 0) {
                    lie.x = then == ANEW ? 0.0f : lie.x * G / grid;
                    reinterpret_cast<float4*>(place.data)[2 * slot] = lie;
                    reinterpret_cast<float4*>(place.data)[2 * slot + 1] = make_float4(
                        R[0] * ex + R[3] * ey + R[6] * ez, R[1] * ex + R[4] * ey + R[7] * ez, R[2] * ex + R[5] * ey + R[8] * ez, 0.0f);
                    reinterpret_cast<int4*>(kind_of.data)[slot] = make_int4(grid, 0, thin, 0);
                    const int then_which = leans + (then == ANEW ? 2 : grid == 20 ? 1 : 0);
                    queue.data[then_which * room + atomicAdd(&count.data[then_which], 1)] = slot;
                }
            } else if (lane == 0) {
                reinterpret_cast<int4*>(kind_of.data)[slot].y = 0;
            }
            __syncwarp();
            continue;
        }
        if (solved && !rests) {
            const float* const body_X = reinterpret_cast<const float*>(body_xpos.data) + ((size_t)who.z * bodies + who.y) * 3;
            const float* const skin_X = reinterpret_cast<const float*>(geom_xpos.data) + (geom0 + who.x) * 3;
            float4* const record = reinterpret_cast<float4*>(anchor.data) + (size_t)slot * Edge::RECORD;
            float at[5][3];
            Shape::local(
                body_R, ox + lie.z * ex + lie.w * fx - body_X[0], oy + lie.z * ey + lie.w * fy - body_X[1],
                oz + lie.z * ez + lie.w * fz - body_X[2], at[0]);
            Shape::local(skin_R, ox - skin_X[0], oy - skin_X[1], oz - skin_X[2], at[1]);
            Shape::local(skin_R, nx, ny, nz, at[2]);
            Shape::local(body_R, ox - body_X[0], oy - body_X[1], oz - body_X[2], at[3]);
            Shape::local(body_R, nx, ny, nz, at[4]);
            if (lane == 0) {
#pragma unroll
                for (int k = 0; k < Edge::RECORD; ++k) record[k] = make_float4(at[k][0], at[k][1], at[k][2], 0.0f);
            }
            for (int k = lane; k < G * G; k += 32) insets.data[(size_t)slot * SLOT + k] = shared_word[warp][k];
        }
