"""Invalid input is refused with a 4xx and one clear line, logged once, and changes no row."""

import json
import logging
from collections.abc import Callable
from copy import deepcopy
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client

from judging.models import Assignment
from tests.factories import BatchFactory
from tests.judging.api.acts import Program, bearer, refusal, url
from tests.judging.play import pairs_in_order
from tests.judging.views.acts import hold, key, rows

pytestmark = pytest.mark.django_db
JSON = "application/json"
WHOLE = "grade: A grade is a whole number of the scale."
BEYOND = "A grade is a whole number from 0 to 4."
MALFORMED = "The body is not JSON that can be read."
LARGE = "A request has at most 64 KB; nothing was read or stored."


@pytest.fixture(scope="module")
def module_assignment(module_database: None) -> Assignment:
    return hold(BatchFactory(pairs=3))


@pytest.fixture
def assignment(db: None, module_assignment: Assignment) -> Assignment:
    return deepcopy(module_assignment)


@pytest.fixture
def program(assignment: Assignment) -> Program:
    return Program(assignment.annotator)


class Refusal:
    """Check that ``send`` is refused: one clear line, one line in the log, no row changed."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.caplog = caplog

    def __call__(self, send: Callable[[], HttpResponse], status: int, code: str, message: str) -> None:
        before = rows()
        self.caplog.clear()
        answer = send()
        assert (*refusal(answer), answer.json()["message"]) == (status, code, message)
        (record,) = [record for record in self.caplog.records if record.levelno >= logging.INFO]
        path = answer.wsgi_request.path  # type: ignore[attr-defined]
        method = answer.wsgi_request.method  # type: ignore[attr-defined]
        logged = message.encode("unicode_escape").decode()
        assert record.getMessage() == f"{status} {method} {path}: {code}: {logged}"
        assert rows() == before


@pytest.fixture
def refused(caplog: pytest.LogCaptureFixture) -> Refusal:
    return Refusal(caplog)


@pytest.mark.parametrize(
    "grade", ["3", "", "two", 3.0, 2.5, -0.0, True, False, -1, 10, 17, 10**30, [3], [], {"grade": 3}, "3\0"], ids=repr
)
def test_a_grade_that_is_none(program: Program, assignment: Assignment, refused: Refusal, grade: Any) -> None:
    refused(lambda: program.grade(assignment, pairs_in_order(assignment)[0], grade), 422, "invalid", WHOLE)


@pytest.mark.parametrize("grade", [5, 9])
def test_a_grade_beyond_the_scale(program: Program, assignment: Assignment, refused: Refusal, grade: int) -> None:
    refused(lambda: program.grade(assignment, pairs_in_order(assignment)[0], grade), 422, "invalid", BEYOND)


GIVEN = str(uuid4())
REASONS = "reason: Choose one of broken, unreadable, offensive."
FIELDS: dict[str, tuple[str, dict[str, Any], str]] = {  # the name of the endpoint, the body, the message
    "nothing": ("judgment", {}, "grade: This field is required."),
    "null for a grade": ("judgment", {"grade": None, "key": GIVEN}, "grade: This field may not be null."),
    "no key": ("judgment", {"grade": 3}, "key: This field is required."),
    "no reason": ("flag", {}, "reason: This field is required."),
    "a reason unknown": ("flag", {"reason": "boring"}, REASONS),
    "a field for what takes none": ("heartbeat", {"minutes": 90}, "There is no field 'minutes' here."),
}
VALUES: dict[str, tuple[dict[str, Any], str]] = {  # beside a good grade and key
    "a key that is no UUID": ({"key": "17"}, "key: Must be a valid UUID."),
    "a number for a key": ({"key": 17}, "key: Must be a valid UUID."),
    "a time below nothing": ({"active_ms": -1}, "active_ms: Ensure this value is greater than or equal to 0."),
    "a field unknown": ({"slot": 2}, "There is no field 'slot' here."),
    "a long name": ({"x" * 999: 2}, f"There is no field '{'x' * 40}' here."),
    "a long comment": ({"comment": "x" * 2001}, "comment: Ensure this field has no more than 2000 characters."),
    "a comment with a NUL": ({"comment": "a\0b"}, "comment: Null characters are not allowed."),
    "half a character": ({"comment": "\ud800"}, "comment: Surrogate characters are not allowed: U+D800."),
}
FIELDS |= {
    name: ("judgment", {"grade": 3, "key": GIVEN, **values}, message) for name, (values, message) in VALUES.items()
}


@pytest.mark.parametrize(("name", "body", "message"), FIELDS.values(), ids=FIELDS)
def test_fields(
    program: Program, assignment: Assignment, refused: Refusal, name: str, body: dict[str, Any], message: str
) -> None:
    row = assignment.project if name == "heartbeat" else pairs_in_order(assignment)[0]
    send = lambda: program.client.post(url(name, row), json.dumps(body), content_type=JSON)  # noqa: E731
    refused(send, 422, "invalid", message)


KEY = f'"key": "{GIVEN}"'
BODIES: dict[str, tuple[bytes, str, int, str, str]] = {
    "empty": (b"", JSON, 422, "invalid", "grade: This field is required."),
    "cut off": (b'{"grade": 3', JSON, 400, "malformed", MALFORMED),
    "a grade twice": (f'{{"grade": 1, "grade": 4, {KEY}}}'.encode(), JSON, 400, "malformed", MALFORMED),
    "NaN": (f'{{"grade": NaN, {KEY}}}'.encode(), JSON, 400, "malformed", MALFORMED),
    "too many digits": (b'{"grade": ' + b"9" * 5000 + b"}", JSON, 400, "malformed", MALFORMED),
    "no UTF-8": (b'{"grade": 3, "comment": "\xff"}', JSON, 400, "malformed", MALFORMED),
    "UTF-16": ('{"grade": 3}'.encode("utf-16"), JSON, 400, "malformed", MALFORMED),
    "too deep": (b"[" * 60_000, JSON, 400, "malformed", MALFORMED),
    "a list": (b"[3]", JSON, 422, "invalid", "Send a JSON object."),
    "a form": (b"grade=3", "application/x-www-form-urlencoded", 415, "unsupported_media_type", ""),
    "text": (b'{"grade": 3}', "text/plain", 415, "unsupported_media_type", ""),
    "64 KB and a byte": (b" " * (64 * 1024 + 1), JSON, 413, "too_large", LARGE),
    "10 MB": (b" " * (10 * 2**20), JSON, 413, "too_large", LARGE),
    "10 MB of a form": (b"x" * (10 * 2**20), "application/x-www-form-urlencoded", 413, "too_large", LARGE),
}


@pytest.mark.parametrize(
    ("credential", "case"),
    [
        *(("token", case) for case in BODIES),
        *((credential, case) for credential in ("session", "nobody") for case in ("cut off", "a form", "10 MB")),
    ],
)
def test_bodies(assignment: Assignment, refused: Refusal, case: str, credential: str) -> None:
    body, kind, status, code, message = BODIES[case]
    client = Client(headers=bearer(assignment.annotator)) if credential == "token" else Client()
    if credential == "session":
        client.force_login(assignment.annotator)
    if credential == "nobody" and code != "too_large":
        status, code, message = 401, "not_authenticated", "Authentication credentials were not provided."
    if code == "unsupported_media_type":
        message = f'Unsupported media type "{kind}" in request.'
    target = url("judgment", pairs_in_order(assignment)[0])
    refused(lambda: client.post(target, body, content_type=kind), status, code, message)


@pytest.mark.parametrize("charset", ["rot13", "hex", "utf-16", "nonsense", "idna", None])
def test_neither_charset_nor_64_kb_matter(program: Program, assignment: Assignment, charset: str | None) -> None:
    pair = pairs_in_order(assignment)[0]
    body = json.dumps({"grade": 3, "key": str(key(assignment, pair))}).ljust(64 * 1024)
    kind = f"{JSON}; charset={charset}" if charset else JSON
    answer = program.client.generic("POST", url("judgment", pair), body, content_type=kind)
    assert answer.status_code == 200 or (charset and refusal(answer)[0] == 400)
