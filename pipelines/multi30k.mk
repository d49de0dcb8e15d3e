# multi30k.mk - image captions, English to German or French: 29,000 pairs, preset `tiny`, less than
# two hours on two cores.
#
#     make -f pipelines/multi30k.mk DATA=DIR [PAIR=en-fr]
#
# DIALECT=t2t trains tensor2tensor's model with the same batches and steps; tensor2tensor's batches
# of 4,096 padded tokens, 8 per update, are
#     BATCH_FLAGS='--as t2t' TOKENS=4096 ACCUMULATE=8 TRAIN_FLAGS=...
#
# RECIPE=best (best.mk) also lower-cases the text and splits it into words as Moses does, the form
# in which results on this corpus are published; translations and scores are in that form, too.
#
# DATA contains train.LANG.gz, val.LANG.gz and test_2016_flickr.LANG.gz (Multi30k, Elliott et al.
# 2016, licence: research): the folder data/task1/raw of https://github.com/multi30k/dataset.

#: DATA folder of Multi30k
#: MOSES command that makes words of Moses; its last word is the language
NAME       := multi30k
include $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))best.mk)
DATA       ?= data/multi30k
MOSES      ?= $(dir $(firstword $(MAKEFILE_LIST)))moses-lower
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
training  += | $(MOSES)
in_words   = | $(MOSES) $*
tokenized  = --tokenize none --force
utility    = --tokenize none
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
