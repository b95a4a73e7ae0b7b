"""Which spans a way of proposing makes of a video. Pure; times in seconds."""

from collections.abc import Sequence
from dataclasses import dataclass

from moment_retrieval.windows import SHORTEST_S, UNIT_S, shortest_windows, sliding_windows, uniform_segments

SHOTS, WINDOWS, UNIFORM = "shots", "windows", "uniform"
SEGMENT_LEAST_S, SEGMENT_MOST_S = 0.5, 3600.0
CAP = 90  # windows of a video that TVR's evaluation code keeps
Span = tuple[float, float]


@dataclass(frozen=True)
class Options:
    """A method and what it needs; the other options are None.

    ``threshold`` is of the detector of shots; ``segment_s`` the length of segments in seconds; ``most`` how many
    windows a video has at most, the shortest ones, None for all.
    """

    method: str
    threshold: float | None = None
    segment_s: float | None = None
    most: int | None = None


def shots_between(cuts: Sequence[float], duration_s: float) -> list[Span]:
    """Return the shots of a video, one after the other, from its beginning to its end.

    Args:
        cuts: seconds of the cuts in order; one that is not inside the video by 0.1 s makes no shot.
    """
    inner = [second for second in cuts if SHORTEST_S <= second <= duration_s - SHORTEST_S]
    return list(zip([0.0, *inner], [*inner, duration_s], strict=True))


def spans_of(options: Options, *, duration_s: float, cuts: Sequence[float] = ()) -> list[Span]:
    """Return the spans that are proposed for a video of this duration, sorted; ``cuts`` are needed for shots alone.

    Source of the windows: TVR (Lei et al. 2020, arXiv:2001.09099), 3, 6, 12 and 24 s long.
    """
    if options.method == SHOTS:
        return shots_between(cuts, duration_s)
    if options.method == UNIFORM:
        assert options.segment_s is not None
        return uniform_segments(duration_s, options.segment_s)
    windows = sliding_windows(duration_s, UNIT_S)
    return windows if options.most is None else shortest_windows(windows, options.most)
