/* Memory in blocks of 64 bytes, as vectors want it: the first free block that is large enough, and neighbours become one again when they are
 * freed. There are never more than some hundred blocks, so that lists are short. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { UNIT = 64, PAGE = 65536 };

typedef struct Block { /* stands in the unit before the memory that it describes */
    size_t size;       /* in bytes, with this unit */
    struct Block *next;
} Block;

extern char __heap_base;
static Block *unused; /* by address */
static uintptr_t top; /* where memory ends */

static void put_back(Block *block) {
    Block **place = &unused, *before = NULL;
    while (*place && *place < block) before = *place, place = &(*place)->next;
    block->next = *place;
    *place = block;
    if (block->next && (char *)block + block->size == (char *)block->next) block->size += block->next->size, block->next = block->next->next;
    if (before && (char *)before + before->size == (char *)block) before->size += block->size, before->next = block->next;
}

static int grow(size_t size) {
    if (!top) top = ((uintptr_t)&__heap_base + UNIT - 1) / UNIT * UNIT;
    const uintptr_t end = __builtin_wasm_memory_size(0) * (uintptr_t)PAGE, room = end - top;
    const size_t pages = room >= size ? 0 : (size - room + PAGE - 1) / PAGE;
    if (pages && __builtin_wasm_memory_grow(0, pages) == (size_t)-1) return 0;
    Block *block = (Block *)top;
    block->size = room + pages * PAGE;
    top = end + pages * PAGE;
    put_back(block);
    return 1;
}

void *malloc(size_t wanted) {
    if (wanted > PTRDIFF_MAX - 2 * PAGE) return NULL;
    const size_t size = (wanted + UNIT - 1) / UNIT * UNIT + UNIT;
    for (int turn = 0; turn < 2; turn++) {
        for (Block **place = &unused; *place; place = &(*place)->next) {
            Block *block = *place;
            if (block->size < size) continue;
            if (block->size >= size + 2 * UNIT) {
                Block *rest = (Block *)((char *)block + size);
                *rest = (Block){block->size - size, block->next};
                *place = rest, block->size = size;
            } else
                *place = block->next;
            return (char *)block + UNIT;
        }
        if (!grow(size)) return NULL;
    }
    return NULL;
}

void free(void *memory) {
    if (memory) put_back((Block *)((char *)memory - UNIT));
}

void *aligned_alloc(size_t alignment, size_t size) { return alignment <= UNIT ? malloc(size) : NULL; }

void *calloc(size_t count, size_t size) {
    if (size && count > PTRDIFF_MAX / size) return NULL;
    void *found = malloc(count * size);
    return found ? memset(found, 0, count * size) : NULL;
}
