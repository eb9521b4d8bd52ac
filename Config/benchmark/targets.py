"""What dlm shall reach. Each target gives a row: what was measured, dlm's figure, the peer's, both compared, the target
and whether it was met."""

import dataclasses
from typing import Optional

MIB = 1024 * 1024
BEST = "the best peer"
FIXED = "the best fixed number"  # of dlm's own files at a time, whose calls have no "dlm" before them
FLOOR = "floor: libcurl alone"   # no peer, but what none that uses libcurl comes below
WORDS = {"wall": "wall time", "cpu": "CPU time", "memory": "peak memory"}
NOT_MEASURED = ["", "", "not measured"]


def seconds(value):
    return f"{value:.2f} s" if value >= 0.2 else f"{value * 1000:.1f} ms"


def figure(summary, measure, name, is_best=False):
    value = getattr(summary, measure)
    shown = f"{value / MIB:.1f} MiB" if measure == "memory" else seconds(value)
    return shown if name == "dlm" else f"{shown}, {name}{' (best)' if is_best else ''}"


def verdict(value, limit):
    return "met" if value <= limit else "**missed**"


def is_peer(name):
    return name != FLOOR and not name.startswith("dlm")


@dataclasses.dataclass(frozen=True)
class Ratio:
    """dlm needs at most so much of what a peer needs; without `at_most` it is told and not judged."""
    measure: str
    at_most: Optional[float]
    peer: str = BEST  # the peer that needs least of this very measure
    of: str = "dlm"

    def row(self, summaries):
        own, is_any = summaries[self.of], self.peer in (BEST, FIXED)
        peers = {name: summary for name, summary in summaries.items() if not summary.failure
                 and (name == self.peer or is_any and is_peer(name))}
        wish = f"≤ {self.at_most:.2f}" if self.at_most else "none"
        if own.failure or not peers:
            return [WORDS[self.measure], *NOT_MEASURED, wish, ""]
        best = min(peers, key=lambda name: getattr(peers[name], self.measure))
        ratio = getattr(own, self.measure) / getattr(peers[best], self.measure)
        return [WORDS[self.measure], figure(own, self.measure, self.of), figure(peers[best], self.measure, best, is_any),
                f"{ratio:.2f}", wish, verdict(ratio, self.at_most) if self.at_most else ""]


@dataclasses.dataclass(frozen=True)
class PlusEach:
    """One call needs at most what another needs, and so many microseconds a file more."""
    of: str
    peer: str
    microseconds: int
    files: int

    def row(self, summaries):
        own, peer = summaries[self.of], summaries[self.peer]
        what, wish = "wall time, more a file", f"≤ {self.microseconds} µs"
        if own.failure or peer.failure:
            return [what, *NOT_MEASURED, wish, ""]
        value = (own.wall - peer.wall) / self.files * 1_000_000
        return [what, figure(own, "wall", self.of), figure(peer, "wall", self.peer), f"{value:.0f} µs", wish,
                verdict(value, self.microseconds)]


@dataclasses.dataclass(frozen=True)
class MemoryCeiling:
    """dlm's peak is at most so many MiB, or so many more than in another of its runs."""
    mebibytes: int
    of: str = "dlm"
    above: Optional[str] = None

    def row(self, summaries):
        own, other = summaries[self.of], summaries.get(self.above)
        what, wish = WORDS["memory"] + (", more" if self.above else ""), f"≤ {self.mebibytes} MiB"
        if own.failure or other and other.failure:
            return [what, *NOT_MEASURED, wish, ""]
        value = (own.memory - (other.memory if other else 0)) / MIB
        return [what, figure(own, "memory", self.of), figure(other, "memory", self.above) if other else "",
                f"{value:.1f} MiB" if other else "", wish, verdict(value, self.mebibytes)]
