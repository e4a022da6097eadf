/* Vectors of floats as wide as the processor has them, and the cell of an LSTM on them.
 *
 * Gates come multiplied with -log2(e), that of the new content with -2 log2(e) (encode.py scales the weights), so
 * that a power of 2 is all that sigmoid and tanh still need: sigmoid = 1 / (1 + p), tanh = (1 - p) / (1 + p). Fractions are
 * put on one denominator, because a division takes as long as ten products.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#define INLINE static inline __attribute__((always_inline))
/* MOST_ROWS * 4 sums stay in the registers, beside what they are made of. */
#if defined(__AVX512F__)
#define LANES 16
#define MOST_ROWS 6
#elif defined(__AVX__)
#define LANES 8
#define MOST_ROWS 3
#elif defined(__aarch64__)
#define LANES 4
#define MOST_ROWS 6
#elif defined(__wasm__)
#define LANES 4
#define MOST_ROWS 2 /* engines keep some registers for themselves: 3 take a third longer */
#else
#define LANES 4
#define MOST_ROWS 3
#endif

typedef float vec __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t ivec __attribute__((vector_size(4 * LANES), may_alias));

INLINE vec all(float value) {
#if defined(__AVX512F__)
    return (vec)_mm512_set1_ps(value);
#elif defined(__AVX__)
    return (vec)_mm256_set1_ps(value);
#else
    return (vec){value, value, value, value};
#endif
}

/* Compilers would read a vector again wherever it is used, and processors cannot read so wide ones that fast. */
#if defined(__AVX512F__)
#define IN_REGISTER(vector) __asm__("" : "+v"(vector))
#else
#define IN_REGISTER(vector) (void)(vector)
#endif

/* x, but no larger and no smaller than the limit; NaN stays NaN. */
INLINE vec clamp(vec x, float limit) {
#if defined(__AVX512F__)
    return (vec)_mm512_max_ps((__m512)all(-limit), _mm512_min_ps((__m512)all(limit), (__m512)x));
#elif defined(__AVX__)
    return (vec)_mm256_max_ps((__m256)all(-limit), _mm256_min_ps((__m256)all(limit), (__m256)x));
#elif defined(__SSE2__)
    return (vec)_mm_max_ps((__m128)all(-limit), _mm_min_ps((__m128)all(limit), (__m128)x));
#elif defined(__wasm_simd128__)
    return (vec)wasm_f32x4_pmax(wasm_f32x4_pmin((v128_t)x, (v128_t)all(limit)), (v128_t)all(-limit));
#else
    for (int lane = 0; lane < LANES; lane++) x[lane] = x[lane] > limit ? limit : x[lane] < -limit ? -limit : x[lane];
    return x;
#endif
}

/* 2^x to about 2e-7 of it. Beyond 2^40 and 2^-40 it makes no difference to a gate, and three such can be multiplied. */
INLINE vec power_of_2(vec x) {
    const float to_whole = 12582912.0f; /* 1.5 * 2^23: adding it leaves the nearest whole number in the last bits */
    x = clamp(x, 40.0f);
    vec shifted = x + to_whole, rest = x - (shifted - to_whole);
    vec series = all(1.53533611e-4f); /* Taylor's, in ln(2): |rest| <= 1/2 */
    series = series * rest + 1.33335581e-3f;
    series = series * rest + 9.61812911e-3f;
    series = series * rest + 5.55041087e-2f;
    series = series * rest + 2.40226507e-1f;
    series = series * rest + 6.93147181e-1f;
    series = series * rest + 1.0f;
    return (vec)((ivec)series + ((ivec)shifted << 23));
}

/* The state after a step, from the sums of the gates (in, forget, new, out) and the cell, which it updates. */
INLINE vec lstm_cell(const vec gates[4], vec *cell) {
    vec into = power_of_2(gates[0]) + 1.0f, forget = power_of_2(gates[1]) + 1.0f, fresh = power_of_2(gates[2]);
    vec written = into * (fresh + 1.0f);
    vec after = (*cell * written + (1.0f - fresh) * forget) / (written * forget);
    vec out = power_of_2(gates[3]) + 1.0f, squashed = power_of_2(after * -2.88539008f);
    *cell = after;
    return (1.0f - squashed) / (out * (squashed + 1.0f));
}

/* The first step: there is no cell yet, so nothing to forget. */
INLINE vec first_lstm_cell(const vec gates[4], vec *cell) {
    vec into = power_of_2(gates[0]) + 1.0f, fresh = power_of_2(gates[2]);
    vec after = (1.0f - fresh) / (into * (fresh + 1.0f));
    vec out = power_of_2(gates[3]) + 1.0f, squashed = power_of_2(after * -2.88539008f);
    *cell = after;
    return (1.0f - squashed) / (out * (squashed + 1.0f));
}
