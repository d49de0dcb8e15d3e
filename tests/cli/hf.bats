#!/usr/bin/env bats
# tf-convert: directories that transformers and CTranslate2 wrote, with what transformers computes
# (golden/hf), and what is written for them.
load helper

prepare() {
    need jq
    golden hf
}

# DIR: the cases of that directory
cases() { jq -c --arg m "$1" 'select(.model == $m)' "$G/expected"; }

# Ids of m.tfm, a line of JSON each, as a stream
stream() {
    tf-tokenize -m m.tfm "$@" </dev/null | tf-cbor json | head -n 1
    awk '{ print "{\"type\":\"tokens\",\"idx\":" NR - 1 ",\"ids\":" $0 "}" }'
    echo '{"type":"end"}'
}

# CASES LEAST: m.tfm scores as many cases as that or more, each as transformers does
agrees() {
    jq -c .ids "$1" | stream | tf-cbor unjson >source.tfs
    jq -c .target "$1" | stream --target | tf-cbor unjson >target.tfs
    tf-score -q -m m.tfm source.tfs target.tfs | tf-cbor json | jq -c 'select(.logp)' >scores
    jq .logp "$1" | paste - <(jq '.logp' scores) >both
    awk -v least="$2" '{ d = $1 - $2 } d > 1e-4 || d < -1e-4 { print; bad = 1 }
        END { exit bad || NR < least }' both
}

# JQ: the directory d, with its config.json changed so
changed() {
    jq "$1" d/config.json >config && cp config d/config.json
}

@test "MarianMT with tags: ids, log-probabilities; the tags keep their names in other formats" {
    cases marian | jq -c 'select(.less == [])' >want
    t 0 tf-convert --positions halves "$G/marian" -o m.tfm
    jq -r .text want | tf-tokenize -m m.tfm | tf-cbor json | jq -c 'select(.ids).ids' >ids
    jq -c .ids want | cmp - ids
    agrees want 4
    for to in hf ctranslate2; do
        tf-convert m.tfm --to $to -o $to
        tf-convert $to -o back.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
        jq -r .text want | tf-tokenize -m back.tfm | tf-cbor json | jq -c 'select(.ids).ids' | cmp - ids
    done
    cmp <(jq -S . hf/vocab.json) <(jq -S . "$G/marian/vocab.json")
    jq -e '.[2:4] == [">>fra<<", ">>zlm_Latn<<"]' ctranslate2/shared_vocabulary.json
    # Here a tag may be the text of a target, too, as in transformers.
    echo '[2,5]' | stream --target | tf-cbor unjson | tf-tokenize -d -m m.tfm | grep -qx '>>fra<<.*'
}

@test "transformers has the same ids for what is written, tags too" {
    need_peer transformers torch
    tf-convert "$G/marian" -o m.tfm
    tf-convert m.tfm --to hf -o hf
    cases marian | jq -r .text >text
    "$PEER_PYTHON" -c 'import sys, transformers
t = transformers.MarianTokenizer.from_pretrained("hf")
for line in sys.stdin: print(str(t(line.rstrip("\n"))["input_ids"][:-1]).replace(" ", ""))' <text >got
    tf-tokenize -m m.tfm text | tf-cbor json | jq -c 'select(.ids).ids' | cmp - got
    cases marian | jq -c .ids | cmp - got
}

@test "NLLB by CTranslate2's converter: the tag is not part of the text" {
    tf-convert "$G/ct2" -o m.tfm
    tf-translate -q -k 1 --max-extra 8 -m m.tfm --begin fra_Latn <<<'eng_Latn walhaus 7' >text
    grep -q . text
    run -1 grep fra_Latn text
    tf-convert m.tfm --to ctranslate2 -o x
    cmp <(jq -c . "$G/ct2/shared_vocabulary.json") <(jq -c . x/shared_vocabulary.json)
    tf-convert x -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
    # Nor where another program splits words.
    cp -r x words
    rm words/*.spm
    jq 'map(gsub("▁"; "_"))' x/shared_vocabulary.json >words/shared_vocabulary.json
    tf-convert words -o w.tfm
    tf-translate -q -k 1 --max-extra 8 -m w.tfm --begin fra_Latn <<<'eng_Latn wal haus' >text
    grep -q . text
    run -1 grep fra_Latn text
}

@test "keys that config.json lacks are those of transformers' classes" {
    cases marian | jq -c 'select(.less != [])' >want
    cp -r "$G/marian" d
    changed "del(.[$(jq -c '.less[]' want | sort -u | paste -sd,)])"
    tf-convert --positions halves d -o m.tfm
    agrees want 4
    cp -r "$G/marian/config.json" d/
    changed 'del(.activation_function, .scale_embedding)'
    t 1 tf-convert d -o x.tfm
    expect_error "settings that are not supported: scale_embedding: false (which transformers takes, as the key is absent)"
    # Other names that the classes have for a key; a width that is not that of the file
    cp -r "$G/marian/config.json" d/
    changed '.num_attention_heads = .encoder_attention_heads | .hidden_size = .d_model |
             .num_hidden_layers = .encoder_layers |
             del(.encoder_attention_heads, .d_model, .encoder_layers)'
    tf-convert --positions halves d -o m.tfm
    agrees want 4
    changed 'del(.hidden_size)'
    t 1 tf-convert d -o x.tfm
    expect_error "tensor 'model.shared.weight'"
}

@test "each key alone that config.json lacks: as transformers, or refused" {
    need_peer transformers torch
    local n=0
    cp -r "$G/marian" d
    tf-convert --positions halves d -o m.tfm
    cases marian | jq -c 'select(.less == []) | [.ids, .target]' >pairs
    "$PEER_PYTHON" "$TOP/tests/cli/hf_peer.py" less d pairs >theirs # loads as many models as keys
    for key in $(jq -r 'del(.model_type) | keys[]' "$G/marian/config.json"); do
        cp "$G/marian/config.json" d/
        changed "del(.$key)"
        tf-convert --positions halves d -o m.tfm 2>/dev/null || continue
        jq -c --arg k "$key" 'select(.key == $k).logp[]' theirs >logp
        cases marian | jq -c 'select(.less == [])' | paste logp - |
            awk '{ n = $1; sub(/[^\t]*\t/, ""); sub(/}$/, ",\"logp\":" n "}"); print }' >want
        agrees want 4 || { echo "$key"; return 1; }
        n=$((n + 1))
    done
    [ $n -ge 15 ]
}

@test "stacks with unlike heads compute what they did" {
    need "$TF_PYTHON"
    cp -r "$G/marian" d
    cases marian | jq -c 'select(.less == [])' >pairs
    for heads in 4,2 2,4 8,1; do
        changed ".encoder_attention_heads = ${heads%,*} | .decoder_attention_heads = ${heads#*,}"
        "$TF_PYTHON" - "$heads" "$TOP/tests/cli" >want <<'PY'
import json
import sys
import numpy as np
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[2])
import tensor_file
from transformer import Transformer, fairseq_name, sinusoids
heads = tuple(map(int, sys.argv[1].split(",")))
w = {n: x.astype(float) for n, x in tensor_file.read("d/model.safetensors")[1].items()}
leaves = {"self": "qkvo", "cross": "qkvo", "ff": "12"}
names = [f"{side}.0.{part}.{leaf}.{kind}" for side in ("enc", "dec") for part in leaves
         for leaf in leaves[part] for kind in "wb" if (side, part) != ("enc", "cross")]
p = {n: w["model." + fairseq_name(n)].T for n in names}
for side in "enc", "dec":
    for part in "self", "cross", "ff":
        if (side, part) != ("enc", "cross"):
            for kind in "gb":
                p[f"{side}.0.{part}.norm.{kind}"] = w["model." + fairseq_name(
                    f"{side}.0.{part}.norm.{kind}")]
t, embed = Transformer(np, p, heads, [0], [0], eps=1e-5, swish=True), w["model.shared.weight"]
for line in open("pairs"):
    r = json.loads(line)
    def rows(ids):
        return t.embed(embed, ids, sinusoids(len(ids), 8, True))
    memory = t.stack("enc", rows(r["ids"] + [0]))
    x = t.stack("dec", rows([92] + r["target"]), memory)
    z = x @ embed.T + w["final_logits_bias"][0]
    z -= np.log(np.exp(z).sum(1, keepdims=True))
    logp = sum(z[i, y] for i, y in enumerate(r["target"] + [0]))
    print(json.dumps({**r, "logp": logp}))
PY
        t 0 tf-convert --positions halves d -o m.tfm
        agrees want 4
    done
    run -1 cmp -s <(jq .logp want) <(jq .logp pairs)
    t 1 tf-convert m.tfm --to hf -o x
    expect_error 'd_k and d_v other than d_model / heads'
    jq -c .ids pairs | stream | tf-cbor unjson | tf-decode -q -m m.tfm --beam 1 >/dev/null
    tf-info m.tfm | awk '$1 == "heads" || $1 == "d_k" || $1 == "d_v" { print $2 }' | sort | uniq -c |
        grep -Eq '^ *3 8$'
    changed '.encoder_attention_heads = 3'
    t 1 tf-convert d -o x.tfm
    expect_error 'd_model 8: not a multiple of 3 heads'
}

# NAME: m.tfm has the ids of those cases, from their text
same_ids() {
    cases "$1" >want
    jq -r '"eng_Latn " + .text' want | tf-tokenize -m m.tfm | tf-cbor json |
        jq -c 'select(.ids).ids' >ids
    jq -c .ids want | cmp - ids
    [ "$(wc -l <ids)" -ge 20 ]
}

@test "NLLB as transformers 5 saves it: tokenizer.json, weights in several files, .bin too" {
    t 0 tf-convert "$G/nllb" -o m.tfm
    expect_contains "$stderr" "nllb/model-00001-of-00002.safetensors: M2M100, 1 + 1 layers of width 8, relu"
    same_ids nllb
    agrees want 20
    tf-translate -q -k 1 --max-extra 8 -m m.tfm --begin fra_Latn <<<'eng_Latn walhaus 7' >text
    grep -q . text
    run -1 grep fra_Latn text
    cp -r "$G/nllb" d
    rm d/*.safetensors*
    cp "$G"/bin/* d/
    tf-convert d -o b.tfm
    [ "$(fingerprint b.tfm)" = "$(fingerprint m.tfm)" ]
    # Keys that this file lacks: as above
    changed 'del(.activation_function, .scale_embedding, .decoder_start_token_id, .pad_token_id,
        .eos_token_id, .tie_word_embeddings)'
    tf-convert d -o b.tfm
    [ "$(fingerprint b.tfm)" = "$(fingerprint m.tfm)" ]
    # The same segmenter, by the SentencePiece model that it was made from
    jq -r .text want | tf-tokenize -m "$G/ct2/sentencepiece.bpe.model" --pieces >pieces
    jq -r .text want | tf-tokenize -m m.tfm --pieces | cmp - pieces
    rm -r d
    cp -r "$G/nllb" d
    cp "$G"/unigram/* d/
    tf-convert d -o m.tfm
    same_ids unigram
}

@test "an added token takes the space before it with lstrip" {
    cp -r "$G/nllb" d
    cp "$G/added/tokenizer.json" d/
    tf-convert d -o m.tfm
    same_ids added
    grep -c '<l>' want | awk '{ exit $1 < 5 }'
}

@test "tokens added to tokenizer.json are one piece, special or not" {
    cp -r "$G/nllb" d
    printf '%s\n' 'walhaus <ent> b' 'a<ent> b' 'new_Latn walhaus' >text
    printf '%s\n' '[34,15,52,95,52,84]' '[24,95,52,84]' '[96,34,15]' >want # by tokenizers 0.23.3
    for special in true false; do
        jq ".added_tokens += [{\"id\": 95, \"content\": \"<ent>\", \"special\": $special},
            {\"id\": 96, \"content\": \"new_Latn\", \"special\": $special}]" \
            "$G/nllb/tokenizer.json" >d/tokenizer.json
        tf-convert d -o m.tfm
        tf-tokenize -m m.tfm text | tf-cbor json | jq -c 'select(.ids).ids' | cmp - want
    done
    # One that is not special is text in targets, too, though it has the form of a tag.
    tf-tokenize --target -m m.tfm text | tf-cbor json | jq -c 'select(.ids).ids' | cmp - want
    tf-tokenize --target -m m.tfm text | tf-tokenize -d -m m.tfm | grep new_Latn
}

@test "an added token that is also a piece of BPE keeps its id" {
    cp -r "$G/nllb" d
    printf '%s\n' 'walhaus kai' 'kwal wal b' 'haus awala' >text
    printf '%s\n' '[10,43,26,57]' '[46,10,52,10,52,84]' '[43,24,10,24]' >want # by tokenizers 0.23.3
    jq '.added_tokens += [{"id": 10, "content": "wal", "single_word": false}]' \
        "$G/nllb/tokenizer.json" >d/tokenizer.json
    tf-convert d -o m.tfm
    tf-tokenize -m m.tfm text | tf-cbor json | jq -c 'select(.ids).ids' | cmp - want
}

@test "white space of each kind, and tokens beside it and in words: the ids of tokenizers" {
    local line n=0
    cp -r "$G/nllb" d
    while read -r line; do
        jq "$(jq -r .change <<<"$line")" "$G/$(jq -r .model <<<"$line")/tokenizer.json" \
            >d/tokenizer.json
        tf-convert d -o m.tfm
        jq -c '.cases[][1]' <<<"$line" >want
        jq -r '.cases[][0]' <<<"$line" >text
        tf-tokenize -m m.tfm text | tf-cbor json | jq -c 'select(.ids).ids' | diff want -
        if [ "$(jq -r .model <<<"$line")" = unigram ]; then # from the library
            tf-tokenize --sample --nbest-size 1 -m m.tfm text | tf-cbor json |
                jq -c 'select(.ids).ids' | diff want -
            tf-tokenize --pieces -m m.tfm text | awk -F '[ ]' '{ print NF }' |
                diff <(jq length want) -
        fi
        [ "$(wc -l <want)" = 20 ]
        n=$((n + 1))
    done <"$G/spaces"
    [ "$n" = 11 ]
}

@test "a list of pieces is refused beside the one that a model has" {
    t 2 tf-convert "$G/nllb" --vocab "$G/unigram" --pieces "$G/marian/vocab.json" -o m.tfm
    expect_error "--pieces: M2M100 has a list of its own"
}

@test "NLLB whose sources end with their tag is refused" {
    cp -r "$G/nllb" d
    jq '.legacy_behaviour = false' "$G/nllb/tokenizer_config.json" >d/tokenizer_config.json
    tf-convert d -o m.tfm
    jq '.legacy_behaviour = true' "$G/nllb/tokenizer_config.json" >d/tokenizer_config.json
    t 1 tf-convert d -o x.tfm
    expect_error "tokenizer_config.json: legacy_behaviour: true, by which the tag of the language is at the end of a source, is not supported"
}

@test "tags and <mask> have the ids of added_tokens_decoder where no list has them" {
    cp -r "$G/nllb" d
    cp "$G/ct2/sentencepiece.bpe.model" d/
    tf-convert d -o m.tfm
    rm d/tokenizer.json
    jq '{added_tokens_decoder: [.added_tokens[] | {key: "\(.id)", value: {content, special}}] | from_entries}' \
        "$G/nllb/tokenizer.json" >d/tokenizer_config.json
    echo '{"eos_token": "</s>"}' >d/special_tokens_map.json
    tf-convert d -o m.tfm
    same_ids nllb
    tf-info m.tfm | grep -q 'eng_Latn'
}

@test "M2M100 of transformers 5 lists no tags: those that its tokenizer adds" {
    cp -r "$G/nllb" d
    cp "$G/ct2/sentencepiece.bpe.model" d/
    jq '.model.vocab' "$G/nllb/tokenizer.json" >d/vocab.json
    echo '{"extra_special_tokens": [], "language_codes": "m2m100"}' >d/tokenizer_config.json
    t 1 tf-convert d -o m.tfm
    expect_error "d/tokenizer_config.json: more than 97 pieces"
    echo '{"eos_token": "</s>"}' >d/special_tokens_map.json # of transformers 4.57
    t 1 tf-convert d -o m.tfm
    expect_error "d/tokenizer_config.json: more than 97 pieces"
    rm d/vocab.json
    echo '{"additional_special_tokens": ["__en__"]}' >d/special_tokens_map.json
    t 1 tf-convert d -o m.tfm
    expect_error "no vocab.json, a file of M2M100Tokenizer: copy it from the model that this one comes from"
    rm d/tokenizer_config.json
    echo '{"extra_special_tokens": []}' >d/special_tokens_map.json
    t 1 tf-convert d -o m.tfm
    expect_error "no additional_special_tokens, which are the tags of languages, or extra_special_tokens"
    echo '{"extra_special_tokens": ["__en__", 1]}' >d/special_tokens_map.json
    t 1 tf-convert d -o m.tfm
    expect_error "d/special_tokens_map.json: extra_special_tokens: not of texts"
    # The ids of NLLB's are in tokenizer.json alone: <mask> is before its tags, or after them.
    rm d/special_tokens_map.json d/tokenizer.json
    cp "$G/nllb/tokenizer_config.json" d/
    t 1 tf-convert d -o m.tfm
    expect_error "no tokenizer.json, which has the ids of extra_special_tokens: copy it from the model that this one comes from"
    jq '.additional_special_tokens = .extra_special_tokens' "$G/nllb/tokenizer_config.json" \
        >d/tokenizer_config.json # of transformers 4
    tf-convert d -o m.tfm
}

# MESSAGE: of tf-convert about d
d_is_refused() {
    t 1 tf-convert d -o x.tfm
    expect_error "$1"
    [[ $stderr != *'(null)'* ]]
    [ ! -e x.tfm ]
}

@test "weights in several files: what is missing or damaged is named" {
    cp -r "$G/nllb" d
    rm d/model-00002-of-00002.safetensors
    d_is_refused 'd: no model-00002-of-00002.safetensors, which model.safetensors.index.json names'
    head -c 2000 "$G/nllb/model-00002-of-00002.safetensors" >d/model-00002-of-00002.safetensors
    d_is_refused 'd/model-00002-of-00002.safetensors: not a safetensors file, or cut short'
    cp d/model-00001-of-00002.safetensors d/model-00002-of-00002.safetensors
    d_is_refused "d/model-00001-of-00002.safetensors and the files beside it: tensor "
    for index in '{}' '{"weight_map": []}' '{"weight_map": {}}' '{"weight_map": 1}'; do
        echo "$index" >d/model.safetensors.index.json
        d_is_refused 'd/model.safetensors.index.json: no weight_map'
    done
    echo '[]' >d/model.safetensors.index.json
    d_is_refused 'd/model.safetensors.index.json: not a JSON object'
    echo '{"weight_map": {"a": "../x"}}' >d/model.safetensors.index.json
    d_is_refused 'd/model.safetensors.index.json: a: not the name of a file'
    echo '{"weight_map"' >d/model.safetensors.index.json
    d_is_refused 'd/model.safetensors.index.json: '
    rm d/model*
    d_is_refused 'd: no model.safetensors or pytorch_model.bin, the weights: they come with config.json'
}

@test "a tokenizer.json that SentencePiece cannot be is refused" {
    cp -r "$G/nllb" d
    changed_to() { # WANT JQ
        jq "$2" "$G/nllb/tokenizer.json" >d/tokenizer.json
        d_is_refused "d/tokenizer.json: $1"
    }
    changed_to 'model: WordPiece: neither Unigram nor BPE with merges' '.model.type = "WordPiece"'
    changed_to 'model: BPE: neither Unigram nor BPE with merges' 'del(.model.merges)'
    changed_to 'model: byte_fallback is not supported' '.model.byte_fallback = true'
    changed_to 'model: end_of_word_suffix is not supported' '.model.end_of_word_suffix = "</w>"'
    changed_to "model: not all merges of '" '.model.merges |= .[1:]'
    changed_to "model: not all merges of '一一'" '.model.vocab["一一"] = 96'
    changed_to 'model: without fuse_unk is not supported' '.model.fuse_unk = false'
    changed_to 'model: without fuse_unk is not supported' 'del(.model.fuse_unk)'
    changed_to "model: merges of '" '.model.merges |= .[3:] + .[:3] + .[3:4]'
    changed_to "model: the merge of '" '.model.merges[0] = ["x", "y"]'
    changed_to "model: merges: not pairs of texts" '.model.merges[0] = ["x"]'
    changed_to "model: merges: not pairs of texts" '.model.merges[0] = "xy"'
    changed_to 'model: vocab: not of pieces and ids' '.model.vocab.wal = "x"'
    changed_to "'" '.model.vocab.wal = 5'
    changed_to "model: vocab: no pieces" '.model.vocab = 5'
    changed_to "a piece without text" '.model.vocab[""] = 96'
    changed_to "model: more than 1000 keys" \
        '.model += ([range(1001) | {"z\(.)": 0}] | add)'
    changed_to "'wal': the id 99999999" '.model.vocab.wal = 99999999'
    changed_to 'model: its unknown token is not <unk>' '.model.unk_token = "x"'
    changed_to 'normalizer: NFKC is not supported' '.normalizer = {"type": "NFKC"}'
    changed_to 'normalizer: Replace is not supported' '.normalizer.normalizers[1].content = "x"'
    changed_to 'normalizer: Strip alone is not supported' '.normalizer = {"type": "Strip"}'
    changed_to 'pre_tokenizer: WhitespaceSplit without a space before each word is not supported' \
        '.pre_tokenizer |= {pretokenizers: [{type: "WhitespaceSplit"}, . + {prepend_scheme: "first"}]}'
    changed_to "model: 's▁' ends with a space, which is not supported without split in pre_tokenizer" \
        '.model.vocab["s▁"] = 95 | .model.merges += [["s", "▁"]] | .pre_tokenizer.split = false'
    changed_to 'precompiled_charsmap: not base64' \
        '.normalizer.normalizers[0].precompiled_charsmap = "a b"'
    changed_to 'pre_tokenizer: ByteLevel is not supported' '.pre_tokenizer = {"type": "ByteLevel"}'
    changed_to 'pre_tokenizer: of no type is not supported' 'del(.pre_tokenizer)'
    changed_to "added_tokens: one without content or id" '.added_tokens[0] = {"id": 0}'
    changed_to '98 pieces, and 97 embeddings' '.added_tokens += [{"id": 97, "content": "x"}]'
    changed_to 'not a JSON object' '[]'
    # Merges as texts, which tokenizers wrote before
    jq '.model.merges |= map(join(" "))' "$G/nllb/tokenizer.json" >d/tokenizer.json
    tf-convert d -o m.tfm
    tf-convert "$G/nllb" -o n.tfm
    [ "$(fingerprint m.tfm)" = "$(fingerprint n.tfm)" ]
}

@test "other models are refused by what they are, whatever else the directory has" {
    mkdir d
    want() { # MESSAGE CONFIG
        echo "$2" >d/config.json
        d_is_refused "d/config.json: model_type: $1only marian, m2m_100, fsmt, bart and mbart are supported"
    }
    for file in '' model.safetensors pytorch_model.bin source.spm; do
        [ -z "$file" ] || touch "d/$file"
        want 't5: T5, whose positions, norms and inner layers are others; ' '{"model_type": "t5"}'
        want 'pegasus: Pegasus, which has other inner layers; ' '{"model_type": "pegasus"}'
        want 'whisper: a model of speech; ' '{"model_type": "whisper"}'
        want 'llama: a language model, which has no encoder; ' \
            '{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}'
        want 'new: ' '{"model_type": "new", "architectures": [1]}'
        want 'missing: ' '{}'
    done
    echo '{"decoder_start_token": "<s>", "add_source_eos": true}' >d/config.json
    d_is_refused 'd/config.json: a model of CTranslate2 without model.bin, or without shared_vocabulary or source_vocabulary beside it'
    rm d/config.json
    d_is_refused 'd: no config.json, the settings of a model of transformers: copy it from the model that this one comes from'
    echo '{}' >d/adapter_config.json
    d_is_refused 'd: an adapter of another model: merge it into that first'
    rm d/adapter_config.json
    echo '[]' >d/config.json
    d_is_refused 'd/config.json: not a JSON object'
    echo '{"model_type": 5}' >d/config.json
    d_is_refused 'd/config.json: model_type: '
    rm d/source.spm
    echo '{"model_type": "marian"}' >d/config.json
    d_is_refused 'd: no source.spm, a file of MarianTokenizer: copy it from the model that this one comes from'
    touch d/source.spm
    d_is_refused 'd: no target.spm, a file of MarianTokenizer: copy it from the model that this one comes from'
    rm d/source.spm
    echo '{"model_type": "m2m_100"}' >d/config.json
    d_is_refused 'd: no sentencepiece.bpe.model, a file of NllbTokenizer, M2M100Tokenizer or MBart50Tokenizer: copy it'
    echo '{"model_type": "fsmt"}' >d/config.json
    d_is_refused 'd: no vocab-src.json, a file of FSMTTokenizer: copy it'
}
