#!/usr/bin/python3
"""wheel.py - write a wheel with the package, the tools and their man pages, for `make wheel`.

    wheel.py VERSION BIN DIRECTORY [AUDITWHEEL]

It has the tag of this machine and needs its libraries, unless the program auditwheel adds these and
finds the tag of manylinux. The same files and SOURCE_DATE_EPOCH give the same bytes.
"""
import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple, Union

TOP = Path(__file__).resolve().parent.parent
# tf-serve would bring libmicrohttpd with GnuTLS, whose faults nobody would repair in a wheel.
LEFT_OUT = {"tf-serve"}
# Libraries that every Linux has, by the rules of manylinux.
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z)\.so|ld-linux|linux-vdso")


def output(*command: Union[str, Path]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()


def licenses(tools: List[Path]) -> Dict[str, bytes]:
    """Those of the libraries that auditwheel will add, where Debian's packages have them."""
    found: Dict[str, bytes] = {}
    if shutil.which("dpkg-query") is None:
        return found
    for line in output("ldd", *tools).splitlines():
        name, _, rest = line.strip().partition(" => ")
        if rest and not SYSTEM.match(name):
            path = os.path.realpath(rest.split(" (")[0])
            package = output("dpkg-query", "-S", path).split(":")[0]
            found[package] = Path("/usr/share/doc", package, "copyright").read_bytes()
    return found


def contents(version: str, tools: List[Path]) -> Iterator[Tuple[str, bytes, bool]]:
    """(name in the wheel, bytes, is a program) of every file but RECORD."""
    info, data = f"tftools-{version}.dist-info", f"tftools-{version}.data/data"
    for path in sorted(TOP.glob("python/tftools/*")):
        if path.suffix in (".py", ".typed"):
            yield f"tftools/{path.name}", path.read_bytes(), False
    for path in tools:
        with tempfile.NamedTemporaryFile() as stripped:
            subprocess.run(["strip", "-o", stripped.name, path], check=True)
            yield f"tftools/bin/{path.name}", Path(stripped.name).read_bytes(), True
    for path in sorted(TOP.glob("man/*.[157]")):
        if path.stem not in LEFT_OUT:
            yield f"{data}/share/man/man{path.suffix[1:]}/{path.name}", path.read_bytes(), False
    yield f"{info}/licenses/LICENSE", (TOP / "LICENSE").read_bytes(), False
    for package, text in sorted(licenses(tools).items()):
        yield f"{info}/licenses/{package}", text, False
    yield f"{info}/entry_points.txt", ("[console_scripts]\n" + "".join(
        f"{path.name} = tftools.commands:main\n" for path in tools)).encode(), False
    yield f"{info}/METADATA", f"""Metadata-Version: 2.1
Name: tftools
Version: {version}
Summary: The Transformer of 2017 as Unix tools, and a translator kept open
License: MIT
Requires-Python: >=3.9
Provides-Extra: arrays
Requires-Dist: cbor2>=5.4; extra == "arrays"
Requires-Dist: numpy; extra == "arrays"
Description-Content-Type: text/markdown

{(TOP / "python/README.md").read_text(encoding="utf-8")}""".encode(), False
    yield f"{info}/WHEEL", f"""Wheel-Version: 1.0
Generator: tf-tools
Root-Is-Purelib: false
Tag: py3-none-linux_{platform.machine()}
""".encode(), False


def write(version: str, tools: List[Path], folder: Path) -> Path:
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]
    path = folder / f"tftools-{version}-py3-none-linux_{platform.machine()}.whl"
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:

        def put(name: str, data: bytes, program: bool) -> None:
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)

        for name, data, program in contents(version, tools):
            put(name, data, program)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        name = f"tftools-{version}.dist-info/RECORD"
        put(name, f"{record}{name},,\n".encode(), False)
    return path


def main(version: str, bin_dir: str, folder: str, auditwheel: Optional[str] = None) -> None:
    tools = [x for x in sorted(Path(bin_dir).glob("tf-*"))
             if x.suffix != ".so" and x.name not in LEFT_OUT]
    with tempfile.TemporaryDirectory() as temp:
        made = write(version, tools, Path(temp))
        if auditwheel is not None:
            repair = [auditwheel, "repair", "-w", f"{temp}/whole", str(made)]
            if subprocess.run(repair, stdout=sys.stderr).returncode != 0:
                sys.exit("wheel.py: auditwheel failed")
            (made,) = Path(temp, "whole").iterdir()
        os.makedirs(folder, exist_ok=True)
        print(shutil.copy(made, folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
