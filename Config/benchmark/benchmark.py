"""Measures dlm beside its peers. Config/bench installs what this needs, and calls it."""

import argparse
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave no cache in the repository

from apache import Apache  # noqa: E402
from distant import DistantOrigin, FatOrigin  # noqa: E402
from nginx import Nginx  # noqa: E402
from report import SPEED_ROWS, page_rows, section, speed_row, write_document, write_speed  # noqa: E402
from rounds import ENOUGH, run_rounds  # noqa: E402
from toys import python_server, refusing_server  # noqa: E402
from workloads import QUICK, Sizes, all_workloads  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("curl", "wget2", "aria2c", "axel", "nginx", "apache2", "openssl", "cp", "xargs")
MEMORY = "/dev/shm"


class Site:
    """A temporary folder, the programs, and the servers, all of which end with `stack`."""

    def __init__(self, dlm, stack):
        self.stack = stack
        place = MEMORY if os.access(MEMORY, os.W_OK) else None  # a disk's speed is not what is measured
        temporary = tempfile.TemporaryDirectory(prefix="bench-", dir=place)
        self.folder = pathlib.Path(stack.enter_context(temporary))
        self.place = "tmpfs" if place else "disk"
        self.programs = {"dlm": dlm, "floor": compiled("floor.c", stack), **{tool: find(tool) for tool in TOOLS}}
        # 5,000 connections and their files are more than the 1,024 descriptors that are usual.
        descriptors = raise_descriptors()
        self.nginx = stack.enter_context(Nginx(self.folder / "nginx", self.programs["nginx"], descriptors))

    def distant_files(self, count, size):
        folder = self.folder / "distant" / f"{count}x{size}"
        return self.stack.enter_context(DistantOrigin(self.programs["dlm"], folder, count, size)).files

    def distant_fat_file(self, size):
        (name, digest), = self.nginx.files("large", 1, size).digests.items()
        path = self.nginx.prefix / "files" / "large" / name
        return self.stack.enter_context(FatOrigin(self.folder / "distant" / f"fat-{size}", path, digest)).files

    def few_workers_files(self, workers, sizes):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="apache-", dir=self.folder))
        folder.chmod(0o755)
        # What Apache's own user may enter.
        self.folder.chmod(0o755)
        return self.stack.enter_context(Apache(folder, self.programs["apache2"], workers, sizes)).files

    def python_files(self, count, size):
        return self.stack.enter_context(python_server(self.folder / "python", count, size)).files

    def refusing_files(self, count, size):
        user = "user root;" if os.geteuid() == 0 else ""
        server = refusing_server(self.folder / "refusing", self.programs["nginx"], user, count, size)
        return self.stack.enter_context(server).files


def find(*tools):
    # nginx lies where only root looks.
    paths = [shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") for tool in tools]
    return next(filter(None, paths), None) or sys.exit(f"No {' or '.join(tools)} found")


def compiled(source, stack):
    # Not in memory, from where programs may not be allowed to run. Swift brings a clang along.
    program = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))) / "program"
    source = pathlib.Path(__file__).with_name(source)
    subprocess.run([find("cc", "clang"), "-O2", "-o", str(program), str(source), "-lcurl"], check=True)
    return str(program)


def raise_descriptors():
    """As many descriptors as may be, up to what 5,000 connections need; the tools inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
    return max(soft, limit)


def arguments():
    parser = argparse.ArgumentParser(prog="Config/bench", description="Measures dlm beside its peers.")
    parser.add_argument("--dlm", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, metavar="N", help="rounds that count (default: 5; 1 if quick)")
    parser.add_argument("--quick", action="store_true", help="small sizes: only whether everything runs")
    parser.add_argument("--write", action="store_true", help="write what is judged to targets.md, and what users compare to Speed.md")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"default: all of {names(QUICK)}")
    chosen = parser.parse_args()
    chosen.runs = max(1, chosen.runs or (1 if chosen.quick else 5))
    unknown = set(chosen.workloads) - set(names(QUICK).split(", "))
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    return chosen


def names(sizes):
    return ", ".join(workload.name for workload in all_workloads(sizes))


def main():
    chosen = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # so that everything is cleaned up
    failed, rows, speeds, begin = [], [], {}, time.monotonic()
    with contextlib.ExitStack() as stack:
        site = Site(str(pathlib.Path(chosen.dlm).resolve()), stack)
        sizes = QUICK if chosen.quick else Sizes()
        wanted = [each for each in all_workloads(sizes) if each.name in chosen.workloads or not chosen.workloads]
        for number, workload in enumerate(wanted, 1):
            print(f"{workload.name}: {number} of {len(wanted)}, {time.monotonic() - begin:.0f} s in", file=sys.stderr)
            try:
                calls = workload.calls(site, sizes)
            except (RuntimeError, OSError) as error:  # no server, or no room for its files
                print(f"{workload.name} cannot be prepared: {error}", file=sys.stderr)
                failed.append(workload.name)
                continue
            summaries = run_rounds(workload, calls, chosen.runs, site)
            rows += page_rows(workload, summaries)
            if workload.name in SPEED_ROWS and not chosen.quick:
                speeds[workload.name] = speed_row(workload, summaries)
            print(section(workload, calls, summaries), flush=True)
            failed += [f"{workload.name}: {name}" for name, summary in summaries.items() if summary.failure]
        if chosen.write:
            print(write_document(ROOT, rows, chosen.runs, ENOUGH, site.place, site.programs), file=sys.stderr)
            print(write_speed(ROOT, speeds), file=sys.stderr)
    if failed:
        sys.exit(f"Failed: {'; '.join(failed)}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
