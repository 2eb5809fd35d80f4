// Body of a native function: queued windows -> pressures.
//
// A warp works on NW windows at a time. LW lanes share a window, G of them busy: lane (s, j) owns column j (s = 0) or
// G - 1 - j (s = 1), all G cells of it in registers. The influence table is even across columns, so a product with it
// falls into an even and an odd half of half the size: lanes s = 0 work on sums of mirrored columns, lanes s = 1 on
// differences. Every window has its table in shared memory: from further away its loads would cost more than the products.
//
// The text is short on purpose: warps are in different places of it, and what exceeds the instruction cache waits.
// Before this stand G, COLD (fits windows, from the start or anew), LEANS (the object may lean), EDGED (edges cut the patch),
// HULLS (meshes may touch), NEXT_GRID, ITERATIONS, WARPS, SLOT and POINT. Words alone in a line stand for other texts: ROUNDS
// for conjugate.cu (COLD) or descend.cu, the others for files of their names where edges are, see window_kernels.py.
enum {
    H = G / 2, LW = G <= 16 ? 16 : 32, HS = LW / 2, NW = 32 / LW, NQ = (G + 3) / 4,
    YS = 4 * NQ % 8 == 4 ? 4 * NQ : 4 * NQ + 4,  // floats a row in shared memory: no two lanes share a bank
    SIDE = H * YS, TABLE = G * NQ,               // floats of half a vector, float4s of a table
    CELLS = NW == 1 ? G * G : (G * G + 15) / 32 * 32 + 16,  // two windows of a warp lie half the banks apart
    ROW = G == 14 ? 16 : G,                      // floats a row of stored pressures
    GROUP = 24, QUEUES = 12, AT_EDGES = 9, NEW_AT_EDGES = 10, STEPS = 16, ASPECTS = 12 * STEPS + 1,
    MAX_PASSES = 12, MAX_FITS = 9, MAX_TURNS = 3, FRAME_PASSES = 3, FRAME_FITS = 2,
    COLD_ITERATIONS = 14, WARM_ITERATIONS = 16, POLISH_ITERATIONS = 40, KEPT = 0, TURNED = 1, RESIZED = 2, REFIT = 1, FINER = 2, SMOOTH = 3, ANEW = 4
};
enum : unsigned { ALL = 0xffffffffu };
typedef float Real;  // Warp makes macros of these words before a parenthesis
typedef int Whole;

LANES

struct Table {
    // A lane's column into shared memory, folded.
    static __device__ __forceinline__ void spread(const Real (&x)[G], float sign, bool on, float* row) {
        float y[4 * NQ];
#pragma unroll
        for (int i = 0; i < 4 * NQ; ++i) y[i] = i < G ? fmaf(sign, x[i < G ? i : 0], __shfl_xor_sync(ALL, x[i < G ? i : 0], HS)) : 0.0f;
        __syncwarp();
        if (on) {
#pragma unroll
            for (int q = 0; q < NQ; ++q)
                reinterpret_cast<float4*>(row)[q] = make_float4(y[4 * q], y[4 * q + 1], y[4 * q + 2], y[4 * q + 3]);
        }
        __syncwarp();
    }
    // out = table * vector. ``mine`` is this lane's column, folded: even halves add the mirrored one, odd ones take it away.
    static __device__ __forceinline__ void multiply(
        const float* table, int mine, const float* y, float sign, Real (&out)[G]) {
#pragma unroll
        for (int i = 0; i < G; ++i) out[i] = 0.0f;
#pragma unroll 1
        for (int j = 0; j < H; ++j) {
            float m[4 * NQ];
            const float4* const near = reinterpret_cast<const float4*>(table + (j < mine ? mine - j : j - mine) * YS);
            const float4* const far = reinterpret_cast<const float4*>(table + (G - 1 - j - mine) * YS);
#pragma unroll
            for (int q = 0; q < NQ; ++q) {
                const float4 a = near[q], b = far[q];
                m[4 * q] = fmaf(sign, b.x, a.x);
                m[4 * q + 1] = fmaf(sign, b.y, a.y);
                m[4 * q + 2] = fmaf(sign, b.z, a.z);
                m[4 * q + 3] = fmaf(sign, b.w, a.w);
            }
            const float4* row = reinterpret_cast<const float4*>(y + j * YS);
#pragma unroll
            for (int q = 0; q < NQ; ++q) {
                const float4 four = row[q];
                const float v[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const int from = 4 * q + k;
                    if (from < G) {
#pragma unroll
                        for (int i = 0; i < G; ++i) out[i] = fmaf(m[i < from ? from - i : i - from], v[k], out[i]);
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < G; ++i) out[i] = fmaf(sign, out[i], __shfl_xor_sync(ALL, out[i], HS));
    }
};

INSET

SHAPES

struct Border {
    // Rows of a column at which an edge of either shape may fall away.
    static __device__ __forceinline__ unsigned edges(const float* gap, int left, int right, float cell_u, float cell_v) {
        unsigned cut = 0u;
#pragma unroll 2
        for (int i = 0; i < G; ++i) {
            const float here = gap[i * G], up = i > 0 ? gap[(i - 1) * G] : here, down = i < G - 1 ? gap[(i + 1) * G] : here;
            const float rise_u = fmaxf(up, down) - here, rise_v = fmaxf(gap[i * G - left], gap[i * G + right]) - here;
            cut |= rise_u > 2.2f * cell_u || rise_v > 2.2f * cell_v ? 1u << i : 0u;
        }
        return cut;
    }
};

LINES

EDGES
__shared__ int shared_word[EDGED ? WARPS : 1][EDGED ? G * G : 1];
__shared__ float shared_own[EDGED ? WARPS : 1][EDGED ? G * G : 1];
__shared__ float shared_plane[2][EDGED ? WARPS : 1][EDGED ? G * G : 1];
__shared__ float shared_edge[EDGED ? WARPS : 1][EDGED ? 64 : 1];
__shared__ __align__(16) float shared_y[WARPS][NW * 2 * SIDE];
__shared__ __align__(16) float shared_table[WARPS][NW][G * YS];
__shared__ float shared_height[WARPS][NW][CELLS];
__shared__ float shared_gap[WARPS][NW][CELLS];
const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, l = lane & (LW - 1), mine = lane / LW;
const int s = l / HS, j = l % HS;
const bool on = j < H;
const int col = !on ? 0 : s ? G - 1 - j : j;
const float sign = s ? -1.0f : 1.0f, middle = 0.5f * (G - 1);
float* const y_half = &shared_y[warp][mine * 2 * SIDE] + s * SIDE;
float* const y_row = y_half + (on ? j : 0) * YS;
float* const tab = shared_table[warp][mine];
float* const heights = shared_height[warp][mine] + col;
float* const gaps = shared_gap[warp][mine] + col;
int* const words = shared_word[EDGED ? warp : 0] + (EDGED ? col : 0);  // how cells reach to edges
const float* const own = shared_own[EDGED ? warp : 0] + (EDGED ? col : 0);    // what that adds to their influence on themselves
const float* const plane_x = shared_plane[0][EDGED ? warp : 0] + (EDGED ? col : 0);  // along which the object leans
const float* const plane_y = shared_plane[1][EDGED ? warp : 0] + (EDGED ? col : 0);
const Faces faces = {reinterpret_cast<const float4*>(planes.data), first_beside.data, beside.data, hulls.data};
const int left_at = col > 0, right_at = col < G - 1;  // columns beside this one, where there are any
const float left = left_at, right = right_at;

const int room = queue.shape[0] / QUEUES, items = count.data[which];
const int stride = (threads >> 5) * (COLD ? 1 : NW), first_item = COLD ? tid >> 5 : (tid >> 5) * NW + mine;
for (int round = 0; round * stride < items; ++round) {
    const int item = first_item + round * stride;
    const bool valid = item < items;
    if (!__any_sync(ALL, valid)) break;
    const int slot = queue.data[which * room + (valid ? item : items - 1)];
    const float* g = group.data + (size_t)slot * GROUP;
    const float ox = g[0], oy = g[1], oz = g[2], nx = g[3], ny = g[4], nz = g[5], force = g[6], modulus = g[7];
    const int4 who = reinterpret_cast<const int4*>(group_of.data)[slot];  // skin, partner, world, leans
    const size_t geom0 = (size_t)who.z * geoms;
    const float* sizes = reinterpret_cast<const float*>(geom_size.data) + (size_t)(who.z % size_worlds) * geoms * 3;
    float4 lie = reinterpret_cast<float4*>(place.data)[2 * slot];        // cell, aspect, u, v
    float4 along = reinterpret_cast<float4*>(place.data)[2 * slot + 1];  // direction of u in the skin's or object's frame
    int4 what = reinterpret_cast<int4*>(kind_of.data)[slot];             // grid, state, on object, -
    const float* skin_R = reinterpret_cast<const float*>(geom_xmat.data) + (geom0 + who.x) * 9;
    const float* body_R = reinterpret_cast<const float*>(body_xmat.data) + ((size_t)who.z * bodies + who.y) * 9;
    float* const stored = pressure.data + (size_t)slot * SLOT;
    bool fresh = EDGED ? what.y == 2 : lie.x <= 0.0f || what.y == 3, warm = !fresh && what.y <= 0, polish = false, solved = true, edge = false;
    const bool laid = what.y == 1;  // by the kernel of the smaller grid
    // Where edges are: it fits but for them; it lies as it did; they are near; it is too large; nothing has moved.
    bool settle = fresh, untouched = true, edged = true, outgrown = false, rests = false;
    unsigned cut = 0u, box = 0u, cuts = EDGED && what.x == G ? what.w : 0u;
    int passes = 0, turns = laid ? MAX_TURNS : 0, then = 0;
    float p[G], gs[G], ex = 0.0f, ey = 0.0f, ez = 0.0f;  // e1
    {
        const float* R = what.z ? body_R : skin_R;
        ex = R[0] * along.x + R[1] * along.y + R[2] * along.z;
        ey = R[3] * along.x + R[4] * along.y + R[5] * along.z;
        ez = R[6] * along.x + R[7] * along.y + R[8] * along.z;
    }
#pragma unroll
    for (int i = 0; i < G; ++i) p[i] = on && warm ? stored[i * ROW + col] : 0.0f;
    bool start = !EDGED && fresh, begun = false;
    float4 net_lie = lie;  // where it lay, and its e1: there is what neighbours press away
    float net_x = 0.0f, net_y = 0.0f, net_z = 0.0f;
    const int net_grid = what.x;
    while (true) {
        if (start) {  // over the contact points: narrow where they lie on a line, else square along the skin's axis
            start = false; fresh = true; warm = false;
            const int axis = geom_kind.data[who.x] == 3 ? 2 : 0;
            const bool line = who.w == 1;
            ex = line ? g[16] : skin_R[axis]; ey = line ? g[17] : skin_R[3 + axis]; ez = line ? g[18] : skin_R[6 + axis];
            lie = make_float4(fmaxf(0.012f, 1.2f * g[15]) / G, line ? 0.25f : 1.0f, 0.0f, 0.0f);
            what = make_int4(G, 0, 0, 0);
        }
        {  // laid into the plane of the contact
            float across = ex * nx + ey * ny + ez * nz;
            if (ex * ex + ey * ey + ez * ez - across * across < 1e-10f) {  // the contact looks along it: any will do
                const float fx = fabsf(nx), fy = fabsf(ny), fz = fabsf(nz);
                const int k = fx <= fy && fx <= fz ? 0 : fy <= fz ? 1 : 2;
                ex = k == 0; ey = k == 1; ez = k == 2;
                across = k == 0 ? nx : k == 1 ? ny : nz;
            }
            ex -= across * nx; ey -= across * ny; ez -= across * nz;
            const float inv = rsqrtf(ex * ex + ey * ey + ez * ez);
            ex *= inv; ey *= inv; ez *= inv;
        }
        float fx = ny * ez - nz * ey, fy = nz * ex - nx * ez, fz = nx * ey - ny * ex;  // e2
        if ((COLD || EDGED) && !begun) { begun = true; net_x = ex; net_y = ey; net_z = ez; }
        FOLLOW
        if (!EDGED && fresh && passes == 0) {
            lie.z = g[12] * ex + g[13] * ey + g[14] * ez;
            lie.w = g[12] * fx + g[13] * fy + g[14] * fz;
        }
        const float cell_u = lie.x, cell_v = lie.x * lie.y;
        // Heights of the skin and gaps to the object.
        const float v = lie.w + (col - middle) * cell_v, u_first = lie.z - middle * cell_u;
        const int part_first = first_part.data[who.y], part_end = first_part.data[who.y + 1];
        __syncwarp();
        if (on) {
#pragma unroll 2
            for (int i = 0; i < G; ++i) gaps[i * G] = Shape::miss();
        }
#pragma unroll 1
        for (int part = part_first - 1; part < part_end && on; ++part) {
            const bool is_skin = part < part_first;
            const int geom = is_skin ? who.x : parts.data[part];
            const float* R = reinterpret_cast<const float*>(geom_xmat.data) + (geom0 + geom) * 9;
            const float* X = reinterpret_cast<const float*>(geom_xpos.data) + (geom0 + geom) * 3;
            const float way = is_skin ? -1.0f : 1.0f;
            float at[3], la[3], lb[3], lw[3];
            Shape::local(R, ox - X[0], oy - X[1], oz - X[2], at);
            Shape::local(R, ex, ey, ez, la);
            Shape::local(R, fx, fy, fz, lb);
            Shape::local(R, way * nx, way * ny, way * nz, lw);
            Shape::enter(
                geom_kind.data[geom], sizes + geom * 3, faces, geom, at, la, lb, lw, u_first, cell_u, v, is_skin, G, heights, gaps);
        }
        __syncwarp();
        REACH
        if (g[19] > 0.0f && warm && !fresh) {  // what neighbours press away widens gaps, see touch/solver/neighbors.py
            const float* const net = nets.data + (size_t)slot * Net::NODES;
#pragma unroll 2
            for (int i = 0; i < G; ++i) {
                float x = i * (8.0f / (G - 1)), y = col * (8.0f / (G - 1));
                if (COLD || EDGED) {  // the net lies where the window lay
                    const float c = ex * net_x + ey * net_y + ez * net_z, d = fx * net_x + fy * net_y + fz * net_z;
                    const float u = lie.z + (i - middle) * cell_u;
                    x = rintf((u * c + v * d - net_lie.z) / net_lie.x + 0.5f * (net_grid - 1)) * (8.0f / (net_grid - 1));
                    y = rintf((v * c - u * d - net_lie.w) / (net_lie.x * net_lie.y) + 0.5f * (net_grid - 1)) * (8.0f / (net_grid - 1));
                    x = fminf(fmaxf(x, 0.0f), 8.0f);
                    y = fminf(fmaxf(y, 0.0f), 8.0f);
                }
                if (on && gaps[i * G] < Shape::hit()) gaps[i * G] += Net::at(net, x, y);
            }
        }
        float least = Shape::miss();
#pragma unroll
        for (int i = 0; i < G; ++i) {
            gs[i] = on ? gaps[i * G] : Shape::miss();
            least = fminf(least, gs[i]);
        }
        least = Lanes::least(least);
        const bool meets = least < Shape::hit();
        const float scale = modulus / cell_u;
        bool supported = false;
#pragma unroll
        for (int i = 0; i < G; ++i) {
            gs[i] = gs[i] < Shape::hit() ? (gs[i] - least) * scale : Shape::miss();
            if (gs[i] >= Shape::hit()) p[i] = 0.0f;
            supported = supported || p[i] > 0.0f;
        }
        supported = Lanes::any(supported ? 1u : 0u);
        if (EDGED && !meets) {
            if (fresh || passes > 0) solved = false; else then = ANEW;
            break;
        }
        bool again = !COLD && (fresh || laid || !meets || !supported);  // for the kernel that fits windows
        if (!COLD && __all_sync(ALL, again)) { then = REFIT; break; }
        if (COLD && !meets) {
            if (fresh || laid || passes > 0) { solved = false; break; }
            start = true;
            continue;
        }
        if (!COLD && !EDGED) cut = Border::edges(gaps, left_at, right_at, cell_u, cell_v);  // its rounds write over gaps
        const bool from_before = warm && supported;
        const float place_f = fminf(fmaxf(STEPS * log2f(lie.y), -6.0f * STEPS), 5.999f * STEPS) + 6 * STEPS;
        const int place_i = min((int)place_f, ASPECTS - 2);
        const float share = place_f - place_i;
        {  // the table of this window, between those of two neighbouring aspects
            const float4* const from = reinterpret_cast<const float4*>(table.data) + (size_t)place_i * TABLE;
            __syncwarp();
            for (int k = l; k < TABLE; k += LW) {
                const float4 a = from[k], b = from[k + TABLE];
                reinterpret_cast<float4*>(tab + k / NQ * YS)[k % NQ] = make_float4(
                    fmaf(share, b.x - a.x, a.x), fmaf(share, b.y - a.y, a.y), fmaf(share, b.z - a.z, a.z), fmaf(share, b.w - a.w, a.w));
            }
            __syncwarp();
        }
        const float4 stencil = reinterpret_cast<const float4*>(table.data)[(size_t)ASPECTS * TABLE + place_i];
        const float total = force / (cell_u * cell_v);
        if (COLD && !from_before) {  // the quarter of cells with the smallest gaps
            float found = 0.0f, low = 0.0f, high = 0.0f;
#pragma unroll
            for (int i = 0; i < G; ++i)
                if (gs[i] < Shape::hit()) { found += 1.0f; high = fmaxf(high, gs[i]); }
            found = Lanes::sum(found);
            high = -Lanes::least(-high);
            const float wanted = fminf(found, fmaxf(7.0f, floorf(0.25f * found) + 1.0f));
#pragma unroll 1
            for (int k = 0; k < 24; ++k) {
                const float level = 0.5f * (low + high);
                float below = 0.0f;
#pragma unroll
                for (int i = 0; i < G; ++i) below += gs[i] <= level ? 1.0f : 0.0f;
                if (Lanes::sum(below) >= wanted) high = level; else low = level;
            }
#pragma unroll
            for (int i = 0; i < G; ++i) p[i] = on && gs[i] <= high ? sqrtf(high - gs[i] + 1e-6f * high + 1e-12f) : 0.0f;
        }
        // Coordinates along which the object may lean, from the centre of force: x0 + i x1 and y0 of this lane's cells.
        float x0 = 0.0f, x1 = 0.0f, y0 = 0.0f;
        if (LEANS) {
            const float reach = middle * cell_u * fmaxf(1.0f, lie.y) + fabsf(lie.z) + fabsf(lie.w);
            const float lu = who.w == 2 ? 1.0f : g[16] * ex + g[17] * ey + g[18] * ez;
            const float lv = who.w == 2 ? 0.0f : g[16] * fx + g[17] * fy + g[18] * fz;
            x1 = cell_u * lu / reach;
            x0 = (u_first * lu + v * lv) / reach;
            y0 = who.w == 2 ? v / reach : 0.0f;
            PLANES
        }
        ROUNDS
        ++passes;
        if (COLD && polish) break;
        // Does the window still fit its patch?
        unsigned row_bits = 0u, col_bits = 0u;
#pragma unroll
        for (int i = 0; i < G; ++i) row_bits |= p[i] > 0.0f ? 1u << i : 0u;
        col_bits = Lanes::any(row_bits && on ? 1u << col : 0u);
        row_bits = Lanes::any(row_bits);
        const int i1 = __ffs(row_bits) - 1, i2 = 31 - __clz(row_bits), j1 = __ffs(col_bits) - 1, j2 = 31 - __clz(col_bits);
        const int rows = i2 - i1 + 1, cols = j2 - j1 + 1;
        const bool known_before = warm && passes == 1;
        // A patch may end with the window where it ends with the shape.
        const bool touches_u = (i1 <= 0 && !(cuts & 1u)) || (i2 >= G - 1 && !(cuts & 2u));
        const bool touches_v = (j1 <= 0 && !(cuts & 4u)) || (j2 >= G - 1 && !(cuts & 8u));
        bool small_u = rows < 0.75f * G && (cuts & 3u) != 3u, small_v = cols < 0.75f * G && (cuts & 12u) != 12u;
        box = col >= j1 - 1 && col <= j2 + 1 ? ((2u << i2 + 1) - 1u) & ~((1u << max(i1 - 1, 0)) - 1u) : 0u;
        if (lie.y <= 0.0157f || lie.y >= 63.0f) small_u = small_v = small_u && small_v;
        const bool changes = touches_u || touches_v || small_u || small_v;
        int change = KEPT;
        float angle = 0.0f;
        const int fits = fresh || laid ? MAX_FITS : FRAME_FITS, most = fresh || laid ? MAX_PASSES : FRAME_PASSES;
        const bool may = passes <= fits;
        const bool looks = may && (changes || COLD || lie.y < 0.6f || lie.y > 1.6f);  // whatever its neighbour in the warp does
        if (__any_sync(ALL, looks)) {
            float m0 = 0.0f, mu = 0.0f, muu = 0.0f;
            const float cv = (col - middle) * cell_v;
#pragma unroll
            for (int i = 0; i < G; ++i) {
                const float cu = (i - middle) * cell_u;
                m0 += p[i]; mu = fmaf(p[i], cu, mu); muu = fmaf(p[i] * cu, cu, muu);
            }
            float mv = m0 * cv, mvv = mv * cv, muv = mu * cv;
            m0 = 1.0f / Lanes::sum(m0); mu = Lanes::sum(mu) * m0; mv = Lanes::sum(mv) * m0;
            muu = Lanes::sum(muu) * m0 - mu * mu; mvv = Lanes::sum(mvv) * m0 - mv * mv; muv = Lanes::sum(muv) * m0 - mu * mv;
            const float hd = 0.5f * (muu - mvv), width = sqrtf(hd * hd + muv * muv), mean = 0.5f * (muu + mvv);
            angle = 0.5f * atan2f(2.0f * muv, muu - mvv);
            const float longer = (mean + width) / fmaxf(mean - width, 1e-30f);
            const float slant = fminf(fabsf(sinf(angle)), fabsf(cosf(angle)));
            const float lu = rows * cell_u, lv = cols * cell_v;
            const bool strays = slant * fmaxf(lu, lv) > fmaxf(fminf(cell_u, cell_v), known_before ? 0.15f * fminf(lu, lv) : 0.0f);
            if (looks && turns < MAX_TURNS && rows * cols >= 9 && !(cuts & 3u && cuts & 12u) && longer > 2.2f && (slant > 0.17f || strays)
                && (!known_before || changes || strays)) change = TURNED;
        }
        const float spare_u = touches_u ? fmaxf(2.0f, 0.25f * G) : 1.2f, spare_v = touches_v ? fmaxf(2.0f, 0.25f * G) : 1.2f;
        const bool new_u = touches_u || small_u, new_v = touches_v || small_v;
        float low_u = new_u ? i1 - spare_u : 0.0f, high_u = new_u ? i2 + 1.0f + spare_u : G;
        float low_v = new_v ? j1 - spare_v : 0.0f, high_v = new_v ? j2 + 1.0f + spare_v : G;
        if (EDGED && may && changes && change == KEPT) {  // borders on edges stay, unless the patch has left them
            const bool off[4] = {new_u && i1 > 3, new_u && i2 < G - 4, new_v && j1 > 3, new_v && j2 < G - 4};
            for (int side = 0; side < 4; ++side)
                if (off[side]) cuts &= ~(1u << side);
            if (cuts & 1u) low_u = 0.0f;
            if (cuts & 2u) high_u = G;
            if (cuts & 4u) low_v = 0.0f;
            if (cuts & 8u) high_v = G;
        }
        if (may && change == KEPT && changes
            && (touches_u || touches_v || high_u - low_u <= 0.93f * G || high_v - low_v <= 0.93f * G)) change = RESIZED;
        if (!COLD) {
            then = again || change != KEPT ? REFIT : 0;
            break;
        }
        const bool thin = fmaxf(lie.y, 1.0f / lie.y) >= 8.0f;
        if (passes >= most) {
            if (!fresh && !laid && (touches_u || touches_v)) {  // the patch has outgrown the old window
                if (EDGED) { outgrown = true; break; }
                start = true; passes = 0; turns = 0;
                continue;
            }
            change = KEPT;
        }
        if (change == KEPT) {
            float peak = 0.0f, pressed = 0.0f, whole = 0.0f;
#pragma unroll
            for (int i = 0; i < G && NEXT_GRID; ++i) {
                peak = fmaxf(peak, p[i]); whole += p[i]; pressed += p[i] > 0.0f ? 1.0f : 0.0f;
            }
            if (NEXT_GRID) { peak = -Lanes::least(-peak); whole = Lanes::sum(whole); pressed = Lanes::sum(pressed); }
            if (NEXT_GRID && (thin || peak * pressed > 2.2f * whole)) {  // a sharp edge or a corner: steep pressure
                then = FINER;
                break;
            }
            if (!fresh && !laid) break;
            if (EDGED && passes < most) { settle = true; continue; }
            polish = warm = true;
            continue;
        }
        const float4 was = lie;
        const float wx = ex, wy = ey, wz = ez, gx = fx, gy = fy, gz = fz;
        if (change == TURNED) {
            ++turns;
            cuts = 0u;
            float sn, cs, ax = 1e9f, bx = 1e9f, ay = 1e9f, by = 1e9f;
            sincosf(angle, &sn, &cs);
#pragma unroll
            for (int i = 0; i < G; ++i)
                if (p[i] > 0.0f) {
                    const float cu = lie.z + (i - middle) * cell_u, cw = v, x = cu * cs + cw * sn, yy = cw * cs - cu * sn;
                    ax = fminf(ax, x); bx = fminf(bx, -x); ay = fminf(ay, yy); by = fminf(by, -yy);
                }
            ax = Lanes::least(ax); bx = -Lanes::least(bx); ay = Lanes::least(ay); by = -Lanes::least(by);
            const float cell = 0.5f * (cell_u + cell_v);
            const float wide_u = 1.02f * (bx - ax + (touches_u || touches_v ? 6.0f : 1.6f) * cell), wide_v = 1.02f * (by - ay + 1.6f * cell);
            lie.y = fminf(fmaxf(wide_v / wide_u, 0.015625f), 64.0f);
            lie.x = fmaxf(wide_u, wide_v / lie.y) / G;
            lie.z = 0.5f * (ax + bx); lie.w = 0.5f * (ay + by);
            ex = cs * wx + sn * gx; ey = cs * wy + sn * gy; ez = cs * wz + sn * gz;
        } else {
            lie.z += (0.5f * (low_u + high_u) - 0.5f * G) * cell_u;
            lie.w += (0.5f * (low_v + high_v) - 0.5f * G) * cell_v;
            const float wide_u = (high_u - low_u) * cell_u, wide_v = (high_v - low_v) * cell_v;
            lie.y = fminf(fmaxf(wide_v / wide_u, 0.015625f), 64.0f);
            lie.x = fmaxf(wide_u, wide_v / lie.y) / G;
        }
        if (warm) {  // the cells take over the pressures of those that lay there before
            __syncwarp();
#pragma unroll
            for (int i = 0; i < G; ++i)
                if (on) heights[i * G] = p[i];
            __syncwarp();
            const float c = ex * wx + ey * wy + ez * wz, d = ex * gx + ey * gy + ez * gz;
            const float vv = lie.w + (col - middle) * lie.x * lie.y;
#pragma unroll
            for (int i = 0; i < G; ++i) {
                const float u = lie.z + (i - middle) * lie.x;
                const int row = __float2int_rn((u * c - vv * d - was.z) / cell_u + middle);
                const int column = __float2int_rn((u * d + vv * c - was.w) / cell_v + middle);
                p[i] = on && row >= 0 && row < G && column >= 0 && column < G ? shared_height[warp][mine][row * G + column] : 0.0f;
            }
            __syncwarp();
        }
    }
    LEAVE
    if (COLD && !EDGED) cut = Border::edges(gaps, left_at, right_at, lie.x, lie.x * lie.y);
    // Where edges may be near they are looked for, unless they were with respect to the same cells.
    const unsigned pattern = Lanes::mix(!EDGED && then == 0 && solved && on ? (cut & box) * (0x9e3779b1u * (2 * col + 1)) : 0u);
    edge = pattern != 0u && (COLD || pattern != (unsigned)what.w);
    if (!valid || (COLD && mine > 0)) continue;
    if (then) {
        if (l == 0) queue.data[next_which * room + atomicAdd(&count.data[next_which], 1)] = slot;
        if (!COLD) continue;
    } else if (on) {
#pragma unroll
        for (int i = 0; i < G; ++i) stored[i * ROW + col] = p[i];
    }
    if (l == 0) {
        if (COLD && fresh) group.data[(size_t)slot * GROUP + 19] = 0.0f;  // neighbours have not been seen yet
        if (edge) queue.data[NEW_AT_EDGES * room + atomicAdd(&count.data[NEW_AT_EDGES], 1)] = slot;
        if (edge && !COLD) reinterpret_cast<int4*>(kind_of.data)[slot].w = pattern;
        if (COLD && !solved) atomicOr(&flags.data[who.z], POINT);
        if (COLD || EDGED) {
            const bool object = fmaxf(lie.y, 1.0f / lie.y) >= 8.0f || (cuts & 3u && cuts & 12u);
            const float* R = object ? body_R : skin_R;
            if (then == FINER) lie.x *= (float)G / (NEXT_GRID ? NEXT_GRID : G);
            what = make_int4(then == FINER ? NEXT_GRID : G, then == FINER ? 1 : !solved ? -1 : outgrown ? 3 : edge && (fresh || laid) ? 2 : 0, object, EDGED ? cuts : pattern);
            if (EDGED && !solved) { what.x = 14; lie.x = 0.0f; }
            along = make_float4(R[0] * ex + R[3] * ey + R[6] * ez, R[1] * ex + R[4] * ey + R[7] * ez, R[2] * ex + R[5] * ey + R[8] * ez, 0.0f);
            reinterpret_cast<float4*>(place.data)[2 * slot] = lie;
            reinterpret_cast<float4*>(place.data)[2 * slot + 1] = along;
            reinterpret_cast<int4*>(kind_of.data)[slot] = what;
        }
    }
}
