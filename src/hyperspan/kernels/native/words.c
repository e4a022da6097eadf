/* Words found by their spelling: those of a vocabulary, a word a line in its words.txt, and the distinct ones of a batch.
 *
 * What is computed is what hyperspan/text/words.py says, which stands in where this is not compiled. Tables hold 64 bits
 * an entry, half of a hash above the number of a word counted from 1; 0 is empty. Hashes begin with a random seed, so
 * that no text can be written whose words all collide. All memory that outlives a call is the caller's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HALF = 24 }; /* of a token longer than twice this, the first and the last characters are read: LONGEST_SPELLING */

typedef struct {
    const uint8_t *at;
    int64_t size;
} Bytes;

typedef struct {
    const uint8_t *words;   /* the file */
    const uint32_t *starts; /* (words + 1,): where each line begins */
    const uint64_t *table;
    int64_t slots; /* a power of two */
    uint64_t seed;
} Index;

static uint64_t mixed(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash(Bytes key, uint64_t seed) {
    const uint64_t odd = 0x9e3779b97f4a7c15u, other = 0xd6e8feb86659fd93u;
    uint64_t value = mixed(seed ^ odd, (uint64_t)key.size ^ other), part;
    for (; key.size >= 8; key.at += 8, key.size -= 8) {
        memcpy(&part, key.at, 8);
        value = mixed(value ^ part, other);
    }
    part = 0;
    for (int64_t i = 0; i < key.size; i++) part |= (uint64_t)key.at[i] << (8 * i);
    return mixed(value ^ part, seed ^ odd);
}

static int same(Bytes one, Bytes other) { return one.size == other.size && !memcmp(one.at, other.at, (size_t)one.size); }

static Bytes line(const uint8_t **rest, const uint8_t *end) { /* the next one, without its line break */
    const uint8_t *stop = memchr(*rest, '\n', (size_t)(end - *rest));
    Bytes found = {*rest, (stop ? stop : end) - *rest};
    *rest = stop ? stop + 1 : end;
    return found;
}

static Bytes word_at(const Index *index, int64_t number) {
    return (Bytes){index->words + index->starts[number], index->starts[number + 1] - index->starts[number] - 1};
}

static int64_t word_id(const Index *index, Bytes key) { /* from 1 on; 0 if it is unknown */
    uint64_t value = hash(key, index->seed), tag = value >> 32;
    for (int64_t slot = (int64_t)(value & (uint64_t)(index->slots - 1));; slot = (slot + 1) & (index->slots - 1)) {
        uint64_t entry = index->table[slot];
        if (!entry) return 0;
        if (entry >> 32 == tag && same(word_at(index, (int64_t)(uint32_t)entry - 1), key)) return (int64_t)(uint32_t)entry;
    }
}

/* Fills `starts` and `table` (all 0 before) for a file whose last line is ended. Returns 0, or the id of a word that is there twice. */
int64_t words_index(const uint8_t *words, uint32_t *starts, uint64_t *table, int64_t slots, uint64_t seed, int64_t size) {
    const Index index = {words, starts, table, slots, seed};
    const uint8_t *rest = words, *end = words + size;
    *starts = 0;
    for (int64_t id = 1; rest < end; id++) {
        Bytes word = line(&rest, end);
        starts[id] = (uint32_t)(rest - words);
        uint64_t value = hash(word, seed), tag = value >> 32;
        int64_t slot = (int64_t)(value & (uint64_t)(slots - 1));
        for (; table[slot]; slot = (slot + 1) & (slots - 1))
            if (table[slot] >> 32 == tag && same(word_at(&index, (int64_t)(uint32_t)table[slot] - 1), word)) return id;
        table[slot] = tag << 32 | (uint64_t)id;
    }
    return 0;
}

static int continues(uint8_t byte) { return (byte & 0xc0) == 0x80; } /* in UTF-8 */

static uint32_t character_at(const uint8_t *at) {
    if (*at < 0x80) return *at;
    if (*at < 0xe0) return (*at & 0x1fu) << 6 | (at[1] & 0x3fu);
    if (*at < 0xf0) return (*at & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    return (*at & 0x07u) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu);
}

static int64_t spell(Bytes token, const int32_t *ids, int64_t known, int64_t *to) { /* returns how many characters are read */
    const uint8_t space = ' ';
    if (!token.size) token = (Bytes){&space, 1};
    int64_t characters = 0, number = 0, count = 0;
    for (int64_t i = 0; i < token.size; i++) characters += !continues(token.at[i]);
    for (int64_t i = 0; i < token.size; i++) {
        if (continues(token.at[i])) continue;
        int64_t here = number++;
        if (characters > 2 * HALF && here >= HALF && here < characters - HALF) continue;
        uint32_t character = character_at(token.at + i);
        to[count++] = character < known ? ids[character] : 1;
    }
    return count;
}

/* What is known of `count` tokens, a token a line, the last without line break, in valid UTF-8. `keys` are they as words.txt would
 * have them, `fallback` likewise, to look up where that fails (NULL: nowhere). `ids` are those of characters by code point.
 *
 * With U distinct tokens, `found` is (4, count): the place of each token among the distinct ones; and of these, U numbers each, which
 * token is the first of its kind, the id of the word, and the number of characters, which follow each other in `characters`.
 * Returns U, or -1 where there is no memory. */
int64_t words_look_up(const uint8_t *words, const uint32_t *starts, const uint64_t *word_table, int64_t word_slots, uint64_t seed,
                      const uint8_t *tokens, int64_t size, const uint8_t *keys, int64_t keys_size, const uint8_t *fallback,
                      int64_t fallback_size, int64_t count, const int32_t *ids, int64_t known, int64_t *found,
                      int64_t *characters) {
    const Index index = {words, starts, word_table, word_slots, seed};
    const uint8_t *end = tokens + size, *keys_end = keys + keys_size, *fallback_end = fallback ? fallback + fallback_size : NULL;
    int64_t *place = found, *first = found + count, *word = first + count, *spelled = word + count;
    int64_t slots = 16, distinct = 0;
    while (slots < 2 * count) slots *= 2;
    uint64_t *table = calloc((size_t)slots, sizeof *table);
    Bytes *kinds = malloc((size_t)(count + 1) * sizeof *kinds);
    if (!table || !kinds) {
        free(table);
        free(kinds);
        return -1;
    }
    for (int64_t number = 0; number < count; number++) {
        Bytes token = line(&tokens, end), key = line(&keys, keys_end), other = {NULL, 0};
        if (fallback) other = line(&fallback, fallback_end);
        uint64_t value = hash(token, seed), tag = value >> 32;
        int64_t slot = (int64_t)(value & (uint64_t)(slots - 1));
        for (; table[slot]; slot = (slot + 1) & (slots - 1))
            if (table[slot] >> 32 == tag && same(kinds[(uint32_t)table[slot] - 1], token)) break;
        if (!table[slot]) {
            kinds[distinct] = token;
            first[distinct] = number;
            word[distinct] = word_id(&index, key);
            if (!word[distinct] && fallback) word[distinct] = word_id(&index, other);
            characters += spelled[distinct] = spell(token, ids, known, characters);
            table[slot] = tag << 32 | (uint64_t)++distinct;
        }
        place[number] = (int64_t)(uint32_t)table[slot] - 1;
    }
    free(table);
    free(kinds);
    return distinct;
}
