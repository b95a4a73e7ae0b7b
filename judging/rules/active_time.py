"""How long somebody was at a pair: what the page measured, within what the server can know. Pure."""

from datetime import datetime, timedelta

LONGEST_MS = 60 * 60 * 1000  # stored of one judgment; what is paid of it is the policy's cap
MS = timedelta(milliseconds=1)


def active_ms(measured: int | None, *, since: datetime, now: datetime) -> int:
    """Milliseconds from the pair shown to the grade sent.

    Args:
        measured: what the page says; None where it says nothing that can be read.
        since: when the assignment was handed out, or the last thing was said in it: no pair was waiting for this
            grade for longer. So the times of an assignment add up to no more than it was held.

    Returns:
        ``measured``, but never more than the time since then, nor than an hour.
    """
    possible = max(0, (now - since) // MS)
    return min(possible if measured is None else max(0, measured), possible, LONGEST_MS)


def of_person(measured: int | None, *, since: datetime, now: datetime, is_simulated: bool) -> int:
    """``active_ms`` of somebody: of a program that stands for a person, what it says that person would have taken."""
    if is_simulated and measured is not None:
        return min(max(0, measured), LONGEST_MS)
    return active_ms(measured, since=since, now=now)


def with_change(before: int | None, added: int) -> int:
    """The time of a judgment whose grade was changed."""
    return min((before or 0) + added, LONGEST_MS)
