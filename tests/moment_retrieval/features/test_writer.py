"""A file of features is there as a whole or not at all, and work that was killed is not done again."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from moment_retrieval.errors import BrokenFeatures, NotWritable
from moment_retrieval.features import FeatureWriter, open_features

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_what_is_written_is_read_in_the_published_layout(tmp_path: Path) -> None:
    with FeatureWriter(tmp_path / "a.h5", width=3) as writer:
        writer.add("one", ROWS)
        writer.add("show/two", ROWS[:0])
    with h5py.File(tmp_path / "a.h5") as file:
        assert (file["one"].dtype, file["one"].shape, file["one"].chunks) == (np.float32, (4, 3), None)
        np.testing.assert_array_equal(file["one"][:], ROWS)
        assert file["show/two"].shape == (0, 3)
    assert list(tmp_path.iterdir()) == [tmp_path / "a.h5"]


def test_after_a_kill_the_next_writer_knows_what_is_done(tmp_path: Path) -> None:
    killed = FeatureWriter(tmp_path / "a.h5", width=3)
    killed.add("one", ROWS)  # no finish: as if killed
    with FeatureWriter(tmp_path / "a.h5", width=3) as writer:
        assert "one" in writer and len(writer) == 1
        writer.add("two", ROWS + 1)
    with open_features(tmp_path / "a.h5") as store:
        assert store.names == ["one", "two"]
        np.testing.assert_array_equal(store.rows("one"), ROWS)


@pytest.mark.parametrize("n_bytes_lost", [1, 47, 48, 60, 70])
def test_a_record_that_a_kill_cut_short_is_made_again(tmp_path: Path, n_bytes_lost: int) -> None:
    killed = FeatureWriter(tmp_path / "a.h5", width=3)
    killed.add("one", ROWS)
    killed.add("two", ROWS)
    killed.close()
    journal = tmp_path / "a.h5.journal"
    journal.write_bytes(journal.read_bytes()[:-n_bytes_lost])
    with FeatureWriter(tmp_path / "a.h5", width=3) as writer:
        assert "one" in writer and "two" not in writer
        writer.add("two", ROWS + 2)
    with open_features(tmp_path / "a.h5") as store:
        np.testing.assert_array_equal(store.rows("one"), ROWS)
        np.testing.assert_array_equal(store.rows("two"), ROWS + 2)


def test_a_finished_file_can_grow_and_stays_readable_until_it_has(tmp_path: Path) -> None:
    with FeatureWriter(tmp_path / "a.h5", width=3) as writer:
        writer.add("one", ROWS)
    grown = FeatureWriter(tmp_path / "a.h5", width=3)
    grown.add("two", ROWS)
    with open_features(tmp_path / "a.h5") as store:
        assert store.names == ["one"]
    grown.finish()
    with open_features(tmp_path / "a.h5") as store:
        assert store.names == ["one", "two"]


def test_a_kill_between_the_file_and_the_end_of_its_journal_doubles_nothing(tmp_path: Path) -> None:
    writer = FeatureWriter(tmp_path / "a.h5", width=3)
    writer.add("one", ROWS)
    journal = (tmp_path / "a.h5.journal").read_bytes()
    writer.finish()
    (tmp_path / "a.h5.journal").write_bytes(journal)
    with FeatureWriter(tmp_path / "a.h5", width=3) as again:
        assert len(again) == 1
    assert open_features(tmp_path / "a.h5").names == ["one"]


def test_an_error_keeps_the_journal_and_makes_no_file(tmp_path: Path) -> None:
    def cut_short() -> None:
        with FeatureWriter(tmp_path / "a.h5", width=3) as writer:
            writer.add("one", ROWS)
            writer.add("two", ROWS[:, :2])

    with pytest.raises(BrokenFeatures):
        cut_short()
    assert [path.name for path in tmp_path.iterdir()] == ["a.h5.journal"]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [(np.zeros((2, 4)), "rows of 4"), (np.full((1, 3), np.nan), "not a number"), (np.zeros(3), "the shape is")],
)
def test_rows_that_no_reader_could_use_are_refused(tmp_path: Path, rows: np.ndarray, problem: str) -> None:
    writer = FeatureWriter(tmp_path / "a.h5", width=3)
    with pytest.raises(BrokenFeatures, match=problem):
        writer.add("one", rows)
    assert "one" not in writer


@pytest.mark.parametrize("name", ["", "a//b", "..", "a/.", "nul\0"])
def test_a_name_that_hdf5_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotWritable, match="no place"):
        FeatureWriter(tmp_path / "a.h5", width=3).add(name, ROWS)


def test_a_file_of_another_width_is_not_added_to(tmp_path: Path) -> None:
    with FeatureWriter(tmp_path / "a.h5", width=3) as writer:
        writer.add("one", ROWS)
    with pytest.raises(BrokenFeatures, match="3 numbers, where 4"):
        FeatureWriter(tmp_path / "a.h5", width=4)
