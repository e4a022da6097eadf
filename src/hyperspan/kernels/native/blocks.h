/* The encoder for blocks of sentences. Included once for each kind of number.
 *
 * The words of a block stand position by position: all first words, longest sentence first, then all second words, and so on.
 * The chains of a direction (starts for the forward span LSTM, ends for the backward one) stand by how many widths they have
 * room for, so that those that go on to the next width are always the first. Scores of spans stand start by start, so that
 * a chain of the structure is in one piece.
 */

typedef struct {
    const Model *model;
    const Problem *problem;
    int64_t sentences, longest, words, spans, input_stride, output_stride;
    const int64_t *lengths;
    int32_t *first;   /* (longest + 1,): the first word of each position */
    int32_t *rank;    /* (words,): the sentence of each word */
    int32_t *at;      /* (words,): its position */
    int32_t *spans_from; /* (words,): the first span of those that start at a word */
    int32_t *identity;   /* (words,): 0, 1, 2, … */
    int32_t *token;      /* (words,): the row of the table that a word reads forward; the one after it is for backward */
    int32_t *opens;      /* (words,): whether a mention may start at a word, or is not looked for */
    int32_t *room[2];    /* (words,): how many spans are wanted that start (forward) or end (backward) at a word */
    element *outputs[2]; /* what a layer reads and writes */
    float *gates[2], *cells[2], *parts[2], *start;
    element *states[2][2]; /* by direction; states of one width and of the one before it */
    int32_t *chain[2], *read[2], *to[2], *count[2];
    void *memory;
} NAME(Block);

/* Where the next `count` things of `size` bytes are to stand; with `memory` NULL it only counts bytes. */
static void *NAME(take)(char *memory, size_t *used, int64_t count, size_t size) {
    size_t at = *used;
    *used += ((size_t)count * size + 63) / 64 * 64;
    return memory ? memory + at : NULL;
}

static int NAME(open)(NAME(Block) *block, const Problem *problem, int64_t index, int two) {
    const Model *model = problem->model;
    const int64_t from = problem->words->blocks_from[index], to = problem->words->blocks_from[index + 1];
    *block = (NAME(Block)){.model = model, .problem = problem, .sentences = to - from, .lengths = problem->batch->lengths + from};
    block->longest = block->sentences ? block->lengths[0] : 0;
    for (int64_t s = 0; s < block->sentences; s++) {
        int64_t length = block->lengths[s], width = smaller(problem->batch->c, length);
        block->words += length;
        block->spans += width * length - width * (width - 1) / 2;
    }
    const int64_t words = block->words, units = model->hidden > model->span_hidden ? model->hidden : model->span_hidden;
    block->input_stride = rounded_up(model->input_values, LANES) / PER_ELEMENT;
    block->output_stride = 2 * model->hidden / PER_ELEMENT;
    const int64_t widest = block->input_stride > block->output_stride ? block->input_stride : block->output_stride;
    char *memory = NULL;
    size_t used = 0;
    for (int placed = 0; placed < 2; placed++) {
        used = 0;
        block->first = NAME(take)(memory, &used, block->longest + 1, sizeof(int32_t));
        block->rank = NAME(take)(memory, &used, words, sizeof(int32_t));
        block->at = NAME(take)(memory, &used, words, sizeof(int32_t));
        block->spans_from = NAME(take)(memory, &used, words, sizeof(int32_t));
        block->identity = NAME(take)(memory, &used, words, sizeof(int32_t));
        block->token = NAME(take)(memory, &used, words, sizeof(int32_t));
        block->opens = NAME(take)(memory, &used, words, sizeof(int32_t));
        block->start = NAME(take)(memory, &used, words * model->start_columns, sizeof(float));
        for (int side = 0; side < 2; side++) {
            block->room[side] = NAME(take)(memory, &used, words, sizeof(int32_t));
            block->outputs[side] = NAME(take)(memory, &used, words * widest, sizeof(element));
            block->parts[side] = NAME(take)(memory, &used, block->spans * model->part_columns, sizeof(float));
            if (side && !two) { /* one direction after the other, in the same place */
                block->gates[1] = block->gates[0], block->cells[1] = block->cells[0], block->chain[1] = block->chain[0];
                block->read[1] = block->read[0], block->to[1] = block->to[0], block->count[1] = block->count[0];
                block->states[1][0] = block->states[0][0], block->states[1][1] = block->states[0][1];
                break;
            }
            block->gates[side] = NAME(take)(memory, &used, words * 4 * units, sizeof(float));
            block->cells[side] = NAME(take)(memory, &used, words * units, sizeof(float));
            for (int turn = 0; turn < 2; turn++)
                block->states[side][turn] = NAME(take)(memory, &used, words * units / PER_ELEMENT, sizeof(element));
            block->chain[side] = NAME(take)(memory, &used, words, sizeof(int32_t));
            block->read[side] = NAME(take)(memory, &used, words, sizeof(int32_t));
            block->to[side] = NAME(take)(memory, &used, words, sizeof(int32_t));
            block->count[side] = NAME(take)(memory, &used, problem->batch->c + 2, sizeof(int32_t));
        }
        if (!placed && !(memory = block->memory = aligned_alloc(64, used + 64 - used % 64))) return 1;
    }
    return 0;
}

/* Finds out where everything stands, and copies the vectors of the block's words. */
static void NAME(lay_out)(NAME(Block) *block) {
    const Problem *problem = block->problem;
    const int64_t before = block->lengths - problem->batch->lengths, values = block->model->input_values;
    int64_t word = 0, given = 0, everywhere = problem->batch->batch;
    for (int64_t at = 0, here = block->sentences; at < block->longest; at++) {
        while (here && block->lengths[here - 1] <= at) here--;
        while (everywhere && problem->batch->lengths[everywhere - 1] <= at) everywhere--;
        block->first[at] = (int32_t)word;
        for (int64_t rank = 0; rank < here; rank++, word++) {
            block->rank[word] = (int32_t)rank, block->at[word] = (int32_t)at, block->identity[word] = (int32_t)word;
            const int64_t from = given + before + rank;
            if (problem->words->vectors)
                CONVERT(block->outputs[0] + word * block->input_stride, problem->words->vectors + from * values, values);
            else
                block->token[word] = 2 * problem->words->tokens[from];
        }
        given += everywhere;
    }
    block->first[block->longest] = (int32_t)word;
    int64_t span = 0;
    for (int64_t rank = 0; rank < block->sentences; rank++) {
        for (int64_t at = 0; at < block->lengths[rank]; at++) {
            block->spans_from[block->first[at] + rank] = (int32_t)span;
            span += smaller(problem->batch->c, block->lengths[rank] - at);
        }
    }
}

/* One direction of a layer of the LSTM over words. */
static void NAME(read_words)(NAME(Block) *block, int64_t layer, int direction) {
    const Model *model = block->model;
    const int64_t units = model->hidden, lstm = 2 * layer + direction, stride = block->output_stride;
    const int64_t given = layer ? stride : block->input_stride;
    const int64_t depth = layer ? stride : rounded_up(model->input_values, PER_ELEMENT) / PER_ELEMENT;
    const int known = !layer && !block->problem->words->vectors; /* what words add to the gates */
    const float *gates = known ? block->problem->words->table + direction * 4 * units : block->gates[direction];
    const int32_t *read = known ? block->token : block->identity;
    float *cells = block->cells[direction];
    element *output = block->outputs[(layer + 1) % 2] + direction * units / PER_ELEMENT;
    if (!known)
        NAME(inputs)(block->words, block->outputs[layer % 2], given, depth, model->inputs[lstm], units, model->bias[lstm],
                     block->gates[direction]);
    for (int64_t step = 0; step < block->longest; step++) {
        const int64_t at = direction ? block->longest - 1 - step : step, last = direction ? at + 1 : at - 1;
        const int64_t here = block->first[at], count = block->first[at + 1] - here;
        int64_t going_on = 0; /* sentences that have a word before this one, as this direction reads */
        if (step) going_on = direction ? block->first[last + 1] - block->first[last] : count;
        if (going_on)
            NAME(step)(going_on, output + block->first[last] * stride, stride, units / PER_ELEMENT, model->recurrent[lstm],
                       units, gates, read + here, cells, output + here * stride, stride);
        NAME(step)(count - going_on, NULL, 0, units / PER_ELEMENT, model->recurrent[lstm], units, gates,
                   read + here + going_on, cells + going_on * units, output + (here + going_on) * stride, stride);
    }
}

/* The scores of starts; and how many spans are wanted from each start, and to each end: those of starts that are not skipped, and
 * those that may be gaps or later parts. */
static void NAME(score_starts)(NAME(Block) *block) {
    const Model *model = block->model;
    const int64_t m = model->types, columns = model->start_columns, width = block->problem->batch->c;
    const int64_t least = widest_later(block->problem->batch);
    NAME(project)(block->words, block->outputs[model->layers % 2], block->output_stride, block->output_stride, model->start,
                  columns, columns, block->identity, block->start);
    for (int64_t word = 0; word < block->words; word++) {
        float *start = block->start + word * columns;
        int opens = 0;
        for (int64_t k = 0; k < 2 * m; k++) start[k] += model->start_bias[k];
        for (int64_t k = 0; k < m; k++) opens |= !(start[k] - start[m + k] > block->problem->words->skip); /* NaN too */
        const int64_t spans = smaller(width, block->lengths[block->rank[word]] - block->at[word]);
        block->opens[word] = opens;
        block->room[0][word] = (int32_t)(opens ? spans : smaller(spans, least));
    }
    for (int64_t rank = 0; rank < block->sentences; rank++) {
        for (int64_t at = 0, left = 0; at < block->lengths[rank]; at++) { /* left: the first start of spans to here */
            while (left <= at && block->room[0][block->first[left] + rank] <= at - left) left++;
            block->room[1][block->first[at] + rank] = (int32_t)(at + 1 - left);
        }
    }
}

/* One direction of the LSTM over spans, and what its states add to the scores of spans. */
static void NAME(read_spans)(NAME(Block) *block, int direction) {
    const Model *model = block->model;
    const int64_t units = model->span_hidden, lstm = 2 * model->layers + direction, stride = units / PER_ELEMENT;
    const int64_t width = smaller(block->problem->batch->c, block->longest);
    /* Gaps and later parts are not as wide as first parts: wide spans have no outputs for them. */
    const int64_t later = widest_later(block->problem->batch);
    const int64_t wider = block->problem->open ? rounded_up(4 * model->types, LANES) : model->part_columns;
    const element *words = block->outputs[model->layers % 2];
    int32_t *chain = block->chain[direction], *read = block->read[direction], *to = block->to[direction];
    int32_t *count = block->count[direction], *room = block->room[direction];
    NAME(inputs)(block->words, words, block->output_stride, block->output_stride, model->inputs[lstm], units,
                 model->bias[lstm], block->gates[direction]);
    memset(count, 0, (size_t)(width + 2) * sizeof(int32_t));
    for (int64_t word = 0; word < block->words; word++) count[room[word]]++;
    for (int64_t wide = width - 1; wide >= 0; wide--) count[wide] += count[wide + 1]; /* chains with so much room or more */
    /* Filling moves each count to the place after it. */
    for (int64_t word = 0; word < block->words; word++) chain[count[room[word] + 1]++] = (int32_t)word;
    for (int64_t wide = 0; wide < width; wide++) {
        const int64_t chains = count[wide + 2];
        for (int64_t c = 0; c < chains; c++) {
            const int32_t word = chain[c], rank = block->rank[word], at = block->at[word];
            const int64_t other = direction ? at - wide : at + wide;
            read[c] = block->first[other] + rank;
            to[c] = (int32_t)(block->spans_from[direction ? read[c] : word] + wide);
        }
        element *after = block->states[direction][wide % 2], *before = wide ? block->states[direction][1 - wide % 2] : NULL;
        NAME(step)(chains, before, stride, stride, model->recurrent[lstm], units, block->gates[direction], read,
                   block->cells[direction], after, stride);
        NAME(project)(chains, after, stride, stride, model->from_spans[direction], wide < later ? model->part_columns : wider,
                      model->part_columns, to, block->parts[direction]);
    }
}

/* What mentions with gaps need beside the scores of chains: parts that others follow, last parts, and gaps. A gap is scored by the span
 * from the word before it to the word after it, so that the spans that start at a word have the scores of the gaps that begin at the next
 * one. */

/* Scores of the spans that start at a word, from `first` words on: column `from` of their outputs `part`, `count` of them; then 0. */
static void NAME(write_column)(NAME(Block) *block, const float *part, int64_t first, int64_t from, int64_t count, int64_t room,
                               float *target) {
    const int64_t m = block->model->types, columns = block->model->part_columns;
    const float *bias = block->model->part_bias;
    for (int64_t w = 0; w < count; w++)
        for (int64_t k = from * m; k < (from + 1) * m; k++)
            target[w * m + k - from * m] = (part[(w + first) * columns + k] + bias[k]) * block->problem->words->scale;
    memset(target + count * m, 0, (size_t)((room - count) * m) * sizeof(float));
}

/* `open` and `last` of the spans that start at a word, `gap` of the gaps that begin at the next one, and 0 in padding; `wide` spans
 * are known, `part` are their outputs. */
static void NAME(write_parts)(NAME(Block) *block, int64_t row, int64_t at, int64_t wide, const float *part) {
    const Problem *p = block->problem;
    const int64_t m = block->model->types, gaps = wide > BESIDE ? smaller(wide - BESIDE, p->batch->gaps) : 0;
    float *gap = p->gap + row * p->batch->gaps * m;
    NAME(write_column)(block, part, 0, 3, wide, p->batch->c, p->open + row * p->batch->c * m);
    NAME(write_column)(block, part, 0, 4, smaller(wide, p->batch->later), p->batch->later, p->last + row * p->batch->later * m);
    if (at == 0) memset(gap, 0, (size_t)(p->batch->gaps * m) * sizeof(float));
    if (at + 1 < p->batch->n) NAME(write_column)(block, part, BESIDE, 5, gaps, p->batch->gaps, gap + p->batch->gaps * m);
}

/* Writes the scores of a block where the structure wants them, and 0 in padding. */
static void NAME(write_scores)(NAME(Block) *block) {
    const Model *model = block->model;
    const Problem *p = block->problem;
    const int64_t m = model->types, columns = model->part_columns, width = p->batch->c;
    const int64_t closes = width * m, steps = closes - m;
    const float scale = p->words->scale, *bias = model->part_bias;
    for (int64_t rank = 0; rank < block->sentences; rank++) {
        const int64_t length = block->lengths[rank], begin = p->words->place[block->lengths - p->batch->lengths + rank] * p->batch->n;
        for (int64_t at = 0; at < p->batch->n; at++) {
            const int64_t row = begin + at, word = at < length ? block->first[at] + rank : 0;
            const int64_t wide = at < length ? block->room[0][word] : 0;
            float *absent = p->absent + row * m, *present = p->present + row * m, *close = p->close + row * closes;
            float *extend = p->extend + row * steps, *branch = p->branch ? p->branch + row * steps : NULL;
            const int64_t going = wide ? (wide - 1) * m : 0;
            memset(close + wide * m, 0, (size_t)(closes - wide * m) * sizeof(float));
            memset(extend + going, 0, (size_t)(steps - going) * sizeof(float));
            if (branch) memset(branch + going, 0, (size_t)(steps - going) * sizeof(float));
            const float *start = block->start + word * model->start_columns;
            for (int64_t k = 0; k < m; k++) { /* a start that is skipped opens no mention */
                absent[k] = at < length ? start[k] * scale : 0;
                present[k] = at < length ? block->opens[word] ? start[m + k] * scale : -INFINITY : 0;
            }
            if (!wide && p->open) NAME(write_parts)(block, row, at, 0, NULL);
            if (!wide) continue;
            float *part = block->parts[0] + block->spans_from[word] * columns;
            const float *other = block->parts[1] + block->spans_from[word] * columns;
            for (int64_t value = 0; value < wide * columns; value++) part[value] += other[value];
            if (p->open) NAME(write_parts)(block, row, at, wide, part);
            for (int64_t w = 0; w < wide; w++)
                for (int64_t k = 0; k < m; k++) close[w * m + k] = (part[w * columns + k] + bias[k]) * scale;
            for (int which = 0, first = 1; which < 2; which++) { /* leaving one span, arriving at the next */
                float *target = which ? branch : extend;
                if (!target) continue;
                if (!which && !model->interactions) {
                    memset(extend, 0, (size_t)going * sizeof(float));
                    continue;
                }
                const int64_t leave = first * m, arrive = leave + m;
                for (int64_t w = 0; w + 1 < wide; w++)
                    for (int64_t k = 0; k < m; k++)
                        target[w * m + k] = (part[w * columns + leave + k] + bias[leave + k] +
                                             part[(w + 1) * columns + arrive + k] + bias[arrive + k]) * scale;
                first += 2;
            }
        }
    }
}

typedef struct {
    NAME(Block) *block;
    int64_t layer;
} NAME(Layer);

/* One direction of a layer; the span LSTM is the last. */
static int NAME(read_direction)(void *given, int64_t direction) {
    const NAME(Layer) *layer = given;
    if (layer->layer < layer->block->model->layers)
        NAME(read_words)(layer->block, layer->layer, (int)direction);
    else
        NAME(read_spans)(layer->block, (int)direction);
    return 0;
}

/* The scores of one block, its two directions shared among two threads if asked; 0, or 1 if memory ran out. */
static int NAME(encode_block)(const Problem *problem, int64_t index, int two) {
    NAME(Block) block;
    if (NAME(open)(&block, problem, index, two)) return 1;
    NAME(lay_out)(&block);
    for (int64_t layer = 0; layer <= problem->model->layers; layer++) {
        if (layer == problem->model->layers) NAME(score_starts)(&block);
        NAME(Layer) both = {&block, layer};
        share_two(NAME(read_direction), &both, two ? 2 : 1);
    }
    NAME(write_scores)(&block);
    free(block.memory);
    return 0;
}

typedef struct {
    const Model *model;
    const float *vectors;
    float *table;
    int64_t count;
} NAME(Rows);

enum { NAME(ROWS_A_TASK) = 96 };

/* Some rows of a table; 0, or 1 if memory ran out. */
static int NAME(gate_some)(void *given, int64_t number) {
    const NAME(Rows) *rows = given;
    const Model *model = rows->model;
    const int64_t first = number * NAME(ROWS_A_TASK), values = model->input_values, gates = 4 * model->hidden;
    const int64_t count = smaller(NAME(ROWS_A_TASK), rows->count - first), stride = rounded_up(values, LANES) / PER_ELEMENT;
    const size_t inputs = (size_t)(count * stride) * sizeof(element), sums = (size_t)(count * gates) * sizeof(float);
    element *memory = aligned_alloc(64, (inputs + 63) / 64 * 64 + (sums + 63) / 64 * 64);
    if (!memory) return 1;
    float *result = (float *)((char *)memory + (inputs + 63) / 64 * 64);
    for (int64_t row = 0; row < count; row++) CONVERT(memory + row * stride, rows->vectors + (first + row) * values, values);
    for (int direction = 0; direction < 2; direction++) {
        NAME(inputs)(count, memory, stride, rounded_up(values, PER_ELEMENT) / PER_ELEMENT, model->inputs[direction],
                     model->hidden, model->bias[direction], result);
        for (int64_t row = 0; row < count; row++)
            memcpy(rows->table + (2 * (first + row) + direction) * gates, result + row * gates, (size_t)gates * sizeof(float));
    }
    free(memory);
    return 0;
}

/* What vectors (count, input_values) add to the gates of both directions of the first layer, bias included. */
int NAME(gate_rows)(const Model *model, int64_t count, const float *vectors, float *table, int64_t threads) {
    NAME(Rows) rows = {model, vectors, table, count};
    return share_tasks(NAME(gate_some), &rows, (count + NAME(ROWS_A_TASK) - 1) / NAME(ROWS_A_TASK), threads);
}

static int NAME(encode_one)(void *problem, int64_t index) { return NAME(encode_block)(problem, index, 0); }

/* All scores of a batch; 0, or 1 if memory ran out. */
int NAME(encode)(const Model *model, const Batch *batch, const Words *words, const Scores *out) {
    Problem problem = {model, batch, words, (float *)out->absent, (float *)out->present, (float *)out->extend, (float *)out->close,
                       (float *)out->branch, (float *)out->open, (float *)out->gap, (float *)out->last};
    int failed = 0;
    if (words->blocks >= batch->threads) return share_with(batch->openmp, NAME(encode_one), &problem, words->blocks, batch->threads);
    for (int64_t index = 0; index < words->blocks; index++) failed |= NAME(encode_block)(&problem, index, 1);
    return failed;
}
