#!/usr/bin/env bats
# tf-cbor: every verb on every kind of file, from files and pipes; and what it does with damage.
load helper

V=$BATS_TEST_DIRNAME/../../formats/vectors
kinds='tokens tokens-wide pairs batch nbest attention scores stats bad parts model checkpoint'

@test "a length that a pipe does not hold takes no memory" {
    most=400000
    # A sanitizer takes terabytes of addresses, an emulator what a program has room for.
    [ -z "${TF_SAN:-}${TF_EMULATOR:-}" ] || most=unlimited
    # A record of type 6 with a text of 1.5 GB, of which three bytes come.
    printf '\xd9\xd9\xf8\xdaTFSTCBOR\x82\x06\x7a\x5e\xae\x47\xfeabc' >liar
    for tool in "tf-cbor json" "tf-cbor count" "tf-cbor seal" "tf-cbor diag" "tf-cbor check" \
        "tf-info"; do
        # shellcheck disable=SC2016
        sh_t 1 'ulimit -v $2; cat liar | $1 - >/dev/null' "$tool" "$most"
        [[ $stderr == *"truncated"* || $stderr == *"longer than the limit"* ]] ||
            { echo "$tool: $stderr" >&2; false; }
    done
}

@test "check: several files, a line for each that is damaged" {
    head -c -1 "$V/model.cbor" >cut.tfm
    t 0 tf-cbor check "$V"/{tokens,model}.cbor
    [ -z "$output$stderr" ]
    t 1 tf-cbor check cut.tfm "$V/tokens.cbor" none "$V/model.cbor"
    [ "${#stderr_lines[@]}" -eq 2 ]
    expect_contains "${stderr_lines[0]}" "tf-cbor: cut.tfm: truncated"
    expect_contains "${stderr_lines[1]}" "tf-cbor: none: No such file or directory"
    sh_t 1 "tf-cbor check '$V/tokens.cbor' - <cut.tfm"
    expect_error "stdin: truncated"
    t 2 tf-cbor check - -
    expect_error "only one file can be stdin"
    t 2 tf-cbor json "$V/tokens.cbor" cut.tfm
    expect_error "unexpected operand 'cut.tfm'"
}

@test "check: silent on what is whole, one line on what is not" {
    for k in $kinds; do
        t 0 tf-cbor check "$V/$k.cbor"
        [ -z "$output$stderr" ]
        sh_t 0 "cat '$V/$k.cbor' | tf-cbor check"
        sh_t 0 "cat '$V/$k.cbor' | tf-cbor check -"
        size=$(stat -c %s "$V/$k.cbor")
        head -c $((size - 1)) "$V/$k.cbor" >short
        t 1 tf-cbor check short
        expect_error "tf-cbor: short: truncated after record"
        { head -c 20 "$V/$k.cbor"; printf '\0'; tail -c +22 "$V/$k.cbor"; } >flip
        t 1 tf-cbor check flip
        expect_error "tf-cbor: flip: "
        sh_t 1 'cat flip | tf-cbor check'
        expect_error "tf-cbor: stdin: "
    done
    t 1 tf-cbor check "$V/error.cbor"
    expect_error "upstream failed: tf-example: no space left"
    : >empty
    t 1 tf-cbor check empty
    expect_error "empty: truncated: no stream"
    t 1 tf-cbor check nowhere
    expect_error "nowhere: No such file or directory"
    echo text >text
    t 1 tf-cbor check text
    expect_error "not a stream of tf-tools"
}

@test "check: a tensor whose head takes 18 bytes to its type, of which a pipe brings 14" {
    {
        printf '\xd9\xd9\xf8\xdaTFSTCBOR\x82\x00\xa2\x61v\x01\x64kind\x65model'
        printf '\x9b\0\0\0\0\0\0\0\x06\x1b\0\0\0\0'
    } >begin
    printf '\0\0\0\x06\x61w\x62u8\x40\xd8\x28\x82\x81\x01\xd8\x40\x41x\xf6\x83\x0f\x01\xf6' >rest
    for tool in "tf-cbor check" "tf-info"; do
        sh_t 0 "(cat begin; sleep 0.3; cat rest) | $tool -"
    done
}

@test "a model of two parts is refused by every verb, also from JSON Lines" {
    for k in model checkpoint; do
        cat "$V/$k.cbor" "$V/$k.cbor" >two.tfm
        for verb in check json count seal; do
            t 1 tf-cbor $verb two.tfm
            expect_error "bytes after the end record at byte $(stat -c %s "$V/$k.cbor")"
        done
        tf-cbor json "$V/$k.cbor" >one.jsonl
        cat one.jsonl one.jsonl >two.jsonl
        t 1 tf-cbor unjson -o two.tfm two.jsonl
        n=$(($(wc -l <one.jsonl) + 1))
        expect_error "two.jsonl: line $n: a second header: a $k has one part"
    done
}

@test "check: batches without sentences, and out of turn" {
    tf-cbor json "$V/batch.cbor" | jq -c 'if .type == "batch" then ., (.ordinal += 2) else . end' |
        tf-cbor unjson >turn.tfs
    t 1 tf-cbor check turn.tfs
    expect_error "turn.tfs: batch 9, expected batch 8"
    # Another part begins where it likes.
    cat "$V/batch.cbor" "$V/batch.cbor" >parts.tfs
    t 0 tf-cbor check parts.tfs
    check_batches 'k == 1 and [b.update(idx=[], src=[], tgt=[], src_off=[0], tgt_off=[0])]'
    expect_error "odd.tfs: batch 1 is empty"
    # Each cursor is after the one before, in epoch, group or record.
    check_batches 'b.update(epoch=k // 2, record=k % 2)' 0
    check_batches 'b.update(epoch=1, group=k // 2, record=k % 2)' 0
    for edit in 'b.update(record=7)' 'k == 3 and b.update(epoch=0, record=9)' \
        'b.update(group=3 - k, record=k)'; do
        check_batches "$edit"
        expect_error "its cursor is not after that of the batch before"
    done
}

@test "check: what readers would refuse beside sentences: links and alignments" {
    check_batches 'b.update(links=[0, 0], links_off=[0, 2])' 0
    check_batches 'k == 2 and b.update(links=[0, 0, 0, 1], links_off=[0, 4])'
    expect_error "odd.tfs: batch 2: pair 0: link 0-1 of 1 and 1 tokens"
    check_batches 'b.update(links=[0, 0, 0], links_off=[0, 3])'
    expect_error "odd.tfs: batch 0: pair 0: links: half a link"
    aligned() {
        printf '%s\n' '{"type":"header","header":{"v":1,"kind":"'"${2-tokens}"'","size":20}}' "$1" \
            '{"type":"end"}' | tf-cbor unjson >aligned.tfs
    }
    of='"source":[7],"alignment"' hyp='"score":-1,"logp":-1,"alignment"'
    for good in '[0.5,0.5]' '[0.5,0.5,0.5,0.5]'; do
        aligned '{"type":"tokens","idx":0,"ids":[5],'"$of:$good}"
        t 0 tf-cbor check aligned.tfs
        aligned '{"type":"nbest","idx":0,"source":[7],"hyps":[{"ids":[5],'"$hyp:$good}]}" nbest
        t 0 tf-cbor check aligned.tfs
    done
    for bad in '[1]:an alignment of 1 weights for 1 tokens of 1' \
        '["nan",1]:an alignment with the weight nan' '[1,-1]:an alignment with the weight -1'; do
        aligned '{"type":"tokens","idx":0,"ids":[5],'"$of:${bad%%:*}}"
        t 1 tf-cbor check aligned.tfs
        expect_error "1 of 1 records bad; the first is record 0: ${bad#*:}"
        aligned '{"type":"nbest","idx":0,"source":[7],"hyps":[{"ids":[5],'"$hyp:${bad%%:*}}]}" nbest
        t 1 tf-cbor check aligned.tfs
        expect_error "1 of 1 records bad; the first is record 0: ${bad#*:}"
    done
}

@test "check: attention weights are from 0 to 1" {
    for w in 0 1 1.5 -1 '"nan"'; do
        printf '%s\n' '{"type":"header","header":{"v":1,"kind":"attention"}}' '{"type":"attention",
            "idx":0,"kind":"cross","layer":1,"heads":[1],"rows":["a"],"columns":["b"],
            "weights":['"$w]}" '{"type":"end"}' | tr -d '\n' | sed 's/}{/}\n{/g' | tf-cbor unjson >a.tfs
        if [[ $w == [01] ]]; then
            t 0 tf-cbor check a.tfs
        else
            t 1 tf-cbor check a.tfs
            expect_error "1 of 1 records bad; the first is record 0: an attention weight of ${w//\"/}"
        fi
    done
}

# Check a stream of four batches, of which Python code has edited each map b with ordinal k.
check_batches() {
    need "$TF_PYTHON"
    "$TF_PYTHON" - "$1" <<'PY' | tf-cbor seal >odd.tfs
import sys
from streams import write
out = [[0, {"v": 1, "kind": "batch", "size": 9}], [13, 0, None]]
for k in range(4):
    b = dict(idx=[k], src=[5], tgt=[6], src_off=[0, 1], tgt_off=[0, 1], epoch=1, record=k + 1)
    eval(sys.argv[1])
    out.append([3, k, b, None])
write(out + [[15, 4, None]], canonical=True)
PY
    t "${2:-1}" tf-cbor check odd.tfs
}

@test "json and unjson: 32 bytes where the hashes of inputs are" {
    need "$TF_PYTHON"
    "$TF_PYTHON" - <<'PY' | tf-cbor seal >odd.tfs
from streams import write
write([[0, {"v": 1, "in": bytes(32), "kind": "mine"}], [15, 0, None]], canonical=True)
PY
    tf-cbor json odd.tfs | tf-cbor unjson | cmp odd.tfs -
}

@test "check: what is not finite" {
    tf-cbor json "$V/model.cbor" | sed 's/2\.25/"nan"/; /header/s/"model":"[0-9a-f]*",//' |
        tf-cbor unjson >nan.tfm
    t 1 tf-cbor check nan.tfm
    expect_error "tensor p/enc.0.w: contains values that are not finite"
    t 0 tf-cbor check --allow-nan nan.tfm
}

@test "check: a model whose fingerprint is another's" {
    tf-cbor json "$V/model.cbor" | sed 's/2\.25/2.5/' | tf-cbor unjson >other.tfm
    t 1 tf-cbor check other.tfm
    expect_error "fingerprint is"
}

@test "diag: the notation of the vectors" {
    for k in $kinds error; do
        tf-cbor diag --full "$V/$k.cbor" >out
        cmp out "$V/$k.diag"
        tf-cbor diag --full <"$V/$k.cbor" | cmp - "$V/$k.diag"
    done
}

@test "diag: long strings are cut, foreign CBOR shown, damage shown up to where it is" {
    t 0 tf-cbor diag --max-bytes 4 "$V/tokens.cbor"
    expect_contains "$output" "69(h'05000600' / and 6 more bytes /)"
    printf '\x83\x18\x01\xf9\x3c\x00\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00\xf7\xa1\x01\x82\x20\x62\xc3\xbc' >foreign
    t 0 tf-cbor diag foreign
    expect_output $'[1_0, 1.0, 1.0_3]\nundefined\n{1: [-1, "\u00fc"]}'
    head -c 270 "$V/tokens.cbor" >short
    t 1 tf-cbor diag short
    [ "${#lines[@]}" -ge 4 ]
    expect_error "truncated in the item at byte"
    sh_t 1 "printf '\\x81\\x9f' | tf-cbor diag"
    expect_error "malformed item at byte 1: indefinite length"
}

@test "json and unjson: the same bytes again" {
    natively
    for k in $kinds; do
        tf-cbor json "$V/$k.cbor" >j
        tf-cbor unjson j >back
        cmp back "$V/$k.cbor"
        tf-cbor json <"$V/$k.cbor" | tf-cbor unjson >back # no file gains checks at pauses
        cmp back "$V/$k.cbor"
        while read -r line; do "$TF_PYTHON" -c 'import json, sys; json.loads(sys.argv[1])' \
            "$line"; done <j
        # The keys of a line have no order.
        for reverse in "" True; do
            "$TF_PYTHON" -c 'import json, sys
for line in sys.stdin:
    print(json.dumps(dict(sorted(json.loads(line).items(), reverse=bool(sys.argv[1])))))' \
                "$reverse" <j >sorted
            tf-cbor unjson sorted | cmp - "$V/$k.cbor"
        done
    done
    sh_t 1 "tf-cbor json '$V/error.cbor' | tail -1"
    expect_output '{"type":"error","code":1,"text":"tf-example: no space left"}'
}

# U+202E, U+061C, U+0085, U+2066, U+2028 and DEL, in a record and in the header, with two
# neighbours of theirs that are shown.
@test "json and diag: what would rewrite a terminal is escaped, and unjson gives the same bytes" {
    local text=$'a\xe2\x80\xae\xd8\x9c\xc2\x85\xe2\x81\xa6\xe2\x80\xa8\x7fb\xe2\x80\xad\xe2\x80\xaf\xd8\x9b'
    local escaped='a\u202e\u061c\u0085\u2066\u2028\u007fb\u202d'$'\xe2\x80\xaf\xd8\x9b'
    cat >raw.jsonl <<EOF
{"type":"header","header":{"v":1,"kind":"tokens","size":64,"special":{"bos":2,"eos":3,"pad":0,"unk":1},"made":[{"prog":"$text"}]}}
{"type":"bad","idx":0,"code":1,"text":"$text"}
{"type":"end"}
EOF
    tf-cbor unjson raw.jsonl >s.tfs
    [ "$(grep -cF "$text" s.tfs)" -ge 1 ]
    tf-cbor json s.tfs >s.jsonl
    tf-cbor diag s.tfs >s.diag
    tf-info --json s.tfs >s.json
    for f in s.jsonl s.diag; do
        [ "$(grep -cF "\"$escaped\"" $f)" -eq 2 ]
    done
    expect_contains "$(<s.json)" "\"$escaped\""
    for f in s.jsonl s.diag s.json; do
        count=$(LC_ALL=C grep -cP '\xe2\x80[\xa8-\xae]|\xe2\x81\xa6|\xd8\x9c|\xc2\x85|\x7f' $f) || true
        [ "$count" -eq 0 ]
    done
    tf-cbor unjson s.jsonl >again.tfs
    cmp s.tfs again.tfs
}

@test "unjson: an error record is passed on, and nothing follows it" {
    { tf-cbor json "$V/error.cbor" || true; cat "$V/tokens.jsonl"; } >lines
    sh_t 1 'tf-cbor unjson <lines >out'
    expect_error "tf-cbor: stdin: line 4: upstream failed: tf-example: no space left"
    cmp out "$V/error.cbor"
    t 1 tf-cbor unjson -o none lines
    [ ! -e none ]
}

@test "an error record that no reader waits for is an error still" {
    need "$TF_PYTHON"
    "$TF_PYTHON" - >error.tfs <<'PY'
from streams import write
write([[0, {"v": 1, "kind": "tokens"}], [14, 1, "x" * 70000]])
PY
    tf-cbor json error.tfs >error.jsonl || true
    for command in "json error.tfs" "unjson error.jsonl"; do
        mkfifo pipe
        t 1 bash -c "exec 9<>pipe 8>pipe 9<&-; exec tf-cbor $command >&8"
        expect_contains "$stderr" "upstream failed: xxx"
        rm pipe
    done
}

@test "seal: a tensor beyond 64 MiB with a field of a newer release" {
    need "$TF_PYTHON"
    "$TF_PYTHON" - >new.tfm <<'PY'
from cbor2 import CBORTag
from streams import write
n = 68 << 20
write([[0, {"v": 1, "kind": "model"}],
       [6, "p/w", "u8", b"", CBORTag(40, [[n], CBORTag(64, bytes(n))]), None, "new"], [15, 1, None]],
      canonical=True)
PY
    t 0 tf-cbor check new.tfm
    t 0 tf-cbor seal -o sealed.tfm new.tfm
    t 0 tf-cbor check sealed.tfm
}

@test "unjson --made: a stage of provenance in every part, by name or as JSON" {
    tf-cbor json "$V/parts.cbor" | tf-cbor unjson --made drop-long -o named.tfs
    tf-cbor check named.tfs
    sh_t 0 "tf-cbor json named.tfs | jq -c 'select(.header) | .header.made | length, .[0].prog, .[1]'"
    expect_output $'2\n"tf-example"\n{"prog":"drop-long"}\n2\n"tf-example"\n{"prog":"drop-long"}'
    # Everything but the stage is as before; a header without stages gets its first.
    tf-cbor json named.tfs | jq -c 'if .header then del(.header.made[1]) else . end' |
        tf-cbor unjson >back
    cmp back "$V/parts.cbor"
    sha=6b17b8fcc411a533c822a5117e33cf73fa6766739d7d36ac86dc4bea883af4fe
    stage='{"prog":"drop-long","opts":{"max":1.5},"in":{"list":"'$sha'"}}'
    tf-cbor json "$V/model.cbor" | jq -c 'if .header then del(.header.made) else . end' |
        tf-cbor unjson --made "$stage" -o model.tfm
    tf-cbor check model.tfm
    sh_t 0 "tf-cbor diag model.tfm | grep -o '\"made\": [^]]*]'"
    expect_output "\"made\": [{\"in\": {\"list\": 18540(h'$sha')}, \"opts\": {\"max\": 1.5}, \"prog\": \"drop-long\"}]"
    t 0 tf-info model.tfm
    expect_contains "$output" "drop-long"
}

@test "unjson: real fields of a model's configuration stay real" {
    for m in "$TOP"/tests/golden/files/0.1/{model,checkpoint}.tfm; do
        # As jq 1.6 writes them.
        tf-cbor json "$m" | sed -E 's/("(relu|attention)_dropout":)0\.0/\10/g' >lines
        [ "$(head -n 1 lines | grep -o '_dropout":0[,}]' | wc -l)" = 2 ]
        sh_t 0 "tf-cbor unjson <lines | cmp - '$m'"
        # Whatever jq does to the rest of the lines.
        sh_t 0 "tf-cbor json '$m' | jq -c . | tf-cbor unjson >new.tfm"
        t 0 tf-info new.tfm
    done
    # A dropout set to a whole number is real, and integers stay integers.
    jq -c 'if .header then .header.config.dropout = 0 | del(.header.model) else . end' lines |
        tf-cbor unjson | tf-cbor diag - >diag
    grep -qF '"dropout": 0.0' diag
    grep -qF '"max_positions": 0,' diag
    # The settings of batches are not a model's.
    echo '{"type":"header","header":{"v":1,"kind":"batches","config":{"dropout":0}}}
{"type":"end"}' | tf-cbor unjson | tf-cbor diag - >diag
    grep -qF '"dropout": 0}' diag
}

@test "unjson --made: what is no stage is a usage error" {
    try() { t 2 tf-cbor unjson --made "$1" -o out "$V/tokens.jsonl"; expect_error "tf-cbor: --made: $2"; }
    try '' 'prog: missing'
    try '{"version":"1"}' 'prog: missing'
    try '{"prog":7}' 'prog: not text'
    try '{"prog":"x","opts":[]}' 'opts: not an object'
    try '{"prog":"x"' 'json: byte'
    try $'\xff' 'not UTF-8'
    try '{"prog":"x","opts":{"a":[[[[1]]]]}}' 'nested too deeply'
    [ ! -e out ]
    t 2 tf-cbor json --made x "$V/tokens.cbor"
}

@test "unjson: edited lines make a sound stream" {
    tf-cbor json "$V/tokens.cbor" | grep -v '"check"' | grep -v '"idx":1,' |
        tf-cbor unjson >edited.tfs
    t 0 tf-cbor check edited.tfs
    sh_t 0 'tf-cbor count edited.tfs'
    expect_output $'header\t1\ntokens\t2\nend\t1'
    printf '{"type":"header","header":{"v":1,"kind":"tokens","size":9}}\n{"type":"tokens","idx":0,"ids":[8]}\n{"type":"end"}\n' | tf-cbor unjson >hand.tfs
    t 0 tf-cbor check hand.tfs
}

@test "diag and unjson: an item or line is answered while half of the next is under way" {
    "$TF_PYTHON" - <<'END'
from tools import talk
assert not talk([["tf-cbor", "diag"]], [(b"\x01\x82\x02", b"1\n"), (b"\x03\x62a", b"[2, 3]\n"), (b"b", b'"ab"\n')])
label = b"\xd9\xd9\xf8\xda\x54\x46\x53\x54"
talk([["tf-cbor", "unjson"]],
     [(b'{"type":"header","header":{"v":1,"kind":"tokens","size":9}}\n\n{"type":"to', label),
      (b'kens","idx":0,"ids":[8]}\n{"type":"end"}\n', b"")])
END
}

@test "unjson: keys of one's own, lines with CR, many keys" {
    h='{"type":"header","header":{"v":1,"kind":"tokens","size":9}}'
    printf '%s\r\n' "$h" '{"type":"tokens","idx":0,"ids":[5],"data":{"from":"web"},"weights":"x"}' \
        '' ' ' '{"type":"end"}' | tf-cbor unjson >own.tfs
    printf '%s\n' "$h" '{"type":"tokens","idx":0,"ids":[5]}' '{"type":"end"}' |
        tf-cbor unjson >more.tfs
    cmp own.tfs more.tfs
    printf '%s\n' "$h" '{"data":{"from":"web"},"weights":"x","ids":[5],"idx":0,"type":"tokens"}' \
        '{"type":"end"}' | tf-cbor unjson | cmp own.tfs -
    seq 60000 -1 1 | sed 's/.*/,"&":0/' | paste -sd '' |
        sed 's/.*/{"type":"tokens","idx":0,"ids":[5]&}/' >keys
    { echo "$h"; cat keys; echo '{"type":"end"}'; } >many
    tf-cbor unjson many | cmp own.tfs -
    tf-cbor json own.tfs | sed '2s/}$/,"x":0,"y":1,"x":2}/' >twice
    t 1 tf-cbor unjson twice
    expect_error "line 2: x: twice"
}

@test "unjson: a hash with NUL is refused, not cut" {
    for digits in 62 2; do
        cut=$(printf '%*s' $digits '' | tr ' ' a)'\u0000'$(printf '%*s' $((63 - digits)) '' | tr ' ' b)
        printf '{"type":"header","header":{"v":1,"kind":"tokens","vocab":"%s"}}\n{"type":"end"}\n' \
            "$cut" >in
        t 1 tf-cbor unjson in
        expect_error "text with NUL"
    done
}

@test "unjson: what is wrong is named with its line" {
    h='{"type":"header","header":{"v":1,"kind":"tokens","size":9}}'
    try() { sh_t 1 "printf '%s\\n' '${h/tokens/${3:-tokens}}' '$1' | tf-cbor unjson >out"
        expect_error "stdin: line 2: $2"; }
    try '{"type":"tokens","idx":0,"ids":[9]}' 'stdout: ids: id 9 in a vocabulary of 9'
    try '{"type":"tokens","idx":0}' 'ids: not an array'
    try '{"type":"tokens","ids":[]}' 'idx: missing'
    try '{"type":"tokens","idx":0,"ids":[-1]}' 'ids: an id that is not a 32-bit number'
    try '{"idx":0}' 'type: missing'
    try '[1]' 'not a JSON object'
    try '{"type":"tokens"' 'json: byte'
    try '{"type":"bad","idx":0,"code":0,"text":"why"}' 'code: 0: too small, minimum 1'
    try '{"type":"what"}' "unknown type 'what'"
    try '{"type":"ancillary"}' 'hex: missing'
    try '{"type":"ancillary","hex":"0f"}' 'hex: not one record of type 64 or higher'
    try '{"type":"ancillary","hex":"8"}' 'hex: not lower-case hex digits in pairs'
    for hex in 820f00 8114 83010080; do
        try '{"type":"ancillary","hex":"'$hex'"}' 'hex: not one record of type 64 or higher'
    done
    try '{"type":"pair","idx":0,"src":[],"tgt":[]}' 'pair in a stream of kind tokens'
    try '{"type":"tensor","name":"p/x","dtype":"f32","dims":[1],"data":[1]}' \
        'tensor in a stream of kind mine' mine
    try '{"type":"tensor","name":"p/x","dims":[1],"data":[1]}' 'dtype: missing or unknown'
    try '{"type":"tensor","name":"p/x","dtype":"f32","dims":[2],"data":[1]}' \
        'data: 4 bytes, dims need 8' model
    try '{"type":"tensor","name":"p/x","dtype":"u8","dims":[1],"data":[256]}' \
        'data: a number that u8 can'
    try '{"type":"tensor","name":"p/x","dtype":"f16","dims":[1],"data":[0.1]}' \
        'data: a number that f16 can'
    try '{"type":"attention","idx":0,"kind":"cross","layer":1,"heads":[1],"rows":["a"],"columns":["b"]}' 'weights: 0 numbers, expected 1' attention
    try '{"type":"tensor","name":"p/x","dtype":"f32","dims":[1],"data":[1e300]}' \
        'data: a number that f32 can'
    try '{"type":"score","idx":0,"logp":-1e39}' 'logp: a number that f32 can' scores
    try '{"type":"state","name":"x","value":[[[[[[[[1]]]]]]]]}' 'value: nested too deeply' model
    try '{"type":"state","name":"","value":1}' 'name: 1 to 128 bytes' model
    try '{"type":"batch","ordinal":3,"idx":[],"src":[],"tgt":[],"epoch":0,"record":0}' \
        'batch 3 is empty' batch
    # After a line that is right, and after a part.
    after() { sh_t 1 "printf '%s\\n' '${h/tokens/model}' '$1' '$2' | tf-cbor unjson >out"
        expect_error "stdin: line 3: $3"; }
    x='{"type":"tensor","name":"x","dtype":"u8","dims":[1],"data":[1]}'
    after '{"type":"state","name":"x","value":1}' '{"type":"state","name":"x","value":1}' \
        'state x: twice'
    sh_t 1 "printf '%s\\n' '${h/tokens/model}' '$x' '$x' '{\"type\":\"end\"}' | tf-cbor unjson >out"
    expect_error "stdin: line 4: tensor x: twice"
    {
        echo "${h/tokens/model}"
        seq -f '{"type":"state","name":"%g","value":0}' 257
    } >states
    t 1 tf-cbor unjson -o none states
    expect_error "states: line 258: more than 256 states"
    after "$x" '{"type":"state","name":"x","value":1}' 'state x comes after a tensor'
    after '{"type":"end"}' "${h/tokens/mine}" 'a part of kind mine after one of kind model'
    sh_t 1 "printf '%s\\n' '$h' | tf-cbor unjson >out"
    expect_error "no end line"
    sh_t 1 "echo | tf-cbor unjson >out"
    expect_error "truncated: no stream"
    sh_t 1 "printf '%s\\n' '{\"type\":\"end\"}' | tf-cbor unjson >out"
    expect_error "line 1: end outside of a part"
}

@test "head: the output is a complete stream, and the writer upstream may continue" {
    tf-cbor head -n 2 "$V/tokens.cbor" >head.tfs
    t 0 tf-cbor check head.tfs
    sh_t 0 'tf-cbor count head.tfs'
    expect_output $'header\t1\ntokens\t2\nend\t1'
    sh_t 0 "tf-cbor head -n 0 <'$V/pairs.cbor' | tf-cbor count"
    expect_output $'header\t1\nend\t1'
    sh_t 0 "tf-cbor head -n 99 '$V/batch.cbor' | cmp - '$V/batch.cbor'"
    sh_t 0 "tf-cbor head -n 99 '$V/parts.cbor' | tf-cbor count | grep -q 'tokens.3'"
    sh_t 1 "tf-cbor head '$V/model.cbor' | cat"
    expect_error "the first records of a model are no model"
    sh_t 1 "tf-cbor head -n 99 '$V/error.cbor' | tf-cbor check"
    expect_contains "$stderr" "stdin: upstream failed: tf-example: no space left"
}

@test "count" {
    t 0 tf-cbor count "$V/checkpoint.cbor"
    expect_output $'header\t1\ntensor\t7\nstate\t3\ncheck\t2\nend\t1'
    t 0 tf-cbor count "$V/bad.cbor"
    expect_output $'header\t1\ntokens\t1\nbad\t2\nend\t1'
    t 0 tf-cbor count "$V/attention.cbor"
    expect_output $'header\t1\nattention\t2\nbad\t1\nend\t1'
}

@test "seal: leaves sealed streams alone, fills the others" {
    natively
    for k in $kinds; do
        tf-cbor seal "$V/$k.cbor" | cmp - "$V/$k.cbor"
    done
    need "$TF_PYTHON"
    for k in batch model checkpoint parts; do
        "$TF_PYTHON" - "$V/$k.cbor" >open <<'PY'
import cbor2, io, sys
data = open(sys.argv[1], "rb").read()
f = io.BytesIO(data)
while f.tell() < len(data):
    r = cbor2.load(f)
    if isinstance(r, list) and r[0] in (3, 6, 7, 13, 15):
        r[{3: 3, 6: 5, 7: 3, 13: 2, 15: 2}[r[0]]] = None
    sys.stdout.buffer.write(cbor2.dumps(r, canonical=True))
PY
        run -1 cmp -s open "$V/$k.cbor"
        tf-cbor seal open | cmp - "$V/$k.cbor"
    done
    # What a newer version appended to a tensor stays.
    "$TF_PYTHON" - >newer.tfm <<'PY'
from cbor2 import CBORTag
from streams import write
one = CBORTag(40, [[1], CBORTag(85, b"\0\0\x80?")])
write([[0, {"v": 1, "kind": "model", "config": {}}],
       [6, "p/a", "f32", b"", one, None, "newer", {"field": 1}], [15, 1, None]])
PY
    tf-cbor seal newer.tfm >sealed.tfm
    t 0 tf-cbor check sealed.tfm
    sh_t 0 'tf-cbor diag sealed.tfm | grep "p/a"'
    [[ $output =~ ", "[0-9]+', "newer", {"field": 1}]'$ ]]
    # A long stream without checks.
    "$TF_PYTHON" - >long <<'PY'
from streams import write
write([[0, {"v": 1, "kind": "tokens"}], *([1, i, [70000 + i % 7] * 20] for i in range(30000)),
       [15, 30000, None]])
PY
    t 1 tf-cbor check long
    expect_error "no check record within 1048576 bytes"
    tf-cbor seal long | tf-cbor check
    sh_t 0 'tf-cbor seal long | tf-cbor count | cut -f1'
    expect_output $'header\ntokens\ncheck\nend'
    # Damage is not sealed in.
    { head -c 1000 long; } >short
    sh_t 1 'tf-cbor seal short | tf-cbor check'
    expect_contains "$stderr" "stdin: upstream failed: short: truncated after record"
    sh_t 1 'tf-cbor seal -o sealed short'
    [ ! -e sealed ]
}

@test "records are passed on while the pipe is idle" {
    tf-cbor json "$V/tokens.cbor" >lines
    for verb in json diag seal unjson 'head -n 99'; do
        in=$V/tokens.cbor
        [ "$verb" != unjson ] || in=lines
        tf-cbor $verb "$in" >want
        : >got # that of the verb before may be the same
        mkfifo pipe
        exec 9<>pipe
        tf-cbor $verb <pipe 3>&- 9>&- | cat >got 3>&- 9>&- &
        cat "$in" >&9
        for _ in {1..200}; do
            ! cmp -s want got || break
            sleep 0.1
        done
        early=$(wc -c <got)
        exec 9>&-
        wait $!
        cmp want got
        rm pipe
        [ "$early" -eq "$(wc -c <want)" ] || { echo \
            "$verb held $(($(wc -c <want) - early)) bytes back" >&2; false; }
    done
}

@test "unjson: a check lets readers use what came before a pause" {
    "$TF_PYTHON" - <<'END'
from tools import talk
lines = [b'{"type":"header","header":{"v":1,"kind":"tokens","size":9}}\n', b'{"type":"tokens","idx":0,"ids":[8]}\n', b'{"type":"end"}\n']
assert b"end" in talk([["tf-cbor", "unjson"], ["tf-cbor", "json"]],
                      [(lines[0] + lines[1], lines[0] + lines[1]), (lines[2], b"")])
END
}

@test "a kind of one's own, with records that nobody knows" {
    need "$TF_PYTHON"
    "$TF_PYTHON" - <<'PY' | tf-cbor seal >mine.tfs
from streams import write
write([[0, {"v": 1, "kind": "mine", "note": {"x": [1, 2.5, None, True, b"\1"]}}],
       [65, {"loss": 1.5}], [99, "what", b"\0"], [15, 2, None]], canonical=True)
PY
    t 0 tf-cbor check mine.tfs
    t 0 tf-cbor count mine.tfs
    expect_output $'header\t1\nend\t1\nancillary\t2'
    tf-cbor json mine.tfs | tf-cbor unjson >back
    cmp back mine.tfs
    # What JSON has no words for is no edit.
    "$TF_PYTHON" - <<'PY' | tf-cbor seal >odd.tfs
from streams import write
write([[0, {"v": 1, "kind": "mine"}], [65, {"model": "0" * 64, "least": -2**63}],
       [99, {"$hex": "ab"}, {"$real": "nan"}], [15, 2, None]], canonical=True)
PY
    tf-cbor json odd.tfs | tf-cbor unjson >back
    cmp back odd.tfs
    # Its values may be edited; the bytes stand for it as long as they are not.
    tf-cbor json mine.tfs | sed '2s/"loss":1.5/"loss":99/' | tf-cbor unjson >edited.tfs
    t 0 tf-cbor check edited.tfs
    t 0 tf-cbor json edited.tfs
    expect_contains "$output" '"record":[65,{"loss":99}]'
    sh_t 1 "tf-cbor json mine.tfs | sed '2s/\"record\":.*/\"record\":7}/' | tf-cbor unjson"
    expect_contains "$stderr" "line 2: record: not one of type 64 or higher"
    sh_t 0 'tf-cbor json mine.tfs | sed -n 3p'
    expect_contains "$output" '"record":[99,"what",{"$hex":"00"}]'
}

@test "usage" {
    natively
    t 2 tf-cbor
    t 2 tf-cbor look x
    expect_error "'look': one of check, diag, json, unjson, head, count, seal"
    t 1 tf-avgckpt "$V/attention.cbor"
    expect_contains "$stderr" "kind is attention, expected model or checkpoint"
    t 1 tf-batch "$V/nbest.cbor"
    expect_error ": kind is nbest, expected pairs"
    t 2 tf-cbor head -n -1 x
    t 2 tf-cbor count a b c
    # A full disk that is noticed long before the end.
    for _ in {1..2000}; do cat "$V/tokens.cbor"; done >many
    for verb in json diag seal; do
        sh_t 1 "tf-cbor $verb many >/dev/full"
        expect_error "stdout: write: No space left on device"
    done
    sh_t 0 "printf 'b\x00\xff' | tf-cbor diag"
    expect_output "/ not UTF-8 / h'00ff'"
    t 1 tf-cbor check .
    expect_error "is a directory"
    t 1 tf-cbor check --max-tensor 20 /dev/fd/9 9< <(cat "$V/model.cbor")
    expect_error "tensor p/enc.0.w: 24 bytes: more than the 20 of --max-tensor"
    t 1 tf-cbor check --max-tensor 20 "$V/model.cbor"
    expect_error "tensor p/enc.0.w: 24 bytes: more than the 20 of --max-tensor"
    {
        echo '{"type":"header","header":{"v":1,"kind":"model"}}'
        echo '{"type":"tensor","name":"p/w","dtype":"u8","dims":[9000],"data":['"$(yes 1 | head \
            -9000 | paste -sd,)"']}'
        echo '{"type":"end"}'
    } | tf-cbor unjson >wide.tfm
    for verb in count seal json diag; do
        t 1 tf-cbor $verb --max-tensor 1000 wide.tfm
        expect_error ": larger than --max-tensor allows"
    done
}

@test "options that a command does not look at are refused" {
    while read -r verb options; do
        # shellcheck disable=SC2086
        t 2 tf-cbor "$verb" $options "$V/tokens.cbor"
        expect_error "is only for"
    done <<'X'
check -n 3
check -o x
check --max-bytes 5
head --full
head --max-tensor 5
json -n 2
json --allow-nan
unjson --max-tensor 5
X
    [ ! -e x ]
}

@test "seal: a failure between two parts is recorded in the stream" {
    sh_t 1 'cat "$1/tokens.cbor" "$1/attention.cbor" | tf-cbor seal >sealed' "$V"
    expect_error "stdin: a part of kind attention follows one of kind tokens"
    t 1 tf-cbor check sealed
    expect_error \
        "sealed: upstream failed: stdin: a part of kind attention follows one of kind tokens"
    sh_t 1 '{ cat "$1/tokens.cbor"; echo; } | tf-cbor seal >sealed' "$V"
    t 1 tf-cbor count sealed
    expect_error "sealed: upstream failed: stdin: bytes after the end record"
}
