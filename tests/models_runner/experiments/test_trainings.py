"""Trainings: ordered, trained by a child process, cancelled, resumed, begun again after crashes, scored."""

import json
import math
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from celery import current_app
from django.db import OperationalError, connection
from django.utils import timezone

from annotation.models import Query
from core import messages as annotation_messages
from core import sql
from core.exceptions import NotPossible, StorageUnavailable
from core.models import AuditEvent
from judging.models import Release
from models_runner.experiments import devices, files, trainings
from models_runner.experiments.child import TrainingChild
from models_runner.experiments.devices import devices_named, devices_used
from models_runner.experiments.forms import form_of
from models_runner.experiments.services import experiment_create, training_cancel, training_resume
from models_runner.experiments.trainings import training_claim, training_report, trainings_sweep
from models_runner.leaderboard.services.runs import run_work
from models_runner.models import Experiment, Run, Training
from moment_retrieval.errors import InvalidRecord
from moment_retrieval.training import feature_rows
from tests.conftest import Messages
from tests.factories import triggers_asleep
from tests.judging.scenario import HandMade
from tests.models_runner.acts import ready_release
from tests.models_runner.benchmarks import features_of, only, order_experiment, trained
from tests.models_runner.experiments.conftest import Order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


def folder(training: Training) -> Path:
    return files.folder_of(training)


def swept(training: Training, messages: Messages) -> Training:
    """Return the training after a sweep, whose messages are done."""
    with messages():
        trainings_sweep(now=timezone.now())
    return Training.objects.get(pk=training.pk)


def watch_reports(monkeypatch: pytest.MonkeyPatch, act: Callable[[Training, trainings.Progress], object]) -> None:
    """Do something before a worker writes down how far its program is."""

    def observed_report(training: Training, progress: trainings.Progress) -> str:
        act(training, progress)
        return training_report(training, progress)

    monkeypatch.setattr(trainings, "training_report", observed_report)


def lose_worker(training: Training) -> None:
    """Its worker was killed a minute ago."""
    training_claim(training_id=training.pk, device=device_name())
    Training.objects.filter(pk=training.pk).update(heartbeat=timezone.now() - timedelta(minutes=1))


def test_a_training_becomes_scored_runs(order: Order, release: Release, scenario: HandMade, messages: Messages) -> None:
    with messages():
        experiment = order(seeds=2, actor=scenario.lead)
    for training in experiment.trainings.all():
        assert (training.state, training.step, training.steps, training.best) == ("done", 4, 4, 0.5)
        assert training.val_run is not None and training.test_run is not None
        assert training.val_run.system == f"ReLoCLNet, N=20, seed {training.seed}"
    runs = Run.objects.filter(release=release, source="baseline")
    assert sorted(runs.values_list("split", "state")) == [("test", "scored")] * 2 + [("val", "scored")] * 2
    assert all(run.scorings.get().state == "scored" for run in runs)
    events = AuditEvent.objects.filter(subject=experiment.uuid).order_by("pk")
    assert [event.action for event in events] == ["experiment.start", "experiment.finish", "experiment.finish"]
    assert events[1].data == {"name": "ReLoCLNet, N=20", "seed": 1, "state": "done", "best": 0.5}


@pytest.mark.parametrize(
    ("top_n", "train"), [(1, "train_top01.json"), (2, "train_top20.json"), (21, "train_top40.json")]
)
def test_the_program_gets_what_was_requested(order: Order, settings: Any, top_n: int, train: str) -> None:
    settings.TRAIN_DEVICE = "cpu"
    training = only(order(top_n=top_n))
    plan = json.loads((files.plan_write(training) / "plan.json").read_text())
    assert (plan["baseline"], plan["top_n"], plan["seed"], plan["device"]) == ("reloclnet", top_n, 1, "cpu")
    for name, file in (("train", train), ("val", "val.json"), ("test", "test.json")):
        assert Path(plan[name]).name == file and Path(plan[name]).is_file()
    assert Path(plan["video"]).name == "video.h5" and plan["subtitle"] is None


def test_a_run_whose_message_was_lost_is_sent_by_the_other(order: Order, messages: Messages) -> None:
    training = trained(only(order()))
    runs = Run.objects.filter(source="baseline")
    assert set(runs.values_list("state", flat=True)) == {"running"}
    with messages():
        run_work(run_id=training.val_run_id)
    assert set(runs.values_list("state", flat=True)) == {"scored"}


def device_name() -> str:
    return devices_named(devices_used("auto", 1))


def device_is_locked(device: str = "auto", gpus: int = 1) -> bool:
    """Check if the device is locked for a second worker in its own session."""
    with elsewhere(), trainings.devices_lock(devices_used(device, gpus)) as free:
        return not free


@contextmanager
def elsewhere() -> Iterator[None]:
    """Locks are asked for by another worker."""
    own = connection.copy()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sql, "connection", own)
            yield
    finally:
        own.close()


class TestGpus:
    """Of a host with three of them; its CUDA numbers them as it likes."""

    @pytest.fixture(autouse=True)
    def host(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(devices, "gpus_seen", lambda: ["c", "a", "b"])

    @pytest.mark.parametrize(
        ("device", "gpus", "device_names"),
        [
            ("auto", 1, ["GPU-c"]),
            ("cuda", 1, ["GPU-c"]),
            ("cuda:0", 1, ["GPU-c"]),
            ("cuda:1", 2, ["GPU-a", "GPU-b"]),
            ("cuda:0", 2, ["GPU-a", "GPU-c"]),
            ("auto", 3, ["GPU-a", "GPU-b", "GPU-c"]),
        ],
    )
    def test_whatever_they_are_called_they_are_what_they_are(
        self, device: str, gpus: int, device_names: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert devices_used(device, gpus) == device_names
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7,8,9")  # those that CUDA shows count from the first
        assert devices_used("cuda:1", 1) == ["GPU-c"]

    def test_each_is_trained_on_once(self, order: Order, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        settings.TRAIN_DEVICE, settings.TRAIN_GPUS = "cuda:0", 2
        requests = [("auto", 1), ("cuda", 1), ("cuda:1", 1), ("cuda:1", 2), ("cuda:2", 1), ("cpu", 1)]
        locked: list[list[bool]] = []
        watch_reports(monkeypatch, lambda *_: locked.append([device_is_locked(*one) for one in requests]))
        ended = trained(only(order()))
        assert locked[0] == [True, True, True, True, False, False]
        assert ended.device.endswith("/GPU-a GPU-c")

    def test_where_one_is_taken_none_is_locked(self) -> None:
        with trainings.devices_lock(["GPU-b"]) as first:
            with elsewhere(), trainings.devices_lock(["GPU-a", "GPU-b", "GPU-c"]) as second:
                is_locked = sql.is_locked("device GPU-a")
            assert (first, second, is_locked) == (True, False, False)

    @pytest.mark.parametrize("device", ["cpu", "auto", "cuda:1"])
    def test_without_one_it_is_the_host_s_processor(self, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Containers of one host have names of their own."""
        monkeypatch.setattr(devices, "gpus_seen", list)
        processor = devices_used(device, 1)
        monkeypatch.setattr(socket, "gethostname", lambda: "another")
        assert devices_used("cpu", 1) == processor and processor[0].startswith("cpu-")


AS_TORCHRUN = "import subprocess, sys; sys.exit(bool(subprocess.run([sys.executable, *sys.argv[1:]]).returncode))"
WITHOUT_PLAN = "import sys; print('error: no such plan'); sys.exit(2)"
GPU = "import os, sys; print('sees', os.environ.get('CUDA_VISIBLE_DEVICES')); sys.exit(3)"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (None, "The loss is not a number."),
        (AS_TORCHRUN, "The loss is not a number."),  # whose status is another
        (WITHOUT_PLAN, "error: no such plan"),
        (GPU, "sees 1"),
    ],
)
def test_a_failure_says_its_reason(
    code: str | None, reason: str, order: Order, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    settings.TRAIN_DEVICE = "cuda:1"
    settings.TRAIN_COMMAND = [sys.executable, *(("-c", code) if code else ()), *settings.TRAIN_COMMAND[1:]]
    training = trained(only(order(how="fails")))
    assert (training.state, training.crashes, training.error) == ("failed", 0, reason)
    assert not Run.objects.filter(source="baseline").exists()


@pytest.mark.parametrize("step", ["baseline_runs_make", "files.plan_write"])
def test_an_unavailable_storage_puts_it_off(
    step: str, order: Order, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_unavailable(*args: object, **values: object) -> NoReturn:
        raise StorageUnavailable(reason="silence")

    training = only(order())
    with monkeypatch.context() as patch:
        patch.setattr(f"models_runner.experiments.trainings.{step}", raise_unavailable)
        waiting = trained(training)
    assert (waiting.state, waiting.error, waiting.crashes, waiting.ended_at) == ("waiting", "", 0, None)
    assert swept(training, messages).state == "done"


@pytest.mark.parametrize(
    ("step", "error_text"),
    [
        ("files.plan_write", "The training could not be prepared: no moment"),
        ("folder_lock", "InvalidRecord: no moment"),
        ("baseline_runs_make", "It was trained, but its answers could not be kept: no moment"),
    ],
)
def test_what_goes_wrong_around_it_fails_it(
    step: str, error_text: str, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **values: object) -> NoReturn:
        raise InvalidRecord("no moment")

    monkeypatch.setattr(f"models_runner.experiments.trainings.{step}", broken)
    training = only(order())
    with suppress(InvalidRecord):  # nobody expected it
        trained(training)
    training.refresh_from_db()
    assert (training.state, training.error, training.crashes) == ("failed", error_text, 0)


@pytest.mark.parametrize("how", ["fails", "waits", "crashes"])
def test_prepared_features_go_at_the_end(
    how: str, order: Order, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = only(order(how=how))
    prepared = folder(training) / feature_rows.FOLDER
    prepared.mkdir(parents=True)
    if how == "waits":
        cancel_when_begun(monkeypatch)
    if how == "crashes":
        trained(training)
        assert prepared.exists()  # the next attempt needs them
    with messages():
        trained(training)
    assert (prepared.exists(), folder(training).exists()) == (False, True)


@pytest.mark.parametrize(
    ("how", "state", "attempts", "crashes"),
    [
        ("crashes once", "done", 2, 1),
        ("crashes", "failed", 3, 3),
        ("crashes forward", "done", 5, 1),  # something was learnt between
    ],
)
def test_a_crash_is_followed_by_another_attempt_from_the_checkpoint(
    how: str, state: str, attempts: int, crashes: int, order: Order, messages: Messages
) -> None:
    with messages():
        experiment = order(how=how)
    training = only(experiment)
    assert (training.state, training.attempts, training.crashes) == (state, attempts, crashes)
    if how == "crashes once":
        assert files.log_tail(training).splitlines() == ["begins at step 0", "begins at step 2"]
        assert [step for step, _ in training.curve["losses"]] == [1, 2, 3, 4]
    if state == "failed":
        words = ("crashed 3 times", "SIGKILL at step 3", "about to die")
        assert [word for word in words if word not in training.error] == []


def cancel_when_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody presses Cancel as soon as the program waits at its second step."""
    cancel = partial(training_cancel, actor=None)
    watch_reports(monkeypatch, lambda training, progress: progress.scores and cancel(training=training))
    monkeypatch.setattr(trainings, "LOOK_S", 0.01)
    monkeypatch.setattr(trainings, "PROGRESS_EVERY_S", 0)
    monkeypatch.setattr(TrainingChild.end, "__defaults__", (0.1,))


@pytest.mark.parametrize(("how", "words"), [("waits", "stopped"), ("deaf", "evaluation")])
def test_a_cancel_ends_even_a_deaf_program(how: str, words: str, order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    training = only(order(how=how))
    cancel_when_begun(monkeypatch)
    ended = trained(training)
    assert (ended.state, ended.step) == ("cancelled", 2)
    assert json.loads((folder(training) / "events.jsonl").read_text().splitlines()[-1])["kind"] == words


def test_what_waits_is_cancelled_at_once_and_what_ended_cannot_be(order: Order) -> None:
    training = only(order())
    prepared = folder(training) / feature_rows.FOLDER
    prepared.mkdir(parents=True)
    assert training_cancel(training=training, actor=None).state == "cancelled"
    assert not prepared.exists()
    assert trained(training).attempts == 0
    with pytest.raises(NotPossible, match="ended already"):
        training_cancel(training=training, actor=None)


def test_a_cancelled_training_is_resumed_from_its_checkpoint(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    training = only(order(how="waits"))
    with monkeypatch.context() as patch:
        cancel_when_begun(patch)
        trained(training)
    Experiment.objects.update(options={})
    training_resume(training=training, actor=None)
    ended = trained(training)
    assert (ended.state, ended.attempts) == ("done", 2)
    assert files.log_tail(ended).splitlines()[-1] == "begins at step 2"
    with pytest.raises(NotPossible, match="Only a training that was cancelled or failed"):
        training_resume(training=ended, actor=None)


def test_a_killed_worker_s_training_is_sent_again_but_not_for_ever(order: Order, messages: Messages) -> None:
    training = only(order())
    lose_worker(training)
    trainings_sweep(now=timezone.now())
    training.refresh_from_db()
    assert (training.state, training.crashes) == ("waiting", 1)
    training = swept(training, messages)
    assert (training.state, training.attempts) == ("done", 2)
    training = trained(only(order(how="crashes")))
    assert training.crashes == 1
    for _ in range(2):
        lose_worker(training)
        trainings_sweep(now=timezone.now())
    training.refresh_from_db()
    assert (training.state, training.crashes) == ("failed", 3)


@pytest.mark.parametrize(
    ("meanwhile", "state", "crashes"),
    [("stopped", "done", 0), ("cancelled", "cancelled", 0), ("next on the device", "waiting", 1)],
)
def test_what_became_of_a_training_that_lost_its_worker(
    meanwhile: str, state: str, crashes: int, order: Order, messages: Messages
) -> None:
    """A program that stopped with it did not crash; a cancel reaches it; whoever is next on the device finds it."""
    training, other = order(seeds=2).trainings.all()
    lose_worker(training)
    if meanwhile == "stopped":
        folder(training).mkdir(parents=True)
        (folder(training) / "events.jsonl").write_text('{"kind": "stopped", "step": 0}\n')
    if meanwhile == "cancelled":
        training_cancel(training=training, actor=None)
    if meanwhile == "next on the device":
        assert trained(other).state == "done"
    else:
        swept(training, messages)
    training.refresh_from_db()
    assert (training.state, training.crashes) == (state, crashes)


def test_a_program_that_its_worker_had_to_kill_did_not_crash(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(training: Training, progress: trainings.Progress) -> None:
        if progress.scores:
            raise OperationalError("PostgreSQL is away")

    training = only(order(how="deaf"))
    watch_reports(monkeypatch, fail)
    monkeypatch.setattr(trainings, "PROGRESS_EVERY_S", 0)
    monkeypatch.setattr(TrainingChild.end, "__defaults__", (0.1,))
    with pytest.raises(OperationalError):
        trained(training)
    assert Training.objects.get(pk=training.pk).state == "running"
    trainings_sweep(now=timezone.now() + timedelta(minutes=1))
    training.refresh_from_db()
    assert (training.state, training.crashes) == ("waiting", 0)


def test_a_lost_message_is_sent_again_while_another_device_is_at_work(order: Order, messages: Messages) -> None:
    one, other = order(seeds=2).trainings.all()
    training_claim(training_id=one.pk, device="elsewhere")
    with messages():
        trainings_sweep(now=timezone.now())
    states = dict(Training.objects.values_list("pk", "state"))
    assert states == {one.pk: "running", other.pk: "done"}


def test_messages_of_sweeps_expire(order: Order, messages: Messages, monkeypatch: pytest.MonkeyPatch) -> None:
    training, calls = only(order()), []
    conf = SimpleNamespace(task_always_eager=False)
    send = lambda *message, **options: calls.append((*message, options))  # noqa: E731
    monkeypatch.setattr(annotation_messages, "current_app", SimpleNamespace(conf=conf, send_task=send))
    with messages():
        trainings_sweep(now=timezone.now())
    planned = current_app.conf.beat_schedule["sweep-trainings"]["schedule"]
    assert calls == [("models_runner.tasks.training_work", (training.pk,), {"ignore_result": True, "expires": planned})]


class TestOrdering:
    def test_names_are_made_and_taken_once(self, order: Order) -> None:
        names = [order().name, order().name, order(name="ours").name, order(labels="similarity").name]
        unnamed = "ReLoCLNet, N=20"
        assert names == [unnamed, f"{unnamed} (2)", "ours", f"{unnamed}, labels by similarity"]
        with pytest.raises(NotPossible, match="another name"):
            order(name="ours")

    def test_conquer_and_it_alone_takes_candidates(self, order: Order) -> None:
        training = trained(only(order()))
        conquer = order(baseline="conquer", candidates=training)
        plan = json.loads((files.plan_write(only(conquer)) / "plan.json").read_text())
        assert plan["candidates"] == {"source": "checkpoint", "path": str(folder(training) / "best")}
        form = form_of(conquer.project, {"baseline": "conquer", "candidates": str(only(conquer).uuid)})
        assert form.refusal == "candidates: Choose a finished XML or ReLoCLNet of this project."

    def test_candidates_may_be_limited_to_the_split_of_their_query(self, scenario: HandMade, order: Order) -> None:
        scenario.project.dataset.corpus.videos.update(source_split="val")
        first = scenario.project.dataset.corpus.videos.order_by("pk")[0]
        scenario.project.dataset.corpus.videos.filter(pk=first.pk).update(source_split="train")
        Query.objects.filter(pk=scenario.val.pk).update(caption=first.moments.first().captions.first())
        conquer = order(baseline="conquer", candidates=trained(only(order())), options={"same_split": True})
        plan_folder = files.plan_write(only(conquer))
        plan = json.loads((plan_folder / "plan.json").read_text())
        assert "same_split" not in plan and plan["candidates"]["groups"] == "candidate_groups.json"
        groups = json.loads((plan_folder / "candidate_groups.json").read_text())
        assert groups["videos"][first.name] == "train" and set(groups["videos"].values()) == {"train", "val"}
        assert groups["queries"] == {str(scenario.val.number): "train"}

    @pytest.mark.parametrize(("seeds", "first_seed"), [(0, 1), (21, 1), (2, 2**31 - 1)])
    def test_seeds_are_some_and_fit_the_database(self, order: Order, seeds: int, first_seed: int) -> None:
        with pytest.raises(NotPossible, match="seeds are trained|Seeds are 0 to"):
            order(seeds=seeds, first_seed=first_seed)

    def test_what_is_not_there_is_refused(
        self, scenario: HandMade, release: Release, order: Order, tmp_path: Path
    ) -> None:
        with pytest.raises(NotPossible, match="finished XML or ReLoCLNet"):
            order(baseline="conquer", candidates=only(order()))
        features = features_of(release.project, tmp_path)
        Path(features["video"]["path"]).unlink()
        options = {"baseline": "xml", "top_n": 1, "seeds": 1, "options": {}, "actor": None}
        with pytest.raises(NotPossible, match="not on the disk"):
            experiment_create(release=release, features=features, **options)
        scenario.project.queries.filter(split="train").delete()
        bare = ready_release(scenario.project)
        with pytest.raises(NotPossible, match=f"Release {bare.version} has no training query"):
            order_experiment(bare, tmp_path)
        bare.state = Release.State.PREPARING
        with pytest.raises(NotPossible, match="not ready"):
            order_experiment(bare, tmp_path)


class TestLabelsBySimilarity:
    @pytest.fixture(autouse=True)
    def less_alike(self, scenario: HandMade) -> None:
        """The moment that people find perfect for the query of validation is not the most similar one."""
        with triggers_asleep():
            scenario.val.candidates.filter(rank=1).update(similarity=0.5)

    @pytest.fixture
    def release(self, scenario: HandMade, less_alike: None) -> Release:
        return ready_release(scenario.project)

    @pytest.fixture
    def training(self, order: Order) -> Training:
        return only(order(labels="similarity"))

    def test_the_program_gets_files_with_them_and_its_runs_are_scored_so(self, training: Training) -> None:
        plan = json.loads((files.plan_write(training) / "plan.json").read_text())
        judged = files.release_folder(training.experiment.release)
        assert Path(plan["train"]).parent == judged and Path(plan["val"]).parent != judged
        similarities = {
            query["query_id"]: {moment["similarity"]: moment["relevance"] for moment in query["relevant_moment"]}
            for query in json.loads(Path(plan["val"]).read_text())
        }
        assert similarities == {10: {0.5: 2, 0.98: 4}, 11: {0.5: 2, 0.98: 4}}  # judged: 4, 2
        assert Path(plan["test"]).parent == Path(plan["val"]).parent
        run = trained(training).val_run
        assert run is not None and run.labels == "similarity"
        run_work(run_id=run.pk)
        score = run.scorings.get().scores.get(metric="NDCG@10,IoU>=0.5", convention="released", gain="exponential")
        # the moment at rank 1 has grade 2, the second prediction is wrong; gains 3 of the ideal 15 + 3 / log2(3)
        assert score.value == pytest.approx(3 / (15 + 3 / math.log2(3)))

    def test_a_file_that_cannot_be_read_fails_it_at_once(self, training: Training) -> None:
        (files.release_folder(training.experiment.release) / "val.json").write_text("[")
        ended = trained(training)
        assert (ended.state, ended.crashes) == ("failed", 0)
        assert ended.error.startswith("The training could not be prepared: ") and "val.json" in ended.error
