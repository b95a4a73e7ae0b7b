"""The description of the API: whole, true, and on a page."""

import re
from io import StringIO
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver

from annotation.exceptions import MomentJudgeError
from config.api import OUTSIDE
from tests.docs.pages import ROOT, tables

DOCS = ROOT / "docs" / "api.md"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    out = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    described: dict[str, Any] = yaml.safe_load(out.getvalue())
    return described


def operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, what) for path, ways in schema["paths"].items() for method, what in ways.items()]


def test_every_endpoint_is_described(schema: dict[str, Any]) -> None:
    routes = get_resolver().namespace_dict["api"][1].url_patterns
    described = {re.sub(r"{(\w+)}", "<uuid:\\1>", path) for path in schema["paths"]}
    assert described == {f"/api/v1/{route.pattern}" for route in routes}


def test_every_operation_says_what_it_does_and_takes_either_proof(schema: dict[str, Any]) -> None:
    for path, method, what in operations(schema):
        assert what["summary"], f"{method} {path}"
        assert what["security"] == [{"token": []}, {"cookieAuth": []}]


def test_refusals_have_one_shape(schema: dict[str, Any]) -> None:
    for path, method, what in operations(schema):
        for status, answer in what["responses"].items():
            if status >= "400":
                content = answer["content"]
                (shape,) = [kind["schema"]["$ref"] for kind in content.values()]
                assert shape.endswith("/Problem"), f"{method} {path} {status}"


def test_a_grade_is_a_number_from_0_to_4(schema: dict[str, Any]) -> None:
    taken = schema["components"]["schemas"]["GradeRequest"]
    grade = taken["properties"]["grade"]
    assert (grade["type"], grade["minimum"], grade["maximum"]) == ("integer", 0, 4)
    assert taken["required"] == ["grade", "key"]


OF_PAGES_ALONE = {  # no endpoint invites, trains, examines, sets or reviews
    *("invitation_unknown", "invitation_gone", "guideline_stale", "policy_stale", "gate_too_short", "gate_closed"),
    *("answers_incomplete", "unfinished", "too_few_pairs", "sitting_over"),
    *("already_reviewed", "nothing_beyond", "review_stands"),
}


def test_every_code_is_in_the_docs() -> None:
    told = {(row[0], code) for row in tables(DOCS) if row[0].isdigit() for code in re.findall(r"`(\w+)`", row[1])}
    ours = [kind for kind in kinds(MomentJudgeError) if kind.__module__ == "judging.exceptions"]
    assert {(str(kind.status), kind.code) for kind in ours if kind.code not in OF_PAGES_ALONE} <= told
    assert {(str(status), code) for status, (code, _) in OUTSIDE.items()} <= told


def kinds(kind: type[MomentJudgeError]) -> set[type[MomentJudgeError]]:
    return {one for child in kind.__subclasses__() for one in {child, *kinds(child)}}


@pytest.mark.django_db
def test_schema_and_page_are_for_everybody(client: Client) -> None:
    assert client.get("/api/schema/").status_code == 200
    page = client.get("/api/docs/")
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert "<style" not in page.content.decode()
