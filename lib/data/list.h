/* list.h - a corpus of many files, of which one group at a time is in memory (tf-batch --list), or
 * of a few that are read once (--corpus-weight). */
#ifndef TF_DATA_LIST_H
#define TF_DATA_LIST_H

#include "data/corpus.h"
#include "data/mix.h"

/* Most corpora in a list with weights. */
enum { TF_LIST_CORPORA = 4096 };
/* By default a group has the most files of which any have at most so many records together: about
 * 2 GB in memory with 30 tokens a sentence. */
#define TF_LIST_GROUP_RECORDS ((uint64_t)8000000)

/* A line: source and target, or a stream of pairs. */
struct tf_list_line {
    const char *path[2];
    uint32_t weight; /* in TF_MIX_ONE */
    size_t corpus;   /* among those of the list */
    uint64_t records, base; /* base: number of the first one in the corpus */
    bool has_id;
    uint8_t id[32]; /* of struct tf_corpus, were it the only line */
    struct timespec modified[2]; /* of the files: stands in for an id */
};

/* Lines that are counted together. */
struct tf_list_corpus {
    size_t first, n;  /* its lines: first .. first + n */
    uint64_t records; /* in its files */
    uint64_t pairs, tokens; /* that were written; tokens of the targets, EOS included */
};

/* Zero-initialised is empty. */
struct tf_list {
    char *name; /* of the list itself, for messages; NULL: it is the command line */
    char *text; /* the paths */
    struct tf_list_line *lines;
    size_t n, cap;
    int streams; /* in a line */
    struct tf_list_corpus *corpora;
    size_t n_corpora, cap_corpora;
    bool weighted; /* has a weight other than 1 */
    bool once; /* tf_list_open reads the files, all of them one group: they may be pipes */
    /* By tf_list_open: */
    size_t group; /* files in a group; the last may have fewer */
    size_t n_groups;
    uint64_t records; /* of all files */
    bool has_id;
    uint8_t id[32];  /* SHA-256 over those of all lines, and, if weighted, over their weights */
    uint32_t *order; /* of the files of an epoch, group after group */
    bool loaded;     /* the only group is in memory */
    /* how often each pair in memory comes in an epoch (tf_list_draw), or NULL */
    uint16_t *times;
    size_t cap_times;
};

/* Append a line, which begins a corpus; the paths are borrowed. target: NULL for a stream of pairs.
 * All lines must be alike. */
int tf_list_add(struct tf_list *l, const char *source, const char *target, uint32_t weight,
                struct tf_err *err) TF_MUST_CHECK;
/* Read a list ("-": stdin): lines of one path, or two with a tab between, all alike, and then
 * perhaps one more tab and a weight. Lines of one weight that follow each other are a corpus. */
int tf_list_read(struct tf_list *l, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* The same of the n bytes at text, which has a NUL after them. The list takes it. */
int tf_list_parse(struct tf_list *l, const char *name, char *text, size_t n,
                  struct tf_err *err) TF_MUST_CHECK;
void tf_list_release(struct tf_list *l);
/* Is the path, "-" or NULL too, one of the files? */
bool tf_list_has(const struct tf_list *l, const char *path);

/* Check the headers and ends of all files, or with `once` read them. The corpus is that of
 * tf_corpus_init; only with `once` it may have links and weights. group: files in a group; 0: the
 * default. Release the corpus after a failure too. */
int tf_list_open(struct tf_list *l, struct tf_corpus *c, size_t group,
                 struct tf_err *err) TF_MUST_CHECK;
/* Name a corpus: "a.en.tfs", "a.en.tfs and 31 more". Append it. */
void tf_list_name(struct tf_buf *b, const struct tf_list *l, size_t corpus);
/* The corpus of the record with this number. */
struct tf_list_corpus *tf_list_corpus_of(struct tf_list *l, uint32_t idx);
/* Choose the groups of an epoch: a random permutation of the files. */
void tf_list_permute(struct tf_list *l, uint64_t seed, uint64_t epoch);
/* Replace the pairs in memory by those of group g, in the order of the list. Fails on a file that
 * is damaged, or not as it was in tf_list_open. */
int tf_list_load(struct tf_list *l, struct tf_corpus *c, size_t g,
                 struct tf_err *err) TF_MUST_CHECK;
/* Set l->times for the pairs in memory, if the list is weighted. */
int tf_list_draw(struct tf_list *l, const struct tf_corpus *c, uint64_t seed, uint64_t epoch,
                 struct tf_err *err) TF_MUST_CHECK;

#endif
