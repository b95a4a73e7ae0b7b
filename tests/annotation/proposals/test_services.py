"""Proposals ordered, detected, killed, written, undone; broken files; moments that stay."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from accounts.models import Project
from annotation.models import Corpus, Moment, Proposal, ShotCut, ShotDetection
from annotation.proposals import services
from annotation.proposals.detecting import DetectedCut
from annotation.proposals.selectors import failures_of, shots_of
from annotation.proposals.services import (
    options_checked,
    proposal_cancel,
    proposal_resume,
    proposal_start,
    proposal_undo,
    proposal_use,
    proposal_work,
)
from core.exceptions import NotPossible
from tests.conftest import Messages
from tests.factories import CandidateFactory, CorpusFactory, DescriptionFactory, MomentFactory, VideoFactory

pytestmark = pytest.mark.django_db
SHOTS, WINDOWS = options_checked(method="shots"), options_checked(method="windows")


def start(corpus: Corpus, options: Any = SHOTS) -> Proposal:
    return proposal_start(corpus=corpus, options=options, actor=None, wake=False)


def work(row: Proposal) -> Proposal:
    proposal_work(proposal_id=row.pk)
    row.refresh_from_db()
    return row


def written(corpus: Corpus, options: Any = SHOTS) -> Proposal:
    row = start(corpus, options)
    if row.is_at_work:
        work(row)
    return work(proposal_use(proposal=row, actor=None, wake=False))


class Killed(BaseException):
    """A worker that ends in the middle."""


class TestShots:
    def test_they_are_detected_of_every_video_and_a_broken_one_is_named(self, corpus: Corpus) -> None:
        row = work(start(corpus))
        assert (row.state, row.n_moments, row.error) == ("ready", 6, "")
        [failure] = failures_of(row)
        assert (failure.video.name, failure.error) == ("broken", "The file is corrupt or not a video.")
        shots = shots_of(corpus.videos.get(name="a"))
        assert [(shot.first_frame, shot.start_s, shot.end_s) for shot in shots] == [
            *[(0, 0.0, 2.0), (20, 2.0, 3.5), (35, 3.5, 6.0)],
        ]

    def test_a_killed_worker_loses_and_doubles_nothing(self, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
        row, looked = start(corpus), list[str]()

        def cuts(path: Any, *, threshold: float, on_frame: Callable[[float], None]) -> list[DetectedCut]:
            looked.append(path.name)
            if len(looked) == 2:
                raise Killed
            return [DetectedCut(20, 2.0)]

        monkeypatch.setattr(services, "cuts_of", cuts)
        with pytest.raises(Killed):
            proposal_work(proposal_id=row.pk)
        assert ShotCut.objects.count() == 1
        assert work(row).state == "ready"
        assert len(looked) == 4  # the first video once, the second one twice
        assert ShotCut.objects.count() == 3
        ended = ShotDetection.objects.filter(video__name="broken")
        ended.update(state="running", attempts=services.ATTEMPTS_MAX)
        row = work(start(corpus, options_checked(method="shots")))  # a later order tries again
        assert ended.get().state == "done"

    def test_a_video_that_ends_its_worker_is_left_out(self, corpus: Corpus) -> None:
        row = start(corpus)
        video = corpus.videos.get(name="c")
        about = {"detector": "adaptive", "threshold": SHOTS.threshold, "version": services.detector_version()}
        about |= {"file": video.file.name, "attempts": services.ATTEMPTS_MAX, "moved_at": row.created_at}
        ShotDetection.objects.create(video=video, **about)
        assert work(row).n_moments == 3
        assert [one.video.name for one in failures_of(row)] == ["broken", "c"]

    def test_it_is_cancelled_inside_a_video_and_goes_on(self, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
        row, real = start(corpus), services.cuts_of

        def cancelling(path: Any, **options: Any) -> list[DetectedCut]:
            monkeypatch.setattr(services, "cuts_of", real)
            proposal_cancel(proposal=row, actor=None)
            services.PROPOSALS.move(row, done=0)
            raise AssertionError("the work goes on")

        monkeypatch.setattr(services, "cuts_of", cancelling)
        assert work(row).state == "cancelled"
        assert ShotDetection.objects.get().attempts == 0
        proposal_resume(proposal=row, actor=None, wake=False)
        assert (work(row).state, row.n_moments) == ("ready", 6)

    def test_another_file_makes_them_old(self, corpus: Corpus, film: bytes) -> None:
        row = work(start(corpus))
        video = corpus.videos.get(name="a")
        video.file.save("other.mp4", ContentFile(film))
        assert shots_of(video) == []
        proposal_use(proposal=row, actor=None, wake=False)
        assert work(row).state == "failed" and "have changed" in row.error

    def test_no_readable_video_is_a_failure_and_no_file_a_refusal(self, videos_on_disk: object) -> None:
        corpus = CorpusFactory()
        with pytest.raises(NotPossible, match="no videos"):
            start(corpus)
        video = VideoFactory(corpus=corpus)
        with pytest.raises(NotPossible, match="No video of"):
            start(corpus)
        video.file.save("a.mp4", ContentFile(b"no video"))
        row = work(start(corpus))
        assert row.state == "failed" and "corrupt" in row.error


class TestMoments:
    def test_they_have_no_descriptions_get_previews_and_equal_spans_stay(
        self, corpus: Corpus, messages: Messages
    ) -> None:
        same = MomentFactory(video=corpus.videos.get(name="a"), start_s=2.0, end_s=3.5)
        row = work(start(corpus))
        with messages():
            proposal_use(proposal=row, actor=None)
        row.refresh_from_db()
        assert (row.state, row.n_written, row.n_existing) == ("done", 5, 1)
        moments = Moment.objects.filter(proposal=row)
        assert set(moments.values_list("preview_state", flat=True)) == {"ready"}
        assert not moments.filter(descriptions__isnull=False).exists()
        assert proposal_work(proposal_id=row.pk) is False  # a repeat finds it done
        files = [moment.preview.name for moment in moments]
        with messages():
            proposal_undo(proposal=row, actor=None)
        row.refresh_from_db()
        assert (row.state, row.n_written) == ("undone", 5)
        assert list(Moment.objects.filter(video__corpus=corpus)) == [same]
        assert not any(default_storage.exists(name) for name in files)

    def test_windows_and_segments_of_videos_without_files(self, corpus: Corpus) -> None:
        video = VideoFactory(corpus=CorpusFactory(), duration_s=7.0)
        row = start(video.corpus, WINDOWS)
        assert (row.state, row.n_moments) == ("ready", 6)
        row = written(video.corpus, options_checked(method="windows", most=3))
        spans = list(video.moments.order_by("start_s").values_list("start_s", "end_s", "preview_state"))
        assert spans == [(0, 3, "missing"), (3, 6, "missing"), (6, 7, "missing")]
        row = written(video.corpus, options_checked(method="uniform", segment_s=5))
        assert (row.n_moments, row.n_written, video.moments.count()) == (2, 2, 5)

    @pytest.mark.parametrize("factory", [CandidateFactory, DescriptionFactory])
    def test_what_is_in_use_is_not_removed(self, corpus: Corpus, factory: Any) -> None:
        row = written(corpus, WINDOWS)
        factory(moment=row.moments.last())
        with pytest.raises(NotPossible, match="1 of its"):
            proposal_undo(proposal=row, actor=None)
        Proposal.objects.update(state="running", step="removing")  # it came into use after the order
        assert work(row).state == "failed"
        assert row.moments.filter(video__name="c").exists()

    def test_orders_replace_each_other_until_something_is_written(self, corpus: Corpus, project: Project) -> None:
        first = start(corpus)
        assert start(corpus) == first
        with pytest.raises(NotPossible, match="already"):
            start(corpus, WINDOWS)
        proposal_cancel(proposal=first, actor=None, project=project)
        second = start(corpus, WINDOWS)
        first.refresh_from_db()
        assert (first.state, second.state) == ("replaced", "ready")
        MomentFactory(video=corpus.videos.first(), start_s=90, end_s=91, proposal=second)
        Proposal.objects.filter(pk=second.pk).update(state="cancelled")
        with pytest.raises(NotPossible, match="undo it first"):
            start(corpus)
        assert project.audit_events.get().action == "proposal.cancel"

    @pytest.mark.parametrize(
        "options",
        [
            {"method": "frames"},
            {"method": "shots", "threshold": 0},
            {"method": "windows", "most": 0},
            {"method": "uniform"},
            {"method": "uniform", "segment_s": 0.1},
        ],
    )
    def test_options_out_of_range(self, options: dict[str, Any]) -> None:
        with pytest.raises(NotPossible):
            options_checked(**options)
