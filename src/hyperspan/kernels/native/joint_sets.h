/* Included by joint.c once for each algebra: sums of products, and highest of sums. It defines ZERO, ONE, PLUS and TIMES.
 *
 * Tables have an entry for each set of types, of which type k is bit k. What is done for few types is unrolled and stays in registers;
 * more types are split by the last one.
 */

/* What the types of each set weigh, one factor each. */
INLINE void OF(products)(const lanes *factors, int g, lanes *restrict made) {
    made[0] = ONE;
    UNROLLED for (int k = 0; k < g; k++)
        UNROLLED for (int s = 0; s < 1 << k; s++) made[1 << k | s] = TIMES(made[s], factors[k]);
}

/* f(M): what the types of M weigh that end, and each two of them; if untied, the two alone. */
INLINE void OF(ending)(const Shape *shape, int g, const lanes *x, lanes *restrict f) {
    lanes row[1 << g];
    f[0] = ONE;
    UNROLLED for (int k = 0; k < g; k++) {
        row[0] = shape->untied ? ONE : x[k];
        UNROLLED for (int l = 0; l < k && shape->together; l++)
            UNROLLED for (int s = 0; s < 1 << l; s++) row[1 << l | s] = TIMES(row[s], x[shape->together + together_of(l, k)]);
        UNROLLED for (int s = 0; s < 1 << k; s++) f[1 << k | s] = TIMES(f[s], row[shape->together ? s : 0]);
    }
}

/* here(M ∪ S): the sum of f(M) g(S), for all sets of n types. By the last type: what has it comes from f without it and g with it, or
 * from f with it and any g. So there are 3^n products, and nothing is subtracted. Sums are of few numbers each, which follow on no others. */
INLINE void OF(unite_1)(const lanes *f, const lanes *g, lanes *here) {
    here[0] = TIMES(f[0], g[0]);
    here[1] = PLUS(TIMES(f[0], g[1]), TIMES(f[1], PLUS(g[0], g[1])));
}
#define UNITE(n, fewer)                                                                         \
    INLINE void OF(unite_##n)(const lanes *f, const lanes *g, lanes *here) {                    \
        enum { HALF = 1 << fewer };                                                             \
        lanes either[HALF], more[HALF];                                                         \
        UNROLLED for (int s = 0; s < HALF; s++) either[s] = PLUS(g[s], g[HALF + s]);            \
        OF(unite_##fewer)(f, g, here);                                                          \
        OF(unite_##fewer)(f, g + HALF, here + HALF);                                            \
        OF(unite_##fewer)(f + HALF, either, more);                                              \
        UNROLLED for (int s = 0; s < HALF; s++) here[HALF + s] = PLUS(here[HALF + s], more[s]); \
    }
UNITE(2, 1)
UNITE(3, 2)
UNITE(4, 3)
#undef UNITE

/* In registers. */
#define UNITE_FEW(n)                                                               \
    {                                                                              \
        lanes found[1 << n];                                                       \
        OF(unite_##n)(f, g, found);                                                \
        UNROLLED for (int s = 0; s < 1 << n; s++) here[s] = found[s];              \
        return;                                                                    \
    }
FOR_EACH_CPU static void OF(unite)(int n, const lanes *f, const lanes *g, lanes *here) {
    if (n == 4) UNITE_FEW(4)
    if (n == 3) UNITE_FEW(3)
    if (n == 2) UNITE_FEW(2)
    if (n == 1) UNITE_FEW(1)
    const int half = 1 << (n - 1);
    lanes either[half], more[half];
    for (int s = 0; s < half; s++) either[s] = PLUS(g[s], g[half + s]);
    OF(unite)(n - 1, f, g, here);
    OF(unite)(n - 1, f, g + half, here + half);
    OF(unite)(n - 1, f + half, either, more);
    for (int s = 0; s < half; s++) here[half + s] = PLUS(here[half + s], more[s]);
}
#undef UNITE_FEW
