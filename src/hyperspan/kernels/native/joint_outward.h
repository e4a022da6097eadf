/* Included by joint.c for each number of types, as joint_tables.h is: how often the weights of a width are used. */

/* The sums over the sets that have each type; the table is used up, and its first entry is the sum over all. */
INLINE void SIZED(members)(lanes *table, int g, lanes *has) {
    STEPS for (int k = g - 1; k >= 0; k--) {
        const int half = 1 << k;
        lanes sums[2] = {{0}};
        STEPS for (int s = 0; s < half; s++) sums[s & 1] += table[half + s], table[s] += table[half + s];
        has[k] = sums[0] + sums[1];
    }
}

/* Each entry becomes the sum over all sets that contain it. */
INLINE void SIZED(supersets)(lanes *table, int g) {
    STEPS for (int k = 0; k < g; k++) {
        STEPS for (int first = 0; first < 1 << g; first += 2 << k) {
            STEPS for (int s = first; s < first + (1 << k); s++) table[s] += table[s | 1 << k];
        }
    }
}

/* Of a table by the sets of `rows` types and of `columns` types: the sums over those that have each pair of them. */
INLINE void SIZED(pairs)(const lanes *table, int rows, int columns, lanes (*has)[MOST_TYPES]) {
    const int size = 1 << columns;
    STEPS for (int k = 0; k < rows; k++) {
        lanes sums[size];
        STEPS for (int s = 0; s < size; s++) sums[s] = table[(size << k) + s];
        STEPS for (int row = (1 << k) + 1; row < 1 << rows; row++) {
            if (!(row >> k & 1)) continue;
            STEPS for (int s = 0; s < size; s++) sums[s] += table[row * size + s];
        }
        SIZED(members)(sums, columns, has[k]);
    }
}

/* The uses of `within`. */
INLINE void SIZED(uses_within)(const Shape *shape, Beside *used, lanes *within) {
    const int g = TYPES, n = g < FEW ? g : FEW;
    lanes goes[MOST_TYPES][MOST_TYPES], ends[MOST_TYPES][MOST_TYPES], both[MOST_TYPES][MOST_TYPES];
    STEPS for (int k = 0; k < n; k++) {
        SIZED(members)(used->goes + (1 << k), k, goes[k]), SIZED(members)(used->ends + (1 << k), k, ends[k]);
    }
    SIZED(pairs)(used->all_goes, g - n, n, goes + n), SIZED(pairs)(used->all_ends, g - n, n, ends + n);
    SIZED(pairs)(used->later, g - n, g - n, both);
    STEPS for (int k = 0; k < g; k++) {
        STEPS for (int l = 0; l < (k < n ? k : n); l++)
            within[within_of(g, l, k)] = goes[k][l], within[within_of(g, k, l)] = ends[k][l];
        STEPS for (int l = n; l < g; l++) {
            if (k >= n && l != k) within[within_of(g, k, l)] = both[k - n][l - n];
        }
    }
    (void)shape;
}

/* The uses of a width. `share`, ∂ log Z / ∂ β, and `active`, how probable each type is to be active, become those of the next width,
 * whose β is `after`. */
FOR_EACH_CPU static void SIZED(outward)(const Shape *shape, const lanes *x, const lanes *after, lanes *share, lanes *active,
                                        Found *found) {
    lanes f[1 << TYPES], on[1 << TYPES], g[1 << TYPES], of_f[1 << TYPES], of_g[1 << TYPES], goes[MOST_TYPES];
    lanes tables[TABLES(TYPES)], uses[TABLES(TYPES)];
    Beside by, used;
    SIZED(ending)(shape, x, f);
    SIZED(going)(shape, x, after, on, g);
    if (shape->untied || shape->within) {
        place(&by, tables, TYPES), place(&used, uses, TYPES);
        SIZED(beside)(shape, x, &by);
        unweigh(TYPES, shape->untied, &by, share, f, g, of_f, of_g, &used);
    } else {
        part(TYPES, share, f, g, of_f, of_g);
    }
    if (shape->within) SIZED(uses_within)(shape, &used, found->within);
    for (int s = 0; s < 1 << TYPES; s++) {
        of_f[s] *= f[s];
        share[s] = shape->untied ? of_g[s] : of_g[s] * on[s];
        g[s] *= of_g[s]; /* how probable each set is to go on */
    }
    SIZED(members)(g, TYPES, goes);
    found->total = g[0];
    SIZED(supersets)(of_f, TYPES);
    STEPS for (int k = 0; k < TYPES; k++) {
        lanes ends = of_f[1 << k], both = higher(ends + goes[k] - active[k], all(0));
        both = lower(both, lower(ends, goes[k])); /* rounding may leave a little more than there is */
        found->close[k] = ends - both, found->extend[k] = goes[k] - both, found->branch[k] = both, active[k] = goes[k];
        for (int l = k + 1; l < TYPES; l++) found->together[together_of(k, l)] = of_f[1 << k | 1 << l];
    }
}
