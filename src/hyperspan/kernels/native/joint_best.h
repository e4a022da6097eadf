/* The best mentions of a row, read off the highest sums that inward_best_any has left, first width first.
 *
 * Of two equal choices it takes the one that the reference meets first: states and choices are numbers whose first digit is that of the
 * first type, and a type ends, goes on, or does both, in that order.
 */

/* The best choice of one lane at a width: the types that end, and those that go on. */
typedef struct {
    const Shape *shape;
    const lanes *x, *after;
    int lane, active, ends, goes;
    double score;
} Choice;

/* What it adds that type k ends (1), goes on (2), or does both (3), beside what the types before it do. */
static double choice_score(const Choice *c, int k, int digit, int ends, int goes) {
    const Shape *shape = c->shape;
    const int g = shape->g, lane = c->lane;
    double score = digit == 3 && shape->untied ? c->x[2 * g + k][lane] : 0;
    if (digit & 1 && !(digit == 3 && shape->untied)) score += c->x[k][lane];
    if (digit & 2 && !(digit == 3 && shape->untied)) score += c->x[g + k][lane];
    for (int l = 0; l < k; l++) {
        const int ends_before = ends >> l & 1, goes_before = goes >> l & 1;
        if (shape->together && digit & 1 && ends_before) score += c->x[shape->together + together_of(l, k)][lane];
        if (shape->within && digit & 1 && goes_before) score += c->x[shape->within + within_of(g, k, l)][lane];
        if (shape->within && digit & 2 && ends_before) score += c->x[shape->within + within_of(g, l, k)][lane];
    }
    return score;
}

static void choose_from(Choice *c, int k, int ends, int goes, double score) {
    if (score == -INFINITY) return;
    if (k == c->shape->g) {
        score += c->after[goes][c->lane];
        if (score > c->score) c->score = score, c->ends = ends, c->goes = goes;
    } else if (c->active >> k & 1) {
        for (int digit = 1; digit < 4; digit++)
            choose_from(c, k + 1, ends | (digit & 1) << k, goes | digit >> 1 << k, score + choice_score(c, k, digit, ends, goes));
    } else {
        choose_from(c, k + 1, ends, goes, score);
    }
}

/* The types of which the best set has mentions; -1 where none is possible. */
static int best_state(const Block *b, int lane) {
    const int g = b->shape.g;
    double best = -INFINITY;
    int found = -1;
    for (int number = 0; number < 1 << g; number++) {
        int state = 0;
        double score = 0;
        for (int k = 0; k < g; k++) {
            const int active = number >> (g - 1 - k) & 1;
            state |= active << k, score += (active ? b->present : b->absent)[k][lane];
        }
        score += b->sums[state][lane];
        if (score > best) best = score, found = state;
    }
    return found;
}

/* The highest sums of a block; 1, or 0 where a score is NaN or +inf. */
FOR_EACH_CPU static int best_block(Block *b) {
    const int size = 1 << b->shape.g, count = b->shape.count;
    masks defined = ~(masks){0};
    for (int64_t e = 0; e < b->widths * count; e++) defined &= (masks)(b->weights[e] < all(INFINITY));
    for (int k = 0; k < b->shape.g; k++) defined &= (masks)(b->absent[k] < all(INFINITY)) & (masks)(b->present[k] < all(INFINITY));
    for (int lane = 0; lane < b->used; lane++)
        if (!defined[lane]) return 0;
    end_with(b, 0, -INFINITY);
    for (int64_t w = b->widths - 1; w >= 0; w--)
        inward_best_any(&b->shape, b->weights + w * count, b->sums + (w + 1) * size, b->sums + w * size);
    return 1;
}

/* Writes the mentions of a lane as (row, width, type), as far as there is space; returns how many there are, or -1 where none is
 * possible. */
static int64_t best_of_lane(const Block *b, int lane, int32_t *mentions, int64_t space) {
    const int size = 1 << b->shape.g;
    int64_t found = 0;
    int active = best_state(b, lane);
    for (int64_t w = 0; active > 0; w++) {
        Choice c = {.shape = &b->shape, .lane = lane, .active = active, .score = -INFINITY};
        c.x = b->weights + w * b->shape.count, c.after = b->sums + (w + 1) * size;
        choose_from(&c, 0, 0, 0, 0);
        for (int k = 0; k < b->shape.g; k++) {
            if (!(c.ends >> k & 1) || found++ >= space) continue;
            int32_t *mention = mentions + 3 * (found - 1);
            mention[0] = (int32_t)b->row[lane], mention[1] = (int32_t)w, mention[2] = k;
        }
        active = c.goes;
    }
    return active < 0 ? -1 : found;
}
