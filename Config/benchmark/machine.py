"""What this was measured on, and with."""

import os
import pathlib
import platform
import subprocess


def machine():
    """Lines for the report."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1024 ** 3
    return [f"{len(os.sched_getaffinity(0))} cores of {cpu_model()}, {memory:.0f} GiB of memory",
            f"{system()}, Linux {platform.release()}"]


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def system():
    return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")


def versions(programs):
    tools = ("dlm", "curl", "wget2", "aria2c", "axel")
    shown = [first_line([programs[tool], "--version"]) for tool in tools]
    return [*shown, first_line([programs["nginx"], "-v"])]


def first_line(command):
    shown = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    line = (shown.stdout.splitlines() or [command[0]])[0]
    return " ".join(line.partition(" - ")[0].split()[:5])  # not what a program was built with
