/* list.h - a corpus of many files, of which one group at a time is in memory (tf-batch
 * --list). */
#ifndef TF_DATA_LIST_H
#define TF_DATA_LIST_H

#include "data/corpus.h"

/* By default a group has the most files of which any have at most so many records together: about
 * 2 GB in memory with 30 tokens a sentence. */
#define TF_LIST_GROUP_RECORDS ((uint64_t)8000000)

/* A line: source and target, or a stream of pairs. */
struct tf_list_line {
    const char *path[2];
    uint64_t records, base; /* base: number of the first one in the corpus */
    bool has_id;
    uint8_t id[32]; /* of struct tf_corpus, were it the only line */
    struct timespec modified[2]; /* of the files: stands in for an id */
};

/* Zero-initialised is empty. */
struct tf_list {
    char *name; /* of the list itself, for messages */
    char *text; /* the paths */
    struct tf_list_line *lines;
    size_t n, cap;
    int streams; /* in a line */
    /* By tf_list_open: */
    size_t group; /* files in a group; the last may have fewer */
    size_t n_groups;
    uint64_t records; /* of all files */
    bool has_id;
    uint8_t id[32];  /* SHA-256 over those of all lines */
    uint32_t *order; /* of the files of an epoch, group after group */
    bool loaded;     /* the only group is in memory */
};

/* Read a list ("-": stdin): lines of one path, or two with a tab between, all alike. */
int tf_list_read(struct tf_list *l, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* The same of the n bytes at text, which has a NUL after them. The list takes it. */
int tf_list_parse(struct tf_list *l, const char *name, char *text, size_t n,
                  struct tf_err *err) TF_MUST_CHECK;
void tf_list_release(struct tf_list *l);
/* Is the path, "-" or NULL too, one of the files? */
bool tf_list_has(const struct tf_list *l, const char *path);

/* Check the headers and ends of all files, and initialise the corpus for them. group: files in a
 * group; 0: the default. Release the corpus after a failure too. */
int tf_list_open(struct tf_list *l, struct tf_corpus *c, size_t group,
                 const struct tf_pair_filter *filter, struct tf_err *err) TF_MUST_CHECK;
/* Choose the groups of an epoch: a random permutation of the files. */
void tf_list_permute(struct tf_list *l, uint64_t seed, uint64_t epoch);
/* Replace the pairs in memory by those of group g, in the order of the list. Fails on a file that
 * is damaged, or not as it was in tf_list_open. */
int tf_list_load(struct tf_list *l, struct tf_corpus *c, size_t g,
                 struct tf_err *err) TF_MUST_CHECK;

#endif
