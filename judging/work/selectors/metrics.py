"""Judgments, pairs, batches and leases for /metrics, from counts that are kept anyway."""

from collections.abc import Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from core.observability.metrics import Rows, gauges

JUDGMENTS = """
SELECT coalesce(sum(judgments - simulated - imported), 0), coalesce(sum(simulated), 0), coalesce(sum(imported), 0)
FROM judging_judgmentday"""
TALLIES = "SELECT what, sum(n) FROM judging_tally GROUP BY what"
REVIEWS = "SELECT count(*) FROM judging_batch WHERE awaits_review"  # its index holds these alone
LEASES = """
SELECT count(*) FILTER (WHERE state = 'lapsed'), count(*) FILTER (WHERE state = 'open')
FROM judging_assignment WHERE state IN ('lapsed', 'open')"""  # as these two


def judging_figures(rows: Rows) -> Iterator[Metric]:
    """Yield what is counted of the judging, over all projects."""
    yield judgments(*rows(JUDGMENTS)[0])
    yield from tallied(rows(TALLIES))
    yield GaugeMetricFamily(
        "momentjudge_batches_awaiting_review", "First batches that a lead has to decide.", value=rows(REVIEWS)[0][0]
    )
    lapsed, open_leases = rows(LEASES)[0]
    yield CounterMetricFamily("momentjudge_leases_expired", "Assignments whose time ran out.", value=lapsed)
    yield GaugeMetricFamily("momentjudge_leases_open", "Assignments in annotators' hands.", value=open_leases)


def judgments(people: int, simulated: int, imported: int) -> Metric:
    words = "Grades given, by who gave them; gold not counted."
    family = CounterMetricFamily("momentjudge_judgments", words, labels=["source"])
    for source, n in (("person", people), ("simulated", simulated), ("imported", imported)):
        family.add_metric([source], n)
    return family


def tallied(rows: list[tuple[Any, ...]]) -> Iterator[Metric]:
    """Pairs by state; batches by state, number and round."""
    pairs: dict[tuple[str, ...], float] = {}
    batches: dict[tuple[str, ...], float] = {}
    for what, n in rows:
        kind, *parts = what.split(":")
        if kind == "pair":
            pairs[(parts[0],)] = pairs.get((parts[0],), 0) + n
        elif kind == "batch":
            number, state, round_ = parts
            key = (state, "pooled" if int(number) > 2 else number, round_)
            batches[key] = batches.get(key, 0) + n
    yield gauges("momentjudge_pairs", "Pairs, by state.", ["state"], pairs.items())
    yield gauges("momentjudge_batches", "Batches; the open ones wait.", ["state", "number", "round"], batches.items())
