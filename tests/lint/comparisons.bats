#!/usr/bin/env bats
# How results and pointers are compared. See tests/lint/comparisons.
load ../cli/helper
load files

prepare() { cd "$TOP" || return 1; }

@test "a status is compared with 0, a pointer with NULL" {
    "$TF_PYTHON" tests/lint/comparisons >"$T/found"
    expect_none "comparisons" <"$T/found"
}

@test "the check sees another comparison of a status, and a pointer as a flag" {
    mkdir -p "$T/lib/base" "$T/cmd"
    cd "$T"
    cat >lib/base/a.c <<'EOF'
static int status(int x)
{
    return x > 2 ? 0 : -1;
}

int tf_status(int x)
{
    int rc = status(x);
    if (x == 0)
        rc = -1;
    return rc;
}

int tf_count(int x)
{
    return x > 0 ? x : -1;
}
EOF
    cat >cmd/b.c <<'EOF'
int main(int argc, char **argv)
{
    const char *p = argv[0];
    if (tf_status(argc) < 0 || tf_count(argc) < 0 || tf_status(tf_count(1)) == 0)
        return 1;
    if (!p || tf_count(0) == -1)
        return p ? 2 : *p;
    return tf_status(1) == -1;
}
EOF
    run -0 "$TF_PYTHON" "$TOP/tests/lint/comparisons"
    expect_output 'cmd/b.c:4: tf_status() < 0: != 0
cmd/b.c:8: tf_status() == -1: != 0
cmd/b.c:6: !p: compare a pointer with NULL
cmd/b.c:7: p: compare a pointer with NULL'
}
