#!/usr/bin/env bats
# tf-batch: pairs, filters, budgets, seeds, cursors; the same batches from files and pipes; and
# errors.
# bats file_tags=first
load helper

setup_file() {
    export D=$BATS_FILE_TMPDIR
    cat >"$D/make.py" <<'END'
# make.py NAME SEED COUNT [vocab digit] [bad,indices]: a token stream of COUNT lines of 0 to 30 ids.
import json, random, subprocess, sys
name, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
digit = sys.argv[4] if len(sys.argv) > 4 else "a"
bad = set(map(int, sys.argv[5].split(","))) if len(sys.argv) > 5 else set()
r = random.Random(seed)
out = [{"type": "header", "header": {"v": 1, "kind": "tokens", "vocab": digit * 64, "size": 500, "special": {"pad": 0, "unk": 1, "bos": 2, "eos": 3}}}]
for i in range(count):
    ids = [r.randrange(4, 500) for _ in range(r.randrange(0, 31) if i % 50 else 90)]
    out.append({"type": "bad", "idx": i, "code": 1, "text": "bad"} if i in bad else {"type": "tokens", "idx": i, "ids": ids})
out.append({"type": "end", "count": count})
subprocess.run(["tf-cbor", "unjson", "-o", name], input="".join(json.dumps(x) + "\n" for x in out), text=True, check=True)
END
    cat >"$D/look.py" <<'END'
# look.py BATCHES [SRC TGT]: check the shape of a batch stream against its sources; print the number
# of batches and pairs.
import sys
from tools import lines
records = lines(sys.argv[1])
config = records[0]["header"]["config"]
batches = [r for r in records if r["type"] == "batch"]
sides = [dict(enumerate(r.get("ids") for r in lines(p) if r["type"] in ("tokens", "bad"))) for p in sys.argv[2:4]]
seen = {}
for b in batches:
    for side in ("src", "tgt"):
        total = sum(len(s) + 1 for s in b[side])
        assert total <= config["tokens"], (b["ordinal"], side, total)
        assert len(b[side]) == len(b["idx"])
    if config["max_sentences"]:
        assert len(b["idx"]) <= config["max_sentences"]
    for i, s, t in zip(b["idx"], b["src"], b["tgt"]):
        seen[i] = seen.get(i, 0) + 1
        if sides:
            assert sides[0][i] == s and sides[1][i] == t, i
assert [b["ordinal"] for b in batches] == list(range(batches[0]["ordinal"], batches[0]["ordinal"] + len(batches)))
print("batches %d pairs %d times %s" % (len(batches), len(seen), sorted(set(seen.values()))))
END
    cd "$D" || return 1
    for s in "s 1" "t 2"; do set -- $s; "$TF_PYTHON" make.py "$1.tfs" "$2" 600; done
    "$TF_PYTHON" make.py b.tfs 3 600 a 5,17,599
    # Seven pairs of files for --list, the fourth without records.
    for k in 1 2 3 4 5 6 7; do
        n=$((k == 4 ? 0 : 30 + 11 * k))
        "$TF_PYTHON" make.py s$k.tfs 1$k $n
        "$TF_PYTHON" make.py t$k.tfs 2$k $n
        printf '%s\t%s\n' "$D/s$k.tfs" "$D/t$k.tfs"
    done >list
    cat s[1-7].tfs >all.s
    cat t[1-7].tfs >all.t
}

look() { t 0 "$TF_PYTHON" "$D/look.py" "$@"; }
cursors() {
    "$TF_PYTHON" - "$1" <<'PY'
import sys
from tools import lines
for r in lines(sys.argv[1]):
    if r["type"] == "batch":
        print(r["epoch"], r["record"])
PY
}
# The same for --list: EPOCH:GROUP:RECORD:ORDINAL.
list_cursors() {
    "$TF_PYTHON" - "$1" <<'PY'
import sys
from tools import lines
for r in lines(sys.argv[1]):
    if r["type"] == "batch":
        print(r["epoch"], r["group"], r["record"], r["ordinal"] + 1, sep=":")
PY
}
# Print the batches of a stream without header and end, which are equal whatever the start cursor.
body() { tf-cbor json "$1" | grep type...batch; }

@test "--preset: the tokens per batch of a preset of tf-train" {
    for o in "--preset tiny:--tokens 2000" "--preset base:" "--preset tiny --tokens 90:--tokens 90"; do
        # shellcheck disable=SC2086
        t 0 tf-batch -q -o one.tfs ${o%:*} "$D/s.tfs" "$D/t.tfs"
        # shellcheck disable=SC2086
        t 0 tf-batch -q -o two.tfs ${o#*:} "$D/s.tfs" "$D/t.tfs"
        cmp one.tfs two.tfs
    done
    t 2 tf-batch --preset huge "$D/s.tfs" "$D/t.tfs"
    expect_error "preset 'huge': unknown; one of base big"
}

@test "every pair once per epoch, within the budget, equal to the sources" {
    natively
    for more in '' '--as t2t' '--no-shuffle' '--max-sentences 5' '--epochs 3 --seed 9'; do
        # shellcheck disable=SC2086
        t 0 tf-batch --tokens 200 --min-length 0 $more -o b "$D/s.tfs" "$D/t.tfs"
        expect_contains "$stderr" "of 600 records 0 dropped"
        look b "$D/s.tfs" "$D/t.tfs"
        case $more in *epochs*) want='pairs 600 times [3]' ;; *) want='pairs 600 times [1]' ;; esac
        expect_contains "$output" "$want"
    done
}

@test "filters, with a count for each reason" {
    t 0 tf-batch --tokens 200 --max-length 28 --max-ratio 3 -o b "$D/s.tfs" "$D/b.tfs"
    want=$("$TF_PYTHON" - "$D/s.tfs" "$D/b.tfs" <<'END'
import sys
from tools import lines
def read(path):
    return {r["idx"]: r.get("ids") for r in lines(path) if r["type"] in ("tokens", "bad")}
a, b = read(sys.argv[1]), read(sys.argv[2])
n = dict(bad=0, short=0, long=0, ratio=0)
for i in a:
    if a[i] is None or b[i] is None: n["bad"] += 1; continue
    lo, hi = sorted((len(a[i]), len(b[i])))
    if lo < 1: n["short"] += 1
    elif hi > 28: n["long"] += 1
    elif hi > 3 * lo: n["ratio"] += 1
print("of 600 records %d dropped: %d bad, %d too short, %d too long, %d over the ratio" % (sum(n.values()), n["bad"], n["short"], n["long"], n["ratio"]))
END
)
    expect_contains "$stderr" "$want"
    expect_contains "$want" ": 3 bad"
    t 0 tf-batch --tokens 50 -o b "$D/s.tfs" "$D/t.tfs"
    expect_contains "$stderr" "12 over --tokens"
    look b
}

@test "the same seed gives the same bytes from files, pipes or one of each; another seed gives other batches" {
    t 0 tf-batch --tokens 200 -o want "$D/s.tfs" "$D/t.tfs"
    sh_t 0 "tf-batch --tokens 200 '$D/s.tfs' '$D/t.tfs' | cmp - want"
    sh_t 0 "cat '$D/s.tfs' | tf-batch --tokens 200 - '$D/t.tfs' | cmp - want"
    sh_t 0 "tf-batch --tokens 200 <(cat '$D/s.tfs') <(cat '$D/t.tfs') | cmp - want"
    mkdir away
    cp "$D/s.tfs" away/x
    sh_t 0 "cd away && LC_ALL=C tf-batch --tokens 200 x '$D/t.tfs' | cmp - ../want"
    t 0 tf-batch --tokens 200 --seed 2 -o other "$D/s.tfs" "$D/t.tfs"
    body want >a
    body other >b
    run -1 cmp -s a b
    look other "$D/s.tfs" "$D/t.tfs"
}

@test "epochs differ in the order and in the members of batches" {
    t 0 tf-batch --tokens 200 --epochs 2 -o b "$D/s.tfs" "$D/t.tfs"
    "$TF_PYTHON" - b <<'PY'
import sys
from tools import lines
b = [r for r in lines(sys.argv[1]) if r["type"] == "batch"]
end = next(i for i, x in enumerate(b) if x["epoch"] == 1)
first = [tuple(x["idx"]) for x in b[:end + 1]]
second = [tuple(x["idx"]) for x in b[end + 1:]]
assert sorted(sum(map(list, first), [])) == sorted(sum(map(list, second), []))
assert len(set(map(frozenset, first)) & set(map(frozenset, second))) < len(first) / 4
PY
}

@test "no shuffle keeps the order; a pipe cuts the same batches whatever its window" {
    t 0 tf-batch --no-shuffle --tokens 200 -o want "$D/s.tfs" "$D/t.tfs"
    "$TF_PYTHON" - want <<'PY'
import sys
from tools import lines
idx = sum([r["idx"] for r in lines(sys.argv[1]) if r["type"] == "batch"], [])
assert idx == sorted(idx) and len(idx) > 500
PY
    tf-cbor json want | grep type...batch | sed 's/,"corpus":"[0-9a-f]*"//' >a
    for w in 1 7 100 599; do
        sh_t 0 "cat '$D/s.tfs' | tf-batch --no-shuffle --window $w --tokens 200 - '$D/t.tfs' >b"
        body b | sed 's/,"corpus":"[0-9a-f]*"//' | cmp - a
    done
}

@test "a window shuffles a pipe: every pair once, the same each time" {
    natively
    for w in 1 64 100 600 601; do
        sh_t 0 "cat '$D/s.tfs' | tf-batch --min-length 0 --window $w --tokens 200 - '$D/t.tfs' >b"
        look b "$D/s.tfs" "$D/t.tfs"
        expect_contains "$output" "pairs 600 times [1]"
        sh_t 0 "cat '$D/t.tfs' | tf-batch --min-length 0 --window $w --tokens 200 '$D/s.tfs' - | cmp - b"
    done
}

@test "a pipe of exactly one window has ended: the stream is that of the files" {
    need jq
    tf-batch -q --min-length 0 --max-length 0 --tokens 200 -o want "$D/s.tfs" "$D/t.tfs"
    look want
    expect_contains "$output" "pairs 600 times [1]"
    for w in 600 601; do
        sh_t 0 'cat "$1/s.tfs" | tf-batch -q --min-length 0 --max-length 0 --window "$2" --tokens 200 - "$1/t.tfs" >b' "$D" "$w"
        cmp <(tf-cbor json b | jq -c 'del(.header.made)') <(tf-cbor json want | jq -c 'del(.header.made)')
    done
    # The end counts also where it is that of a later window.
    sh_t 0 'cat "$1/s.tfs" | tf-batch -q --min-length 0 --max-length 0 --window 300 --tokens 200 - "$1/t.tfs" >b' "$D"
    [ "$(cursors b | tail -n 1)" = "1 0" ]
}

@test "--from any batch gives exactly the rest of the stream" {
    natively
    local every=3 # kinds of cursors take turns, but not by threes
    rest_is() { # after batch n
        tf-cbor json b >json
        { grep type...batch json || true; } | cmp - <(tail -n +$((n + 1)) all)
    }
    for more in '' '--as t2t' '--no-shuffle'; do
        # shellcheck disable=SC2086
        tf-batch -q --tokens 400 --epochs 3 $more -o want "$D/s.tfs" "$D/t.tfs"
        body want >all
        tf-cbor json want | head -1 >header
        n=0
        while read -r e r; do
            n=$((n + 1))
            ((n % every == 0)) || continue
            # shellcheck disable=SC2086
            t 0 tf-batch -q --tokens 400 --epochs 3 $more --from "$e:$r" -o b "$D/s.tfs" "$D/t.tfs"
            rest_is
            head -1 json | cmp - header
        done < <(cursors want)
        [ "$n" -gt 60 ]
    done
    # The same from a pipe, within one epoch.
    sh_t 0 "cat '$D/s.tfs' | tf-batch -q --window 150 --tokens 400 - '$D/t.tfs' >want"
    body want >all
    n=0
    while read -r e r; do
        n=$((n + 1))
        ((n % every == 0)) || continue
        sh_t 0 "cat '$D/s.tfs' | tf-batch -q --window 150 --tokens 400 --from $e:$r - '$D/t.tfs' >b"
        rest_is
    done < <(cursors want)
    [ "$n" -gt 20 ]
}

@test "--from a cursor where no batch begins" {
    t 1 tf-batch --tokens 400 --from 0:1 -o none "$D/s.tfs" "$D/t.tfs"
    expect_error "--from 0:1: no batch begins there; the nearest begin at record 0 and "
    [ ! -e none ]
    t 1 tf-batch --tokens 400 --from 0:100000 -o none "$D/s.tfs" "$D/t.tfs"
    n=$(tf-batch --tokens 400 -o all "$D/s.tfs" "$D/t.tfs" 2>&1 | sed \
        's/.*: \([0-9]*\) pairs in .*/\1/')
    expect_error "--from 0:100000: no batch begins there; the epoch ends at $n"
    t 2 tf-batch --from 7 "$D/s.tfs" "$D/t.tfs"
    expect_error "--from '7': not of the form EPOCH:RECORD"
    t 2 tf-batch --from 1:x "$D/s.tfs" "$D/t.tfs"
    expect_error "--from '1:x': 'x'"
    # Beyond the last batch; the end itself is a valid cursor.
    for at in "2 7:3" "2 2:1" "2 3:0" "1 1:5"; do
        t 1 tf-batch --epochs "${at% *}" --from "${at#* }" -o none "$D/s.tfs" "$D/t.tfs"
        expect_error "--from ${at#* }: no batch begins there; the stream ends at ${at% *}:0"
        [ ! -e none ]
    done
    sh_t 1 "cat '$D/s.tfs' | tf-batch --from 1:5 - '$D/t.tfs' >b"
    expect_error "--from 1:5: no batch begins there; the stream ends at 1:0"
    t 1 tf-cbor check b
    sh_t 0 "cat '$D/s.tfs' | tf-batch -q --from 1:0 - '$D/t.tfs' >b"
    t 0 tf-batch -q --epochs 2 --from 2:0 "$D/s.tfs" "$D/t.tfs"
    t 0 tf-batch -q --batches 3 --from 7:3 "$D/s.tfs" "$D/t.tfs"
}

@test "--batches counts from the first of epoch 0, over epochs and cursors" {
    t 0 tf-batch -q --tokens 400 --batches 70 -o want "$D/s.tfs" "$D/t.tfs"
    [ "$(body want | wc -l)" -eq 70 ]
    read -r e r < <(cursors want | sed -n 65p)
    t 0 tf-batch -q --tokens 400 --batches 70 --from "$e:$r" -o b "$D/s.tfs" "$D/t.tfs"
    body want | tail -n 5 | cmp - <(body b)
    t 0 tf-batch -q --tokens 400 --batches 3 --epochs 1 -o b "$D/s.tfs" "$D/t.tfs"
    body want | sed -n 1,3p | cmp - <(body b)
    # A pipe can't be read again.
    sh_t 0 'cat "$1/s.tfs" | tf-batch -q --tokens 400 --batches 5000 - "$1/t.tfs" >b' "$D"
    n=$(body b | wc -l)
    expect_error "tf-batch: the input ended after $n of 5000 batches: standard input or a pipe"
    sh_t 0 'cat "$1/s.tfs" | tf-batch -q --tokens 400 --batches "$2" - "$1/t.tfs" >b' "$D" "$n"
    [ -z "$stderr" ]
}

@test "--first-epoch: an epoch of the whole stream, counted from batch 0; cursors know its number" {
    members() { tf-cbor json "$1" | sed -n 's/.*"idx":\(\[[^]]*\]\).*/\1/p'; }
    number() { tf-cbor json "$1" | sed -n 's/.*"ordinal":\([0-9]*\),.*"epoch":\([0-9]*\).*/\1 \2/p'; }
    t 0 tf-batch -q --tokens 400 --epochs 4 --from 2:0 -o rest "$D/s.tfs" "$D/t.tfs"
    t 0 tf-batch -q --tokens 400 --epochs 2 --first-epoch 2 -o own "$D/s.tfs" "$D/t.tfs"
    [ "$(members own)" = "$(members rest)" ]
    [ "$(number own | sed -n '1p;$p')" = "0 2
$(($(number own | wc -l) - 1)) 4" ]
    # A pipe has one epoch, and a list groups.
    sh_t 0 "cat '$D/s.tfs' | tf-batch -q --tokens 400 --first-epoch 3 - '$D/t.tfs' >pipe"
    t 0 tf-batch -q --tokens 400 --first-epoch 3 -o one "$D/s.tfs" "$D/t.tfs"
    [ "$(members pipe) $(number pipe)" = "$(members one) $(number one)" ]
    printf '%s\t%s\n' "$D/s.tfs" "$D/t.tfs" >list
    t 0 tf-batch -q --tokens 400 --first-epoch 3 --list list -o many
    [ "$(members many) $(number many)" = "$(members one) $(number one)" ]
    # Cursors are of these epochs.
    t 0 tf-batch -q --tokens 400 --epochs 2 --first-epoch 2 --from 3:0 -o b "$D/s.tfs" "$D/t.tfs"
    [ "$(members b)" = "$(members one)" ]
    t 2 tf-batch -q --first-epoch 2 --from 1:0 "$D/s.tfs" "$D/t.tfs"
    expect_error "--from '1:0': before --first-epoch 2"
    t 1 tf-batch -q --first-epoch 2 --from 5:0 "$D/s.tfs" "$D/t.tfs" -o b
    expect_error "--from 5:0: no batch begins there; the stream ends at 3:0"
}

@test "the summary uses the singular" {
    tf-cbor head -n 1 "$D/s.tfs" >s
    tf-cbor head -n 1 "$D/t.tfs" >t
    t 0 tf-batch --min-length 0 -o b s t
    expect_contains "$stderr" "1 pair in 1 batch, 1 epoch, "
    expect_contains "$stderr" "; of 1 record 0 dropped"
}

@test "a stream succeeds when its reader closes the pipe" {
    run --separate-stderr bash -c "tf-batch --epochs 0 --tokens 200 '$D/s.tfs' '$D/t.tfs' | head -c 3000000 | wc -c; echo \${PIPESTATUS[0]}"
    expect_output $'3000000\n0'
    run --separate-stderr bash -c "tf-batch --epochs 100 --tokens 200 '$D/s.tfs' '$D/t.tfs' | head -c1 >/dev/null; echo \${PIPESTATUS[0]}"
    expect_output 0
    expect_contains "$stderr" "tf-batch: "
    # A file has no reader that leaves.
    for to in '-o new' '>new' '-o /dev/stdout >new'; do
        sh_t 2 "tf-batch --epochs 0 --batches 0 '$D/s.tfs' '$D/t.tfs' $to"
        expect_error "--epochs 0: an endless stream needs a reader"
        [ ! -s new ]
    done
    sh_t 0 "tf-batch -q --epochs 0 --batches 3 '$D/s.tfs' '$D/t.tfs' >new"
}

@test "one stream of pairs gives the batches of its two sides" {
    "$TF_PYTHON" - "$D/s.tfs" "$D/b.tfs" <<'END' >p.jsonl
import json, sys
from tools import lines
a, b = map(lines, sys.argv[1:])
a[0]["header"]["kind"] = "pairs"
n = 0
print(json.dumps(a[0]))
for x, y in zip((r for r in a if r["type"] in ("tokens", "bad")), (r for r in b if r["type"] in ("tokens", "bad"))):
    print(json.dumps({"type": "pair", "idx": x["idx"], "src": x["ids"], "tgt": y["ids"]} if y["type"] == "tokens" else y))
    n += 1
print(json.dumps({"type": "end", "count": n}))
END
    tf-cbor unjson -o p.tfs p.jsonl
    t 0 tf-batch --tokens 200 -o want "$D/s.tfs" "$D/b.tfs"
    t 0 tf-batch --tokens 200 -o got p.tfs
    body want | sed 's/"corpus":"[0-9a-f]*"//' >a
    body got | sed 's/"corpus":"[0-9a-f]*"//' >b
    cmp a b
    sh_t 0 "cat p.tfs | tf-batch --tokens 200 | cmp - got"
}

@test "several parts, and streams written by other programs" {
    cat "$D/s.tfs" "$D/b.tfs" >s2
    cat "$D/t.tfs" "$D/s.tfs" >t2
    t 0 tf-batch --tokens 200 --min-length 0 -o b s2 t2
    look b
    expect_contains "$output" "pairs 1197 times [1]"
    # Plain arrays of integers and a null CRC: no corpus id, but the same batches.
    "$TF_PYTHON" - "$D/s.tfs" <<'END'
import sys
from cbor2 import CBORTag
from streams import write
from tools import lines
out = [[0, {"v": 1, "kind": "tokens", "vocab": bytes([0xaa] * 32), "size": 500}]]
for n, r in enumerate(r for r in lines(sys.argv[1]) if r["type"] == "tokens"):
    wide = CBORTag(71, b"".join(i.to_bytes(8, "little") for i in r["ids"]))
    out.append([1, r["idx"], r["ids"] if n % 3 else wide])
with open("plain.tfs", "wb") as f:
    write(out + [[15, len(out) - 1, None]], f)
END
    t 0 tf-batch --tokens 200 -o want "$D/s.tfs" "$D/t.tfs"
    t 0 tf-batch --tokens 200 -o got plain.tfs "$D/t.tfs"
    body want | sed 's/,"corpus":"[0-9a-f]*"//' | cmp - <(body got)
}

@test "the corpus id depends on the contents of both sides" {
    id() { tf-cbor json "$1" | head -1 | grep -o '"corpus":"[0-9a-f]*"'; }
    tf-batch -q -o a "$D/s.tfs" "$D/t.tfs"
    tf-batch -q --seed 3 --tokens 300 -o b "$D/s.tfs" "$D/t.tfs"
    tf-batch -q -o c "$D/s.tfs" "$D/b.tfs"
    [ "$(id a)" = "$(id b)" ]
    [ "$(id a)" != "$(id c)" ]
}

@test "sides that do not match" {
    (cd "$D" && "$TF_PYTHON" make.py "$T/v.tfs" 2 600 b && "$TF_PYTHON" make.py "$T/short.tfs" 2 \
        599)
    t 1 tf-batch "$D/s.tfs" v.tfs
    expect_contains "$stderr" "vocabulary bbbbbbbb"
    expect_contains "$stderr" "aaaaaaaa"
    t 1 tf-batch "$D/s.tfs" short.tfs
    expect_error "short.tfs ends after 599 records, $D/s.tfs continues"
    t 1 tf-batch short.tfs "$D/s.tfs"
    expect_error "short.tfs ends after 599 records"
    tf-cbor json "$D/t.tfs" | sed 's/"idx":300,/"idx":301,/' | tf-cbor unjson -o idx.tfs
    t 1 tf-batch "$D/s.tfs" idx.tfs
    expect_error "record 300: idx 300 in $D/s.tfs, 301 in idx.tfs"
    t 1 tf-batch "$D/s.tfs"
    expect_error "kind is tokens, expected pairs"
}

@test "every header counts: one vocabulary, of one size, with the same special ids" {
    head_of() { # NAME JSON: a stream of one record
        printf '%s\n' "{\"type\":\"header\",\"header\":{\"v\":1,\"kind\":\"tokens\"$2}}" \
            '{"type":"tokens","idx":0,"ids":[5]}' '{"type":"end"}' | tf-cbor unjson >"$1"
    }
    a=$(printf 'a%.0s' {1..64})
    head_of none ''
    head_of a ",\"vocab\":\"$a\",\"size\":9,\"special\":{\"eos\":3}"
    head_of b ",\"vocab\":\"${a//a/b}\""
    head_of eight ',"size":8'
    head_of two ',"special":{"eos":2}'
    head_of ten ',"special":{"bos":10}'
    try() { # OTHER MESSAGE: the first part of one side states nothing
        cat none "$1" >mixed
        cat a none >known
        t 1 tf-batch known mixed
        expect_error "$2"
        t 1 tf-batch mixed known
        expect_contains "$stderr" "$3"
        printf 'none\tnone\na\tnone\nnone\t%s\n' "$1" >list
        t 1 tf-batch --list list
        expect_error "$2"
    }
    try b 'vocabulary bbbbbbbbbbbb differs from' 'vocabulary'
    try eight 'vocabulary of 8 ids, but 9 in an earlier header' 'an earlier header'
    try two 'eos is id 2, but 3 in an earlier header' 'an earlier header'
    try ten 'bos is id 10 in a vocabulary of 9' 'bos is id 10 in a vocabulary of 9'
    # What one header leaves out, another may state.
    cat none a >late
    t 0 tf-batch -o b late late
    expect_contains "$(tf-cbor json b | head -1)" "\"vocab\":\"$a\""
    expect_contains "$(tf-cbor json b | head -1)" '"special":{"eos":3}'
}

@test "provenance of both sides: a stage that both have is recorded once" {
    stage() { tf-cbor json "$1" | tf-cbor unjson --made "$2"; }
    stage "$D/s.tfs" clean >x
    stage x more | tee y | tf-cbor json | tf-cbor unjson --made last >z
    made() { tf-batch -q -o b "$1" "$2"; tf-cbor json b | head -1 | jq -c '[.header.made[].prog]'; }
    cp "$D/t.tfs" t
    [ "$(made x x)" = '["clean","tf-batch"]' ]
    [ "$(made z x)" = '["clean","more","last","tf-batch"]' ]
    [ "$(made x z)" = '["clean","more","last","tf-batch"]' ]
    [ "$(made t z)" = '["clean","more","last","tf-batch"]' ]
}

@test "a failure before the first batch is passed on, too" {
    { head -c -10 "$D/s.tfs" | tf-cbor seal 2>&- || :; } >failed
    for in in "failed $D/t.tfs" "- $D/t.tfs" "$D/s.tfs failed"; do
        # shellcheck disable=SC2086
        run --separate-stderr bash -c 'cat failed | tf-batch $1 >b' - "$in"
        [ "$status" -eq 1 ]
        expect_contains "$stderr" "upstream failed"
        t 1 tf-cbor check b
        expect_error "b: upstream failed: "
    done
}

@test "truncated and damaged input is an error" {
    size=$(stat -c %s "$D/t.tfs")
    for n in 0 11 100 $((size / 2)) $((size - 1)); do
        head -c "$n" "$D/t.tfs" >cut.tfs
        t 1 tf-batch "$D/s.tfs" cut.tfs
        expect_contains "$stderr" truncated
        sh_t 1 "cat cut.tfs | tf-batch --window 10 --tokens 200 '$D/s.tfs' - >b"
        expect_contains "$stderr" truncated
        if [ -s b ]; then
            t 1 tf-cbor check b
            expect_contains "$stderr" "upstream failed"
        fi
    done
    { head -c 5000 "$D/t.tfs"; printf 'X'; tail -c +5002 "$D/t.tfs"; } >hurt.tfs
    t 1 tf-batch -o none "$D/s.tfs" hurt.tfs
    [ ! -e none ]
}

@test "a file that changes while it is read is an error" {
    cp "$D/s.tfs" moving.tfs
    mkfifo p
    { head -c 1; touch -d '2001-01-01' moving.tfs; cat; } <p >/dev/null 3>&- &
    sh_t 1 "tf-batch -q --tokens 200 --epochs 0 moving.tfs '$D/t.tfs' >p"
    expect_error "moving.tfs: changed while it was read"
}

# variant NAME FORM ORDER OUTPUT: a stream of NAME's records: "pairs" of two sides, "typed" or
# "plain" arrays of ids, the last without CRCs. If "reversed" is the order, so are the ids of each
# sentence, which needs as many bytes.
variant() {
    "$TF_PYTHON" - "$@" <<'END'
import json, subprocess, sys
from streams import write
from tools import lines
name, form, order, to = sys.argv[1:]
records = [r for r in lines(name) if r["type"] != "check"]
for r in records:
    if order == "reversed" and r["type"] == "tokens":
        r["ids"].reverse()
if form == "plain":
    tokens = [r for r in records if r["type"] == "tokens"]
    with open(to, "wb") as f:
        write([[0, {"v": 1, "kind": "tokens", "vocab": bytes([0xaa] * 32), "size": 500}],
               *([1, r["idx"], r["ids"]] for r in tokens), [15, len(tokens), None]], f)
else:
    if form == "pairs":
        records[0]["header"]["kind"] = "pairs"
        records = [{"type": "pair", "idx": r["idx"], "src": r["ids"][:3], "tgt": r["ids"]}
                   if r["type"] == "tokens" else r for r in records]
    records[-1] = {"type": "end", "count": len(records) - 2}
    # Not through a pipe, at whose pauses a stream gains check records.
    with open("lines", "w") as f:
        f.write("".join(json.dumps(r) + "\n" for r in records))
    subprocess.run(["tf-cbor", "unjson", "-o", to, "lines"], check=True)
END
}

@test "ids that change in a mapped file are an error, whatever its times say" {
    cp "$D/t.tfs" t.tfs
    mkfifo p
    for form in typed plain pairs; do
        variant "$D/s.tfs" $form straight moving.tfs
        variant "$D/s.tfs" $form reversed other.tfs
        [ "$(stat -c %s moving.tfs)" = "$(stat -c %s other.tfs)" ]
        in=(moving.tfs t.tfs) what="moving.tfs or t.tfs"
        [ $form != pairs ] || in=(moving.tfs) what=moving.tfs
        touch -r moving.tfs times
        timeout "$TF_TIMEOUT" tf-batch -q --tokens 200 --epochs 40 "${in[@]}" >p 2>err &
        pid=$!
        exec 7<p
        head -c 1000 <&7 >b
        dd if=other.tfs of=moving.tfs bs=1M conv=notrunc status=none
        touch -r times moving.tfs
        cat <&7 >>b
        exec 7<&-
        status=0
        wait $pid || status=$?
        expect_status 1
        # It may look at the times between dd and touch, and then knows which file it was.
        [ "$(<err)" = "tf-batch: $what: changed while it was read" ] ||
            [ "$(<err)" = "tf-batch: moving.tfs: changed while it was read" ]
        t 1 tf-cbor check b
    done
}

@test "--list: a file without CRCs that changes between two readings is an error" {
    variant "$D/s.tfs" plain straight moving.tfs
    variant "$D/s.tfs" plain reversed other.tfs
    cp "$D/t.tfs" t.tfs
    printf 'moving.tfs\tt.tfs\nt.tfs\tmoving.tfs\n' >list
    mkfifo p
    sh_t 1 'tf-batch -q --tokens 200 --list list --group 1 --epochs 40 >p & pid=$!
        exec 5<p; head -c 1000 <&5 >b
        dd if=other.tfs of=moving.tfs bs=1M conv=notrunc status=none
        cat <&5 >>b; wait $pid'
    expect_contains "$stderr" "moving.tfs"
    expect_contains "$stderr" "changed while it was read"
    t 1 tf-cbor check b
}

@test "a file truncated while it is mapped is an error" {
    for _ in {1..50}; do cat "$D/s.tfs"; done >moving.tfs
    for _ in {1..50}; do cat "$D/t.tfs"; done >other.tfs
    run --separate-stderr bash -c "tf-batch -q --tokens 200 moving.tfs other.tfs | { head -c 1000000; : >moving.tfs; cat; } >b; echo \${PIPESTATUS[0]}"
    expect_output 1
    expect_error "tf-batch: moving.tfs: changed while it was read"
    t 1 tf-cbor check b
    expect_error "b: upstream failed: moving.tfs: changed"
    # A SIGBUS sent by kill ends the process.
    mkfifo slow
    tf-batch -q --epochs 0 --tokens 200 "$D/s.tfs" "$D/t.tfs" >slow 2>err &
    exec 7<slow
    head -c 1000 <&7 >begun
    kill -BUS $!
    rc=0
    wait $! || rc=$?
    exec 7<&-
    [ $rc -eq $((128 + $(kill -l BUS))) ]
    [ -n "${TF_EMULATOR:-}" ] || [ ! -s err ] # QEMU reports the signal
}

@test "ids beyond the vocabulary are dropped, whichever side knows its size" {
    tf-cbor json "$D/s.tfs" | sed '1s/"size":500,*//' | tf-cbor unjson -o any.tfs
    tf-cbor json any.tfs | sed 's/"idx":9,"ids":\[/&500,/' | tf-cbor unjson -o far.tfs
    for pair in "far.tfs $D/t.tfs" "$D/t.tfs far.tfs"; do
        read -r a b <<<"$pair"
        t 0 tf-batch --min-length 0 -o b "$a" "$b"
        expect_contains "$stderr" "of 600 records 1 dropped: 1 bad"
        expect_contains "$(tf-cbor json b | head -1)" '"size":500'
    done
    t 0 tf-batch --min-length 0 -o b far.tfs any.tfs
    expect_contains "$stderr" "of 600 records 0 dropped"
}

@test "no pairs, and conflicting options" {
    (cd "$D" && "$TF_PYTHON" make.py "$T/empty.tfs" 2 0)
    t 0 tf-batch -o b empty.tfs empty.tfs
    t 0 tf-cbor check b
    t 1 tf-batch --epochs 0 empty.tfs empty.tfs
    expect_error "no pair is left"
    # Records of which no pair is left: never what a user means.
    for o in "" "--epochs 2" "--batches 3"; do
        # shellcheck disable=SC2086
        t 1 tf-batch --min-length 200 $o -o none "$D/s.tfs" "$D/t.tfs"
        expect_error "s.tfs: no pair is left of 600 records: 600 too short"
        [ ! -e none ]
        sh_t 1 "tf-batch --min-length 200 <(cat '$D/s.tfs') <(cat '$D/t.tfs')"
        expect_error "no pair is left of 600 records"
    done
    sh_t 2 "cat '$D/s.tfs' | tf-batch --epochs 2 - '$D/t.tfs'"
    expect_error "standard input or a pipe can be read only once"
    t 2 tf-batch - -
    expect_error "only one file can be stdin"
    t 2 tf-batch --as t2t --no-shuffle "$D/s.tfs" "$D/t.tfs"
    expect_error "--no-shuffle and --as t2t cannot be used together"
    t 2 tf-batch --max-ratio 0.5 "$D/s.tfs" "$D/t.tfs"
    expect_error "--max-ratio 0.5: must be 0, or 1 or more"
    t 0 tf-batch -q --max-ratio 1 -o b "$D/s.tfs" "$D/t.tfs"
    t 2 tf-batch --tokens 1 "$D/s.tfs" "$D/t.tfs"
    expect_error "too small, minimum 2"
    cp "$D/s.tfs" same
    t 2 tf-batch -o same same "$D/t.tfs"
    expect_error "is both input and output"
}

@test "--list in one group gives the batches of the files one after the other" {
    t 0 tf-batch --tokens 200 --epochs 2 -o want "$D/all.s" "$D/all.t"
    for more in '' '--group 7' '--group 99'; do
        # shellcheck disable=SC2086
        t 0 tf-batch --tokens 200 --epochs 2 --list "$D/list" $more -o got
        cmp <(body want | sed 's/"corpus":"[0-9a-f]*",*//') \
            <(body got | sed 's/"corpus":"[0-9a-f]*",*//; s/"group":0,//')
    done
    expect_contains "$(tf-cbor json got | head -1)" '"files":7,"group":7,"corpus":'
    # From stdin, and pair streams.
    sh_t 0 'tf-batch -q --tokens 200 --epochs 2 --list - <"$D/list" | cmp - got'
    # A list from elsewhere: with a byte-order mark, and lines that end in CR LF.
    { printf '\357\273\277'; sed 's/$/\r/' "$D/list"; } >dos
    tf-batch -q --list dos -o from-dos
    tf-batch -q --list "$D/list" -o from-list
    cmp from-dos from-list
}

@test "--list: every pair once per epoch, in groups that differ between epochs and seeds" {
    for more in '' '--as t2t' '--seed 2' '--max-sentences 5'; do
        # shellcheck disable=SC2086
        t 0 tf-batch --min-length 0 --tokens 200 --list "$D/list" --group 2 --epochs 3 $more -o b
        expect_contains "$stderr" " of 1332 records 0 dropped"
        look b "$D/all.s" "$D/all.t"
        expect_contains "$output" "times [3]"
        # A line for each group: epoch, group, and its files by the records that they begin with.
        "$TF_PYTHON" - b >"groups${more// /}" <<'PY'
import bisect, sys
from tools import lines
sizes = [0 if k == 4 else 30 + 11 * k for k in range(1, 8)]
ends = [sum(sizes[:k + 1]) for k in range(7)]
at, files, order = (0, 0), {}, []
for r in lines(sys.argv[1]):
    if r["type"] != "batch": continue
    files.setdefault(at, set()).update(bisect.bisect_right(ends, i) for i in r["idx"])
    at = r["epoch"], r["group"]
for (e, g), f in sorted(files.items()):
    assert len(f) <= 2 and g < 4
    order.append(sorted(f))
    print(e, g, sorted(f))
assert at in ((3, 0), (2, 3))  # the last group of an epoch may be the empty file
assert [x for x in files if x[0] == 0] and len(set(map(str, order))) > 4
PY
    done
    cmp -s groups groups--seed2 && return 1
    cmp groups groups--max-sentences5
    [ "$(grep -c '' groups)" -ge 9 ]
}

@test "--list: the same stream from any cursor" {
    natively
    tf-batch -q --tokens 200 --epochs 2 --list "$D/list" --group 2 -o want
    body want >all
    list_cursors want >cursors
    n=0
    grep -q '^1:0:0:' cursors
    for g in 1 2 3; do grep -q "^0:$g:0:" cursors; done
    while read -r at; do
        n=$((n + 1))
        # Group and epoch boundaries, the end, and of the others some.
        case $at in (*:0:*) ;; (*) [ $((n % ${TF_SAN:+3}7)) = 0 ] || continue ;; esac
        t 0 tf-batch -q --tokens 200 --epochs 2 --list "$D/list" --group 2 --from "$at" -o b
        tail -n +$((n + 1)) all | cmp - <({ body b || true; })
        cmp <(tf-cbor json b | head -1) <(tf-cbor json want | head -1)
    done <cursors
    [ "$n" -gt 40 ]
    t 0 tf-batch -q --tokens 200 --epochs 2 --list "$D/list" --group 2 --from 0:0:0:0 -o b
    cmp b want
    at=$(sed -n 30p cursors)
    t 0 tf-batch -q --tokens 200 --batches 33 --list "$D/list" --group 2 --from "$at" -o b
    sed -n 31,33p all | cmp - <(body b)
    # From the end of the last of them there are none; at the start of a group, too.
    for k in 33 "$(grep -n '^1:0:0:' cursors | cut -d: -f1)" "$(grep -n '^0:1:0:' cursors | cut -d: -f1)"; do
        at=$(sed -n "${k}p" cursors)
        t 0 tf-batch -q --tokens 200 --batches "$k" --list "$D/list" --group 2 --from "$at" -o b
        [ "$(body b | wc -l)" -eq 0 ]
    done
}

@test "--list: cursors at which no batch begins" {
    o=(--tokens 200 --list "$D/list" --group 2)
    t 1 tf-batch "${o[@]}" --from 0:4:0:9 -o none
    expect_error "--from 0:4:0:9: no batch begins there; an epoch has 4 groups"
    t 1 tf-batch "${o[@]}" --from 0:1:1:9 -o none
    expect_error "--from 0:1:1:9: no batch begins there; the nearest begin at record 0 and "
    t 1 tf-batch "${o[@]}" --from 0:1:5000:9 -o none
    expect_error "--from 0:1:5000:9: no batch begins there; the group ends at "
    t 1 tf-batch "${o[@]}" --from 1:0:1:9 -o none
    expect_error "--from 1:0:1:9: no batch begins there; the stream ends at 1:0:0"
    t 1 tf-batch "${o[@]}" --from 0:0:0:1 -o none
    expect_error "--from 0:0:0:1: not the cursor of batch 1"
    for at in 0:0 0:0:0 0:0:0:0:0 7 ''; do
        t 2 tf-batch "${o[@]}" --from "$at"
        expect_error "--from '$at': not of the form EPOCH:GROUP:RECORD:ORDINAL"
    done
    t 2 tf-batch --from 0:0:0:0 "$D/s.tfs" "$D/t.tfs"
    expect_error "--from '0:0:0:0': not of the form EPOCH:RECORD"
    t 2 tf-batch "${o[@]}" --from 0:x:0:0
    expect_error "--from '0:x:0:0': 'x'"
    [ ! -e none ]
}

@test "--list: the corpus is all files in their order" {
    id() { tf-batch -q --tokens 200 --list "$1" "${@:2}" | tf-cbor json | grep -o '"corpus":"[0-9a-f]*"' | sort -u; }
    want=$(id "$D/list")
    [ "$(wc -l <<<"$want")" = 1 ]
    [ "$(id "$D/list" --group 2 --seed 5)" = "$want" ]
    tac "$D/list" >tac
    [ "$(id tac)" != "$want" ]
    cp "$D/s1.tfs" moved.tfs
    printf 'moved.tfs\t%s\n' "$D/t1.tfs" >moved
    tail -n +2 "$D/list" >>moved
    [ "$(id moved)" = "$want" ]
    # A file that is listed twice is used twice.
    cat "$D/list" "$D/list" >twice
    t 0 tf-batch --min-length 0 --tokens 200 --list twice -o b
    look b
    expect_contains "$output" "pairs 888 times [1]"
}

@test "--list: refused lists and files, by line" {
    bad() { # STATUS MESSAGE: the list on stdin
        cat >bad
        t "$1" tf-batch -o none --list bad
        expect_error "tf-batch: $2"
        [ ! -e none ]
    }
    s=$D/s1.tfs t=$D/t1.tfs
    bad 1 "bad: no files" </dev/null
    printf '%s\t%s\n%s\tnone.tfs\n' "$s" "$t" "$s" | bad 1 "bad: line 2: none.tfs: No such file or directory"
    printf '%s\t%s\n%s\n' "$s" "$t" "$s" | bad 1 "bad: line 2: 1 file, those before have 2"
    printf '%s\t%s\t%s\n' "$s" "$t" "$t" | bad 1 "bad: line 1: weight '$t': not a number"
    printf '\t%s\n' "$t" | bad 1 "bad: line 1: no file name before the tab"
    printf '%s\t%s\n\n' "$s" "$t" | bad 1 "bad: line 2: no file name"
    printf '%s\t-\n' "$s" | bad 1 "bad: line 1: stdin cannot be read once for each epoch"
    printf '%s\t%s\0\n' "$s" "$t" | bad 1 "bad: line 1: a NUL byte"
    printf '%s\n' "$s" | bad 1 "bad: line 1: $s: kind is tokens, expected pairs"
    printf '%s\t%s\n' "$s" "$D/t2.tfs" | bad 1 "bad: line 1: $s ends after 41 records, $D/t2.tfs continues"
    # Ends that count 2^32 - 1 records, after a hole of as many bytes, and a file of one more.
    for x in s t; do
        head -c -8 "$D/${x}4.tfs" >"many.$x"
        truncate -s 4294967295 "many.$x"
        printf '\x83\x0f\x1a\xff\xff\xff\xff\xf6' >>"many.$x"
        (cd "$D" && "$TF_PYTHON" make.py "$T/one.$x" 5 1)
    done
    printf 'many.s\tmany.t\none.s\tone.t\n' | bad 1 "bad: line 2: too many records in all files, at most 4294967295"
    mkfifo fifo
    printf '%s\tfifo\n' "$s" | bad 1 "bad: line 1: fifo: not a regular file"
    printf '%s\t.\n' "$s" | bad 1 "bad: line 1: .: is a directory"
    (cd "$D" && "$TF_PYTHON" make.py "$T/v.tfs" 2 41 b)
    printf '%s\t%s\n%s\tv.tfs\n' "$s" "$t" "$s" >bad
    t 1 tf-batch -o none --list bad
    expect_error "bad: line 2: v.tfs: vocabulary bbbbbbbb"
    expect_contains "$stderr" "$s"
    head -c -1 "$t" >cut.tfs
    printf '%s\t%s\n%s\tcut.tfs\n' "$s" "$t" "$s" | bad 1 "bad: line 2: cut.tfs: truncated: no end record"
    t 1 tf-batch --list "$s"
    expect_error "s1.tfs: a stream of kind tokens, not UTF-8 text"
    # A list may be compressed, as all text.
    printf '%s\t%s\n' "$s" "$t" | gzip >list.gz
    t 0 tf-batch -o packed --list list.gz
    sh_t 0 'tf-batch -o piped --list - <list.gz'
    printf '%s\t%s\n' "$s" "$t" | tf-batch -o plain --list -
    cmp plain packed
    cmp plain piped
    printf '%s\t%s\n' "$s" "$t" >good
    t 2 tf-batch --list good "$s" "$t"
    expect_error "unexpected operand '$s': --list names the files"
    t 2 tf-batch --list good --no-shuffle
    expect_error "--no-shuffle is only for one corpus of the command line"
    t 2 tf-batch --list good --window 5
    expect_error "--window is only for one corpus of the command line"
    t 2 tf-batch --group 5 "$s" "$t"
    expect_error "--group is only for --list"
    cp "$s" same
    printf 'same\t%s\n' "$t" >good
    t 2 tf-batch --list good -o same
    expect_error "same: is both input and output"
    t 1 tf-batch --list none
    expect_error "none: No such file or directory"
    t 1 tf-batch --list good --min-length 90 --max-length 91 --max-sentences 1 --tokens 50
    expect_error "good: no pair is left of 41 records"
}

@test "--list: damaged and changed files are found when they are read" {
    cp "$D"/s?.tfs "$D"/t?.tfs .
    for k in 1 2 3 4 5 6 7; do printf 's%s.tfs\tt%s.tfs\n' $k $k; done >list
    { head -c 500 t3.tfs; printf 'X'; tail -c +502 t3.tfs; } >hurt
    mv hurt t3.tfs
    t 1 tf-batch -q --tokens 200 --list list --group 1 -o b
    expect_contains "$stderr" "tf-batch: list: line 3: t3.tfs: "
    cat s1.tfs s2.tfs >s3.tfs
    cat t1.tfs t2.tfs >t3.tfs
    t 1 tf-batch -q --tokens 200 --list list --group 1 -o b
    expect_error "list: line 3: s3.tfs: 2 streams in one file; list each as a file of its own"
    cp "$D/s3.tfs" "$D/t3.tfs" .
    # Another id, after the first batches, in one write.
    tf-cbor json t3.tfs | sed '9s/,\([0-9]*\)\]/,499]/' | tf-cbor unjson -o other.tfs
    cmp -s t3.tfs other.tfs && return 1
    [ "$(stat -c %s t3.tfs)" = "$(stat -c %s other.tfs)" ]
    mkfifo p
    sh_t 1 'tf-batch -q --tokens 200 --list list --group 1 --epochs 0 >p & pid=$!
        exec 5<p; head -c 1000 <&5 >b
        dd if=other.tfs of=t3.tfs bs=1M conv=notrunc status=none
        cat <&5 >>b; wait $pid'
    # t3.tfs alone, when tf-batch stands before that file's end.
    expect_error "list: line 3: "
    expect_contains "$stderr" "t3.tfs: changed while it was read"
    t 1 tf-cbor check b
}

@test "--list: training resumes after kills, with the stream from its start or from the cursor" {
    need jq
    o=(-q --tokens 200 --list "$D/list" --group 2 --epochs 0)
    train=(tf-train --preset tiny --layers 1 --d-model 24 --d-ff 32 --heads 2 --device cpu -q
        --save-every 4 --keep 0)
    tf-batch "${o[@]}" | "${train[@]}" --steps 60 -o want 2>err
    # Batches of two groups and more than one epoch, the last one killed with its stream.
    tf-batch "${o[@]}" | "${train[@]}" --steps 12 -o run
    mkfifo p
    for last in 24 44; do
        tf-batch "${o[@]}" >p 3>&- &
        batch=$!
        "${train[@]}" --steps 60 -o run p 3>&- &
        pid=$!
        wait_for test -e "run/ckpt-000000$last.tfm"
        kill -KILL $pid $batch || true
        wait $pid $batch || true
    done
    # Every batch of the first epoch is of epoch 0, also the last of a group.
    "${train[@]}" --steps 60 --log-every 1 -o whole <(tf-batch "${o[@]}")
    tf-batch "${o[@]}" | tf-cbor head -n 60 | tf-cbor json | jq -s 'map(select(.type == "batch"))
        | map(.epoch - (if .group == 0 and .record == 0 then 1 else 0 end))' >epochs
    jq -s 'map(select(.event == "step").epoch)' whole/log.jsonl | cmp - epochs
    cursor=$(tf-info --json "$(printf '%s\n' run/ckpt-*.tfm | tail -n 1)" |
        jq -r '.cursor | "\(.epoch):\(.group):\(.record):\(.ordinal)"')
    [[ $cursor == [0-9]*:[0-3]:[0-9]*:[0-9]* ]]
    tf-batch "${o[@]}" --from "$cursor" | "${train[@]}" --steps 60 -o run
    cmp run/ckpt-00000060.tfm want/ckpt-00000060.tfm
    # Other files, and the same ones in another order, are another corpus; another K another stream.
    sed '2s/s2\.tfs/s3.tfs/; 2s/t2\.tfs/t3.tfs/' "$D/list" >other
    tac "$D/list" >tac
    for l in other tac; do
        sh_t 1 'tf-batch -q --tokens 200 --list "$1" --group 2 --epochs 0 | "${@:2}"' "$l" "${train[@]}" --steps 64 -o run
        expect_contains "$stderr" "tf-train: run/ckpt-00000060.tfm: corpus: "
    done
    sh_t 1 'tf-batch -q --tokens 200 --list "$1" --group 3 --epochs 0 | "${@:2}"' "$D/list" "${train[@]}" --steps 64 -o run
    expect_contains "$stderr" "run/ckpt-00000060.tfm: group: 2 in the checkpoint, 3 in the stream"
}

@test "provenance of many stages takes no long time to merge, and no header is written that is refused" {
    natively
    for side in a b; do
        "$TF_PYTHON" - $side >$side.tfs <<'PY'
import sys
from streams import write
special = {"pad": 0, "unk": 1, "bos": 2, "eos": 3}
made = [sys.argv[1]] * 65000
write([[0, {"v": 1, "kind": "tokens", "size": 9, "special": special, "made": made}],
       [1, 0, [5, 6]], [15, 1, None]], canonical=True)
PY
        t 0 tf-cbor check $side.tfs
    done
    limit=5
    [ -z "${TF_SAN:-}${TF_EMULATOR:-}" ] || limit=unlimited
    # Two inputs with the same stages have them once, which leaves room for one more.
    sh_t 0 'ulimit -t $1; tf-batch -q --tokens 25 -o ab a.tfs a.tfs' $limit
    t 0 tf-cbor check ab
    sh_t 1 'ulimit -t $1; tf-batch -q --tokens 25 a.tfs b.tfs >out' $limit
    expect_error "tf-batch: stdout: readers would refuse it: header: "
    [ ! -s out ]
}
