#!/usr/bin/env python3
"""Write directories as transformers 5 and CTranslate2 save them, of small random models:

    marian     MarianMT with tags of languages, >>fra<<
    nllb       M2M100 with the tokenizer of NLLB: weights in several files, tokenizer.json (BPE)
    unigram    a tokenizer.json of a Unigram model, for the same weights
    added      that of nllb with two tokens that were added, one of which takes the space before it
    ct2        nllb by CTranslate2's own converter, with the SentencePiece model that it came from

and `expected.gz`, lines of JSON: a directory; keys that config.json lacks; a text; the ids that its
tokenizer has for it, with the tag in front; ids of a target, which begins with a tag for nllb; its
log-probability in fp32, the end included.

    make.py bin    with transformers 4: pytorch_model.bin in several files, in bin/, which
                   transformers 5 does not write

    make.py spaces  spaces.gz, lines of JSON: a model of these, "nllb" or "unigram"; a program
                    of jq that changes its tokenizer.json; texts with the ids of tokenizers 0.23.3

Needs transformers (5.24.0 and 4.57.3 wrote what is here), ctranslate2 (4.8.5), sentencepiece
(0.2.3) and torch (2.13.0); takes the text of ../bpe. Run it in this directory."""
import base64
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
import torch
import transformers
from transformers import (M2M100Config, M2M100ForConditionalGeneration, MarianConfig,
                          MarianMTModel, MarianTokenizer)

SIZES = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 12,
         "decoder_ffn_dim": 12, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
SHARD = "6KB"
TAGS = ["eng_Latn", "fra_Latn", "zho_Hans"]
torch.set_num_threads(1)


def pack(*names):
    """Files of some size as they are in the repository."""
    for path in (p for name in names for p in pathlib.Path(name).iterdir()):
        if path.stat().st_size > 2000:
            with open(f"{path}.gz", "wb") as f:
                f.write(gzip.compress(path.read_bytes(), mtime=0))
            path.unlink()


def fill(model, seed):
    torch.manual_seed(seed)
    done = set()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" not in name and id(p) not in done:
                p.copy_(torch.randn_like(p) * 0.4 + (name.endswith("norm.weight")))
                done.add(id(p))
    return model.eval()


def spaces():
    from tokenizers import Tokenizer
    with open("rules", "w", encoding="utf-8") as f:
        f.write("1\nA0\t20\n200B\t20\nFF21\t41\n")
    sentencepiece.SentencePieceTrainer.train(
        input="../bpe/text", model_prefix="x", vocab_size=90, character_coverage=1,
        normalization_rule_tsv="rules", hard_vocab_limit=False, minloglevel=2)
    table = sentencepiece_model_pb2.ModelProto.FromString(
        pathlib.Path("x.model").read_bytes()).normalizer_spec.precompiled_charsmap
    os.remove("x.model"), os.remove("x.vocab"), os.remove("rules")
    five = '''.normalizer = {type: "Sequence", normalizers: [{type: "Precompiled",
        precompiled_charsmap: "%s"}, {type: "Replace", pattern: {Regex: " {2,}"}, content: " "}]}
        | .pre_tokenizer |= (.pretokenizers[1]? // .)''' % base64.b64encode(table).decode()
    four = five + ''' | .normalizer.normalizers |= [.[0],
        {type: "Strip", strip_left: false, strip_right: true}, .[1] + {content: "\u2581"}]'''
    words = '''.normalizer = null | .pre_tokenizer |= {type: "Sequence",
        pretokenizers: [{type: "WhitespaceSplit"}, .pretokenizers[1]? // .]}'''
    never = ' | .pre_tokenizer.prepend_scheme = "never"'
    tokens = ''' | .added_tokens += [.added_tokens[0] + {special: false} + (
        {id: 10, content: "wal", single_word: true}, {id: 95, content: "\u2603", single_word: true},
        {id: 96, content: "<l>", lstrip: true, normalized: true})]
        | (.model.vocab | arrays)[10][0] = "wal" | (.model.vocab | arrays)[29][0] = "xwal"'''
    within = ' | .model.vocab[10:12] = [["s\u2581", -1], ["\u2581a\u2581", -1]]'
    parts = ["walhaus", "wal", "a", "s", "7", "kais", "\u2603", "\u2603\u2603", "<l>", " ", " ", "  ",
             "\u00a0", "\t", "\u200b", "\u0085", "\u3000", "\x01", "\uff21"]
    rng = random.Random(1)
    out = b""
    for model, change in (("nllb", five), ("nllb", four), ("nllb", words), ("nllb", five + never),
                          ("nllb", four + never), ("nllb", five + tokens), ("nllb", four + tokens),
                          ("unigram", words), ("unigram", words + tokens),
                          ("unigram", five + within), ("unigram", five + never + tokens)):
        file = subprocess.run(["jq", change], check=True, capture_output=True, input=gzip.
                              decompress(pathlib.Path(model + "/tokenizer.json.gz").read_bytes()))
        tokenizer = Tokenizer.from_str(file.stdout.decode())
        texts = ["".join(rng.choices(parts, k=rng.randrange(1, 9))) for _ in range(20)]
        texts = [re.sub("[\u0001\u200b]+<l>", "<l>", t) for t in texts]
        cases = [[t, tokenizer.encode(t, add_special_tokens=False).ids] for t in texts]
        out += json.dumps({"model": model, "change": change, "cases": cases},
                          separators=(",", ":")).encode() + b"\n"
    pathlib.Path("spaces.gz").write_bytes(gzip.compress(out, mtime=0))


if sys.argv[1:] == ["spaces"]:
    spaces()
    sys.exit()
if sys.argv[1:] == ["bin"]:
    for path in pathlib.Path("nllb").glob("*.gz"):  # of make.py
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
    model = M2M100ForConditionalGeneration.from_pretrained("nllb")
    shutil.rmtree("bin", ignore_errors=True)
    model.save_pretrained("bin", safe_serialization=False, max_shard_size=SHARD)
    os.remove("bin/generation_config.json"), os.remove("bin/config.json")
    pack("bin")
    for path in pathlib.Path("nllb").glob("*.gz"):
        path.with_suffix("").unlink()
    sys.exit()

with open("../bpe/text", encoding="utf-8", newline="\n") as f:
    text = [line.rstrip("\n") for line in f]
text = [line for line in text if line.split(" ") == line.split()][:100:5]


def segmenter(path, kind, **more):
    """Normalisation is small: full-width letters A to C, and one ligature."""
    with open("rules", "w", encoding="utf-8") as f:
        f.write("FF21\t41\nFF22\t42\nFF23\t43\nFB01\t66 69\n")
    sentencepiece.SentencePieceTrainer.train(
        input="../bpe/text", model_prefix="x", vocab_size=90, model_type=kind, character_coverage=1,
        normalization_rule_tsv="rules", hard_vocab_limit=False, minloglevel=2, **more)
    os.replace("x.model", path)
    os.remove("x.vocab"), os.remove("rules")


def fresh(*names):
    for name in names:
        shutil.rmtree(name, ignore_errors=True)
        os.mkdir(name)


out = gzip.open("expected.gz", "wt", encoding="utf-8")
rng = random.Random(1)


def expect(name, line, ids, target, less=()):
    """What the model computes that transformers makes of the directory without these keys."""
    with open(name + "/config.json", encoding="utf-8") as f:
        keys = {k: v for k, v in json.load(f).items() if k not in less}
    config = transformers.AutoConfig.for_model(**keys)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(name, config=config,
                                                               dtype=torch.float32).eval()
    start, eos = config.decoder_start_token_id, config.eos_token_id
    with torch.no_grad():
        p = model(input_ids=torch.tensor([ids + [eos]]),
                  decoder_input_ids=torch.tensor([[start] + target])).logits
    p = p[0].double().log_softmax(-1)
    json.dump({"model": name, "less": list(less), "text": line, "ids": ids, "target": target,
               "logp": round(sum(p[i, w].item() for i, w in enumerate(target + [eos])), 5)},
              out, ensure_ascii=False)
    out.write("\n")


# ---- marian ----

fresh("marian")
segmenter("marian/source.spm", "unigram", bos_id=-1, eos_id=0, unk_id=1)
shutil.copy("marian/source.spm", "marian/target.spm")
pieces = sentencepiece.SentencePieceProcessor("marian/source.spm")
pieces = [pieces.id_to_piece(i) for i in range(len(pieces))]
vocab = pieces[:2] + [">>fra<<", ">>zlm_Latn<<"] + pieces[2:] + ["<pad>"]
with open("marian/vocab.json", "w", encoding="utf-8") as f:
    json.dump({p: i for i, p in enumerate(vocab)}, f)
pad = len(vocab) - 1
fill(MarianMTModel(MarianConfig(vocab_size=len(vocab), pad_token_id=pad, decoder_start_token_id=pad,
                                activation_function="swish", scale_embedding=True, **SIZES)),
     7).save_pretrained("marian")
tokenizer = MarianTokenizer.from_pretrained("marian")
tokenizer.save_pretrained("marian")
os.remove("marian/generation_config.json")
for line in text[:4]:
    line = ">>zlm_Latn<< " + line
    ids = tokenizer(line)["input_ids"]
    assert ids.pop() == 0
    target = [rng.randrange(4, pad) for _ in range(6)]
    # Without the epsilon and the positions of Marian, which the tools take otherwise.
    expect("marian", line, ids, target)
    expect("marian", line, ids, target, ["eos_token_id", "forced_eos_token_id", "dropout",
                                         "share_encoder_decoder_embeddings", "tie_word_embeddings",
                                         "decoder_vocab_size"])

# ---- nllb and ct2 ----

fresh("nllb", "unigram", "added", "spm")
segmenter("spm/sentencepiece.bpe.model", "bpe", unk_id=0, bos_id=1, eos_id=2)
tokenizer = transformers.NllbTokenizer.from_pretrained("spm", extra_special_tokens=TAGS,
                                                       src_lang="eng_Latn")
shutil.copy("spm/sentencepiece.bpe.model", ".")
segmenter("spm/sentencepiece.bpe.model", "unigram", unk_id=0, bos_id=1, eos_id=2)
unigram = transformers.XLMRobertaTokenizer.from_pretrained("spm", extra_special_tokens=TAGS)
shutil.rmtree("spm")
size = max(len(tokenizer), len(unigram)) + 2
config = M2M100Config(vocab_size=size, max_position_embeddings=16, **SIZES)
fill(M2M100ForConditionalGeneration(config), 8).save_pretrained("nllb", max_shard_size=SHARD)
tokenizer.save_pretrained("nllb")
unigram.save_pretrained("unigram")
os.remove("nllb/generation_config.json")
odd = ["Ａ ﬁne  day", "x☃y☃☃ z", ""]  # by its normalisation, and unknown
for i, line in enumerate(text + odd):
    ids = tokenizer(line)["input_ids"]
    assert ids.pop() == 2
    target = [tokenizer.convert_tokens_to_ids("fra_Latn")] + [rng.randrange(4, 90) for _ in range(6)]
    less = [] if i % 2 else ["activation_function", "scale_embedding", "decoder_start_token_id",
                             "pad_token_id", "eos_token_id", "tie_word_embeddings"]
    expect("nllb", line, ids, target, less)
    ids = unigram(line)["input_ids"]
    json.dump({"model": "unigram", "text": line,
               "ids": [unigram.convert_tokens_to_ids("eng_Latn")] + ids[1:-1]},
              out, ensure_ascii=False)
    out.write("\n")
tokenizer.add_tokens([transformers.AddedToken("<l>", lstrip=True, special=False),
                      transformers.AddedToken("<w>", rstrip=True, single_word=True,
                                              normalized=False)])
tokenizer.save_pretrained("added")
os.remove("added/tokenizer_config.json")
for line in text:  # tokens among words
    line = "".join(w + rng.choice(["", " <l>", " <w>", " <w> <l>"]) + " " for w in line.split())
    json.dump({"model": "added", "text": line.strip(), "ids": tokenizer(line.strip())["input_ids"][:-1]},
              out, ensure_ascii=False)
    out.write("\n")
out.close()

import ctranslate2.converters  # noqa: E402, which loads other parts of transformers
shutil.rmtree("ct2", ignore_errors=True)
ctranslate2.converters.TransformersConverter("nllb").convert("ct2", quantization="float16")
os.replace("sentencepiece.bpe.model", "ct2/sentencepiece.bpe.model")
pack("marian", "nllb", "unigram", "added", "ct2")
