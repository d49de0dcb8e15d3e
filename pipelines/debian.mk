# debian.mk - package descriptions, English to a language of Debian's translators that puts spaces
# between words. apt fetches the indices into a private directory (the system's apt state does not
# change), and debian-pairs extracts a parallel corpus: about 40,000 (de) to 60,000 (fr) pairs, and
# fewer in scripts other than Latin, whose paragraphs stay whole.
#
#     make -f pipelines/debian.mk [PAIR=en-fr]   needs apt and its package sources
#     make -f pipelines/debian.mk DATA=DIR       existing {train,dev,test}.en-XX.{en,XX}.gz
#
# A published model of that pair (tf-convert(1)) continues on the corpus and is compared with what
# it was, also on another test set, OTHER.en and OTHER.XX (recipes.mk has its settings):
#
#     make -f pipelines/debian.mk PAIR=en-pt_BR MODEL=enpt.tfm OTHER=flores tuning

#: DATA folder with the corpus; empty: made with apt
#: MODEL model that `tuning` continues
#: OTHER stem of the other test set of `tuning`
#: TUNE_FLAGS options of tf-train for `tuning`; empty: those of recipes.mk
NAME       := debian
NEEDED     := $(if $(filter tuning,$(MAKECMDGOALS)),MODEL OTHER)
NEEDS      := tuning continues that model, and scores it on OTHER, too
DATA       ?=
MODEL      ?=
OTHER      ?=
TUNE_FLAGS ?=
VOCAB_SIZE ?= 8000
VOCAB_TYPE ?= unigram
PRESET     ?= tiny
TOKENS     ?= 4000
STEPS      ?= 8000
SAVE_EVERY ?= 200
AVERAGE    ?= 8
TRAIN_FLAGS ?= --warmup 2000 --lr-scale 2.5 --dropout 0.2

include $(or $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))experiment.mk), \
    $(error $(strip $(MAKEFILE_LIST)): make reads no path with a blank; cd into that folder))
HERE := $(dir $(firstword $(MAKEFILE_LIST)))

ifdef DATA
$(WORK)/train.%: $(DATA)/train.$(PAIR).%.gz
	gzip -dc $< >$@.part
	$(whole)
$(WORK)/dev.%: $(DATA)/dev.$(PAIR).%.gz
	gzip -dc $< >$@.part
	$(whole)
$(WORK)/test.%: $(DATA)/test.$(PAIR).%.gz
	gzip -dc $< >$@.part
	$(whole)
else
$(if $(filter en,$S),,$(error PAIR=$(PAIR): the descriptions are translated from English (en)))
$(TEXTS) &: $(WORK)/indices
	mkdir -p $(WORK)/pairs
	python3 $(HERE)debian-pairs $(WORK)/Packages $(WORK)/Translation-$S $(WORK)/Translation-$T $T \
	    $(WORK)/pairs
	sync $(WORK)/pairs/*
	mv $(WORK)/pairs/* $(WORK)
endif

# apt with a state of its own; the system's lists do not change.
APT = -o Dir::State='$(abspath $(WORK))/apt' -o Dir::State::status=/dev/null \
      -o Dir::Cache='$(abspath $(WORK))/apt' -o Acquire::Languages=$S,$T \
      -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false -o APT::Sandbox::User=root
# Of all archives: the main one need not be the first.
index = apt-get indextargets $(APT) --format '$$(FILENAME)' 'Created-By: $(1)' $(2) | \
        xargs -r -d '\n' /usr/lib/apt/apt-helper $(APT) cat-file
$(WORK)/indices: $(WORK)/source.settings
	mkdir -p $(WORK)/apt/lists/partial $(WORK)/apt/archives/partial
	apt-get $(APT) -q update
	$(call index,Packages,'Component: main') >$(WORK)/Packages
	for l in $S $T; do \
	    $(call index,Translations,'Component: main' "Language: $$l") >$(WORK)/Translation-$$l; \
	    test -s $(WORK)/Translation-$$l; \
	done
	touch $@

tuning: $(TEXTS) ## continue MODEL on the corpus; BLEU before and after, also on OTHER
	$(jobs)$(MAKE) -f $(HERE)recipes.mk $@ $(call pass,MODEL PAIR $(if $(TUNE_FLAGS),TUNE_FLAGS)) \
	    TEST=$(call for_make,$(OTHER)) WORK=$(RESULTS)/tuning \
	    DOMAIN=$(WORK)/train DOMAIN_DEV=$(WORK)/dev DOMAIN_TEST=$(WORK)/test
.PHONY: tuning
