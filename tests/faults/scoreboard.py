"""The table of results, tests/faults/SCOREBOARD.md: the last full run of each row."""
import fcntl
import os

HEAD = """# Fault injection: results

Written by `make faults` or `tests/faults/run --scoreboard` from the last run of each row. To run a
row again: `tests/faults/run --seed SEED --scale SCALE ROW`. The seed determines its random choices,
but not its timing. `tree` is the last commit that changed the tools. Some rows need further
packages: clang (K4, M), gdb (F1), iproute2 and root (G4), locales (I2), valgrind (M).

| row | fault | results | failures | seed | scale | time | tree |
|---|---|---|---|---|---|---|---|
"""
SUMS = [("kills survived", ("kills", "kills during recovery")),
        ("calls killed at", ("system calls killed", "library calls killed")),
        ("faults injected", ("faults", )),
        ("files damaged", ("prefixes", "bit flips", "hostile heads", "cut or changed files")),
        ("resume points equal", ("resume points", )),
        ("fuzz minutes of CPU", ("minutes of CPU", )), ("lines in and out", ("lines", ))]


def number(text):
    """1,234 or 10.0; None: another text."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def parse(text):
    """The cells after the fault, and the notes, of each row that was run."""
    cells, notes = {}, {}
    for line in text.splitlines():
        if line.startswith("- "):
            name, _, note = line[2:].partition(": ")
            notes.setdefault(name, []).append(note)
        fields = [x.strip() for x in line.strip("|").split(" | ")]
        if len(fields) == 8 and fields[3].isdigit():
            cells[fields[0]] = fields[2:]
    return cells, notes


def together(cells):
    """The sums of what rows counted."""
    total = {}
    for results, *_ in cells.values():
        for figure in results.split("; "):
            name, _, n = figure.rpartition(": ")
            total[name] = total.get(name, 0) + (number(n) or 0)
    found = [(name, sum(total.get(x, 0) for x in xs)) for name, xs in SUMS]
    return "; ".join("%s %s" % (name, "{:,}".format(round(n, 1) if n % 1 else int(n)))
                     for name, n in found if n)


def format_table(rows, cells, notes):
    lines = [
        "| %s | %s | %s |\n" %
        (name, what, " | ".join(cells.get(name, ["not run yet"] + 5 * [""]))) for name, what in rows
    ]
    noted = ["- %s: %s\n" % (name, x) for name, _ in rows for x in notes.get(name, [])]
    sums = together(cells)
    return HEAD + "".join(lines) + "\n" * bool(noted) + "".join(noted) + (
        "\nTogether: %s.\n" % sums if sums else "")


def update(path, rows, ran=None, tree=""):
    """Rewrite the table for these rows, (name, fault); ran: a rig.Row that has just ended. Several
    processes may do so at once."""
    with open(path, "a+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        cells, notes = parse(f.read())
        if ran is not None:
            figures = ("%s: %s" % (x, "{:,}".format(n) if isinstance(n, int) else n)
                       for x, n in ran.figures.items())
            cells[ran.name] = ["; ".join(figures), str(len(ran.failures)), str(ran.rig.seed),
                               "%g" % ran.rig.scale, "%.0f s" % ran.seconds, tree]
            notes[ran.name] = ran.notes
        names = {name for name, _ in rows}
        cells = {name: x for name, x in cells.items() if name in names}
        f.truncate(0)
        f.write(format_table(rows, cells, notes))
        f.flush()
        os.fsync(f.fileno())
