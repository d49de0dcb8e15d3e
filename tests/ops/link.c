/* link.c - a link of one rank, which sends to itself: the library of the devices is found, its
 * calls take what we pass, and memory arrives. On one GPU NCCL refuses two ranks, but not this. */
#include "../harness/problem.h"

enum { N = 1000003 };

static void test_exchange(struct lane *l, enum tf_elem e)
{
    const struct tf_backend *be = l->be;
    struct tf_err err = {0};
    size_t size = be->elem_size[e];
    tf_mem *a = be->alloc(l->c, e, N, &err), *b = be->alloc(l->c, e, N, &err);
    unsigned char *sent = malloc(N * size), *got = malloc(N * size);
    if (a == NULL || b == NULL || sent == NULL || got == NULL)
        bail_out("%s", err.msg);
    for (size_t i = 0; i < N * size; i++)
        sent[i] = (unsigned char)(i * 31 + i / 251);
    be->upload(l->c, a, e, sent, N);
    be->send_receive(l->c, 0, e, a, N - 1, tf_at(be, e, b, 1), N - 1);
    ok(be->sync_within(l->c, 20, &err) == 0, "%s: an exchange ends: %s", l->name, err.msg);
    ok(be->download(l->c, got, e, b, N, &err) == 0, "%s: download", l->name);
    is_mem(got + size, sent, (N - 1) * size, "%s: kind %d arrives", l->name, e);
    be->free(l->c, a);
    be->free(l->c, b);
    free(sent);
    free(got);
}

static void test_link(struct lane *l)
{
    const struct tf_backend *be = l->be;
    struct tf_link_info info;
    struct tf_err err = {0};
    if (be->link_info(l->c, &info, true, &err) != 0) {
        char why[800];
        snprintf(why, sizeof why, "nccl: %s", err.msg);
        if (!be->host)
            skip(why);
        else
            ok(err.msg[0] != 0, "%s: no link: %s", l->name, err.msg);
        return;
    }
    ok(info.library[0] != 0 && info.device[0] != 0, "%s: %s links %s", l->name, info.library,
       info.device);
    if (!ok(be->link_open(l->c, &info, 0, 1, &err) == 0, "%s: a link of one rank: %s", l->name,
            err.msg))
        return;
    test_exchange(l, TF_ELEM_PARAM);
    test_exchange(l, TF_ELEM_F64);
    be->link_close(l->c, false);
}

int main(void)
{
    struct candidate v[MAX_CANDIDATES];
    size_t n = candidates(v, true);
    for (size_t b = 0; b < n; b++) {
        struct lane l = open_lane_as(&v[b]);
        test_link(&l);
        close_lane(&l);
    }
    return done();
}
