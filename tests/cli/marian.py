#!/usr/bin/python3
"""Models in Marian's layout, and what they compute, in float64 and without any of our code.

    marian.py make FILE V [KEY=VALUE...]    random weights; the keys are Marian's settings
    marian.py hf FILE DIR [KEY=VALUE...]    the same model as transformers has it: config.json and
                                            model.safetensors; the keys are of config.json, of
                                            which residual_scale multiplies weights
    marian.py eps FILE OUT EPS POSITIONS    an npz of tf-convert with another epsilon; POSITIONS
                                            may be learned
    marian.py score FILE EOS PAIRS OUT [halves]     log P of each target; a pair is a line of JSON,
                                                [[source ids], [target ids]], without ends

The names of parameters, the settings and the function are those of marian-dev
(src/models/transformer.h, src/rnn/cells.h, src/tensors/cpu/tensor_operators.cpp). A FILE.bin has
its binary format with matrices of 8 bits (src/common/binary.cpp, and intgemm in browsermt's fork),
any other is an npz."""
import io
import json
import math
import re
import struct
import sys
import zipfile

import numpy as np

sys.dont_write_bytecode = True
import tensor_file  # noqa: E402
from transformer import Transformer, fairseq_name, plain_name, sinusoids  # noqa: E402

SIDES = "encoder", "decoder"
DEFAULTS = {"type": "transformer", "dim-emb": "16", "enc-depth": "2", "dec-depth": "2",
            "transformer-heads": "4", "transformer-dim-ffn": "24",
            "transformer-ffn-activation": "swish", "transformer-preprocess": '""',
            "transformer-postprocess": "dan", "transformer-postprocess-top": '""',
            "output-omit-bias": "false",
            "transformer-decoder-autoreg": "self-attention", "dec-cell": "gru", "tied": "all", "transformer-tied-layers": "[]"}


def settings_of(words):
    s = dict(DEFAULTS)
    s.update(w.split("=", 1) for w in words)
    return s


def yaml_of(s, V):
    lines = [f"{k}: {v}" for k, v in sorted(s.items()) if k != "tied"]
    return "\n".join(lines + ["dim-vocabs:", f"  - {V}", f"  - {V}", "input-types:", "  []", ""])


def layers_of(s, side):
    tied = json.loads(s.get("transformer-tied-layers", "[]")) if side == "decoder" else []
    return tied or [i + 1 for i in range(int(s[side[:3] + "-depth"]))]


def ffn_of(s, side):
    own = int(s.get("transformer-decoder-dim-ffn", 0)) if side == "decoder" else 0
    return own or int(s["transformer-dim-ffn"])


def make(path, V, words):
    s, rng, w = settings_of(words), np.random.default_rng(5), {}
    D = int(s["dim-emb"])
    pre = "_pre" if s["transformer-preprocess"] == "n" else ""

    def add(name, rows, cols, mean=0.0, sd=0.4):
        w[name] = (mean + sd * rng.standard_normal((rows, cols))).astype("<f4")

    def norm(name, suffix=""):
        add(f"{name}_ln_scale{suffix}", 1, D, 1, 0.2)
        add(f"{name}_ln_bias{suffix}", 1, D, 0, 0.2)

    for name in {"all": ["Wemb"], "src": ["Wemb", "decoder_ff_logit_out_Wt"],
                 "decoder": ["encoder_Wemb", "decoder_Wemb"],
                 "none": ["encoder_Wemb", "decoder_Wemb", "decoder_ff_logit_out_Wt"],
                 "legacy": ["encoder_Wemb", "decoder_Wemb"]}[s["tied"]]:
        add(name, V, D)
    if s["tied"] == "legacy":
        add("decoder_ff_logit_out_W", D, V)
    if s["output-omit-bias"] == "false":
        add("decoder_ff_logit_out_b", 1, V)
    for side in SIDES:
        F = ffn_of(s, side)
        for n in sorted(set(layers_of(s, side))):
            rnn = side == "decoder" and s["transformer-decoder-autoreg"] == "rnn"
            if rnn:
                add(f"{side}_l{n}_rnn_W", D, D)
                add(f"{side}_l{n}_rnn_Wf", D, D)
                add(f"{side}_l{n}_rnn_bf", 1, D)
                norm(f"{side}_l{n}_rnn" + ("" if pre else "_ffn"), pre)
            for part in ([] if rnn else ["self"]) + (["context"] if side == "decoder" else []):
                for x in "qkvo":
                    add(f"{side}_l{n}_{part}_W{x}", D, D)
                    add(f"{side}_l{n}_{part}_b{x}", 1, D)
                norm(f"{side}_l{n}_{part}_Wo", pre)
            for x, rows, cols in ("1", D, F), ("2", F, D):
                add(f"{side}_l{n}_ffn_W{x}", rows, cols)
                add(f"{side}_l{n}_ffn_b{x}", 1, cols)
            norm(f"{side}_l{n}_ffn_ffn", pre)
        if s["transformer-postprocess-top"] == "n":
            norm(side + "_top")
    text = yaml_of(s, V).encode() + b"\0\0"
    w["special:model.yml"] = np.frombuffer(text, "i1")
    if path.endswith(".bin"):
        return write_bin(path, w)
    with zipfile.ZipFile(path, "w") as z:
        for name, x in w.items():
            f = io.BytesIO()
            np.save(f, x)
            z.writestr(name + ".npy", f.getvalue().replace(b"'|i1'", b"'<i1'", 1))


def write_bin(path, w):
    items = []
    for name, x in w.items():
        if x.dtype == np.int8 or name.split("_")[-1][0] in "bsl" or "_ln_" in name:
            items.append((name, 0x101 if x.dtype == np.int8 else 0x404, x.shape, x.tobytes()))
            continue
        m = np.float32(127 / np.abs(x).max())
        q = np.rint(x * m).astype("i1")
        data = (q if name == "Wemb" else q.T).tobytes() + struct.pack("<f", m)
        items.append((name, 0x4101, x.shape, data))
        items.append((name + "_QuantMultA", 0x404, (1, 1), struct.pack("<f", 3)))
    items = [(n, t, s, d + bytes(-len(d) % 256)) for n, t, s, d in items]
    head = struct.pack("<QQ", 1, len(items))
    for name, kind, shape, data in items:
        head += struct.pack("<QQQQ", len(name) + 1, kind, len(shape), len(data))
    head += b"".join(n.encode() + b"\0" for n, _, _, _ in items)
    head += b"".join(struct.pack(f"<{len(s)}i", *s) for _, _, s, _ in items)
    pad = -(len(head) + 8) % 256
    with open(path, "wb") as f:
        f.write(head + struct.pack("<Q", pad) + bytes(pad) + b"".join(d for _, _, _, d in items))


def read_bin(path):
    with open(path, "rb") as f:
        b = f.read()
    _, n = struct.unpack_from("<QQ", b)
    rows, at, out = [struct.unpack_from("<QQQQ", b, 16 + 32 * i) for i in range(n)], 16 + 32 * n, {}
    names, shapes = [], []
    for name_n, _, _, _ in rows:
        names.append(b[at:at + name_n - 1].decode())
        at += name_n
    for _, _, rank, _ in rows:
        shapes.append(struct.unpack_from(f"<{rank}i", b, at))
        at += 4 * rank
    at += 8 + struct.unpack_from("<Q", b, at)[0]
    for (_, kind, _, size), name, shape in zip(rows, names, shapes):
        count = math.prod(shape)
        if kind == 0x4101:
            q = np.frombuffer(b, "i1", count, at)
            q = q.reshape(shape) if name == "Wemb" else q.reshape(shape[::-1]).T
            out[name] = q / np.frombuffer(b, "<f4", 1, at + count)
        elif not name.endswith("_QuantMultA"):
            out[name] = np.frombuffer(b, "<f4" if kind == 0x404 else "i1", count, at).reshape(shape)
        at += size
    return out


def residual_factor(name, s, scale):
    """Of a tensor where sums from the first layer norm of a stack to its last are times scale."""
    at = re.match(r"model\.(...)oder\.layers\.(\d+)\.(.*)", name)
    if at is None or at[2] == "0" and at[3].startswith("self_attn."):
        return 1
    if int(at[2]) == int(s[at[1] + "-depth"]) - 1 and at[3].startswith("final_layer_norm"):
        return 1
    if re.match(r"(self_attn\.[qkv]_proj|encoder_attn\.q_proj|fc1)\.weight", at[3]):
        return 1 / scale
    return scale if re.search(r"out_proj|fc2|layer_norm", at[3]) else 1


def hf(path, to, words):
    w = dict(np.load(path))
    keys = {k: json.loads(v) for k, v in (x.split("=", 1) for x in words)}
    text = w.pop("special:model.yml").tobytes().split(b"\0")[0].decode()
    s = dict(line.split(": ", 1) for line in text.split("\n") if ": " in line)
    out = {}

    def padded(x):  # a row for the padding id
        return np.concatenate([x, np.zeros((1, x.shape[1]), x.dtype)])

    for name, x in w.items():
        if name.endswith("Wemb"):
            out[{"Wemb": "model.shared.weight", "encoder_Wemb": "model.encoder.embed_tokens.weight",
                 "decoder_Wemb": "model.decoder.embed_tokens.weight"}[name]] = padded(x)
        elif name == "decoder_ff_logit_out_Wt":
            out["lm_head.weight"] = padded(x)
        elif name == "decoder_ff_logit_out_b":
            out["final_logits_bias"] = np.concatenate([x, np.zeros((1, 1), x.dtype)], 1)
        else:
            out["model." + fairseq_name(plain_name(name))] = x[0] if len(x) == 1 else x.T
    scale = keys.get("residual_scale", 1)
    tensors = {name: x * np.float32(residual_factor(name, s, scale)) for name, x in
               sorted(out.items())}
    tensor_file.write(to + "/model.safetensors", tensors, {"format": "pt"})
    V = len(w.get("Wemb", w.get("decoder_Wemb")))
    config = {"model_type": "marian", "d_model": int(s["dim-emb"]), "vocab_size": V + 1,
              "encoder_layers": int(s["enc-depth"]), "decoder_layers": int(s["dec-depth"]),
              "encoder_ffn_dim": ffn_of(s, "encoder"), "decoder_ffn_dim": ffn_of(s, "decoder"),
              "encoder_attention_heads": int(s["transformer-heads"]),
              "decoder_attention_heads": int(s["transformer-heads"]),
              "activation_function": s["transformer-ffn-activation"], "scale_embedding": True,
              "share_encoder_decoder_embeddings": "Wemb" in w,
              "tie_word_embeddings": "lm_head.weight" not in out, "eos_token_id": 3,
              "pad_token_id": V, "decoder_start_token_id": V, "num_beams": 4}
    config.update(keys)
    with open(to + "/config.json", "w") as f:
        json.dump(config, f)


class Model:
    def __init__(self, path, halves=False):
        w = read_bin(path) if path.endswith(".bin") else dict(np.load(path))
        text = w.pop("special:model.yml").tobytes().split(b"\0")[0].decode()
        s = dict(line.split(": ", 1) for line in text.split("\n") if ": " in line)
        self.less = 0 if halves else 1
        self.p = {plain_name(k): v.astype("f8") for k, v in w.items()}
        self.t = Transformer(np, self.p, int(s["transformer-heads"]),
                             *([n - 1 for n in layers_of(s, side)] for side in SIDES),
                             pre=s["transformer-preprocess"] == "n", eps=1e-5 if halves else 1e-6,
                             swish=s["transformer-ffn-activation"] == "swish")

    def embed(self, side, ids):
        table = self.p.get(side + "_Wemb", self.p.get("Wemb"))
        return self.t.embed(table, ids, sinusoids(len(ids), table.shape[1], True, self.less))

    def score(self, src, tgt, eos):
        memory = self.t.stack("enc", self.embed("encoder", src + [eos]))
        x = self.t.stack("dec", self.embed("decoder", [None] + tgt), memory)
        p = self.p
        e = p.get("decoder_ff_logit_out_Wt", p.get("decoder_Wemb", p.get("Wemb")))
        z = x @ p.get("decoder_ff_logit_out_W", e.T) + p.get("decoder_ff_logit_out_b", 0)
        z = z - z.max(-1, keepdims=True)
        return sum(z[t, i] - math.log(np.exp(z[t]).sum()) for t, i in enumerate(tgt + [eos]))


def eps(path, to, value, positions):
    w = dict(np.load(path))
    c = json.loads(w["config"].tobytes())
    c["norm_eps"] = float(value)
    if positions == "learned":
        c.update(positions="learned", max_positions=90)
        rng = np.random.default_rng(6)
        w.update((n, rng.normal(0, 0.1, (90, 16)).astype("f4")) for n in ("enc.pos", "dec.pos"))
    np.savez(to, **{**w, "config": np.frombuffer(json.dumps(c).encode(), "u1")})


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
elif sys.argv[1] == "eps":
    eps(*sys.argv[2:])
elif sys.argv[1] == "hf":
    hf(sys.argv[2], sys.argv[3], sys.argv[4:])
else:
    model = Model(sys.argv[2], sys.argv[6:] == ["halves"])
    with open(sys.argv[4]) as pairs, open(sys.argv[5], "w") as out:
        for line in pairs:
            print("%.9g" % model.score(*json.loads(line), int(sys.argv[3])), file=out)
