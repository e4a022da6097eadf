/* A model at work in a page: from the UTF-16 of a text to mentions, one step after the other, each called from src/engine.js.
 *
 * It calls the kernels that Python calls, on one thread, and does beside them what NumPy does there. One model a module. Memory that a
 * step returns is kept until it is taken again; functions return -1 where there is none.
 */
#define VARIANT web
#include "encode.c"
#include "unicode.h" /* written by build.py */

#define EXPORT(name) __attribute__((export_name(#name)))

int64_t sentences_of(const uint32_t *text, int64_t size, const uint8_t *table, int64_t known, int64_t *spans);
int64_t first_part(const uint32_t *text, const uint8_t *table, int64_t known, const int64_t *tokens, int64_t count);
int64_t tokens_of(int64_t kind, const uint32_t *given, int64_t size, int64_t origin, const int64_t *sentences, int64_t count, const uint8_t *table,
                  int64_t known, int64_t *counts, int64_t *spans);
int64_t words_index(const uint8_t *words, uint32_t *starts, uint64_t *table, int64_t slots, uint64_t seed, int64_t size);
int64_t words_look_up(const uint8_t *words, const uint32_t *starts, const uint64_t *word_table, int64_t word_slots, uint64_t seed, const uint8_t *tokens,
                      int64_t size, const uint8_t *keys, int64_t keys_size, const uint8_t *fallback, int64_t fallback_size, int64_t count,
                      const int32_t *ids, int64_t known, int64_t *found, int64_t *characters);
int64_t best_float(const Batch *batch, const Scores *in, float *leads, int32_t *mentions, int64_t space);
int64_t chains_float(const Batch *batch, const Scores *in, float *log_z, const Scores *expected);

typedef struct { /* as in menus.h */
    float *gap_items, *part_items, *more, *events, *alone, *goes_on;
} MenuArrays;

int64_t menus_float(const Batch *batch, const Scores *in, int64_t best, const MenuArrays *to);

/* -- one thread ---------------------------------------------------------------------------------------------------------- */

int share_tasks(int (*task)(void *data, int64_t number), void *data, int64_t tasks, int64_t threads) {
    int failed = 0;
    (void)threads;
    for (int64_t number = 0; number < tasks; number++) failed |= task(data, number);
    return failed;
}

int share_with(Parallel *openmp, int (*task)(void *data, int64_t number), void *data, int64_t tasks, int64_t threads) {
    (void)openmp;
    return share_tasks(task, data, tasks, threads);
}

int share_two(int (*task)(void *data, int64_t number), void *data, int64_t threads) { return share_tasks(task, data, 2, threads); }

/* -- memory -------------------------------------------------------------------------------------------------------------- */

typedef struct { /* what one step takes, given back when it is called again */
    void *taken[64];
    int count, failed;
} Step;

static void begin(Step *step) {
    while (step->count) free(step->taken[--step->count]);
    step->failed = 0;
}

static void *take(Step *step, int64_t count, size_t size) {
    const int64_t most = INT32_MAX - 4096;
    void *found = count < most / (int64_t)size ? aligned_alloc(64, ((size_t)count * size + 64) / 64 * 64) : NULL;
    if (!found) step->failed = 1;
    else step->taken[step->count++] = found;
    return found;
}

EXPORT(allocate) void *allocate(int32_t size) { return aligned_alloc(64, ((size_t)size + 64) / 64 * 64); }
EXPORT(release) void release(void *memory) { free(memory); }

/* -- the model ----------------------------------------------------------------------------------------------------------- */

/* What src/model.js fills in, field by field in this order, each of 32 bits. Weights are packed as in encode.py. */
typedef struct {
    int32_t tokenizer, lowercase;
    int32_t layers, input_values, hidden, span_hidden, types, tied, interactions, start_columns, part_columns, max_width;
    const void *const *inputs, *const *recurrent;
    const float *const *bias;
    const void *start, *forward, *backward;
    const float *start_bias, *part_bias;
    const uint8_t *words; /* the bytes of words.txt */
    int32_t words_size, words_count;
    const int32_t *character_ids;
    int32_t characters_known;
    int32_t word_values, trained_rows;
    const int8_t *trained_bytes, *fixed_bytes; /* or floats; scales by row */
    const float *trained, *fixed, *trained_scale, *fixed_scale;
    int32_t tag_values;
    const float *tag; /* of an unknown tag */
    int32_t filters, characters; /* CNN: of each width */
    const float *filter_tables[3], *filter_biases[3];
    int32_t units, spelled; /* LSTM: units of a direction, padded and without padding */
    const float *spelling_tables[2];
    const void *spelling_weights[2];
    float scale, mention_bias;
    const float *factors, *biases; /* by type; NULL: without calibration */
    int32_t parts, gap, later;     /* of mentions with gaps; parts is 1 where there are none */
    float gap_bias;
} Loaded;

static Loaded loaded;
static Model model;
static uint32_t *word_starts;
static uint64_t *word_table, seed;
static int64_t word_slots;

EXPORT(model_fields) Loaded *model_fields(void) { return &loaded; }

/* Takes the model over. Returns 0, or the number of a word that is there twice. */
EXPORT(open_model) int32_t open_model(uint32_t random) {
    const Loaded *l = &loaded;
    model = (Model){l->layers, l->input_values, l->hidden, l->span_hidden, l->types, l->tied, l->interactions, l->start_columns, l->part_columns,
                    l->inputs, l->recurrent, l->bias, l->start, {l->forward, l->backward}, l->start_bias, l->part_bias};
    for (word_slots = 8; word_slots < 4 * (int64_t)l->words_count;) word_slots *= 2;
    word_starts = malloc(((size_t)l->words_count + 1) * sizeof *word_starts);
    word_table = calloc((size_t)word_slots, sizeof *word_table);
    seed = random * 0x9e3779b97f4a7c15u;
    if (!word_starts || !word_table) return -1;
    return (int32_t)words_index(l->words, word_starts, word_table, word_slots, seed, l->words_size);
}

/* -- sentences and tokens ------------------------------------------------------------------------------------------------ */

static struct {
    int32_t sentences, tokens;
    const int32_t *firsts;         /* (sentences + 1,): the first token of each */
    const int32_t *points, *units; /* (tokens, 2): where each token starts and ends, in code points and in UTF-16 */
} cut;
static Step cutting;
static uint8_t classes[CODE_POINTS], kinds[CODE_POINTS]; /* as tokens.c and sentences.c read them */

EXPORT(cut_result) const void *cut_result(void) { return &cut; }

static void expand(void) {
    uint32_t at = 0;
    for (size_t run = 0; run < sizeof unicode_runs / sizeof *unicode_runs; run++) {
        const uint8_t *bits = unicode_bits[unicode_runs[run] & 255];
        for (; at < unicode_runs[run] >> 8; at++) classes[at] = bits[0], kinds[at] = bits[1];
    }
}

static int is_pair(const uint16_t *units, int32_t i, int32_t size) {
    return units[i] >= 0xD800 && units[i] < 0xDC00 && i + 1 < size && units[i + 1] >= 0xDC00 && units[i + 1] < 0xE000;
}

static uint32_t point_at(const uint16_t *units, int32_t *i, int32_t size) { /* and moves on */
    const uint32_t high = units[(*i)++];
    if (!is_pair(units, *i - 1, size)) return high;
    return 0x10000 + ((high - 0xD800) << 10) + (units[(*i)++] - 0xDC00u);
}

enum { MOST_ITEMS = 512, MOST_PARTS = 3 }; /* of mentions with gaps; model.js refuses more */

enum { AT_ONCE_CUT = 20000 };

/* Cuts a text into sentences and tokens: cut_result(). Returns 0. */
EXPORT(cut_text) int32_t cut_text(const uint16_t *units, int32_t size) {
    if (!classes['a']) expand();
    begin(&cutting);
    uint32_t *text = take(&cutting, size + 1, sizeof *text);
    int32_t *unit_at = take(&cutting, size + 1, sizeof *unit_at);
    int64_t *spans = take(&cutting, size + 1, 2 * sizeof *spans);
    if (cutting.failed) return -1;
    int64_t points = 0;
    for (int32_t i = 0; i < size; points++) unit_at[points] = i, text[points] = point_at(units, &i, size);
    unit_at[points] = size;
    const int64_t count = sentences_of(text, points, kinds, CODE_POINTS, spans);
    if (count < 0) return -1;
    int32_t *tokens = take(&cutting, points + 1, 2 * sizeof *tokens), *in_units = take(&cutting, points + 1, 2 * sizeof *in_units);
    int32_t *firsts = take(&cutting, points + 2, sizeof *firsts);
    int64_t *found = NULL, *counts = take(&cutting, count + 1, sizeof *counts);
    if (cutting.failed) return -1;
    cut.sentences = cut.tokens = 0;
    for (int64_t first = 0, last; first < count; first = last) {
        const int64_t from = spans[2 * first];
        for (last = first; last < count && (last == first || spans[2 * last - 1] - from < AT_ONCE_CUT);) last++;
        const int64_t room = spans[2 * last - 1] - from;
        free(found);
        found = malloc((size_t)room * 2 * sizeof *found);
        if (!found) return -1;
        if (tokens_of(loaded.tokenizer, text + from, room, from, spans + 2 * first, last - first, classes, CODE_POINTS, counts, found) < 0) return free(found), -1;
        const int64_t *token = found;
        for (int64_t sentence = 0; sentence < last - first; sentence++) {
            for (int64_t left = counts[sentence], part; left > 0; left -= part) {
                part = first_part(text, kinds, CODE_POINTS, token, left);
                firsts[cut.sentences++] = cut.tokens;
                for (int64_t i = 0; i < part; i++, token += 2, cut.tokens++) {
                    for (int side = 0; side < 2; side++) {
                        tokens[2 * cut.tokens + side] = (int32_t)token[side];
                        in_units[2 * cut.tokens + side] = unit_at[token[side]];
                    }
                }
            }
        }
    }
    free(found);
    firsts[cut.sentences] = cut.tokens;
    cut.firsts = firsts, cut.points = tokens, cut.units = in_units;
    return 0;
}

/* -- tokens to what they add to the first layer ---------------------------------------------------------------------------- */

static Step looking;
static int32_t *kind_of;  /* (tokens of a window,): their place among the distinct ones */
static float *gate_table; /* (distinct tokens, gates) */

/* Lines as UTF-8, where a lone surrogate takes three bytes; `escape`: as words.txt writes words. */
static int64_t to_utf8(const uint16_t *units, int32_t size, int escape, uint8_t *to) {
    static const char digits[] = "0123456789abcdef";
    uint8_t *const first = to;
    for (int32_t i = 0; i < size;) {
        const uint32_t c = point_at(units, &i, size);
        if (escape && (c == '\\' || c == '\r' || (c >= 0xD800 && c < 0xE000))) {
            *to++ = '\\';
            if (c < 0x80) {
                *to++ = c == '\r' ? 'r' : '\\';
                continue;
            }
            *to++ = 'u';
            for (int shift = 12; shift >= 0; shift -= 4) *to++ = (uint8_t)digits[c >> shift & 15];
        } else if (c < 0x80) {
            *to++ = (uint8_t)c;
        } else if (c < 0x800) {
            *to++ = (uint8_t)(0xC0 | c >> 6), *to++ = (uint8_t)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            *to++ = (uint8_t)(0xE0 | c >> 12), *to++ = (uint8_t)(0x80 | (c >> 6 & 63)), *to++ = (uint8_t)(0x80 | (c & 63));
        } else {
            *to++ = (uint8_t)(0xF0 | c >> 18), *to++ = (uint8_t)(0x80 | (c >> 12 & 63)), *to++ = (uint8_t)(0x80 | (c >> 6 & 63));
            *to++ = (uint8_t)(0x80 | (c & 63));
        }
    }
    return to - first;
}

static void word_vector(int64_t id, float *to) {
    const Loaded *l = &loaded;
    const int64_t width = l->word_values;
    const int is_trained = id < l->trained_rows;
    const int64_t row = is_trained ? id : id - l->trained_rows;
    const int8_t *bytes = is_trained ? l->trained_bytes : l->fixed_bytes;
    const float *floats = is_trained ? l->trained : l->fixed, *scales = is_trained ? l->trained_scale : l->fixed_scale;
    for (int64_t i = 0; i < width; i++) to[i] = bytes ? (float)bytes[row * width + i] * scales[row] : floats[row * width + i];
}

/* Vectors from characters by filters, into column `column` of rows of `stride`. */
static void filter_all(int64_t count, const int64_t *counts, const int64_t *characters, float *to, int64_t stride) {
    int64_t *first = take(&looking, count + 1, sizeof *first), sum = 0;
    for (int64_t i = 0; i < count; i++) sum += counts[i];
    int32_t *ids = take(&looking, sum + 1, sizeof *ids);
    if (looking.failed) return;
    for (int64_t i = 0; i < sum; i++) ids[i] = (int32_t)characters[i];
    first[0] = 0;
    for (int64_t i = 0; i < count; i++) first[i + 1] = first[i] + counts[i];
    for (int which = 0; which < 3; which++)
        filter_float32_web(count, first, ids, which + 2, loaded.characters, loaded.filter_tables[which], loaded.filter_biases[which], loaded.filters,
                           stride, to + which * loaded.filters);
}

/* The same by an LSTM, which wants the longest first. */
static void spell_all(int64_t count, const int64_t *counts, const int64_t *characters, float *to, int64_t stride) {
    int64_t places[64] = {0}, longest = 0;
    for (int64_t i = 0; i < count; i++) longest = counts[i] > longest ? counts[i] : longest, places[62 - counts[i]]++; /* at most 48 */
    for (int64_t i = 0, sum = 0; i < 64; i++) sum += places[i], places[i] = sum - places[i];
    int64_t *lengths = take(&looking, count + 1, sizeof *lengths), *rank = take(&looking, count + 1, sizeof *rank);
    int32_t *steps = take(&looking, count * longest + 1, sizeof *steps);
    float *states = take(&looking, count * loaded.units + 1, sizeof *states);
    if (looking.failed) return;
    for (int64_t i = 0; i < count; i++) rank[i] = places[62 - counts[i]]++, lengths[rank[i]] = counts[i];
    for (int way = 0; way < 2; way++) {
        const int64_t *word = characters;
        for (int64_t i = 0; i < count; word += counts[i++])
            for (int64_t step = 0; step < longest; step++)
                steps[step * count + rank[i]] = step < counts[i] ? (int32_t)word[way ? counts[i] - 1 - step : step] : 0;
        if (spell_float32_web(count, longest, lengths, steps, loaded.spelling_tables[way], loaded.spelling_weights[way], loaded.units, states))
            looking.failed = 1;
        if (looking.failed) return;
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * stride + way * loaded.spelled, states + rank[i] * loaded.units, (size_t)loaded.spelled * sizeof *states);
    }
}

/* Reads the tokens of a window, a line each, and the same in lower case. Returns how many distinct ones there are. */
EXPORT(read_tokens) int32_t read_tokens(const uint16_t *lines, int32_t size, const uint16_t *lower, int32_t lower_size, int32_t count) {
    const Loaded *l = &loaded;
    const int64_t gates = 8 * l->hidden, width = l->input_values;
    begin(&looking);
    uint8_t *tokens = take(&looking, size + 1, 3), *keys = take(&looking, size + 1, 6), *other = take(&looking, lower_size + 1, 6);
    int64_t *found = take(&looking, 4 * (int64_t)count + size + 1, sizeof *found);
    kind_of = take(&looking, count, sizeof *kind_of);
    if (looking.failed) return -1;
    const int64_t bytes = to_utf8(lines, size, 0, tokens), key_bytes = to_utf8(lines, size, 1, keys), other_bytes = to_utf8(lower, lower_size, 1, other);
    const int64_t distinct = words_look_up(l->words, word_starts, word_table, word_slots, seed, tokens, bytes, l->lowercase ? other : keys,
                                           l->lowercase ? other_bytes : key_bytes, l->lowercase ? NULL : other, other_bytes, count, l->character_ids,
                                           l->characters_known, found, found + 4 * (int64_t)count);
    if (distinct < 0) return -1;
    const int64_t *ids = found + 2 * (int64_t)count, *counts = ids + count, *characters = counts + count;
    float *vectors = take(&looking, distinct * width, sizeof *vectors);
    gate_table = take(&looking, distinct * gates, sizeof *gate_table);
    if (looking.failed) return -1;
    for (int32_t i = 0; i < count; i++) kind_of[i] = (int32_t)found[i];
    for (int64_t i = 0; i < distinct; i++) {
        word_vector(ids[i], vectors + i * width);
        memcpy(vectors + i * width + l->word_values, l->tag, (size_t)l->tag_values * sizeof *vectors);
    }
    float *spelled = vectors + l->word_values + l->tag_values;
    if (l->filters) filter_all(distinct, counts, characters, spelled, width);
    if (l->units) spell_all(distinct, counts, characters, spelled, width);
    if (looking.failed || gate_rows_float32_web(&model, distinct, vectors, gate_table, 1)) return -1;
    return (int32_t)distinct;
}

/* -- a batch of sentences -------------------------------------------------------------------------------------------------- */

static struct {
    int32_t n, c, m, gaps, later;
    const float *absent, *present, *extend, *branch, *close; /* scores, calibrated; `branch` is NULL if tied */
    const float *sums, *best; /* of first parts in place of `close`: over all choices, and the best of them */
    const float *more, *last, *gap_items, *part_items; /* the best choices, as in MenuArrays; NULL without gaps */
    const int32_t *rows;                                     /* of mentions: sentence, type, and start and end of each part, then -1 */
    const float *probabilities;
} computed;
static Step computing, picking;
static int32_t *best_rows; /* sentence, start, end, type: of mentions, or of first parts where others may follow */
static int64_t best_count;
static Batch batch;
static Scores scores, expected;
static MenuArrays best_menus, menus; /* the best choices before calibration, and sums over all after it */

EXPORT(batch_result) const void *batch_result(void) { return &computed; }

/* Memory for the scores of starts and spans and, if wanted, of gaps and later parts. */
static Scores score_arrays(int with_gaps) {
    const int64_t starts = batch.batch * batch.n * batch.m, wide = starts * batch.c, c = batch.c;
    Scores made = {0};
    made.absent = take(&computing, starts, sizeof(float)), made.present = take(&computing, starts, sizeof(float));
    made.extend = take(&computing, starts * (c - 1) + 1, sizeof(float)), made.close = take(&computing, wide, sizeof(float));
    if (!model.tied) made.branch = take(&computing, starts * (c - 1) + 1, sizeof(float));
    if (!with_gaps) return made;
    made.open = take(&computing, wide, sizeof(float)), made.gap = take(&computing, starts * batch.gaps + 1, sizeof(float));
    made.last = take(&computing, starts * batch.later + 1, sizeof(float));
    return made;
}

static int64_t weigh_menus(int best, MenuArrays *made) {
    const int64_t starts = batch.batch * batch.n * batch.m, wide = starts * batch.c, stages = loaded.parts - 1;
    *made = (MenuArrays){.gap_items = take(&computing, stages * starts * batch.gaps + 1, sizeof(float)),
                         .part_items = take(&computing, (stages - 1) * starts * 2 * batch.later + 1, sizeof(float)),
                         .more = take(&computing, wide, sizeof(float)),
                         .events = take(&computing, wide, sizeof(float))};
    if (!best) made->alone = take(&computing, wide, sizeof(float)), made->goes_on = take(&computing, wide, sizeof(float));
    return computing.failed || menus_float(&batch, &scores, best, made) ? -1 : 0;
}

/* What is decoded of chains: the scores, or those with the weights of events in place of `close`. */
static Scores first_parts(const MenuArrays *of) {
    Scores first = scores;
    if (loaded.parts > 1) first.close = of->events;
    return first;
}

static int64_t find_best(float *leads) {
    const Scores first = first_parts(&best_menus);
    for (int64_t space = batch.batch * batch.n + 1;; space = best_count + 1) {
        best_rows = take(&computing, space, 4 * sizeof *best_rows);
        if (computing.failed) return -1;
        best_count = best_float(&batch, &first, leads, best_rows, space);
        if (best_count <= space) break;
    }
    return best_count >= 0 ? 0 : best_count == -2 ? -1 : -2;
}

/* Whether the best choice after a first part has it as a mention (0), and whether others follow it (1). */
static int is_chosen(const int32_t *row, int which) {
    const int64_t e = ((row[0] * batch.n + row[1]) * batch.c + row[2] - row[1] - 1) * batch.m + row[3];
    const float alone = ((const float *)scores.close)[e], more = best_menus.more[e];
    return which ? more > 0 || (alone <= 0 && alone < more) : alone > 0 || (more <= 0 && alone >= more);
}

/* How much more the best choice of a chain scores than no mention if the first part of a row is a mention alone. */
static float lead_alone(const int32_t *row) {
    const int64_t at = row[0] * batch.n + row[1], m = batch.m, c = batch.c, k = row[3], widths = widths_at(&batch, at);
    float run = 0, best = -INFINITY;
    for (int64_t w = 0; w < widths; w++) {
        const int64_t e = (at * c + w) * m + k;
        const float shut = w == row[2] - row[1] - 1 ? ((const float *)scores.close)[e] : best_menus.events[e];
        best = shut + run > best ? shut + run : best;
        if (w + 1 < widths) run += ((const float *)scores.extend)[(at * (c - 1) + w) * m + k] + (shut > 0 ? shut : 0);
    }
    return best + ((const float *)scores.present)[at * m + k] - ((const float *)scores.absent)[at * m + k];
}

static int32_t *found_rows; /* of mentions() */
static int64_t found_count, found_room;

static void go_on(int64_t sentence, int64_t kind, int32_t *parts, int count, double probability, int best, float least);

/* Where `open` scores the second of three parts of a mention that was found; -1 if it has two. */
static int64_t middle_of(int64_t i) {
    const int32_t *row = found_rows + i * (2 + 2 * loaded.parts);
    return row[6] < 0 ? -1 : ((row[0] * batch.n + row[4]) * batch.c + row[5] - row[4] - 1) * batch.m + row[1];
}

/* The biases of gap_biases in calibration.py on `open`; `leads` become what is left for those on `present`. */
static void bias_gaps(float *leads) {
    float *open = (float *)scores.open, bias = loaded.gap_bias;
    const int64_t m = batch.m, wide = batch.batch * batch.n * batch.c * m;
    float *values = take(&computing, best_count + 1, sizeof *values);
    if (computing.failed) return;
    for (int64_t i = 0; i < best_count; i++) {
        const int32_t *row = best_rows + 4 * i;
        const int64_t chain = (row[0] * batch.n + row[1]) * m + row[3];
        int64_t followed = 0; /* rows of a chain are near: they are sorted by start */
        for (int64_t j = i; j >= 0 && best_rows[4 * j] == row[0] && best_rows[4 * j + 1] == row[1]; j--)
            followed += best_rows[4 * j + 3] == row[3] && is_chosen(best_rows + 4 * j, 1);
        for (int64_t j = i + 1; j < best_count && best_rows[4 * j] == row[0] && best_rows[4 * j + 1] == row[1]; j++)
            followed += best_rows[4 * j + 3] == row[3] && is_chosen(best_rows + 4 * j, 1);
        if (!is_chosen(row, 1)) continue;
        const float alone = lead_alone(row), kept = -0.9f * (leads[chain] - (alone > 0 ? alone : 0)) / (float)followed;
        values[i] = kept > bias ? kept : bias;
    }
    begin(&picking);
    found_count = found_room = 0;
    for (int64_t i = 0; loaded.parts > 2 && i < best_count; i++) {
        const int32_t *row = best_rows + 4 * i;
        int32_t parts[2 * MOST_PARTS] = {row[1], row[2]};
        if (is_chosen(row, 1)) go_on(row[0], row[3], parts, 1, 1, 1, 0);
    }
    float *before = take(&computing, found_count + 1, sizeof *before); /* of later parts that others follow, which get no bias */
    if (computing.failed || picking.failed) return;
    for (int64_t i = 0; i < found_count; i++) before[i] = middle_of(i) < 0 ? 0 : open[middle_of(i)];
    for (int64_t e = 0; e < wide; e++) open[e] += bias;
    for (int64_t i = 0; i < best_count; i++) {
        const int32_t *row = best_rows + 4 * i;
        if (!is_chosen(row, 1)) continue;
        const int64_t at = row[0] * batch.n + row[1];
        open[(at * batch.c + row[2] - row[1] - 1) * m + row[3]] += values[i] - bias;
        leads[at * m + row[3]] += values[i];
    }
    for (int64_t i = 0; i < found_count; i++)
        if (middle_of(i) >= 0) open[middle_of(i)] = before[i];
}

/* What Adjustment and TypeCalibration do to scores that are divided already. */
static int64_t calibrate(void) {
    const int64_t m = batch.m, starts = batch.batch * batch.n;
    float *absent = (float *)scores.absent, *present = (float *)scores.present, *leads = NULL;
    for (int64_t at = 0; at < starts; at++) {
        for (int64_t k = at * m; k < (at + 1) * m; k++) {
            const float factor = loaded.factors ? loaded.factors[k - at * m] : 1;
            absent[k] *= factor, present[k] = (present[k] + loaded.mention_bias) * factor;
        }
    }
    if (loaded.parts > 1 && weigh_menus(1, &best_menus)) return -1;
    if (loaded.biases) leads = take(&computing, starts * m, sizeof *leads);
    const int64_t failed = computing.failed ? -1 : find_best(leads);
    if (failed || !loaded.biases) return failed;
    if (loaded.parts > 1 && loaded.gap_bias != 0) bias_gaps(leads);
    for (int64_t at = 0; at < starts; at++) {
        if (!widths_at(&batch, at)) continue;
        for (int64_t k = 0; k < m; k++) {
            const float kept = -0.9f * leads[at * m + k], bias = loaded.biases[k]; /* KEPT of calibration.py */
            present[at * m + k] += leads[at * m + k] > 0 && bias < kept ? kept : bias;
        }
    }
    return computing.failed ? -1 : 0;
}

/* -inf for later parts that would reach beyond their sentence. */
static void close_ends(void) {
    float *last = (float *)scores.last;
    for (int64_t start = 0; start < batch.batch * batch.n; start++) {
        const int64_t left = batch.lengths[start / batch.n] - start % batch.n;
        for (int64_t e = (left > 0 ? left : 0) * batch.m; e < batch.later * batch.m; e++) last[start * batch.later * batch.m + e] = -INFINITY;
    }
}

/* The scores and probabilities of some sentences, longest first: the first token of each in the window, and its length. Returns 0; -2 where the
 * model gives no number. */
EXPORT(compute) int32_t compute(int32_t count, const int32_t *sentences, float skip) {
    begin(&computing);
    const int64_t n = sentences[1], m = model.types, c = loaded.max_width && loaded.max_width < n ? loaded.max_width : n;
    enum { BLOCK = 24 };
    const int64_t blocks = (count + BLOCK - 1) / BLOCK, gaps = smaller(loaded.gap, c - BESIDE);
    int64_t *lengths = take(&computing, count, sizeof *lengths), *place = take(&computing, count, sizeof *place), words = 0;
    int64_t *blocks_from = take(&computing, blocks + 1, sizeof *blocks_from);
    int32_t *tokens = take(&computing, count * n, sizeof *tokens);
    float *log_z = take(&computing, count * n * m, sizeof *log_z);
    batch = (Batch){.lengths = lengths, .batch = count, .n = n, .c = c, .m = m, .parts = loaded.parts, .threads = 1};
    if (loaded.parts > 1) batch.gaps = gaps > 0 ? gaps : 0, batch.later = smaller(loaded.later, c);
    scores = score_arrays(loaded.parts > 1), expected = score_arrays(0);
    if (computing.failed) return -1;
    for (int64_t i = 0; i < count; i++) lengths[i] = sentences[2 * i + 1], place[i] = i;
    for (int64_t i = 0; i <= blocks; i++) blocks_from[i] = smaller(i * BLOCK, count);
    for (int64_t at = 0; at < n; at++)
        for (int64_t i = 0; i < count && lengths[i] > at; i++) tokens[words++] = kind_of[sentences[2 * i] + at];
    const Words given = {blocks, place, blocks_from, NULL, gate_table, tokens, loaded.scale, skip};
    if (encode_float32_web(&model, &batch, &given, &scores)) return -1;
    if (loaded.parts > 1) close_ends();
    const int64_t failed = calibrate();
    if (failed) return (int32_t)failed;
    if (loaded.parts > 1 && weigh_menus(0, &menus)) return -1;
    const Scores first = first_parts(&menus);
    if (chains_float(&batch, &first, log_z, &expected)) return -1;
    computed.n = (int32_t)n, computed.c = (int32_t)c, computed.m = (int32_t)m;
    computed.gaps = (int32_t)batch.gaps, computed.later = (int32_t)batch.later;
    computed.absent = scores.absent, computed.present = scores.present, computed.extend = scores.extend;
    computed.branch = scores.branch, computed.close = scores.close, computed.last = scores.last;
    computed.sums = computed.best = first.close;
    return 0;
}

/* What the k best sets are found from, beside scores: the best choices of menus, after calibration. */
EXPORT(rank_menus) int32_t rank_menus(void) {
    MenuArrays ranked;
    if (loaded.parts < 2) return 0;
    if (weigh_menus(1, &ranked)) return -1;
    computed.best = ranked.events, computed.more = ranked.more, computed.gap_items = ranked.gap_items, computed.part_items = ranked.part_items;
    return 0;
}

/* -- mentions -------------------------------------------------------------------------------------------------------------- */

/* The probability of a first part; start: sentence * n + place, e: width * m + type. */
static float first_probability(int64_t start, int64_t e) {
    const int64_t row = batch.c * batch.m, steps = row - batch.m;
    const float found = ((const float *)expected.close)[start * row + e];
    return expected.branch && e < steps ? found + ((const float *)expected.branch)[start * steps + e] : found;
}

static float probability_at(int64_t start, int64_t e) {
    const float found = first_probability(start, e);
    return loaded.parts > 1 ? found * menus.alone[start * batch.c * batch.m + e] : found;
}

static int is_likely(float found, float least) { return found >= least && found > 0; }

static float *found_probabilities;

static void add(int64_t sentence, int64_t kind, const int32_t *parts, int count, double probability) {
    const int64_t stride = 2 + 2 * loaded.parts;
    if (found_count == found_room) {
        const int64_t room = 2 * found_room + 256;
        int32_t *rows = take(&picking, room * stride, sizeof *rows);
        float *probabilities = take(&picking, room, sizeof *probabilities);
        if (picking.failed) return;
        if (found_count) memcpy(rows, found_rows, (size_t)(found_count * stride) * sizeof *rows);
        if (found_count) memcpy(probabilities, found_probabilities, (size_t)found_count * sizeof *probabilities);
        found_rows = rows, found_probabilities = probabilities, found_room = room;
    }
    int32_t *row = found_rows + found_count * stride;
    row[0] = (int32_t)sentence, row[1] = (int32_t)kind;
    for (int i = 0; i < 2 * loaded.parts; i++) row[2 + i] = i < 2 * count ? parts[i] : -1;
    found_probabilities[found_count++] = probability > 1 ? 1 : (float)probability;
}

/* What each item of a menu is: 1 or 0 in the best choice, or how probable it is among choices of one or more items. */
static void choose_items(const float *items, int64_t count, int best, double *to) {
    double every = 0, some = -INFINITY, before = 0;
    int64_t heaviest = 0;
    for (int64_t i = 0; i < count; i++) {
        const double item = items[i * batch.m], maybe = item > 0 ? item + log1p(exp(-item)) : log1p(exp(item));
        if (items[i * batch.m] > items[heaviest * batch.m]) heaviest = i;
        const double last = item + before, high = last > some ? last : some; /* of all choices whose last item this is */
        some = high == -INFINITY ? high : high + log(exp(last - high) + exp(some - high));
        before += maybe, to[i] = item - maybe;
    }
    every = before;
    for (int64_t i = 0; i < count; i++) {
        const float item = items[i * batch.m];
        const double each = to[i] + every - some;
        to[i] = best ? item > 0 || (i == heaviest && !(items[heaviest * batch.m] > 0)) : item == -INFINITY ? 0 : exp(each < 0 ? each : 0);
    }
}


/* Adds the mentions that go on from `count` parts: those of the best choices, or those with at least a probability. */
static void go_on(int64_t sentence, int64_t kind, int32_t *parts, int count, double probability, int best, float least) {
    const int64_t n = batch.n, m = batch.m, stage = loaded.parts - count - 1, after = parts[2 * count - 1], later = batch.later;
    const MenuArrays *from = best ? &best_menus : &menus;
    double gaps[MOST_ITEMS], items[MOST_ITEMS];
    if (after >= n) return;
    choose_items(from->gap_items + ((stage * batch.batch + sentence) * n + after) * batch.gaps * m + kind, batch.gaps, best, gaps);
    for (int64_t gap = 0; gap < batch.gaps; gap++) {
        const double begins = probability * gaps[gap];
        const int64_t start = after + gap + 1, wide = stage ? 2 * later : later;
        if (!(begins >= least && begins > 0) || start >= n) continue;
        const float *menu = stage ? from->part_items + (((stage - 1) * batch.batch + sentence) * n + start) * wide * m
                                  : (const float *)scores.last + (sentence * n + start) * wide * m;
        choose_items(menu + kind, wide, best, items);
        for (int64_t item = 0; item < wide; item++) {
            const double found = begins * items[item];
            if (!(found >= least && found > 0)) continue;
            parts[2 * count] = (int32_t)start, parts[2 * count + 1] = (int32_t)(start + item % later + 1);
            if (item >= later) go_on(sentence, kind, parts, count + 1, found, best, least);
            else add(sentence, kind, parts, count + 1, found);
        }
    }
}

/* The probability of a mention of several parts. */
static double chance_of(int64_t sentence, int64_t kind, const int32_t *parts) {
    const int64_t n = batch.n, m = batch.m, start = sentence * n + parts[0], e = (parts[1] - parts[0] - 1) * m + kind;
    double found = (double)first_probability(start, e) * menus.goes_on[start * batch.c * m + e], items[MOST_ITEMS];
    for (int part = 1; part < loaded.parts && parts[2 * part] >= 0; part++) {
        const int64_t stage = loaded.parts - part - 1, after = parts[2 * part - 1], here = parts[2 * part], later = batch.later, wide = stage ? 2 * later : later;
        const int is_last = part + 1 == loaded.parts || parts[2 * part + 2] < 0;
        choose_items(menus.gap_items + ((stage * batch.batch + sentence) * n + after) * batch.gaps * m + kind, batch.gaps, 0, items);
        found *= items[here - after - 1];
        const float *menu = stage ? menus.part_items + (((stage - 1) * batch.batch + sentence) * n + here) * wide * m
                                  : (const float *)scores.last + (sentence * n + here) * wide * m;
        choose_items(menu + kind, wide, 0, items);
        found *= items[parts[2 * part + 1] - here - 1 + (is_last ? 0 : later)];
    }
    return found;
}

static void add_best(const float *least) {
    const int64_t stride = 2 + 2 * loaded.parts;
    for (int64_t i = 0; i < best_count; i++) {
        const int32_t *row = best_rows + 4 * i;
        int32_t parts[2 * MOST_PARTS] = {row[1], row[2]};
        if (least[row[3]] > 1) continue;
        const double alone = probability_at(row[0] * batch.n + row[1], (row[2] - row[1] - 1) * batch.m + row[3]);
        if (loaded.parts < 2 || is_chosen(row, 0)) add(row[0], row[3], parts, 1, alone);
        const int64_t before = found_count;
        if (loaded.parts > 1 && is_chosen(row, 1)) go_on(row[0], row[3], parts, 1, 1, 1, 0);
        for (int64_t j = before; j < found_count; j++) {
            const double found = chance_of(row[0], row[3], found_rows + j * stride + 2);
            found_probabilities[j] = found > 1 ? 1 : (float)found;
        }
    }
}

static void add_likely(const float *least) {
    const int64_t m = batch.m, n = batch.n;
    for (int64_t start = 0; start < batch.batch * n; start++) {
        for (int64_t e = 0; e < widths_at(&batch, start) * m; e++) {
            int32_t parts[2 * MOST_PARTS] = {(int32_t)(start % n), (int32_t)(start % n + e / m) + 1};
            const float found = probability_at(start, e);
            if (is_likely(found, least[e % m])) add(start / n, e % m, parts, 1, found);
            if (loaded.parts < 2) continue;
            const float longer = first_probability(start, e) * menus.goes_on[start * batch.c * m + e];
            if (is_likely(longer, least[e % m])) go_on(start / n, e % m, parts, 1, longer, 0, least[e % m]);
        }
    }
}

/* Mentions of the batch: those of the best sets, or all with at least the probability of their type. Types with more than 1 are left out. Returns
 * how many there are. */
EXPORT(mentions) int32_t mentions(int32_t best, const float *least) {
    begin(&picking);
    found_count = found_room = 0;
    if (best) add_best(least);
    else add_likely(least);
    computed.rows = found_rows, computed.probabilities = found_probabilities;
    return picking.failed ? -1 : (int32_t)found_count;
}
