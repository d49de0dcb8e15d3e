#!/usr/bin/env python3
"""serve.py MODEL.tfm TEXT [--seconds 20] [--clients 1 8 64] [--options '...'] [--starts 10]
[--memory 1 4] - tf-serve beside CTranslate2 in a Python server of the usual kind (uvicorn,
starlette, a thread for each request).

Both have the same model, which tf-convert writes for CTranslate2 (one that it takes, with a
SentencePiece vocabulary), two threads of 8-bit products, and CTranslate2's search with beam 4; each
client sends a random line of TEXT when it has the answer to the one before. Prints requests a
second, the median and the 99th percentile of the latency, the proportional memory of all processes,
the time from the start to the first answer and the CPU time that it took, and how many texts are
equal. The tools are those in PATH; needs ctranslate2, sentencepiece, starlette and uvicorn, from
PyPI. With --memory only the memory of tf-serve, after 40 lines, for so many pipelines."""
import argparse
import asyncio
import json
import os
import random
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

SEARCH = "--search ctranslate2 --beam 4 --normalize 1 --allow-unk --precision int8"


def app():
    """What uvicorn serves: the model in the directory CT2_MODEL."""
    import ctranslate2
    import sentencepiece
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse
    from starlette.routing import Route
    path = os.environ["CT2_MODEL"]
    model = ctranslate2.Translator(path, compute_type="int8", inter_threads=2, intra_threads=1)
    pieces = sentencepiece.SentencePieceProcessor(path + "/source.spm")

    def work(text):
        out = model.translate_batch([pieces.encode(text, out_type=str)], beam_size=4,
                                    length_penalty=1)
        return pieces.decode(out[0].hypotheses[0])

    async def translate(request):
        text = (await request.json())["q"]
        return JSONResponse({"translatedText": await run_in_threadpool(work, text)})

    return Starlette(routes=[Route("/translate", translate, methods=["POST"])])


def body(text):
    return json.dumps({"q": text, "source": "en", "target": "xx"}).encode()


def start(command, url, **more):
    """(process, URL, seconds to the first answer); without a URL the process prints it."""
    begin = time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.PIPE, **more)
    url = url or p.stdout.readline().decode().split()[-1]
    request = urllib.request.Request(url + "/translate", body("A dog."),
                                     {"Content-Type": "application/json"})
    while True:
        try:
            urllib.request.urlopen(request).read()
            return p, url, time.monotonic() - begin
        except OSError:
            assert p.poll() is None, command
            time.sleep(0.005)


def processes(pid):
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        yield from processes(child)
    yield pid


def megabytes(pid):
    total = 0
    for p in processes(pid):
        for line in open(f"/proc/{p}/smaps_rollup"):
            total += int(line.split()[1]) if line.startswith("Pss:") else 0
    return total / 1024


def cpu_seconds(pid):
    """Of all threads that its processes have."""
    return sum(int(open(f"/proc/{p}/task/{t}/schedstat").read().split()[0])
               for p in processes(pid) for t in os.listdir(f"/proc/{p}/task")) / 1e9


def memory(o, lines):
    for n in o.memory:
        process, url, _ = start(["tf-serve", f"en-xx={o.model}", "--listen", "127.0.0.1:0",
                                 "-p", str(n)], None)
        request = urllib.request.Request(url + "/translate", body(lines[:40]),
                                         {"Content-Type": "application/json"})
        urllib.request.urlopen(request).read()
        print(f"{n} pipelines: {megabytes(process.pid):.0f} MB", flush=True)
        process.send_signal(signal.SIGTERM)
        process.wait()


async def client(k, url, lines, begin, end, took, texts):
    r = random.Random(k)
    reader, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
    while (sent := time.monotonic()) < end:
        text = r.choice(lines)
        data = body(text)
        writer.write(b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        n = 0
        while (line := await reader.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                n = int(line.split(b":")[1])
        answer = json.loads(await reader.readexactly(n))
        if sent >= begin:
            took.append(time.monotonic() - sent)
        texts[text] = answer["translatedText"]
    writer.close()


async def load(n, url, lines, seconds):
    took, texts, begin = [], {}, time.monotonic() + 2
    await asyncio.gather(*[client(k, url, lines, begin, begin + seconds, took, texts)
                           for k in range(n)])
    took.sort()
    return len(took) / seconds, took[len(took) // 2], took[int(len(took) * 0.99)], texts


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("model")
    p.add_argument("text")
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--clients", type=int, nargs="*", default=[1, 8, 64])
    p.add_argument("--options", default=SEARCH, help="of tf-serve")
    p.add_argument("--starts", type=int, default=1, help="of each, in turn")
    p.add_argument("--memory", type=int, nargs="*", help="numbers of pipelines")
    o = p.parse_args()
    lines = open(o.text, encoding="utf-8").read().split("\n")[:-1]
    if o.memory:
        memory(o, lines)
        return
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["tf-convert", "--to", "ctranslate2", o.model, "-o", d + "/m"], check=True)
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        took = []
        for i in range(o.starts):
            ours = start(["tf-serve", f"en-xx={o.model}", "--listen", "127.0.0.1:0", "-p", "2",
                          *shlex.split(o.options)], None)
            theirs = start([sys.executable, "-m", "uvicorn", "--factory", "--log-level", "error",
                            "--no-access-log", "--port", str(port), "serve:app"],
                           f"http://127.0.0.1:{port}",
                           cwd=os.path.dirname(os.path.abspath(__file__)),
                           env=dict(os.environ, CT2_MODEL=d + "/m"))
            took.append(tuple((s[2], cpu_seconds(s[0].pid)) for s in (ours, theirs)))
            for process, _, _ in (ours, theirs) if i + 1 < o.starts else ():
                process.send_signal(signal.SIGTERM)
                process.wait()
        for name, of in zip(("tf-serve", "CTranslate2"), zip(*took)):
            times, cpu = zip(*of)
            print(f"first answer after: {name} {statistics.median(times):.4f} s "
                  f"({min(times):.3f} to {max(times):.3f}), {statistics.median(cpu):.3f} s of CPU",
                  flush=True)
        for n in o.clients:
            texts = []
            for name, (process, url, _) in ("tf-serve", ours), ("CTranslate2", theirs):
                rate, half, most, answers = asyncio.run(load(n, url, lines, o.seconds))
                texts.append(answers)
                print(f"{n:3d} clients {name:11s} {rate:7.1f}/s  p50 {1e3 * half:6.1f} ms  "
                      f"p99 {1e3 * most:6.1f} ms  {megabytes(process.pid):4.0f} MB", flush=True)
            both = texts[0].keys() & texts[1].keys()
            print(f"    equal: {sum(texts[0][t] == texts[1][t] for t in both)} of {len(both)}")
        for process, _, _ in ours, theirs:
            process.send_signal(signal.SIGTERM)
            process.wait()


if __name__ == "__main__":
    main()
