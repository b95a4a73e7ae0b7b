"""When the benchmarks of a release and of restoring have failed."""

import pytest

from benchmarks.archives import is_good_release, is_good_restore

SPENT = {"seconds": 60.0, "processor_seconds": 9.0, "peak_mb": 500.0}
RELEASE = {"build": SPENT, "download": {**SPENT, "seconds": 10.0}, "same_content": True}
RESTORE = {"restore_s": 120.0, "same_content": True}


def test_a_release_at_the_limits_is_good() -> None:
    assert is_good_release(RELEASE)


@pytest.mark.parametrize(
    "worse",
    [
        {"build": {**SPENT, "seconds": 60.1}},
        {"build": {**SPENT, "peak_mb": 500.1}},
        {"download": {**SPENT, "seconds": 10.1}},
        {"same_content": False},
    ],
)
def test_a_release_past_one_of_them_is_not(worse: dict[str, object]) -> None:
    assert not is_good_release({**RELEASE, **worse})


def test_a_restore_at_the_limit_is_good() -> None:
    assert is_good_restore(RESTORE)


@pytest.mark.parametrize("worse", [{"restore_s": 120.1}, {"same_content": False}])
def test_a_restore_past_it_or_with_other_content_is_not(worse: dict[str, object]) -> None:
    assert not is_good_restore({**RESTORE, **worse})
