"""The figures of a load: what is counted, and what is too much. The load itself: benchmarks/load.py."""

import pytest

from benchmarks.load import Measured, beyond, figures, options_from, percent

RESULT = {
    **{"judgments": 1000, "p95_ms": 100.0, "errors": 0, "cpu_percent": 60.0},
    **{"web_process_mb": 150.0, "cold_start_s": 3.0},
}


def test_what_is_wanted_is_good_to_the_last_digit() -> None:
    assert beyond(RESULT) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("p95_ms", 100.1), ("errors", 1), ("cpu_percent", 60.1), ("web_process_mb", 150.1), ("cold_start_s", 3.1)],
)
def test_what_is_beyond_is_named(name: str, value: float) -> None:
    (message,) = beyond({**RESULT, name: value})
    assert message.startswith(f"{name} is {value}")


def test_a_run_without_judgments_says_nothing_good() -> None:
    assert beyond({**RESULT, "judgments": 0}) == ["nothing was judged"]


def test_clips_are_not_among_the_annotators_requests() -> None:
    requests = [("annotator", "judgment", 20.0), ("annotator", "take", 50.0), ("media", "clip", 900.0)]
    measured = Measured(60.0, requests, [], 1, {}, 0.0)
    assert measured.of("annotator") == [0.02, 0.05]
    assert measured.table()["media: clip"]["p95_ms"] == 900
    assert set(measured.table()) == {"annotator: judgment", "annotator: take", "media: clip"}


def test_figures_are_of_the_nearest_rank() -> None:
    assert figures([0.001 * n for n in range(1, 101)]) == {
        **{"answers": 100, "p50_ms": 50, "p95_ms": 95, "p99_ms": 99, "p100_ms": 100}
    }
    assert percent(36, 60 * 2) == 30


@pytest.mark.parametrize("words", [["--annotators", "0"], ["--seconds", "0"], ["--cores", "0"]])
def test_options_without_sense(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        options_from(words)
