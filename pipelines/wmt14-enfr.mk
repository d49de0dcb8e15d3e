# wmt14-enfr.mk - the paper's English-French experiment: 36 million pairs according to the paper
# (the concatenation below has 40.8 million), 32,000 pieces, batches of 25,000 tokens per side.
#
#     make -f pipelines/wmt14-enfr.mk                   base
#     make -f pipelines/wmt14-enfr.mk PRESET=big-enfr   big with dropout 0.1: 300,000 steps,
#                                                       average of the last 20

NAME    := wmt14
PAIR    := en-fr
VOCAB_SIZE ?= 32000
STEPS   ?= $(if $(filter big%,$(PRESET)),300000,100000)
AVERAGE ?= $(if $(filter big%,$(PRESET)),20,5)
URLS     = $(BASE)/wmt13/training-parallel-europarl-v7.tgz \
           $(BASE)/wmt13/training-parallel-commoncrawl.tgz \
           $(BASE)/wmt13/training-parallel-un.tgz $(BASE)/wmt14/training-parallel-nc-v9.tgz \
           $(BASE)/wmt10/training-giga-fren.tar $(BASE)/wmt14/dev.tgz $(BASE)/wmt14/test-full.tgz
TRAIN    = training/europarl-v7.fr-en commoncrawl.fr-en un/undoc.2000.fr-en \
           training/news-commentary-v9.fr-en giga-fren.release2.fixed
DEV      = dev/newstest2013
TEST     = test-full/newstest2014-fren

include $(dir $(lastword $(MAKEFILE_LIST)))wmt14.mk

# The giga corpus is compressed inside its archive.
$(DATA)/unpacked: $(DATA)/giga
$(DATA)/giga: $(DATA)/training-giga-fren.tar
	tar -C $(DATA) -xf $<
	gunzip -f $(DATA)/giga-fren.release2.fixed.en.gz $(DATA)/giga-fren.release2.fixed.fr.gz
	touch $@
