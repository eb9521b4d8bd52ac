"""Runs the calls of a workload in turns, each in a fresh folder, and keeps what they cost."""

import dataclasses
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from calls import ELSEWHERE
from contents import complaint

SECONDS = 900  # a command that takes longer has failed
ENOUGH = 30    # a command that has taken so many seconds in all is not run again
MEASURE = pathlib.Path(__file__).with_name("measure.py")


@dataclasses.dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    memory: int


class Failed(Exception):
    """The command failed, or what it brought is wrong."""


@dataclasses.dataclass
class Summary:
    """What one call cost in all its runs."""
    costs: list = dataclasses.field(default_factory=list)
    failure: str = ""
    spent: float = 0  # seconds in all its runs, the warm-up included

    @property
    def walls(self):
        return [cost.wall for cost in self.costs]

    @property
    def wall(self):
        return statistics.median(self.walls)

    @property
    def worst(self):
        return max(self.walls)

    @property
    def cpu(self):
        return statistics.median(cost.cpu for cost in self.costs)

    @property
    def memory(self):
        return max(cost.memory for cost in self.costs)


def run_rounds(workload, calls, rounds, site):
    """A summary by name. A call that failed is told and left out from then on; the others go on."""
    summaries = {call.name: Summary() for call in calls}
    for number in range(rounds + 1):  # round 0 is the warm-up
        for call in list(calls) * workload.repetitions:
            summary = summaries[call.name]
            if not summary.failure and (summary.spent < ENOUGH or not summary.costs):
                run_and_keep(call, summary, number == 0, site)
        print(f"{workload.name}: {f'round {number} of {rounds}' if number else 'warm-up'}", file=sys.stderr)
    return summaries


def run_and_keep(call, summary, is_warm_up, site):
    """Every byte is checked the first time. The warm-up is kept only of a command that is not run again."""
    try:
        cost = run_once(call, summary.spent == 0, site)
    except Failed as failure:
        summary.failure = str(failure)
        print(f"{call.name} failed: {failure}", file=sys.stderr)
        return
    summary.spent += cost.wall
    if not is_warm_up or cost.wall >= ENOUGH:
        summary.costs.append(cost)


def run_once(call, thorough, site):
    place = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=site.folder))
    try:
        folder, home, output = place / "folder", place / "home", place / "output.txt"
        folder.mkdir()
        home.mkdir()
        (folder / ELSEWHERE).mkdir()
        # An environment of its own: no settings, logins or proxies of the user's.
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", **call.environment}
        for step in call.before:
            run(step.arguments, folder / ELSEWHERE if step.elsewhere else folder, output, environment, site)
        cost = run(call.arguments, folder, output, environment, site, call.in_terminal)
        wrong = complaint(folder, call.files, thorough)
        if wrong:
            raise Failed(f"exit status 0, but {wrong}")
        return cost
    finally:
        shutil.rmtree(place)


def run(arguments, folder, output, environment, site, in_terminal=False):
    program, *arguments = arguments
    kind = "terminal:" if in_terminal else ""
    line = measure([str(folder), f"{kind}{output}", site.programs[program], *arguments], environment)
    status, wall, cpu, memory = (float(word) for word in line.split())
    if status != 0:
        raise Failed(reason(int(status), wall, output))
    return Cost(wall, cpu, int(memory))


def measure(arguments, environment):
    command = [sys.executable, "-I", "-S", str(MEASURE), str(SECONDS), *arguments]
    # In a session of its own: Ctrl-C is for the benchmark, which ends what it started.
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            return process.communicate()[0]
        except BaseException:
            process.terminate()  # which ends the command as well
            process.wait()       # so that nobody writes into the folder while it is removed
            raise


def reason(status, wall, output):
    lines = output.read_text(errors="replace").strip().splitlines()
    ended = f"killed after {SECONDS} s" if wall >= SECONDS else f"exit status {status}"
    return f"{ended}; its last words: {lines[-1][:200]}" if lines else f"{ended}, without a word"
