"""Does judging stay as fast when the database has grown? Two sites side by side, a small one and a large one.

    python -m benchmarks.growth --pairs 1000000 --judgments 3000000 --annotators 200 --json

Taking (the POST and the page it leads to) and submitting are measured on both in turns, a few seconds each, so that
whatever else the machine does falls on both. Method and figures: docs/benchmarks/growth.md. Exit status 1: an error, or
a 95th percentile grew by more than half.
"""

import os
import random
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.annotator import PASSWORD, Annotator, work_together
from benchmarks.common import (
    arguments,
    each_ms,
    machine,
    percentile_ms,
    say,
    show,
)
from benchmarks.own_site import DATABASE, OwnSite, own_site
from benchmarks.populate import FREE_HANDS, populated

LARGEST_RATIO = 1.5
SHOWN = 10


@dataclass(frozen=True)
class Options:
    pairs: int
    judgments: int
    small_pairs: int
    annotators: int
    at_work: int
    rounds: int
    seconds: float
    json: bool


@dataclass
class Ground:
    """One site with its rows and the annotators at work in it."""

    site: OwnSite
    rows: dict[str, int]
    filled_in_s: float
    crowd: list[Annotator]
    cpu_s: dict[str, float]

    def work(self, seconds: float) -> None:
        before = self.site.cpu_s()
        work_together(self.crowd, seconds=seconds)
        for name, total in self.site.cpu_s().items():
            self.cpu_s[name] = self.cpu_s.get(name, 0.0) + total - before[name]


@dataclass(frozen=True)
class Figures:
    """Of one site; CPU is per judgment, takes and pages included."""

    pairs: int
    judgments_before: int
    assignments_before: int
    filled_in_s: float
    takes: int
    take_p50_ms: float
    take_p95_ms: float
    submits: int
    submit_p50_ms: float
    submit_p95_ms: float
    database_cpu_ms: float
    web_cpu_ms: float
    errors: list[str]


@dataclass(frozen=True)
class Result:
    small: Figures
    large: Figures
    take_p95_ratio: float
    submit_p95_ratio: float
    database_cpu_ratio: float
    load_before: float
    machine: dict[str, str | int | float]

    @property
    def good(self) -> bool:
        ratios = (self.take_p95_ratio, self.submit_p95_ratio)
        worked = all(one.takes and one.submits and not one.errors for one in (self.small, self.large))
        return worked and max(ratios) <= LARGEST_RATIO


def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            load = os.getloadavg()[0]
            sizes = (options.small_pairs, options.pairs)
            small, large = (ground(stack.enter_context(own_site()), pairs, options) for pairs in sizes)
            measure(small, large, options)
            result = result_of(figures(small), figures(large), load)
    except KeyboardInterrupt:
        return 130
    show(result, as_json=options.json)
    for error in (result.small.errors + result.large.errors)[:SHOWN]:
        say(f"error: {error}")
    return 0 if result.good else 1


def options_from(argv: Sequence[str] | None) -> Options:
    parser = arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000, help="of the large site (1,000,000)")
    parser.add_argument("--judgments", type=int, default=3_000_000, help="of the large site, at least (3,000,000)")
    parser.add_argument("--small-pairs", type=int, default=10_000, help="of the small site (10,000)")
    parser.add_argument("--annotators", type=int, default=200, help="accounts with a history (200)")
    parser.add_argument("--at-work", type=int, default=2, help=f"at once, 1 to {FREE_HANDS} (2)")
    parser.add_argument("--rounds", type=int, default=12, help="turns of each site (12)")
    parser.add_argument("--seconds", type=float, default=5, help="of judging per turn (5)")
    given = parser.parse_args(argv)
    if not 1 <= given.at_work <= FREE_HANDS or given.rounds < 1 or given.seconds <= 0:
        parser.error(f"--at-work is 1 to {FREE_HANDS}, --rounds and --seconds are positive")
    if not given.small_pairs < given.pairs:
        parser.error("--small-pairs must be fewer than --pairs")
    return Options(**vars(given))


def ground(site: OwnSite, pairs: int, options: Options) -> Ground:
    """Fill the site and log its annotators in."""
    say(f"{pairs} pairs ...")
    told = populated(
        site.var, pairs=pairs, judgments=options.judgments * pairs // options.pairs, annotators=options.annotators
    )
    crowd = [
        Annotator(
            port=site.port, username=name, password=PASSWORD, desk=f"/judge/{told.project}/", media=False, seed=number
        )
        for number, name in enumerate(told.free_hands[: options.at_work])
    ]
    for annotator in crowd:
        annotator.log_in()
        annotator.more = False  # so that taking is a request of its own
    return Ground(site, told.rows, told.seconds, crowd, {})


def measure(small: Ground, large: Ground, options: Options) -> None:
    """Let both judge in turns, in changing order; a first turn each, thrown away, fills the caches."""
    chance = random.Random(1)
    for number in range(options.rounds + 1):
        for one in chance.sample((small, large), 2):
            one.work(options.seconds)
        if number == 0:
            forget(small)
            forget(large)
        say(f"{number} of {options.rounds} turns")


def forget(ground: Ground) -> None:
    ground.cpu_s.clear()
    for annotator in ground.crowd:
        annotator.tally.takes_s.clear()
        annotator.tally.judgments_s.clear()


def figures(ground: Ground) -> Figures:
    tallies = [annotator.tally for annotator in ground.crowd]
    takes = sorted(latency for tally in tallies for latency in tally.takes_s)
    submits = sorted(latency for tally in tallies for latency in tally.judgments_s)
    return Figures(
        pairs=ground.rows["judging_pair"],
        judgments_before=ground.rows["judging_judgment"],
        assignments_before=ground.rows["judging_assignment"],
        filled_in_s=ground.filled_in_s,
        takes=len(takes),
        take_p50_ms=percentile_ms(takes, 50),
        take_p95_ms=percentile_ms(takes, 95),
        submits=len(submits),
        submit_p50_ms=percentile_ms(submits, 50),
        submit_p95_ms=percentile_ms(submits, 95),
        database_cpu_ms=each_ms(ground.cpu_s[DATABASE], len(submits)),
        web_cpu_ms=each_ms(ground.cpu_s["web"], len(submits)),
        errors=[error for tally in tallies for error in tally.errors],
    )


def result_of(small: Figures, large: Figures, load: float) -> Result:
    return Result(
        small=small,
        large=large,
        take_p95_ratio=ratio(large.take_p95_ms, small.take_p95_ms),
        submit_p95_ratio=ratio(large.submit_p95_ms, small.submit_p95_ms),
        database_cpu_ratio=ratio(large.database_cpu_ms, small.database_cpu_ms),
        load_before=round(load, 2),
        machine=machine(),
    )


def ratio(large: float, small: float) -> float:
    """How much larger; 0 when there is nothing to compare with."""
    return round(large / small, 2) if small else 0.0


if __name__ == "__main__":
    sys.exit(main())
