# common.mk - what every pipeline has: how its commands run, where the tools are, and help.
# Included after the settings and before the rules.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

$(foreach v,WORK DATA,$(if $(word 2,$($v)),$(error $v=$($v): a name without spaces is wanted)))

# The tools of this tree when it is built, else those in PATH.
BIN := $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))../build/bin)
export PATH := $(if $(BIN),$(abspath $(BIN)):)$(PATH)

# Where a tool has no --output, a recipe writes to $@.part and ends with $(whole), which gives the file its name:
# what a killed recipe leaves behind never looks finished. $(call whole,FILES) for several.
whole = for f in $(or $1,$@); do sync $$f.part; mv $$f.part $$f; done
quote = '$(subst ','\'',$1)'

# A setting has `?=`, in this Makefile or in one that it includes, and no other value that is fixed.
help: ## list the targets, and the settings with their values
	@sed -n 's/^\([a-z-]*\):.*## */\1\t/p' $(MAKEFILE_LIST) | expand -t12
	@$(foreach v,$(filter-out $(fixed),$(settings)), \
	    printf '  %-12s  %s\n' $v $(call quote,$(or $($v),$(if $(filter $v,$(NEEDED)),(needed))));)
settings = $(shell sed -n 's/^\([A-Z_]*\) *?=.*/\1/p' $(MAKEFILE_LIST) | awk '!seen[$$0]++')
fixed = $(shell sed -n 's/^\([A-Z_]*\) *:*=.*/\1/p' $(MAKEFILE_LIST))

FORCE:
.PHONY: FORCE help
# Not the goal of a make without one.
.DEFAULT_GOAL :=
