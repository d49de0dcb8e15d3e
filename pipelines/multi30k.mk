# multi30k.mk - image captions, English to German or French: 29,000 pairs, preset `tiny`, less than
# two hours on two cores.
#
#     make -f pipelines/multi30k.mk DATA=DIR [PAIR=en-fr]
#
# DIALECT=t2t trains tensor2tensor's model with the same batches and steps; tensor2tensor's batches
# of 4,096 padded tokens, 8 per update, are
#     BATCH_FLAGS='--as t2t' TOKENS=4096 ACCUMULATE=8 TRAIN_FLAGS=...
#
# RECIPE=best lower-cases the text and splits it into words as Moses does, the form in which results
# on this corpus are published; translations and scores are in that form, too. Two trainings: with
# a new segmentation in each epoch, in RESULTS/sampled, and from there on with the usual one at a
# rate that falls to 0. Other seeds: SEED=4, 6 ..., for the first takes one less. BLEU is 40.0
# (tests/bench/RESULTS.md).
#
# DATA contains train.LANG.gz, val.LANG.gz and test_2016_flickr.LANG.gz (Multi30k, Elliott et al.
# 2016, licence: research): the folder data/task1/raw of https://github.com/multi30k/dataset.

#: DATA folder of Multi30k
#: RECIPE default, or best
#: MOSES command that makes words of Moses; its last word is the language
NAME       := multi30k
DATA       ?= data/multi30k
RECIPE     ?= default
MOSES      ?= $(dir $(firstword $(MAKEFILE_LIST)))moses-lower
best       := $(filter best,$(RECIPE))
$(if $(filter default best,$(RECIPE)),,$(error RECIPE=$(RECIPE): default or best is required))
ifneq ($(best),)
sampled_in  = $(RESULTS)/sampled
VOCAB_TYPE ?= bpe
TOKENS     ?= 2500
STEPS      ?= 7500
SAVE_EVERY ?= 250
AVERAGE    ?= 10
BEAM       ?= 5
ALPHA      ?= 1.6
SEED       ?= 2
TRAIN_FLAGS ?= --init $(sampled_in)/run/ckpt-00004250.tfm --schedule linear --lr 0.003 \
    --lr-end 0 --warmup 200 --dropout 0.25
endif
VOCAB_SIZE ?= 6000
VOCAB_TYPE ?= unigram
PRESET     ?= tiny
TOKENS     ?= 4000
STEPS      ?= 5800
SAVE_EVERY ?= 200
AVERAGE    ?= 8
TRAIN_FLAGS ?= --warmup 2000 --lr-scale 2.5 --dropout 0.3

include $(or $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))experiment.mk), \
    $(error $(strip $(MAKEFILE_LIST)): make reads no path with a blank; cd into that folder))

ifneq ($(best),)
source    += $(RECIPE) $(MOSES)
training  += | $(RECIPE)
in_words   = | $(MOSES) $*
tokenized  = --tokenize none --force
ifneq ($(findstring $(sampled_in),$(TRAIN_FLAGS)),)
$(RESULTS)/trained: $(sampled_in)/trained
$(sampled_in)/trained: $(corpus:%=$(WORK)/%) $(WORK)/dev.tfs
	$(MAKE) -f $(firstword $(MAKEFILE_LIST)) $@ RESULTS=$(@D) SAMPLE=0.05 STEPS=4250 \
	    AVERAGE=1 SEED=$$(($(SEED) - 1)) TRAIN_FLAGS='--warmup 1000 --lr-scale 1.6 --dropout 0.3'
endif
endif

$(DATA)/%.gz:
	@echo '$@ not found: set DATA=DIR to the folder data/task1/raw of' \
	    'https://github.com/multi30k/dataset' >&2; exit 1
$(WORK)/train.%: $(DATA)/train.%.gz
	gzip -dc $< $(in_words) >$@.part
	$(whole)
$(WORK)/dev.%: $(DATA)/val.%.gz
	gzip -dc $< $(in_words) >$@.part
	$(whole)
$(WORK)/test.%: $(DATA)/test_2016_flickr.%.gz
	gzip -dc $< $(in_words) >$@.part
	$(whole)
