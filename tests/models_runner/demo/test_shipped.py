"""How the demo's results are packed, and that all of it stays small. The whole of it: tests/judging/demo."""

from pathlib import Path

import numpy as np
import pytest

from annotation import demo
from models_runner.demo.shipped import FOLDER, arrays_write, restored, rounded, shipped_for

MOST_BYTES = 12_000_000  # videos and results together


def test_all_that_is_shipped_stays_small() -> None:
    folders = (Path(demo.__file__).with_name("videos"), FOLDER)
    assert sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()) <= MOST_BYTES


def test_eight_bits_miss_a_number_by_half_a_step_at_most() -> None:
    rows = np.random.default_rng(1).standard_normal((50, 7)).astype(np.float32)
    numbers, step = rounded(rows)
    assert numbers.dtype == np.int8 and np.abs(numbers).max() == 127
    assert np.abs(restored(numbers, step) - rows).max() <= step / 2 + 1e-6


def test_rows_of_zeros_stay_zeros() -> None:
    assert not restored(*rounded(np.zeros((2, 3), np.float32))).any()


def test_equal_arrays_make_equal_files_that_numpy_reads(tmp_path: Path) -> None:
    arrays = {"rows": np.arange(6, dtype=np.int8).reshape(2, 3), "names": np.array(["a", "bc"])}
    for name in ("one", "other"):
        arrays_write(tmp_path / name, arrays)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    with np.load(tmp_path / "one") as file:
        assert file["rows"].tolist() == arrays["rows"].tolist() and file["names"].tolist() == ["a", "bc"]


@pytest.mark.parametrize(("seed", "videos"), [(20260101, 6), (5, 40), (None, None)])
def test_nothing_for_a_demo_of_another_seed_or_size(seed: int | None, videos: int | None) -> None:
    assert shipped_for(seed=seed, videos=videos) is None


def test_each_training_comes_behind_the_one_that_it_takes_candidates_from() -> None:
    shipped = shipped_for(seed=20260101, videos=40)
    assert shipped is not None
    names: list[str] = [""]
    for training in shipped.trainings:
        assert training.candidates in names
        names.append(training.name)
