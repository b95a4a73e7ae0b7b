"""How every action is played: from its progress (0 to 1) to the people and things on the stage."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from annotation.demo.catalogue import PIECES, Character
from tools.demo_videos.figures import Figure, Pose, blend, seated, upright, walking
from tools.demo_videos.props import TABLE_TOP, WALL, Prop, writing_tip

STRIDE = 34.0  # stage units of one step


@dataclass(frozen=True)
class Tableau:
    """One instant: things behind the people, the people, things before them, and arms laid over others."""

    people: tuple[Figure, ...]
    behind: tuple[Prop, ...] = ()
    before: tuple[Prop, ...] = ()
    arms: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Part:
    """Who plays, with what, and how far the action has come."""

    t: float
    actor: Character
    partner: Character
    item: str = ""


def smooth(t: float, start: float, end: float) -> float:
    """Return 0 before ``start``, 1 after ``end``, and a soft slope between."""
    k = max(0.0, min(1.0, (t - start) / (end - start)))
    return k * k * (3 - 2 * k)


def stroll(t: float, start: float, end: float, x0: float, x1: float) -> tuple[float, Pose]:
    """Walk from ``x0`` to ``x1`` while t goes from ``start`` to ``end``; stand before and after."""
    k = max(0.0, min(1.0, (t - start) / (end - start)))
    facing = 1 if x1 >= x0 else -1
    x = x0 + (x1 - x0) * k
    if k in (0.0, 1.0):
        return x, upright(facing)
    return x, walking(abs(x - x0) / STRIDE * math.pi, facing)


def _walk_in(part: Part) -> Tableau:
    doorway, wall = PIECES["door"], WALL - 4
    openness = smooth(part.t, 0.06, 0.22) - smooth(part.t, 0.62, 0.75)
    x, pose = stroll(part.t, 0.26, 0.85, doorway, 390)
    people = (Figure(part.actor, x, pose, wall * (1 - smooth(part.t, 0.26, 0.42))),) if part.t > 0.08 else ()
    leaf = Prop("leaf", doorway, wall, round(openness, 2))
    frame = Prop("door", doorway, wall)
    return Tableau(people, (frame,), (leaf,)) if part.t < 0.26 else Tableau(people, (frame, leaf))


def _open_door(part: Part) -> Tableau:
    doorway, wall = PIECES["door"], WALL - 4
    x, pose = stroll(part.t, 0.02, 0.32, 330, 205)
    openness = smooth(part.t, 0.5, 0.8)
    if part.t > 0.3:
        reach = replace(upright(-1), near_hand=(47.0 + 14 * openness, 134.0), lean=6.0)
        pose = blend(upright(-1), reach, smooth(part.t, 0.32, 0.46) - smooth(part.t, 0.84, 0.94))
    return Tableau(
        (Figure(part.actor, x, pose),), (Prop("door", doorway, wall), Prop("leaf", doorway, wall, round(openness, 2)))
    )


def _sit_down(part: Part) -> Tableau:
    x, pose = stroll(part.t, 0.02, 0.4, 470, 306)
    if part.t > 0.4:
        pose = _lower(smooth(part.t, 0.48, 0.74))
    return Tableau((Figure(part.actor, x, pose),))


def _lower(k: float) -> Pose:
    """Return a pose on the way from standing (0) to sitting (1)."""
    pose = blend(upright(1), seated(1), k)
    return replace(pose, lean=pose.lean + 22 * math.sin(math.pi * k))


def _stand_walk(part: Part) -> Tableau:
    chair_x = PIECES["chair"] + 6
    x, pose = stroll(part.t, 0.38, 0.9, chair_x, 655)
    if part.t < 0.38:
        pose = _lower(1 - smooth(part.t, 0.14, 0.34))
    return Tableau((Figure(part.actor, x, pose),))


def _walk_to(part: Part) -> Tableau:
    x, pose = stroll(part.t, 0.08, 0.86, 360, 655)
    return Tableau((Figure(part.actor, x, pose),))


def _hug(part: Part) -> Tableau:
    x, pose = stroll(part.t, 0.06, 0.34, 390, 468)
    k = smooth(part.t, 0.34, 0.5) - smooth(part.t, 0.9, 0.99)
    hold = Pose(1, lean=9.0, near_hand=(52.0, 132.0), far_hand=(50.0, 118.0), nod=4.0, blink=k > 0.6)
    if part.t > 0.33:
        pose = blend(upright(1), hold, k)
    other = blend(upright(-1), replace(hold, facing=-1, near_hand=(54.0, 116.0), far_hand=(50.0, 140.0)), k)
    first, second = Figure(part.actor, x + 10 * k, pose), Figure(part.partner, 530 - 8 * k, other)
    return Tableau((second, first), arms=(second,) if k > 0.05 else ())


def _wave(part: Part) -> Tableau:
    raised = smooth(part.t, 0.22, 0.34) - smooth(part.t, 0.88, 0.97)
    swing = 13 * math.sin(part.t * 44)
    up = replace(upright(1), far_hand=(48.0 + swing, 192.0), mouth="open" if raised > 0.5 else "smile")
    return Tableau((
        Figure(part.partner, 580, upright(-1)), Figure(part.actor, 420, blend(upright(1), up, raised)),
    ))  # fmt: skip


def _pick_up(part: Part) -> Tableau:
    thing, spot = part.item or "box", 560.0
    x, pose = stroll(part.t, 0.04, 0.32, 390, spot - 52)
    down, up = smooth(part.t, 0.34, 0.52), smooth(part.t, 0.58, 0.8)
    is_lifted = part.t > 0.55
    low = Pose(
        1, hip_x=-20.0, hip_y=66.0, lean=42.0, near_hand=(46.0, 26.0), far_hand=(58.0, 26.0), nod=5.0, mouth="flat"
    )
    high = Pose(1, near_hand=(36.0, 112.0), far_hand=(48.0, 112.0), item=thing)
    if part.t > 0.32:
        pose = blend(upright(1), low, down) if not is_lifted else blend(replace(low, item=thing), high, up)
    return Tableau((Figure(part.actor, x, pose),), () if is_lifted else (Prop(thing, spot, 24.0),))


def _drink(part: Part) -> Tableau:
    k = smooth(part.t, 0.4, 0.52) - smooth(part.t, 0.64, 0.7) + smooth(part.t, 0.74, 0.8) - smooth(part.t, 0.9, 0.96)
    bottle = part.item == "bottle"
    low = replace(upright(1), near_hand=(32.0, 118.0), item=part.item)
    high = replace(low, near_hand=(24.0, 164.0) if not bottle else (33.0, 165.0), nod=-3.0, mouth="open", blink=k > 0.8)
    pose = replace(blend(low, high, k), item_state=round(k, 2))
    return Tableau((Figure(part.actor, 480, pose),))


def _read_pose(part: Part, base: Pose, k: float) -> Pose:
    turn = (part.t * 4) % 1.0
    page = round(turn / 0.35, 2) if turn < 0.35 and k > 0.95 and part.item == "book" else 0.0
    top = base.hip_y + 40
    up = replace(
        base, near_hand=(22.0, top), far_hand=(54.0, top), item=part.item, item_state=page, nod=4.0, mouth="flat"
    )
    return replace(blend(replace(base, item=part.item), up, k), item_state=page)


def _read(part: Part) -> Tableau:
    k = smooth(part.t, 0.2, 0.42)
    base = replace(upright(1), near_hand=(0.0, 96.0))
    return Tableau((Figure(part.actor, 480, _read_pose(part, base, k)),))


def _sit_read(part: Part) -> Tableau:
    if part.t < 0.45:
        figure = _sit_down(replace(part, t=part.t * 1.8)).people[0]
        return Tableau((replace(figure, pose=replace(figure.pose, item=part.item)),))
    k = smooth(part.t, 0.48, 0.62)
    return Tableau((Figure(part.actor, 306, _read_pose(part, seated(1), k)),))


def _open_box(part: Part) -> Tableau:
    openness = smooth(part.t, 0.45, 0.65)
    reach = Pose(1, lean=10.0, near_hand=(44.0, 128.0), far_hand=(60.0, 132.0), mouth="flat")
    look = Pose(1, lean=20.0, near_hand=(26.0, 126.0), far_hand=(48.0, 126.0), nod=8.0, mouth="open")
    pose = blend(upright(1), reach, smooth(part.t, 0.25, 0.42))
    if part.t > 0.62:
        pose = blend(reach, look, smooth(part.t, 0.64, 0.8))
    return Tableau((Figure(part.actor, 462, pose),), (Prop("open_box", 535, TABLE_TOP, round(openness, 2)),))


def _unpack(part: Part) -> Tableau:
    openness = smooth(part.t, 0.26, 0.44)
    lifted = smooth(part.t, 0.62, 0.82)
    reach = Pose(1, lean=12.0, near_hand=(50.0, 126.0), far_hand=(62.0, 130.0), mouth="flat")
    inside = Pose(1, lean=22.0, near_hand=(64.0, 114.0), far_hand=(48.0, 126.0), nod=6.0, mouth="flat")
    show = Pose(1, near_hand=(44.0, 160.0), far_hand=(46.0, 122.0), item=part.item, mouth="open")
    pose = blend(upright(1), reach, smooth(part.t, 0.1, 0.24))
    if part.t > 0.46:
        pose = blend(reach, inside, smooth(part.t, 0.46, 0.58))
    if part.t > 0.6:
        pose = blend(replace(inside, item=part.item), show, lifted)
    box = Prop("open_box", 535, TABLE_TOP, round(openness, 2))
    figure = Figure(part.actor, 462, pose)
    return Tableau((figure,), (box,)) if lifted > 0.35 else Tableau((figure,), before=(box,))


def _phone(part: Part) -> Tableau:
    k = smooth(part.t, 0.2, 0.36)
    low = replace(upright(1), near_hand=(24.0, 116.0), item="phone")
    beat = math.sin(part.t * 21)
    mouth = "open" if k > 0.9 and math.sin(part.t * 60) > 0 else "smile"
    ear = replace(low, near_hand=(-19.0, 168.0), near_bend=1, far_hand=(34.0 + 6 * beat, 116.0 + 9 * beat), mouth=mouth)
    return Tableau((Figure(part.actor, 480, blend(low, ear, k)),))


def _give(part: Part) -> Tableau:
    out, is_received = smooth(part.t, 0.28, 0.5), part.t > 0.62
    back = smooth(part.t, 0.66, 0.84)
    mine = replace(upright(1), near_hand=(28.0, 116.0), item="" if is_received else part.item)
    reach = replace(mine, near_hand=(54.0, 128.0), lean=7.0)
    theirs = replace(
        upright(-1),
        near_hand=(28.0, 118.0),
        item=part.item if is_received else "",
        mouth="open" if is_received else "smile",
    )
    take = replace(theirs, near_hand=(54.0, 126.0), lean=7.0)
    giver = blend(mine, reach, out) if not is_received else blend(reach, replace(upright(1), item=""), back)
    empty = blend(upright(-1), take, smooth(part.t, 0.4, 0.58))
    right = blend(take, theirs, back) if is_received else empty
    return Tableau((Figure(part.partner, 570, right), Figure(part.actor, 448, giver)))


def _lamp(part: Part) -> Tableau:
    lamp = PIECES["lamp"]
    x, pose = stroll(part.t, 0.04, 0.36, 690, lamp - 62)
    if part.t > 0.36:
        reach = replace(upright(1), near_hand=(48.0, 134.0), lean=6.0)
        pose = blend(upright(1), reach, smooth(part.t, 0.38, 0.54) - smooth(part.t, 0.72, 0.86))
    return Tableau((Figure(part.actor, x, pose),), (Prop("lamp", lamp, 0, float(part.t > 0.58)),))


def _dance_pose(t: float, facing: int, shift: float) -> Pose:
    beat = math.sin(t * 26 + shift)
    hop = abs(math.sin(t * 26 + shift))
    return Pose(
        facing, hip_x=9 * beat, hip_y=84 + 7 * hop, lean=-8 * beat, mouth="open",
        near_hand=(-44.0 + 12 * beat, 158 + 38 * beat), far_hand=(48.0 + 12 * beat, 158 - 38 * beat), near_bend=1,
        near_foot=(-14.0, 12 * max(0.0, beat)), far_foot=(18.0, 12 * max(0.0, -beat)),
    )  # fmt: skip


def _dance(part: Part) -> Tableau:
    k = smooth(part.t, 0.2, 0.3)
    first = blend(upright(1), _dance_pose(part.t, 1, 0.0), k)
    second = blend(upright(-1), _dance_pose(part.t, -1, 0.6), k)
    return Tableau((Figure(part.partner, 566, second), Figure(part.actor, 434, first)))


def _write(part: Part) -> Tableau:
    progress = max(0.0, min(1.0, (part.t - 0.3) / 0.6))
    x_left = PIECES["board"] - 78
    tip_x, tip_y = writing_tip(progress)
    x = PIECES["board"] - 122
    reach = Pose(1, lean=8.0, near_hand=(x_left + tip_x - x, 186 + tip_y), item="marker", mouth="flat")
    pose = blend(replace(upright(1), item="marker"), reach, smooth(part.t, 0.14, 0.29) - smooth(part.t, 0.91, 0.98))
    return Tableau((Figure(part.actor, x, pose),), (Prop("writing", x_left, 186, round(progress, 2)),))


def _water(part: Part) -> Tableau:
    k = smooth(part.t, 0.32, 0.48) - smooth(part.t, 0.88, 0.97)
    low = replace(upright(1), near_hand=(26.0, 108.0), item="can")
    pour = replace(low, near_hand=(36.0, 156.0), item_state=1.0, lean=5.0)
    pose = replace(blend(low, pour, k), item_state=round(k, 2))
    drops = (Prop("drops", 985, 138, part.t * 12 % 1),) if k > 0.9 else ()
    return Tableau((Figure(part.actor, 905, pose),), (), drops)


def _put_on(part: Part) -> Tableau:
    k, on = smooth(part.t, 0.36, 0.66), part.t > 0.66
    low = replace(upright(1), near_hand=(30.0, 116.0), far_hand=(44.0, 118.0), item="hat")
    high = replace(low, near_hand=(-6.0, 198.0), far_hand=(24.0, 198.0))
    pose = blend(low, high, k)
    if on:
        pose = blend(replace(high, item="", hat=True), replace(upright(1), hat=True), smooth(part.t, 0.72, 0.88))
    return Tableau((Figure(part.actor, 480, pose),))


def _hold(part: Part) -> Tableau:
    pose = replace(upright(1), near_hand=(32.0, 116.0), item=part.item, blink=int(part.t * 40) % 13 == 0)
    return Tableau((Figure(part.actor, 480, pose),))


def _talk(part: Part) -> Tableau:
    beat = math.sin(round(part.t * 24) / 24 * 19)
    speaker = replace(upright(1), near_hand=(26.0 + 10 * beat, 112.0 + 14 * beat), blink=int(part.t * 30) % 9 == 0)
    return Tableau((Figure(part.partner, 566, upright(-1)), Figure(part.actor, 434, speaker)))


PLAYS: dict[str, Callable[[Part], Tableau]] = {
    "walk_in": _walk_in, "open_door": _open_door, "sit_down": _sit_down,
    "stand_walk": _stand_walk, "walk_to": _walk_to, "hug": _hug, "wave": _wave,
    "pick_up": _pick_up, "drink": _drink, "read": _read, "sit_read": _sit_read,
    "unpack": _unpack, "open_box": _open_box, "phone": _phone, "give": _give,
    "lamp": _lamp, "dance": _dance, "write": _write, "water": _water,
    "put_on": _put_on, "hold": _hold, "talk": _talk,
}  # fmt: skip


def play(action: str, part: Part) -> Tableau:
    """Return the instant of ``action`` that ``part`` describes."""
    return PLAYS[action](part)
