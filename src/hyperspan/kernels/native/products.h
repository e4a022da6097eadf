/* Matrix products whose results are used while they are in registers. Included once for each kind of number.
 *
 * An `element` is what one multiplication takes: a float, or two numbers of 16 bits that are multiplied with two others and
 * added up. Weights are packed by encode.py: for each panel of columns and each element of the depth, the vectors
 * of the columns.
 * An LSTM's panel is the four gates of LANES units, so that a unit's gates are in one place when they are summed up.
 */

/* The sums of a tile: rows of `a` times a panel of 4 vectors of columns. A function of its own for each number of rows,
 * and called, not inlined: all registers are then for the sums. */
#define TILE(rows)                                                                                                          \
    static __attribute__((noinline)) void NAME(tile##rows)(const element *a, int64_t stride, int64_t depth,                 \
                                                           const weights *b, vec(*result)[4]) {                             \
        vec sums[rows][4];                                                                                                  \
        _Pragma("GCC unroll 8") for (int row = 0; row < rows; row++)                                                        \
            _Pragma("GCC unroll 4") for (int gate = 0; gate < 4; gate++) sums[row][gate] = result[row][gate];               \
        for (int64_t k = 0; k < depth; k++, b += 4) {                                                                       \
            weights panel[4] = {b[0], b[1], b[2], b[3]};                                                                    \
            _Pragma("GCC unroll 4") for (int gate = 0; gate < 4; gate++) IN_REGISTER(panel[gate]);                          \
            _Pragma("GCC unroll 8") for (int row = 0; row < rows; row++) {                                                  \
                spread one = SPREAD(a[row * stride + k]);                                                                   \
                _Pragma("GCC unroll 4") for (int gate = 0; gate < 4; gate++)                                                \
                    sums[row][gate] = MULTIPLY_ADD(sums[row][gate], one, panel[gate]);                                      \
            }                                                                                                               \
        }                                                                                                                   \
        _Pragma("GCC unroll 8") for (int row = 0; row < rows; row++)                                                        \
            _Pragma("GCC unroll 4") for (int gate = 0; gate < 4; gate++) result[row][gate] = sums[row][gate];               \
    }
TILE(1)
TILE(2)
TILE(3)
#if MOST_ROWS > 3
TILE(4)
TILE(5)
TILE(6)
#endif
#undef TILE

INLINE void NAME(tile)(int64_t rows, const element *a, int64_t stride, int64_t depth, const weights *b, vec (*sums)[4]) {
    switch (rows) {
    case 1: NAME(tile1)(a, stride, depth, b, sums); break;
    case 2: NAME(tile2)(a, stride, depth, b, sums); break;
    case 3: NAME(tile3)(a, stride, depth, b, sums); break;
#if MOST_ROWS > 3
    case 4: NAME(tile4)(a, stride, depth, b, sums); break;
    case 5: NAME(tile5)(a, stride, depth, b, sums); break;
    default: NAME(tile6)(a, stride, depth, b, sums);
#endif
    }
}

/* One step of an LSTM for `count` rows; `before` is NULL at the first step. Row r takes what words add to its gates from row
 * read[r] of `gates`. */
static void NAME(step)(int64_t count, const element *before, int64_t stride, int64_t depth, const weights *recurrent,
                       int64_t units, const float *gates, const int32_t *read, float *cells, element *after,
                       int64_t after_stride) {
    vec sums[MOST_ROWS][4];
    for (int64_t unit = 0; unit < units; unit += LANES, recurrent += depth * 4) {
        for (int64_t row = 0; row < count; row += MOST_ROWS) {
            const int64_t rows = smaller(MOST_ROWS, count - row);
            for (int64_t r = 0; r < rows; r++)
                memcpy(sums[r], gates + (read[row + r] * units + unit) * 4, sizeof sums[r]);
            if (before) NAME(tile)(rows, before + row * stride, stride, depth, recurrent, sums);
            for (int64_t r = 0; r < rows; r++) {
                vec *cell = (vec *)(cells + (row + r) * units + unit);
                vec state = before ? lstm_cell(sums[r], cell) : first_lstm_cell(sums[r], cell);
                STORE(after + (row + r) * after_stride + unit / PER_ELEMENT, state);
            }
        }
    }
}

/* (count, depth) times weights of 4 * units columns, plus the bias: what words add to the gates. */
static void NAME(inputs)(int64_t count, const element *a, int64_t stride, int64_t depth, const weights *b, int64_t units,
                         const float *bias, float *gates) {
    vec sums[MOST_ROWS][4];
    for (int64_t unit = 0; unit < units; unit += LANES, b += depth * 4, bias += 4 * LANES) {
        for (int64_t row = 0; row < count; row += MOST_ROWS) {
            const int64_t rows = smaller(MOST_ROWS, count - row);
            for (int64_t r = 0; r < rows; r++) memcpy(sums[r], bias, sizeof sums[r]);
            NAME(tile)(rows, a + row * stride, stride, depth, b, sums);
            for (int64_t r = 0; r < rows; r++) memcpy(gates + ((row + r) * units + unit) * 4, sums[r], sizeof sums[r]);
        }
    }
}

/* (count, depth) times weights of `columns` columns (a multiple of LANES); row r of the result is row to[r] of `result`, whose rows
 * have room for `width` columns. */
static void NAME(project)(int64_t count, const element *a, int64_t stride, int64_t depth, const weights *b, int64_t columns,
                          int64_t width, const int32_t *to, float *result) {
    enum { AT_ONCE = 6 }; /* enough sums that none waits for the one before it */
    for (int64_t column = 0; column < columns; column += LANES, b += depth) {
        int64_t row = 0;
        for (; row + AT_ONCE <= count; row += AT_ONCE) {
            const element *from = a + row * stride;
            vec sums[AT_ONCE];
#pragma GCC unroll 8
            for (int r = 0; r < AT_ONCE; r++) sums[r] = all(0);
            for (int64_t k = 0; k < depth; k++) {
#pragma GCC unroll 8
                for (int r = 0; r < AT_ONCE; r++) sums[r] = MULTIPLY_ADD(sums[r], SPREAD(from[r * stride + k]), b[k]);
            }
#pragma GCC unroll 8
            for (int r = 0; r < AT_ONCE; r++) *(vec *)(result + to[row + r] * width + column) = sums[r];
        }
        for (; row < count; row++) {
            vec sum = all(0);
            for (int64_t k = 0; k < depth; k++) sum = MULTIPLY_ADD(sum, SPREAD(a[row * stride + k]), b[k]);
            *(vec *)(result + to[row] * width + column) = sum;
        }
    }
}
