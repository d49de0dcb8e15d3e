#!/usr/bin/env bats
# Hostile vocabularies: what our checks refuse before the library sees it, and what they accept.
# bats file_tags=first
load helper

prepare() {
    need "$TF_PYTHON"
    echo 'aaa a' >text
}

# Write models with Python: `models <<'PY'`, where `write NAME, MODEL` does that.
models() {
    { printf 'import sys\nsys.path.insert(0, "%s/tests/faults")\n' "$TOP"
      printf 'from vocabularies import *\nwrite = lambda n, m: open(n + ".model", "wb").write(m)\n'
      cat; } | "$TF_PYTHON" - || return 1
}

refused() { # MODEL MESSAGE
    t 1 tf-tokenize -m "$1.model" text
    expect_error "$1.model: SentencePiece model $2"
}

accepted() { # MODEL PIECES
    t 0 tf-tokenize --pieces -m "$1.model" text
    expect_output "$2"
}

@test "pieces that collide in the library's hash tables are refused" {
    models <<'PY'
one = [piece(b"a"), piece(b"aa")]
write("bucket", model(one + [piece(x) for x in same_bucket(2000)]))
write("control", model(one + [piece(x, 0, CONTROL) for x in same_bucket(2000)]))
write("numbers", model(one + [piece(b"%d" % i) for i in range(20000)]))
write("nested", model([piece(b"a" * i, -i * i) for i in range(1, 2000)]))
PY
    refused bucket "with pieces that collide in a hash table"
    refused control "with pieces that collide in a hash table"
    accepted numbers "▁ a aa ▁ a"
    accepted nested "▁ a a a ▁ a"
}

@test "a vocabulary that the library would load for seconds is stopped, and leaves no file" {
    models <<'PY'
write("states", model([piece(x) for x in same_slots(50000)]))
PY
    t 1 tf-tokenize -m states.model --sample -o ids text
    expect_error "states.model: SentencePiece model that takes more than 0.4 s of CPU to load"
    [ -z "$(find . -name ".tf-*" -o -name ids)" ]
}

@test "user-defined symbols that begin with each other: 64 are matched, more are refused" {
    models <<'PY'
for n in 64, 65:
    write("user%d" % n, model([piece(b"a" * i, 0, USER) for i in range(1, n + 1)]))
write("apart", model([piece(b"a%03d" % i, 0, USER) for i in range(500)] + [piece(b"aaa")]))
PY
    accepted user64 "▁ aaa ▁ a"
    printf 'a%.0s' {1..100} >text
    accepted user64 "▁ $(printf 'a%.0s' {1..36}) $(printf 'a%.0s' {1..64})"
    refused user65 "with more than 64 user-defined symbols that begin with each other"
    echo 'aaa' >text
    accepted apart "▁ aaa"
}

@test "a NUL in a piece, and a score that is not finite, are refused by name" {
    models <<'PY'
from math import inf, nan
for kind in UNIGRAM, BPE:
    for name, score in ("nan", nan), ("inf", inf), ("minus", -inf):
        write("%s%d" % (name, kind), model([piece(b"a"), piece(b"aa", score)], kind))
    write("nul%d" % kind, model([piece(b"a"), piece(b"\0")], kind))
    write("within%d" % kind, model([piece(b"b"), piece(b"a\0b")], kind))
write("symbol", model([piece(b"a"), piece(b"a\0", 0, USER)]))
write("control", model([piece(b"a"), piece(b"<\0>", nan, CONTROL)]))
write("far", model([piece(b"a", -3e38), piece(b"aa", 3e38)]))
PY
    for kind in 1 2; do
        for m in nan$kind inf$kind minus$kind; do
            refused $m "with a score that is not a finite number"
        done
        refused nul$kind "with a NUL in a piece"
        refused within$kind "with a NUL in a piece"
    done
    refused symbol "with a NUL in a piece"
    refused control "with a NUL in a piece"
    accepted far "▁ a aa ▁ a"
}

@test "a piece without text is refused by name" {
    models <<'PY'
write("empty", model([piece(b"a"), piece(b"")]))
PY
    refused empty "with a piece without text"
    t 1 tf-convert "$TOP/tests/golden/marian/relu.npz.gz" --vocab empty.model -o x.tfm
    expect_error "SentencePiece model with a piece without text"
}

@test "normalisation tables: the length of a replacement, of what it replaces, and their number" {
    models <<'PY'
own = [piece(b"x" * i, i) for i in range(1, 17)]
def make(name, *args, **more):
    write(name, model(own, table=table(*args, **more)))
    write("de" + name, model([piece(b"a")], more=field(5, field(2, table(*args, **more)))))
make("most", [1], b"x" * 16)
make("more", [1], b"x" * 17)
make("spaces", [1], b"x" + b" " * 6)
make("shortest", [1, 3], b"x" * 17)
make("two", [2], b"x" * 32)
make("kilobyte", [200], b"x" * 1024)
make("megabyte", [200], b"x" * 1025)
make("keys32", range(1, 33), b"x")
make("keys33", range(1, 34), b"x")
make("key256", [256], b"x")
make("key257", [257], b"x")
make("endless", [1], b"x", loop=True)
PY
    accepted most "▁ $(printf 'xxxxxxxxxxxxxxxx%.0s ' {1..3})▁ xxxxxxxxxxxxxxxx"
    accepted keys32 "▁ x ▁ x"
    printf 'a%.0s' {1..256} >text
    accepted key256 "▁ x"
    t 0 tf-tokenize -o ids --bad ok -m dekey256.model text
    t 0 tf-tokenize -d -m dekey256.model ids
    expect_output "▁x"
    for m in two kilobyte; do
        t 0 tf-tokenize -o ids -m $m.model text
    done
    for de in "" de; do
        refused ${de}more "whose normalisation replaces 1 byte by more than 16"
        refused ${de}spaces "whose normalisation replaces 1 byte by more than 16"
        refused ${de}shortest "whose normalisation replaces 1 byte by more than 16"
        refused ${de}megabyte "whose normalisation replaces 200 bytes by more than 1024"
        refused ${de}keys33 \
            "whose normalisation replaces more than 32 texts that begin with each other"
        refused ${de}key257 "whose normalisation replaces more than 256 bytes"
        refused ${de}endless "with a damaged normalisation table"
    done
}

@test "the tables of SentencePiece itself are within the limits" {
    X=$TOP/tests/golden/bleu/ref.de
    seq 500 | sed 's/.*/line & of ﷺ and ﬁ, ŉ and ㌔/' >train
    for n in nmt_nfkc nfkc nmt_nfkc_cf nfkc_cf identity; do
        t 0 tf-tokenize --train --vocab-size 60 --normalization $n -o m train
        t 0 tf-tokenize -m m -o ids train
    done
}

times() { # ID N: N of them, separated by commas
    local all
    printf -v all "$1,%.0s" $(seq "$2")
    echo "${all%,}"
}

@test "the text of a decoded record is at most 16 MiB" {
    models <<'PY'
write("long", model([piece(b"a"), piece(b"b" * LONGEST)]))
write("table", model([piece(b"a"), piece(b"b" * LONGEST)], more=field(5, field(2, table([1], b"x")))))
write("mark", model([piece(b"a")], trainer=varint(44 << 3 | 2) + varint(2048) + b"x" * 2048))
write("marks", model([piece(b"a")], trainer=varint(44 << 3 | 2) + varint(2049) + b"x" * 2049))
PY
    refused marks "with a text for unknown pieces of 2049 bytes, at most 2048"
    stream() { # MODEL ID N: records of N and of N + 1 of these ids, and of one
        printf '{"type":"header","header":{"v":1,"kind":"tokens","vocab":"%s"}}\n' \
            "$(sha256sum "$1.model" | cut -d' ' -f1)"
        for n in "$3" $(("$3" + 1)) 1; do
            printf '{"type":"tokens","idx":%d,"ids":[%s]}\n' $((i++)) \
                "$(times "$2" "$n")"
        done
        printf '{"type":"end","count":3}\n'
    }
    while read -r model id n bytes text; do
        i=0
        stream "$model" "$id" "$n" | tf-cbor unjson -o s.tfs
        t 4 tf-tokenize -d -m "$model.model" -o out s.tfs
        expect_bad "record 1: text of $bytes bytes, at most 16777216"
        [ "$(LC_ALL=C awk '{ print length }' out | paste -sd,)" = "$text" ]
    done <<'LIST'
long 5 8192 16779264 16777216,0,2048
table 5 512 16809984 1048579,0,2051
mark 0 8192 16779264 16777216,0,2048
LIST
}

@test "one hypothesis that would be too long is bad, the others are decoded" {
    models <<'PY'
write("long", model([piece(b"a"), piece(b"b" * LONGEST)]))
PY
    printf '{"type":"header","header":{"v":1,"kind":"nbest","vocab":"%s"}}\n{"type":"nbest","idx":0,"hyps":[{"ids":[4],"score":-1,"logp":-1},{"ids":[%s],"score":-2,"logp":-2},{"ids":[4,4],"score":-3,"logp":-3}]}\n{"type":"end","count":1}\n' \
        "$(sha256sum long.model | cut -d' ' -f1)" "$(times 5 8193)" | tf-cbor unjson -o n.tfs
    t 4 tf-tokenize -d --nbest -m long.model n.tfs
    expect_output $'0\t1\t-1.000000\ta\n0\t0\t\t\n0\t3\t-3.000000\taa'
}

@test "the self-test of a vocabulary is left out: it could print anything" {
    models <<'PY'
sample = field(1, b"a a") + field(2, b"\x1b[31mno")
write("test", model([piece(b"a")], more=field(4, field(1, sample))))
PY
    accepted test "▁ a a a ▁ a"
    [ -z "$stderr" ]
}

@test "a run of unknown characters is one unknown piece" {
    models <<'PY'
byte = [piece(b"<0x%02X>" % i, 0, BYTE) for i in range(256)]
write("unigram", model([piece(b"a")]))
write("bpe", model([piece(b"a")], BPE))
write("bytes", model([piece(b"a")] + byte, trainer=b"\x98\x02\x01"))
PY
    echo 'aböüa ccc ca' >text
    for m in unigram bpe; do
        accepted $m "▁ a böü a ▁ ccc ▁ c a"
        sh_t 0 "tf-tokenize -m $m.model text | tf-cbor json | grep -o '\"ids\":.*\]'"
        expect_output '"ids":[3,4,0,4,3,0,3,0,4]'
        sh_t 0 "tf-tokenize -m $m.model text | tf-tokenize -d -m $m.model"
        expect_output "a ⁇ a  ⁇   ⁇ a"
    done
    sh_t 0 "tf-tokenize -m unigram.model --sample --nbest-size 3 text | tf-cbor json | grep -o '\"ids\":.*\]'"
    expect_output '"ids":[3,4,0,4,3,0,3,0,4]'
    sh_t 0 "tf-tokenize -m bytes.model text | tf-tokenize -d -m bytes.model"
    expect_output 'aböüa ccc ca'
}

@test "--nbest-size refuses lines for which it would need too much" {
    models <<'PY'
for k in 2, 100:
    write("%d" % k, model([piece(b"a" * i, -i) for i in range(1, k + 1)]))
PY
    for limit in 2,7281 100,6413; do
        n=${limit#*,}
        head -c $((n - 3)) /dev/zero | tr '\0' a >text # and 3 bytes of a space
        t 0 tf-tokenize --sample --nbest-size 512 -m "${limit%,*}.model" -o ids text
        printf a >>text
        t 4 tf-tokenize --sample --nbest-size 512 -m "${limit%,*}.model" -o ids text
        expect_contains "$stderr" \
            "line 1: too long for the 512 best segmentations: $((n + 1)) bytes, at most $n"
    done
}

@test "a line stays one line, whatever its pieces contain, also for tf-bleu" {
    models <<'PY'
write("lines", model([piece(b"b"), piece(b"c"), piece(b"d\ne"), piece(b"f\tg\x1b")],
                     table=table([1], b"\n")))
PY
    printf 'a b\nc a b c\nb\n' >text
    t 0 tf-tokenize --pieces -m lines.model text
    [ "$(wc -l <<<"$output")" = 3 ]
    sh_t 0 'tf-tokenize -m lines.model text | tf-tokenize -d -m lines.model'
    [ "$(wc -l <<<"$output")" = 3 ]
    t 0 tf-tokenize --export-vocab -m lines.model
    expect_contains "$output" $'d\\x0ae\t-5'
    expect_contains "$output" $'f\\x09g\\x1b\t-5'
    # A piece is shown as a terminal may show it.
    models <<'PY'
write("odd", model([piece("x\u0083".encode()), piece("x\u009by".encode()),
                    piece("\u202ez".encode()), piece("ä\u00a0\u200b".encode())]))
PY
    t 0 tf-tokenize --export-vocab -m odd.model
    expect_contains "$output" $'x\\xc2\\x83\t-5\nx\\xc2\\x9by\t-5\n\\xe2\\x80\\xaez\t-5\nä\xc2\xa0\xe2\x80\x8b\t-5'
    # A text against itself; and lines so long that both processes could wait for the other.
    t 0 tf-bleu -b -w 1 -tok spm --spm-model lines.model -e utf-8 text -i text
    "$TF_PYTHON" -c "print('a' * 400000); print('b' * 900000)" >long
    t 0 tf-bleu -tok spm --spm-model lines.model -f text long -i long
    # SIGCHLD may be ignored: the message is the child's all the same.
    head -c 60 lines.model >bad.model
    t 1 env --ignore-signal=CHLD tf-bleu -tok spm --spm-model bad.model text -i text
    expect_error "bad.model: not a SentencePiece model"
}
