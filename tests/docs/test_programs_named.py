"""cron, systemd-run and units look for a program neither in the caller's folder nor always on its path."""

import re
import shlex
from collections.abc import Iterator

from tests.docs.pages import ROOT, blocks

CRON = re.compile(r"^(?:@\w+|(?:[\d*/,-]+ ){5}) *(.+)$", re.MULTILINE)
UNIT = re.compile(r"^Exec\w+=[-@:+!]*(.+)$", re.MULTILINE)
STARTED = re.compile(r"systemd-run (.+)")
OPTIONS = {"--uid", "--gid", "--unit", "--working-directory", "--property", "--setenv", "--slice", "--on-calendar"}


def named_in(text: str) -> Iterator[str]:
    """The program of each line of a crontab or a unit, and of each call of systemd-run."""
    text = text.replace("\\\n", " ")
    for line in [*CRON.findall(text), *UNIT.findall(text)]:
        yield shlex.split(line)[0]
    for call in STARTED.findall(text):
        words = iter(shlex.split(call))
        for word in words:
            if word in OPTIONS:
                next(words)
            elif not word.startswith("-"):
                yield word
                break


def test_what_cron_and_systemd_start_is_named_by_its_whole_path() -> None:
    texts = {str(block): block.text for block in blocks()}
    texts |= {path.name: path.read_text() for path in (ROOT / "docker" / "systemd").iterdir()}
    programs = {source: list(named_in(text)) for source, text in texts.items()}
    assert sum(map(len, programs.values())) > 5
    assert {source: names for source, names in programs.items() if any(name[0] != "/" for name in names)} == {}
