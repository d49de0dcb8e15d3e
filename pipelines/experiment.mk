# experiment.mk - a complete translation experiment with tf-* tools: vocabulary, token streams,
# training, averaging, translation, score, figures.
#
# The including Makefile has rules for WORK/train.S, train.T, dev.S, dev.T, test.S and test.T (plain
# text, one sentence per line) and sets the variables below. All can be set on the command line:
#
#     make -f pipelines/multi30k.mk DATA=DIR PAIR=en-fr TOKENS=2000
#
# Repeat the same command after an interruption: make skips what is done, and tf-train resumes.
# Changed settings rebuild what depends on them, but a training run, finished or not, accepts only a
# larger STEPS, of the same text; AVERAGE takes the checkpoints that there are.

# ---- settings, with the paper's values where it gives one ----
# TOKENS, STEPS and SAVE_EVERY are the preset's if they are empty.
#
# WORK has the text, the vocabulary and the streams, RESULTS the training run and what follows from
# it. Several runs share one WORK if each has its own RESULTS, and all have the same texts and
# vocabulary: a run with another PAIR or VOCAB_SIZE replaces these, and repeating the first run
# makes its own again. Of several at the same time one makes the text while the others wait.
#
# DIALECT=t2t sets what tensor2tensor did: batches of padded tokens in buckets, 4,096 in each of 8
# replicas (here 8 batches per update), sentences of 256 tokens with the end, 40,960 rows of
# embeddings for a vocabulary of 37,000, 250,000 updates of every preset, and the mean of 20
# checkpoints. Each is a setting below. With PRESET=tiny, only the model and its optimizer follow
# the dialect.
#
# Checkpoints are as far apart as in the paper, which wrote one every 10 minutes. By the clock:
# SAVE_EVERY= TRAIN_FLAGS='--save-minutes 10'.
#: PAIR languages, from-to
#: WORK folder for the text, the vocabulary and the streams
#: RESULTS folder for the training run and what follows from it
#: VOCAB_SIZE pieces of the vocabulary
#: VOCAB_TYPE kind of vocabulary: bpe or unigram
#: VOCAB_FLAGS more options of tf-tokenize --train
#: PRESET model and recipe: a row of the paper's tables, or tiny
#: DIALECT details of model, batches and updates: paper, or t2t for tensor2tensor
#: TOKENS tokens of a batch on each side
#: ACCUMULATE batches per update
#: EMBEDDINGS rows of the embeddings; empty: the pieces of the vocabulary
#: STEPS updates
#: SAVE_EVERY updates from one checkpoint to the next
#: AVERAGE checkpoints that are averaged
#: BEAM beam size of the search; default: what make search chose
#: ALPHA exponent of its length penalty; default: likewise
#: BEAMS beam sizes that search tries
#: ALPHAS length penalties that search tries
#: SEED random seed of the batches, the first weights and dropout
#: SEEDS seeds whose models translate together with that of SEED
#: MAX_LENGTH tokens of the longest sentence to train on
#: BATCH_FLAGS more options of tf-batch
#: TRAIN_FLAGS more options of tf-train
#: PRECISION --precision of tf-train; empty: its default
#: DECODE_FLAGS more options of tf-decode
#: THREADS threads of each tool; empty: the available CPUs
#: RANKS processes that train together
#: LAUNCH the command that starts them
#: PARTS files that the training text is cut into
#: SAMPLE --alpha of tf-tokenize --sample, a new one in each epoch of training; empty: none
#: SENTENCE test sentence of the attention figures
#: LAYER layer of the attention figures
PAIR       ?= en-de
WORK       ?= run/$(NAME)-$(PAIR)
RESULTS    ?= $(WORK)
VOCAB_SIZE ?= 37000
VOCAB_TYPE ?= bpe
# More options of `tf-tokenize --train`. Above ten million lines it trains on a sample, of ten
# million unless they give --max-sentences.
VOCAB_FLAGS ?=
PRESET     ?= base
DIALECT    ?= paper
big        := $(filter big%,$(PRESET))
t2t        := $(and $(filter t2t,$(DIALECT)),$(filter-out tiny,$(PRESET)))
TOKENS     ?= $(if $(t2t),4096,25000)
ACCUMULATE ?= $(if $(and $(t2t),$(filter 4096,$(most_tokens))),8)
EMBEDDINGS ?= $(if $(and $(t2t),$(filter 37000 37k,$(VOCAB_SIZE))),40960)
STEPS      ?= $(if $(t2t),250000,$(if $(big),300000,100000))
SAVE_EVERY ?= $(if $(big),600,1400)
AVERAGE    ?= $(if $(t2t)$(big),20,5)
# What `make search` chose for these results, or a default.
chosen     = $(or $(word $1,$(file <$(RESULTS)/search/best)),$2)
BEAM       ?= $(call chosen,1,4)
ALPHA      ?= $(call chosen,2,0.6)
# `make search` tries all of these.
BEAMS      ?= 1 2 4 8
ALPHAS     ?= 0 0.2 0.4 0.6 0.8 1
SEED       ?= 1
# An ensemble: RESULTS/seed-N has each of the others. Perplexity and figures are those of SEED. make
# -jN trains up to N models at the same time, each on all CPUs unless THREADS gives it fewer.
SEEDS      ?=
MAX_LENGTH ?= $(if $(t2t),255,256)
BATCH_FLAGS ?=
TRAIN_FLAGS ?=
PRECISION  ?=
DECODE_FLAGS ?=
# Of each tool; empty: its default.
THREADS    ?=
# Training on so many processes (tf(7), "Many processes"), started by LAUNCH: the same bytes.
RANKS      ?= 1
LAUNCH     ?= mpirun -n $(RANKS) --bind-to none
# Cut the training text into so many files, tokenise them at the same time (make -j) and let
# tf-batch --list read them; BATCH_FLAGS='--group 8' reads eight at a time. For large corpora.
PARTS      ?= 1
# BPE dropout, or subword regularisation of a unigram vocabulary: SAMPLE=0.1. The text is in one
# piece then, whatever PARTS says, as it is with RECIPE=best.
SAMPLE     ?=
# The attention figures: number of the test sentence, and layer; empty: the last but one, as in the
# paper.
SENTENCE   ?= 1
LAYER      ?=

TEXTS = $(foreach d,train dev test,$(WORK)/$d.$S $(WORK)/$d.$T)

# $(call keep,FILES,OUTPUTS): refuse input files that rules would overwrite. The path of the current
# folder may have blanks.
keep  = $(foreach f,$1,$(if $(filter $(call place,$f),$(call place,$2)), \
    $(error $f: WORK=$(WORK) would overwrite this file; use another WORK)))
place = $(foreach f,$1,$(subst $(blank),?,$(realpath $(dir $f)))/$(notdir $f))
blank := $(subst ,, )

of_preset := TOKENS STEPS SAVE_EVERY

most_tokens := $(or $(TOKENS),$(if $(t2t),4096))

include $(dir $(lastword $(MAKEFILE_LIST)))common.mk

$(if $(call is_number,$(PARTS),3),, \
    $(error PARTS=$(PARTS): a number from 1 to 9999 is required))
# The parts of the training text; none if it is in one piece.
parts  := $(if $(or $(SAMPLE),$(best),$(filter 1,$(PARTS))),, \
    $(shell seq -f %04g 0 $$(($(PARTS) - 1))))
cut    := parts-$(PARTS)
# What the batches are made from, in $(WORK).
corpus := $(if $(parts),$(cut)/train.list,train.$S.tfs train.$T.tfs)

all: $(RESULTS)/dev-perplexity.json
all: $(addprefix $(RESULTS)/,score.json curve.svg perplexity.json) ## train, translate, score
	@echo
	@tf-info $(RESULTS)/model.tfm | sed -n '1,4p'
	@echo "test set:"
	@tf-bleu $(tokenized) $(WORK)/test.$T -i $(RESULTS)/test.out -f text | sed 's/^/  /'
	@echo "perplexity: test set $(call perplexity,perplexity)," \
	    "development set $(call perplexity,dev-perplexity)"
	@echo "learning curve: $(RESULTS)/curve.svg"
	$(ending)

# ---- what is in NAME.settings ----
vocabulary = --type $(VOCAB_TYPE) --vocab-size $(VOCAB_SIZE)$(if $(VOCAB_FLAGS), $(VOCAB_FLAGS))
tokens     = $(if $(most_tokens),--tokens $(most_tokens),--preset $(PRESET))
save_every = $(if $(SAVE_EVERY),--save-every $(SAVE_EVERY))
validation = --no-shuffle $(tokens)
batches    = --epochs $(if $(SAMPLE),1,0) $(tokens)$(if $(t2t), --as t2t) \
             --max-length $(MAX_LENGTH) --seed $(SEED) $(BATCH_FLAGS)
replicas   = $(if $(ACCUMULATE),--accumulate $(ACCUMULATE)) \
             $(if $(EMBEDDINGS),--vocab-size $(EMBEDDINGS))
model      = --preset $(PRESET) --as $(DIALECT) $(save_every) --seed $(SEED) \
             $(strip $(replicas) $(init)) $(TRAIN_FLAGS)$(if $(PRECISION), --precision $(PRECISION))
training   = $(strip $(DATA) $(SMALL) $(or $(texts),$(TRAIN)) $(PAIR): $(vocabulary) | $(batches) \
             $(if $(parts),--parts $(PARTS)) $(if $(SAMPLE),--sample $(SAMPLE)) \
             $(if $(BRACKETS),--brackets $(BRACKETS)) | $(model))
# What the texts depend on besides their files.
source     = $(strip $(DATA) $(PAIR))
length     = $(if $(STEPS),--steps $(STEPS)) --keep $(AVERAGE)
decoding   = --beam $(BEAM) --alpha $(ALPHA) $(decode_flags)
decode_flags = $(strip $(models:%=-m %) $(DECODE_FLAGS))
models     = $(RESULTS)/model.tfm \
             $(patsubst %,$(RESULTS)/seed-%/model.tfm,$(filter-out $(SEED),$(SEEDS)))

$(TEXTS): $(WORK)/source.settings

# ---- what would fail only after a day of training: sides that do not pair, and a reference that
# tf-bleu does not read ----
lines = LC_ALL=C awk 'END { print NR }'
$(WORK)/vocab.model: | $(WORK)/paired
$(WORK)/paired: $(TEXTS)
	for d in train dev test; do \
	    s=$$($(lines) $(WORK)/$$d.$S) t=$$($(lines) $(WORK)/$$d.$T); \
	    [ $$s = $$t ] || { echo "$$d: $$s lines of $S, $$t of $T" >&2; exit 1; }; \
	    echo "$$d: $$s pairs"; \
	done
	$(if $(BRACKETS),,tf-bleu -q -b --tokenize none $(WORK)/test.$T -i $(WORK)/test.$T >/dev/null)
	touch $@

# ---- vocabulary: one for both languages (paper, section 5.1) ----
$(WORK)/vocab.model: $(WORK)/train.$S $(WORK)/train.$T $(WORK)/vocabulary.settings
	$(say)n=$$(cat $(WORK)/train.$S $(WORK)/train.$T | wc -l); \
	[ $$n -gt $(many) ] && sample='$(sample)' || sample=; \
	tf-tokenize --train $(vocabulary) $$sample -o $@ $(WORK)/train.$S $(WORK)/train.$T
many   := 10000000
own    := --max-sentences% --input-sentence-size%
sample := $(if $(filter $(own),$(VOCAB_FLAGS)),,--max-sentences $(many))

# ---- text to token streams ----
$(TEXTS:%=%.tfs) $(RESULTS)/own.$T.tfs: %.tfs: % $(WORK)/vocab.model
	$(say)$(call allow_bad,tf-tokenize -m $(WORK)/vocab.model $(threads) -o $@ $<)

# ---- the training text in parts, line by line in turn, so that each is a sample of all ----
$(WORK)/$(cut)/cut: $(WORK)/train.$S $(WORK)/train.$T
	rm -rf $(@D)
	mkdir $(@D)
	for l in $S $T; do \
	    split -n r/$(PARTS) -d -a 4 --additional-suffix=.$$l $(WORK)/train.$$l $(@D)/; \
	done
	touch $@
parts_of = $(parts:%=$(WORK)/$(cut)/%.$1.tfs)
# With make -j, each on one thread. A part may begin with bad lines; tf-batch counts them.
$(call parts_of,$S) $(call parts_of,$T): %.tfs: $(WORK)/$(cut)/cut $(WORK)/vocab.model
	$(say)tf-tokenize -m $(WORK)/vocab.model --bad $(if $(filter warn,$(BAD)),ok,fail) \
	    -o $@ $* $(if $(filter -j%,$(MAKEFLAGS)),--threads 1,$(threads))
$(WORK)/$(cut)/train.list: $(call parts_of,$S) $(call parts_of,$T)
	for p in $(parts); do \
	    printf '%s\t%s\n' $(WORK)/$(cut)/$$p.$S.tfs $(WORK)/$(cut)/$$p.$T.tfs; \
	done >$@.part
	$(whole)

# ---- validation batches: a finite stream in a file ----
$(WORK)/dev.tfs: $(WORK)/dev.$S.tfs $(WORK)/dev.$T.tfs $(WORK)/validation.settings
	$(say)tf-batch $(validation) -o $@ $(WORK)/dev.$S.tfs $(WORK)/dev.$T.tfs

# ---- from here on, nothing is made in WORK that another run would make, too ----
prepared: $(corpus:%=$(WORK)/%) $(WORK)/dev.tfs
	$(unlock)

# ---- training: endless batches into tf-train, which stops at --steps ----
# Status 75 (stopped on request) stops make; repeat the command to resume.
$(RESULTS)/trained: $(RESULTS)/training.settings $(RESULTS)/length.settings \
    $(corpus:%=$(WORK)/%) $(WORK)/dev.tfs | prepared
	$(say)$(call same_text,$(WORK)/train,$(RESULTS)/run)
	$(call train_$(if $(and $(one_rank),$(if $(SAMPLE),,yes)),alone,from_fifo),\
	    $(if $(SAMPLE),$(sampled),\
	        tf-batch $(batches) $(if $(parts),--list )$(beside)$(corpus:%=$(WORK)/%)),\
	    tf-train --vocab $(WORK)/vocab.model --valid $(WORK)/dev.tfs)
	$(call sum,$(WORK)/train) >$@.part; $(whole)
one_rank = $(filter 1,$(RANKS))
# An endless stream whose epochs have segmentations of their own, on both sides. When the recipe's
# shell was killed, nothing else ends the loop.
sampled  = { for ((e = 0;; e++)); do kill -0 $$$$ 2>/dev/null; \
	    tf-batch -q $(batches) --first-epoch $$e $(foreach n,1 2,\
	    <(tf-tokenize -m $(WORK)/vocab.model $(threads) --bad ok --sample --alpha $(SAMPLE) \
	        --seed $(SEED)$n$$e $(WORK)/train.$(word $n,$S $T))); done; }
# $(call train_...,PRODUCER,TRAINER)
train_alone = $1 | $2 $(threads) $(length) $(model) -o $(RESULTS)/run
# Launchers pass no stream on, but rank 0 reads a FIFO. They may also return 0 in place of 75. The
# endless loop has to be killed: tf-batch returns 0 when its reader is gone. What cannot be killed
# has ended before, and if it failed, so has the training.
train_from_fifo = fifo=$(RESULTS)/batches.fifo; rm -f $$fifo; mkfifo $$fifo; \
	$1 >$$fifo & trap 'kill $$! 2>/dev/null || :; rm -f $$fifo' EXIT; \
	$(if $(one_rank),,$(LAUNCH)) $2 $(threads) $(length) $(model) -o $(RESULTS)/run $$fifo; \
	! tail -n 1 $(RESULTS)/run/log.jsonl | grep -q '"reason":"signal"' || exit 75; \
	kill $$! 2>/dev/null || wait $$!

# $(MAKE) $(before): another training of the same text.
before = --no-print-directory -f $(firstword $(MAKEFILE_LIST)) $@ \
    RESULTS=$(@D) SEEDS= MEAN= TEACHERS=

# ---- RECIPE=best: the trainings before the last, and what their models chose of their own ----
stage =
ifneq ($(best),)
teachers  = $(patsubst %,$(RESULTS)/seed-%/annealed/model.tfm,$(filter-out $(SEED),$(TEACHERS)))
training += | best$(if $(TEACHERS), --teachers $(TEACHERS))
ifeq ($(filter-out third,$(stage)),)
beside = -w 1 $(WORK)/train.$S.tfs $(third)/own.$T.tfs -w 1 # and a blank
$(RESULTS)/trained: $(third)/own.$T.tfs
endif
ifeq ($(stage),)
thirds = $(patsubst %,$(RESULTS)/third-%/model.tfm,$(filter-out $(SEED),$(sort $(MEAN))))
$(RESULTS)/sampled/model.tfm: | prepared
$(RESULTS)/annealed/model.tfm: $(RESULTS)/sampled/model.tfm
$(RESULTS)/sampled/model.tfm $(RESULTS)/annealed/model.tfm: FORCE
	$(MAKE) $(before) stage=$(notdir $(@D)) $(stage.$(notdir $(@D)))
$(RESULTS)/seed-%/annealed/model.tfm: FORCE | prepared
	$(MAKE) $(before) RESULTS=$(RESULTS)/seed-$* SEED=$*
$(RESULTS)/own.$T: $(RESULTS)/annealed/model.tfm $(teachers) $(WORK)/train.$S.tfs \
    $(RESULTS)/teachers.settings
	$(say)$(call allow_bad,tf-decode $(patsubst %,-m %,$< $(teachers)) $(threads) \
	    --beam 12 --nbest 12 $(WORK)/train.$S.tfs \
	    | tf-tokenize -d --nbest -m $< | tf-rerank --mbr bleu $(utility) -o $@)
$(RESULTS)/third-%/model.tfm: $(RESULTS)/own.$T.tfs FORCE
	$(MAKE) $(before) stage=third SEED=$* third=$(RESULTS)
$(RESULTS)/model.tfm: $(thirds) $(RESULTS)/thirds.settings
endif
endif

# The options of a new training, for --plan. A model of --init, which a file may name, has its own
# vocabulary.
last_step = $(lastword 0 $(sort $(patsubst $(RESULTS)/run/ckpt-%.tfm,%, \
    $(wildcard $(RESULTS)/run/ckpt-*.tfm))))
planned   = $(if $(filter --init --init=% --settings%,$(TRAIN_FLAGS)),,--vocab-size $(VOCAB_SIZE)) \
    --valid $(WORK)/dev.tfs $(length) $(subst $(init),,$(model))
# Check the settings before a day of training, and before the vocabulary and the streams of a run
# that was begun with others are overwritten. The message lists the differing options.
$(addsuffix .settings,$(addprefix $(WORK)/,source vocabulary validation TRAIN \
    $(addprefix files.,TRAIN DEV TEST)) \
    $(addprefix $(RESULTS)/,training length decoding decode_flags teachers thirds)): | trainable
trainable:
ifneq ($(and $(STEPS),$(SAVE_EVERY)),)
	@n=$$((($(STEPS) + $(SAVE_EVERY) - 1) / $(SAVE_EVERY))); [ $(AVERAGE) -le $$n ] || { \
	    echo "AVERAGE=$(AVERAGE): STEPS=$(STEPS) and SAVE_EVERY=$(SAVE_EVERY) give only $$n" \
	        "checkpoints; use AVERAGE=$$n or a smaller SAVE_EVERY" >&2; exit 2; }
endif
ifneq ($(STEPS),)
	@n=$$((10#$(last_step))); [ $$n -le $(STEPS) ] || { \
	    echo "STEPS=$(STEPS): $(RESULTS)/run has already done $$n;" \
	        "use another RESULTS" >&2; exit 2; }
endif
	@$(call as_before,$(RESULTS)/training.settings,$(RESULTS)/run)
ifneq ($(if $(filter 0,$(last_step)),$(planned)),)
	@why=$$(tf-train --plan $(planned) 2>&1) || { echo "$$why" >&2; exit 2; }
	@$(call known,tf-decode - $(decoding))
endif

$(RESULTS)/model.tfm: $(RESULTS)/trained
	$(say)tf-avgckpt --at-most $(AVERAGE) -o $(if $(thirds),$(@D)/alone.tfm,$@) $(RESULTS)/run
	$(if $(thirds),tf-avgckpt -o $@ $(@D)/alone.tfm $(thirds))
$(RESULTS)/seed-%/model.tfm: FORCE | prepared
	$(MAKE) $(before) SEED=$*

# ---- translation and score ----
$(RESULTS)/test.out: $(WORK)/test.$S $(models) $(RESULTS)/decoding.settings
	$(say)$(call allow_bad,tf-tokenize -m $(RESULTS)/model.tfm <$< \
	| tf-decode $(threads) $(decoding) \
	| tf-tokenize -d -m $(RESULTS)/model.tfm -o $@)

$(RESULTS)/score.json: $(WORK)/test.$T $(RESULTS)/test.out
	$(say)tf-bleu $(tokenized) $< -i $(RESULTS)/test.out >$@.part
	$(whole)

$(RESULTS)/paper.bleu: $(WORK)/test.$T $(RESULTS)/test.out
	tf-bleu --as paper --lang $T --raw-ref $< -i $(RESULTS)/test.out >$@.part
	$(whole)
paper-score: $(RESULTS)/paper.bleu ## BLEU as in the paper's Table 2: tokenised, compounds split
	@cat $<

$(RESULTS)/perplexity.json: $(WORK)/test.$S.tfs $(WORK)/test.$T.tfs
$(RESULTS)/dev-perplexity.json: $(WORK)/dev.$S.tfs $(WORK)/dev.$T.tfs
$(RESULTS)/perplexity.json $(RESULTS)/dev-perplexity.json: $(RESULTS)/model.tfm
	$(say)$(call allow_bad,tf-score -m $(RESULTS)/model.tfm --summary -o $@ $(filter %.tfs,$^))
perplexity = $$(sed 's/.*"perplexity":\([^,}]*\).*/\1/' $(RESULTS)/$1.json)

# ---- beam and alpha, chosen on the development set as in the paper (section 6.1) ----
searches = $(foreach b,$(BEAMS),$(foreach a,$(ALPHAS),$(RESULTS)/search/$b-$a.txt))
# $(call score,OUTPUT): print the score of a translation of the development set.
score      = tf-bleu $(tokenized) -b -w 2 $(WORK)/dev.$T -i $1
score_name := BLEU
$(searches): $(RESULTS)/search/%.txt: $(WORK)/dev.$S.tfs $(WORK)/dev.$T $(models) \
    $(RESULTS)/decode_flags.settings
	$(say)mkdir -p $(@D)
	setting=$*; b=$${setting%%-*} a=$${setting#*-}; \
	$(call allow_bad,tf-decode $(threads) --beam $$b --alpha $$a \
	    $(decode_flags) $< | tf-tokenize -d -m $(RESULTS)/model.tfm -o $(basename $@).out); \
	score=$$($(call score,$(basename $@).out)); \
	echo "$$b $$a $$score" >$@.part
	$(whole)
search: $(searches) ## try BEAMS and ALPHAS on the development set
	@row() { printf '%-5s %-6s %s\n' "$$@"; }; \
	row beam alpha $(score_name); \
	sort -k3,3rn -k1,1n $^ | while read -r b a s; do row $$b $$a $$s; done; \
	read -r b a s < <(sort -k3,3rn -k1,1n $^); \
	echo "$$b $$a" >$(RESULTS)/search/best.part; \
	$(call whole,$(RESULTS)/search/best); \
	echo "best: BEAM=$$b ALPHA=$$a, the defaults for $(RESULTS) from now on"

# ---- the same translation on the CPU and on a GPU in each precision ----
on_cpu  := --device cpu
on_fp32 := --device cuda --precision fp32
on_fp16 := --device cuda --precision fp16
on_bf16 := --device cuda --precision bf16
$(RESULTS)/device.%.out: $(WORK)/test.$S.tfs $(models) $(RESULTS)/decoding.settings
	$(say)$(call allow_bad,tf-decode $(threads) $(decoding) $(on_$*) $< \
	| tf-tokenize -d -m $(RESULTS)/model.tfm -o $@)

kinds = cpu fp32 fp16 bf16
equal = awk 'NR % 2 { line = $$0; next } $$0 == line { n++ } \
    END { printf "%.2f", NR ? 200 * n / NR : 100 }'
devices: $(kinds:%=$(RESULTS)/device.%.out) ## compare CPU and GPU precisions: lines equal, and BLEU
	@for d in $(kinds); do \
	    same=$$(paste -d '\n' $(RESULTS)/device.cpu.out $(RESULTS)/device.$$d.out | $(equal)); \
	    bleu=$$(tf-bleu $(tokenized) $(WORK)/test.$T -i $(RESULTS)/device.$$d.out -b -w 2); \
	    printf '%-4s  %6s %% of the lines equal those of the CPU  BLEU %s\n' $$d $$same $$bleu; \
	done

$(RESULTS)/curve.svg: $(RESULTS)/trained
	$(say)tf-plot curve -o $@ $(RESULTS)/run/log.jsonl

# ---- attention as in the paper's Figures 3 to 5: self-attention of a test sentence, and the
# cross-attention of its translation ----
one := $(RESULTS)/sentence-$(SENTENCE)
$(one).%.tfs: $(WORK)/test.$S $(RESULTS)/test.out $(RESULTS)/model.tfm
	@n=$$(wc -l <$(WORK)/test.$S); [ $(SENTENCE) -ge 1 ] && [ $(SENTENCE) -le $$n ] || \
	    { echo "SENTENCE=$(SENTENCE): the test set has sentences 1 to $$n" >&2; exit 2; }
	sed -n $(SENTENCE)p $(filter %/test.$*,$^) | tf-tokenize -m $(RESULTS)/model.tfm -o $@

attention: $(one).$S.tfs $(one).out.tfs ## draw SENTENCE in LAYER
	for kind in encoder cross; do \
	    stack=$${kind/cross/decoder}; \
	    n=$$(tf-info $(RESULTS)/model.tfm | sed -n "s/^  $${stack}_layers *//p"); \
	    layer=$(or $(LAYER),$$((n > 1 ? n - 1 : 1))); \
	    [ $$layer -ge 1 ] && [ $$layer -le $$n ] || { \
	        echo "LAYER=$$layer: the model's $$stack has layers 1 to $$n" >&2; exit 2; }; \
	    files='$^'; [ $$kind = cross ] || files='$<'; \
	    tf-attn -m $(RESULTS)/model.tfm -k $$kind -l $$layer $$files \
	    | tf-plot attention -o $(one).$$kind-$$layer.svg -; \
	    echo $(one).$$kind-$$layer.svg; \
	done

small: ## try all steps in seconds: a tiny model, 4 updates; the scores mean nothing
	$(MAKE) -f $(firstword $(MAKEFILE_LIST)) WORK=$(WORK)-small RESULTS=$(WORK)-small RECIPE=default \
	    VOCAB_SIZE=2000 PRESET=tiny STEPS=4 SAVE_EVERY=2 AVERAGE=2 TOKENS=1000 \
	    TRAIN_FLAGS='--warmup 30 --d-model 32' DECODE_FLAGS='--max-extra 5 --min-length 3' \
	    $(SMALL_SETTINGS)

.PHONY: all prepared trainable paper-score search devices attention small
