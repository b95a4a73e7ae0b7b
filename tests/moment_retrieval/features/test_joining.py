"""Files of features are joined as the published ones were: each row of each brought to length one."""

from pathlib import Path

import numpy as np
import pytest

from moment_retrieval.errors import BrokenFeatures, NotWritable
from moment_retrieval.features import FeatureWriter, open_features
from moment_retrieval.features.joining import Normalisation, join_features


def file_of(path: Path, rows_by_name: dict[str, np.ndarray], **attributes: str | float) -> Path:
    width = next(iter(rows_by_name.values())).shape[1]
    with FeatureWriter(path, width=width, attributes=attributes) as writer:
        for name, rows in rows_by_name.items():
            writer.add(name, rows)
    return path


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Two files: one of 2 numbers for three videos, one of 3 numbers for two of them."""
    random = np.random.default_rng(0)
    first = {"one": np.array([[3, 4], [0, 0], [1, 0]], np.float32), "two": np.ones((5, 2), np.float32)}
    first["only"] = np.ones((1, 2), np.float32)
    second = {"one": np.array([[2, 0, 0], [0, 0, 5]], np.float32), "two": random.random((2, 3), np.float32)}
    return [
        file_of(tmp_path / "a.h5", first, extractor="resnet", clip_s=1.5, fps=3.0),
        file_of(tmp_path / "b.h5", second, extractor="i3d", clip_s=1.5, fps=25.0),
    ]


def test_rows_of_length_one_lie_beside_each_other_as_many_as_the_shorter_has(paths: list[Path], tmp_path: Path) -> None:
    joining = join_features(paths, tmp_path / "c.h5")
    assert (joining.width, joining.n_joined, joining.shortened) == (5, 2, ["two"])
    assert list(joining.reasons) == ["only"] and "no features of 'only' in b.h5" in joining.reasons["only"]
    with open_features(tmp_path / "c.h5") as store:
        assert store.names == ["one", "two"] and store.rows("two").shape == (2, 5)
        np.testing.assert_allclose(store.rows("one"), [[0.6, 0.8, 1, 0, 0], [0, 0, 0, 0, 1]], atol=1e-5)
        attributes = store.attributes
    assert attributes == {
        **{"extractor": "join", "clip_s": 1.5, "width": 5},
        "normalisation": "row / (L2 norm + 1e-05), of each file alone",
        "sources": "a.h5 (extractor: resnet; seconds of a clip: 1.5; frames a second: 3; numbers in a row: 2) | "
        "b.h5 (extractor: i3d; seconds of a clip: 1.5; frames a second: 25; numbers in a row: 3)",
    }
    assert join_features(paths, tmp_path / "c.h5").n_joined == 2  # a repeat finds it done


def test_rows_can_be_joined_as_they_are(paths: list[Path], tmp_path: Path) -> None:
    join_features(paths, tmp_path / "c.h5", normalisation=Normalisation.NONE)
    with open_features(tmp_path / "c.h5") as store:
        assert store.rows("one").tolist() == [[3, 4, 2, 0, 0], [0, 0, 0, 0, 5]]
        assert store.attributes["normalisation"] == "none"
    with pytest.raises(BrokenFeatures, match="normalisation: 'none', and now"):
        join_features(paths, tmp_path / "c.h5")


def test_what_cannot_be_joined_is_reported(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(NotWritable, match="two files of features or more"):
        join_features(paths[:1], tmp_path / "c.h5")
    with pytest.raises(NotWritable, match="is one of the files to join"):
        join_features(paths, paths[0])
    other = file_of(tmp_path / "other.h5", {"else": np.ones((1, 2), np.float32)})
    with pytest.raises(BrokenFeatures, match="no name in common"):
        join_features([paths[0], other], tmp_path / "d.h5")
    assert not (tmp_path / "d.h5").exists()
