/* rights.c - see rights_private.h. With an ACL, the group's bits of a mode are the mask, the most
 * that any group and any named user has, and say nothing about the file's group. */
#include "base/rights_private.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A version, then entries: tag and permissions of two bytes each, and an id of four. */
enum { HEAD = 4, ENTRY = 8, MAX_ENTRIES = 128 };
enum { PERMISSIONS = 2 };
enum { OWNER = 0x01, MASK = 0x10, OTHERS = 0x20 }; /* tags: what chmod sets */

struct acl {
    unsigned char v[HEAD + ENTRY * MAX_ENTRIES];
    ssize_t n; /* 0 if there is none, -1 if we cannot know */
};

static const char acl_name[] = "system.posix_acl_access";

static ssize_t size(ssize_t n)
{
    return n >= 0 ? n : errno == ENODATA || errno == ENOTSUP ? 0 : -1;
}

static void acl_at(struct acl *a, int dir, const char *name)
{
    struct tf_buf path = {0};
    if (dir != AT_FDCWD)
        tf_buf_printf(&path, "/proc/self/fd/%d/", dir);
    tf_buf_str(&path, name);
    a->n = size(lgetxattr(path.p, acl_name, a->v, sizeof a->v));
    tf_buf_release(&path);
}

/* Are they the same after a chmod to the same mode? A directory may give all its files one ACL. */
static bool same_but_mode(const struct acl *a, const struct acl *b)
{
    if (a->n < 0 || a->n != b->n)
        return false;
    for (ssize_t i = HEAD; i < a->n; i++) {
        unsigned char tag = a->v[i - (i - HEAD) % ENTRY];
        bool by_mode = tag == OWNER || tag == MASK || tag == OTHERS;
        if (a->v[i] != b->v[i] && !(by_mode && (i - HEAD) % ENTRY == PERMISSIONS))
            return false;
    }
    return true;
}

/* What every entry but the owner's allows. */
static mode_t least(const struct acl *a)
{
    mode_t all = a->n < 0 ? 0 : 07;
    for (ssize_t i = HEAD; i + ENTRY <= a->n; i += ENTRY)
        if (a->v[i] != OWNER)
            all &= a->v[i + PERMISSIONS];
    return all;
}

/* Only a member of the group can do that. */
static bool set_group(int fd, gid_t group)
{
    struct stat st;
    return (fstat(fd, &st) == 0 && st.st_gid == group) || fchown(fd, (uid_t)-1, group) == 0;
}

int tf_rights_copy(int fd, int dir, const char *old, const struct stat *st)
{
    struct acl before, now;
    acl_at(&before, dir, old);
    now.n = size(fgetxattr(fd, acl_name, now.v, sizeof now.v));
    mode_t mode = st->st_mode & 0777;
    if (!set_group(fd, st->st_gid) || !same_but_mode(&before, &now)) {
        mode_t both = mode >> 3 & mode & least(&before);
        mode = (mode & 0700) | both << 3 | both;
    }
    return fchmod(fd, mode);
}
