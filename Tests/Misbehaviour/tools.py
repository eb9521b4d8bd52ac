"""The tools, and how a careful user calls them: retries and resume on, waits bounded, errors seen.

Each tool has the same patience: six attempts, a second between them, and three seconds without a byte are a stall.
"""

import functools
import os
import shutil
import subprocess
import sys

PACKAGES = {"curl": "curl", "wget": "wget", "wget2": "wget2", "aria2c": "aria2"}
NAMES = ["dlm", *PACKAGES]

# The login that the origin takes where it wants one; no proxy takes it.
USER, PASSWORD = "user", "password"

# The ways to call, and the rows that they are for.
WAYS = {
    "resume": "resume on: all rows but the following",
    "keep": "names protected: rows that say so",  # curl, wget and wget2 protect names only without resume
    "suggested": "Content-Disposition",
    "list": "12 or 24 files at once; two URLs with one file name, resume on",
    "decode": "gzip asked for with the tool's option",
    "cookie": "cookie",
    "login": "Digest login",
    "proxy": "proxy that refuses the login (PROXY: its host and port)",
}


def ensure_installed():
    """Installs what is missing when root may; says how otherwise."""
    missing = [package for name, package in PACKAGES.items() if not shutil.which(name)]
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid() != 0:
        sys.exit(f"Missing: {', '.join(missing)}. Install with: sudo {' '.join(command)}")
    subprocess.run(["apt-get", "update", "-qq"], check=False, stdout=sys.stderr)
    subprocess.run(command, check=True, stdout=sys.stderr)


@functools.cache
def has_option(tool, option):
    """Whether this version knows an option: wget2 of Debian 12 is older than its manual on the web."""
    known = subprocess.run([tool, option, "--version"], capture_output=True, text=True, check=False)
    return known.returncode == 0


def command(tool, way, addresses, list_file, dlm, proxy):
    """The command line. curl takes addresses as arguments, the others take a list of several from a file."""
    options = {"dlm": _dlm, "curl": _curl, "wget": _wget, "wget2": _wget2, "aria2c": _aria2c}[tool](way)
    if len(addresses) == 1 or tool == "curl":
        source = list(addresses)
    else:
        source = {"dlm": [list_file]}.get(tool, ["-i", list_file])
    if way == "login" and tool == "dlm":
        source = [_with_login(address) for address in source]
    # All five know this variable, and the login in it.
    surroundings = ["env", f"https_proxy=http://{USER}:{PASSWORD}@{proxy}"] if way == "proxy" else []
    return [*surroundings, dlm if tool == "dlm" else tool, *options, *source]


def _with_login(address):
    scheme, slashes, rest = address.rpartition("//")
    return f"{scheme}{slashes}{USER}:{PASSWORD}@{rest}"


def _dlm(way):
    # dlm honours Content-Disposition, keeps taken names, decodes and has cookies by default: one way for all rows.
    return ["get", "--retries", "5", "--stall-timeout", "3", "--progress", "none",
            *(["-j", "12"] if way == "list" else [])]


def _curl(way):
    # --fail: else an error page is saved as the file. --retry-all-errors: else a cut body is not tried again.
    # --fail-early: else the last address alone decides the exit status.
    common = ["--fail", "--location", "--silent", "--show-error", "--retry", "5", "--retry-delay", "1",
              "--retry-all-errors", "--connect-timeout", "10", "--speed-limit", "1", "--speed-time", "3",
              "--remote-name-all"]
    return [*common, *{
        "keep": ["--fail-early", "--no-clobber"],      # --no-clobber takes names that -C - would go on with
        "suggested": ["-J"],                           # curl refuses -J together with -C -
        "list": ["-C", "-", "-Z", "--parallel-max", "12"],
        "decode": ["-C", "-", "--compressed"],
        "cookie": ["-C", "-", "-b", ""],               # without -b curl sends back no cookie
        "login": ["-C", "-", "--anyauth", "--user", f"{USER}:{PASSWORD}"],
    }.get(way, ["-C", "-"])]


def _wget(way):
    common = ["-nv", "-t", "6", "--waitretry=1", "-T", "3", "--retry-connrefused", "--retry-on-http-error=503,429"]
    # Without -c wget numbers a name that is taken.
    return [*common, *{"keep": [], "suggested": ["-c", "--content-disposition"], "decode": ["--compression=auto"],
                       "login": ["-c", f"--user={USER}", f"--password={PASSWORD}"]}.get(way, ["-c"])]


def _wget2(way):
    common = ["-nv", "-t", "6", "--waitretry=1", "-T", "3", "--retry-connrefused"]
    if has_option("wget2", "--retry-on-http-error=503"):
        common.append("--retry-on-http-error=503,429")
    return [*common, *{"keep": [], "suggested": ["-c", "--content-disposition"], "list": ["-c", "--max-threads=12"],
                       "login": ["-c", f"--user={USER}", f"--password={PASSWORD}"]}.get(way, ["-c"])]


def _aria2c(way):
    # Control files every second and no preallocation, so that a SIGKILL costs little.
    common = ["-m", "6", "--retry-wait=1", "-t", "3", "--connect-timeout=10", "--auto-save-interval=1",
              "--file-allocation=none", "--console-log-level=warn", "--summary-interval=0",
              "--auto-file-renaming=true"]
    # aria2 goes on with its own partial files without -c; with it also with those of other programs.
    return [*common, *{"keep": [], "list": ["-c", "-j", "12"], "decode": ["-c", "--http-accept-gzip=true"],
                       "login": ["-c", f"--http-user={USER}", f"--http-passwd={PASSWORD}"]}.get(way, ["-c"])]


def version(tool, dlm):
    shown = subprocess.run([dlm if tool == "dlm" else tool, "--version"], capture_output=True, text=True, check=False)
    return shown.stdout.splitlines()[0]
