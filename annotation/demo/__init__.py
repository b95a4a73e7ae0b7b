"""The demo corpus: short drawn videos, their subtitles, moments and true relevance.

Everything follows from a seed. The videos are drawn by ``tools/demo_videos`` and shipped beside this file.
"""

from pathlib import Path

from annotation.demo.script import Episode, Event, ScriptedMoment, SubtitleLine, true_relevance, write_script

__all__ = ["Episode", "Event", "ScriptedMoment", "SubtitleLine", "true_relevance", "video_path", "write_script"]


def video_path(episode: Episode) -> Path:
    """Return where the episode's video is; one of another seed than the shipped one is there once it is drawn."""
    return Path(__file__).with_name("videos") / str(episode.seed) / f"{episode.name}.mp4"
