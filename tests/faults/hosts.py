"""Network namespaces as hosts, for Open MPI: what goes from one to the other passes a wire that has a
rate and can be cut. Needs root, iproute2 and util-linux."""
import os
import shutil
import signal
import subprocess

AGENT = """#!/bin/sh
# HOST COMMAND...: in place of a remote shell
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c '
    hostname "tf-$(echo "$1" | tr . -)"
    shift
    exec sh -c "$*"' sh "$host" "$@"
"""


def call(argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Hosts:
    """Two namespaces, each with the name of its address. rate and burst are tc-tbf's."""
    def __init__(self, tmp, rate="100mbit", burst="64kb"):
        pid = os.getpid()
        self.names = ["10.%d.%d.%d" % (128 + pid // 250 % 128, pid % 250, i) for i in (1, 2)]
        self.whole = (rate, burst)
        self.agent = os.path.join(tmp, "agent")
        with open(self.agent, "w") as f:
            f.write(AGENT)
        os.chmod(self.agent, 0o755)

    def create(self):
        """None, or what this machine lacks. Afterwards, too, remove() is required."""
        for program in ("mpirun.openmpi", "ip", "tc", "unshare"):
            if not shutil.which(program):
                return "no " + program
        a, b = self.names
        commands = [["ip", "netns", "add", a], ["ip", "netns", "add", b],
                    ["ip", "link", "add", "wire", "netns", a, "type", "veth", "peer", "name",
                     "wire", "netns", b]]
        for x in self.names:
            commands += [["ip", "-n", x, "link", "set", "lo", "up"],
                         ["ip", "-n", x, "link", "set", "wire", "up"],
                         ["ip", "-n", x, "addr", "add", x + "/24", "dev", "wire"],
                         [self.agent, x, "true"]]
        for argv in commands + self.limits(*self.whole):
            d = call(argv)
            if d.returncode != 0:
                return "%s: %s" % (" ".join(argv), d.stderr.strip())
        return None

    def limits(self, rate, burst):
        return [["tc", "-n", x, "qdisc", "replace", "dev", "wire", "root", "tbf", "rate", rate,
                 "burst", burst, "latency", "50ms"] for x in self.names]

    def cut(self):
        """Every packet is larger than this burst, and is dropped without a trace."""
        return all(call(argv).returncode == 0 for argv in self.limits("1kbit", "10"))

    def repair(self):
        """Whole again, and without the daemons that the launcher left on the other host."""
        for x in self.names:
            for pid in call(["ip", "netns", "pids", x]).stdout.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        return all(call(argv).returncode == 0 for argv in self.limits(*self.whole))

    def remove(self):
        if shutil.which("ip"):
            self.repair()
            for x in self.names:
                call(["ip", "netns", "del", x])

    def launcher(self, each):
        """Of so many ranks on each host. Without keepalive the launcher itself hangs when the wire
        is cut."""
        settings = dict(plm_rsh_agent=self.agent, btl="tcp,self", btl_tcp_if_include="wire",
                        oob_tcp_if_include="wire", oob_tcp_keepalive_time="1",
                        oob_tcp_keepalive_intvl="1", oob_tcp_keepalive_probes="2")
        return [self.agent, self.names[0], "mpirun.openmpi", "--bind-to", "none", "-H",
                ",".join("%s:%d" % (x, each) for x in self.names)] + [
                    word for x in settings.items() for word in ("--mca", ) + x]
