"""A release may give annotators numbers of its own, which lead to nobody."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from judging.models import Release
from judging.releases import selectors
from judging.releases.services import release_build, release_create
from tests.judging.scenario import HandMade

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
FILES = ("judgments.csv", "raw_annotation.csv")


def released(scenario: HandMade, folder: Path, *, anonymised: bool) -> Release:
    release = release_create(project=scenario.project, actor=scenario.lead, is_anonymised=anonymised)
    return release_build(release_id=release.pk, folder=folder)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open() as file:
        return list(csv.DictReader(file))


def hands(folder: Path, name: str) -> dict[str, list[tuple[str, ...]]]:
    """Return rows by worker, in the order of the file."""
    rows_by_worker: dict[str, list[tuple[str, ...]]] = {}
    for row in rows(folder, name):
        rows_by_worker.setdefault(row.pop("worker"), []).append(tuple(row.values()))
    return rows_by_worker


def test_numbers_are_drawn_and_grades_stay_and_the_files_say_so(tmp_path: Path) -> None:
    scenario = HandMade()
    plain, anonymous = tmp_path / "plain", tmp_path / "drawn"
    for folder, anonymised in ((plain, False), (anonymous, True)):
        release = released(scenario, folder, anonymised=anonymised)
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        assert manifest["anonymised"] == release.manifest["anonymised"] == anonymised
        assert json.loads((folder / "settings.json").read_text())["anonymised"] == anonymised
        assert ("drawn at random" in (folder / "datasheet.md").read_text()) == anonymised
    for name in FILES:
        before, after = hands(plain, name), hands(anonymous, name)
        assert set(before) == {"101", "102", "103", "104"}
        assert set(after) == {"1", "2", "3", "4"}
        assert sorted(before.values()) == sorted(after.values())  # the same hands under other numbers
    sizes = [{number: len(grades) for number, grades in hands(anonymous, name).items()} for name in FILES]
    assert sizes[0] == sizes[1]  # one draw for both files


def test_each_release_draws_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Chance:
        turns = 0

        def shuffle(self, people: list[int]) -> None:
            people.sort(reverse=bool(Chance.turns % 2))
            Chance.turns += 1

    monkeypatch.setattr(selectors, "SystemRandom", Chance)
    scenario = HandMade()
    one, two = tmp_path / "one", tmp_path / "two"
    first, second = released(scenario, one, anonymised=True), released(scenario, two, anonymised=True)
    assert hands(one, FILES[0])["1"] == hands(two, FILES[0])["4"]
    assert first.content_sha256 != second.content_sha256


def test_a_lead_chooses_it_on_the_page_and_by_command(tmp_path: Path) -> None:
    scenario = HandMade()
    browser = Client()
    browser.force_login(scenario.lead)
    create_url = reverse("judging:release-create", args=[scenario.project.uuid])
    assert "anonymise" in browser.get(reverse("judging:releases", args=[scenario.project.uuid])).content.decode()
    for form in ({}, {"anonymise": "on"}):
        browser.post(create_url, form)
    call_command("export_release", str(tmp_path / "out"), "--anonymise")
    assert list(Release.objects.order_by("version").values_list("is_anonymised", flat=True)) == [False, True, True]
