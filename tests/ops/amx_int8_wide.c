/* amx_int8_wide.c - amx_int8.c with wide panels. */
#include "../harness/amx_wide.h"

#include "amx_int8.c"
