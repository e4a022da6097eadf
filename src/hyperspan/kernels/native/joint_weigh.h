/* Included by joint.c after joint_sets.h, once for each algebra: where types weigh something beside others, and not all products are of
 * one f and one g.
 *
 * Of the first types, no more than FEW, all choices are unrolled. There are tables for what they weigh beside the others, and a loop over
 * the choices of those.
 */

/* By the sets of the first n types: what it weighs that they end and k goes on, and that they go on and k ends. */
INLINE void OF(beside_one)(const Shape *shape, int g, int n, const lanes *x, int k, lanes *goes, lanes *ends) {
    goes[0] = ends[0] = ONE;
    UNROLLED for (int l = 0; l < n; l++) {
        UNROLLED for (int s = 0; s < 1 << l; s++) {
            goes[1 << l | s] = shape->within ? TIMES(goes[s], x[shape->within + within_of(g, l, k)]) : ONE;
            ends[1 << l | s] = shape->within ? TIMES(ends[s], x[shape->within + within_of(g, k, l)]) : ONE;
        }
    }
}

/* What the choices of the later types weigh alone and beside each other: those that end, and those that go on. */
INLINE void OF(beside_later)(const Shape *shape, int g, int n, const lanes *x, lanes *later) {
    const int many = 1 << (g - n);
    for (int e = 0; e < many * many; e++) later[e] = ONE;
    for (int k = n; k < g; k++) {
        for (int l = n; l < g; l++) {
            for (int e = 0; e < many * many; e++) {
                const int ends = e / many >> (k - n) & 1, goes = e >> (l - n) & 1;
                if (k != l && ends && goes && shape->within) later[e] = TIMES(later[e], x[shape->within + within_of(g, k, l)]);
                if (k == l && (ends || goes) && shape->untied)
                    later[e] = TIMES(later[e], x[(ends && goes ? 2 * g : goes ? g : 0) + k]);
            }
        }
    }
}

/* All that weigh needs; `tables` has room for it. */
INLINE Beside OF(beside)(const Shape *shape, int g, const lanes *x, lanes *restrict tables) {
    const int n = g < FEW ? g : FEW, few = 1 << n, many = 1 << (g - n);
    lanes *goes = tables, *ends = goes + few, *goes_also = ends + few, *ends_also = goes_also + few;
    lanes *all_goes = ends_also + few, *all_ends = all_goes + many * few, *later = all_ends + many * few;
    UNROLLED for (int k = 0; k < n; k++) {
        OF(beside_one)(shape, g, k, x, k, goes + (1 << k), ends + (1 << k));
        for (int s = 1 << k; s < 2 << k && shape->untied; s++) {
            goes_also[s] = TIMES(goes[s], x[2 * g + k]), ends_also[s] = ends[s];
            goes[s] = TIMES(goes[s], x[g + k]), ends[s] = TIMES(ends[s], x[k]);
        }
    }
    for (int s = 0; s < few; s++) all_goes[s] = all_ends[s] = ONE;
    for (int k = n; k < g; k++) {
        const int at = few << (k - n);
        OF(beside_one)(shape, g, n, x, k, all_goes + at, all_ends + at);
        for (int s = few; s < at; s++) {
            all_goes[at + s] = TIMES(all_goes[s], all_goes[at + s % few]);
            all_ends[at + s] = TIMES(all_ends[s], all_ends[at + s % few]);
        }
    }
    OF(beside_later)(shape, g, n, x, later);
    if (!shape->untied) goes_also = goes, ends_also = ends;
    return (Beside){goes, goes_also, ends, ends_also, all_goes, all_ends, later};
}

/* Of n types, four tables without the last one, one after the other: f if it goes on, g if it ends, and both if it does both. */
INLINE void OF(split)(int untied, const Beside *by, int half, const lanes *f, const lanes *g, lanes *made) {
    if (!untied) made[0] = f[0], made[half] = g[0], made[2 * half] = f[half], made[3 * half] = g[half];
    UNROLLED for (int s = !untied; s < half; s++) {
        made[s] = TIMES(f[s], by->goes[half + s]);
        made[half + s] = TIMES(g[s], by->ends[half + s]);
        made[2 * half + s] = TIMES(f[half + s], by->goes_also[half + s]);
        made[3 * half + s] = TIMES(g[half + s], by->ends_also[half + s]);
    }
}

/* The same as unite where types weigh something beside others. */
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

/* All choices of the first types, with one choice of the others: the types m of them end, and those of t go on. */
#define WEIGH_FEW(n)                                                                                                \
    INLINE void OF(weigh_few_##n)(int untied, const Beside *by, int many, int m, int t, const lanes *f, const lanes *g, lanes *here) { \
        enum { SIZE = 1 << n };                                                                                     \
        lanes ends[SIZE], goes[SIZE], found[SIZE], later = by->later[m * many + t];                                 \
        UNROLLED for (int s = 0; s < SIZE; s++) ends[s] = TIMES(f[m * SIZE + s], by->all_goes[t * SIZE + s]);       \
        UNROLLED for (int s = 0; s < SIZE; s++) goes[s] = TIMES(g[t * SIZE + s], by->all_ends[m * SIZE + s]);       \
        OF(weigh_##n)(untied, by, ends, goes, found);                                                               \
        here += (m | t) * SIZE;                                                                                     \
        UNROLLED for (int s = 0; s < SIZE; s++) here[s] = PLUS(here[s], TIMES(found[s], later));                    \
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
            if (n >= 3 && untied) OF(weigh_few_3)(1, by, many, m, t, f, g, here);
            else if (n >= 3) OF(weigh_few_3)(0, by, many, m, t, f, g, here);
            else if (n == 2) OF(weigh_few_2)(untied, by, many, m, t, f, g, here);
            else OF(weigh_few_1)(untied, by, many, m, t, f, g, here);
        }
    }
}

INLINE void OF(inward_of)(const Shape *shape, int g, const lanes *x, const lanes *after, lanes *here) {
    lanes f[1 << g], goes[1 << g];
    OF(ending)(shape, g, x, f);
    if (!shape->untied) OF(products)(x + g, g, goes);
    for (int s = 0; s < 1 << g; s++) goes[s] = shape->untied ? after[s] : TIMES(goes[s], after[s]);
    if (shape->untied || shape->within) {
        lanes tables[TABLES(g)];
        const Beside by = OF(beside)(shape, g, x, tables);
        OF(weigh)(g, shape->untied, &by, f, goes, here);
    } else {
        OF(unite)(g, f, goes, here);
    }
}

/* β of a width from that of the next one, by the weights of its choices. */
FOR_EACH_CPU static void OF(inward)(const Shape *shape, const lanes *x, const lanes *after, lanes *here) {
    if (shape->g == 5) OF(inward_of)(shape, 5, x, after, here);
    else OF(inward_of)(shape, shape->g, x, after, here);
}
