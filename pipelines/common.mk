# common.mk - what every pipeline has: how its commands run, where the tools are, and help. Included last, since help is not the goal of a make without one.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# The tools of this tree when it is built, else those in PATH.
BIN := $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))../build/bin)
export PATH := $(if $(BIN),$(abspath $(BIN)):)$(PATH)

help: ## list the targets and settings
	@sed -n 's/^\([a-z-]*\):.*## */\1\t/p' $(MAKEFILE_LIST) | expand -t12
	@sed -n 's/^\([A-Z_]*\) *?= *\(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t16

.PHONY: help
