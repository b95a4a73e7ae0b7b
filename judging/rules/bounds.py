"""Whether a moment can have these bounds. Pure."""

import math

LEAST_S = 0.1  # shorter shows nothing


def fault_of_bounds(start_s: float, end_s: float, *, duration_s: float) -> str | None:
    """Why not, in words; None when it can.

    Args:
        start_s, end_s: the bounds, in seconds of the video.
        duration_s: how long the video is.
    """
    if not (math.isfinite(start_s) and math.isfinite(end_s)):
        return "Start and end are numbers of seconds."
    if start_s < 0:
        return "A moment cannot start before its video."
    if end_s > duration_s:
        return f"The video is only {duration_s:g} s long."
    if end_s - start_s < LEAST_S - 1e-9:
        return "A moment ends after it starts."
    return None
