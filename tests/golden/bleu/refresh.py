#!/usr/bin/env python3
"""Write `expected` anew: what sacreBLEU 2.6 says to every line of `cases`. Needs the package
sacrebleu; run it in this directory."""
import subprocess

import sacrebleu

with open("cases") as cases, open("expected", "w", encoding="utf-8", newline="\n") as out:
    for case in cases.read().splitlines():
        run = subprocess.run(["sacrebleu", "-q", *case.split()], capture_output=True, check=True)
        text = run.stdout.decode().replace(f"version:{sacrebleu.__version__}", "version:VERSION")
        text = text.replace(f"|v:{sacrebleu.__version__}",
                            "|v:VERSION").replace(f'"version": "{sacrebleu.__version__}"',
                                                  '"version": "VERSION"')
        out.write(f"== {case}\n{text}")
