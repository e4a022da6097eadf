/* What all files share: the structs that Python hands over, which libraries.py mirrors, tasks for threads, and versions of glibc. */
#include <stdint.h>
#include <stdlib.h>

/* Grows when a struct or the arguments of an exported function change; the same number is in libraries.py. */
#define ABI_VERSION 12

/* Functions in the versions that every glibc of today has, whatever glibc a library is linked against: so it runs with older ones.
 * Each file names those of the functions that it calls of which glibc has several versions. */
#if defined(__GLIBC__) && defined(__x86_64__)
#define IN_EVERY_GLIBC(function) __asm__(".symver " #function ", " #function "@GLIBC_2.2.5")
#elif defined(__GLIBC__) && defined(__aarch64__)
#define IN_EVERY_GLIBC(function) __asm__(".symver " #function ", " #function "@GLIBC_2.17")
#else
#define IN_EVERY_GLIBC(function) _Static_assert(1, "")
#endif

#define HIDDEN __attribute__((visibility("hidden")))

/* Runs a task for each number below `tasks`, on the calling thread and on up to `threads` - 1 others; 0, or 1 if one of them
 * failed. */
HIDDEN int share_tasks(int (*task)(void *data, int64_t number), void *data, int64_t tasks, int64_t threads);

/* Runs a body in several threads and waits for all of them: GOMP_parallel of OpenMP. */
typedef void Parallel(void (*body)(void *data), void *data, unsigned threads, unsigned flags);

/* The same with threads of OpenMP, unless it is NULL: between two operations of torch its threads are awake, and other threads
 * would have to share their CPUs. */
HIDDEN int share_with(Parallel *openmp, int (*task)(void *data, int64_t number), void *data, int64_t tasks, int64_t threads);

/* The same for two tasks. The calling thread takes the first where it can, so that what a thread reads stays in its caches. */
HIDDEN int share_two(int (*task)(void *data, int64_t number), void *data, int64_t threads);

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
