/* One number of each of several rows, side by side in a vector, so that one instruction works on all of them; for joint.c. */
#if defined(__x86_64__)
#define LANES 4
#else
#define LANES 2
#endif

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t masks __attribute__((vector_size(8 * LANES)));

INLINE lanes all(double value) { return value + (lanes){0}; }
INLINE lanes pick(masks mask, lanes yes, lanes no) { return (lanes)((mask & (masks)yes) | (~mask & (masks)no)); }
INLINE lanes higher(lanes a, lanes b) { return pick((masks)(a > b), a, b); }
INLINE lanes lower(lanes a, lanes b) { return pick((masks)(a < b), a, b); }

/* exp(x) to about one unit in the last place, for x from -708 to 709. */
INLINE lanes bounded_exponential(lanes x) {
    lanes shifted = x * 1.4426950408889634 + 0x1.8p52, whole = shifted - 0x1.8p52; /* rounds */
    lanes rest = x - whole * 0x1.62e42fee00000p-1 - whole * 0x1.a39ef35793c76p-33; /* |rest| <= ln(2) / 2 */
    const lanes r2 = rest * rest, r4 = r2 * r2; /* terms side by side, since each product waits for the one before it */
    lanes first = (rest * (1 / 6.0) + 0.5) * r2 + (rest + 1);
    lanes second = (rest * (1 / 5040.0) + 1 / 720.0) * r2 + (rest * (1 / 120.0) + 1 / 24.0);
    lanes third = (rest * (1 / 39916800.0) + 1 / 3628800.0) * r2 + (rest * (1 / 362880.0) + 1 / 40320.0);
    lanes series = ((r4 * (1 / 479001600.0) + third) * r4 + second) * r4 + first;
    return (lanes)((masks)series + ((masks)shifted << 52));
}

/* The same for any x: 0 for -inf, and for what is lower than -708, where it sets `tiny`. */
INLINE lanes exponential(lanes x, masks *tiny) {
    const masks low = (masks)(x < all(-708)), bounded = ~low & (masks)(x <= all(709));
    *tiny |= low & (masks)(x > all(-INFINITY));
    lanes beyond = pick(low, all(0), x * INFINITY); /* +inf for what is too high, NaN for NaN */
    return pick(bounded, bounded_exponential(pick(bounded, x, all(0))), beyond);
}

/* The same for all of a list, in place. */
FOR_EACH_CPU static void exponentials(lanes *x, int count, masks *tiny) {
    masks bounded = ~(masks){0};
    for (int e = 0; e < count; e++) bounded &= (masks)(x[e] >= all(-708)) & (masks)(x[e] <= all(709));
    int64_t every = -1;
    for (int lane = 0; lane < LANES; lane++) every &= bounded[lane];
    if (every) {
        for (int e = 0; e < count; e++) x[e] = bounded_exponential(x[e]);
    } else {
        masks found = {0};
        for (int e = 0; e < count; e++) x[e] = exponential(x[e], &found);
        *tiny |= found;
    }
}
