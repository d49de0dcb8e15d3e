#!/usr/bin/env bats
# Text of models of transformers: pieces that the list of ids lacks, tokens that were added,
# separate vocabularies.
load helper

prepare() {
    golden marian_tokenizer
    mv "$G/m" m
    jq -r '.[0]' "$G/expected" >text
}

ids() {
    tf-tokenize "$@" -m m.tfm text | tf-cbor json | jq -c 'select(.type == "tokens").ids'
}

@test "ids are those of MarianTokenizer: segmented first, then looked up; added tokens are one" {
    t 0 tf-convert m -o m.tfm
    jq -c '.[1]' "$G/expected" | diff - <(ids)
    jq -c '.[2]' "$G/expected" | diff - <(ids --target)
    # The same where only one of the files has the tokens.
    mv m/added_tokens.json .
    tf-convert m -o n.tfm
    cmp m.tfm n.tfm
    mv added_tokens.json m
    jq 'del(.added_tokens_decoder)' m/tokenizer_config.json >x
    mv x m/tokenizer_config.json
    tf-convert m -o n.tfm
    cmp m.tfm n.tfm
}

@test "text is cut at added tokens as MarianTokenizer, M2M100Tokenizer and NLLB's two do it" {
    rm -r "$G"
    golden added
    for d in marian m2m100 nllb nllb4; do
        tf-convert "$G/$d" -o m.tfm
        jq -r '.[0]' "$G/$d.expected" >text
        jq -c '.[1]' "$G/$d.expected" | diff - <(ids)
        [ "$(wc -l <text)" = 70 ]
        # A stream of pieces has as many.
        tf-tokenize --pieces -m m.tfm text | awk '{ print NF }' |
            diff <(jq '.[1] | length' "$G/$d.expected") -
        # What is not sampled is the same.
        [ "$d" = marian ] || ids --sample --alpha 0 | diff - <(jq -c '.[1]' "$G/$d.expected")
    done
    tf-convert "$G/marian" --positions halves -o m.tfm
    tf-info --json m.tfm | jq -r '.added_tokens[]' |
        diff - <(printf '%s\n' '<e>' '<l>' '<r>' Qx7 '<e>x' '<lr>' '<w>' '<a b>' '<wl>' '<n>' '<s1>' '<s2>')
    tf-convert m.tfm --to hf -o hf
    tf-convert hf --positions halves -o back.tfm
    [ "$(tf-info back.tfm | grep ^model)" = "$(tf-info m.tfm | grep ^model)" ]
    cp back.tfm m.tfm
    jq -r '.[0]' "$G/marian.expected" >text
    jq -c '.[1]' "$G/marian.expected" | diff - <(ids)
}

@test "added tokens are missed where SentencePiece alone splits text" {
    tf-convert m -o m.tfm
    t 0 tf-convert m.tfm --to ctranslate2 -o ct2
    expect_contains "$stderr" "ct2/source.spm: SentencePiece, which splits text by it, has no added tokens"
    t 0 tf-convert m.tfm --to hf -o hf
    [ -z "$stderr" ]
}

@test "what is written for transformers has the same ids there" {
    tf-convert m -o m.tfm
    tf-convert m.tfm --to hf -o hf
    tf-convert hf -o back.tfm
    [ "$(tf-info back.tfm | grep ^model)" = "$(tf-info m.tfm | grep ^model)" ]
    jq -c '.added_tokens_decoder | map_values(.content)' hf/tokenizer_config.json |
        diff - <(echo '{"68":"<ent>","69":"QX77","70":"<lang de>"}')
    jq -e '.["<ent>"] == 68 and .["<lang de>"] == 70' hf/vocab.json
    ids >want
    cp m.tfm x.tfm
    cp back.tfm m.tfm
    ids | diff want -
    cp x.tfm m.tfm
    # Its segmenters have the pieces of the ones that it came from, those without an id, too.
    for side in source target; do
        tf-tokenize --pieces -m "m/$side.spm" <(echo 'the house der hund') | diff - <(
            tf-tokenize --pieces -m "hf/$side.spm" <(echo 'the house der hund'))
    done
    need_peer transformers
    "$PEER_PYTHON" -c 'import json, sys, transformers
t = transformers.MarianTokenizer.from_pretrained("hf")
for line in sys.stdin: print(json.dumps(t(line.rstrip("\n"))["input_ids"][:-1], separators=(",", ":")))' <text >got
    diff want got
}

@test "what is segmented comes back, but for what is unknown" {
    tf-convert m -o m.tfm
    printf '%s\n' 'the house of <ent>' 'QX77 sees the house' 'a <lang de> house' >text
    tf-tokenize -m m.tfm text | tf-tokenize -d -m m.tfm >back
    sed 's/ ⁇ *//g; s/⁇//g' back >known
    grep -c -e '<ent>' -e QX77 -e '<lang de>' known | diff - <(echo 3)
    tf-tokenize --target --pieces -m m.tfm <(echo 'ein haus QX77') | grep -q '▁QX77$'
}

@test "added tokens without an embedding are left out with a warning" {
    jq '. + {"<far>": 71}' m/added_tokens.json >x
    mv x m/added_tokens.json
    t 0 tf-convert m -o m.tfm
    expect_contains "$stderr" "m/added_tokens.json: added token '<far>' has the id 71, and the model 71 embeddings: left out"
    jq -c '.[1]' "$G/expected" | diff - <(ids)
}

@test "added tokens replace pieces, by text and by id" {
    jq '.added_tokens_decoder["5"] = {"content": "dog"} | .added_tokens_decoder["12"] = {"content": "<ent>"}' \
        m/tokenizer_config.json >x
    mv x m/tokenizer_config.json
    jq 'del(.["<ent>"])' m/added_tokens.json >x
    mv x m/added_tokens.json
    jq 'del(.added_tokens_decoder["68"])' m/tokenizer_config.json >x
    mv x m/tokenizer_config.json
    tf-convert m -o m.tfm
    printf '%s\n' 'dog <ent>' >text
    ids | diff - <(echo '[5,12]')
}

@test "files of added tokens that are wrong are named" {
    while IFS='|' read -r file change why; do
        jq "$change" "m/$file" >x
        cp "m/$file" y
        mv x "m/$file"
        t 1 tf-convert m -o m.tfm
        expect_contains "$stderr" "m/$file: $why"
        cp y "m/$file"
    done <<'END'
added_tokens.json|[1]|not a JSON object
added_tokens.json|{"<ent>": "x"}|<ent>: not an integer
added_tokens.json|{"": 68}|id 68: a token without text
tokenizer_config.json|.added_tokens_decoder = {"x": {"content": "y"}}|added_tokens_decoder: 'x': not a number
tokenizer_config.json|.added_tokens_decoder = {"68": {}}|added_tokens_decoder: 68: no content
tokenizer_config.json|.added_tokens_decoder = {"68": {"content": "a\u0000b"}}|json: byte 63: text with NUL
END
}

# JQ: what it makes of each line of expected, as a stream
stream() {
    tf-tokenize -m m.tfm ${2+"$2"} </dev/null | tf-cbor json | head -n 1
    jq -c "{type: \"tokens\", idx: (input_line_number - 1), ids: $1}" expected
    echo '{"type":"end"}'
}

@test "separate vocabularies: ids, and log-probabilities, of transformers" {
    for d in two two-zero; do
        cp "$G/$d.expected" expected
        tf-convert --positions halves "$G/$d" -o m.tfm
        jq -c '.[1]' expected | diff - <(ids)
        jq -c '.[2]' expected | diff - <(ids --target)
        stream '.[1]' | tf-cbor unjson >source.tfs
        stream '.[2]' --target | tf-cbor unjson >target.tfs
        tf-score -m m.tfm source.tfs target.tfs | tf-cbor json | jq 'select(.logp).logp' |
            paste <(jq '.[3]' expected) - >both
        awk '{ d = $1 - $2 } d > 1e-4 || d < -1e-4 { print; bad = 1 } END { exit bad || NR < 13 }' both
        tf-convert m.tfm --to ctranslate2 -o "$d"
        tf-convert "$d" -o back.tfm
        [ "$(tf-info back.tfm | grep ^model)" = "$(tf-info m.tfm | grep ^model)" ]
    done
    cp -r "$G/two" d
    rm d/target_vocab.json
    t 1 tf-convert d -o x.tfm
    expect_error "d: no target_vocab.json, a file of MarianTokenizer"
    cp "$G/two/target_vocab.json" d
    echo '{"<ent>": 46}' >d/added_tokens.json
    t 1 tf-convert d -o x.tfm
    expect_error "d/model.safetensors: added tokens are not supported with separate vocabularies"
    rm d/added_tokens.json
    jq '.share_encoder_decoder_embeddings = true' d/config.json >config
    mv config d/config.json
    t 1 tf-convert d -o x.tfm
    expect_error "share_encoder_decoder_embeddings: true with separate vocabularies"
    # Without the setting the list is not read, there as here.
    jq 'del(.separate_vocabs)' d/tokenizer_config.json >config
    mv config d/tokenizer_config.json
    t 1 tf-convert d -o x.tfm
    expect_error "decoder_vocab_size: another than vocab_size"
}
