"""A benchmark run that has ended is deleted with its files; its runs stay, and what needs it keeps it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.audit.rules import in_words
from judging.models import Release
from models_runner.experiments import deletion, files, services, trainings
from models_runner.experiments.child import folder_lock
from models_runner.experiments.deletion import experiment_delete
from models_runner.experiments.services import training_cancel, training_resume
from models_runner.features.services import feature_set_delete
from models_runner.models import Experiment, Run, Score, Training
from tests.conftest import Messages
from tests.factories import ProjectFactory, admin, lead
from tests.judging.api.acts import bearer, refusal, url
from tests.judging.concurrency.meeting import overlap
from tests.models_runner.benchmarks import configure_training, only, order_experiment, trainable, trained

Order = Callable[..., Experiment]


@pytest.fixture
def release(settings: Any, tmp_path: Path) -> Release:
    configure_training(settings, tmp_path)
    return trainable(ProjectFactory())


@pytest.fixture
def order(release: Release, tmp_path: Path) -> Order:
    return partial(order_experiment, release, tmp_path)


@pytest.fixture
def finished_experiment(order: Order, messages: Messages) -> Experiment:
    """Trained, and its runs are scored."""
    with messages():
        return order(name="ours")


@pytest.fixture
def done_twice(order: Order, messages: Messages) -> Experiment:
    """Trained with two seeds, and its runs are scored."""
    with messages():
        return order(name="ours", seeds=2)


def deleted(experiment: Experiment) -> None:
    experiment_delete(experiment=experiment, actor=None)


def folder(experiment: Experiment) -> Path:
    return files.folder_of(experiment.trainings.all()[0]).parent


@pytest.mark.django_db
class TestDeleting:
    def test_takes_the_files_and_leaves_the_runs_with_their_scores(
        self, release: Release, done_twice: Experiment, messages: Messages
    ) -> None:
        experiment_folder, runs = (
            folder(done_twice),
            list(Run.objects.filter(source="baseline").values_list("uuid", "state")),
        )
        scores = list(Score.objects.order_by("pk").values_list("pk", "value"))
        assert len(runs) == 4 and scores and experiment_folder.is_dir()
        with messages():
            deleted(done_twice)
        assert not experiment_folder.exists() and not Experiment.objects.exists() and not Training.objects.exists()
        assert list(Run.objects.filter(source="baseline").values_list("uuid", "state")) == runs
        assert list(Score.objects.order_by("pk").values_list("pk", "value")) == scores
        event = AuditEvent.objects.get(action="experiment.delete")
        assert (event.subject, event.data["name"], event.data["seeds"]) == (done_twice.uuid, "ours", 2)
        assert (
            in_words(event.action, event.data) == "deleted the benchmark run ours: ReLoCLNet, seeds: 2, 0 MB of files"
        )

    @pytest.mark.parametrize("state", ["waiting", "running", "cancelling"])
    def test_waits_until_every_seed_has_ended(self, order: Order, state: str) -> None:
        experiment = order(name="ours", seeds=2)
        first, other = experiment.trainings.all()
        training_cancel(training=first, actor=None)
        if state != "waiting":
            trainings.training_claim(training_id=other.pk, device="here")
            Training.objects.filter(pk=other.pk).update(state=state)
        with pytest.raises(NotPossible, match="ours is not over: cancel seed 2 first"):
            deleted(experiment)
        assert Experiment.objects.count() == 1

    def test_spares_what_conquer_looks_at(
        self, order: Order, finished_experiment: Experiment, messages: Messages
    ) -> None:
        second = order(name="second stage", baseline="conquer", candidates=finished_experiment.trainings.all()[0])
        training_cancel(training=only(second), actor=None)
        with pytest.raises(NotPossible) as refused:
            deleted(finished_experiment)
        assert str(refused.value) == "ours is needed: second stage (CONQUER) looks at the videos it finds."
        with messages():
            deleted(second)
            deleted(finished_experiment)
        assert not Experiment.objects.exists()

    def test_twice_is_refused(self, finished_experiment: Experiment) -> None:
        again = Experiment.objects.get()
        deleted(finished_experiment)
        for act in (deleted, lambda one: training_resume(training=Training(pk=0), actor=None)):
            with pytest.raises(NotPossible, match="has been deleted"):
                act(again)

    def test_frees_its_features(self, release: Release, finished_experiment: Experiment) -> None:
        deleted(finished_experiment)
        for feature_set in release.project.feature_sets.all():
            feature_set_delete(feature_set=feature_set, actor=None)
        assert not release.project.feature_sets.exists()

    def test_leaves_its_name_to_its_runs(
        self, order: Order, finished_experiment: Experiment, messages: Messages
    ) -> None:
        """Another of the same name and seed would take the answers of the first for its own."""
        with messages():
            unnamed = order()
        assert unnamed.name == "ReLoCLNet, N=20"
        deleted(finished_experiment)
        deleted(unnamed)
        with pytest.raises(NotPossible, match="The leaderboard holds runs of a deleted 'ours'"):
            order(name="ours")
        assert order().name == "ReLoCLNet, N=20 (2)"


@pytest.mark.django_db
class TestFiles:
    def test_that_a_dead_process_left_are_found_by_the_sweep(
        self, finished_experiment: Experiment, order: Order
    ) -> None:
        experiment_folder, other = folder(finished_experiment), order(name="other")
        files.plan_write(only(other))
        unknown = experiment_folder.with_name("0" * 8 + str(finished_experiment.uuid)[8:])
        unknown.mkdir()
        deleted(finished_experiment)  # nothing runs after the commit: the process is gone
        assert experiment_folder.is_dir()
        assert deletion.deleted_files_sweep() == 1
        assert (experiment_folder.exists(), folder(other).exists(), unknown.exists()) == (False, True, True)
        assert deletion.deleted_files_sweep() == 0

    def test_stay_while_a_program_writes_there(self, done_twice: Experiment, messages: Messages) -> None:
        experiment_folder = folder(done_twice)
        with folder_lock(experiment_folder / "seed-2"), messages():
            deleted(done_twice)
        assert experiment_folder.is_dir()
        deletion.deleted_files_sweep()
        assert not experiment_folder.exists()

    def test_that_cannot_be_removed_fail_nothing(
        self, finished_experiment: Experiment, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*words: object) -> None:
            raise PermissionError("read-only")

        monkeypatch.setattr(files.shutil, "rmtree", fail)
        with messages():
            deleted(finished_experiment)
        assert not Experiment.objects.exists() and deletion.deleted_files_sweep() == 1


@pytest.mark.django_db
class TestEndpoints:
    def test_the_page_asks_and_says_what_goes_and_what_stays(
        self, release: Release, finished_experiment: Experiment
    ) -> None:
        client, address = Client(), reverse("models_runner:experiment-delete", args=[finished_experiment.uuid])
        client.force_login(admin(release.project))
        assert (
            address in client.get(reverse("models_runner:experiment", args=[finished_experiment.uuid])).content.decode()
        )
        page = client.get(address).content.decode()
        assert "files of 1 seed:" in page and "2 runs with their scores, on the leaderboard" in page
        answer = client.post(address, follow=True)
        assert "The benchmark run ours is gone. Its runs stay." in answer.content.decode()
        assert client.get(address).status_code == 404

    def test_the_page_says_why_not(self, release: Release, finished_experiment: Experiment, order: Order) -> None:
        client = Client()
        client.force_login(admin(release.project))
        second = order(name="second stage", baseline="conquer", candidates=finished_experiment.trainings.all()[0])
        for experiment, words in ((second, "seed 1</a> is waiting"), (finished_experiment, "second stage")):
            address = reverse("models_runner:experiment-delete", args=[experiment.uuid])
            page = client.get(address).content.decode()
            assert words in page and "<button" not in page.split("<main")[1]
            late = client.post(address)
            assert late.status_code == 409 and "notice error" in late.content.decode()

    def test_programs_of_admins_alone(self, release: Release, finished_experiment: Experiment) -> None:
        program, others = Client(headers=bearer(admin(release.project))), Client(headers=bearer(lead(release.project)))
        stranger = Client(headers=bearer(admin(ProjectFactory())))
        assert refusal(others.delete(url("experiment", finished_experiment))) == (403, "permission_denied")
        assert refusal(stranger.delete(url("experiment", finished_experiment))) == (404, "not_found")
        assert program.delete(url("experiment", finished_experiment)).status_code == 204
        assert refusal(program.delete(url("experiment", finished_experiment))) == (404, "not_found")

    def test_programs_get_the_reason(self, release: Release, order: Order) -> None:
        program = Client(headers=bearer(admin(release.project)))
        assert refusal(program.delete(url("experiment", order()))) == (409, "not_possible")


@pytest.mark.django_db(transaction=True)
class TestAtTheSameInstant:
    def works(self, order: Order) -> tuple[Experiment, Callable[[], Any], Callable[[], Any]]:
        trained(only(first := order(name="ours")))
        options = {"name": "second stage", "baseline": "conquer", "candidates": only(first)}
        return first, partial(order, **options), partial(deleted, first)

    def test_what_conquer_looks_at_is_not_deleted(self, monkeypatch: pytest.MonkeyPatch, order: Order) -> None:
        first, ordering, deleting = self.works(order)
        monkeypatch.setattr(services, "send_on_commit", lambda *message: None)
        result, refused = overlap(monkeypatch, (services, "audit_record"), ordering, deleting)
        assert isinstance(result, Experiment) and "second stage (CONQUER) looks" in str(refused)
        assert folder(first).is_dir()

    def test_no_order_uses_what_is_being_deleted(self, monkeypatch: pytest.MonkeyPatch, order: Order) -> None:
        _, ordering, deleting = self.works(order)
        result, refused = overlap(monkeypatch, (deletion, "audit_record"), deleting, ordering)
        assert result is None and "has been deleted" in str(refused)
        assert not Experiment.objects.exists()

    def test_its_name_is_not_taken_while_it_goes(self, monkeypatch: pytest.MonkeyPatch, order: Order) -> None:
        _, _, deleting = self.works(order)
        again = partial(order, name="ours")
        result, refused = overlap(monkeypatch, (deletion, "audit_record"), deleting, again)
        assert result is None and "runs of a deleted 'ours'" in str(refused)
