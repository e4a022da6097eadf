/* Included by chains.c and menus.c once for each type of number, called `real`. */

/* log(exp(a) + exp(b)), and the share of b in that sum. */
INLINE real NAME(either)(real a, real b, real *share) {
    real odds = b - a, high = odds > 0 ? b : a;
    real ratio = NAME(exp)(odds > 0 ? -odds : odds), part = 1 / (1 + ratio);
    *share = odds > 0 ? part : ratio * part;
    return high + NAME(log1p)(ratio);
}

/* Fills `size` entries with repetitions of the first m. */
INLINE void NAME(repeat)(real *entries, int64_t m, int64_t size) {
    for (int64_t done = m; 0 < done && done < size; done *= 2)
        memcpy(entries + done, entries, (size_t)(done * 2 <= size ? done : size - done) * sizeof(real));
}
