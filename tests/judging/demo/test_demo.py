"""The demo: seeded once, and made ready step by step."""

from collections import Counter

import pytest

from accounts.models import Project, User
from annotation.demo import video_path
from annotation.models import Moment, Video
from core.exceptions import NotPossible
from core.models import Job
from judging.demo import services
from judging.demo.services import demo_advance, demo_render, demo_seed
from judging.demo.simulation import VAL_OF_STORY
from judging.models import Batch, Judgment
from judging.work.services.assignments import assignment_take
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.judging.demo_site import SEED, everything, seeded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder", "videos_on_disk", "one_clip")]


class TestSeed:
    @pytest.mark.parametrize("videos", [2, 3, 4, 5, 6])
    def test_rows(self, videos: int) -> None:
        project = seeded(videos)
        assert project.is_demo
        assert Video.objects.filter(corpus=project.dataset.corpus).count() == videos
        assert set(Moment.objects.values_list("preview_state", flat=True)) == {"missing"}
        assert set(project.queries.values_list("split", flat=True)) == {"val", "test", "train"}
        texts = [query.text for query in project.queries.exclude(split="train")]
        assert len(set(texts)) == len(texts)
        assert not project.queries.filter(split="train", text__in=texts).exists()
        job = Job.objects.get(project=project)
        assert (job.state, job.done, job.total) == ("running", 0, videos + 8)

    def test_people(self) -> None:
        project = seeded()
        roles = Counter(project.memberships.values_list("roles__0", "user__is_simulated"))
        names = ("lead", "admin", "annotator", "participant", "writer", "checker")
        assert roles == {**{(name, False): 1 for name in names}, ("annotator", True): 7}
        for name in names:
            assert User.objects.get(username=name).check_password(f"{name}-demo")
        assert not any(user.has_usable_password() for user in User.objects.filter(is_simulated=True))
        before = everything()
        assert demo_seed(videos=2, seed=SEED) is None
        assert everything() == before

    def test_only_into_an_empty_database(self) -> None:
        ProjectFactory()
        assert demo_seed(videos=2, seed=SEED) is None
        assert Project.objects.count() == 1

    def test_a_seed_whose_videos_are_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(services, "video_path", video_path)
        with pytest.raises(NotPossible, match="2 videos .* seed 5 .* --seed 5 --videos 2"):
            demo_seed(videos=2, seed=5)
        assert not Project.objects.exists()


def test_somebody_judges_before_most_videos_are_cut() -> None:
    """One batch is open, of a query that the simulated annotators leave alone; only its own moments are cut."""
    project = seeded(20)
    for _ in range(2):
        demo_advance()
    batch = Batch.objects.get()
    states = Counter(Moment.objects.values_list("preview_state", flat=True))
    assert states == {"ready": 20, "missing": Moment.objects.count() - 20}
    assert Video.objects.filter(file="").exists()
    assignment = assignment_take(project=project, annotator=User.objects.get(username="annotator"))
    assert assignment and assignment.batch == batch and len(assignment.pair_ids) == 20
    story_begin = project.queries.filter(split="val").order_by("number")[:VAL_OF_STORY]
    assert batch.query.split == "val" and batch.query not in story_begin


class TestVideo:
    def test_one_video_with_its_previews_however_often(self) -> None:
        video = seeded().dataset.corpus.videos.get(index=1)
        names = set()
        for _ in range(2):
            demo_render(video_id=video.pk)
            video.refresh_from_db()
            names.add(video.file.name)
        assert video.file and len(names) == 1
        assert set(video.moments.values_list("preview_state", flat=True)) == {"ready"}
        job = Job.objects.get()
        assert (job.done, job.title) == (1, "Cutting the previews of the demo: video 1 of 2")

    def test_the_last_one_wakes_the_next_step(self, messages: Messages) -> None:
        project = seeded()
        first, last = project.dataset.corpus.videos.order_by("index")
        with messages() as callbacks:
            demo_render(video_id=first.pk)
        assert callbacks == []
        with messages():
            demo_render(video_id=last.pk)
        assert Job.objects.get().state == "done"

    def test_lost_messages_are_sent_again_after_a_while(
        self, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = seeded()
        with messages() as callbacks:
            demo_advance()
        assert callbacks == []
        monkeypatch.setattr(services, "RESEND_AFTER_S", -1)
        with messages():
            demo_advance()
        assert set(Moment.objects.values_list("preview_state", flat=True)) == {"ready"}
        assert Job.objects.get(project=project).state == "done"


def test_nothing_without_a_demo() -> None:
    demo_advance()
    assert not Job.objects.exists()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_shipped_videos(messages: Messages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of them, cut for real, with the sentence model's stand-in."""
    monkeypatch.setattr(services, "video_path", video_path)
    with messages():
        project = seeded(2)
    assert Job.objects.get(project=project).state == "done"
    assert set(Moment.objects.values_list("preview_state", flat=True)) == {"ready"}
    assert all(moment.preview.size > 10_000 for moment in Moment.objects.all())
    moments_with_clip = Moment.objects.exclude(preview_clip="")
    assert len(moments_with_clip) > Moment.objects.count() / 2
    assert all(moment.preview_clip.size < moment.preview.size for moment in moments_with_clip)
    assert Judgment.objects.exists()
