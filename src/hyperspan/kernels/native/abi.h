/* What Python hands over: the structs of libraries.py, in the same order. */
#include "threads.h"

/* Scores as in EdgeScores, DiscontinuousScores and JointScores, or how often each is used; NULL: not given, or not wanted. */
typedef struct {
    const void *absent, *present, *extend, *close, *branch, *open, *gap, *last, *together, *within;
} Scores;

/* The sizes of a batch: sentences, the longest length, the widths and types of mentions, the widths of gaps and of later parts, and the
 * most parts of a mention; 0: there are none. */
typedef struct {
    const int64_t *lengths; /* (batch,) */
    int64_t batch, n, c, m, gaps, later, parts, threads;
    Parallel *openmp; /* where torch computes the scores; otherwise NULL */
} Batch;

/* How many widths begin at a place, sentence * n + start. */
static inline int64_t widths_at(const Batch *batch, int64_t place) {
    const int64_t room = batch->lengths[place / batch->n] - place % batch->n;
    return room < 0 ? 0 : room < batch->c ? room : batch->c;
}
