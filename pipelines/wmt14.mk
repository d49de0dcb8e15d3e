# wmt14.mk - what the paper's En-De and En-Fr experiments share: download, unpack, join. Included by wmt14-ende.mk and wmt14-enfr.mk.
#
# DATA collects the archives of the WMT 2014 translation task (statmt.org/wmt14); `make download` fetches them with curl.

DATA    ?= data/wmt14
BASE    ?= https://www.statmt.org
CURL    ?= curl -fL --retry 5 -C - -o

include $(dir $(lastword $(MAKEFILE_LIST)))experiment.mk

ARCHIVES := $(notdir $(URLS))
download: $(addprefix $(DATA)/,$(ARCHIVES)) ## fetch the archives (several GB)

$(DATA):
	mkdir -p $@
define fetch
$(DATA)/$(notdir $(1)): | $(DATA)
	$(CURL) $$@.part $(1) && mv $$@.part $$@
endef
$(foreach u,$(URLS),$(eval $(call fetch,$(u))))

$(DATA)/unpacked: $(addprefix $(DATA)/,$(ARCHIVES))
	for a in $^; do tar -C $(DATA) -xf $$a; done
	touch $@

# Both sides at once, so that lines stay together: pairs with an empty side, and carriage returns, go.
$(WORK)/train.$S: $(DATA)/unpacked | $(WORK)
	for f in $(TRAIN); do paste <(tr -d '\r\t' <$(DATA)/$$f.$S) <(tr -d '\r\t' <$(DATA)/$$f.$T); done \
	| awk -F '\t' -v s=$@ -v t=$(WORK)/train.$T 'NF == 2 && $$1 != "" && $$2 != "" { print $$1 >s; print $$2 >t }'
$(WORK)/train.$T: $(WORK)/train.$S
	@test -s $@

# The tests are SGML: one <seg> a line.
seg = sed -n 's/.*<seg id="[0-9]*">\(.*\)<\/seg>.*/\1/p'
$(WORK)/dev.$S: $(DATA)/unpacked | $(WORK)
	cp $(DATA)/$(DEV).$S $@
$(WORK)/dev.$T: $(DATA)/unpacked | $(WORK)
	cp $(DATA)/$(DEV).$T $@
$(WORK)/test.$S: $(DATA)/unpacked | $(WORK)
	$(seg) $(DATA)/$(TEST)-src.$S.sgm >$@
$(WORK)/test.$T: $(DATA)/unpacked | $(WORK)
	$(seg) $(DATA)/$(TEST)-ref.$T.sgm >$@

# A trial of every step on a text of one's own, in the shape of the real one.
small: ## the same steps on SMALL.S and SMALL.T (plain text), tiny model, 20 steps
	test -n '$(SMALL)' || { echo 'make small SMALL=PREFIX: PREFIX.$S and PREFIX.$T are wanted' >&2; exit 2; }
	mkdir -p $(WORK)-small
	for l in $S $T; do tail -n +201 $(SMALL).$$l >$(WORK)-small/train.$$l; head -n 100 $(SMALL).$$l >$(WORK)-small/dev.$$l; \
	    sed -n 101,200p $(SMALL).$$l >$(WORK)-small/test.$$l; done
	$(MAKE) -f $(firstword $(MAKEFILE_LIST)) WORK=$(WORK)-small VOCAB_SIZE=2000 PRESET=tiny STEPS=20 SAVE_EVERY=10 AVERAGE=2 TOKENS=2000 \
	    TRAIN_FLAGS='--warmup 30' -o $(DATA)/unpacked -o $(WORK)-small/train.$S -o $(WORK)-small/train.$T -o $(WORK)-small/dev.$S -o $(WORK)-small/dev.$T \
	    -o $(WORK)-small/test.$S -o $(WORK)-small/test.$T

.PHONY: download
