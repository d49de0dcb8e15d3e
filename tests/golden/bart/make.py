#!/usr/bin/env python3
"""Write mbart, bart and tokenizer, directories with small random models as transformers saves them,
and `expected`: for each pair of ../tune/text the ids of both sides, the log-probability of the
target, tags and ends included, and the ids of a greedy output. Written with transformers 5.24.0,
torch 2.13.0 and sentencepiece 0.2.3; run it in this directory.

    mbart      mBART-50, with special_tokens_map.json as transformers 4 saves it
    tokenizer  its tokenizer as transformers 5 saves it
    bart       BART, whose pieces are letters"""
import gzip
import json
import os
import shutil

import sentencepiece
import torch
from transformers import (BartConfig, BartForConditionalGeneration, BartTokenizer, MBart50Tokenizer,
                          MBartConfig, MBartForConditionalGeneration)

torch.set_num_threads(1)
SIZES = {"encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2,
         "decoder_attention_heads": 2, "encoder_ffn_dim": 8, "decoder_ffn_dim": 12, "d_model": 8,
         "max_position_embeddings": 40}
with open("../tune/text", encoding="utf-8") as f:
    pairs = [line.rstrip("\n").split("\t") for line in f][:6]


def dump(path, x):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(x, f, ensure_ascii=False)
        f.write("\n")


def pack(path):
    with open(path, "rb") as f, gzip.GzipFile(path + ".gz", "wb", mtime=0) as to:
        to.write(f.read())
    os.remove(path)


def finish(kind, model, ids, out, **generate):
    """Random weights, and what transformers makes of them. ids: pairs with their ends."""
    torch.manual_seed(7)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_((torch.randn_like(p) * 0.5 + name.endswith("norm.weight") +
                     name.endswith("layernorm_embedding.weight")).half())
        bias = model.final_logits_bias
        bias.copy_((torch.randn_like(bias) * 0.3).half())
    model.eval().half().save_pretrained(kind)
    model.float()
    pack(kind + "/model.safetensors")
    for source, target in ids:
        with torch.no_grad():
            x, y = torch.tensor([source]), torch.tensor([target])
            logp = -model(input_ids=x, labels=y).loss.double().item() * len(target)
            greedy = model.generate(input_ids=x, num_beams=1, do_sample=False, max_new_tokens=12,
                                    no_repeat_ngram_size=2, forced_eos_token_id=None,
                                    suppress_tokens=[1], **generate)
        dumped = {"model": kind, "ids": source, "target": target, "logp": round(logp, 5),
                  "greedy": greedy[0].tolist()}
        json.dump(dumped, out, separators=(",", ":"))
        out.write("\n")


def mbart(out):
    with open("mbart/sentencepiece.bpe.model", "wb") as f:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([x for p in pairs for x in p]), model_writer=f, vocab_size=40,
            normalization_rule_name="identity", character_coverage=1.0, minloglevel=2)
    t = MBart50Tokenizer.from_pretrained("mbart", src_lang="en_XX", tgt_lang="fr_XX")
    t.save_pretrained("tokenizer")
    pack("tokenizer/tokenizer.json")
    tags = [x for x in t.additional_special_tokens if "_" in x] \
        if hasattr(t, "additional_special_tokens") else \
        [x for x in t.extra_special_tokens if "_" in x]
    dump("mbart/special_tokens_map.json", {"additional_special_tokens": tags})
    config = MBartConfig(vocab_size=len(t), scale_embedding=True, decoder_start_token_id=2, **SIZES)
    ids = [[t(a).input_ids, t(text_target=b).input_ids] for a, b in pairs]
    finish("mbart", MBartForConditionalGeneration(config), ids, out,
           forced_bos_token_id=t.convert_tokens_to_ids("fr_XX"))


def bart(out):
    letters = sorted({c for p in pairs for x in p for c in x.encode("utf-8").decode("latin-1")
                      if " " < c < "\x7f"})
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "Ġ"] + letters + ["<mask>"]
    dump("bart/vocab.json", {p: i for i, p in enumerate(pieces)})
    with open("bart/merges.txt", "w", encoding="utf-8") as f:
        f.write("#version: 0.2\n")
    t = BartTokenizer(vocab={p: i for i, p in enumerate(pieces)}, merges=[])
    ids = [[t(a).input_ids[:36], t(b).input_ids[:36]] for a, b in pairs]
    for pair in ids:
        for side in pair:
            side[-1] = 2
    finish("bart", BartForConditionalGeneration(BartConfig(vocab_size=len(pieces), **SIZES)), ids,
           out)


for folder in "mbart", "bart", "tokenizer":
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
with open("expected", "w", encoding="utf-8") as out:
    mbart(out)
    bart(out)
