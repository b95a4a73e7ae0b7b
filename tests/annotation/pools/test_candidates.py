"""Embedding texts once and ranking the pool of each query."""

from collections.abc import Callable

import numpy as np
import pytest
from django.conf import settings
from numpy.typing import NDArray

from accounts.models import Project
from annotation.models import Candidate, Measure, Moment, TextVector, Video
from annotation.pools.services import candidates
from annotation.pools.services.candidates import candidates_rank, pool_of, vectors_of
from annotation.similarity import sentences
from tests.conftest import hashed
from tests.factories import CaptionFactory, MomentFactory, ProjectFactory, QueryFactory

pytestmark = pytest.mark.django_db
MODEL = settings.SENTENCE_MODEL


def moment(project: Project, *captions: str, **values: object) -> Moment:
    moment: Moment = MomentFactory(video__corpus=project.dataset.corpus, **values)
    for text in captions:
        CaptionFactory(moment=moment, text=text)
    return moment


class TestVectors:
    def test_each_text_is_embedded_once_ever(self, encoder: list[list[str]]) -> None:
        fresh = vectors_of(["a b", "c", "a b"], model="one")
        vectors_of(["c", "d"], model="one")
        vectors_of(["c"], model="two")
        again = vectors_of(["a b", "c", "a b"], model="one")
        assert encoder == [["a b", "c"], ["d"], ["c"]]
        assert TextVector.objects.count() == 4
        assert (fresh == again).all()
        assert (again == hashed(["a b", "c", "a b"])).all()
        assert again.dtype == np.float32

    def test_what_was_embedded_before_a_kill_is_not_embedded_again(
        self, encoder: list[list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(candidates, "CHUNK", 2)
        texts, work = ["a", "bb", "ccc", "dddd", "eeeee"], sentences.encode

        def killed(some: list[str], **values: object) -> NDArray[np.float32]:
            if "a" in some:
                raise KeyboardInterrupt
            return work(some, **values)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(sentences, "encode", killed)
            with pytest.raises(KeyboardInterrupt):
                vectors_of(texts, model="one")
        assert (vectors_of(texts, model="one") == hashed(texts)).all()
        assert encoder == [["eeeee", "dddd"], ["ccc", "bb"], ["a"]]

    def test_progress_is_reported(self, monkeypatch: pytest.MonkeyPatch, encoder: object) -> None:
        def encode(some: list[str], *, on_progress: Callable[[int], None], **values: object) -> NDArray[np.float32]:
            on_progress(len(some))
            return hashed(some)

        monkeypatch.setattr(candidates, "CHUNK", 2)
        monkeypatch.setattr(sentences, "encode", encode)
        reports: list[tuple[int, int]] = []
        vectors_of(["a", "b", "c"], model="one", on_progress=lambda *progress: reports.append(progress))
        assert reports == [(2, 3), (3, 3)]


class TestPool:
    def test_only_ready_moments_of_the_corpus_with_a_caption(self, project: Project, encoder: object) -> None:
        first, second = moment(project, "a", "b"), moment(project, "c")
        moment(project)  # no caption
        moment(project, "d", uncut=True)
        moment(project, "e", preview_state="failed", preview_error="gone")
        moment(project, "f", preview_state="placeholder")
        moment(ProjectFactory(), "g")
        pool = pool_of(project=project)
        assert pool.moment_ids.tolist() == [first.pk, second.pk]
        assert pool.first_caption.tolist() == [0, 2]
        assert pool.captions == ["a", "b", "c"]


class TestRank:
    def test_best_caption_of_each_moment_counts(self, project: Project, encoder: object) -> None:
        far = moment(project, "nothing alike at all")
        near = moment(project, "utterly different words", "a dog barks")
        query = QueryFactory(project=project, text="a dog barks")
        assert candidates_rank(project_id=project.pk) == 1
        rows = list(query.candidates.order_by("rank").values_list("moment", "rank", "similarity"))
        cosine = float(hashed(["a dog barks"])[0] @ hashed(["nothing alike at all"])[0])
        assert rows[0] == (near.pk, 1, 1.0)
        assert rows[1][:2] == (far.pk, 2)
        assert rows[1][2] == pytest.approx(cosine, abs=2e-6)
        measure = Measure.objects.get()
        assert (measure.name, measure.model, measure.version) == (MODEL, MODEL, "hashed")
        assert set(query.candidates.values_list("measure", flat=True)) == {measure.pk}

    def test_only_queries_that_are_judged_and_have_none(self, project: Project, encoder: object) -> None:
        moment(project, "a")
        val = QueryFactory(project=project, split="val")
        test = QueryFactory(project=project, split="test")
        QueryFactory(project=project, split="train")
        QueryFactory(project=project, text=val.text, judged_as=val)
        QueryFactory(project=project, is_placeholder=True)
        QueryFactory()
        assert candidates_rank(project_id=project.pk) == 2
        assert set(Candidate.objects.values_list("query", flat=True)) == {val.pk, test.pk}

    def test_a_corpus_without_videos_is_ranked_for_study(self, project: Project, encoder: object) -> None:
        unseen = [moment(project, text, uncut=True) for text in ("a", "b")]
        moment(project, "c", preview_state="failed", preview_error="gone")
        query = QueryFactory(project=project, text="b")
        videos = Video.objects.filter(pk=unseen[0].video_id)
        videos.update(file="a.mp4")
        assert candidates_rank(project_id=project.pk) == 0  # where there are videos moments yet to be cut wait
        videos.update(file="")
        assert candidates_rank(project_id=project.pk) == 1
        moment_ids = list(query.candidates.order_by("rank").values_list("moment", flat=True))
        assert moment_ids == [row.pk for row in reversed(unseen)]

    def test_again_changes_nothing(self, project: Project, encoder: list[list[str]]) -> None:
        assert len(pool_of(project=project).moment_ids) == 0
        QueryFactory(project=project)
        assert candidates_rank(project_id=project.pk) == 0
        assert encoder == []
        moment(project, "a")
        candidates_rank(project_id=project.pk)
        before = list(Candidate.objects.values_list())
        moment(project, "b")
        assert candidates_rank(project_id=project.pk) == 0
        assert list(Candidate.objects.values_list()) == before
