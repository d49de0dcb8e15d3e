"""each.py SCRIPT: run it for each line of stdin, its arguments, in one process: of a second that ten
runs take, nine tenths load numpy."""
import runpy
import shlex
import sys

sys.dont_write_bytecode = True
script = sys.argv[1]
for line in sys.stdin:
    sys.argv = [script, *shlex.split(line)]
    runpy.run_path(script, run_name="__main__")
