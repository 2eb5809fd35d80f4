    if (LEANS && (it == rounds || __any_sync(ALL, !known))) {  // scale by a plane: force and moments are met
#pragma unroll 1
        for (int k = 0; k < 3; ++k) {
            float m[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, fit[3];
#pragma unroll
            for (int i = 0; i < G; ++i) {
                const float x = EDGED ? plane_x[i * G] : fmaf(x1, i, x0), px = p[i] * x;
                m[0] += p[i]; m[1] += px; m[3] = fmaf(px, x, m[3]);
                if (EDGED) { const float y = plane_y[i * G], py = p[i] * y; m[2] += py; m[4] = fmaf(py, x, m[4]); m[5] = fmaf(py, y, m[5]); }
            }
            if (!EDGED) { m[2] = m[0] * y0; m[4] = m[1] * y0; m[5] = m[2] * y0; }
#pragma unroll
            for (int i = 0; i < 6; ++i) m[i] = Lanes::sum(m[i]);
            const float ridge = 1e-6f * m[0];
            m[0] += ridge; m[3] += ridge; m[5] += ridge;
            Plane::solve(m, total, 0.0f, 0.0f, fit);
            const bool change = it == rounds || !known;
            float sum = 0.0f, next[G];
#pragma unroll
            for (int i = 0; i < G; ++i) {
                next[i] = fmaxf(0.0f, p[i] * (fit[0] + fit[1] * (EDGED ? plane_x[i * G] : fmaf(x1, i, x0)) + fit[2] * (EDGED ? plane_y[i * G] : y0)));
                sum += next[i];
            }
            sum = Lanes::sum(sum);
            if (change && sum > 0.0f) {
#pragma unroll
                for (int i = 0; i < G; ++i) p[i] = next[i] * (total / sum);
            }
        }
    }
    if (it == rounds || __all_sync(ALL, done)) { if (!LEANS || it == rounds) break; it = rounds - 1; continue; }
