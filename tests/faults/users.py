"""Q: a second user who may write in the same directory, or read what we write."""
import itertools
import os
import shutil
import stat
import struct
import tempfile

from rig import run, slurp

US, THEM, OTHERS = 65533, 65534, 65532  # each user's own group has the same number
NAMES = ["log.jsonl", "lock", "ckpt-00000003.tfm", "resume.tfm", "best.tfm", ".tf-lock.tmp.1"]


def as_user(uid, argv, groups=()):
    more = "--groups=" + ",".join("%d" % g for g in groups) if groups else "--clear-groups"
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, more] + argv


class Place:
    """A directory with a file of theirs outside it, which no case may change."""

    def __init__(self, row, top):
        self.row, self.top = row, top
        os.chmod(top, 0o777)
        self.secret = os.path.join(self.top, "secret")
        self.dir = os.path.join(self.top, "dir")

    def copy(self, path):
        to = os.path.join(self.top, os.path.basename(path))
        shutil.copy(path, to)
        os.chmod(to, 0o644)
        return to

    def fresh(self, mode, owner):
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        os.chown(self.dir, owner, owner)
        os.chmod(self.dir, mode)
        with open(self.secret, "w") as f:
            f.write("theirs\n")
        os.chown(self.secret, THEM, THEM)
        os.chmod(self.secret, 0o666)

    def plant(self, name, how):
        """Something of theirs under the name that we are going to use."""
        p = os.path.join(self.dir, name)
        if how == "file":
            with open(p, "w") as f:
                f.write("theirs\n")
        elif how == "set-id file":
            shutil.copy(self.secret, p)
        elif how == "link":
            os.symlink(self.secret, p)
        elif how == "dangling link":
            os.symlink(self.secret + ".new", p)
        elif how == "hard link":
            os.link(self.secret, p)
        elif how == "FIFO":
            os.mkfifo(p)
        elif how == "directory":
            os.mkdir(p)
        os.chown(p, THEM, THEM, follow_symlinks=False)
        if how == "set-id file":
            os.chmod(p, 0o6777)

    def judge(self, what, d, mask):
        """Nothing of theirs outside was changed or made, and no file of ours has rights that nobody
        gave it."""
        row = self.row
        row.add("cases")
        row.add("refused" if d.rc else "done")
        if d.rc not in (0, 1, 75) or d.rc and len(d.errors()) != 1:
            row.fail("%s: status %s: %s", what, d.rc, d.err.strip())
        if slurp(self.secret) != b"theirs\n" or os.stat(self.secret).st_uid != THEM:
            row.fail("%s: a file elsewhere was changed", what)
        if os.path.exists(self.secret + ".new"):
            row.fail("%s: a file elsewhere was made", what)
        for top, _, files in os.walk(self.dir):
            for f in files:
                st = os.lstat(os.path.join(top, f))
                if st.st_uid == US and stat.S_ISREG(st.st_mode) and st.st_mode & (0o7000 | mask):
                    row.fail("%s: %s has mode %o", what, f, st.st_mode)
                if st.st_uid == US and f.startswith(".tf-") and f not in NAMES:
                    row.fail("%s: left %s", what, f)


MASKS = (0o022, 0o077)
HOWS = ["file", "set-id file", "link", "dangling link", "hard link", "FIFO", "directory"]
DIRS = [(0o1777, THEM, "sticky"), (0o777, THEM, "theirs"), (0o777, US, "ours")]


def outputs(rig, row, place):
    """-o FILE where they have something of that name."""
    m = rig.material()
    argv = ["tf-tokenize", "--threads", "1", "-m", place.copy(m["vocab"]), "-o",
            os.path.join(place.dir, "o"), place.copy(m["src"])]
    want = rig.reference(["tf-tokenize", "--threads", "1", "-m", m["vocab"], m["src"]])
    # A path that the user names is followed, and a FIFO is written to.
    hows = [x for x in HOWS if x not in ("link", "dangling link", "FIFO")]
    for (mode, owner, kind), how, mask in row.some(itertools.product(DIRS, hows, MASKS)):
        place.fresh(mode, owner)
        place.plant("o", how)
        d = run(as_user(US, argv), prepare=lambda mask=mask: os.umask(mask))
        what = "output, %s of theirs in a directory that is %s" % (how, kind)
        place.judge(what, d, mask)
        if d.rc == 0 and slurp(os.path.join(place.dir, "o")) != want:
            row.fail("%s: status 0, other bytes", what)


def training(rig, row, place):
    """A run in a directory where they have something under one of its names."""
    stream = place.copy(rig.batches("b20.tfs", n=20))
    argv = rig.train_argv(place.dir, stream, "--steps", "3", "--valid", stream, "--valid-every", "2")
    cases = itertools.product(DIRS, NAMES, HOWS, MASKS)
    for (mode, owner, kind), name, how, mask in row.some(cases):
        place.fresh(mode, owner)
        place.plant(name, how)
        d = run(as_user(US, argv), prepare=lambda mask=mask: os.umask(mask), timeout=30)
        place.judge("run, %s as %s of theirs in a directory that is %s, umask %o" %
                    (name, how, kind, mask), d, mask)


def locks(rig, row, place):
    """They lock what they can open."""
    stream = place.copy(rig.batches("b20.tfs", n=20))
    for mask, how in row.some(itertools.product((0o022, 0o027, 0o077, 0o002), ("-s", "-x"))):
        place.fresh(0o755, US)
        argv = rig.train_argv(place.dir, stream, "--steps", "3")
        first = run(as_user(US, argv), prepare=lambda mask=mask: os.umask(mask))
        lock = os.path.join(place.dir, "lock")
        theirs = run(as_user(THEM, ["flock", "-n", how, lock, "true"]))
        place.judge("lock with umask %o" % mask, run(as_user(US, argv)), 0)
        if first.rc != 0 or theirs.rc == 0:
            row.fail("umask %o: they can lock the run's lock with flock %s", mask, how)


OWNER, USER, OWN_GROUP, GROUP, MASK, REST = 1, 2, 4, 8, 16, 32  # tags of ACL entries
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def acl(own_group, rest, mask, *named):
    """An ACL as the kernel has it; named: (tag, id, permissions)."""
    none = 0xffffffff
    entries = [(OWNER, none, 6), (OWN_GROUP, none, own_group), (MASK, none, mask),
               (REST, none, rest)] + list(named)
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, may, who) for tag, who, may in sorted(entries))


def rights(path, uid, groups):
    """What a user with these groups may do with the file, as acl(5) defines it."""
    st = os.stat(path)
    try:
        raw = os.getxattr(path, ACCESS)
    except OSError:
        raw = b""
    entries = [(tag, may, who) for tag, may, who in struct.iter_unpack("<HHI", raw[4:])]
    if not entries:
        entries = [(OWNER, st.st_mode >> 6 & 7, 0), (OWN_GROUP, st.st_mode >> 3 & 7, 0),
                   (MASK, 7, 0), (REST, st.st_mode & 7, 0)]
    one = {tag: may for tag, may, _ in entries}
    if uid == st.st_uid:
        return one[OWNER]
    named = [may for tag, may, who in entries if tag == USER and who == uid]
    if not named:
        named = [
            may for tag, may, who in entries
            if tag == OWN_GROUP and st.st_gid in groups or tag == GROUP and who in groups
        ]
    if not named:
        return one[REST]
    together = 0  # of groups: a file may be opened if one of them allows all that is requested
    for may in named:
        together |= may
    return together & one[MASK]


PEOPLE = [(uid, groups) for uid in (THEM, OTHERS) for n in range(4)
          for groups in itertools.combinations((US, THEM, OTHERS), n)]
ACLS = {
    "none": None,
    "a user": acl(0, 0, 6, (USER, THEM, 6)),
    "a group": acl(4, 4, 6, (GROUP, OTHERS, 6)),
    "a user without rights": acl(4, 4, 4, (USER, THEM, 0)),
    "a group without rights": acl(6, 4, 6, (GROUP, THEM, 0)),
}


def groups(rig, row, place):
    """-o FILE over a file of ours with another group or an ACL, as a member of that group or not."""
    m = rig.material()
    out = os.path.join(place.dir, "o")
    argv = ["tf-tokenize", "--threads", "1", "-m", place.copy(m["vocab"]), "-o", out,
            place.copy(m["src"])]
    place.fresh(0o777, US)
    try:
        os.setxattr(place.dir, DEFAULT, ACLS["a user"])
        lists = ACLS
    except OSError:
        lists = {"none": None}
        row.note("no ACLs: the file system has none")
    cases = itertools.product((US, OTHERS), ((), (OTHERS, ), (THEM, )), lists, lists,
                              (0o660, 0o640, 0o664, 0o604, 0o646, 0o666, 0o600, 0o444))
    for group, ours, of_dir, of_file, mode in row.some(cases):
        place.fresh(0o777, US)
        if lists[of_dir]:
            os.setxattr(place.dir, DEFAULT, lists[of_dir])
        with open(out, "w") as f:
            f.write("ours\n")
        os.chown(out, US, group)
        os.chmod(out, mode)
        if lists[of_file]:
            os.setxattr(out, ACCESS, lists[of_file])
        old = [rights(out, *who) for who in PEOPLE]
        had = os.stat(out)
        d = run(as_user(US, argv, ours))
        what = "a file of group %d, mode %o, ACL: %s, in a directory for %s, by a member of %s" % (
            group, had.st_mode & 0o7777, of_file, of_dir, (US, ) + ours)
        row.add("cases")
        row.add("refused" if d.rc else "done")
        if d.rc != 0:
            row.fail("%s: status %s: %s", what, d.rc, d.err.strip())
            continue
        for who, before in zip(PEOPLE, old):
            if rights(out, *who) & ~before:
                row.fail("%s: user %d with groups %s had rights %o, has %o", what, who[0], who[1],
                         before, rights(out, *who))
        st = os.stat(out)
        if st.st_gid != (group if group in (US, ) + ours else US):
            row.fail("%s: its group is %d", what, st.st_gid)
        if of_file == of_dir == "none" and st.st_gid == group and st.st_mode != had.st_mode:
            row.fail("%s: mode %o", what, st.st_mode)


def q(rig, row):
    """A second user puts files, links, FIFOs and directories under our names into a directory that is
    sticky, theirs or ours, and locks what they can; files of ours with other groups and ACLs are
    replaced: nothing elsewhere changes, no rights are given"""
    if os.getuid() != 0:
        row.note("nothing was run: needs root, to be two users")
        return
    if row.lacks("setpriv") or row.lacks("flock"):
        return
    if run(as_user(US, ["tf-info", "--version"]), cwd="/").rc != 0:
        row.note("nothing was run: other users cannot reach the tools")
        return
    # Not below a directory that only we can enter.
    with tempfile.TemporaryDirectory(prefix="tf-faults-", dir="/tmp") as top:
        place = Place(row, top)
        for part in (outputs, groups, training, locks):
            part(rig, row, place)


ROWS = [("Q", q)]
