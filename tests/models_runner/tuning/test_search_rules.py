"""How a line of the form says what is tried, and how settings become a form again. No database."""

import pytest

from models_runner.experiments.settings import changes_of, options_of
from models_runner.tuning.rules import SETTINGS, Space, space_texts, values_of


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("lr", "1e-4, 3e-4", [1e-4, 3e-4]),
        ("lr", "1e-5 to 1e-3", {"low": 1e-5, "high": 1e-3, "log": True}),
        ("margin", " 0.1 ;0.2", [0.1, 0.2]),
        ("margin", "0.1 TO 0.2", {"low": 0.1, "high": 0.2, "log": False}),
        ("batch", "64,128", [64, 128]),
        ("alpha", "20", [20.0]),
    ],
)
def test_choices_and_ranges(name: str, text: str, values: object) -> None:
    assert values_of(text, SETTINGS[name], allows_range=True) == values


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("lr", "fast", "'fast' is not a number"),
        ("lr", "0", "0 is not from 1e-09 to 1"),
        ("lr", "nan", "nan is not from"),
        ("lr", "1e-3 to 1e-5", "must be less"),
        ("lr", "1 to 2 to 3", "two ends"),
        ("lr", ",", "Give numbers with commas"),
        ("lr", "0.1, 1e-1", "every number once"),
        ("lr", ", ".join(f"0.{number:02d}" for number in range(1, 22)), "at most 20"),
        ("batch", "64.5", "not a whole number"),
        ("batch", "64 to 128", "Give whole numbers with commas"),
        ("margin", "-1", "not from 0 to 10"),
    ],
)
def test_what_cannot_be_tried_says_why(name: str, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        values_of(text, SETTINGS[name], allows_range=True)


def test_a_grid_has_no_range() -> None:
    with pytest.raises(ValueError, match="grid needs choices"):
        values_of("0.1 to 0.2", SETTINGS["margin"], allows_range=False)


def test_a_space_is_shown_as_the_form_takes_it() -> None:
    space: Space = {"lr": {"low": 1e-5, "high": 1e-3, "log": True}, "objective.margin": [0.1, 0.2]}
    assert space_texts(space) == {"Learning rate": "1e-05 to 0.001", "Margin": "0.1, 0.2"}


@pytest.mark.parametrize("preset", ["released", "small"])
@pytest.mark.parametrize("baseline", ["xml", "reloclnet", "conquer"])
def test_options_become_the_preset_and_its_changes_again(baseline: str, preset: str) -> None:
    changes = {"lr": 5e-4, "margin": 0.2, "alpha": 10.0, "endpoints": False}
    assert changes_of(options_of(baseline, 20, preset, {}), baseline, 20) == (preset, {})
    assert changes_of(options_of(baseline, 20, preset, changes), baseline, 20) == (preset, changes)
