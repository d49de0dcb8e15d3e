/* rights_private.h - group and permissions of a file that replaces another of the same owner. */
#ifndef TF_BASE_RIGHTS_PRIVATE_H
#define TF_BASE_RIGHTS_PRIVATE_H

#include <sys/stat.h>

/* Give the new file fd, which so far only we may open, the group and the permissions (without
 * set-id bits) of the file that it replaces: `old`, a path relative to the directory dir, and *st,
 * its state. ACLs are not copied. If we cannot give it the group, or if the two files have
 * different ACLs, group and others get only what everybody but the owner had: nobody has more
 * rights than before. Returns -1 with errno where fchmod fails. */
int tf_rights_copy(int fd, int dir, const char *old, const struct stat *st);

#endif
