# wmt14-ende.mk - the paper's English-German experiment: 4.5 million pairs, a joint vocabulary of
# 37,000 pieces, batches of 25,000 tokens per side.
#
#     make -f pipelines/wmt14-ende.mk               base: 100,000 steps, average of the last 5
#     make -f pipelines/wmt14-ende.mk PRESET=big    big: 300,000 steps, average of the last 20
#     make -f pipelines/wmt14-ende.mk DIALECT=t2t   as tensor2tensor: 250,000 steps, average of the
#                                                   last 20; see experiment.mk
#
# The second run takes the text, the vocabulary and the streams of the first.
# The paper's BLEU is computed on tokenised text with split compounds: `make ... paper-score`;
# score.json has sacreBLEU's.

NAME    := wmt14
PAIR    := en-de
VOCAB_SIZE ?= 37000
corpora := europarl commoncrawl news
CORPORA ?= $(corpora)

include $(or $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))wmt14.mk), \
    $(error $(strip $(MAKEFILE_LIST)): make reads no path with a blank; cd into that folder))
