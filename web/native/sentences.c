/* Text to sentences: what hyperspan/text/paragraphs.py and hyperspan/text/sentences.py say, and that defines it. Names are those of the
 * functions and expressions there.
 *
 * A text is code points. What Python says of each is in a table of bits; of characters beyond the table nothing is known, and the
 * caller must not pass any.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LOWER = 1, UPPER = 2, TITLE = 4, DECIMAL = 8, DIGIT = 16, ALPHANUMERIC = 32, UNSPACED = 64 };
/* str.islower, str.isupper, titlecase, \d, str.isdigit, str.isalnum, is_unspaced */

enum { NARROWEST = 24, WIDEST = 120, LONG_LINE = 40, SLACK = 3, TOGETHER = 256, CONTEXT = 48, MOST_TOKENS = 500 };

typedef struct {
    const uint32_t *text;
    int64_t size;
    const uint8_t *table;
    int64_t known;
    int64_t *spans; /* where the sentences go */
    int64_t count;
} Page;

/* -- characters ---------------------------------------------------------------------------------------------------------- */

static int is(const Page *p, uint32_t c, int kinds) { return c < p->known && (p->table[c] & kinds) != 0; }
static int is_word(const Page *p, uint32_t c) { return is(p, c, ALPHANUMERIC) || c == '_'; }

static int is_space(uint32_t c) {
    return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static int is_break(uint32_t c) {
    return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static int one_of(uint32_t c, const uint32_t *those) {
    for (; *those; those++)
        if (*those == c) return 1;
    return 0;
}

#define SET(name, ...) static const uint32_t name[] = {__VA_ARGS__, 0}
SET(NO_SPACE_NEEDED, '!', '?', 0x203C, 0x2047, 0x2048, 0x2049);
SET(WIDE_STOPS, 0x3002, 0xFF01, 0xFF1F, 0xFF61, 0xFF0E, 0x0965, 0x0964, 0x104B, 0x17D4, 0x17D5, 0x0F0D, 0x0F0E, 0x1362, 0x1367, 0x1803, 0xA9C9, 0x1B5E, 0x1B5F, 0xFE12,
    0xFE52, 0xFE56, 0xFE57);
SET(OTHER_STOPS, '.', '!', '?', 0x2026, 0x203D, 0x203C, 0x2047, 0x2048, 0x2049, 0x061F, 0x06D4);
SET(CLOSERS, '"', '\'', 0x201D, 0x2019, 0xBB, 0x203A, ')', ']', '}', '*', '_', 0x300D, 0x300F, 0x3011, 0xFF09, 0x3009, 0x300B, 0xFF63, 0x3015, 0x3017,
    0xFF3D, 0xFF5D, 0xFF02, 0xFF07);
SET(OPENERS, '"', '\'', 0x201C, 0x2018, 0xAB, 0x2039, 0x201E, '(', '[', '{', '*', '_', 0xBF, 0xA1, 0x2013, 0x2014, 0x2022, '-');
SET(BULLETS, '-', 0x2013, 0x2014, '*', '+', 0x2022, 0x2023, 0x25E6, 0x25AA, 0xB7);
SET(ENDING, ',', ';', ':', '.', '!', '?', 0x2026);
SET(NOT_FIRST, '.', ',', ';', ':', ')');
SET(GOING_ON, 0x3001, 0xFF0C, 0xFF1B, 0xFF1A, 0xFF64, ',', ';', ':');
SET(QUOTED, 0x300D, 0x300F, 0xFF63);
SET(QUOTES, '"', '\'', 0x201D, 0x2019);
SET(AFTER_SPACE, 0x201D, 0xBB, ')', ']');
SET(STOPPING, '.', '!', '?', 0x2026, ':', ';', 0x203D, 0x3002, 0xFF01, 0xFF1F);
SET(CLOSING, '\'', '"', 0x201D, 0x2019, 0xBB, ')', ']');
SET(NUMERALS, 'i', 'v', 'x', 'I', 'V', 'X');

static int is_stop(uint32_t c) { return one_of(c, OTHER_STOPS) || (c > 0x7F && one_of(c, WIDE_STOPS)); }
static int is_letter(uint32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* -- words --------------------------------------------------------------------------------------------------------------- */

static const char NEVER_LAST[] = " mr mrs ms mx dr prof fr sra rev hon maj capt cpt sgt cpl cmdr adm messrs mme mlle vs e.g i.e eg ie cf approx viz resp "
                                 "vols nos nr pp figs eq eqs secs chap chr suppl incl excl esp bzw z.b d.h u.a ";
static const char NUMBERED[] = " no p fig sec ch art par para pt tab ex app cl div fol ";
static const char OFTEN_LAST[] = " etc al inc corp co ltd llc plc bros jr sr esq ph.d m.d gen col lt gov pres sen rep st mt ft v ca ed eds vol ref refs "
                                 "dept univ jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri sat sun ave blvd rd sq ext "
                                 "spp sp subsp var usw proc natl acad sci biol chem immunol physiol ";
static const char STARTERS[] = " the a an this that these those it its it's he she they we i i'm you there here in on at by for from to with as after before "
                               "during when while since if although though however moreover furthermore therefore thus hence then now so but and or yet "
                               "nor not no our my his her their your what who why how where which whose all some many most both each every such one two "
                               "three another other also finally first second third next later today perhaps maybe yes well oh he's she's they're we're "
                               "don't let's is are was were do does did can could will would should may might has have had figure table ";
static const char OFTEN_LAST_OF_ALL[] = " a.m p.m i.v i.p i.m s.c p.o ";
static const char SMALL_WORDS[] = " by and with of to from for the a an in on at or as dr mr mrs ms prof named called & vs ";
static const char ZONES[] = " Eastern Central Mountain Pacific Greenwich ";
static const char MONTHS[] = " Januar Februar M\xe4rz April Mai Juni Juli August September Oktober November Dezember "; /* in Latin-1 */
static const char ARTICLES[] = " the my his her our their ";
static const char SPEAKING[] = " said say says ask asks asked replied replies cried answered shouted added called whispered yelled continued exclaimed wondered "
                               "told muttered screamed demanded inquired remarked repeated howled went ";
static const char DANGLING[] = " a an the of in on at to by for from with and or as is are was were that ";

enum { LONGEST_WORD = 3 * CONTEXT + 2 };

/* The word in lower case with a space on both sides, as lists have it; empty where it has a character that is not ASCII even then. */
typedef struct {
    char text[LONGEST_WORD + 1];
} Folded;

static const char *folded_sign(uint32_t c) { /* what str.casefold makes ASCII */
    switch (c) {
    case 0xDF:
    case 0x1E9E: return "ss";
    case 0x17F: return "s";
    case 0x212A: return "k";
    case 0xFB00: return "ff";
    case 0xFB01: return "fi";
    case 0xFB02: return "fl";
    case 0xFB03: return "ffi";
    case 0xFB04: return "ffl";
    case 0xFB05:
    case 0xFB06: return "st";
    default: return NULL;
    }
}

static Folded folded(const Page *p, int64_t from, int64_t to) {
    Folded word = {" "};
    size_t size = 1;
    for (int64_t i = from; i < to; i++) {
        const uint32_t c = p->text[i];
        const char *sign = folded_sign(c);
        if (!c || (!sign && c >= 128 && c != 0x2019)) return (Folded){""};
        if (sign)
            for (; *sign; sign++) word.text[size++] = *sign;
        else
            word.text[size++] = c == 0x2019 ? '\x01' : c >= 'A' && c <= 'Z' ? (char)(c + 32) : (char)c; /* ’ is replaced where it counts */
    }
    word.text[size] = ' ', word.text[size + 1] = 0;
    return word;
}

static int listed(const char *list, const Folded *word) {
    return word->text[0] && word->text[1] != ' ' && strstr(list, word->text) != NULL;
}

/* Where the word of a list that stands at a place ends, if no other word character follows; -1 where there is none. */
static int64_t list_word(const Page *p, const char *list, int64_t at, int64_t end) {
    for (const char *word = list + 1; *word; word = strchr(word, ' ') + 1) {
        int64_t i = at;
        for (; *word != ' ' && i < end && p->text[i] == (uint8_t)*word; word++) i++;
        if (*word == ' ' && !(i < end && is_word(p, p->text[i]))) return i;
    }
    return -1;
}

static int64_t while_space(const Page *p, int64_t i, int64_t end) {
    while (i < end && is_space(p->text[i])) i++;
    return i;
}

static int64_t to_space(const Page *p, int64_t i, int64_t end) {
    while (i < end && !is_space(p->text[i])) i++;
    return i;
}

static int64_t while_kind(const Page *p, int64_t i, int64_t end, int kinds) {
    while (i < end && is(p, p->text[i], kinds)) i++;
    return i;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* -- sentences of a paragraph -------------------------------------------------------------------------------------------- */

static void emit(Page *p, int64_t start, int64_t end) {
    if (while_space(p, start, end) == end) return;
    p->spans[2 * p->count] = start;
    p->spans[2 * p->count++ + 1] = end;
}

static int needs_no_space(const Page *p, int64_t from, int64_t to) {
    const uint32_t mark = p->text[from], following = to < p->size ? p->text[to] : 0;
    if (mark == 0xFF0E) return !is(p, following, DIGIT);
    return one_of(mark, WIDE_STOPS) || (one_of(mark, NO_SPACE_NEEDED) && is(p, following, UNSPACED));
}

/* Where a reference such as [12, 13] and the space after it end; -1 where there is none. */
static int64_t note(const Page *p, int64_t i, int64_t end) {
    if (i >= end || p->text[i] != '[') return -1;
    int64_t at = i + 1;
    if (at < end && is(p, p->text[at], DECIMAL)) {
        for (at++; at < end && at < i + 22; at++) {
            const uint32_t c = p->text[at];
            if (!is(p, c, DECIMAL) && c != ',' && c != 0x2013 && c != '-' && !is_space(c)) break;
        }
    } else {
        if (at >= end || p->text[at] < 'a' || p->text[at] > 'z') return -1;
        for (at++; at < end && at < i + 32; at++)
            if (!((p->text[at] >= 'a' && p->text[at] <= 'z') || p->text[at] == ' ')) break;
    }
    if (at >= end || p->text[at] != ']') return -1;
    return at + 1 < end && is_space(p->text[at + 1]) ? at + 2 : at + 1;
}

static int64_t after_stop(const Page *p, int64_t place, int64_t end) {
    int64_t after = while_space(p, place, end);
    if (after == place) return after;
    int64_t noted = after;
    for (int times = 0; times < 8; times++) {
        const int64_t next = note(p, noted, end);
        if (next < 0) break;
        noted = next;
    }
    return noted > after ? while_space(p, noted, end) : after;
}

static int begins(const Page *p, int64_t after, int64_t bare, int64_t until) {
    if (!is(p, p->text[bare], LOWER)) return 1;
    if (p->text[after] == '(') return 1;
    int named = 0;
    const int64_t end = to_space(p, bare, until);
    for (int64_t i = bare; i < end; i++) {
        const uint32_t c = p->text[i];
        if (c == ':' || c == '@') return 0;
        if (c == 'w' && end - i >= 4 && p->text[i + 1] == 'w' && p->text[i + 2] == 'w' && p->text[i + 3] == '.') return 0;
        named |= is(p, c, DIGIT | UPPER);
    }
    return named && p->text[after] == p->text[bare];
}

static int enumerates(const Page *p, int64_t i, int64_t end) {
    if (p->text[i] == '(' || p->text[i] == '[') i++;
    if (end - i == 1 && is_letter(p->text[i])) return 1;
    int64_t at = i;
    while (at < end && one_of(p->text[at], NUMERALS)) at++;
    if (at == end && at > i && at - i <= 5) return 1;
    at = while_kind(p, i, end, DECIMAL);
    if (at == i || at - i > 3) return 0;
    while (at < end && p->text[at] == '.') {
        const int64_t digits = while_kind(p, at + 1, end, DECIMAL);
        if (digits == at + 1 || digits - at > 3) return 0;
        at = digits;
    }
    return at == end;
}

static int is_acronym(const Page *p, int64_t i, int64_t end) {
    for (int dots = 0;; dots++) {
        if (i >= end || !is_word(p, p->text[i])) return 0;
        if (i + 1 == end) return dots > 0;
        if (p->text[i + 1] != '.') return 0;
        i += 2;
        if (i < end && p->text[i] == '-') i++;
    }
}

static int is_zone(const Page *p, int64_t i, int64_t end) {
    int64_t at = i;
    while (at < end && at < i + 5 && p->text[at] >= 'A' && p->text[at] <= 'Z') at++;
    return (at - i >= 2 && !(at < end && is_word(p, p->text[at]))) || list_word(p, ZONES, i, end) >= 0;
}

static int is_capital(uint32_t c) { return c >= 'A' && c <= 'Z'; }

static int is_name(const Page *p, int64_t i, int64_t end) { /* Ann B. */
    if (!is_capital(p->text[i])) return 0;
    const int64_t stop = to_space(p, i, end), next = while_space(p, stop, end);
    return next > stop && next + 1 < end && is_capital(p->text[next]) && (p->text[next + 1] == '.' || is_word(p, p->text[next + 1]));
}

static int is_said(const Page *p, int64_t i, int64_t end) { /* Mrs. Lee asked */
    int words = 0;
    for (; words < 3; words++) {
        int64_t at = i;
        if (at < end && is_capital(p->text[at])) {
            while (at < end && (is_word(p, p->text[at]) || p->text[at] == 0x2019 || p->text[at] == '\'' || p->text[at] == '-')) at++;
            if (at < end && p->text[at] == '.') at++;
        } else
            at = list_word(p, ARTICLES, i, end);
        const int64_t next = at < 0 ? -1 : while_space(p, at, end);
        if (next <= at) break;
        i = next;
    }
    return words && list_word(p, SPEAKING, i, end) >= 0;
}

static int starts_often(const Page *p, int64_t bare, int64_t until) {
    int64_t end = to_space(p, bare, until);
    while (end > bare && (one_of(p->text[end - 1], CLOSERS) || one_of(p->text[end - 1], ENDING))) end--;
    Folded word = folded(p, bare, end);
    for (char *sign = word.text; *sign; sign++)
        if (*sign == '\x01') *sign = '\'';
    return listed(STARTERS, &word);
}

enum { UNDECIDED = -1 };

/* The decision from the word before a single dot, which is at `dot`; `first` is where what is read before it begins. */
static int after_word(const Page *p, int64_t first, int64_t dot, int64_t begin, int64_t bare, int64_t until, int opened) {
    int64_t last = dot, from, to = dot;
    while (last > first && !is_space(p->text[last - 1])) last--;
    for (from = last; from < to && one_of(p->text[from], OPENERS);) from++;
    while (to > from && one_of(p->text[to - 1], OPENERS)) to--;
    const Folded key = folded(p, from, to);
    const uint32_t next = p->text[bare], second = bare + 1 < until ? p->text[bare + 1] : 0;
    const int is_upper = is(p, next, UPPER);
    const int is_initial = to - from == 1 && is(p, p->text[from], ALPHANUMERIC) && !is(p, p->text[from], DECIMAL);
    if (last == first && begin == last && enumerates(p, last, dot)) return 0;
    if (listed(NEVER_LAST, &key)) return 0;
    if (to > from && to - from < 3 && while_kind(p, from, to, DECIMAL) == to && list_word(p, MONTHS, bare, until) >= 0) return 0;
    if (listed(NUMBERED, &key)) {
        const int goes_on = bare + 1 == until || second == 'I' || second == 'V' || second == 'X' || second == '.';
        const int is_roman = (next == 'I' || next == 'V' || next == 'X') && goes_on;
        if (is(p, next, DIGIT) || is(p, second, DIGIT) || (is_roman && strcmp(key.text, " no "))) return 0;
    }
    if (is_initial && is(p, p->text[from], LOWER)) return !is(p, next, DIGIT) && from == last && to == dot ? UNDECIDED : 0;
    if (listed(OFTEN_LAST_OF_ALL, &key)) return is_upper && !is_zone(p, bare, until);
    const int starts = is_upper && starts_often(p, bare, until);
    if (is_initial) {
        int64_t end = last, start;
        while (end > first && is_space(p->text[end - 1])) end--;
        for (start = end; start > first && !is_space(p->text[start - 1]);) start--;
        int is_part = start == end || is(p, p->text[start], UPPER); /* of a name */
        while (start < end && one_of(p->text[start], OPENERS)) start++;
        while (end > start && one_of(p->text[end - 1], OPENERS)) end--;
        const Folded earlier = folded(p, start, end);
        is_part |= listed(SMALL_WORDS, &earlier);
        return starts || (!is_part && is_upper && !is_name(p, bare, until));
    }
    if (listed(OFTEN_LAST, &key) || is_acronym(p, from, to)) return starts || (opened && is_upper);
    return UNDECIDED;
}

static int is_opener_or_space(uint32_t c) { return one_of(c, OPENERS) || c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == 0xA0; }

/* Whether the stop from `from` to `to` ends the sentence from `begin`. */
static int ends(const Page *p, int64_t begin, int64_t from, int64_t to, int64_t after, int64_t end, int lower) {
    const uint32_t mark = p->text[from];
    if (one_of(mark, WIDE_STOPS)) {
        const uint32_t next = p->text[after];
        return !one_of(next, GOING_ON) && !((next == 0x3068 || next == 0x3063) && one_of(p->text[after - 1], QUOTED));
    }
    const int64_t first = begin > from - CONTEXT ? begin : from - CONTEXT, until = smaller(after + CONTEXT, end);
    int64_t said = first, bare = after;
    while (said < from && is_opener_or_space(p->text[said])) said++;
    if (said == from || p->text[from - 1] == '(') return 0;
    while (bare < until && one_of(p->text[bare], OPENERS)) bare++;
    if (bare == until || is_space(p->text[bare]) || one_of(p->text[bare], NOT_FIRST)) return 0;
    if (mark == '.' && !(to - from > 1 && p->text[from + 1] == '.')) {
        const int verdict = is_space(p->text[from - 1]) ? UNDECIDED : after_word(p, first, from, begin, bare, until, bare > after);
        return verdict == UNDECIDED ? lower || begins(p, after, bare, until) : verdict;
    }
    if ((mark == '.' || mark == 0x2026) && p->text[bare] == 'I' && !(bare + 1 < until && is_word(p, p->text[bare + 1]))) return 0;
    if (one_of(p->text[to - 1], QUOTES) && is_said(p, after, until)) return 0;
    return lower || !is(p, p->text[bare], LOWER);
}

static int has_no_capitals(const Page *p, int64_t start, int64_t end) {
    int kinds = 0;
    for (int64_t i = start; i < end; i++) kinds |= p->text[i] < p->known ? p->table[p->text[i]] : 0;
    return (kinds & LOWER) && !(kinds & (UPPER | TITLE));
}

static void sentence_ends(Page *p, int64_t start, int64_t end) {
    int64_t begin = start;
    const int lower = has_no_capitals(p, start, end);
    for (int64_t i = start; i < end;) {
        if (!is_stop(p->text[i])) {
            i++;
            continue;
        }
        const int64_t from = i;
        while (i < end && is_stop(p->text[i])) i++;
        while (i < end && one_of(p->text[i], CLOSERS)) i++;
        if (i + 1 < end && (p->text[i] == ' ' || p->text[i] == 0xA0) && one_of(p->text[i + 1], AFTER_SPACE)) i += 2;
        const int64_t after = after_stop(p, i, end);
        if (after >= end) break;
        if ((after > i || needs_no_space(p, from, i)) && ends(p, begin, from, i, after, end, lower)) {
            emit(p, begin, after);
            begin = after;
        }
    }
    if (begin < end) emit(p, begin, end);
}

/* -- paragraphs ---------------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t start, end, content, indent, first_word; /* `content` is where it ends; indent and first_word are lengths */
    int last;
    char separator; /* '\t', ' ' for a gap, 0 */
} Line;

static int has_gap(const Page *p, int64_t from, int64_t end) {
    for (int64_t i = from, spaces = 0; i < end; i++) {
        spaces = p->text[i] == ' ' ? spaces + 1 : 0;
        if (spaces == 4) return 1;
    }
    return 0;
}

/* The next line that is not blank, from `*place` on; 0 where there is none. */
static int next_line(const Page *p, int64_t *place, Line *line) {
    while (*place < p->size) {
        const int64_t start = *place;
        int64_t i = start;
        while (i < p->size && !is_break(p->text[i])) i++;
        int64_t content = i;
        if (i < p->size) i += p->text[i] == '\r' && i + 1 < p->size && p->text[i + 1] == '\n' ? 2 : 1;
        const int64_t after = i;
        for (int64_t blank = i; blank < p->size; blank++) {
            if (is_break(p->text[blank])) i = blank + 1;
            else if (!is_space(p->text[blank])) break;
        }
        *place = i;
        while (content > start && is_space(p->text[content - 1])) content--;
        if (content == start) continue;
        int64_t lead = start, word;
        while (lead < content && (is_space(p->text[lead]) || p->text[lead] == '>' || p->text[lead] == '|')) lead++;
        for (word = lead; word < content && word < lead + 64 && !is_space(p->text[word]);) word++;
        *line = (Line){start, i, content, lead - start, word - lead, i > after, 0};
        int64_t tab = lead;
        while (tab < content && p->text[tab] != '\t') tab++;
        line->separator = tab < content && tab > start ? '\t' : has_gap(p, lead, content) ? ' ' : 0;
        return 1;
    }
    return 0;
}

static int64_t width_of(const Line *line) { return line->content - line->start; }
static int is_lower(const Page *p, const Line *line) { return line->indent < width_of(line) && is(p, p->text[line->start + line->indent], LOWER); }
static int is_full(const Line *line, const Line *following, int64_t width) { return width - SLACK < width_of(line) + 1 + following->first_word; }

static int64_t wrapped_to(const Page *p, const Line *lines, int64_t count) {
    int64_t width = 0, wider = 0, pairs = 0, full = 0, lower = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t length = width_of(lines + i);
        if (length > WIDEST) wider++;
        else if (length > width) width = length;
    }
    if (width < NARROWEST || wider > count / 20) return 0;
    for (int64_t i = 0; i + 1 < count; i++) {
        if (lines[i].last || 2 * width_of(lines + i) < width) continue;
        pairs++;
        if (!is_full(lines + i, lines + i + 1, width)) continue;
        full++, lower += is_lower(p, lines + i + 1);
    }
    return full > 1 && 4 * full > pairs && 4 * lower > full ? width : 0;
}

static int has_bullet(const Page *p, const Line *line) {
    int64_t i = line->start + line->indent;
    const int64_t end = line->content;
    if (i + 1 < end && one_of(p->text[i], BULLETS) && is_space(p->text[i + 1])) return 1;
    if (i < end && (p->text[i] == '(' || p->text[i] == '[')) i++;
    const int64_t digits = while_kind(p, i, end, DECIMAL);
    int64_t numeral = i;
    while (numeral < end && one_of(p->text[numeral], NUMERALS)) numeral++;
    const int64_t marks[] = {digits > i && digits - i <= 3 ? digits : -1, i < end && is_letter(p->text[i]) ? i + 1 : -1,
                             numeral > i && numeral - i <= 5 ? numeral : -1};
    for (int way = 0; way < 3; way++) {
        const int64_t at = marks[way];
        if (at < 0 || at + 1 >= end || !is_space(p->text[at + 1])) continue;
        if (p->text[at] == ')' || p->text[at] == ']' || (!way && p->text[at] == '.')) return 1;
    }
    return 0;
}

static int is_stopped(const Page *p, int64_t from, int64_t end) {
    int64_t i = end;
    while (i > from && end - i < 4 && one_of(p->text[i - 1], CLOSING)) i--;
    return i > from && one_of(p->text[i - 1], STOPPING);
}

static int is_dangling(const Page *p, int64_t from, int64_t end) {
    if (p->text[end - 1] == ',') return 1;
    int64_t i = end;
    char word[16] = " ";
    while (i > from && !is_space(p->text[i - 1])) i--;
    if (i == from || end - i > 4 || end == i) return 0;
    for (int64_t at = i; at < end; at++) {
        if (p->text[at] < 'a' || p->text[at] > 'z') return 0;
        word[at - i + 1] = (char)p->text[at];
    }
    strcat(word, " ");
    return strstr(DANGLING, word) != NULL;
}

static int continues(const Page *p, const Line *line, const Line *following, int64_t width) {
    if (line->last || width_of(line) > WIDEST || line->separator == '\t' || following->separator == '\t') return 0;
    if (has_bullet(p, following)) return 0;
    if (following->indent > line->indent) return has_bullet(p, line);
    if (width && is_full(line, following, width)) return 1;
    if (!is_lower(p, following)) return 0;
    const int64_t half = width / 2, end = line->content, from = end - line->start > 6 ? end - 6 : line->start;
    return is_dangling(p, from, end) || (width_of(line) >= (half ? half : LONG_LINE) && !is_stopped(p, from, end));
}

static void paragraph(Page *p, int64_t start, int64_t end) {
    const int64_t bullet = while_space(p, start, end);
    if (bullet < end && one_of(p->text[bullet], BULLETS)) {
        const int64_t after = while_space(p, bullet + 1, end);
        if (after > bullet + 1 && after < end) {
            sentence_ends(p, start, after);
            start = after;
        }
    }
    sentence_ends(p, start, end);
}

/* How far a cell goes on from a place: over spaces only where at most three stand together. */
static int64_t cell_goes_on(const Page *p, int64_t i, int64_t end) {
    if (p->text[i] != ' ') return i + 1;
    int64_t spaces = i;
    while (spaces < end && p->text[spaces] == ' ') spaces++;
    return spaces - i <= 3 ? spaces : i;
}

static void cells(Page *p, int64_t start, const Line *last, int in_table) {
    const char separator = last->start == start ? last->separator : 0;
    if (separator != '\t' && !(separator && in_table)) {
        paragraph(p, start, last->end);
        return;
    }
    for (int64_t i = start; i < last->end;) {
        const int64_t from = i;
        if (separator == '\t')
            while (i < last->end && p->text[i] != '\t') i++;
        else
            for (int64_t next; i < last->end && (next = cell_goes_on(p, i, last->end)) > i;) i = next;
        if (i > from) sentence_ends(p, from, i);
        else i++;
    }
}

/* The sentences of a text, each (start, end), into `spans`, which has room for one a character. `table` are the bits of `known`
 * characters. Returns how many there are, or -1 where there is no memory. */
int64_t sentences_of(const uint32_t *text, int64_t size, const uint8_t *table, int64_t known, int64_t *spans) {
    Page page = {text, size, table, known, spans, 0}, *p = &page;
    Line *lines = malloc(TOGETHER * sizeof *lines), previous = {0};
    if (!lines) return -1;
    int64_t place = 0, start = 0, count;
    int has_previous = 0, row = 0;
    do {
        for (count = 0; count < TOGETHER && next_line(p, &place, lines + count);) count++;
        const int64_t width = wrapped_to(p, lines, count);
        for (int64_t i = 0; i < count; previous = lines[i++], has_previous = 1) {
            if (!has_previous || continues(p, &previous, lines + i, width)) continue;
            const int in_table = previous.separator == ' ' && lines[i].separator == ' ';
            cells(p, start, &previous, row || in_table);
            start = lines[i].start, row = in_table;
        }
    } while (count);
    if (has_previous) cells(p, start, &previous, row);
    free(lines);
    return p->count;
}

/* -- long sentences ------------------------------------------------------------------------------------------------------ */

static int cut_quality(const Page *p, const int64_t *token, int64_t after) {
    SET(SEMICOLONS, ';', ':', 0xFF1B, 0xFF1A);
    SET(COMMAS, ',', 0xFF0C, 0x3001, 0x104A);
    for (int64_t i = token[1]; i < after; i++)
        if (p->text[i] == '\n') return 3;
    const uint32_t last = p->text[token[1] - 1];
    if (one_of(last, SEMICOLONS)) return 2;
    if (one_of(last, COMMAS)) return 1;
    return token[1] < after && is(p, p->text[token[0]], UNSPACED);
}

/* How many of `count` tokens, each (start, end), the first part of a sentence takes: all, if they are not too many. */
int64_t first_part(const uint32_t *text, const uint8_t *table, int64_t known, const int64_t *tokens, int64_t count) {
    const Page p = {text, 0, table, known, NULL, 0};
    if (count <= MOST_TOKENS) return count;
    int64_t best = MOST_TOKENS;
    for (int64_t place = MOST_TOKENS, most = -1; place > MOST_TOKENS / 2; place--) {
        const int quality = cut_quality(&p, tokens + 2 * (place - 1), tokens[2 * place]);
        if (quality > most) most = quality, best = place;
    }
    return best;
}
