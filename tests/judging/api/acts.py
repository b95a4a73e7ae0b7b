"""Programs' actions on the API, for its tests."""

from typing import Any
from uuid import uuid4

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from accounts.services.credentials import token_create
from judging.models import Assignment, Pair
from tests.judging.views.acts import key


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

    def get(self, name: str, /, *rows: Any, **query: str) -> HttpResponse:
        return self.client.get(url(name, *rows), query)

    def post(self, name: str, /, *rows: Any, **body: Any) -> HttpResponse:
        return self.client.post(url(name, *rows), body, content_type="application/json")

    def patch(self, name: str, /, *rows: Any, **body: Any) -> HttpResponse:
        return self.client.patch(url(name, *rows), body, content_type="application/json")

    def delete(self, name: str, /, *rows: Any) -> HttpResponse:
        return self.client.delete(url(name, *rows))

    def grade(self, assignment: Assignment, pair: Pair, grade: Any, **more: Any) -> HttpResponse:
        return self.post("judgment", pair, **{"grade": grade, "key": str(key(assignment, pair)), **more})


def url(name: str, *rows: Any) -> str:
    return reverse(f"api:{name}", args=[getattr(row, "uuid", row) for row in rows])


def refusal(answer: HttpResponse) -> tuple[int, str]:
    """Status and code; the body holds these and one line, nothing else."""
    body = answer.json()
    assert set(body) == {"code", "message"}, body
    assert body["message"]
    assert "\n" not in body["message"]
    return answer.status_code, body["code"]
