/* Tasks shared among the threads of one pool. */
#include <stdint.h>

/* Grows when a struct or the arguments of an exported function change; the same number is in libraries.py. */
#define ABI_VERSION 12

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
