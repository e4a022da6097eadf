/* Vectors of words from their characters. Included once, for 32 bits. */

/* One direction of an LSTM: the state after the last character of each spelling.
 * `lengths` (count,) are those of the spellings, longest first; `ids` (longest, count) the character that each reads at a step;
 * `table` (characters, panels, 4, LANES) what a character adds to the gates. 0, or 1 if memory ran out. */
int NAME(spell)(int64_t count, int64_t longest, const int64_t *lengths, const int32_t *ids, const float *table,
                const weights *recurrent, int64_t units, float *result) {
    const size_t size = (size_t)(count * units) * sizeof(float);
    float *memory = aligned_alloc(64, 3 * (size + 64) / 64 * 64 + 64);
    if (!memory) return 1;
    float *cells = memory, *states[2] = {memory + count * units, memory + 2 * count * units};
    for (int64_t step = 0, going = count; step < longest; step++) {
        while (going && lengths[going - 1] <= step) going--;
        float *after = states[step % 2], *before = step ? states[1 - step % 2] : NULL;
        NAME(step)(going, before, units, units, recurrent, units, table, ids + step * count, cells, after, units);
        for (int64_t row = going - 1; row >= 0 && lengths[row] == step + 1; row--)
            memcpy(result + row * units, after + row * units, (size_t)units * sizeof(float));
    }
    free(memory);
    return 0;
}

/* Filters of one width: the strongest answer of each along every spelling, at least 0.
 * `first` (count + 1,) is where each spelling begins in `ids`; `table` (width, characters, filters) what a character adds to
 * the answers, by its place under the filters; row s of `result` begins at s * stride. */
void NAME(filter)(int64_t count, const int64_t *first, const int32_t *ids, int64_t width, int64_t characters,
                  const float *table, const float *bias, int64_t filters, int64_t stride, float *result) {
    enum { AT_ONCE = 64 };
    for (int64_t s = 0; s < count; s++) {
        const int32_t *word = ids + first[s];
        const int64_t length = first[s + 1] - first[s];
        for (int64_t from = 0; from < filters; from += AT_ONCE) {
            const int64_t here = smaller(AT_ONCE, filters - from);
            float *best = result + s * stride + from, sums[AT_ONCE];
            for (int64_t f = 0; f < here; f++) best[f] = 0;
            for (int64_t end = 0; end < length + width - 1; end++) { /* where the last place under the filters is */
                memcpy(sums, bias + from, (size_t)here * sizeof(float));
                for (int64_t place = 0; place < width; place++) {
                    const int64_t at = end + place - (width - 1);
                    if (at < 0 || at >= length) continue;
                    const float *row = table + (place * characters + word[at]) * filters + from;
                    for (int64_t f = 0; f < here; f++) sums[f] += row[f];
                }
                for (int64_t f = 0; f < here; f++) best[f] = sums[f] > best[f] ? sums[f] : best[f];
            }
        }
    }
}
