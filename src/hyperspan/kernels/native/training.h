/* LSTMs over many chains, with gradients: what training needs. Included once, for 32 bits.
 *
 * A chain reads one row of `gates` a step, and its state is kept at every step. A task is some chains of one direction,
 * those that go on always the first, and belongs to one thread; tasks of one direction share no row, neither of what they read
 * nor of what they write, and each adds up its own gradient of the weights. So a sum is always taken in the same order.
 *
 * Gates stand in panels as in products.h: (panels, 4, LANES), but are not scaled. The backward products are taken for a few
 * rows at a time, while the gradients of their gates are in the cache.
 */

enum { PANEL = 4 * LANES, ROWS_AT_ONCE = 96 };

typedef struct {
    int64_t tasks, steps, units, rows, words; /* units: a multiple of LANES */
    const int64_t *direction, *first;         /* (tasks,), (tasks + 1,): where its part of `row` and `read` begins */
    const int64_t *counts;                    /* (tasks, steps): chains that take part in a step */
    const int32_t *row, *read;                /* of each step of each chain: where its state stands, and what it reads */
    const float *gates;                       /* (2, words, panels, 4, LANES) */
    const float *recurrent;                   /* (2, panels, units, 4, LANES) */
    float *states, *cells;                    /* (2, rows, units) */
    float *activated;                         /* (2, rows, panels, 4, LANES), or NULL if nothing goes back */
    const float *transposed;                  /* (2, wide panels, 4 * units, PANEL); a wide panel is PANEL units */
    const float *d_states;                    /* (2, rows, units) */
    float *d_gates;                           /* as gates; added to */
    float *d_recurrent;                       /* (tasks, panels, units, 4, LANES); added to */
    Parallel *openmp;                         /* torch's, or NULL */
} Chains;

/* Vectors that others have placed. */
typedef float loose __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* What 1 is divided by for the sigmoid of x. */
INLINE vec below(vec x) { return power_of_2(x * -1.44269504f) + 1.0f; }

INLINE vec squash(vec x) {
    vec power = power_of_2(x * -2.88539008f);
    return (1.0f - power) / (1.0f + power);
}

/* Activates the sums of four gates in place; returns the state. `cell` is the cell before, and becomes that after. */
INLINE vec keeping_cell(vec gates[4], vec *cell) {
    vec into = below(gates[0]), forget = below(gates[1]), out = below(gates[3]);
    vec fresh = power_of_2(gates[2] * -2.88539008f), known = fresh + 1.0f;
    vec one = 1.0f / (into * forget), other = 1.0f / (known * out);
    gates[0] = forget * one, gates[1] = into * one;
    gates[2] = (1.0f - fresh) * out * other, gates[3] = known * other;
    *cell = gates[1] * *cell + gates[0] * gates[2];
    return gates[3] * squash(*cell);
}

/* The gradients of the sums of four gates, from that of the state; `d_cell` is that of the cell after, and becomes that of the
 * cell before. */
INLINE void cell_backward(const loose gates[4], vec cell, vec before, vec d_state, vec *d_cell, vec d_gates[4]) {
    vec into = gates[0], forget = gates[1], fresh = gates[2], out = gates[3], squashed = squash(cell);
    vec d_out = d_state * out, d_after = *d_cell + (d_out - d_out * squashed * squashed);
    d_gates[0] = d_after * fresh * (into - into * into);
    d_gates[1] = d_after * before * (forget - forget * forget);
    d_gates[2] = d_after * into * (1.0f - fresh * fresh);
    d_gates[3] = d_out * squashed * (1.0f - out);
    *d_cell = d_after * forget;
}

/* The rows `row[0]`, `row[1]`, … of `from`, one after the other. */
static void gather_rows(int64_t count, const int32_t *row, const float *from, int64_t units, float *to) {
    for (int64_t r = 0; r < count; r++, to += units) memcpy(to, from + row[r] * units, (size_t)units * sizeof(float));
}

/* All steps of a task's chains; `before` has room for ROWS_AT_ONCE states. */
static void read_chains(const Chains *c, int64_t task, float *before) {
    const int64_t units = c->units, side = c->direction[task], *counts = c->counts + task * c->steps;
    const int32_t *row = c->row + c->first[task], *read = c->read + c->first[task], *earlier = row;
    const float *gates = c->gates + side * c->words * units * 4;
    float *states = c->states + side * c->rows * units, *cells = c->cells + side * c->rows * units;
    float *activated = c->activated ? c->activated + side * c->rows * units * 4 : NULL;
    vec sums[MOST_ROWS][4];
    for (int64_t step = 0; step < c->steps; earlier = row, row += counts[step], read += counts[step], step++) {
        for (int64_t from = 0; from < counts[step]; from += ROWS_AT_ONCE) {
            const int64_t to = smaller(from + ROWS_AT_ONCE, counts[step]);
            const weights_float32 *recurrent = (const weights_float32 *)(c->recurrent + side * units * units * 4);
            if (step) gather_rows(to - from, earlier + from, states, units, before);
            for (int64_t unit = 0; unit < units; unit += LANES, recurrent += units * 4) {
                for (int64_t tile = from; tile < to; tile += MOST_ROWS) {
                    const int64_t rows = smaller(MOST_ROWS, to - tile);
                    for (int64_t r = 0; r < rows; r++)
                        memcpy(sums[r], gates + (read[tile + r] * units + unit) * 4, sizeof sums[r]);
                    if (step) NAME(tile)(rows, before + (tile - from) * units, units, units, recurrent, sums);
                    for (int64_t r = 0; r < rows; r++) {
                        const int64_t at = row[tile + r] * units + unit;
                        vec cell = step ? *(vec *)(cells + earlier[tile + r] * units + unit) : all(0);
                        *(vec *)(states + at) = keeping_cell(sums[r], &cell);
                        *(vec *)(cells + at) = cell;
                        if (activated) memcpy(activated + at * 4, sums[r], sizeof sums[r]);
                    }
                }
            }
        }
    }
}

/* Adds to the result, for a few columns of `a`, their products with a panel of 4 vectors of columns, over `rows` rows. */
#define ACROSS ((MOST_ROWS) > 3 ? 4 : 2) /* so many columns; LANES is a multiple of it */
static __attribute__((noinline)) void across(const float *a, int64_t stride, int64_t rows, const vec *b, vec (*result)[4]) {
    vec sums[ACROSS][4];
#pragma GCC unroll 4
    for (int column = 0; column < ACROSS; column++)
#pragma GCC unroll 4
        for (int gate = 0; gate < 4; gate++) sums[column][gate] = result[column][gate];
    for (int64_t row = 0; row < rows; row++, a += stride, b += 4) {
        vec panel[4] = {b[0], b[1], b[2], b[3]};
#pragma GCC unroll 4
        for (int gate = 0; gate < 4; gate++) IN_REGISTER(panel[gate]);
#pragma GCC unroll 4
        for (int column = 0; column < ACROSS; column++) {
            vec one = all(a[column]);
#pragma GCC unroll 4
            for (int gate = 0; gate < 4; gate++) sums[column][gate] += one * panel[gate];
        }
    }
#pragma GCC unroll 4
    for (int column = 0; column < ACROSS; column++)
#pragma GCC unroll 4
        for (int gate = 0; gate < 4; gate++) result[column][gate] = sums[column][gate];
}

/* What a task needs on its way back. */
typedef struct {
    int64_t chains, waiting; /* rows of `pending` and `before` that d_recurrent does not have yet */
    float *pending;          /* (panels, ROWS_AT_ONCE, 4, LANES): gradients of gates */
    float *before;           /* (ROWS_AT_ONCE, units): the states before those steps */
    float *d_state;          /* (wide panels, chains, PANEL): from the step after */
    float *d_cell;           /* (chains, units) */
} Backward;

/* Brings the waiting rows into the gradient of the weights. */
static void flush(const Chains *c, int64_t task, Backward *b) {
    const int64_t units = c->units;
    float *d_recurrent = c->d_recurrent + task * units * units * 4;
    for (int64_t panel = 0; panel * LANES < units; panel++)
        for (int64_t unit = 0; unit < units; unit += ACROSS)
            across(b->before + unit, units, b->waiting, (const vec *)(b->pending + panel * ROWS_AT_ONCE * PANEL),
                   (vec(*)[4])(d_recurrent + (panel * units + unit) * PANEL));
    b->waiting = 0;
}

/* The gradients of states before, for chains `from` and on, from those of the last `count` waiting gates. */
static void to_states_before(const Chains *c, int64_t side, Backward *b, int64_t from, int64_t count) {
    const int64_t units = c->units, wide = rounded_up(units, PANEL) / PANEL;
    const vec *weights = (const vec *)(c->transposed + side * wide * PANEL * units * 4);
    for (int64_t panel = 0; panel < wide; panel++) {
        float *target = b->d_state + (panel * b->chains + from) * PANEL;
        memset(target, 0, (size_t)(count * PANEL) * sizeof(float));
        for (int64_t deep = 0; deep * LANES < units; deep++, weights += PANEL * 4) {
            const float *gates = b->pending + (deep * ROWS_AT_ONCE + b->waiting) * PANEL;
            for (int64_t row = 0; row < count; row += MOST_ROWS)
                NAME(tile)(smaller(MOST_ROWS, count - row), gates + row * PANEL, PANEL, PANEL, weights,
                           (vec(*)[4])(target + row * PANEL));
        }
    }
}

/* The gradients of the gates of one row: they wait, and are added where the row was read. */
static void gates_backward(const Chains *c, int64_t side, Backward *b, int64_t chain, int64_t slot, int goes_on,
                           int32_t row, const int32_t *earlier, int32_t read) {
    const int64_t units = c->units, at = (side * c->rows + row) * units;
    float *read_from = c->d_gates + (side * c->words + read) * units * 4;
    for (int64_t unit = 0; unit < units; unit += LANES) {
        vec d_gates[4], d_state = *(const loose *)(c->d_states + at + unit), cell = *(vec *)(c->cells + at + unit);
        vec *carried = (vec *)(b->d_cell + chain * units + unit), d_cell = goes_on ? *carried : all(0);
        if (goes_on) d_state += *(vec *)(b->d_state + (unit / PANEL * b->chains + chain) * PANEL + unit % PANEL);
        vec before = earlier ? *(vec *)(c->cells + (side * c->rows + *earlier) * units + unit) : all(0);
        cell_backward((const loose *)(c->activated + (at + unit) * 4), cell, before, d_state, &d_cell, d_gates);
        *carried = d_cell;
        if (earlier) memcpy(b->pending + (unit / LANES * ROWS_AT_ONCE + slot) * PANEL, d_gates, sizeof d_gates);
        for (int gate = 0; gate < 4; gate++) ((loose *)(read_from + unit * 4))[gate] += d_gates[gate];
    }
}

/* All steps of a task's chains, from the last to the first. */
static void read_chains_backward(const Chains *c, int64_t task, Backward *b) {
    const int64_t units = c->units, side = c->direction[task], *counts = c->counts + task * c->steps;
    const int32_t *row = c->row + c->first[task + 1], *read = c->read + c->first[task + 1];
    for (int64_t step = c->steps - 1; step >= 0; step--) {
        const int64_t going_on = step + 1 < c->steps ? counts[step + 1] : 0;
        row -= counts[step], read -= counts[step];
        const int32_t *earlier = step ? row - counts[step - 1] : NULL;
        for (int64_t from = 0, count; from < counts[step]; from += count) {
            count = smaller(ROWS_AT_ONCE - b->waiting, counts[step] - from);
            for (int64_t r = 0, chain = from; r < count; r++, chain++)
                gates_backward(c, side, b, chain, b->waiting + r, chain < going_on, row[chain],
                               earlier ? earlier + chain : NULL, read[chain]);
            if (!step) continue;
            gather_rows(count, earlier + from, c->states + side * c->rows * units, units, b->before + b->waiting * units);
            to_states_before(c, side, b, from, count);
            b->waiting += count;
            if (b->waiting == ROWS_AT_ONCE) flush(c, task, b);
        }
    }
    flush(c, task, b);
}

static float *floats(int64_t count) { return aligned_alloc(64, ((size_t)count * sizeof(float) + 127) / 64 * 64); }

static int read_task(void *given, int64_t task) {
    const Chains *c = given;
    float *before = floats(ROWS_AT_ONCE * c->units);
    if (before) read_chains(c, task, before);
    free(before);
    return !before;
}

/* The states of all chains; 0, or 1 if memory ran out. */
int NAME(read_all)(const Chains *c, int64_t threads) {
    return share_with(c->openmp, read_task, (void *)c, c->tasks, threads);
}

static int read_task_backward(void *given, int64_t task) {
    const Chains *c = given;
    const int64_t chains = c->steps ? c->counts[task * c->steps] : 0;
    Backward b = {.chains = chains};
    b.pending = floats(ROWS_AT_ONCE * c->units * 4), b.before = floats(ROWS_AT_ONCE * c->units);
    b.d_state = floats(chains * rounded_up(c->units, PANEL)), b.d_cell = floats(chains * c->units);
    const int complete = b.pending && b.before && b.d_state && b.d_cell;
    if (complete) read_chains_backward(c, task, &b);
    free(b.pending), free(b.before), free(b.d_state), free(b.d_cell);
    return !complete;
}

/* The gradients of gates and weights, from those of states; 0, or 1 if memory ran out. */
int NAME(read_all_backward)(const Chains *c, int64_t threads) {
    return share_with(c->openmp, read_task_backward, (void *)c, c->tasks, threads);
}
