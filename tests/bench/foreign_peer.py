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
import shutil
import subprocess
import sys

PROGRAM, OUT = sys.argv[1], os.path.abspath(sys.argv[2])
TESTS = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = TESTS / "golden"
BEAMS, PAIRS, LIMIT = (1, 4), 20, 60
random.seed(3)


def emit(**row):
    print(json.dumps(row), flush=True)


def at(name):
    return os.path.join(OUT, name)


def copy(golden, to, *names):
    """Files of a golden directory, unpacked."""
    os.makedirs(to, exist_ok=True)
    for name in names:
        packed = GOLDEN / golden / (name + ".gz")
        data = gzip.decompress(packed.read_bytes()) if packed.exists() else \
            (GOLDEN / golden / name).read_bytes()
        pathlib.Path(to, name).write_bytes(data)


def pairs_of(low, sources, targets, first=()):
    """first: the tags with which sources and targets begin."""
    def ids(size, side):
        return [*first[side:side + 1],
                *(random.randrange(low, size) for _ in range(random.randrange(2, 9)))]
    return [[ids(sources, 0), ids(targets, 1)] for _ in range(PAIRS)]


# ---- transformers ----


def transformers_models(only=()):
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

    def fill(model, norm, table, eos, seed):
        torch.manual_seed(seed)
        with torch.no_grad():
            for name, p in model.named_parameters():
                if "embed_positions" not in name and p.dim() > 1:
                    p.normal_(0, 0.4)
            norm.weight *= 2
            norm.bias += 12 * table[eos] / (table[eos] @ table[eos])  # so that outputs end
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

    def search(model, source, beams):
        eos = model.config.eos_token_id
        with torch.no_grad():
            out = model.generate(torch.tensor([source + [eos]]), num_beams=beams, do_sample=False)
        out = out[0].tolist()[1:]
        # One that is cut off has another end here.
        return out[:out.index(eos)] if eos in out and len(out) < LIMIT - 1 else None

    def save(model, name, form, pairs, dtype=None, options=(), limit=5e-4, left_out=(), **more):
        path = at(name)
        if only and name not in only:
            return
        if dtype is not None:
            model = model.to(dtype)
        if isinstance(model, transformers.FSMTForConditionalGeneration):  # tied, unknown to it
            model.config.save_pretrained(path)
            model.generation_config.save_pretrained(path)
            torch.save({k: v.clone() for k, v in model.state_dict().items()},
                       path + "/pytorch_model.bin")
        else:
            model.save_pretrained(path, **more)
            model = type(model).from_pretrained(path, **{"torch_dtype" if old else "dtype":
                                                         torch.float32}).eval()
        model.left_out = left_out
        emit(form=form, path=path, options=list(options), pairs=pairs, limit=limit,
             logp=[score(model, *p) for p in pairs],
             out={} if only else {k: [search(model, p[0], k) for p in pairs] for k in BEAMS})

    def marian(seed, vocab, target=None, **more):
        V = len(json.loads((GOLDEN / vocab).read_text("utf-8")))
        pad = V - 1
        if target is not None:
            more |= {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": target}
        config = transformers.MarianConfig(
            vocab_size=V, pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0,
            forced_eos_token_id=0, activation_function="swish", scale_embedding=True,
            **{**sizes, **more})
        model = transformers.MarianMTModel(config)
        decoder = model.model.decoder
        fill(model, decoder.layers[-1].final_layer_norm, decoder.embed_tokens.weight, 0, seed)
        with torch.no_grad():
            model.model.encoder.embed_tokens.weight[pad] = 0
            decoder.embed_tokens.weight[pad] = 0
            model.final_logits_bias.normal_(0, 1)
        model.generation_config = transformers.GenerationConfig(
            num_beams=4, max_length=LIMIT, bad_words_ids=[[pad]], decoder_start_token_id=pad,
            pad_token_id=pad, eos_token_id=0, forced_eos_token_id=0)
        return model, pad

    def m2m(seed, size, tag):
        config = transformers.M2M100Config(vocab_size=size, activation_function="relu",
                                           scale_embedding=True, **sizes)
        model = transformers.M2M100ForConditionalGeneration(config)
        fill(model, model.model.decoder.layer_norm, model.model.shared.weight, 2, seed)
        with torch.no_grad():
            model.model.shared.weight[1] = 0
        model.generation_config = transformers.GenerationConfig(
            num_beams=4, max_length=LIMIT, forced_bos_token_id=tag, decoder_start_token_id=2,
            bos_token_id=0, pad_token_id=1, eos_token_id=2)
        return model

    halves = ["--positions", "halves"]
    files = "source.spm", "target.spm", "vocab.json", "tokenizer_config.json"
    forms = [("safetensors", {}, {}), ("safetensors, fp16", {"dtype": torch.float16}, {}),
             ("safetensors, bf16", {"dtype": torch.bfloat16}, {}),
             ("safetensors, several files", {}, {"max_shard_size": "8KB"})]
    if old:
        forms += [(".bin", {}, {"safe_serialization": False}),
                  (".bin, several files", {}, {"safe_serialization": False,
                                               "max_shard_size": "8KB"})]
    for i, (form, how, more) in enumerate(forms):
        model, pad = marian(20 + i, "hf/marian/vocab.json")
        copy("hf/marian", at(f"marian{i}"), *files)
        save(model, f"marian{i}", "MarianMT, " + form, pairs_of(4, pad, pad), options=halves,
             left_out=[pad], **how, **more)
    model, pad = marian(30, "marian_tokenizer/two-zero/vocab.json", 47)
    copy("marian_tokenizer/two-zero", at("two"), *files, "target_vocab.json")
    save(model, "two", "MarianMT, two vocabularies", pairs_of(2, pad, pad), options=halves,
         left_out=[pad])
    model, pad = marian(31, "hf/marian/vocab.json", decoder_ffn_dim=12)
    copy("hf/marian", at("ff"), *files)
    save(model, "ff", "MarianMT, unlike inner layers", pairs_of(4, pad, pad), options=halves,
         left_out=[pad])
    pieces = json.loads((GOLDEN / "search/m/vocab.json").read_text("utf-8"))
    tags = json.loads((GOLDEN / "search/m/special_tokens_map.json").read_text("utf-8"))
    first, size = len(pieces), len(pieces) + len(tags["additional_special_tokens"])
    for i, (form, how, more) in enumerate(forms):
        copy("search/m", at(f"m2m{i}"), "sentencepiece.bpe.model", "special_tokens_map.json",
             "vocab.json")
        save(m2m(40 + i, size, first + 1), f"m2m{i}", "M2M100, " + form,
             pairs_of(4, first, first, (first, first + 1)), **how, **more)
    copy("hf/nllb", at("nllb"), "tokenizer.json", "tokenizer_config.json")
    tokens = {x["content"]: x["id"] for x in json.loads(pathlib.Path(at("nllb"), "tokenizer.json")
                                                        .read_text("utf-8"))["added_tokens"]}
    size = max(tokens.values()) + 1
    save(m2m(50, size, tokens["fra_Latn"]), "nllb", "NLLB, tokenizer.json",
         pairs_of(4, 80, 80, (tokens["eng_Latn"], tokens["fra_Latn"])))
    V = [len(json.loads((GOLDEN / f"fsmt/m/vocab-{x}.json").read_text("utf-8")))
         for x in ("src", "tgt")]
    model = transformers.FSMTForConditionalGeneration(transformers.FSMTConfig(
        langs=["en", "de"], src_vocab_size=V[0], tgt_vocab_size=V[1], **sizes))
    decoder = model.model.decoder
    fill(model, decoder.layers[-1].final_layer_norm, decoder.embed_tokens.weight, 2, 60)
    decoder.output_projection.weight = decoder.embed_tokens.weight
    model.generation_config = transformers.GenerationConfig(
        num_beams=5, max_length=LIMIT, decoder_start_token_id=2, bos_token_id=0, pad_token_id=1,
        eos_token_id=2, forced_eos_token_id=2)
    copy("fsmt/m", at("fsmt"), "merges.txt", "vocab-src.json", "vocab-tgt.json",
         "tokenizer_config.json")
    save(model, "fsmt", "FSMT, .bin", pairs_of(4, *V))


# ---- CTranslate2, by its converter from models of transformers ----


def ctranslate2_models():
    import contextlib
    import io

    import ctranslate2
    emit(version=f"CTranslate2 {ctranslate2.__version__}")
    rows = io.StringIO()
    with contextlib.redirect_stdout(rows):
        transformers_models(("marian0",))
    rows = {os.path.basename(r["path"]): r for r in map(json.loads, rows.getvalue().splitlines())}
    cases = [("marian0", q) for q in (None, "int8", "int8_float32", "int8_float16", "int8_bfloat16",
                                      "int16", "float16", "bfloat16")]
    for name, quantization in cases:
        source, path = rows[name], at(f"ct2-{name}-{quantization}")
        converter = ctranslate2.converters.TransformersConverter(source["path"])
        converter.convert(path, quantization=quantization)
        for spm in pathlib.Path(source["path"]).glob("*.spm"):
            shutil.copy(spm, path)
        for spm in pathlib.Path(source["path"]).glob("sentencepiece*.model"):
            shutil.copy(spm, path)
        tokens = json.loads(pathlib.Path(path, "shared_vocabulary.json").read_text("utf-8"))
        t = ctranslate2.Translator(path, compute_type="float32", intra_threads=1)
        pairs, ids = source["pairs"], {x: i for i, x in enumerate(tokens)}
        texts = [[[tokens[i] for i in side] for side in p] for p in pairs]
        tagged = name == "m2m0"
        def search(x, y, beams):
            best = t.translate_batch([x + ["</s>"]], beam_size=beams, max_decoding_length=LIMIT,
                                     target_prefix=[y[:1]] if tagged else None)[0].hypotheses[0]
            return [ids[w] for w in best] if len(best) < LIMIT else None

        # Positions of half precision become the exact sinusoids.
        half = 0.3 if quantization in ("bfloat16", "int8_bfloat16") else \
            0.05 if quantization in ("float16", "int8_float16") else 5e-4
        emit(form=f"{source['form'].split(',')[0]}, {quantization or 'float32'}", path=path,
             options=[] if tagged else ["--positions", "halves"], pairs=pairs, limit=half,
             begin=tokens[pairs[0][1][0]] if tagged else None,
             logp=[sum(t.score_batch([x + ["</s>"]], [y])[0].log_probs) for x, y in texts],
             out={k: [search(x, y, k) for x, y in texts] for k in BEAMS})


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
        "package_version": "1.0", "argos_version": "1.11", "from_code": "en", "from_name": "English",
        "to_code": "fr", "to_name": "French"}))
    pathlib.Path(at("argos/README.md")).write_text("A model.\n")
    with zipfile.ZipFile(at("en_fr.argosmodel"), "w", zipfile.ZIP_DEFLATED) as z:
        for path in pathlib.Path(at("argos")).rglob("*"):
            if path.is_file():
                z.write(path, "en_fr/" + str(path.relative_to(at("argos"))))
    package.install_from_path(pathlib.Path(at("en_fr.argosmodel")))
    installed = next(p for p in package.get_installed_packages() if p.from_code == "en")
    t = ctranslate2.Translator(str(installed.package_path / "model"), compute_type="float32")
    lines = (GOLDEN / "search/text").read_text("utf-8").splitlines()
    lines = [" ".join(random.sample("walhaus kai tosch ren mi einer 7 ao12 wal".split(), 3))
             for _ in range(50)] if len(lines) < 50 else lines[:50]
    alone = types.SimpleNamespace(split_sentences=lambda text: [text])
    out = [translate.apply_packaged_translation(installed, x, t, alone)[0].value for x in lines]
    emit(form="installed package", path=str(installed.package_path), text=[[x, x] for x in lines],
         options=["--positions", "halves"], limit=5e-4, out={"4": out},
         logp=[sum(t.score_batch([installed.tokenizer.encode(x)],
                                 [installed.tokenizer.encode(x)])[0].log_probs) for x in lines])


# ---- Marian ----


def marian_models():
    make = str(GOLDEN / "marian/make.py")
    emit(version=f"pymarian {importlib.metadata.version('pymarian')}")
    os.makedirs(OUT, exist_ok=True)
    sides = [(GOLDEN / "marian" / x).read_text("utf-8").splitlines()[:PAIRS] for x in ("en", "de")]
    forms = {"default": "", "before": "norms before", "before-no-top": "norms before, none on top",
             "top": "norms after and on top", "ssru": "SSRU", "ssru-before": "SSRU, norms before",
             "tied-layers": "tied layers", "ff": "unlike inner layers", "untied": "no tying",
             "tied-src": "sources tied", "two": "two vocabularies", "bin": ".bin, float32",
             "intgemm8": "SSRU, .bin, intgemm8", "two-intgemm8": "two vocabularies, intgemm8"}
    for name, what in forms.items():
        done = subprocess.run([sys.executable, make, OUT, name], capture_output=True, text=True)
        if done.returncode != 0:
            emit(form=what or "npz", failed=done.stderr.strip()[-200:])
            continue
        path = next(p for p in (at(name + ".npz"), at(name + ".bin")) if os.path.exists(p))
        vocabs = ["en.spm", "de.spm"] if name.startswith("two") else ["vocab.spm"] * 2
        vocabs = [str(GOLDEN / "marian" / v) for v in vocabs]
        options = ["--vocab", vocabs[0], "--vocab-target", vocabs[1]]
        if len(set(vocabs)) == 1 and name not in ("untied", "tied-src"):
            options = options[:2]
        out = {}
        for k in BEAMS:
            run = subprocess.run(
                [sys.executable, "-c", "import sys, _pymarian; sys.exit(_pymarian.main(sys.argv[1:]))",
                 "decode", "-m", path, "-v", *vocabs, "-b", str(k), "-n", "1", "--cpu-threads", "1",
                 "--quiet", "--quiet-translation", "--max-length-factor", "3"],
                input="".join(x + "\n" for x in sides[0]), capture_output=True, text=True)
            out[k] = run.stdout.splitlines()
        with open(at(name + ".scores"), encoding="ascii") as f:
            logp = [float(x) for x in f]
        row = {"path": path, "options": options, "text": list(zip(*sides)), "logp": logp, "out": out,
               "limit": 1.5 if "intgemm8" in name else 1e-3}
        emit(form=what or "npz, float32", **row)
        if name == "two-intgemm8":  # each file compressed, with the names of Firefox
            directory = pathlib.Path(at("firefox"))
            directory.mkdir(exist_ok=True)
            for file, to in zip([path, *vocabs], ["model.ende.intgemm.alphas.bin",
                                                  "srcvocab.ende.spm", "trgvocab.ende.spm"]):
                (directory / (to + ".gz")).write_bytes(
                    gzip.compress(pathlib.Path(file).read_bytes()))
            emit(form="intgemm8, directory as Firefox's", **{**row, "path": str(directory),
                                                             "options": []})


# ---- fairseq ----


def fairseq_models():
    os.makedirs(OUT, exist_ok=True)
    import torch
    from importlib import util
    root = pathlib.Path(util.find_spec("fairseq").origin).parent
    version = (root / "version.txt")
    emit(version="fairseq " + (version.read_text().strip() if version.exists() else "0.12.2")
         + f" (torch {torch.__version__})")
    sides = [(GOLDEN / "marian" / x).read_text("utf-8").splitlines()[:PAIRS] for x in ("en", "de")]
    forms = {"default": "after-norm, tied", "before": "before-norm", "two": "two dictionaries",
             "untied": "no tying, unlike inner layers", "layerdrop": "layerdrop",
             "no-top": "after-norm, no_decoder_final_norm",
             "before-no-top": "before-norm, no_decoder_final_norm"}
    for name, what in forms.items():
        done = subprocess.run([sys.executable, GOLDEN / "fairseq/make.py", OUT, name],
                              capture_output=True, text=True)
        if done.returncode != 0:
            emit(form=what, failed=done.stderr.strip()[-200:])
            continue
        with open(at(name + "/scores"), encoding="ascii") as f:
            logp = [float(x) for x in f]
        words = pathlib.Path(at(name), "dict.en.txt").read_text("utf-8").splitlines()
        ids = {w.split(" ")[0]: i + 4 for i, w in enumerate(words)}
        source = "".join(json.dumps([ids.get(w, 3) for w in x.split()]) + "\n" for x in sides[0])
        out = {}
        for k in BEAMS:
            run = subprocess.run([sys.executable, TESTS / "cli/fairseq_peer.py", at(name), str(k),
                                  "30"], input=source, capture_output=True, text=True)
            out[k] = [json.loads(x) for x in run.stdout.splitlines()]
        emit(form=what, path=at(name), options=[], text=list(zip(*sides)), logp=logp, out=out,
             limit=1e-3, decode=["--max-extra", "30"])


{"transformers": transformers_models, "ctranslate2": ctranslate2_models, "marian": marian_models,
 "fairseq": fairseq_models, "argos": argos_models}[PROGRAM]()
