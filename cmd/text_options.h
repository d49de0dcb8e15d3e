/* text_options.h - what a text is made of: rows of option tables that tf-split and tf-translate
 * share. o: a struct tf_document_opts. */
#ifndef TF_CMD_TEXT_OPTIONS_H
#define TF_CMD_TEXT_OPTIONS_H

#include "common_options.h"
#include "text/document.h"

#define TEXT_SENTENCES(o, ...) \
    OPT_STR(0, "lang", &(o).lang, .arg = "LABEL", .flags = TF_OPT_SEMANTIC, \
            .help = "language of the text, such as en, whose abbreviations end no sentence", \
            __VA_ARGS__), \
    OPT_INT(0, "max-chars", &(o).most, .arg = "N", .def = "400", .lo = 0, .hi = 1 << 20, \
            .flags = TF_OPT_SEMANTIC, \
            .help = "cut a longer sentence at a clause or a space; 0: no limit", __VA_ARGS__)
#define TEXT_FIELD(o, ...) \
    OPT_INT(0, "field", &(o).field, .arg = "N", .lo = 1, .hi = 1024, .flags = TF_OPT_SEMANTIC, \
            .help = "the text is this field of lines with tabs; the others stay as they are", \
            __VA_ARGS__)
#define TEXT_INVALID(o, ...) \
    OPT_FLAG(0, "replace-invalid", &(o).replace_invalid, .flags = TF_OPT_SEMANTIC, \
             .help = "replace invalid UTF-8 by U+FFFD; otherwise such a line becomes an empty " \
                     "one", \
             __VA_ARGS__)

#endif
