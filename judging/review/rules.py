"""Whether a query gets a second batch: what the relevance of its first suggests. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

TAIL = 5  # the last candidates of a batch, whose relevance indicates whether more lies beyond


class Suggestion(NamedTuple):
    extend: bool
    reason: str
    mean: float | None = None  # of the tail; None where nothing was settled


def suggest(
    relevance_by_rank: Sequence[int | None], *, from_mean: float, further: bool = True, has_second_batch: bool = True
) -> Suggestion:
    """Suggest a second batch when the last five settled pairs of the first are relevant enough on average.

    Args:
        relevance_by_rank: relevance 0 to 4 of the batch's pairs, best rank first; None where nothing was settled.
        from_mean: the mean from which to extend.
        further: whether there are candidates for a second batch.
        has_second_batch: whether the rules of the project have one.
    """
    settled = [relevance for relevance in relevance_by_rank if relevance is not None]
    if not settled:
        return Suggestion(False, "No pair was settled.")
    tail = settled[-TAIL:]
    mean = sum(tail) / len(tail)
    relation = "at least" if mean >= from_mean else "below"
    summary = f"The last {len(tail)} settled pairs average {mean:.2f}, {relation} {from_mean:g}"
    if not has_second_batch:
        return Suggestion(False, "By the rules of the project there is no second batch.", mean)
    if mean >= from_mean and not further:
        return Suggestion(False, f"{summary}, but no candidate lies beyond them.", mean)
    return Suggestion(mean >= from_mean, f"{summary}.", mean)
