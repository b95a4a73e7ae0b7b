"""When the benchmarks of a release and of restoring have failed."""

from dataclasses import replace

import pytest

from benchmarks.archives import Release, Restore

SPENT = {"seconds": 60.0, "processor_seconds": 9.0, "peak_mb": 500.0}
RELEASE = Release(20, 40, SPENT, SPENT, {**SPENT, "seconds": 10.0}, True, 0.5, {})
RESTORE = Restore(20, 40, 100, 5, 0.1, 3.0, 120.0, 9.0, True, 0.5, {})


def test_a_release_at_the_limits_is_good() -> None:
    assert RELEASE.good


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
    assert not replace(RELEASE, **worse).good  # type: ignore[arg-type]


def test_a_restore_at_the_limit_is_good() -> None:
    assert RESTORE.good


@pytest.mark.parametrize("worse", [{"restore_s": 120.1}, {"same_content": False}])
def test_a_restore_past_it_or_with_other_content_is_not(worse: dict[str, object]) -> None:
    assert not replace(RESTORE, **worse).good  # type: ignore[arg-type]
