"""When the benchmark of restoring has failed."""

import pytest

from benchmarks.restore import is_good

RESTORE = {"restore_s": 120.0, "same_content": True}


def test_a_restore_at_the_limit_is_good() -> None:
    assert is_good(RESTORE)


@pytest.mark.parametrize("worse", [{"restore_s": 120.1}, {"same_content": False}])
def test_a_restore_past_it_or_with_other_content_is_not(worse: dict[str, object]) -> None:
    assert not is_good({**RESTORE, **worse})
