"""Benchmark runs for programs and in the shell."""

import json
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.models import Membership
from judging.models import Release
from models_runner.models import Experiment, Training
from tests.conftest import Messages
from tests.factories import MembershipFactory, admin
from tests.judging.api.acts import bearer, refusal, url
from tests.judging.world import HandMade
from tests.models_runner.acts import ready_release
from tests.models_runner.benchmarks import features_of, only, ordered, places, trained

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def release(made: HandMade, settings: Any, tmp_path: Path) -> Release:
    """With features of the project beside it."""
    places(settings, tmp_path)
    features_of(made.project, tmp_path)
    return ready_release(made.project)


@pytest.fixture
def program(made: HandMade) -> Client:
    return Client(headers=bearer(admin(made.project)))


def start(program: Client, release: Release, **body: Any) -> Any:
    return program.post(
        url("experiments", release.project), {"baseline": "xml", **body}, content_type="application/json"
    )


class TestPrograms:
    def test_order_look_and_list(self, program: Client, release: Release, messages: Messages) -> None:
        with messages():
            answer = start(program, release, seeds=2, top_n=1, preset="small", shuffle_links=True)
        given = answer.json()
        assert (answer.status_code, given["state"], given["name"]) == (201, "waiting", "XML, N=1")
        assert given["options"]["shuffle_links"] is True and given["options"]["epochs"] == 30
        seen = program.get(url("experiment", Experiment.objects.get())).json()
        assert [seed["state"] for seed in seen["trainings"]] == ["done", "done"]
        assert seen["trainings"][0]["curve"]["scores"] == [[2, 0.25, 0.7], [4, 0.5, 0.6]]
        run = program.get(url("run", seen["trainings"][0]["val_run"])).json()
        assert (run["source"], run["state"], run["system"]) == ("baseline", "scored", "XML, N=1, seed 1")
        listed = program.get(url("experiments", release.project)).json()["results"]
        assert [one["uuid"] for one in listed] == [seen["uuid"]]

    def test_what_cannot_be_is_refused(self, program: Client, release: Release) -> None:
        assert refusal(start(program, release, seeds=0)) == (422, "invalid")
        assert refusal(start(program, release, baseline="conquer")) == (422, "invalid")
        assert refusal(start(program, release, video="others")) == (422, "invalid")
        start(program, release, name="ours")
        assert refusal(start(program, release, name="ours")) == (409, "not_possible")

    def test_cancel_and_resume(self, program: Client, release: Release, tmp_path: Path) -> None:
        training = only(ordered(release, tmp_path))
        assert program.post(url("training-cancel", training)).json()["state"] == "cancelled"
        assert refusal(program.post(url("training-cancel", training))) == (409, "not_possible")
        assert program.post(url("training-resume", training)).json()["state"] == "waiting"
        assert refusal(program.post(url("training-resume", uuid4()))) == (404, "not_found")

    def test_others_than_admins(self, made: HandMade, release: Release, tmp_path: Path) -> None:
        training = only(ordered(release, tmp_path))
        for role in (Membership.Role.LEAD, Membership.Role.ANNOTATOR, Membership.Role.PARTICIPANT):
            person = made.lead if role == "lead" else MembershipFactory(project=made.project, role=role).user
            other = Client(headers=bearer(person))
            looks = 200 if role == "lead" else 403
            assert other.get(url("experiment", training.experiment)).status_code == looks
            for door in ("training-cancel", "training-resume"):
                assert refusal(other.post(url(door, training))) == (403, "permission_denied")
            assert refusal(start(other, release)) == (403, "permission_denied")
        stranger = Client(headers=bearer(MembershipFactory(role="admin").user))
        assert refusal(stranger.get(url("experiment", training.experiment))) == (404, "not_found")
        assert refusal(stranger.post(url("training-cancel", training))) == (404, "not_found")
        assert refusal(Client().post(url("training-cancel", training))) == (401, "not_authenticated")


def ran(*words: str, **options: Any) -> list[str]:
    told = StringIO()
    call_command("benchmark", "hand made", "--model", "reloclnet", *words, stdout=told, **options)
    return told.getvalue().splitlines()


class TestCommand:
    def test_trains_and_waits(self, release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("models_runner.management.commands.benchmark.sleep", lambda seconds: work())
        lines = ran("--seeds", "2", "--top-n", "20", "--preset", "small", "--wait")
        assert lines[0].startswith("ReLoCLNet, N=20: 2 to train")
        assert "seed 2: done, step 4 of 4, best 0.5000" in lines
        assert json.loads(lines[-1]) | {"uuid": ""} == {"uuid": "", "state": "done", "done": 2, "best": 0.5, "sd": 0.0}

    def test_says_which_seed_failed(self, release: Release, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
        settings.TRAIN_COMMAND = ["false"]
        monkeypatch.setattr("models_runner.management.commands.benchmark.sleep", lambda seconds: work())
        with pytest.raises(CommandError, match="seed 1: It crashed 3 times"):
            ran("--wait")

    def test_features_by_path_and_by_name(self, release: Release, tmp_path: Path) -> None:
        other = tmp_path / "mine.h5"
        other.write_bytes(b"x")
        ran("--video", str(other), "--query", "own query", "--subtitle", str(other))
        told = Experiment.objects.get().features
        assert told["video"] == told["subtitle"] == {"name": "mine", "path": str(other)}
        assert told["query"]["name"] == "own query"

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--release", "99"], "no such release"),
            (["--candidates", "nonsense"], "no seed of this UUID"),
            (["--video", "/nowhere.h5"], "not on the disk"),
            (["--seeds", "30"], "1 to 20 seeds"),
        ],
    )
    def test_refuses(self, release: Release, words: list[str], said: str) -> None:
        with pytest.raises(CommandError, match=said):
            ran(*words)


def work() -> None:
    for training in Training.objects.filter(state="waiting"):
        trained(training)
