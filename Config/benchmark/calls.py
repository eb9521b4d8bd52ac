"""How each tool is called. Each gets the options that suit it best, and none that relax what it checks."""

import dataclasses
from typing import Optional

from contents import FileSet
from targets import FLOOR


@dataclasses.dataclass(frozen=True)
class Call:
    """One command of a workload; `name` stands in the table, and `files` must be in the folder afterwards."""
    name: str
    arguments: list
    files: Optional[FileSet] = None
    environment: dict = dataclasses.field(default_factory=dict)
    before: tuple = ()  # what has run before it and is not measured: `Preparation`s
    in_terminal: bool = False


@dataclasses.dataclass(frozen=True)
class Preparation:
    """A command that runs before the measured one, in the same home."""
    arguments: list
    elsewhere: bool = False  # in the folder ELSEWHERE, not in the one that is measured


ELSEWHERE, CURLS = "../elsewhere", "curl -Z, several at once"


def dlm(files, *options, name="dlm", environment=None):
    # One address needs no list; the tools beside dlm get it as an argument as well.
    source = str(files.list_file) if len(files.digests) > 1 else files.first_address
    return Call(name, ["dlm", "get", "--no-cache", "-q", *options, source], files, environment or {})


def drawing(files, *options, name):
    """dlm in a terminal, with bars."""
    arguments = ["dlm", "get", "--no-cache", *options, str(files.list_file)]
    return Call(name, arguments, files, {"TERM": "xterm-256color"}, in_terminal=True)


def cached(files, *options, name, after=(), elsewhere=False):
    """dlm with its cache, `after` first runs over these lists, in the same folder or elsewhere."""
    get = ["dlm", "get", "-q", "-j", "64"]
    before = tuple(Preparation([*get, str(first.list_file)], elsewhere) for first in after)
    return Call(name, [*get, *options, str(files.list_file)], files, before=before)


def copy(files):
    """What a copy of the files costs that another command brought."""
    fetch = Preparation(["dlm", "get", "--no-cache", "-q", "-j", "64", str(files.list_file)], elsewhere=True)
    return Call("cp -r", ["cp", "-r", f"{ELSEWHERE}/.", "."], files, before=(fetch,))


def curl(files, *options):
    """One file after the other."""
    source = ["-K", str(files.curl_config)] if len(files.digests) > 1 else ["-O", files.first_address]
    return Call("curl", ["curl", "-s", "-S", *options, *source], files)


def curl_parallel(files, *options, at_once=None, is_immediate=True, name="curl -Z"):
    # Without --parallel-immediate the first transfers wait for a connection that they might share.
    limit = [*(["--parallel-immediate"] if is_immediate else []), *(["--parallel-max", str(at_once)] if at_once else [])]
    return Call(name, ["curl", "-s", "-S", "-Z", *limit, *options, "-K", str(files.curl_config)], files)


def curls(files):
    """As many at once as it takes for all files, each with the 300 at a time that curl -Z allows at most."""
    count = -(-len(files.digests) // 300)
    each = ["curl", "-s", "-S", "-Z", "--parallel-immediate", "--parallel-max", "300", "--remote-name-all"]
    return Call(CURLS, ["xargs", "-a", str(files.list_file), "-P", str(count), "-n", "300", *each], files)


def floor(files, at_once, buffer=16_384):
    """libcurl and nothing else."""
    return Call(FLOOR, ["floor", str(at_once), str(files.list_file), ".", str(buffer)], files)


def wget2(files, *options, at_once=None):
    limit = [f"--max-threads={at_once}"] if at_once else []
    return Call("wget2", ["wget2", "-q", *limit, *options, *_list_or_address(files)], files)


def aria2c(files, *options, at_once=None, name="aria2c"):
    # Without preallocation, which would write every byte of a large file twice.
    limit = [f"-j{at_once}"] if at_once else []
    arguments = ["aria2c", "-q", "--file-allocation=none", *limit, *options, *_list_or_address(files)]
    return Call(name, arguments, files)


def axel(files, *options):
    return Call("axel", ["axel", "-q", *options, files.first_address], files)


def _list_or_address(files):
    return ["-i", str(files.list_file)] if len(files.digests) > 1 else [files.first_address]
