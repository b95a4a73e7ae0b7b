"""What can happen: every action with its steps, its sentence and its place on the stage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Target = Literal["", "door", "seat", "board", "lamp", "plant"]
CLOSE = 1.5  # pixels per stage unit when hands and faces matter
WIDE = 1.0
NOUNS = {
    "box": "a box", "bag": "a bag", "cup": "a cup", "bottle": "a bottle", "book": "a book",
    "newspaper": "a newspaper", "shoes": "a pair of shoes", "hat": "a hat", "teddy": "a teddy bear",
    "phone": "a phone", "flowers": "a bunch of flowers", "gift": "a gift",
}  # fmt: skip
PIECES = {"door": 110.0, "seat": 300.0, "board": 700.0, "lamp": 880.0, "plant": 1000.0}  # x on the stage


class Action(StrEnum):
    """Everything a person of the demo corpus can be seen doing."""

    WALK_IN = "walk_in"
    OPEN_DOOR = "open_door"
    SIT_DOWN = "sit_down"
    STAND_WALK = "stand_walk"
    WALK_TO = "walk_to"
    HUG = "hug"
    WAVE = "wave"
    PICK_UP = "pick_up"
    DRINK = "drink"
    READ = "read"
    SIT_READ = "sit_read"
    UNPACK = "unpack"
    OPEN_BOX = "open_box"
    PHONE = "phone"
    GIVE = "give"
    LAMP = "lamp"
    DANCE = "dance"
    WRITE = "write"
    WATER = "water"
    PUT_ON = "put_on"
    HOLD = "hold"
    TALK = "talk"


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
    extras: tuple[str, ...] = ()  # things on the stage besides item and target


SPECS: dict[Action, ActionSpec] = {
    Action.WALK_IN: ActionSpec(("open_door", "enter"), "{a} walks in through the door", 250, WIDE, target="door"),
    Action.OPEN_DOOR: ActionSpec(("open_door",), "{a} opens the door", 210, 1.2, target="door"),
    Action.SIT_DOWN: ActionSpec(("sit",), "{a} sits down on the {target}", 350, 1.2, target="seat"),
    Action.STAND_WALK: ActionSpec(
        ("stand", "walk_to"), "{a} stands up and walks to the {target}", 500, WIDE, target="board"
    ),
    Action.WALK_TO: ActionSpec(("walk_to",), "{a} walks to the {target}", 560, WIDE, target="board"),
    Action.HUG: ActionSpec(("hug",), "{a} hugs {b}", 500, CLOSE, partner=True),
    Action.WAVE: ActionSpec(("wave",), "{a} waves at {b}", 500, CLOSE, partner=True),
    Action.PICK_UP: ActionSpec(("pick_up",), "{a} picks up {item} from the floor", 490, 1.2, ("box", "bag")),
    Action.DRINK: ActionSpec(("drink",), "{a} drinks from {item}", 480, CLOSE, ("cup", "bottle")),
    Action.READ: ActionSpec(("read",), "{a} reads {item}", 480, CLOSE, ("book", "newspaper")),
    Action.SIT_READ: ActionSpec(
        ("sit", "read"), "{a} sits down on the {target} and reads {item}", 350, 1.2, ("book", "newspaper"), "seat"
    ),
    Action.UNPACK: ActionSpec(
        ("open_box", "take_out"),
        "{a} opens a box and takes out {item}",
        490,
        CLOSE,
        ("shoes", "hat", "teddy"),
        extras=("box",),
    ),
    Action.OPEN_BOX: ActionSpec(("open_box",), "{a} opens {item} and looks inside", 490, CLOSE, ("box",)),
    Action.PHONE: ActionSpec(("phone",), "{a} talks on {item}", 480, CLOSE, ("phone",)),
    Action.GIVE: ActionSpec(
        ("give",), "{a} gives {item} to {b}", 505, CLOSE, ("flowers", "gift", "book"), partner=True
    ),
    Action.LAMP: ActionSpec(("switch_on",), "{a} turns on the lamp", 830, 1.2, target="lamp"),
    Action.DANCE: ActionSpec(("dance",), "{a} dances with {b}", 500, 1.2, partner=True),
    Action.WRITE: ActionSpec(("write",), "{a} writes on the {target}", 690, 1.2, target="board"),
    Action.WATER: ActionSpec(("water",), "{a} waters the plant", 940, CLOSE, target="plant"),
    Action.PUT_ON: ActionSpec(("put_on",), "{a} puts on {item}", 480, CLOSE, ("hat",)),
    Action.HOLD: ActionSpec(
        ("hold",), "{a} stands still with {item} in {his} hand", 480, CLOSE, ("cup", "gift", "flowers")
    ),
    Action.TALK: ActionSpec(("talk",), "{a} talks to {b}", 500, CLOSE, partner=True),
}


@dataclass(frozen=True)
class Camera:
    """What the picture shows: the stage x in its middle, and pixels per stage unit."""

    x: float
    zoom: float
    mirrored: bool = False

    def sees(self, x: float) -> bool:
        """Say whether something 60 units wide at stage ``x`` is well inside the picture."""
        return abs(x - self.x) < 320 / self.zoom - 30
