/* Included by joint.c once for each algebra: the same as unite where types weigh something beside others, as Beside says. There are 4^n
 * products. All choices of the first types are unrolled, within a loop over those of the later ones.
 */

/* Of the first types, four tables without the last one, one after the other: f if it goes on, g if it ends, and both if it does both.
 * Tied types weigh nothing beside none. */
INLINE void OF(split)(int untied, const Beside *by, int half, const lanes *f, const lanes *g, lanes *made) {
    if (!untied) made[0] = f[0], made[half] = g[0], made[2 * half] = f[half], made[3 * half] = g[half];
    UNROLLED for (int s = !untied; s < half; s++) {
        made[s] = TIMES(f[s], by->goes[half + s]);
        made[half + s] = TIMES(g[s], by->ends[half + s]);
        made[2 * half + s] = TIMES(f[half + s], (untied ? by->goes_also : by->goes)[half + s]);
        made[3 * half + s] = TIMES(g[half + s], (untied ? by->ends_also : by->ends)[half + s]);
    }
}

INLINE void OF(weigh_0)(int untied, const Beside *by, const lanes *f, const lanes *g, lanes *here) {
    (void)untied, (void)by, *here = TIMES(*f, *g);
}
#define WEIGH(n, fewer)                                                                                        \
    INLINE void OF(weigh_##n)(int untied, const Beside *by, const lanes *f, const lanes *g, lanes *here) {     \
        enum { HALF = 1 << fewer };                                                                            \
        lanes made[4 * HALF], ends[HALF], both[HALF];                                                          \
        if (n == 1 && !untied) {                                                                               \
            OF(unite_1)(f, g, here);                                                                           \
            return;                                                                                            \
        }                                                                                                      \
        OF(split)(untied, by, HALF, f, g, made);                                                               \
        OF(weigh_##fewer)(untied, by, f, g, here);                                                             \
        OF(weigh_##fewer)(untied, by, made, g + HALF, here + HALF);                                            \
        OF(weigh_##fewer)(untied, by, f + HALF, made + HALF, ends);                                            \
        OF(weigh_##fewer)(untied, by, made + 2 * HALF, made + 3 * HALF, both);                                 \
        UNROLLED for (int s = 0; s < HALF; s++) here[HALF + s] = PLUS(PLUS(here[HALF + s], ends[s]), both[s]); \
    }
WEIGH(1, 0)
WEIGH(2, 1)
WEIGH(3, 2)
#undef WEIGH

/* One choice of the later types, and all of the first: f and g are those of this choice, and so is what they weigh beside the others. */
#define WEIGH_FEW(n)                                                                                                \
    INLINE void OF(weigh_few_##n)(int untied, const Beside *by, const lanes *f, const lanes *f_more, const lanes *g, \
                                  const lanes *g_more, const lanes *later, lanes *here) {                           \
        enum { SIZE = 1 << n };                                                                                     \
        lanes ends[SIZE], goes[SIZE], found[SIZE];                                                                  \
        UNROLLED for (int s = 0; s < SIZE; s++) ends[s] = TIMES(f[s], f_more[s]), goes[s] = TIMES(g[s], g_more[s]); \
        OF(weigh_##n)(untied, by, ends, goes, found);                                                               \
        UNROLLED for (int s = 0; s < SIZE; s++) here[s] = PLUS(here[s], TIMES(found[s], *later));                   \
    }
WEIGH_FEW(1)
WEIGH_FEW(2)
WEIGH_FEW(3)
#undef WEIGH_FEW

FOR_EACH_CPU static void OF(weigh)(int n, int untied, const Beside *by, const lanes *f, const lanes *g, lanes *restrict here) {
    const int many = n < FEW ? 1 : 1 << (n - FEW);
    for (int s = 0; s < 1 << n; s++) here[s] = ZERO;
    for (int m = 0; m < many; m++) {
        for (int t = 0; t < many; t++) {
            const lanes *ends = f + (m << FEW), *f_more = by->all_goes + (t << FEW);
            const lanes *goes = g + (t << FEW), *g_more = by->all_ends + (m << FEW), *later = by->later + m * many + t;
            lanes *to = here + ((m | t) << FEW);
            if (n >= FEW && untied) OF(weigh_few_3)(1, by, ends, f_more, goes, g_more, later, to);
            else if (n >= FEW) OF(weigh_few_3)(0, by, ends, f_more, goes, g_more, later, to);
            else if (n == 2) OF(weigh_few_2)(untied, by, ends, f_more, goes, g_more, later, to);
            else OF(weigh_few_1)(untied, by, ends, f_more, goes, g_more, later, to);
        }
    }
}
