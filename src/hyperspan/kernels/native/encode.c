/* From the vectors of words to the scores of hyperedges: the LSTM over words, the LSTM over spans, the projections.
 *
 * What is computed is what lstm.py and the segmental scorer say, which stand in where this is not compiled. Here it is
 * done for a block of sentences at a time and by one thread, so that threads wait for each other only at the end, and the
 * states of a block and the weights stay in the processor's caches.
 *
 * build.py compiles this file once for each kind of processor; VARIANT is its name.
 */
#include "abi.h"
#include "vectors.h"

typedef struct { /* sizes; those of LSTMs and columns are multiples of LANES */
    int64_t layers, input_values, hidden, span_hidden, types, tied, interactions, start_columns, part_columns;
    const void *const *inputs, *const *recurrent; /* of each layer and direction; the span LSTM is the last layer */
    const float *const *bias;
    const void *start, *from_spans[2];
    const float *start_bias, *part_bias;
} Model;

typedef struct { /* sentences stand longest first, words as in a packed sequence */
    int64_t blocks;
    const int64_t *place;       /* where the scores of each sentence are to stand */
    const int64_t *blocks_from; /* (blocks + 1,): the first sentence of each block */
    const float *vectors;       /* of words; or NULL, and instead: */
    const float *table;         /* (tokens, 2, gates): what tokens add to the gates of the first layer, as gate_rows made it */
    const int32_t *tokens;      /* the token of each word */
    float scale;
    float skip; /* starts where absent - present, before scaling, is above this for all types open no mention */
} Words;

typedef struct {
    const Model *model;
    const Batch *batch;
    const Words *words;
    float *absent, *present, *extend, *close, *branch, *open, *gap, *last; /* the scores that are wanted */
} Problem;

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

enum { BESIDE = 2 }; /* the words beside a gap, with which it is a span */

/* The most words of a span that is read for a gap or a later part; 0 without gaps. */
INLINE int64_t widest_later(const Batch *batch) {
    const int64_t gap = batch->gaps ? batch->gaps + BESIDE : 0;
    return gap > batch->later ? gap : batch->later;
}
INLINE int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

#define JOIN(a, b, c) a##_##b##_##c
#define JOIN_EXPANDED(a, b, c) JOIN(a, b, c)
#define NAME(function) JOIN_EXPANDED(function, KIND, VARIANT)

#define KIND float32
typedef float element_float32;
typedef vec weights_float32;
#define element element_float32
#define weights weights_float32
#define spread vec
#define PER_ELEMENT 1
#define SPREAD(one) all(one)
#define MULTIPLY_ADD(sum, a, b) ((sum) + (a) * (b))
#define STORE(to, value) (*(vec *)(to) = (value))
#define CONVERT(to, from, count) memcpy(to, from, (size_t)(count) * sizeof(float))
#include "products.h"
#include "blocks.h"
#include "training.h"
#include "spelling.h"

#if defined(__AVX512BF16__) && defined(__AVX512F__)
INLINE void to_bfloat16(uint32_t *to, const float *from, int64_t count) {
    uint16_t *halves = (uint16_t *)to;
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, from + i, sizeof bits);
        halves[i] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16); /* to the nearest, ties to even */
    }
    if (count % 2) halves[count] = 0;
}
#undef KIND
#undef element
#undef weights
#undef spread
#undef PER_ELEMENT
#undef SPREAD
#undef MULTIPLY_ADD
#undef STORE
#undef CONVERT
#define KIND bfloat16
#define element uint32_t
#define weights __m512i
#define spread __m512i
#define PER_ELEMENT 2
#define SPREAD(one) _mm512_set1_epi32((int)(one))
#define MULTIPLY_ADD(sum, a, b) ((vec)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(a), (__m512bh)(b)))
#define STORE(to, value) (*(__m256bh *)(to) = _mm512_cvtneps_pbh((__m512)(value)))
#define CONVERT(to, from, count) to_bfloat16(to, from, count)
#include "products.h"
#include "blocks.h"
#endif

int JOIN_EXPANDED(lanes, of, VARIANT)(void) { return LANES; }
