# text.mk - your own parallel text. TRAIN, DEV and TEST are file stems: STEM.en and STEM.de, or
# STEM.en.gz and STEM.de.gz. TRAIN may list several, and a pattern such as 'news/*' stands for all
# stems that it matches.
#
#     make -f pipelines/text.mk PAIR=en-de TRAIN='news/2011 subtitles/all' \
#         DEV=news/2012 TEST=news/2013
#
# The settings suit tens of thousands of pairs and take about 10 minutes on two cores. An empty
# setting is the preset's. For hundreds of thousands of pairs and a few hours:
#
#     make -f pipelines/text.mk ... VOCAB_SIZE=16000 PRESET=C-d256 TOKENS=8000 STEPS=20000 \
#         SAVE_EVERY=500 AVERAGE=8 TRAIN_FLAGS='--warmup 4000 --lr-scale 2 --dropout 0.2'
#
# For millions see wmt14.mk.

NAME       := text
NEEDED     := TRAIN DEV TEST
NEEDS       = a stem; STEM.$S and STEM.$T, plain or .gz
EXAMPLE    := PAIR=en-de TRAIN='news/2011 subtitles/all' DEV=news/2012 TEST=news/2013
TRAIN      ?=
DEV        ?=
TEST       ?=
VOCAB_SIZE ?= 8000
VOCAB_TYPE ?= unigram
PRESET     ?= tiny
TOKENS     ?=
STEPS      ?=
SAVE_EVERY ?=

include $(dir $(lastword $(MAKEFILE_LIST)))experiment.mk

# $(call side,STEMS,LANGUAGE): the existing files, plain or .gz.
side = $(foreach s,$1,$(firstword $(wildcard $s.$2 $s.$2.gz)))
stem = $(or $(sort $(patsubst %.$S,%,$(patsubst %.gz,%,$(wildcard $1.$S $1.$S.gz)))),$1)
$(foreach v,$(NEEDED),$(eval override $v := $(foreach s,$($v),$(call stem,$s))))
ifneq ($(goals),)
$(foreach v,$(NEEDED),$(foreach s,$($v),$(foreach l,$S $T,$(if $(call side,$s,$l),, \
    $(error $v=$s: neither $s.$l nor $s.$l.gz exists)))))
$(foreach v,$(NEEDED),$(foreach l,$S $T,$(call keep,$(call side,$($v),$l),$(TEXTS))))
endif
# $(call text,PART,SETTING): concatenate the files of a setting, each with as many lines as its
# partner. sed adds a missing LF to the last line.
define text
$(WORK)/$1.$S $(WORK)/$1.$T &: $(foreach l,$S $T,$(call side,$($2),$l)) $(WORK)/$2.settings
	rm -f $(WORK)/$1.$S.part $(WORK)/$1.$T.part
	add() { \
	    case $$$$1 in *.gz) gzip -dc "$$$$1" ;; *) cat "$$$$1" ;; esac \
	    | sed '$$$$a\' | tee -a "$$$$2.part" | $(lines); \
	}; \
	set -- $(foreach s,$($2),$s $(call side,$s,$S) $(call side,$s,$T)); \
	while [ $$$$# -gt 0 ]; do \
	    s=$$$$(add "$$$$2" $(WORK)/$1.$S); \
	    t=$$$$(add "$$$$3" $(WORK)/$1.$T); \
	    [ $$$$s = $$$$t ] || { echo "$2=$$$$1: $$$$s lines of $S, $$$$t of $T" >&2; exit 1; }; \
	    shift 3; \
	done
	$$(call whole,$(WORK)/$1.$S $(WORK)/$1.$T)
endef
$(eval $(call text,train,TRAIN))
$(eval $(call text,dev,DEV))
$(eval $(call text,test,TEST))
