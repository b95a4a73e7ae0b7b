"""True relevance, case by case of the guideline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.demo import Event, ScriptedMoment, true_relevance, write_script


def moment(event: Event) -> ScriptedMoment:
    return ScriptedMoment(1.0, 5.0, "", "", "video", event)


DRINKS = Event("drink", "Nora", "woman", item="cup", seen=frozenset({"cup", "plant"}))
BOTTLE = replace(DRINKS, item="bottle", seen=frozenset({"bottle", "plant"}))
TO_BOARD = Event("stand_walk", "Dana", "woman", target="board", seen=frozenset({"board"}))
HUGS = Event("hug", "Nora", "woman", partner="Samir", partner_gender="man", seen=frozenset({"pair", "board"}))
UNPACKS = Event("unpack", "Nora", "woman", item="shoes", seen=frozenset({"shoes", "box"}))
OPENS = Event("open_box", "Nora", "woman", item="box", seen=frozenset({"box"}))

CASES = [
    ("the same", DRINKS, DRINKS, 4),
    ("somebody else of the same gender", DRINKS, replace(DRINKS, actor="Lena"), 4),
    ("another gender", DRINKS, replace(DRINKS, gender="man"), 3),
    ("another thing", DRINKS, BOTTLE, 3),
    ("another gender and another thing", DRINKS, replace(BOTTLE, gender="man"), 3),
    ("another goal", TO_BOARD, replace(TO_BOARD, target="window"), 3),
    ("another partner's gender", HUGS, replace(HUGS, partner_gender="woman"), 3),
    ("padded", DRINKS, replace(DRINKS, completeness="padded"), 3),
    ("at the side", DRINKS, replace(DRINKS, framing="side"), 3),
    ("padded, and another gender", DRINKS, replace(DRINKS, completeness="padded", gender="man"), 2),
    ("cut short", DRINKS, replace(DRINKS, completeness="cut"), 2),
    ("cut short, at the side", DRINKS, replace(DRINKS, completeness="cut", framing="side"), 2),
    ("everything wrong", DRINKS, replace(DRINKS, completeness="cut", framing="side", gender="man"), 1),
    ("half of the steps", TO_BOARD, replace(TO_BOARD, action="walk_to"), 2),
    ("half of the steps, cut", TO_BOARD, replace(TO_BOARD, action="walk_to", completeness="cut"), 1),
    ("more than was asked", OPENS, UNPACKS, 3),
    ("more than was asked, at the side", OPENS, replace(UNPACKS, framing="side"), 2),
    ("less than was asked", UNPACKS, OPENS, 2),
    ("the thing without the action", DRINKS, replace(DRINKS, action="hold"), 1),
    ("the goal without the action", TO_BOARD, HUGS, 1),
    ("a pair that only talks", HUGS, replace(HUGS, action="talk"), 1),
    ("a mere person", DRINKS, TO_BOARD, 0),
    ("one person for a hug", HUGS, DRINKS, 0),
]


@pytest.mark.parametrize(("query", "candidate", "grade"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_truth_table(query: Event, candidate: Event, grade: int) -> None:
    assert true_relevance(moment(query), moment(candidate)) == grade


def test_flaws_of_the_query_own_moment_do_not_change_what_it_asks() -> None:
    flawed = replace(DRINKS, completeness="cut", framing="side")
    assert true_relevance(moment(flawed), moment(DRINKS)) == 4


def test_a_query_is_perfect_for_its_own_flawless_moment() -> None:
    for episode in write_script(seed=5, videos=12):
        for own in episode.moments:
            whole = own.event.completeness == "whole" and own.event.framing == "full"
            assert (true_relevance(own, own) == 4) is whole
