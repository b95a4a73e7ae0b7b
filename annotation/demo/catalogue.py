"""Who plays where and what can happen: the invented shows, their people and sentences; every action on the stage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Gender = Literal["man", "woman"]
Hair = Literal["short", "spiky", "curly", "bald", "long", "bob", "bun", "ponytail"]
Wear = Literal["plain", "stripes", "coat", "apron", "vest", "tie", "dungarees"]


@dataclass(frozen=True)
class Character:
    """One person of a show; every field but name and gender is looks (colours are '#rrggbb')."""

    name: str
    gender: Gender
    skin: str
    hair: Hair
    hair_colour: str
    top: str
    bottom: str
    wear: Wear = "plain"
    skirt: bool = False
    beard: bool = False
    glasses: bool = False


@dataclass(frozen=True)
class Show:
    """A show plays in one place; ``seat`` and ``board`` are the nouns of its furniture."""

    title: str
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


PALE, FAIR, TAN, BROWN, DARK = "#ffe0c7", "#f6c9a0", "#dba06f", "#a86c43", "#7a4a2b"

SHOWS = (
    Show(
        "Ninth Floor",
        "ninth_floor",
        "office",
        "chair",
        "board",
        (
            Character("Dana", "woman", FAIR, "bob", "#b5472b", "#2f6db5", "#2b2f3a", skirt=True),
            Character("Victor", "man", DARK, "short", "#1d1614", "#f2f2ee", "#39424e", wear="tie"),
            Character("Priya", "woman", BROWN, "long", "#1f1a1c", "#e0467c", "#4a3a63"),
            Character("Oskar", "man", PALE, "spiky", "#e3b64b", "#3f9a63", "#54453a", glasses=True),
        ),
    ),
    Show(
        "Maple Street",
        "maple_street",
        "living room",
        "sofa",
        "window",
        (
            Character("Lena", "woman", PALE, "ponytail", "#f0c75e", "#d94f4f", "#33507a"),
            Character("Tobias", "man", TAN, "curly", "#4b2e1f", "#f0a63a", "#3d5a80", beard=True),
            Character("Imogen", "woman", DARK, "bun", "#231815", "#8f5fc0", "#3a2d4d", skirt=True),
            Character("Hugo", "man", FAIR, "bald", "#8a5a3b", "#5fae57", "#6b5137", wear="stripes"),
        ),
    ),
    Show(
        "Ward Seven",
        "ward_seven",
        "hospital ward",
        "bed",
        "window",
        (
            Character("Amara", "woman", DARK, "curly", "#1c1412", "#4fb3b0", "#3b6f86", wear="coat"),
            Character("Felix", "man", FAIR, "short", "#7b4a26", "#5c8fd6", "#3f4b5c", wear="coat", glasses=True),
            Character("Ingrid", "woman", PALE, "bun", "#e8d27c", "#e27ea0", "#c96a8c"),
            Character("Mateo", "man", TAN, "spiky", "#231a18", "#3aa890", "#2f8674", beard=True),
        ),
    ),
    Show(
        "The Copper Kettle",
        "copper_kettle",
        "cafe",
        "chair",
        "board",
        (
            Character("Nora", "woman", FAIR, "long", "#8c3b1f", "#f3e9d6", "#4a3b35", wear="apron"),
            Character("Samir", "man", BROWN, "short", "#17120f", "#c9453a", "#2e3240", beard=True),
            Character("Bea", "woman", TAN, "bob", "#2a2230", "#f2c230", "#3f6b57", skirt=True, glasses=True),
            Character("Julius", "man", PALE, "curly", "#d0702b", "#3e4f8a", "#6a5a49", wear="vest"),
        ),
    ),
    Show(
        "Sawdust",
        "sawdust",
        "workshop",
        "stool",
        "board",
        (
            Character("Greta", "woman", PALE, "ponytail", "#7a3d1d", "#f0e2c4", "#3e6fae", wear="dungarees"),
            Character("Walter", "man", FAIR, "bald", "#c9c4bb", "#c23d35", "#4c4a48", beard=True, wear="stripes"),
            Character("Yuki", "woman", FAIR, "bob", "#16141c", "#33a06f", "#5b4638"),
            Character("Bruno", "man", BROWN, "spiky", "#2c1c14", "#e8b23c", "#35587d", wear="dungarees"),
        ),
    ),
    Show(
        "Room Twelve",
        "room_twelve",
        "classroom",
        "chair",
        "board",
        (
            Character("Odile", "woman", TAN, "long", "#5a2c1a", "#e86f3c", "#44305e", skirt=True),
            Character("Kenji", "man", FAIR, "spiky", "#14131a", "#e9e4da", "#3a3f55", wear="tie", glasses=True),
            Character("Marta", "woman", PALE, "curly", "#c1492b", "#3b82a8", "#5d4b3f", glasses=True),
            Character("Elliot", "man", DARK, "curly", "#1a1412", "#d64a6b", "#2f4a63", wear="vest"),
        ),
    ),
)

LINES = (
    Line("The train is late again.", "the train is late again"),
    Line("I found the old map.", "the old map has been found"),
    Line("We need more paint by Friday.", "more paint is needed by Friday"),
    Line("The party starts at eight.", "the party starts at eight"),
    Line("It will rain all weekend.", "it will rain all weekend"),
    Line("The new neighbour plays the drums.", "the new neighbour plays the drums"),
    Line("Nobody remembered the keys.", "nobody remembered the keys"),
    Line("The test results are good.", "the test results are good"),
    Line("The soup was far too hot.", "the soup was far too hot"),
    Line("There is a cat on the roof.", "there is a cat on the roof"),
    Line("The meeting moved to Monday.", "the meeting moved to Monday"),
    Line("The bakery is closed today.", "the bakery is closed today"),
)

CHAT = (
    "Are you sure about that?",
    "I have been thinking about it all day.",
    "You should have seen it!",
    "That is not what I meant.",
    "Let us try it once more.",
    "How was your morning?",
    "I can hardly believe it.",
    "Wait, who told you?",
    "It is somewhere around here.",
    "Thank you, that helps a lot.",
    "We still have some time.",
    "Please do not tell anyone.",
    "Well, that went better than expected.",
    "I promise I will be there.",
    "What are we going to do now?",
    "Sounds like a plan.",
)


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
