#!/usr/bin/env python3
"""Write `expected.gz` anew: what sacreBLEU 2.6 says to every line of `cases`. Needs the package
sacrebleu; run it in this directory."""
import gzip
import subprocess

import sacrebleu

out = ""
with open("cases") as cases:
    for case in cases.read().splitlines():
        run = subprocess.run(["sacrebleu", "-q", *case.split()], capture_output=True, check=True)
        text = run.stdout.decode().replace(f"version:{sacrebleu.__version__}", "version:VERSION")
        text = text.replace(f"|v:{sacrebleu.__version__}",
                            "|v:VERSION").replace(f'"version": "{sacrebleu.__version__}"',
                                                  '"version": "VERSION"')
        out += f"== {case}\n{text}"
with open("expected.gz", "wb") as f:
    f.write(gzip.compress(out.encode(), mtime=0))
