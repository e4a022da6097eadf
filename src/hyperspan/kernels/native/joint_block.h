/* Rows that are computed at once, one in each lane. What depends on the type of their scores is in joint_of.h. */

/* Which scores an array has. */
enum Place { FIRST, EVERY, STEP, TOGETHER, WITHIN, PLACES }; /* of the first width, of every width, of all but the last, of pairs */

/* Where they are in the array, of which some are in the list of a shape. */
typedef struct {
    const uint8_t *places;
    int count, size;
    int64_t widths;
    int next; /* whether they are about the next width, too */
} Layout;

typedef struct {
    Shape shape;
    Layout layout[PLACES];
    int64_t row[LANES], room[LANES]; /* the rows; room: to the end of the sentence, but no more than there are widths */
    int64_t used, widths;            /* how many rows there are, and the most room that one has */
    lanes *weights; /* (widths, shape.count): first the scores */
    lanes *sums;    /* (widths + 1, 2^g): β, scaled */
    lanes *scale;   /* (widths,): powers of 2 by which β was multiplied */
    lanes *share;   /* (2^g,): ∂ log Z / ∂ β of a width */
    lanes absent[MOST_TYPES], present[MOST_TYPES], active[MOST_TYPES];
    lanes total, log_partition;
    masks tiny; /* where a weight is below the smallest number, and taken for 0 */
    void *memory;
} Block;

/* A block for rows of up to c widths; 0, or 1 if there is not enough memory. */
static int prepare(Block *b, Shape shape, int64_t c) {
    const int g = shape.g, pairs = g * (g - 1) / 2;
    const int64_t size = (int64_t)1 << g, sizes[] = {c * shape.count, (c + 1) * size, c, size};
    b->shape = shape;
    b->layout[FIRST] = (Layout){b->shape.alone, g, g, 1, 0};
    b->layout[EVERY] = (Layout){b->shape.alone, g, g, c, 0};
    b->layout[STEP] = (Layout){b->shape.alone, g, g, c - 1, 1};
    b->layout[TOGETHER] = (Layout){b->shape.before, pairs, g * g, c, 0};
    b->layout[WITHIN] = (Layout){b->shape.others, 2 * pairs, g * g, c, 0};
    b->memory = aligned_alloc(64, ((size_t)(sizes[0] + sizes[1] + sizes[2] + sizes[3]) * sizeof(lanes) + 63) / 64 * 64);
    b->weights = b->memory;
    if (!b->memory) return 1;
    b->sums = b->weights + sizes[0], b->scale = b->sums + sizes[1], b->share = b->scale + sizes[2];
    return 0;
}

INLINE int is_there(const Block *b, const Layout *at, int lane, int64_t w) {
    return lane < b->used && w + at->next < b->room[lane];
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

static void inward(const Shape *shape, const lanes *x, const lanes *after, lanes *here) {
    (shape->g == 5 ? inward_sum_five : inward_sum_any)(shape, x, after, here);
}

static void outward(const Shape *shape, const lanes *x, const lanes *after, lanes *share, lanes *active, Found *found) {
    (shape->g == 5 ? outward_sum_five : outward_sum_any)(shape, x, after, share, active, found);
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
        inward(&b->shape, x, here + size, here);
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
    members_sum_any(table, g, b->active);
    b->total = table[0], b->tiny = tiny;
    for (int k = 0; k < g; k++) b->active[k] /= b->total;
    for (int s = 0; s < size; s++) b->share[s] /= b->total;
    log += powers * 0.6931471805599453;
    for (int lane = 0; lane < LANES; lane++) b->log_partition[lane] = log_double(b->total[lane]) + log[lane];
}

/* At most what the numbers that were too small for their type would have added to the total, as a part of it. Each was below 2^-1022, and
 * was multiplied with no more than all weights above 1 of its width; what follows it is known. */
FOR_EACH_CPU static void bound_lost(const Block *b, lanes *lost) {
    const int size = 1 << b->shape.g, count = b->shape.count;
    const double least = 0x1p-1000; /* more than all choices of a width together */
    lanes here[size], after[size];
    for (int s = 0; s < size; s++) after[s] = all(0);
    for (int64_t w = b->widths - 1; w >= 0; w--) {
        lanes most = all(least);
        for (int e = 0; e < count; e++) most *= higher(b->weights[w * count + e], all(1));
        inward(&b->shape, b->weights + w * count, after, here);
        for (int s = 0; s < size; s++) after[s] = (here[s] + most) * b->scale[w];
    }
    *lost = size * least / b->total;
    for (int s = 0; s < size; s++) *lost += b->share[s] * after[s];
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
        failed[lane] = !(total > 0 && isfinite(total) && isfinite(b->log_partition[lane]) && lost[lane] <= 1e-13);
    }
}
