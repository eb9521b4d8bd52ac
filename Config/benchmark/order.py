"""Finds the functions that a start and small files need, and which of them lie apart. Config/order calls it.

Linux reads a program in pieces of sixteen pages. A piece with hundreds of functions that are needed is read in any
case; one with three costs as much memory, and three functions that are moved save it. So the list is of the latter:
those of the emptiest pieces first, until it is long enough.

What the linker moves is a section. Of this package's functions each has its own; a file of Foundation has one for
most of what is in it, and is left where it is if that is longer than what moving it would save.
"""

import bisect
import collections
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # leave no cache in the repository

from nginx import Nginx  # noqa: E402

PIECE = 16 * 4096
LONGEST = 900  # sections in the list
LARGEST = 4 * 4096  # bytes of a section that is moved
KIB = 1024


def main():
    program, written = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="order-")))
        nginx = stack.enter_context(Nginx(folder / "nginx", "/usr/sbin/nginx", 4096))
        one, few = nginx.files("small", 1, 4 * KIB), nginx.files("small", 300, 4 * KIB)
        needed = set()
        for number, call in enumerate([
            ["--version"],
            ["get", one.first_address],
            ["get", "-q", "--no-cache", one.first_address],
            ["get", "--progress", "plain", "-j", "64", str(few.list_file)],
            ["get", "--progress", "plain", "-j", "64", str(few.list_file)],
        ]):
            needed |= functions_called(program, call, folder, number)
    lonely = lonely_functions(needed, addresses(program), sections(program))
    written.write_text("".join(f"{name}\n" for name in sorted(lonely[:LONGEST])))
    print(f"{len(needed):,} functions are called, {len(lonely[:LONGEST]):,} are in the list", file=sys.stderr)


def functions_called(program, call, folder, number):
    """The program's own functions, by their names in the symbol table."""
    home, output = folder / "home", folder / f"calls-{number}"
    place = folder / "files"  # the same twice: the second run asks about what the first one fetched
    for path in (home, place):
        path.mkdir(exist_ok=True)
    subprocess.run(
        ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={output}", str(program), *call],
        cwd=place, env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    names, found, is_own = {}, set(), False
    for line in output.read_text(errors="replace").splitlines():
        if line.startswith("ob="):
            is_own = named(line[3:], names.setdefault("ob", {})) == str(program)
        elif line.startswith("cob="):
            named(line[4:], names.setdefault("ob", {}))
        elif line.startswith("fn="):
            name = named(line[3:], names.setdefault("fn", {}))
            if is_own:
                found.add(re.sub(r"'\d+$", "", name))  # a number for each level of recursion
        elif line.startswith("cfn="):
            named(line[4:], names.setdefault("fn", {}))
    return found


def named(text, known):
    """A name of callgrind's format: "(7) name" the first time, "(7)" from then on."""
    number, _, name = text.partition(" ")
    if name:
        known[number] = name
    return known[number]


def addresses(program):
    """Where each function begins."""
    lines = subprocess.run(["nm", str(program)], check=True, capture_output=True, text=True).stdout
    fields = (line.split() for line in lines.splitlines())
    return {line[2]: int(line[0], 16) for line in fields if len(line) == 3 and line[1] in "tTwW"}


def sections(program):
    """First address and size of each section that went into the program, by the linker's map beside it."""
    found = []
    for line in program.with_name(f"{program.name}.map").read_text(errors="replace").splitlines()[1:]:
        fields = line.split(None, 4)
        if len(fields) == 5 and line[49:57].isspace() and line[57] != " ":
            found.append((int(fields[0], 16), int(fields[2], 16)))
    return sorted(section for section in found if section[1])


def lonely_functions(needed, starts, parts):
    """A function for each section that is worth moving, those in the emptiest pieces first."""
    first = [start for start, _ in parts]
    names = {}
    for name in sorted(needed & starts.keys()):
        names.setdefault(parts[bisect.bisect_right(first, starts[name]) - 1], name)
    pieces = collections.defaultdict(list)
    for start, size in sorted(names):
        for piece in range(start // PIECE, (start + size - 1) // PIECE + 1):
            pieces[piece].append((start, size))
    ordered = sorted(pieces, key=lambda piece: (len(pieces[piece]), piece))
    lonely = dict.fromkeys(part for piece in ordered for part in pieces[piece])
    return [names[part] for part in lonely if part[1] <= LARGEST]


if __name__ == "__main__":
    main()
