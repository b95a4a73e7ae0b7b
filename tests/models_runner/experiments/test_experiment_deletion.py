"""A benchmark run that has ended is deleted with its files; its runs stay; features that trainings need stay too."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
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
from models_runner.experiments.services import experiment_create, training_cancel, training_resume
from models_runner.features import services as features_services
from models_runner.features.services import feature_set_delete
from models_runner.models import Experiment, FeatureSet, Run, Score, Training
from tests.conftest import Messages
from tests.factories import ProjectFactory, admin, lead
from tests.judging.api.acts import bearer, refusal, url
from tests.judging.concurrency.meeting import overlap
from tests.models_runner.benchmarks import configure_training, features_of, only, order_experiment, trainable, trained
from tests.models_runner.experiments.conftest import Order
from tests.moment_retrieval.training.tiny import write_features


@pytest.fixture
def release(settings: Any, tmp_path: Path) -> Release:
    configure_training(settings, tmp_path)
    return trainable(ProjectFactory())


@pytest.fixture
def finished_experiment(order: Order, messages: Messages) -> Experiment:
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
        self, release: Release, finished_experiment: Experiment, messages: Messages
    ) -> None:
        def runs_and_scores() -> tuple[list[Any], list[Any]]:
            runs = Run.objects.filter(source="baseline").values_list("uuid", "state")
            return list(runs), list(Score.objects.order_by("pk").values_list("pk", "value"))

        experiment_folder, before, again = folder(finished_experiment), runs_and_scores(), Experiment.objects.get()
        assert len(before[0]) == 4 and before[1] and experiment_folder.is_dir()
        with messages():
            deleted(finished_experiment)
        assert not experiment_folder.exists() and not Experiment.objects.exists() and not Training.objects.exists()
        assert runs_and_scores() == before
        event = AuditEvent.objects.get(action="experiment.delete")
        assert (event.subject, event.data["name"], event.data["seeds"]) == (finished_experiment.uuid, "ours", 2)
        words = "deleted the benchmark run ours: ReLoCLNet, seeds: 2, 0 MB of files"
        assert in_words(event.action, event.data) == words
        for act in (deleted, lambda one: training_resume(training=Training(pk=0), actor=None)):
            with pytest.raises(NotPossible, match="has been deleted"):
                act(again)
        for feature_set in release.project.feature_sets.all():
            feature_set_delete(feature_set=feature_set, actor=None)  # which nothing needs any more

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
    def test_that_a_dead_process_left_are_swept(self, finished_experiment: Experiment, order: Order) -> None:
        experiment_folder, other = folder(finished_experiment), order(name="other")
        files.plan_write(only(other))
        unknown = experiment_folder.with_name("0" * 8 + str(finished_experiment.uuid)[8:])
        unknown.mkdir()
        deleted(finished_experiment)  # nothing runs after the commit: the process is gone
        assert experiment_folder.is_dir()
        assert [deletion.deleted_files_sweep() for _ in range(2)] == [1, 0]
        assert (experiment_folder.exists(), folder(other).exists(), unknown.exists()) == (False, True, True)

    def test_stay_while_a_program_writes_there(self, finished_experiment: Experiment, messages: Messages) -> None:
        experiment_folder = folder(finished_experiment)
        with folder_lock(experiment_folder / "seed-2"), messages():
            deleted(finished_experiment)
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
    def test_the_page_asks_says_what_goes_and_what_stays_or_why_not(
        self, release: Release, finished_experiment: Experiment, order: Order
    ) -> None:
        def page(name: str, experiment: Experiment) -> str:
            return client.get(reverse(f"models_runner:{name}", args=[experiment.uuid])).content.decode()

        client, address = Client(), reverse("models_runner:experiment-delete", args=[finished_experiment.uuid])
        client.force_login(admin(release.project))
        assert address in page("experiment", finished_experiment)
        text = page("experiment-delete", finished_experiment)
        assert "files of 2 seeds:" in text and "4 runs with their scores, on the leaderboard" in text
        second = order(name="second stage", baseline="conquer", candidates=finished_experiment.trainings.all()[0])
        for experiment, words in ((second, "seed 1</a> is waiting"), (finished_experiment, "second stage")):
            text = page("experiment-delete", experiment)
            assert words in text and "<button" not in text.split("<main")[1].split("</main>")[0]
        late = client.post(address)
        assert late.status_code == 409 and "notice error" in late.content.decode()
        training_cancel(training=only(second), actor=None)
        deleted(second)
        answer = client.post(address, follow=True)
        assert "The benchmark run ours is gone. Its runs stay." in answer.content.decode()
        assert client.get(address).status_code == 404

    def test_programs_of_admins_alone(self, release: Release, finished_experiment: Experiment, order: Order) -> None:
        address, waiting = url("experiment", finished_experiment), order(name="waiting")
        program, others = Client(headers=bearer(admin(release.project))), Client(headers=bearer(lead(release.project)))
        stranger = Client(headers=bearer(admin(ProjectFactory())))
        assert refusal(others.delete(address)) == (403, "permission_denied")
        assert refusal(stranger.delete(address)) == (404, "not_found")
        assert refusal(program.delete(url("experiment", waiting))) == (409, "not_possible")
        assert program.delete(address).status_code == 204
        assert refusal(program.delete(address)) == (404, "not_found")


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


OF_XML: dict[str, Any] = {"baseline": "xml", "top_n": 1, "seeds": 1, "options": {}, "actor": None}


def feature_set_of(release: Release, kind: str) -> FeatureSet:
    return release.project.feature_sets.get(kind=kind)


def features_deleted(feature_set: FeatureSet) -> None:
    feature_set_delete(feature_set=feature_set, actor=None)


@pytest.mark.django_db
class TestWhatATrainingNeeds:
    def test_stays_as_long_as_it_is_trained_resumed_or_searched_with(self, release: Release, order: Order) -> None:
        training_cancel(training=only(order(name="one")), actor=None)
        trained(only(order(name="two", how="fails")))
        trained(only(order(name="three")))
        order(name="four", seeds=2)
        for kind in ("video", "query"):
            with pytest.raises(NotPossible) as refused:
                features_deleted(feature_set_of(release, kind))
            trainings = "one, seed 1 may be resumed; two, seed 1 may be resumed; three, seed 1 is searched with"
            assert str(refused.value) == f"The features own {kind} are needed: {trainings}; and 2 more trainings."
            assert Path(feature_set_of(release, kind).path).exists()

    def test_by_its_path_alone_stays_too(self, release: Release, tmp_path: Path) -> None:
        features = features_of(release.project, tmp_path)
        by_path = {kind: {"name": "mine", "path": one["path"]} for kind, one in features.items()}
        experiment_create(release=release, features=by_path, **OF_XML)
        with pytest.raises(NotPossible, match="XML, N=1, seed 1 waits to be trained"):
            features_deleted(feature_set_of(release, "video"))
        path = tmp_path / "mine.h5"
        write_features(path, {"one": np.ones((2, 3), np.float32)})
        facts = services.feature_facts({"name": "mine", "path": str(path)})  # measured with the order
        assert (facts["name"], facts["width"]) == ("mine", 3) and facts["checksum"].startswith("sha256:")

    def test_is_known_by_what_its_check_measured(
        self, release: Release, order: Order, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(services, "open_features", lambda _: pytest.fail("within a request"))
        facts, feature_set = order().features["video"], feature_set_of(release, "video")
        facts_of_set = {"set": str(feature_set.uuid), "width": feature_set.width, "checksum": feature_set.checksum}
        assert facts_of_set.items() <= facts.items()
        FeatureSet.objects.filter(kind="video").update(extractor="file")
        features_deleted(feature_set := feature_set_of(release, "video"))  # as its file stays
        assert Path(feature_set.path).exists() and not FeatureSet.objects.filter(kind="video").exists()

    def test_is_named_by_the_page_which_asks_only_where_nothing_needs_it(
        self, release: Release, tmp_path: Path, order: Order, client: Client
    ) -> None:
        features_of(release.project, tmp_path)
        client.force_login(admin(release.project))
        url = reverse("models_runner:feature-set-delete", args=[feature_set_of(release, "video").uuid])
        assert "Making them again takes" in client.get(url).content.decode()
        order(name="ours")
        page = client.get(url).content.decode()
        assert (
            "ours, seed 1" in page
            and "waits to be trained" in page
            and "<button" not in page.split("<main")[1].split("</main>")[0]
        )
        late = client.post(url)
        assert late.status_code == 409 and "The features own video are needed" in late.content.decode()


@pytest.mark.django_db(transaction=True)
class TestFeaturesAtTheSameInstant:
    def test_features_of_an_order_stay(self, monkeypatch: pytest.MonkeyPatch, release: Release, tmp_path: Path) -> None:
        """Without the lock the file is gone before the order is kept."""
        monkeypatch.setattr(services, "send_on_commit", lambda *args: None)
        features_of(release.project, tmp_path)
        ordering = partial(order_experiment, release, tmp_path)
        deleting = partial(features_deleted, feature_set_of(release, "video"))
        experiment, refused = overlap(monkeypatch, (services, "audit_record"), ordering, deleting)
        assert isinstance(experiment, Experiment) and isinstance(refused, NotPossible)
        assert Path(feature_set_of(release, "video").path).exists()

    def test_no_order_uses_features_that_go(
        self, monkeypatch: pytest.MonkeyPatch, release: Release, tmp_path: Path
    ) -> None:
        features = features_of(release.project, tmp_path)
        creating = partial(experiment_create, release=release, features=features, **OF_XML)
        deleting = partial(features_deleted, feature_set_of(release, "video"))
        deletion, refused = overlap(monkeypatch, (features_services, "audit_record"), deleting, creating)
        assert deletion is None and "have been deleted" in str(refused)
        assert not Experiment.objects.exists()
