/* unite and weigh, backwards: `share` is ∂ log Z / ∂ here, of_f(M) the sum of share(M ∪ S) g(S), and of_g(S) that of
 * share(M ∪ S) f(M). */
INLINE void part_1(const lanes *share, const lanes *f, const lanes *g, lanes *of_f, lanes *of_g) {
    of_f[0] = share[0] * g[0] + share[1] * g[1];
    of_f[1] = share[1] * (g[0] + g[1]);
    of_g[0] = share[0] * f[0] + share[1] * f[1];
    of_g[1] = share[1] * (f[0] + f[1]);
}
#define PART(n, fewer)                                                                                   \
    INLINE void part_##n(const lanes *share, const lanes *f, const lanes *g, lanes *of_f, lanes *of_g) { \
        enum { HALF = 1 << fewer };                                                                      \
        lanes either[HALF], of_either[HALF], more[HALF];                                                 \
        UNROLLED for (int s = 0; s < HALF; s++) either[s] = g[s] + g[HALF + s];                          \
        part_##fewer(share, f, g, of_f, of_g);                                                           \
        part_##fewer(share + HALF, f, g + HALF, more, of_g + HALF);                                      \
        part_##fewer(share + HALF, f + HALF, either, of_f + HALF, of_either);                            \
        UNROLLED for (int s = 0; s < HALF; s++) of_f[s] += more[s];                                      \
        UNROLLED for (int s = 0; s < 2 * HALF; s++) of_g[s] += of_either[s % HALF];                      \
    }
PART(2, 1)
PART(3, 2)
PART(4, 3)
#undef PART

#define PART_FEW(n)                                                                           \
    {                                                                                         \
        lanes of_ends[1 << n], of_goes[1 << n];                                               \
        part_##n(share, f, g, of_ends, of_goes);                                              \
        UNROLLED for (int s = 0; s < 1 << n; s++) of_f[s] = of_ends[s], of_g[s] = of_goes[s]; \
        return;                                                                               \
    }
FOR_EACH_CPU static void part(int n, const lanes *share, const lanes *f, const lanes *g, lanes *of_f, lanes *of_g) {
    if (n == 4) PART_FEW(4)
    if (n == 3) PART_FEW(3)
    if (n == 2) PART_FEW(2)
    if (n == 1) PART_FEW(1)
    const int half = 1 << (n - 1);
    lanes either[half], of_either[half], more[half];
    for (int s = 0; s < half; s++) either[s] = g[s] + g[half + s];
    part(n - 1, share, f, g, of_f, of_g);
    part(n - 1, share + half, f, g + half, more, of_g + half);
    part(n - 1, share + half, f + half, either, of_f + half, of_either);
    for (int s = 0; s < half; s++) of_f[s] += more[s], of_g[s] += of_either[s], of_g[half + s] += of_either[s];
}
#undef PART_FEW

/* How often types weigh something beside others goes into `goes` and `ends`, which are as those of Beside. */
INLINE void unsplit(int untied, const Beside *by, int half, const lanes *made, const lanes *of_made, lanes *of_f, lanes *of_g,
                    lanes *goes, lanes *ends) {
    if (!untied) of_f[0] += of_made[0], of_g[0] += of_made[half], of_f[half] += of_made[2 * half], of_g[half] += of_made[3 * half];
    UNROLLED for (int s = !untied; s < half; s++) {
        const lanes *a = of_made + s, *b = made + s;
        of_f[s] += a[0] * by->goes[half + s];
        of_g[s] += a[half] * by->ends[half + s];
        of_f[half + s] += a[2 * half] * (untied ? by->goes_also : by->goes)[half + s];
        of_g[half + s] += a[3 * half] * (untied ? by->ends_also : by->ends)[half + s];
        goes[half + s] += a[0] * b[0] + a[2 * half] * b[2 * half];
        ends[half + s] += a[half] * b[half] + a[3 * half] * b[3 * half];
    }
}

INLINE void unweigh_0(int untied, const Beside *by, const lanes *share, const lanes *f, const lanes *g, lanes *of_f, lanes *of_g,
                      lanes *goes, lanes *ends) {
    (void)untied, (void)by, (void)goes, (void)ends;
    *of_f = *share * *g, *of_g = *share * *f;
}
#define UNWEIGH(n, fewer)                                                                                                  \
    INLINE void unweigh_##n(int untied, const Beside *by, const lanes *share, const lanes *f, const lanes *g, lanes *of_f, \
                            lanes *of_g, lanes *goes, lanes *ends) {                                                       \
        enum { HALF = 1 << fewer };                                                                                        \
        lanes made[4 * HALF], of_made[4 * HALF], *both = made + 2 * HALF, *of_both = of_made + 2 * HALF;                   \
        if (n == 1 && !untied) {                                                                                           \
            part_1(share, f, g, of_f, of_g);                                                                               \
            return;                                                                                                        \
        }                                                                                                                  \
        split_sum(untied, by, HALF, f, g, made);                                                                           \
        unweigh_##fewer(untied, by, share, f, g, of_f, of_g, goes, ends);                                                  \
        unweigh_##fewer(untied, by, share + HALF, made, g + HALF, of_made, of_g + HALF, goes, ends);                       \
        unweigh_##fewer(untied, by, share + HALF, f + HALF, made + HALF, of_f + HALF, of_made + HALF, goes, ends);         \
        unweigh_##fewer(untied, by, share + HALF, both, both + HALF, of_both, of_both + HALF, goes, ends);                 \
        unsplit(untied, by, HALF, made, of_made, of_f, of_g, goes, ends);                                                  \
    }
UNWEIGH(1, 0)
UNWEIGH(2, 1)
UNWEIGH(3, 2)
#undef UNWEIGH

/* One choice of the later types: what unweigh reads of it, and where it adds to. */
typedef struct {
    const lanes *share, *f, *f_more, *g, *g_more, *later;
    lanes *of_f, *of_g, *of_f_more, *of_g_more, *of_later; /* of_f_more is NULL where f_more is all 1, and so is of_g_more */
} Later;

#define UNWEIGH_FEW(n)                                                                                                    \
    INLINE void unweigh_few_##n(int untied, const Beside *by, const Later *at, Beside *used) {                            \
        enum { SIZE = 1 << n };                                                                                           \
        lanes share[SIZE], ends[SIZE], goes[SIZE], of_ends[SIZE], of_goes[SIZE], low[SIZE], high[SIZE], total = all(0);   \
        UNROLLED for (int s = 0; s < SIZE; s++) {                                                                         \
            share[s] = at->share[s] * *at->later, ends[s] = at->f[s] * at->f_more[s], goes[s] = at->g[s] * at->g_more[s]; \
            low[s] = high[s] = all(0);                                                                                    \
        }                                                                                                                 \
        unweigh_##n(untied, by, share, ends, goes, of_ends, of_goes, low, high);                                          \
        UNROLLED for (int s = 0; s < SIZE; s++) {                                                                         \
            at->of_f[s] += of_ends[s] * at->f_more[s], at->of_g[s] += of_goes[s] * at->g_more[s];                         \
            if (s & (s - 1)) used->goes[s] += low[s], used->ends[s] += high[s]; /* others are beside none */              \
        }                                                                                                                 \
        if (at->of_f_more) {                                                                                              \
            UNROLLED for (int s = 0; s < SIZE; s++)                                                                       \
                ends[s] *= of_ends[s], total += ends[s], at->of_f_more[s] += ends[s];                                     \
        }                                                                                                                 \
        if (at->of_g_more) {                                                                                              \
            UNROLLED for (int s = 0; s < SIZE; s++) at->of_g_more[s] += of_goes[s] * goes[s];                             \
        }                                                                                                                 \
        *at->of_later = total;                                                                                            \
    }
UNWEIGH_FEW(1)
UNWEIGH_FEW(2)
UNWEIGH_FEW(3)
#undef UNWEIGH_FEW

FOR_EACH_CPU static void unweigh(int n, int untied, const Beside *by, const lanes *share, const lanes *f, const lanes *g,
                                 lanes *restrict of_f, lanes *restrict of_g, Beside *restrict used) {
    const int many = n < FEW ? 1 : 1 << (n - FEW);
    for (int s = 0; s < 1 << n; s++) of_f[s] = of_g[s] = used->all_goes[s] = used->all_ends[s] = all(0);
    for (int s = 0; s < 1 << FEW; s++) used->goes[s] = used->ends[s] = all(0);
    for (int m = 0; m < many; m++) {
        for (int t = 0; t < many; t++) {
            const int ends = m << FEW, goes = t << FEW, both = m * many + t;
            const Later at = {share + (ends | goes),
                              f + ends, by->all_goes + goes, g + goes, by->all_ends + ends, by->later + both,
                              of_f + ends, of_g + goes, t ? used->all_goes + goes : NULL, m ? used->all_ends + ends : NULL,
                              used->later + both};
            if (n >= FEW && untied) unweigh_few_3(1, by, &at, used);
            else if (n >= FEW) unweigh_few_3(0, by, &at, used);
            else if (n == 2) unweigh_few_2(untied, by, &at, used);
            else unweigh_few_1(untied, by, &at, used);
        }
    }
}
