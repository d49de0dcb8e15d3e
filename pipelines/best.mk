# best.mk - RECIPE=best: three trainings in place of one, for PRESET=tiny and tens of thousands of
# pairs. Each continues the model of the one before:
#   1. in RESULTS/sampled, with a new segmentation of the text in each epoch (BPE dropout, Provilkov
#      et al. 2020);
#   2. in RESULTS/annealed, with the usual one, at a rate that falls to 0;
#   3. in RESULTS, at such a rate, half of the text with its references and half with what the model
#      of 2 writes: of its 12 best for each sentence the one that agrees most with the others
#      (minimum Bayes risk; Finkelstein and Freitag 2023). With TEACHERS='6 9' the models of 2 of
#      these seeds, too, in RESULTS/seed-6 and seed-9, write with it, as an ensemble.
# With MEAN='4 5' the third is done again with these seeds, in RESULTS/third-4 and third-5, from the
# same model of 2 on the same text, and the model is the mean of all (Wortsman et al. 2022).
# STEPS, SAVE_EVERY, AVERAGE and TRAIN_FLAGS are those of the third; the first two take SEED less 2
# and less 1, so other seeds are SEED=6, 9 ..., and three together SEEDS='3 6 9'.
# tests/bench/RESULTS.md has what each training gains.

#: RECIPE default, or best: three trainings in turn
#: TEACHERS with RECIPE=best, more seeds: their models of 2 choose for 3, too
#: MEAN with RECIPE=best, more seeds of the third training: the model is the mean of all
RECIPE ?= default
TEACHERS ?=
MEAN     ?=
best   := $(filter best,$(RECIPE))
$(if $(filter default best,$(RECIPE)),,$(error RECIPE=$(RECIPE): default or best is required))
ifneq ($(best),)
VOCAB_SIZE ?= 10000
VOCAB_TYPE ?= bpe
TOKENS     ?= 2500
STEPS      ?= 3000
SAVE_EVERY ?= 125
AVERAGE    ?= 8
BEAM       ?= $(call chosen,1,5)
ALPHA      ?= $(call chosen,2,1.6)
SEED       ?= 3
$(if $(stage),,$(foreach s,$(filter 0 1 2,$(SEED) $(SEEDS) $(TEACHERS)), \
    $(error SEED=$s: at least 3, for each of three trainings has its own)))
$(if $(and $(SAMPLE),$(if $(stage),,yes)), \
    $(error SAMPLE=$(SAMPLE): RECIPE=best has its own, in the first of three trainings))
TRAIN_FLAGS ?= --schedule linear --lr 0.003 --lr-end 0 --warmup 100 --dropout 0.25
third = $(RESULTS)
init = --init $(third)/annealed/model.tfm
stage.sampled = SEED=$$(($(SEED) - 2)) STEPS=4250 SAVE_EVERY=250 AVERAGE=1 SAMPLE=0.05 init= \
    TRAIN_FLAGS='--warmup 1000 --lr-scale 1.6 --dropout 0.3'
stage.annealed = SEED=$$(($(SEED) - 1)) STEPS=7500 SAVE_EVERY=250 AVERAGE=10 \
    init='--init $(RESULTS)/sampled/model.tfm' \
    TRAIN_FLAGS='--schedule linear --lr 0.003 --lr-end 0 --warmup 200 --dropout 0.25'
endif
