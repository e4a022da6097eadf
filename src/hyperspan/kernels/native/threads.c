/* Threads are those of an OpenMP runtime, where libraries.py has found one: torch's, so that the two do not compete for the
 * processor. Otherwise they are started for each call. The library itself needs neither OpenMP nor torch to load. */
#include "threads.h"

#include <pthread.h>

int abi_version(void) { return ABI_VERSION; }

typedef void Body(void *);
static void (*openmp)(Body *body, void *data, unsigned threads, unsigned flags); /* GOMP_parallel, or NULL */

void use_openmp(void *gomp_parallel) { *(void **)&openmp = gomp_parallel; }

typedef struct {
    int (*task)(void *data, int64_t number);
    void *data;
    int64_t tasks, next;
    pthread_t caller;
    int taken[2], failed;
} Work;

static void run(Work *work, int64_t number) {
    if (work->task(work->data, number)) __atomic_store_n(&work->failed, 1, __ATOMIC_RELAXED);
}

static void one_after_another(void *given) {
    Work *work = given;
    for (int64_t number; (number = __atomic_fetch_add(&work->next, 1, __ATOMIC_RELAXED)) < work->tasks;) run(work, number);
}

static void own_first(void *given) {
    Work *work = given;
    int number = !pthread_equal(pthread_self(), work->caller);
    for (int turn = 0; turn < 2; turn++, number = 1 - number)
        if (!__atomic_exchange_n(&work->taken[number], 1, __ATOMIC_RELAXED)) run(work, number);
}

typedef struct {
    Body *body;
    Work *work;
} Start;

static void *started(void *given) {
    Start *start = given;
    start->body(start->work);
    return NULL;
}

static int share(Body *body, Work *work, int64_t threads) {
    enum { MOST = 256 };
    threads = threads < work->tasks ? threads : work->tasks;
    if (threads <= 1) {
        body(work);
    } else if (openmp) {
        openmp(body, work, (unsigned)threads, 0);
    } else {
        pthread_t others[MOST];
        Start start = {body, work};
        int64_t count = 0;
        while (count < threads - 1 && count < MOST && !pthread_create(&others[count], NULL, started, &start)) count++;
        body(work);
        while (count) pthread_join(others[--count], NULL);
    }
    return work->failed;
}

int share_tasks(int (*task)(void *data, int64_t number), void *data, int64_t tasks, int64_t threads) {
    Work work = {.task = task, .data = data, .tasks = tasks};
    return share(one_after_another, &work, threads);
}

int share_two(int (*task)(void *data, int64_t number), void *data, int64_t threads) {
    Work work = {.task = task, .data = data, .tasks = 2, .caller = pthread_self()};
    return share(own_first, &work, threads);
}
