/* What mentions with gaps need beside the scores of chains: parts that others follow, last parts, and gaps. Included by blocks.h.
 *
 * A gap is scored by the span from the word before it to the word after it, so that the spans that start at a word have the scores of
 * the gaps that begin at the next one.
 */

/* Scores of the spans that start at a word, from `first` words on: column `from` of their outputs `part`, `count` of them; then 0. */
static void NAME(write_column)(NAME(Block) *block, const float *part, int64_t first, int64_t from, int64_t count, int64_t room,
                               float *target) {
    const int64_t m = block->model->types, columns = block->model->part_columns;
    const float *bias = block->model->part_bias;
    for (int64_t w = 0; w < count; w++)
        for (int64_t k = from * m; k < (from + 1) * m; k++)
            target[w * m + k - from * m] = (part[(w + first) * columns + k] + bias[k]) * block->problem->scale;
    memset(target + count * m, 0, (size_t)((room - count) * m) * sizeof(float));
}

/* `open` and `last` of the spans that start at a word, `gap` of the gaps that begin at the next one, and 0 in padding; `wide` spans
 * are known, `part` are their outputs. */
static void NAME(write_parts)(NAME(Block) *block, int64_t row, int64_t at, int64_t wide, const float *part) {
    const Problem *p = block->problem;
    const int64_t m = block->model->types, gaps = wide > BESIDE ? smaller(wide - BESIDE, p->gap_width) : 0;
    float *gap = p->gap + row * p->gap_width * m;
    NAME(write_column)(block, part, 0, 3, wide, p->width, p->open + row * p->width * m);
    NAME(write_column)(block, part, 0, 4, smaller(wide, p->later_width), p->later_width, p->last + row * p->later_width * m);
    if (at == 0) memset(gap, 0, (size_t)(p->gap_width * m) * sizeof(float));
    if (at + 1 < p->longest) NAME(write_column)(block, part, BESIDE, 5, gaps, p->gap_width, gap + p->gap_width * m);
}
