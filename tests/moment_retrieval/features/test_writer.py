"""A file of features is there as a whole or not at all, and work that was killed is not done again."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import h5py
import numpy as np
import pytest

from moment_retrieval.errors import BrokenFeatures, NotWritable, UnreadableFile
from moment_retrieval.features import FeatureWriter, open_features
from moment_retrieval.features.extractors.base import Sentence, extract

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def one_added(path: Path) -> FeatureWriter:
    writer = FeatureWriter(path, width=3)
    writer.add("one", ROWS)
    return writer


def names_in(path: Path) -> list[str]:
    with open_features(path) as store:
        return store.names


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.h5"


def test_what_is_written_is_read_in_the_published_layout(path: Path) -> None:
    with FeatureWriter(path, width=3) as writer:
        writer.add("one", ROWS)
        writer.add("show/two", ROWS[:0])
    with h5py.File(path) as file:
        assert (file["one"].dtype, file["one"].shape, file["one"].chunks) == (np.float32, (4, 3), None)
        np.testing.assert_array_equal(file["one"][:], ROWS)
        assert file["show/two"].shape == (0, 3)
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(BrokenFeatures, match="3 numbers, where 4"):
        FeatureWriter(path, width=4)


@pytest.mark.parametrize("n_bytes_lost", [1, 47, 48, 60, 70])
def test_a_record_that_a_kill_cut_short_is_made_again(path: Path, n_bytes_lost: int) -> None:
    killed = one_added(path)
    killed.add("two", ROWS)
    killed.close()
    journal = path.with_name("a.h5.journal")
    journal.write_bytes(journal.read_bytes()[:-n_bytes_lost])
    with FeatureWriter(path, width=3) as writer:
        assert "one" in writer and "two" not in writer and len(writer) == 1
        writer.add("two", ROWS + 2)
    with open_features(path) as store:
        np.testing.assert_array_equal(store.rows("one"), ROWS)
        np.testing.assert_array_equal(store.rows("two"), ROWS + 2)


def test_a_finished_file_can_grow_and_stays_readable_until_it_has(path: Path) -> None:
    one_added(path).finish()
    grown = FeatureWriter(path, width=3)
    grown.add("two", ROWS)
    assert names_in(path) == ["one"]
    grown.finish()
    assert names_in(path) == ["one", "two"]


def test_a_kill_between_the_file_and_the_end_of_its_journal_doubles_nothing(path: Path) -> None:
    writer, journal = one_added(path), path.with_name("a.h5.journal")
    content = journal.read_bytes()
    writer.finish()
    journal.write_bytes(content)
    with FeatureWriter(path, width=3) as again:
        assert len(again) == 1
    assert names_in(path) == ["one"]


def test_an_error_keeps_the_journal_and_makes_no_file(path: Path) -> None:
    with pytest.raises(BrokenFeatures), one_added(path) as writer:
        writer.add("two", ROWS[:, :2])
    assert [each.name for each in path.parent.iterdir()] == ["a.h5.journal"]


@pytest.mark.parametrize(
    ("name", "rows", "problem"),
    [
        ("one", np.zeros((2, 4)), "rows of 4"),
        ("one", np.full((1, 3), np.nan), "not a number"),
        ("one", np.zeros(3), "the shape is"),
        *((name, ROWS, "no place") for name in ("", "a//b", "..", "a/.", "nul\0")),
    ],
)
def test_rows_or_names_of_no_use_are_refused(path: Path, name: str, rows: np.ndarray, problem: str) -> None:
    writer = FeatureWriter(path, width=3)
    with pytest.raises((BrokenFeatures, NotWritable), match=problem):
        writer.add(name, rows)
    assert name not in writer


class Lengths:
    name, width, batch = "lengths", 2, 2

    def __init__(self) -> None:
        self.item_names: list[str] = []

    def rows(self, items: Sequence[Sentence]) -> Iterator[np.ndarray]:
        for item in items:
            self.item_names.append(item.name)
            if item.text == "bad":
                raise UnreadableFile("cannot be read")
            yield np.full((1, 2), len(item.text), np.float32)


ITEMS = [Sentence("1", "a"), Sentence("2", "bad"), Sentence("3", "ccc"), Sentence("4", "dddd"), Sentence("5", "e")]


def test_all_but_the_bad_item_get_their_rows_and_progress_is_reported(tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    with FeatureWriter(tmp_path / "a.h5", width=2) as writer:
        outcome = extract(
            ITEMS, Lengths(), writer, total=5, on_progress=lambda n_done, all_: progress.append((n_done, all_))
        )
    assert (outcome.n_made, outcome.failures, outcome.reasons) == (4, 1, {"2": "cannot be read"})
    assert progress == [(2, 5), (4, 5), (5, 5)]
    with open_features(tmp_path / "a.h5") as store:
        assert store.names == ["1", "3", "4", "5"] and store.rows("4")[0, 0] == 4


def test_what_an_earlier_writer_left_is_not_made_again(tmp_path: Path) -> None:
    writer = FeatureWriter(tmp_path / "a.h5", width=2)
    assert extract(ITEMS[:2], Lengths(), writer).n_made == 1
    writer.close()
    later = Lengths()
    with FeatureWriter(tmp_path / "a.h5", width=2) as writer:
        outcome = extract(ITEMS, later, writer)
    assert later.item_names == ["2", "3", "4", "5"] and (outcome.n_present, outcome.n_made) == (1, 3)


def test_rows_that_are_no_numbers_are_the_failure_of_their_item(tmp_path: Path) -> None:
    class Wild(Lengths):
        def rows(self, items: Sequence[Sentence]) -> Iterator[np.ndarray]:
            for item in items:
                yield np.full((1, 2), np.nan if item.name == "3" else 0.5, np.float32)

    with FeatureWriter(tmp_path / "a.h5", width=2) as writer:
        outcome = extract(ITEMS, Wild(), writer)
    assert (outcome.n_made, list(outcome.reasons)) == (4, ["3"])
