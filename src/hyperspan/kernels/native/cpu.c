/* What build.py made the library from, so that it need not be made again. */
const char *kernels_fingerprint(void) { return FINGERPRINT; }

/* Which of the compiled variants this processor can run; compiled for every processor. */
int runs_v4(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return 0;
#endif
}

int runs_v4bf16(void) {
#if defined(__x86_64__)
    return runs_v4() && __builtin_cpu_supports("avx512bf16");
#else
    return 0;
#endif
}

int runs_v3(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}

int runs_base(void) { return 1; }
