"""When the benchmark of releases has failed."""

from dataclasses import replace

import pytest

from benchmarks import release

SPENT = {"seconds": 60.0, "processor_seconds": 9.0, "peak_mb": 500.0}
RESULT = release.Result(20, 40, SPENT, SPENT, {**SPENT, "seconds": 10.0}, True, 0.5, {})


def test_at_the_limits_it_is_good() -> None:
    assert RESULT.good


@pytest.mark.parametrize(
    "worse",
    [
        {"build": {**SPENT, "seconds": 60.1}},
        {"build": {**SPENT, "peak_mb": 500.1}},
        {"download": {**SPENT, "seconds": 10.1}},
        {"same_content": False},
    ],
)
def test_past_one_of_them_it_is_not(worse: dict[str, object]) -> None:
    assert not replace(RESULT, **worse).good  # type: ignore[arg-type]
