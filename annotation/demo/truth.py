"""How relevant a moment truly is to a query, from what is known to happen in it.

The three things of the judging guideline: does the action match, is the whole of it in a prominent place of the
picture, and does the moment cover it fully without surplus?
"""

from __future__ import annotations

from annotation.demo.script import Event, ScriptedMoment
from annotation.demo.vocabulary import SPECS


def true_relevance(query: ScriptedMoment, moment: ScriptedMoment) -> int:
    """Return the grade, 0 (unrelated) to 4 (perfect), of ``moment`` for the text of ``query``.

    Only the moment's picture counts and only the query's words: how well the query's own moment shows its
    action has no bearing on other moments.
    """
    wanted, shown = SPECS[query.event.action].steps, SPECS[moment.event.action].steps
    common = sum(step in shown for step in wanted)
    if common == len(wanted):
        surplus = len(shown) > len(wanted)
        return _grade_of_full_action(query.event, moment.event, surplus=surplus)
    if common:
        flawed = moment.event.framing == "side" or moment.event.completeness == "cut"
        return 1 if flawed else 2
    return int(_touches(query.event, moment.event))


def _grade_of_full_action(query: Event, moment: Event, *, surplus: bool) -> int:
    """Grade a moment that plays every step: each kind of mismatch costs one, a cut action is at most partly there."""
    grade = 4
    grade -= _details_differ(query, moment)
    grade -= surplus or moment.completeness == "padded"
    grade -= moment.framing == "side"
    if moment.completeness == "cut":
        grade = min(grade - 1, 2)
    return max(grade, 1)


def _details_differ(query: Event, moment: Event) -> bool:
    """Say whether people, thing or goal of the query are missed; the query knows people by gender only."""
    people = (query.gender, query.partner_gender) != (moment.gender, moment.partner_gender)
    thing = bool(query.item) and query.item not in moment.seen
    goal = bool(query.target) and query.target != moment.target
    return people or thing or goal


def _touches(query: Event, moment: Event) -> bool:
    """Say whether the thing, the goal or the pair of people of the query is in the picture.

    A mere person is in nearly every moment and counts for nothing.
    """
    key = query.item or query.target or ("pair" if query.partner else "")
    return bool(key) and key in moment.seen
