#!/usr/bin/env python3
"""Write directories as transformers 5.24 saves them, small random MarianMT with their tokenizers:

    m        one list of pieces, which lacks every seventh of both segmenters and has characters,
             and a run of them, that neither has; three tokens were added for fine-tuning
    two      separate vocabularies; a row of the targets' is that of the padding id
    two-zero the same of one size, and zero rows for the padding id, as Marian's models have them

and `expected`, lines of JSON: a text and the ids that MarianTokenizer of m has for it as a source
and as a target, without the end; `two.expected` and `two-zero.expected` have the log-probability of
the latter from the former, the end included, as a fourth member. Needs the packages transformers,
torch and sentencepiece; run it in this directory."""
import io
import json
import os
import shutil
import subprocess

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

SOURCE = """the old man paints a red house; the dog sees the cat.
my dog sees a red ball – our cat likes some bread today!
a house of an old man, and a small child (the child of a friend)."""
TARGET = """der alte mann malt ein rotes haus; der hund sieht die katze.
mein hund sieht einen roten ball – unsere katze mag heute etwas brot!
ein haus eines alten mannes, und ein kleines kind (das kind eines freundes)."""
TEXTS = ["the old man paints.", "my dog sees <ent> today", "QX77 likes a house", "the cat and QX77 <ent>",
         "a ç ã red – house –– of 한국", "çã house, ãç dog", "<ent> <ent>", "Über çã£ the £ house (QX77",
         "the house of the friend – the red one", "unsere katze mag <lang de> brot", "  the   dog  ", "",
         "der hund – sieht €€ katzen ç", "ein haus; QX77 ein hund!"]
torch.manual_seed(1)
torch.set_num_threads(1)
for name in "m", "two", "two-zero":
    shutil.rmtree(name, ignore_errors=True)
    os.mkdir(name)


def train(text, size, name):
    model = io.BytesIO()
    lines = [line for line in text.splitlines()] * 20
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size,
        hard_vocab_limit=False, bos_id=-1, eos_id=0, unk_id=1, minloglevel=2, num_threads=1,
        normalization_rule_name="identity")
    open(f"m/{name}.spm", "wb").write(model.getvalue())
    sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [sp.IdToPiece(i) for i in range(2, sp.GetPieceSize())]


def dump(name, x):
    with open(name, "w", encoding="utf-8") as f:
        json.dump(x, f, ensure_ascii=False)


def dump_list(name, pieces):
    dump(name, {p: i for i, p in enumerate(pieces)})


own = train(SOURCE, 200, "source"), train(TARGET, 200, "target")
both = list(dict.fromkeys(own[0] + own[1]))
pieces = [p for i, p in enumerate(both) if i % 7 != 3]
pieces = ["</s>", "<unk>", *pieces, "ç", "ã", "çã", "€€", ">>deu<<", "<pad>"]
dump_list("m/vocab.json", pieces)
LANGS = {"source_lang": "en", "target_lang": "de"}
dump("m/tokenizer_config.json", LANGS)
tokenizer = MarianTokenizer.from_pretrained("m")
SIZES = {"d_model": 4, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
         "decoder_attention_heads": 2, "encoder_ffn_dim": 4, "decoder_ffn_dim": 4,
         "activation_function": "swish", "scale_embedding": True, "eos_token_id": 0,
         "forced_eos_token_id": 0, "max_position_embeddings": 32}
model = MarianMTModel(MarianConfig(vocab_size=len(pieces), pad_token_id=len(pieces) - 1,
                                   decoder_start_token_id=len(pieces) - 1, **SIZES))
tokenizer.add_tokens(["<ent>", "QX77"])
tokenizer.add_tokens(["<lang de>"], special_tokens=True)
model.resize_token_embeddings(len(tokenizer))
model.save_pretrained("m")
os.remove("m/generation_config.json")
tokenizer.save_pretrained("m")
with open("expected", "w", encoding="utf-8") as f:
    for text in TEXTS:
        ids = [tokenizer(text)["input_ids"][:-1], tokenizer(text_target=text)["input_ids"][:-1]]
        f.write(json.dumps([text, *ids]) + "\n")
subprocess.run(["gzip", "-9n", "m/model.safetensors"], check=True)

# ---- separate vocabularies ----


def separate(name, source, target, zero):
    for part in "source.spm", "target.spm":
        shutil.copy("m/" + part, name)
    dump_list(name + "/vocab.json", source)
    dump_list(name + "/target_vocab.json", target)
    dump(name + "/tokenizer_config.json", {**LANGS, "separate_vocabs": True})
    tokenizer = MarianTokenizer.from_pretrained(name)
    pad = len(source) - 1
    model = MarianMTModel(MarianConfig(
        vocab_size=len(source), decoder_vocab_size=len(target), pad_token_id=pad,
        decoder_start_token_id=pad, share_encoder_decoder_embeddings=False,
        **{**SIZES, "max_position_embeddings": 64})).eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "embed_positions" not in key:
                p.copy_(torch.randn_like(p) * 0.5 + key.endswith("norm.weight"))
        model.final_logits_bias.copy_(torch.randn(1, len(target)))
        if zero:
            model.model.encoder.embed_tokens.weight[pad] = 0
            model.model.decoder.embed_tokens.weight[pad] = 0
    model.save_pretrained(name)
    os.remove(name + "/generation_config.json")
    tokenizer.save_pretrained(name)
    model = MarianMTModel.from_pretrained(name, dtype=torch.float32).eval()
    with open(name + ".expected", "w", encoding="utf-8") as f:
        for text in TEXTS:
            ids = [tokenizer(text)["input_ids"][:-1], tokenizer(text_target=text)["input_ids"][:-1]]
            with torch.no_grad():
                p = model(torch.tensor([ids[0] + [0]]),
                          decoder_input_ids=torch.tensor([[pad] + ids[1]])).logits[0]
            p = p.double().log_softmax(-1)
            if zero:  # the start, which no output has
                p[:, pad] = -torch.inf
                p = p.log_softmax(-1)
            f.write(json.dumps([text, *ids, round(
                sum(p[i, w].item() for i, w in enumerate(ids[1] + [0])), 5)]) + "\n")
    subprocess.run(["gzip", "-9n", name + "/model.safetensors"], check=True)


source, target = (["</s>", "<unk>", *pieces] for pieces in own)
separate("two", source + ["ç", "<pad>"], target + ["<pad>"] * (len(source) > len(target)), False)
source, target = source + ["<pad>"], target + ["<pad>"]
size = min(len(source), len(target))
separate("two-zero", source[:size - 1] + ["<pad>"], target[:size - 1] + ["<pad>"], True)
