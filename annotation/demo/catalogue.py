"""Who plays where and what can happen: the invented shows, their people and sentences; every action on the stage."""

from __future__ import annotations

import tomllib
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
    """A show plays in one place; ``seat`` and ``board`` are the nouns of its furniture."""

    slug: str
    place: str
    seat: str
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

Target = Literal["", "door", "seat", "board", "lamp", "plant"]
CLOSE = 1.5  # pixels per stage unit when hands and faces matter
WIDE = 1.0
NOUNS = {"shoes": "a pair of shoes", "teddy": "a teddy bear", "flowers": "a bunch of flowers"}  # others: "a cup"
PIECES = {"door": 110.0, "seat": 300.0, "board": 700.0, "lamp": 880.0, "plant": 1000.0}  # x on the stage


@dataclass(frozen=True)
class ActionSpec:
    """How an action reads and where it is played.

    ``steps`` are what truth compares. ``sentence`` may use {a} and {b} (people), {item}, {target} and {his}.
    ``focus`` is the x the camera looks at (stage units) and ``zoom`` the pixels per stage unit of a full shot.
    """

    steps: tuple[str, ...]
    sentence: str
    focus: float
    zoom: float
    items: tuple[str, ...] = ()
    target: Target = ""
    partner: bool = False


SPECS: dict[str, ActionSpec] = {  # everything a person of the demo corpus can be seen doing
    "walk_in": ActionSpec(("open_door", "enter"), "{a} walks in through the door", 250, WIDE, target="door"),
    "open_door": ActionSpec(("open_door",), "{a} opens the door", 210, 1.2, target="door"),
    "sit_down": ActionSpec(("sit",), "{a} sits down on the {target}", 350, 1.2, target="seat"),
    "stand_walk": ActionSpec(
        ("stand", "walk_to"), "{a} stands up and walks to the {target}", 500, WIDE, target="board"
    ),
    "walk_to": ActionSpec(("walk_to",), "{a} walks to the {target}", 560, WIDE, target="board"),
    "hug": ActionSpec(("hug",), "{a} hugs {b}", 500, CLOSE, partner=True),
    "wave": ActionSpec(("wave",), "{a} waves at {b}", 500, CLOSE, partner=True),
    "pick_up": ActionSpec(("pick_up",), "{a} picks up {item} from the floor", 490, 1.2, ("box", "bag")),
    "drink": ActionSpec(("drink",), "{a} drinks from {item}", 480, CLOSE, ("cup", "bottle")),
    "read": ActionSpec(("read",), "{a} reads {item}", 480, CLOSE, ("book", "newspaper")),
    "sit_read": ActionSpec(
        ("sit", "read"), "{a} sits down on the {target} and reads {item}", 350, 1.2, ("book", "newspaper"), "seat"
    ),
    "unpack": ActionSpec(
        ("open_box", "take_out"), "{a} opens a box and takes out {item}", 490, CLOSE, ("shoes", "hat", "teddy")
    ),
    "open_box": ActionSpec(("open_box",), "{a} opens {item} and looks inside", 490, CLOSE, ("box",)),
    "phone": ActionSpec(("phone",), "{a} talks on {item}", 480, CLOSE, ("phone",)),
    "give": ActionSpec(("give",), "{a} gives {item} to {b}", 505, CLOSE, ("flowers", "gift", "book"), partner=True),
    "lamp": ActionSpec(("switch_on",), "{a} turns on the lamp", 830, 1.2, target="lamp"),
    "dance": ActionSpec(("dance",), "{a} dances with {b}", 500, 1.2, partner=True),
    "write": ActionSpec(("write",), "{a} writes on the {target}", 690, 1.2, target="board"),
    "water": ActionSpec(("water",), "{a} waters the plant", 940, CLOSE, target="plant"),
    "put_on": ActionSpec(("put_on",), "{a} puts on {item}", 480, CLOSE, ("hat",)),
    "hold": ActionSpec(("hold",), "{a} stands still with {item} in {his} hand", 480, CLOSE, ("cup", "gift", "flowers")),
    "talk": ActionSpec(("talk",), "{a} talks to {b}", 500, CLOSE, partner=True),
}


@dataclass(frozen=True)
class Camera:
    """The frame of the picture: the stage x in its middle, and pixels per stage unit."""

    x: float
    zoom: float
    mirrored: bool = False

    def sees(self, x: float) -> bool:
        """Say whether something 60 units wide at stage ``x`` is well inside the picture."""
        return abs(x - self.x) < 320 / self.zoom - 30
