"""A file of features says how it was made, and keeps rows made otherwise out."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from moment_retrieval.errors import BrokenFeatures
from moment_retrieval.features import FeatureWriter, open_features
from moment_retrieval.features.attributes import description, differences

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
MADE_SO = {"extractor": "resnet", "model": "a 1", "clip_s": 1.5, "fps": 3.0, "pooling": "max", "normalisation": "none"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.h5"


def test_attributes_lie_in_the_file_with_the_width(path: Path) -> None:
    with FeatureWriter(path, width=3, attributes=MADE_SO) as writer:
        writer.add("one", ROWS)
    with h5py.File(path) as file:
        assert dict(file.attrs) == {**MADE_SO, "width": 3}
    with open_features(path) as store:
        assert store.attributes == {**MADE_SO, "width": 3}
        assert description(store.attributes) == (
            "extractor: resnet; model: a 1; seconds of a clip: 1.5; frames a second: 3; pooling: max;"
            " normalisation: none; numbers in a row: 3"
        )


def test_rows_made_otherwise_are_not_added(path: Path) -> None:
    other = {**MADE_SO, "pooling": "mean"}
    writer = FeatureWriter(path, width=3, attributes=MADE_SO)
    writer.add("one", ROWS)
    writer.close()
    with pytest.raises(BrokenFeatures, match="a.h5.journal: .*pooling: 'max', and now 'mean'.*another file"):
        FeatureWriter(path, width=3, attributes=other)
    FeatureWriter(path, width=3, attributes=MADE_SO).finish()
    with pytest.raises(BrokenFeatures, match="a.h5: features of another kind"):
        FeatureWriter(path, width=3, attributes=other)
    with FeatureWriter(path, width=3, attributes=MADE_SO) as writer:
        assert "one" in writer
        writer.add("two", ROWS)
    with open_features(path) as store:
        assert store.names == ["one", "two"] and store.attributes["pooling"] == "max"
    assert differences(MADE_SO, MADE_SO) == ""


def test_a_file_that_says_nothing_goes_on_to_say_nothing(path: Path) -> None:
    FeatureWriter(path, width=3).add("one", ROWS)
    with FeatureWriter(path, width=3) as writer:
        assert "one" in writer
    with FeatureWriter(path, width=3, attributes=MADE_SO) as writer:
        writer.add("two", ROWS)
    with open_features(path) as store:
        assert store.names == ["one", "two"] and store.attributes == {}


def test_attributes_of_others_are_left_alone(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["one"] = ROWS
        file.attrs["pooling"] = "mean"
        file.attrs["fps"] = np.array([1.0, 2.0])
        file.attrs["clip_s"] = np.nan
        file.attrs["author"] = "somebody"
        file.attrs["model"] = "x" * 5_000
        file.attrs["layer"] = np.bytes_(b"-2")
    with open_features(path) as store:
        assert store.attributes == {"pooling": "mean", "layer": "-2"}


def test_a_group_of_each_video_as_published_for_activitynet_is_read_by_the_name_of_the_video(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for number, name in enumerate(("v_one", "v_two")):
            file[f"{name}/c3d_features"] = ROWS + number
    with open_features(path) as store:
        assert store.names == ["v_one", "v_two"] and store.width == 3 and "v_two" in store
        np.testing.assert_array_equal(store.rows("v_two"), ROWS + 1)


def test_a_flat_file_of_c3d_or_vgg_as_published_for_tacos_and_charades_is_read(path: Path) -> None:
    rows = np.linspace(0, 1, 2 * 4096, dtype=np.float32).reshape(2, 4096)
    with h5py.File(path, "w") as file:
        file["s13-d21.avi"] = rows
    with open_features(path) as store:
        assert store.names == ["s13-d21.avi"] and store.width == 4096
        np.testing.assert_array_equal(store.rows("s13-d21.avi"), rows)
