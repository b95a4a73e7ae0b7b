"""kill -9 while features are made: they go on where they were, and the file is whole."""

from collections.abc import Iterator

import pytest
from django.core.files.base import ContentFile
from django.db.models import F
from django.test import override_settings

from accounts.models import Project
from models_runner.features.making import FULL
from models_runner.features.services import FEATURE_SETS, feature_set_resume, feature_set_start
from models_runner.models import FeatureSet
from moment_retrieval.features import open_features
from tests.factories import VideoFactory
from tests.production.faults.background.acts import admin_of, fresh, kill_at, page_of, sweep
from tests.production.faults.disks import small_disk
from tests.production.faults.latch import latch
from tests.production.topology import Site
from tests.production.topology.project import Scenario
from tests.production.topology.site import eventually

SWEEP = "core.tasks.sweep"
VIDEOS, HALF = 120, 60
MIDWAY = f"NEW.step = 'extracting' AND NEW.done >= {HALF}"


@pytest.fixture
def shared(site: Site) -> Iterator[Site]:
    """Features lie on the disk that all hosts see."""
    with override_settings(FEATURES_ROOT=site.shared / "features"):
        yield site


def filmed(project: Project, clip: bytes) -> None:
    for number in range(VIDEOS):
        video = VideoFactory(corpus=project.dataset.corpus, name=f"walk_{number:03}", index=number, duration_s=4.0)
        video.file.save("clip.mp4", ContentFile(clip))


def started(site: Site, project: Project) -> FeatureSet:
    """Each item is written down, as for one that was begun before: else only what took two seconds is."""
    site.gpu.pause()
    try:
        feature_set = feature_set_start(project=project, kind="video", extractor="builtin-pixels", actor=None)
        FeatureSet.objects.filter(pk=feature_set.pk).update(attempts=1)
    finally:
        site.gpu.resume()
    return feature_set


def check_whole(feature_set: FeatureSet) -> None:
    current = fresh(feature_set)
    assert (current.state, current.n_items, current.n_failed, current.findings) == ("done", VIDEOS, 0, [])
    with open_features(current.path) as store:
        assert (len(store), store.checksum()) == (VIDEOS, current.checksum)


@pytest.mark.parametrize("killed", ["gpu", "postgres", "redis"])
def test_features_go_on_where_they_were_after_a_kill(killed: str, shared: Site, clip: bytes) -> None:
    scenario = Scenario.make(annotators=0)
    project, person = scenario.project, admin_of(shared, scenario.project)
    filmed(project, clip)
    with latch(shared, "models_runner_featureset", when=MIDWAY) as closed:
        feature_set = started(shared, project)
        kill_at(closed, shared, killed)
        if killed == "gpu":
            assert fresh(feature_set).done == HALF - 1
            assert f"of {VIDEOS}" in page_of(shared, person, "models_runner:features", project.uuid)
        closed.open()
        shared.bring_back(killed)
    FeatureSet.objects.filter(pk=feature_set.pk, state="running").update(moved_at=F("moved_at") - FEATURE_SETS.late)
    sweep(SWEEP)
    eventually(lambda: fresh(feature_set).state != "running")
    check_whole(feature_set)


def test_a_full_disk_is_reported_and_with_room_they_go_on(shared: Site, clip: bytes) -> None:
    scenario = Scenario.make(annotators=0)
    project, person = scenario.project, admin_of(shared, scenario.project)
    filmed(project, clip)
    with small_disk(shared.shared / "features") as disk:
        with latch(shared, "models_runner_featureset", when=MIDWAY) as closed:
            feature_set = started(shared, project)
            closed.await_somebody()
            disk.fill()
        eventually(lambda: fresh(feature_set).state == "failed")
        assert fresh(feature_set).error == FULL
        assert FULL in page_of(shared, person, "models_runner:features", project.uuid)
        disk.make_room()
        feature_set_resume(feature_set=feature_set, actor=None)
        eventually(lambda: fresh(feature_set).state != "running")
        check_whole(feature_set)
