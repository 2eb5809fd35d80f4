// Rounds of windows that are laid: Polonsky and Keer's conjugate gradients, as on the CPU, so that windows come to lie
// as they do there. Two products with the influence table a round where cells come or go, else one.
float amount = 0.0f, dir[G], give[G];
#pragma unroll
for (int i = 0; i < G; ++i) amount += p[i];
amount = Lanes::sum(amount);
float factor = amount > 0.0f ? total / amount : 0.0f;
#pragma unroll
for (int i = 0; i < G; ++i) { p[i] *= factor; dir[i] = give[i] = 0.0f; }
float norm_before = 1.0f, keep = 0.0f;
bool known = false, done = false;
const int rounds = polish ? POLISH_ITERATIONS : from_before ? WARM_ITERATIONS : COLD_ITERATIONS;
const float tolerance = polish ? 1e-6f : 3e-4f;
#pragma unroll 1
for (int it = 0; it <= rounds; ++it) {
    MOMENTS
    float image[G], cells = 0.0f, mean = 0.0f;
    // Stage 0, after cells came or went: how far the skin gives. Stage 1: along the step's direction.
#pragma unroll 1
    for (int stage = __any_sync(ALL, !known) ? 0 : 1; stage < 2; ++stage) {
        if (stage == 1) {
            float norm = 0.0f;
#pragma unroll
            for (int i = 0; i < G; ++i)
                if (p[i] > 0.0f) { mean += give[i] + gs[i]; cells += 1.0f; }
            cells = Lanes::sum(cells);
            mean = Lanes::sum(mean) / cells;
#pragma unroll
            for (int i = 0; i < G; ++i) image[i] = give[i] + (gs[i] < Shape::hit() ? gs[i] : 0.0f) - mean;
            if (LEANS) {  // residuals are freed of every plane, not of their mean alone
                float m[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
                for (int i = 0; i < G; ++i)
                    if (p[i] > 0.0f) {
                        const float x = EDGED ? plane_x[i * G] : fmaf(x1, i, x0);
                        m[0] += 1.0f; m[1] += x; m[3] = fmaf(x, x, m[3]);
                        if (EDGED) { const float y = plane_y[i * G]; m[2] += y; m[4] = fmaf(x, y, m[4]); m[5] = fmaf(y, y, m[5]); }
                    }
                if (!EDGED) { m[2] = m[0] * y0; m[4] = m[1] * y0; m[5] = m[2] * y0; }
#pragma unroll
                for (int i = 0; i < 6; ++i) m[i] = Lanes::sum(m[i]);
                const float ridge = 1e-6f * m[0];
                m[0] += ridge; m[3] += ridge; m[5] += ridge;
#pragma unroll 1
                for (int k = 0; k < 2; ++k) {
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
            }
#pragma unroll
            for (int i = 0; i < G; ++i)
                if (p[i] > 0.0f) norm = fmaf(image[i], image[i], norm);
            norm = Lanes::sum(norm);
            const float follow = keep * norm / norm_before;
            norm_before = fmaxf(norm, 1e-30f);
#pragma unroll
            for (int i = 0; i < G; ++i) {
                dir[i] = p[i] > 0.0f ? fmaf(follow, dir[i], image[i]) : 0.0f;
                if (on) heights[i * G] = image[i];  // residuals wait here for the end of the step
                image[i] = dir[i];
            }
        } else {
#pragma unroll
            for (int i = 0; i < G; ++i) image[i] = p[i];
        }
        Table::spread(image, sign, on, y_row);
        Table::multiply(tab, on ? j : 0, y_half, sign, image);
        if (EDGED) {
#pragma unroll
            for (int i = 0; i < G; ++i) image[i] = fmaf(own[i * G], stage ? dir[i] : p[i], image[i]);
        }
        if (stage == 0) {
#pragma unroll
            for (int i = 0; i < G; ++i) give[i] = known ? give[i] : image[i];
        }
    }
    float mi = 0.0f, top = 0.0f, bottom = 0.0f, sd = 0.0f, change = 0.0f;
#pragma unroll
    for (int i = 0; i < G; ++i)
        if (p[i] > 0.0f) {
            mi += image[i]; sd += dir[i];
            top = fmaf(heights[i * G], dir[i], top);
            bottom = fmaf(image[i], dir[i], bottom);
        }
    top = Lanes::sum(top); bottom = Lanes::sum(bottom);
    if (!LEANS) bottom -= Lanes::sum(mi) / cells * Lanes::sum(sd);
    const float step = bottom > 0.0f && !done ? top / bottom : 0.0f;
    bool joined = false, same = true;
    amount = 0.0f;
#pragma unroll
    for (int i = 0; i < G; ++i) {
        const float before = p[i];
        float after = fmaf(-step, dir[i], before);
        if (after <= 0.0f) {
            same = same && before <= 0.0f;
            after = 0.0f;
            if (on && gs[i] < Shape::hit() && heights[i * G] < 0.0f && step > 0.0f) {
                after = -step * heights[i * G]; joined = true; same = false;
            }
        }
        change += fabsf(after - before);
        amount += after;
        p[i] = after;
    }
    const unsigned flags = Lanes::any((joined ? 1u : 0u) | (same ? 0u : 2u));
    joined = flags & 1u;
    keep = joined ? 0.0f : 1.0f;
    amount = Lanes::sum(amount);
    factor = LEANS || done || amount <= 0.0f ? 1.0f : total / amount;
    if (!done) known = !(flags & 2u);
#pragma unroll
    for (int i = 0; i < G; ++i) {
        p[i] *= factor;
        if (!done) give[i] = factor * fmaf(-step, image[i], give[i]);
    }
    change = Lanes::sum(change);  // by all lanes, whether or not their window is done
    done = done || (change < tolerance * total && (LEANS ? known : !joined));
}
