/* amx_bf16_wide.c - amx_bf16.c with wide panels. */
#include "../harness/amx_wide.h"

#include "amx_bf16.c"
