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
# $(call text,PART,SETTING,LANGUAGE): concatenate the files of a setting. sed adds a missing LF to
# the last line.
define text
$(WORK)/$1.$3: $(call side,$($2),$3) $(WORK)/$2.settings
	for f in $(call side,$($2),$3); do \
	    case $$$$f in *.gz) gzip -dc "$$$$f" ;; *) cat "$$$$f" ;; esac | sed '$$$$a\'; \
	done >$$@.part
	$$(whole)
endef
$(foreach l,$S $T,$(eval $(call text,train,TRAIN,$l)))
$(foreach l,$S $T,$(eval $(call text,dev,DEV,$l)))
$(foreach l,$S $T,$(eval $(call text,test,TEST,$l)))

# Both sides must have the same number of lines; report that before a day of training.
$(WORK)/vocab.model: | $(WORK)/paired
$(WORK)/paired: $(TEXTS)
	for d in train dev test; do \
	    s=$$(wc -l <$(WORK)/$$d.$S) t=$$(wc -l <$(WORK)/$$d.$T); \
	    [ $$s = $$t ] || { echo "$$d: $$s lines of $S, $$t of $T" >&2; exit 1; }; \
	    echo "$$d: $$s pairs"; \
	done
	touch $@
