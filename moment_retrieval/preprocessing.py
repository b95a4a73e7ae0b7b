"""From features and seconds to what the baselines read: rows of clips and words, and the clips a moment spans.

Sources: TVR-Ranking (arXiv:2407.06597) with its released code for XML and ReLoCLNet, CONQUER (arXiv:2109.10016) for its
own. Where they differ, an argument chooses. numpy alone.
"""

from __future__ import annotations

import math
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import ZeroLengthMoment

CLIP_S = 1.5  # seconds of video behind one row of features
MAX_WORDS = 30  # tokens of a query, [CLS] and [SEP] among them
NORM_EPSILON = 1e-5

Rows = NDArray[np.float32]


class Boundary(StrEnum):
    """Which clip a moment's end falls on."""

    AFTER = "after"  # the clip after its last one: XML, ReLoCLNet
    LAST = "last"  # its last clip: CONQUER


def l2_normalised(rows: Rows) -> Rows:
    """Rows [n, D] of length one; rows of zeros stay."""
    return rows / (np.linalg.norm(rows, axis=-1, keepdims=True) + np.float32(NORM_EPSILON))


def sampled(rows: Rows, limit: int) -> Rows:
    """At most ``limit`` rows [min(n, limit), D]: means over stretches of equal length, whatever is left over dropped.

    As released with TVR-Ranking: boundaries are rounded half to even, and the very last row is never part of a mean.
    """
    count = len(rows)
    if count <= limit:
        return rows
    bounds = np.minimum(np.round(np.arange(limit + 1) / limit * count).astype(int), count - 1)
    return np.stack([rows[first : max(end, first + 1)].mean(axis=0) for first, end in pairwise(bounds)])


def with_endpoints(rows: Rows) -> Rows:
    """Rows [n, D + 2] that tell where in the video each lies: i/n and (i+1)/n (TEF, temporal endpoint features)."""
    ends = np.arange(len(rows) + 1, dtype=np.float32) / np.float32(max(1, len(rows)))
    return np.concatenate([rows, ends[:-1, None], ends[1:, None]], axis=1)


def clip_rows(rows: Rows, *, limit: int, endpoints: bool, sample: bool = True, normalise: bool = True) -> Rows:
    """One video's features as a model reads them: no more than ``limit`` rows, of length one, with their place."""
    rows = sampled(rows, limit) if sample else rows[:limit]
    rows = l2_normalised(rows) if normalise else rows
    return with_endpoints(rows) if endpoints else rows


def word_rows(rows: Rows, *, limit: int = MAX_WORDS, normalise: bool = True) -> Rows:
    """One query's features as a model reads them: the first ``limit`` rows."""
    return l2_normalised(rows[:limit]) if normalise else rows[:limit]


def boundary_clips(start_s: float, end_s: float, clips: int, *, boundary: Boundary = Boundary.AFTER) -> tuple[int, int]:
    """The clips that training calls start and end of a moment, within a video of ``clips`` clips.

    Raises:
        ZeroLengthMoment: ``boundary`` is LAST and the moment ends before its first clip does.
    """
    last = clips - 1
    start = min(math.floor(start_s / CLIP_S), last)
    end = min(math.ceil(end_s / CLIP_S) - (boundary is Boundary.LAST), last)
    if boundary is Boundary.LAST and start > end:
        raise ZeroLengthMoment(f"the moment from {start_s:g} to {end_s:g} s holds no clip")
    return start, end
