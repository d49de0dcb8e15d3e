# wmt14.mk - shared by the paper's En-De and En-Fr experiments: download, unpack, join. Included by
# wmt14-ende.mk and wmt14-enfr.mk.
#
# DATA is the folder for the archives of the WMT 2014 translation task (statmt.org/wmt14), and for
# the files that are unpacked from them, with the names they have there. An archive is fetched with
# curl only if a file of it is missing; `make download` fetches all of them. CORPORA: the training
# corpora to use. sgml-pairs, which needs python3, reads the test sets. `make small SMALL=PREFIX`
# tries all steps on your own text, PREFIX.S and PREFIX.T, without the archives.

#: DATA folder for the archives and the files in them
#: BASE address of the archives
#: CURL command that fetches a file: its last words are the file and the address
#: SMALL text for a trial: PREFIX, for PREFIX.en ...
#: CORPORA training corpora
DATA    ?= data/wmt14
BASE    ?= https://www.statmt.org
CURL    ?= curl -fL --retry 5 -C - -o
SMALL   ?=
# The runs of all presets and dialects share the text, the vocabulary and the streams in WORK.
RESULTS ?= $(WORK)/$(PRESET)$(if $(filter t2t,$(DIALECT)),-t2t)

include $(dir $(lastword $(MAKEFILE_LIST)))experiment.mk
source += $(SMALL)
HERE := $(dir $(firstword $(MAKEFILE_LIST)))

# Archive, and stem of the files in it.
of.europarl    := wmt13/training-parallel-europarl-v7.tgz training/europarl-v7.$T-$S
of.commoncrawl := wmt13/training-parallel-commoncrawl.tgz commoncrawl.$T-$S
of.un          := wmt13/training-parallel-un.tgz un/undoc.2000.$T-$S
of.news        := wmt14/training-parallel-nc-v9.tgz training/news-commentary-v9.$T-$S
of.giga        := wmt10/training-giga-fren.tar giga-fren.release2.fixed
of.dev         := wmt14/dev.tgz dev/newstest2013
of.test        := wmt14/test-full.tgz test-full/newstest2014-$T$S
archive = $(DATA)/$(notdir $(firstword $(of.$1)))
stem    = $(lastword $(of.$1))
files   = $(addprefix $(stem),$(if $(filter test,$1),-src.$S.sgm -ref.$T.sgm,.$S .$T))
# $(call data,PARTS): the unpacked files.
data    = $(addprefix $(DATA)/,$(foreach p,$1,$(call files,$p)))

ifneq ($(goals),)
$(foreach c,$(or $(filter-out $(corpora),$(CORPORA)),$(if $(CORPORA),,none)), \
    $(error CORPORA=$(CORPORA): one or more of $(corpora) are required))
endif
TRAIN   = $(foreach c,$(CORPORA),$(call stem,$c))
parts_used := $(sort $(CORPORA)) dev test
download: $(foreach p,$(parts_used),$(call archive,$p)) ## fetch the archives (several GB)

$(DATA):
	mkdir -p $@
# $(call alone,FILE): wait until no other make with this DATA is making FILE, nor what one that was
# killed has left. The lock is removed once there is nothing more to make.
alone = exec 9>>$1.lock; \
    flock -w 1 9 || { echo 'waiting for the make that is at work on $1' >&2; flock 9; }
# Some servers report an error when a complete .part is resumed, so test the archive first. Files
# without their archive are complete: they are renamed once they are unpacked.
define unpack
$(call archive,$1): | $(DATA)
	$$(say)$$(call alone,$$@); \
	[ -e $$@ ] || { \
	    tar -tf $$@.part >/dev/null 2>&1 || $(CURL) $$@.part $(BASE)/$(firstword $(of.$1)); \
	    $$(whole); }; \
	rm -f $$@.lock
$(call data,$1) &: $(if $(filter-out $(wildcard $(call data,$1)),$(call data,$1)), \
    $(call archive,$1),$(wildcard $(call archive,$1)))
	$$(say)$$(call alone,$(DATA)/$1); \
	for f in $(call data,$1); do [ $$$$f -nt $$< ] || old=$$$$f; done; \
	[ "$$$${old-}" ] || { rm -f $(DATA)/$1.lock; exit; }; \
	rm -rf $(DATA)/$1.part; mkdir $(DATA)/$1.part; \
	tar -C $(DATA)/$1.part --wildcards -xmf $$< $(patsubst %,'*%*',$(call files,$1)); \
	cd $(DATA)/$1.part; for f in $(call files,$1); do \
	    [ ! -e $$$$f.gz ] || gunzip $$$$f.gz; \
	    sync $$$$f; mkdir -p ../$$$$(dirname $$$$f); mv $$$$f ../$$$$f; \
	done; \
	cd ..; rm -r $1.part; rm -f $1.lock
# A make that is interrupted while it waits removes nothing.
.PRECIOUS: $(call archive,$1) $(call data,$1)
endef
$(foreach p,$(parts_used),$(eval $(call unpack,$p)))

ifdef SMALL
ifneq ($(goals),)
$(call keep,$(SMALL).$S $(SMALL).$T,$(TEXTS))
endif
$(WORK)/train.%: $(SMALL).%
	tail -n +201 "$<" >$@.part
	$(whole)
$(WORK)/dev.%: $(SMALL).%
	head -n 100 "$<" >$@.part
	$(whole)
$(WORK)/test.%: $(SMALL).%
	sed -n 101,200p "$<" >$@.part
	$(whole)
else
small: need_prefix
need_prefix:
	@echo 'make small SMALL=PREFIX: PREFIX.$S and PREFIX.$T are required' >&2; exit 2

# Both sides together, so that lines stay parallel. Drops pairs with an empty side, and CRs; tabs
# become spaces.
$(WORK)/train.$S $(WORK)/train.$T &: $(call data,$(CORPORA)) $(WORK)/TRAIN.settings
	rm -f $(WORK)/train.$T.part
	for f in $(TRAIN); do \
	    LC_ALL=C awk -v f=$$f -v out=$(WORK)/train.$T.part ' \
	        function plain(s) { gsub(/\r/, "", s); gsub(/\t/, " ", s); return s } \
	        (got = (getline t <"/dev/fd/3")) != 1 { exit } \
	        { $$0 = plain($$0); t = plain(t) } \
	        $$0 != "" && t != "" { print; print t >>out } \
	        END { if ((NR && got != 1) || (getline t <"/dev/fd/3") != 0) { \
	            print f ": $S and $T have different numbers of lines" >"/dev/stderr"; exit 1 } }' \
	        $(DATA)/$$f.$S 3<$(DATA)/$$f.$T; \
	done >$(WORK)/train.$S.part
	$(call whole,$(WORK)/train.$S $(WORK)/train.$T)

$(WORK)/dev.$S $(WORK)/dev.$T: $(WORK)/dev.%: $(DATA)/$(call stem,dev).%
	cp $< $@.part
	$(whole)
$(WORK)/test.$S $(WORK)/test.$T &: $(call data,test)
	python3 $(HERE)sgml-pairs $(call data,test) $(WORK)/test.$S.part $(WORK)/test.$T.part
	$(call whole,$(WORK)/test.$S $(WORK)/test.$T)
endif

.PHONY: download need_prefix
