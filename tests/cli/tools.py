"""What tools answer."""
import json
import subprocess


def lines(path):
    """Each record of a stream as tf-cbor prints it."""
    done = subprocess.run(["tf-cbor", "json", path], stdout=subprocess.PIPE, check=True)
    return [json.loads(x) for x in done.stdout.splitlines()]


def talk(commands, say, **how):
    """A pipe of commands: of each pair the first is sent, and then the second comes, or any line if
    that is None. What comes at the end."""
    tools = []
    for command in commands:
        source = tools[-1].stdout if tools else subprocess.PIPE
        tools.append(subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE, **how))
    for put, want in say:
        tools[0].stdin.write(put)
        tools[0].stdin.flush()
        out = tools[-1].stdout
        got = out.readline() if want is None else out.read(len(want))
        assert got.endswith(b"\n") if want is None else got == want, (commands, put, got)
    tools[0].stdin.close()
    rest = tools[-1].stdout.read()
    assert [t.wait() for t in tools] == [0] * len(tools)
    return rest
