/* Text to tokens: what the regular expressions of hyperspan/text/tokens.py and hyperspan/text/tokens.py say, alternative by
 * alternative, for text whose characters are all in the table of classes.
 *
 * The expressions need no backtracking: wherever one could be tried again in another way, that way cannot succeed either.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LETTER = 1, MARK = 2, NUMBER = 4, DIGIT = 8, WORD = 16, SPACE = 32, BLANK = 64, KNOWN = 128 };
/* \p{L}, \p{M}, \p{N}, \d, \w, white space to Python and to \s; BLANK and no SPACE: a character that is always a token */
enum { CHARACTER = LETTER | MARK | NUMBER };

typedef struct { /* a sentence */
    const uint32_t *text;
    const uint8_t *is; /* the classes of each character */
    int64_t size;
} Text;

static uint32_t at(const Text *text, int64_t i) { return i >= 0 && i < text->size ? text->text[i] : 0; }
static int is(const Text *text, int64_t i, int kind) { return i >= 0 && i < text->size && (text->is[i] & kind) != 0; }
static int is_character(const Text *text, int64_t i) { return is(text, i, CHARACTER) || at(text, i) == '_'; }
static int one_of(uint32_t character, const char *those) { return character && character < 128 && strchr(those, (int)character); }
static int is_quote(uint32_t character) { return character == '\'' || character == 0x2019; }
static int is_hyphen(uint32_t character) { return character == '-' || character == 0x2010 || character == 0x2011; }

static int stacks(uint32_t character) { /* a virama that puts the next letter below */
    return character == 0x1039 || character == 0x17D2 || character == 0x1A60 || character == 0x1B44 || character == 0xA9C0;
}

static int64_t while_is(const Text *text, int64_t i, int kind, int64_t most) { /* where the run ends that begins at i */
    int64_t end = most < text->size - i ? i + most : text->size;
    while (i < end && text->is[i] & kind) i++;
    return i;
}

static int64_t while_character(const Text *text, int64_t i, int64_t most) {
    int64_t end = most < text->size - i ? i + most : text->size;
    while (i < end && (text->is[i] & CHARACTER || text->text[i] == '_')) i++;
    return i;
}

static int64_t after(const Text *text, int64_t i, const char *given) { /* where the text goes on after `given`; -1 if it is not there */
    for (; *given; given++, i++)
        if (at(text, i) != (uint32_t)*given) return -1;
    return i;
}

static int ends_word(const Text *text, int64_t i) { return !is(text, i, WORD); } /* \b after a letter */

/* -- "split" ------------------------------------------------------------------------------------------------------------- */

static int64_t pair(const Text *text, int64_t i) { /* \(\w{1,12};\w{1,12}\) */
    if (at(text, i) != '(') return -1;
    int64_t middle = while_is(text, i + 1, WORD, 12);
    if (middle == i + 1 || at(text, middle) != ';') return -1;
    int64_t end = while_is(text, middle + 1, WORD, 12);
    return end > middle + 1 && at(text, end) == ')' ? end + 1 : -1;
}

static int64_t in_square(const Text *text, int64_t i) {
    int64_t digits = while_is(text, i + 1, DIGIT, text->size), end = while_is(text, digits, LETTER, text->size);
    if (digits > i + 1 && end > digits && at(text, end) == ']') return end + 1;
    for (end = i + 1; end < text->size && end <= i + 12; end++)
        if (text->is[end] & BLANK || text->text[end] == '[' || text->text[end] == ']') break;
    return end > i + 1 && at(text, end) == ']' && is(text, end + 1, WORD) ? end + 1 : -1;
}

static int64_t in_round(const Text *text, int64_t i) {
    int64_t end;
    if (is(text, i - 1, DIGIT)) {
        for (end = i + 1; end < text->size && end <= i + 12; end++)
            if (text->is[end] & BLANK || text->text[end] == '(' || text->text[end] == ')') break;
        if (end > i + 1 && at(text, end) == ')') return end + 1;
    }
    end = while_is(text, i + 1, WORD, 12);
    if (is(text, i - 1, WORD) && end > i + 1 && at(text, end) == ')' && is(text, end + 1, WORD)) return end + 1;
    if (is(text, i - 1, LETTER)) {
        uint32_t first = at(text, i + 1);
        int64_t digits = while_is(text, i + 1, DIGIT, text->size), sign = digits + (at(text, digits) == '-' || at(text, digits) == '+');
        int64_t close = -1;
        if (((first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z' && first != 's')) && at(text, i + 2) == ')') close = i + 3;
        else if (sign > i + 1 && at(text, sign) == ')') close = sign + 1; /* \d*[-+] or \d+ */
        else close = pair(text, i);
        if (close >= 0) {
            int64_t more = pair(text, close);
            return more >= 0 ? more : close;
        }
    }
    return after(text, i, "(OH)");
}

static int64_t glued(const Text *text, int64_t i) { /* where what begins at i and stays together ends; -1 if there is no such thing */
    switch (text->text[i]) {
    case '[': return in_square(text, i);
    case '(': return in_round(text, i);
    case '\'':
        if (is(text, i - 1, DIGIT)) return i + 1;
        if (!is(text, i - 1, LETTER) || !is(text, i + 1, LETTER)) return -1;
        return (at(text, i + 1) == 's' || at(text, i + 1) == 't') && ends_word(text, i + 2) ? -1 : i + 1;
    case '*':
    case '&': return is(text, i - 1, WORD) && is(text, i + 1, WORD) ? i + 1 : -1;
    default: return -1;
    }
}

static int is_not(const Text *text, int64_t i) { /* n't\b */
    return at(text, i) == 'n' && at(text, i + 1) == '\'' && at(text, i + 2) == 't' && ends_word(text, i + 3);
}

static int64_t split_token(const Text *text, int64_t i) { /* the end of the token that begins at i */
    uint32_t first = text->text[i];
    int64_t end;
    if ((first == 'c' || first == 'C') && after(text, i + 1, "annot") >= 0 && ends_word(text, i + 6)) return i + 3;
    if (is_not(text, i)) return i + 3;
    if (is_character(text, i)) {
        for (end = i; is_character(text, end) && !is_not(text, end + 1);) end++;
        return end + is_character(text, end);
    }
    if (first == '\'' && at(text, i + 1) == 's' && ends_word(text, i + 2)) return i + 2;
    return while_is(text, i + 1, MARK, text->size);
}

/* -- "fine" --------------------------------------------------------------------------------------------------------------- */

static int is_part(const Text *text, int64_t i) { /* whether a part of a word that is not its first one begins at i */
    uint32_t last = at(text, i - 1), next = at(text, i), first = at(text, i - 2);
    if (last >= '0' && last <= '9') return is(text, i, LETTER);
    if (!((first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z')) || last < 'a' || last > 'z') return 0;
    return (next >= 'A' && next <= 'Z') || (next >= 0x391 && next <= 0x3A9 && next != 0x3A2);
}

static int64_t part_end(const Text *text, int64_t i, int64_t end) { /* where the part ends that begins at i, in a token that ends at `end` */
    if (while_character(text, i, end - i) < end) return end;
    for (int64_t next = i + 1; next < end; next++)
        if (is_part(text, next)) return next;
    return end;
}

/* -- "words" ------------------------------------------------------------------------------------------------------------- */

static int64_t web_address(const Text *text, int64_t i) {
    int64_t begin = after(text, i, "https://"), end, last = -1;
    if (begin < 0) begin = after(text, i, "http://");
    if (begin < 0) begin = after(text, i, "www.");
    if (begin < 0) return -1;
    for (end = begin; end < text->size && !(text->is[end] & (SPACE | BLANK)) && !one_of(text->text[end], "<>\""); end++)
        if (!one_of(text->text[end], "'.,;:!?)]") && text->text[end] != 0x2019) last = end + 1;
    return last;
}

static int64_t mail_address(const Text *text, int64_t i) {
    int64_t end = i + 1;
    while (end < text->size && end < i + 64 && (is_character(text, end) || one_of(text->text[end], ".+-"))) end++;
    if (at(text, end) != '@') return -1;
    int64_t begin = end + 1, parts = 0;
    end = while_character(text, begin, 63);
    if (end == begin) return -1;
    while (at(text, end) == '.' || at(text, end) == '-') {
        int64_t next = while_character(text, end + 1, 63);
        if (next == end + 1) break;
        end = next;
        parts++;
    }
    return parts ? end : -1;
}

static int64_t initials(const Text *text, int64_t i) {
    int64_t end = i;
    while (is(text, end, LETTER) && at(text, end + 1) == '.') end += 2;
    return end > i + 2 ? end : -1;
}

static int64_t abbreviation(const Text *text, int64_t i) {
    static const char *const known[] = {"Mr.", "Mrs.", "Ms.", "Dr.", "Prof.", "St.", "Jr.", "Sr.", "vs.", "etc.", "No.", "Fig.", "al."};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        int64_t end = after(text, i, known[k]);
        if (end >= 0) return end == text->size || is(text, end, SPACE) ? end : -1;
    }
    return -1;
}

static int64_t amount(const Text *text, int64_t i) {
    int64_t first = while_is(text, i, DIGIT, text->size), end = first;
    while (one_of(at(text, end), ".,:") && is(text, end + 1, DIGIT)) end = while_is(text, end + 1, DIGIT, text->size);
    return end > first ? end : -1;
}

static int is_any_not(const Text *text, int64_t i) { /* n['’]t\b */
    return at(text, i) == 'n' && is_quote(at(text, i + 1)) && at(text, i + 2) == 't' && ends_word(text, i + 3);
}

static int64_t clitic(const Text *text, int64_t i) {
    static const char *const known[] = {"s", "re", "ve", "ll", "d", "m"};
    for (size_t k = 0; is_quote(at(text, i)) && k < sizeof known / sizeof *known; k++) {
        int64_t end = after(text, i + 1, known[k]);
        if (end >= 0) return ends_word(text, end) ? end : -1;
    }
    return -1;
}

static int64_t run_of(const Text *text, int64_t i, uint32_t character, int64_t least) {
    int64_t end = i;
    while (at(text, end) == character) end++;
    return end - i >= least ? end : -1;
}

static int64_t word(const Text *text, int64_t i) { /* one that begins with a letter, a mark, a digit or _ */
    int64_t end = -1;
    if (text->text[i] == 'h' || text->text[i] == 'w') end = web_address(text, i);
    if (end < 0) end = mail_address(text, i);
    if (end < 0 && is(text, i, LETTER)) end = initials(text, i);
    if (end < 0) end = abbreviation(text, i);
    if (end < 0 && is(text, i, DIGIT)) end = amount(text, i);
    if (end >= 0) return end;
    for (end = i + 1; is_character(text, end - 1); end++)
        if (is_any_not(text, end)) return end;
    if (is_any_not(text, i)) return i + 3;
    end = while_character(text, i, text->size);
    for (int64_t next; is_hyphen(at(text, end)); end = next)
        if ((next = while_character(text, end + 1, text->size)) == end + 1) break;
    return end;
}

static int64_t sign(const Text *text, int64_t i) { /* [^SPACE](?:\p{M}|\p{Emoji_Modifier}|\u200d[^SPACE])* */
    for (i++; i < text->size;) {
        if (is(text, i, MARK) || (text->text[i] >= 0x1F3FB && text->text[i] <= 0x1F3FF)) i++;
        else if (text->text[i] == 0x200D && i + 1 < text->size && !is(text, i + 1, SPACE)) i += 2;
        else break;
    }
    return i;
}

static int64_t words_token(const Text *text, int64_t i) {
    int64_t end;
    if (is_character(text, i)) return word(text, i);
    if ((end = clitic(text, i)) >= 0) return end;
    if (text->text[i] == '-' && (end = run_of(text, i, '-', 2)) >= 0) return end;
    if (text->text[i] == '.' && (end = run_of(text, i, '.', 3)) >= 0) return end;
    return sign(text, i);
}

/* -- all ----------------------------------------------------------------------------------------------------------------- */

static const Text *with_glue(Text *text, uint32_t *copy, uint8_t *classes, const uint8_t *table) {
    int64_t end;
    memcpy(copy, text->text, (size_t)text->size * sizeof *copy);
    memcpy(classes, text->is, (size_t)text->size);
    for (int64_t i = 0; i < text->size; i++) {
        if ((end = glued(text, i)) < 0) continue;
        for (; i < end; i++)
            if (!(text->is[i] & (BLANK | WORD)) && !one_of(text->text[i], ",./+-")) copy[i] = 'x', classes[i] = table['x'];
        i--;
    }
    text->text = copy, text->is = classes;
    return text;
}

enum { WORDS, SPLIT, FINE }; /* as in kernels/text.py */

/* The tokens of sentences: `sentences` are (count, 2), from and to in a text of which `given` is the part from `origin` on. Fills, for each
 * sentence, how many tokens it has, or -1 where it has a character that is not in the table of `known` classes; and `spans`, of at
 * most as many tokens as the text has characters, where each starts and ends. Returns the number of tokens, or -1 where there is no memory. */
int64_t tokens_of(int64_t kind, const uint32_t *given, int64_t size, int64_t origin, const int64_t *sentences, int64_t count,
                  const uint8_t *table, int64_t known, int64_t *counts, int64_t *spans) {
    int64_t written = 0;
    uint8_t *classes = malloc((size_t)size * 2 + 1);
    uint32_t *copy = malloc(((size_t)size + 1) * sizeof *copy);
    if (!classes || !copy) {
        free(classes);
        free(copy);
        return -1;
    }
    for (int64_t i = 0; i < size; i++) classes[i] = given[i] < known ? table[given[i]] : 0;
    for (int64_t number = 0; number < count; number++) {
        const int64_t start = sentences[2 * number], from = start - origin;
        Text text = {given + from, classes + from, sentences[2 * number + 1] - start};
        int64_t first = written;
        uint32_t all = KNOWN, codes = 0;
        for (int64_t i = 0; i < text.size; i++) all &= text.is[i], codes |= text.text[i];
        if (!all) {
            counts[number] = -1;
            continue;
        }
        for (int64_t i = from + 1; codes >= 0x1000 && i < from + text.size; i++)
            if ((classes[i] & (SPACE | BLANK)) == BLANK && stacks(given[i - 1])) classes[i] = MARK | WORD | KNOWN;
        const Text plain = text;
        if (kind != WORDS) with_glue(&text, copy, classes + size, table);
        for (int64_t i = 0; i < text.size;) {
            if (text.is[i] & SPACE) {
                i++;
                continue;
            }
            const int64_t end = kind == WORDS ? words_token(&text, i) : split_token(&text, i);
            while (i < end) {
                const int64_t part = kind == FINE ? part_end(&plain, i, end) : end;
                spans[2 * written] = start + i;
                spans[2 * written++ + 1] = start + part;
                i = part;
            }
        }
        counts[number] = written - first;
    }
    free(classes);
    free(copy);
    return written;
}
