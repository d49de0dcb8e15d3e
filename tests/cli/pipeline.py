#!/usr/bin/python3 -I
"""In place of tf-tokenize and tf-decode --copies: a copy for each request on stdin (base/copies.h).
The last of a pipeline prints an object for each line, and the others the lines. What the line says,
or the file `model` beside this one, is what happens."""
import json
import os
import signal
import socket
import struct
import sys
import time

here, name = os.path.split(sys.argv[0])
options = " ".join(sys.argv)
model = open(here + "/model").read().strip() if name == "tf-tokenize" else ""


def answer(n, line):
    if line == "die" or (line == "once" and not os.path.exists(here + "/once")):
        open(here + "/once", "w").close()
        os._exit(1)
    if line == "garbage":
        return "nonsense"
    time.sleep({"slow": 0.02, "sleep": 60}.get(line, 0))
    if line == "bad":
        return json.dumps({"line": n, "status": "other", "reason": "no"})
    text = "" if line.startswith("nothing ") else f"<{model}{line}>"
    made = {"line": n, "status": "ok", "score": -1.0, "text": text}
    if " --nbest" in options:
        ends = ["", "1", "1"] if line == "equal" else "12"
        made["alternatives"] = [{"status": "ok", "text": text + k} for k in ends]
    if " --alignment " in options:  # the first word comes from the last
        words = len(line.split())
        made["alignment"] = " ".join(f"{i}-{words - 1 - i}" for i in range(words))
    return json.dumps(made)


def pass_on():
    for line in os.fdopen(0, "rb"):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def pipeline():
    for n, line in enumerate(os.fdopen(0, encoding="utf-8", newline="\n"), 1):
        with open(here + "/lines", "a", encoding="utf-8") as f:
            f.write(line)
        print(answer(n, line.rstrip("\n")), flush=True)
    if model == "stay":
        time.sleep(600)


if "--pieces" in sys.argv:
    print(open(sys.argv[-1]).read(), end="")
    sys.exit()
if model == "broken":
    sys.exit("tf-tokenize: broken")
if model == "hang":
    time.sleep(600)
if model == "late":
    with open(here + "/model", "w") as f:
        f.write("2")
    os.kill(int(open(f"/proc/{os.getppid()}/stat").read().split()[3]), signal.SIGHUP)
    time.sleep(0.3)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
asks = socket.socket(fileno=os.dup(0))
while (request := socket.recv_fds(asks, 64, 3))[0]:
    if os.fork() == 0:
        group, place = struct.unpack("ii", request[0])
        os.setpgid(0, group)
        os.dup2(request[1][0], 0)
        os.dup2(request[1][1], 1)
        (pipeline if place == 2 else pass_on)()
        os._exit(0)
    for fd in request[1]:
        os.close(fd)
