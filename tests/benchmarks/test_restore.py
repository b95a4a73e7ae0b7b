"""When the benchmark of restoring has failed."""

from dataclasses import replace

import pytest

from benchmarks.restore import Result

RESULT = Result(20, 40, 100, 5, 0.1, 3.0, 120.0, 9.0, True, 0.5, {})


def test_at_the_limit_it_is_good() -> None:
    assert RESULT.good


@pytest.mark.parametrize("worse", [{"restore_s": 120.1}, {"same_content": False}])
def test_past_it_or_with_other_content_it_is_not(worse: dict[str, object]) -> None:
    assert not replace(RESULT, **worse).good  # type: ignore[arg-type]
