"""The demo corpus: short drawn videos, their subtitles, moments and true relevance, all from a seed."""

from annotation.demo.render import render_episode
from annotation.demo.script import Episode, Event, ScriptedMoment, SubtitleLine, true_relevance, write_script

__all__ = ["Episode", "Event", "ScriptedMoment", "SubtitleLine", "render_episode", "true_relevance", "write_script"]
