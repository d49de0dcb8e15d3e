# experiment.mk - a whole translation experiment by tf-* tools: vocabulary, token streams, training, averaging, translation, score, picture.
#
# An including Makefile says how WORK/train.S, train.T, dev.S, dev.T, test.S, test.T (plain text, one sentence a line) come about,
# and sets what is below. Every variable can be set on the command line:
#
#     make -f pipelines/multi30k.mk DATA=DIR PAIR=en-fr TOKENS=2000
#
# Run the same command again after an interruption: make redoes nothing that is done, and tf-train goes on where it stopped.

# ---- settings, with the paper's values where it has one ----
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
# Of the pictures of attention.
SENTENCE   ?= 1
LAYER      ?= $(or $(if $(filter C-n2,$(PRESET)),1),$(if $(filter tiny C-n4,$(PRESET)),3),5)

here := $(dir $(lastword $(MAKEFILE_LIST)))

all: $(WORK)/score.json $(WORK)/curve.svg $(WORK)/perplexity.json ## train, translate, score
	@echo
	@tf-info $(WORK)/model.tfm | sed -n '1,4p'
	@echo "test set:"; tf-bleu $(WORK)/test.$T -i $(WORK)/test.out -f text | sed 's/^/  /'
	@echo "perplexity: $(WORK)/perplexity.json"
	@echo "learning curve: $(WORK)/curve.svg"

$(WORK):
	mkdir -p $@

# ---- vocabulary: one for both languages (paper, section 5.1) ----
$(WORK)/vocab.model: $(WORK)/train.$S $(WORK)/train.$T
	tf-tokenize --train --type $(VOCAB_TYPE) --vocab-size $(VOCAB_SIZE) -o $@ $^

# ---- text to token streams ----
$(WORK)/%.$S.tfs: $(WORK)/%.$S $(WORK)/vocab.model
	tf-tokenize -m $(WORK)/vocab.model --threads $(THREADS) <$< >$@
$(WORK)/%.$T.tfs: $(WORK)/%.$T $(WORK)/vocab.model
	tf-tokenize -m $(WORK)/vocab.model --threads $(THREADS) <$< >$@

# ---- validation batches: a finite stream in a file ----
$(WORK)/dev.tfs: $(WORK)/dev.$S.tfs $(WORK)/dev.$T.tfs
	tf-batch --no-shuffle --tokens $(TOKENS) $^ >$@

# ---- training: endless batches into tf-train, which ends at --steps. Status 75 (stopped on request) stops make; run it again. ----
$(WORK)/trained: $(WORK)/train.$S.tfs $(WORK)/train.$T.tfs $(WORK)/dev.tfs
	tf-batch --epochs 0 --tokens $(TOKENS) --max-length $(MAX_LENGTH) --seed $(SEED) $(BATCH_FLAGS) $(WORK)/train.$S.tfs $(WORK)/train.$T.tfs \
	| tf-train --preset $(PRESET) --as $(DIALECT) --vocab $(WORK)/vocab.model --steps $(STEPS) --save-every $(SAVE_EVERY) --keep $(AVERAGE) \
	    --valid $(WORK)/dev.tfs --valid-every $(SAVE_EVERY) --seed $(SEED) --threads $(THREADS) $(TRAIN_FLAGS) -o $(WORK)/run
	touch $@

$(WORK)/model.tfm: $(WORK)/trained
	tf-avgckpt -n $(AVERAGE) $(WORK)/run >$@

# ---- translation and score ----
$(WORK)/test.out: $(WORK)/test.$S $(WORK)/model.tfm
	tf-tokenize -m $(WORK)/model.tfm <$< \
	| tf-decode -m $(WORK)/model.tfm --beam $(BEAM) --alpha $(ALPHA) --threads $(THREADS) $(DECODE_FLAGS) \
	| tf-tokenize -d -m $(WORK)/model.tfm >$@

$(WORK)/score.json: $(WORK)/test.$T $(WORK)/test.out
	tf-bleu $< -i $(WORK)/test.out >$@

$(WORK)/perplexity.json: $(WORK)/test.$S.tfs $(WORK)/test.$T.tfs $(WORK)/model.tfm
	tf-score -m $(WORK)/model.tfm --summary $(WORK)/test.$S.tfs $(WORK)/test.$T.tfs >$@

# ---- the same translation on the CPU and on a GPU in each precision ----
on_cpu  := --device cpu
on_fp32 := --device cuda --precision fp32
on_fp16 := --device cuda --precision fp16
on_bf16 := --device cuda --precision bf16
$(WORK)/device.%.out: $(WORK)/test.$S.tfs $(WORK)/model.tfm
	tf-decode -m $(WORK)/model.tfm --beam $(BEAM) --alpha $(ALPHA) --threads $(THREADS) $(on_$*) $< \
	| tf-tokenize -d -m $(WORK)/model.tfm >$@

devices: $(patsubst %,$(WORK)/device.%.out,cpu fp32 fp16 bf16) ## translate on the CPU and on a GPU in fp32, fp16 and bf16: lines as on the CPU, and BLEU
	@for d in cpu fp32 fp16 bf16; do \
	    same=$$(paste -d '\n' $(WORK)/device.cpu.out $(WORK)/device.$$d.out | awk 'NR % 2 { line = $$0; next } $$0 == line { n++ } END { printf "%.2f", NR ? 200 * n / NR : 100 }'); \
	    printf '%-4s  %6s %% of the lines are the CPU'"'"'s  BLEU %s\n' $$d $$same "$$(tf-bleu $(WORK)/test.$T -i $(WORK)/device.$$d.out -b -w 2)"; \
	done

$(WORK)/curve.svg: $(WORK)/trained
	tf-plot curve $(WORK)/run/log.jsonl >$@

# ---- where the model looks, as in the paper's Figures 3 to 5: self-attention of a test sentence, and the attention of its translation ----
one := $(WORK)/sentence-$(SENTENCE)
$(one).%.tfs: $(WORK)/test.$S $(WORK)/test.out $(WORK)/model.tfm
	sed -n $(SENTENCE)p $(WORK)/test.$* | tf-tokenize -m $(WORK)/model.tfm >$@

$(one).encoder-$(LAYER).svg: $(one).$S.tfs
	tf-attn -m $(WORK)/model.tfm -k encoder -l $(LAYER) $< | tf-plot attention - >$@

$(one).cross-$(LAYER).svg: $(one).$S.tfs $(one).out.tfs
	tf-attn -m $(WORK)/model.tfm -k cross -l $(LAYER) $^ | tf-plot attention - >$@

attention: $(one).encoder-$(LAYER).svg $(one).cross-$(LAYER).svg ## draw where layer LAYER looks in test sentence SENTENCE

.PHONY: all small devices attention
include $(here)common.mk
