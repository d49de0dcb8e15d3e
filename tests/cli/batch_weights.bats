#!/usr/bin/env bats
# tf-batch with weights of corpora, beside a count that has only the formula of tf-batch(1) and the
# records of formats/batch.md.
load helper

setup_file() {
    export D=$BATS_FILE_TMPDIR
    cat >"$D/make.py" <<'END_MAKE'
# make.py TESTS NAME COUNT...: NAME.s and NAME.t, or more files NAME1.s, ..., of so many records,
# and NAME.p of both sides. Every seventh record is empty.
import random, sys
sys.path.insert(0, sys.argv[1])
import streams
head = [0, {"v": 1, "kind": "tokens", "size": 500, "special": {"pad": 0, "unk": 1, "bos": 2, "eos": 3}}]
counts = list(map(int, sys.argv[3:]))
for k, n in enumerate(counts):
    r = random.Random("%s %d" % (sys.argv[2], k))
    ids = lambda i: [r.randrange(4, 500) for _ in range(0 if i % 7 == 6 else r.randrange(1, 30))]
    pairs = [[i, ids(i), ids(i)] for i in range(n)]
    for side in "stp":
        head[1]["kind"] = "pairs" if side == "p" else "tokens"
        rows = [[2] + x if side == "p" else [1, x[0], x[1 + "st".index(side)]] for x in pairs]
        with open("%s%s.%s" % (sys.argv[2], k if len(counts) > 1 else "", side), "wb") as f:
            streams.write([head] + rows + [[15, n, None]], f)
END_MAKE
    cat >"$D/count.py" <<'END_COUNT'
# count.py BATCHES SEED FIRST_EPOCH EPOCHS SOURCE:TARGET:WEIGHT ...: in each epoch every record
# comes floor(w (e + 1) + u) - floor(w e + u) times, with the ids that it has; print the pairs and
# target tokens of each corpus.
import sys
from fractions import Fraction
from math import floor
import streams


def philox(counter, key):  # Salmon et al., SC 2011
    c, k = list(counter), [key & 0xffffffff, key >> 32]
    for _ in range(10):
        p, q = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & 0xffffffff, p >> 32 ^ c[3] ^ k[1], p & 0xffffffff]
        k = [(k[0] + 0x9e3779b9) % 2**32, (k[1] + 0xbb67ae85) % 2**32]
    return c


def ids(x):  # without numpy, which takes a while to load
    kind = {64: "B", 69: "H", 70: "I"}
    return x if isinstance(x, list) else memoryview(x.value).cast(kind[x.tag]).tolist()


def sides(path):
    return [ids(r[2]) for r in streams.records(path) if r[0] == 1]


seed, first, epochs = map(int, sys.argv[2:5])
corpora = []  # of each file: weight, pairs
for word in sys.argv[5:]:
    s, t, w = word.split(":")
    corpora.append((Fraction(w), list(zip(sides(s), sides(t)))))
want, number = [{} for _ in range(epochs)], 0
for k, (w, pairs) in enumerate(corpora):
    u0 = philox([0, 0, k, 1 << 30], seed)[0]
    for i, (s, t) in enumerate(pairs):
        u = Fraction((u0 + i * 0x9e3779b9) % 2**32, 2**32)
        for e in range(epochs):
            times = floor(w * (first + e + 1) + u) - floor(w * (first + e) + u)
            assert floor(w) <= times <= floor(w) + 1
            if times > 0 and s and t:
                want[e][number] = times
        number += 1
got = [{} for _ in range(epochs)]
flat = [(k, s, t) for k, (_, pairs) in enumerate(corpora) for s, t in pairs]
total = [[0, 0] for _ in corpora]
header = next(streams.records(sys.argv[1]))[1]
begins = next((e for e, of in enumerate(want) if of), 0) + first  # the epoch of a batch
for r in streams.records(sys.argv[1]):
    if r[0] != 3:
        continue
    b = {key: ids(x) if key in ("idx", "src", "tgt", "src_off", "tgt_off") else x for key, x in r[2].items()}
    epoch = got[begins - first]
    begins = b["epoch"]
    for j, i in enumerate(b["idx"]):
        k, *pair = flat[i]
        for side, x in zip(("src", "tgt"), pair):
            assert b[side][b[side + "_off"][j]:b[side + "_off"][j + 1]] == x
        epoch[i] = epoch.get(i, 0) + 1
        total[k][0] += 1
        total[k][1] += len(pair[1]) + 1
assert got == want
# The shares that the header promises are those of the weights.
share = [sum(w for s, t in pairs if s) for w, pairs in corpora]
tokens = [sum(w * (len(t) + 1) for s, t in pairs if s) for w, pairs in corpora]
config = header["config"]
if "token_shares" in config and len(config["mix"]) == len(corpora):
    assert [float(w) for w, _ in corpora] == config["mix"]
    for x, key in (share, "shares"), (tokens, "token_shares"):
        assert all(abs(float(a / sum(x)) - b) < 1e-6 for a, b in zip(x, config[key])), (x, config)
for pairs, tokens in total:
    print(pairs, tokens)
END_COUNT
    cd "$D" || return 1
    "$TF_PYTHON" make.py "$TOP/tests/cli" a 100
    "$TF_PYTHON" make.py "$TOP/tests/cli" b 403
    "$TF_PYTHON" make.py "$TOP/tests/cli" many 40 0 51 33 62
    for f in ?.[stp]; do # with checksums, of which the corpus id is made
        tf-cbor json "$f" | tf-cbor unjson -o new
        mv new "$f"
    done
}

prepare() {
    need "$TF_PYTHON"
    ln -s "$D"/*.[stp] .
}

count() { t 0 "$TF_PYTHON" "$D/count.py" "$@"; }
body() { tf-cbor json "$1" | grep type...batch; }

@test "an epoch has every record as often as its weight says; so say summary and header" {
    for w in "3 1" "0.5 2.25" "0.3 0.001" "1 40"; do
        set -- $w
        t 0 tf-batch --tokens 300 --seed 7 -e 3 -o x.tfs -w "$1" a.s a.t -w "$2" b.s b.t
        summary=$stderr
        count x.tfs 7 0 3 a.s:a.t:"$1" b.s:b.t:"$2"
        { read -r n m; read -r k l; } <<<"$output"
        expect_contains "$summary" "tf-batch: a.s: weight $1: $n pairs ($(share "$n" $((n + k))) %), $m target tokens ($(share "$m" $((m + l))) %)"
        expect_contains "$summary" "tf-batch: b.s: weight $2: $k pair"
    done
    # Without a weight it is 1; one corpus may have one; epochs have their numbers.
    t 0 tf-batch -q --tokens 300 -o x.tfs a.s a.t -w 0.37 b.s b.t
    count x.tfs 1 0 1 a.s:a.t:1 b.s:b.t:0.37
    t 0 tf-batch -q --first-epoch 1000003 -e 2 -o x.tfs -w 0.37 b.s b.t
    count x.tfs 1 1000003 2 b.s:b.t:0.37
    t 0 tf-batch -q -e 2 --first-epoch 7 -o y.tfs -w 3.7 b.s b.t -w 0.01 a.s a.t
    t 0 tf-batch -q --first-epoch 8 -o z.tfs -w 3.7 b.s b.t -w 0.01 a.s a.t
    cmp <(body y.tfs | grep -v '"epoch":[78],' | sed 's/"ordinal":[0-9]*//') \
        <(body z.tfs | grep -v '"epoch":8,' | sed 's/"ordinal":[0-9]*//') # ends with epoch 9
}

share() { "$TF_PYTHON" -c "print('%.1f' % (100 * $1 / $2))"; }

@test "a weight of 1/k takes another part in each epoch, all of them in k, and again in the next k" {
    natively
    for k in 2 5 8; do
        w=$("$TF_PYTHON" -c "print(1 / $k)")
        tf-batch -q --min-length 0 -e $((2 * k)) -o x.tfs -w "$w" b.s b.t
        "$TF_PYTHON" - $k <<'PY'
import sys
from tools import lines
k, parts, epoch = int(sys.argv[1]), {}, 0
for r in lines("x.tfs"):
    if r["type"] == "batch":
        parts.setdefault(epoch, []).extend(r["idx"])
        epoch = r["epoch"]
for at in (0, k):
    assert sorted(sum((parts[at + e] for e in range(k)), [])) == list(range(403))
assert all(abs(len(p) - 403 / k) < 4 for p in parts.values()), {e: len(p) for e, p in parts.items()}
PY
    done
    tf-batch -q -w 0.5 -o one b.s b.t
    tf-batch -q -w 0.5 --seed 2 -o two b.s b.t
    cmp -s <(idx one) <(idx two) && return 1
    true
}

idx() { tf-cbor json "$1" | jq -c 'select(.type == "batch").idx[]' | sort -n; }

@test "weights of 1 give the bytes of none; a weight of 2 has the pairs of a file listed twice" {
    need jq
    printf 'a.s\ta.t\nb.s\tb.t\n' >list
    t 0 tf-batch -q --tokens 300 -e 2 --list list -o want
    sh_t 0 'sed "s/$/\t1/" list | tf-batch -q --tokens 300 -e 2 --list - | cmp - want'
    sh_t 0 'tf-batch -q --tokens 300 -e 2 -w 1 a.s a.t -w 1.0 b.s b.t | cmp - want'
    printf 'a.s\ta.t\na.s\ta.t\nb.s\tb.t\n' >twice
    tf-batch -q --list twice -o twice.tfs
    tf-batch -q -w 2 a.s a.t b.s b.t 2>/dev/null && return 1
    tf-batch -q -w 2 a.s a.t -w 1 b.s b.t -o two.tfs
    cmp <(pairs twice.tfs) <(pairs two.tfs)
}

pairs() { tf-cbor json "$1" | jq -c 'select(.type == "batch") | [.src, .tgt] | transpose[]' | sort; }

@test "the list's third column, files, pipes and streams of pairs give the same stream" {
    printf 'a.s\ta.t\t3\nb.s\tb.t\t0.25\n' >list
    t 0 tf-batch -q --tokens 300 -e 3 -w 3 a.s a.t -w 0.25 b.s b.t -o want
    sh_t 0 'tf-batch -q --tokens 300 -e 3 --list list | cmp - want'
    sh_t 0 'tf-batch -q --tokens 300 -w 3 <(cat a.s) - -w 0.25 b.s <(cat b.t) -e 3 <a.t | cmp - want'
    t 0 tf-batch -q --tokens 300 -e 3 -w 3 a.p -w 0.25 b.p -o of-pairs
    cmp <(body want | sed 's/"corpus":"[0-9a-f]*",*//') <(body of-pairs | sed 's/"corpus":"[0-9a-f]*",*//')
    printf 'a.p\t\t3\nb.p\t\t0.25\n' | tf-batch -q --tokens 300 -e 3 --list - | cmp - of-pairs
    # The shares are in the header, by their order, and for a person.
    need jq
    [ "$(tf-info --json want | jq -c .config.mix)" = "[3,0.25]" ]
    expect_contains "$(tf-info want)" $'\n  mix                3 0.25\n  seed'
    expect_contains "$(tf-info want)" 'tf-batch --as paper --seed 1 --tokens 300'
}

@test "with --list in groups, of any size, from any cursor" {
    natively
    need jq
    i=0
    for n in 2 0.5 0.5 1 3; do printf 'many%d.s\tmany%d.t\t%s\n' $i $i $n; i=$((i + 1)); done >list
    for g in 1 2 5; do
        t 0 tf-batch --tokens 200 -e 3 --list list --group $g -o want
        expect_contains "$stderr" "many1.s and 1 more: weight 0.5: "
        # shellcheck disable=SC2046
        count want 1 0 3 $(tr '\t' : <list)
    done
    t 0 tf-batch -q --tokens 200 -e 3 --list list --group 2 -o want
    body want >all
    n=$(grep -c '' all)
    tf-cbor json want | jq -r 'select(.type == "batch") | "\(.epoch):\(.group):\(.record):\(.ordinal + 1)"' >cursors
    for at in 1 $((n / 3)) $((n / 2)) $((n - 1)); do
        tf-batch -q --tokens 200 -e 3 --list list --group 2 --from "$(sed -n ${at}p cursors)" -o rest
        cmp <(tail -n +$((at + 1)) all) <(body rest)
    done
}

@test "links and weights of pairs: a line for each record of all corpora" {
    need jq
    # Of an empty record the first field is the line number, too.
    for x in a b; do
        tf-cbor json $x.s | jq -r 'select(.type == "tokens") |
            if (.ids | length) == 0 then "" else "0-0 \((.ids | length) - 1)-0" end' >$x.links
        tf-cbor json $x.s | jq 'select(.type == "tokens") | .idx % 9 / 4' >$x.weights
    done
    cat a.links b.links >links
    cat a.weights b.weights | gzip >weights.gz
    both=(--links links --weights weights.gz)
    t 0 tf-batch -q --tokens 300 -e 2 "${both[@]}" -w 2 a.s a.t -w 0.5 b.s b.t -o x.tfs
    tf-cbor json x.tfs | jq -c 'select(.type == "batch") |
        [.idx, (.src | map(length)), .links, .weights] | transpose[]' >got
    tf-cbor json x.tfs | jq -c 'select(.type == "batch") | [.idx, (.src | map(length))] | transpose[] |
        [.[0], .[1], [0, 0, .[1] - 1, 0], (if .[0] < 100 then .[0] else .[0] - 100 end) % 9 / 4]' >want
    cmp got want
    [ "$(wc -l <got)" -gt 600 ]
    # tf-info has the weights as they are given, and the corpus, as no file is named.
    t 0 tf-info x.tfs
    expect_contains "$output" " --corpus-weight 2 --corpus-weight 0.5 "
    id=$(tf-info --json x.tfs | jq -r .config.corpus)
    [[ $output =~ "# tf-batch "[^$'\n']+$'\n'"  #   corpus "\ +$id$ ]]
    # With weights of 1 the batches are those of joined files.
    t 0 tf-batch -q --tokens 300 "${both[@]}" -w 1 a.s a.t -w 1 b.s b.t -o x.tfs
    t 0 tf-batch -q --tokens 300 "${both[@]}" -o y.tfs <(cat a.s b.s) <(cat a.t b.t)
    cmp <(body x.tfs | sed 's/"corpus":"[0-9a-f]*",*//; s/"group":0,//') <(body y.tfs | sed 's/"corpus":"[0-9a-f]*",*//')
    # The corpus id has the lines of each corpus, and the weights.
    sed 8s/0-0// links >other
    for links in links other; do
        for w in 1 2; do
            tf-batch -q --links $links -w $w a.s a.t -w 1 b.s b.t | tf-info --json - |
                jq -e .config.corpus
        done
    done | sort -u >ids
    [ "$(grep -c '^"[0-9a-f]*"$' ids)" = 4 ]
    # Lines are counted over all corpora.
    sed 203s/$/x/ links >bad
    t 1 tf-batch --links bad -w 2 a.s a.t -w 1 b.s b.t -o none
    expect_error "tf-batch: bad: line 203: "
    head -300 links >short
    t 1 tf-batch --links short -w 2 a.s a.t -w 1 b.s b.t -o none
    expect_error "tf-batch: short ends after 300 lines, b.s continues"
    cat links - <<<"" >long
    t 1 tf-batch --links long -w 2 a.s a.t -w 1 b.s b.t -o none
    expect_error "tf-batch: b.s ends after 503 records, long continues"
}

@test "an epoch without a pair has no batch, and the next ones come" {
    "$TF_PYTHON" "$D/make.py" "$TOP/tests/cli" few 3
    t 0 tf-batch -q -e 1000 -w 0.001 few.s few.t -o x.tfs
    count x.tfs 1 0 1000 few.s:few.t:0.001
    need jq
    [ "$(tf-cbor json x.tfs | jq -c 'select(.type == "batch").idx[]' | sort | tr '\n' ' ')" = "0 1 2 " ]
}

@test "training with weights: the log has them, kills change no byte, other weights are refused" {
    need jq
    b=(-q --tokens 200 --epochs 0)
    train=(tf-train --preset tiny --layers 1 --d-model 16 --d-ff 16 --heads 2 --device cpu -q
        --save-every 4 --keep 0 --steps 60)
    mix=(-w 2 a.s a.t -w 0.25 b.s b.t)
    tf-batch "${b[@]}" "${mix[@]}" | "${train[@]}" -o want 2>err
    # Killed while the stream pauses after some 12 and 36 batches.
    tf-batch -q --tokens 200 -e 12 "${mix[@]}" -o whole
    size=$(($(wc -c <whole) / $(body whole | wc -l)))
    mkfifo p
    for last in 08 32; do
        "${train[@]}" --threads 2 -o run p 3>&- 2>err &
        pid=$!
        exec 7>p
        head -c $((size * (10#$last + 4))) whole >&7
        wait_for test -e "run/ckpt-000000$last.tfm"
        kill -KILL $pid
        wait $pid || true
        exec 7>&-
    done
    t 0 tf-info --json "$(printf '%s\n' run/ckpt-*.tfm | tail -n 1)"
    cursor=$(jq -r '.cursor | "\(.epoch):\(.group):\(.record):\(.ordinal)"' <<<"$output")
    # Other weights, by the name of the setting; the order of the files decides, too.
    for other in "-w 3 a.s a.t -w 0.25 b.s b.t:mix: 2 0.25 in the checkpoint, 3 0.25 in the stream" \
        "a.s a.t -w 1 b.s b.t:mix: 2 0.25 in the checkpoint, nothing in the stream"; do
        # shellcheck disable=SC2086
        t 1 "${train[@]}" -o run <(tf-batch "${b[@]}" ${other%%:*} 2>/dev/null)
        expect_error "${other#*:}"
    done
    tf-batch "${b[@]}" "${mix[@]}" --from "$cursor" | "${train[@]}" -o run
    cmp run/ckpt-00000060.tfm want/ckpt-00000060.tfm
    [ "$(jq -c 'select(.event == "start").batches | [.mix, (.shares | add), (.token_shares | add)]' want/log.jsonl)" = "[[2,0.25],1,1]" ]
}

@test "wrong weights and corpora: one line each" {
    for w in '0: too small, minimum 0.001' '-1: too small' "'nan': not a number" \
        '1e9: too large, maximum 1000' '1000.1: too large' "'1 ': not a number" "'': not a number"; do
        number=${w%%:*}
        number=${number//\'/}
        t 2 tf-batch -w "$number" a.s a.t -o none
        expect_error "--corpus-weight $w"
        printf 'a.s\ta.t\t%s\n' "$number" >list
        t 1 tf-batch --list list -o none
        expect_error "tf-batch: list: line 1: weight $w"
    done
    wrong() { # STATUS MESSAGE ARGUMENT...
        t "$1" tf-batch -o none "${@:3}"
        expect_error "tf-batch: $2"
        [ "$(grep -c '' <<<"$stderr")" = 1 ]
        [ ! -e none ]
    }
    wrong 2 "--corpus-weight 2: no file follows" -w 2
    wrong 2 "--corpus-weight 2: no file follows" -w 2 -w 1 a.s a.t
    wrong 2 "--corpus-weight 3: no file follows" -w 1 a.s a.t -w 3
    wrong 2 "'b.s': a third file of one corpus; each begins with --corpus-weight" -w 1 a.s a.t b.s b.t
    wrong 2 "unexpected operand 'b.s': several corpora need --corpus-weight" a.s a.t b.s b.t
    wrong 2 "b.s: 1 file, those before have 2" -w 1 a.s a.t -w 2 b.s
    wrong 2 "only one file can be stdin" -w 1 - a.t -w 2 - b.t
    wrong 2 "--corpus-weight and --list cannot be used together" -w 1 --list list
    wrong 2 "--no-shuffle is only for one corpus of the command line" -w 1 a.s a.t --no-shuffle
    wrong 2 "--window is only for one corpus of the command line" -w 1 a.s a.t --window 3
    wrong 2 "--group is only for --list" -w 1 a.s a.t --group 3
    wrong 1 "none.t: No such file or directory" -w 1 a.s a.t -w 2 b.s none.t
    wrong 1 "a.s ends after 100 records, b.t continues" -w 1 a.s b.t
    wrong 1 "a.s: no pair is left of 100 records" -w 1 a.s a.t --min-length 90
    wrong 1 "all corpora: no pair is left of 503 records" -w 1 a.s a.t -w 2 b.s b.t --min-length 90
    printf 'a.s\ta.t\t1\tx\n' >list
    wrong 1 "list: line 1: more than three columns" --list list
    printf 'a.s\ta.t\t1\nb.s\t\t1\n' >list
    wrong 1 "list: line 2: 1 file, those before have 2" --list list
    for i in $(seq 4097); do printf 'a.s\ta.t\t%d\n' $((1 + i % 2)); done >list
    wrong 1 "4097 corpora with weights, at most 4096" --list list
}
