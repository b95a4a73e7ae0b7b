"""The demo corpus on paper: what happens in every episode, who says what, what describes it, and what is relevant.

Everything follows from a seed. Episode i depends on the seed and on i alone, so a small corpus is the
beginning of a large one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from annotation.demo.catalogue import CHAT, LINES, NOUNS, PIECES, SHOWS, SPECS, Camera, Character, Gender, Line, Show

Kind = Literal["video", "subtitle", "both"]
Completeness = Literal["whole", "cut", "padded"]
Framing = Literal["full", "side"]

FPS = 12  # every time falls on a frame of the video
SLOTS = 6  # the most moments an episode may hold
CUT_SHARE = 0.42  # a moment that is cut ends after this share of the action
SIDE_ZOOM = 0.66
ROTATION = (  # writing needs a board, which two places lack; giving has many things and people to vary
    *(action for action in SPECS if action != "talk"), "write", "give",
)  # fmt: skip
FLAWS: tuple[tuple[Completeness, Framing], ...] = (  # the turns an action takes as it comes up again
    ("whole", "full"), ("cut", "full"), ("whole", "full"), ("padded", "full"),
    ("whole", "full"), ("whole", "side"), ("whole", "full"), ("whole", "full"),
)  # fmt: skip
SUBJECTS = {"man": "A man", "woman": "A woman"}


@dataclass(frozen=True)
class SubtitleLine:
    """One line of dialogue; times in seconds."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Event:
    """Visible content of a moment.

    ``seen`` names the things and furniture in the picture, and "pair" when two people stand close together.
    """

    action: str
    actor: str
    gender: Gender
    partner: str = ""
    partner_gender: Gender | None = None
    item: str = ""
    target: str = ""
    seen: frozenset[str] = frozenset()
    framing: Framing = "full"
    completeness: Completeness = "whole"


@dataclass(frozen=True)
class ScriptedMoment:
    """An annotated stretch of an episode (seconds) with both forms of its sentence."""

    start_s: float
    end_s: float
    description: str
    caption: str
    kind: Kind
    event: Event


@dataclass(frozen=True)
class Beat:
    """One shot: an action played from ``start_s`` to ``end_s`` (seconds) by people of the cast (by index)."""

    start_s: float
    end_s: float
    action: str
    actor: int
    partner: int
    item: str
    camera: Camera
    bystanders: tuple[int, ...] = ()


@dataclass(frozen=True)
class Episode:
    """One video of the demo corpus."""

    name: str
    seed: int
    duration_s: float
    subtitles: tuple[SubtitleLine, ...]
    moments: tuple[ScriptedMoment, ...]
    location: str
    cast: tuple[Character, ...]
    beats: tuple[Beat, ...]


@dataclass(frozen=True)
class _Plan:
    """A moment before it has a time."""

    kind: Kind
    action: str
    item: str
    framing: Framing
    completeness: Completeness
    line: Line
    length_s: float


def write_script(*, seed: int, videos: int) -> list[Episode]:
    """Return the first ``videos`` episodes of the corpus that grows from ``seed``."""
    return [_Writer(seed, index).episode() for index in range(videos)]


def _on_frame(seconds: float) -> float:
    return round(seconds * FPS) / FPS


class _Writer:
    """Writes one episode, beat after beat."""

    def __init__(self, seed: int, index: int) -> None:
        self.seed, self.index = seed, index
        self.rng = random.Random(f"{seed}/{index}")
        self.show: Show = SHOWS[index % len(SHOWS)]
        self.mirrored = self.rng.random() < 0.5
        self.now = 0.0
        self.beats: list[Beat] = []
        self.subtitles: list[SubtitleLine] = []
        self.moments: list[ScriptedMoment] = []

    def episode(self) -> Episode:
        """Write the whole episode: talk, action, talk, action, ... talk."""
        count = self.rng.choice((4, 5, 5, 6, 6, 6))
        plans = [self._plan(*self._dealt(slot)) for slot in sorted(self.rng.sample(range(SLOTS), count))]
        duration = float(self.rng.randint(48, 82))
        free = max(duration - sum(plan.length_s for plan in plans), 2.5 * (len(plans) + 1))
        weights = [self.rng.uniform(0.7, 1.3) for _ in range(len(plans) + 1)]
        pauses = [free * weight / sum(weights) for weight in weights]
        self._pause(pauses[0])
        for plan, pause in zip(plans, pauses[1:], strict=True):
            beat = self._act(plan)
            self._pause(pause)
            self.moments.append(self._moment(plan, beat, pause))
        number = self.index // len(SHOWS) + 1
        name = f"{self.show.slug}_s01e{number:02d}_seg{self.rng.randint(1, 4):02d}_clip_{self.rng.randint(0, 24):02d}"
        return Episode(
            name, self.seed, round(self.now, 2), tuple(self.subtitles), tuple(self.moments),
            self.show.location, self.show.cast, tuple(self.beats),
        )  # fmt: skip

    def _dealt(self, slot: int) -> tuple[str, Completeness, Framing]:
        """Return what this slot shows, dealt from shuffled packs so that every action comes up equally often."""
        pack, position = divmod(self.index * SLOTS + slot, len(ROTATION))
        order = list(range(len(ROTATION)))
        random.Random(f"{self.seed}/pack/{pack}").shuffle(order)
        action = ROTATION[order[position]]
        if action == "write" and self.show.board == "window":
            action = "drink"
        return action, *FLAWS[(pack + order[position]) % len(FLAWS)]

    def _plan(self, action: str, completeness: Completeness, framing: Framing) -> _Plan:
        rng = self.rng
        kind: Kind = rng.choices(("video", "both", "subtitle"), (78, 13, 9))[0]
        if kind == "subtitle":
            action, completeness = "talk", "whole"
        if kind != "video":
            framing = "full"  # who speaks is shown
        item = rng.choice(SPECS[action].items or ("",))
        length = rng.uniform(4.4, 6.4) + (1.6 if completeness == "cut" else 0.0) + 1.2 * (len(SPECS[action].steps) > 1)
        return _Plan(kind, action, item, framing, completeness, rng.choice(LINES), length)

    def _act(self, plan: _Plan) -> Beat:
        actor, partner, *others = self.rng.sample(range(len(self.show.cast)), 4)
        spec = SPECS[plan.action]
        camera = Camera(spec.focus, spec.zoom, self.mirrored)
        if plan.framing == "side":
            offset = 300.0 if spec.focus < 530 else -300.0
            camera = Camera(spec.focus + offset, SIDE_ZOOM, self.mirrored)
        around, end = tuple(others) if plan.framing == "side" else (), _on_frame(self.now + plan.length_s)
        beat = Beat(self.now, end, plan.action, actor, partner, plan.item, camera, around)
        if plan.kind != "video":
            start = beat.start_s + 0.25 * plan.length_s * (plan.kind == "both" and plan.completeness != "cut")
            self._say(start + 0.1, min(beat.end_s, start + 3.0), plan.line.text)
        self.beats.append(beat)
        self.now = beat.end_s
        return beat

    def _pause(self, length_s: float) -> None:
        """Let people talk for a while, in shots of at most six seconds."""
        end = _on_frame(self.now + length_s)
        shots = int((end - self.now) // 6) + 1
        for shot in range(shots):
            stop = _on_frame(self.now + (end - self.now) / (shots - shot))
            actor, partner = self.rng.sample(range(len(self.show.cast)), 2)
            focus = self.rng.choice((420.0, 500.0, 560.0))
            camera = Camera(focus, self.rng.choice((1.0, 1.2, 1.5)), self.mirrored)
            self.beats.append(Beat(self.now, stop, "talk", actor, partner, "", camera))
            if stop - self.now > 1.5 and self.rng.random() < 0.7:
                self._say(self.now + 0.2, min(stop - 0.1, self.now + 3.2), self.rng.choice(CHAT))
            self.now = stop

    def _say(self, start: float, end: float, text: str) -> None:
        self.subtitles.append(SubtitleLine(round(start, 2), round(end, 2), text))

    def _moment(self, plan: _Plan, beat: Beat, pause_s: float) -> ScriptedMoment:
        start, end = beat.start_s, beat.end_s
        if plan.completeness == "cut":
            end = start + CUT_SHARE * (end - start)
        elif plan.completeness == "padded":
            before = self.beats[self.beats.index(beat) - 1]
            start = max(before.start_s, start - self.rng.uniform(2.0, 3.5))
            end = min(end + self.rng.uniform(1.5, 3.0), end + pause_s)
        event = self._event(plan, beat)
        speech = plan.line.reported if plan.kind != "video" else ""
        return ScriptedMoment(
            round(start, 2), min(round(end, 2), round(self.now, 2)),
            _sentence(event, event.actor, event.partner, speech), caption_of(event, speech), plan.kind, event,
        )  # fmt: skip

    def _event(self, plan: _Plan, beat: Beat) -> Event:
        spec, actor = SPECS[plan.action], self.show.cast[beat.actor]
        partner = self.show.cast[beat.partner] if spec.partner else None
        nouns = {"chair": self.show.chair, "board": self.show.board}
        visible = {nouns.get(piece, piece) for piece, x in PIECES.items() if beat.camera.sees(x)}
        if plan.action == "unpack":
            visible.add("box")
        is_hidden = plan.action == "unpack" and plan.completeness == "cut"  # still inside the box
        if plan.item and not is_hidden:
            visible.add(plan.item)
        if partner and plan.framing == "full":
            visible.add("pair")
        return Event(
            plan.action, actor.name, actor.gender, partner.name if partner else "",
            partner.gender if partner else None, plan.item, nouns.get(spec.target, spec.target), frozenset(visible),
            plan.framing, plan.completeness,
        )  # fmt: skip


def caption_of(event: Event, speech: str) -> str:
    """Return the imprecise sentence: a man, a woman, another man; never a name. ``speech`` is reported speech."""
    other = ""
    if event.partner_gender is not None:
        other = f"another {event.gender}" if event.partner_gender == event.gender else f"a {event.partner_gender}"
    return _sentence(event, SUBJECTS[event.gender], other, speech)


def _sentence(event: Event, a: str, b: str, speech: str) -> str:
    if event.action == "talk" and speech:
        return f"{a} tells {b} that {speech}."
    his = "his" if event.gender == "man" else "her"
    text = SPECS[event.action].sentence.format(
        a=a, b=b, item=NOUNS.get(event.item, f"a {event.item}"), target=event.target, his=his
    )
    return f"{text} and says that {speech}." if speech else f"{text}."


def true_relevance(query: ScriptedMoment, moment: ScriptedMoment) -> int:
    """Return the grade, 0 (unrelated) to 4 (perfect), of ``moment`` for the text of ``query``.

    Only the moment's picture counts and only the query's words: how well the query's own moment shows its
    action has no bearing on other moments.
    """
    query_steps, moment_steps = SPECS[query.event.action].steps, SPECS[moment.event.action].steps
    common = sum(step in moment_steps for step in query_steps)
    if common == len(query_steps):
        return _grade_of_full_action(query.event, moment.event, surplus=len(moment_steps) > len(query_steps))
    if common:
        flawed = moment.event.framing == "side" or moment.event.completeness == "cut"
        return 1 if flawed else 2
    # a thing, a goal or a pair of people in the picture touches the query; a mere person is in nearly every moment
    key = query.event.item or query.event.target or ("pair" if query.event.partner else "")
    return int(bool(key) and key in moment.event.seen)


def _grade_of_full_action(query: Event, moment: Event, *, surplus: bool) -> int:
    """Grade a moment that plays every step: each kind of mismatch costs one, a cut action is at most partly there."""
    # the query knows people by gender only
    people = (query.gender, query.partner_gender) != (moment.gender, moment.partner_gender)
    thing = bool(query.item) and query.item not in moment.seen
    goal = bool(query.target) and query.target != moment.target
    grade = 4 - (people or thing or goal) - (surplus or moment.completeness == "padded") - (moment.framing == "side")
    if moment.completeness == "cut":
        grade = min(grade - 1, 2)
    return max(grade, 1)
