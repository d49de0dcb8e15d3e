# parsing.mk - constituency parsing as translation (paper, section 6.3): words in, brackets and tags out, F1 of the trees made of them.
#
#     make -f pipelines/parsing.mk TRAIN='wsj/02-21.mrg' DEV=wsj/22.mrg TEST=wsj/23.mrg
#
# TRAIN, DEV and TEST are treebanks in the brackets of the Penn Treebank, plain or .gz; TRAIN takes any number of them. Traces and function tags are taken out.
# Decoding is the paper's: beam 21, alpha 0.3, at most 300 pieces more than the input. The model is small, trained in 39 minutes on two cores beside other work, and a trial: it loses count of the
# words of most sentences. (18,000 trees of the CRAFT treebank: 91.4 % of the pieces right on the development set when told those before, F1 30.9 over the 3,707 of 3,872 test sentences that
# EVALB scores, 29.3 when the others count as misses; a Xeon with AVX-512, 22 November 2026. Without tf-tree's -p it scores 855 of them, the easy ones: 68.6, and 9.4 with the misses.)
# The paper's is
#
#     make -f pipelines/parsing.mk ... PRESET=parse-wsj DIALECT=paper VOCAB_SIZE=16000 VOCAB_TYPE=bpe TOKENS=25000 TRAIN_FLAGS=
#
# (parse-semi and 32000 for the semi-supervised one), with dropout and learning rate chosen on the development set.

NAME       := parsing
PAIR       := words-tags
WORK       ?= run/parsing
NEEDED     := TRAIN DEV TEST
TRAIN      ?=
DEV        ?=
TEST       ?=
PRESET     ?= tiny
DIALECT    ?= t2t
VOCAB_SIZE ?= 6000
VOCAB_TYPE ?= unigram
TOKENS     ?= 4000
STEPS      ?= 6000
SAVE_EVERY ?= 200
AVERAGE    ?= 8
MAX_LENGTH ?= 512
BEAM       ?= 21
ALPHA      ?= 0.3
DECODE_FLAGS ?= --max-extra 300
TRAIN_FLAGS  ?= --warmup 1000 --lr-scale 0.4 --dropout 0.1
SMALL_SETTINGS := VOCAB_SIZE=1000 BEAM=2 DECODE_FLAGS='--max-extra 20'

include $(dir $(lastword $(MAKEFILE_LIST)))experiment.mk
.DEFAULT_GOAL := parse

ifneq ($(filter-out help,$(or $(MAKECMDGOALS),parse)),)
$(foreach v,$(NEEDED),$(if $($v),,$(error $v= is needed: a treebank, plain or .gz)))
endif

# All lengths, COLLINS.prm. It leaves punctuation out by its tags, so a tree with such a tag in the wrong place has another number of words: EVALB calls that an error
# and leaves the sentence out, which its report counts.
EVALB := tf-evalb --max-error 1000000 --bad ok

parse: $(WORK)/f1.json $(WORK)/curve.svg ## train, parse, score
	@echo
	@tf-info $(WORK)/model.tfm | sed -n '1,4p'
	@echo "test set:"; $(EVALB) $(WORK)/test.trees $(WORK)/test.parsed 2>/dev/null | sed -n '/Summary/,$$p'
	@echo "trees: $(WORK)/test.parsed"
	@echo "learning curve: $(WORK)/curve.svg"

# $(call treebank,PART,SETTING): its trees, one a line, of the files in that setting, and of these the words and the sequences.
define treebank
$(WORK)/$1.trees: $($2) $(WORK)/$2.settings
	for f in $($2); do case $$$$f in *.gz) gzip -dc "$$$$f" ;; *) cat "$$$$f" ;; esac | tf-tree -c; done >$$@.part
	$$(whole)
$(WORK)/$1.words $(WORK)/$1.tags &: $(WORK)/$1.trees
	tf-tree -l -w $(WORK)/$1.words -o $(WORK)/$1.tags $$<
endef
$(eval $(call treebank,train,TRAIN))$(eval $(call treebank,dev,DEV))$(eval $(call treebank,test,TEST))

$(WORK)/test.parsed: $(WORK)/test.out $(WORK)/test.words
	tf-tree -r -p -w $(WORK)/test.words -o $@ $(WORK)/test.out

$(WORK)/f1.json: $(WORK)/test.trees $(WORK)/test.parsed
	$(EVALB) --json $^ >$@.part
	$(whole)
