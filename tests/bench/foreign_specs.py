"""foreign_specs.py - models of CTranslate2 by its own specification classes, which its converters
fill: each variant that a specification can say, small and random. Called by foreign_peer.py."""
import os
import random

import ctranslate2
import numpy
from ctranslate2.specs import common_spec, transformer_spec

LAYERS, D, F, V, POSITIONS = (2, 2), 16, 24, 40, 64
SPECIAL = ("<unk>", "<s>", "</s>", "<pad>")
RELU, SWISH, GELU = (getattr(common_spec.Activation, x) for x in ("RELU", "SWISH", "GELU"))


def table(halves=False, offset=0, base=None, pairs=None):
    """Sinusoids: sin and cos side by side, or in halves; positions from `offset` on."""
    n = D // 2
    rate = 10000.0 ** -(numpy.arange(n) / (n if base is None else base))
    at = (numpy.arange(POSITIONS) + offset)[:, None] * rate
    both = [numpy.sin(at), numpy.cos(at)]
    x = numpy.concatenate(both, 1) if halves else numpy.stack(both, 2).reshape(POSITIONS, D)
    return x.astype("float32")


def fill(layer, rng, width, inner, biases):
    """Random values for what a layer has."""
    def some(*shape):
        return rng.normal(0, 0.4, shape).astype("float32")

    def linear(spec, rows, columns):
        spec.weight = some(rows, columns)
        if biases is True or (biases and spec in (layer.ffn.linear_0, layer.ffn.linear_1)):
            spec.bias = some(rows)

    def norm(spec):
        spec.gamma = 1 + some(width)
        if hasattr(spec, "beta"):
            spec.beta = some(width)

    for name, part in sorted(vars(layer).items()):
        if isinstance(part, common_spec.LayerNormSpec):
            norm(part)
    for part in (layer.self_attention, getattr(layer, "attention", None)):
        if part is None:
            continue
        rows = [[3 * width, width], [width, 2 * width, width]][len(part.linear) - 2]
        for spec, n in zip(part.linear, rows):
            linear(spec, n, width)
        for name, value in sorted(vars(part).items()):
            if isinstance(value, common_spec.LayerNormSpec):
                norm(value)
            elif value is None:
                setattr(part, name, some(5, 2) if "max_dist" not in name else
                        numpy.dtype("int32").type(5))
    if hasattr(layer.ffn, "layer_norm"):
        norm(layer.ffn.layer_norm)
    for name, rows, columns in (("linear_0", inner, width), ("linear_1", width, inner),
                                ("linear_0_noact", inner, width)):
        if hasattr(layer.ffn, name):
            linear(getattr(layer.ffn, name), rows, columns)


def make(path, seed=1, quantization=None, width=D, inner=F, tie="all", biases=True, positions=None,
         own=False, ends=True, change=None, config=None, source=V, layers=LAYERS, heads=2,
         both=None, **how):
    """A directory, and its tokens. both: of the classes of stacks; how: of
    TransformerSpec.from_config."""
    rng = numpy.random.default_rng(seed)
    if both is None:
        spec = transformer_spec.TransformerSpec.from_config(layers, heads, **how)
    else:
        spec = transformer_spec.TransformerSpec(
            transformer_spec.TransformerEncoderSpec(layers[0], heads, **both),
            transformer_spec.TransformerDecoderSpec(layers[1], heads, **both))
    shared = rng.normal(0, 0.5, (source, width)).astype("float32")
    spec.encoder.embeddings[0].weight = shared
    spec.decoder.embeddings.weight = shared if tie == "all" else \
        rng.normal(0, 0.5, (V, width)).astype("float32")
    spec.decoder.projection.weight = spec.decoder.embeddings.weight if tie != "none" else \
        rng.normal(0, 0.5, (V, width)).astype("float32")
    for stack in spec.encoder, spec.decoder:
        for name in "layer_norm", "layernorm_embedding":
            if hasattr(stack, name):
                norm = getattr(stack, name)
                norm.gamma = 1 + rng.normal(0, 0.2, width).astype("float32")
                if hasattr(norm, "beta"):
                    norm.beta = rng.normal(0, 0.2, width).astype("float32")
        if positions is not None:
            stack.position_encodings.encodings = positions
        for layer in stack.layer:
            fill(layer, rng, width, inner, biases)
    words = [f"w{i}" for i in range(source - len(SPECIAL))]
    tokens = words + list(SPECIAL[::-1]) if own else list(SPECIAL) + words
    if own:
        tokens[V - 1], tokens[V - 2] = "</s>", "<unk>"
        tokens[V - 4], tokens[V - 3] = "<s>", "<pad>"
    if biases:
        bias = rng.normal(0, 0.3, V).astype("float32")
        for token in SPECIAL:  # so that outputs end, and have no other one
            bias[tokens.index(token)] = 4.5 if token == "</s>" else -30
        spec.decoder.projection.bias = bias
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens[:V])
    spec.config.add_source_eos = ends
    for key, value in (config or {}).items():
        setattr(spec.config, key, value)
    if change is not None:
        change(spec)
    spec.validate()
    spec.optimize(quantization)
    os.makedirs(path)
    spec.save(path)
    return tokens


def flag(name, value, of="decoder"):
    def change(spec):
        for stack in of.split():
            setattr(getattr(spec, stack), name, value)
    return change


def learned(seed=7):
    return numpy.random.default_rng(seed).normal(0, 0.4, (POSITIONS, D)).astype("float32")


INT8, INT16, FLOAT = numpy.int8, numpy.int16, numpy.float32
VARIANTS = {
    "default": {}, "after-norm": {"pre_norm": False}, "no final norm": {"no_final_norm": True},
    "swish": {"activation": SWISH}, "after-norm, swish": {"pre_norm": False, "activation": SWISH},
    "gelu": {"activation": GELU}, "norms of embeddings": {"layernorm_embedding": True},
    "embeddings as they are": {"change": flag("scale_embeddings", False, "encoder decoder")},
    "as mBART": {"activation": GELU, "layernorm_embedding": True, "positions": learned()},
    "tied in the decoder": {"tie": "decoder"}, "no tying": {"tie": "none"},
    "two vocabularies": {"tie": "decoder", "source": V + 9},
    "1 + 1 layers": {"layers": (1, 1)}, "1 + 3 layers": {"layers": (1, 3)},
    "4 + 1 layers": {"layers": (4, 1)}, "6 + 6 layers": {"layers": (6, 6)},
    "1 head": {"heads": 1}, "4 heads": {"heads": 4}, "16 heads": {"heads": 16},
    "width 36, 3 heads": {"width": 36, "heads": 3}, "inner layers of 37": {"inner": 37},
    "no biases in attention": {"biases": "elsewhere"},
    "sources without an end": {"ends": False},
    "special tokens last": {"own": True},
    "epsilon 1e-3": {"config": {"layer_norm_epsilon": 1e-3}},
    "epsilon 1e-9": {"config": {"layer_norm_epsilon": 1e-9}},
    "start from zeros": {"change": flag("start_from_zero_embedding", True)},
    "start with </s>, as NLLB": {"config": {"decoder_start_token": "</s>"}, "ends": False},
    "a head for alignments": {"alignment_layer": 1, "alignment_heads": 1},
    "positions in pairs": {"positions": table()},
    "positions from 2": {"positions": table(offset=2)},
    "positions of halves": {"positions": table(halves=True)},
    "positions of halves, from 1": {"positions": table(halves=True, offset=1)},
    "positions of halves, t2t": {"positions": table(halves=True, base=D // 2 - 1)},
    "positions of halves, t2t, from 2": {"positions": table(halves=True, base=D // 2 - 1,
                                                            offset=2)},
    "positions of halves, t2t, from 5": {"positions": table(halves=True, base=D // 2 - 1,
                                                            offset=5)},
    "learned positions": {"positions": learned()},
    "unlike norms": {"change": flag("pre_norm", False, "encoder")},
    "unlike heads": {"change": flag("num_heads", INT16(4), "encoder")},
}
QUANTIZATIONS = ("int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16",
                 "bfloat16")


def attribute(name, value):
    """Of every self-attention."""
    def change(spec):
        for stack in spec.encoder, spec.decoder:
            for layer in stack.layer:
                setattr(layer.self_attention, name, value)
    return change


def one_bias(spec):
    spec.encoder.layer[0].ffn.linear_0.bias = "__optional"


REFUSED = {
    **{f"activation {a.name}": {"activation": a} for a in common_spec.Activation
       if a not in (RELU, SWISH, GELU)},
    "relative positions": {"with_relative_position": True},
    "relative bias": {"relative_attention_bias": True}, "gated layers": {"ffn_glu": True},
    "RMS norms": {"rms_norm": True},
    "multi-query attention": {"multi_query_attention": True},
    "key heads": {"both": {"num_heads_kv": 1}}, "width of a head": {"both": {"head_dim": 4}},
    "rotary": {"both": {"rotary_dim": 4}}, "norms of queries": {"both": {"qk_norm": True}},
    "window of attention": {"both": {"sliding_window": 4}},
    "norms on both sides": {"both": {"pre_post_layer_norm": True}}, "no biases": {"biases": False},
    "scale of queries": {"change": attribute("queries_scale", FLOAT(0.9))},
    "alibi": {"change": flag("alibi", True)},
    "soft cap": {"change": flag("final_logit_softcapping", FLOAT(30))},
    "scale of outputs": {"change": flag("scale_outputs", FLOAT(0.5))},
    "scale of embeddings": {"change": flag("scale_embeddings", FLOAT(2.5), "encoder decoder")},
    "scale of one side": {"change": flag("scale_embeddings", False, "encoder")},
    "unlike activations": {"change": flag("activation", INT8(2), "encoder")},
    "a bias that is not there": {"change": one_bias},
    "begin of sources": {"config": {"add_source_bos": True}},
    "another end": {"config": {"eos_token": "w3"}},
    "another unknown token": {"config": {"unk_token": "w3"}},
    "start with a word that is not there": {"config": {"decoder_start_token": "no"}},
    "start with a word": {"config": {"decoder_start_token": "w3"}},
}


def rows(at, pairs_of_ids, beams, limit):
    """What foreign_peer.py prints for each variant."""
    yield {"version": f"CTranslate2 {ctranslate2.__version__}, its specifications"}
    cases = {**VARIANTS, **{f"{q}, {what}": {"quantization": q, "tie": tie}
                            for q in QUANTIZATIONS for what, tie in (
                                ("all tied", "all"), ("tied in the decoder", "decoder"),
                                ("no tying", "none"))},
             "start with <pad>": {"config": {"decoder_start_token": "<pad>"}}}
    for number, (form, how) in enumerate(cases.items()):
        path = at(f"spec-{number}")
        tokens = make(path, **how)
        ids = {x: i for i, x in enumerate(tokens)}
        t = ctranslate2.Translator(path, compute_type="float32", intra_threads=1)
        words = [i for i, x in enumerate(tokens[:V]) if x not in SPECIAL]
        pairs = [[[random.choice(words) for _ in range(random.randrange(2, 9))] for _ in "xy"]
                 for _ in range(pairs_of_ids)]
        texts = [[[tokens[i] for i in side] for side in p] for p in pairs]
        for x, _ in texts if "NLLB" in form else ():  # whose sources have one
            x.append("</s>")
        out = {k: [[ids[w] for w in r.hypotheses[0]] for r in t.translate_batch(
            [x for x, _ in texts], beam_size=k, max_decoding_length=limit,
            min_decoding_length=0)] for k in beams}
        out = {k: [y if len(y) < limit else None for y in v] for k, v in out.items()}
        half = how.get("quantization", "") in ("float16", "bfloat16", "int8_bfloat16",
                                               "int8_float16")
        halves = ["--positions", "halves"] if "halves" in form else []
        yield {"form": form, "path": path, "options": ["--search", "min-length=", *halves],
               "pairs": pairs, "limit": 5e-3 if half else 5e-4,
               "logp": [sum(r.log_probs) for r in t.score_batch([x for x, _ in texts],
                                                                [y for _, y in texts])],
               "out": out, "decode": ["--precision", "fp32", "--max-factor", "0", "--max-extra",
                                      str(limit)]}
    paths = {}
    for number, (what, how) in enumerate(REFUSED.items()):
        paths[what] = at(f"no-{number}")
        try:
            make(paths[what], **how)
        except Exception as e:
            raise SystemExit(f"{what}: {e}") from e
    yield {"form": "other specifications", "refused": paths, "options": []}
