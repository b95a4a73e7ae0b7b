"""Proxies of relevance compared on a sample of captions: by hand, and as the task computes them."""

import numpy as np
import pytest
from django.conf import LazySettings

from accounts.models import Project
from annotation.models import Measure, TextVector
from annotation.similarity import registry
from annotation.similarity.base import SimilarityMissing
from annotation.statistics import proxies, services
from annotation.statistics.proxies import proxy_analyses
from annotation.statistics.selectors import captions_sampled
from annotation.statistics.services import proxies_compute
from moment_retrieval.relevance.figures import THRESHOLDS
from tests.factories import CaptionFactory, ProjectFactory

WORDS = np.array([[0.2, 0.9, 0.0], [0.9, 0.2, 0.3], [0.0, 0.3, 0.2]])
SYSTEM = np.array([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
TEXTS = [
    ("Ross opens a door.", "A man opens a door."),
    ("Joey opens the doors.", "A man opens the doors."),
    ("Monica reads.", "A woman reads."),
]


def test_numbers_by_hand() -> None:
    """A moment's own caption has relevance 1 whatever the proxy says; at 0.3 the rows hold 2, 3 and 2 captions."""
    numbers = proxy_analyses({"bow": WORDS, "sentence": 1 - WORDS}, SYSTEM)
    relevant = dict(zip(THRESHOLDS, numbers["relevant"]["bow"], strict=True))
    assert (relevant[0.3], relevant[0.9], relevant[1.0]) == (pytest.approx(7 / 3), pytest.approx(5 / 3), 1)
    third = (1 / 3) ** (1 / 3)  # the third moment alone is first; all are among five
    assert numbers["bounds"] == [
        ["bow", name, pytest.approx(third), pytest.approx(third), 1] for name in ("v2t", "t2v")
    ]
    ((one, other, value, n),) = numbers["correlations"]
    ours, theirs = (np.where(np.eye(3) == 1, 1, matrix) for matrix in (WORDS, 1 - WORDS))
    mean = np.mean([np.corrcoef(ours[row], theirs[row])[0, 1] for row in range(3)])
    assert (one, other, value, n) == ("bow", "sentence", pytest.approx(mean), 3)


def test_without_a_system_or_any_difference() -> None:
    numbers = proxy_analyses({"bow": np.ones((2, 2)), "pos": np.ones((2, 2))}, None)
    assert numbers["bounds"] == [] and numbers["correlations"] == [["bow", "pos", None, 0]]
    assert proxy_analyses({}, None) == {"relevant": {}, "correlations": [], "bounds": []}


@pytest.fixture
def project(db: None) -> Project:
    project: Project = ProjectFactory()
    for description, caption in TEXTS:
        CaptionFactory(
            moment__video__corpus=project.dataset.corpus, text=caption, description__text=description, state="accepted"
        )
    return project


def no_wordnet() -> None:
    raise SimilarityMissing("WordNet is not installed.")


@pytest.mark.usefixtures("encoder")
def test_without_wordnet(project: Project, monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> None:
    """BoW of the first two captions is one of three words, man, opens, door and doors: 2/4."""
    monkeypatch.setattr(registry, "wordnet", no_wordnet)
    report = proxies_compute(project.dataset.corpus_id)
    assert (report["sample"], report["moments"], report["system"]) == (3, 3, settings.SENTENCE_MODEL)
    assert report["missing"] == dict.fromkeys(("pos", "synset", "meteor"), "WordNet is not installed.")
    relevant = dict(zip(THRESHOLDS, report["relevant"]["bow"], strict=True))
    assert (relevant[0.5], relevant[0.55]) == (pytest.approx(5 / 3), 1)
    assert list(report["relevant"]) == ["bow", "sentence"] and len(report["bounds"]) == 2
    assert TextVector.objects.count() == 6


@pytest.mark.usefixtures("encoder", "wordnet")
def test_with_wordnet(project: Project) -> None:
    report = proxies_compute(project.dataset.corpus_id)
    assert tuple(report["relevant"]) == proxies.PROXIES and report["missing"] == {}
    assert len(report["correlations"]) == 10 and len(report["bounds"]) == 8
    meteor = registry.similarity("meteor")
    values = [[meteor.pairs([one], [other])[0] for _, other in TEXTS] for _, one in TEXTS]
    n_alike = (np.array(values) >= 0.3).sum() - sum(values[row][row] >= 0.3 for row in range(3)) + 3
    assert dict(zip(THRESHOLDS, report["relevant"]["meteor"], strict=True))[0.3] == pytest.approx(n_alike / 3)


@pytest.mark.usefixtures("encoder")
def test_a_model_of_the_hub_is_not_downloaded_for_a_figure(
    project: Project, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    settings.SENTENCE_MODEL = "owner/model"
    monkeypatch.setattr(registry, "wordnet", no_wordnet)
    report = proxies_compute(project.dataset.corpus_id)
    assert "'owner/model' was never used here" in report["missing"]["sentence"]
    assert list(report["relevant"]) == ["bow"] and report["bounds"] == report["correlations"] == []
    Measure.objects.create(name="owner/model", model="owner/model", version="1", normalisation="as written")
    assert "sentence" in proxies_compute(project.dataset.corpus_id)["relevant"]


def test_one_moment_has_nothing_to_compare(db: None) -> None:
    project = ProjectFactory()
    CaptionFactory(moment__video__corpus=project.dataset.corpus, state="accepted")
    report = services.proxies_compute(project.dataset.corpus_id)
    assert (report["sample"], report["moments"]) == (1, 1) and "relevant" not in report


def test_the_sample_is_the_same_each_time_and_has_a_caption_a_moment(project: Project) -> None:
    corpus = project.dataset.corpus
    moment = corpus.videos.first().moments.get()
    CaptionFactory(moment=moment, text="Somebody opens it.", description__moment=moment, state="accepted")
    CaptionFactory(moment__video__corpus=corpus, text="Not checked yet.", state="proposed")
    rows, n_moments = captions_sampled(corpus.pk, 10)
    assert (rows, n_moments) == (TEXTS, 3)
    assert captions_sampled(corpus.pk, 2) == captions_sampled(corpus.pk, 2)
    assert len(captions_sampled(corpus.pk, 2)[0]) == 2
