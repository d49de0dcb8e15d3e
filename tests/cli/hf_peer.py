#!/usr/bin/python3
"""What transformers computes with a directory of MarianMT, in fp32 on the CPU.

    hf_peer.py score DIR PAIRS     log P of each target; a pair is a line of JSON, [[source ids],
                                   [target ids]], without ends
    hf_peer.py greedy DIR PAIRS    ids of the best output of each source, likewise, as JSON
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
model = transformers.MarianMTModel.from_pretrained(path, dtype=torch.float32).eval()
start, eos = model.config.decoder_start_token_id, model.config.eos_token_id
if what == "save":
    model.save_pretrained(other)
    sys.exit()
for source, target in map(json.loads, open(other)):
    source = torch.tensor([source + [eos]])
    with torch.no_grad():
        if what == "score":
            logits = model(source, decoder_input_ids=torch.tensor([[start] + target])).logits
            logp = logits[0].double().log_softmax(-1)
            print("%.9g" % sum(logp[t, i] for t, i in enumerate(target + [eos])))
        else:
            out = model.generate(source, num_beams=1, do_sample=False,
                                 max_new_tokens=source.shape[1] + 50)[0].tolist()
            print(json.dumps(out[1:-1] if out[-1] == eos else out[1:], separators=(",", ":")))
