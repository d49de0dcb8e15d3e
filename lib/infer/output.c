/* output.c - see output_private.h. */
#include "infer/output_private.h"

int tf_output_open(struct tf_output *o, const char *path, bool text, int on_bad, struct tf_err *err)
{
    *o = (struct tf_output){.text = text,
                            .count = {.on_bad = on_bad, .items = "records", .place = "record"}};
    return tf_out_open(&o->file, path, text ? 0 : TF_OUT_BINARY, err);
}

/* End the part being written. */
static int end_part(struct tf_output *o, struct tf_err *err)
{
    bool in_part = o->in_part;
    o->in_part = false;
    return in_part ? tf_writer_end(&o->writer, err) : 0;
}

int tf_output_begin(struct tf_output *o, const struct tf_header *h, struct tf_err *err)
{
    if (o->text)
        return 0;
    if (end_part(o, err) != 0)
        return -1;
    tf_writer_release(&o->writer);
    if (tf_writer_begin(&o->writer, &o->file, h, err) != 0)
        return -1;
    o->in_part = true;
    return 0;
}

int tf_output_count(struct tf_output *o, const struct tf_item *it, const char *input,
                    struct tf_err *err)
{
    char reason[192];
    o->count.total++;
    if (it->code == 0)
        return 1;
    tf_bad_describe(reason, sizeof reason, it->code, it->text);
    if (tf_bad_add(&o->count, input, it->idx, reason, it->reported, err) != 0)
        return -1;
    return o->text ? 0 : tf_writer_bad(&o->writer, it->idx, it->code, it->text, err);
}

int tf_output_flush(struct tf_output *o, struct tf_err *err)
{
    return o->text ? tf_out_flush(&o->file, err) : tf_writer_flush(&o->writer, err);
}

int tf_output_close(struct tf_output *o, int rc, const char *input, struct tf_err *err)
{
    if (rc == 0)
        rc = end_part(o, err);
    else if (o->in_part)
        tf_writer_fail(&o->writer, err);
    rc = tf_out_finish(&o->file, rc, err);
    tf_writer_release(&o->writer);
    return rc ? rc : tf_bad_status(&o->count, input, err);
}
