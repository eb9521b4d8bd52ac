"""What dlm shall reach. Each target says what was measured against it, and whether that is enough."""

import dataclasses
from typing import Optional

MIB = 1024 * 1024
BEST = "the best peer"
FIXED = "the best fixed number"  # of dlm's own files at a time, whose calls have no "dlm" before them
WORDS = {"wall": "wall time", "cpu": "CPU time", "memory": "peak memory"}


def verdict(value, limit):
    return "met" if value <= limit else "**missed**"


@dataclasses.dataclass(frozen=True)
class Ratio:
    """dlm needs at most so much of what a peer needs; without `at_most` it is told and not judged."""
    measure: str
    at_most: Optional[float]
    peer: str = BEST  # the peer that needs least of this very measure
    of: str = "dlm"

    def judge(self, summaries):
        own = summaries[self.of]
        peers = {name: summary for name, summary in summaries.items() if not summary.failure
                 and (name == self.peer or self.peer in (BEST, FIXED) and not name.startswith("dlm"))}
        wish = f"at most {self.at_most:.2f}" if self.at_most else "no target"
        if own.failure or not peers:
            return f"{WORDS[self.measure]}, {self.of} ÷ {self.peer}: not measured; {wish}"
        best = min(peers, key=lambda name: getattr(peers[name], self.measure))
        ratio = getattr(own, self.measure) / getattr(peers[best], self.measure)
        named = f"{self.peer} ({best})" if self.peer in (BEST, FIXED) else best
        judged = f": {verdict(ratio, self.at_most)}" if self.at_most else ""
        return f"{WORDS[self.measure]}, {self.of} ÷ {named}: {ratio:.2f}; {wish}{judged}"


@dataclasses.dataclass(frozen=True)
class PlusEach:
    """One call needs at most what another needs, and so many microseconds a file more."""
    of: str
    peer: str
    microseconds: int
    files: int

    def judge(self, summaries):
        own, peer = summaries[self.of], summaries[self.peer]
        what = f"wall time, {self.of} less that of {self.peer}, a file"
        if own.failure or peer.failure:
            return f"{what}: not measured; at most {self.microseconds} µs"
        value = (own.wall - peer.wall) / self.files * 1_000_000
        return f"{what}: {value:.0f} µs; at most {self.microseconds} µs: {verdict(value, self.microseconds)}"


@dataclasses.dataclass(frozen=True)
class MemoryCeiling:
    """dlm's peak is at most so many MiB, or so many more than in another of its runs."""
    mebibytes: int
    of: str = "dlm"
    above: Optional[str] = None

    def judge(self, summaries):
        own, other = summaries[self.of], summaries.get(self.above)
        what = f"peak memory of {self.of}" + (f" above that of {self.above}" if self.above else "")
        if own.failure or other and other.failure:
            return f"{what}: not measured; at most {self.mebibytes} MiB"
        value = (own.memory - (other.memory if other else 0)) / MIB
        return f"{what}: {value:.1f} MiB; at most {self.mebibytes} MiB: {verdict(value, self.mebibytes)}"
