/* html.h - translate the text of HTML and keep its markup. A fragment is cut into segments, the
 * sentences of these are translated as plain text, and the tags are put back by the alignment of
 * words. Every tag of the fragment is in the result once, inside those that it was inside.
 *
 * Elements, by name:
 * - inline (a, b, em, i, span, sub, ...), and what has no text (br, img, wbr, comments): the text
 *   around continues;
 * - sup whose text is a mark, as of a footnote or an exponent (no letters, or something in brackets
 *   without spaces): as it is, as if without text;
 * - code, kbd, samp, var, math, and inline elements with translate="no": the model sees a name in
 *   their place, as for placeholders_private.h;
 * - script, style, svg, template, noscript, video and others: as they are, as if without text;
 * - all others end a segment. pre, textarea, and those with translate="no" stay as they are.
 * An inline tag without its counterpart in the same segment ends the segment, too; so does one that
 * is nested deeper than TF_HTML_DEPTH. A tag that never ends is the rest of the fragment.
 *
 * A segment's text has its references (&eacute; &#233; and &copy without a ;) replaced by
 * characters, and one space for white space within; br is such. The result has &amp;, &lt; and &gt;
 * for these three. A reference that is not known here is a name, as code is. What is around all of
 * the text needs no place, and without letters and digits there is none.
 *
 * Attributes that people read are texts of their own: alt, aria-label, label, placeholder, title,
 * the value of buttons, the content of descriptions (meta). Elements that stay as they are keep
 * theirs.
 *
 * Where a tag goes: see html_place.c. All takes time in proportion to the fragment, times the
 * depth, but for sorts. */
#ifndef TF_TEXT_HTML_H
#define TF_TEXT_HTML_H

#include "base/buf.h"
#include "text/glossary.h"
#include "text/sentences.h"
#include "text/text.h"

enum { TF_HTML_DEPTH = 20 };

struct tf_html;

/* Read n bytes (checked UTF-8, at most 2^30), which are copied. sentences: NULL: each segment is
 * one. hide: what gets names, too (placeholders_private.h). */
int tf_html_new(struct tf_html **h, const char *s, size_t n, struct tf_sentences *sentences,
                struct tf_hide hide, struct tf_err *err) TF_MUST_CHECK;
void tf_html_free(struct tf_html *h); /* may be NULL */

/* What is to be translated. */
size_t tf_html_count(const struct tf_html *h);
struct tf_text tf_html_sentence(const struct tf_html *h, size_t i);

/* The translation of sentence i, which is copied, p NULL: it could not be translated; and links of
 * its words (links.h, hard): without any, words are aligned in proportion. Another one takes its
 * place. Reads and writes nothing that tf_html_sentence reads. */
void tf_html_set(struct tf_html *h, size_t i, struct tf_text translation, struct tf_text links);
/* Append the fragment with the translations. */
void tf_html_write(struct tf_html *h, struct tf_buf *out);

#endif
