/* What the menus of mentions with gaps weigh, in one pass over the scores of each sentence.
 *
 * What a menu is stands in structures/discontinuous_menus.py, which stands in where this is not compiled. All arrays are contiguous.
 * The items of a menu stand width by width, and what follows them word by word, so that both are added in one loop.
 */
#include "numbers.h"
#include "threads.h"

#define real float
#include "numbers_of.h"
#include "menus_of.h"
#undef real
#define real double
#include "numbers_of.h"
#include "menus_of.h"
