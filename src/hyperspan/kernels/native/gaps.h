/* What mentions with gaps need beside the scores of chains: parts that others follow, last parts, and gaps. Included by blocks.h.
 *
 * A gap's hidden layer is tanh of what its words, its width and the two words beside it add; all of that comes multiplied with
 * -2 log2(e) and with the biases in the widths (encoder_arrays.py), so that tanh = (1 - p) / (1 + p) with a power p of 2.
 * Only gaps inside a sentence with a word on either side are computed: no mention has others.
 */

/* What words beside gaps add to the hidden layer: of each word as the one before a gap, and as the one after. */
static void NAME(read_beside)(NAME(Block) *block) {
    const Model *model = block->model;
    const int64_t columns = 2 * model->gap_hidden;
    if (columns)
        NAME(project)(block->words, block->outputs[model->layers % 2], block->output_stride, block->output_stride,
                      model->beside, columns, columns, block->identity, block->beside);
}

/* The scores of the gaps that begin at a word; `part` are the outputs of its spans. */
static void NAME(write_gaps)(NAME(Block) *block, int64_t word, int64_t count, const float *part, float *gap) {
    const Model *model = block->model;
    const int64_t units = model->gap_hidden, columns = model->gap_columns, at = block->at[word], rank = block->rank[word];
    const float *before = block->beside + 2 * units * (block->first[at - 1] + rank);
    for (int64_t d = 0; d < count; d++) {
        const float *after = block->beside + 2 * units * (block->first[at + d + 1] + rank) + units;
        const float *inside = part + d * model->part_columns + model->gap_first, *width = model->gap_widths + d * units;
        for (int64_t unit = 0; unit < units; unit += LANES) {
            vec sum = *(const vec *)(before + unit) + *(const vec *)(after + unit) + *(const vec *)(inside + unit);
            vec power = power_of_2(sum + *(const vec *)(width + unit));
            STORE(block->gap_states + (d * units + unit) / PER_ELEMENT, (1.0f - power) / (1.0f + power));
        }
    }
    NAME(project)(count, block->gap_states, units / PER_ELEMENT, units / PER_ELEMENT, model->gaps, columns, columns,
                  block->identity, block->gap_sums);
    for (int64_t d = 0; d < count; d++)
        for (int64_t k = 0; k < model->types; k++)
            gap[d * model->types + k] = (block->gap_sums[d * columns + k] + model->gap_bias[k]) * block->problem->scale;
}

/* `open`, `last` and `gap` of the spans that start at a word, and 0 in padding; `wide` of them are known, `part` are their outputs. */
static void NAME(write_parts)(NAME(Block) *block, int64_t row, int64_t word, int64_t wide, const float *part) {
    const Model *model = block->model;
    const Problem *p = block->problem;
    const int64_t m = model->types, columns = model->part_columns, lasts = smaller(wide, p->later_width);
    const float scale = p->scale, *bias = model->part_bias;
    float *open = p->open + row * p->width * m, *last = p->last + row * p->later_width * m;
    float *gap = p->gap + row * p->gap_width * m;
    int64_t gaps = 0;
    if (wide && block->at[word])
        gaps = smaller(smaller(wide, p->gap_width), block->lengths[block->rank[word]] - block->at[word] - 1);
    memset(open + wide * m, 0, (size_t)((p->width - wide) * m) * sizeof(float));
    memset(last + lasts * m, 0, (size_t)((p->later_width - lasts) * m) * sizeof(float));
    memset(gap + gaps * m, 0, (size_t)((p->gap_width - gaps) * m) * sizeof(float));
    for (int64_t w = 0; w < wide; w++)
        for (int64_t k = 0; k < m; k++) open[w * m + k] = (part[w * columns + 3 * m + k] + bias[3 * m + k]) * scale;
    for (int64_t w = 0; w < lasts; w++)
        for (int64_t k = 0; k < m; k++) last[w * m + k] = (part[w * columns + 4 * m + k] + bias[4 * m + k]) * scale;
    if (gaps > 0) NAME(write_gaps)(block, word, gaps, part, gap);
}
