"""A preview is cut anew on a lead's word, between other bounds while nobody has judged the moment."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from annotation.models import Moment, Video
from annotation.previews.cutting import Preview
from core.models import AuditEvent
from judging.exceptions import NotPossibleNow
from judging.models import Batch, Flag, FlagAnswer, Pair, Recut
from judging.work.selectors.flags import why_bounds_stay
from judging.work.services import pairs
from judging.work.services.pairs import RECUTS, recut_request, recut_work
from tests.conftest import Messages
from tests.factories import (
    GIF,
    MINUTES,
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    FlagFactory,
    GuidelineFactory,
    KnownPairFactory,
    MomentFactory,
    PairFactory,
    lead,
)
from tests.judging.play import flag, give, give_back, pairs_of, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair() -> Pair:
    """Its clip is of a video of 90 s; the moment lies at 1.5 to 4.25 s."""
    new_pair: Pair = BatchFactory(pairs=1).pairs.select_related("candidate__moment__video", "batch__project").get()
    new_pair.candidate.moment.video.file.save("clip.mp4", ContentFile(b"a video"))
    return new_pair


@pytest.fixture
def spans_cut(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """Provide the spans cut, each as GIF and MP4."""
    spans: list[tuple[float, float]] = []

    def fake_cut(*, video: Video, start_s: float, end_s: float) -> Preview:
        spans.append((start_s, end_s))
        return Preview(0, GIF + b"new", 1, 1, b"clip")

    monkeypatch.setattr(pairs, "preview_cut", fake_cut)
    return spans


def ask(pair: Pair, bounds: tuple[float, float] | None = None) -> Recut:
    return recut_request(pair=pair, lead=lead(pair.batch.project), bounds=bounds)


def moment_of(pair: Pair) -> Moment:
    return Moment.objects.get(candidates__pair=pair)


class TestRecut:
    def test_a_new_clip_replaces_it(self, pair: Pair, spans_cut: list[tuple[float, float]], messages: Messages) -> None:
        before = moment_of(pair)
        with messages():
            ask(pair)
        after = moment_of(pair)
        assert (spans_cut, Recut.objects.get().state) == ([(1.5, 4.25)], "done")
        assert (after.preview.read(), after.preview_clip.read()) == (GIF + b"new", b"clip")
        assert after.preview_uuid != before.preview_uuid  # browsers keep what has this name
        assert (after.start_s, after.end_s, after.preview_state) == (1.5, 4.25, "ready")
        assert not default_storage.exists(str(before.preview.name))
        assert AuditEvent.objects.get(action="moment.recut").subject == pair.uuid

    def test_its_flags_and_others_of_a_broken_clip_are_answered(self, pair: Pair, spans_cut: list[object]) -> None:
        assignment = take(pair.batch)
        give(assignment, pair, 3)  # a judged moment keeps its bounds and may be cut anew
        flag(assignment, pair, reason=Flag.Reason.UNREADABLE)
        for reason in (Flag.Reason.BROKEN, Flag.Reason.OFFENSIVE):
            batch = BatchFactory(query__project=pair.batch.project, pairs=0)
            PairFactory(batch=batch, candidate=CandidateFactory(query=batch.query, moment=pair.candidate.moment))
            FlagFactory(assignment=AssignmentFactory(batch=batch), reason=reason)
        recut = ask(pair)
        assert not FlagAnswer.objects.exists()
        assert (recut_work(recut_id=recut.pk), recut_work(recut_id=recut.pk), len(spans_cut)) == (True, False, 1)
        answers = FlagAnswer.objects.order_by("flag")
        results = [(answer.flag.reason, answer.kind, answer.answered_by) for answer in answers]
        assert results == [(reason, "recut", recut.requested_by) for reason in ("unreadable", "broken")]

    def test_a_failure_is_reported_and_the_flags_go_on_waiting(self, pair: Pair) -> None:
        flag(take(pair.batch), pair)
        recut = ask(pair)
        before = moment_of(pair).preview.name
        assert not recut_work(recut_id=recut.pk)
        recut.refresh_from_db()
        assert (recut.state, recut.ended_at is not None) == ("failed", True)
        assert recut.error.startswith("The video cannot be read")
        assert (moment_of(pair).preview.name, FlagAnswer.objects.exists()) == (before, False)
        ask(pair)  # once more

    def test_one_at_a_time_and_not_without_a_video(self, pair: Pair) -> None:
        recut = ask(pair)
        with pytest.raises(NotPossibleNow, match="being cut already"):
            ask(pair)
        recut.delete()
        Video.objects.update(file="")
        with pytest.raises(NotPossibleNow, match="no video"):
            ask(pair)

    def test_a_lost_message_is_sent_again(self, pair: Pair, spans_cut: list[object], messages: Messages) -> None:
        ask(pair)
        with messages() as task_messages:
            RECUTS.sweep(timezone.now())
        assert task_messages == []
        with messages():
            RECUTS.sweep(timezone.now() + 2 * MINUTES)
        assert Recut.objects.get().state == "done"


def judge(pair: Pair) -> None:
    assignment = take(pair.batch)
    give(assignment, pair, 3)
    give_back(assignment)


def judge_for_another_query(pair: Pair) -> None:
    batch = BatchFactory(pairs=0)
    judge(PairFactory(batch=batch, candidate=CandidateFactory(query=batch.query, moment=pair.candidate.moment)))


def make_an_example_of_it(pair: Pair) -> None:
    guideline = GuidelineFactory(project=pair.batch.project, version=2)
    guideline.examples.create(grade=1, query_text="A query", moment=pair.candidate.moment)


class TestBounds:
    def test_bounds_and_clip_change_together(self, pair: Pair, spans_cut: list[tuple[float, float]]) -> None:
        flag(assignment := take(pair.batch), pair)
        give_back(assignment)
        recut = ask(pair, (2.0, 6.5))
        assert (moment_of(pair).start_s, moment_of(pair).end_s) == (1.5, 4.25)
        assert recut_work(recut_id=recut.pk)
        assert spans_cut == [(2.0, 6.5)]
        assert (moment_of(pair).start_s, moment_of(pair).end_s) == (2.0, 6.5)
        assert FlagAnswer.objects.get().kind == "bounds"
        event = AuditEvent.objects.get(action="moment.bounds")
        assert (event.data["was"], event.data["becomes"]) == ([1.5, 4.25], [2.0, 6.5])

    @pytest.mark.parametrize(
        ("bounds", "words"),
        [
            ((2.0, 90.5), "The video is only 90 s long"),
            ((1.5, 4.25), "These are its bounds already"),
            ((10.0, 20.0), "Another moment of this video has these bounds"),
        ],
    )
    def test_bounds_it_cannot_have(self, pair: Pair, bounds: tuple[float, float], words: str) -> None:
        MomentFactory(video=pair.candidate.moment.video, start_s=10.0, end_s=20.0)
        with pytest.raises(NotPossibleNow, match=words):
            ask(pair, bounds)
        assert not Recut.objects.exists()

    @pytest.mark.parametrize(
        ("use", "words"),
        [
            (judge, "Somebody has judged this moment, so its bounds stay"),
            (judge_for_another_query, "judged this moment"),
            (lambda pair: take(pair.batch), "assigned to somebody just now"),
            (lambda pair: KnownPairFactory(moment=pair.candidate.moment), "exam or a tutorial"),
            (make_an_example_of_it, "an example in a guideline"),
        ],
    )
    def test_of_a_moment_in_use_they_stay(self, pair: Pair, use: Callable[[Pair], object], words: str) -> None:
        use(pair)
        with pytest.raises(NotPossibleNow, match=words):
            ask(pair, (2.0, 6.5))

    def test_judged_while_it_was_being_cut_they_stay(self, pair: Pair, spans_cut: list[object]) -> None:
        recut = ask(pair, (2.0, 6.5))
        assignment = take(pair.batch)
        give(assignment, pair, 3)
        assert not recut_work(recut_id=recut.pk)
        recut.refresh_from_db()
        assert recut.error.startswith("Somebody has judged this moment")
        assert (moment_of(pair).start_s, moment_of(pair).end_s) == (1.5, 4.25)

    def test_taken_by_another_moment_meanwhile(self, pair: Pair, spans_cut: list[object]) -> None:
        recut = ask(pair, (2.0, 6.5))
        MomentFactory(video=pair.candidate.moment.video, start_s=2.0, end_s=6.5)
        assert not recut_work(recut_id=recut.pk)
        recut.refresh_from_db()
        assert recut.error.startswith("Another moment has these bounds")
        assert why_bounds_stay(moment_of(pair)) is None


def test_with_a_real_video(clip: bytes, videos_on_disk: Path) -> None:
    pair = BatchFactory(pairs=1).pairs.get()
    video = pair.candidate.moment.video
    video.file.save("clip.mp4", ContentFile(clip))
    Video.objects.filter(pk=video.pk).update(duration_s=4.0)
    assert recut_work(recut_id=ask(pair, (1.0, 2.5)).pk)
    after = moment_of(pair)
    assert (after.start_s, after.end_s) == (1.0, 2.5)
    assert after.preview.read().startswith(b"GIF89a")
    assert pairs_of(Batch.objects.get()) == [pair]
