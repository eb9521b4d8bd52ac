"""The tables, in Markdown, for the terminal and for the documentation."""

import pathlib
import shlex

from calls import ELSEWHERE
from machine import machine, versions

HEAD = """\
| tool | wall | min – max | CPU | peak memory | dlm's wall ÷ its | dlm's CPU ÷ its |
|---|---|---|---|---|---|---|"""
DOCUMENT = """\
# Speed

What dlm costs beside its peers: time, processor and memory.

## Overview

`Config/bench` measures this, and anyone can run it. Each table is one workload. Its commands run in turns,
{rounds}, after one round that is not counted and in which every byte that each of them brought is checked
by SHA-256; names and sizes are checked each time. Each run has a fresh folder on {place}, a fresh home, and
no settings. The server is an nginx with one worker on the same machine, whose cores it shares with the
tools, or, where it is said, an Apache, or the server of `dlm demo`. Wall and CPU time (user and system) are medians,
peak memory is the highest resident set of all runs; what is below 9 MiB cannot be told from the process
that measures. A ratio below 1 is in favour of dlm, and the best peer is the one that needs the least of
what is compared.

{machine}
"""


def section(workload, calls, summaries):
    """One workload: its table, its targets, its commands."""
    rows = [row(call.name, summaries[call.name], summaries.get("dlm")) for call in calls]
    targets = [f"- {target.judge(summaries)}" for target in workload.targets]
    commands = [f"- {described(call)}" for call in calls]
    title = f"## {workload.name}\n\n{workload.title[0].upper()}{workload.title[1:]}."
    table = "\n".join([HEAD, *rows])
    parts = [title, table, "Targets:", "\n".join(targets), "Commands:", "\n".join(commands)]
    return "\n\n".join(parts) + "\n"


def row(name, summary, own):
    if summary.failure:
        return f"| {name} | **failed**: {summary.failure.replace('|', '/')} | | | | | |"
    cells = [seconds(summary.wall), f"{seconds(min(summary.walls))} – {seconds(max(summary.walls))}",
             seconds(summary.cpu), f"{summary.memory / 1024 ** 2:.1f} MiB"]
    is_peer = own and not own.failure and not name.startswith("dlm")
    cells += [f"{own.wall / summary.wall:.2f}", f"{own.cpu / summary.cpu:.2f}"] if is_peer else ["", ""]
    return f"| {name} | {' | '.join(cells)} |"


def seconds(value):
    return f"{value:.2f} s" if value >= 0.2 else f"{value * 1000:.1f} ms"


def described(call):
    """The command, and what has run before it."""
    before = [f"`{shown(call, step.arguments)}`" + (" in another folder" if step.elsewhere else "")
              for step in call.before]
    return " after ".join([f"`{shown(call, call.arguments)}`", *before])


def shown(call, arguments):
    """The command as a reader would type it, without paths of a temporary folder."""
    words = {ELSEWHERE + "/.": "ELSEWHERE/."}
    if call.files:
        words |= {str(call.files.list_file): "LIST", str(call.files.curl_config): "CONFIG",
                  call.files.first_address: "URL"}
    settings = [f"{key}={value}" for key, value in call.environment.items()]
    arguments = [words.get(word) or shlex.quote(hide_certificate(word)) for word in arguments]
    return " ".join([*settings, *arguments])


def hide_certificate(word):
    option, _, path = word.rpartition("=")
    return word if not path.endswith("/certificate.pem") else f"{option}=PEM" if option else "PEM"


def document(sections, rounds, place, programs):
    facts = "\n".join(f"- {line}" for line in [*machine(), *versions(programs)])
    how_often = "once" if rounds == 1 else f"{rounds} times"
    head = DOCUMENT.format(rounds=how_often, place=place, machine=facts)
    return "\n".join([head, *sections])


def write_document(root, text):
    path = pathlib.Path(root) / "Sources/dlm/dlm.docc/Speed.md"
    path.write_text(text)
    return path
