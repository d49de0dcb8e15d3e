# common.mk - shared by all pipelines: the shell, the tools' location, and help.
# Included after the settings and before the rules.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# What make or the shell would read as more than a part of a name is refused.
is_name = $(shell LC_ALL=C; n=$(call quote,$1); n=$${n//[^[:ascii:]]/a}; \
    [[ $$n =~ ^[[:alnum:]._/+@~-]+$$ ]] && echo yes)
quote = '$(subst ','\'',$1)'
$(foreach v,$(if $(DATA),DATA) WORK RESULTS,$(if $(filter undefined,$(origin $v)),,$(if \
    $(call is_name,$($v)),,$(error $v=$($v): a name of letters, digits and ._/+@~- is required))))
# $(call readable,SETTING,FILES,SIGNS): refuse names that would be something else in a rule.
readable = $(foreach f,$2,$(foreach c,$3,$(if $(findstring $c,$f), \
    $(error $1=$f: make reads no file name with '$c'))))
in_no_rule := : ; |
# In the text of a rule that is made by $(eval), these are something else, too.
in_no_text := $(in_no_rule) = \ \# $$
# Of a list of what to try nothing may be left.
$(foreach v,ROWS BEAMS ALPHAS DROPOUTS ATTENTION_DROPOUTS RATES,$(if $(filter undefined, \
    $(origin $v)),,$(if $(strip $($v)),,$(error $v=: at least one is required))))
# $(call is_number,TEXT,N): from 1 on, of at most 1 + N digits.
is_number = $(shell [[ '$1' =~ ^[1-9][0-9]{0,$2}$$ ]] && echo yes)
# The same number to make's recipes, bash and the tools: without k or M, and without a leading 0.
$(foreach v,STEPS SAVE_EVERY AVERAGE RANKS THREADS,$(if $($v),$(if $(call is_number,$($v),11),, \
    $(error $v=$($v): a number from 1, written in digits, is required))))
$(foreach v,SEED SEEDS TEACHERS MEAN,$(foreach s,$($v), \
    $(if $(filter 0,$s)$(call is_number,$s,17),, \
    $(error $v=$($v): each has to be a number, written in digits))))
$(if $(filter $(words $(SEEDS)),$(words $(sort $(SEEDS)))),, \
    $(error SEEDS=$(SEEDS): different numbers are required))
S := $(firstword $(subst -, ,$(PAIR)))
T := $(lastword $(subst -, ,$(PAIR)))
$(if $(PAIR),$(if $(and $(filter 2,$(words $(subst -, ,$(PAIR)))),$(filter-out $S,$T)),, \
    $(error PAIR=$(PAIR): two languages such as en-de are required)))

# The tokenizer of tf-bleu: that of the language, and characters for those whose own it lacks.
tokenized = $(if $(filter ja ko,$T),--tokenize char,--language-pair $S-$T)

# The tools of this tree, if it is built, come before those of the system. What PATH names before
# the system's folders comes first: stages of your own.
BIN := $(wildcard $(dir $(lastword $(MAKEFILE_LIST)))../build/bin)
system := /usr/local/sbin|/usr/local/bin|/usr/sbin|/usr/bin|/sbin|/bin
export PATH := $(shell set -f; IFS=:; bin=$(call quote,$(abspath $(BIN))); p=; for d in $$PATH; do \
    case $$d in ($(system)) p+=$${bin:+:$$bin}; bin= ;; esac; p+=:$$d; \
    done; p+=$${bin:+:$$bin}; echo "$${p:1}")
swapped = $(shell PATH='$(PATH)'; for own in $(BIN:%=%/tf-*); do tool=$$(type -P $${own/*\/}); \
    [ "$$tool" -ef $$own ] || echo "$$tool"; done)

# awk, sort and printf read and write numbers with a point.
export LC_ALL := C.UTF-8

# If a tool has no --output, the recipe writes to $@.part and ends with $(whole), which renames it,
# so that a killed recipe never leaves a file that looks finished. $(call whole,FILES) for several.
whole = for f in $(or $1,$@); do sync $$f.part; mv $$f.part $$f; done
# $(call allow_bad,COMMAND): continue after status 4, unless BAD=fail: some lines were bad, the
# output is complete, and the tools have printed how many.
BAD ?= warn
$(if $(filter |warn| |fail|,|$(BAD)|),,$(error BAD=$(BAD): warn or fail is required))
allow_bad = { $1; } || { status=$$?; [ $$status,$(BAD) = 4,warn ] || exit $$status; }
# A text, and $(call pass,NAMES): settings, as another make is given them.
for_make = $(call quote,$(subst $$,$$$$,$1))
pass = $(foreach v,$1,$v=$(call for_make,$($v)))
threads := $(if $(THREADS),--threads $(THREADS))

# NAME.settings contains the variable NAME, and is rewritten only if that changes: by make itself,
# for thousands of names are too long for a command, but not by make -n. Make 4.3 sometimes reads
# the end of the last line as a part of the text.
%.settings: FORCE
	@$(if $(call same,$(wildcard $@) $(file <$@),$@ $($(*F))),,$(write_part)$(whole))
same = $(call same_words,.$(strip $1),.$(strip $2))
same_words = $(and $(findstring $1,$2),$(findstring $2,$1))
write_part = $(if $(jobs),$(shell mkdir -p $(@D))$(file >$@.part,$($(*F))))
# $(call as_before,SETTINGS,RUN): refuse others than those in the file if that training has begun.
# The message lists the options that differ.
as_before = $(if $(and $(wildcard $1),$(wildcard $2/*.tfm)), \
    $(call refuse_others,$1,$2,$($(basename $(notdir $1)))))
refuse_others = $(if $(call same,$(file <$1),$3),, \
    were=$$(<$1 $(by_option)); are=$$(<<<$(call quote,$3) $(by_option)); \
    only() { grep -vxFf <(echo "$$2") <<<"$$1" | paste -sd ' ' || :; }; \
    old=$$(only "$$were" "$$are") new=$$(only "$$are" "$$were"); \
    case $$old,$$new in (,*) old="without $$new" ;; (*,?*) old="$$old, not $$new" ;; esac; \
    echo "$2 was trained with different settings ($$old); use another WORK, or remove $2" >&2; \
    exit 2)
by_option = sed 's/: /\n/; s/ | / /g; s/ \(--*[a-z]\)/\n\1/g' | sed '1s/ /\n/g' \
    | awk 'NF && !seen[$$0]++'
# $(call same_text,STEM,RUN): the same for a text, whose sum is in the target once the training has
# ended; until then tf-train compares.
same_text = [ -z "$(wildcard $2/*.tfm)" ] || [ ! -s $@ ] || $(call sum,$1) | cmp -s - $@ || { \
    echo "$2 was trained on another text; use another WORK, or remove $2" >&2; exit 2; }
sum = cat $1.$S $1.$T | sha256sum

# $(call known,COMMAND): refuse what the tool calls wrong options. No file need be there yet.
known = why=$$($1 2>&1 </dev/null) || [ $$? != 2 ] || { echo "$$why" >&2; exit 2; }

# $(jobs) begins a recipe line whose $(MAKE) comes from a variable: it shares the jobs of make -j.
# Under make -n, -q and -t it stays empty, because make would run such a line.
jobs = $(if $(strip $(foreach x,n q t,$(findstring $x,$(firstword -$(MAKEFLAGS))))),,+)

# Recipes print the file that they make, with $(say), and what the tools print; V=1 shows the
# commands, -s not even the files.
V ?=
ifeq ($(V),)
.SILENT:
endif
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,$(info $@))

# A setting is a variable that is assigned with `?=` and never with `=`, and explained by a line
# "#: NAME text" of which the first counts. NEEDED lists those without a default, NEEDS says what
# they are, and EXAMPLE sets them.
#: BAD lines that cannot be processed: warn, or fail
#: V 1 shows the commands
help: ## list the targets, and the settings with their values
	@sed -n '$(foreach t,$(hidden),/^$t:/d;)s/^\([a-z-]*\):.*## */\1\t/p' $(MAKEFILE_LIST) \
	    | expand -t12
	@$(foreach v,$(filter-out $(fixed),$(settings)), \
	    printf '  %-12s  %s\n' $v $(call quote,$(or $($v),$(word_for_empty))); \
	    sed -n 's/^#: $v /                    /p' $(MAKEFILE_LIST) | head -n 1;)
	@$(if $(EXAMPLE),echo; echo $(call quote,example: $(this) $(EXAMPLE)))
this = make -f $(firstword $(MAKEFILE_LIST))
word_for_empty = $(if $(filter $v,$(NEEDED)),(needed: $(NEEDS)))$(if \
    $(filter $v,$(of_preset)),(by preset))$(if $(filter LAYER,$v),(the last but one))
# Targets that cannot work here: the paper's BLEU has a tokenizer for these languages only.
hidden = $(if $(filter de en fr,$T),,paper-score)
settings = $(shell sed -n 's/^\([A-Z_]*\) *?=.*/\1/p' $(MAKEFILE_LIST) | awk '!seen[$$0]++')
fixed = $(shell sed -n 's/^\([A-Z_]*\) *:*=.*/\1/p' $(MAKEFILE_LIST))
# The environment may have a MODEL or a DOMAIN that is none of this pipeline's.
$(foreach v,$(filter $(settings),TRAIN DEV TEST SMALL MONO MODEL OTHER DOMAIN DOMAIN_DEV \
    DOMAIN_TEST),$(call readable,$v,$($v),$(in_no_rule)))

goals := $(filter-out help,$(or $(MAKECMDGOALS),all))

# Refuse misspelt settings. Only those of the user's own command line are examined: a make that runs
# this one passes its variables too. Lower-case variables of these files are for tests.
given = $(foreach v,$(.VARIABLES),$(if $(filter command,$(origin $v)),$v))
inner = $(shell sed -n 's/^\([a-z_]*\) *:*=.*/\1/p' $(MAKEFILE_LIST))
ifneq ($(and $(filter 0,$(MAKELEVEL)),$(goals)),)
unknown := $(filter-out $(filter-out $(fixed),$(settings)) $(inner) BIN V SHELL,$(given))
$(if $(unknown),$(error $(sort $(unknown)): no such setting; \
    `$(this) help` lists them))
# Many systems export these names, and a run would overwrite files there.
$(foreach v,WORK DATA RESULTS,$(if $(filter environment,$(origin $v)), \
    $(error $v is set in the environment: give it on the command line, or unset it)))
endif

$(foreach g,$(filter $(hidden),$(goals)),$(error $g: only for German, English and French, not $T))

ifneq ($(goals),)
$(foreach v,$(NEEDED),$(if $($v),,$(error $v= is needed: $(NEEDS))))
endif

ifneq ($(and $(filter 0,$(MAKELEVEL)),$(goals)),)
$(foreach tool,$(swapped),$(info $(tool): the first in PATH))
endif

# One make at a time makes the text of a WORK. Another waits until this one ends or removes the lock
# (`prepared` in experiment.mk), which a process holds that ends with make and what a killed one has
# left: `held` is in the environment of that. The makes that this one runs in the same WORK need no
# lock. Without /proc nothing says whether the lock was removed.
lock := $(WORK:%/=%).lock
ifneq ($(and $(WORK),$(filter-out small sweep,$(goals)),$(jobs)),)
ifneq ($(firstword $(held)),$(WORK))
$(shell mkdir -p $(dir $(lock)) 2>/dev/null || :; \
    mine() { [ ! -e /dev/fd/9 ] || [ $(lock) -ef /dev/fd/9 ]; }; \
    while { exec 9>>$(lock); } 2>/dev/null; do \
        flock -w 1 9 || { echo 'waiting for the make that is at work in $(WORK)' >&2; flock 9; }; \
        ! mine || break; \
    done; \
    { while mine && { kill -0 $$PPID || grep -qszFx "held=$(WORK) $$PPID" /proc/[0-9]*/environ; }; \
        do sleep 0.1; done; ! mine || rm $(lock); } >/dev/null 2>&1 &)
unlock := @rm -f $(lock)
export held := $(WORK) $(shell echo $$PPID)
endif
endif

FORCE:
.PHONY: FORCE help
# None of these is the default goal.
.DEFAULT_GOAL :=
