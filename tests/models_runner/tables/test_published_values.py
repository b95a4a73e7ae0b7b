"""The published numbers are those of the papers; a listing of them lies beside the checkout where there is one."""

import re

import pytest

from models_runner.tables import published_values as published
from tests.moment_retrieval.shared_data import SHARED

NUMBER = re.compile(r"\.\d+")


def test_every_setting_is_there() -> None:
    assert list(published.SCORES) == [(name, n) for name in published.BASELINES for n in published.NS]
    for of_setting in published.SCORES.values():
        assert {k: len(pairs) for k, pairs in of_setting.items()} == dict.fromkeys(published.KS, 3)


def test_a_value_is_found_by_its_position() -> None:
    assert published.score_of("reloclnet", 40, 20, 0.5, "test") == 0.4059
    assert published.score_of("xml", 1, 10, 0.7, "val") == 0.0244
    assert published.spread_of("reloclnet", 40, 20, 0.7, "test") == (0.2871, None)
    assert published.spread_of("reloclnet", 40, 10, 0.7, "test") is None
    assert published.spread_of("xml", 40, 10, 0.5, "test") is None


@pytest.fixture
def listing() -> str:
    path = SHARED / "specs" / "published_results.md"
    if not path.is_file():
        pytest.skip(f"no listing at {path}; set MOMENTJUDGE_SHARED")
    return path.read_text()


def test_scores_are_those_listed(listing: str) -> None:
    rows = re.findall(r"^\| \**(XML|CONQUER|ReLoCLNet) (\d+)\** \| (\d+) \| (.*) \|$", listing, re.MULTILINE)
    assert len(rows) == 27
    for name, n, k, cells in rows:
        pairs = published.SCORES[name.lower(), int(n)][int(k)]
        assert [value for pair in pairs for value in pair] == [float(word) for word in NUMBER.findall(cells)]


def test_spreads_are_those_listed(listing: str) -> None:
    row = next(line for line in listing.splitlines() if line.startswith("@10 .4287"))
    numbers = [float(word) for word in re.findall(r"(?<!IoU )\.\d{4}", row)]
    order = [(k, split, mu) for k in published.KS for mu in (0, 1) for split in published.SPLITS]
    spreads = [published.SPREAD[k, split][mu] for k, split, mu in order]
    spreads += [published.SPREAD[k, "val"][2] for k in published.KS] + [published.SPREAD[20, "test"][2]]
    assert numbers == [number for spread in spreads if spread for number in spread if number is not None]


def test_the_upper_bound_is_that_listed(listing: str) -> None:
    row = next(line for line in listing.splitlines() if "upper bound of pseudo-training" in line)
    first, second, third = re.findall(r"@\d+ ([./\d]+)(?: x3)?", row)
    assert published.SIMILARITY[10] == tuple(float(word) for word in first.split("/"))
    assert published.SIMILARITY[20] == (float(second),) * 3
    assert published.SIMILARITY[40] == (float(third),) * 3
