# parsing.mk - constituency parsing as translation (paper, section 6.3): from words to brackets and
# tags; scored by the F1 of the restored trees.
#
#     make -f pipelines/parsing.mk TRAIN='wsj/02-21.mrg' DEV=wsj/22.mrg TEST=wsj/23.mrg [SMALL=1]
#
# TRAIN, DEV and TEST are treebanks in Penn Treebank brackets, plain or .gz; each may list several,
# and have patterns such as 'wsj/*.mrg'. Traces and function tags are removed. Decoding follows the
# paper: beam 21, alpha 0.3, at most 300 pieces more than the input. The model is the paper's,
# PRESET=parse-semi for the semi-supervised one. The paper chose dropout (of sublayers and of
# attention weights), learning rate and beam on the development set: `make sweep` does so; make -jN
# tries N models at the same time, each on all CPUs unless THREADS gives it fewer. `make search`
# tries beams and alphas with the trained model. DIALECT=t2t has the batches, updates and mean of
# experiment.mk, and sentences of 512 tokens with the end.
#
# SMALL=1 is for treebanks and machines of a tenth of the paper's. Its sequences have the words in
# place of the tags (BRACKETS=words, see tf-tree(1)): a small model that writes tags alone loses
# count of the words in most sentences (tests/bench/RESULTS.md). Its beam is 4, and its alpha 1, for
# with 0.3 long sentences lose words; several models (SEEDS) gain from BEAM=12. CONSTRAIN=1 makes
# the words of the output those of the input: decoding then only inserts brackets, at most 12 in a
# row.

#: TRAIN treebanks to train on
#: DEV treebank of the development set
#: TEST treebank of the test set
#: SMALL 1: for treebanks and machines of a tenth of the paper's
#: BRACKETS closing brackets, see tf-tree(1)
#: CONSTRAIN 1: the output has the words of the input
#: DROPOUTS dropout, as tried by sweep
#: ATTENTION_DROPOUTS dropout of attention weights, as tried by sweep
#: RATES learning rates, or factors on the preset's, as tried by sweep
#: BEAMS beam sizes, as tried by sweep and search
NAME       := parsing
PAIR       := words-tags
WORK       ?= run/parsing
NEEDED     := TRAIN DEV $(if $(filter sweep,$(MAKECMDGOALS)),,TEST)
NEEDS      := a treebank, plain or .gz
EXAMPLE    := TRAIN=wsj/02-21.mrg DEV=wsj/22.mrg TEST=wsj/23.mrg
TRAIN      ?=
DEV        ?=
TEST       ?=
SMALL      ?=
PRESET     ?= $(if $(SMALL),tiny,parse-wsj)
BRACKETS   ?= $(if $(SMALL),words,slash)
VOCAB_SIZE ?= $(if $(SMALL),4000,$(if $(filter parse-semi,$(PRESET)),32000,16000))
VOCAB_TYPE ?= bpe
VOCAB_FLAGS ?= --mixed-scripts
ifneq ($(SMALL),)
TOKENS     ?= 4000
STEPS      ?= 7000
AVERAGE    ?= 4
endif
SAVE_EVERY ?= $(if $(SMALL),250,1000)
MAX_LENGTH ?= $(if $(t2t),511,512)
BEAM       ?= $(call chosen,1,$(if $(SMALL),4,21))
ALPHA      ?= $(call chosen,2,$(if $(SMALL),1,0.3))
CONSTRAIN  ?=
DECODE_FLAGS ?= --max-extra 300
rate = $(if $(SMALL),--lr,--lr-scale)
TRAIN_FLAGS  ?= $(if $(SMALL),--schedule linear --lr 0.005 --lr-end 0 --warmup 1000 --dropout 0.1)
# The sweep's values: --dropout, --attention-dropout, $(rate), --beam.
DROPOUTS   ?= 0.1 0.2 0.3
ATTENTION_DROPOUTS ?= 0 0.2
RATES      ?= $(if $(SMALL),0.0025 0.005 0.01,0.5 1 2)
BEAMS      ?= 4 21
ALPHAS     ?= 0 0.3 0.6
SMALL_SETTINGS := SMALL=1 VOCAB_SIZE=1000 BEAM=2 DECODE_FLAGS='--max-extra 20'

include $(or $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))experiment.mk), \
    $(error $(strip $(MAKEFILE_LIST)): make reads no path with a blank; cd into that folder))
source += $(BRACKETS)
.DEFAULT_GOAL := parse

# All sentence lengths, COLLINS.prm. EVALB ignores punctuation by its tags, so a tree with a
# misplaced punctuation tag has a different number of words: an error, and the sentence is excluded.
EVALB := tf-evalb --max-error 1000000 --bad ok

parse: $(RESULTS)/f1.json $(RESULTS)/curve.svg ## train, parse, score
	@echo
	@tf-info $(RESULTS)/model.tfm | sed -n '1,4p'
	@echo "test set:"
	@$(EVALB) $(WORK)/test.trees $(RESULTS)/test.parsed 2>/dev/null | sed -n '/Summary/,$$p'
	@echo "trees: $(RESULTS)/test.parsed"
	@echo "learning curve: $(RESULTS)/curve.svg"

# Files for the shell, which matches patterns: thousands of names are too long for a command.
listed = $(foreach f,$1,$(if $(findstring *,$f)$(findstring ?,$f)$(findstring [,$f),$f,\
    $(call quote,$f)))
# $(call treebank,PART,SETTING): which files a setting has, their trees, one per line, and the words
# and sequences of those.
define treebank
files.$2 = $$(foreach f,$$($2),$$(or $$(sort $$(wildcard $$f)),$$f))
$(WORK)/$1.trees: $($2) $(WORK)/files.$2.settings
	$$(say)for f in $(call listed,$($2)); do \
	    $$(call allow_bad,tf-tree -c "$$$$f"); \
	done >$$@.part
	$$(whole)
$(WORK)/$1.words $(WORK)/$1.tags &: $(WORK)/$1.trees
	$$(call allow_bad,tf-tree -l -b $(BRACKETS) -w $(WORK)/$1.words -o $(WORK)/$1.tags \
	    $(WORK)/$1.trees)
endef
ifneq ($(goals),)
$(call keep,$(TRAIN) $(DEV) $(TEST), \
    $(foreach p,train dev test,$(WORK)/$p.trees $(WORK)/$p.words $(WORK)/$p.tags))
endif
$(foreach v,$(NEEDED),$(call readable,$v,$($v),$(in_no_text)))
$(eval $(call treebank,train,TRAIN))
$(eval $(call treebank,dev,DEV))
$(eval $(call treebank,test,TEST))

$(WORK)/brackets.tfs: $(WORK)/train.tags $(WORK)/vocab.model
	@[ $(BRACKETS) = words ] || { echo 'CONSTRAIN needs BRACKETS=words' >&2; exit 2; }
	grep -o '[()][^ ]*' $< | sort -u | tf-tokenize -m $(WORK)/vocab.model -o $@
ifneq ($(CONSTRAIN),)
decode_flags += --insert $(WORK)/brackets.tfs --max-insert 12
$(RESULTS)/test.out $(kinds:%=$(RESULTS)/device.%.out) $(searches): $(WORK)/brackets.tfs
endif

$(RESULTS)/test.parsed: $(RESULTS)/test.out $(WORK)/test.words
	$(call allow_bad,tf-tree -r -p -b $(BRACKETS) -w $(WORK)/test.words -o $@ $(RESULTS)/test.out)

$(RESULTS)/f1.json: $(WORK)/test.trees $(RESULTS)/test.parsed
	$(EVALB) --json $^ >$@.part
	$(whole)

# A sentence that EVALB does not score counts as missed.
f1    = sed 's/.*failures_as_misses.*"f1":\([^}]*\).*/\1/'
score = $(call allow_bad,tf-tree -r -p -b $(BRACKETS) -w $(WORK)/dev.words \
	-o $1.trees $1); \
	$(EVALB) --json $(WORK)/dev.trees $1.trees | $(f1)
score_name := F1

# ---- sweep: every DROPOUTS x ATTENTION_DROPOUTS x RATES is trained, decoded with each of BEAMS and
# scored on DEV ----
sweep := $(foreach d,$(DROPOUTS),$(foreach a,$(ATTENTION_DROPOUTS),$(foreach r,$(RATES),$d-$a-$r)))
# Run this file on texts and streams that all share; the vocabulary needs some test set.
on_dev = $(MAKE) -f $(firstword $(MAKEFILE_LIST)) WORK=$(WORK)/sweep/data \
    TEST=$(call for_make,$(DEV)) SEEDS=
shared := $(corpus) dev.words.tfs dev.tfs $(if $(CONSTRAIN),brackets.tfs)

sweep: $(sweep:%=$(WORK)/sweep/%/f1.txt) ## train and score all DROPOUTS ... on the development set
	@row() { printf '%-8s %-10s %-6s %-5s %s\n' "$$@"; }; \
	row dropout attention rate beam F1; \
	sort -k5,5 -rn $^ | while read -r d a r b f; do row $$d $$a $$r $$b $$f; done

sweep-data:
	$(jobs)$(on_dev) planned= $(shared:%=$(WORK)/sweep/data/%)

# A number may be 1e-3.
nth = $(subst e~,e-,$(word $1,$(subst -, ,$(subst e-,e~,$*))))
tried = --dropout $(call nth,1) --attention-dropout $(call nth,2) $(rate) $(call nth,3)
of_beams = $(BEAMS:%=$(@D)/search/%-$(ALPHA).txt)
$(WORK)/sweep/%/f1.txt: sweep-data
	mkdir -p $(@D)
	$(jobs)$(on_dev) RESULTS=$(@D) ALPHAS='$(ALPHA)' \
	    TRAIN_FLAGS=$(call for_make,$(TRAIN_FLAGS) $(tried)) $(of_beams) >&2
	cat $(of_beams) | while read -r b a f; do \
	    echo "$(foreach n,1 2 3,$(call nth,$n)) $$b $$f"; done >$@.part
	$(whole)

.PHONY: parse sweep sweep-data
