"""Intersection over union of two spans."""

from __future__ import annotations

from models_runner.retrieval.records import Span


def span_iou(one: Span, other: Span) -> float:
    """Temporal IoU of two spans of the same video; the videos are not compared.

    Args:
        one, other: spans with finite times in seconds.

    Returns:
        A value in [0, 1]. 0.0 when the spans only touch, when one is inverted (ends before it starts), and when both
        have no length. The order of the operations is the published scorer's, so that results are equal bit for bit.

    Source: docs/scoring.md.
    """
    intersection = min(one.end_s, other.end_s) - max(one.start_s, other.start_s)
    if intersection <= 0:
        return 0.0
    union = (one.end_s - one.start_s) + (other.end_s - other.start_s) - intersection
    return intersection / union if union > 0 else 0.0
