"""An export's meaning, read without a database."""

from contextlib import suppress
from io import BytesIO
from typing import Any

import pytest

from annotation.corpora.importers.base import ImportFileError
from annotation.corpora.importers.files import pieces_of
from core.texts import is_storable
from judging.imports.label_studio import BadMapping, Export, Mapped, Ungraded, mapped, read_export
from judging.work.rules import preset_rules
from tests.judging.imports.exports import annotation, flat, rated, task, text
from tests.mutations import mutated

BY_PAIR = Mapped(pair="pair_id")
STARS = {str(star): star - 1 for star in range(1, 6)}


def read(*elements: object, fields: Mapped = BY_PAIR, piece: int = 7) -> tuple[Export, list[Ungraded]]:
    ungraded: list[Ungraded] = []
    whole = text(elements)
    export = read_export((whole[at : at + piece] for at in range(0, len(whole), piece)), fields, ungraded.append)
    return export, ungraded


def pairs(*elements: object, **values: Any) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    return read(*elements, **values)[0].pairs


def reasons(*elements: object, **values: Any) -> list[tuple[str, str]]:
    return [(row.outcome.value, row.reason) for row in read(*elements, **values)[1]]


def one(*result: dict[str, Any], **values: Any) -> dict[str, Any]:
    return task(1, {"pair_id": 3}, annotation(10, 7, *result, **values))


def test_no_warning_repeats_a_long_number_of_a_task() -> None:
    """A megabyte of a name and a million annotations would be a report of a terabyte."""
    _, ungraded = read(task("x" * 100_000, {"pair_id": 1}, *[None] * 50), piece=10_000)  # type: ignore[arg-type]
    assert len(ungraded) == 50 and max(len(one.item) for one in ungraded) < 100


def test_few_of_many_controls_are_named() -> None:
    element = one(*(rated(1, name=f"control {number}") for number in range(1000)))
    with pytest.raises(ImportFileError, match="and 990 more. Say which one.$"):
        read(element)


def test_mutations_are_read_or_refused() -> None:
    elements = [
        task(number, {"pair_id": number}, annotation(1, 7, rated(3)), annotation(2, 8, rated(1))) for number in (1, 2)
    ]
    for content in mutated([text(elements).encode()], 500, text=True):
        with suppress(ImportFileError):
            export = read_export(pieces_of(BytesIO(content)), BY_PAIR)
            assert is_storable(export.control)


class TestControls:
    def test_rating_choice_and_number_beside_other_controls(self) -> None:
        words = {"type": "textarea", "from_name": "why", "to_name": "clip", "value": {"text": ["unclear"]}}
        for result in (rated(3), rated(3.0), rated("3", kind="choices"), rated(3, kind="number")):
            assert pairs(one(words, result)) == [(3, (7,), (3,))]

    def test_values_that_mean_grades(self) -> None:
        stars = Mapped(pair="pair_id", grades=STARS)
        assert pairs(one(rated(5)), fields=stars) == [(3, (7,), (4,))]
        assert reasons(one(rated(0)), fields=stars) == [("refused", "the value '0' is mapped to no grade")]
        words = Mapped(pair="pair_id", grades={"Perfect = best": 4})
        assert pairs(one(rated("Perfect = best", kind="choices")), fields=words) == [(3, (7,), (4,))]

    def test_grades_of_another_scale(self) -> None:
        ten = Mapped(pair="pair_id", rules=preset_rules("tvr-ranking", top_grade=9))
        assert pairs(one(rated(9)), fields=ten) == [(3, (7,), (9,))]
        assert reasons(one(rated(10)), fields=ten) == [("refused", "the value '10' is no grade from 0 to 9")]
        yes = preset_rules("yes-or-no")
        assert mapped(pair="pair_id", grades=["yes=1"], rules=yes).grades == {"yes": 1}
        with pytest.raises(BadMapping, match="write it as Perfect=1; grades go from 0 to 1"):
            mapped(pair="pair_id", grades=["yes=2"], rules=yes)

    def test_three_judges_in_two_rounds(self) -> None:
        fields = Mapped(pair="pair_id", rules=preset_rules("yes-or-no"))
        element = task(1, {"pair_id": 3}, *(annotation(n, n, rated(1), minute=n) for n in range(7)))
        assert pairs(element, fields=fields) == [(3, tuple(range(6)), (1,) * 6)]
        ((_, reason),) = reasons(element, fields=fields)
        assert reason == "pair 3 has 6 earlier grades, and more make no pair"

    def test_the_one_that_is_named(self) -> None:
        element = one(rated(1, name="quality"), rated(4, name="grade"))
        assert pairs(element, fields=Mapped(pair="pair_id", control="grade")) == [(3, (7,), (4,))]
        with pytest.raises(ImportFileError, match="grade, quality"):
            read(element)

    @pytest.mark.parametrize(
        ("result", "reason"),
        [
            ([], "holds no grade"),
            ([rated(5)], "'5' is no grade"),
            ([rated(-1)], "'-1' is no grade"),
            ([rated(2.5)], "'2.5' is no grade"),
            ([rated(True)], "neither a number nor a choice"),
            ([rated("Perfect", kind="choices")], "'Perfect' is no grade"),
            ([rated(1), rated(2)], "several values"),
            ([{**rated(1), "value": {"choices": ["1", "2"]}, "type": "choices"}], "several values"),
            (None, "holds no grade"),
        ],
    )
    def test_grades_that_are_none(self, result: Any, reason: str) -> None:
        ((outcome, message),) = reasons(task(1, {"pair_id": 3}, annotation(10, 7, result=result)))
        assert outcome == "refused" and reason in message


class TestWhatGivesNoJudgment:
    def test_skipped_ones_and_drafts_are_left_out_and_predictions_ignored(self) -> None:
        element = task(
            1,
            {"pair_id": 3},
            annotation(10, 7, rated(3), was_cancelled=True),
            annotation(11, 8, rated(2)),
            drafts=[{"id": 1, "result": [rated(4)]}],
            predictions=[{"model_version": "m", "result": [rated(0)]}] * 2,
        )
        export, ungraded = read(element)
        assert export.pairs == [(3, (8,), (2,))]
        assert [(one.item, one.reason) for one in ungraded] == [
            ("task 1, draft 1", "a draft that was never submitted"),
            ("task 1, annotation 10", "skipped by its annotator"),
        ]
        assert export.counts == {"tasks": 1, "refused": 0, "left_out": 2, "predictions": 2}

    def test_nothing_says_whose_or_which_it_is_or_it_is_there_already(self) -> None:
        for value in (None, "", "x", -1, 1.5, True, "9" * 30, [3]):
            ((_, message),) = reasons(task(1, {"pair_id": value}, annotation(10, 7, rated(3))))
            assert "'pair_id' of its data holds no pair number" in message
        for person in (None, "", {}, [], -1, 2**40, True):
            ((outcome, message),) = reasons(task(1, {"pair_id": 3}, annotation(10, person, rated(3))))
            assert outcome == "refused" and "annotator" in message
        assert reasons(one(rated(3)), one(rated(3))) == [("refused", "this annotation stands in the file before")]

    def test_a_fifth_grade_the_last_by_time(self) -> None:
        element = task(1, {"pair_id": 3}, *(annotation(n, n, rated(n - 1), minute=9 - n) for n in range(1, 6)))
        export, ungraded = read(element)
        assert export.pairs == [(3, (5, 4, 3, 2), (4, 3, 2, 1))]
        assert [one.reason for one in ungraded] == ["pair 3 has 4 earlier grades, and more make no pair"]
        assert [one.item for one in ungraded] == [f"task {element['id']}, annotation 1"]

    def test_elements_that_are_no_tasks_and_files_that_are_no_list(self) -> None:
        for element in (1, None, [], {}, {"data": {}}, {"data": {}, "annotations": [5]}):
            export, ungraded = read(element, fields=Mapped(pair="pair_id", control="grade"))
            assert (export.pairs, export.counts["refused"]) == ([], len(ungraded))
            assert ungraded
        export, ungraded = read()
        assert (export.pairs, export.texts, ungraded, {*export.counts.values()}) == ([], {}, [], {0})
        for whole in ("", "{}", '{"id": 1}', "[{]", "[1", "[1 2]", '"x"', "[" * 100_000):
            with pytest.raises(ImportFileError, match="Line 1"):
                read_export([whole], BY_PAIR)


class TestPeople:
    def test_numbers_stay_and_addresses_get_the_next_ones(self) -> None:
        ann = {"id": None, "email": "Ann@example.org"}
        people = [ann, 7, {"id": 3, "email": "b@example.org"}, {"email": "ann@example.org"}, "Ann@example.org", "12"]
        elements = [task(n, {"pair_id": n}, annotation(n, person, rated(1))) for n, person in enumerate(people)]
        assert [people for _, people, _ in pairs(*elements)] == [(13,), (7,), (3,), (13,), (13,), (12,)]
        twice = task(1, {"pair_id": 3}, annotation(1, 7, rated(1)), annotation(2, 7, rated(2), minute=1))
        assert pairs(twice) == [(3, (7, 7), (1, 2))]


class TestQueryAndMoment:
    FIELDS = Mapped(query="q", moment="m")

    def test_blocks_of_twenty_each_of_one_query(self) -> None:
        names = [("b", f"m{n}") for n in range(21)] + [("a", "m0"), ("b", "m3")]
        elements = [
            task(n, {"q": query, "m": moment}, annotation(n, n, rated(1))) for n, (query, moment) in enumerate(names)
        ]
        export, _ = read(*elements, fields=self.FIELDS, piece=1 << 16)
        assert export.texts == {0: "b", 1: "b (2)", 2: "a"}
        assert [number for number, *_ in export.pairs] == [*range(20), 20, 40]
        assert export.pairs[3] == (3, (3, 22), (1, 1))
        ((_, message),) = reasons(task(1, {"q": "a"}, annotation(1, 1, rated(1))), fields=self.FIELDS)
        assert "'m' of its data holds no name" in message


class TestJsonMin:
    FIELDS = Mapped(pair="pair_id", control="grade")

    def test_values_of_all_forms(self) -> None:
        for value in (3, "3", [{"rating": 3}], {"number": 3}, ["3"], [{"choices": ["3"]}]):
            assert pairs(flat(1, 7, {"pair_id": 4}, grade=value), fields=self.FIELDS) == [(4, (7,), (3,))]
        assert reasons(flat(1, 7, {"pair_id": 4}), fields=self.FIELDS) == [("refused", "it holds no grade")]

    def test_annotators_by_number_or_address(self) -> None:
        elements = [flat(n, person, {"pair_id": n}, grade=1) for n, person in enumerate([5, "a@example.org", ""])]
        export, ungraded = read(*elements, fields=self.FIELDS)
        assert [people for _, people, _ in export.pairs] == [(5,), (6,)]
        assert [one.reason for one in ungraded] == ["nobody is named as its annotator"]

    def test_the_control_is_found_where_only_one_can_be_it(self) -> None:
        assert pairs(flat(1, 7, {"pair_id": 4}, stars=[{"rating": 3}])) == [(4, (7,), (3,))]
        with pytest.raises(ImportFileError, match=r"say which control holds the grade \(could be grade, sure\)"):
            read(flat(1, 7, {"pair_id": 4, "gif": "4.gif"}, grade="3", sure=[1]))
        with pytest.raises(ImportFileError, match="none was found"):
            read(flat(1, 7, {"pair_id": 4}, grade="Perfect"))


def test_a_mapping_as_people_write_it() -> None:
    mapping = mapped(query=" q ", moment="m", grades=["Perfect = 4", "", "a=b=0"])
    assert mapping == Mapped(query="q", moment="m", grades={"Perfect": 4, "a=b": 0})
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "Name the field"),
        ({"query": "q"}, "Name the field"),
        ({"pair": "p", "moment": "m"}, "either"),
        ({"pair": "p", "grades": ["Perfect"]}, "'Perfect' does not say"),
        ({"pair": "p", "grades": ["Perfect=5"]}, "does not say"),
        ({"pair": "p", "grades": ["=4"]}, "does not say"),
    ]
    for values, reason in refused:
        with pytest.raises(BadMapping, match=reason):
            mapped(**values)
