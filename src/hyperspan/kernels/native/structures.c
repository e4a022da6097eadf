/* Exact inference over chains and over menus of gaps, for both types of numbers. */
#define real float
#include "numbers.h"
#include "chains.h"
#include "menus.h"
#undef real
#define real double
#include "numbers.h"
#include "chains.h"
#include "menus.h"
