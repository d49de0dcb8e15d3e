# table3.mk - the paper's Table 3: every row by name, trained in the same way, without averaging,
# scored on the development set. TRAIN and DEV as in text.mk:
#
#     make -f pipelines/table3.mk TRAIN=run/wmt14-en-de/train DEV=run/wmt14-en-de/dev \
#         [ROWS='base C-n2'] [SEEDS='1 2 3'] [PAIR=en-de] [DIALECT=t2t] [SCALE=small]
#
# A row is the mean of SEEDS, each trained alone: of log-perplexity and of BLEU.
#
# The settings are the paper's: 37,000 pieces, batches of 25,000 tokens, 100,000 steps (300,000 for
# big). The rows share vocabulary and token streams. Perplexities are comparable only with the same
# vocabulary, so compare the order of the rows with the paper's: the table ends with the rank
# correlations.
#
# SCALE=small is the same table for tens of thousands of pairs. All widths are an eighth of the
# paper's, everything else that a row is about is unchanged: base has N 6, d_model 64, d_ff 256,
# h 8, d_k 8, P 0.1; A-h32 has d_k 2, C-d1024 has d_model 128, big has d_model 128, d_ff 512, h 16.
# Each row, big too, trains on the same 6 million tokens (3,000 updates of 2,000) with the paper's
# schedule and a warmup of a sixth of the run, and is the mean of its last 8 checkpoints. Dropout is
# 0.7 of a row's, and alpha 1: with 0.6 such models write too little, each by another amount, which
# decides BLEU (tests/bench/RESULTS.md). In bf16 on one core of an EPYC base takes 6 to 7 minutes,
# big 20, and all 20 rows about two hours on one to two cores.
#
# make -jN trains N rows at the same time, each on all CPUs unless THREADS gives it fewer.

#: TRAIN text to train on
#: DEV development set, for the scores
#: FIELDS fields of both sides, in files that have them
#: PAIR languages, from-to
#: SCALE paper, or small for tens of thousands of pairs
#: WORK folder for everything
#: ROWS rows of the table
#: SEEDS seeds, of whose results a row is the mean
#: DIALECT details of model, batches and updates: paper, or t2t for tensor2tensor
#: VOCAB_SIZE pieces of the vocabulary
#: VOCAB_TYPE kind of vocabulary: bpe or unigram
#: TOKENS tokens of a batch on each side
#: STEPS updates
#: SAVE_EVERY updates from one checkpoint to the next
#: AVERAGE checkpoints that are averaged
#: DROPOUT factor on the dropout of each row
#: VOCAB_FLAGS more options of tf-tokenize --train
#: TRAIN_FLAGS more options of tf-train
#: DECODE_FLAGS more options of tf-decode
#: THREADS threads of each tool; empty: the available CPUs
#: RANKS processes that train together
#: LAUNCH the command that starts them
NEEDED     := TRAIN DEV
NEEDS       = a stem; STEM.$S and STEM.$T, plain or .gz, or a file of both with tabs
EXAMPLE    := TRAIN=run/wmt14-en-de/train DEV=run/wmt14-en-de/dev
TRAIN      ?=
DEV        ?=
FIELDS     ?= 1 2
PAIR       ?= en-de
SCALE      ?= paper
small      := $(filter small,$(SCALE))
WORK       ?= run/table3$(if $(small),-small)
ROWS       ?= base A-h1 A-h4 A-h16 A-h32 B-dk16 B-dk32 C-n2 C-n4 C-n8 C-d256 C-d1024 C-ff1024 \
              C-ff4096 D-p0.0 D-p0.2 D-ls0.0 D-ls0.2 E big
SEEDS      ?= 1
DIALECT    ?= paper
t2t        := $(filter t2t,$(DIALECT))
VOCAB_SIZE ?= $(if $(small),4000,37000)
VOCAB_TYPE ?= $(if $(small),unigram,bpe)
TOKENS     ?= $(if $(small),2000,$(if $(t2t),4096,25000))
STEPS      ?= $(if $(small),3000,$(if $(t2t),250000,100000))
SAVE_EVERY ?= $(if $(small),50,1400)
AVERAGE    ?= $(if $(small),8,1)
DROPOUT    ?= $(if $(small),0.7,1)
$(if $(TOKENS),,$(error TOKENS=: a number is required, the same for all rows))
VOCAB_FLAGS ?=
TRAIN_FLAGS ?= $(if $(small),--warmup 500)
DECODE_FLAGS ?= $(if $(small),--alpha 1)
# Those of text.mk, if they are set.
THREADS    ?=
RANKS      ?=
LAUNCH     ?=

$(if $(filter-out paper small,$(SCALE)),$(error SCALE=$(SCALE): paper or small))
here := $(dir $(lastword $(MAKEFILE_LIST)))
include $(or $(wildcard $(here)common.mk), \
    $(error $(strip $(MAKEFILE_LIST)): make reads no path with a blank; cd into that folder))

table: $(WORK)/table.txt $(WORK)/table.svg ## train and score all ROWS, then print the table
	@cat $<
	@for column in 'PPL 2 5' 'BLEU 3 6'; do \
	    read -r name ours paper <<<"$$column"; \
	    printf '%s and the paper: ' $$name; \
	    awk -v a=$$ours -v b=$$paper 'NF == 7 { print $$a, $$b }' $(WORK)/rows.txt \
	    | awk -f $(here)rank-agreement; \
	done
	@echo "our perplexities over the paper's: $(WORK)/table.svg"

# Name, then perplexity, BLEU (tokenised, newstest2013) and millions of parameters from the paper; a
# dash if it gives none.
define PAPER
base 4.92 25.8 65
A-h1 5.29 24.9 -
A-h4 5.00 25.5 -
A-h16 4.91 25.8 -
A-h32 5.01 25.4 -
B-dk16 5.16 25.1 58
B-dk32 5.01 25.4 60
C-n2 6.11 23.7 36
C-n4 5.19 25.3 50
C-n8 4.88 25.5 80
C-d256 5.75 24.5 28
C-d1024 4.66 26.0 168
C-ff1024 5.12 25.4 53
C-ff4096 4.75 26.2 90
D-p0.0 5.77 24.6 -
D-p0.2 4.95 25.5 -
D-ls0.0 4.67 25.3 -
D-ls0.2 5.47 25.7 -
E 4.92 25.7 -
big 4.33 26.4 213
endef
export PAPER

# $(call text,DIR,MORE): run text.mk with that folder for the results.
text = $(MAKE) -f $(here)text.mk WORK=$(WORK)/data RESULTS=$1 \
    $(call pass,PAIR TRAIN DEV FIELDS DIALECT VOCAB_SIZE VOCAB_TYPE VOCAB_FLAGS TOKENS \
    SAVE_EVERY AVERAGE DECODE_FLAGS $(foreach v,THREADS RANKS LAUNCH,$(if $($v),$v))) \
    TEST=$(call for_make,$(DEV)) SEEDS= $2

# Vocabulary and streams, shared by all rows.
streams := train.$S.tfs train.$T.tfs dev.tfs test.$S.tfs test.$T.tfs
data:
	$(jobs)$(call text,$(WORK)/data,$(streams:%=$(WORK)/data/%))

# Steps of a row, and what SCALE=small changes of its preset. Heads, layers, dropout, smoothing and
# positions are the preset's, and d_k = d_v = d_model / h except in B.
steps   = $(if $(small)$(t2t),$(STEPS),$(if $(filter big,$1),$$((3 * $(STEPS))),$(STEPS)))
widths  = $(if $(small),--d-model $(or $(d_model.$1),64) --d-ff $(or $(d_ff.$1),256) $(d_k.$1))
d_model.C-d256  := 32
d_model.C-d1024 := 128
d_model.big     := 128
d_ff.C-ff1024   := 128
d_ff.C-ff4096   := 512
d_ff.big        := 512
d_k.B-dk16      := --d-k 2
d_k.B-dk32      := --d-k 4

# DROPOUT times what the preset has.
$(if $(shell [[ '$(DROPOUT)' =~ ^[0-9]*\.?[0-9]+$$ ]] && echo yes),, \
    $(error DROPOUT=$(DROPOUT): a number is required))
dropout = $(if $(filter-out 1,$(DROPOUT)),--dropout $(shell \
    awk 'BEGIN { print $(DROPOUT) * $(or $(dropout.$1),0.1) }'))
dropout.D-p0.0  := 0
dropout.D-p0.2  := 0.2
dropout.big     := 0.3

# ROW/SEED
$(if $(strip $(SEEDS)),,$(error SEEDS=: at least one is required))
runs := $(foreach r,$(ROWS),$(SEEDS:%=$r/%))
row   = $(patsubst %/,%,$(dir $*))
$(WORK)/%/row.txt: data
	mkdir -p $(@D)
	$(jobs)$(call text,$(@D),PRESET=$(row) STEPS=$(call steps,$(row)) SEED=$(notdir $*) \
	    TRAIN_FLAGS=$(call for_make,$(strip $(call widths,$(row)) $(call dropout,$(row)) \
	    $(TRAIN_FLAGS))) \
	    $(@D)/score.json $(@D)/perplexity.json)
	ppl=$$(sed 's/.*"perplexity":\([^,}]*\).*/\1/' $(@D)/perplexity.json); \
	    [ "$$ppl" != null ] || { \
	        echo 'row $(row): no finite perplexity: its training diverged' >&2; exit 1; }; \
	    bleu=$$(tf-bleu $(tokenized) $(WORK)/data/test.$T -i $(@D)/test.out -b -w 1); \
	    n=$$(tf-info $(@D)/model.tfm | sed -n 's/^parameters *//p'); \
	    printf '%s %s %s %s\n' $(row) "$$ppl" "$$bleu" "$$n" >$@.part
	$(whole)

# Row, PPL, BLEU, parameters, and the paper's three.
$(WORK)/rows.txt: $(runs:%=$(WORK)/%/row.txt)
	awk '{ n[$$1]++; log_ppl[$$1] += log($$2); bleu[$$1] += $$3; size[$$1] = $$4 } \
	    n[$$1] == $(words $(SEEDS)) { printf "%s %.7g %.4g %s\n", $$1, \
	        exp(log_ppl[$$1] / n[$$1]), bleu[$$1] / n[$$1], size[$$1] }' $^ \
	| while read -r row ours; do \
	    echo "$$row $$ours $$(sed -n "s/^$$row //p" <<<"$$PAPER")"; \
	done >$@.part
	$(whole)

$(WORK)/table.txt: $(WORK)/rows.txt
	{ printf '%-10s %8s %6s %9s   %s\n' row PPL BLEU '10^6' "the paper's"; \
	  while read -r row ppl bleu n paper; do \
	      n=$$(awk -v n="$$n" 'BEGIN { if (n <= 0) exit 1; printf "%.2f", n / 1e6 }'); \
	      printf '%-10s %8.2f %6s %9s   %s\n' "$$row" "$$ppl" "$$bleu" "$$n" "$$paper"; \
	  done <$<; } >$@.part
	$(whole)

$(WORK)/table.svg: $(WORK)/rows.txt
	awk 'NF == 7 { group = $$1; sub(/-.*/, "", group); printf "{\"row\":\"%s\",\"group\":\"%s\"," \
	    "\"PPL\":%s,\"paper\":%s}\n", $$1, group, $$2, $$5 }' $< \
	| tf-plot -x paper -y PPL --by group --points row --x-label "perplexity in the paper" \
	    --y-label 'perplexity here' -o $@ curve -

$(WORK)/%/paper.bleu: $(WORK)/%/row.txt
	tf-bleu --as paper --lang $T --raw-ref $(WORK)/data/test.$T -i $(@D)/test.out >$@.part
	$(whole)
paper-score: $(runs:%=$(WORK)/%/paper.bleu) ## BLEU of all ROWS, tokenised and with compounds split
	@for run in $(runs); do printf '%-12s %s\n' $$run "$$(cat $(WORK)/$$run/paper.bleu)"; done

small: ## try every row with SCALE=small and 4 updates; the scores mean nothing
	$(MAKE) -f $(firstword $(MAKEFILE_LIST)) SCALE=small WORK=$(WORK)-trial VOCAB_SIZE=200 STEPS=4 \
	    SAVE_EVERY=4 AVERAGE=1 TOKENS=1000 TRAIN_FLAGS='--warmup 30' DECODE_FLAGS='--max-extra 5'

.PHONY: table data paper-score small
