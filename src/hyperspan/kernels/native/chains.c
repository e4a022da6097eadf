/* The log-partition of every chain of a batch, and the posteriors of its edges, in one pass over the scores.
 *
 * The formulas are those of chains.py, whose formula stands in where this is not compiled. All arrays are contiguous and in the
 * layout of EdgeScores. Of a row (one start of one sentence) only the widths inside its sentence are read; the posteriors
 * of the others are set to 0. Loops over a row run over contiguous memory without branches, so that compilers make vector
 * instructions of them.
 */
#include "numbers.h"
#include "threads.h"

#define real float
#include "numbers_of.h"
#include "chains_of.h"
#undef real
#define real double
#include "numbers_of.h"
#include "chains_of.h"
