"""Does judging stay as fast when the database has grown? Two sites side by side, a small one and a large one.

    python -m benchmarks.growth --pairs 1000000 --judgments 3000000 --annotators 200 --json

Taking (the POST and the page it leads to) and submitting are measured on both in turns, a few seconds each, so that
whatever else the machine does falls on both. Method and figures: docs/benchmarks/growth.md. Exit status 1: an error, or
a 95th percentile grew by more than half.
"""

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from benchmarks import common
from benchmarks.annotator import Annotator, errors_of, seconds_of, work_together
from benchmarks.common import each_ms, percentile_ms, say
from benchmarks.own_site import DATABASE, OwnSite, own_site
from benchmarks.populate import FREE_HANDS, Populated, populated

LARGEST_RATIO = 1.5
SHOWN = 10


@dataclass
class Ground:
    """One site with its rows, the annotators at work in it, and the processor time of its services meanwhile."""

    site: OwnSite
    written: Populated
    annotators: list[Annotator]
    cpu_s: dict[str, float]

    def work(self, seconds: float) -> None:
        before = self.site.cpu_s()
        work_together(self.annotators, seconds=seconds)
        for name, total in self.site.cpu_s().items():
            self.cpu_s[name] = self.cpu_s.get(name, 0.0) + total - before[name]

    def forget(self) -> None:
        self.cpu_s.clear()
        for annotator in self.annotators:
            annotator.tally.takes_s.clear()
            annotator.tally.judgments_s.clear()


@common.stoppable
def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    with ExitStack() as stack:
        load = common.load_now()
        sizes = (options.small_pairs, options.pairs)
        small, large = (ground(stack.enter_context(own_site()), pairs, options) for pairs in sizes)
        measure(small, large, options)
        result = result_of(figures(small), figures(large), load)
    common.show(result, as_json=options.json)
    for error in (result["small"]["errors"] + result["large"]["errors"])[:SHOWN]:
        say(f"error: {error}")
    return 0 if is_good(result) else 1


def options_from(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.arguments(
        __doc__,
        pairs=(1_000_000, "of the large site"),
        judgments=(3_000_000, "of the large site, at least"),
        small_pairs=(10_000, "of the small site"),
        annotators=(200, "accounts with a history"),
        at_work=(2, f"at once, 1 to {FREE_HANDS}"),
        rounds=(12, "turns of each site"),
        seconds=(5.0, "of judging per turn"),
    )
    options = parser.parse_args(argv)
    common.require_positive(parser, options, "at_work", "rounds", "seconds")
    if options.at_work > FREE_HANDS:
        parser.error(f"--at-work is 1 to {FREE_HANDS}")
    if not options.small_pairs < options.pairs:
        parser.error("--small-pairs must be fewer than --pairs")
    return options


def ground(site: OwnSite, pairs: int, options: argparse.Namespace) -> Ground:
    """Fill the site and log its annotators in."""
    say(f"{pairs} pairs ...")
    judgments = options.judgments * pairs // options.pairs
    site_data = populated(site.var, pairs=pairs, judgments=judgments, annotators=options.annotators)
    annotators = [
        Annotator(port=site.port, username=name, desk=f"/judge/{site_data.project}/", seed=number)
        for number, name in enumerate(site_data.free_hands[: options.at_work])
    ]
    for annotator in annotators:
        annotator.log_in()
        annotator.more = False  # so that taking is a request of its own
    return Ground(site, site_data, annotators, {})


def measure(small: Ground, large: Ground, options: argparse.Namespace) -> None:
    """Let both judge in turns, in changing order; a first turn each, which is discarded, fills the caches."""
    chance = random.Random(1)
    for number in range(options.rounds + 1):
        for site in chance.sample((small, large), 2):
            site.work(options.seconds)
        if number == 0:
            small.forget()
            large.forget()
        say(f"{number} of {options.rounds} turns")


def figures(ground: Ground) -> dict[str, Any]:
    """Return the figures of one site; processor time is per judgment, takes and pages included."""
    takes, submits = (seconds_of(ground.annotators, kind) for kind in ("takes_s", "judgments_s"))
    return {
        "pairs": ground.written.rows["judging_pair"],
        "judgments_before": ground.written.rows["judging_judgment"],
        "assignments_before": ground.written.rows["judging_assignment"],
        "filled_in_s": ground.written.seconds,
        "takes": len(takes),
        "take_p50_ms": percentile_ms(takes, 50),
        "take_p95_ms": percentile_ms(takes, 95),
        "submits": len(submits),
        "submit_p50_ms": percentile_ms(submits, 50),
        "submit_p95_ms": percentile_ms(submits, 95),
        "database_cpu_ms": each_ms(ground.cpu_s[DATABASE], len(submits)),
        "web_cpu_ms": each_ms(ground.cpu_s["web"], len(submits)),
        "errors": errors_of(ground.annotators),
    }


def result_of(small: Mapping[str, Any], large: Mapping[str, Any], load: float) -> dict[str, Any]:
    ratios = {
        f"{name}_ratio": ratio(large[f"{name}_ms"], small[f"{name}_ms"])
        for name in ("take_p95", "submit_p95", "database_cpu")
    }
    return {"small": small, "large": large, **ratios, "load_before": load, "machine": common.machine()}


def is_good(result: Mapping[str, Any]) -> bool:
    worked = all(
        site["takes"] and site["submits"] and not site["errors"] for site in (result["small"], result["large"])
    )
    return worked and max(result["take_p95_ratio"], result["submit_p95_ratio"]) <= LARGEST_RATIO


def ratio(large: float, small: float) -> float:
    """Return how much larger it is; 0 when there is nothing to compare with."""
    return round(large / small, 2) if small else 0.0


if __name__ == "__main__":
    sys.exit(main())
