/* stream_hostile.c - false lengths and counts, and encodings that are unusual but valid. Each is
 * refused with a reason, quickly and with little memory, or accepted. Bytes are given as hex
 * digits, 'text' as a text string, and (name) for the pieces below. */
/* tags: no-emulator */
#include "../harness/stream.h"
#include "base/sanitize_private.h"
#include "stream/model.h"

#include <sys/resource.h>
#include <time.h>

struct hostile {
    const char *bytes, *why; /* why NULL: accepted */
};

#define LABEL "d9d9f8da5446535443424f52"
#define TOKENS LABEL "82 00 a3 'v'01 'kind''tokens' 'size'0a "
#define PAIRS LABEL "82 00 a3 'v'01 'kind''pairs' 'size'0a "
#define NBEST LABEL "82 00 a2 'v'01 'kind''nbest' "
#define SCORES LABEL "82 00 a2 'v'01 'kind''scores' "
#define ATTN LABEL "82 00 a2 'v'01 'kind''attention' "
#define BATCH LABEL "82 00 a3 'v'01 'kind''batch' 'size'0a "
#define OTHER LABEL "82 00 a2 'v'01 'kind''mine' "
#define MODEL LABEL "82 00 a2 'v'01 'kind''model' "
#define END0 "83 0f 00 f6"
#define END1 "83 0f 01 f6"
#define END2 "83 0f 02 f6"
#define Z24 "5818 000000000000000000000000000000000000000000000000 "
#define W "86 06 'p/w' 'f32' " Z24 "d828 82 81 01 d855 44 0000803f f6 "
#define IDX1 "'idx' d846 44 00000000 "
#define SRC2 "'src' d845 44 01000200 "
#define TGT1 "'tgt' d845 42 0300 "
#define CURSOR "'epoch' 00 'record' 01 "
#define SOFF "'src_off' d846 48 0000000002000000 "
#define TOFF "'tgt_off' d846 48 0000000001000000 "
#define ONE_BATCH(head, fields) BATCH "84 03 00 " head fields "f6 " END1

static const struct hostile streams[] = {
    /* no stream */
    {"", "truncated: no stream"},
    {"d9d9f8", "truncated in the label"},
    {"d9d9f7da5446535443424f52", "not a stream"},
    {"1f8b0800", "not a stream"},
    {LABEL, "truncated"},
    /* lengths */
    {TOKENS "9bffffffffffffffff", "more items than the limit"},
    {TOKENS "9b7fffffffffffffff", "more items than the limit"},
    {TOKENS "9a04000001", "more items than the limit"},
    {TOKENS "9a01000000 01", "truncated"},
    {TOKENS "bbffffffffffffffff", "more items than the limit"},
    {TOKENS "bb8000000000000000", "more items than the limit"},
    {TOKENS "83 01 00 d845 5bffffffffffffffff", "longer than the limit"},
    {TOKENS "83 01 00 d845 5b7fffffffffffffff", "longer than the limit"},
    {TOKENS "83 01 00 d845 5b00000000ffffffff", "longer than the limit"},
    {TOKENS "83 01 00 d845 5a04000000", "longer than the limit"},
    {TOKENS "83 01 00 d845 5a03fffff0 00", "truncated"},
    {TOKENS "83 01 00 9a00200000 00", "truncated"},
    {TOKENS "84 09 00 01 7bffffffffffffffff", "longer than the limit"},
    {TOKENS "7bffffffffffffffff", "longer than the limit"},
    {TOKENS "83 01 00 d845 5a00200002 00", "truncated"},
    /* depth and forms */
    {TOKENS "818181818181818181 00", "nested too deeply"},
    {TOKENS "c1c1c1c1c1c1c1c1c1 00", "nested too deeply"},
    {TOKENS "a1a1a1a1a1a1a1a1a1 00", "nested too deeply"},
    {TOKENS "83 01 00 9f 01 ff", "indefinite"},
    {TOKENS "9f 01 00 80 ff", "indefinite"},
    {TOKENS "bf ff", "indefinite"},
    {TOKENS "5f 40 ff", "indefinite"},
    {TOKENS "7f 60 ff", "indefinite"},
    {TOKENS "ff", "indefinite"},
    {TOKENS "1c", "reserved"},
    {TOKENS "3d", "reserved"},
    {TOKENS "9e", "reserved"},
    {TOKENS "dc", "reserved"},
    {TOKENS "fc", "reserved"},
    {TOKENS "83 01 f810 80", "reserved simple"},
    /* types */
    {TOKENS "80 " END0, "not an array that begins with a type"},
    {TOKENS "01 " END0, "not an array that begins with a type"},
    {TOKENS "a0 " END0, "not an array that begins with a type"},
    {TOKENS "83 20 00 80 " END1, "not an array that begins with a type"},
    {TOKENS "83 'x' 00 80 " END1, "not an array that begins with a type"},
    {TOKENS "83 f93c00 00 80 " END1, "not an array that begins with a type"},
    {TOKENS "83 1b00000001 00000001 00 80 " END1, "not an array that begins with a type"},
    {TOKENS "83 0b 00 80 " END1, "stats in a stream of kind tokens"},
    {TOKENS "82 08 a0 " END1, "unknown type 8"},
    {TOKENS "83 0c 00 80 " END1, "unknown type 12"},
    {TOKENS "83 10 00 80 " END1, "unknown type 16"},
    {TOKENS "83 183f 00 80 " END1, "unknown type 63"},
    {TOKENS "82 00 a0 " END1, "header in a stream of kind tokens"},
    {TOKENS "84 02 00 80 80 " END1, "pair in a stream of kind tokens"},
    {TOKENS W END1, "tensor in a stream of kind tokens"},
    {OTHER W END1, "tensor in a stream of kind mine"},
    {TOKENS "84 07 'x' 00 f6 " END1, "state in a stream of kind tokens"},
    /* fields of tokens */
    {TOKENS "81 01 " END1, "fewer than 3 items"},
    {TOKENS "82 01 00 " END1, "fewer than 3 items"},
    {TOKENS "83 01 20 80 " END1, "idx: not an unsigned integer"},
    {TOKENS "83 01 'x' 80 " END1, "idx: not an unsigned integer"},
    {TOKENS "83 01 00 'x' " END1, "ids: not a list of ids"},
    {TOKENS "83 01 00 40 " END1, "ids: not a list of ids"},
    {TOKENS "83 01 00 d841 42 0001 " END1, "unknown tag"},
    {TOKENS "83 01 00 d842 44 00000001 " END1, "unknown tag"},
    {TOKENS "83 01 00 d848 41 01 " END1, "unknown tag"},
    {TOKENS "83 01 00 d855 44 0000803f " END1, "unknown tag"},
    {TOKENS "83 01 00 d845 80 " END1, "not a list of ids"},
    {TOKENS "83 01 00 d845 43 010203 " END1, "bytes left over"},
    {TOKENS "83 01 00 d846 45 0102030405 " END1, "bytes left over"},
    {TOKENS "83 01 00 81 1b0000000100000000 " END1, "not a 32-bit number"},
    {TOKENS "83 01 00 81 20 " END1, "not a 32-bit number"},
    {TOKENS "83 01 00 81 f93c00 " END1, "not a 32-bit number"},
    {TOKENS "83 01 00 d847 48 0000000001000000 " END1, "not a 32-bit number"},
    /* others */
    {PAIRS "84 02 00 81 0a 80 " END1, "id 10 in a vocabulary of 10"},
    {PAIRS "84 02 00 80 d845 42 ffff " END1, "id 65535 in a vocabulary of 10"},
    {PAIRS "83 02 00 80 " END1, "fewer than 4 items"},
    {TOKENS "83 09 00 01 " END1, "fewer than 4 items"},
    {TOKENS "84 09 00 01 62c328 " END1, "not UTF-8"},
    {TOKENS "84 09 00 01 6100 " END1, "not UTF-8"},
    {TOKENS "84 09 00 1b0000010000000000 'x' " END1, "code: too large"},
    {TOKENS "84 09 00 00 'x' " END1, "code: too small"},
    {TOKENS "84 09 00 20 'x' " END1, "code: not an unsigned integer"},
    {NBEST "83 04 00 a0 " END1, "hyps: not an array"},
    {NBEST "83 04 00 81 82 80 00 " END1, "fewer than 3 items"},
    {NBEST "83 04 00 81 83 80 'x' 00 " END1, "score: not a number"},
    {NBEST "83 04 00 81 84 81 01 00 00 81 00 " END1, "token_logp: 1 numbers, expected 2"},
    {NBEST "83 04 00 9a00010001 00", "truncated"},
    {SCORES "83 0a 00 'x' " END1, "logp: not a number"},
    {SCORES "84 0a 00 00 d854 43 000000 " END1, "bytes left over"},
    {SCORES "84 0a 00 00 81 f5 " END1, "not a number"},
    {SCORES "84 0a 00 00 81 fb7e37e43c8800759c " END1, "a number that f32 can't hold"},
    {SCORES "84 0a 00 00 d856 48 9c7500883ce4377e " END1, "a number that f32 can't hold"},
    {TOKENS "88 05 00 'cross' 01 80 80 80 80 " END1, "attention in a stream of kind tokens"},
    {ATTN "83 01 00 80 " END1, "tokens in a stream of kind attention"},
    {ATTN "81 05 " END1, "fewer than 8 items"},
    {ATTN "87 05 00 'cross' 01 80 80 80 " END1, "fewer than 8 items"},
    {ATTN "88 05 20 'cross' 01 80 80 80 80 " END1, "idx: not an unsigned integer"},
    {ATTN "88 05 00 00 01 80 80 80 80 " END1, "kind: not text"},
    {ATTN "88 05 00 62c328 01 80 80 80 80 " END1, "kind: text that is not UTF-8"},
    {ATTN "88 05 00 'cross' 20 80 80 80 80 " END1, "layer: not an unsigned integer"},
    {ATTN "88 05 00 'cross' f93c00 80 80 80 80 " END1, "layer: not an unsigned integer"},
    {ATTN "88 05 00 'cross' 01 'x' 80 80 80 " END1, "heads: not a list of ids"},
    {ATTN "88 05 00 'cross' 01 01 80 80 80 " END1, "heads: not a list of ids"},
    {ATTN "88 05 00 'cross' 01 81 20 80 80 80 " END1, "heads: an id that is not a 32-bit number"},
    {ATTN "88 05 00 'cross' 01 81 f93c00 80 80 80 " END1,
     "heads: an id that is not a 32-bit number"},
    {ATTN "88 05 00 'cross' 01 d855 44 0000803f 80 80 80 " END1, "heads: ids under an unknown tag"},
    {ATTN "88 05 00 'cross' 01 d846 43 010000 80 80 80 " END1, "heads: bytes left over"},
    {ATTN "88 05 00 'cross' 01 80 'x' 80 80 " END1, "rows: not an array"},
    {ATTN "88 05 00 'cross' 01 80 a0 80 80 " END1, "rows: not an array"},
    {ATTN "88 05 00 'cross' 01 80 81 01 80 80 " END1, "rows: not text"},
    {ATTN "88 05 00 'cross' 01 80 81 4161 80 80 " END1, "rows: not text"},
    {ATTN "88 05 00 'cross' 01 80 81 62c328 80 80 " END1, "rows: text that is not UTF-8"},
    {ATTN "88 05 00 'cross' 01 80 81 6100 80 80 " END1, "rows: text that is not UTF-8 without NUL"},
    {ATTN "88 05 00 'cross' 01 80 80 f6 80 " END1, "columns: not an array"},
    {ATTN "88 05 00 'cross' 01 80 80 82 'x' 80 80 " END1, "columns: not text"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' 'x' " END1, "weights: not a list of numbers"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' f6 " END1, "weights: not a list of numbers"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' 81 f5 " END1, "weights: not a number"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' d846 44 01000000 " END1,
     "weights: numbers under an unknown tag"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' d855 43 000000 " END1,
     "weights: bytes left over"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' 80 " END1,
     "weights: 0 numbers, expected 1"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 82 'b' 60 83 000000 " END1,
     "weights: 3 numbers, expected 2"},
    {ATTN "88 05 00 'cross' 01 80 81 'a' 81 'b' 81 00 " END1,
     "weights: 1 numbers, expected 0"},
    {ATTN "88 05 00 'cross' 01 82 0102 81 'a' 81 'b' d855 44 0000803f " END1,
     "weights: 1 numbers, expected 2"},
    {ATTN "88 05 00 'cross' 01 80 9a00010001 60", "truncated"},
    {ATTN "88 05 00 'cross' 01 80 9affffffff 60", "more items than the limit"},
    {ATTN "88 05 00 'cross' 01 80 80 9b7fffffffffffffff", "more items than the limit"},
    {ATTN "88 05 00 'cross' 01 9a00200000 00", "truncated"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' d855 5bffffffffffffffff",
     "longer than the limit"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' d855 5a03f00000 0000803f", "truncated"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' 9a03000000 00", "truncated"},
    {ATTN "88 05 00 7bffffffffffffffff", "longer than the limit"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' d855 44 000080", "truncated"},
    {ATTN "88 05 00 'cross' 01 81 01 81", "truncated"},
    {ATTN "88 05 00 'cross' 01 81 01 81 'a' 81 'b' d855 44 0000803f ", "truncated"},
    {TOKENS "83 0e 01 40 ", "error record"},
    {TOKENS "83 0e 01 'boom' ", "upstream failed: boom"},
    /* checks and ends */
    {TOKENS "83 01 00 80 83 0d 02 f6 ", "1 records before the check"},
    {TOKENS "83 01 00 80 83 0d 00 f6 ", "1 records before the check"},
    {TOKENS "83 0d 00 00 ", "damaged"},
    {TOKENS "83 0d 00 1b0000000100000000 ", "malformed check"},
    {TOKENS "83 0d 00 'x' ", "malformed check"},
    {TOKENS "82 0d 00 ", "malformed check"},
    {TOKENS "84 0d 00 f6 f6 ", "malformed check"},
    {TOKENS "83 0d f6 f6 ", "malformed check"},
    {TOKENS "83 0f 01 f6 ", "0 records before the end"},
    {TOKENS "83 0f 00 00 ", "damaged"},
    {TOKENS "84 0f 00 f6 f6 ", "malformed end"},
    {TOKENS END0 "00", "bytes after the end"},
    {TOKENS END0 LABEL, "truncated"},
    {TOKENS END0 PAIRS END0, "a part of kind pairs follows one of kind tokens"},
    /* headers */
    {LABEL "80", "no header"},
    {LABEL "00", "no header"},
    {LABEL "82 01 a0", "no header"},
    {LABEL "81 00", "no header"},
    {LABEL "83 00 a2 'v'01 'kind''tokens' 00", "no header"},
    {LABEL "82 00 80", "not a map"},
    {LABEL "82 00 a0", "v: missing"},
    {LABEL "82 00 a2 'v'02 'kind''tokens'", "version 2 of the format is newer"},
    {LABEL "82 00 a2 'v'00 'kind''tokens'", "v: 0: too small"},
    {LABEL "82 00 a2 'v''1' 'kind''tokens'", "v: not an integer"},
    {LABEL "82 00 a2 'v'f97e00 'kind''tokens'", "v: not an integer"},
    {LABEL "82 00 a1 'v'01", "kind: missing"},
    {LABEL "82 00 a2 'v'01 'kind'01", "kind: not text"},
    {LABEL "82 00 a2 'v'01 'kind'60", "kind: missing"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'vocab'43000000", "vocab: not a SHA-256"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'vocab''abc'", "vocab: not a SHA-256"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'size'20", "size: -1: too small"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'size'1b0000010000000000",
     "size: 1099511627776: too large"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'size'f97e00", "size: not an integer"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'special'80", "special: not a map"},
    {LABEL "82 00 a4 'v'01 'kind''tokens' 'size'03 'special'a1 'eos'03", "eos: 3: too large"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'special'a1 'eos'20", "eos: -1: too small"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'config'80", "config: not a map"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'made'a0", "made: not an array"},
    {LABEL "82 00 a3 'v'01 'v'01 'kind''tokens'", "twice"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 01 01", "not text"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 61ff 01", "not text"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'x' 1b8000000000000000", "64 bits"},
    {LABEL "82 00 bf ff", "indefinite"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'x' 9affffffff", "more items than the limit"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'x' 818181818181818100", "nested too deeply"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'lang' 01", "lang: not text"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'lang' 60", "lang: no language label"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'lang' 62 1b63", "lang: no language label"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'target_lang' 61 2f", "target_lang: no language label"},
    {LABEL "82 00 a3 'v'01 'kind''tokens' 'lang' 7824"
           "616161616161616161616161616161616161616161616161616161616161616161616161",
     "lang: no language label"},
    /* batches */
    {ONE_BATCH("a7", "'idx'f6 " SRC2 TGT1 CURSOR SOFF TOFF), "idx: not a list"},
    {ONE_BATCH("a6", SRC2 TGT1 CURSOR SOFF TOFF), "idx: missing"},
    {ONE_BATCH("a6", IDX1 SRC2 TGT1 "'epoch' 00 " SOFF TOFF), "record: missing"},
    {ONE_BATCH("a8", IDX1 IDX1 SRC2 TGT1 CURSOR SOFF TOFF), "idx: twice"},
    {ONE_BATCH("a7", IDX1 "'src' d845 44 01000a00 " TGT1 CURSOR SOFF TOFF),
     "src: id 10 in a vocabulary of 10"},
    {ONE_BATCH("a7", IDX1 SRC2 TGT1 CURSOR "'src_off' d846 48 0100000002000000 " TOFF),
     "src_off: does not run"},
    {ONE_BATCH("a7", IDX1 SRC2 TGT1 CURSOR "'src_off' d846 48 0000000003000000 " TOFF),
     "src_off: does not run"},
    {ONE_BATCH("a7", IDX1 SRC2 TGT1 CURSOR "'src_off' d846 44 00000000 " TOFF),
     "src_off: does not run"},
    {ONE_BATCH("a7", IDX1 SRC2 TGT1 CURSOR "'src_off' 80 " TOFF), "src_off: does not run"},
    {ONE_BATCH("a7", IDX1 SRC2 TGT1 CURSOR SOFF "'tgt_off' 83 00 01 01 "), "tgt_off: does not run"},
    {ONE_BATCH("a8", IDX1 SRC2 TGT1 CURSOR SOFF TOFF "'links' 82 00 00 "), "links_off: missing"},
    {ONE_BATCH("a8", IDX1 SRC2 TGT1 CURSOR SOFF TOFF "'links_off' 82 00 02 "), "links: missing"},
    {ONE_BATCH("a9", IDX1 SRC2 TGT1 CURSOR SOFF TOFF "'links' 82 00 00 'links_off' 82 00 01 "),
     "links_off: does not run"},
    {ONE_BATCH("a8", IDX1 SRC2 TGT1 CURSOR SOFF TOFF "'weights' 80 "),
     "weights: 0 numbers, expected 1"},
    {ONE_BATCH("a8", "'weights' 82 01 01 " IDX1 SRC2 TGT1 CURSOR SOFF TOFF),
     "weights: 2 numbers, expected 1"},
    {ONE_BATCH("a8", IDX1 SRC2 TGT1 CURSOR SOFF TOFF "'weights' f6 "),
     "weights: not a list of numbers"},
    {ONE_BATCH("a7", "'idx' 82 00 01 " SRC2 TGT1 CURSOR "'src_off' 83 00 05 02 "
                     "'tgt_off' 83 00 01 01 "),
     "src_off: falls"},
    {ONE_BATCH("a8", IDX1 SRC2 TGT1 CURSOR SOFF TOFF "'corpus' 40 "), "corpus: not a SHA-256"},
    {ONE_BATCH("a7", IDX1 SRC2 TGT1 "'epoch' 20 'record' 01 " SOFF TOFF),
     "epoch: not an unsigned integer"},
    {BATCH "84 03 'x' a0 f6 " END1, "ordinal: not an unsigned integer"},
    {BATCH "84 03 00 a7 " IDX1 SRC2 TGT1 CURSOR SOFF TOFF "00 " END1, "damaged"},
    {BATCH "84 03 00 a7 " IDX1 SRC2 TGT1 CURSOR SOFF TOFF "20 " END1, "crc: not a 32-bit number"},
    {BATCH "83 03 00 a0 " END1, "fewer than 4 items"},
    /* unusual, but valid */
    {ONE_BATCH("a8", "'weights' 81 01 " IDX1 SRC2 TGT1 CURSOR SOFF TOFF), NULL},
    {TOKENS END0, NULL},
    {TOKENS "83 01 00 80 " END1, NULL},
    {TOKENS "83 01 00 83 01 1805 190009 " END1, NULL},
    {TOKENS "9803 1801 190000 d90045 590002 0300 " END1, NULL},
    {TOKENS "83 01 00 d840 42 0102 " END1, NULL},
    {TOKENS "83 01 00 d847 48 0300000000000000 " END1, NULL},
    {TOKENS "83 01 1bffffffffffffffff 80 " END1, NULL},
    {TOKENS "87 01 00 80 f6 f6 f6 a1 'text''ab' " END1, NULL},
    {TOKENS "85 01 00 80 f6 a1 'text''ab' " END1, "source: not a list"},
    {TOKENS "86 01 00 80 f6 80 81 f5 " END1, "alignment: not a number"},
    {TOKENS "84 01 00 80 03 " END1, NULL},
    {TOKENS "84 01 00 80 20 " END1, "cut: not an unsigned integer"},
    /* ids beyond the size of the vocabulary: the tools make bad records of them */
    {TOKENS "83 01 00 81 1863 " END1, NULL},
    {TOKENS "82 1840 00 " END1, NULL},
    {TOKENS "82 193039 00 83 01 00 80 83 0d 02 f6 " END2, NULL},
    {TOKENS "83 0d 00 f6 83 0d 00 f6 " END0, NULL},
    {TOKENS END0 TOKENS END0, NULL},
    {OTHER "83 01 00 80 84 02 00 80 80 " END2, NULL},
    {NBEST "83 04 00 81 83 80 f93c00 fb3ff199999999999a " END1, NULL},
    {NBEST "83 04 00 81 84 81 01 20 00 82 20 f93c00 " END1, NULL},
    {NBEST "83 04 00 80 " END1, NULL},
    {ATTN "88 05 00 60 00 80 80 80 80 " END1, NULL},
    {ATTN "88 05 00 'cross' 01 81 01 80 81 'b' d855 40 " END1, NULL},
    {ATTN "88 05 00 'cross' 01 80 82 'a' 60 81 'b' d856 40 " END1, NULL},
    {ATTN "8a 05 00 'x' 01 82 0102 82 'a' 'a' 81 60 84 01 00 f93800 20 a0 f6 " END1, NULL},
    {SCORES "84 0a 00 20 d854 42 003c " END1, NULL},
    {SCORES "84 0a 00 20 d856 48 000000000000f03f " END1, NULL},
    {SCORES "84 0a 00 20 f6 " END1, NULL},
    {ONE_BATCH("a7", IDX1 SRC2 TGT1 CURSOR SOFF TOFF), NULL},
    {ONE_BATCH("a8", "'x' 00 " IDX1 "'src' 82 01 02 'tgt' 81 03 " CURSOR
                     "'src_off' 82 00 02 'tgt_off' d840 42 0001 "),
     NULL},
    {LABEL "82 00 a3 'kind''tokens' 'v'01 'z' c6 01 " END0, NULL},
};

static const struct hostile models[] = {
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 82 1b8000000000000000 02 d855 44 00000000 f6 " END1,
     "product is too large"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 82 1b0000000100000000 1b0000000100000000 d855 44 00000000 "
           "f6 " END1,
     "product is too large"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 83 1b0000000080000000 1b0000000080000000 04 d855 44 "
           "00000000 f6 " END1,
     "product is too large"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 82 1bffffffffffffffff 1bffffffffffffffff d855 44 00000000 "
           "f6 " END1,
     "product is too large"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 00 d855 40 f6 " END1, "not positive"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 82 00 01 d855 44 00000000 f6 " END1, "not positive"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 20 d855 44 00000000 f6 " END1, "not positive"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 'x' d855 44 00000000 f6 " END1, "not positive"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 89 010101010101010101 d855 44 00000000 f6 " END1,
     "too many dims"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 9bffffffffffffffff d855 44 00000000 f6 " END1,
     "more items"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 02 d855 44 00000000 f6 " END1, "do not fit the length"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 01 d855 43 000000 f6 " END1, "do not fit the length"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 01 d855 5bffffffffffffffff", "do not fit the length"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 1b1000000000000000 d855 5b4000000000000000 00",
     "truncated"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 1a10000000 d855 5a40000000 00", "truncated"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 01 d845 44 00000000 f6 " END1, "not the dtype's"},
    {MODEL "86 06 'p/w' 'bf16' 40 d828 82 81 02 d855 44 00000000 f6 " END1, "not the dtype's"},
    {MODEL "86 06 'p/w' 'f31' 40 d828 82 81 01 d855 44 00000000 f6 " END1, "unknown dtype"},
    {MODEL "86 06 'p/w' 'float32-or-more' 40 d828 82 81 01 d855 44 00000000 f6 " END1,
     "unknown dtype"},
    {MODEL "86 06 'p/w' 01 40 d828 82 81 01 d855 44 00000000 f6 " END1, "not text"},
    {MODEL "86 06 60 'f32' 40 d828 82 81 01 d855 44 00000000 f6 " END1, "a name of no"},
    {MODEL "86 06 7bffffffffffffffff", "longer"},
    {MODEL "86 06 61ff 'f32' 40 d828 82 81 01 d855 44 00000000 f6 " END1, "not UTF-8"},
    {MODEL "86 06 'p/w' 'f32' 5bffffffffffffffff", "longer"},
    {MODEL "86 06 'p/w' 'f32' 'x' d828 82 81 01 d855 44 00000000 f6 " END1, "not a byte string"},
    {MODEL "86 06 'p/w' 'f32' 40 d829 82 81 01 d855 44 00000000 f6 " END1, "tag 40"},
    {MODEL "86 06 'p/w' 'f32' 40 82 81 01 d855 44 00000000 f6 " END1, "tag 40"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 83 81 01 d855 44 00000000 00 f6 " END1, "tag 40"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 01 d855 81 00 f6 " END1, "not a byte string"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 01 d855 44 00000000 f6 84 07 'step' 01 f6 830f02f6",
     "state step comes after a tensor"},
    {MODEL "85 06 'p/w' 'f32' 40 d828 82 81 01 d855 44 0000803f " END1, "not a tensor of 6 items"},
    {MODEL "9bffffffffffffffff 06 'p/w' 'f32' 40 d828 82 81 01 d855 44 0000803f f6 " END1,
     "not a tensor of 6 items"},
    {MODEL "8a 06 'p/w' 'f32' 40 d828 82 81 01 d855 44 0000803f f6 " END1, "truncated"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 01 d855 44 0000803f 00 " END1, "tensor p/w is damaged"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 01 d855 44 0000803f 'x' " END1,
     "not a 32-bit number or null"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 01 d855 44 0000c07f f6 " END1, "not finite"},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 81 01 d855 44 000080ff f6 " END1, "not finite"},
    {MODEL "86 06 'p/w' 'bf16' 40 d828 82 81 02 d845 44 803f 807f f6 " END1, "not finite"},
    {MODEL "86 06 'p/w' 'f16' 40 d828 82 81 01 d854 42 007c f6 " END1, "not finite"},
    {MODEL "86 06 'p/w' 'f64' 40 d828 82 81 01 d856 48 000000000000f07f f6 " END1, "not finite"},
    {MODEL W W END2, "tensor p/w: twice"},
    {MODEL W END2, "1 records before the end"},
    {MODEL W "83 0f 01 00", "damaged"},
    {MODEL W END1 "00", "bytes after the end"},
    {MODEL W END1 MODEL W END1, "bytes after the end"},
    {MODEL "84 07 'step' 01 f6 84 07 'step' 02 f6 " END2, "state step: twice"},
    {MODEL "84 07 'step' 01 00 " END1, "damaged"},
    {MODEL "83 07 'step' 01 " END1, "fewer than 4 items"},
    {MODEL "84 07 01 01 f6 " END1, "name: not text"},
    {MODEL "84 07 60 01 f6 " END1, "a name of no"},
    {MODEL "84 07 'step' a2 'a'01 'a'02 f6 " END1, "twice"},
    {MODEL "84 07 'step' 1b8000000000000000 f6 " END1, "64 bits"},
    {MODEL "84 07 'step' 8181818181818181 00 f6 " END1, "nested too deeply"},
    {MODEL "84 07 'step' 9affffffff", "more items than the limit"},
    {MODEL "84 07 'vocab' 5bffffffffffffffff", "longer than the limit"},
    {MODEL "84 07 'vocab' 40 f6 " END1, "a vocabulary of 0 bytes"},
    {MODEL "84 07 'vocab' 01 f6 " END1, "not a byte string"},
    {MODEL "84 07 'vocab_target' 40 f6 " END1, "a vocabulary of 0 bytes"},
    {MODEL "84 07 'vocab_target' 01 f6 " END1, "state vocab_target: not bytes"},
    {MODEL "84 07 'vocab' 41ff f6 84 07 'vocab' 41ff f6 " END2, "two vocabularies"},
    {LABEL
     "82 00 a3 'v'01 'kind''model' 'vocab' 5820 "
     "0000000000000000000000000000000000000000000000000000000000000000 84 07 'vocab' 41ff f6 " END1,
     "differs from the header's"},
    {LABEL "82 00 a3 'v'01 'kind''model' 'model' 5820 "
           "0000000000000000000000000000000000000000000000000000000000000000 " W END1,
     "fingerprint is"},
    {TOKENS END0, "kind is tokens, expected model or checkpoint"},
    {MODEL "83 01 00 80 " END1, "tokens in a stream of kind model"},
    {MODEL "83 10 00 80 " END1, "unknown type 16"},
    {MODEL "83 0e 01 'boom' ", "upstream failed: boom"},
    {MODEL "80", "not an array that begins with a type"},
    {MODEL, "truncated"},
    {"", "truncated: no stream"},
    /* unusual, but valid */
    {MODEL END0, NULL},
    {MODEL W END1, NULL},
    {MODEL "87 06 'p/w' 'f32' 40 d828 82 81 01 d855 44 0000803f f6 a0 " END1, NULL},
    {MODEL "86 06 'p/w' 'f32' 40 d828 82 80 d855 44 0000803f f6 " END1, NULL},
    {MODEL "9806 1806 'p/w' 'f32' 5800 d90028 9802 9801 1801 d90055 590004 0000803f f6 " END1,
     NULL},
    {MODEL "82 1840 00 84 07 'vocab' 41ff f6 " W "83 0d 03 f6 83 0f 03 f6 ", NULL},
};

/* Convert the notation to bytes. */
static size_t make(uint8_t *p, size_t cap, const char *s)
{
    size_t n = 0;
    unsigned x;
    while (*s) {
        if (*s == ' ') {
            s++;
        } else if (*s == '\'') {
            const char *end = strchr(++s, '\'');
            size_t len = (size_t)(end - s);
            TF_ASSERT(len < 24 && n + 1 + len <= cap);
            p[n++] = (uint8_t)(0x60 + len);
            memcpy(p + n, s, len);
            n += len;
            s = end + 1;
        } else {
            TF_ASSERT(sscanf(s, "%2x", &x) == 1 && s[1] && s[1] != ' ' && n < cap);
            p[n++] = (uint8_t)x;
            s += 2;
        }
    }
    return n;
}

static void judge(const struct hostile *h, long got, const char *msg, const char *how)
{
    char begin[64];
    const char *tail =
        strncmp(h->bytes, LABEL, strlen(LABEL)) != 0 ? h->bytes : h->bytes + strlen(LABEL);
    snprintf(begin, sizeof begin, "%.56s", tail);
    if (!h->why)
        ok(got >= 0, "%s: %s: accepted %s", how, begin, msg);
    else if (!ok(got < 0 && strstr(msg, h->why), "%s: %s: %s", how, begin,
                 got < 0 ? h->why : "NOT REFUSED"))
        printf("# said: %s\n", msg);
}

static long peak_kb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(void)
{
    static uint8_t p[1 << 16];
    struct tf_err err;
    double slowest = 0;
    long start = peak_kb();
    size_t cases = 0;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++, cases++) {
        size_t n = make(p, sizeof p, streams[i].bytes);
        double t = cpu();
        long got = read_all(p, n, 0, NULL, &err);
        t = cpu() - t;
        slowest = t > slowest ? t : slowest;
        judge(&streams[i], got, err.msg, "stream");
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++, cases++) {
        struct tf_model_file m;
        size_t n = make(p, sizeof p, models[i].bytes);
        double t = cpu();
        err = (struct tf_err){0};
        struct tf_in in = memory_file(p, n);
        long got = tf_model_read_in(&m, &in, 0, 0, &err);
        if (!got)
            tf_model_release(&m);
        memory_in_done(&in);
        judge(&models[i], got, err.msg, "model");
        err = (struct tf_err){0};
        in = memory_in(p, n);
        got = tf_model_read_in(&m, &in, 0, 1 << 20, &err);
        if (!got)
            tf_model_release(&m);
        memory_in_done(&in);
        t = cpu() - t;
        slowest = t > slowest ? t : slowest;
        /* From a pipe, a large length is refused before memory is allocated. */
        if (models[i].why && strcmp(models[i].why, "truncated") == 0 &&
            strstr(err.msg, "of --max-tensor"))
            ok(got < 0, "model from a pipe: a large claim is refused");
        else
            judge(&models[i], got, err.msg, "model from a pipe");
    }
    /* Unlimited nesting. */
    memset(p, 0x81, sizeof p);
    size_t n = make(p, sizeof p, TOKENS);
    memset(p + n, 0x81, sizeof p - n);
    ok(read_all(p, sizeof p, 0, NULL, &err) < 0 && strstr(err.msg, "nested too deeply"),
       "65,000 arrays in each other");
    memset(p + n, 0xc1, sizeof p - n);
    ok(read_all(p, sizeof p, 0, NULL, &err) < 0 && strstr(err.msg, "nested too deeply"),
       "65,000 tags on each other");
    /* One row and one column too many, with all their data. */
    static const char *const sides[] = {"rows", "columns"};
    for (int i = 0; i < 2; i++) {
        static uint8_t whole[(1 << 16) + 200];
        char why[64];
        n = make(whole, sizeof whole,
                 i == 0 ? ATTN "88 05 00 'cross' 01 80 9a00010001"
                        : ATTN "88 05 00 'cross' 01 80 80 9a00010001");
        memset(whole + n, 0x60, TF_MAX_TEXTS + 1);
        n += TF_MAX_TEXTS + 1;
        n += make(whole + n, sizeof whole - n, i == 0 ? "80 80 " END1 : "80 " END1);
        snprintf(why, sizeof why, "%s: more than 65536", sides[i]);
        ok(read_all(whole, n, 0, NULL, &err) < 0 && strstr(err.msg, why), "65,537 %s: %s", sides[i],
           err.msg);
    }
    cases += 4;
    printf("# %zu cases, slowest %.1f ms of CPU, %ld kB more than at the start\n", cases,
           slowest * 1e3, peak_kb() - start);
#if !TF_ASAN
    ok(slowest < 0.05, "none takes 50 ms");
    ok(peak_kb() - start < 16 << 10, "none takes 16 MB");
#endif
    return done();
}
