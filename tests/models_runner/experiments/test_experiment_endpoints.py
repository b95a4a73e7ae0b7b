"""Benchmark runs for programs, in the shell and on pages: the form, progress, log, curves, cancel, resume, files."""

import io
import json
import math
import re
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Caption
from judging.models import Release
from models_runner.experiments import files
from models_runner.experiments.forms import ExperimentForm
from models_runner.experiments.selectors import ahead_of
from models_runner.experiments.services import training_cancel
from models_runner.experiments.settings import SMALL, STEP_S, options_of
from models_runner.models import Experiment, FeatureSet, Training
from tests.conftest import Messages
from tests.factories import NOW, MembershipFactory, QueryFactory, admin
from tests.judging.api.acts import bearer, refusal, url
from tests.judging.scenario import HandMade
from tests.models_runner.acts import ready_release
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
        assert body["options"]["shuffle_links"] is True and body["options"]["epochs"] == SMALL["epochs"]
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
            asker.force_login(release.project.memberships.get(roles=["admin"]).user)
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

    def test_leads_order_where_the_site_lets_them(
        self, scenario: HandMade, release: Release, settings: Any, tmp_path: Path
    ) -> None:
        settings.LEADS_RUN_BENCHMARKS = True
        lead = Client(headers=bearer(scenario.lead))
        assert start(lead, release).status_code == 201
        assert lead.get(url("features", release.project)).status_code == 200
        training = Experiment.objects.get().trainings.get()
        assert lead.post(url("training-cancel", training)).json()["state"] == "cancelled"
        assert lead.post(url("training-resume", training)).json()["state"] == "waiting"
        participant = MembershipFactory(project=scenario.project, role="participant").user
        assert refusal(start(Client(headers=bearer(participant)), release)) == (403, "permission_denied")

    @pytest.mark.parametrize("is_allowed", [True, False])
    def test_pages_offer_a_lead_what_the_site_lets_them_do(
        self, scenario: HandMade, release: Release, settings: Any, client: Client, is_allowed: bool
    ) -> None:
        settings.LEADS_RUN_BENCHMARKS = is_allowed
        client.force_login(scenario.lead)
        pages = {
            name: reverse(f"models_runner:{name}", args=[release.project.uuid])
            for name in ("experiments", "runs", "features", "experiment-new")
        }
        for name, other in (("experiments", "experiment-new"), ("runs", "features")):
            assert (f'href="{pages[other]}"' in client.get(pages[name]).content.decode()) is is_allowed
            assert client.get(pages[other]).status_code == (200 if is_allowed else 403)

    def test_only_admins_order(self, scenario: HandMade, release: Release) -> None:
        participant = MembershipFactory(project=scenario.project, role="participant").user
        for person in (scenario.lead, participant):
            assert refusal(start(Client(headers=bearer(person)), release)) == (403, "permission_denied")
        stranger = Client(headers=bearer(MembershipFactory(role="admin").user))
        assert refusal(start(stranger, release)) == (404, "not_found")


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


HTMX = {"HX-Request": "true"}
FORM = {"baseline": "reloclnet", "top_n": 20, "seeds": 2, "name": "", "preset": "small"}


class Site:
    """A project with a release and features, and its admin's browser."""

    def __init__(self, hand_made: HandMade, release: Release, folder: Path) -> None:
        self.hand_made, self.release, self.folder = hand_made, release, folder
        self.features = features_of(hand_made.project, folder)
        self.client = Client()
        self.client.force_login(admin(hand_made.project))

    def url(self, name: str, *words: object) -> str:
        return reverse(f"models_runner:{name}", args=[*words] or [self.hand_made.project.uuid])

    def start(self, **values: Any) -> HttpResponse:
        feature_sets = {kind: facts["set"] for kind, facts in self.features.items()}
        form = {**FORM, "release": self.release.version, **feature_sets, **values}
        return self.client.post(self.url("experiment-new"), form)  # type: ignore[return-value]

    def page(self, experiment: Experiment) -> str:
        return self.client.get(self.url("experiment", experiment.uuid)).content.decode()

    def order(self, **values: Any) -> Training:
        return only(order_experiment(self.release, self.folder, **values))


@pytest.fixture
def site(scenario: HandMade, release: Release, tmp_path: Path) -> Site:
    return Site(scenario, release, tmp_path)


def test_an_admin_orders_a_benchmark_run(site: Site) -> None:
    answer = site.start(epochs="3", mask_positives="yes", labels="similarity", end_offset_s="0")
    experiment = Experiment.objects.get()
    assert answer.headers["Location"] == site.url("experiment", experiment.uuid)
    assert [training.seed for training in experiment.trainings.all()] == [1, 2]
    options = {name: experiment.options[name] for name in ("epochs", "padding", "batch", "sizes")}
    assert options == {"epochs": 3, "padding": "compact", "batch": 64, "sizes": {"hidden": 64, "heads": 4}}
    assert experiment.options["objective"] == {"mask_positives": True}
    assert experiment.labels == "similarity" and experiment.options["decoding"] == {"end_offset_s": 0.0}
    page = site.page(experiment)
    assert "It begins when a worker" in page and 'hx-trigger="every 2s, seen"' in page and "Cancel seed 1" in page
    assert "not on the leaderboard" in page


def test_the_options_of_the_papers_can_be_chosen(site: Site) -> None:
    site.start(endpoints="yes", hard_from_epoch="3", hard_pool="5", warmup="0.1")
    options = Experiment.objects.get().options
    assert (options["reading"], options["warmup"]) == ({"endpoints": True}, 0.1)
    assert options["objective"] == {"hard_from_epoch": 3, "hard_pool": 5}
    assert "Only ReLoCLNet has" in site.start(baseline="xml", sum_positives="yes").content.decode()
    assert site.start(sum_positives="yes").status_code == 302
    assert Experiment.objects.latest("pk").options["objective"] == {"sum_positives": True}
    page = site.start(same_split="yes").content.decode()
    assert "Only CONQUER takes candidates." in page
    training = trained(site.order(how="done", name="first"))
    assert site.start(candidates=training.uuid).status_code == 422
    conquer = {"baseline": "conquer", "candidates": training.uuid, "same_split": "yes"}
    assert "not known which split" in site.start(**conquer).content.decode()
    site.hand_made.project.dataset.corpus.videos.update(source_split="val")
    assert "not known which split" in site.start(**conquer).content.decode()
    site.hand_made.project.queries.filter(pk=site.hand_made.val.pk).update(caption=Caption.objects.first())
    assert site.start(**conquer).status_code == 302
    experiment = Experiment.objects.get(baseline="conquer")
    assert experiment.candidates == training and experiment.options["same_split"] is True


def test_conquer_among_sampled_videos_and_ablations_of_xml_can_be_chosen(site: Site) -> None:
    training = trained(site.order(how="done", name="first"))
    conquer = {"baseline": "conquer", "candidates": training.uuid, "score_videos": "yes", "ranking": "exclusive"}
    assert "sample 1 or more" in site.start(**conquer).content.decode()
    assert "let it score them" in site.start(**{**conquer, "score_videos": ""}).content.decode()
    assert site.start(**conquer, sampled_videos="3").status_code == 302
    options = Experiment.objects.get(baseline="conquer").options
    assert (options["objective"], options["sizes"]["score_videos"]) == ({"sampled_videos": 3}, True)
    assert options["decoding"] == {"end_offset_s": 0.0, "ranking": "exclusive"}
    assert "Only CONQUER has this setting." in site.start(sampled_videos="3").content.decode()
    assert "Only XML has this setting." in site.start(encoder="lstm").content.decode()
    assert "one of the available choices" in site.start(baseline="xml", encoder="gru").content.decode()
    late = site.start(baseline="xml", boundaries="windows", end_offset_s="0").content.decode()
    assert "Windows and groups end with their last clip" in late
    ablations = {"encoder": "lstm", "modular": "no", "streams": "video", "boundaries": "windows"}
    assert site.start(baseline="xml", **ablations).status_code == 302
    options = Experiment.objects.latest("pk").options
    assert {name: options["sizes"][name] for name in ablations} == {**ablations, "modular": False}
    assert options["decoding"] == {}


@pytest.mark.parametrize(("few", "preset"), [(3, "small"), (2, "released")])
def test_a_small_corpus_begins_small(site: Site, monkeypatch: pytest.MonkeyPatch, few: int, preset: str) -> None:
    assert site.hand_made.project.dataset.corpus.videos.count() == 2
    monkeypatch.setattr("models_runner.experiments.views.FEW_VIDEOS", few)
    page = site.client.get(site.url("experiment-new")).content.decode()
    assert f'<option value="{preset}" selected>' in page


def test_the_form_says_beforehand_what_a_training_will_be(site: Site) -> None:
    QueryFactory.create_batch(4, project=site.hand_made.project, split="train")
    count = site.hand_made.project.queries.filter(split="train").count()
    steps = math.ceil(count * 20 / 64) * 6
    values = {"baseline": "reloclnet", "top_n": "20", "preset": "small"}
    text = site.client.get(site.url("experiment-new"), values, headers=HTMX).text
    assert f"6 epochs of {count * 20} samples, 64 a step, {steps} steps; hidden size 64" in text
    minutes = max(1, math.ceil(steps * STEP_S["small"]["reloclnet"] / 60))
    assert f"at most about {minutes} minute" in text and "two cores and no GPU" in text
    assert "bring nothing better" not in text and "<html" not in text  # it takes no ten epochs
    released = site.client.get(site.url("experiment-new"), {**values, "preset": "released"}, headers=HTMX).text
    assert "10 epochs bring nothing better" in released
    training = site.order(options=options_of("reloclnet", 20, "small", {}))
    trained(training)
    Training.objects.filter(pk=training.pk).update(seconds_per_step=60.0)
    text = site.client.get(site.url("experiment-new"), values, headers=HTMX).text
    assert f"at most about {steps} minute" in text and "By the last such training here, 60 s a step" in text
    text = site.client.get(site.url("experiment-new"), values | {"top_n": "41"}, headers=HTMX).text
    assert "Choose model, N and settings" in text
    text = site.client.get(site.url("experiment-new"), values | {"top_n": "7"}, headers=HTMX).text
    assert f"6 epochs of {count * 7} samples" in text


def test_a_training_that_stopped_early_says_where_and_why_with_a_full_bar(site: Site) -> None:
    training = site.order(options=options_of("reloclnet", 20, "small", {}))
    trained(training)
    Training.objects.filter(pk=training.pk).update(step=525, steps=1050)
    page = site.page(training.experiment)
    assert "stopped early at step 525: no better for 10 epochs" in page and '<progress value="100" max="100"' in page
    Training.objects.filter(pk=training.pk).update(step=1050)
    assert "stopped early" not in site.page(training.experiment)


@pytest.mark.parametrize(("changes", "offset"), [({}, 0.0), ({"end_offset_s": 1.5}, 1.5)])
def test_small_settings_end_in_time_unless_the_released_ends_are_chosen(
    changes: dict[str, float], offset: float
) -> None:
    assert options_of("xml", 20, "small", changes)["decoding"] == {"end_offset_s": offset}
    assert options_of("xml", 20, "released", {})["decoding"] == {}


def test_its_form_orders_one_however_often_it_is_sent(site: Site) -> None:
    page = site.client.get(site.url("experiment-new")).content.decode()
    (key,) = re.findall('name="key" value="([^"]+)"', page)
    first, again = (site.start(key=key, lr="0.001", epochs="3") for _ in range(2))
    assert first.headers["Location"] == again.headers["Location"] == site.url("experiment", key)
    for other in ({"seeds": 3}, {"name": "ours"}, {"lr": "0.002"}, {"baseline": "xml"}):
        answer = site.start(**{"key": key, "lr": "0.001", "epochs": "3", **other})
        assert (answer.status_code, Experiment.objects.count()) == (409, 1)
        page = answer.content.decode()
        assert "ordered another benchmark run already" in page and key not in page
    site.start(lr="0.001", epochs="3")
    assert (Experiment.objects.count(), Training.objects.count()) == (2, 4)


def test_errors_stand_beside_their_field(site: Site) -> None:
    answer = site.start(baseline="conquer", seeds="21")
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "CONQUER needs candidates" in page and "less than or equal to 20" in page
    site.start(name="ours")
    again = site.start(name="ours")
    assert (again.status_code, Experiment.objects.count()) == (409, 1)
    assert "give this one another name" in again.content.decode()


def test_finished_trainings_show_their_curves_logs_and_runs(site: Site) -> None:
    training = trained(site.order())
    page = site.page(training.experiment)
    assert 'hx-trigger="every' not in page
    assert "Loss over 4 steps" in page and "the best of 2 is 0.5000" in page
    assert "begins at step 0" in page
    assert training.val_run is not None and site.url("run", training.val_run.uuid) in page
    html = site.client.get(site.url("experiments")).content.decode()
    assert "1 of 1" in html and "0.5000" in html
    one, other = order_experiment(site.release, site.folder, seeds=2).trainings.all()
    trained(one)
    assert "of 2 seeds" not in site.page(one.experiment)
    trained(other)
    page = site.page(one.experiment)
    assert "validation NDCG@20,IoU≥0.5 of 2 seeds" in page
    assert "seed 1, step 4: 0.5000, its best" in page and "seed 2, step 4: 0.5000, its best" in page


def test_a_failure_is_shown_and_resumed(site: Site) -> None:
    training = trained(site.order(how="fails"))
    assert "The loss is not a number." in site.page(training.experiment)
    reader = Client()
    reader.force_login(site.hand_made.lead)
    page = reader.get(site.url("experiment", training.experiment.uuid)).content.decode()
    assert "The loss is not a number." in page and "Resume" not in page and "events.jsonl" not in page
    assert "Start a benchmark run" not in reader.get(site.url("experiments")).content.decode()
    answer = site.client.post(site.url("training-resume", training.uuid))
    assert answer.headers["Location"] == site.url("experiment", training.experiment.uuid) + "?seed=1"
    training.refresh_from_db()
    assert training.state == "waiting"
    site.client.post(site.url("training-cancel", training.uuid))
    training.refresh_from_db()
    assert training.state == "cancelled"
    late = site.client.post(site.url("training-cancel", training.uuid), follow=True)
    assert "It has ended already." in late.content.decode()


def test_files_are_taken_along(site: Site) -> None:
    training = trained(site.order())
    page = site.page(training.experiment)
    names = re.findall(rf'{site.url("training", training.uuid)}files/([\w.]+)"', page)
    assert {"plan.json", "log.txt", "events.jsonl", "predictions.val.json", "best.zip"} <= set(names)
    weights = site.client.get(site.url("training-file", training.uuid, "best.zip"))
    assert ZipFile(io.BytesIO(b"".join(weights))).namelist() == ["best/meta.json"]  # type: ignore[arg-type]
    assert b"begins" in b"".join(site.client.get(site.url("training-file", training.uuid, "log.txt")))  # type: ignore[arg-type]
    for name in ("lock", "tensorboard.zip", "..%2Fplan.json"):
        assert site.client.get(site.url("training", training.uuid) + f"files/{name}").status_code == 404


class TestACheckpointThatIsReplaced:
    """While its files are read, as a training does it: the folder goes aside, another one takes its place."""

    @pytest.fixture
    def training(self, site: Site) -> Training:
        return trained(site.order())

    def replaced(self, training: Training, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        best, write, times_left = files.folder_of(training) / "best", ZipFile.write, [times]

        def write_late(archive: ZipFile, path: Path, name: Path) -> None:
            if times_left[0]:
                times_left[0] -= 1
                best.rename(aside := best.with_name(f"old-{times}-{times_left[0]}"))
                best.mkdir()
                (best / "meta.json").write_text('"newer"')
                path = path if times_left[0] % 2 else aside / "gone"
            write(archive, path, name)

        monkeypatch.setattr(ZipFile, "write", write_late)

    def test_is_given_as_it_is_afterwards(
        self, site: Site, training: Training, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        address = site.url("training-file", training.uuid, "best.zip")
        with monkeypatch.context() as patch:
            self.replaced(training, patch, times=2)
            response = site.client.get(address)
        assert ZipFile(io.BytesIO(b"".join(response))).read("best/meta.json") == b'"newer"'  # type: ignore[arg-type]
        with monkeypatch.context() as patch:
            self.replaced(training, patch, times=99)
            answer = site.client.get(address)
        assert answer.status_code == 409 and "best is just being written anew" in answer.content.decode()
        missing = files.folder_of(training) / "best" / "gone"
        monkeypatch.setattr(files, "_files", lambda folder: iter([missing]))
        page = site.page(training.experiment)
        assert "plan.json" in page and "best.zip" not in page


def test_the_next_in_line_and_the_subtitles_of_a_form(site: Site) -> None:
    one = site.order()
    training_cancel(training=one, actor=None)
    two, three = site.order(), site.order(name="later")
    assert "before it" not in site.page(two.experiment)
    assert "1 before it" in site.page(three.experiment)
    Training.objects.filter(pk=two.pk).update(state="running", device="cpu", heartbeat=NOW, started_at=NOW)
    assert ahead_of(two) == 0  # as it was read
    assert "subtitle" not in ExperimentForm(project=site.hand_made.project).initial
    measured = {"width": 2, "n_items": 1, "checksum": "0", "state": "done", "finished_at": NOW}
    about = {"project": site.hand_made.project, "name": "said", "kind": "subtitle", "extractor": "builtin-text"}
    feature_set = FeatureSet.objects.create(path="/a/said.h5", **about, **measured)
    assert ExperimentForm(project=site.hand_made.project).initial["subtitle"] == str(feature_set.uuid)


def test_what_cannot_be_trained_says_what_is_missing(site: Site) -> None:
    project, other = site.hand_made.project, MembershipFactory(role="admin")
    project.feature_sets.filter(kind="query").delete()
    for name in ("experiments", "experiment-new"):
        assert "No features yet" in site.client.get(site.url(name)).content.decode()
    project.queries.filter(split="train").delete()
    ready_release(project)
    assert "has no training set" in site.client.get(site.url("experiments")).content.decode()
    site.client.force_login(other.user)
    page = site.client.get(site.url("experiments", other.project.uuid)).content.decode()
    assert "Nothing to train on yet" in page


class TestGrid:
    """All settings of a table at once; what is ordered already is left as it is."""

    @pytest.fixture
    def browser(self, release: Release) -> Client:
        client = Client()
        client.force_login(admin(release.project))
        return client

    def send(self, browser: Client, release: Release, **changes: Any) -> HttpResponse:
        sets = {row.kind: row.uuid for row in FeatureSet.objects.filter(project=release.project)}
        form = {"baselines": ["xml", "reloclnet"], "ns": "1, 20", "release": release.version, "seeds": 2} | changes
        about = {"preset": "small", "video": sets["video"], "query": sets["query"], "subtitle": "", "candidates": ""}
        address = reverse("models_runner:experiment-grid", args=[release.project.uuid])
        return browser.post(address, {**about, **form}, follow=True)  # type: ignore[return-value]

    def settings(self) -> list[tuple[str, int, int]]:
        rows = Experiment.objects.order_by("pk")
        return [(row.baseline, row.top_n, row.trainings.count()) for row in rows]

    def test_every_combination_is_trained_once(self, browser: Client, release: Release) -> None:
        page = self.send(browser, release).content.decode()
        whole = [(baseline, n, 2) for baseline in ("xml", "reloclnet") for n in (1, 20)]
        assert self.settings() == whole
        assert "4 benchmark runs ordered." in page and "8 trainings of this release are at work or waiting" in page
        assert "4 of the settings were ordered before" in self.send(browser, release).content.decode()
        assert self.settings() == whole

    def test_the_form_begins_small_and_says_how_long_it_takes(self, browser: Client, release: Release) -> None:
        address = reverse("models_runner:experiment-grid", args=[release.project.uuid])
        page = browser.get(address).content.decode()
        assert '<option value="small" selected>' in page and "6 trainings, at most about" in page
        htmx = {"HTTP_HX_REQUEST": "true"}
        values = {"baselines": ["xml", "conquer"], "ns": "1, 7", "seeds": "2", "preset": "small"}
        part = browser.get(address, values, **htmx).content.decode()
        assert "8 trainings, at most about" in part and "<form" not in part
        for change in ({"ns": "1, forty"}, {"seeds": "x"}, {"baselines": []}, {"preset": "huge"}):
            assert "to see how long it takes" in browser.get(address, {**values, **change}, **htmx).content.decode()

    def test_a_grid_goes_on_where_something_was_cancelled_or_is_other(self, browser: Client, release: Release) -> None:
        self.send(browser, release, baselines=["xml"], ns="20")
        training_cancel(training=Training.objects.first(), actor=None)
        assert Training.objects.filter(state="cancelled").count() == 1
        self.send(browser, release, baselines=["xml"], ns="20 7")
        assert self.settings() == [("xml", 20, 2), ("xml", 7, 2)]
        assert not Training.objects.filter(state="cancelled").exists()  # it waits again
        self.send(browser, release, baselines=["xml"], ns="7", preset="released")  # other settings
        self.send(browser, release, baselines=["xml"], ns="7", seeds=3)  # more seeds
        assert self.settings()[2:] == [("xml", 7, 2), ("xml", 7, 3)]

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"ns": "1, forty"}, "Give numbers from 1 to 40."),
            ({"ns": "0"}, "Give numbers from 1 to 40."),
            ({"baselines": ["xml", "conquer"], "ns": "1"}, "conquer, N = 1: candidates: CONQUER needs candidates"),
            ({"baselines": []}, "This field is required."),
        ],
    )
    def test_what_is_refused_orders_nothing(
        self, browser: Client, release: Release, changes: dict[str, Any], words: str
    ) -> None:
        answer = self.send(browser, release, **changes)
        assert answer.status_code == 422 and words in answer.content.decode()
        assert not Experiment.objects.exists()
