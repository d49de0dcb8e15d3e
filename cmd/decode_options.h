/* decode_options.h - rows of option tables that tf-decode and tf-translate share. */
#ifndef TF_CMD_DECODE_OPTIONS_H
#define TF_CMD_DECODE_OPTIONS_H

#include "infer/decode_stream.h"
#include "stream/search_settings.h"
#include "model_options.h"

enum { SEARCH = 1, SAMPLE = 2 };

/* o: a struct tf_decode_opts */
#define DECODE_SEARCH(o) \
    OPT_GROUP("Search"), \
    OPT_CHOICE(0, "search", &(o).rule, tf_search_words, .arg = "WORD", .def = "model", \
               .flags = TF_OPT_SEMANTIC, .modes = SEARCH, \
               .help = "rule by which a search ends; model: the model's own settings; paper: " \
                       "without them"), \
    OPT_INT('k', "beam", &(o).beam, .arg = "K", .def = "4", .lo = 1, .hi = TF_SEARCH_MAX_BEAM, \
            .flags = TF_OPT_SEMANTIC, .modes = SEARCH, .help = "beam size; 1 is greedy search"), \
    OPT_REAL('a', "alpha", &(o).search.alpha, .arg = "X", .def = "0.6", .lo = 0, .hi = 100, \
             .flags = TF_OPT_SEMANTIC, \
             .help = "length penalty: score = logp / ((5 + length) / 6)^X"), \
    OPT_REAL(0, "normalize", &(o).search.normalize, .arg = "X", .lo = 0, .hi = 100, \
             .flags = TF_OPT_SEMANTIC, .excludes = "alpha", \
             .help = "another length penalty instead, Marian's: score = logp / length^X"), \
    OPT_FLAG(0, "early-stopping", &(o).early_stopping, .flags = TF_OPT_SEMANTIC, \
             .modes = SEARCH, .excludes = "search", \
             .help = "--search ctranslate2: end after K finished outputs, as fairseq does, too"), \
    OPT_INT(0, "diverse", &(o).diverse, .arg = "G", .lo = 2, .hi = TF_SEARCH_MAX_BEAM, \
            .flags = TF_OPT_SEMANTIC, .modes = SEARCH, \
            .help = "G groups of the beam that avoid each other's tokens, for lists that differ " \
                    "(CPU only)"), \
    OPT_REAL(0, "diversity", &(o).diversity, .arg = "X", .def = "0.5", .lo = 0, .hi = 1e3, \
             .flags = TF_OPT_SEMANTIC, .needs = "diverse", \
             .help = "--diverse: log P that a token costs for each earlier group's hypothesis " \
                     "that has it there"), \
    OPT_STR(0, "begin", &(o).begin, .arg = "PIECE", .flags = TF_OPT_SEMANTIC, \
            .help = "begin every output with this piece, such as the tag of a language"), \
    OPT_FLAG(0, "free-prefix", &(o).search.free_prefix, .flags = TF_OPT_SEMANTIC, \
             .help = "--begin and --prefix cost nothing in the score, as in transformers and " \
                     "CTranslate2"), \
    OPT_INT(0, "max-extra", &(o).max_extra, .arg = "N", .def = TEXT(TF_MAX_EXTRA), .lo = 0, \
            .hi = 1 << 20, .flags = TF_OPT_SEMANTIC, \
            .help = "limit each output to N tokens more than its input"), \
    OPT_REAL(0, "max-factor", &(o).max_factor, .arg = "X", .def = "1", .lo = 0, .hi = 100, \
             .flags = TF_OPT_SEMANTIC, \
             .help = "and its input counts X times for that; 0: N tokens for all"), \
    OPT_FLAG(0, "count-end", &(o).count_end, .flags = TF_OPT_SEMANTIC, \
             .help = "with the end of the input, as in Marian and fairseq"), \
    COMMON_MAX_LENGTH(&(o).run.max_length, "an input longer than N tokens"), \
    OPT_FLAG(0, "truncate", &(o).truncate, .flags = TF_OPT_SEMANTIC, \
             .help = "cut a longer input to N tokens instead"), \
    OPT_INT(0, "min-length", &(o).search.min_length, .arg = "N", .lo = 1, .hi = 1 << 20, \
            .flags = TF_OPT_SEMANTIC, \
            .help = "no output ends with fewer than N tokens, prefix included"), \
    OPT_INT(0, "no-repeat-ngram", &(o).search.ngram, .arg = "N", .lo = 1, .hi = 1 << 20, \
            .flags = TF_OPT_SEMANTIC, .help = "no N tokens in a row occur twice in an output"), \
    OPT_REAL(0, "repetition-penalty", &(o).search.repetition, .arg = "X", .lo = 1e-3, .hi = 1e3, \
             .flags = TF_OPT_SEMANTIC, \
             .help = "multiply log P of each token that the output has already by X"), \
    OPT_STR(0, "forbid", &(o).forbid, .arg = "FILE", .flags = TF_OPT_FILE, \
            .help = "no output has these words, a word or phrase on each line (CPU only)"), \
    OPT_STR(0, "shortlist", &(o).shortlist, .arg = "FILE", .flags = TF_OPT_FILE, \
            .help = "choose among the tokens that this list has for those of the input: faster; " \
                    "model: the model's own, its default; none: among all"), \
    OPT_INT(0, "shortlist-first", &(o).shortlist_first, .arg = "N", \
            .def = "100", .lo = 0, .hi = 1 << 30, \
            .needs = "shortlist", \
            .help = "of a list in text: with the first N tokens of the vocabulary"), \
    OPT_INT(0, "shortlist-best", &(o).shortlist_best, .arg = "N", \
            .def = "100", .lo = 1, .hi = 1 << 30, \
            .needs = "shortlist", \
            .help = "of a list in text: the N likeliest tokens for each of the input"), \
    OPT_REAL(0, "shortlist-threshold", &(o).shortlist_threshold, .arg = "P", .def = "0", .lo = 0, \
             .hi = 1, .needs = "shortlist", \
             .help = "of a list in text: those of a probability above P"), \
    OPT_FLAG(0, "allow-unk", &(o).allow_unk, .flags = TF_OPT_SEMANTIC, \
             .help = "allow the unknown token in outputs"), \
    OPT_GROUP("Sampling"), \
    OPT_FLAG(0, "sample", &(o).search.sample, .flags = TF_OPT_SEMANTIC, .selects = SAMPLE, \
             .help = "draw each token from the model's distribution"), \
    OPT_INT(0, "seed", &(o).seed, .arg = "N", .def = "1", .lo = 0, .hi = TF_SEED_MAX, \
            .flags = TF_OPT_SEMANTIC, .modes = SAMPLE, \
            .help = "random seed; the draws of a sentence depend only on the seed and its " \
                    "number"), \
    OPT_REAL(0, "temperature", &(o).search.temperature, .arg = "X", .def = "1", .lo = 1e-3, \
             .hi = 1e3, .flags = TF_OPT_SEMANTIC, .modes = SAMPLE, \
             .help = "temperature; below 1 favours likely tokens"), \
    OPT_INT(0, "top-k", &(o).search.top_k, .arg = "N", .def = "0", .lo = 0, .hi = 4294967295.0, \
            .flags = TF_OPT_SEMANTIC, .modes = SAMPLE, \
            .help = "draw from the N most likely tokens; 0: from all"), \
    OPT_REAL(0, "top-p", &(o).search.top_p, .arg = "P", .def = "1", .lo = 1e-9, .hi = 1, \
             .flags = TF_OPT_SEMANTIC, .modes = SAMPLE, \
             .help = "draw from the fewest tokens whose probabilities sum to at least P")

/* precision: an index into DECODE_PRECISIONS */
#define DECODE_PRECISIONS PRECISIONS, "int8"
#define DECODE_DEVICE(o, precision, words) \
    OPT_GROUP("Device"), \
    COMMON_DEVICE(&(o).run.device), \
    COMMON_PRECISION(&(precision), words, \
                     "int8: 8-bit products on the CPU, the default for models in 8 bits; ", "fp16")

#endif
