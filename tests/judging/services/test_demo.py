"""The demo: seeded once, rendered, brought to life with one of everything, and answering the person who tries it."""

import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]

from annotation import media
from annotation.media import Preview
from annotation.models import Candidate, Job, Moment, Project, Query, User, Video
from judging import selectors
from judging.models import Assignment, Batch, BatchReview, Judgment, Pair, Release
from judging.rules import consensus
from judging.services.assignments import assignment_take
from judging.services.demo import demo_advance, demo_render, demo_seed, progress
from judging.services.demo.grading import truth_of_pair, visitors_answer
from models_runner.models import Run
from tests.conftest import Messages
from tests.factories import GIF, NOW, ProjectFactory
from tests.judging.play import finish, give, ungraded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder", "videos_on_disk", "quick_rendering")]
VIDEOS, SEED = 5, 20260101


@pytest.fixture(scope="session")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A tiny video longer than any episode."""
    path = tmp_path_factory.mktemp("demo") / "long.mp4"
    source = "testsrc=size=32x18:rate=3:duration=120"
    encode = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
    command = [get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", source, *encode, str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path.read_bytes()


@pytest.fixture
def quick_rendering(long_clip: bytes, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Draw nothing: every episode is the same clip. The list holds the names asked for."""
    asked: list[str] = []

    def render(episode: object, path: Path) -> None:
        asked.append(episode.name)  # type: ignore[attr-defined]
        path.write_bytes(long_clip)

    monkeypatch.setattr(progress, "render_episode", render)
    return asked


def seeded(videos: int = 2) -> Project:
    project = demo_seed(videos=videos, seed=SEED)
    assert project is not None
    return project


@pytest.fixture
def ready(messages: Messages, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The demo as `make run` leaves it: every message was delivered. Nothing is cut: every preview is one pixel."""

    def cut(path: Path, spans: Sequence[object]) -> list[Preview]:
        return [Preview(index, GIF, 1, 1) for index in range(len(spans))]

    monkeypatch.setattr(media, "cut_previews", cut)
    with messages():
        project = seeded(VIDEOS)
    assert Job.objects.get(project=project).state == "done"
    return project


def everything() -> list[object]:
    tables = (Project, Video, Moment, Query, Candidate, Batch, Pair, Assignment, Judgment, BatchReview, Release, Run)
    return [list(model.objects.order_by("pk").values_list()) for model in tables]  # type: ignore[attr-defined]


class TestSeed:
    @pytest.mark.parametrize("videos", [2, 3, 4, 5, 6])
    def test_rows(self, videos: int) -> None:
        project = seeded(videos)
        assert project.is_demo
        assert Video.objects.filter(corpus=project.corpus).count() == videos
        assert set(Moment.objects.values_list("preview_state", flat=True)) == {"missing"}
        assert set(project.queries.values_list("split", flat=True)) == {"val", "test", "train"}
        texts = [query.text for query in project.queries.exclude(split="train")]
        assert len(set(texts)) == len(texts)
        assert not project.queries.filter(split="train", text__in=texts).exists()
        job = Job.objects.get(project=project)
        assert (job.state, job.done, job.total) == ("running", 0, videos + 5)

    def test_people(self) -> None:
        project = seeded()
        roles = Counter(project.memberships.values_list("role", "user__is_simulated"))
        assert roles == {("lead", False): 1, ("admin", False): 1, ("annotator", False): 1, ("annotator", True): 7}
        for name in ("lead", "admin", "annotator"):
            assert User.objects.get(username=name).check_password(f"{name}-demo")
        assert not any(user.has_usable_password() for user in User.objects.filter(is_simulated=True))

    def test_only_into_an_empty_database(self) -> None:
        ProjectFactory()
        assert demo_seed(videos=2, seed=SEED) is None
        assert Project.objects.count() == 1

    def test_twice(self) -> None:
        seeded()
        before = everything()
        assert demo_seed(videos=2, seed=SEED) is None
        assert everything() == before


class TestRender:
    def test_one_video_with_its_previews(self, quick_rendering: list[str]) -> None:
        project = seeded()
        video = project.corpus.videos.get(index=1)
        demo_render(video_id=video.pk)
        video.refresh_from_db()
        assert quick_rendering == [video.name]
        assert video.file
        assert set(video.moments.values_list("preview_state", flat=True)) == {"ready"}
        job = Job.objects.get()
        assert (job.done, job.title) == (1, "Rendering the demo videos: 1 of 2")

    def test_again_renders_nothing(self, quick_rendering: list[str]) -> None:
        video = seeded().corpus.videos.get(index=0)
        for _ in range(2):
            demo_render(video_id=video.pk)
        assert len(quick_rendering) == 1

    def test_the_last_one_wakes_the_next_step(self, messages: Messages) -> None:
        project = seeded()
        first, last = project.corpus.videos.order_by("index")
        with messages() as sent:
            demo_render(video_id=first.pk)
        assert sent == []
        with messages():
            demo_render(video_id=last.pk)
        assert Job.objects.get().state == "done"

    def test_lost_messages_are_sent_again_after_a_while(
        self, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = seeded()
        with messages() as sent:
            demo_advance()
        assert sent == []
        monkeypatch.setattr(progress, "RESEND_AFTER_S", -1)
        with messages():
            demo_advance()
        assert set(Moment.objects.values_list("preview_state", flat=True)) == {"ready"}
        assert Job.objects.get(project=project).state == "done"


class TestReady:
    def test_one_of_everything(self, ready: Project) -> None:
        self.states(ready)
        self.grades(ready)
        self.release(ready)
        examples = ready.guidelines.latest("version").examples.all()
        assert len(examples) >= 3
        assert len({example.query_text for example in examples}) == 1

    def states(self, ready: Project) -> None:
        """Finished, waiting for the lead, escalated, begun, and nothing that only time could end."""
        batches = Batch.objects.filter(project=ready, number=1)
        assert Counter(BatchReview.objects.values_list("decision", flat=True)) == {"close": 4, "extend": 1}
        assert selectors.review_queue(ready).count() >= 3
        begun = batches.filter(state="open", round=1, assignments__isnull=False).distinct()
        assert begun.exists()
        assert all(batch.assignments.count() == 1 for batch in begun)
        assert batches.filter(state="open", round=2).exists()
        assert Pair.objects.filter(state="escalated").exists()
        assert not Assignment.objects.filter(state="open").exists()

    def grades(self, ready: Project) -> None:
        """Simulated annotators know the truth but not exactly; what they agreed on is near it."""
        assert set(Judgment.objects.values_list("source", flat=True)) == {"simulated"}
        pairs = Pair.objects.select_related("batch__query__caption__moment__video", "candidate__moment__video")
        off = []
        for pair in pairs.filter(state__in=["settled", "dropped"]).prefetch_related("judgments"):
            outcome = consensus.settle([judgment.grade for judgment in pair.judgments.all()])
            assert (pair.state, pair.relevance) == outcome
            if pair.relevance is not None:
                off.append(abs(pair.relevance - truth_of_pair(ready, pair)))
        assert len(off) > 50
        assert 0 < sum(off) / len(off) < 1

    def release(self, ready: Project) -> None:
        release = Release.objects.get(project=ready)
        assert release.state == "ready"
        assert release.manifest["counts"]["simulated_judgments"] == release.manifest["counts"]["judgments"] > 0
        assert set(Run.objects.values_list("split", "state")) == {("val", "scored"), ("test", "scored")}

    def test_a_repeat_changes_nothing_even_after_a_crash(self, ready: Project, messages: Messages) -> None:
        before = everything()
        with messages():
            for video in Video.objects.all():
                demo_render(video_id=video.pk)
            demo_advance()
            visitors_answer(ready)  # nobody came
        assert everything() == before
        Job.objects.update(state="running")  # as if it had ended before its last step
        with messages():
            demo_advance()
        assert Job.objects.get().state == "done"
        assert everything() == before

    def test_nothing_without_a_demo(self) -> None:
        demo_advance()
        assert not Job.objects.exists()


class TestVisitor:
    def judge_as_person(self, project: Project) -> Batch:
        """The demo's annotator takes what is due, grades the truth and finishes."""
        person = User.objects.get(username="annotator")
        held = assignment_take(project=project, annotator=person, now=NOW)
        assert held is not None
        for pair in ungraded(held):
            give(held, pair, truth_of_pair(project, pair))
        assert finish(held)
        return held.batch

    def test_escalated_pairs_come_first_and_settle_at_once(self, ready: Project, messages: Messages) -> None:
        with messages():
            batch = self.judge_as_person(ready)
        batch.refresh_from_db()
        assert batch.round == 2
        assert batch.state == "done"
        assert not batch.pairs.filter(state__in=["open", "escalated"]).exists()

    def test_a_begun_batch_is_answered_until_it_settles(self, ready: Project, messages: Messages) -> None:
        Batch.objects.filter(round=2, state="open").update(round=2, state="done", done_at=NOW)  # out of the way
        with messages():
            batch = self.judge_as_person(ready)
        for _ in range(3):
            with messages():
                demo_advance()
        batch.refresh_from_db()
        assert batch.state == "done"
        assert set(batch.pairs.values_list("state", flat=True)) <= {"settled", "dropped"}
        assert Counter(batch.assignments.filter(round=1).values_list("annotator__is_simulated", flat=True)) == {
            True: 1,
            False: 1,
        }
        assert batch in selectors.review_queue(ready)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_real_rendering(messages: Messages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two drawn videos, cut for real, with the sentence model's stand-in."""
    from annotation.demo import render_episode

    monkeypatch.setattr(progress, "render_episode", render_episode)
    with messages():
        project = seeded(2)
    assert Job.objects.get(project=project).state == "done"
    assert set(Moment.objects.values_list("preview_state", flat=True)) == {"ready"}
    assert all(moment.preview.size > 10_000 for moment in Moment.objects.all())
    twins = Moment.objects.exclude(preview_clip="")
    assert len(twins) > Moment.objects.count() / 2
    assert all(moment.preview_clip.size < moment.preview.size for moment in twins)
    assert Judgment.objects.exists()
