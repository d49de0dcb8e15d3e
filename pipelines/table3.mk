# table3.mk - the paper's Table 3: every row by name, trained in the same way, without averaging,
# scored on the development set. TRAIN and DEV as in text.mk:
#
#     make -f pipelines/table3.mk TRAIN=run/wmt14-en-de/train DEV=run/wmt14-en-de/dev \
#         [ROWS='base C-n2'] [PAIR=en-de]
#
# The settings are the paper's: 37,000 pieces, batches of 25,000 tokens, 100,000 steps (300,000 for
# big). The rows share vocabulary and token streams. Perplexities are comparable only with the same
# vocabulary, so yours are not comparable with the paper's.

NEEDED     := TRAIN DEV
TRAIN      ?=
DEV        ?=
PAIR       ?= en-de
WORK       ?= run/table3
ROWS       ?= base A-h1 A-h4 A-h16 A-h32 B-dk16 B-dk32 C-n2 C-n4 C-n8 C-d256 C-d1024 C-ff1024 \
              C-ff4096 D-p0.0 D-p0.2 D-ls0.0 D-ls0.2 E big
DIALECT    ?= paper
VOCAB_SIZE ?= 37000
VOCAB_TYPE ?= bpe
TOKENS     ?= 25000
STEPS      ?= 100000
SAVE_EVERY ?= 1000
TRAIN_FLAGS ?=
DECODE_FLAGS ?=

here := $(dir $(lastword $(MAKEFILE_LIST)))
include $(here)common.mk

S := $(firstword $(subst -, ,$(PAIR)))
T := $(lastword $(subst -, ,$(PAIR)))

table: $(WORK)/table.txt ## train and score all ROWS, then print the table
	@cat $<

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

# $(call text,DIR,MORE): run text.mk in that folder.
text = $(MAKE) -f $(here)text.mk PAIR='$(PAIR)' TRAIN='$(TRAIN)' DEV='$(DEV)' TEST='$(DEV)' \
    WORK='$1' DIALECT='$(DIALECT)' VOCAB_SIZE='$(VOCAB_SIZE)' VOCAB_TYPE='$(VOCAB_TYPE)' \
    TOKENS='$(TOKENS)' SAVE_EVERY='$(SAVE_EVERY)' AVERAGE=1 TRAIN_FLAGS='$(TRAIN_FLAGS)' \
    DECODE_FLAGS='$(DECODE_FLAGS)' $2

# Vocabulary and streams, shared by all rows.
streams := train.$S.tfs train.$T.tfs dev.tfs test.$S.tfs test.$T.tfs
data:
	$(call text,$(WORK)/data,$(streams:%=$(WORK)/data/%))

$(WORK)/%/row.txt: data
	mkdir -p $(@D)
	cd $(@D) && ln -sf ../data/* .
	$(call text,$(@D),PRESET=$* STEPS=$(if $(filter big,$*),$$((3 * $(STEPS))),$(STEPS)) \
	    $(@D)/score.json $(@D)/perplexity.json)
	ppl=$$(sed 's/.*"perplexity":\([0-9.]*\).*/\1/' $(@D)/perplexity.json); \
	    bleu=$$(tf-bleu $(@D)/test.$T -i $(@D)/test.out -b -w 1); \
	    n=$$(tf-info $(@D)/model.tfm | sed -n 's/^parameters *//p'); \
	    printf '%s %s %s %s\n' $* "$$ppl" "$$bleu" "$$n" >$@.part
	$(whole)

$(WORK)/table.txt: $(ROWS:%=$(WORK)/%/row.txt)
	{ printf '%-10s %8s %6s %9s   %s\n' row PPL BLEU '10^6' "the paper's"; \
	  cat $^ | while read -r row ppl bleu n; do \
	      n=$$(awk -v n="$$n" 'BEGIN { if (n <= 0) exit 1; printf "%.2f", n / 1e6 }'); \
	      paper=$$(sed -n "s/^$$row //p" <<<"$$PAPER"); \
	      LC_ALL=C printf '%-10s %8.2f %6s %9s   %s\n' "$$row" "$$ppl" "$$bleu" "$$n" "$$paper"; \
	  done; } >$@.part
	$(whole)

$(WORK)/%/paper.bleu: $(WORK)/%/row.txt
	tf-bleu --as paper --lang $T --raw-ref $(@D)/test.$T -i $(@D)/test.out >$@.part
	$(whole)
paper-score: $(ROWS:%=$(WORK)/%/paper.bleu) ## BLEU of all ROWS, tokenised and with compounds split
	@for row in $(ROWS); do printf '%-10s %s\n' $$row "$$(cat $(WORK)/$$row/paper.bleu)"; done

small: ## try every row as a tiny model, 10 updates; the scores mean nothing
	$(MAKE) -f $(firstword $(MAKEFILE_LIST)) TRAIN='$(TRAIN)' DEV='$(DEV)' WORK=$(WORK)-small \
	    VOCAB_SIZE=200 VOCAB_TYPE=unigram STEPS=10 SAVE_EVERY=10 TOKENS=1000 \
	    TRAIN_FLAGS='--layers 1 --d-model 32 --d-ff 16 --warmup 30' DECODE_FLAGS='--max-extra 5'

.PHONY: table data paper-score small
