"""Cases the search benchmark leaves out, before it takes all memory."""

import subprocess
from argparse import Namespace
from types import SimpleNamespace

import pytest

from benchmarks import search

GIB = 2**30


def options(*videos: int, **values: object) -> Namespace:
    return Namespace(**{"videos": videos, "device": "cpu", "half": False, "json": False, **values})


@pytest.mark.parametrize("half", [False, True])
def test_the_bytes_of_the_vectors_are_reckoned_as_they_are(half: bool) -> None:
    n_bytes, centres = search.random_corpus(40, options(half=half)).nbytes, 40 * 4 * search.HIDDEN
    assert search.bytes_needed(40, options(half=half)) - search.BESIDE == n_bytes + centres


def test_what_does_not_fit_is_left_out_and_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(search, "bytes_free", lambda device: 4 * GIB)
    row = {"exact_ms": 5.0, "bytes_a_video": 82_080, "memory_mib": 1024}
    monkeypatch.setattr(search, "in_own_process", lambda size, options: {"videos": size, **row})
    rows, left_out = search.measured(options(10_000, 100_000))
    assert ([each["videos"] for each in rows], [each["videos"] for each in left_out]) == ([10_000], [100_000])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["10,000", "5", "82,080", "1,024"]
    assert lines[2].strip() == "100,000  left out: it needs about 8.7 GiB, and 4.0 GiB are free"


def test_a_process_that_was_killed_is_reported_and_the_others_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*words: object, **how: object) -> SimpleNamespace:
        raise subprocess.CalledProcessError(-9, [], stderr="Traceback\nKilled")

    monkeypatch.setattr(search.subprocess, "run", killed)
    rows, left_out = search.measured(options(10, threads=1))
    assert (rows, left_out) == ([], [{"videos": 10, "reason": "the process ended with -9: Killed"}])
