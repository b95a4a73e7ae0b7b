"""Invalid input is refused by one clear line and a 4xx, logged once, and changes no row."""

import html
import logging
import re
from collections.abc import Callable
from copy import deepcopy
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client

from accounts.models import Membership
from judging.models import Assignment, Pair
from tests.factories import BatchFactory
from tests.judging.play import pairs_in_order
from tests.judging.views.acts import HEADERS, PAGE, form, hold, key, lapse, rows, url

pytestmark = [pytest.mark.django_db, pytest.mark.parametrize("kind", HEADERS)]
TEN_MB = 10 * 2**20
SHOWN_ALERT = re.compile(r'role="alert"(?![^>]*hidden)')
WHOLE = "A grade is a whole number of the scale."
BEYOND = "A grade is a whole number from 0 to 4."
CHOOSE = "Choose a grade."
NO_KEY = "This form carries no key. Load the page again."
BAD_KEY = "The key of this form cannot be read. Load the page again."
NUL = "Null characters are not allowed."
NO_FORM = "Send a form; what came was none, and nothing was stored."
UNREADABLE = "This form cannot be read; nothing was stored."
LARGE = "This form is too large; nothing was stored."
NOT_ASSIGNED = "This pair is not assigned to you."
STRANGE = "This form does not belong to the pair as it stands. Load the page again; nothing was stored."
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"


@pytest.fixture(scope="module")
def module_assignment(module_database: None) -> Assignment:
    return hold(BatchFactory(pairs=3))


@pytest.fixture
def open_assignment(db: None, module_assignment: Assignment) -> Assignment:
    return deepcopy(module_assignment)


@pytest.fixture
def browser(client: Client, open_assignment: Assignment) -> Client:
    client.force_login(open_assignment.annotator)
    return client


@pytest.fixture
def real(open_assignment: Assignment) -> Client:
    """A browser whose token is asked for, as everywhere but in tests."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(open_assignment.annotator)
    client.get(url("pair-next", open_assignment.project))
    return client


def warnings(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


class Refusal:
    """Check that ``send`` is refused: the page says why once, the log says why once, and no row has changed."""

    def __init__(self, caplog: pytest.LogCaptureFixture, mode: str) -> None:
        self.caplog, self.mode = caplog, mode

    def __call__(self, send: Callable[[], HttpResponse], status: int, words: str) -> HttpResponse:
        before = rows()
        self.caplog.clear()
        answer = send()
        body = html.unescape(answer.content.decode())
        assert (answer.status_code, body.count(words), len(SHOWN_ALERT.findall(body))) == (status, 1, 1), body
        assert (PAGE in body) == (self.mode == "plain")
        (record,) = warnings(self.caplog)
        path = answer.wsgi_request.path.encode("unicode_escape").decode()  # type: ignore[attr-defined]
        assert record.getMessage().startswith(f"{status} POST {path}: {words}")
        assert rows() == before
        return answer


@pytest.fixture
def refused(caplog: pytest.LogCaptureFixture, kind: str) -> Refusal:
    return Refusal(caplog, kind)


# every value that is none: tests/judging/work/test_forms.py
@pytest.mark.parametrize(
    ("value", "words"), [("", CHOOSE), ("5", BEYOND), ("10", WHOLE), ("3\0", WHOLE), ("9" * 5000, WHOLE)], ids=ascii
)
def test_grade(
    browser: Client, open_assignment: Assignment, refused: Refusal, kind: str, value: str, words: str
) -> None:
    pair = pairs_in_order(open_assignment)[1]
    send = lambda: browser.post(url("judgment-create", pair), form(open_assignment, pair, value), headers=HEADERS[kind])  # noqa: E731
    answer = refused(send, 422, words)
    assert url("judgment-create", pair) in answer.content.decode()


TOO_LONG = "Ensure this value has at most 2000 characters (it has 2001)."
FIELDS: dict[str, tuple[str, dict[str, object], str]] = {
    "no field at all": ("judgment-create", {}, NO_KEY),
    "no grade": ("judgment-create", {"key": uuid4()}, CHOOSE),
    "empty key": ("judgment-create", {"grade": 3, "key": ""}, NO_KEY),
    "a key that is no UUID": ("judgment-create", {"grade": 3, "key": "17"}, BAD_KEY),
    "a key with a NUL byte": ("judgment-create", {"grade": 3, "key": f"{uuid4()}\0"}, BAD_KEY),
    "a long key": ("judgment-create", {"grade": 3, "key": "f" * 5000}, BAD_KEY),
    "a key of nothing": ("judgment-create", {"grade": 3, "key": uuid4()}, STRANGE),
    "a comment with a NUL byte": ("judgment-create", {"grade": 3, "key": uuid4(), "comment": "a\0b"}, NUL),
    "a long comment": ("judgment-create", {"grade": 3, "key": uuid4(), "comment": "x" * 2001}, TOO_LONG),
    "no reason": ("flag-set", {}, "Say why you cannot judge it."),
    "a reason with a NUL byte": ("flag-set", {"reason": "broken\0"}, "Choose one of the reasons."),
    "words with a NUL byte": ("flag-set", {"reason": "broken", "comment": "\0"}, NUL),
}


@pytest.mark.parametrize("case", FIELDS)
def test_field(browser: Client, open_assignment: Assignment, refused: Refusal, kind: str, case: str) -> None:
    endpoint, data, words = FIELDS[case]
    target = url(endpoint, pairs_in_order(open_assignment)[0])
    refused(lambda: browser.post(target, data, headers=HEADERS[kind]), 409 if words == STRANGE else 422, words)


def part(name: str, value: bytes, more: bytes = b"") -> bytes:
    head = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
    return head % (name.encode(), more) + value + b"\r\n--x--\r\n"


FILE = part("grade", b"x" * TEN_MB, b'; filename="grade.txt"')
MANY = b"&".join(b"f%d=1" % n for n in range(5000))
BAD_BASE64 = part("grade", b"\xff\xff", b"\r\nContent-Transfer-Encoding: base64")
BODIES: dict[str, tuple[str, bytes, int, str]] = {
    "JSON": ("application/json", b'{"grade": 3, "reason": "broken"}', 415, NO_FORM),
    "10 MB of JSON": ("application/json", b"[" * TEN_MB, 415, NO_FORM),
    "plain text": ("text/plain", b"grade=3&reason=broken", 415, NO_FORM),
    "no content type": ("", b"grade=3&reason=broken", 415, NO_FORM),
    "nonsense as content type": ("\x7f;;=/", b"grade=3", 415, NO_FORM),
    "bytes that are no text": (URLENCODED, b"\xff\xfe=%ff%zz&&&=;%00", 422, ""),
    "10 MB in a field": (URLENCODED, b"comment=" + b"x" * TEN_MB, 413, LARGE),
    "10 MB in a part": (MULTIPART, part("comment", b"x" * TEN_MB), 413, LARGE),
    "a file of 10 MB": (MULTIPART, FILE, 400, "No page takes files; nothing was stored."),
    "5000 fields": (URLENCODED, MANY, 400, "This form holds too many fields; nothing was stored."),
    "parts without a boundary": ("multipart/form-data", b"grade=3", 400, UNREADABLE),
    "a boundary of non-ASCII": ("multipart/form-data; boundary=é", b"grade=3", 400, UNREADABLE),
    "parts cut off": (MULTIPART, b'--x\r\nContent-Disposition: form-data; name="gra', 422, ""),
    "parts of bad base64": (MULTIPART, BAD_BASE64, 422, ""),
    "another alphabet": (f"{URLENCODED}; charset=latin-1", b"grade=3", 400, UNREADABLE),
    "an alphabet that is none": (f"{MULTIPART}; charset=hex", part("grade", b"3"), 400, UNREADABLE),
}
READ_AS_FORMS = [case for case, (_, _, status, _) in BODIES.items() if status == 422]


@pytest.mark.parametrize(
    ("route", "case"),
    [*(("judgment-create", case) for case in BODIES), *(("flag-set", case) for case in ["JSON", *READ_AS_FORMS])],
)
def test_body(real: Client, open_assignment: Assignment, refused: Refusal, kind: str, case: str, route: str) -> None:
    content_type, body, status, words = BODIES[case]
    words = words or {"judgment-create": NO_KEY, "flag-set": "Say why you cannot judge it."}[route]
    headers = {**HEADERS[kind], "X-CSRFToken": real.cookies["csrftoken"].value}
    target = url(route, pairs_in_order(open_assignment)[0])
    refused(lambda: real.generic("POST", target, body, content_type, headers=headers), status, words)


def test_a_form_without_its_token(real: Client, open_assignment: Assignment, refused: Refusal, kind: str) -> None:
    pair = pairs_in_order(open_assignment)[0]
    send = lambda: real.post(url("judgment-create", pair), form(open_assignment, pair, 3), headers=HEADERS[kind])  # noqa: E731
    refused(send, 403, "This page is older than your log-in. Load it again; nothing was stored.")


def somebody_elses(assignment: Assignment) -> Pair:
    return pairs_in_order(hold(BatchFactory(query__project=assignment.project)))[0]


def that_does_not_exist(assignment: Assignment) -> Pair:
    return Pair(uuid=uuid4())


def time_has_run_out(assignment: Assignment) -> Pair:
    lapse(assignment)
    return pairs_in_order(assignment)[0]


def withdrawn(assignment: Assignment) -> Pair:
    pair = pairs_in_order(assignment)[0]
    Pair.objects.filter(pk=pair.pk).update(state="withdrawn", reason="withdrawn_by_lead")
    return pair


def became_a_lead(assignment: Assignment) -> Pair:
    Membership.objects.filter(user=assignment.annotator).update(roles=["lead"], number=None, status="")
    return pairs_in_order(assignment)[0]


@pytest.mark.parametrize(("route", "values"), [("judgment-create", {"grade": 0}), ("flag-set", {"reason": "broken"})])
@pytest.mark.parametrize(
    ("prepare", "status", "words"),  # all states there are: tests/judging/work/test_judgments.py
    [
        (somebody_elses, 404, NOT_ASSIGNED),
        (that_does_not_exist, 404, NOT_ASSIGNED),
        (time_has_run_out, 409, "Your time on this batch has run out; the grades you gave are kept."),
        (withdrawn, 409, "This pair was withdrawn and needs no"),
        (became_a_lead, 403, "Your role in this project does not grade."),
    ],
)
def test_state(
    browser: Client,
    open_assignment: Assignment,
    refused: Refusal,
    kind: str,
    prepare: Callable[[Assignment], Pair],
    status: int,
    words: str,
    route: str,
    values: dict[str, object],
) -> None:
    """Nor does a bad form open what a good one does not."""
    pair = prepare(open_assignment)
    data = {**values, "key": key(open_assignment, pair) if pair.pk else uuid4()}
    refused(lambda: browser.post(url(route, pair), data, headers=HEADERS[kind]), status, words)
    if prepare is withdrawn:
        return  # is shown, as it is theirs
    before = rows()
    bad = browser.post(url(route, pair), {}, headers=HEADERS[kind])
    assert bad.status_code == status
    assert 'id="pair"' not in bad.content.decode()
    assert rows() == before


@pytest.mark.parametrize("name", ["judgment-create", "flag-set", "flag-withdraw"])
def test_no_such_address(browser: Client, open_assignment: Assignment, refused: Refusal, kind: str, name: str) -> None:
    target = url(name, open_assignment).replace(str(open_assignment.uuid), "17\0")
    refused(lambda: browser.post(target, {"grade": 3}, headers=HEADERS[kind]), 404, "There is nothing here")


@pytest.mark.parametrize("route", ["judgment-create", "flag-set", "flag-withdraw"])
def test_what_is_taken_is_no_warning(
    browser: Client, open_assignment: Assignment, kind: str, route: str, caplog: pytest.LogCaptureFixture
) -> None:
    pair = pairs_in_order(open_assignment)[0]
    answer = browser.post(url(route, pair), form(open_assignment, pair, 3, reason="broken"), headers=HEADERS[kind])
    assert answer.status_code in (200, 302)
    assert warnings(caplog) == []
