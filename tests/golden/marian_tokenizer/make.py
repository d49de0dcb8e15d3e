#!/usr/bin/env python3
"""Write the directory m, a small random MarianMT as transformers 5.24 saves it, with its tokenizer, and
`expected`, lines of JSON: a text and the ids that MarianTokenizer has for it as a source and as a
target, without the end. Its list lacks every seventh piece of both segmenters and has characters,
and a run of them, that neither has; three tokens were added for fine-tuning. Needs the packages
transformers, torch and sentencepiece; run it in this directory."""
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
shutil.rmtree("m", ignore_errors=True)
os.mkdir("m")


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
    with open("m/" + name, "w", encoding="utf-8") as f:
        json.dump(x, f, ensure_ascii=False)


both = list(dict.fromkeys(train(SOURCE, 200, "source") + train(TARGET, 200, "target")))
pieces = [p for i, p in enumerate(both) if i % 7 != 3]
pieces = ["</s>", "<unk>", *pieces, "ç", "ã", "çã", "€€", ">>deu<<", "<pad>"]
dump("vocab.json", {p: i for i, p in enumerate(pieces)})
dump("tokenizer_config.json", {"source_lang": "en", "target_lang": "de"})
tokenizer = MarianTokenizer.from_pretrained("m")
model = MarianMTModel(MarianConfig(
    vocab_size=len(pieces), d_model=4, encoder_layers=1, decoder_layers=1,
    encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=4,
    decoder_ffn_dim=4, activation_function="swish",
    scale_embedding=True, pad_token_id=len(pieces) - 1, decoder_start_token_id=len(pieces) - 1,
    eos_token_id=0, forced_eos_token_id=0, max_position_embeddings=32))
tokenizer.add_tokens(["<ent>", "QX77"])
tokenizer.add_tokens(["<lang de>"], special_tokens=True)
model.resize_token_embeddings(len(tokenizer))
model.save_pretrained("m")
tokenizer.save_pretrained("m")
with open("expected", "w", encoding="utf-8") as f:
    for text in TEXTS:
        ids = [tokenizer(text)["input_ids"][:-1], tokenizer(text_target=text)["input_ids"][:-1]]
        f.write(json.dumps([text, *ids]) + "\n")
subprocess.run(["gzip", "-9n", "m/model.safetensors"], check=True)
