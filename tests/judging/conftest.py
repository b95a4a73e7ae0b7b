"""A project, its lead and an annotator in a browser; one short clip in place of the demo's videos."""

import subprocess
from pathlib import Path

import pytest
from django.test import Client
from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]

from accounts.models import Project
from judging.demo import services
from judging.models import Assignment
from tests.factories import BatchFactory, ProjectFactory, lead
from tests.judging.views.acts import hold


@pytest.fixture
def open_assignment() -> Assignment:
    """An open assignment of three pairs whose lease runs."""
    return hold(BatchFactory(pairs=3))


@pytest.fixture
def browser(client: Client, open_assignment: Assignment) -> Client:
    client.force_login(open_assignment.annotator)
    return client


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


@pytest.fixture
def lead_client(client: Client, project: Project) -> Client:
    client.force_login(lead(project))
    return client


@pytest.fixture(scope="session")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video of few pixels, longer than any episode."""
    path = tmp_path_factory.mktemp("demo") / "long.mp4"
    source = "testsrc=size=32x18:rate=3:duration=120"
    encode = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
    command = [get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", source, *encode, str(path)]
    subprocess.run(command, check=True, timeout=600)
    return path


@pytest.fixture
def one_clip(long_clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every episode of the demo is the same clip."""
    monkeypatch.setattr(services, "video_path", lambda episode: long_clip)
