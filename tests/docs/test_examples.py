"""Examples in README and docs/ do what they say: blocks after ``<!-- tested -->`` are run, other commands parsed."""

import doctest
import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class
from django.core.management.base import CommandError

from judging.work.rules import TVR_RANKING, State, settle
from moment_retrieval.cli import main
from tests.docs.pages import ROOT, Block, blocks, tables

PYTHON = ".venv/bin/python"
MANAGED = re.compile(r"(?:(?<!`)manage\.py|(?:^|bin/)momentjudge|compose .*run .*\bmanage) ([a-z].*)")
SHELL = [block for block in blocks() if block.language in ("", "bash", "console")]
TESTED = [block for block in blocks() if block.tested]


def steps(block: Block) -> list[tuple[str, str]]:
    """Every ``$ command`` of a console block with the output shown below it."""
    parts = ("\n" + block.text).split("\n$ ")[1:]
    return [(command, output.strip()) for command, _, output in (part.partition("\n") for part in parts)]


def output_of(command: str) -> str:
    """Return the command's output, errors included, as printed."""
    out = io.StringIO()
    match shlex.split(command):
        case [python, "manage.py", name, *words] if python == PYTHON:
            try:
                call_command(name, *words, stdout=out, stderr=out, no_color=True)
            except CommandError as error:
                out.write(f"CommandError: {error}\n")
        case ["moment-retrieval", *words] | [".venv/bin/python", "-m", "moment_retrieval", *words]:
            with redirect_stdout(out), redirect_stderr(out):
                main(words)
        case _:
            pytest.fail(f"this test cannot run: {command}")
    return out.getvalue().strip()


@pytest.mark.django_db
@pytest.mark.parametrize("block", [block for block in TESTED if block.language == "console"], ids=str)
def test_a_command_prints_what_the_page_shows(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert steps(block)
    for command, output in steps(block):
        assert output_of(command) == output


@pytest.mark.parametrize("block", [block for block in TESTED if block.language == "python"], ids=str)
def test_python_gives_what_the_page_shows(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    example = doctest.DocTestParser().get_doctest(block.text, {}, str(block), str(block.page), block.line)
    output: list[str] = []
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example, out=output.append).failed == 0, "".join(output)


def test_only_blocks_that_can_be_run_are_marked() -> None:
    assert {block.language for block in TESTED} == {"console", "python"}


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_every_management_command_takes_the_words_shown(
    block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # a file to be written is opened with the words
    for command in (match[1] for line in block.text.splitlines() if (match := MANAGED.search(line))):
        name, *options = shlex.split(command, comments=True)
        assert name in get_commands(), f"there is no command {name}"
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.called_from_command_line = False  # raises instead of leaving
        parser.parse_args(options)


def test_the_examples_of_consensus_are_those_of_the_rule() -> None:
    rows = [row for row in tables(ROOT / "docs" / "rules.md") if row[0][:1].isdigit() and len(row) == 4]
    assert len(rows) > 5
    for first, second, middle, becomes in rows:
        grades = [int(grade) for grade in f"{first}, {second}".replace(",", " ").split()]
        outcome = settle(grades, TVR_RANKING)
        state, _, relevance = becomes.partition(" (")[0].partition(", ")
        assert outcome == (State(state), int(relevance) if relevance else None)
        if middle:
            assert [int(grade) for grade in middle.split(", ")] == sorted(grades)[1:3]
