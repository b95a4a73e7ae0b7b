"""Programs' actions on the API, for its tests."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from accounts.services.credentials import token_create
from judging.models import Assignment, Batch, Judgment, Pair
from judging.work.rules import form_key
from tests.factories import AssignmentFactory
from tests.tables import rows_of


def bearer(person: User) -> dict[str, str]:
    """A token that was in use of late."""
    token = token_create(user=person, name=str(uuid4()))
    person.access_tokens.update(used_at=timezone.now())
    return {"Authorization": f"Bearer {token}"}


class Program:
    """Calls endpoints of the API by name, with a token of its person."""

    def __init__(self, person: User) -> None:
        self.person = person
        self.client = Client(headers=bearer(person))

    def get(self, name: str, *rows: Any, **query: str) -> HttpResponse:
        return self.client.get(url(name, *rows), query)

    def post(self, name: str, *rows: Any, **body: Any) -> HttpResponse:
        return self.client.post(url(name, *rows), body, content_type="application/json")

    def patch(self, name: str, *rows: Any, **body: Any) -> HttpResponse:
        return self.client.patch(url(name, *rows), body, content_type="application/json")

    def delete(self, name: str, *rows: Any) -> HttpResponse:
        return self.client.delete(url(name, *rows))

    def grade(self, assignment: Assignment, pair: Pair, grade: Any, **more: Any) -> HttpResponse:
        return self.post("judgment", pair, **{"grade": grade, "key": str(key(assignment, pair)), **more})


def url(name: str, *rows: Any) -> str:
    return reverse(f"api:{name}", args=[getattr(row, "uuid", row) for row in rows])


def hold(batch: Batch, **values: Any) -> Assignment:
    """An open assignment whose lease runs; the order shown is that of rank."""
    lasts = {"expires_at": timezone.now() + timedelta(minutes=20)}
    return AssignmentFactory(batch=batch, **{**lasts, **values})  # type: ignore[no-any-return]


def pairs_in_order(assignment: Assignment) -> list[Pair]:
    """Return its pairs in the order shown."""
    pairs = Pair.objects.in_bulk(assignment.pair_ids)
    return [pairs[pair_id] for pair_id in assignment.pair_ids]


def key(assignment: Assignment, pair: Pair, n_answers: int | None = None) -> UUID:
    """The key of the pair as it stands, or after ``n_answers`` grades and flags."""
    if n_answers is None:
        judgment = Judgment.objects.filter(pair=pair, annotator=assignment.annotator).first()
        n_answers = (judgment.revision + 1 if judgment else 0) + assignment.flags.filter(pair=pair).count()
    return form_key(assignment=assignment.uuid, pair=pair.uuid, n_answers=n_answers)


def refusal(answer: HttpResponse) -> tuple[int, str]:
    """Status and code; the body holds these and one line, nothing else."""
    body = answer.json()
    assert set(body) == {"code", "message"}, body
    assert body["message"]
    assert "\n" not in body["message"]
    return answer.status_code, body["code"]


def rows() -> dict[str, list[str]]:
    """Every value of every table of judging."""
    return rows_of("judging")


def lapse(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
