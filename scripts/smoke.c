/* Calls the compiled kernels on a small problem and prints the results: those of two processors must be the same.
 *
 * All weights of a matrix are the same number, so that it makes no difference in what order a processor has them. */
#define VARIANT unused
#include "../src/hyperspan/kernels/native/encode.c"

#include <stdio.h>

int encode_float32_base(const Model *model, const Batch *batch, const Words *words, const Scores *out);
int64_t chains_float(const Batch *batch, const Scores *in, float *log_z, const Scores *expected);

enum { UNITS = 16, SENTENCES = 40, LENGTH = 11, WIDTH = 4, TYPES = 3, COLUMNS = 16, WORDS = SENTENCES * LENGTH };

static float *filled(int64_t count, float value) {
    float *made = floats(count);
    for (int64_t i = 0; i < count; i++) made[i] = value;
    return made;
}

int main(void) {
    const float *deep = filled(4 * UNITS * 2 * UNITS, 0.03f), *bias = filled(4 * UNITS, -0.2f), *columns = filled(2 * UNITS * COLUMNS, 0.4f);
    const void *matrices[] = {deep, deep, deep, deep};
    const float *biases[] = {bias, bias, bias, bias};
    Model model = {.layers = 1, .input_values = UNITS, .hidden = UNITS, .span_hidden = UNITS, .types = TYPES, .tied = 1, .interactions = 1,
                   .start_columns = COLUMNS, .part_columns = COLUMNS, .inputs = matrices, .recurrent = matrices, .bias = biases,
                   .start = columns, .from_spans = {columns, columns}, .start_bias = bias, .part_bias = bias};
    float *words = filled(WORDS * UNITS, 0);
    for (int64_t i = 0; i < WORDS * UNITS; i++) words[i] = (float)(i * 7919 % 101) / 50 - 1;
    int64_t lengths[SENTENCES], place[SENTENCES], blocks[] = {0, 17, SENTENCES};
    for (int64_t s = 0; s < SENTENCES; s++) lengths[s] = LENGTH - s / 8, place[s] = s;
    const Words given = {.blocks = 2, .place = place, .blocks_from = blocks, .vectors = words, .scale = 1, .skip = 1e9f};
    const float *absent = filled(WORDS * TYPES, 0), *close = filled(WORDS * WIDTH * TYPES, 0);
    const Scores scores = {.absent = absent, .present = filled(WORDS * TYPES, 0), .extend = filled(WORDS * WIDTH * TYPES, 0), .close = close};
    const Scores unwanted = {.absent = NULL};
    float *log_partition = filled(WORDS * TYPES, 0), sum = 0;
    for (int round = 0; round < 50; round++) {
        const Batch batch = {.lengths = lengths, .batch = SENTENCES, .n = LENGTH, .c = WIDTH, .m = TYPES, .threads = 1 + round % 3};
        if (encode_float32_base(&model, &batch, &given, &scores) || chains_float(&batch, &scores, log_partition, &unwanted)) return 1;
    }
    for (int64_t i = 0; i < WORDS * TYPES; i++) sum += log_partition[i];
    printf("%.4f %.4f %.4f %.3f\n", absent[0], close[7], log_partition[TYPES * LENGTH * 20], sum);
    return 0;
}
