#!/usr/bin/python3 -I
"""The page of tf-serve in a real Chromium: page.py URL PID-OF-THE-SERVICE DIRECTORY

The browser is driven by its DevTools protocol over a pipe: descriptors 3 and 4, messages that end
with NUL. The pipelines are the script of serve.bats, which answers <text>, or <2text> for xx to en;
"slow" and "sleep" take a while. The first word comes from the last.
"""
import json
import os
import signal
import subprocess
import sys
import time

URL, SERVICE, DIR = sys.argv[1], int(sys.argv[2]), sys.argv[3]
to_browser, from_us = os.pipe()
from_browser, to_us = os.pipe()


def ends():
    a, b = os.dup(to_browser), os.dup(to_us)
    a, b = os.dup2(a, 63), os.dup2(b, 64)
    os.dup2(a, 3)
    os.dup2(b, 4)


browser = subprocess.Popen(
    ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
     "--no-first-run", f"--user-data-dir={DIR}", "--remote-debugging-pipe", "about:blank"],
    preexec_fn=ends, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.close(to_browser)
os.close(to_us)
buffer, number, requested = b"", 0, []


def message():
    global buffer
    while b"\0" not in buffer:
        chunk = os.read(from_browser, 1 << 16)
        assert chunk, "the browser has ended"
        buffer += chunk
    one, buffer = buffer.split(b"\0", 1)
    return json.loads(one)


def call(method, session=None, **params):
    global number
    number += 1
    more = {"sessionId": session} if session else {}
    text = json.dumps({"id": number, "method": method, "params": params, **more})
    os.write(from_us, text.encode() + b"\0")
    while True:
        m = message()
        if m.get("method") == "Network.requestWillBeSent":
            requested.append(m["params"]["request"]["url"])
        if m.get("id") == number:
            assert "error" not in m, m
            return m["result"]


target = call("Target.createTarget", url="about:blank")["targetId"]
session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]


def do(method, **params):
    return call(method, session, **params)


def js(expression):
    r = do("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
    assert "exceptionDetails" not in r, r
    return r["result"].get("value")


def wait_for(expression, value, seconds=30):
    end = time.monotonic() + seconds
    while (got := js(expression)) != value:
        assert time.monotonic() < end, (expression, got, value)
        time.sleep(0.02)


def clear():
    js('$("source").value = ""; $("source").focus(); changed(0)')
    wait_for('$("target").textContent', "")


TARGET, STATE = '$("target").textContent', '$("state").textContent'
do("Network.enable")
do("Page.enable")
do("Page.navigate", url=URL + "/#en/xx/a%20link")
wait_for('typeof $ === "function" && $("target").textContent', "<a link>")
assert js('$("from").value + $("to").value') == "enxx"

assert js('$("terms").textContent') == "A glossary of 2 terms is used."
assert js('$("terms").checkVisibility()')

# As one types, with a request for the last text only.
clear()
requested.clear()
for c in "abc":
    do("Input.insertText", text=c)
wait_for(TARGET, "<abc>")
assert requested == [URL + "/translate"], requested
assert js('[...document.querySelectorAll("#alternatives button")].map(b => b.textContent).join()') \
    == "<abc>1,<abc>2"

# What an older request brings never replaces what a newer one brought, whenever it comes.
clear()
js("""window.real = fetch; window.held = [];
    fetch = (url, o) => JSON.parse(o.body).q !== "old" ? real(url, o) : new Promise(done =>
        held.push(() => done(new Response('{"translatedText":"<old>"}'))));""")
do("Input.insertText", text="old")
wait_for("held.length", 1)
js('$("source").value = ""')
do("Input.insertText", text="new")
wait_for(TARGET, "<new>")
js("held[0](); fetch = real; new Promise(done => setTimeout(done, 200))")
assert js(TARGET) == "<new>"

# By keyboard: swap the languages, which takes the translation as the text.
for kind in "keyDown", "keyUp":
    do("Input.dispatchKeyEvent", type=kind, modifiers=1 | 8, code="KeyS", key="S",
       windowsVirtualKeyCode=83)
wait_for(TARGET, "<<new>>")
assert js('$("from").value + $("to").value + $("source").value') == "xxen<new>"
assert not js('$("terms").checkVisibility()')
js('$("swap").click()')
order = js("""[...document.querySelectorAll("select, button, textarea")].filter(e => e.tabIndex < 0)
    .length""")
assert order == 0
# A reader of screens finds all of it in one landmark.
assert js('[...document.body.children].map(e => e.tagName).join()') == "MAIN,SCRIPT"

# Which words come from which: under the mouse, by keyboard, at the cursor; until one types.
HITS = """[...document.querySelectorAll(".hit")].map(e => e.parentNode.id + " " + e.textContent)
    .join()"""


def hover(word):
    x, y = js(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({word}.getBoundingClientRect())")
    do("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def press(key):
    for kind in "keyDown", "keyUp":
        do("Input.dispatchKeyEvent", type=kind, key=key, code=key,
           windowsVirtualKeyCode={"ArrowLeft": 37, "ArrowRight": 39}[key])


clear()
do("Input.insertText", text="one two three")
wait_for(TARGET, "<one two three>")
BOX = """(e => [e.x, e.y, e.width, e.height].join())(shadow.getBoundingClientRect())"""
INNER = """(e => [e.x + source.clientLeft, e.y + source.clientTop, source.clientWidth,
    source.clientHeight].join())(source.getBoundingClientRect())"""
wait_for(f"{BOX} === {INNER}", True)
hover("target.children[0]")
wait_for(HITS, "shadow three,target <one")
hover("shadow.children[1]")
wait_for(HITS, "shadow two,target two")
hover('$("copy")')
wait_for(HITS, "")
js("target.focus()")
press("ArrowRight")
press("ArrowRight")
wait_for(HITS, "shadow two,target two")
assert js('$("linked").textContent') == "two: two"
press("ArrowLeft")
press("ArrowLeft")
wait_for(HITS, "shadow three,target <one")
js("source.focus(); source.setSelectionRange(12, 12)")
assert js(HITS) == ""
press("ArrowRight")
wait_for(HITS, "shadow three,target <one")
do("Input.insertText", text=" four")
assert js(HITS + " + shadow.textContent") == ""
wait_for(TARGET, "<one two three four>")

# The user's own terms are names to the model (its script keeps them), and change sides with the
# languages.
js('document.querySelector("details").open = true; $("own").value = "a cat = chat\\nno sign\\n= x"')
js('$("own").oninput()')
clear()
do("Input.insertText", text="A cat b")
wait_for(TARGET, "<Chat b>")
js('$("swap").click()')
wait_for('$("own").value', "chat = a cat")
js('$("own").value = ""; $("swap").click()')

# Right to left, on a phone, in the dark.
clear()
do("Input.insertText", text="شلام")
wait_for(TARGET, "<شلام>")
assert js('getComputedStyle($("source")).direction') == "rtl"
assert js("getComputedStyle(shadow).direction") == "rtl"
do("Emulation.setDeviceMetricsOverride", width=360, height=640, deviceScaleFactor=2, mobile=True)
clear()
do("Input.insertText", text="w" * 300)
wait_for(TARGET, f"<{'w' * 300}>")
assert js("document.documentElement.scrollWidth") <= 360
light = js("getComputedStyle(document.body).backgroundColor")
do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
assert js("getComputedStyle(document.body).backgroundColor") != light

# Busy, then not; failed; gone. (--queue 3)
clear()
do("Input.insertText", text="sleep")
time.sleep(0.5)
js("""for (let i = 0; i < 3; i++) real("translate", {method: "POST", body: JSON.stringify(
    {q: "wait", source: "en", target: "xx"}), headers: {"Content-Type": "application/json"}});
    window.waiting = true""")
time.sleep(0.5)
js('$("source").value = "b"; changed(0)')
wait_for(f'{STATE}.includes("busy")', True)
wait_for(TARGET, "<b>", 60)
assert js(STATE) == ""
js('$("source").value = "bad"; changed(0)')
wait_for(STATE, "no")
os.kill(SERVICE, signal.SIGKILL)
js('$("source").value = "c"; changed(0)')
wait_for(f'{STATE}.includes("cannot be reached")', True)
assert all(u.startswith(URL + "/") for u in requested), requested
call("Browser.close")
browser.wait(30)
