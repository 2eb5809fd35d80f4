// Rounds of windows that last: one product with the influence table each. Residuals go through a stencil that nearly
// undoes the table, and the step along them is Barzilai and Borwein's, from how residuals changed with the last one:
// half the products of conjugate gradients, above all where cells come and go.
float amount = 0.0f, top = 0.0f, last[G];
#pragma unroll
for (int i = 0; i < G; ++i) { amount += p[i]; top = fmaxf(top, p[i]); last[i] = 0.0f; }
amount = Lanes::sum(amount);
top = -Lanes::least(-top);
float factor = amount > 0.0f ? total / amount : 0.0f;
if (!LEANS) {  // squares of pressures grow by as much everywhere when a round patch grows with its load, here by a bit less
    const float grown = 0.5f * fminf(fmaxf(factor - 1.0f, -0.2f), 0.2f) * top * top;
    amount = 0.0f;
#pragma unroll
    for (int i = 0; i < G; ++i) {
        p[i] = p[i] > 0.0f ? sqrtf(fmaxf(fmaf(p[i], p[i], grown), 0.0f)) : 0.0f;
        amount += p[i];
    }
    amount = Lanes::sum(amount);
    factor = amount > 0.0f ? total / amount : 0.0f;
}
#pragma unroll
for (int i = 0; i < G; ++i) p[i] *= factor;
float step = stencil.x;
bool known = false, done = false;  // known: force and moments are met since no cell came or went
const int rounds = ITERATIONS;
const float tolerance = 1e-3f;
#pragma unroll 1
for (int it = 0; it <= rounds; ++it) {
    MOMENTS
    float image[G], cells = 0.0f, mean = 0.0f, m[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    Table::spread(p, sign, on, y_row);
    Table::multiply(tab, on ? j : 0, y_half, sign, image);
#pragma unroll
    for (int i = 0; i < G; ++i) {
        if (EDGED) image[i] = fmaf(own[i * G], p[i], image[i]);
        image[i] += gs[i] < Shape::hit() ? gs[i] : 0.0f;
        if (p[i] > 0.0f) {
            mean += image[i]; cells += 1.0f;
            if (LEANS) {
                const float x = EDGED ? plane_x[i * G] : fmaf(x1, i, x0);
                m[0] += 1.0f; m[1] += x; m[3] = fmaf(x, x, m[3]);
                if (EDGED) { const float y = plane_y[i * G]; m[2] += y; m[4] = fmaf(x, y, m[4]); m[5] = fmaf(y, y, m[5]); }
            }
        }
    }
    cells = Lanes::sum(cells);
    if (LEANS) {
        if (!EDGED) { m[2] = m[0] * y0; m[4] = m[1] * y0; m[5] = m[2] * y0; }
#pragma unroll
        for (int i = 0; i < 6; ++i) m[i] = Lanes::sum(m[i]);
        const float ridge = 1e-6f * m[0];
        m[0] += ridge; m[3] += ridge; m[5] += ridge;
    }
    // Residuals first; then what the stencil makes of them.
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
        if (half) {
            float beside = 0.0f, here_beside = left * gaps[-left_at] + right * gaps[right_at], before = 0.0f;
            mean = 0.0f;
#pragma unroll
            for (int i = 0; i < G; ++i) {
                const int n = i < G - 1 ? i + 1 : i;
                const float next_beside = i < G - 1 ? left * gaps[n * G - left_at] + right * gaps[n * G + right_at] : 0.0f;
                const float here = p[i] > 0.0f ? image[i] : 0.0f, next = i < G - 1 && p[n] > 0.0f ? image[n] : 0.0f;
                image[i] = here + stencil.y * (before + next) + stencil.z * here_beside + stencil.w * (beside + next_beside);
                if (p[i] > 0.0f) mean += image[i];
                before = here; beside = here_beside; here_beside = next_beside;
            }
        }
        mean = Lanes::sum(mean) / cells;
#pragma unroll
        for (int i = 0; i < G; ++i) image[i] -= mean;
#pragma unroll 1
        for (int k = 0; LEANS && k < 2; ++k) {  // freed of every plane, not of their mean alone
            float a = 0.0f, b = 0.0f, c = 0.0f, fit[3];
#pragma unroll
            for (int i = 0; i < G; ++i)
                if (p[i] > 0.0f) {
                    a += image[i]; b = fmaf(image[i], EDGED ? plane_x[i * G] : fmaf(x1, i, x0), b);
                    if (EDGED) c = fmaf(image[i], plane_y[i * G], c);
                }
            c = Lanes::sum(EDGED ? c : a * y0);
            a = Lanes::sum(a); b = Lanes::sum(b);
            Plane::solve(m, a, b, c, fit);
#pragma unroll
            for (int i = 0; i < G; ++i) image[i] -= fit[0] + fit[1] * (EDGED ? plane_x[i * G] : fmaf(x1, i, x0)) + fit[2] * (EDGED ? plane_y[i * G] : y0);
        }
        if (half) break;
        float fell = 0.0f, changed = 0.0f;  // along the last move: what residuals were, and by how much they changed
#pragma unroll
        for (int i = 0; i < G; ++i)
            if (p[i] > 0.0f && it > 0) {
                const float was = heights[i * G];
                fell = fmaf(p[i] - last[i], was, fell); changed = fmaf(p[i] - last[i], image[i] - was, changed);
            }
        fell = Lanes::sum(fell); changed = Lanes::sum(changed);
        step = fell < 0.0f && changed > 0.0f ? fminf(fmaxf(-step * fell / changed, 0.5f * stencil.x), 2.5f * stencil.x) : stencil.x;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < G; ++i)
            if (on) { heights[i * G] = image[i]; gaps[i * G] = p[i] > 0.0f ? image[i] : 0.0f; }
        __syncwarp();
    }
    bool joined = false, same = true;
    float change = 0.0f;
    const float slight = tolerance * total / cells;  // of a pressure: cells that come or go with less do not count
    amount = 0.0f;
#pragma unroll
    for (int i = 0; i < G; ++i) {
        const float before = p[i];
        float after = before > 0.0f ? fmaf(-step, image[i], before) : 0.0f;
        if (after <= 0.0f) {
            same = same && before < slight;
            after = on && before <= 0.0f && gs[i] < Shape::hit() ? fmaxf(0.0f, -step * heights[i * G]) : 0.0f;
            joined = joined || after > slight;
        }
        after = done ? before : after;
        change += fabsf(after - before);
        amount += after;
        last[i] = before;
        p[i] = after;
    }
    const unsigned flags = Lanes::any((joined ? 3u : 0u) | (same ? 0u : 2u));
    amount = Lanes::sum(amount);
    factor = LEANS || done || amount <= 0.0f ? 1.0f : total / amount;
    if (!done) known = !(flags & 2u);
#pragma unroll
    for (int i = 0; i < G; ++i) p[i] *= factor;
    change = Lanes::sum(change);  // by all lanes, whether or not their window is done
    done = done || (change < tolerance * total && (LEANS ? known : !(flags & 1u)));
}
