"""From five clips and a CSV file of moments to a release that is scored, in the browser alone, in few actions."""

import csv
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from accounts.models import Project
from annotation.models import Moment
from judging.models import Batch, Release
from models_runner.leaderboard.services.releases import READY_RELEASES
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.judging.play import judge_round
from tests.media import padded

MOST_ACTIONS = 25  # clicks, choices and fields filled by the lead
SEEN = ["A man opens a box.", "A woman waters a plant.", "A dog runs.", "A man sits down.", "A woman reads a book."]
PASSWORD = "a-long-enough-password"


class Lead:
    """The lead at a page; counts what they do."""

    def __init__(self, page: Page) -> None:
        self.page, self.actions = page, 0

    def click(self, what: Locator) -> None:
        self.actions += 1
        what.click()

    def press(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name))

    def follow(self, name: str) -> None:
        self.click(self.page.locator("main a").filter(has_text=name))

    def go(self, group: str) -> None:
        self.click(self.page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link", name=group))

    def open(self, page: str) -> None:
        row = self.page.get_by_role("navigation", name="Pages of this group")
        self.click(row.get_by_role("link", name=page))

    def fill(self, label: str, text: str) -> None:
        self.actions += 1
        self.page.get_by_label(label).fill(text)

    def choose(self, label: str, option: str) -> None:
        self.actions += 1
        self.page.get_by_label(label).select_option(label=option)

    def upload(self, field: Locator, *paths: Path) -> None:
        self.actions += 1
        field.set_input_files(paths)


@pytest.fixture
def clips(tmp_path: Path, clip: bytes) -> list[Path]:
    paths = [tmp_path / f"clip {number}.mp4" for number in range(1, 6)]
    for number, path in enumerate(paths):
        path.write_bytes(padded(clip, number))
    return paths


@pytest.fixture
def moments(tmp_path: Path, clips: list[Path]) -> Path:
    path = tmp_path / "moments.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["video", "start", "end", "description"])
        for row, text in zip(clips, SEEN, strict=True):
            writer.writerow([row.stem, 0.5, 2.5, text])
    return path


def join(browse: Browse, address: str, name: str) -> None:
    page = browse()
    page.goto(address)
    for label, text in (("User name", name), ("Name", name), ("Password", PASSWORD), ("Password again", PASSWORD)):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Join as annotator").click()
    page.locator("main a").filter(has_text="Read the guideline").click()
    page.get_by_role("button", name="I have read this version").click()
    expect(page.get_by_role("button", name="Start a batch")).to_be_visible()


@pytest.mark.usefixtures("encoder")
def test_five_clips_become_a_release_that_is_scored(browse: Browse, clips: list[Path], moments: Path) -> None:
    home = acts.project()  # where the lead comes from: a site always has somebody who runs a project
    page = browse(factories.lead(home))
    page.goto("/")
    lead = Lead(page)

    lead.go("Data")
    lead.follow("New collection")
    lead.fill("Name", "Five clips")
    lead.press("Make the collection")
    project = Project.objects.get(name="Five clips")

    lead.upload(page.get_by_label("Choose videos"), *clips)
    expect(page.get_by_text("5 videos added within a day")).to_be_visible()
    lead.follow("Import moments")
    lead.upload(page.locator("input[type=file][name=file]"), moments)
    lead.press("Upload and check")
    lead.press("Import")
    expect(page.get_by_text("Imported.")).to_be_visible()
    states = list(Moment.objects.values_list("preview_state", "preview_error"))
    assert states == [("ready", "")] * len(SEEN)

    lead.follow("Rewrite")
    lead.press("Rewrite 5 descriptions")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    lead.open("Splits")
    lead.press("Draw these queries")
    lead.follow("Queries")
    lead.press("Rank candidates and open batches")

    lead.go("People")
    lead.choose("Role", "Annotator, qualified at once")
    for name in ("wren", "finch"):
        lead.press("Invite")
        join(browse, page.get_by_role("textbox", name="Link").input_value(), name)
    for batch in Batch.objects.filter(project=project):
        judge_round(batch, *[[4 if pair.candidate.rank == 1 else 0 for pair in batch.pairs.all()]] * 2)

    lead.go("Judging")
    for batch in Batch.objects.filter(project=project).select_related("query"):
        case = page.locator("article.case").filter(has_text=batch.query.text)
        lead.click(case.get_by_role("button", name="Close"))
        expect(case).to_have_count(0)

    lead.go("Results")
    lead.press("Make a release")
    release = Release.objects.get(project=project)
    assert release.state == Release.State.READY
    READY_RELEASES.sweep(timezone.now() + timedelta(minutes=5))  # the clock sends it
    lead.open("Leaderboard")
    expect(page.get_by_role("rowheader", name="similarity")).to_be_visible()
    assert lead.actions <= MOST_ACTIONS, lead.actions
