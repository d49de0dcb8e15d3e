/* version.c - the Makefile takes both from the file VERSION, and the commit of a checkout from git.
 */
#include "base/version.h"

const char tf_version[] = TF_RELEASE;
const char tf_build[] = TF_RELEASE TF_COMMIT;
