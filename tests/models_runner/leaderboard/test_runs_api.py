"""Runs and the leaderboard for programs."""

from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from rest_framework.parsers import MultiPartParser

from accounts.models import Membership
from models_runner.models import Run
from moment_retrieval.metrics.leaderboard import COLUMNS
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.judging.api.acts import bearer, refusal, url
from tests.models_runner.acts import GOOD, Site, participant, run_json, uploaded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


def program(member: Membership) -> Client:
    return Client(headers=bearer(member.user))


def send(member: Membership, content: bytes = run_json({10: GOOD}), **values: Any) -> Any:
    body = {"file": uploaded(content), "system": "ours", "split": "val", **values}
    return program(member).post(url("runs", member.project), body)


def test_a_run_is_uploaded_and_requested(site: Site, messages: Messages) -> None:
    with messages():
        assert send(site.member, team="the team").status_code == 201
    payload = program(site.member).get(url("run", Run.objects.get(source="upload"))).json()
    about = {"state": "scored", "system": "ours", "team": "the team", "release": 1}
    assert about.items() <= payload.items()
    (scoring,) = payload["scorings"]
    assert (scoring["state"], scoring["n_answered"], scoring["missing"]) == ("scored", 1, ["11"])
    assert len(scoring["scores"]) == len(COLUMNS)


FORM = "multipart/form-data; boundary=b"
FIELD = b'--b\r\nContent-Disposition: form-data; name="system"\r\n\r\nours\r\n'
ZERO = b'--b\r\nContent-Disposition: form-data; name="file"; filename="run.json"\r\n\r\n\r\n'
MALFORMED, INVALID, UNSUPPORTED = (400, "malformed"), (422, "invalid"), (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("application/json", b"", MALFORMED),
        ("application/x-www-form-urlencoded", b"", MALFORMED),
        ("", b"", MALFORMED),
        (FORM, b"", MALFORMED),
        (FORM, b"--b--\r\n", MALFORMED),
        (FORM, b"--b\r\n\r\n--b--\r\n", MALFORMED),
        (FORM, b"no boundary at all", MALFORMED),
        ("multipart/form-data", FIELD, (400, "parse_error")),
        (FORM, FIELD + b"--b--\r\n", INVALID),  # no file
        (FORM, FIELD + ZERO + b"--b--\r\n", INVALID),  # a file of no bytes
        (FORM, FIELD + ZERO, INVALID),  # cut off
        ("application/json", b"{}", UNSUPPORTED),
        ("not a type", b"[]", UNSUPPORTED),
    ],
)
def test_what_is_no_upload_is_refused(kind: str, body: bytes, code: tuple[int, str], site: Site) -> None:
    client = program(site.member)
    client.raise_request_exception = False
    environ = {"CONTENT_TYPE": kind, "CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}
    assert refusal(client.generic("POST", url("runs", site.project), **environ)) == code
    assert not Run.objects.filter(source="upload").exists()


@pytest.mark.parametrize("values", [{"system": ""}, {"colour": "red"}, {"release": 9}, {"file": "text"}])
def test_what_is_wrong_is_refused(values: dict[str, Any], site: Site) -> None:
    assert refusal(send(site.member, **values)) == INVALID
    assert not Run.objects.filter(source="upload").exists()


def test_limits_have_codes_and_no_body_is_read(site: Site, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MultiPartParser, "parse", None)  # calling it would fail
    most_mb, settings.RUN_MAX_MB = settings.RUN_MAX_MB, -1
    assert refusal(send(site.member)) == (413, "too_large")
    settings.RUN_MAX_MB = most_mb
    site.set_rules(uploads_per_day=1)
    site.bring(run_json({10: GOOD}))
    assert refusal(send(site.member, system="second")) == (409, "upload_limit")
    site.set_rules(uploads_per_day=9)
    site.bring(run_json({10: GOOD}), system="third", work=False)
    assert refusal(send(site.member, system="second")) == (409, "not_possible")


def test_runs_are_their_owners_and_staffs(site: Site) -> None:
    run, people = site.bring(run_json({10: GOOD})), (site.member, participant(site.project), site.lead)
    mine, others, all_runs = (program(person).get(url("runs", site.project)).json()["results"] for person in people)
    assert [row["uuid"] for row in mine] == [str(run.uuid)]
    assert (others, len(all_runs)) == ([], 3)  # with those by similarity
    assert [program(person).get(url("run", run)).status_code for person in people] == [200, 403, 200]


def test_the_leaderboard_is_ranked_and_tested(site: Site, messages: Messages) -> None:
    site.bring(run_json({11: GOOD}))
    query = {"split": "val", "sort": "NDCG@20,IoU>=0.5", "gain": "linear"}
    with messages():
        assert program(site.member).get(url("leaderboard", site.project), query).json()["is_testing"] is True
    payload = program(site.member).get(url("leaderboard", site.project), query).json()
    assert payload["is_testing"] is False
    first, second = (row for row in payload["scores"] if row["metric"] == "NDCG@20,IoU>=0.5")
    assert (first["system"], second["system"], second["tested_against"]) == ("similarity", "ours", "similarity")
    assert first["value"] > second["value"]
    assert 0 < second["p"] <= 1
    bare = ProjectFactory()
    assert program(participant(bare)).get(url("leaderboard", bare)).status_code == 404  # no release
