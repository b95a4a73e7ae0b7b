"""A study of judging economy as rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from models_runner.models import EconomyStudy

COLUMNS = ["cut", "judgments", "pairs", "measure", "tau", "low", "high", "mean_absolute_change", "run", "score"]


@dataclass(frozen=True)
class Row:
    """One cut by one measure; ``ranking`` holds name, score, and by how many places each run moved up."""

    name: str
    words: str
    judgments: int | None
    share: int | None  # of the judgments, in percent
    pairs: int
    tau: float | None
    low: float | None
    high: float | None
    change: float | None
    ranking: list[tuple[str, float, int]]


def rows_of(study: EconomyStudy, place: int) -> list[Row]:
    """The full judgments first, then every cut, by the measure of this number."""
    result = study.result
    runs, full = result["runs"], [scores[place] for scores in result["scores"]]
    places = _places(full)
    total = result["judgments"]
    first = Row(
        "full",
        "all judgments",
        total,
        100 if total else None,
        result["pairs"],
        1.0,
        None,
        None,
        None,
        _ranking(runs, full, places),
    )
    return [first, *(_row(cut, runs, places, total, place) for cut in result["cuts"])]


def _row(cut: dict[str, Any], runs: list[str], places: list[int], total: int | None, place: int) -> Row:
    scores = [of_run[place] for of_run in cut["scores"]]
    share = round(100 * cut["judgments"] / total) if total and cut["judgments"] else None
    numbers = {name: cut[name][place] for name in ("tau", "low", "high", "change")}
    return Row(
        name=cut["name"],
        words=cut["words"],
        judgments=cut["judgments"],
        share=share,
        pairs=cut["pairs"],
        ranking=_ranking(runs, scores, places),
        **numbers,
    )


def _ranking(runs: list[str], scores: list[float], before: list[int]) -> list[tuple[str, float, int]]:
    now = _places(scores)
    order = sorted(range(len(runs)), key=lambda number: now[number])
    return [(runs[number], scores[number], before[number] - now[number]) for number in order]


def _places(scores: list[float]) -> list[int]:
    """The place of each run, best first; of equals the first stays first."""
    order = sorted(range(len(scores)), key=lambda number: -scores[number])
    places = [0] * len(scores)
    for place, number in enumerate(order):
        places[number] = place
    return places


def table_rows(result: dict[str, Any]) -> Iterator[list[Any]]:
    """Heading and rows: every cut, measure and run."""
    yield COLUMNS
    for place, measure in enumerate(result["measures"]):
        for run, scores in zip(result["runs"], result["scores"], strict=True):
            yield ["full", result["judgments"], result["pairs"], measure, 1, None, None, None, run, scores[place]]
    for cut in result["cuts"]:
        for place, measure in enumerate(result["measures"]):
            told = [cut[name][place] for name in ("tau", "low", "high", "change")]
            for run, scores in zip(result["runs"], cut["scores"], strict=True):
                yield [cut["name"], cut["judgments"], cut["pairs"], measure, *told, run, scores[place]]
