/* One pool of threads for a process, started when it is first needed.
 *
 * A call offers its work to idle workers and begins with it at once. Work that no worker has taken when the caller has
 * finished is taken back, so that a call never waits for a thread that the system has not run yet. Calls from several threads
 * divide the workers: all together use no more threads than one of them may, or as many as there are callers.
 *
 * Whoever waits watches for a moment, because the next call often follows at once, and then sleeps.
 *
 * A forked process has none of the workers; it forgets them and starts its own. */
#include "abi.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

IN_EVERY_GLIBC(pthread_create);
IN_EVERY_GLIBC(pthread_sigmask);

enum { MOST_WORKERS = 255, WATCH_NANOSECONDS = 40000 };

typedef struct {
    int (*task)(void *data, int64_t number);
    void *data;
    int64_t tasks, next;
    int two, taken[2], failed;
} Work;

typedef struct Worker {
    _Alignas(128) Work *offer; /* what it may take; &taken once it has, NULL when it is done or nothing is offered */
    int sleeps, is_awaited;    /* the worker, or the caller that waits for it, is asleep and wants a signal */
    pthread_mutex_t lock;
    pthread_cond_t woken, done;
    struct Worker *next; /* of those that the same call has reserved */
    int started, reserved;
} Worker;

static Work taken; /* only its address counts */
static Worker workers[MOST_WORKERS];
static pthread_mutex_t reserving = PTHREAD_MUTEX_INITIALIZER; /* guards `started`, `reserved` and `active` */
static int64_t active;                                        /* callers, and workers that are reserved */

int abi_version(void) { return ABI_VERSION; }

static void forget(void) {
    memset(workers, 0, sizeof workers);
    active = 0;
    reserving = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static __attribute__((constructor)) void forget_after_fork(void) { pthread_atfork(NULL, NULL, forget); }

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static Work *offer_of(Worker *worker) { return __atomic_load_n(&worker->offer, __ATOMIC_SEQ_CST); }

/* Whether a worker has something to take (for itself), or has finished (for the caller). */
static int is_ready(Worker *worker, int for_caller) {
    Work *offer = offer_of(worker);
    return for_caller ? !offer : offer && offer != &taken;
}

static void wait_until_ready(Worker *worker, int for_caller) {
    for (int64_t until = now() + WATCH_NANOSECONDS; now() < until;) {
        for (int turn = 0; turn < 16; turn++, pause_briefly())
            if (is_ready(worker, for_caller)) return;
    }
    int *sleeps = for_caller ? &worker->is_awaited : &worker->sleeps;
    pthread_mutex_lock(&worker->lock);
    __atomic_store_n(sleeps, 1, __ATOMIC_SEQ_CST); /* whoever changes the offer after the next look sees this */
    while (!is_ready(worker, for_caller)) pthread_cond_wait(for_caller ? &worker->done : &worker->woken, &worker->lock);
    __atomic_store_n(sleeps, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&worker->lock);
}

static void set_offer(Worker *worker, Work *offer) {
    int *sleeps = offer ? &worker->sleeps : &worker->is_awaited;
    __atomic_store_n(&worker->offer, offer, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(sleeps, __ATOMIC_SEQ_CST)) return;
    pthread_mutex_lock(&worker->lock);
    pthread_cond_signal(offer ? &worker->woken : &worker->done);
    pthread_mutex_unlock(&worker->lock);
}

/* Takes the offer from a worker, for itself or back for the caller; 0 where the other one was quicker. */
static int take(Worker *worker, Work *offer, Work *instead) {
    return __atomic_compare_exchange_n(&worker->offer, &offer, instead, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void run(Work *work, int64_t number) {
    if (work->task(work->data, number)) __atomic_store_n(&work->failed, 1, __ATOMIC_RELAXED);
}

static void take_part(Work *work, int is_caller) {
    if (work->two) {
        for (int turn = 0, number = !is_caller; turn < 2; turn++, number = 1 - number)
            if (!__atomic_exchange_n(&work->taken[number], 1, __ATOMIC_RELAXED)) run(work, number);
        return;
    }
    for (int64_t number; (number = __atomic_fetch_add(&work->next, 1, __ATOMIC_RELAXED)) < work->tasks;) run(work, number);
}

static void *work_for_ever(void *given) {
    for (Worker *worker = given;;) {
        wait_until_ready(worker, 0);
        Work *work = offer_of(worker);
        if (!work || !take(worker, work, &taken)) continue; /* the caller has taken it back */
        take_part(work, 0);
        set_offer(worker, NULL);
    }
    return NULL;
}

/* Starts a thread that no signal disturbs; 0 where the system has none to give. */
static int start(Worker *worker) {
    sigset_t all, before;
    pthread_t thread;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->woken, NULL), pthread_cond_init(&worker->done, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker->started = !pthread_create(&thread, NULL, work_for_ever, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return worker->started;
}

/* Up to `wanted` idle workers: the first of the pool, whose caches may still know the caller's data. */
static Worker *reserve(int64_t wanted, int64_t threads) {
    Worker *first = NULL;
    pthread_mutex_lock(&reserving);
    active++;
    for (int i = 0; i < MOST_WORKERS && wanted > 0 && active < threads; i++) {
        Worker *worker = workers + i;
        if (worker->reserved) continue;
        if (!worker->started && !start(worker)) break;
        worker->reserved = 1, worker->next = first, first = worker;
        wanted--, active++;
    }
    pthread_mutex_unlock(&reserving);
    return first;
}

static void give_back(Worker *first) {
    pthread_mutex_lock(&reserving);
    active--;
    for (Worker *worker = first; worker; worker = worker->next) worker->reserved = 0, active--;
    pthread_mutex_unlock(&reserving);
}

static int share(Work *work, int64_t threads) {
    Worker *helpers = reserve(work->tasks - 1, threads);
    for (Worker *worker = helpers; worker; worker = worker->next) set_offer(worker, work);
    take_part(work, 1);
    for (Worker *worker = helpers; worker; worker = worker->next)
        if (!take(worker, work, NULL)) wait_until_ready(worker, 1);
    give_back(helpers);
    return work->failed;
}

int share_tasks(int (*task)(void *data, int64_t number), void *data, int64_t tasks, int64_t threads) {
    Work work = {.task = task, .data = data, .tasks = tasks};
    return share(&work, threads);
}

static void take_part_of(void *work) { take_part(work, 0); }

int share_with(Parallel *openmp, int (*task)(void *data, int64_t number), void *data, int64_t tasks, int64_t threads) {
    if (!openmp || tasks < 2 || threads < 2) return share_tasks(task, data, tasks, threads);
    Work work = {.task = task, .data = data, .tasks = tasks};
    openmp(take_part_of, &work, (unsigned)(threads < tasks ? threads : tasks), 0);
    return work.failed;
}

int share_two(int (*task)(void *data, int64_t number), void *data, int64_t threads) {
    Work work = {.task = task, .data = data, .tasks = 2, .two = 1};
    return share(&work, threads);
}
