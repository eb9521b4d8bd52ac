"""The tables: all that was measured for the terminal, and what is judged for the documentation."""

import pathlib

from machine import machine, versions
from targets import FLOOR, seconds

HEAD = ["tool", "wall (min–max)", "CPU", "peak memory", "wall ÷", "CPU ÷"]
PAGE_HEAD = ["workload", "measure", "dlm", "peer", "dlm ÷ peer", "target", "reached"]
DOCUMENT = """\
# Targets

What dlm shall cost beside its peers, in time, processor and memory, and what it costs. Users read Speed.md.

To repeat it: `Config/bench --write`, some twenty minutes; without `--write` it prints every tool's figures and leaves
this file and Speed.md alone. The commands stand in `Config/benchmark/workloads.py`. Those of a workload run in turns,
{runs}, after a round in which every byte is checked by SHA-256; one that has taken {enough} s is not run again. Each has a
fresh folder on {place}, a fresh home, no settings. Unless said, the server is an nginx with one worker over plain HTTP, on
the same machine. Times are medians, memory is the highest of all runs; best is the peer that needs least of what is
compared. The floor does nothing but libcurl and one write a file, in one thread: `Config/benchmark/floor.c`.

{machine}

{table}

"""
SPEED_HEAD = ["files", "dlm", "fastest other"]
# The rows of Speed.md, by workload, as a user would name them.
SPEED_ROWS = {
    "one-small": "one file of 4 KiB", "small": "10,000 files of 4 KiB", "many": "200,000 files of 4 KiB",
    "tls": "10,000 files of 4 KiB over TLS", "medium": "2,000 files of 256 KiB", "large": "4 files of 512 MiB",
    "one-large": "1 file of 512 MiB", "distant-large": "1 file of 64 MiB, far server",
    "distant-small": "500 files of 4 KiB, far server", "few-workers": "59 files of a page, server with 3 workers",
}
KEPT = "## What was tried and did not help"  # from here on, people write the page


def table(head, rows):
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def section(workload, calls, summaries):
    """One workload for the terminal: its table and its targets."""
    own = summaries.get("dlm")
    rows = [row(call.name, summaries[call.name], own) for call in calls]
    targets = "\n".join(f"- {'; '.join(filter(None, target.row(summaries)))}" for target in workload.targets)
    return f"## {workload.name}\n\n{workload.title}\n\n{table(HEAD, rows)}\n\n{targets}\n"


def page_rows(workload, summaries):
    """One workload for the documentation: what is judged."""
    titles = [f"`{workload.name}`: {workload.title}", *[""] * len(workload.targets)]
    return [[title, *target.row(summaries)] for title, target in zip(titles, workload.targets)]


def speed_row(workload, summaries):
    """One workload for users: dlm's time, and the fastest other tool's; None where one of them failed."""
    others = {name: summary.wall for name, summary in summaries.items()
              if not summary.failure and name != FLOOR and not name.startswith("dlm")}
    if "dlm" not in summaries or summaries["dlm"].failure or not others:
        return None
    best = min(others, key=others.get)
    return [SPEED_ROWS[workload.name], seconds(summaries["dlm"].wall), f"{seconds(others[best])} ({best})"]


def chart(rows):
    """A bar for each row of Speed.md: dlm's time, where ten blocks are the fastest other tool's."""
    def bar(title, own, other):
        ratio = in_seconds(own) / in_seconds(other)
        return f"{title:<42} {'█' * max(1, round(ratio * 10))} {ratio:.2f}"
    return "\n".join(["```text", *(bar(*cells) for cells in rows), "```"])


def in_seconds(text):
    """The time that a cell begins with: `17.2 ms`, `0.43 s (curl -Z)`."""
    number, unit = text.split()[:2]
    return float(number) / {"s": 1, "ms": 1000}[unit]


def row(name, summary, own):
    if summary.failure:
        return [name, f"**failed**: {summary.failure.replace('|', '/')}", *[""] * 4]
    cells = [name, f"{seconds(summary.wall)} ({span(summary)})", seconds(summary.cpu),
             f"{summary.memory / 1024 ** 2:.1f} MiB"]
    if own and not own.failure and not name.startswith("dlm"):
        return [*cells, f"{own.wall / summary.wall:.2f}", f"{own.cpu / summary.cpu:.2f}"]
    return [*cells, "", ""]


def span(summary):
    """The fastest and the slowest run, in the unit of the median."""
    scale, digits = (1, 2) if summary.wall >= 0.2 else (1000, 1)
    return "–".join(f"{wall * scale:.{digits}f}" for wall in (min(summary.walls), max(summary.walls)))


def write_document(root, rows, runs, enough, place, programs):
    facts = "\n".join(f"- {line}" for line in [*machine(), *versions(programs)])
    path = pathlib.Path(root) / "Config/benchmark/targets.md"
    _, _, kept = path.read_text().partition(KEPT)
    path.write_text(DOCUMENT.format(runs="once" if runs == 1 else f"{runs} times", enough=enough, place=place,
                                    machine=facts, table=table(PAGE_HEAD, rows)) + KEPT + kept)
    return path


def write_speed(root, measured):
    """Replaces the chart and the table of Speed.md. A workload that was not measured keeps its row."""
    path = pathlib.Path(root) / "Sources/dlm/dlm.docc/Speed.md"
    before, _, rest = path.read_text().partition("```text\n")
    old, _, after = rest.partition("| files |")[2].partition("\n\n")
    kept = {cells[0]: cells for line in old.splitlines()[2:] for cells in [line.strip("| ").split(" | ")]}
    known = [measured.get(name) or kept.get(title) for name, title in SPEED_ROWS.items()]
    rows = [cells for cells in known if cells]
    path.write_text(f"{before}{chart(rows)}\n\n{table(SPEED_HEAD, rows)}\n\n{after}")
    return path
