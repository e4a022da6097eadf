/* The log-partition of groups of types whose chains at one word run together, how often every score is used, and the best mentions.
 *
 * The formulas are those of joint_reference.py, which stands in where this is not compiled, and for rows whose weights are beyond
 * what numbers can hold. Weights are exponentials, β is scaled by powers of 2 at each width, and several rows are computed at once.
 */
#include <fenv.h>

#include "numbers.h"
#include "threads.h"
#include "lanes.h"

enum { MOST_TYPES = 8, PAIRS = MOST_TYPES * (MOST_TYPES - 1) / 2 };
enum { FEW = 3 }; /* the tables of so many types stay in registers, more or less */
#define UNROLLED _Pragma("GCC unroll 16")

/* Which scores of a width there are: close, extend, branch if it is untied, and pairs, in one list. */
typedef struct {
    int g, untied, count;
    int together, within;      /* where they begin in the list; 0 if there are none */
    uint8_t alone[MOST_TYPES]; /* which of the scores that an array has at a width are in the list: all types */
    uint8_t before[PAIRS];     /* of together, those of k < l */
    uint8_t others[2 * PAIRS]; /* of within, those of k != l */
} Shape;

INLINE int together_of(int k, int l) { return l * (l - 1) / 2 + k; } /* for k < l */
INLINE int within_of(int g, int k, int l) { return k * (g - 1) + l - (l > k); }

static Shape shape_of(int g, int untied, int together, int within) {
    const int pairs = g * (g - 1) / 2, alone = (untied ? 3 : 2) * g, first = together ? pairs : 0, second = within ? 2 * pairs : 0;
    Shape shape = {g, untied, alone + first + second, first ? alone : 0, second ? alone + first : 0, {0}, {0}, {0}};
    for (int k = 0; k < g; k++) {
        shape.alone[k] = (uint8_t)k;
        for (int l = 0; l < g; l++) {
            if (k < l) shape.before[together_of(k, l)] = (uint8_t)(k * g + l);
            if (k != l) shape.others[within_of(g, k, l)] = (uint8_t)(k * g + l);
        }
    }
    return shape;
}

/* What types weigh beside others, or how often they do. Of the FEW first types, from 2^k on, by the sets of types before k; of the later
 * ones, by the sets of those that end or go on, and of the first ones within these. */
typedef struct {
    lanes goes[1 << FEW], goes_also[1 << FEW]; /* k goes on, and does not end; k does both; the types before it end */
    lanes ends[1 << FEW], ends_also[1 << FEW]; /* k ends, and does not go on; what goes_also lacks; the types before it go on */
    lanes *all_goes, *all_ends;                /* later types go on, and first ones end; the other way round */
    lanes *later;                              /* later types end, and later types go on */
} Beside;
#define TABLES(g) ((2 << (g)) + ((g) < FEW ? 1 : 1 << 2 * ((g) - FEW)))

INLINE void place(Beside *beside, lanes *tables, int g) {
    beside->all_goes = tables, beside->all_ends = tables + (1 << g), beside->later = tables + (2 << g);
}

/* The uses of one width, in the place of its weights. */
typedef struct {
    lanes close[MOST_TYPES], extend[MOST_TYPES], branch[MOST_TYPES], together[PAIRS], within[2 * PAIRS];
    lanes total; /* 1 but for rounding */
} Found;

/* Sums of products and highest of sums are computed alike, and so are any number of types and one that is known. */
#define OF(function) JOIN_EXPANDED(function, algebra)
#define SIZED(function) JOIN_EXPANDED(OF(function), number)

#define algebra sum
#define ZERO all(0)
#define ONE all(1)
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#include "joint_unite.h"
#include "joint_weigh.h"
#include "joint_part.h"

#define number any
#define TYPES shape->g
#define STEPS
#include "joint_tables.h"
#include "joint_outward.h"
#undef number
#undef TYPES
#undef STEPS

#define number five /* as many as common corpora have */
#define TYPES 5
#define STEPS UNROLLED
#include "joint_tables.h"
#include "joint_outward.h"
#undef number
#undef TYPES
#undef STEPS
#undef algebra
#undef ZERO
#undef ONE
#undef PLUS
#undef TIMES

#define algebra best
#define ZERO all(-INFINITY)
#define ONE all(0)
#define PLUS(a, b) higher(a, b)
#define TIMES(a, b) ((a) + (b))
#include "joint_unite.h"
#include "joint_weigh.h"
#define number any
#define TYPES shape->g
#define STEPS
#include "joint_tables.h"
#undef number

#include "joint_block.h"
#include "joint_best.h"

#define real float
#include "joint_of.h"
#undef real
#define real double
#include "joint_of.h"
