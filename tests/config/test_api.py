"""The description of the API: whole, true, and on a page."""

import json
import re
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver
from drf_spectacular.generators import SchemaGenerator

from config.api import OUTSIDE
from core.exceptions import MomentJudgeError
from tests.docs.pages import ROOT, tables
from tests.factories import UserFactory

DOCS = ROOT / "docs" / "api.md"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    out = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    described: dict[str, Any] = yaml.safe_load(out.getvalue())
    return described


def operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, what) for path, methods in schema["paths"].items() for method, what in methods.items()]


def test_every_endpoint_is_described(schema: dict[str, Any]) -> None:
    routes = get_resolver().namespace_dict["api"][1].url_patterns
    described = {re.sub(r"{(\w+)}", "<uuid:\\1>", path) for path in schema["paths"]}
    assert described == {f"/api/v1/{route.pattern}" for route in routes}


def test_every_operation_says_what_it_does_takes_either_proof_and_refuses_in_one_shape(schema: dict[str, Any]) -> None:
    for path, method, what in operations(schema):
        assert what["summary"], f"{method} {path}"
        assert what["security"] == [{"token": []}, {"cookieAuth": []}]
        for status, answer in what["responses"].items():
            if status >= "400":
                (shape,) = [kind["schema"]["$ref"] for kind in answer["content"].values()]
                assert shape.endswith("/Problem"), f"{method} {path} {status}"


OF_PAGES_ALONE = {  # no endpoint takes up invitations, trains, examines or reviews
    *("invitation_unknown", "invitation_gone", "guideline_stale", "gate_closed"),
    *("answers_incomplete", "unfinished", "too_few_pairs", "sitting_over"),
    *("already_reviewed", "nothing_beyond", "review_stands"),
}


def test_every_code_is_in_the_docs() -> None:
    documented = {(row[0], code) for row in tables(DOCS) if row[0].isdigit() for code in re.findall(r"`(\w+)`", row[1])}
    ours = [kind for kind in kinds(MomentJudgeError) if kind.__module__ == "judging.exceptions"]
    assert {(str(kind.status), kind.code) for kind in ours if kind.code not in OF_PAGES_ALONE} <= documented
    assert {(str(status), code) for status, (code, _) in OUTSIDE.items()} <= documented


def kinds(kind: type[MomentJudgeError]) -> set[type[MomentJudgeError]]:
    return {one for child in kind.__subclasses__() for one in {child, *kinds(child)}}


@pytest.mark.django_db
def test_the_page_is_for_everybody(client: Client) -> None:
    page = client.get("/api/docs/")
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert "<style" not in page.content.decode()


@pytest.mark.django_db
def test_the_description_is_made_once_however_it_is_requested(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = SchemaGenerator.get_schema
    monkeypatch.setattr(SchemaGenerator, "get_schema", lambda *args, **how: calls.append(how) or real(*args, **how))
    for words in ("", "?version=2", "?version=3", "?lang=de", "?format=json"):
        assert client.get(f"/api/schema/{words}").status_code == 200
    client.force_login(UserFactory())
    assert client.get("/api/schema/", headers={"accept": "application/json"}).status_code == 200
    assert len(calls) <= 1


@pytest.mark.parametrize(
    ("media_type", "read"), [("application/yaml", yaml.safe_load), ("application/json", json.loads)]
)
def test_the_description_is_served_in_either_form(
    client: Client, schema: dict[str, Any], media_type: str, read: Callable[[bytes], object]
) -> None:
    answer = client.get("/api/schema/", headers={"accept": media_type})
    assert read(answer.content) == schema
    assert answer.headers["Content-Type"].startswith(media_type)
    assert "Accept" in answer.headers["Vary"]


def test_a_description_that_was_seen_is_not_sent_again(client: Client) -> None:
    first = client.get("/api/schema/")
    assert first.headers["Cache-Control"] == "public, no-cache"
    again = client.get("/api/schema/", headers={"if-none-match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    other_form = {"accept": "application/json", "if-none-match": first.headers["ETag"]}
    assert client.get("/api/schema/", headers=other_form).status_code == 200
