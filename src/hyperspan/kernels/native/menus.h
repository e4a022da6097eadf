/* What the menus of mentions with gaps weigh, in one pass over the scores of each sentence.
 *
 * What a menu is stands in structures/gaps.py, which stands in where this is not compiled. All arrays are contiguous.
 * The items of a menu stand width by width, and what follows them word by word, so that both are added in one loop.
 *
 * Included by structures.c once for each type of number, called `real`.
 */

typedef struct { /* what is found */
    real *gap_items; /* (parts - 1, B, n, g, m): the menus of gaps that begin at a word, by how many parts may still come */
    real *part_items; /* (parts - 2, B, n, 2 later, m): those of parts, as the last and if others follow; of one part they are `last` */
    real *more, *events; /* (B, n, c, m); in padding -inf */
    real *alone, *goes_on; /* (B, n, c, m): how probable both items of an event are, 0 in padding; NULL if not wanted */
} NAME(MenuArrays);

typedef struct {
    const Batch *batch;
    const real *close, *open, *gap, *last; /* `last` is -inf beyond the end of a sentence */
    int64_t best; /* whether the best choices are wanted, and not sums over all of them */
    const NAME(MenuArrays) *to;
} NAME(Menus);

/* log(1 + exp(x)) */
INLINE real NAME(softplus)(real x) { return (x > 0 ? x : 0) + NAME(log1p)(NAME(exp)(x > 0 ? -x : x)); }

/* The weight of a menu of `count` items of m types each, given width by width; `scratch` has room for twice the items. */
INLINE void NAME(some)(const real *restrict items, int64_t count, int64_t m, real *restrict scratch, real *restrict result) {
    const int64_t size = count * m;
    real *restrict weight = scratch, *restrict pivot = scratch + size;
    if (!count) {
        for (int64_t k = 0; k < m; k++) result[k] = -INFINITY;
        return;
    }
    /* Each choice has a last item, before which the others are free. */
    for (int64_t e = 0; e < size - m; e++) weight[e + m] = NAME(softplus)(items[e]);
    for (int64_t k = 0; k < m; k++) weight[k] = 0;
    for (int64_t e = m; e < size; e++) weight[e] += weight[e - m];
    for (int64_t e = 0; e < size; e++) weight[e] += items[e];
    for (int64_t k = 0; k < m; k++) pivot[k] = weight[k];
    for (int64_t u = 1; u < count; u++)
        for (int64_t k = 0; k < m; k++) pivot[k] = weight[u * m + k] > pivot[k] ? weight[u * m + k] : pivot[k];
    for (int64_t k = 0; k < m; k++) pivot[k] = pivot[k] == -INFINITY ? 0 : pivot[k], result[k] = 0;
    NAME(repeat)(pivot, m, size);
    for (int64_t e = 0; e < size; e++) weight[e] = NAME(exp)(weight[e] - pivot[e]);
    for (int64_t u = 0; u < count; u++)
        for (int64_t k = 0; k < m; k++) result[k] += weight[u * m + k];
    for (int64_t k = 0; k < m; k++) result[k] = NAME(log)(result[k]) + pivot[k];
}

/* The weight of the best choice: all items that weigh more than 0, or the heaviest. NaN if one is. */
INLINE void NAME(best_of)(const real *restrict items, int64_t count, int64_t m, real *restrict scratch, real *restrict result) {
    real *restrict sum = scratch;
    for (int64_t k = 0; k < m; k++) result[k] = -INFINITY, sum[k] = 0;
    for (int64_t u = 0; u < count; u++) {
        for (int64_t k = 0; k < m; k++) {
            real item = items[u * m + k];
            sum[k] += item <= 0 ? 0 : item;
            result[k] = item > result[k] ? item : result[k];
        }
    }
    for (int64_t k = 0; k < m; k++) result[k] = result[k] > 0 || sum[k] != sum[k] ? sum[k] : result[k];
}

/* The weight of a menu, of whichever kind is wanted. */
INLINE void NAME(weigh)(int64_t best, const real *items, int64_t count, int64_t m, real *scratch, real *result) {
    if (best)
        NAME(best_of)(items, count, m, scratch, result);
    else
        NAME(some)(items, count, m, scratch, result);
}

/* to = scores + what follows, for the `count` widths after which there is a word; -inf for the others of `all`. */
INLINE void NAME(follow)(real *restrict to, const real *restrict scores, const real *restrict next, int64_t count, int64_t all) {
    for (int64_t e = 0; e < count; e++) to[e] = scores[e] + next[e];
    for (int64_t e = count; e < all; e++) to[e] = -INFINITY;
}

/* The events of a start, from their two items. */
INLINE void NAME(sum_events)(const real *restrict close, const real *restrict more, real *restrict events, int64_t size) {
    for (int64_t e = 0; e < size; e++) {
        real alone = close[e] + NAME(softplus)(more[e]), share;
        int impossible = alone == -INFINITY && more[e] == -INFINITY;
        real weight = NAME(either)(impossible ? 0 : alone, impossible ? 0 : more[e], &share);
        events[e] = impossible ? -INFINITY : weight;
    }
}

INLINE void NAME(best_events)(const real *restrict close, const real *restrict more, real *restrict events, int64_t size) {
    for (int64_t e = 0; e < size; e++) {
        real heaviest = close[e] < more[e] ? more[e] : close[e];
        real sum = (close[e] <= 0 ? 0 : close[e]) + (more[e] <= 0 ? 0 : more[e]);
        events[e] = heaviest > 0 || sum != sum ? sum : heaviest;
    }
}

/* How probable each item of an event is, given the event. */
INLINE void NAME(shares)(const real *restrict close, const real *restrict more, const real *restrict events, real *restrict alone,
                         real *restrict goes_on, int64_t size) {
    for (int64_t e = 0; e < size; e++) {
        real first = close[e] + NAME(softplus)(more[e]) - events[e], second = more[e] + NAME(softplus)(close[e]) - events[e];
        int impossible = events[e] == -INFINITY;
        alone[e] = NAME(exp)(impossible ? -INFINITY : first < 0 ? first : first == first ? 0 : first);
        goes_on[e] = NAME(exp)(impossible ? -INFINITY : second < 0 ? second : second == second ? 0 : second);
    }
}

/* The menus of the parts that begin at each word of a sentence, and what they weigh; `after` are those of gaps, with a part less. */
INLINE void NAME(weigh_parts)(const NAME(Menus) *p, int64_t b, int64_t stage, const real *after, real *from, real *scratch) {
    const int64_t n = p->batch->n, later = p->batch->later, m = p->batch->m, length = p->batch->lengths[b], half = later * m;
    for (int64_t at = 0; at < length; at++) {
        const real *items = p->last + (b * n + at) * half;
        if (stage) {
            const int64_t left = length - at - 1, count = (left < later ? left : later) * m;
            real *both = p->to->part_items + (((stage - 1) * p->batch->batch + b) * n + at) * 2 * half;
            memcpy(both, items, (size_t)half * sizeof(real));
            NAME(follow)(both + half, p->open + (b * n + at) * p->batch->c * m, after + (at + 1) * m, count, half);
            items = both;
        }
        NAME(weigh)(p->best, items, stage ? 2 * later : later, m, scratch, from + at * m);
    }
    if (stage) {
        real *beyond = p->to->part_items + (((stage - 1) * p->batch->batch + b) * n + length) * 2 * half;
        for (int64_t e = 0; e < (n - length) * 2 * half; e++) beyond[e] = -INFINITY;
    }
}

/* The same for the gaps that begin at each word; `from` are the menus of parts. */
INLINE void NAME(weigh_gaps)(const NAME(Menus) *p, int64_t b, int64_t stage, const real *from, real *after, real *scratch) {
    const int64_t n = p->batch->n, g = p->batch->gaps, m = p->batch->m, length = p->batch->lengths[b], row = g * m;
    real *items = p->to->gap_items + (stage * p->batch->batch + b) * n * row;
    for (int64_t at = 0; at < length; at++) {
        const int64_t left = length - at - 1, count = left < g ? left : g;
        NAME(follow)(items + at * row, p->gap + (b * n + at) * row, from + (at + 1) * m, count * m, row);
        NAME(weigh)(p->best, items + at * row, count, m, scratch, after + at * m);
    }
    for (int64_t e = length * row; e < n * row; e++) items[e] = -INFINITY;
}

/* One sentence; `scratch` has room for twice its words and twice the largest menu. */
FOR_EACH_CPU static void NAME(sentence)(const NAME(Menus) *p, int64_t b, real *scratch) {
    const int64_t n = p->batch->n, c = p->batch->c, m = p->batch->m, length = p->batch->lengths[b], wide = c * m;
    real *from = scratch, *after = scratch + n * m, *room = scratch + 2 * n * m;
    for (int64_t stage = 0; stage + 1 < p->batch->parts; stage++) {
        NAME(weigh_parts)(p, b, stage, after, from, room);
        NAME(weigh_gaps)(p, b, stage, from, after, room);
    }
    for (int64_t at = 0; at < n; at++) {
        const int64_t row = (b * n + at) * wide, left = length > at ? length - at : 0, here = (left < c ? left : c) * m;
        const int64_t following = p->batch->parts < 2 || !left ? 0 : (left - 1 < c ? left - 1 : c) * m;
        real *more = p->to->more + row, *events = p->to->events + row;
        const real *close = p->close + row;
        NAME(follow)(more, p->open + row, following ? after + (at + 1) * m : NULL, following, wide);
        if (p->best)
            NAME(best_events)(close, more, events, here);
        else
            NAME(sum_events)(close, more, events, here);
        for (int64_t e = here; e < wide; e++) events[e] = -INFINITY;
        if (!p->to->alone) continue;
        NAME(shares)(close, more, events, p->to->alone + row, p->to->goes_on + row, here);
        memset(p->to->alone + row + here, 0, (size_t)(wide - here) * sizeof(real));
        memset(p->to->goes_on + row + here, 0, (size_t)(wide - here) * sizeof(real));
    }
}

/* The sentences of one thread; 0, or 1 if memory ran out. */
static int NAME(menu_share)(void *given, int64_t number) {
    const NAME(Menus) *p = given;
    const int64_t sentences = p->batch->batch, threads = p->batch->threads;
    const int64_t wider = p->batch->gaps > 2 * p->batch->later ? p->batch->gaps : 2 * p->batch->later, most = wider > 1 ? wider : 1; /* an empty menu has a sum, too */
    real *scratch = malloc((size_t)(2 * (p->batch->n + most) * p->batch->m + 1) * sizeof(real));
    if (!scratch) return 1;
    for (int64_t b = sentences * number / threads; b < sentences * (number + 1) / threads; b++)
        NAME(sentence)(p, b, scratch);
    free(scratch);
    return 0;
}

/* The menus of all sentences, shared among threads; 0, or 1 if memory ran out. */
int64_t NAME(menus)(const Batch *batch, const Scores *in, int64_t best, const NAME(MenuArrays) *to) {
    NAME(Menus) menus = {batch, in->close, in->open, in->gap, in->last, best, to};
    return share_tasks(NAME(menu_share), &menus, batch->threads, batch->threads);
}
