#!/usr/bin/env python3
"""Write nllb, m2m and marian, directories with small random models as transformers saves them, and
`expected`: for each, the ids that its tokenizer has for the pairs of `text`, and the sum of the
negative log-probabilities of their targets, the tags of languages and the ends included, in the
loss that transformers would train with. Written with transformers 5.24.0, torch 2.13.0 and
sentencepiece 0.2.3; run it in this directory. The tokenizer of NLLB is that of
transformers 4: ids of SentencePiece and 1, after a tag."""
import gzip
import json
import os
import shutil
import subprocess

import sentencepiece
import torch
from transformers import (M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer,
                          MarianConfig, MarianMTModel, MarianTokenizer)

torch.set_num_threads(1)
SIZES = {side + name: n for side in ("encoder_", "decoder_")
         for name, n in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 8))}
with open("text", encoding="utf-8") as f:
    pairs = [line.rstrip("\n").split("\t") for line in f]


def segmenter(path):
    with open(path, "wb") as f:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([x for p in pairs for x in p]), model_writer=f, vocab_size=40,
            normalization_rule_name="identity", character_coverage=1.0)
    return sentencepiece.SentencePieceProcessor(model_file=path)


def dump(path, x):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(x, f, ensure_ascii=False, indent=1)
        f.write("\n")


def begin(kind):
    shutil.rmtree(kind, ignore_errors=True)
    os.mkdir(kind)


def finish(kind, model, ids):
    """Random weights, and what transformers makes of them. ids: pairs with their ends."""
    torch.manual_seed(7)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" not in name:
                p.copy_(torch.randn_like(p) * 0.3 + name.endswith("norm.weight"))
    model.eval().save_pretrained(kind)
    os.remove(kind + "/generation_config.json")
    subprocess.run(["gzip", "-9n", kind + "/model.safetensors"], check=True)
    os.chmod(kind + "/model.safetensors.gz", 0o644)
    nll = 0
    for source, target in ids:
        with torch.no_grad():
            loss = model(input_ids=torch.tensor([source]), labels=torch.tensor([target])).loss
        nll += loss.double().item() * len(target)
    return {"nll": round(nll, 4), "tokens": sum(len(t) for _, t in ids), "ids": ids}


def nllb():
    begin("nllb")
    sp = segmenter("nllb/sentencepiece.bpe.model")
    tags = ["eng_Latn", "fra_Latn", "zho_Hans"]
    first = sp.get_piece_size() + 1
    dump("nllb/special_tokens_map.json", {"additional_special_tokens": tags})
    config = M2M100Config(vocab_size=first + len(tags) + 1, d_model=8, max_position_embeddings=64,
                          decoder_start_token_id=2, **SIZES)
    ids = [[[first + i] + [p + 1 for p in sp.encode(side)] + [2] for i, side in enumerate(pair)]
           for pair in pairs]
    return finish("nllb", M2M100ForConditionalGeneration(config), ids)


def m2m():
    begin("m2m")
    sp = segmenter("m2m/sentencepiece.bpe.model")
    own = ["<s>", "<pad>", "</s>", "<unk>"] + [sp.id_to_piece(i) for i in range(3, 40)]
    dump("m2m/vocab.json", {p: i for i, p in enumerate(own)})
    t = M2M100Tokenizer("m2m/vocab.json", "m2m/sentencepiece.bpe.model", src_lang="en",
                        tgt_lang="fr")
    dump("m2m/special_tokens_map.json", {"additional_special_tokens": list(t.lang_token_to_id)})
    config = M2M100Config(vocab_size=len(own) + len(t.lang_token_to_id) + 8, d_model=8,
                          max_position_embeddings=64, decoder_start_token_id=2, **SIZES)
    ids = [[t(a).input_ids, t(text_target=b).input_ids] for a, b in pairs]
    return finish("m2m", M2M100ForConditionalGeneration(config), ids)


def marian():
    begin("marian")
    sp = segmenter("marian/source.spm")
    shutil.copy("marian/source.spm", "marian/target.spm")
    own = ["</s>", "<unk>"] + [sp.id_to_piece(i) for i in range(3, 40)] + ["<pad>"]
    dump("marian/vocab.json", {p: i for i, p in enumerate(own)})
    t = MarianTokenizer(source_spm="marian/source.spm", target_spm="marian/target.spm",
                        vocab="marian/vocab.json")
    config = MarianConfig(vocab_size=len(own), d_model=8, max_position_embeddings=64,
                          pad_token_id=len(own) - 1, eos_token_id=0, forced_eos_token_id=0,
                          decoder_start_token_id=len(own) - 1, activation_function="swish",
                          scale_embedding=True, **SIZES)
    ids = [[t(a).input_ids, t(text_target=b).input_ids] for a, b in pairs]
    return finish("marian", MarianMTModel(config), ids)


with gzip.open("expected.gz", "wt", encoding="utf-8") as out:
    for make in nllb, m2m, marian:
        json.dump({"kind": make.__name__, **make()}, out, separators=(",", ":"))
        out.write("\n")
