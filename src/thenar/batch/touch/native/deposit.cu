// Body of a native function: pressures of windows -> force on taxels, by overlap of areas. One warp a window.
//
// Forces are added up as whole numbers (SCALE to the newton), first over one pad in shared memory, then over the frame:
// whole numbers add up the same in every order, so a frame does not depend on how the GPU scheduled it.
// Before this stand WARPS, SLOT, SCALE, PA_SCALE, CELLS, MAX_TAXELS (of a pad) and DIES (whether any lie under pads), see
// window_kernels.py.
enum { PAD = 32, DIE = 8, GROUP = 24, QUEUES = 12, EVERY = 8, EDGE_GRID = 24 };
enum : unsigned { ALL = 0xffffffffu };
typedef float Real;  // Warp makes a macro of that word before a parenthesis

INSET

SKIN

__shared__ unsigned short shared_cell[WARPS][CELLS];
__shared__ float shared_high[WARPS][DIES ? CELLS : 1];
__shared__ int shared_sum[WARPS][3 * MAX_TAXELS];
const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
unsigned short* const cells = shared_cell[warp];
int* const sums = shared_sum[warp];
const int room = queue.shape[0] / QUEUES, items = count.data[EVERY], stride = threads >> 5;
for (int item = tid >> 5; item < items; item += stride) {
    const int slot = queue.data[EVERY * room + item];
    const float* g = group.data + (size_t)slot * GROUP;
    const float nx = g[3], ny = g[4], nz = g[5], force = g[6];
    const int4 who = reinterpret_cast<const int4*>(group_of.data)[slot];
    const float4 lie = reinterpret_cast<const float4*>(place.data)[2 * slot], along = reinterpret_cast<const float4*>(place.data)[2 * slot + 1];
    const int4 what = reinterpret_cast<const int4*>(kind_of.data)[slot];
    const float* stored = pressure.data + (size_t)slot * SLOT;
    const int* words = insets.data + (size_t)slot * SLOT;  // how cells reach to edges
    const bool solved = what.y >= 0, at_edges = solved && what.x == EDGE_GRID;
    const int grid = what.x, row = grid == 14 ? 16 : grid;
    int n = 0;  // cells with pressure, in a list
    if (solved) {
        for (int base = 0; base < grid * row; base += 256) {
            float value[8];
#pragma unroll
            for (int k = 0; k < 8; ++k) value[k] = base + 32 * k + lane < grid * row ? stored[base + 32 * k + lane] : 0.0f;
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const unsigned pressed = __ballot_sync(ALL, value[k] > 0.0f);
                if (value[k] > 0.0f) {
                    const int at = n + __popc(pressed & ((1u << lane) - 1u));
                    cells[at] = base + 32 * k + lane;
                }
                n += __popc(pressed);
            }
        }
    } else {  // no line meets both shapes: all force at the contact point
        n = 1;
        if (lane == 0) cells[0] = 0;
    }
    const size_t geom = (size_t)who.z * geoms + who.x, body = (size_t)who.z * bodies + body_of_geom.data[who.x];
    const float* skin_R = reinterpret_cast<const float*>(geom_xmat.data) + geom * 9;
    const float* skin_X = reinterpret_cast<const float*>(geom_xpos.data) + geom * 3;
    const float* link_R = reinterpret_cast<const float*>(body_xmat.data) + body * 9;
    const float* link_X = reinterpret_cast<const float*>(body_xpos.data) + body * 3;
    const float* size = reinterpret_cast<const float*>(geom_size.data) + ((size_t)(who.z % size_worlds) * geoms + who.x) * 3;
    const int kind = geom_kind.data[who.x];
    float ex, ey, ez;  // the window's directions in the world
    {
        const float* R = what.z ? reinterpret_cast<const float*>(body_xmat.data) + ((size_t)who.z * bodies + who.y) * 9 : skin_R;
        ex = R[0] * along.x + R[1] * along.y + R[2] * along.z;
        ey = R[3] * along.x + R[4] * along.y + R[5] * along.z;
        ez = R[6] * along.x + R[7] * along.y + R[8] * along.z;
        float across = ex * nx + ey * ny + ez * nz;
        if (ex * ex + ey * ey + ez * ez - across * across < 1e-10f) {
            const float fx = fabsf(nx), fy = fabsf(ny), fz = fabsf(nz);
            const int k = fx <= fy && fx <= fz ? 0 : fy <= fz ? 1 : 2;
            ex = k == 0; ey = k == 1; ez = k == 2;
            across = k == 0 ? nx : k == 1 ? ny : nz;
        }
        ex -= across * nx; ey -= across * ny; ez -= across * nz;
        const float inv = rsqrtf(ex * ex + ey * ey + ez * ez);
        ex *= inv; ey *= inv; ez *= inv;
    }
    const float fx = ny * ez - nz * ey, fy = nz * ex - nx * ez, fz = nx * ey - ny * ex;
    float at[3], a[3], b[3], up[3];            // the window's plane in the frame of the skin's shape
    float from[3], la[3], lb[3], ln[3], fr[3]; // and in that of the link
    Skin::local(skin_R, g[0] - skin_X[0], g[1] - skin_X[1], g[2] - skin_X[2], at);
    Skin::local(skin_R, ex, ey, ez, a);
    Skin::local(skin_R, fx, fy, fz, b);
    Skin::local(skin_R, nx, ny, nz, up);
    Skin::local(link_R, g[0] - link_X[0], g[1] - link_X[1], g[2] - link_X[2], from);
    Skin::local(link_R, ex, ey, ez, la);
    Skin::local(link_R, fx, fy, fz, lb);
    Skin::local(link_R, nx, ny, nz, ln);
    Skin::local(link_R, g[9] / force, g[10] / force, g[11] / force, fr);
    const float hu = solved ? lie.x : 1e-6f, hv = solved ? lie.x * lie.y : 1e-6f;
    const float u0 = solved ? lie.z - 0.5f * (grid - 1) * hu : 0.0f, v0 = solved ? lie.w - 0.5f * (grid - 1) * hv : 0.0f;
    const float reach = 0.5f * grid * (hu + hv), contact_n = g[8] / force;
    const int link = link_of_geom.data[who.x];
    float on_pads = 0.0f;
    for (int number = link_pads.data[link]; number < link_pads.data[link + 1]; ++number) {
        const float* q = pads.data + number * PAD;
        const int chart = (int)q[0], rows = (int)q[1], columns = (int)q[2], first = (int)q[23];
        const float ir = 1.0f / q[3], ic = 1.0f / q[4], r = q[17], mid_row = 0.5f * rows, mid_col = 0.5f * columns;
        const float half_u = mid_row * q[3], half_v = mid_col * q[4];
        const float au_ = Skin::dot(la, q + 8), av_ = Skin::dot(la, q + 11), an_ = Skin::dot(la, q + 14);
        const float bu_ = Skin::dot(lb, q + 8), bv_ = Skin::dot(lb, q + 11), bn_ = Skin::dot(lb, q + 14);
        const float nu_ = Skin::dot(ln, q + 8), nv_ = Skin::dot(ln, q + 11), nn_ = Skin::dot(ln, q + 14);
        const float way[3] = {from[0] - q[5], from[1] - q[6], from[2] - q[7]};
        const float pu_ = Skin::dot(way, q + 8), pv_ = Skin::dot(way, q + 11), pn_ = Skin::dot(way, q + 14);
        // Lengths in a chart are never shorter than straight ones: is all of the window beside the pad?
        if (fabsf(pu_ + (solved ? lie.z * au_ + lie.w * bu_ : 0.0f)) > half_u + reach) continue;
        if (chart == 2 && fabsf(pv_ + (solved ? lie.z * av_ + lie.w * bv_ : 0.0f)) > half_v + reach) continue;
        for (int k = lane; k < rows * columns; k += 32) sums[k] = sums[MAX_TAXELS + k] = sums[2 * MAX_TAXELS + k] = 0;
        __syncwarp();
        float taken = 0.0f, taken_u = 0.0f, taken_v = 0.0f;
        for (int k = lane; k < n; k += 32) {
            const int i = cells[k] / row, c = cells[k] - i * row;
            const int word = at_edges ? words[cells[k]] : 0;
            float u = u0 + i * hu, v = v0 + c * hv, wide_u = hu, wide_v = hv;
            if (word) {
                u += Inset::shift(word, 0) * hu; v += Inset::shift(word, 1) * hv;
                wide_u *= Inset::wide(word, 0); wide_v *= Inset::wide(word, 1);
            }
            const float cell_n = solved ? stored[cells[k]] * hu * hv : force;
            float high = 0.0f, slope_u = 0.0f, slope_v = 0.0f;
            if (solved) {
                const float p[3] = {at[0] + u * a[0] + v * b[0], at[1] + u * a[1] + v * b[1], at[2] + u * a[2] + v * b[2]};
                float N[3];
                high = Skin::height(kind, size, p, up, N);
                const float inv = -__fdividef(1.0f, N[0] * up[0] + N[1] * up[1] + N[2] * up[2]);
                slope_u = (N[0] * a[0] + N[1] * a[1] + N[2] * a[2]) * inv;
                slope_v = (N[0] * b[0] + N[1] * b[1] + N[2] * b[2]) * inv;
            }
            const float stretch = sqrtf(1.0f + slope_u * slope_u + slope_v * slope_v);
            float pu = pu_ + u * au_ + v * bu_ + high * nu_, pv = pv_ + u * av_ + v * bv_ + high * nv_;
            const float pn = pn_ + u * an_ + v * bn_ + high * nn_;
            float au = wide_u * (au_ + slope_u * nu_), av = wide_u * (av_ + slope_u * nv_), an = wide_u * (an_ + slope_u * nn_);
            float bu = wide_v * (bu_ + slope_v * nu_), bv = wide_v * (bv_ + slope_v * nv_), bn = wide_v * (bn_ + slope_v * nn_);
            float cosine = 1.0f, sine = 0.0f;
            bool in = true;
            if (chart == 2) {  // a face
                in = fabsf(pn) < 1e-4f;
            } else if (chart == 0) {  // the side of a cylinder; steps by the chart's derivative
                in = pu >= q[18] - 1e-7f && pu <= q[19] + 1e-7f && pn > 0.0f;
                const float inv = __fdividef(1.0f, pn * pn + pv * pv), h = sqrtf(inv);
                av = r * inv * (pn * av - pv * an);
                bv = r * inv * (pn * bv - pv * bn);
                cosine = pn * h; sine = pv * h;
                pv = r * atan2f(pv, pn);
            } else {  // a cap: distance and direction from the pad's centre, on a sphere
                const float x = way[0] + u * la[0] + v * lb[0] + high * ln[0];
                const float y = way[1] + u * la[1] + v * lb[1] + high * ln[1];
                const float z = way[2] + u * la[2] + v * lb[2] + high * ln[2];
                in = x * q[20] + y * q[21] + z * q[22] >= -1e-7f;
                const float aside = sqrtf(pu * pu + pv * pv), inv = __fdividef(1.0f, aside * aside + pn * pn);
                if (aside > 1e-7f) {
                    const float ia = 1.0f / aside, f = r * atan2f(aside, pn) * ia;
                    const float da = (pu * au + pv * av) * ia, db = (pu * bu + pv * bv) * ia;
                    const float fa = (r * (pn * da - aside * an) * inv - f * da) * ia;
                    const float fb = (r * (pn * db - aside * bn) * inv - f * db) * ia;
                    au = f * au + pu * fa; av = f * av + pv * fa;
                    bu = f * bu + pu * fb; bv = f * bv + pv * fb;
                    pu *= f; pv *= f;
                }
            }
            if (!in || fabsf(pu) > half_u + wide_u + wide_v || fabsf(pv) > half_v + wide_u + wide_v) continue;
            // A long cell that lies askew in the chart is laid down in pieces: it is not the box around it.
            const bool swap = wide_u < wide_v;
            const float lu = swap ? bu : au, lv = swap ? bv : av, su = swap ? au : bu, sv = swap ? av : bv;
            const float box = sqrtf((lu * lu + su * su) * (lv * lv + sv * sv));
            const int pieces = max(1, min(4, (int)ceilf(__fdividef(box, fmaxf(fabsf(lu * sv - lv * su), 1e-18f)) - 0.5f)));
            const float share = __fdividef(1.0f, (float)pieces);
            const float wide_r = fmaxf(sqrtf(lu * lu * share * share + su * su), 2e-9f) * ir;
            const float wide_c = fmaxf(sqrtf(lv * lv * share * share + sv * sv), 2e-9f) * ic;
            const float counts = cell_n * share * __fdividef((float)SCALE, wide_r * wide_c);
            const float fu = Skin::dot(fr, q + 8);
            float fv = Skin::dot(fr, q + 11);
            if (chart == 0) fv = fv * cosine - Skin::dot(fr, q + 14) * sine;
            for (int piece = 0; piece < pieces; ++piece) {
                const float along_it = (piece + 0.5f) * share - 0.5f;
                const float r1 = (pu + along_it * lu) * ir + mid_row - 0.5f * wide_r, r2 = r1 + wide_r;
                const float c1 = (pv + along_it * lv) * ic + mid_col - 0.5f * wide_c, c2 = c1 + wide_c;
                const int row_end = min(rows - 1, (int)floorf(r2)), col_first = max(0, (int)floorf(c1)), col_end = min(columns - 1, (int)floorf(c2));
#pragma unroll 1
                for (int y = max(0, (int)floorf(r1)); y <= row_end; ++y) {
                    const float low_r = fmaxf(r1, (float)y), high_r = fminf(r2, y + 1.0f), in_row = (high_r - low_r) * counts;
#pragma unroll 1
                    for (int x = col_first; x <= col_end; ++x) {
                        const float low_c = fmaxf(c1, (float)x), high_c = fminf(c2, x + 1.0f), part = in_row * (high_c - low_c);
                        if (part <= 0.0f) continue;
                        const int taxel = y * columns + x;
                        atomicAdd(sums + taxel, __float2int_rn(part * stretch));
                        atomicAdd(sums + MAX_TAXELS + taxel, __float2int_rn(part * fu));
                        atomicAdd(sums + 2 * MAX_TAXELS + taxel, __float2int_rn(part * fv));
                        taken += part;
                        taken_u = fmaf(part, 0.5f * (low_r + high_r) - mid_row, taken_u);
                        taken_v = fmaf(part, 0.5f * (low_c + high_c) - mid_col, taken_v);
                    }
                }
            }
        }
        __syncwarp();
        int* const out = taxel_sum.data + (size_t)who.z * taxels * 3 + first;
        for (int k = lane; k < rows * columns; k += 32) {
            if (sums[k]) atomicAdd(out + k, sums[k]);
            if (sums[MAX_TAXELS + k]) atomicAdd(out + taxels + k, sums[MAX_TAXELS + k]);
            if (sums[2 * MAX_TAXELS + k]) atomicAdd(out + 2 * taxels + k, sums[2 * MAX_TAXELS + k]);
        }
#pragma unroll
        for (int o = 16; o; o >>= 1) {
            taken += __shfl_xor_sync(ALL, taken, o);
            taken_u += __shfl_xor_sync(ALL, taken_u, o);
            taken_v += __shfl_xor_sync(ALL, taken_v, o);
        }
        on_pads += taken;
        if (lane == 0 && taken > 0.0f) {
            int* const sum = pad_sum.data + ((size_t)who.z * pad_count + (int)q[25]) * 3;
            pad_touched.data[(size_t)who.z * pad_count + (int)q[25]] = 3;  // now; finish_pads turns it into: just before
            atomicAdd(sum, __float2int_rn(taken * contact_n));
            atomicAdd(sum + 1, __float2int_rn(taken_u * contact_n * q[3] * 1e2f));  // newton centimetres
            atomicAdd(sum + 2, __float2int_rn(taken_v * contact_n * q[4] * 1e2f));
        }
        __syncwarp();
    }
    if (DIES) {  // what arrives at buried dies, see touch/solver/barometer_stress.py
        float* const tall = shared_high[warp];
        for (int k = lane; k < n; k += 32) {
            const int i = cells[k] / row, c = cells[k] - i * row;
            const int word = at_edges ? words[cells[k]] : 0;
            const float u = u0 + (i + Inset::shift(word, 0)) * hu, v = v0 + (c + Inset::shift(word, 1)) * hv;
            const float p[3] = {at[0] + u * a[0] + v * b[0], at[1] + u * a[1] + v * b[1], at[2] + u * a[2] + v * b[2]};
            float N[3];
            tall[k] = solved ? Skin::height(kind, size, p, up, N) : 0.0f;
        }
        __syncwarp();
        for (int number = link_dies.data[link]; number < link_dies.data[link + 1]; ++number) {
            const float* q = dies.data + number * DIE;  // place, normal, depth, taxel
            const int nu = max(1, (int)ceilf(2.0f * hu / q[6])), nv = max(1, (int)ceilf(2.0f * hv / q[6]));
            float stress = 0.0f;
            for (int k = lane; k < n; k += 32) {
                const int i = cells[k] / row, c = cells[k] - i * row;
                const int word = at_edges ? words[cells[k]] : 0;
                const float wide_u = Inset::wide(word, 0), wide_v = Inset::wide(word, 1);
                const float piece_n = (solved ? stored[cells[k]] * hu * hv : force) / (nu * nv);
                for (int piece = 0; piece < nu * nv; ++piece) {
                    const float u = u0 + (i + Inset::shift(word, 0) + ((piece / nv + 0.5f) / nu - 0.5f) * wide_u) * hu;
                    const float v = v0 + (c + Inset::shift(word, 1) + ((piece % nv + 0.5f) / nv - 0.5f) * wide_v) * hv;
                    float square = 0.0f, above = 0.0f, along_it = 0.0f;
#pragma unroll
                    for (int x = 0; x < 3; ++x) {
                        const float away = q[x] - from[x] - u * la[x] - v * lb[x] - tall[k] * ln[x];
                        square = fmaf(away, away, square);
                        above -= away * q[3 + x];
                        along_it = fmaf(fr[x] - ln[x], away, along_it);
                    }
                    if (above > 0.0f) stress += piece_n * along_it * above * above / (square * square * sqrtf(square));
                }
            }
#pragma unroll
            for (int o = 16; o; o >>= 1) stress += __shfl_xor_sync(ALL, stress, o);
            if (lane == 0) atomicAdd(die_sum.data + (size_t)who.z * taxels + (int)q[7], __float2int_rn(stress * (0.4774648f * PA_SCALE)));
        }
    }
    if (lane == 0) {  // all of the contacts' normal force, and what fell beside every pad
        atomicAdd(world_sum.data + 2 * who.z, __float2int_rn(g[8] * SCALE));
        atomicAdd(world_sum.data + 2 * who.z + 1, __float2int_rn(g[8] * SCALE - on_pads * contact_n));
    }
    __syncwarp();
}
