#!/usr/bin/python3
"""Files of PyTorch, without PyTorch and without any of our code.

    torch_file.py fairseq DIR FILE.npz [KEY=VALUE...]   a random model, as a directory of fairseq
                                            and as an npz of tf-tools
    torch_file.py fsmt DIR FILE.npz [KEY=VALUE...]   the same as a directory of FSMT in transformers
    torch_file.py m2m DIR FILE.npz PIECES   the same for NLLB in transformers; PIECES: of its
                                            SentencePiece model, a line each
    torch_file.py state FILE.safetensors FILE [KEY=VALUE...]   its tensors as torch.save writes
                                            a dict
    torch_file.py same A.npz B.npz          A, of tf-tools, has configuration and parameters of B

Keys: form (zip, legacy; of fsmt also safetensors), fused (projections in one matrix), tie,
pre_norm, activation, dtype (f32, f16; of fsmt in safetensors also f64), source (words of a
dictionary of its own), dict (a file with the words of both), ff (width of the decoder's inner
layers, if it is less than the encoder's), heads (the decoder's), cfg (arguments as newer
checkpoints have them), dropout, extra (what else is in the file); of fsmt target (its pieces),
copies (true: each name that one matrix has; projection: of the decoder's only that of the output),
positions (learned: another table). The forms are those of torch/serialization.py; names are those
of fairseq/models/transformer."""
import argparse
import io
import json
import os
import pickle
import struct
import sys
import types
import zipfile
from collections import OrderedDict

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ct2  # noqa: E402
import tensor_file  # noqa: E402
from transformer import apart, fairseq_name  # noqa: E402

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


def fake_torch():
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in "FloatStorage", "HalfStorage":
        setattr(torch, name, type(name, (), {"__module__": "torch"}))
    for name in "_rebuild_tensor_v2", "_rebuild_parameter":
        def f(*_):
            raise AssertionError
        f.__module__, f.__name__, f.__qualname__ = "torch._utils", name, name
        setattr(utils, name, f)
    torch._utils = utils
    sys.modules.update({"torch": torch, "torch._utils": utils})
    return torch


TORCH = fake_torch()


class Storage:
    def __init__(self, x):
        self.x, self.key = np.ascontiguousarray(x).reshape(-1), None


class Tensor:
    """An array in a storage, which starts after `skip` others; perhaps a parameter."""

    def __init__(self, x, parameter=False, skip=0):
        self.x, self.parameter, self.skip = np.ascontiguousarray(x), parameter, skip
        pad = np.zeros(skip, self.x.dtype)
        self.storage = Storage(np.concatenate([pad, self.x.reshape(-1)]))

    def __reduce__(self):
        x, strides, step = self.x, [], 1
        for n in reversed(x.shape):
            strides.insert(0, step)
            step *= n
        args = (self.storage, self.skip, x.shape, tuple(strides), False, OrderedDict())
        if not self.parameter:
            return TORCH._utils._rebuild_tensor_v2, args
        return TORCH._utils._rebuild_parameter, (Tensor(x, False, self.skip), True, OrderedDict())


class Pickler(pickle.Pickler):
    def __init__(self, f, legacy):
        super().__init__(f, 2)
        self.legacy, self.storages = legacy, []

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        if obj.key is None:
            obj.key = str(len(self.storages))
            self.storages.append(obj)
        kind = TORCH.HalfStorage if obj.x.dtype == np.float16 else TORCH.FloatStorage
        return ("storage", kind, obj.key, "cpu", obj.x.size) + ((None,) if self.legacy else ())


def save(obj, path, form):
    f = io.BytesIO()
    p = Pickler(f, form == "legacy")
    p.dump(obj)
    if form == "legacy":
        with open(path, "wb") as out:
            for x in MAGIC, PROTOCOL, {"protocol_version": PROTOCOL, "little_endian": True}:
                pickle.dump(x, out, 2)
            out.write(f.getvalue())
            pickle.dump([s.key for s in p.storages], out, 2)
            for s in p.storages:
                out.write(struct.pack("<q", s.x.size) + s.x.tobytes())
        return
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        z.writestr("model/data.pkl", f.getvalue())
        z.writestr("model/byteorder", "little")
        for s in p.storages:
            z.writestr("model/data/" + s.key, s.x.tobytes())
        z.writestr("model/version", "3\n")


def fairseq_names(w, fused):
    out = OrderedDict()
    for name, x in apart(w, ("qkv",) if fused else ()).items():
        if name == "embed":
            out["encoder.embed_tokens.weight"] = out["decoder.embed_tokens.weight"] = x
        else:
            matrix = x if "embed" in name or "project" in name else x.T
            out[fairseq_name(name).replace("qkv_proj.", "in_proj_")] = matrix
    return out


def narrow(model, n):
    """The decoder's inner layers with n units: those that the weights have besides become zero."""
    out = OrderedDict(model)
    for name, x in model.items():
        if name.startswith("decoder.layers.") and (".fc1." in name or name.endswith("fc2.weight")):
            rest = x[n:] if ".fc1." in name else x[:, n:]
            rest[...] = 0
            out[name] = x[:n] if ".fc1." in name else x[:, :n]
    return out


def fairseq(path, npz, words):
    k = dict(ct2.KEYS, dropout="0.1", form="zip", fused="false", dtype="f32", cfg="false", extra="",
             bias="false", offset="2", dict="", ff="0", langs="")
    k.update(x.split("=", 1) for x in words)
    target = [f"w{i}@@" if i % 3 else f"w{i}" for i in range(52)]
    if k["dict"]:
        with open(k["dict"], encoding="utf-8", newline="\n") as f:
            target = f.read().split("\n")[:-1]
    n_source = int(k["source"]) or len(target)
    source = target if not int(k["source"]) else [f"s{i}" for i in range(n_source)]
    V = len(target) + 4
    w = ct2.random_weights(k, V, n_source + 4)
    if k["dtype"] == "f16":
        w = {name: x.astype("<f2") for name, x in w.items()}
    names = fairseq_names(w, k["fused"] == "true")
    if int(k["ff"]):
        names = narrow(names, int(k["ff"]))
    model = OrderedDict((name, Tensor(x, i % 2 == 0, i % 3)) for i, (name, x) in
                        enumerate(names.items()))
    for side in "encoder", "decoder":
        model[side + ".version"] = Tensor(np.array([3], "<f4"))
        model[side + ".embed_positions._float_tensor"] = Tensor(np.array([0], "<f4"))
    arguments = {"arch": "transformer_vaswani_wmt_en_de_big", "activation_fn": k["activation"],
                 "share_all_embeddings": k["tie"] == "all", "encoder_learned_pos": False,
                 "dropout": float(k["dropout"]), "lr": [0.0005], "max_tokens": None, "seed": 2 ** 40}
    for side in "encoder", "decoder":
        arguments.update({side + "_layers": ct2.L, side + "_embed_dim": ct2.D,
                          side + "_ffn_embed_dim": ct2.F, side + "_attention_heads": ct2.H,
                          side + "_normalize_before": k["pre_norm"] == "true"})
    arguments["decoder_attention_heads"] = int(k["heads"])
    if int(k["ff"]):
        arguments["decoder_ffn_embed_dim"] = int(k["ff"])
    langs = {"source_lang": "en", "target_lang": "de"}
    if k["langs"]: # none, or the directory of the data
        langs = {**dict.fromkeys(langs), "data": k["langs"]}
    root = {"model": model, "extra_state": {"epoch": 3, "best": 1.5, "set": {1, 2}, "b": b"\0x"},
            "last_optimizer_state": {"state": {0: {"exp_avg": Tensor(np.zeros((3, 2), "<f4"))}}}}
    if k["cfg"] == "true":
        root.update(args=None, cfg={"model": argparse.Namespace(**arguments), "task": langs})
    else:
        root["args"] = argparse.Namespace(**arguments, **langs)
    if k["extra"] == "code":  # what a reader must not run
        class Run:
            def __reduce__(self):
                return os.system, ("touch executed",)
        root["optimizer_history"] = [Run(), {"x": Run()}]
    elif k["extra"] == "not":
        root["model"]["encoder.layers.0.fc1.weight"] = argparse.Namespace(x=1)
    os.makedirs(path, exist_ok=True)
    save(root, path + "/model.pt", k["form"])
    for lang, tokens in ("en", source), ("de", target):
        with open(f"{path}/dict.{lang}.txt", "w", encoding="utf-8") as f:
            f.writelines(f"{t} {1000 - i}\n" for i, t in enumerate(tokens))
    ct2.save_ours(npz, k, w, V, n_source + 4, bos=2, eos=2, pad=1, unk=3)


def fsmt(path, npz, words):
    k = dict(ct2.KEYS, form="zip", dtype="f32", bias="false", offset="2", ff="0", copies="true",
             target="52")
    k.update(x.split("=", 1) for x in words)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    target = special + [f"w{i}" if i % 3 else f"w{i}</w>" for i in range(int(k["target"]))]
    source = target if not int(k["source"]) else special + [f"s{i}</w>" for i in
                                                            range(int(k["source"]))]
    w = ct2.random_weights(k, len(target), len(source))
    if k["dtype"] == "f16":
        w = {name: x.astype("<f2") for name, x in w.items()}
    names = fairseq_names(w, False)
    if int(k["ff"]):
        names = narrow(names, int(k["ff"]))
    if k["copies"] == "false" and k["tie"] == "all":
        del names["encoder.embed_tokens.weight"]
    elif k["copies"] != "false" and k["tie"] != "none":
        names["decoder.output_projection.weight"] = names["decoder.embed_tokens.weight"]
    if k["copies"] == "projection":
        del names["decoder.embed_tokens.weight"]
    if k["dtype"] == "f64":
        names = OrderedDict((name, x.astype("<f8")) for name, x in names.items())
    for side in "encoder", "decoder":
        names[side + ".embed_positions.weight"] = np.concatenate(
            [ct2.table("t2t", 0)[:1], np.zeros((1, ct2.D), "<f4"), ct2.table(k["positions"], 2)])
    os.makedirs(path, exist_ok=True)
    names = OrderedDict(("model." + name, x) for name, x in names.items())
    if k["form"] == "safetensors":
        tensor_file.write(path + "/model.safetensors", names)
    else:
        save(OrderedDict((name, Tensor(x)) for name, x in names.items()),
             path + "/pytorch_model.bin", k["form"])
    config = {"model_type": "fsmt", "langs": ["en", "de"], "d_model": ct2.D,
              "scale_embedding": True, "activation_function": k["activation"],
              "tie_word_embeddings": k["tie"] == "all", "src_vocab_size": len(source),
              "tgt_vocab_size": len(target), "bos_token_id": 0, "pad_token_id": 1,
              "eos_token_id": 2, "decoder_start_token_id": 2}
    for side in "encoder", "decoder":
        config.update({side + "_layers": ct2.L, side + "_attention_heads": ct2.H,
                       side + "_ffn_dim": ct2.F})
    config["decoder_attention_heads"] = int(k["heads"])
    if int(k["ff"]):
        config["decoder_ffn_dim"] = int(k["ff"])
    for name, x in (("config", config), ("vocab-src", {p: i for i, p in enumerate(source)}),
                    ("vocab-tgt", {p: i for i, p in enumerate(target)}),
                    ("tokenizer_config", {"langs": ["en", "de"], "do_lower_case": False})):
        with open(f"{path}/{name}.json", "w") as f:
            json.dump(x, f)
    with open(path + "/merges.txt", "w") as f:
        f.write("w 1\ns 1</w>\n")
    ct2.save_ours(npz, k, w, len(target), len(source), bos=2, eos=2, pad=1, unk=3)


def m2m(path, npz, pieces):
    own = [x.rstrip("\n") for x in open(pieces, encoding="utf8")]
    tags = ["eng_Latn", "fra_Latn", "zho_Hans"]
    V = 1 + len(own) + len(tags) + 1 + 2
    k = dict(ct2.KEYS, bias="false", offset="2", pre_norm="true")
    w = ct2.random_weights(k, V, V)
    model = OrderedDict(("model." + name, Tensor(x)) for name, x in fairseq_names(w, False).items())
    model["model.shared.weight"] = model["lm_head.weight"] = Tensor(w["embed"])
    model["model.encoder.embed_positions.weights"] = Tensor(np.zeros((3, ct2.D), "<f4"))
    os.makedirs(path, exist_ok=True)
    save(model, path + "/pytorch_model.bin", "zip")
    config = {"model_type": "m2m_100", "d_model": ct2.D, "vocab_size": V, "scale_embedding": True,
              "activation_function": "relu", "eos_token_id": 2, "pad_token_id": 1,
              "bos_token_id": 0, "decoder_start_token_id": 2, "attention_dropout": 0.0}
    for side in "encoder", "decoder":
        config.update({side + "_layers": ct2.L, side + "_attention_heads": ct2.H,
                       side + "_ffn_dim": ct2.F})
    with open(path + "/config.json", "w") as f:
        json.dump(config, f)
    with open(path + "/special_tokens_map.json", "w") as f:
        json.dump({"additional_special_tokens": [tags[0], {"content": tags[1]}, tags[2]]}, f)
    ct2.save_ours(npz, k, w, V, V, bos=2, eos=2, pad=1, unk=3)


def same(a, b):
    a, b = np.load(a), np.load(b)
    c, d = (json.loads(x["config"].tobytes()) for x in (a, b))
    for k in "vocab_target", "lang", "target_lang", "search":
        c.pop(k, None)
    d["output_bias"] = d.get("output_bias", False)
    for x in c, d:
        for k, v in {"final_norm": d["pre_norm"], "activation": "relu", "output_bias": False,
                     "source_eos": True}.items():
            x.setdefault(k, v)
    assert c == d, (c, d)
    names = set(b.files) - {"config"}
    assert names == set(a.files) - {"config", "vocab", "vocab_target"}
    for n in names:
        assert a[n].dtype == b[n].dtype and np.array_equal(a[n], b[n]), n


def state(safetensors, path, words):
    k = dict({"form": "zip"}, **dict(x.split("=", 1) for x in words))
    tensors = tensor_file.read(safetensors)[1]
    out = OrderedDict((name, Tensor(x)) for name, x in tensors.items())
    save(out, path, k["form"])


if sys.argv[1] == "fairseq":
    fairseq(sys.argv[2], sys.argv[3], sys.argv[4:])
elif sys.argv[1] == "fsmt":
    fsmt(sys.argv[2], sys.argv[3], sys.argv[4:])
elif sys.argv[1] == "m2m":
    m2m(*sys.argv[2:])
elif sys.argv[1] == "same":
    same(*sys.argv[2:])
else:
    state(sys.argv[2], sys.argv[3], sys.argv[4:])
