#!/usr/bin/python3 -I
"""Clients for tests of tf-serve: serve.py CASE URL [ARGUMENT...]; a case is a function below."""
import http.client
import json
import random
import socket
import sys
import threading
import time

URL = sys.argv[2]
HOST, PORT = URL.removeprefix("http://").rsplit(":", 1)


def ask(q, timeout=60, **more):
    """(status, body, headers) of one request to translate."""
    c = http.client.HTTPConnection(HOST, int(PORT), timeout=timeout)
    body = json.dumps(dict({"q": q, "source": "en", "target": "xx"}, **more))
    c.request("POST", "/translate", body, {"Content-Type": "application/json"})
    r = c.getresponse()
    answer = (r.status, json.loads(r.read()), dict(r.getheaders()))
    c.close()
    return answer


def text_of(q, **more):
    status, body, _ = ask(q, **more)
    assert status == 200, (q, status, body)
    return body["translatedText"]


def metric(name):
    c = http.client.HTTPConnection(HOST, int(PORT), timeout=60)
    c.request("GET", "/metrics")
    for line in c.getresponse().read().decode().splitlines():
        if line.split(" ")[0] == name:
            return float(line.split(" ")[1])
    return 0


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "never true"
        time.sleep(0.02)


def connect():
    s = socket.create_connection((HOST, int(PORT)), timeout=60)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def raw(data):
    """What the service sends for these bytes until it closes the connection."""
    s = connect()
    got = b""
    try:
        s.sendall(data)
        while chunk := s.recv(65536):
            got += chunk
    except ConnectionError:
        pass
    return got


def post(body, more="", path="/translate", kind="application/json"):
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n{more}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def threads(jobs):
    failures = []

    def run(job):
        try:
            job()
        except BaseException as e:
            failures.append(f"{type(e).__name__}: {e}")

    ts = [threading.Thread(target=run, args=(j,)) for j in jobs]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    assert not failures, failures[:3]


def hello(text):
    return json.dumps({"q": text, "source": "en", "target": "xx"}).encode()


def hostile(patience):
    """Nothing that a client sends harms another. The service has --patience and --max-body 10000."""
    good = text_of("a b c")
    slow = [connect() for _ in range(5)]
    slow[0].sendall(b"POST /tran")
    slow[1].sendall(post(hello("a b"))[:-3])
    slow[2].sendall(post(b"{", "Expect: 100-continue\r\n")[:-1])
    slow[3].sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{")
    begin = time.monotonic()
    part = lambda name: post(b"--xx\r\nContent-Disposition: form-data%b\r\n\r\na\r\n--xx--\r\n" % name,
                             "Connection: close\r\n", kind="multipart/form-data; boundary=xx")
    status = lambda answer: int(answer.split(b" ")[1]) if answer else 0
    for data, expected in (
        (b"\x00\xff\x16\x03\x01 garbage\r\n\r\n", (0, 400)),
        (b"GET / HTTP/9.9\r\n\r\n", (0, 400, 505)),
        (b"GET /health HTTP/1.1\r\n" + b"A: b\r\n" * 10000 + b"\r\n", (0, 431)),
        (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", (0, 414, 431)),
        (post(b"", "Connection: close\r\n"), (400,)),
        (post(b"[]", "Connection: close\r\n"), (400,)),
        (post(b"{\"q\":", "Connection: close\r\n"), (400,)),
        (post(b"{\"q\":\"\xff\xfe\"}", "Connection: close\r\n"), (400,)),
        (post(b"[" * 5000, "Connection: close\r\n"), (400,)),
        (post(b"q=%ff&source=en&target=xx", "Connection: close\r\n",
              kind="application/x-www-form-urlencoded"), (400,)),
        (post(b"no form", "Connection: close\r\n", kind="multipart/form-data; boundary=x"), (400,)),
        (part(b""), (400,)),
        (part(b'; name="q\0"'), (400,)),
        (part(b'; na\0me="q"'), (400,)),
        (post(b"q", "Connection: close\r\n", kind="text/plain"), (400,)),
        (post(b"x" * 20000, "Connection: close\r\n"), (413,)),
        (post(b"x" * 5000000, "Connection: close\r\n"), (413,)), # read after all is sent
        (post(b"x" * 5000000, "Connection: close\r\nContent-Encoding: gzip\r\n"), (415,)),
        (post(b"", "Expect: 100-continue\r\n").replace(b"h: 0", b"h: 5000000"), (413,)),
        (b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", (0, 400)),
        (b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
         (0, 400, 413)),
        (b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
         + b"1000\r\n" + b"x" * 4096 + b"\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n"
         + b"1000\r\n" + b"x" * 4096 + b"\r\n0\r\n\r\n", (413,)),
    ):
        got = status(raw(data))
        assert got in expected, (data[:60], got)
        assert text_of("a b c") == good
    # Where it is unclear where a request ends, what follows is no request.
    chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(hello("a")), hello("a"))
    for lines in (b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"Content-Length : 100",
                  b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                  b"Transfer-Encoding : chunked", b"Transfer-Encoding:\r\n chunked",
                  b"Transfer-Encoding: identity", b"Transfer-Encoding: gzip, chunked",
                  b"Content-Length:\r\n 100", b"Content-Length: +1", b"Content-Length\x0b: 1",
                  b"A: b\rContent-Length: 100"):
        for body in b"", chunk:
            got = raw(b"POST /translate HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\n\r\n" + body
                      + b"GET /languages HTTP/1.1\r\nHost: x\r\n\r\n")
            assert status(got) in (0, 400) and b"targets" not in got, (lines, got)
    # Requests without waiting for answers are answered in order.
    both = raw(post(hello("a b c")) + post(hello("b a")) +
               post(hello("c"), "Connection: close\r\n"))
    texts = [json.loads(p.split(b"\r\n\r\n")[1].split(b"\n")[0])["translatedText"]
             for p in both.split(b"HTTP/1.1 200 OK")[1:]]
    assert texts == [text_of("a b c"), text_of("b a"), text_of("c")], texts
    # Those that are too slow are closed.
    for i, s in enumerate(slow):
        s.settimeout(20)
        try:
            while s.recv(1000):
                pass
        except ConnectionError:
            pass
        assert time.monotonic() - begin >= 0.5 * float(patience), i
    # One that does not take its answer.
    s = connect()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    s.sendall(post(hello(" " * 9000)) * 300)
    assert text_of("a b c") == good
    wait_for(lambda: metric("tf_serve_queue_sentences{model=\"en-xx\"}") == 0)


def mixed(clients, requests, path, seed="1"):
    """Clients at the same time, some of which die; each answer is that of tf-translate."""
    pairs = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")]

    def client(k):
        r = random.Random(f"{seed} {k}")
        for _ in range(int(requests) // int(clients)):
            chosen = [r.choice(pairs) for _ in range(r.choice((1, 1, 1, 2, 5)))]
            sources, targets = [p[0] for p in chosen], [p[1] for p in chosen]
            how = r.random()
            if how < 0.1: # dies at some point
                s = connect()
                data = post(hello(sources))
                s.sendall(data[:r.randrange(1, len(data) + 1)])
                if how < 0.05:
                    time.sleep(r.random() * 0.05)
                if how < 0.02:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                s.close()
            elif how < 0.2:
                assert text_of("\n".join(sources)) == "\n".join(targets)
            else:
                got = text_of(sources)
                assert got == targets, (sources, got, targets)

    threads([lambda k=k: client(k) for k in range(int(clients))])


def leave(n):
    """Clients that post lines which take long, and leave: nobody waits for these."""
    for _ in range(int(n)):
        s = connect()
        s.sendall(post(hello("slow\n" * 20)))
        s.close()
    left = lambda: metric('tf_serve_requests_total{code="499"}')
    wait_for(lambda: left() == int(n))
    assert metric('tf_serve_queue_sentences{model="en-xx"}') == 0
    assert text_of("a") == "<a>"


def fair():
    """A line does not wait for a long request before it."""
    long = threading.Thread(target=text_of, args=("slow\n" * 40,))
    long.start()
    wait_for(lambda: metric('tf_serve_queue_sentences{model="en-xx"}') > 0)
    assert text_of("a") == "<a>"
    assert metric('tf_serve_queue_sentences{model="en-xx"}') > 0
    long.join()


def full():
    """--queue 40: a request too many is refused, and one that will never fit."""
    long = threading.Thread(target=text_of, args=("slow\n" * 40,))
    long.start()
    wait_for(lambda: metric('tf_serve_queue_sentences{model="en-xx"}') > 30)
    status, body, headers = ask("a\n" * 20)
    assert status == 503 and int(headers["Retry-After"]) > 0 and "busy" in body["error"], body
    assert ask("a\n" * 41)[0] == 413
    long.join()
    assert text_of("a") == "<a>"


def fill_connections(n):
    """So many connections that say nothing; another is answered when they are closed."""
    held = [connect() for _ in range(int(n))]
    assert text_of("a") == "<a>"
    for s in held:
        s.close()


def late():
    """--timeout 0.4: 504, and the next request is answered."""
    status, body, _ = ask(["a", "sleep"])
    assert status == 504 and "in time" in body["error"], (status, body)
    assert text_of("a") == "<a>"


def ends():
    """Pipelines that end: lines are sent again, once, and no other request fails."""
    jobs = [lambda i=i: text_of([f"x{i}", "b", f"y{i}"]) == [f"<x{i}>", "<b>", f"<y{i}>"] or 1 / 0
            for i in range(8)]
    threads(jobs + [lambda: text_of(["a", "once", "b"]) == ["<a>", "<once>", "<b>"] or 1 / 0])
    status, body, _ = ask("die")
    assert (status, body["error"]) == (500, "the pipeline ended twice"), (status, body)
    status, body, _ = ask(["a", "die", "b", "bad"])
    assert status == 200 and body["translatedText"] == ["<a>", "", "<b>", ""], body
    assert body["errors"] == [
        {"index": 1, "line": 1, "status": "failed", "reason": "the pipeline ended twice"},
        {"index": 3, "line": 1, "status": "other", "reason": "no"}], body
    assert ask("garbage")[0] == 500
    threads(jobs)
    assert metric('tf_serve_restarts_total{model="en-xx"}') >= 7


def during(signal_to, seconds, *words):
    """Ask all the time while a signal is sent; each answer begins with one of the words, the last
    with the last word."""
    import os
    import signal
    last = ""
    end = time.monotonic() + float(seconds)
    os.kill(int(signal_to), signal.SIGHUP)
    while time.monotonic() < end or last != words[-1]:
        got = text_of("a")
        assert any(got == w for w in words), got
        last = got
        assert time.monotonic() < end + 30, last


def term(pid):
    """SIGTERM: what has been asked is answered; then nobody is."""
    import os
    import signal
    kept = http.client.HTTPConnection(HOST, int(PORT), timeout=60)
    kept.connect()
    got = []
    long = threading.Thread(target=lambda: got.append(text_of("slow\n" * 20)))
    long.start()
    wait_for(lambda: metric('tf_serve_sent_sentences{model="en-xx"}') > 0)
    os.kill(int(pid), signal.SIGTERM)
    long.join()
    assert got == ["<slow>\n" * 20], got
    try:
        connect()
    except ConnectionError:
        return
    raise AssertionError("still accepts")


def say(text):
    print(text_of(text), end="")


def texts(path):
    """A list request of the lines of a file: its lines."""
    for line in text_of(open(path, encoding="utf-8").read().split("\n")[:-1]):
        print(line)


def activated(*command):
    """Run the command with a socket as systemd passes it (URL is not used)."""
    import os
    s = socket.create_server(("127.0.0.1", 0))
    os.dup2(s.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
    os.execvp(command[0], command)


globals()[sys.argv[1]](*sys.argv[3:])
