"""Errors of this library, by name.

Errors between a file and its scores read ``file: place in it: problem``. The innermost function names the problem;
each reader on the way out adds its place with ``at``.
"""

from __future__ import annotations


class RetrievalError(Exception):
    """Base of all errors of this library."""


class ScoringError(RetrievalError):
    """A run cannot be scored; ``str`` says where and why, in words for the person who made the file."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.locations: list[str] = []  # outermost first: file, entry, row
        self.steps: list[str | int] = []  # the same for programs: keys and indexes into a JSON value

    def __str__(self) -> str:
        return ": ".join([*self.locations, self.problem])


class UnreadableFile(ScoringError):
    """The file is missing, may not be read, is too large, or cannot be written."""


class MalformedFile(ScoringError):
    """The bytes are not what they claim to be: broken gzip, text that is not UTF-8, or not JSON."""


class EmptyFile(ScoringError):
    """The file holds no query or no video."""


class InvalidRecord(ScoringError, ValueError):
    """An entry lacks a key, or a value has the wrong type or lies outside its range."""


class DuplicateQuery(ScoringError):
    """A query appears twice in a file that must name it once."""


class CorpusNeeded(ScoringError):
    """The run names videos by index and there is no corpus, or one without indexes, to translate them."""


class UnknownVideo(ScoringError):
    """The run names a video index that the corpus does not have."""


class UnknownQuery(ScoringError):
    """The run answers a query that the ground truth does not have."""


class WrongFormat(ScoringError):
    """The file is not of the expected kind: another format, or ground truth where a run is expected."""


class NotWritable(ScoringError):
    """The moments cannot be written in a format: it has no place for something they hold."""


class InvalidCutoff(ScoringError, ValueError):
    """A cutoff ``k`` or an IoU threshold ``mu`` is out of range."""


def first_line(error: Exception) -> str:
    """Return the first line of what a library says, or the name of the error where it says nothing."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


class at:
    """Context manager: errors that pass through learn that they happened at ``location``, ``steps`` into JSON."""

    __slots__ = ("location", "steps")

    def __init__(self, location: str, *steps: str | int) -> None:
        self.location = location
        self.steps = steps

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, ScoringError):
            error.locations.insert(0, self.location)
            error.steps[:0] = self.steps


class ZeroLengthMoment(ScoringError, ValueError):
    """A moment is too short to hold a clip; nothing can be learnt from it."""


class MissingFeatures(ScoringError, KeyError):
    """A video or query has no features in the file."""

    __str__ = ScoringError.__str__  # a KeyError would print it in quotes


class BrokenFeatures(ScoringError):
    """A file of features is cut short, of another layout, or holds rows of the wrong shape."""


class MissingModel(ScoringError):
    """The model that features are made with cannot be loaded here."""
