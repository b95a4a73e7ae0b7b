"""Benchmark runs for programs and in the shell."""

import json
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Membership
from judging.models import Release
from models_runner.models import Experiment, Training
from tests.conftest import Messages
from tests.factories import MembershipFactory, admin
from tests.judging.api.acts import bearer, refusal, url
from tests.judging.scenario import HandMade
from tests.models_runner.benchmarks import configure_training, features_of, only, order_experiment, trained

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def release(release: Release, settings: Any, tmp_path: Path) -> Release:
    """With features of the project beside it."""
    configure_training(settings, tmp_path)
    features_of(release.project, tmp_path)
    return release


@pytest.fixture
def program(scenario: HandMade) -> Client:
    return Client(headers=bearer(admin(scenario.project)))


def start(program: Client, release: Release, **body: Any) -> Any:
    body = {"baseline": "xml", **body}
    return program.post(url("experiments", release.project), body, content_type="application/json")


class TestPrograms:
    def test_order_look_and_list(self, program: Client, release: Release, messages: Messages) -> None:
        with messages():
            answer = start(program, release, seeds=2, top_n=1, preset="small", shuffle_links=True, end_offset_s=0.0)
        body = answer.json()
        assert (answer.status_code, body["state"], body["name"], body["labels"]) == (
            201,
            "waiting",
            "XML, N=1",
            "judged",
        )
        assert body["options"]["shuffle_links"] is True and body["options"]["epochs"] == 30
        assert body["options"]["decoding"] == {"end_offset_s": 0.0}
        details = program.get(url("experiment", Experiment.objects.get())).json()
        assert [seed["state"] for seed in details["trainings"]] == ["done", "done"]
        assert details["trainings"][0]["curve"]["scores"] == [[2, 0.25, 0.7], [4, 0.5, 0.6]]
        run = program.get(url("run", details["trainings"][0]["val_run"])).json()
        assert (run["source"], run["state"], run["system"]) == ("baseline", "scored", "XML, N=1, seed 1")
        rows = program.get(url("experiments", release.project)).json()["results"]
        assert [one["uuid"] for one in rows] == [details["uuid"]]

    @pytest.mark.parametrize("interface", ["api", "page"])
    def test_the_list_costs_the_same_statements_however_long_it_is(
        self, program: Client, release: Release, tmp_path: Path, interface: str
    ) -> None:
        def statements() -> int:
            with CaptureQueriesContext(connection) as queries:
                assert asker.get(address).status_code == 200
            assert interface == "api" or not any('"curve"' in each["sql"] for each in queries)  # which is long
            return len(queries)

        asker, address = program, url("experiments", release.project)
        if interface == "page":
            asker, address = Client(), reverse("models_runner:experiments", args=[release.project.uuid])
            asker.force_login(release.project.memberships.get(role="admin").user)
        trained(only(order_experiment(release, tmp_path)))
        asker.get(address)
        few = statements()
        for _ in range(4):
            for training in order_experiment(release, tmp_path, seeds=2).trainings.all():
                trained(training)
        assert statements() == few

    def test_sent_again_with_its_key_it_is_answered_as_the_first_time(self, program: Client, release: Release) -> None:
        key = str(uuid4())
        first, again = (start(program, release, key=key, end_offset_s=0, name="ours").json() for _ in range(2))
        assert (first["uuid"], again) == (key, first)
        assert refusal(start(program, release, key=key, seeds=2)) == (409, "form_stale")
        assert refusal(start(program, release, name="ours")) == (409, "not_possible")
        assert start(program, release).json()["uuid"] != key

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"key": 7}, ""),
            ({"seeds": 0}, "seeds: "),
            ({"baseline": "conquer"}, "candidates: "),
            ({"video": "others"}, "video: "),
            ({"end_offset_s": 1}, "end_offset_s: "),
            ({"labels": "none"}, "labels: "),
            ({"hidden": 250}, "hidden: The attention has 4 heads: give a multiple of 4."),
            ({"baseline": "reloclnet", "hidden": 252}, "hidden: The attention has 8 heads: give a multiple of 8."),
            ({"baseline": "reloclnet", "preset": "small", "hidden": 30}, "hidden: The attention has 4 heads"),
        ],
    )
    def test_what_cannot_be_is_refused(
        self, program: Client, release: Release, values: dict[str, Any], message: str
    ) -> None:
        answer = start(program, release, **values)
        assert refusal(answer) == (422, "invalid")
        assert answer.json()["message"].startswith(message)

    def test_cancel_and_resume(self, program: Client, release: Release, tmp_path: Path) -> None:
        training = only(order_experiment(release, tmp_path))
        assert program.post(url("training-cancel", training)).json()["state"] == "cancelled"
        assert refusal(program.post(url("training-cancel", training))) == (409, "not_possible")
        assert program.post(url("training-resume", training)).json()["state"] == "waiting"
        assert refusal(program.post(url("training-resume", uuid4()))) == (404, "not_found")

    def test_others_than_admins(self, scenario: HandMade, release: Release, tmp_path: Path) -> None:
        training = only(order_experiment(release, tmp_path))
        for role in (Membership.Role.LEAD, Membership.Role.ANNOTATOR, Membership.Role.PARTICIPANT):
            person = scenario.lead if role == "lead" else MembershipFactory(project=scenario.project, role=role).user
            other = Client(headers=bearer(person))
            looks = 200 if role == "lead" else 403
            assert other.get(url("experiment", training.experiment)).status_code == looks
            for action in ("training-cancel", "training-resume"):
                assert refusal(other.post(url(action, training))) == (403, "permission_denied")
            assert refusal(start(other, release)) == (403, "permission_denied")
        stranger = Client(headers=bearer(MembershipFactory(role="admin").user))
        assert refusal(stranger.get(url("experiment", training.experiment))) == (404, "not_found")
        assert refusal(stranger.post(url("training-cancel", training))) == (404, "not_found")
        assert refusal(Client().post(url("training-cancel", training))) == (401, "not_authenticated")


def ran(*words: str, **options: Any) -> list[str]:
    output = StringIO()
    call_command("benchmark", "hand made", "--model", "reloclnet", *words, stdout=output, **options)
    return output.getvalue().splitlines()


class TestCommand:
    def test_trains_waits_and_says_what_failed(
        self, release: Release, monkeypatch: pytest.MonkeyPatch, settings: Any
    ) -> None:
        monkeypatch.setattr("models_runner.management.commands.benchmark.sleep", lambda seconds: work())
        lines = ran("--seeds", "2", "--top-n", "20", "--preset", "small", "--wait")
        assert lines[0].startswith("ReLoCLNet, N=20: 2 to train")
        assert "seed 2: done, step 4 of 4, best 0.5000" in lines
        assert json.loads(lines[-1]) | {"uuid": ""} == {"uuid": "", "state": "done", "done": 2, "best": 0.5, "sd": 0.0}
        settings.TRAIN_COMMAND = ["false"]
        monkeypatch.setattr("models_runner.management.commands.benchmark.sleep", lambda seconds: work())
        with pytest.raises(CommandError, match="seed 1: It crashed 3 times"):
            ran("--wait")

    def test_features_by_path_and_by_name(self, release: Release, tmp_path: Path) -> None:
        assert ran("--name", "first")[1] == "Features: video own video, subtitle none, query own query."
        other = tmp_path / "mine.h5"
        other.write_bytes(b"x")
        ran("--video", str(other), "--query", "own query", "--subtitle", str(other))
        features = Experiment.objects.exclude(name="first").get().features
        assert features["video"] == features["subtitle"] == {"name": "mine", "path": str(other)}
        assert features["query"]["name"] == "own query"

    def test_takes_what_the_page_asks_for(self, release: Release) -> None:
        ran(
            *("--labels", "similarity", "--end-offset-s", "1.5", "--mask-positives", "yes", "--first-seed", "7"),
            *("--weigh-by-similarity", "no", "--shuffle-links", "yes", "--lr", "0.01", "--padding", "compact"),
            *("--endpoints", "yes", "--warmup", "0.05", "--hard-from-epoch", "0", "--hard-pool", "9"),
        )
        experiment = Experiment.objects.get()
        assert (experiment.labels, experiment.options["decoding"]) == ("similarity", {"end_offset_s": 1.5})
        negatives = {"hard_from_epoch": 0, "hard_pool": 9}
        assert experiment.options["objective"] == {"weigh_by_similarity": False, "mask_positives": True, **negatives}
        options = {name: experiment.options[name] for name in ("shuffle_links", "lr", "padding", "reading", "warmup")}
        trained = {"shuffle_links": True, "lr": 0.01, "padding": "compact", "warmup": 0.05}
        assert options == {**trained, "reading": {"endpoints": True}}
        assert [training.seed for training in experiment.trainings.all()] == [7]

    @pytest.mark.parametrize(
        ("words", "error_text"),
        [
            (["--release", "99"], "no such release"),
            (["--candidates", "nonsense"], "candidates: .*not a valid UUID"),
            (["--video", "/nowhere.h5"], "not on the disk"),
            (["--seeds", "30"], "seeds: Ensure this value is less than or equal to 20"),
            (["--first-seed", "-1"], "Seeds are 0 to 2,147,483,647"),
            (["--lr", "nan"], "lr: Enter a number"),
            (["--mask-positives", "perhaps"], "mask_positives: Select a valid choice"),
        ],
    )
    def test_refuses(self, release: Release, words: list[str], error_text: str) -> None:
        with pytest.raises(CommandError, match=error_text):
            ran(*words)


def work() -> None:
    for training in Training.objects.filter(state="waiting"):
        trained(training)
