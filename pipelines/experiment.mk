# experiment.mk - a complete translation experiment with tf-* tools: vocabulary, token streams,
# training, averaging, translation, score, figures.
#
# The including Makefile has rules for WORK/train.S, train.T, dev.S, dev.T, test.S and test.T (plain
# text, one sentence per line) and sets the variables below. All can be set on the command line:
#
#     make -f pipelines/multi30k.mk DATA=DIR PAIR=en-fr TOKENS=2000
#
# Repeat the same command after an interruption: make skips what is done, and tf-train resumes.
# Changed settings rebuild what depends on them; a finished training run accepts only a larger
# STEPS and another AVERAGE.

# ---- settings, with the paper's values where it gives one ----
# TOKENS, STEPS and SAVE_EVERY are the preset's if they are empty.
PAIR       ?= en-de
S          := $(firstword $(subst -, ,$(PAIR)))
T          := $(lastword $(subst -, ,$(PAIR)))
WORK       ?= run/$(NAME)-$(PAIR)
VOCAB_SIZE ?= 37000
VOCAB_TYPE ?= bpe
PRESET     ?= base
DIALECT    ?= paper
TOKENS     ?= 25000
STEPS      ?= 100000
SAVE_EVERY ?= 1000
AVERAGE    ?= 5
BEAM       ?= 4
ALPHA      ?= 0.6
SEED       ?= 1
MAX_LENGTH ?= 256
BATCH_FLAGS ?=
TRAIN_FLAGS ?=
DECODE_FLAGS ?=
THREADS    ?= $(shell nproc)
# The attention figures: number of the test sentence, and layer.
SENTENCE   ?= 1
of_four     = tiny C-n4 $(if $(filter paper,$(DIALECT)),parse-wsj parse-semi)
LAYER      ?= $(or $(if $(filter C-n2,$(PRESET)),1),$(if $(filter $(of_four),$(PRESET)),3),5)

TEXTS := $(foreach d,train dev test,$(WORK)/$d.$S $(WORK)/$d.$T)

of_preset := TOKENS STEPS SAVE_EVERY

include $(dir $(lastword $(MAKEFILE_LIST)))common.mk

all: $(WORK)/score.json $(WORK)/curve.svg $(WORK)/perplexity.json ## train, translate, score
	@echo
	@tf-info $(WORK)/model.tfm | sed -n '1,4p'
	@echo "test set:"; tf-bleu $(WORK)/test.$T -i $(WORK)/test.out -f text | sed 's/^/  /'
	@echo "perplexity: $(WORK)/perplexity.json"
	@echo "learning curve: $(WORK)/curve.svg"

$(WORK):
	mkdir -p $@

# ---- settings: NAME.settings contains the variable NAME and is rewritten only if that changes ----
vocabulary = --type $(VOCAB_TYPE) --vocab-size $(VOCAB_SIZE)
tokens     = $(if $(TOKENS),--tokens $(TOKENS),--preset $(PRESET))
save_every = $(if $(SAVE_EVERY),--save-every $(SAVE_EVERY))
validation = --no-shuffle $(tokens)
batches    = --epochs 0 $(tokens) --max-length $(MAX_LENGTH) --seed $(SEED) $(BATCH_FLAGS)
model      = --preset $(PRESET) --as $(DIALECT) $(save_every) --seed $(SEED) $(TRAIN_FLAGS)
training   = $(strip $(DATA) $(SMALL) $(TRAIN) $(PAIR): $(vocabulary) | $(batches) | $(model))
length     = $(if $(STEPS),--steps $(STEPS)) --keep $(AVERAGE)
decoding   = --beam $(BEAM) --alpha $(ALPHA) $(DECODE_FLAGS)
current    = printf '%s\n' $(call quote,$($1)) | cmp -s - $(WORK)/$1.settings
$(WORK)/%.settings: FORCE | $(WORK)
	@$(call current,$*) || { printf '%s\n' $(call quote,$($*)) >$@.part; $(whole); }

# ---- vocabulary: one for both languages (paper, section 5.1) ----
$(WORK)/vocab.model: $(WORK)/train.$S $(WORK)/train.$T $(WORK)/vocabulary.settings
	tf-tokenize --train $(vocabulary) -o $@ $(WORK)/train.$S $(WORK)/train.$T

# ---- text to token streams ----
$(TEXTS:%=%.tfs): %.tfs: % $(WORK)/vocab.model
	$(call allow_bad,tf-tokenize -m $(WORK)/vocab.model --threads $(THREADS) -o $@ $<)

# ---- validation batches: a finite stream in a file ----
$(WORK)/dev.tfs: $(WORK)/dev.$S.tfs $(WORK)/dev.$T.tfs $(WORK)/validation.settings
	tf-batch $(validation) -o $@ $(WORK)/dev.$S.tfs $(WORK)/dev.$T.tfs

# ---- training: endless batches into tf-train, which stops at --steps ----
# Status 75 (stopped on request) stops make; repeat the command to resume.
$(WORK)/trained: $(WORK)/training.settings $(WORK)/length.settings \
    $(WORK)/train.$S.tfs $(WORK)/train.$T.tfs $(WORK)/dev.tfs
	tf-batch $(batches) $(WORK)/train.$S.tfs $(WORK)/train.$T.tfs \
	| tf-train --vocab $(WORK)/vocab.model --valid $(WORK)/dev.tfs \
	    --threads $(THREADS) $(length) $(model) -o $(WORK)/run
	touch $@

# Check the settings before a day of training. For a finished run, tf-train compares its own
# settings but not those of the batches, so they are compared here.
$(WORK)/training.settings: | trainable
trainable:
ifneq ($(and $(STEPS),$(SAVE_EVERY)),)
	@n=$$((($(STEPS) + $(SAVE_EVERY) - 1) / $(SAVE_EVERY))); [ $(AVERAGE) -le $$n ] || { \
	    echo "AVERAGE=$(AVERAGE): STEPS=$(STEPS) and SAVE_EVERY=$(SAVE_EVERY) give only $$n" \
	        "checkpoints" >&2; exit 2; }
endif
ifneq ($(STEPS),)
	@n=$$((10#$(last_step))); [ $$n -le $(STEPS) ] || { \
	    echo "STEPS=$(STEPS): $(WORK)/run has already done $$n; use another WORK" >&2; exit 2; }
endif
	@[ ! -e $(WORK)/trained ] || [ ! -e $(WORK)/training.settings ] || $(call current,training) || { \
	    echo "$(WORK): trained with different settings (see $(WORK)/training.settings);" \
	        "use another WORK" >&2; exit 2; }
last_step = $(lastword 0 $(sort $(patsubst $(WORK)/run/ckpt-%.tfm,%, \
    $(wildcard $(WORK)/run/ckpt-*.tfm))))

$(WORK)/model.tfm: $(WORK)/trained
	tf-avgckpt -n $(AVERAGE) -o $@ $(WORK)/run

# ---- translation and score ----
$(WORK)/test.out: $(WORK)/test.$S $(WORK)/model.tfm $(WORK)/decoding.settings
	$(call allow_bad,tf-tokenize -m $(WORK)/model.tfm <$< \
	| tf-decode -m $(WORK)/model.tfm --threads $(THREADS) $(decoding) \
	| tf-tokenize -d -m $(WORK)/model.tfm -o $@)

$(WORK)/score.json: $(WORK)/test.$T $(WORK)/test.out
	tf-bleu $< -i $(WORK)/test.out >$@.part
	$(whole)

# $T must be a language of `tf-bleu --as paper`: de, en or fr.
$(WORK)/paper.bleu: $(WORK)/test.$T $(WORK)/test.out
	tf-bleu --as paper --lang $T --raw-ref $< -i $(WORK)/test.out >$@.part
	$(whole)
paper-score: $(WORK)/paper.bleu ## BLEU as in the paper's Table 2: tokenised, compounds split
	@cat $<

$(WORK)/perplexity.json: $(WORK)/test.$S.tfs $(WORK)/test.$T.tfs $(WORK)/model.tfm
	$(call allow_bad,tf-score -m $(WORK)/model.tfm --summary -o $@ \
	    $(WORK)/test.$S.tfs $(WORK)/test.$T.tfs)

# ---- the same translation on the CPU and on a GPU in each precision ----
on_cpu  := --device cpu
on_fp32 := --device cuda --precision fp32
on_fp16 := --device cuda --precision fp16
on_bf16 := --device cuda --precision bf16
$(WORK)/device.%.out: $(WORK)/test.$S.tfs $(WORK)/model.tfm $(WORK)/decoding.settings
	$(call allow_bad,tf-decode -m $(WORK)/model.tfm --threads $(THREADS) --beam $(BEAM) \
	    --alpha $(ALPHA) $(on_$*) $< \
	| tf-tokenize -d -m $(WORK)/model.tfm -o $@)

kinds = cpu fp32 fp16 bf16
equal = awk 'NR % 2 { line = $$0; next } $$0 == line { n++ } \
    END { printf "%.2f", NR ? 200 * n / NR : 100 }'
devices: $(kinds:%=$(WORK)/device.%.out) ## compare CPU and GPU precisions: lines equal, and BLEU
	@for d in $(kinds); do \
	    same=$$(paste -d '\n' $(WORK)/device.cpu.out $(WORK)/device.$$d.out | $(equal)); \
	    bleu=$$(tf-bleu $(WORK)/test.$T -i $(WORK)/device.$$d.out -b -w 2); \
	    printf '%-4s  %6s %% of the lines equal those of the CPU  BLEU %s\n' $$d $$same $$bleu; \
	done

$(WORK)/curve.svg: $(WORK)/trained
	tf-plot curve -o $@ $(WORK)/run/log.jsonl

# ---- attention as in the paper's Figures 3 to 5: self-attention of a test sentence, and the
# cross-attention of its translation ----
one := $(WORK)/sentence-$(SENTENCE)
$(one).%.tfs: $(WORK)/test.$S $(WORK)/test.out $(WORK)/model.tfm
	@n=$$(wc -l <$(WORK)/test.$S); [ $(SENTENCE) -ge 1 ] && [ $(SENTENCE) -le $$n ] || \
	    { echo "SENTENCE=$(SENTENCE): the test set has sentences 1 to $$n" >&2; exit 2; }
	sed -n $(SENTENCE)p $(WORK)/test.$* | tf-tokenize -m $(WORK)/model.tfm -o $@

$(one).encoder-$(LAYER).svg: $(one).$S.tfs
	tf-attn -m $(WORK)/model.tfm -k encoder -l $(LAYER) $< | tf-plot attention -o $@ -

$(one).cross-$(LAYER).svg: $(one).$S.tfs $(one).out.tfs
	tf-attn -m $(WORK)/model.tfm -k cross -l $(LAYER) $^ | tf-plot attention -o $@ -

attention: $(one).encoder-$(LAYER).svg $(one).cross-$(LAYER).svg ## draw SENTENCE in LAYER

small: ## try all steps in about a minute: a tiny model, 20 updates; the scores mean nothing
	$(MAKE) -f $(firstword $(MAKEFILE_LIST)) WORK=$(WORK)-small VOCAB_SIZE=2000 PRESET=tiny \
	    STEPS=20 SAVE_EVERY=10 AVERAGE=2 TOKENS=2000 TRAIN_FLAGS='--warmup 30' $(SMALL_SETTINGS)

.PHONY: all trainable paper-score devices attention small
