"""Making features goes on where it was, tells how far it is, and is not stopped by one bad item."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from moment_retrieval.errors import UnreadableFile
from moment_retrieval.features import FeatureWriter, open_features
from moment_retrieval.features.extractors import Sentence, extract


class Lengths:
    """One row: how long the text is."""

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
    assert (outcome.made, outcome.failures, outcome.reasons) == (4, 1, {"2": "cannot be read"})
    assert progress == [(2, 5), (4, 5), (5, 5)]
    with open_features(tmp_path / "a.h5") as store:
        assert store.names == ["1", "3", "4", "5"] and store.rows("4")[0, 0] == 4


def test_what_an_earlier_writer_left_is_not_made_again(tmp_path: Path) -> None:
    writer = FeatureWriter(tmp_path / "a.h5", width=2)
    assert extract(ITEMS[:2], Lengths(), writer).made == 1
    writer.close()
    later = Lengths()
    with FeatureWriter(tmp_path / "a.h5", width=2) as writer:
        outcome = extract(ITEMS, later, writer)
    assert later.item_names == ["2", "3", "4", "5"] and (outcome.kept, outcome.made) == (1, 3)


def test_rows_that_are_no_numbers_are_the_failure_of_their_item(tmp_path: Path) -> None:
    class Wild(Lengths):
        def rows(self, items: Sequence[Sentence]) -> Iterator[np.ndarray]:
            for item in items:
                yield np.full((1, 2), np.nan if item.name == "3" else 0.5, np.float32)

    with FeatureWriter(tmp_path / "a.h5", width=2) as writer:
        outcome = extract(ITEMS, Wild(), writer)
    assert (outcome.made, list(outcome.reasons)) == (4, ["3"])
