#!/usr/bin/env python3
"""fairseq's own search, with a forced prefix and without.

    fairseq_peer.py make DIR               give model.pt there random matrices, with which searches
                                           end late and differ by rule
    fairseq_peer.py DIR BEAM LIMIT [ID]    of each line of ids, in JSON, the best output, which
                                           begins with ID

Needs torch, and fairseq as golden/fairseq/make.py does."""
import dataclasses
import functools
import json
import logging
import sys
import warnings

import torch
import torch._dynamo  # noqa: F401

logging.disable()
warnings.simplefilter("ignore")
torch.load = functools.partial(torch.load, weights_only=False)
torch.set_num_threads(1)
EOS = 2


def make(path):
    checkpoint = torch.load(path)
    model = checkpoint["model"]
    torch.manual_seed(7)
    seen = {}
    for name, x in model.items():
        if x.dim() > 1 and "embed_positions" not in name and seen.setdefault(x.data_ptr(), x) is x:
            x.normal_(0, 0.5 if "embed" in name else 0.8)
    table = model["decoder.embed_tokens.weight"]
    table[EOS] *= 2.5
    for name, x in model.items():
        if "embed_tokens" in name or "output_projection" in name:
            x.copy_(table)
    norm = "decoder.layers.0.final_layer_norm."
    model[norm + "weight"] *= 4
    model[norm + "bias"] += 7 * table[EOS] / (table[EOS] @ table[EOS])
    torch.save(checkpoint, path)


def search(directory, beam, limit, lines, first=None):
    """The best output of each line of ids."""
    plain = dataclasses.dataclass

    def dataclass(cls=None, **options):  # fields without a hash, which Python 3.11 refuses
        made = functools.partial(plain, unsafe_hash=True, **options)
        return made if cls is None else made(cls)

    dataclasses.dataclass = dataclass
    from fairseq import checkpoint_utils
    from fairseq.sequence_generator import SequenceGenerator

    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [directory + "/model.pt"],
        arg_overrides={"data": directory, "source_lang": "en", "target_lang": "de"})
    models[0].eval()
    generator = SequenceGenerator(models, task.target_dictionary, beam_size=int(beam), max_len_a=0,
                                  max_len_b=int(limit))
    prefix = None if first is None else torch.tensor([[int(first)]])
    for ids in lines:
        x = torch.tensor([ids + [EOS]])
        net = {"src_tokens": x, "src_lengths": torch.tensor([x.shape[1]]),
               "prev_output_tokens": torch.tensor([[EOS]])}
        best = generator.generate(models, {"net_input": net}, prefix_tokens=prefix)[0][0]
        yield best["tokens"].tolist()[:-1]


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2] + "/model.pt")
    else:
        for best in search(*sys.argv[1:4], map(json.loads, sys.stdin), *sys.argv[4:]):
            print(json.dumps(best, separators=(",", ":")))
