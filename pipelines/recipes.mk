# recipes.mk - four ways to more from the same text, each scored beside the plain model: text of the
# target language alone (back-translation), a fast student of a slow teacher (distillation), text of
# one domain (tuning), several seeds (ensemble). TRAIN, DEV and TEST are as in text.mk, which trains
# every model here with the same settings; a model that one recipe has made the others take.
#
#     make -f pipelines/recipes.mk PAIR=en-de TRAIN=train DEV=dev TEST=test MONO=more.de \
#         back-translation
#     make -f pipelines/recipes.mk PAIR=en-de TRAIN=train DEV=dev TEST=test distillation ensemble
#     make -f pipelines/recipes.mk PAIR=en-de TRAIN=train DEV=dev TEST=test DOMAIN=news \
#         DOMAIN_DEV=news-dev DOMAIN_TEST=news-test tuning
#
# Back-translation: a model of the other direction samples a source for each line of MONO (Edunov et
# al., 2018), and a model trains on both. Distillation: the plain model translates the sources of
# TRAIN, and a small model trains on what it wrote (Kim and Rush, 2016); beside it are the same
# small model without a teacher, and the time that one thread takes for the test set. Tuning: the
# plain model continues on DOMAIN, and the best model by BLEU on DOMAIN_DEV is kept; MODEL, such as
# a published one (tf-convert(1)), takes the place of the plain model, and TRAIN and DEV are not
# needed then. Ensemble: models of SEEDS translate together, by the mean of their probabilities.
#
# make -jN trains up to N models at the same time, each on all CPUs unless THREADS gives it fewer.

#: TRAIN text to train on
#: DEV development set
#: TEST test set
#: MONO files of the target language alone, plain or .gz
#: DOMAIN text of the domain to tune to: a stem
#: DOMAIN_DEV its development set
#: DOMAIN_TEST its test set
#: MODEL model to tune; empty: one that is trained on TRAIN
#: FIELDS fields of both sides, in files that have them
#: PAIR languages, from-to
#: WORK folder for everything
#: STUDENT options of the small model
#: SEEDS seeds of the ensemble, besides that of the plain model
#: TUNE_FLAGS options of tf-train for tuning
#: PRESET model and recipe: a row of the paper's tables, or tiny
#: VOCAB_SIZE pieces of the vocabulary
#: TOKENS tokens of a batch on each side
#: STEPS updates
#: SAVE_EVERY updates from one checkpoint to the next
#: AVERAGE checkpoints that are averaged
#: TRAIN_FLAGS more options of tf-train
#: DECODE_FLAGS more options of tf-decode
#: SAMPLE_FLAGS those of tf-decode --sample, for back-translation
#: THREADS threads of each tool; empty: the available CPUs
NEEDED      := $(if $(MODEL),,TRAIN DEV) TEST
NEEDS        = a stem; STEM.$S and STEM.$T, plain or .gz, or a file of both with tabs
EXAMPLE     := PAIR=en-de TRAIN=train DEV=dev TEST=test distillation
TRAIN       ?=
DEV         ?=
TEST        ?=
MONO        ?=
DOMAIN      ?=
DOMAIN_DEV  ?=
DOMAIN_TEST ?=
MODEL       ?=
FIELDS      ?= 1 2
PAIR        ?= en-de
WORK        ?= run/recipes-$(PAIR)
STUDENT     ?= --encoder-layers 2 --decoder-layers 1 --decoder-self ssru
SEEDS       ?= 2 3
TUNE_FLAGS  ?= --steps 400 --save-every 50 --patience 3
PRESET      ?= tiny
VOCAB_SIZE  ?= 8000
# Those of text.mk or the preset, if they are empty.
TOKENS      ?=
STEPS       ?=
SAVE_EVERY  ?=
AVERAGE     ?=
TRAIN_FLAGS ?=
DECODE_FLAGS ?=
SAMPLE_FLAGS ?=
THREADS     ?=
of_preset := TOKENS STEPS SAVE_EVERY AVERAGE

here := $(dir $(lastword $(MAKEFILE_LIST)))
include $(or $(wildcard $(here)common.mk), \
    $(error $(strip $(MAKEFILE_LIST)): make reads no path with a blank; cd into that folder))
# $(call need,NAMES,FOR)
need = $(foreach v,$1,$(if $($v),,$(error $v= is needed for $2)))
.DEFAULT_GOAL := help

# $(call text,NAME,SETTINGS,FILES): text.mk in a folder of that name, by default for the target.
# Of a setting that is given twice make takes the last.
text = $(MAKE) -f $(here)text.mk WORK=$(WORK)/$1 RESULTS=$(WORK)/$1 \
    $(call pass,PAIR TRAIN DEV TEST FIELDS PRESET VOCAB_SIZE TRAIN_FLAGS DECODE_FLAGS \
    $(foreach v,TOKENS STEPS SAVE_EVERY AVERAGE THREADS,$(if $($v),$v))) SEEDS= $2 $(or $3,$@)
# $(call scores,FILE,REFERENCE,NAMES): BLEU of a translation in each of these folders, and the
# chance that it differs from the first by so much.
scores = cd $(WORK); tf-bleu --paired-bs -f text -w 2 $2 -i $(3:%=%/$1.out) | sed -n '1,/^╘/p'
# $(call translate,MODELS,TEXT,FLAGS): FLAGS in place of DECODE_FLAGS.
translate = $(say)$(call allow_bad,tf-tokenize -m $(firstword $1) $2 \
    | tf-decode $(1:%=-m %) $(threads) $(or $3,$(DECODE_FLAGS)) \
    | tf-tokenize -d -m $(firstword $1) -o $@)
# $(call files,STEMS): what stems copies, as far as it is there.
files = $(wildcard $(foreach s,$1,$(foreach l,$S $T,$s.$l $s.$l.gz)))
# What is in tuning.settings, mono.settings, taught.settings and decoding.settings. A training with
# others needs another folder; of another search come other translations.
tuning   = $(PAIR) $(DOMAIN) $(DOMAIN_DEV) $(DOMAIN_TEST) $(TEST) $(MODEL): $(batch) $(TUNE_FLAGS)
mono     = $(MONO) $(SAMPLE_FLAGS)
taught   = $(DECODE_FLAGS)
decoding = $(DECODE_FLAGS)
batch    = --preset $(PRESET) $(if $(TOKENS),--tokens $(TOKENS))
$(WORK)/tuning.settings: | tunable
tunable:
	$(call need,DOMAIN DOMAIN_DEV DOMAIN_TEST,tuning)
	$(foreach v,DOMAIN DOMAIN_DEV DOMAIN_TEST $(if $(MODEL),TEST),$(if $(word 2,$($v)), \
	    $(error $v=$($v): one stem is required)))
	$(if $(and $(MODEL),$(wildcard $(WORK)/plain/run)), \
	    $(error WORK=$(WORK) has a plain model of its own: MODEL=$(MODEL) needs another folder))
	$(call as_before,$(WORK)/tuning.settings,$(WORK)/tuned)
	$(call known,tf-train --plan --valid none $(TUNE_FLAGS))
$(WORK)/mono.settings: | trainable
trainable:
	$(call need,MONO,back-translation)
	$(call as_before,$(WORK)/mono.settings,$(WORK)/back/run)
	$(call known,tf-decode - -m $(WORK)/none --sample $(SAMPLE_FLAGS))
$(WORK)/taught.settings: | teachable
teachable:
	$(call as_before,$(WORK)/taught.settings,$(WORK)/student/run)
	$(call known,tf-train --plan --valid none --preset $(PRESET) $(TRAIN_FLAGS) $(STUDENT))
.PHONY: tunable trainable teachable

# $(call copy,FILES,TO): gzip copies a file that is not its own, sed ends the last line.
copy = gzip -dcf $1 | sed '$$a\' >$2.part; $(call whole,$2)

# $(call stems,FOLDER,NAME=STEM ...): copy both sides of each text.
stems = mkdir -p $1; for l in $S $T; do for d in $(foreach d,$2,$(call quote,$d)); do \
        f=$${d\#*=}.$$l; [ -e "$$f" ] || f=$$f.gz; $(call copy,"$$f",$1/$${d%%=*}.$$l); \
    done; done

# The plain model, its translation of the test set, and the texts as text.mk has them; or MODEL.
ifeq ($(MODEL),)
$(WORK)/plain/model.tfm $(WORK)/plain/test.out &: FORCE
	$(jobs)$(call text,plain,,$(@D)/model.tfm $(@D)/test.out)
else
$(WORK)/plain/model.tfm: $(MODEL) $(call files,$(TEST)) $(WORK)/tuning.settings
	$(call stems,$(@D),test=$(TEST))
	cp $(call quote,$(MODEL)) $@.part
	$(whole)
$(WORK)/plain/test.out: $(WORK)/plain/model.tfm $(WORK)/decoding.settings
	$(call translate,$<,$(WORK)/plain/test.$S)
endif

# The prerequisites of a rule with a recipe come first: what is missing is named before training.

# ---- back-translation ----
back-translation: $(WORK)/plain/test.out
back-translation: $(WORK)/mono.$T $(WORK)/back/test.out ## with the text MONO of the target
	@$(call scores,test,plain/test.$T,plain back)
$(WORK)/reverse/model.tfm: FORCE
	$(jobs)$(call text,reverse,PAIR=$T-$S)
$(WORK)/mono.$T: $(MONO) $(WORK)/mono.settings
	$(call copy,$(foreach f,$(filter-out %.settings,$+),$(call quote,$f)),$@)
$(WORK)/mono.$S: $(WORK)/mono.$T $(WORK)/reverse/model.tfm
	$(call translate,$(WORK)/reverse/model.tfm,$<,--sample $(SAMPLE_FLAGS))
$(WORK)/back/test.out: $(WORK)/mono.$S FORCE
	$(jobs)$(call text,back,TRAIN=$(call for_make,$(TRAIN) $(WORK)/mono))

# ---- distillation ----
distillation: $(WORK)/plain/test.out $(WORK)/student/test.out
distillation: teachable $(WORK)/small/test.out ## a fast student of the plain model
	@$(call scores,test,plain/test.$T,plain student small)
	@for m in plain student; do \
	    tf-tokenize -m $(WORK)/$$m/model.tfm $(WORK)/plain/test.$S >$(WORK)/$$m/test.tfs; \
	    TIMEFORMAT="$$m: %U s for the test set on one thread"; \
	    time tf-decode -q -m $(WORK)/$$m/model.tfm --threads 1 $(DECODE_FLAGS) \
	        $(WORK)/$$m/test.tfs >/dev/null; \
	done
$(WORK)/taught.$T: $(WORK)/plain/model.tfm $(WORK)/taught.settings
	$(call translate,$<,$(WORK)/plain/train.$S)
$(WORK)/taught.$S: $(WORK)/taught.$T
	$(call copy,$(WORK)/plain/train.$S,$@)
student = TRAIN_FLAGS=$(call for_make,$(strip $(TRAIN_FLAGS) $(STUDENT)))
$(WORK)/student/test.out: $(WORK)/taught.$S FORCE
	$(jobs)$(call text,student,TRAIN=$(WORK)/taught $(student))
$(WORK)/small/test.out: $(WORK)/plain/model.tfm FORCE
	$(jobs)$(call text,plain,RESULTS=$(@D) $(student))

# ---- tuning ----
tuning: $(addprefix $(WORK)/,plain/test.out tuned/test.out plain/domain.out tuned/domain.out)
tuning: $(WORK)/domain/copied ## continue on the text of a DOMAIN
	@echo "test set of the domain:"
	@$(call scores,domain,domain/test.$T,plain tuned)
	@echo "test set:"
	@$(call scores,test,plain/test.$T,plain tuned)
$(WORK)/domain/copied: $(call files,$(DOMAIN) $(DOMAIN_DEV) $(DOMAIN_TEST)) $(WORK)/tuning.settings
	$(call stems,$(@D),train=$(DOMAIN) dev=$(DOMAIN_DEV) test=$(DOMAIN_TEST))
	touch $@
# No target is best.tfm, which make would delete when the run is interrupted.
tuned := $(WORK)/tuned/trained
$(tuned): $(WORK)/domain/copied $(WORK)/plain/model.tfm
	$(say)$(call same_text,$(<D)/train,$(@D))
	model=$(WORK)/plain/model.tfm; train=$(<D)/train; dev=$(<D)/dev; \
	for d in $$train $$dev; do \
	    $(call allow_bad,tf-tokenize -m $$model -o $$d.$S.tfs $$d.$S); \
	    $(call allow_bad,tf-tokenize -m $$model --target -o $$d.$T.tfs $$d.$T); \
	done; \
	tf-batch $(batch) --no-shuffle -o $$dev.tfs $$dev.$S.tfs $$dev.$T.tfs; \
	tf-batch $(batch) --epochs 0 $$train.$S.tfs $$train.$T.tfs \
	| tf-train --init $$model --seed 2 --keep 1 --valid $$dev.tfs $(threads) $(TUNE_FLAGS) \
	    -o $(WORK)/tuned --valid-command 'tf-decode -q -m $$TF_MODEL $(threads) $(<D)/dev.$S.tfs | \
	        tf-tokenize -d -m $$TF_MODEL | tf-bleu -b -w 2 $(<D)/dev.$T'
	$(call sum,$(<D)/train) >$@.part; $(whole)
$(addprefix $(WORK)/,plain/domain.out tuned/domain.out tuned/test.out): $(WORK)/decoding.settings
$(WORK)/plain/domain.out: $(WORK)/plain/model.tfm $(WORK)/domain/copied
	$(call translate,$<,$(WORK)/domain/test.$S)
$(WORK)/tuned/domain.out: $(tuned)
	$(call translate,$(WORK)/tuned/best.tfm,$(WORK)/domain/test.$S)
$(WORK)/tuned/test.out: $(tuned) $(WORK)/plain/test.out
	$(call translate,$(WORK)/tuned/best.tfm,$(WORK)/plain/test.$S)

# ---- an ensemble: other seeds, with the text and the vocabulary of the plain model ----
ensemble: $(WORK)/plain/test.out $(SEEDS:%=$(WORK)/seed-%/test.out)
ensemble: $(WORK)/ensemble/test.out ## models of several SEEDS
	@$(call scores,test,plain/test.$T,plain $(SEEDS:%=seed-%) ensemble)
seeds := $(SEEDS:%=$(WORK)/seed-%/model.tfm)
$(WORK)/seed-%/model.tfm $(WORK)/seed-%/test.out: $(WORK)/plain/model.tfm FORCE
	$(jobs)$(call text,plain,RESULTS=$(@D) SEED=$*,$(@D)/model.tfm $(@D)/test.out)
$(WORK)/ensemble/test.out: $(WORK)/plain/model.tfm $(seeds) $(WORK)/plain/test.out \
    $(WORK)/seeds.settings
	mkdir -p $(@D)
	$(call translate,$(filter %.tfm,$^),$(WORK)/plain/test.$S)

# Such a model repeats its most frequent piece, which may be a blank, and nothing is left for the
# student: so no piece comes twice.
no_piece_twice := --max-extra 2 --min-length 3 --no-repeat-ngram 1
small: ## try all steps in seconds: tiny models, 4 updates; the scores mean nothing
	$(MAKE) -f $(firstword $(MAKEFILE_LIST)) WORK=$(WORK)-small VOCAB_SIZE=200 STEPS=4 \
	    SAVE_EVERY=4 AVERAGE=1 TOKENS=1000 SEEDS=2 TRAIN_FLAGS='--warmup 30 --d-model 16' \
	    STUDENT='--layers 1' TUNE_FLAGS='--steps 2 --save-every 1' \
	    DECODE_FLAGS='$(no_piece_twice)' SAMPLE_FLAGS='$(no_piece_twice)' \
	    back-translation distillation tuning ensemble

.PHONY: back-translation distillation tuning ensemble small
