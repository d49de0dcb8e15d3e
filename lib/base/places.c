/* places.c - see places.h. */
#include "base/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the environment of commands: the process that started them, and the descriptor. */
#define PLACES "TF_PLACES"

struct places {
    char name[4096];
    uint64_t line[TF_PLACES]; /* by number, of the last ones; 0: none */
    bool bad[TF_PLACES];
};

static struct places *ours;

int tf_places_begin(const char *name, struct tf_err *err)
{
    char value[64];
    const int fd = memfd_create("places", 0);
    if (fd < 0 || ftruncate(fd, sizeof *ours) != 0)
        return tf_fail_errno(err, "shared memory");
    void *p = mmap(NULL, sizeof *ours, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return tf_fail_errno(err, "shared memory");
    ours = p;
    snprintf(ours->name, sizeof ours->name, "%s", name);
    snprintf(value, sizeof value, "%ld %d", (long)getpid(), fd);
    setenv(PLACES, value, 1);
    return 0;
}

void tf_places_put(uint64_t number, uint64_t line)
{
    if (ours == NULL)
        return;
    ours->line[number % TF_PLACES] = line;
    ours->bad[number % TF_PLACES] = false;
}

bool tf_places_is_bad(uint64_t number)
{
    return ours != NULL && ours->bad[number % TF_PLACES];
}

/* What the process that started this one has noted, or NULL. */
static struct places *theirs(void)
{
    static struct places *found;
    struct stat st;
    const char *value = getenv(PLACES);
    long parent;
    int fd;
    if (found != NULL || value == NULL || sscanf(value, "%ld %d", &parent, &fd) != 2 ||
        parent != (long)getppid() || fstat(fd, &st) != 0 || st.st_size != sizeof *found)
        return found; /* of another version: none */
    void *p = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    found = p != MAP_FAILED ? p : NULL;
    return found;
}

struct tf_place_of tf_place(const char *input, const char *what, uint64_t number, uint64_t first)
{
    const struct places *p = theirs();
    const uint64_t line = p != NULL ? p->line[(number - first) % TF_PLACES] : 0;
    return line > 0 ? (struct tf_place_of){p->name, "line", line, true}
                    : (struct tf_place_of){input, what, number, false};
}

void tf_place_set_bad(uint64_t number, uint64_t first)
{
    struct places *p = theirs();
    if (p != NULL)
        p->bad[(number - first) % TF_PLACES] = true;
}
