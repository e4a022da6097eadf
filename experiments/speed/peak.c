/* Fused multiply-adds in the widest vectors, as many as a core can start: the limit of any product of matrices. */
#include <stdint.h>

#if defined(__AVX512F__)
enum { BYTES = 64 };
#elif defined(__AVX__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif
enum { CHAINS = 12 }; /* more than a core has under way: two or so a cycle, each of which takes four; and few enough for 16 registers */

typedef float vector __attribute__((vector_size(BYTES)));

int64_t operations_a_turn(void) { return 2 * CHAINS * BYTES / (int64_t)sizeof(float); }

float multiply_add(int64_t turns, float factor, float term) {
    vector sums[CHAINS], total = {0};
#pragma GCC unroll 12
    for (int k = 0; k < CHAINS; k++) sums[k] = (float)k + (vector){0};
    for (int64_t turn = 0; turn < turns; turn++) {
#pragma GCC unroll 12
        for (int k = 0; k < CHAINS; k++) sums[k] = sums[k] * factor + term;
    }
#pragma GCC unroll 12
    for (int k = 0; k < CHAINS; k++) total += sums[k];
    return total[0];
}
