"""The real judgments, for tests that play or count them."""

import pytest

from benchmarks.replay import judgment_file

needs_real_file = pytest.mark.skipif(
    not judgment_file().is_file(), reason=f"{judgment_file()} is not there; MOMENTJUDGE_SHARED names its folder"
)
