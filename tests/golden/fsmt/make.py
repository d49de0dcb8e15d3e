#!/usr/bin/env python3
"""Write the directory m, a small random model of FSMT as transformers saves it, and `expected`,
lines of JSON: a text, which is split already by Moses' rules; the ids that FSMTTokenizer has for it;
a random target and its log-probability; and the ids that greedy search finds, at most 12. Needs the
packages transformers, torch and sacremoses, and ../bpe, whose codes and text it takes; run it in
this directory."""
import json
import os
import random
import shutil
import subprocess

import torch
from transformers import FSMTConfig, FSMTForConditionalGeneration, FSMTTokenizer

PAD, EOS, UNK = 1, 2, 3
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
torch.set_num_threads(1)
shutil.rmtree("m", ignore_errors=True)
os.mkdir("m")


def dump(name, x):
    with open("m/" + name, "w", encoding="utf-8") as f:
        json.dump(x, f, ensure_ascii=False, indent=1)
        f.write("\n")


with open("../bpe/codes.fast", encoding="utf-8") as f, open("m/merges.txt", "w",
                                                            encoding="utf-8") as out:
    out.writelines(line.rsplit(" ", 1)[0] + "\n" for line in f)
with open("../bpe/text", encoding="utf-8", newline="\n") as f:
    text = [line.rstrip("\n") for line in f]
text = [line for line in text if line.split(" ") == line.split()][:100:5]
dump("tokenizer_config.json", {"langs": ["en", "de"], "do_lower_case": False})
for side in "src", "tgt":
    dump(f"vocab-{side}.json", {w: i for i, w in enumerate(SPECIAL)})
pieces = sorted({p for line in text
                 for p in FSMTTokenizer.from_pretrained("m")._tokenize(line, bypass_tokenizer=True)})
source, target = SPECIAL + pieces[:64], SPECIAL + pieces[10:50]
dump("vocab-src.json", {w: i for i, w in enumerate(source)})
dump("vocab-tgt.json", {w: i for i, w in enumerate(target)})

config = FSMTConfig(langs=["en", "de"], src_vocab_size=len(source), tgt_vocab_size=len(target),
                    d_model=8, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
                    decoder_attention_heads=2, encoder_ffn_dim=12, decoder_ffn_dim=8,
                    max_position_embeddings=6)
torch.manual_seed(11)
model = FSMTForConditionalGeneration(config).eval()
with torch.no_grad():
    for name, p in model.named_parameters():
        if "embed_positions" not in name:
            p.copy_(torch.randn_like(p) * 0.4 + (name.endswith("norm.weight")))
model.model.decoder.output_projection.weight = model.model.decoder.embed_tokens.weight
config.save_pretrained("m")
torch.save({k: v.clone() for k, v in model.state_dict().items()}, "m/pytorch_model.bin")


def logits(x, y):
    with torch.no_grad():
        return model(input_ids=torch.tensor([x]), decoder_input_ids=torch.tensor([y]),
                     use_cache=False).logits[0].double()


def greedy(x):
    y = [EOS]
    while len(y) <= 12:
        row = logits(x, y)[-1]
        row[PAD] = row[UNK] = -1e9
        if row.argmax() == EOS:
            break
        y.append(int(row.argmax()))
    return y[1:]


tokenizer = FSMTTokenizer.from_pretrained("m")
rng = random.Random(1)
with open("expected", "w", encoding="utf-8") as out:
    for line in text:
        ids = [tokenizer._convert_token_to_id(p)
               for p in tokenizer._tokenize(line, bypass_tokenizer=True)]
        y = [rng.randrange(4, len(target)) for _ in range(rng.randrange(1, 9))]
        p = logits(ids + [EOS], [EOS] + y).log_softmax(-1)
        logp = sum(p[i, w].item() for i, w in enumerate(y + [EOS]))
        json.dump({"text": line, "ids": ids, "target": y,
                   "logp": round(logp, 5), "greedy": greedy(ids + [EOS])}, out, ensure_ascii=False)
        out.write("\n")
subprocess.run(["gzip", "-9n", "m/pytorch_model.bin"], check=True)
