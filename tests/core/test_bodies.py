"""A large body is read to its end before it is refused, or the client would see a broken connection and no reason."""

import io
import json
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.wsgi import get_wsgi_application
from django.test import RequestFactory

from core.middleware import MOST

JUDGMENT = "/api/v1/pairs/6f9b5f6e-8f2b-4b43-a7b5-0123456789ab/judgment/"
MB = 2**20


def call(path: str, size: int, **environ: Any) -> tuple[int, bytes, int]:
    """Status, body, and how much of what was sent is still unread."""
    stream = io.BytesIO(b" " * size)
    about: dict[str, Any] = {"CONTENT_LENGTH": str(size), "CONTENT_TYPE": "application/json", **environ}
    request = RequestFactory().post(path).environ | about | {"wsgi.input": stream}
    statuses: list[str] = []
    answer = get_wsgi_application()(request, lambda status, headers: statuses.append(status))
    body = b"".join(answer)
    return int(statuses[0][:3]), body, size - stream.tell()


@pytest.mark.django_db
@pytest.mark.parametrize("size", [10, 64 * 1024 + 1, 10 * MB, MOST])
def test_it_is_read_to_its_end(size: int) -> None:
    status, body, unread = call(JUDGMENT, size)
    assert (status, unread) == (401 if size == 10 else 413, 0)
    assert set(json.loads(body)) == {"code", "message"}


@pytest.mark.django_db
@pytest.mark.parametrize("size", [30, 10 * MB])
def test_a_body_of_unknown_length_is_refused(size: int) -> None:
    chunked = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    status, body, unread = call(JUDGMENT, size, **chunked)
    assert (status, json.loads(body)["code"], unread) == (411, "length_required", 0)


@pytest.mark.django_db
def test_a_page_reads_it_too_but_nothing_is_read_without_end() -> None:
    status, _, unread = call("/login/", 10 * MB, CONTENT_TYPE="application/x-www-form-urlencoded")
    assert (status // 100, unread) == (4, 0)
    status, _, unread = call(JUDGMENT, MOST + 5 * MB)
    assert (status, unread >= 4 * MB) == (413, True)


@pytest.mark.django_db
def test_a_client_that_is_gone_is_no_fault() -> None:
    broken_body = Mock(read=Mock(side_effect=ConnectionResetError))
    request = RequestFactory().post(JUDGMENT).environ | {"CONTENT_LENGTH": str(MB), "wsgi.input": broken_body}
    statuses: list[str] = []
    get_wsgi_application()(request, lambda status, headers: statuses.append(status))
    assert statuses[0].startswith("413")
