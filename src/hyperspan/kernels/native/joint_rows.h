/* Included by joint.c once for each type of number, called `real`. */

typedef struct {
    const Batch *batch;
    const Scores *in, *expected; /* expected: how often each score is used, as they are; its fields are NULL if not wanted */
    const int32_t *types; /* (g,): those of the group */
    int64_t g;
    double *log_z;    /* (B, n), 0 in padding */
    uint8_t *failed;  /* (B, n): which rows have to be computed in another way */
    double *highest;  /* (B, n, c + 1, 2^g): instead of all that, the highest sums; or NULL */
} NAME(Joint);

typedef real NAME(Lanes) __attribute__((vector_size(sizeof(real) * LANES)));

/* What an array of `widths` times `size` numbers for each row has at a width, at some places, into the list of scores: -inf where a row
 * has no width so much wider, and in other lanes. */
FOR_EACH_CPU static void NAME(load_one)(const Block *b, const void *array, int64_t widths, int64_t size, const int32_t *places, int count,
                                        int64_t w, int wider, lanes *to) {
    for (int e = 0; e < count; e++) {
        NAME(Lanes) found;
        for (int lane = 0; lane < LANES; lane++) {
            const int there = lane < b->used && w + wider < b->room[lane];
            found[lane] = there ? ((const real *)array)[(b->row[lane] * widths + w) * size + places[e]] : -INFINITY;
        }
        to[e] = __builtin_convertvector(found, lanes);
    }
}

/* The other way round. */
static void NAME(store_one)(const Block *b, const void *array, int64_t widths, int64_t size, const int32_t *places, int count, int64_t w,
                            int wider, const lanes *from) {
    for (int lane = 0; lane < b->used; lane++) {
        real *to = (real *)array + (b->row[lane] * widths + w) * size;
        for (int e = 0; e < count && w + wider < b->room[lane]; e++) to[places[e]] = (real)from[e][lane];
    }
}

/* The scores of a width, in the order of their list, or how often they are used. */
#define FOR_SCORES(each, b, given, w, list)                                                                           \
    {                                                                                                                 \
        const Shape *shape = &(b)->shape;                                                                             \
        const int g = shape->g, pairs = g * (g - 1) / 2;                                                              \
        each(b, (given)->close, c, m, shape->alone, g, w, 0, list);                                                   \
        each(b, (given)->extend, c - 1, m, shape->alone, g, w, 1, (list) + g);                                        \
        if (shape->untied) each(b, (given)->branch, c - 1, m, shape->alone, g, w, 1, (list) + 2 * g);                 \
        if (shape->together) each(b, (given)->together, c, m *m, shape->before, pairs, w, 0, (list) + shape->together); \
        if (shape->within) each(b, (given)->within, c, m *m, shape->others, 2 * pairs, w, 0, (list) + shape->within); \
    }

/* All that is wanted of the rows of a block. */
static void NAME(block)(const NAME(Joint) *p, Block *b) {
    const int64_t c = p->batch->c, m = p->batch->m;
    uint8_t failed[LANES];
    NAME(load_one)(b, p->in->absent, 1, m, b->shape.alone, b->shape.g, 0, 0, b->absent);
    NAME(load_one)(b, p->in->present, 1, m, b->shape.alone, b->shape.g, 0, 0, b->present);
    for (int64_t w = 0; w < b->widths; w++) FOR_SCORES(NAME(load_one), b, p->in, w, b->weights + w * b->shape.count)
    if (p->highest) {
        highest_block(b, c, p->highest);
        return;
    }
    sum_block(b, failed);
    for (int lane = 0; lane < b->used; lane++) p->log_z[b->row[lane]] = b->log_partition[lane];
    if (p->expected->absent) {
        lanes used[b->shape.count], absent[MOST_TYPES], total;
        for (int k = 0; k < b->shape.g; k++) absent[k] = higher(1 - b->active[k], all(0));
        NAME(store_one)(b, p->expected->present, 1, m, b->shape.alone, b->shape.g, 0, 0, b->active);
        NAME(store_one)(b, p->expected->absent, 1, m, b->shape.alone, b->shape.g, 0, 0, absent);
        for (int64_t w = 0; w < b->widths; w++) {
            const int sets = b->shape.sets;
            for (int s = 0; s < sets; s++) b->share[s] *= b->scale[w];
            const lanes *x = b->weights + w * b->shape.count, *after = b->sums + (w + 1) * sets;
            outward(&b->shape, x, after, b->weight, b->share, b->active, used, &total);
            for (int lane = 0; lane < b->used; lane++) failed[lane] |= !(fabs(total[lane] - 1) < 1e-9);
            FOR_SCORES(NAME(store_one), b, p->expected, w, used)
        }
    }
    for (int lane = 0; lane < b->used; lane++) p->failed[b->row[lane]] = failed[lane];
}
#undef FOR_SCORES

/* The rows of one thread; 0, or 1 if memory ran out. */
static int NAME(joint_share)(void *given, int64_t number) {
    const NAME(Joint) *p = given;
    const int64_t rows = p->batch->batch * p->batch->n, last = rows * (number + 1) / p->batch->threads;
    Block b = {.used = 0};
    if (prepare(&b, shape_of(p->in, p->types, (int)p->g, p->batch->m), p->batch->c)) return 1;
    for (int64_t row = rows * number / p->batch->threads; row < last; row++) {
        const int64_t room = widths_at(p->batch, row);
        if (room) {
            b.widths = b.used && b.widths > room ? b.widths : room;
            b.row[b.used] = row, b.room[b.used++] = room;
        }
        if (b.used == LANES || (b.used && row == last - 1)) NAME(block)(p, &b), b.used = 0;
    }
    free(b.memory);
    return 0;
}

/* The log-partition of a group at each word and, if wanted, how often its scores are used. What is written is 0 before. Returns 0, or 1 if
 * memory ran out. */
int64_t NAME(joint)(const Batch *batch, const Scores *in, const int32_t *types, int64_t g, double *log_z, const Scores *expected,
                uint8_t *failed) {
    NAME(Joint) joint = {batch, in, expected, types, g, log_z, failed, NULL};
    return share_with(batch->openmp, NAME(joint_share), &joint, batch->threads, batch->threads);
}

/* The highest sums of a group that follow at each word and width, by the types that are active; those of padding are not written. */
int64_t NAME(joint_highest)(const Batch *batch, const Scores *in, const int32_t *types, int64_t g, double *highest) {
    NAME(Joint) joint = {batch, in, NULL, types, g, NULL, NULL, highest};
    return share_with(batch->openmp, NAME(joint_share), &joint, batch->threads, batch->threads);
}
