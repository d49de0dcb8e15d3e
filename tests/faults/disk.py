"""A disk that loses its power, in words: what a tool asked of the file system, read from strace,
and the states that a cut at any point may leave.

The model is the weak one of POSIX. Data is on the disk after an fsync of the file; before that any
part of what was written may be there, in any order, and the rest reads as zeros or is missing.
Names (creation, rename, link, unlink) are on the disk after an fsync of their directory; before
that each single one may have happened or not, in their order or not, with one exception that every
journalling file system keeps: a rename is all or nothing. An fsync of a file keeps the name under
which it was made."""
import hashlib
import os
import re

from rig import run

CALLS = ("openat,open,write,pwrite64,fsync,fdatasync,close,rename,renameat,renameat2,"
         "link,linkat,mkdir,unlink,unlinkat,ftruncate")


def digest(data):
    return hashlib.sha256(data).hexdigest()


def unescape(text):
    return bytes.fromhex(text.replace("\\x", ""))


def there(below):
    """The operations that make what is below a directory, all of it on the disk."""
    log, seen = [], {}
    for at, _, names in os.walk(below):
        for name in sorted(names):
            full = os.path.join(at, name)
            if os.path.islink(full):
                continue
            p, inode = os.path.relpath(full, below), os.stat(full).st_ino
            if inode in seen:
                log.append(("link", seen[inode], p))
                continue
            seen[inode] = p
            with open(full, "rb") as f:
                log += [("create", p, True), ("write", p, f.read(), None), ("sync", p)]
        log.append(("sync", os.path.relpath(at, below)))
    return log


def trace(argv, path, below, env=None):
    """What argv does to files below a directory: a list of (operation, ...) with paths relative to
    it."""
    run(["strace", "-f", "-y", "-xx", "-s", "16777216", "-e", "trace=" + CALLS, "-o", path] + argv,
        env=env)
    below = os.path.realpath(below)
    pending, log = {}, []
    with open(path, errors="replace") as f:
        for line in f:
            m = re.match(r"(\d+) +(.*)", line)
            if not m:
                continue
            pid, text = m.groups()
            if text.endswith("<unfinished ...>"):
                pending[pid] = text[:-len("<unfinished ...>")].rstrip()
                continue
            m = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
            if m:
                text = pending.pop(pid, "") + m.group(1)
            m = re.match(r"(\w+)\((.*)\) += (-?\d+)", text)
            if m and int(m.group(3)) >= 0:
                add(log, below, m.group(1), m.group(2), int(m.group(3)), text)
    return log


def name_in(below, raw):
    """A path below the directory, relative to it, or None."""
    p = os.path.join(os.getcwd(), raw)
    p = os.path.normpath(p)
    if p == below:
        return "."
    return os.path.relpath(p, below) if p.startswith(below + "/") else None


def text_of(raw):
    return unescape(raw).decode(errors="surrogateescape")


def paths(args):
    """The paths of a call, each with the directory of the descriptor before it."""
    found = re.findall(r'(?:\b\d+<((?:\\x[0-9a-f]{2})*)>, )?"((?:\\x[0-9a-f]{2})*)"', args)
    return [os.path.join(text_of(d), text_of(p)) for d, p in found]


def descriptor(args):
    m = re.match(r"\d+<((?:\\x[0-9a-f]{2}|[^>])*)>", args)
    if not m:
        return ""
    p = m.group(1)
    return text_of(p) if p.startswith("\\x") else p


def add(log, below, call, args, value, text):
    if call in ("open", "openat"):
        p = name_in(below, paths(args)[0])
        if p is not None and "O_CREAT" in args:
            log.append(("create", p, "O_TRUNC" in args))
        return
    if call in ("write", "pwrite64"):
        p = name_in(below, descriptor(args))
        if p is not None:
            m = re.search(r'"((?:\\x[0-9a-f]{2})*)"', args)
            where = int(args.rsplit(",", 1)[1]) if call == "pwrite64" else None
            log.append(("write", p, unescape(m.group(1))[:value], where))
        return
    if call in ("fsync", "fdatasync", "close", "ftruncate"):
        p = name_in(below, descriptor(args))
        if p is not None:
            log.append(("sync" if "sync" in call else call, p) +
                       ((int(args.rsplit(",", 1)[1]), ) if call == "ftruncate" else ()))
        return
    names = [name_in(below, p) for p in paths(args)]
    if None in names or not names:
        return
    log.append((re.sub("at2?$", "", call),) + tuple(names))


def parent(p):
    return os.path.dirname(p) or "."


def lint(log):
    """(renames, complaints). Data before the name, the name's directory after it."""
    dirty, unclosed, renames, wrong = {}, {}, 0, []
    waiting = {}  # directory: names changed in it and not yet on the disk
    same = {}     # of a hard link: the file it was made from
    for i, op in enumerate(log):
        kind, p = op[0], op[1]
        if kind == "create":
            unclosed[p] = True
            dirty.setdefault(p, False)
        elif kind in ("write", "ftruncate"):
            dirty[p] = True
        elif kind == "sync":
            dirty[p] = False
            waiting.pop(p, None)
        elif kind == "close":
            unclosed[p] = False
        elif kind == "link":
            same[op[2]] = p
        elif kind == "mkdir":
            waiting.setdefault(parent(p), []).append("mkdir of " + p)
        elif kind == "rename":
            a, b = op[1], op[2]
            src = same.pop(a, a)
            renames += 1
            if dirty.get(src):
                wrong.append("%s is renamed to %s before its fsync" % (a, b))
            if src not in dirty:
                wrong.append("%s is renamed, and nothing was seen of its data" % a)
            if unclosed.get(src):
                wrong.append("%s is renamed before its close" % a)
            dirty[b] = dirty.get(src, True)
            unclosed[b] = False
            waiting.setdefault(parent(b), []).append("rename to " + b)
        elif kind == "unlink" and p.endswith(
                ".tfm") and not os.path.basename(p).startswith(".tf-") and waiting.get(parent(p)):
            wrong.append("%s is removed while %s is not on the disk" % (p, waiting[parent(p)]))
    for d, what in waiting.items():
        wrong.append("%s: no fsync of the directory follows %s" % (d, ", ".join(what)))
    return renames, wrong


class File:
    def __init__(self):
        self.data, self.safe = bytearray(), b""  # as written; as last synced


def renamed(log):
    """Digests of all that was ever renamed into place."""
    files, out = {}, set()
    for op in log:
        step(files, op)
        if op[0] == "rename":
            out.add(digest(bytes(files[op[2]].data)))
    return out


def step(files, op):
    kind, p = op[0], op[1]
    if kind == "create":
        f = files.setdefault(p, File())
        if op[2]:
            f.data = bytearray()
    elif kind == "write" and p in files:
        f = files[p]
        where = len(f.data) if op[3] is None else op[3]
        f.data[where:where + len(op[2])] = op[2]
    elif kind == "ftruncate" and p in files:
        del files[p].data[op[2]:]
    elif kind == "sync" and p in files:
        files[p].safe = bytes(files[p].data)
    elif kind == "rename" and op[1] in files:
        if files.get(op[2]) is not files[op[1]]:  # of two names of one file both stay
            files[op[2]] = files.pop(op[1])
    elif kind == "link" and op[1] in files:
        files[op[2]] = files[op[1]]
    elif kind == "unlink":
        files.pop(p, None)


def torn(f, r):
    """What may be on the disk of a file that was not synced since."""
    data, safe = bytes(f.data), f.safe
    if data == safe or r.random() < 0.3:
        return data
    how = r.randrange(4)
    if how == 0:
        return safe
    n = r.randint(0, len(data))
    if how == 1:
        return data[:n]
    if how == 2:
        return data[:n] + bytes(len(data) - n)  # the length came before the data
    pages = bytearray(data)
    for i in range(0, len(pages), 4096):
        if r.random() < 0.5 and data[i:i + 4096] != safe[i:i + 4096]:
            pages[i:i + 4096] = bytes(len(pages[i:i + 4096]))
    return bytes(pages)


def cut(log, r, first=0):
    """One state after a cut at a random point, not before the first operations: ({path: contents},
    was a checkpoint surely on the disk?)."""
    at = r.randint(first, len(log))
    files, names, durable, loose = {}, {}, {}, []
    ever = False
    for op in log[:at]:
        kind = op[0]
        step(files, op)
        if kind in ("create", "rename", "link",
                    "unlink") and not (kind == "create" and op[1] in names):
            before = dict(names)
            names = dict(files)
            change = {
                p: names.get(p)
                for p in set(before) | set(names) if before.get(p) is not names.get(p)
            }
            loose.append((parent(op[-1] if kind in ("rename", "link") else op[1]), change))
        elif kind == "sync":
            p = op[1]
            if p in files:  # a file: its own first name comes along
                for d, change in loose:
                    if len(change) == 1 and change.get(p) is files[p]:
                        durable[p] = files[p]
            else:
                for d, change in [x for x in loose if x[0] == p]:
                    for q, f in change.items():
                        durable.pop(q, None) if f is None else durable.__setitem__(q, f)
                loose = [x for x in loose if x[0] != p]
                ever = ever or any(
                    q.endswith(".tfm") and not os.path.basename(q).startswith(".tf-")
                    for q in durable)
    # Of what is not on the disk: the first few in order, or any.
    if loose:
        if r.random() < 0.5:
            took = loose[:r.randint(0, len(loose))]
        else:
            took = [x for x in loose if r.random() < 0.5]
        for _, change in took:
            for q, f in change.items():
                durable.pop(q, None) if f is None else durable.__setitem__(q, f)
    whole = {}
    state = {}
    for p, f in durable.items():
        if id(f) not in whole:
            whole[id(f)] = torn(f, r)
        state[p] = whole[id(f)]
    return state, ever


def put(state, where):
    for p, data in state.items():
        path = os.path.join(where, p)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
