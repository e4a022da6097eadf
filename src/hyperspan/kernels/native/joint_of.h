/* Included by joint.c once for each type of number, called `real`. */

typedef struct {
    const real *absent, *present, *extend, *close; /* (R, g) twice, (R, c - 1, g), (R, c, g) */
    const real *branch, *together, *within; /* (R, c - 1, g), (R, c, g, g) twice; NULL if tied, or if there are none */
    const int64_t *room; /* (R,): words to the end of the sentence, 0 in padding */
    int64_t rows, c, g;
    real *log_partition; /* (R,), 0 in padding */
    real *to_absent, *to_present, *to_extend, *to_close, *to_branch, *to_together, *to_within; /* uses, 0 before; all NULL if not wanted */
    uint8_t *failed; /* (R,): which rows have to be computed in another way */
    Parallel *openmp; /* where torch computes the scores; otherwise NULL */
} NAME(Joint);

typedef real NAME(Lanes) __attribute__((vector_size(sizeof(real) * LANES)));

/* What rows have at some places, side by side. */
FOR_EACH_CPU static void NAME(gather)(const real *const *rows, const uint8_t *places, int count, lanes *to) {
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

/* What an array has of each row of a block at a width, into the list of scores; -inf beyond the end of a row, and in other lanes. */
static void NAME(load_one)(const Block *b, enum Place place, const real *array, int64_t w, lanes *to) {
    static const real never[MOST_TYPES * MOST_TYPES] = {[0 ... MOST_TYPES * MOST_TYPES - 1] = -INFINITY};
    const Layout *at = &b->layout[place];
    const real *rows[LANES];
    for (int lane = 0; lane < LANES; lane++)
        rows[lane] = is_there(b, at, lane, w) ? array + (b->row[lane] * at->widths + w) * at->size : never;
    NAME(gather)(rows, at->places, at->count, to);
}

/* The other way round, for uses; nowhere beyond the end of a row, and for other lanes. */
static void NAME(store_one)(const Block *b, enum Place place, const lanes *from, int64_t w, real *array) {
    const Layout *at = &b->layout[place];
    real nowhere[MOST_TYPES * MOST_TYPES], *rows[LANES];
    for (int lane = 0; lane < LANES; lane++)
        rows[lane] = is_there(b, at, lane, w) ? array + (b->row[lane] * at->widths + w) * at->size : nowhere;
    NAME(scatter)(from, at->places, at->count, rows);
}

static void NAME(load)(const NAME(Joint) *p, Block *b) {
    const Shape *shape = &b->shape;
    NAME(load_one)(b, FIRST, p->absent, 0, b->absent);
    NAME(load_one)(b, FIRST, p->present, 0, b->present);
    for (int64_t w = 0; w < b->widths; w++) {
        lanes *to = b->weights + w * shape->count;
        NAME(load_one)(b, EVERY, p->close, w, to);
        NAME(load_one)(b, STEP, p->extend, w, to + shape->g);
        if (shape->untied) NAME(load_one)(b, STEP, p->branch, w, to + 2 * shape->g);
        if (shape->together) NAME(load_one)(b, TOGETHER, p->together, w, to + shape->together);
        if (shape->within) NAME(load_one)(b, WITHIN, p->within, w, to + shape->within);
    }
}

static void NAME(store)(const NAME(Joint) *p, const Block *b, const Found *found, int64_t w) {
    NAME(store_one)(b, EVERY, found->close, w, p->to_close);
    NAME(store_one)(b, STEP, found->extend, w, p->to_extend);
    NAME(store_one)(b, STEP, found->branch, w, p->to_branch);
    if (b->shape.together) NAME(store_one)(b, TOGETHER, found->together, w, p->to_together);
    if (b->shape.within) NAME(store_one)(b, WITHIN, found->within, w, p->to_within);
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

static int NAME(prepare)(const NAME(Joint) *p, Block *b) {
    return prepare(b, shape_of((int)p->g, p->branch != NULL, p->together != NULL, p->within != NULL), p->c);
}

/* Adds a row to a block unless it is in padding; whether the block is full then. */
static int NAME(add)(const NAME(Joint) *p, Block *b, int64_t row) {
    if (p->room[row] > 0) {
        const int64_t room = p->room[row] < p->c ? p->room[row] : p->c;
        b->widths = b->used && b->widths > room ? b->widths : room;
        b->row[b->used] = row, b->room[b->used++] = room;
    }
    return b->used == LANES;
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
    Block b = {.used = 0};
    if (NAME(prepare)(p, &b)) return 1;
    for (int64_t row = p->rows * number / shares->threads; row < last; row++) {
        p->log_partition[row] = 0, p->failed[row] = 0;
        if (NAME(add)(p, &b, row) || (b.used && row == last - 1)) NAME(block)(p, &b), b.used = 0;
    }
    free(b.memory);
    return 0;
}

/* All rows, shared among threads; 0, or 1 if memory ran out. */
int NAME(joint)(const NAME(Joint) *problem, int64_t threads) {
    NAME(JointShares) shares = {problem, threads};
    return share_with(problem->openmp, NAME(joint_share), &shares, threads, threads);
}

/* The best mentions as (row, width, type), in that order. Returns how many there are, of which it writes no more than there is space for;
 * or -1 where a row has no possible choice, or a score that is NaN or +inf, -2 if memory ran out. */
int64_t NAME(joint_best)(const NAME(Joint) *p, int32_t *mentions, int64_t space) {
    Block b = {.used = 0};
    int64_t found = NAME(prepare)(p, &b) ? -2 : 0;
    for (int64_t row = 0; row < p->rows && found >= 0; row++) {
        if (!NAME(add)(p, &b, row) && (!b.used || row < p->rows - 1)) continue;
        NAME(load)(p, &b);
        if (!best_block(&b)) found = -1;
        for (int lane = 0; lane < b.used && found >= 0; lane++) {
            const int64_t written = found < space ? found : space;
            const int64_t more = best_of_lane(&b, lane, mentions + 3 * written, space - written);
            found = more < 0 ? -1 : found + more;
        }
        b.used = 0;
    }
    free(b.memory);
    return found;
}
