#!/usr/bin/env python3
"""make.py NAME ... - write directories as transformers saves them, tiny random models whose
tokenizers got tokens of each kind:

    marian    MarianTokenizer of transformers 5.24.0, with the pieces of ../marian_tokenizer/m
    m2m100    M2M100Tokenizer of the same, with those of ../hf/ct2
    nllb      NllbTokenizer of the same, which is one of tokenizers
    nllb4     NllbTokenizerFast of transformers 4.57.3

and NAME.expected, lines of JSON: a text with tokens between and within its words, and its ids
without those that begin and end a sentence. Needs torch and sentencepiece; run it in this
directory."""
import gzip
import json
import os
import pathlib
import random
import shutil
import sys

import torch
import transformers
from transformers import AddedToken

TOKENS = {"<e>": {}, "<l>": {"lstrip": True}, "<r>": {"rstrip": True}, "Qx7": {}, "<e>x": {},
         "<lr>": {"lstrip": True, "rstrip": True}, "<w>": {"single_word": True}, "<a b>": {},
         "<wl>": {"single_word": True, "lstrip": True}, "<n>": {"normalized": False},
         "<s1>": {"special": True},
         "<s2>": {"special": True, "lstrip": True, "normalized": False}}
SIZES = {"d_model": 4, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 1,
         "decoder_attention_heads": 1, "encoder_ffn_dim": 4, "decoder_ffn_dim": 4,
         "max_position_embeddings": 16}
TAGS = ["eng_Latn", "fra_Latn"]
GERMAN = pathlib.Path("../bpe/text").read_text("utf-8").split()
GERMAN = [w for w in GERMAN if len(w) < 12][:60] + ["Ａ", "ﬁne", "x☃y", "☃"]
ENGLISH = "the old man paints a red house ; dog sees cat. – ball çã €€ Über".split()
torch.manual_seed(1)


def unpack(source, to, *names):
    for name in names:
        packed = pathlib.Path(source, name + ".gz")
        data = gzip.decompress(packed.read_bytes()) if packed.exists() else \
            pathlib.Path(source, name).read_bytes()
        pathlib.Path(to, name).write_bytes(data)


def tokenizer_of(name):
    """And the words of its texts."""
    if name == "marian":
        unpack("../marian_tokenizer/m", name, "source.spm", "target.spm", "vocab.json")
        with open(name + "/tokenizer_config.json", "w", encoding="utf-8") as f:
            json.dump({"source_lang": "en", "target_lang": "de"}, f)
        return transformers.MarianTokenizer.from_pretrained(name), ENGLISH
    if name == "nllb":
        unpack("../hf/nllb", name, "tokenizer.json", "tokenizer_config.json")
        return transformers.NllbTokenizer.from_pretrained(name), GERMAN
    spm = name + "/sentencepiece.bpe.model"
    unpack("../hf/ct2", name, "sentencepiece.bpe.model")
    if name == "nllb4":
        return transformers.NllbTokenizerFast(spm, additional_special_tokens=TAGS,
                                              src_lang=TAGS[0]), GERMAN
    import sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(model_file=spm)
    pieces = ["<s>", "<pad>", "</s>", "<unk>"] + [pieces.id_to_piece(i)
                                                  for i in range(3, len(pieces))]
    with open(name + "/vocab.json", "w", encoding="utf-8") as f:
        json.dump({p: i for i, p in enumerate(pieces)}, f, ensure_ascii=False)
    return transformers.M2M100Tokenizer(vocab_file=name + "/vocab.json", spm_file=spm,
                                        src_lang="en", tgt_lang="fr"), GERMAN


def texts(words, n=70):
    rng = random.Random(5)
    for i in range(n):
        text = ""
        for _ in range(rng.randrange(1, 8)):
            text += rng.choice(words) if rng.random() < .6 else rng.choice(list(TOKENS))
            text += rng.choice(["", " ", "", " ", "  "] if i % 3 else [" "])
        yield text if i % 5 == 0 else text.strip()


for name in sys.argv[1:]:
    shutil.rmtree(name, ignore_errors=True)
    os.mkdir(name)
    tokenizer, words = tokenizer_of(name)
    for token, flags in TOKENS.items():
        tokenizer.add_tokens([AddedToken(token, **flags)])
    tokenizer.save_pretrained(name)
    if name == "marian":
        pad = tokenizer.pad_token_id
        model = transformers.MarianMTModel(transformers.MarianConfig(
            vocab_size=len(tokenizer), pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0,
            forced_eos_token_id=0, activation_function="swish", scale_embedding=True, **SIZES))
    else:
        model = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(
            vocab_size=len(tokenizer), decoder_start_token_id=2, **SIZES))
    model.half().save_pretrained(name)
    os.remove(name + "/generation_config.json")
    with open(name + ".expected", "w", encoding="utf-8") as f:
        for text in texts(words):
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            f.write(json.dumps([text, ids], ensure_ascii=False, separators=(",", ":")) + "\n")
    for path in [*pathlib.Path(name).iterdir(), pathlib.Path(name + ".expected")]:
        if path.stat().st_size > 800:
            pathlib.Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            path.unlink()
