"""Figures of semantic similarity: by hand, on the shared matrices, and by the command."""

import csv
from pathlib import Path

import numpy as np
import pytest

from moment_retrieval.cli import main
from moment_retrieval.errors import InvalidRecord
from moment_retrieval.metrics.matrix import instance_ranks, rank_means
from moment_retrieval.relevance.figures import proxy_correlation, recall_bounds, relevant_captions
from tests.moment_retrieval.shared_data import PARITY, needs_shared

RELEVANCE = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.3], [0.0, 0.3, 1.0]])


def test_relevant_captions_by_hand() -> None:
    assert relevant_captions(RELEVANCE, (0.3, 0.9, 0.95)).tolist() == [pytest.approx(7 / 3), pytest.approx(5 / 3), 1.0]


def test_correlation_by_hand_and_as_numpy_says() -> None:
    chance = np.random.default_rng(3)
    one, other = chance.random((4, 6)), chance.random((4, 6))
    mean = np.mean([np.corrcoef(one[row], other[row])[0, 1] for row in range(4)])
    assert proxy_correlation(one, other) == (pytest.approx(mean), 4)
    assert proxy_correlation(RELEVANCE, 2 * RELEVANCE + 1) == (pytest.approx(1.0), 3)
    constant = np.vstack([RELEVANCE[:2], np.ones(3)])
    assert proxy_correlation(constant, -constant) == (pytest.approx(-1.0), 2)  # the third says nothing
    with pytest.raises(InvalidRecord, match="constant"):
        proxy_correlation(np.ones((2, 2)), np.ones((2, 2)))


def test_bounds_by_hand() -> None:
    """The first two videos and captions are equivalent: seen so, every rank is 0 at best; at worst two are 1."""
    similarity = np.array([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    bounds = recall_bounds(similarity, RELEVANCE)
    assert bounds["v2t"] == (pytest.approx((1 / 3) ** (1 / 3)), 1.0)
    assert bounds["t2v"] == (pytest.approx((1 / 3) ** (1 / 3)), 1.0)


@needs_shared
def test_instance_metrics_lie_within_their_bounds() -> None:
    similarities, proxies = np.load(PARITY / "svr" / "similarities60.npz"), np.load(PARITY / "svr" / "relevance60.npz")
    names = [name for name in proxies.files if proxies[name].shape == (60, 60)]
    assert names
    for system in similarities.files:
        similarity = similarities[system].astype(float)
        if similarity.shape != (60, 60):
            continue
        v2t, t2v = instance_ranks(similarity)
        means = rank_means(v2t, "v2t") | rank_means(t2v, "t2v")
        for name in names:
            for direction, (least, most) in recall_bounds(similarity, proxies[name].astype(float)).items():
                assert least <= means[f"GeoMean-{direction}"] + 1e-9 <= most + 2e-9


def test_the_command_writes_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "bow.npz", relevance=RELEVANCE, owners=np.arange(3))
    np.savez(tmp_path / "pos.npz", relevance=RELEVANCE**2, owners=np.arange(3))
    np.save(tmp_path / "system.npy", RELEVANCE)
    files = [str(tmp_path / name) for name in ("bow.npz", "pos.npz")]
    arguments = ["--to", str(tmp_path / "figures"), "--similarity", str(tmp_path / "system.npy")]
    assert main(["relevance-figures", *files, *arguments]) == 0
    out = capsys.readouterr().out
    assert "bow: 2.33 captions of relevance 0.05 or more, 1.00 of 1" in out
    assert "bow and pos: correlation 0.99" in out and "over 3 videos" in out
    tables = {
        path.name: list(csv.DictReader(path.read_text().splitlines())) for path in (tmp_path / "figures").iterdir()
    }
    assert {name: len(rows) for name, rows in tables.items()} == {
        "relevant_captions.csv": 40,
        "correlations.csv": 1,
        "bounds.csv": 4,
    }
    assert tables["bounds.csv"][0] == {"proxy": "bow", "direction": "v2t", "smallest": "0.693361", "largest": "1.0"}
    assert main(["relevance-figures", files[0], files[0], *arguments]) == 2
    assert "same name" in capsys.readouterr().err
