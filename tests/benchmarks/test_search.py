"""Sizes the search benchmark leaves out."""

import subprocess
from argparse import Namespace
from types import SimpleNamespace

import pytest

from benchmarks import search


def options(*videos: int, **values: object) -> Namespace:
    return Namespace(**{"videos": videos, "device": "cpu", "json": False, **values})


def test_a_process_that_was_killed_is_reported_and_the_others_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*words: object, **how: object) -> SimpleNamespace:
        raise subprocess.CalledProcessError(-9, [], stderr="Traceback\nKilled")

    monkeypatch.setattr(search.subprocess, "run", killed)
    rows, left_out = search.measured(options(10, threads=1))
    assert (rows, left_out) == ([], [{"videos": 10, "reason": "the process ended with -9: Killed"}])
