from typing import Any

import numpy as np
import pytest

from moment_retrieval.errors import ZeroLengthMoment
from moment_retrieval.preprocessing import (
    Boundary,
    boundary_clips,
    clip_rows,
    l2_normalised,
    sampled,
    with_endpoints,
    word_rows,
)
from tests.moment_retrieval.baselines.vectors import arrays, needs_parity

UNITS = "units/preprocess.npz"
SAMPLINGS = ("1_20", "20_20", "21_20", "33_20", "39_20", "40_20", "200_20", "129_128", "182_128")


@needs_parity
@pytest.mark.parametrize("case", SAMPLINGS)
def test_long_videos_are_sampled_as_published(case: str) -> None:
    limit = int(case.split("_")[1])
    np.testing.assert_allclose(
        sampled(arrays(UNITS)[f"sampling/{case}/in"], limit), arrays(UNITS)[f"sampling/{case}/out"], atol=1e-6
    )


@needs_parity
def test_rows_get_length_one_as_published() -> None:
    np.testing.assert_allclose(l2_normalised(arrays(UNITS)["l2/in"]), arrays(UNITS)["l2/out"], atol=1e-7)


@needs_parity
@pytest.mark.parametrize(("code", "how"), [("tvrr", {}), ("conquer", {"boundary": Boundary.LAST})])
def test_moments_fall_on_the_published_clips_or_are_refused_where_the_code_refuses(code: str, how: Any) -> None:
    for start_s, end_s, clips, *correct in arrays(UNITS)[f"labels_{code}/start_end_nclips_st_ed"]:
        if correct == [-1, -1]:
            with pytest.raises(ZeroLengthMoment, match="holds no clip"):
                boundary_clips(start_s, end_s, int(clips), **how)
        else:
            assert list(boundary_clips(start_s, end_s, int(clips), **how)) == correct


def test_rows_of_clips_and_words_by_hand() -> None:
    """A clip is normalised before its endpoints come; CONQUER cuts long videos instead of sampling them."""
    rows = with_endpoints(np.zeros((4, 1), np.float32))
    np.testing.assert_array_equal(rows[:, 1:], [[0, 0.25], [0.25, 0.5], [0.5, 0.75], [0.75, 1]])
    rows = clip_rows(np.full((2, 4), 3, np.float32), limit=128, endpoints=True)
    np.testing.assert_allclose(rows, [[0.5, 0.5, 0.5, 0.5, 0, 0.5], [0.5, 0.5, 0.5, 0.5, 0.5, 1]], atol=1e-5)
    rows = clip_rows(np.arange(6, dtype=np.float32)[:, None], limit=4, endpoints=False, sample=False, normalise=False)
    assert rows.ravel().tolist() == [0, 1, 2, 3]
    assert word_rows(np.ones((40, 2), np.float32)).shape == (30, 2)
    assert not l2_normalised(np.zeros((1, 3), np.float32)).any()
