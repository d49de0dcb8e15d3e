/* sp_settings_private.h - what a .model file says besides its pieces. */
#ifndef TF_TEXT_SP_SETTINGS_PRIVATE_H
#define TF_TEXT_SP_SETTINGS_PRIVATE_H

#include "text/bpe_codes.h"
#include "text/sp_proto_private.h"

/* By the names of the fields. */
struct tf_sp_settings {
    unsigned model_type;
    bool space_ends, add_space, single_spaces, escape_spaces, byte_fallback;
    size_t unk_surface;      /* bytes of the longest */
    struct tf_span charsmap; /* of the normalizer; p NULL: none */
    bool denormalizes;
    struct tf_bpe_codes codes; /* lines are NULL if there are none */
    bool words, renumbered, ends;
    unsigned white; /* TF_WHITE_STRIPS and others (sp_piece.h) */
};
/* The settings of the n bytes of a model that tf_sp_check has accepted, which are borrowed; what is
 * not there is as in the library. */
struct tf_sp_settings tf_sp_settings_of(const void *bytes, size_t n);

#endif
