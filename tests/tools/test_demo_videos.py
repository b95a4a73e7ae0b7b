"""Rendering: the file is what players and the GIF cutter expect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import av
import numpy as np
import pytest

from annotation.demo import Episode, video_path, write_script
from annotation.demo.catalogue import SPECS
from tools.demo_videos.actions import PLAYS, Part, play
from tools.demo_videos.props import STAGES
from tools.demo_videos.render import render_episode

SECONDS = 6.0
SEED, VIDEOS = 20260101, 40  # of the demo that is shipped
LARGEST = 12_000_000  # bytes of the whole demo


@pytest.fixture(scope="module")
def short() -> Episode:
    return replace(write_script(seed=7, videos=1)[0], duration_s=SECONDS)


@pytest.fixture(scope="module")
def video(short: Episode, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "short.mp4"
    render_episode(short, path)
    return path


def test_video_has_the_promised_format_moves_and_leaves_nothing_beside_it(video: Path) -> None:
    assert [path.name for path in video.parent.iterdir()] == ["short.mp4"]
    with av.open(str(video)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert (stream.width, stream.height) == (640, 360)
        assert stream.pix_fmt == "yuv420p"
        assert stream.average_rate == 12
        assert stream.frames == SECONDS * 12
        assert container.duration is not None
        assert container.duration / 1e6 == pytest.approx(SECONDS, abs=0.1)
        frames = [frame.to_ndarray(format="gray") for frame in container.decode(video=0)]
    assert np.abs(frames[0].astype(int) - frames[40].astype(int)).max() > 50


def test_failure_leaves_nothing(short: Episode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.demo_videos.render.play", Mock(side_effect=RuntimeError("stop")))
    with pytest.raises(RuntimeError, match="stop"):
        render_episode(replace(short, duration_s=1.0), tmp_path / "failed.mp4")
    assert list(tmp_path.iterdir()) == []


def test_every_action_has_a_play_and_every_location_a_stage(short: Episode) -> None:
    assert set(PLAYS) == set(SPECS)
    assert len(STAGES) == 6
    for action in SPECS:
        for step in range(11):
            item = (SPECS[action].items or ("",))[0]
            play(action, Part(step / 10, short.cast[0], short.cast[1], item))


def test_a_shipped_video_is_what_the_code_draws(tmp_path: Path) -> None:
    episode = min(write_script(seed=SEED, videos=VIDEOS), key=lambda episode: episode.duration_s)
    render_episode(episode, tmp_path / "drawn.mp4")
    assert (tmp_path / "drawn.mp4").read_bytes() == video_path(episode).read_bytes(), "run python -m tools.demo_videos"


def test_the_demo_is_shipped_whole_and_small() -> None:
    paths = {video_path(episode) for episode in write_script(seed=SEED, videos=VIDEOS)}
    (folder,) = {path.parent for path in paths}
    assert set(folder.iterdir()) == paths
    assert sum(path.stat().st_size for path in folder.parents[1].rglob("*") if path.suffix != ".pyc") < LARGEST
