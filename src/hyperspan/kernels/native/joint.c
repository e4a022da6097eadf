/* The log-partition of groups of types whose chains at one word run together, how often every score is used, and the highest sums.
 *
 * The formulas are those of joint.py, which stands in where this is not compiled, and for rows whose weights are beyond what numbers can
 * hold. Weights are exponentials, β is scaled by powers of 2 at each width, and several rows are computed at once. Types that are active,
 * that end (M) and that go on (S) are sets, in which the first type is the lowest bit; there are SETS of them.
 */
#include <fenv.h>

#include "numbers.h"
#include "lanes.h"

enum { MOST_TYPES = 8, PAIRS = MOST_TYPES * (MOST_TYPES - 1) / 2 };

/* Which scores a width has, in one list: close, extend, branch if it is untied, and pairs. */
typedef struct {
    int g, sets, untied, count;
    int together, within;       /* where they begin in the list; 0 if there are none */
    int32_t alone[MOST_TYPES];  /* the places in an array of those that the list has: of the types, */
    int32_t before[PAIRS];      /* of together, the pairs of k < l, */
    int32_t others[2 * PAIRS];  /* and of within, those of k != l */
} Shape;

INLINE int together_of(int k, int l) { return l * (l - 1) / 2 + k; } /* for k < l */
INLINE int within_of(int g, int k, int l) { return k * (g - 1) + l - (l > k); }

static Shape shape_of(const Scores *in, const int32_t *types, int g, int64_t m) {
    const int pairs = g * (g - 1) / 2, alone = (in->branch ? 3 : 2) * g, first = in->together ? pairs : 0;
    Shape shape = {.g = g, .sets = 1 << g, .untied = in->branch != NULL, .count = alone + first + (in->within ? 2 * pairs : 0)};
    shape.together = first ? alone : 0, shape.within = in->within && pairs ? alone + first : 0;
    for (int k = 0; k < g; k++) {
        shape.alone[k] = types[k];
        for (int l = 0; l < g; l++) {
            const int32_t place = (int32_t)(types[k] * m + types[l]);
            if (k < l) shape.before[together_of(k, l)] = place;
            if (k != l) shape.others[within_of(g, k, l)] = place;
        }
    }
    return shape;
}

/* Whether a choice weighs more than its sets do by themselves. */
INLINE int has_beside(const Shape *shape) { return shape->untied || shape->within; }

/* Sums of products, or the highest of sums. */
INLINE lanes times(int highest, lanes a, lanes b) { return highest ? a + b : a * b; }
INLINE lanes plus(int highest, lanes a, lanes b) { return highest ? higher(a, b) : a + b; }
INLINE lanes one(int highest) { return all(highest ? 0 : 1); }

/* What the sets of some types weigh: `first`, and a factor for each type. */
INLINE void products(int highest, int count, lanes first, const lanes *restrict factors, lanes *restrict made) {
    made[0] = first;
    for (int k = 0; k < count; k++)
        for (int s = 0; s < 1 << k; s++) made[1 << k | s] = times(highest, made[s], factors[k]);
}

/* f(M): what each two types of M weigh that end and, where W does not have it, what each one does. */
INLINE void ending(int highest, const Shape *shape, int each, const lanes *x, lanes *f) {
    lanes factors[MOST_TYPES], row[shape->sets];
    f[0] = one(highest);
    for (int k = 0; k < shape->g; k++) {
        for (int l = 0; l < k; l++) factors[l] = shape->together ? x[shape->together + together_of(l, k)] : one(highest);
        products(highest, k, each ? x[k] : one(highest), factors, row);
        for (int s = 0; s < 1 << k; s++) f[1 << k | s] = times(highest, f[s], row[s]);
    }
}

/* W(M, S), of which row M has a number for each S: what types weigh that end, go on or do both, and each that ends beside each other one
 * that goes on. */
INLINE void beside(int highest, const Shape *shape, const lanes *x, lanes *restrict weight) {
    const int g = shape->g, sets = shape->sets;
    lanes factors[2][MOST_TYPES], ends[sets], goes[sets];
    weight[0] = one(highest);
    for (int k = 0; k < g; k++) {
        for (int l = 0; l < k; l++) {
            factors[0][l] = shape->within ? x[shape->within + within_of(g, k, l)] : one(highest);
            factors[1][l] = shape->within ? x[shape->within + within_of(g, l, k)] : one(highest);
        }
        const lanes close = x[k], extend = x[g + k], both = shape->untied ? x[2 * g + k] : times(highest, close, extend);
        products(highest, k, one(highest), factors[0], ends), products(highest, k, one(highest), factors[1], goes);
        for (int m = 0; m < 1 << k; m++) {
            lanes *row = weight + m * sets, *with = weight + (1 << k | m) * sets;
            for (int s = 0; s < 1 << k; s++) {
                const lanes end = times(highest, row[s], ends[s]), go = times(highest, row[s], goes[m]);
                with[s] = times(highest, end, close), row[1 << k | s] = times(highest, go, extend);
                with[1 << k | s] = times(highest, times(highest, end, goes[m]), both);
            }
        }
    }
}

/* here(M ∪ S): the sum of f(M) W(M, S) after(S), or the highest one. */
INLINE void weigh(int highest, const Shape *shape, const lanes *x, const lanes *restrict after, lanes *weight, lanes *restrict here) {
    lanes f[shape->sets];
    ending(highest, shape, 0, x, f), beside(highest, shape, x, weight);
    for (int s = 0; s < shape->sets; s++) here[s] = all(highest ? -INFINITY : 0);
    for (int m = 0; m < shape->sets; m++) {
        const lanes *restrict row = weight + m * shape->sets, end = f[m];
        for (int s = 0; s < shape->sets; s++)
            here[m | s] = plus(highest, here[m | s], times(highest, times(highest, end, after[s]), row[s]));
    }
}

/* The sums backwards: `share` is ∂ log Z / ∂ here, of_f(M) and of_g(S) those of f and of `after`; `within` says how often its scores are
 * used. */
FOR_EACH_CPU static void unweigh(const Shape *shape, const lanes *x, const lanes *restrict share, const lanes *restrict f,
                                 const lanes *restrict after, lanes *weight, lanes *restrict of_f, lanes *restrict of_g, lanes *within) {
    const int g = shape->g, sets = shape->sets;
    lanes ends[g * sets]; /* how often each type ends while a set goes on */
    beside(0, shape, x, weight);
    for (int s = 0; s < sets; s++) of_g[s] = all(0);
    for (int e = 0; e < g * sets; e++) ends[e] = all(0);
    for (int m = 0; m < sets; m++) {
        lanes *restrict row = weight + m * sets, total = all(0);
        for (int s = 0; s < sets; s++) {
            const lanes part = share[m | s] * row[s], used = part * f[m];
            total += part * after[s], of_g[s] += used, row[s] = used * after[s];
        }
        of_f[m] = total;
        for (int k = 0; k < g && shape->within; k++)
            for (int s = 0; s < sets && m >> k & 1; s++) ends[k * sets + s] += row[s];
    }
    for (int k = 0; k < g && shape->within; k++) {
        for (int l = 0; l < g; l++) {
            lanes total = all(0);
            for (int s = 0; s < sets; s++) total += s >> l & 1 ? ends[k * sets + s] : all(0);
            if (l != k) within[within_of(g, k, l)] = total;
        }
    }
}

/* The same where nothing weighs anything beside another: here(M ∪ S) is the sum of f(M) g(S) over the sets of n types. By the last type:
 * what has it comes from f without it and g with it, or from f with it and any g. So there are 3^n products, and nothing is subtracted. */
FOR_EACH_CPU static void unite(int n, const lanes *f, const lanes *g, lanes *here) {
    const int half = 1 << (n - 1);
    if (n == 1) {
        here[0] = f[0] * g[0], here[1] = f[0] * g[1] + f[1] * (g[0] + g[1]);
        return;
    }
    if (n == 2) { /* written out, since all of the work is here */
        const lanes either = g[0] + g[2], more = g[1] + g[3];
        const lanes last = f[0] * g[2] + f[2] * either, both = f[0] * g[3] + f[1] * (g[2] + g[3]) + f[2] * more + f[3] * (either + more);
        here[0] = f[0] * g[0], here[1] = f[0] * g[1] + f[1] * (g[0] + g[1]), here[2] = last, here[3] = both;
        return;
    }
    lanes either[half], more[half];
    for (int s = 0; s < half; s++) either[s] = g[s] + g[half + s];
    unite(n - 1, f, g, here);
    unite(n - 1, f, g + half, here + half);
    unite(n - 1, f + half, either, more);
    for (int s = 0; s < half; s++) here[half + s] += more[s];
}

/* unite backwards: of_f(M) is the sum of share(M ∪ S) g(S), and of_g(S) comes from f in the same way. */
FOR_EACH_CPU static void part(int n, const lanes *share, const lanes *g, lanes *of_f) {
    const int half = 1 << (n - 1);
    if (n == 1) {
        of_f[0] = share[0] * g[0] + share[1] * g[1], of_f[1] = share[1] * (g[0] + g[1]);
        return;
    }
    if (n == 2) {
        const lanes none = g[0] + g[1], last = g[2] + g[3];
        of_f[0] = share[0] * g[0] + share[1] * g[1] + (share[2] * g[2] + share[3] * g[3]);
        of_f[1] = share[1] * none + share[3] * last;
        of_f[2] = share[2] * (g[0] + g[2]) + share[3] * (g[1] + g[3]);
        of_f[3] = share[3] * (none + last);
        return;
    }
    lanes either[half], more[half];
    for (int s = 0; s < half; s++) either[s] = g[s] + g[half + s];
    part(n - 1, share, g, of_f);
    part(n - 1, share + half, g + half, more);
    part(n - 1, share + half, either, of_f + half);
    for (int s = 0; s < half; s++) of_f[s] += more[s];
}

/* g(S): what the types of S weigh that go on, with all that follows; the latter alone where W has the rest. */
INLINE void going(const Shape *shape, const lanes *x, const lanes *after, lanes *on, lanes *g) {
    lanes ones[MOST_TYPES];
    for (int k = 0; k < shape->g; k++) ones[k] = all(1);
    products(0, shape->g, all(1), has_beside(shape) ? ones : x + shape->g, on);
    for (int s = 0; s < shape->sets; s++) g[s] = on[s] * after[s];
}

/* β of a width from that of the next one, by the weights of its choices. */
FOR_EACH_CPU static void inward(const Shape *shape, const lanes *x, const lanes *after, lanes *weight, lanes *here) {
    lanes f[shape->sets], on[shape->sets], g[shape->sets];
    if (has_beside(shape)) {
        weigh(0, shape, x, after, weight, here);
    } else {
        ending(0, shape, 1, x, f), going(shape, x, after, on, g);
        unite(shape->g, f, g, here);
    }
}

/* The same for the highest sum, by the scores of its choices. */
FOR_EACH_CPU static void inward_highest(const Shape *shape, const lanes *x, const lanes *after, lanes *weight, lanes *here) {
    weigh(1, shape, x, after, weight, here);
}

/* Each entry becomes the sum over all sets that contain it. */
INLINE void sum_supersets(lanes *table, int g) {
    for (int k = 0; k < g; k++)
        for (int s = 0; s < 1 << g; s++)
            if (!(s >> k & 1)) table[s] += table[1 << k | s];
}

/* How often the scores of a width are used, in the order of their list. `share`, ∂ log Z / ∂ β, and `active`, how probable each type is to
 * be active, become those of the next width, whose β is `after`; `total` is the sum over all choices, 1 but for rounding. */
FOR_EACH_CPU static void outward(const Shape *shape, const lanes *x, const lanes *after, lanes *weight, lanes *share, lanes *active,
                                 lanes *used, lanes *total) {
    const int types = shape->g, sets = shape->sets;
    lanes f[sets], on[sets], g[sets], of_f[sets], of_g[sets];
    ending(0, shape, !has_beside(shape), x, f), going(shape, x, after, on, g);
    if (has_beside(shape)) unweigh(shape, x, share, f, after, weight, of_f, of_g, used + shape->within);
    else part(types, share, g, of_f), part(types, share, f, of_g);
    for (int s = 0; s < sets; s++) of_f[s] *= f[s], share[s] = of_g[s] * on[s], g[s] *= of_g[s];
    sum_supersets(of_f, types), sum_supersets(g, types); /* how probable it is that all types of a set end, and that they go on */
    for (int k = 0; k < types; k++) {
        const lanes ends = of_f[1 << k], goes = g[1 << k], most = lower(ends, goes);
        const lanes both = lower(higher(ends + goes - active[k], all(0)), most); /* rounding may leave a little more than there is */
        used[k] = shape->untied ? ends - both : ends, used[types + k] = shape->untied ? goes - both : goes, active[k] = goes;
        if (shape->untied) used[2 * types + k] = both;
        for (int l = k + 1; l < types && shape->together; l++) used[shape->together + together_of(k, l)] = of_f[1 << k | 1 << l];
    }
    *total = g[0];
}

/* Rows that are computed at once, one in each lane. */
typedef struct {
    Shape shape;
    int64_t row[LANES], room[LANES]; /* the rows, as sentence * n + start, and how many widths begin there */
    int64_t used, widths;            /* how many rows there are, and the most widths of one */
    lanes *weights; /* (widths, shape.count): first the scores */
    lanes *sums;    /* (widths + 1, sets): β, scaled */
    lanes *scale;   /* (widths,): powers of 2 by which β was multiplied */
    lanes *share;   /* (sets,): ∂ log Z / ∂ β of a width */
    lanes *weight;  /* (sets, sets): W */
    lanes absent[MOST_TYPES], present[MOST_TYPES], active[MOST_TYPES];
    lanes total, log_partition;
    masks tiny; /* where a weight is below the smallest number, and taken for 0 */
    void *memory;
} Block;

/* A block for rows of up to c widths; 0, or 1 if there is not enough memory. */
static int prepare(Block *b, Shape shape, int64_t c) {
    const int64_t sets = shape.sets, sizes[] = {c * shape.count, (c + 1) * sets, c, sets, sets * sets};
    b->shape = shape;
    b->weights = b->memory = aligned_alloc(64, ((size_t)(sizes[0] + sizes[1] + sizes[2] + sizes[3] + sizes[4]) * sizeof(lanes) + 63) / 64 * 64);
    if (!b->memory) return 1;
    b->sums = b->weights + sizes[0], b->scale = b->sums + sizes[1], b->share = b->scale + sizes[2], b->weight = b->share + sizes[3];
    return 0;
}

/* Nothing is active beyond the last width. */
static void end_with(const Block *b, double nothing, double others) {
    lanes *last = b->sums + b->widths * b->shape.sets;
    for (int s = 0; s < b->shape.sets; s++) last[s] = all(s ? others : nothing);
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
    const int g = b->shape.g, sets = b->shape.sets, count = b->shape.count;
    lanes powers = all(0), log = all(0), table[sets];
    end_with(b, 1, 0);
    masks tiny = {0};
    for (int64_t w = b->widths - 1; w >= 0; w--) {
        lanes *x = b->weights + w * count, *here = b->sums + w * sets;
        exponentials(x, count, &tiny);
        inward(&b->shape, x, here + sets, b->weight, here);
        b->scale[w] = rescale(here, sets, &powers);
    }
    b->share[0] = all(1);
    for (int k = 0; k < g; k++) {
        lanes top = higher(b->absent[k], b->present[k]);
        top = pick((masks)(top == all(-INFINITY)), all(0), top);
        lanes without = exponential(b->absent[k] - top, &tiny), with = exponential(b->present[k] - top, &tiny);
        for (int s = 0; s < 1 << k; s++) b->share[s | 1 << k] = b->share[s] * with, b->share[s] *= without;
        log += top;
    }
    for (int s = 0; s < sets; s++) table[s] = b->share[s] * b->sums[s];
    sum_supersets(table, g);
    b->total = table[0], b->tiny = tiny;
    for (int k = 0; k < g; k++) b->active[k] = table[1 << k] / b->total;
    for (int s = 0; s < sets; s++) b->share[s] /= b->total;
    log += powers * 0.6931471805599453;
    for (int lane = 0; lane < LANES; lane++) b->log_partition[lane] = log_double(b->total[lane]) + log[lane];
}

/* At most what the numbers that were too small for their type would have added to the total, as a part of it. Each was below 2^-1022, and
 * was multiplied with no more than all weights above 1 of its width; what follows it is known. */
FOR_EACH_CPU static void bound_lost(const Block *b, lanes *lost) {
    const int sets = b->shape.sets, count = b->shape.count;
    const double least = 0x1p-1000; /* more than all choices of a width together */
    lanes here[sets], after[sets];
    for (int s = 0; s < sets; s++) after[s] = all(0);
    for (int64_t w = b->widths - 1; w >= 0; w--) {
        lanes most = all(least);
        for (int e = 0; e < count; e++) most *= higher(b->weights[w * count + e], all(1));
        inward(&b->shape, b->weights + w * count, after, b->weight, here);
        for (int s = 0; s < sets; s++) after[s] = (here[s] + most) * b->scale[w];
    }
    *lost = sets * least / b->total;
    for (int s = 0; s < sets; s++) *lost += b->share[s] * after[s];
}

/* The same as sum_inward; then sets in `failed` which rows have another result than they should. */
static void sum_block(Block *b, uint8_t *failed) {
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

/* The highest sums of the rows of a block, (c + 1, 2^g) of each, in which the first type is the highest bit; NaN where a score is, or is
 * +inf. */
static void highest_block(const Block *b, int64_t c, double *tables) {
    const int g = b->shape.g, sets = b->shape.sets, count = b->shape.count;
    masks defined = ~(masks){0};
    for (int64_t e = 0; e < b->widths * count; e++) defined &= (masks)(b->weights[e] < all(INFINITY));
    end_with(b, 0, -INFINITY);
    for (int64_t w = b->widths - 1; w >= 0; w--)
        inward_highest(&b->shape, b->weights + w * count, b->sums + (w + 1) * sets, b->weight, b->sums + w * sets);
    for (int lane = 0; lane < b->used; lane++) {
        double *to = tables + b->row[lane] * (c + 1) * sets;
        for (int64_t e = 0; e < (c + 1) * sets; e++) {
            int s = 0;
            for (int k = 0; k < g; k++) s |= (int)(e >> (g - 1 - k) & 1) << k;
            const int64_t w = e / sets;
            to[e] = !defined[lane] ? NAN : w < b->room[lane] ? b->sums[w * sets + s][lane] : s ? -INFINITY : 0;
        }
    }
}

#define real float
#include "joint_rows.h"
#undef real
#define real double
#include "joint_rows.h"
