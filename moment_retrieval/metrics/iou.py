"""Intersection over union of spans, one pair or columns of them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.records import Span

Times: TypeAlias = NDArray[Any]  # float32 or float64


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


def ious(start: Times, end: Times, other_start: Times, other_end: Times) -> Times:
    """``span_iou`` of columns, which numpy broadcasts; equal to it bit for bit."""
    intersection = np.minimum(end, other_end) - np.maximum(start, other_start)
    union = (end - start) + (other_end - other_start) - intersection
    iou: Times = np.zeros_like(union)
    np.divide(intersection, union, out=iou, where=(intersection > 0) & (union > 0))
    return iou


def hull_ious(start: Times, end: Times, other_start: Times, other_end: Times) -> Times:
    """Intersection over hull (latest end less earliest start), which TVR and MVMR call IoU; 0 for an empty hull.

    It equals ``ious`` for spans that overlap and are not inverted. The type of the times decides the precision: the
    published scorers of TVR and MVMR compute in float32.
    """
    intersection = np.maximum(0, np.minimum(end, other_end) - np.maximum(start, other_start))
    hull = np.maximum(end, other_end) - np.minimum(start, other_start)
    iou: Times = np.zeros_like(hull)
    np.divide(intersection, hull, out=iou, where=hull != 0)
    return iou
