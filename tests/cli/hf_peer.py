#!/usr/bin/python3
"""What transformers computes with a directory of its own, in fp32 on the CPU.

    hf_peer.py score DIR PAIRS     log P of each target; a pair is a line of JSON, [[source ids],
                                   [target ids]], without ends
    hf_peer.py greedy DIR PAIRS    ids of the best output of each source, likewise, as JSON
    hf_peer.py less DIR PAIRS      the same without each key of config.json in turn, {"key": K,
                                   "logp": [numbers]}; none where it refuses the directory then
    hf_peer.py save DIR OUT        what it saves after it has loaded DIR

Needs transformers and torch."""
import json
import sys

import torch
import transformers

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)
what, path, other = sys.argv[1:]


def load(config=None):
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(path, config=config,
                                                              dtype=torch.float32).eval()


def score(model, source, target):
    start, eos = model.config.decoder_start_token_id, model.config.eos_token_id
    with torch.no_grad():
        logits = model(torch.tensor([source + [eos]]),
                       decoder_input_ids=torch.tensor([[start] + target])).logits
    logp = logits[0].double().log_softmax(-1)
    return sum(logp[t, i].item() for t, i in enumerate(target + [eos]))


def greedy(model, source):
    source = torch.tensor([source + [model.config.eos_token_id]])
    with torch.no_grad():
        out = model.generate(source, num_beams=1, do_sample=False,
                             max_new_tokens=source.shape[1] + 50)[0].tolist()
    return out[1:-1] if out[-1] == model.config.eos_token_id else out[1:]


def less(pairs):
    with open(path + "/config.json", encoding="utf-8") as f:
        keys = json.load(f)
    for key in keys:
        if key == "model_type":
            continue
        try:
            model = load(transformers.AutoConfig.for_model(
                **{k: v for k, v in keys.items() if k != key}))
            logp = [round(score(model, *p), 5) for p in pairs]
        except (AssertionError, IndexError, RuntimeError, ValueError):
            continue
        print(json.dumps({"key": key, "logp": logp}))


if what == "save":
    load().save_pretrained(other)
    sys.exit()
pairs = [json.loads(line) for line in open(other)]
if what == "less":
    less(pairs)
    sys.exit()
model = load()
for source, target in pairs:
    print("%.9g" % score(model, source, target) if what == "score" else
          json.dumps(greedy(model, source), separators=(",", ":")))
