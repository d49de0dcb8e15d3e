"""attention.py MODEL SRC TGT STREAM - compare an attention stream over all kinds, layers and heads
with a forward pass in numpy (float64): a post-norm model of the paper's dialect with sinusoids and
one tied embedding. The paper, sections 3.1 to 3.5."""
import sys

import numpy as np

sys.dont_write_bytecode = True
from streams import array, parameters, records  # noqa: E402
from transformer import Transformer, apart, sinusoids  # noqa: E402


model_path, src_path, tgt_path, stream_path = sys.argv[1:]
c = next(records(model_path))[1]["config"]
p = {name: x.astype(float) for name, x in parameters(model_path).items()}
H = c["heads"]


def weights(m, src, tgt):
    def embed(ids):
        return m.embed(p["embed"], ids, sinusoids(len(ids), c["d_model"]))

    m.stack("dec", embed([c["bos"]] + tgt), m.stack("enc", embed(src + [c["eos"]])))
    for name, w in m.weights.items():
        side, l, part = name.split(".")
        kind = "encoder" if side == "enc" else "decoder" if part == "self" else part
        yield kind, int(l) + 1, np.array(w)


def sentences(path):
    return {r[1]: array(r[2]).astype(int).tolist() for r in records(path) if r[0] == 1}


src, tgt = sentences(src_path), sentences(tgt_path)
got = {}
for r in records(stream_path):
    if r[0] == 5:
        _, idx, kind, layer, heads, queries, keys, w = r
        assert array(heads).tolist() == list(range(1, H + 1)), heads
        got[idx, kind, layer] = array(w).reshape(H, len(queries), len(keys))
assert list(got) == [(i, kind, l + 1) for i in src for kind in ("encoder", "decoder", "cross")
                     for l in range(c["decoder_layers"])], list(got)[:9]
worst = 0
m = Transformer(np, apart(p), H, range(c["encoder_layers"]), range(c["decoder_layers"]),
                eps=c["norm_eps"])
for i in src:
    for kind, layer, want in weights(m, src[i], tgt[i]):
        have = got[i, kind, layer]
        assert have.shape == want.shape, (i, kind, layer, have.shape, want.shape)
        worst = max(worst, abs(have - want).max())
print(f"{len(got)} records, off by up to {worst:.1e}")
assert worst < 1e-5, worst
