"""A file's harm to its reader hits a child, and is reported in words."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from moment_retrieval.limited import Limits, ReaderEnded, reader
from tests.moment_retrieval import hostile_readers

READER = hostile_readers.__name__
LIMITS = Limits(memory_mb=200, cpu_s=1)


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("crash", r"it is damaged: whoever reads it is ended by the system \(SIGSEGV\)"),
        ("memory", "reading it takes more than 200 MB of memory, and was stopped"),
        ("time", "reading it takes more than 1 s of computing, and was stopped"),
    ],
)
def test_a_reader_that_is_ended_says_how(what: str, reason: str) -> None:
    with pytest.raises(ReaderEnded, match=f"^{reason}$"), reader(READER, what.encode(), LIMITS) as output:
        assert output.read() == b"begun\n"


def test_a_reader_knows_nothing_of_the_site_and_logs_its_fault(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ReaderEnded) as raised, reader(READER, b"fault", LIMITS) as output:
        output.read()
    assert "secret" not in str(raised.value) and "secret of the host" in caplog.text
    monkeypatch.setenv("SECRET_KEY", "tell nobody")
    monkeypatch.setenv("DATABASE_URL", "postgres://somebody:pass@host/db")
    with reader(READER, b"surroundings", LIMITS) as output:
        payload = json.loads(output.read().splitlines()[-1])
    assert "tell nobody" not in str(payload) and "somebody" not in str(payload)
    assert payload["environment"]["HDF5_PLUGIN_PRELOAD"] == "::"  # a file loads no library


def test_a_reader_that_is_left_early_is_ended() -> None:
    with suppress(ZeroDivisionError), reader(READER, b"wait", LIMITS) as output:
        assert output.readline() == b"begun\n"
        raise ZeroDivisionError
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    lines = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
    assert not any(READER.encode() in line for line in lines)
