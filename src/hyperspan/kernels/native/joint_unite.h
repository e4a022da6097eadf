/* Included by joint.c once for each algebra: sums of products, or highest of sums. It says what ZERO, ONE, PLUS and TIMES are.
 *
 * here(M ∪ S) is the sum of f(M) g(S) over all sets M and S of n types. By the last type: what has it comes from f without it and g with
 * it, or from f with it and any g. So there are 3^n products, and nothing is subtracted. No number is added to one that has just been
 * computed, which processors would wait for.
 */
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

/* What is found stays in registers until all of it is. */
#define UNITE_FEW(n)                                                  \
    {                                                                 \
        lanes found[1 << n];                                          \
        OF(unite_##n)(f, g, found);                                   \
        UNROLLED for (int s = 0; s < 1 << n; s++) here[s] = found[s]; \
        return;                                                       \
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
