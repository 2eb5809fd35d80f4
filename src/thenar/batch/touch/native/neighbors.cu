// Body of a native function: patches close together on a link make room for each other, see touch/solver/neighbors.py.
//
// A warp works on a world, on one window after the other and on all cells of it: there are few such windows, and from frame to
// frame they hardly change. Pressures are solved as on the CPU, see touch/solver/pressure.py, with cells in shared memory.
// Before this stand G (the most cells a side), HULLS, WARPS and SLOT; words alone in a line stand for other texts.
enum {
    LW = 32, GROUP = 24, SLOTS = 16, QUEUES = 12, CROWDED = 11, STEPS = 16, ASPECTS = 12 * STEPS + 1, EDGE_GRID = 24,
    BLOCKS = 8, ROUNDS_ = 2, ITERATIONS = 16, NQ = (G + 3) / 4, TABLE = G * NQ
};
enum : unsigned { ALL = 0xffffffffu };
typedef float Real;  // Warp makes macros of these words before a parenthesis
typedef int Whole;

LANES

INSET

SHAPES

LINES

SKIN

struct Window {  // where a window lies, and what presses it
    const float *g, *R, *X, *size;  // its group; the skin's pose and size
    float4 lie;
    int4 who, what;
    int kind, grid, stride;
    float e[3], f[3], n[3], hu, hv;
};

struct Cells {  // of the window that is being solved
    float p[G * G], gap[G * G], own[G * G], residual[G * G], direction[G * G], image[G * G], give[G * G], table[G * G];
    float x[G * G], y[G * G], net[Net::NODES], source[BLOCKS * BLOCKS][4];
};

struct Solve {
    // Force and moments are met: pressures are scaled by a plane, three times, and their sum is right in the end.
    static __device__ __noinline__ void meet(Cells& c, int cells, int lane, float total, bool leans) {
#pragma unroll 1
        for (int k = 0; k < (leans ? 3 : 1); ++k) {
            float m[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, fit[3] = {1.0f, 0.0f, 0.0f};
            for (int i = lane; i < cells; i += 32) {
                const float q = c.p[i], x = c.x[i], y = c.y[i];
                m[0] += q; m[1] += q * x; m[2] += q * y; m[3] += q * x * x; m[4] += q * x * y; m[5] += q * y * y;
            }
            for (int i = 0; i < 6; ++i) m[i] = Lanes::sum(m[i]);
            const float amount = m[0], ridge = 1e-6f * m[0];
            m[0] += ridge; m[3] += ridge; m[5] += ridge;
            if (leans) Plane::solve(m, amount, 0.0f, 0.0f, fit);
            float sum = 0.0f;
            for (int i = lane; i < cells; i += 32) {
                c.p[i] = fmaxf(0.0f, c.p[i] * (fit[0] + fit[1] * c.x[i] + fit[2] * c.y[i]));
                sum += c.p[i];
            }
            sum = Lanes::sum(sum);
            for (int i = lane; i < cells; i += 32) c.p[i] *= sum > 0.0f ? total / sum : 1.0f;
        }
        __syncwarp();
    }
    static __device__ __noinline__ void apply(const Cells& c, int grid, int lane, const float* from, float* out) {
        __syncwarp();
        for (int k = lane; k < grid * grid; k += 32) {
            const int i = k / grid, j = k - i * grid;
            float sum = c.own[k] * from[k];
            for (int i2 = 0; i2 < grid; ++i2) {
                const float* const row = c.table + abs(i - i2) * G;
                for (int j2 = 0; j2 < grid; ++j2) sum = fmaf(row[abs(j - j2)], from[i2 * grid + j2], sum);
            }
            out[k] = sum;
        }
        __syncwarp();
    }
    // Takes the plane that fits best over cells in contact, or their mean, from all residuals.
    static __device__ __noinline__ void level(Cells& c, int cells, int lane, bool leans) {
        float m[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        for (int i = lane; i < cells; i += 32)
            if (c.p[i] > 0.0f) {
                const float x = c.x[i], y = c.y[i];
                m[0] += 1.0f; m[1] += x; m[2] += y; m[3] += x * x; m[4] += x * y; m[5] += y * y;
            }
        for (int i = 0; i < 6; ++i) m[i] = Lanes::sum(m[i]);
        const float count = m[0], ridge = 1e-6f * m[0];
        m[0] += ridge; m[3] += ridge; m[5] += ridge;
#pragma unroll 1
        for (int k = 0; k < 2; ++k) {
            float a = 0.0f, b = 0.0f, d = 0.0f, fit[3] = {0.0f, 0.0f, 0.0f};
            for (int i = lane; i < cells; i += 32)
                if (c.p[i] > 0.0f) { a += c.residual[i]; b += c.residual[i] * c.x[i]; d += c.residual[i] * c.y[i]; }
            a = Lanes::sum(a); b = Lanes::sum(b); d = Lanes::sum(d);
            if (leans) Plane::solve(m, a, b, d, fit); else fit[0] = a / count;
            for (int i = lane; i < cells; i += 32) c.residual[i] -= fit[0] + fit[1] * c.x[i] + fit[2] * c.y[i];
        }
    }
    static __device__ __noinline__ void pressure(Cells& c, int grid, int lane, float total, bool leans) {
        const int cells = grid * grid;
        float norm_before = 1.0f, keep = 0.0f;
        bool known = false;
        for (int k = lane; k < cells; k += 32) {
            c.direction[k] = 0.0f;
            if (c.gap[k] >= Shape::hit()) c.p[k] = 0.0f;
        }
        meet(c, cells, lane, total, false);
#pragma unroll 1
        for (int it = 0; it < ITERATIONS; ++it) {
            if (!known) {
                if (leans) meet(c, cells, lane, total, true);
                apply(c, grid, lane, c.p, c.give);
            }
            for (int k = lane; k < cells; k += 32) c.residual[k] = c.give[k] + (c.gap[k] < Shape::hit() ? c.gap[k] : 0.0f);
            level(c, cells, lane, leans);
            float norm = 0.0f;
            for (int k = lane; k < cells; k += 32)
                if (c.p[k] > 0.0f) norm += c.residual[k] * c.residual[k];
            norm = Lanes::sum(norm);
            if (norm <= 0.0f) break;
            const float follow = keep * norm / norm_before;
            norm_before = norm;
            for (int k = lane; k < cells; k += 32) c.direction[k] = c.p[k] > 0.0f ? fmaf(follow, c.direction[k], c.residual[k]) : 0.0f;
            apply(c, grid, lane, c.direction, c.image);
            float mean = 0.0f, count = 0.0f, along = 0.0f, top = 0.0f, bottom = 0.0f;
            for (int k = lane; k < cells; k += 32)
                if (c.p[k] > 0.0f) {
                    mean += c.image[k]; count += 1.0f; along += c.direction[k];
                    top += c.residual[k] * c.direction[k]; bottom += c.image[k] * c.direction[k];
                }
            mean = Lanes::sum(mean) / Lanes::sum(count); along = Lanes::sum(along);
            top = Lanes::sum(top); bottom = Lanes::sum(bottom);
            if (!leans) bottom -= mean * along;
            const float step = bottom > 0.0f ? top / bottom : 0.0f;
            float change = 0.0f, amount = 0.0f;
            unsigned bits = 0u;  // a cell joined; one came or went
            for (int k = lane; k < cells; k += 32) {
                const float before = c.p[k];
                float after = fmaf(-step, c.direction[k], before);
                if (after <= 0.0f) {
                    if (before > 0.0f) bits |= 2u;
                    after = 0.0f;
                    if (c.residual[k] < 0.0f && c.gap[k] < Shape::hit()) { after = -step * c.residual[k]; bits |= 3u; }
                }
                c.p[k] = after;
                change += fabsf(after - before);
                amount += after;
            }
            bits = Lanes::any(bits);
            change = Lanes::sum(change); amount = Lanes::sum(amount);
            keep = bits & 1u ? 0.0f : 1.0f;
            known = !(bits & 2u);
            const float factor = leans || amount <= 0.0f ? 1.0f : total / amount;
            for (int k = lane; k < cells; k += 32) {
                c.p[k] *= factor;
                c.give[k] = factor * fmaf(-step, c.image[k], c.give[k]);
            }
            if (change < 3e-4f * total && (leans ? known : !(bits & 1u))) break;
        }
        if (leans) meet(c, cells, lane, total, true);
        __syncwarp();
    }
};

__shared__ Cells shared_cells[WARPS];
const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
Cells& c = shared_cells[warp];
const Faces faces = {reinterpret_cast<const float4*>(planes.data), first_beside.data, beside.data, hulls.data};
const int room = queue.shape[0] / QUEUES, items = count.data[CROWDED], stride_ = threads >> 5;
for (int item = tid >> 5; item < items; item += stride_) {
    const int world = queue.data[CROWDED * room + item], groups = group_count.data[world];
    bool changed = true;
#pragma unroll 1
    for (int turn = 0; turn < ROUNDS_ * groups; ++turn) {
        const int one = turn % groups;
        if (one == 0) {
            if (!changed) break;
            changed = false;
        }
        Window mine, other;
        bool near = false, news = false, was = false;
        float* net = 0;
        float reach = 0.0f;
        // The window itself first, then every other one on its skin.
#pragma unroll 1
        for (int step = 0; step <= groups; ++step) {
            if (step > 0 && step - 1 == one) continue;
            const int slot = slot_of.data[world * SLOTS + (step ? step - 1 : one)];
            Window& w = step ? other : mine;
            if (slot < 0) { if (step) continue; else break; }
            w.g = group.data + (size_t)slot * GROUP;
            w.who = reinterpret_cast<const int4*>(group_of.data)[slot];
            w.what = reinterpret_cast<const int4*>(kind_of.data)[slot];
            if (w.what.y < 0) { if (step) continue; else break; }
            if (step && w.who.x != mine.who.x) continue;
            w.lie = reinterpret_cast<const float4*>(place.data)[2 * slot];
            const float4 along = reinterpret_cast<const float4*>(place.data)[2 * slot + 1];
            const size_t geom = (size_t)world * geoms + w.who.x;
            w.R = reinterpret_cast<const float*>(geom_xmat.data) + geom * 9;
            w.X = reinterpret_cast<const float*>(geom_xpos.data) + geom * 3;
            w.size = reinterpret_cast<const float*>(geom_size.data) + ((size_t)(world % size_worlds) * geoms + w.who.x) * 3;
            w.kind = geom_kind.data[w.who.x];
            w.grid = w.what.x; w.stride = w.grid == 14 ? 16 : w.grid; w.hu = w.lie.x; w.hv = w.lie.x * w.lie.y;
            w.n[0] = w.g[3]; w.n[1] = w.g[4]; w.n[2] = w.g[5];
            const float* const R = w.what.z ? reinterpret_cast<const float*>(body_xmat.data) + ((size_t)world * bodies + w.who.y) * 9 : w.R;
            for (int a = 0; a < 3; ++a) w.e[a] = R[3 * a] * along.x + R[3 * a + 1] * along.y + R[3 * a + 2] * along.z;
            const float across = w.e[0] * w.n[0] + w.e[1] * w.n[1] + w.e[2] * w.n[2];
            for (int a = 0; a < 3; ++a) w.e[a] -= across * w.n[a];
            const float inv = rsqrtf(fmaxf(w.e[0] * w.e[0] + w.e[1] * w.e[1] + w.e[2] * w.e[2], 1e-20f));
            for (int a = 0; a < 3; ++a) w.e[a] *= inv;
            w.f[0] = w.n[1] * w.e[2] - w.n[2] * w.e[1]; w.f[1] = w.n[2] * w.e[0] - w.n[0] * w.e[2]; w.f[2] = w.n[0] * w.e[1] - w.n[1] * w.e[0];
            const float half_size = 0.5f * w.grid * fmaxf(w.hu, w.hv);
            if (step == 0) {
                net = nets.data + (size_t)slot * Net::NODES;
                was = w.g[19] > 0.0f;
                reach = half_size;
                for (int k = lane; k < Net::NODES; k += 32) c.net[k] = 0.0f;
                __syncwarp();
                continue;
            }
            float square = 0.0f;
            for (int a = 0; a < 3; ++a) {
                const float away = mine.g[a] - w.g[a] + mine.lie.z * mine.e[a] + mine.lie.w * mine.f[a] - w.lie.z * w.e[a] - w.lie.w * w.f[a];
                square += away * away;
            }
            if (sqrtf(square) >= 1.5f * (reach + half_size)) continue;
            near = true;
            // The other's pressure as a few point forces, a lane a block; from this window's origin.
            float at[3], la[3], lb[3], up[3];
            Skin::local(w.R, w.g[0] - w.X[0], w.g[1] - w.X[1], w.g[2] - w.X[2], at);
            Skin::local(w.R, w.e[0], w.e[1], w.e[2], la);
            Skin::local(w.R, w.f[0], w.f[1], w.f[2], lb);
            Skin::local(w.R, w.n[0], w.n[1], w.n[2], up);
            const float* const stored = pressure.data + (size_t)slot * SLOT;
            const float half = 0.5f * (w.grid - 1);
            for (int b = lane; b < BLOCKS * BLOCKS; b += 32) {
                const int bi = b / BLOCKS, bj = b % BLOCKS;
                float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                for (int i = (bi * w.grid + BLOCKS - 1) / BLOCKS; i * BLOCKS < (bi + 1) * w.grid; ++i)
                    for (int j = (bj * w.grid + BLOCKS - 1) / BLOCKS; j * BLOCKS < (bj + 1) * w.grid; ++j) {
                        const float newton = stored[i * w.stride + j] * w.hu * w.hv;
                        if (!(newton > 0.0f)) continue;
                        const int word = w.grid == EDGE_GRID ? insets.data[(size_t)slot * SLOT + i * w.grid + j] : 0;
                        const float u = w.lie.z + (i - half) * w.hu, v = w.lie.w + (j - half) * w.hv;
                        const float su = u + Inset::shift(word, 0) * w.hu, sv = v + Inset::shift(word, 1) * w.hv;
                        const float q[3] = {at[0] + su * la[0] + sv * lb[0], at[1] + su * la[1] + sv * lb[1], at[2] + su * la[2] + sv * lb[2]};
                        float N[3];
                        const float high = Skin::height(w.kind, w.size, q, up, N);
                        for (int a = 0; a < 3; ++a) sum[a] += newton * (w.g[a] - mine.g[a] + u * w.e[a] + v * w.f[a] + high * w.n[a]);
                        sum[3] += newton;
                    }
                for (int a = 0; a < 3; ++a) c.source[b][a] = sum[3] > 0.0f ? sum[a] / sum[3] : 0.0f;
                c.source[b][3] = sum[3];
            }
            __syncwarp();
            const float nearest = 0.4f * w.grid / BLOCKS * fmaxf(w.hu, w.hv), gives = 1.0f / (3.14159265f * w.g[7]);
            const float my_half = 0.5f * (mine.grid - 1), spacing = (mine.grid - 1) / 8.0f;
            for (int k = lane; k < Net::NODES; k += 32) {
                const float u = mine.lie.z + (k / (BLOCKS + 1) * spacing - my_half) * mine.hu, v = mine.lie.w + (k % (BLOCKS + 1) * spacing - my_half) * mine.hv;
                float sum = 0.0f;
                for (int b = 0; b < BLOCKS * BLOCKS; ++b) {
                    if (!(c.source[b][3] > 0.0f)) continue;
                    float away = 0.0f;
                    for (int a = 0; a < 3; ++a) {
                        const float d = u * mine.e[a] + v * mine.f[a] - c.source[b][a];
                        away += d * d;
                    }
                    sum += c.source[b][3] / fmaxf(sqrtf(away), nearest);
                }
                c.net[k] += sum * gives;
            }
            __syncwarp();
        }
        if (!net || (!near && !was)) continue;
        const int slot = slot_of.data[world * SLOTS + one], grid = mine.grid;
        const float per = 8.0f / (grid - 1);  // nodes of a net to a cell
        const float* const stored = pressure.data + (size_t)slot * SLOT;
        // Has what is pressed away under the patch changed by more than a small share? An even shift is no change.
        float low = 1e9f, high = 1e9f, less = 1e9f, more = 1e9f;
        for (int k = lane; k < grid * grid; k += 32) {
            c.p[k] = stored[k / grid * mine.stride + k % grid];
            if (c.p[k] > 0.0f) {
                const float now = Net::at(c.net, k / grid * per, k % grid * per), before = was ? Net::at(net, k / grid * per, k % grid * per) : 0.0f;
                low = fminf(low, now); high = fminf(high, -now); less = fminf(less, now - before); more = fminf(more, before - now);
            }
        }
        low = Lanes::least(low); high = -Lanes::least(high); less = Lanes::least(less); more = -Lanes::least(more);
        news = !was || !near || more - less > 0.02f * (high - low);
        __syncwarp();
        for (int k = lane; k < Net::NODES; k += 32) net[k] = c.net[k];
        if (lane == 0) {
            group.data[(size_t)slot * GROUP + 19] = near ? 1.0f : 0.0f;
            crowded.data[slot] = near;
        }
        __syncwarp();
        if (!news) continue;
        changed = true;
        const float scale = mine.g[7] / mine.hu, aspect = mine.lie.y, half = 0.5f * (grid - 1);
        const Lines lines = {
            reinterpret_cast<const float*>(geom_xmat.data) + (size_t)world * geoms * 9, reinterpret_cast<const float*>(geom_xpos.data) + (size_t)world * geoms * 3,
            reinterpret_cast<const float*>(geom_size.data) + (size_t)(world % size_worlds) * geoms * 3, geom_kind.data, parts.data, faces,
            mine.who.x, first_part.data[mine.who.y], first_part.data[mine.who.y + 1],
            {mine.g[0], mine.g[1], mine.g[2]}, {mine.e[0], mine.e[1], mine.e[2]}, {mine.f[0], mine.f[1], mine.f[2]}, {mine.n[0], mine.n[1], mine.n[2]}};
        const float place_f = fminf(fmaxf(STEPS * log2f(aspect), -6.0f * STEPS), 5.999f * STEPS) + 6 * STEPS;
        const int place_i = min((int)place_f, ASPECTS - 2);
        const float share = place_f - place_i;
        const float* const from = table.data + (size_t)place_i * TABLE * 4;
        // Of the table's halves, see skin_tables.py: a row here is a column there.
        for (int k = lane; k < G * G; k += 32) {
            const float a = from[k % G * NQ * 4 + k / G], b = from[(k % G + TABLE / NQ) * NQ * 4 + k / G];
            c.table[k] = 2.0f * fmaf(share, b - a, a);
        }
        const float far = half * mine.hu * fmaxf(1.0f, aspect) + fabsf(mine.lie.z) + fabsf(mine.lie.w);
        const int leans = mine.who.w;
        const float lu = leans == 2 ? 1.0f : mine.g[16] * mine.e[0] + mine.g[17] * mine.e[1] + mine.g[18] * mine.e[2];
        const float lv = leans == 2 ? 0.0f : mine.g[16] * mine.f[0] + mine.g[17] * mine.f[1] + mine.g[18] * mine.f[2];
        float least = Shape::miss();
        for (int k = lane; k < grid * grid; k += 32) {
            const int i = k / grid, j = k % grid, word = grid == EDGE_GRID ? insets.data[(size_t)slot * SLOT + k] : 0;
            const float u = mine.lie.z + (i - half + Inset::shift(word, 0)) * mine.hu, v = mine.lie.w + (j - half + Inset::shift(word, 1)) * mine.hv;
            float height, gap;
            lines.measure(u, v, &height, &gap);
            if (word & Inset::WALL) gap = Shape::miss();
            c.gap[k] = gap;
            c.own[k] = word && !(word & Inset::WALL) ? Inset::own(word, aspect) : 0.0f;
            c.x[k] = leans ? (u * lu + v * lv) / far : 0.0f;
            c.y[k] = leans == 2 ? v / far : 0.0f;
            least = fminf(least, gap);
        }
        least = Lanes::least(least);
        for (int k = lane; k < grid * grid; k += 32)
            if (c.gap[k] < Shape::hit()) c.gap[k] = (c.gap[k] - least + Net::at(c.net, k / grid * per, k % grid * per)) * scale;
        __syncwarp();
        Solve::pressure(c, grid, lane, mine.g[6] / (mine.hu * mine.hv), leans > 0);
        for (int k = lane; k < grid * grid; k += 32) pressure.data[(size_t)slot * SLOT + k / grid * mine.stride + k % grid] = c.p[k];
        __syncwarp();
    }
}
