# text.mk - your own parallel text. TRAIN, DEV and TEST are file stems: STEM.en and STEM.de, or
# STEM.en.gz and STEM.de.gz. TRAIN may list several, and a pattern such as 'news/*' stands for all
# stems that it matches. A file in place of a stem has both sides, separated by a tab, plain or .gz;
# FIELDS are the numbers of the two in each line.
#
#     make -f pipelines/text.mk PAIR=en-de TRAIN='news/2011 subtitles/all' \
#         DEV=news/2012 TEST=news/2013
#     make -f pipelines/text.mk PAIR=en-de TRAIN=all.tsv DEV=dev.tsv TEST=test.tsv
#
# The settings suit tens of thousands of pairs and take about 10 minutes on two cores; tf-howto(7)
# has advice for other sizes. An empty setting is the preset's. For hundreds of thousands of pairs
# and a few hours:
#
#     make -f pipelines/text.mk ... VOCAB_SIZE=16000 PRESET=C-d256 TOKENS=8000 STEPS=20000 \
#         SAVE_EVERY=500 AVERAGE=8 TRAIN_FLAGS='--warmup 4000 --lr-scale 2 --dropout 0.2'
#
# For millions see wmt14.mk.

#: TRAIN text to train on
#: DEV development set
#: TEST test set
#: FIELDS fields of both sides, in files that have them
NAME       := text
NEEDED     := TRAIN DEV TEST
NEEDS       = a stem; STEM.$S and STEM.$T, plain or .gz, or a file of both with tabs
EXAMPLE    := PAIR=en-de TRAIN='news/2011 subtitles/all' DEV=news/2012 TEST=news/2013
TRAIN      ?=
DEV        ?=
TEST       ?=
FIELDS     ?= 1 2
VOCAB_SIZE ?= 8000
VOCAB_TYPE ?= unigram
PRESET     ?= tiny
TOKENS     ?=
STEPS      ?=
SAVE_EVERY ?=

include $(or $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))experiment.mk), \
    $(error $(strip $(MAKEFILE_LIST)): make reads no path with a blank; cd into that folder))

# $(call side,STEMS,LANGUAGE): the existing files, plain or .gz.
side = $(foreach s,$1,$(firstword $(wildcard $s.$2 $s.$2.gz) $(call both,$s)))
stem = $(or $(sort $(patsubst %.$S,%,$(patsubst %.gz,%,$(wildcard $1.$S $1.$S.gz)))), \
    $(sort $(call both,$1)),$1)
# The files of a pattern that have both sides: those that are no folders.
both = $(filter-out $(patsubst %/.,%,$(wildcard $1/.)),$(wildcard $1))
right = $(foreach f,$(FIELDS),$(if $(call is_number,$f,3),$f))
$(if $(filter 2-2,$(words $(FIELDS))-$(words $(right))),, \
    $(error FIELDS=$(FIELDS): two numbers from 1 are required))
$(foreach v,$(NEEDED),$(eval stems.$v := $$(foreach s,$$($v),$$(call stem,$$s))) \
    $(call readable,$v,$(stems.$v),$(in_no_text)) \
    $(call readable,$v,$(foreach s,$(stems.$v), \
    $(and $(findstring [,$s),$(wildcard $(subst [,\[,$s $s.*)),$s)),[))
# As the settings of the training name them.
texts      = $(if $(word 100,$(stems.TRAIN)),$(TRAIN) texts:$(words $(stems.TRAIN)),$(stems.TRAIN))
ifneq ($(goals),)
$(foreach v,$(NEEDED),$(foreach s,$(stems.$v),$(foreach l,$S $T,$(if $(call side,$s,$l),, \
    $(error $v=$s: neither $s.$l nor $s.$l.gz exists)))))
$(foreach v,$(NEEDED),$(foreach l,$S $T,$(call keep,$(call side,$(stems.$v),$l),$(TEXTS))))
endif
ifneq ($(strip $(foreach v,$(NEEDED),$(call both,$(stems.$v)))),)
source   += $(FIELDS)
training += | --fields $(FIELDS)
endif
# What `all` ends with.
define ending
@echo "translations of the test set: $(RESULTS)/test.out"
@echo "to translate other text:"
@echo "    tf-tokenize -m $(RESULTS)/model.tfm <FILE |"
@echo "        tf-decode $(decoding) |"
@echo "        tf-tokenize -d -m $(RESULTS)/model.tfm"
endef
# $(call text,PART,SETTING): concatenate the files of a setting, each with as many lines as its
# partner. sed adds a missing LF to the last line.
define text
files.$2 = $(foreach s,$(stems.$2),$s $(call side,$s,$S) $(call side,$s,$T))
$(WORK)/$1.$S $(WORK)/$1.$T &: $(sort $(foreach l,$S $T,$(call side,$(stems.$2),$l))) \
    $(WORK)/files.$2.settings
	rm -f $(WORK)/$1.$S.part $(WORK)/$1.$T.part
	read_file() { case $$$$1 in *.gz) gzip -dc -- "$$$$1" ;; *) cat <"$$$$1" ;; esac; }; \
	add() { read_file "$$$$1" | sed '$$$$a\' | tee -a "$$$$2.part" | $(lines); }; \
	tr ' ' '\n' <$(WORK)/files.$2.settings \
	| while read -r stem && read -r source && read -r target; do \
	    if [ "$$$$source" = "$$$$target" ]; then \
	        read_file "$$$$source" | LC_ALL=C awk -F '\t' -v name="$2=$$$$stem" \
	            -v s=$(word 1,$(FIELDS)) -v t=$(word 2,$(FIELDS)) \
	            -v source=$(WORK)/$1.$S.part -v target=$(WORK)/$1.$T.part ' \
	            NF < s || NF < t { \
	                print name ": line " NR " has " NF " of the fields " s " and " t >"/dev/stderr"; \
	                exit 1 } \
	            { print $$$$s >>source; print $$$$t >>target }'; \
	    else \
	        s=$$$$(add "$$$$source" $(WORK)/$1.$S); \
	        t=$$$$(add "$$$$target" $(WORK)/$1.$T); \
	        [ $$$$s = $$$$t ] || { \
	            echo "$2=$$$$stem: $$$$s lines of $S, $$$$t of $T" >&2; exit 1; }; \
	    fi; \
	done
	touch $(WORK)/$1.$S.part $(WORK)/$1.$T.part
	$$(call whole,$(WORK)/$1.$S $(WORK)/$1.$T)
endef
$(eval $(call text,train,TRAIN))
$(eval $(call text,dev,DEV))
$(eval $(call text,test,TEST))
