"""Cuts of files: planted ones, files that are no video, and being told to stop."""

from pathlib import Path

import pytest

from annotation.previews.process import VideoUnreadable
from annotation.proposals.detecting import cuts_of
from tests.annotation.proposals.videos import video_with_cuts


def test_planted_cuts_are_at_their_frames_and_seconds(tmp_path: Path) -> None:
    path = video_with_cuts(tmp_path / "a.mp4", [20, 15, 30])
    seconds: list[float] = []
    cuts = cuts_of(path, on_frame=seconds.append)
    assert [(one.frame, one.at_s) for one in cuts] == [(20, 2.0), (35, 3.5)]
    assert seconds == [0.0, 5.0]  # every 50 frames


def test_what_is_no_video(tmp_path: Path) -> None:
    playlist = tmp_path / "list.mp4"
    playlist.write_text(f"ffconcat version 1.0\nfile '{video_with_cuts(tmp_path / 'secret.mp4', [5])}'\n")
    for path in (playlist, tmp_path / "missing.mp4"):  # a playlist must not open other files
        with pytest.raises(VideoUnreadable):
            cuts_of(path)


def test_a_damaged_end_keeps_the_cuts_before_it(tmp_path: Path) -> None:
    path = video_with_cuts(tmp_path / "a.mkv", [20, 15, 30])
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * 0.8)])
    assert [one.frame for one in cuts_of(path)][:1] == [20]
