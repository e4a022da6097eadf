/* Exponentials and logarithms that compilers make vector instructions of. Included once for each type of number, called
 * `real`, or without one for the first part alone. */
#ifndef NAME
#include <math.h>
#include <string.h>

#include "abi.h"
IN_EVERY_GLIBC(exp);
IN_EVERY_GLIBC(log);

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_CPU
#endif
#define INLINE static inline __attribute__((always_inline))

/* exp(x) for x <= 0 (and a little above, as rounding may have it) to about one unit in the last place; 0 below the smallest normal number, NaN for NaN. */
INLINE float exp_float(float x) {
    float bounded = x >= -87.0f ? x : -87.0f; /* NaN too, whose conversion to a whole number is not defined */
    bounded = bounded <= 88.0f ? bounded : 88.0f;
    float whole = rintf(bounded * 1.44269504f);
    float rest = bounded - whole * 0.693359375f + whole * 2.12194440e-4f; /* |rest| <= ln(2) / 2 */
    float series = 1.9875691500e-4f;
    series = series * rest + 1.3981999507e-3f;
    series = series * rest + 8.3334519073e-3f;
    series = series * rest + 4.1665795894e-2f;
    series = series * rest + 1.6666665459e-1f;
    series = series * rest + 5.0000001201e-1f;
    series = series * rest * rest + rest + 1.0f;
    union { int32_t bits; float value; } power = {((int32_t)whole + 127) * 8388608};
    return x < -87.0f ? 0.0f : x != x ? x : series * power.value;
}

/* log(1 + y) for 0 <= y <= 1, as 2 atanh(y / (2 + y)). */
INLINE float log1p_float(float y) {
    float s = y / (2.0f + y), square = s * s;
    float series = 1.0f / 13;
    series = series * square + 1.0f / 11;
    series = series * square + 1.0f / 9;
    series = series * square + 1.0f / 7;
    series = series * square + 1.0f / 5;
    series = series * square + 1.0f / 3;
    return 2.0f * (series * square * s + s);
}

/* log(x) for x = 0 and normal numbers: the exponent, and the mantissa from 1 to 2. */
INLINE float log_float(float x) {
    union { float value; int32_t bits; } whole = {x}, mantissa;
    mantissa.bits = (whole.bits & 0x007fffff) | 0x3f800000;
    float logarithm = (float)((whole.bits >> 23) - 127) * 0.69314718f + log1p_float(mantissa.value - 1.0f);
    return x == 0 ? -INFINITY : x != x ? x : logarithm;
}
INLINE double exp_double(double x) { return exp(x); }
INLINE double log1p_double(double y) { return log1p(y); }
INLINE double log_double(double x) { return log(x); }

#define JOIN(a, b) a##_##b
#define JOIN_EXPANDED(a, b) JOIN(a, b)
#define NAME(function) JOIN_EXPANDED(function, real)
#endif

#ifdef real
/* log(exp(a) + exp(b)), and the share of b in that sum. */
INLINE real NAME(either)(real a, real b, real *share) {
    real odds = b - a, high = odds > 0 ? b : a;
    real ratio = NAME(exp)(odds > 0 ? -odds : odds), part = 1 / (1 + ratio);
    *share = odds > 0 ? part : ratio * part;
    return high + NAME(log1p)(ratio);
}

/* Fills `size` entries with repetitions of the first m. */
INLINE void NAME(repeat)(real *entries, int64_t m, int64_t size) {
    for (int64_t done = m; 0 < done && done < size; done *= 2)
        memcpy(entries + done, entries, (size_t)(done * 2 <= size ? done : size - done) * sizeof(real));
}
#endif
