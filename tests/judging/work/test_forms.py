"""Values a grade form takes; its page is that of tests/judging/views/test_bad_input.py."""

from uuid import uuid4

import pytest

from judging.work.forms import GradeForm

WHOLE = "A grade is a whole number of the scale."
NO_GRADES = [
    *("17", "10", "-1", "-0", "+3", "3.0", "2.5", "３", "٣", "1e0", "0x1", "03", "1_0", "two"),
    *("NaN", "Infinity", "null", "[3]", "3\0", "9" * 30, "9" * 5000, "3 ", "\t3", "' OR 1=1 --"),
]


@pytest.mark.parametrize("value", ["0", "1", "4", "5", "9"])
def test_a_grade_is_a_digit(value: str) -> None:
    form = GradeForm({"grade": value, "key": str(uuid4())})
    assert form.is_valid()
    assert form.cleaned_data["grade"] == int(value)


@pytest.mark.parametrize("value", NO_GRADES, ids=ascii)
def test_every_other_value_is_refused(value: str) -> None:
    form = GradeForm({"grade": value, "key": str(uuid4())})
    assert form.errors == {"grade": [WHOLE]}


def test_an_empty_grade_is_refused() -> None:
    assert GradeForm({"grade": "", "key": str(uuid4())}).errors == {"grade": ["Choose a grade."]}
