"""An annotator's browser actions, for tests of pages."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from judging.models import Assignment, Batch, Judgment, Pair
from judging.work.rules import form_key
from judging.work.services.assignments import assignment_take
from tests.factories import AssignmentFactory, annotator
from tests.judging.play import pairs_in_order
from tests.tables import rows_of

HTMX = {"HX-Request": "true"}
HEADERS = {"plain": {}, "htmx": HTMX}
PAGE = "<!doctype html>"
REPLACE_URL = "HX-Replace-Url"
KEY = re.compile(r'name="key" value="([^"]+)"')
TOKEN = re.compile(r'(csrfmiddlewaretoken" value="|x-csrftoken": ")\w+')
Call = Callable[..., HttpResponse]


def url(name: str, row: object) -> str:
    return reverse(f"judging:{name}", args=[row.uuid])  # type: ignore[attr-defined]


def hold(batch: Batch, **values: Any) -> Assignment:
    """An open assignment whose lease runs; the order shown is that of rank."""
    lasts = {"expires_at": timezone.now() + timedelta(minutes=20)}
    return AssignmentFactory(batch=batch, **{**lasts, **values})  # type: ignore[no-any-return]


def take(batch: Batch, person: User | None = None) -> Assignment:
    """An assignment handed out now, as the button does."""
    assignment = assignment_take(project=batch.project, annotator=person or annotator(batch.project))
    assert assignment is not None
    assert assignment.batch_id == batch.pk
    return assignment


def key(assignment: Assignment, pair: Pair, n_answers: int | None = None) -> UUID:
    """Return the key of this pair's form, now or after ``n_answers`` grades and flags."""
    if n_answers is None:
        judgment = Judgment.objects.filter(pair=pair, annotator=assignment.annotator).first()
        n_answers = (judgment.revision + 1 if judgment else 0) + assignment.flags.filter(pair=pair).count()
    return form_key(assignment=assignment.uuid, pair=pair.uuid, n_answers=n_answers)


def logged_in(person: User, **values: Any) -> Client:
    client = Client(**values)
    client.force_login(person)
    return client


def form(assignment: Assignment, pair: Pair, grade: object, **more: object) -> dict[str, object]:
    return {"key": key(assignment, pair), "grade": grade, **more}


def grade(client: Client, assignment: Assignment, pair: Pair, value: object, **more: Any) -> HttpResponse:
    """Load the pair and press one of its buttons, as htmx sends it."""
    return client.post(url("judgment-create", pair), form(assignment, pair, value), headers=HTMX, **more)


def grade_all(client: Client, assignment: Assignment, value: int = 2) -> HttpResponse:
    """The answer to the last one."""
    return [grade(client, assignment, pair, value) for pair in pairs_in_order(assignment)][-1]


def headers_of(answer: HttpResponse) -> dict[str, str]:
    """The headers that are the same when a request is answered again."""
    return {name: value for name, value in answer.headers.items() if name != "X-Request-ID"}


def body_of(answer: HttpResponse) -> str:
    """The body without its tokens, which are new each time."""
    return TOKEN.sub("", answer.content.decode())


def rows() -> dict[str, list[str]]:
    """Every value of every table of judging."""
    return rows_of("judging")


def lapse(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def end(assignment: Assignment, state: str = "finished") -> None:
    Assignment.objects.filter(pk=assignment.pk).update(state=state, ended_at=timezone.now())


def keys_in(body: str) -> list[str]:
    """The keys that the forms of a screen carry; those of grade and flag are one."""
    return list(dict.fromkeys(KEY.findall(body)))


def graded(answer: HttpResponse) -> list[str]:
    """The grade that the page shows as given."""
    return re.findall(r'value="(\d)" aria-pressed="true"', answer.content.decode())


def at(path: str) -> dict[str, str]:
    """htmx, sent from the page at ``path``."""
    return {**HTMX, "HX-Current-URL": f"http://testserver{path}"}
