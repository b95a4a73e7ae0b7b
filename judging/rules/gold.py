"""How many pairs of known truth are due among the others an annotator is asked. Pure."""

BATCH_LEAST = 10  # known pairs that make a finished batch worth asking again


def gold_due(*, shown: int, gold: int, percent: int) -> int:
    """Gold pairs that are missing from an annotator's share.

    Args:
        shown: pairs asked of them so far, gold included.
        gold: gold pairs among these.
        percent: of all pairs shown, how many are to be gold.
    """
    return max(0, shown * percent // 100 - gold)


def gold_among(others: int, *, due: int) -> int:
    """How many of the ``due`` go among so many ``others``: no more than these, so that gold stays the lesser part."""
    return min(due, others)
