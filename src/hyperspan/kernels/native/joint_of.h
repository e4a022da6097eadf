/* Included by joint.c once for each type of number, called `real`. */

typedef struct {
    const real *absent, *present, *extend, *close; /* (R, g) twice, (R, c - 1, g), (R, c, g) */
    const real *branch, *together, *within; /* (R, c - 1, g), (R, c, g, g) twice; NULL if tied, or if there are none */
    const int64_t *room; /* (R,): words to the end of the sentence, 0 in padding */
    int64_t rows, c, g;
    real *log_partition; /* (R,), 0 in padding */
    real *to_absent, *to_present, *to_extend, *to_close, *to_branch, *to_together, *to_within; /* uses; all NULL if not wanted */
    uint8_t *failed; /* (R,): which rows have to be computed in another way */
    Parallel *openmp; /* where torch computes the scores; otherwise NULL */
} NAME(Joint);

typedef real NAME(Lanes) __attribute__((vector_size(sizeof(real) * LANES)));

/* What rows have at some places, side by side. */
FOR_EACH_CPU static void NAME(gather)(real *const *rows, const uint8_t *places, int count, lanes *to) {
    for (int e = 0; e < count; e++) {
        NAME(Lanes) found;
        for (int lane = 0; lane < LANES; lane++) found[lane] = rows[lane][places[e]];
        to[e] = __builtin_convertvector(found, lanes);
    }
}

/* The other way round. */
FOR_EACH_CPU static void NAME(scatter)(const lanes *from, const uint8_t *places, int count, real *const *rows) {
    for (int e = 0; e < count; e++) {
        const NAME(Lanes) found = __builtin_convertvector(from[e], NAME(Lanes));
        for (int lane = 0; lane < LANES; lane++) rows[lane][places[e]] = found[lane];
    }
}

/* Where the scores of each row of a block begin at a width, of which an array has `widths`, with `size` scores at each. Beyond the
 * last width of a row, and in lanes without one, it is elsewhere. */
INLINE void NAME(find)(const Block *b, const real *array, int64_t widths, int size, int64_t w, int64_t beyond, real *elsewhere, real **rows) {
    for (int lane = 0; lane < LANES; lane++) {
        const int there = lane < b->used && w + beyond < b->room[lane];
        rows[lane] = there ? (real *)array + (b->row[lane] * widths + w) * size : elsewhere;
    }
}

/* The scores of all rows of a block; -inf beyond the last width of each. */
static void NAME(load)(const NAME(Joint) *p, Block *b) {
    const Shape *shape = &b->shape;
    const int g = shape->g, pairs = g * (g - 1) / 2;
    real never[MOST_TYPES * MOST_TYPES], *rows[LANES];
    for (int e = 0; e < g * g; e++) never[e] = -INFINITY;
    NAME(find)(b, p->absent, 1, g, 0, 0, never, rows), NAME(gather)(rows, shape->type, g, b->absent);
    NAME(find)(b, p->present, 1, g, 0, 0, never, rows), NAME(gather)(rows, shape->type, g, b->present);
    for (int64_t w = 0; w < b->widths; w++) {
        lanes *to = b->weights + w * shape->count;
        NAME(find)(b, p->close, p->c, g, w, 0, never, rows), NAME(gather)(rows, shape->type, g, to);
        NAME(find)(b, p->extend, p->c - 1, g, w, 1, never, rows), NAME(gather)(rows, shape->type, g, to + g);
        if (p->branch) NAME(find)(b, p->branch, p->c - 1, g, w, 1, never, rows), NAME(gather)(rows, shape->type, g, to + 2 * g);
        if (shape->together)
            NAME(find)(b, p->together, p->c, g * g, w, 0, never, rows), NAME(gather)(rows, shape->before, pairs, to + shape->together);
        if (shape->within)
            NAME(find)(b, p->within, p->c, g * g, w, 0, never, rows), NAME(gather)(rows, shape->others, 2 * pairs, to + shape->within);
    }
}

/* The uses of one width of all rows of a block. */
static void NAME(store)(const NAME(Joint) *p, const Block *b, const Found *found, int64_t w) {
    const Shape *shape = &b->shape;
    const int g = shape->g, pairs = g * (g - 1) / 2;
    real unused[MOST_TYPES * MOST_TYPES], *rows[LANES];
    NAME(find)(b, p->to_close, p->c, g, w, 0, unused, rows), NAME(scatter)(found->close, shape->type, g, rows);
    NAME(find)(b, p->to_extend, p->c - 1, g, w, 1, unused, rows), NAME(scatter)(found->extend, shape->type, g, rows);
    NAME(find)(b, p->to_branch, p->c - 1, g, w, 1, unused, rows), NAME(scatter)(found->branch, shape->type, g, rows);
    if (shape->together)
        NAME(find)(b, p->to_together, p->c, g * g, w, 0, unused, rows), NAME(scatter)(found->together, shape->before, pairs, rows);
    if (shape->within)
        NAME(find)(b, p->to_within, p->c, g * g, w, 0, unused, rows), NAME(scatter)(found->within, shape->others, 2 * pairs, rows);
}

/* Uses that are stored nowhere are 0. */
static void NAME(clear)(const NAME(Joint) *p, int64_t row) {
    const size_t g = (size_t)p->g, c = (size_t)p->c, at = (size_t)row;
    memset(p->to_absent + at * g, 0, g * sizeof(real)), memset(p->to_present + at * g, 0, g * sizeof(real));
    memset(p->to_extend + at * (c - 1) * g, 0, (c - 1) * g * sizeof(real));
    memset(p->to_branch + at * (c - 1) * g, 0, (c - 1) * g * sizeof(real));
    memset(p->to_close + at * c * g, 0, c * g * sizeof(real));
    if (p->to_together) memset(p->to_together + at * c * g * g, 0, c * g * g * sizeof(real));
    if (p->to_within) memset(p->to_within + at * c * g * g, 0, c * g * g * sizeof(real));
}

/* All that is wanted of the rows of a block. */
static void NAME(block)(const NAME(Joint) *p, Block *b) {
    const int g = b->shape.g, size = 1 << g;
    int failed[LANES];
    Found found;
    NAME(load)(p, b);
    sum_block(b, failed);
    for (int lane = 0; lane < b->used; lane++) p->log_partition[b->row[lane]] = (real)b->log_partition[lane];
    for (int k = 0; k < g && p->to_absent; k++) {
        for (int lane = 0; lane < b->used; lane++) {
            double present = b->active[k][lane];
            p->to_present[b->row[lane] * g + k] = (real)present;
            p->to_absent[b->row[lane] * g + k] = (real)(present < 1 ? 1 - present : 0);
        }
    }
    for (int64_t w = 0; w < b->widths && p->to_absent; w++) {
        for (int s = 0; s < size; s++) b->share[s] *= b->scale[w];
        outward(&b->shape, b->weights + w * b->shape.count, b->sums + (w + 1) * size, b->share, b->active, &found);
        for (int lane = 0; lane < b->used; lane++) failed[lane] |= !(fabs(found.total[lane] - 1) < 1e-9);
        NAME(store)(p, b, &found, w);
    }
    for (int lane = 0; lane < b->used; lane++) p->failed[b->row[lane]] = (uint8_t)failed[lane];
}

typedef struct {
    const NAME(Joint) *problem;
    int64_t threads;
} NAME(JointShares);

/* The rows of one thread; 0, or 1 if memory ran out. */
static int NAME(joint_share)(void *given, int64_t number) {
    const NAME(JointShares) *shares = given;
    const NAME(Joint) *p = shares->problem;
    const int64_t last = p->rows * (number + 1) / shares->threads;
    Block b = {.shape = shape_of((int)p->g, p->branch != NULL, p->together != NULL, p->within != NULL)};
    if (allocate(&b, p->c)) return 1;
    for (int64_t row = p->rows * number / shares->threads; row < last; row++) {
        p->log_partition[row] = 0, p->failed[row] = 0;
        if (p->to_absent) NAME(clear)(p, row);
        if (p->room[row] > 0) {
            const int64_t room = p->room[row] < p->c ? p->room[row] : p->c;
            b.widths = b.used && b.widths > room ? b.widths : room;
            b.row[b.used] = row, b.room[b.used++] = room;
        }
        if (b.used == LANES || (b.used && row == last - 1)) NAME(block)(p, &b), b.used = 0;
    }
    free(b.memory);
    return 0;
}

/* All rows, shared among threads; 0, or 1 if memory ran out. */
int NAME(joint)(const NAME(Joint) *problem, int64_t threads) {
    NAME(JointShares) shares = {problem, threads};
    return share_with(problem->openmp, NAME(joint_share), &shares, threads, threads);
}
