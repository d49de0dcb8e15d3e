#!/usr/bin/env bats
# tf-convert: BART and mBART-50, with what transformers computes (golden/bart).
load helper

prepare() {
    need jq
    cp -r "$TOP/tests/golden/bart" golden
    chmod -R u+w golden
    gunzip -r golden
    G=golden
}

# KIND: m.tfm, and source.tfs and target.tfs, streams of its ids in the golden file
take() {
    rm -f m.tfm
    t 0 tf-convert "$G/$1" -o m.tfm
    jq -c "select(.model == \"$1\")" "$G/expected" >want
    [ "$(grep -c . want)" -eq 6 ]
    for side in ids target; do
        {
            jq -c '{type: "header", header: {v: 1, kind: "tokens", size: .vocab_size,
                special: {eos: 2, pad: 1, unk: 3}}}' "$G/$1/config.json"
            jq -c ".${side}[:-1]" want |
                awk '{ print "{\"type\":\"tokens\",\"idx\":" NR - 1 ",\"ids\":" $0 "}" }'
            echo '{"type":"end"}'
        } | tf-cbor unjson >$side.tfs
    done
}

@test "log-probabilities and greedy outputs are those of transformers, on every device" {
    devices=(cpu ref)
    if [ -e "${TF_BUILD:-$TOP/build}/emulate/tf-backend-cuda.so" ]; then
        export TF_BACKEND_DIR=${TF_BUILD:-$TOP/build}/emulate
        devices+=(cuda)
    fi
    for kind in mbart bart; do
        take $kind
        expect_contains "$stderr" "$kind/model.safetensors: "
        expect_contains "$stderr" " 1 + 2 layers of width 8, gelu"
        for device in "${devices[@]}"; do
            tf-score -q --device $device --precision fp32 -m m.tfm ids.tfs target.tfs |
                tf-cbor json | jq -c 'select(.logp).logp' >got
            jq .logp want | paste - got |
                awk '{ d = $1 - $2 } d > 1e-4 || d < -1e-4 { print; bad = 1 } END { exit bad || NR != 6 }'
            begin=(--begin fr_XX)
            [ $kind = mbart ] || begin=()
            tf-decode -q --device $device --precision fp32 --max-extra 12 --max-factor 0 \
                --no-repeat-ngram 2 "${begin[@]}" -m m.tfm ids.tfs |
                tf-cbor json | jq -c 'select(.ids).ids' | cmp - <(jq -c '.greedy[1:]' want)
        done
    done
}

@test "the text of mBART-50 has the ids of its tokenizer, of transformers 4 and 5" {
    take mbart
    cp -r "$G/mbart" five
    rm five/sentencepiece.bpe.model five/special_tokens_map.json
    cp "$G/tokenizer/tokenizer_config.json" five
    cp "$G/tokenizer/tokenizer.json" five
    t 0 tf-convert five -o five.tfm
    head -6 "$TOP/tests/golden/tune/text" >text
    for m in m.tfm five.tfm; do
        cut -f 1 text | tf-tokenize -m $m --begin en_XX | tf-cbor json | jq -c 'select(.ids).ids' |
            cmp - <(jq -c '.ids[:-1]' want)
        cut -f 2 text | tf-tokenize -m $m --target --begin fr_XX | tf-cbor json |
            jq -c 'select(.ids).ids' | cmp - <(jq -c '.target[:-1]' want)
    done
    # The tag is not part of the text.
    cut -f 2 text | tf-tokenize -m m.tfm --target --begin fr_XX | tf-tokenize --decode -m m.tfm |
        cmp - <(cut -f 2 text)
}

@test "a tokenizer.json is written where a SentencePiece model would not say where text is cut" {
    take mbart
    cp -r "$G/mbart" five
    rm five/sentencepiece.bpe.model five/special_tokens_map.json
    gunzip -c "$TOP/tests/golden/hf/nllb/tokenizer.json.gz" >nllb.json
    keys='[.added_tokens, .normalizer, .pre_tokenizer, .decoder, .model]'
    for map in no a; do # charsmap
        jq --slurpfile n nllb.json "if \"$map\" == \"a\" then .normalizer.normalizers |=
            [\$n[0].normalizer | .. | objects | select(.precompiled_charsmap)] + . else . end" \
            "$G/tokenizer/tokenizer.json" >five/tokenizer.json
        tf-convert five -o five.tfm
        t 0 tf-convert five.tfm --to hf -o hf
        [ -z "$stderr" ]
        cmp <(jq -S "$keys" hf/tokenizer.json) <(jq -S "$keys" five/tokenizer.json)
        tf-convert hf -o back.tfm
        cmp <(tf-info five.tfm | grep vocab) <(tf-info back.tfm | grep vocab)
        rm -r hf
    done
    printf 'el\nel \n' | tf-tokenize -m back.tfm 2>/dev/null | tf-cbor json |
        jq -s -e 'map(select(.ids).ids) | (.[1] - .[0] == []) and (.[1] | length) == (.[0] | length) + 1'
    t 0 tf-convert five.tfm --to ctranslate2 -o ct2
    expect_contains "$stderr" "ct2/source.spm: SentencePiece, which splits text by it, has no rules of a tokenizer.json for white space"
    # MarianTokenizer reads no such file.
    tf-convert "$TOP/tests/golden/hf/marian" --positions halves -o marian.tfm
    tf-convert --new-vocab five.tfm marian.tfm -o other.tfm
    t 1 tf-convert --to hf other.tfm -o x
    expect_error "spaces at the end of a text that are pieces"
}

@test "BART has no vocabulary but one that it is given" {
    take bart
    expect_contains "$stderr" "no vocabulary, as its pieces are bytes: it reads streams of ids"
    t 1 tf-tokenize -m m.tfm <<<'a b'
    expect_error "m.tfm"
    printf '%s\n' 'a b c' 'b c d' 'a d' >text
    tf-tokenize --train --vocab-size 10 -o v.model text
    t 1 tf-convert "$G/bart" --vocab v.model -o x.tfm
    expect_contains "$stderr" "v.model: vocabulary: <pad> is 0, and 1 in the configuration"
    tf-tokenize --export-vocab -m v.model | cut -f 1 | tail -n +5 |
        jq -R -s -c '["<s>", "<pad>", "</s>", "<unk>"] + split("\n")[:-1]' >list.json
    tf-convert "$G/bart" --vocab v.model --pieces list.json -o x.tfm
    tf-tokenize -m x.tfm <<<'a b' | tf-cbor json | head -n 1 |
        jq -e '.header.special.unk == 3'
    tf-tokenize -m x.tfm <<<'a b' | tf-tokenize -d -m x.tfm | grep -qx 'a b'
}

@test "training begins with the loss that transformers has, and improves it" {
    for kind in mbart bart; do
        take $kind
        tf-batch -q --tokens 4096 -o valid.tfs ids.tfs target.tfs
        tf-batch -q --epochs 100 --tokens 4096 ids.tfs target.tfs |
            tf-train -q --device cpu --init m.tfm --valid valid.tfs --valid-every 10 --steps 20 \
                --save-every 10 --warmup 0 --schedule constant --lr 0.01 --dropout 0.1 \
                --attention-dropout 0 -o run -
        jq -s 'map(select(.event == "valid").ppl)' run/log.jsonl >ppl
        jq -s '((map(.logp) | add) / -(map(.target | length) | add)) | exp' want >loss
        jq -e --slurpfile l loss '(.[0] / $l[0] - 1 | fabs) < 2e-5 and .[0] > .[1] and .[1] > .[2]' ppl
        tf-convert run/ckpt-00000020.tfm --to hf -o hf
        tf-convert hf -o back.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint run/ckpt-00000020.tfm)" ]
        rm -r run hf back.tfm
    done
}

@test "models are written for transformers, which computes the same" {
    for kind in mbart bart; do
        take $kind
        tf-convert m.tfm --to hf -o $kind
        tf-convert $kind -o back.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
        rm back.tfm
        [ $kind = mbart ] || t 1 tf-convert m.tfm --to ctranslate2 -o x
    done
    take mbart
    tf-convert m.tfm --to ctranslate2 -o ct2
    tf-convert ct2 -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
    need_peer transformers torch
    "$PEER_PYTHON" - "$G/expected" "$TOP/tests/golden/tune/text" <<'PY'
import json, sys, torch, transformers
rows = [json.loads(line) for line in open(sys.argv[1])]
for kind, model in ("mbart", "MBart"), ("bart", "Bart"):
    m = getattr(transformers, model + "ForConditionalGeneration").from_pretrained(
        kind, dtype=torch.float32).eval()
    for r in (r for r in rows if r["model"] == kind):
        with torch.no_grad():
            y = torch.tensor([r["target"]])
            loss = m(input_ids=torch.tensor([r["ids"]]), labels=y).loss.item()
        assert abs(loss * y.numel() + r["logp"]) < 1e-4, (kind, loss, r)
t = transformers.MBart50Tokenizer.from_pretrained("mbart", src_lang="en_XX", tgt_lang="fr_XX")
for line, r in zip(open(sys.argv[2]), rows[:6]):
    source, target = line.rstrip("\n").split("\t")
    assert t(source).input_ids == r["ids"] and t(text_target=target).input_ids == r["target"]
PY
}

@test "what BART's class has and the model does not is refused by name" {
    cp -r "$G/mbart" d
    refused() { # WANT JQ
        jq "$2" "$G/mbart/config.json" >d/config.json
        t 1 tf-convert d -o x.tfm
        expect_error "$1"
    }
    refused 'd/model.safetensors: config.json: settings that are not supported: tie_word_embeddings: false, activation_function: gelu_new, decoder_start_token_id: another than eos_token_id' \
        '.tie_word_embeddings = false | .activation_function = "gelu_new" | .decoder_start_token_id = 44'
    refused '1 heads in the encoder, 16 in the decoder: one is more than 8 times the other' \
        '.d_model = 48 | .encoder_attention_heads = 1 | .decoder_attention_heads = 16'
    refused 'decoder_start_token_id' 'del(.decoder_start_token_id)'
    # Keys that the file lacks are those of the class.
    jq 'del(.activation_function, .pad_token_id, .eos_token_id, .dropout)' "$G/mbart/config.json" >d/config.json
    tf-convert d -o x.tfm
    tf-convert "$G/mbart" -o m.tfm
    [ "$(fingerprint x.tfm)" = "$(fingerprint m.tfm)" ]
}
