/* pickle.c - see pickle_private.h. */
#include "exchange/pickle_private.h"
#include "base/bits.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum op {
    MARK = '(',
    STOP = '.',
    POP = '0',
    POP_MARK = '1',
    BINFLOAT = 'G',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    NONE = 'N',
    BINPERSID = 'Q',
    REDUCE = 'R',
    BINSTRING = 'T',
    SHORT_BINSTRING = 'U',
    BINUNICODE = 'X',
    BINBYTES = 'B',
    SHORT_BINBYTES = 'C',
    APPEND = 'a',
    BUILD = 'b',
    GLOBAL = 'c',
    APPENDS = 'e',
    BINGET = 'h',
    LONG_BINGET = 'j',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    SETITEM = 's',
    TUPLE = 't',
    SETITEMS = 'u',
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    EMPTY_TUPLE = ')',
    PROTO = 0x80,
    NEWOBJ,
    TUPLE1 = 0x85,
    TUPLE2,
    TUPLE3,
    NEWTRUE,
    NEWFALSE,
    LONG1,
    LONG4,
    SHORT_BINUNICODE,
    BINUNICODE8,
    EMPTY_SET = 0x8f,
    ADDITEMS,
    FROZENSET,
    STACK_GLOBAL = 0x93,
    MEMOIZE,
    FRAME
};

/* Bytes of a module, of a class's name and of a storage's key. A text that is remembered can be
 * used again for two bytes. */
enum { MAX_WORD = 255 };

/* The machine. A mark on the stack is NULL. */
struct machine {
    struct tf_pickle *k;
    const uint8_t *p, *end;
    struct tf_py **stack, **memo;
    size_t size;              /* of the pickle */
    size_t depth, stack_n;    /* of the stack, and of its memory */
    size_t memo_n, remembered; /* of memo, and one more than the highest index in use */
    bool ended;                /* in the middle of something */
    struct tf_err *err;
};

static int fail_at(struct machine *m, const char *what)
{
    return tf_fail(m->err, "pickle: %s", what);
}

static int fail_ended(struct machine *m)
{
    m->ended = true;
    return fail_at(m, "it ends too early");
}

/* n bytes of the pickle, or NULL. */
static const uint8_t *take_bytes(struct machine *m, uint64_t n)
{
    if (n > (uint64_t)(m->end - m->p)) {
        fail_ended(m);
        return NULL;
    }
    const uint8_t *p = m->p;
    m->p += n;
    return p;
}

static struct tf_py *new_object(struct machine *m, enum tf_py_kind kind)
{
    struct tf_py *x = tf_arena_zalloc(m->k->a, sizeof *x);
    x->kind = kind;
    return x;
}

static int push_value(struct machine *m, struct tf_py *x)
{
    TF_GROW(m->stack, m->depth, m->stack_n);
    m->stack[m->depth++] = x;
    return 0;
}

static int push_new(struct machine *m, enum tf_py_kind kind)
{
    return push_value(m, new_object(m, kind));
}

static struct tf_py *pop(struct machine *m)
{
    if (m->depth == 0 || m->stack[m->depth - 1] == NULL) {
        fail_at(m, "its stack is empty");
        return NULL;
    }
    return m->stack[--m->depth];
}

static void add_item(struct machine *m, struct tf_py *to, struct tf_py *x)
{
    if (to->n == to->cap) {
        const size_t cap = 2 * to->cap + 4;
        struct tf_py **more = tf_arena_alloc(m->k->a, cap * sizeof *more);
        if (to->n > 0)
            memcpy(more, to->items, to->n * sizeof *more);
        to->items = more;
        to->cap = cap;
    }
    to->items[to->n++] = x;
}

/* ---- numbers and texts ---- */

static int push_int(struct machine *m, int64_t x)
{
    struct tf_py *y = new_object(m, TF_PY_INT);
    y->integer = x;
    return push_value(m, y);
}

static int push_bool(struct machine *m, bool x)
{
    struct tf_py *y = new_object(m, TF_PY_BOOL);
    y->integer = x;
    return push_value(m, y);
}

/* An integer of n bytes, little-endian. */
static int push_long(struct machine *m, uint64_t n)
{
    const uint8_t *p = take_bytes(m, n);
    uint64_t x = 0;
    if (p == NULL)
        return -1;
    if (n > 8)
        return push_new(m, TF_PY_OTHER);
    memcpy(&x, p, n);
    if (n > 0 && n < 8 && p[n - 1] > 127)
        x |= ~(uint64_t)0 << 8 * n;
    return push_int(m, (int64_t)x);
}

static int push_real(struct machine *m)
{
    const uint8_t *p = take_bytes(m, 8);
    if (p == NULL)
        return -1;
    const uint64_t bits = __builtin_bswap64(tf_load64(p));
    struct tf_py *x = new_object(m, TF_PY_REAL);
    memcpy(&x->real, &bits, sizeof x->real);
    return push_value(m, x);
}

static int push_text(struct machine *m, uint64_t n)
{
    const char *p = (const char *)take_bytes(m, n);
    if (p == NULL)
        return -1;
    if (memchr(p, 0, n) != NULL)
        return push_new(m, TF_PY_OTHER);
    struct tf_py *x = new_object(m, TF_PY_TEXT);
    x->text = tf_arena_strndup(m->k->a, p, n);
    return push_value(m, x);
}

static int push_bytes(struct machine *m, uint64_t n)
{
    return take_bytes(m, n) != NULL ? push_new(m, TF_PY_OTHER) : -1;
}

/* The length of what follows, in `bytes` bytes. */
static int length(struct machine *m, unsigned bytes, uint64_t *n)
{
    const uint8_t *p = take_bytes(m, bytes);
    *n = 0;
    if (p == NULL)
        return -1;
    memcpy(n, p, bytes);
    return 0;
}

static int with_length(struct machine *m, unsigned bytes, int (*f)(struct machine *, uint64_t))
{
    uint64_t n;
    return length(m, bytes, &n) == 0 ? f(m, n) : -1;
}

static int push_number(struct machine *m, unsigned bytes)
{
    uint64_t x;
    if (length(m, bytes, &x) != 0)
        return -1;
    return push_int(m, bytes == 4 ? (int64_t)(int32_t)x : (int64_t)x);
}

/* ---- lists and dicts ---- */

/* The index in the stack of what follows the last mark; SIZE_MAX: there is none. */
static size_t mark(struct machine *m)
{
    for (size_t i = m->depth; i-- > 0;)
        if (m->stack[i] == NULL)
            return i + 1;
    fail_at(m, "no mark");
    return SIZE_MAX;
}

/* Of what is on the stack from `from` on, which a mark may precede. */
static int push_tuple(struct machine *m, size_t from, size_t marks)
{
    struct tf_py *x = new_object(m, TF_PY_LIST);
    for (size_t i = from; i < m->depth; i++)
        add_item(m, x, m->stack[i]);
    m->depth = from - marks;
    return push_value(m, x);
}

/* Are the last n of the stack objects? */
static bool has(struct machine *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (m->depth <= i || m->stack[m->depth - 1 - i] == NULL)
            return fail_at(m, "its stack is empty") == 0;
    return true;
}

static int tuple_of(struct machine *m, size_t n)
{
    return has(m, n) ? push_tuple(m, m->depth - n, 0) : -1;
}

static int tuple_from_mark(struct machine *m)
{
    const size_t at = mark(m);
    return at != SIZE_MAX ? push_tuple(m, at, 1) : -1;
}

/* Add what is on the stack from `from` on to the object below it. */
static int add_items(struct machine *m, size_t from, size_t marks, enum tf_py_kind kind)
{
    if (from <= marks || m->stack[from - marks - 1] == NULL)
        return fail_at(m, "items of nothing");
    struct tf_py *to = m->stack[from - marks - 1];
    if (kind == TF_PY_DICT && (m->depth - from) % 2 != 0)
        return fail_at(m, "a key without a value");
    if (to->kind == kind)
        for (size_t i = from; i < m->depth; i++)
            add_item(m, to, m->stack[i]);
    m->depth = from - marks;
    return 0;
}

static int add_from_mark(struct machine *m, enum tf_py_kind kind)
{
    const size_t at = mark(m);
    return at != SIZE_MAX ? add_items(m, at, 1, kind) : -1;
}

static int add_few(struct machine *m, size_t n, enum tf_py_kind kind)
{
    return has(m, n) ? add_items(m, m->depth - n, 0, kind) : -1;
}

/* ---- memory ---- */

static int put_memo(struct machine *m, uint64_t i)
{
    if (m->depth == 0 || i >= m->size) /* each takes a byte at least */
        return fail_at(m, "nothing to remember");
    if (i >= m->memo_n) {
        const size_t n = i < 2 * m->memo_n ? 2 * m->memo_n : (size_t)i + 1;
        m->memo = tf_xarray(m->memo, n, sizeof *m->memo);
        memset(m->memo + m->memo_n, 0, (n - m->memo_n) * sizeof *m->memo);
        m->memo_n = n;
    }
    m->remembered = i + 1 > m->remembered ? i + 1 : m->remembered;
    m->memo[i] = m->stack[m->depth - 1];
    return 0;
}

static int get(struct machine *m, uint64_t i)
{
    return i < m->memo_n && m->memo[i] != NULL ? push_value(m, m->memo[i])
                                               : fail_at(m, "nothing was remembered");
}

/* ---- classes ---- */

static int push_global(struct machine *m, const char *module, size_t module_n, const char *name,
                       size_t name_n)
{
    struct tf_py *x = new_object(m, TF_PY_GLOBAL);
    char *text = tf_arena_alloc(m->k->a, module_n + name_n + 2);
    memcpy(text, module, module_n);
    text[module_n] = '.';
    memcpy(text + module_n + 1, name, name_n);
    text[module_n + 1 + name_n] = 0;
    x->text = text;
    return push_value(m, x);
}

static const char *take_line(struct machine *m, size_t *n)
{
    const uint8_t *p = m->p, *lf = memchr(p, '\n', (size_t)(m->end - p));
    if (lf == NULL) {
        fail_ended(m);
        return NULL;
    }
    *n = (size_t)(lf - p);
    m->p = lf + 1;
    return (const char *)p;
}

static int global(struct machine *m)
{
    size_t module_n, name_n;
    const char *module = take_line(m, &module_n),
               *name = module != NULL ? take_line(m, &name_n) : NULL;
    return name != NULL ? push_global(m, module, module_n, name, name_n) : -1;
}

static int stack_global(struct machine *m)
{
    const struct tf_py *name = pop(m), *module = name != NULL ? pop(m) : NULL;
    if (module == NULL)
        return -1;
    if (module->kind != TF_PY_TEXT || name->kind != TF_PY_TEXT)
        return fail_at(m, "a class without a name");
    const size_t module_n = strlen(module->text), name_n = strlen(name->text);
    if (module_n > MAX_WORD || name_n > MAX_WORD)
        return tf_fail(m->err, "pickle: a class's name of more than %d bytes", MAX_WORD);
    return push_global(m, module->text, module_n, name->text, name_n);
}

static bool is(const struct tf_py *x, const char *global)
{
    return x->kind == TF_PY_GLOBAL && strcmp(x->text, global) == 0;
}

static void add_storage(struct tf_pickle *k, struct tf_py *x)
{
    if ((k->n_storages & (k->n_storages + 1)) == 0) /* full: 0, 1, 3, 7, ... */
        k->storages = tf_xarray(k->storages, 2 * k->n_storages + 1, sizeof *k->storages);
    k->storages[k->n_storages++] = x;
}

/* ("storage", class, key, place, elements): a reference to numbers outside the pickle. */
static int push_storage(struct machine *m)
{
    static const struct {
        const char *class;
        enum tf_dtype dtype;
    } classes[] = {{"torch.FloatStorage", TF_F32},    {"torch.HalfStorage", TF_F16},
                   {"torch.BFloat16Storage", TF_BF16}, {"torch.DoubleStorage", TF_F64},
                   {"torch.LongStorage", TF_I64},      {"torch.IntStorage", TF_I32},
                   {"torch.CharStorage", TF_I8},       {"torch.ByteStorage", TF_U8}};
    const struct tf_py *id = pop(m);
    if (id == NULL)
        return -1;
    if (id->kind != TF_PY_LIST || id->n < 5 || id->items[2]->kind != TF_PY_TEXT ||
        id->items[4]->kind != TF_PY_INT || id->items[4]->integer < 0 ||
        (id->n > 5 && id->items[5]->kind != TF_PY_NONE))
        return push_new(m, TF_PY_OTHER);
    if (strlen(id->items[2]->text) > MAX_WORD)
        return tf_fail(m->err, "pickle: a storage's key of more than %d bytes", MAX_WORD);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (!is(id->items[1], classes[i].class))
            continue;
        struct tf_py *x = new_object(m, TF_PY_STORAGE);
        x->text = id->items[2]->text;
        x->integer = id->items[4]->integer;
        x->dtype = classes[i].dtype;
        add_storage(m->k, x);
        return push_value(m, x);
    }
    return push_new(m, TF_PY_OTHER);
}

/* Are the elements of a tensor one after the other? Dims of 1 have any stride. */
static bool contiguous(const struct tf_py *size, const struct tf_py *stride)
{
    int64_t want = 1;
    for (size_t i = size->n; i-- > 0;) {
        const int64_t dim = size->items[i]->integer;
        if (stride->items[i]->kind != TF_PY_INT || (dim != 1 && stride->items[i]->integer != want))
            return false;
        if (dim > INT64_MAX / want)
            return false;
        want *= dim;
    }
    return true;
}

/* (storage, offset, size, stride, ...) */
static struct tf_py *tensor(struct machine *m, const struct tf_py *args)
{
    struct tf_py *other = new_object(m, TF_PY_OTHER);
    if (args->n < 4 || args->items[0]->kind != TF_PY_STORAGE ||
        args->items[1]->kind != TF_PY_INT || args->items[1]->integer < 0)
        return other;
    const struct tf_py *size = args->items[2], *stride = args->items[3];
    if (size->kind != TF_PY_LIST || stride->kind != TF_PY_LIST || stride->n != size->n ||
        size->n > TF_MAX_RANK)
        return other;
    struct tf_py *x = new_object(m, TF_PY_TENSOR);
    x->integer = args->items[1]->integer;
    add_item(m, x, args->items[0]);
    for (size_t i = 0; i < size->n; i++) {
        if (size->items[i]->kind != TF_PY_INT || size->items[i]->integer < 1)
            return other;
        add_item(m, x, size->items[i]);
    }
    x->strided = !contiguous(size, stride);
    return x;
}

/* A call: of the few functions that make data, done here; of any other, an unknown object. */
static int call(struct machine *m)
{
    struct tf_py *args = pop(m), *f = args != NULL ? pop(m) : NULL;
    if (f == NULL)
        return -1;
    if (is(f, "collections.OrderedDict"))
        return push_new(m, TF_PY_DICT);
    if (args->kind != TF_PY_LIST)
        return push_new(m, TF_PY_OTHER);
    if (is(f, "torch._utils._rebuild_tensor_v2") || is(f, "torch._utils._rebuild_tensor"))
        return push_value(m, tensor(m, args));
    if (is(f, "torch._utils._rebuild_parameter") && args->n > 0)
        return push_value(m, args->items[0]);
    return push_new(m, TF_PY_OTHER);
}

static int new_of_class(struct machine *m)
{
    const struct tf_py *args = pop(m), *class = args != NULL ? pop(m) : NULL;
    if (class == NULL)
        return -1;
    const bool namespace = is(class, "argparse.Namespace");
    struct tf_py *x = new_object(m, namespace ? TF_PY_DICT : TF_PY_OTHER);
    x->is_namespace = namespace;
    return push_value(m, x);
}

/* The attributes of an object, which takes them: copies of one dict could add up to anything. */
static int build(struct machine *m)
{
    struct tf_py *state = pop(m);
    if (state == NULL)
        return -1;
    if (m->depth == 0 || m->stack[m->depth - 1] == NULL)
        return fail_at(m, "attributes of nothing");
    struct tf_py *x = m->stack[m->depth - 1];
    if (!x->is_namespace || state->kind != TF_PY_DICT)
        return 0;
    if (x->n > 0)
        return fail_at(m, "attributes of an object that has some");
    x->items = state->items;
    x->n = state->n;
    x->cap = state->cap;
    state->n = state->cap = 0;
    return 0;
}

/* ---- the machine ---- */

static int pop_mark(struct machine *m)
{
    const size_t at = mark(m);
    if (at == SIZE_MAX)
        return -1;
    m->depth = at - 1;
    return 0;
}

static int frozenset(struct machine *m)
{
    return pop_mark(m) == 0 ? push_new(m, TF_PY_OTHER) : -1;
}

static int containers(struct machine *m, int op)
{
    switch (op) {
    case EMPTY_DICT:
        return push_new(m, TF_PY_DICT);
    case EMPTY_LIST:
    case EMPTY_TUPLE:
        return push_new(m, TF_PY_LIST);
    case EMPTY_SET:
        return push_new(m, TF_PY_OTHER);
    case TUPLE:
        return tuple_from_mark(m);
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
        return tuple_of(m, (size_t)(op - TUPLE1 + 1));
    case APPEND:
        return add_few(m, 1, TF_PY_LIST);
    case SETITEM:
        return add_few(m, 2, TF_PY_DICT);
    case APPENDS:
    case ADDITEMS:
        return add_from_mark(m, TF_PY_LIST);
    case SETITEMS:
        return add_from_mark(m, TF_PY_DICT);
    case FROZENSET:
        return frozenset(m);
    default:
        return tf_fail(m->err, "pickle: opcode 0x%02x: not of data", (unsigned)op);
    }
}

static int objects(struct machine *m, int op)
{
    switch (op) {
    case GLOBAL:
        return global(m);
    case STACK_GLOBAL:
        return stack_global(m);
    case BINPERSID:
        return push_storage(m);
    case REDUCE:
        return call(m);
    case NEWOBJ:
        return new_of_class(m);
    case BUILD:
        return build(m);
    case BINPUT:
        return with_length(m, 1, put_memo);
    case LONG_BINPUT:
        return with_length(m, 4, put_memo);
    case MEMOIZE:
        return put_memo(m, m->remembered);
    case BINGET:
        return with_length(m, 1, get);
    case LONG_BINGET:
        return with_length(m, 4, get);
    default:
        return containers(m, op);
    }
}

static int run_op(struct machine *m, int op)
{
    switch (op) {
    case PROTO:
        return take_bytes(m, 1) != NULL ? 0 : -1;
    case FRAME:
        return take_bytes(m, 8) != NULL ? 0 : -1;
    case MARK:
        return push_value(m, NULL);
    case POP:
        return m->depth > 0 ? (m->depth--, 0) : fail_at(m, "its stack is empty");
    case POP_MARK:
        return pop_mark(m);
    case NONE:
        return push_new(m, TF_PY_NONE);
    case NEWTRUE:
    case NEWFALSE:
        return push_bool(m, op == NEWTRUE);
    case BININT1:
        return push_number(m, 1);
    case BININT2:
        return push_number(m, 2);
    case BININT:
        return push_number(m, 4);
    case LONG1:
        return with_length(m, 1, push_long);
    case LONG4:
        return with_length(m, 4, push_long);
    case BINFLOAT:
        return push_real(m);
    case SHORT_BINUNICODE:
        return with_length(m, 1, push_text);
    case BINUNICODE:
        return with_length(m, 4, push_text);
    case BINUNICODE8:
        return with_length(m, 8, push_text);
    case SHORT_BINSTRING:
    case SHORT_BINBYTES:
        return with_length(m, 1, push_bytes);
    case BINSTRING:
    case BINBYTES:
        return with_length(m, 4, push_bytes);
    default:
        return objects(m, op);
    }
}

int tf_pickle_read(struct tf_pickle *k, const void *p, size_t n, size_t *used, struct tf_err *err)
{
    const size_t most = n < TF_MAX_PICKLE ? n : TF_MAX_PICKLE;
    struct machine m = {
        .k = k, .p = p, .end = (const uint8_t *)p + most, .size = most, .err = err};
    int rc = 0, op = 0;
    while (rc == 0 && op != STOP) {
        const uint8_t *next = take_bytes(&m, 1);
        op = next != NULL ? *next : 0;
        rc = next == NULL ? -1 : op == STOP ? 0 : run_op(&m, op);
    }
    k->root = rc == 0 ? pop(&m) : NULL;
    if (rc == 0 && k->root == NULL)
        rc = -1;
    *used = (size_t)(m.p - (const uint8_t *)p);
    free(m.stack);
    free(m.memo);
    if (m.ended && n > most)
        return tf_fail(err, "pickle: more than %d bytes", TF_MAX_PICKLE);
    return rc;
}

struct tf_py *tf_py_get(const struct tf_py *dict, const char *key)
{
    struct tf_py *found = NULL;
    for (size_t i = 0; dict != NULL && dict->kind == TF_PY_DICT && i + 1 < dict->n; i += 2)
        if (dict->items[i]->kind == TF_PY_TEXT && strcmp(dict->items[i]->text, key) == 0)
            found = dict->items[i + 1];
    return found;
}
