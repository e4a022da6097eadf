/* How often everything is used, width by width from the first: what follows of ∂ log Z / ∂ β of each width, called `share`. */

/* The sums over the sets that have each type; the table is used up, and its first entry is the sum over all. */
INLINE void members(lanes *table, int g, lanes *has) {
    UNROLLED for (int k = g - 1; k >= 0; k--) {
        const int half = 1 << k;
        lanes sums[4] = {{0}};
        UNROLLED for (int s = 0; s < half; s++) sums[s & 3] += table[half + s], table[s] += table[half + s];
        has[k] = sums[0] + sums[1] + (sums[2] + sums[3]);
    }
}

/* Each entry becomes the sum over all sets that contain it. */
INLINE void supersets(lanes *table, int g) {
    UNROLLED for (int k = 0; k < g; k++) {
        UNROLLED for (int first = 0; first < 1 << g; first += 2 << k)
            UNROLLED for (int s = first; s < first + (1 << k); s++) table[s] += table[s | 1 << k];
    }
}

/* unite, backwards: of_f(M) is the sum of share(M ∪ S) g(S), and of_g(S) that of share(M ∪ S) f(M). */
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

#define PART_FEW(n)                                                                                   \
    {                                                                                                 \
        lanes of_ends[1 << n], of_goes[1 << n];             \
        part_##n(share, f, g, of_ends, of_goes);                                                 \
        UNROLLED for (int s = 0; s < 1 << n; s++) of_f[s] = of_ends[s], of_g[s] = of_goes[s];         \
        return;                                                                                       \
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

/* How often types weigh something beside others: in the place of Beside. */
typedef struct {
    lanes *goes, *ends, *all_goes, *all_ends, *later;
} Used;

/* split, backwards. */
INLINE void unsplit(int untied, const Beside *by, int half, const lanes *made, const lanes *of_made, lanes *of_f, lanes *of_g,
                    lanes *goes, lanes *ends) {
    if (!untied) {
        of_f[0] += of_made[0], of_g[0] += of_made[half], of_f[half] += of_made[2 * half], of_g[half] += of_made[3 * half];
    }
    UNROLLED for (int s = !untied; s < half; s++) {
        const lanes *a = of_made + s, *b = made + s;
        of_f[s] += a[0] * by->goes[half + s];
        of_g[s] += a[half] * by->ends[half + s];
        of_f[half + s] += a[2 * half] * by->goes_also[half + s];
        of_g[half + s] += a[3 * half] * by->ends_also[half + s];
        goes[half + s] += a[0] * b[0] + a[2 * half] * b[2 * half];
        ends[half + s] += a[half] * b[half] + a[3 * half] * b[3 * half];
    }
}

/* weigh, backwards. */
INLINE void unweigh_0(int untied, const Beside *by, const lanes *share, const lanes *f, const lanes *g, lanes *of_f, lanes *of_g,
                      lanes *goes, lanes *ends) {
    (void)untied, (void)by, (void)goes, (void)ends;
    *of_f = *share * *g, *of_g = *share * *f;
}
#define UNWEIGH(n, fewer)                                                                                                      \
    INLINE void unweigh_##n(int untied, const Beside *by, const lanes *share, const lanes *f, const lanes *g, lanes *of_f,     \
                            lanes *of_g, lanes *goes, lanes *ends) {                                                           \
        enum { HALF = 1 << fewer };                                                                                            \
        lanes made[4 * HALF], of_made[4 * HALF];                                                                               \
        if (n == 1 && !untied) {                                                                                               \
            part_1(share, f, g, of_f, of_g);                                                                                   \
            return;                                                                                                            \
        }                                                                                                                      \
        split_sum(untied, by, HALF, f, g, made);                                                                               \
        unweigh_##fewer(untied, by, share, f, g, of_f, of_g, goes, ends);                                                      \
        unweigh_##fewer(untied, by, share + HALF, made, g + HALF, of_made, of_g + HALF, goes, ends);                           \
        unweigh_##fewer(untied, by, share + HALF, f + HALF, made + HALF, of_f + HALF, of_made + HALF, goes, ends);             \
        unweigh_##fewer(untied, by, share + HALF, made + 2 * HALF, made + 3 * HALF, of_made + 2 * HALF, of_made + 3 * HALF, goes, ends); \
        unsplit(untied, by, HALF, made, of_made, of_f, of_g, goes, ends);                                                      \
    }
UNWEIGH(1, 0)
UNWEIGH(2, 1)
UNWEIGH(3, 2)
#undef UNWEIGH

#define UNWEIGH_FEW(n)                                                                                                         \
    INLINE void unweigh_few_##n(int untied, const Beside *by, int many, int m, int t, const lanes *share, const lanes *f,      \
                                const lanes *g, lanes *of_f, lanes *of_g, const Used *used) {                                  \
        enum { SIZE = 1 << n };                                                                                                \
        const lanes *f_more = by->all_goes + t * SIZE, *g_more = by->all_ends + m * SIZE;                                      \
        lanes some[SIZE], ends[SIZE], goes[SIZE], of_ends[SIZE], of_goes[SIZE], low[SIZE], high[SIZE], later = by->later[m * many + t], total = all(0); \
        UNROLLED for (int s = 0; s < SIZE; s++) some[s] = share[(m | t) * SIZE + s] * later;                                   \
        UNROLLED for (int s = 0; s < SIZE; s++) ends[s] = f[m * SIZE + s] * f_more[s];                                         \
        UNROLLED for (int s = 0; s < SIZE; s++) goes[s] = g[t * SIZE + s] * g_more[s];                                         \
        UNROLLED for (int s = 0; s < SIZE; s++) low[s] = high[s] = all(0);                                                     \
        unweigh_##n(untied, by, some, ends, goes, of_ends, of_goes, low, high);                                                \
        UNROLLED for (int s = 0; s < SIZE; s++) {                                                                              \
            const lanes found = of_ends[s] * ends[s];                                                                          \
            of_f[m * SIZE + s] += of_ends[s] * f_more[s], of_g[t * SIZE + s] += of_goes[s] * g_more[s];                        \
            used->all_goes[t * SIZE + s] += found, used->all_ends[m * SIZE + s] += of_goes[s] * goes[s];                       \
            used->goes[s] += low[s], used->ends[s] += high[s], total += found;                                                 \
        }                                                                                                                      \
        used->later[m * many + t] = total;                                                                                     \
    }
UNWEIGH_FEW(1)
UNWEIGH_FEW(2)
UNWEIGH_FEW(3)
#undef UNWEIGH_FEW

FOR_EACH_CPU static void unweigh(int n, int untied, const Beside *by, const lanes *share, const lanes *f, const lanes *g,
                                 lanes *restrict of_f, lanes *restrict of_g, const Used *used) {
    const int many = n < FEW ? 1 : 1 << (n - FEW);
    for (int s = 0; s < 1 << n; s++) of_f[s] = of_g[s] = used->all_goes[s] = used->all_ends[s] = all(0);
    for (int s = 0; s < 1 << FEW; s++) used->goes[s] = used->ends[s] = all(0);
    for (int m = 0; m < many; m++) {
        for (int t = 0; t < many; t++) {
            if (n >= 3 && untied) unweigh_few_3(1, by, many, m, t, share, f, g, of_f, of_g, used);
            else if (n >= 3) unweigh_few_3(0, by, many, m, t, share, f, g, of_f, of_g, used);
            else if (n == 2) unweigh_few_2(untied, by, many, m, t, share, f, g, of_f, of_g, used);
            else unweigh_few_1(untied, by, many, m, t, share, f, g, of_f, of_g, used);
        }
    }
}

/* Of a table by sets of `rows` types and of `columns` types: the sums over those that have each pair of them; pairs[row * stride + column]. */
INLINE void pairs_of(const lanes *table, int rows, int columns, lanes (*pairs)[MOST_TYPES]) {
    for (int k = 0; k < rows; k++) {
        lanes sums[1 << columns];
        for (int s = 0; s < 1 << columns; s++) sums[s] = all(0);
        for (int e = 0; e < 1 << (rows + columns); e++)
            if (e >> (columns + k) & 1) sums[e & ((1 << columns) - 1)] += table[e];
        members(sums, columns, pairs[k]);
    }
}

/* The uses of one width, in the place of its weights. */
typedef struct {
    lanes close[MOST_TYPES], extend[MOST_TYPES], branch[MOST_TYPES];
    lanes together[MOST_TYPES * (MOST_TYPES - 1) / 2], within[MOST_TYPES * (MOST_TYPES - 1)];
    lanes total; /* 1 but for rounding */
} Found;

/* The uses of a width. `share` and `active`, how probable each type is to be active, become those of the next width, whose β is
 * `after`. */
INLINE void uses_within(int g, const Used *used, lanes *within) {
    const int n = g < FEW ? g : FEW;
    lanes found[MOST_TYPES][MOST_TYPES], has[MOST_TYPES];
    for (int k = 0; k < n; k++) {
        members(used->goes + (1 << k), k, has);
        for (int l = 0; l < k; l++) within[within_of(g, l, k)] = has[l];
        members(used->ends + (1 << k), k, has);
        for (int l = 0; l < k; l++) within[within_of(g, k, l)] = has[l];
    }
    pairs_of(used->all_goes, g - n, n, found);
    for (int k = n; k < g; k++)
        for (int l = 0; l < n; l++) within[within_of(g, l, k)] = found[k - n][l];
    pairs_of(used->all_ends, g - n, n, found);
    for (int k = n; k < g; k++)
        for (int l = 0; l < n; l++) within[within_of(g, k, l)] = found[k - n][l];
    pairs_of(used->later, g - n, g - n, found);
    for (int k = n; k < g; k++)
        for (int l = n; l < g; l++)
            if (k != l) within[within_of(g, k, l)] = found[k - n][l - n];
}

INLINE void outward_of(const Shape *shape, int g, const lanes *x, const lanes *after, lanes *share, lanes *active, Found *found) {
    const int size = 1 << g;
    lanes f[size], on[size], off[size], of_f[size], of_on[size], goes[MOST_TYPES];
    ending_sum(shape, g, x, f);
    if (!shape->untied) products_sum(x + g, g, on);
    for (int s = 0; s < size; s++) off[s] = shape->untied ? after[s] : on[s] * after[s];
    if (shape->untied || shape->within) {
        lanes tables[TABLES(g)], uses[TABLES(g)];
        const Beside by = beside_sum(shape, g, x, tables);
        const Used used = {uses, uses + (1 << FEW), uses + (2 << FEW), uses + (2 << FEW) + size, uses + (2 << FEW) + 2 * size};
        unweigh(g, shape->untied, &by, share, f, off, of_f, of_on, &used);
        if (shape->within) uses_within(g, &used, found->within);
    } else {
        part(g, share, f, off, of_f, of_on);
    }
    for (int s = 0; s < size; s++) {
        of_f[s] *= f[s];
        share[s] = shape->untied ? of_on[s] : of_on[s] * on[s];
        off[s] *= of_on[s]; /* how probable each set is to go on */
    }
    members(off, g, goes);
    found->total = off[0];
    supersets(of_f, g);
    UNROLLED for (int k = 0; k < g; k++) {
        lanes ending = of_f[1 << k], both = higher(ending + goes[k] - active[k], all(0));
        both = lower(both, lower(ending, goes[k])); /* rounding may leave a little more than there is */
        found->close[k] = ending - both, found->extend[k] = goes[k] - both, found->branch[k] = both, active[k] = goes[k];
        for (int l = k + 1; l < g; l++) found->together[together_of(k, l)] = of_f[1 << k | 1 << l];
    }
}

FOR_EACH_CPU static void outward(const Shape *shape, const lanes *x, const lanes *after, lanes *share, lanes *active, Found *found) {
    if (shape->g == 5) outward_of(shape, 5, x, after, share, active, found);
    else outward_of(shape, shape->g, x, after, share, active, found);
}
