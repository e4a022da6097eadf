/* The log-partition of every chain of a batch, and the posteriors of its edges, in one pass over the scores.
 *
 * The formulas are those of chains.py, which stands in where this is not compiled. All arrays are contiguous and in the
 * layout of EdgeScores. Of a row (one start of one sentence) only the widths inside its sentence are read; the posteriors
 * of the others are set to 0. Loops over a row run over contiguous memory without branches, so that compilers make vector
 * instructions of them.
 *
 * Included by structures.c once for each type of number, called `real`.
 */

typedef struct {
    const Batch *batch;
    const Scores *in;       /* branch: NULL if tied */
    real *log_z;            /* (B, n, m), 0 in padding */
    const Scores *expected; /* how often each is used, to be filled in; all NULL if not wanted */
} NAME(Chains);

/* The rows from `first` to before `last`; 0, or 1 if memory ran out.
 * A row has `here` = widths * m entries, and `steps` = here - m edges that go on; entry e + m is one width wider than
 * entry e. */
FOR_EACH_CPU static int NAME(rows)(const NAME(Chains) *p, int64_t first, int64_t last) {
    const Batch *batch = p->batch;
    const Scores *in = p->in, *to = p->expected;
    const int64_t m = batch->m, row = batch->c * m;
    const size_t types = (size_t)m * sizeof(real);
    real *scratch = malloc((size_t)(5 * row + 1) * sizeof(real));
    if (!scratch) return 1;
    real *restrict go = scratch, *restrict share = go + row, *restrict stop = share + row;
    real *restrict run = stop + row, *restrict each = run + row;
    for (int64_t at = first; at < last; at++) {
        int64_t widths = widths_at(batch, at), here = widths * m, steps = widths > 1 ? here - m : 0;
        const real *restrict shut = (const real *)in->close + at * row, *restrict on = (const real *)in->extend + at * (row - m);
        const real *none = (const real *)in->absent + at * m, *some = (const real *)in->present + at * m;
        real *z = p->log_z + at * m, *to_absent = to->absent ? (real *)to->absent + at * m : NULL;
        real *to_present = (real *)to->present + at * m;
        if (here) {
            if (in->branch) {
                const real *restrict fork = (const real *)in->branch + at * (row - m);
                for (int64_t e = 0; e < steps; e++) {
                    int impossible = on[e] == -INFINITY && fork[e] == -INFINITY;
                    real weight = NAME(either)(impossible ? 0 : on[e], impossible ? 0 : fork[e], &share[e]);
                    go[e] = impossible ? -INFINITY : weight;
                }
            } else {
                for (int64_t e = 0; e < steps; e++) go[e] = on[e] + NAME(either)(0, shut[e], &share[e]);
            }
            for (int64_t e = m; e < steps; e++) go[e] += go[e - m];
            memcpy(stop, shut, types);
            for (int64_t e = 0; e < steps; e++) stop[e + m] = shut[e + m] + go[e];
            memcpy(run, stop, types);
            for (int64_t e = m; e < here; e++) run[e] = stop[e] > run[e - m] ? stop[e] : run[e - m];
            for (int64_t k = 0; k < m; k++) {
                real there = run[here - m + k] + some[k], best = none[k] > there ? none[k] : there;
                z[k] = best == -INFINITY ? 0 : best;
                each[k] = some[k] - z[k];
            }
            NAME(repeat)(each, m, here);
            for (int64_t e = 0; e < here; e++) stop[e] = NAME(exp)(stop[e] + each[e]);
            memcpy(run + steps, stop + steps, types);
            for (int64_t e = steps - 1; e >= 0; e--) run[e] = run[e + m] + stop[e]; /* stopping there or later */
            for (int64_t k = 0; k < m; k++) {
                real nothing = NAME(exp)(none[k] - z[k]), total = nothing + run[k];
                z[k] += NAME(log)(total);
                each[k] = total == 0 ? 0 : 1 / total;
                if (to_absent) to_absent[k] = nothing * each[k], to_present[k] = run[k] * each[k];
            }
        } else {
            memset(z, 0, types);
            if (to_absent) memset(to_absent, 0, types), memset(to_present, 0, types);
        }
        if (!to_absent) continue;
        NAME(repeat)(each, m, here);
        real *restrict to_close = (real *)to->close + at * row, *restrict to_extend = (real *)to->extend + at * (row - m);
        const size_t padding = (size_t)(row - m - steps) * sizeof(real);
        memset(to_close + here, 0, (size_t)(row - here) * sizeof(real));
        memset(to_extend + steps, 0, padding);
        for (int64_t e = steps; e < here; e++) to_close[e] = stop[e] * each[e];
        if (in->branch) {
            real *restrict to_branch = (real *)to->branch + at * (row - m);
            memset(to_branch + steps, 0, padding);
            for (int64_t e = 0; e < steps; e++) {
                real went_on = run[e + m] * each[e];
                to_close[e] = stop[e] * each[e];
                to_branch[e] = went_on * share[e];
                to_extend[e] = went_on * (1 - share[e]);
            }
        } else {
            for (int64_t e = 0; e < steps; e++) {
                to_extend[e] = run[e + m] * each[e];
                to_close[e] = stop[e] * each[e] + to_extend[e] * share[e];
            }
        }
    }
    free(scratch);
    return 0;
}

/* The rows of one thread. */
static int NAME(share)(void *given, int64_t number) {
    const NAME(Chains) *chains = given;
    const int64_t rows = chains->batch->batch * chains->batch->n, threads = chains->batch->threads;
    return NAME(rows)(chains, rows * number / threads, rows * (number + 1) / threads);
}

/* All rows, shared among threads; 0, or 1 if memory ran out. */
int64_t NAME(chains)(const Batch *batch, const Scores *in, real *log_z, const Scores *expected) {
    NAME(Chains) chains = {batch, in, log_z, expected};
    return share_with(batch->openmp, NAME(share), &chains, batch->threads, batch->threads);
}

/* The most probable mentions as (sentence, start, end, type), in that order. Returns how many there are, of which it writes no
 * more than there is space for; or -1 where a chain has no possible choice, -2 if memory ran out.
 * A chain goes on with a mention or without one, whichever is better; it stops where the sum of that is highest. `leads`
 * (B, n, m), where there are any, say how much more that scores than no mention. */
int64_t NAME(best)(const Batch *batch, const Scores *in, real *leads, int32_t *mentions, int64_t space) {
    const int64_t n = batch->n, m = batch->m, row = batch->c * m;
    int64_t found = 0;
    real *scratch = malloc((size_t)(2 * m + 1) * sizeof(real)), *restrict run = scratch, *restrict best = scratch + m;
    int32_t *last = malloc((size_t)(m + 1) * sizeof(int32_t));
    if (!scratch || !last) found = -2;
    for (int64_t at = 0; at < batch->batch * n && found >= 0; at++) {
        int64_t widths = widths_at(batch, at), wide = 0;
        if (!widths) continue;
        const real *restrict shut = (const real *)in->close + at * row, *restrict on = (const real *)in->extend + at * (row - m);
        const real *fork = in->branch ? (const real *)in->branch + at * (row - m) : NULL;
        int undefined = 0;
        for (int64_t k = 0; k < m; k++) run[k] = 0, best[k] = shut[k], last[k] = 0, undefined |= shut[k] != shut[k];
        for (int64_t w = 1; w < widths; w++) {
            for (int64_t k = 0; k < m; k++) {
                real without = on[(w - 1) * m + k], with = fork ? fork[(w - 1) * m + k] : without + shut[(w - 1) * m + k];
                run[k] += with > without ? with : without;
                real here = shut[w * m + k] + run[k];
                undefined |= here != here;
                last[k] = here > best[k] ? (int32_t)w : last[k];
                best[k] = here > best[k] ? here : best[k];
            }
        }
        for (int64_t k = 0; k < m; k++) {
            real none = ((const real *)in->absent)[at * m + k], some = best[k] + ((const real *)in->present)[at * m + k];
            if (undefined || !(none > -INFINITY || some > -INFINITY) || none != none || some != some) found = -1;
            if (leads) leads[at * m + k] = some - none;
            last[k] = some > none ? last[k] : -1;
            wide = last[k] + 1 > wide ? last[k] + 1 : wide;
        }
        for (int64_t w = 0; w < wide && found >= 0; w++) {
            for (int64_t k = 0; k < m; k++) {
                int64_t e = w * m + k;
                if (w > last[k] || (w < last[k] && !(fork ? fork[e] > on[e] : shut[e] > 0))) continue;
                if (found++ >= space) continue;
                int32_t *mention = mentions + 4 * (found - 1), start = (int32_t)(at % n);
                mention[0] = (int32_t)(at / n), mention[1] = start, mention[2] = start + (int32_t)w + 1, mention[3] = (int32_t)k;
            }
        }
    }
    free(scratch), free(last);
    return found;
}
