/* Functions in the versions that every glibc of today has, whatever glibc a library is linked against: so it runs with older ones.
 * Each file names those of the functions that it calls of which glibc has several versions. */
#include <stdlib.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define IN_EVERY_GLIBC(function) __asm__(".symver " #function ", " #function "@GLIBC_2.2.5")
#elif defined(__GLIBC__) && defined(__aarch64__)
#define IN_EVERY_GLIBC(function) __asm__(".symver " #function ", " #function "@GLIBC_2.17")
#else
#define IN_EVERY_GLIBC(function) _Static_assert(1, "")
#endif
