"""The tables, in Markdown, for the terminal and for the documentation."""

import pathlib

from machine import machine, versions

HEAD = ["tool", "wall (min–max)", "CPU", "peak memory"]
RATIOS = ["wall ÷", "CPU ÷"]
DOCUMENT = """\
# Speed

What dlm costs beside its peers: time, processor and memory.

## Overview

`Config/bench` measures this, and anyone can run it; its commands stand in `Config/benchmark/workloads.py`. Each table is
one workload. Its commands run in turns, {rounds}, after one round that is not counted and in which every byte that
each of them brought is checked by SHA-256; names and sizes are checked each time. Each run has a fresh folder on {place},
a fresh home, and no settings. The server is an nginx with one worker on the same machine, whose cores it shares with the
tools, or another one where it is said, over plain HTTP as a rule. Wall and CPU time (user and system) are medians, peak
memory is the highest resident set of all runs; what is below 9 MiB cannot be told from the process that measures. ÷ is what
dlm takes by what that tool takes: below 1 is in favour of dlm. The best peer is the one that needs the least of what is
compared. The workloads of `auto` compare that mode with one file at a time and with fixed numbers.

{machine}
"""


def section(workload, calls, summaries):
    """One workload: its table and its targets."""
    own = summaries.get("dlm")
    peers = [call.name for call in calls if own and not call.name.startswith("dlm")]
    head = HEAD + (RATIOS if peers else [])
    rows = [head, ["---"] * len(head), *(row(call.name, summaries[call.name], own, peers) for call in calls)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    title = f"## {workload.name}\n\n{workload.title[0].upper()}{workload.title[1:]}."
    targets = "\n".join(f"- {target.judge(summaries)}" for target in workload.targets)
    return "\n\n".join([title, table, targets]) + "\n"


def row(name, summary, own, peers):
    if summary.failure:
        return [name, f"**failed**: {summary.failure.replace('|', '/')}", *[""] * (2 + (2 if peers else 0))]
    cells = [name, f"{seconds(summary.wall)} ({span(summary)})", seconds(summary.cpu),
             f"{summary.memory / 1024 ** 2:.1f} MiB"]
    if name in peers and not own.failure:
        return [*cells, f"{own.wall / summary.wall:.2f}", f"{own.cpu / summary.cpu:.2f}"]
    return [*cells, "", ""] if peers else cells


def span(summary):
    """The fastest and the slowest run, in the unit of the median."""
    scale, digits = (1, 2) if summary.wall >= 0.2 else (1000, 1)
    return "–".join(f"{wall * scale:.{digits}f}" for wall in (min(summary.walls), max(summary.walls)))


def seconds(value):
    return f"{value:.2f} s" if value >= 0.2 else f"{value * 1000:.1f} ms"


def document(sections, rounds, place, programs):
    facts = "\n".join(f"- {line}" for line in [*machine(), *versions(programs)])
    how_often = "once" if rounds == 1 else f"{rounds} times"
    head = DOCUMENT.format(rounds=how_often, place=place, machine=facts)
    return "\n".join([head, *sections])


def write_document(root, text):
    path = pathlib.Path(root) / "Sources/dlm/dlm.docc/Speed.md"
    path.write_text(text)
    return path
