#!/usr/bin/env python3
"""translate.py FILE.ptx >OUT.cc - what nvcc made of a .cu file's kernels, as C++ for the emulation.

Each PTX instruction becomes a line of C++ on variables that stand for registers; threads, warps and
shared memory are those of emulate.h. RULES, SPECIALS and DIRECTIVES are all that is known: another
instruction, directive, modifier or operand is an error, so that nothing is left out silently.
"""
import re
import sys

C = {"pred": "bool", "f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "f64": "double",
     "s8": "int8_t", "s16": "int16_t", "s32": "int32_t", "s64": "int64_t"}
for bits in (8, 16, 32, 64):
    C[f"b{bits}"] = C[f"u{bits}"] = f"uint{bits}_t"

SPECIAL = {f"%{ptx}.{axis}": f"{cuda}.{axis}" for axis in "xyz" for ptx, cuda in
           (("tid", "threadIdx"), ("ctaid", "blockIdx"), ("ntid", "blockDim"),
            ("nctaid", "gridDim"))}
SPECIAL["%laneid"] = "emulate::lane_id()"

ORDERED = {"eq": "{a} == {b}", "lt": "{a} < {b}", "le": "{a} <= {b}", "gt": "{a} > {b}",
           "ge": "{a} >= {b}"}

# Opcode; type of the result; types of the operands; result as C++. \1 is a group of the opcode.
RULES = [
    (r"mov\.(pred|[busf]\d\d)", r"\1", r"\1", "{a}"),
    (r"cvta(?:\.to)?\.(?:global|local|param)\.(u64)", r"\1", r"\1", "{a}"),
    (r"(?:add|sub|mul)(?:\.rn)?\.(f32|f64)", r"\1", r"\1 \1", "{a} {op} {b}"),
    (r"add\.rz\.(f32)", r"\1", r"\1 \1", "rounded(FE_TOWARDZERO, {a}, 1, {b})"),
    (r"(?:add|sub)\.[su](\d\d)", r"u\1", r"u\1 u\1", "{a} {op} {b}"),
    # 1u: a product of 16 bits is not an int's, which could overflow.
    (r"mul\.lo\.[su](\d\d)", r"u\1", r"u\1 u\1", "1u * {a} * {b}"),
    (r"mul\.wide\.([su])16", r"\g<1>32", r"\g<1>16 \g<1>16", "(wide){a} * (wide){b}"),
    (r"mul\.wide\.([su])32", r"\g<1>64", r"\g<1>32 \g<1>32", "(wide){a} * (wide){b}"),
    (r"mad\.lo\.[su](\d\d)", r"u\1", r"u\1 u\1 u\1", "1u * {a} * {b} + {c}"),
    (r"mad\.wide\.([su])32", r"\g<1>64", r"\g<1>32 \g<1>32 \g<1>64",
     "(wide){a} * (wide){b} + {c}"),
    (r"fma\.rn\.(f32)", r"\1", r"\1 \1 \1", "fmaf({a}, {b}, {c})"),
    (r"fma\.rn\.(f64)", r"\1", r"\1 \1 \1", "fma({a}, {b}, {c})"),
    (r"fma\.rm\.(f32)", r"\1", r"\1 \1 \1", "rounded(FE_DOWNWARD, {a}, {b}, {c})"),
    (r"div(?:\.rn)?\.(f32|f64|[su]\d\d)", r"\1", r"\1 \1", "{a} / {b}"),
    (r"rem\.([su]\d\d)", r"\1", r"\1 \1", "{a} % {b}"),
    (r"rcp\.rn\.(f32|f64)", r"\1", r"\1", "1 / {a}"),
    (r"rcp\.approx\.ftz\.(f64)", r"\1", r"\1", "1 / {a}"),
    (r"rcp\.approx\.ftz\.(f32)", r"\1", r"\1", "flushed(1 / flushed({a}))"),
    (r"sqrt\.rn\.(f32|f64)", r"\1", r"\1", "std::sqrt({a})"),
    (r"ex2\.approx\.(f32)", r"\1", r"\1", "exp2f({a})"),
    (r"ex2\.approx\.ftz\.(f32)", r"\1", r"\1", "flushed(exp2f(flushed({a})))"),
    (r"lg2\.approx\.(f32)", r"\1", r"\1", "log2f({a})"),
    (r"abs\.(f32|f64|s32|s64)", r"\1", r"\1", "std::abs({a})"),
    (r"neg\.(f32|f64)", r"\1", r"\1", "-{a}"),
    (r"neg\.s(\d\d)", r"u\1", r"u\1", "-{a}"),
    (r"copysign\.(f32)", r"\1", r"\1 \1", "std::copysign({b}, {a})"),  # a's sign
    (r"min\.(f32|f64)", r"\1", r"\1 \1", "std::fmin({a}, {b})"),
    (r"max\.(f32|f64)", r"\1", r"\1 \1", "std::fmax({a}, {b})"),
    (r"(?:min|max)\.([su]\d\d)", r"\1", r"\1 \1", "{op}({a}, {b})"),
    (r"(?:and|or|xor)\.(pred|b\d\d)", r"\1", r"\1 \1", "{a} {op} {b}"),
    (r"not\.(pred)", r"\1", r"\1", "!{a}"),
    (r"not\.(b\d\d)", r"\1", r"\1", "~{a}"),
    (r"(?:shl|shr)\.([bsu]\d\d)", r"\1", r"\1 u32", "{op}({a}, {b})"),
    (r"selp\.([bsuf]\d\d)", r"\1", r"\1 \1 pred", "{c} ? {a} : {b}"),
    (r"setp\.ne\.([bsu]\d\d)", "pred", r"\1 \1", "{a} != {b}"),
    (r"setp\.ne\.(f32|f64)", "pred", r"\1 \1", "{a} < {b} || {a} > {b}"),
    (r"setp\.equ\.(f32|f64)", "pred", r"\1 \1", "!({a} < {b} || {a} > {b})"),
    (r"setp\.neu\.(f32|f64)", "pred", r"\1 \1", "{a} != {b}"),
    (r"setp\.ltu\.(f32|f64)", "pred", r"\1 \1", "!({a} >= {b})"),
    (r"setp\.leu\.(f32|f64)", "pred", r"\1 \1", "!({a} > {b})"),
    (r"setp\.gtu\.(f32|f64)", "pred", r"\1 \1", "!({a} <= {b})"),
    (r"setp\.geu\.(f32|f64)", "pred", r"\1 \1", "!({a} < {b})"),
    (r"setp\.nan\.(f32|f64)", "pred", r"\1 \1", "{a} != {a} || {b} != {b}"),
    (r"setp\.num\.(f32|f64)", "pred", r"\1 \1", "{a} == {a} && {b} == {b}"),
    (r"cvt\.([su]\d+)\.([su]\d+)", r"\1", r"\2", "{a}"),
    (r"cvt\.rn\.(f32|f64)\.([su]\d+)", r"\1", r"\2", "{a}"),
    (r"cvt\.f64\.f32", "f64", "f32", "{a}"),
    (r"cvt\.rn\.f32\.f64", "f32", "f64", "{a}"),
    (r"cvt\.sat\.f32\.f32", "f32", "f32", "saturated({a})"),
    (r"cvt\.rzi\.f32\.f32", "f32", "f32", "std::trunc({a})"),
    (r"cvt\.rzi\.([su]\d\d)\.(f32|f64)", r"\1", r"\2", "whole<result>(std::trunc({a}))"),
    (r"cvt\.rni\.([su]\d\d)\.(f32|f64)", r"\1", r"\2", "whole<result>(std::nearbyint({a}))"),
    (r"cvt\.f32\.f16", "f32", "f16", "to_float(half{{{a}}})"),
    (r"cvt\.f32\.bf16", "f32", "bf16", "to_float(bf16{{{a}}})"),
    (r"cvt\.rn\.f16\.f32", "f16", "f32", "from_float<half>({a}).bits"),
    (r"cvt\.rn\.bf16\.f32", "bf16", "f32", "from_float<bf16>({a}).bits"),
    (r"vote\.sync\.ballot\.b32", "b32", "pred u32", "__ballot_sync({b}, {a})"),
    (r"popc\.b32", "u32", "b32", "__popc({a})"),
    (r"brev\.b32", "b32", "b32", "reversed({a})"),
    (r"bfind\.shiftamt\.u32", "u32", "u32", "{a} == 0 ? 0xffffffffu : __builtin_clz({a})"),
    (r"bfi\.(b32|b64)", r"\1", r"\1 \1 u32 u32", "inserted({a}, {b}, {c}, {d})"),
]
RULES += [(rf"setp\.{name}\.([bsu]\d\d|f32|f64)", "pred", r"\1 \1", text)
          for name, text in ORDERED.items()]
RULES = [(re.compile(rule[0]), *rule[1:]) for rule in RULES]
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "min": "min",
             "max": "max", "shl": "shifted_left", "shr": "shifted_right"}


class Unknown(Exception):
    pass


def identifier(name):
    return re.sub(r"\W", "_", name)


def braced(text):
    """The operands of {a, b}, or of a alone."""
    return [x.strip() for x in text.strip("{}").split(",")]


def operands(text):
    """Split at the commas that are in no brackets."""
    return [x.strip() for x in re.findall(r"(?:\{[^}]*\}|\[[^]]*\]|[^,])+", text)]


class Function:
    """A function of PTX. `symbols`: names that stand for an address, as C++."""

    def __init__(self, params, symbols):
        self.kinds = {}  # C type of a register, or of all %r1, %r2, ... as "%r"
        self.symbols = {**symbols, **{p: f"(uint64_t)P[{i}]" for i, p in enumerate(params)}}

    def kind(self, register):
        group = re.sub(r"\d+$", "", register)
        kind = self.kinds.get(register) or self.kinds.get(group)
        if kind is None:
            raise Unknown(f"register {register}")
        return kind

    def value(self, x, t):
        """Operand x, an expression of the C type of t."""
        c = C[t]
        if m := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", x):
            return f"as<{c}>(0x{m[1]}u)"
        if m := re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", x):
            return f"as<{c}>(0x{m[1]}ull)"
        if re.fullmatch(r"\d+|0x[0-9a-fA-F]+", x) and c not in ("float", "double"):
            return f"({c}){x}ull"
        if re.fullmatch(r"-\d+", x) and c not in ("float", "double"):
            return f"({c})({x}ll)"
        if x in SPECIAL:
            return f"({c}){SPECIAL[x]}"
        if x in self.symbols:
            return f"({c})({self.symbols[x]})"
        kind = self.kind(x)
        return f"R{x[1:]}" if kind == c else f"as<{c}>(R{x[1:]})"

    def put(self, register, expression, t):
        """A statement: register = expression, converted to t."""
        if register == "_":
            return f"(void)({expression});"
        kind, c = self.kind(register), C[t]
        if kind == c:
            return f"R{register[1:]} = ({c})({expression});"
        return f"set(R{register[1:]}, ({c})({expression}));"

    def address(self, text, space):
        m = re.fullmatch(r"\[\s*([%\w$.]+)\s*(?:\+\s*(-?\d+))?\s*\]", text)
        if not m:
            raise Unknown(f"address {text}")
        if space == "shared":
            return f"in_shared({self.value(m[1], 'u32')} + ({m[2] or 0}))"
        return f"(char *){self.value(m[1], 'u64')} + ({m[2] or 0})"

    def instruction(self, op, a):
        """C++ of instruction op on operands a."""
        if op == "mov.b32" or op == "mov.b64":
            if "{" in "".join(a):
                return self.repack(op[-3:], *a)
        for pattern, result, types, text in RULES:
            if m := pattern.fullmatch(op):
                types = m.expand(types).split()
                if len(a) != 1 + len(types):
                    break
                values = dict(zip("abcd", map(self.value, a[1:], types)))
                t = m.expand(result)
                text = text.format(op=OPERATORS.get(op.split(".")[0]), **values)
                text = text.replace("(wide)", f"({C[t]})").replace("<result>", f"<{C[t]}>")
                return self.put(a[0], text, t)
        for pattern, function in SPECIALS:
            if m := pattern.fullmatch(op):
                return function(self, m, a)
        raise Unknown(f"{op} {', '.join(a)}")

    def repack(self, t, to, value):
        """mov of a register to its parts, or of parts to a register."""
        parts = braced(to if to.startswith("{") else value)
        bits = int(t[1:]) // len(parts)
        if to.startswith("{"):
            return f"{{ uint64_t x = {self.value(value, t)}; " + " ".join(
                self.put(r, f"x >> {bits * i}", f"b{bits}") for i, r in enumerate(parts)) + " }"
        return self.put(to, " | ".join(f"(uint64_t){self.value(r, f'b{bits}')} << {bits * i}"
                                       for i, r in enumerate(parts)), t)


def load(f, m, a):
    space, n, t = m[1] or "", m[2] or "1", m[3]
    registers = braced(a[0])
    if len(registers) != int(n):
        raise Unknown(a[0])
    return f"{{ auto v = load<{C[t]}, {n}>({f.address(a[1], space)}); " + " ".join(
        f.put(r, f"v.x[{i}]", t) for i, r in enumerate(registers)) + " }"


def store(f, m, a):
    space, n, t = m[1] or "", m[2] or "1", m[3]
    values = [f.value(r, t) for r in braced(a[1])]
    if len(values) != int(n):
        raise Unknown(a[1])
    return f"store<{C[t]}, {n}>({f.address(a[0], space)}, {{{{{', '.join(values)}}}}});"


def shuffle(f, m, a):
    """With a width of 32 the second result, whether the source is a lane of the warp's, is true."""
    to, _, valid = a[0].partition("|")
    lane = f.value(a[2], "s32")
    source = f"emulate::lane_id() ^ {lane}" if m[1] == "bfly" else f"{lane} & 31"
    value = f"emulate::shuffle({f.value(a[4], 'u32')}, {f.value(a[1], 'b32')}, {source})"
    return (f"whole_warp({f.value(a[3], 'u32')}); " + f.put(to, value, "b32")
            + (" " + f.put(valid, "true", "pred") if valid else ""))


def mma(f, m, a):
    def list_of(x, t):
        return ", ".join(f.value(r, t) for r in braced(x))

    kind = {"f16": "half", "bf16": "bf16"}[m[1]]
    return (f"{{ float d[4] = {{{list_of(a[3], 'f32')}}}; const uint32_t a[4] = "
            f"{{{list_of(a[1], 'b32')}}}, b[2] = {{{list_of(a[2], 'b32')}}}; mma<{kind}>(d, a, b); "
            + " ".join(f.put(r, f"d[{i}]", "f32") for i, r in enumerate(braced(a[0]))) + " }")


def wgmma(f, m, a):
    """A in registers; both not negated, B by rows of K."""
    if len(a) != 7 or a[4:] != ["1", "1", "0"] or int(m[1]) % 8 != 0:
        raise Unknown("wgmma of another form")
    kind = {"f16": "half", "bf16": "bf16"}[m[2]]
    for r in braced(a[0]):
        f.kind(r)
    sums = ", ".join(f"&R{r[1:]}" for r in braced(a[0]))
    rows = ", ".join(f.value(r, "b32") for r in braced(a[1]))
    return (f"{{ void *const d[{int(m[1]) // 2}] = {{{sums}}}; const uint32_t a[4] = {{{rows}}}; "
            f"products.multiply<{kind}, {m[1]}>(d, a, {f.value(a[2], 'b64')}, "
            f"{f.value(a[3], 'pred')}); }}")


def ldmatrix(f, m, a):
    return (f"{{ uint32_t d[4]; ldmatrix<{'true' if m[1] else 'false'}>(d, "
            f"{f.address(a[1], 'shared')}); "
            + " ".join(f.put(r, f"d[{i}]", "b32") for i, r in enumerate(braced(a[0]))) + " }")


def copy(f, m, a):
    if a[2] != "16" or len(a) != 4:
        raise Unknown("cp.async of other than 16 bytes")
    return (f"copies.copy((uint4 *)({f.address(a[0], 'shared')}), "
            f"(const uint4 *)({f.address(a[1], 'global')}), all_or_none({f.value(a[3], 'u32')}));")


def wait_group(f, m, a):
    return f"{'products' if 'wgmma' in m[0] else 'copies'}.wait<{int(a[0])}>();"


def atomic(f, m, a):
    name, t = {"add": "Add", "min": "Min", "exch": "Exch", "cas": "CAS"}[m[2]], m[3]
    values = ", ".join(f.value(x, t) for x in a[2:])
    return f.put(a[0], f"atomic{name}(({C[t]} *)({f.address(a[1], m[1])}), {values})", t)


def barrier(f, m, a):
    if a != ["0"]:
        raise Unknown(f"bar.sync {a}")
    return "__syncthreads();"


SPECIALS = [(re.compile(pattern), function) for pattern, function in (
    (r"ld(?:\.(param|global|shared|local))?(?:\.v([24]))?\.([busf]\d+)", load),
    (r"st(?:\.(param|global|shared|local))?(?:\.v([24]))?\.([busf]\d+)", store),
    (r"shfl\.sync\.(bfly|idx)\.b32", shuffle),
    (r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(f16|bf16)\.\1\.f32", mma),
    (r"ldmatrix\.sync\.aligned\.m8n8\.x4(\.trans)?\.shared\.b16", ldmatrix),
    (r"cp\.async\.cg\.shared\.global", copy),
    (r"cp\.async\.commit_group", lambda f, m, a: "copies.commit();"),
    (r"(?:cp\.async\.wait_group|wgmma\.wait_group\.sync\.aligned)", wait_group),
    (r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(f16|bf16)\.\2", wgmma),
    (r"wgmma\.fence\.sync\.aligned", lambda f, m, a: "products.fence();"),
    (r"wgmma\.commit_group\.sync\.aligned", lambda f, m, a: "products.commit();"),
    # Here wgmma sees what was stored, without it.
    (r"fence\.proxy\.async", lambda f, m, a: ";"),
    (r"atom\.(global|shared)\.(add|min|exch|cas)\.([bu]32)", atomic),
    (r"bar\.sync", barrier),
    (r"bar\.warp\.sync", lambda f, m, a: f"__syncwarp({f.value(a[0], 'u32')});"),
    (r"griddepcontrol\.wait", lambda f, m, a: "emulate::wait_for_previous();"),
    # A kernel of the emulation starts when the one before it has ended.
    (r"griddepcontrol\.launch_dependents", lambda f, m, a: ";"),
    (r"trap", lambda f, m, a: "__builtin_trap();"),
)]


def declare_registers(f, m):
    """A group, %r<23>, is %r1 to %r22."""
    out, kind = [], C[m[1]]
    for name in operands(m[2]):
        group = re.fullmatch(r"(%\w+?)<(\d+)>", name)
        f.kinds[group[1] if group else name] = kind
        names = [f"R{group[1][1:]}{i}" for i in range(1, int(group[2]))] if group else \
            [f"R{name[1:]}"] if name.startswith("%") else []
        out += [f"{kind} {', '.join(names)};"] if names else []
    return " ".join(out)


SHARED = re.compile(r"\.shared\s+\.align\s+(\d+)\s+\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?")


def declare_shared(symbols, m):
    name = "shared_" + identifier(m[3])
    symbols[m[3]] = f"shared_address({name})"
    return f"alignas({m[1]}) __shared__ char {name}[{m[4] or 1} * sizeof({C[m[2]]})];"


def declare_bytes(f, m):
    """An array of this thread: of .local, or a parameter of a call."""
    name = "bytes_" + identifier(m[3])
    f.symbols[m[3]] = f"(uint64_t){name}"
    return f"alignas({m[1] or 8}) char {name}[{m[4] or 1} * sizeof({C[m[2]]})];"


def call(f, m):
    """A function's address and its parameters' are (uint64_t)NAME."""
    params = "".join(f"(const void *){f.symbols[p]}, " for p in operands(m[3]))
    result = f"(void *){f.symbols[m[1]]}" if m[1] else "nullptr"
    return f"{{ const void *p[] = {{{params}nullptr}}; function_{identifier(m[2])}({result}, p); }}"


DIRECTIVES = [(re.compile(pattern, re.S), function) for pattern, function in (
    (r"\.reg\s+\.(\w+)\s+(.*)", declare_registers),
    (SHARED.pattern, lambda f, m: declare_shared(f.symbols, m)),
    (r"\.(?:local|param)(?:\s+\.align\s+(\d+))?\s+\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?", declare_bytes),
    (r"call\.uni\s*(?:\((\w+)\)\s*,)?\s*([\w$]+)\s*,\s*\(([^)]*)\)", call),
    (r'\.pragma\s+"(?:nounroll|used_bytes_mask \d+)"', lambda f, m: ""),
    (r"(?:ret|exit)", lambda f, m: "return;"),
    (r"bra(?:\.uni)?\s+([\w$]+)", lambda f, m: f"goto {identifier(m[1])};"),
)]


def statement(f, text):
    guard = re.fullmatch(r"@(!?)(%\w+)\s+(.*)", text, re.S)
    if guard:
        condition = f.value(guard[2], "pred")
        return f"if ({guard[1]}{condition}) {{ {statement(f, guard[3])} }}"
    for pattern, function in DIRECTIVES:
        if m := pattern.fullmatch(text):
            return function(f, m)
    op, _, rest = text.partition(" ") if " " in text else text.partition("\t")
    return f.instruction(op, operands(rest))


def body(f, text):
    """Statements end in ';', labels in ':'; a brace is a scope unless it is among operands."""
    piece = re.compile(r"\s*([{}]|[\w$]+:|[^{};]*(?:\{[^}]*\}[^{};]*)*;)")
    at, out = 0, []
    while at < len(text.rstrip()):
        m = piece.match(text, at)
        if not m:
            raise Unknown(text[at:at + 60])
        at, s = m.end(), m[1]
        if s in "{}":
            out.append(s)
        elif s.endswith(":"):
            out.append(f"{identifier(s[:-1])}: ;")
        else:
            s = re.sub(r"\s+", " ", s[:-1].strip())
            out.append(statement(f, s) if s else "")
    return out


def module(text):
    """A PTX file as C++, and its kernels."""
    text = re.sub(r"//[^\n]*", "", text)
    head = re.compile(r"\s*(?:\.version [\d.]+|\.target sm_\d+a?|\.address_size 64)(?=\s)")
    outside = re.compile(r"\s*(\.extern\s+)?(" + SHARED.pattern.replace(r"(\d+)\])?", r"(\d*)\])?")
                         + r")\s*;")
    function = re.compile(
        r"\s*(?:\.visible\s+)?\.(entry|func)\s+(?:\(\s*\.param \.b\d+ ([\w$]+)\)\s*)?([\w$]+)\s*"
        r"\(([^)]*)\)\s*(?:\.(?:maxntid|minnctapersm) [\d, ]+\s*)*\{(.*?)\n\}", re.S)
    param = re.compile(r"\s*\.param\s+(?:\.align \d+ )?\.\w+\s+([\w$]+)(?:\[\d+\])?\s*")
    at, symbols, kernels, out = 0, {}, [], []
    while at < len(text.rstrip()):
        if m := head.match(text, at):
            pass
        elif m := outside.match(text, at):
            if m[1]:  # the dynamic shared memory of a launch
                symbols[m[5]] = "shared_address(emulate::shared_memory())"
            else:
                out.append(declare_shared(symbols, SHARED.fullmatch(m[2])))
        elif m := function.match(text, at):
            kind, result, name, params = m[1], m[2], m[3], m[4]
            names = [param.fullmatch(p) for p in params.split(",") if p.strip()]
            if None in names:
                raise Unknown(params)
            f = Function([p[1] for p in names], symbols)
            if result:
                f.symbols[result] = "(uint64_t)result"
            try:
                if kind == "func" and re.search(r"\bexit\b", m[5]):
                    raise Unknown("exit, of a thread, in a function")
                lines = body(f, m[5])
            except Unknown as e:
                raise Unknown(f"{name}: {e}") from None
            if kind == "entry":
                kernels.append(name)
                out.append(f"static void kernel_{identifier(name)}(const void *const *P)\n{{")
            else:
                out.append(f"static void function_{identifier(name)}(void *result, "
                           "const void *const *P)\n{")
            for name in ("copies", "products"):
                if any(name + "." in x for x in lines):
                    out.append(f"struct async_{name} {name};")
            out += lines + ["}"]
        else:
            raise Unknown(text[at:at + 60].strip())
        at = m.end()
    return out, kernels


def main():
    with open(sys.argv[1]) as f:
        try:
            lines, kernels = module(f.read())
        except Unknown as e:
            sys.exit(f"translate.py: {sys.argv[1]}: unknown: {e}")
    print('#include "ptx.h"')
    print("\n".join(lines))
    rows = "".join(f'{{"{k}", kernel_{identifier(k)}}}, ' for k in kernels)
    print(f"static const emulate::ptx_kernels kernels({{{rows}}});")


main()
