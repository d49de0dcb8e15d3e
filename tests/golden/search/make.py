#!/usr/bin/env python3
"""A small random M2M100 whose outputs depend on the rule of the search, in m/ as transformers saves
it, and in `expected` what other programs make of `text`, a line of JSON each: ids without the
start, with the end.

    default   generate() with the model's generation_config.json: a beam of 4, the tag forced
    early     the same with early_stopping=True
    ct2       CTranslate2's translate_batch with that tag as target_prefix, a beam of 4

Needs torch, transformers (5.24), ctranslate2 (4.8) and sentencepiece."""
import importlib.metadata
import json
import os
import random
import shutil
import subprocess

import ctranslate2
import ctranslate2.converters.transformers as loaders
import sentencepiece
import torch
import transformers

SEED, BIAS = 5, 4.5 # outputs that end, and differ by rule
TAGS = ["__en__", "__fr__"]
VERSIONS = {n: importlib.metadata.version(n) for n in ("transformers", "ctranslate2")}


def pieces_of(lines):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix="m/sp", vocab_size=22, minloglevel=9,
        character_coverage=1.0, normalization_rule_name="identity")
    os.rename("m/sp.model", "m/sentencepiece.bpe.model")
    os.remove("m/sp.vocab")
    sp = sentencepiece.SentencePieceProcessor(model_file="m/sentencepiece.bpe.model")
    return sp, ["<s>", "<pad>", "</s>", "<unk>"] + [
        sp.id_to_piece(i) for i in range(3, sp.get_piece_size())]


def random_model(V):
    model = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(
        vocab_size=V, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16,
        max_position_embeddings=512, scale_embedding=True, activation_function="relu")).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.normal_(0, 0.6)
        E = model.model.shared.weight
        E.normal_(0, 0.2)
        E[1] = 0
        norm = model.model.decoder.layer_norm
        norm.weight *= 4
        norm.bias += BIAS * E[2] / (E[2] @ E[2])
    return model


def in_ctranslate2(model, pieces, path, quantization=None):
    """A directory of M2M100 by the converter, without a tokenizer of transformers."""
    model.config.normalize_before, model.config.normalize_embedding = True, False
    spec = loaders.BartLoader.get_model_spec(loaders.M2M100Loader(), model)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.config.decoder_start_token, spec.config.add_source_eos = "</s>", False
    spec.validate()
    spec.optimize(quantization)
    os.makedirs(path)
    spec.save(path)


def main():
    random.seed(1)
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    shutil.rmtree("m", ignore_errors=True)
    os.makedirs("m")
    lines = [" ".join(random.choice(["a", "be", "cat", "dog", "ear", "fig", "go"])
                      for _ in range(random.randrange(1, 8))) for _ in range(60)]
    sp, pieces = pieces_of(lines)
    json.dump({p: i for i, p in enumerate(pieces)}, open("m/vocab.json", "w"))
    pieces += TAGS
    ids = {p: i for i, p in enumerate(pieces)}
    json.dump({"additional_special_tokens": TAGS}, open("m/special_tokens_map.json", "w"))
    model = random_model(len(pieces))
    model.generation_config = transformers.GenerationConfig(
        num_beams=4, forced_bos_token_id=ids[TAGS[1]], max_length=60, decoder_start_token_id=2,
        bos_token_id=0, pad_token_id=1, eos_token_id=2)
    model.save_pretrained("m")
    sources = [[ids[TAGS[0]]] + [ids[p] for p in sp.encode(line, out_type=str)] + [2]
               for line in lines]
    out = {"default": [], "early": [], "ct2": []}
    for s in sources:
        for name, more in (("default", {}), ("early", {"early_stopping": True})):
            with torch.no_grad():
                got = model.generate(torch.tensor([s]), **more)[0].tolist()
            out[name].append(got[1:])
    in_ctranslate2(model, pieces, "ct2")
    translator = ctranslate2.Translator("ct2", compute_type="float32", intra_threads=1)
    shutil.rmtree("ct2")
    for s in sources:
        got = translator.translate_batch([[pieces[i] for i in s]], target_prefix=[[TAGS[1]]],
                                         beam_size=4, return_end_token=True)[0].hypotheses[0]
        out["ct2"].append([ids[p] for p in got])
    good = [i for i in range(60) if all(o[i][-1] == 2 and len(o[i]) < 50 for o in out.values())]
    subprocess.run(["gzip", "-9n", "m/model.safetensors"], check=True)
    with open("text", "w") as f:
        f.writelines(lines[i] + "\n" for i in good)
    with open("expected", "w") as f:
        print(json.dumps({"made by": VERSIONS}), file=f)
        for i in good:
            print(json.dumps({k: o[i] for k, o in out.items()}, separators=(",", ":")), file=f)
    print(len(good), "lines;", sum(out["default"][i] != out["early"][i] for i in good), "differ;",
          sum(out["early"][i] != out["ct2"][i] for i in good))


if __name__ == "__main__":
    main()
