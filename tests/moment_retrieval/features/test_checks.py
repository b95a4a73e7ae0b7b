"""Faults of feature files are found and reported with names."""

from pathlib import Path

import h5py
import numpy as np

from moment_retrieval.features import Trouble, check

GOOD = np.ones((4, 3), np.float32)


def hdf5(path: Path, **arrays: object) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path


def test_files_in_order_give_no_findings(tmp_path: Path) -> None:
    video, subtitle = hdf5(tmp_path / "v.h5", a=GOOD, b=GOOD), hdf5(tmp_path / "s.h5", a=GOOD * 0, b=GOOD[:3])
    progress: list[tuple[int, int]] = []
    findings = check(
        {"video": video, "subtitle": subtitle},
        {"video": ["a", "b"], "subtitle": ["a", "b"]},
        on_progress=lambda n_done, total: progress.append((n_done, total)),
    )
    assert findings == [] and progress == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_every_trouble_is_found_with_its_names(tmp_path: Path) -> None:
    broken = GOOD.copy()
    broken[1, 1] = np.inf
    arrays = {"a": GOOD, "cube": GOOD[None], "empty": GOOD[:0], "inf": broken, "zero": GOOD * 0}
    video, subtitle = hdf5(tmp_path / "v.h5", **arrays), hdf5(tmp_path / "s.h5", a=GOOD[:2])
    findings = check({"video": video, "subtitle": subtitle}, {"video": [*arrays, "gone"], "subtitle": ["a"]})
    names = {(one.kind, one.trouble): one.names for one in findings}
    assert names == {
        ("video", Trouble.SHAPE): ("cube",),
        ("video", Trouble.EMPTY): ("empty",),
        ("video", Trouble.NOT_FINITE): ("inf",),
        ("video", Trouble.ZERO): ("zero",),
        ("video", Trouble.MISSING): ("gone",),
        ("subtitle", Trouble.LENGTH): ("a",),
    }
    assert {one.trouble for one in findings if not one.is_fatal} == {Trouble.ZERO, Trouble.LENGTH}


def test_many_names_are_counted_and_the_first_are_reported(tmp_path: Path) -> None:
    [finding] = check({"video": hdf5(tmp_path / "v.h5", a=GOOD)}, {"video": [f"v{i}" for i in range(50)]})
    assert (finding.count, len(finding.names)) == (50, 20)
    assert str(finding).startswith("video: no features: 50 (v0, v1") and str(finding).endswith("and 30 more)")


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "v.h5").write_bytes(b"junk")
    [finding] = check({"video": tmp_path / "v.h5"}, {"video": ["a"]})
    assert finding.trouble is Trouble.UNREADABLE and "v.h5" in finding.detail
