/* Included by joint.c for each algebra and number of types, TYPES, which may be any: the tables of a width from its weights, and β from
 * them. STEPS are loops that are unrolled where the number is known.
 */

/* What the types of each set weigh, one factor each. */
INLINE void SIZED(products)(const Shape *shape, const lanes *factors, lanes *restrict made) {
    made[0] = ONE;
    STEPS for (int k = 0; k < TYPES; k++) {
        STEPS for (int s = 0; s < 1 << k; s++) made[1 << k | s] = TIMES(made[s], factors[k]);
    }
    (void)shape;
}

/* f(M): what the types of M weigh that end, and each two of them; if untied, the two alone. */
INLINE void SIZED(ending)(const Shape *shape, const lanes *x, lanes *restrict f) {
    lanes row[1 << TYPES];
    f[0] = ONE;
    STEPS for (int k = 0; k < TYPES; k++) {
        row[0] = shape->untied ? ONE : x[k];
        STEPS for (int l = 0; l < k; l++) {
            const lanes pair = shape->together ? x[shape->together + together_of(l, k)] : ONE;
            STEPS for (int s = 0; s < 1 << l; s++) row[1 << l | s] = TIMES(row[s], pair);
        }
        STEPS for (int s = 0; s < 1 << k; s++) f[1 << k | s] = TIMES(f[s], row[s]);
    }
}

/* g(S): what the types of S weigh that go on, with all that follows; if untied, the latter alone. `on` has what the former weigh. */
INLINE void SIZED(going)(const Shape *shape, const lanes *x, const lanes *after, lanes *restrict on, lanes *restrict g) {
    if (!shape->untied) SIZED(products)(shape, x + TYPES, on);
    for (int s = 0; s < 1 << TYPES; s++) g[s] = shape->untied ? after[s] : TIMES(on[s], after[s]);
}

/* By the sets of the first n types: what it weighs that they end and k goes on, and that they go on and k ends. */
INLINE void SIZED(beside_one)(const Shape *shape, const lanes *x, int n, int k, lanes *restrict goes, lanes *restrict ends) {
    goes[0] = ends[0] = ONE;
    STEPS for (int l = 0; l < n; l++) {
        const lanes on = shape->within ? x[shape->within + within_of(TYPES, l, k)] : ONE;
        const lanes off = shape->within ? x[shape->within + within_of(TYPES, k, l)] : ONE;
        STEPS for (int s = 0; s < 1 << l; s++) goes[1 << l | s] = TIMES(goes[s], on), ends[1 << l | s] = TIMES(ends[s], off);
    }
}

/* By the later types that end and those that go on: what they weigh beside each other and, if untied, alone. */
INLINE void SIZED(beside_later)(const Shape *shape, const lanes *x, int n, lanes *restrict later) {
    const int g = TYPES, many = 1 << (g - n);
    lanes row[many];
    STEPS for (int t = 0; t < many; t++) later[t] = ONE;
    STEPS for (int k = n; k < g; k++) {
        row[0] = ONE;
        STEPS for (int l = n; l < g; l++) {
            const int at = 1 << (l - n);
            const lanes pair = shape->within && l != k ? x[shape->within + within_of(g, k, l)] : ONE;
            STEPS for (int t = 0; t < at; t++) row[at | t] = TIMES(row[t], pair);
        }
        const int at = many << (k - n);
        STEPS for (int e = 0; e < at; e++) later[at + e] = TIMES(later[e], row[e % many]);
    }
    for (int k = n; k < g && shape->untied; k++) {
        for (int e = 0; e < many * many; e++) {
            const int ends = e / many >> (k - n) & 1, goes = e >> (k - n) & 1;
            if (ends || goes) later[e] = TIMES(later[e], x[(!goes ? 0 : ends ? 2 * g : g) + k]);
        }
    }
}

INLINE void SIZED(beside)(const Shape *shape, const lanes *x, Beside *by) {
    const int g = TYPES, n = g < FEW ? g : FEW, few = 1 << n;
    STEPS for (int k = 0; k < n; k++) {
        SIZED(beside_one)(shape, x, k, k, by->goes + (1 << k), by->ends + (1 << k));
        for (int s = 1 << k; s < 2 << k && shape->untied; s++) {
            by->goes_also[s] = TIMES(by->goes[s], x[2 * g + k]), by->ends_also[s] = by->ends[s];
            by->goes[s] = TIMES(by->goes[s], x[g + k]), by->ends[s] = TIMES(by->ends[s], x[k]);
        }
    }
    STEPS for (int s = 0; s < few; s++) by->all_goes[s] = by->all_ends[s] = ONE;
    STEPS for (int k = n; k < g; k++) {
        lanes *goes = by->all_goes + (few << (k - n)), *ends = by->all_ends + (few << (k - n));
        SIZED(beside_one)(shape, x, n, k, goes, ends);
        STEPS for (int s = few; s < few << (k - n); s++) {
            goes[s] = TIMES(by->all_goes[s], goes[s % few]);
            ends[s] = TIMES(by->all_ends[s], ends[s % few]);
        }
    }
    SIZED(beside_later)(shape, x, n, by->later);
}

/* β of a width from that of the next one, by the weights of its choices. */
FOR_EACH_CPU static void SIZED(inward)(const Shape *shape, const lanes *x, const lanes *after, lanes *here) {
    lanes f[1 << TYPES], on[1 << TYPES], g[1 << TYPES], tables[TABLES(TYPES)];
    Beside by;
    SIZED(ending)(shape, x, f);
    SIZED(going)(shape, x, after, on, g);
    if (shape->untied || shape->within) {
        place(&by, tables, TYPES);
        SIZED(beside)(shape, x, &by);
        OF(weigh)(TYPES, shape->untied, &by, f, g, here);
    } else {
        OF(unite)(TYPES, f, g, here);
    }
}
