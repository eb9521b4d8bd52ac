"""What dlm shall reach, and rows of what it reached."""

import dataclasses
from typing import Optional

BEST = "the best peer"
FIXED = "the best fixed number"  # of dlm's own files at a time, whose calls have no "dlm" before them
FLOOR = "floor: libcurl alone"   # no peer, but what none that uses libcurl comes below
WORDS = {"wall": "wall time", "worst": "wall time, worst run", "cpu": "CPU time", "memory": "peak memory"}


@dataclasses.dataclass(frozen=True)
class Target:
    """dlm needs at most so much of what a peer needs, or, with a unit, so many units more than it, or than nothing."""
    measure: str
    at_most: Optional[float]  # None: it is told and not judged
    peer: Optional[str] = BEST  # the peer that needs least of this very measure
    of: str = "dlm"
    unit: str = ""
    scale: float = 1

    def row(self, summaries):
        """What was measured, dlm's figure, the peer's, both compared, the target, and whether it was met."""
        is_any = self.peer in (BEST, FIXED)
        peers = {name: getattr(summary, self.measure) for name, summary in summaries.items() if not summary.failure
                 and (name == self.peer or is_any and name != FLOOR and not name.startswith("dlm"))}
        wish = f"≤ {self.at_most:{'' if self.unit else '.2f'}}{self.unit}" if self.at_most else "none"
        if summaries[self.of].failure or self.peer and not peers:
            return [WORDS[self.measure], "", "", "not measured", wish, ""]
        own, best = getattr(summaries[self.of], self.measure), min(peers, key=peers.get, default="")
        value = (own - peers.get(best, 0)) / self.scale if self.unit else own / peers[best]
        shown = f"{value:.{0 if self.scale < 1 else 1}f}{self.unit}" if self.unit else f"{value:.2f}"
        met = "" if self.at_most is None else "met" if value <= self.at_most else "**missed**"
        told = [figure(peers[best], self.measure, "best: " * is_any + best), shown] if best else ["", ""]
        return [WORDS[self.measure], figure(own, self.measure, self.of), *told, wish, met]


def memory(mebibytes, of="dlm", above=None):
    return Target("memory", mebibytes, above, of, " MiB", 1024 * 1024)


def figure(value, measure, name):
    shown = f"{value / 1024 ** 2:.1f} MiB" if measure == "memory" else seconds(value)
    return shown if name == "dlm" else f"{shown} ({name})"


def seconds(value):
    return f"{value:.2f} s" if value >= 0.2 else f"{value * 1000:.1f} ms"
