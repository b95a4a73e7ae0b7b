"""Pages and API of ground truth of other forms: uploads, and what whom is shown."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, User
from models_runner.ground_truths.services import ground_truth_work, truth_run_work
from models_runner.models import GroundTruth, TruthRun
from tests.factories import MembershipFactory, ProjectFactory
from tests.judging.api.acts import bearer, url
from tests.models_runner.acts import uploaded
from tests.models_runner.ground_truths.acts import FILES, SUBMISSION, upload_run, upload_truth

pytestmark = pytest.mark.django_db
OF_TRUTH = ("ground-truth", "ground-truth-csv", "ground-truth-file", "truth-run-new")
API_OF_TRUTH = ("ground-truth", "ground-truth-scores", "truth-runs")


@pytest.fixture
def lead() -> Membership:
    return MembershipFactory(project=ProjectFactory(), role="lead")  # type: ignore[no-any-return]


@pytest.fixture
def team(lead: Membership) -> Membership:
    return MembershipFactory(project=lead.project, role="participant")  # type: ignore[no-any-return]


def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def page(name: str, row: Any) -> str:
    return reverse(f"models_runner:{name}", args=[row.uuid])


def test_a_lead_uploads_labels_and_a_participant_a_run(lead: Membership, team: Membership) -> None:
    client, form = browser(lead.user), {"name": "TVR", "split": "val", "is_public": "on"}
    answer = client.post(
        page("ground-truth-new", lead.project), {**form, "file": uploaded(FILES["matrix"][0], "t.npz")}
    )
    truth = GroundTruth.objects.get()
    assert answer.headers["Location"] == page("ground-truth", truth)
    assert 'hx-trigger="every 2s"' in client.get(page("ground-truth", truth)).content.decode()
    ground_truth_work(truth_id=truth.pk)
    client = browser(team.user)
    upload_page = page("truth-run-new", truth)
    text = client.get(upload_page).content.decode()
    assert text.count('name="measures"') == 2 and 'name="gain"' in text and 'name="cutoffs"' not in text
    assert f'href="{upload_page}"' in client.get(page("run-new", lead.project)).content.decode()
    fields = {"system": "ours", "measures": ["semantic"], "gain": "linear", "directions": ["v2t", "t2v"]}
    answer = client.post(upload_page, {**fields, "measures": [], "file": uploaded(FILES["matrix"][1], "run.npy")})
    assert answer.status_code == 422 and "Choose at least one kind of measure." in answer.content.decode()
    answer = client.post(upload_page, {**fields, "file": uploaded(FILES["matrix"][1], "run.npy")})
    run = TruthRun.objects.get()
    assert answer.headers["Location"] == page("truth-run", run)
    truth_run_work(run_id=run.pk)
    text = client.get(page("ground-truth", truth)).content.decode()
    assert "gain linear" in text and 'class="own"' in text
    assert "No run by these measures yet" in client.get(f"{page('ground-truth', truth)}?show=instance").content.decode()
    exported = client.get(page("ground-truth-csv", truth)).content.decode().splitlines()
    assert exported[0] == '"run","system","team","n_queries","n_missing","family","metric","setting","value"'
    assert len(exported) == 4 and exported[1].startswith(f'"{run.uuid}","ours","",5,0,"semantic"')
    answer = client.post(page("truth-run-withdraw", run), {"reason": "A mistake."}, follow=True)
    assert "Withdrawn: A mistake." in answer.content.decode()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("cutoffs", "0", "The cutoff k must be a whole number, 1 or more, got 0."),
        ("cutoffs", "1,101", "The first 100 predictions count, got the cutoff 101."),
        ("thresholds", "half", "Expected numbers with commas between"),
        ("convention", "other", "Select a valid choice."),
        ("nms", "0.1234567", "at most 8 characters"),
        ("nms", "2", "The iou threshold mu must lie in (0, 1], got 2.0."),
        ("cutoffs", ",".join(map(str, range(1, 12))), "Give at most 10 numbers."),
    ],
)
def test_options_are_checked_with_the_form(name: str, value: str, message: str, lead: Membership) -> None:
    truth = upload_truth(lead.project)
    form = {"system": "x", "measures": ["vcmr"], "file": uploaded(FILES["tvr"][1]), name: value}
    answer = browser(lead.user).post(page("truth-run-new", truth), form)
    assert answer.status_code == 422 and message in answer.content.decode()
    assert not TruthRun.objects.exists()


def test_labels_that_are_not_public_do_not_exist_for_participants(lead: Membership, team: Membership) -> None:
    """Nor does an own run on them, nor a word of them on the pages that participants see."""
    secret = upload_truth(lead.project, name="secret labels")
    run = upload_run(lead, secret)
    TruthRun.objects.filter(pk=run.pk).update(owner=team.user)
    client, program = browser(team.user), Client(headers=bearer(team.user))
    addresses = [page(name, secret) for name in OF_TRUTH] + [page("truth-run", run), page("truth-run-download", run)]
    assert {client.get(address).status_code for address in addresses} == {404}
    assert {program.get(url(name, secret)).status_code for name in API_OF_TRUTH} == {404}
    assert program.get(url("truth-run", run)).status_code == 404
    for name in ("ground-truths", "run-new"):
        assert "secret labels" not in client.get(page(name, lead.project)).content.decode()
    assert program.get(url("ground-truths", lead.project)).json()["results"] == []
    file = {"file": uploaded(FILES["tvr"][1]), "system": "x", "measures": ["vcmr"]}
    assert client.post(page("truth-run-new", secret), file).status_code == 404


def test_of_public_labels_a_participant_sees_all_scores_and_own_runs(lead: Membership, team: Membership) -> None:
    truth = upload_truth(lead.project, is_public=True)
    other, own = upload_run(lead, truth, system="theirs"), upload_run(team, truth)
    client, program = browser(team.user), Client(headers=bearer(team.user))
    text = client.get(page("ground-truth", truth)).content.decode()
    assert "theirs" in text and page("truth-run", other) not in text and page("truth-run", own) in text
    assert client.get(page("truth-run", other)).status_code == 403
    assert b"".join(client.get(page("ground-truth-file", truth)).streaming_content) == FILES["tvr"][0]  # type: ignore[attr-defined]
    assert [row["uuid"] for row in program.get(url("truth-runs", truth)).json()["results"]] == [str(own.uuid)]
    scores = program.get(url("ground-truth-scores", truth)).json()["scores"]
    assert {row["system"] for row in scores} == {"ours", "theirs"}


def test_the_board_says_how_many_queries_a_run_answers_and_how_large_a_matrix_is(lead: Membership) -> None:
    truth, matrix = upload_truth(lead.project), upload_truth(lead.project, "matrix", name="matrix")
    rows = [{"desc_id": 1, "predictions": [[2, 0, 0, 0.9], [1, 0, 0, 0.8]]}]
    run = upload_run(lead, truth, json.dumps({**SUBMISSION, "VR": rows}).encode(), measures=["vr"])
    assert run.warnings == []  # of VR, times are 0
    upload_run(lead, truth, system="whole")
    text = browser(lead.user).get(page("ground-truth", truth), {"show": "vr"}).content.decode()
    assert text.count("answered</small>") == 1 and "1 of 2 answered" in text
    assert "2 videos, 3 captions" in browser(lead.user).get(page("ground-truth", matrix)).content.decode()


def test_programs_upload_both_and_read_scores(lead: Membership) -> None:
    program = Client(headers=bearer(lead.user))
    answer = program.post(url("ground-truths", lead.project), {"file": uploaded(FILES["tvr"][0]), "name": "TVR"})
    assert answer.status_code == 201 and answer.json()["state"] == "reading"
    truth = GroundTruth.objects.get()
    form = {"file": uploaded(FILES["tvr"][1]), "system": "ours", "measures": "vcmr, vr", "cutoffs": "1,5"}
    assert program.post(url("truth-runs", truth), form).json()["code"] == "not_possible"  # it is not read yet
    assert program.delete(url("ground-truth", truth)).json()["code"] == "not_possible"
    answer = browser(lead.user).post(page("ground-truth-delete", truth))
    assert answer.status_code == 409 and answer.content.decode().count("is still being read") == 1
    ground_truth_work(truth_id=truth.pk)
    answer = program.post(url("truth-runs", truth), {**form, "file": uploaded(FILES["tvr"][1])})
    assert answer.status_code == 201, answer.content
    truth_run_work(run_id=TruthRun.objects.get().pk)
    row = program.get(url("truth-run", TruthRun.objects.get())).json()
    assert (row["state"], row["measures"], row["options"]) == ("scored", ["vcmr", "vr"], {"cutoffs": [1, 5]})
    assert {score["metric"] for score in row["scores"] if score["family"] == "vr"} == {"R@1", "R@5"}
    assert {score["setting"] for score in row["scores"]} == {"", "type v", "type t"}
    entries = program.get(url("ground-truth-scores", truth)).json()["scores"]
    assert {(entry["run"], entry["n_queries"], entry["n_missing"], entry["setting"]) for entry in entries} == {
        (row["uuid"], 2, 0, "")
    }
    text = browser(lead.user).get(page("truth-run", TruthRun.objects.get())).content.decode()
    assert '<th class="number">t</th>' in text
    answer = program.delete(url("ground-truth", truth))
    assert answer.status_code == 409 and "withdraw it first" in answer.json()["message"]
    assert program.delete(f"{url('truth-run', TruthRun.objects.get())}?reason=wrong").status_code == 200
    assert program.delete(url("ground-truth", truth)).status_code == 204
    refused = program.post(
        url("truth-runs", upload_truth(lead.project)), {**form, "file": uploaded(b"{}"), "gain": "linear"}
    )
    assert (refused.status_code, refused.json()["message"][:5]) == (422, "gain:")
