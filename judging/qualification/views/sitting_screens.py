"""One screen of a sitting: a pair to grade, what is told of it, or a last look. No statement is sent from here."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template import loader
from django.utils.safestring import SafeString

from judging.qualification.selectors.sittings import Asked, Sat
from judging.work.views.screens import grade_buttons

PAIR = "judging/qualification/pair.html"
LOOK = "judging/qualification/last_look.html"
TITLES = {"tutorial": "Tutorial", "exam": "Exam", "warm-up": "Warm-up"}


class Level(NamedTuple):
    grade: int
    line: str


@dataclass(frozen=True, slots=True)
class Told:
    """What an annotator learns of a pair they have graded."""

    given: list[int]  # own grades, the first one first
    truth: str
    levels: list[Level]  # of the guideline, those that the truth stands for
    explanation: str
    aligned: bool
    exact: bool


def told_of(sat: Sat, card: Asked) -> Told | None:
    """Nothing where the truth is not theirs to know."""
    if card.truth is None or card.grade is None or not sat.told(card):
        return None
    grades = sorted({int(card.truth), int(card.truth + Decimal("0.5"))})
    return Told(
        given=[given.grade for given in card.given],
        truth=truth_words(card.truth),
        levels=[Level(grade, sat.levels[grade]) for grade in grades],
        explanation=card.explanation,
        aligned=not card.is_misaligned,
        exact=card.grade in grades,
    )


def truth_words(truth: Decimal) -> str:
    """A median as it is said: "2", or "between 2 and 3" for 2.5."""
    low = int(truth)
    return str(low) if truth == low else f"between {low} and {low + 1}"


@dataclass(frozen=True, slots=True)
class SittingScreen:
    """The pair at ``index``; ``note`` is a line to the annotator, as when a form was stale."""

    sat: Sat
    index: int
    note: str = ""

    @property
    def card(self) -> Asked:
        return self.sat.cards[self.index]

    @property
    def key(self) -> UUID:
        return self.sat.key_of(self.card)

    @property
    def places(self) -> list[int]:
        """The pairs of this round: all, or those that came back."""
        round_of = self.sat.misaligned if self.sat.in_feedback else [c for c in self.sat.cards if not c.is_retired]
        held = {card.known_id for card in [*round_of, self.card]}
        return [index for index, card in enumerate(self.sat.cards) if card.known_id in held]

    @property
    def position(self) -> int:
        return self.places.index(self.index) + 1

    @property
    def total(self) -> int:
        return len(self.places)

    @property
    def done(self) -> int:
        return sum(not self.sat.asks(self.sat.cards[place]) for place in self.places)

    @property
    def previous(self) -> Asked | None:
        before = [place for place in self.places if place < self.index]
        return self.sat.cards[before[-1]] if before else None

    @property
    def following(self) -> Asked | None:
        """The next pair in order; where the truth is told at once, only after this one is graded."""
        after = [place for place in self.places if place > self.index]
        return self.sat.cards[after[0]] if after else None

    @property
    def ahead(self) -> list[Asked]:
        return self.sat.ahead_of(self.index)

    @property
    def takes_grade(self) -> bool:
        """Whether the buttons can be pressed."""
        if self.card.is_retired:
            return False
        return self.sat.asks(self.card) or self.sat.may_change

    @property
    def told(self) -> Told | None:
        return told_of(self.sat, self.card)

    @property
    def grade_buttons(self) -> SafeString:
        return grade_buttons(tuple(self.sat.levels), self.card.grade)


def context_of(sat: Sat, index: int | None, note: str = "") -> dict[str, Any]:
    screen = None if index is None else SittingScreen(sat, index, note)
    return {
        "sat": sat,
        "screen": screen,
        "card": screen and screen.card,
        "told": screen and screen.told,
        "title": TITLES[sat.purpose],
        "project_uuid": sat.project_uuid,
        "note": note,
    }


def part(request: HttpRequest, sat: Sat, index: int | None, *, note: str = "", status: int = 200) -> HttpResponse:
    """The fragment for htmx: a pair, or the last look when ``index`` is None."""
    token = request.headers.get("X-CSRFToken") or get_token(request)
    context = {**context_of(sat, index, note), "csrf_token": token, "scripted": True}
    name = f"{LOOK if index is None else PAIR}#pair"
    return HttpResponse(loader.get_template(name).render(context), status=status)


def page(
    request: HttpRequest, sat: Sat, index: int | None, *, note: str = "", status: int = 200, **more: Any
) -> HttpResponse:
    template = LOOK if index is None else PAIR
    return render(request, template, {**context_of(sat, index, note), **more}, status=status)
