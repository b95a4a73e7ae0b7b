"""Runs and the leaderboard for programs."""

from io import BytesIO
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from rest_framework.parsers import MultiPartParser

from accounts.models import Membership
from judging.models import Release
from models_runner.leaderboard.services.participants import leaderboard_change
from models_runner.models import Run
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.judging.api.acts import bearer, url
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, bring, member_of, participant, run_json, uploaded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def member(scenario: HandMade) -> Membership:
    return participant(scenario.project)


def program(member: Membership) -> Client:
    return Client(headers=bearer(member.user))


def send(member: Membership, content: bytes = run_json({10: GOOD}), **values: Any) -> HttpResponse:
    body = {"file": uploaded(content), "system": "ours", "split": "val", **values}
    return program(member).post(url("runs", member.project), body)  # type: ignore[return-value]


def test_a_run_is_uploaded_and_requested(release: Release, member: Membership, messages: Messages) -> None:
    with messages():
        answer = send(member, team="the team")
    assert answer.status_code == 201
    payload = program(member).get(url("run", Run.objects.get(source="upload"))).json()
    assert (payload["state"], payload["system"], payload["team"], payload["release"]) == (
        "scored",
        "ours",
        "the team",
        1,
    )
    (scoring,) = payload["scorings"]
    assert (scoring["state"], scoring["n_answered"], scoring["missing"]) == ("scored", 1, ["11"])
    assert len(scoring["scores"]) == 48


@pytest.mark.parametrize(
    ("values", "status", "code"),
    [
        ({"system": ""}, 422, "invalid"),
        ({"colour": "red"}, 422, "invalid"),
        ({"release": 9}, 422, "invalid"),
        ({"split": "train"}, 422, "invalid"),
        ({"file": "text"}, 422, "invalid"),
    ],
)
def test_what_is_wrong_is_refused(
    values: dict[str, Any], status: int, code: str, release: Release, member: Membership
) -> None:
    answer = send(member, **values)
    assert (answer.status_code, answer.json()["code"]) == (status, code)  # type: ignore[attr-defined]
    assert not Run.objects.filter(source="upload").exists()


FORM = "multipart/form-data; boundary=b"
FIELD = b'--b\r\nContent-Disposition: form-data; name="system"\r\n\r\nours\r\n'
ZERO = b'--b\r\nContent-Disposition: form-data; name="file"; filename="run.json"\r\n\r\n\r\n'


@pytest.mark.parametrize(
    ("kind", "body", "status", "code"),
    [
        ("application/json", b"", 400, "malformed"),
        ("application/x-www-form-urlencoded", b"", 400, "malformed"),
        ("text/plain", b"", 400, "malformed"),
        ("", b"", 400, "malformed"),
        (FORM, b"", 400, "malformed"),
        (FORM, b"--b--\r\n", 400, "malformed"),
        (FORM, b"--b\r\n\r\n--b--\r\n", 400, "malformed"),
        (FORM, b"no boundary at all", 400, "malformed"),
        ("multipart/form-data", FIELD, 400, "parse_error"),
        (FORM, FIELD + b"--b--\r\n", 422, "invalid"),  # no file
        (FORM, FIELD + ZERO + b"--b--\r\n", 422, "invalid"),  # a file of no bytes
        (FORM, FIELD + ZERO, 422, "invalid"),  # cut off
        ("application/json", b"{}", 415, "unsupported_media_type"),
        ("application/octet-stream", b"[]", 415, "unsupported_media_type"),
        ("not a type", b"[]", 415, "unsupported_media_type"),
    ],
)
def test_what_is_no_upload_is_refused(
    kind: str, body: bytes, status: int, code: str, release: Release, member: Membership
) -> None:
    client = program(member)
    client.raise_request_exception = False
    environ = {"CONTENT_TYPE": kind, "CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}
    answer = client.generic("POST", url("runs", member.project), **environ)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not Run.objects.filter(source="upload").exists()


def test_the_limit_has_its_code(release: Release, member: Membership, scenario: HandMade) -> None:
    leaderboard_change(project=scenario.project, actor=None, hides_val=False, hides_test=True, uploads_per_day=1)
    bring(member, release, run_json({10: GOOD}))
    answer = send(member, system="second")
    assert (answer.status_code, answer.json()["code"]) == (409, "upload_limit")  # type: ignore[attr-defined]


def test_at_the_limit_no_body_is_read(release: Release, member: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(member, release, run_json({10: GOOD}), work=False)
    monkeypatch.setattr(MultiPartParser, "parse", None)  # calling it would fail
    answer = send(member, system="second")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_possible")  # type: ignore[attr-defined]


def test_a_large_body_is_refused_unread(release: Release, member: Membership, settings: Any) -> None:
    settings.RUN_MAX_MB = -1
    answer = send(member)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")  # type: ignore[attr-defined]


def test_json_is_no_run(release: Release, member: Membership) -> None:
    answer = program(member).post(url("runs", member.project), {"system": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_runs_are_their_owners_and_staffs(release: Release, member: Membership, scenario: HandMade) -> None:
    run = bring(member, release, run_json({10: GOOD}))
    other, chief = participant(scenario.project), member_of(scenario, scenario.lead)
    run_uuids = {
        person: [row["uuid"] for row in program(person).get(url("runs", scenario.project)).json()["results"]]
        for person in (member, other, chief)
    }
    assert run_uuids[member] == [str(run.uuid)]
    assert run_uuids[other] == []
    assert len(run_uuids[chief]) == 3  # with those by similarity
    assert [program(person).get(url("run", run)).status_code for person in (member, other, chief)] == [200, 403, 200]


def test_the_leaderboard_is_ranked_and_tested(
    release: Release, member: Membership, scenario: HandMade, messages: Messages
) -> None:
    bring(member, release, run_json({11: GOOD}))
    query = {"split": "val", "sort": "NDCG@20,IoU>=0.5", "gain": "linear"}
    with messages():
        assert program(member).get(url("leaderboard", scenario.project), query).json()["is_testing"] is True
    payload = program(member).get(url("leaderboard", scenario.project), query).json()
    rows = payload["scores"]
    assert payload["is_testing"] is False
    first, second = (row for row in rows if row["metric"] == "NDCG@20,IoU>=0.5")
    assert (first["system"], second["system"], second["tested_against"]) == ("similarity", "ours", "similarity")
    assert first["value"] > second["value"]
    assert 0 < second["p"] <= 1


def test_of_hidden_labels_scores_come_in_steps_of_one_convention(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    rules = {"hides_val": True, "hides_test": True, "uploads_per_day": 9, "least_queries": 1}
    leaderboard_change(project=scenario.project, actor=None, **rules)
    run = bring(member, release, run_json({10: GOOD[1:], 11: GOOD}))
    mine, exact = (
        program(person).get(url("run", run)).json()["scorings"][0]["scores"]
        for person in (member, member_of(scenario, scenario.lead))
    )
    assert (len(mine), len(exact)) == (9, 48)
    for score in mine:
        (same,) = (e for e in exact if all(e[name] == score[name] for name in ("metric", "convention", "gain")))
        assert score["value"] in {0, 0.5, 1}  # two queries
        assert abs(score["value"] - same["value"]) < 0.5
        assert (score["low"], score["high"]) == (0, 1)
    board = (
        program(member).get(url("leaderboard", scenario.project) + "?split=val&convention=released&gain=linear").json()
    )
    assert (board["step"], board["refusal"], board["is_testing"]) == (0.5, "", False)
    assert {(row["convention"], row["gain"], row["p"], row["p_holm"]) for row in board["scores"]} == {
        ("paper", "exponential", None, None)
    }


def test_no_release_no_leaderboard() -> None:
    bare = ProjectFactory()
    assert program(participant(bare)).get(url("leaderboard", bare)).status_code == 404
