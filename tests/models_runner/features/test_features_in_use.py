"""Features that trainings need are not deleted, whoever comes first."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from core.exceptions import NotPossible
from judging.models import Release
from models_runner.experiments import services
from models_runner.experiments.services import experiment_create, training_cancel
from models_runner.features import services as features_services
from models_runner.features.services import feature_set_delete
from models_runner.models import Experiment, FeatureSet
from tests.factories import ProjectFactory, admin
from tests.judging.concurrency.meeting import overlap
from tests.models_runner.benchmarks import configure_training, features_of, only, order_experiment, trainable, trained
from tests.moment_retrieval.training.tiny import write_features


@pytest.fixture
def release(settings: Any, tmp_path: Path) -> Release:
    configure_training(settings, tmp_path)
    return trainable(ProjectFactory())


@pytest.fixture
def order(release: Release, tmp_path: Path) -> Callable[..., Experiment]:
    return partial(order_experiment, release, tmp_path)


def feature_set_of(release: Release, kind: str) -> FeatureSet:
    return release.project.feature_sets.get(kind=kind)


def deleted(feature_set: FeatureSet) -> None:
    feature_set_delete(feature_set=feature_set, actor=None)


@pytest.mark.django_db
class TestWhatATrainingNeeds:
    def test_stays_as_long_as_it_is_trained_resumed_or_searched_with(
        self, release: Release, order: Callable[..., Experiment]
    ) -> None:
        training_cancel(training=only(order(name="one")), actor=None)
        trained(only(order(name="two", how="fails")))
        trained(only(order(name="three")))
        order(name="four", seeds=2)
        for kind in ("video", "query"):
            with pytest.raises(NotPossible) as refused:
                deleted(feature_set_of(release, kind))
            trainings = "one, seed 1 may be resumed; two, seed 1 may be resumed; three, seed 1 is searched with"
            assert str(refused.value) == f"The features own {kind} are needed: {trainings}; and 2 more trainings."
            assert Path(feature_set_of(release, kind).path).exists()

    def test_by_its_path_alone_stays_too(self, release: Release, tmp_path: Path) -> None:
        features = features_of(release.project, tmp_path)
        by_path = {kind: {"name": "mine", "path": one["path"]} for kind, one in features.items()}
        values = {"baseline": "xml", "top_n": 1, "seeds": 1, "options": {}, "actor": None}
        experiment_create(release=release, features=by_path, **values)
        with pytest.raises(NotPossible, match="XML, N=1, seed 1 waits to be trained"):
            deleted(feature_set_of(release, "video"))

    def test_is_known_by_what_its_check_measured_and_not_read_again(
        self, release: Release, tmp_path: Path, order: Callable[..., Experiment], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(services, "open_features", lambda _: pytest.fail("within a request"))
        facts = order().features["video"]
        feature_set = feature_set_of(release, "video")
        assert (facts["set"], facts["width"], facts["checksum"]) == (
            str(feature_set.uuid),
            feature_set.width,
            feature_set.checksum,
        )

    def test_by_its_path_alone_is_measured_with_the_order(self, release: Release, tmp_path: Path) -> None:
        path = tmp_path / "mine.h5"
        write_features(path, {"one": np.ones((2, 3), np.float32)})
        facts = services.feature_facts({"name": "mine", "path": str(path)})
        assert (facts["name"], facts["width"]) == ("mine", 3) and facts["checksum"].startswith("sha256:")

    def test_is_let_go_where_its_file_stays(self, release: Release, order: Callable[..., Experiment]) -> None:
        order()
        FeatureSet.objects.filter(kind="video").update(extractor="file")
        deleted(feature_set := feature_set_of(release, "video"))
        assert Path(feature_set.path).exists() and not FeatureSet.objects.filter(kind="video").exists()

    def test_is_named_by_the_page_which_asks_only_where_nothing_needs_it(
        self, release: Release, tmp_path: Path, order: Callable[..., Experiment], client: Client
    ) -> None:
        features_of(release.project, tmp_path)
        client.force_login(admin(release.project))
        url = reverse("models_runner:feature-set-delete", args=[feature_set_of(release, "video").uuid])
        assert "Making them again takes" in client.get(url).content.decode()
        order(name="ours")
        page = client.get(url).content.decode()
        assert "ours, seed 1" in page and "waits to be trained" in page and "<button" not in page.split("<main")[1]
        late = client.post(url)
        assert late.status_code == 409 and "The features own video are needed" in late.content.decode()


@pytest.mark.django_db(transaction=True)
class TestAtTheSameInstant:
    def test_features_of_an_order_are_not_deleted(
        self, monkeypatch: pytest.MonkeyPatch, release: Release, tmp_path: Path
    ) -> None:
        """Without the lock the file is gone before the order is kept."""
        monkeypatch.setattr(services, "send_on_commit", lambda *args: None)
        features_of(release.project, tmp_path)
        works = partial(order_experiment, release, tmp_path), partial(deleted, feature_set_of(release, "video"))
        experiment, refused = overlap(monkeypatch, (services, "audit_record"), *works)
        assert isinstance(experiment, Experiment) and isinstance(refused, NotPossible)
        assert Path(feature_set_of(release, "video").path).exists()

    def test_no_order_uses_features_being_deleted(
        self, monkeypatch: pytest.MonkeyPatch, release: Release, tmp_path: Path
    ) -> None:
        features = features_of(release.project, tmp_path)
        values = {"baseline": "xml", "top_n": 1, "seeds": 1, "options": {}, "actor": None}
        creating = partial(experiment_create, release=release, features=features, **values)
        deleting = partial(deleted, feature_set_of(release, "video"))
        deletion, refused = overlap(monkeypatch, (features_services, "audit_record"), deleting, creating)
        assert deletion is None and "have been deleted" in str(refused)
        assert not Experiment.objects.exists()
