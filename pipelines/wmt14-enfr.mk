# wmt14-enfr.mk - the paper's English-French experiment: 36 million pairs according to the paper
# (the concatenation below has 40.8 million), 32,000 pieces, batches of 25,000 tokens per side.
#
#     make -f pipelines/wmt14-enfr.mk                   base
#     make -f pipelines/wmt14-enfr.mk PRESET=big-enfr   big with dropout 0.1: 300,000 steps,
#                                                       average of the last 20
#
# The second run takes the text, the vocabulary and the streams of the first.
#
# The paper's word pieces (Wu et al. 2016) are chosen one by one, each the one that most increases
# the likelihood of the training text, over about 500 characters, and a word is cut into the longest
# pieces from its left. SentencePiece cannot train these. Its unigram vocabulary also maximises the
# likelihood, of the same 32,000 pieces with a sign for the start of a word, but removes pieces from
# a larger set, chooses characters by their share of the text (--character-coverage, here 0.9995),
# and cuts a word into the most probable pieces. VOCAB_TYPE=bpe chooses one by one, by frequency.

NAME    := wmt14
PAIR    := en-fr
VOCAB_SIZE ?= 32000
VOCAB_TYPE ?= unigram
corpora := europarl commoncrawl un news giga
CORPORA ?= $(corpora)

include $(or $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))wmt14.mk), \
    $(error $(strip $(MAKEFILE_LIST)): make reads no path with a blank; cd into that folder))
