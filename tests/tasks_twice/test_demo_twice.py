"""The tasks of the demo, which is seeded into an empty database alone, run twice."""

from pathlib import Path

import pytest

from annotation.models import Video
from config.celery_app import app
from judging.demo import services
from tests.conftest import Messages
from tests.judging.demo_site import seeded
from tests.tasks_twice.digest import differences, digest
from tests.tasks_twice.scenarios import GONE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder", "videos_on_disk")]
RENDER, ADVANCE = "judging.tasks.demo_render", "judging.tasks.demo_advance"


def test_a_repeat_changes_nothing(
    messages: Messages, clip: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(clip)
    monkeypatch.setattr(services, "video_path", lambda episode: path)
    videos = list(Video.objects.filter(corpus=seeded().dataset.corpus_id).order_by("pk"))
    before = digest()
    app.tasks[RENDER].apply((GONE,), throw=True)
    assert differences(before, digest()) == []
    for video in videos:
        with messages():
            app.tasks[RENDER].apply((video.pk,), throw=True)
    with messages():
        app.tasks[ADVANCE].apply(throw=True)
    once = digest()
    for task, args in ((RENDER, (videos[0].pk,)), (ADVANCE, ()), (RENDER, (videos[1].pk,))):
        with messages():
            app.tasks[task].apply(args, throw=True)
    assert differences(once, digest()) == []
