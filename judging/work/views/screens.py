"""One screen of the judging page, made of what the annotator holds. No statement is sent from here."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template import loader
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from judging.models import Flag
from judging.work.selectors.held import Card, Held

PAGE = "judging/work/judge.html"
LAST_LOOK = "judging/work/last_look.html"
FLAG_REASONS = Flag.Reason.choices


@dataclass(frozen=True, slots=True)
class Screen:
    """The card at ``index``; ``note`` is a line to the annotator, as when a form was stale."""

    held: Held
    index: int
    note: str = ""

    @property
    def card(self) -> Card:
        return self.held.cards[self.index]

    @property
    def key(self) -> UUID:
        return self.held.key_of(self.card)

    @property
    def position(self) -> int:
        return self.index + 1

    @property
    def total(self) -> int:
        return len(self.held.cards)

    @property
    def previous(self) -> Card | None:
        return self.held.cards[self.index - 1] if self.index else None

    @property
    def following(self) -> Card | None:
        """What Enter or the right arrow shows: the next card in order, judged or not."""
        return self.held.cards[self.index + 1] if self.position < self.total else None

    @property
    def ahead(self) -> list[Card]:
        return self.held.ahead_of(self.index)

    @property
    def grade_buttons(self) -> SafeString:
        return grade_buttons(tuple(self.held.levels), self.card.grade)

    @property
    def flag_buttons(self) -> SafeString:
        return flag_buttons()


@lru_cache(maxsize=256)
def grade_buttons(levels: tuple[str, ...], pressed: int | None) -> SafeString:
    """The five buttons, the same on every screen of a guideline: a level reads "Good: the action agrees"."""
    parts = [line.partition(":") for line in levels]
    named = [(grade, name.strip(), meaning.strip()) for grade, (name, _, meaning) in enumerate(parts)]
    return loader.render_to_string("judging/work/_grades.html", {"levels": named, "pressed": pressed})


@lru_cache(maxsize=1)
def flag_buttons() -> SafeString:
    button = '<button class="secondary" name="reason" value="{}">{}</button>'
    return format_html_join("", button, FLAG_REASONS)


def context_of(held: Held, index: int | None, note: str = "") -> dict[str, Any]:
    """What the judging page shows; the last look when ``index`` is None."""
    screen = None if index is None else Screen(held, index, note)
    left = len(held.cards) - held.answered
    return {
        "held": held,
        "screen": screen,
        "card": screen and screen.card,
        "pair": screen and str(screen.card.uuid),
        "left": left,
        "flag_reasons": FLAG_REASONS,
        "project_uuid": held.project_uuid,
    }


def part(request: HttpRequest, held: Held, index: int | None, *, note: str = "", status: int = 200) -> HttpResponse:
    """The fragment for htmx. It needs no context processor: navigation and messages are on the page already."""
    name = f"{PAGE}#pair" if index is not None else f"{LAST_LOOK}#pair"
    token = request.headers.get("X-CSRFToken") or get_token(request)  # the page's own is good, and sets no cookie
    context = {**context_of(held, index, note), "csrf_token": token, "scripted": True}
    return HttpResponse(loader.get_template(name).render(context), status=status)


def page(
    request: HttpRequest, held: Held, index: int | None, *, note: str = "", status: int = 200, **more: Any
) -> HttpResponse:
    """The whole page."""
    template = PAGE if index is not None else LAST_LOOK
    return render(request, template, {**context_of(held, index, note), **more}, status=status)
