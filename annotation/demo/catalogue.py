"""Who plays where and what can happen: the invented shows, their people and sentences; every action on the stage."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Gender = Literal["man", "woman"]


@dataclass(frozen=True)
class Character:
    """One person of a show; every field but name and gender is looks (colours are '#rrggbb')."""

    name: str
    gender: Gender
    skin: str
    hair: str  # short, spiky, curly, bald, long, bob, bun or ponytail
    hair_colour: str
    top: str
    bottom: str
    wear: str = "plain"  # or stripes, coat, apron, vest, tie, dungarees
    skirt: bool = False
    beard: bool = False
    glasses: bool = False


@dataclass(frozen=True)
class Show:
    """A show plays in one place; ``chair`` and ``board`` are the nouns of its furniture."""

    slug: str
    location: str
    chair: str
    board: str
    cast: tuple[Character, ...]


@dataclass(frozen=True)
class Line:
    """Something to say, and the same as reported speech."""

    text: str
    reported: str


DATA = tomllib.loads(Path(__file__).with_name("shows.toml").read_text(encoding="utf-8"))
SHOWS = tuple(Show(**{**show, "cast": tuple(Character(**person) for person in show["cast"])}) for show in DATA["shows"])
LINES = tuple(Line(**line) for line in DATA["lines"])
CHAT: tuple[str, ...] = tuple(DATA["chat"])

Target = Literal["", "door", "chair", "board", "lamp", "plant"]
NOUNS = {"shoes": "a pair of shoes", "teddy": "a teddy bear", "flowers": "a bunch of flowers"}  # others: "a cup"
PIECES = {"door": 110.0, "chair": 300.0, "board": 700.0, "lamp": 880.0, "plant": 1000.0}  # x on the stage


@dataclass(frozen=True)
class ActionSpec:
    """How an action reads and where it is played; ``shows.toml`` says what the fields mean."""

    steps: Sequence[str]
    sentence: str
    focus: float
    zoom: float
    items: Sequence[str] = ()
    target: Target = ""
    partner: bool = False


SPECS = {name: ActionSpec(**action) for name, action in DATA["actions"].items()}


@dataclass(frozen=True)
class Camera:
    """The frame of the picture: the stage x in its middle, and pixels per stage unit."""

    x: float
    zoom: float
    mirrored: bool = False

    def sees(self, x: float) -> bool:
        """Say whether something 60 units wide at stage ``x`` is well inside the picture."""
        return abs(x - self.x) < 320 / self.zoom - 30
