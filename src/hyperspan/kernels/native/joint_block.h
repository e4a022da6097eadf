/* Rows that are computed at once, one in each lane. What depends on the type of their scores is in joint_of.h. */

typedef struct {
    Shape shape;
    int64_t row[LANES], room[LANES]; /* room: no more than there are widths */
    int64_t used, widths; /* how many lanes there are, and the most room that one has; other lanes are copies of the first */
    void *memory;
    lanes *weights; /* (widths, shape.count): first the scores */
    lanes *sums; /* (widths + 1, 2^g): β, scaled */
    lanes *scale; /* (widths,): powers of 2 by which β was multiplied */
    lanes *share; /* (2^g,): see joint_outward.h */
    lanes absent[MOST_TYPES], present[MOST_TYPES], active[MOST_TYPES];
    lanes total, log_partition;
    masks tiny; /* where a weight is below the smallest number, and taken for 0 */
} Block;

/* Memory for rows of up to c widths; 0, or 1 if there is not enough. */
static int allocate(Block *b, int64_t c) {
    const int64_t size = (int64_t)1 << b->shape.g;
    const int64_t sizes[] = {c * b->shape.count, (c + 1) * size, c, size};
    int64_t count = 0;
    for (int part = 0; part < 4; part++) count += sizes[part];
    b->memory = aligned_alloc(64, ((size_t)count * sizeof(lanes) + 63) / 64 * 64);
    b->weights = b->memory;
    if (!b->memory) return 1;
    b->sums = b->weights + sizes[0], b->scale = b->sums + sizes[1], b->share = b->scale + sizes[2];
    return 0;
}

/* Nothing is active beyond the last width. */
INLINE void end_with(const Block *b, double nothing, double others) {
    lanes *last = b->sums + (b->widths << b->shape.g);
    for (int s = 1; s < 1 << b->shape.g; s++) last[s] = all(others);
    last[0] = all(nothing);
}

/* Makes the sum of a table about 1; returns the power of 2 that does so, and counts the 2s that it takes away. */
INLINE lanes rescale(lanes *table, int size, lanes *powers) {
    lanes even = table[0], odd = table[1];
    for (int s = 2; s < size; s += 2) even += table[s], odd += table[s + 1];
    const masks exponent = (masks)(even + odd) >> 52;
    lanes scale = (lanes)((2046 - exponent) << 52);
    for (int s = 0; s < size; s++) table[s] *= scale;
    *powers += __builtin_convertvector(exponent - 1023, lanes);
    return scale;
}

/* β of all widths from the scores, how probable each type is to have a mention, and `share` of β_0. */
FOR_EACH_CPU static void sum_inward(Block *b) {
    const int g = b->shape.g, size = 1 << g, count = b->shape.count;
    lanes powers = all(0), log = all(0), table[1 << MOST_TYPES];
    end_with(b, 1, 0);
    masks tiny = {0};
    for (int64_t w = b->widths - 1; w >= 0; w--) {
        lanes *x = b->weights + w * count, *here = b->sums + w * size;
        exponentials(x, count, &tiny);
        inward_sum(&b->shape, x, here + size, here);
        b->scale[w] = rescale(here, size, &powers);
    }
    b->share[0] = all(1);
    for (int k = 0; k < g; k++) {
        lanes top = higher(b->absent[k], b->present[k]);
        top = pick((masks)(top == all(-INFINITY)), all(0), top);
        lanes without = exponential(b->absent[k] - top, &tiny), with = exponential(b->present[k] - top, &tiny);
        for (int s = 0; s < 1 << k; s++) b->share[s | 1 << k] = b->share[s] * with, b->share[s] *= without;
        log += top;
    }
    for (int s = 0; s < size; s++) table[s] = b->share[s] * b->sums[s];
    members(table, g, b->active);
    b->total = table[0], b->tiny = tiny;
    for (int k = 0; k < g; k++) b->active[k] /= b->total;
    for (int s = 0; s < size; s++) b->share[s] /= b->total;
    log += powers * 0.6931471805599453;
    for (int lane = 0; lane < LANES; lane++) b->log_partition[lane] = log_double(b->total[lane]) + log[lane];
}

/* At most what the numbers that were too small for their type would have added to `total`: each was below 2^-1022, and no product of
 * weights of a width is above that of all 1 + weight. */
FOR_EACH_CPU static void bound_lost(const Block *b, lanes *lost) {
    const double least = 0x1p-1000; /* more than all of a width together */
    lanes found = all(0);
    for (int64_t w = b->widths - 1; w >= 0; w--) {
        lanes most = b->scale[w];
        for (int e = 0; e < b->shape.count; e++) most *= 1 + b->weights[w * b->shape.count + e];
        found = (found + least) * most;
    }
    *lost = (found + least) * (double)(1 << b->shape.g);
}

/* The same as sum_inward; then sets in `failed` which rows have another result than they should. */
static void sum_block(Block *b, int *failed) {
    lanes lost = all(0);
    feclearexcept(FE_UNDERFLOW);
    sum_inward(b);
    int small = fetestexcept(FE_UNDERFLOW);
    for (int lane = 0; lane < b->used; lane++) small |= b->tiny[lane] != 0;
    if (small) bound_lost(b, &lost);
    for (int lane = 0; lane < b->used; lane++) {
        double total = b->total[lane];
        failed[lane] = !(total > 0 && isfinite(total) && isfinite(b->log_partition[lane]) && lost[lane] <= total * 1e-13);
    }
}
