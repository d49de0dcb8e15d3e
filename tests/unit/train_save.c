/* Saves that fail: what is not finite, what a device does not give, and a failure of the thread
 * that writes, which the next save reports. */
#include "../harness/model.h"
#include "../harness/temp.h"
#include "base/memory.h"
#include "ops/cpu/cpu.h"
#include "train/store/save.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tf_err err;

/* A stepper and a saver in an empty directory. */
struct saving {
    struct tf_rundir dir;
    struct tf_params params;
    float *block[4];
    struct tf_save_common common;
    struct tf_stepper stepper;
    struct tf_saver *saver;
};

static void open_saving(struct saving *s)
{
    const struct tf_value map = tf_value_map();
    const struct tf_config c = small_config();
    s->common = (struct tf_save_common){.settings = map,
                                        .batches = map,
                                        .header = {.kind = "checkpoint",
                                                   .special = {-1, -1, -1, -1},
                                                   .config = map,
                                                   .made = tf_value_array(),
                                                   .extra = map}};
    tf_params_init(&s->params, &c);
    for (int i = 0; i < 4; i++)
        s->block[i] = tf_xcalloc(s->params.size, sizeof(float));
    err = (struct tf_err){0};
    must(tf_rundir_open(&s->dir, temp_path(""), &err), &err);
}

/* With the blocks as they are now. */
static void start(struct saving *s)
{
    const struct tf_config c = small_config();
    must(tf_stepper_init(&s->stepper, tf_cpu_backends(NULL)[0], &c,
                         &(struct tf_stepper_start){.p = s->block[0],
                                                    .m = s->block[1],
                                                    .v = s->block[2],
                                                    .e = s->block[3],
                                                    .ema = true,
                                                    .threads = 1},
                         &err),
         &err);
    s->saver = tf_saver_new(&s->dir, &s->common, &s->stepper, 0, 1);
}

static int save(struct saving *s, uint64_t step)
{
    const struct tf_run_state state = {.step = step};
    err = (struct tf_err){0};
    return tf_saver_start(s->saver, &state, TF_SAVE_REGULAR, false, &err);
}

static void close_saving(struct saving *s)
{
    tf_saver_free(s->saver);
    tf_stepper_release(&s->stepper);
    tf_rundir_close(&s->dir);
    tf_params_release(&s->params);
    for (int i = 0; i < 4; i++)
        free(s->block[i]);
}

/* No file is made of what is not finite. */
static void test_not_finite(void)
{
    static const char *const what[] = {"a weight", "a first moment", "a second moment",
                                       "a moving average"};
    const char *path = temp_path("ckpt-00000007.tfm");
    for (int bad = 0; bad <= 4; bad++) {
        struct saving s;
        open_saving(&s);
        if (bad < 4)
            s.block[bad][3] = bad == 1 ? NAN : INFINITY;
        start(&s);
        must(save(&s, 7), &err);
        int rc = tf_saver_wait(s.saver, &err);
        if (bad < 4)
            ok(rc == -1 && err.status == TF_DIVERGED && strstr(err.msg, what[bad]) != NULL &&
                   !file_exists(path),
               "%s", err.msg);
        else
            ok(rc == 1 && unlink(path) == 0, "finite: saved");
        close_saving(&s);
    }
}

static void test_thread_fails(void)
{
    struct saving s;
    open_saving(&s);
    start(&s);
    ok(mkdir(temp_path("ckpt-00000007.tfm"), 0777) == 0 && save(&s, 7) == 0, "a save begins");
    ok(save(&s, 8) == -1 && strstr(err.msg, "ckpt-00000007.tfm: is a directory") != NULL,
       "the next one reports why it failed: %s", err.msg);
    ok(!file_exists(temp_path("ckpt-00000008.tfm")) && tf_saver_last(s.saver) == NULL,
       "and does not begin");
    is_int(rmdir(temp_path("ckpt-00000007.tfm")), 0, "the directory is as it was");
    close_saving(&s);
}

/* The last bytes of a file, which wait in the buffer until it is read back. */
static void test_disk_full(void)
{
    struct saving s;
    struct stat st;
    struct rlimit old, full;
    const char *path = temp_path("ckpt-00000007.tfm");
    open_saving(&s);
    start(&s);
    must(save(&s, 7), &err);
    must(tf_saver_wait(s.saver, &err), &err);
    if (stat(path, &st) != 0 || unlink(path) != 0 || getrlimit(RLIMIT_FSIZE, &old) != 0)
        bail_out("limits");
    full = old;
    full.rlim_cur = (rlim_t)st.st_size - 1;
    signal(SIGXFSZ, SIG_IGN);
    fflush(stdout);
    setrlimit(RLIMIT_FSIZE, &full);
    int rc = save(&s, 7);
    if (rc == 0)
        rc = tf_saver_wait(s.saver, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    ok(rc == -1 && err.sys == EFBIG && strstr(err.msg, "ckpt-00000007.tfm: write: ") != NULL,
       "a full disk: %s", err.msg);
    ok(!file_exists(path) && count_entries(s.dir.path) == 1, "only the lock is left");
    close_saving(&s);
}

/* Once released, weights and optimiser state may change: the file has them as they were. */
static void test_release(void)
{
    struct saving s;
    struct tf_model_file m;
    open_saving(&s);
    for (int i = 0; i < 4; i++)
        for (size_t k = 0; k < s.params.size; k++)
            s.block[i][k] = (float)(i + 1);
    start(&s);
    must(save(&s, 7), &err);
    tf_saver_release(s.saver);
    for (int i = 0; i < 4; i++)
        memset(tf_share_block(&s.stepper, (enum tf_stepper_block)i), 0,
               s.params.size * sizeof(float));
    is_int(tf_saver_wait(s.saver, &err), 1, "saved while the memory changes");
    must(tf_rundir_read(&s.dir, "ckpt-00000007.tfm", &m, 0, &err), &err);
    size_t same = 0;
    for (size_t i = 0; i < m.n_tensors; i++)
        same += *(const float *)m.tensors[i].data == (float)(1 + i / s.params.n);
    is_int(same, 4 * s.params.n, "each tensor as it was");
    tf_model_release(&m);
    is_int(unlink(temp_path("ckpt-00000007.tfm")), 0, "as it was");
    close_saving(&s);
}

/* A state that no start accepts, in a file without any other fault. */
static void test_refused(void)
{
    struct saving s;
    open_saving(&s);
    start(&s);
    must(save(&s, INT64_MAX), &err);
    ok(tf_saver_wait(s.saver, &err) == -1 &&
           strstr(err.msg, "reading back the new file: state: step") != NULL,
       "a step that cannot be read back: %s", err.msg);
    is_int(count_entries(s.dir.path), 1, "only the lock is left");
    close_saving(&s);
}

static int no_download(struct tf_ctx *c, void *dst, enum tf_elem e, const tf_mem *src, size_t n,
                       struct tf_err *why)
{
    (void)c, (void)dst, (void)e, (void)src, (void)n;
    return tf_fail(why, "the device is gone");
}

static void test_device_fails(void)
{
    struct saving s;
    open_saving(&s);
    start(&s);
    const struct tf_backend *whole = s.stepper.be;
    struct tf_backend broken = *whole;
    broken.host = false;
    broken.download = no_download;
    s.stepper.be = &broken;
    tf_saver_free(s.saver);
    s.saver = tf_saver_new(&s.dir, &s.common, &s.stepper, 0, 1);
    ok(save(&s, 9) == -1 && strcmp(err.msg, "the device is gone") == 0, "a device: %s", err.msg);
    ok(!tf_saver_writing(s.saver) && tf_saver_wait(s.saver, &err) == 0 &&
           !file_exists(temp_path("ckpt-00000009.tfm")),
       "nothing is written");
    s.stepper.be = whole;
    close_saving(&s);
}

int main(void)
{
    test_not_finite();
    test_thread_fails();
    test_disk_full();
    test_release();
    test_refused();
    test_device_fails();
    return done();
}
