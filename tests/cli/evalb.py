"""EVALB's rules once more, slowly and by loops over all pairs, for comparison with tf-evalb; and
trees to compare.

    evalb.py score [-p COLLINS|new|none] [-c N] GOLD TEST    the report, without a limit on errors
    evalb.py make SEED N GOLD TEST                           N random trees, the second file's damaged
"""
import random
import re
import sys

SPACE = " \t\n\v\f\r"
COLLINS = ["TOP", "-NONE-", ",", ":", "``", "''", "."]


class Rules:
    cutoff = 40
    deleted, deleted_length, quotes, equal = COLLINS, ["-NONE-"], [], [("ADVP", "PRT")]


def use(name):
    if name == "none":
        Rules.deleted = Rules.deleted_length = Rules.equal = []
    if name == "new":
        Rules.deleted = COLLINS + ["S1", "?", "!"]
        Rules.quotes = ["``", "''", "POS", "NN", "CD", "VBZ", ":"]


def same(a, b):
    return a == b or (a, b) in Rules.equal or (b, a) in Rules.equal


def read(line):
    """length, words [word, tag, result], quotes, brackets, damaged"""
    def end(i):
        while i < len(line) and line[i] not in SPACE + "()":
            i += 1
        return i

    length, words, quotes, brackets, stack, level, damaged, i = 0, [], [], [], [], 0, False, 0
    while i < len(line):
        if line[i] == "(":
            p = end(i + 1)
            label, q = line[i + 1:p], p
            while q < len(line) and line[q] in SPACE:
                q += 1
            if q > p:
                e = end(q)
                word, closed = line[q:e], line[e:e + 1] == ")"
                length += closed and label not in Rules.deleted_length
                if closed and label in Rules.quotes and word in ("'", '"', "/"):
                    quotes.append({
                        "word": word, "tag": label, "index": len(words), "bracket": len(brackets),
                        "open": list(stack)
                    })
                if closed and label not in Rules.deleted:
                    words.append([word, label, 9])
                if closed:
                    i = e + 1
                    continue
                damaged |= line[e:e + 1] not in ("(", "")
            brackets.append({
                "start": len(words), "end": -1, "label": label,
                "result": 9
            })
            stack.append(len(brackets) - 1)
            level += 1
            i = p
        elif line[i] == ")":
            damaged |= level < 0
            level -= 1
            if stack:
                brackets[stack.pop()].update(end=len(words))
            i += 1
        elif line[i] in SPACE:
            i += 1
        else:
            damaged, i = True, end(i)
    return length, words, quotes, brackets, damaged or level != 0


def reinsert(quote, words, brackets):
    words.insert(quote["index"], [quote["word"], quote["tag"], 9])
    for k, b in enumerate(brackets):
        if k >= quote["bracket"]:
            b["start"] += 1
            b["end"] += 1
    for k in quote["open"]:
        brackets[k]["end"] += 1


def fix_quotes(g, t):
    for i, b in enumerate(t[2]):
        index = b["index"]
        for j, a in enumerate(g[2]):
            gone, also = a["tag"] in Rules.deleted, b["tag"] in Rules.deleted
            if a["index"] == index and gone != also:
                quote, side, first = (a, g, j) if gone else (b, t, i)
                reinsert(quote, side[1], side[3])
                for q in side[2][first:]:
                    q["index"] += 1


def massage(brackets):
    for b in brackets:
        b["result"] = 5
        if b["start"] != b["end"]:
            b["label"] = re.split("[-=]", b["label"])[0]
            if not any(same(b["label"], d) for d in Rules.deleted):
                b["result"] = 0
    return sum(b["result"] == 0 for b in brackets)


def cross(a, b):
    return a["start"] < b["start"] < a["end"] < b["end"] or b["start"] < a["start"] < b["end"] < a[
        "end"]


def compare(g, t):
    """length, words, gold, test, matched, crossing, tags, status"""
    nothing = (g[0], 0, 0, 0, 0, 0, 0)
    if not t[1]:
        return nothing + (2,)
    if len(g[1]) != len(t[1]):
        fix_quotes(g, t)
    if [w[0] for w in g[1]] != [w[0] for w in t[1]]:
        return nothing + (1,)
    gold, test, matched, crossing = massage(g[3]), massage(t[3]), 0, 0
    for a in g[3]:
        for b in t[3]:
            if a["result"] == b["result"] == 0 and (a["start"], a["end"]) == (
                    b["start"], b["end"]) and same(a["label"], b["label"]):
                a["result"] = b["result"] = 1
                matched += 1
                break
    for b in t[3]:
        crossing += any(5 not in (a["result"], b["result"]) and cross(a, b) for a in g[3])
    for a, b in zip(g[1], t[1]):
        a[2] = b[2] = int(same(a[1], b[1]))
    return g[0], len(g[1]), gold, test, matched, crossing, sum(w[2] for w in g[1]), int(g[4]
                                                                                        or t[4])


def share(part, whole):
    return 100.0 * part / whole if whole > 0 else 0.0


def block(rows):
    ok = [r for r in rows if r[7] == 0]
    words, gold, test, matched, crossing, tags = (sum(r[k] for r in ok) for k in range(1, 7))
    r, p, n = share(matched, gold), share(matched, test), len(ok)
    print("Number of sentence        = %6d" % len(rows))
    print("Number of Error sentence  = %6d" % sum(r[7] == 1 for r in rows))
    print("Number of Skip  sentence  = %6d" % sum(r[7] == 2 for r in rows))
    print("Number of Valid sentence  = %6d" % n)
    print("Bracketing Recall         = %6.2f" % r)
    print("Bracketing Precision      = %6.2f" % p)
    print("Bracketing FMeasure       = %6.2f" % (2 * p * r / (p + r) if p + r else float("nan")))
    print("Complete match            = %6.2f" % share(sum(r[2] == r[3] == r[4] for r in ok), n))
    print("Average crossing          = %6.2f" % (crossing / n if n else 0))
    print("No crossing               = %6.2f" % share(sum(r[5] == 0 for r in ok), n))
    print("2 or less crossing        = %6.2f" % share(sum(r[5] <= 2 for r in ok), n))
    print("Tagging accuracy          = %6.2f" % share(tags, words))


def score(args):
    while args[0].startswith("-"):
        option = args.pop(0)
        if option == "-p":
            use(args.pop(0))
        else:
            Rules.cutoff = int(args.pop(0))
    gold, test = (open(name, newline="\n").read().split("\n")[:-1] for name in args)
    print("  Sent.                        Matched  Bracket   Cross        Correct Tag")
    print(" ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy")
    print("=" * 76)
    rows = []
    for a, b in zip(gold, test):
        g = read(a)
        t = read(b)
        row = length, words, kept, mine, matched, crossing, tags, status = compare(g, t)
        rows.append(row)
        print("%4d  %3d    %d  %6.2f %6.2f   %3d    %3d  %3d    %3d   %4d  %4d   %6.2f" %
              (len(rows), length, status, share(matched, kept), share(
                  matched, mine), matched, kept, mine, crossing, words, tags, share(tags, words)))
    words, kept, mine, matched, crossing, tags = (sum(r[k] for r in rows if r[7] == 0)
                                                  for k in range(1, 7))
    print("=" * 76)
    if kept and mine:
        print("                %6.2f %6.2f %6d %5d %5d  %5d" %
              (share(matched, kept), share(matched, mine), matched, kept, mine, crossing),
              end="")
    print("  %5d %5d   %6.2f\n=== Summary ===\n\n-- All --" % (words, tags, share(tags, words)))
    block(rows)
    print("\n-- len<=%d --" % Rules.cutoff)
    block([r for r in rows if r[0] <= Rules.cutoff])


def make(seed, n, gold, test):
    r = random.Random(int(seed))
    labels = "NP VP S SBAR ADVP PRT NP-SBJ TOP -NONE- X=1".split()
    tags = "NN DT VBZ , . '' POS : ADVP PRT -NONE-".split()
    words = ["the", "cat", "'", '"', "/", ","]

    def tree(depth=0):
        if depth > 5 or r.random() < 0.3:
            return "(%s %s)" % (r.choice(tags), r.choice(words))
        return "(%s %s)" % (r.choice(labels), " ".join(
            tree(depth + 1) for _ in range(r.randint(1, 4))))

    def change(s):
        parts = re.findall(r"\([^\s()]*|\)|[^\s()]+", s)
        for _ in range(r.randint(0, 4)):
            k = r.randrange(len(parts))
            leaf = parts[k][0] == "(" and k + 1 < len(parts) and parts[k + 1][0] not in "()"
            if parts[k][0] == "(" and r.random() < 0.9:
                parts[k] = "(" + r.choice(tags if leaf else labels)
            elif parts[k] == ")" and r.random() < 0.9:
                parts[k:k + 1] = [")", "(" + r.choice(tags),
                                  r.choice(words), ")"][:r.choice((1, 1, 4))]
            elif r.random() < 0.2:
                parts[k:k + 1] = r.choice(([], [parts[k], "word"], [parts[k],
                                                                    ")"], ["(NP", parts[k]]))
            if not parts:
                return ""
        # Quotes under other tags.
        for k in range(1, len(parts)):
            if parts[k] in ("'", '"', "/") and r.random() < 0.4:
                parts[k - 1] = "(" + r.choice(("''", "POS", "NN", ":"))
        return re.sub(r" \)", ")", " ".join(parts))

    with open(gold, "w") as g, open(test, "w") as t:
        for _ in range(int(n)):
            s = "(TOP " + tree() + ")"
            g.write((s if r.random() < 0.9 else change(s)) + "\n")
            t.write((change(s) if r.random() < 0.9 else r.choice(("", "(())", s))) + "\n")


{"score": lambda *a: score(list(a)), "make": make}[sys.argv[1]](*sys.argv[2:])
