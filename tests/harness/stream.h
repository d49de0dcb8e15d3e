/* stream.h - streams and models for tests: one sample of every kind, and streams of tokens. */
#ifndef TF_TESTS_STREAM_H
#define TF_TESTS_STREAM_H

#include "memory.h"
#include "stream/model.h"
#include "stream/writer.h"
#include "tap.h"

/* ---- reading ---- */

/* Read a whole stream with these flags of the reader. Returns the number of records before the end,
 * or -1 and the message. *digest (may be NULL) becomes a CRC of the header and the records. */
long read_all(const void *p, size_t n, unsigned flags, uint32_t *digest, struct tf_err *err);

/* The bytes of these hex digits into p; returns their number. */
size_t unhex(uint8_t *p, const char *hex);

/* ---- samples: the streams and models in formats/vectors ---- */

struct sample {
    const char *name; /* of the file in formats/vectors, without its suffix */
    uint8_t *p;
    size_t n;
};

enum { N_SAMPLES = 16 };
void make_samples(struct sample s[N_SAMPLES]);
void free_samples(struct sample s[N_SAMPLES]);

/* What the samples are made of: a header with one stage of provenance (values live in *a), the
 * vocabulary whose hash it carries, and two sentences. */
struct tf_header sample_header(struct tf_arena *a, const char *kind, int64_t size);
enum { SAMPLE_VOCAB_N = 40 };
extern const uint8_t sample_vocab[SAMPLE_VOCAB_N];
extern const uint32_t ids_a[5], ids_b[2], ids_wide[3];

/* Write a stream with the records of one letter: k tokens, t tokens with wide ids, p pairs,
 * b batches, n n-best lists, s scores, c stats, a attention, x bad records, y an ancillary record,
 * e an error at the end. */
void put_sample(struct tf_out *out, const char *kind, int letter);
/* The bytes of a memory_out as a sample; ends the output. */
struct sample end_sample(const char *name, struct tf_out *out);

/* ---- records and files that no tool writes this way ---- */

int write_pair(struct tf_writer *w, uint64_t idx, const uint32_t *src, size_t n_src,
               const uint32_t *tgt, size_t n_tgt, struct tf_err *err) TF_MUST_CHECK;
/* tf_model_put into a file. */
int write_model(const char *path, struct tf_header *h, const void *vocab, size_t vocab_n,
                const struct tf_state *states, size_t n_states, struct tf_tensor *tensors,
                size_t n_tensors, struct tf_err *err) TF_MUST_CHECK;

/* ---- streams in files ---- */

/* A header without provenance and with empty maps; every byte of the vocabulary's hash is `vocab`.
 */
void plain_header(struct tf_header *h, const char *kind, uint8_t vocab, int64_t size);

enum { TOKEN_LINE_V = 50 /* size of the vocabulary */ };
struct token_line {
    uint32_t ids[64];
    size_t n;
    int code; /* not 0: a bad record with this code */
    uint64_t idx;
};

/* A tokens stream of these lines: as a new file, or as one more part after those in the file. */
void write_tokens(const char *path, const struct token_line *v, size_t n, uint8_t vocab);
void append_tokens(const char *path, const struct token_line *v, size_t n, uint8_t vocab);

#endif
