"""The search worker or Redis is killed: the page says so in words, and answers again when they are back."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
import requests
from django.core.files.base import ContentFile
from django.test import override_settings
from django.urls import reverse

from accounts.models import Project
from annotation.models import Video
from models_runner.experiments.services import experiment_create
from models_runner.features.selectors import facts_of
from models_runner.features.services import feature_set_start
from models_runner.models import FeatureSet, Training
from tests.models_runner.benchmarks import trainable
from tests.production.faults.background.test_training import OPTIONS, reload_training
from tests.production.topology import Person, Site
from tests.production.topology.project import Scenario
from tests.production.topology.site import eventually

EXTRACTORS = {"video": "builtin-pixels", "query": "builtin-text"}
HEARD = 8  # searches after which most threads of the web hosts have listened for an answer
MESSAGES = {"search": (1, "No search worker took the query"), "redis": (HEARD, "The broker that carries queries")}
Trained = tuple[Site, Training, Person]


@pytest.fixture
def trained(site: Site, clip: bytes) -> Iterator[Trained]:
    """A checkpoint that was learnt from real features, so that typed words can be looked for with it."""
    scenario = Scenario.make(annotators=0)
    release = trainable(scenario.project)
    for video in Video.objects.filter(corpus=scenario.project.dataset.corpus):
        video.file.save("clip.mp4", ContentFile(clip))
    with override_settings(FEATURES_ROOT=site.shared / "features"):
        features = {
            kind: facts_of(make_feature_set(scenario.project, kind, extractor))
            for kind, extractor in EXTRACTORS.items()
        }
        options = {**OPTIONS, "epochs": 5}
        experiment = experiment_create(
            release=release, baseline="xml", top_n=1, seeds=1, features=features, options=options, actor=None
        )
        training = experiment.trainings.get()
        eventually(lambda: reload_training(training).state == "done")
        yield site, training, scenario.person(site, scenario.lead)


def make_feature_set(project: Project, kind: str, extractor: str) -> FeatureSet:
    feature_set = feature_set_start(project=project, kind=kind, extractor=extractor, actor=None)
    eventually(lambda: FeatureSet.objects.get(pk=feature_set.pk).state != "running")
    feature_set.refresh_from_db()
    assert feature_set.state == "done", feature_set.error
    return feature_set


def search_page(person: Person, training: Training) -> requests.Response:
    """The search page; it answers, or says that it cannot."""
    words = urlencode({"q": "somebody sings", "training": training.uuid})
    answer = person.get(f"{reverse('models_runner:search', args=[training.experiment.project.uuid])}?{words}")
    assert "Traceback" not in answer.text
    return answer


def finds(answer: requests.Response) -> bool:
    return answer.status_code == 200 and 'id="hit-1"' in answer.text


def test_it_is_reported_in_words_and_the_next_query_is_answered(trained: Trained) -> None:
    site, training, person = trained
    eventually(lambda: finds(search_page(person, training)))
    assert all(finds(search_page(person, training)) for _ in range(HEARD))
    for killed, (times, words) in MESSAGES.items():
        site.kill(killed)
        for answer in [search_page(person, training) for _ in range(times)]:
            assert (answer.status_code, words in answer.text) == (503, True), answer.text
        site.bring_back(killed)
        eventually(lambda: finds(search_page(person, training)))
