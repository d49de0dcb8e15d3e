# wmt14.mk - shared by the paper's En-De and En-Fr experiments: download, unpack, join. Included by
# wmt14-ende.mk and wmt14-enfr.mk.
#
# DATA is the folder for the archives of the WMT 2014 translation task (statmt.org/wmt14);
# `make download` fetches them with curl. sgml-pairs, which needs python3, reads the test sets.
# `make small SMALL=PREFIX` tries all steps on your own text, PREFIX.S and PREFIX.T, without the
# archives.

DATA    ?= data/wmt14
BASE    ?= https://www.statmt.org
CURL    ?= curl -fL --retry 5 -C - -o
SMALL   ?=
# The runs of all presets and dialects share the text, the vocabulary and the streams in WORK.
RESULTS ?= $(WORK)/$(PRESET)$(if $(filter t2t,$(DIALECT)),-t2t)

include $(dir $(lastword $(MAKEFILE_LIST)))experiment.mk
source += $(SMALL)
HERE := $(dir $(firstword $(MAKEFILE_LIST)))

ARCHIVES := $(notdir $(URLS))
download: $(addprefix $(DATA)/,$(ARCHIVES)) ## fetch the archives (several GB)

$(DATA):
	mkdir -p $@
# Some servers report an error when a complete .part is resumed, so test the archive first.
define fetch
$(DATA)/$(notdir $(1)): | $(DATA)
	tar -tf $$@.part >/dev/null 2>&1 || $(CURL) $$@.part $(1)
	$$(whole)
endef
$(foreach u,$(URLS),$(eval $(call fetch,$(u))))

$(DATA)/unpacked: $(addprefix $(DATA)/,$(ARCHIVES))
	for a in $(filter %.tgz,$^); do tar -C $(DATA) -xf $$a; done
	touch $@

ifdef SMALL
ifneq ($(goals),)
$(call keep,$(SMALL).$S $(SMALL).$T,$(TEXTS))
endif
$(WORK)/train.%: $(SMALL).%
	tail -n +201 $< >$@.part
	$(whole)
$(WORK)/dev.%: $(SMALL).%
	head -n 100 $< >$@.part
	$(whole)
$(WORK)/test.%: $(SMALL).%
	sed -n 101,200p $< >$@.part
	$(whole)
else
small: need_prefix
need_prefix:
	@echo 'make small SMALL=PREFIX: PREFIX.$S and PREFIX.$T are required' >&2; exit 2

# Both sides together, so that lines stay parallel. Drops pairs with an empty side, and CRs; tabs
# become spaces.
$(WORK)/train.$S $(WORK)/train.$T &: $(DATA)/unpacked | $(WORK)
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

$(WORK)/dev.$S $(WORK)/dev.$T: $(WORK)/dev.%: $(DATA)/unpacked | $(WORK)
	cp $(DATA)/$(DEV).$* $@.part
	$(whole)
$(WORK)/test.$S $(WORK)/test.$T &: $(DATA)/unpacked | $(WORK)
	python3 $(HERE)sgml-pairs $(DATA)/$(TEST)-src.$S.sgm $(DATA)/$(TEST)-ref.$T.sgm \
	    $(WORK)/test.$S.part $(WORK)/test.$T.part
	$(call whole,$(WORK)/test.$S $(WORK)/test.$T)
endif

.PHONY: download need_prefix
