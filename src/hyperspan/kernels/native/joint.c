/* The log-partition of groups of types whose chains at one word run together, how often every score is used, and the best mentions.
 *
 * The formulas are those of joint_reference.py, which stands in where this is not compiled, and for rows whose weights are beyond
 * what numbers can hold. Weights are exponentials, β is scaled by powers of 2 at each width, and several rows are computed at once.
 */
#include <fenv.h>

#include "numbers.h"
#include "threads.h"
#include "lanes.h"

enum { MOST_TYPES = 8, FEW = 3 };
#define UNROLLED _Pragma("GCC unroll 16")

/* Which scores of a width there are: close, extend, branch if it is untied, and pairs, in one list. */
typedef struct {
    int g, untied, count;
    int together, within;                             /* where they begin in the list; 0 if there are none */
    uint8_t type[MOST_TYPES];                         /* where they are among those of a width and kind: each type at its own place */
    uint8_t before[MOST_TYPES * (MOST_TYPES - 1) / 2]; /* together, of k < l */
    uint8_t others[MOST_TYPES * (MOST_TYPES - 1)];    /* within, of k != l */
} Shape;

INLINE int together_of(int k, int l) { return l * (l - 1) / 2 + k; } /* for k < l */
INLINE int within_of(int g, int k, int l) { return k * (g - 1) + l - (l > k); }

static Shape shape_of(int g, int untied, int together, int within) {
    const int pairs = g * (g - 1) / 2, alone = (untied ? 3 : 2) * g, first = together ? pairs : 0, second = within ? 2 * pairs : 0;
    Shape shape = {g, untied, alone + first + second, first ? alone : 0, second ? alone + first : 0, {0}, {0}, {0}};
    for (int k = 0; k < g; k++) {
        shape.type[k] = (uint8_t)k;
        for (int l = 0; l < g; l++) {
            if (k < l) shape.before[together_of(k, l)] = (uint8_t)(k * g + l);
            if (k != l) shape.others[within_of(g, k, l)] = (uint8_t)(k * g + l);
        }
    }
    return shape;
}

/* What types weigh beside others; see joint_weigh.h. Of the first types, for type k from 2^k on by the sets of types before it. */
typedef struct {
    const lanes *goes, *goes_also; /* k goes on, and does not end; k does both; the sets end */
    const lanes *ends, *ends_also; /* k ends, and does not go on; k does both, but for what is in goes_also; the sets go on */
    const lanes *all_goes, *all_ends; /* by the sets of later types that go on (end), and of first ones that end (go on) */
    const lanes *later; /* by the sets of later types that end, and of those that go on */
} Beside;
#define TABLES(g) ((4 << FEW) + (2 << (g)) + ((g) < FEW ? 1 : 1 << 2 * ((g) - FEW)))

#define OF(function) JOIN_EXPANDED(function, algebra)
#define algebra sum
#define ZERO all(0)
#define ONE all(1)
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#include "joint_sets.h"
#include "joint_weigh.h"
#undef algebra
#undef ZERO
#undef ONE
#undef PLUS
#undef TIMES
#include "joint_outward.h"
#include "joint_block.h"

#define real float
#include "joint_of.h"
#undef real
#define real double
#include "joint_of.h"
