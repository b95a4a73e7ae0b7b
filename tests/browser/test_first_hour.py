"""From five clips and a CSV file of moments to a release that is scored, in the browser alone, in few actions."""

import csv
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from accounts.models import Project
from annotation.models import Moment
from judging.models import Assignment, Batch, Release
from models_runner.models import Scoring
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.judging.play import judge_round

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
        self.click(self.page.get_by_role("main").get_by_role("link", name=name))

    def go(self, group: str, page: str = "") -> None:
        self.click(self.page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link", name=group))
        if page:
            row = self.page.get_by_role("navigation", name="Pages of this group")
            self.click(row.get_by_role("link", name=page))

    def fill(self, label: str, text: str) -> None:
        self.actions += 1
        self.page.get_by_label(label).fill(text)

    def choose(self, label: str, option: str) -> None:
        self.actions += 1
        self.page.get_by_label(label).select_option(label=option)

    def upload(self, label: str, *paths: Path) -> None:
        self.actions += 1
        self.page.get_by_label(label).set_input_files(paths)


@pytest.fixture
def clips(tmp_path: Path, clip: bytes) -> list[Path]:
    paths = [tmp_path / f"clip {number}.mp4" for number in range(1, 6)]
    for path in paths:
        path.write_bytes(clip)
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
    page.get_by_role("button", name="I have read it").click()
    expect(page.get_by_role("button", name="Start a batch")).to_be_visible()


@pytest.mark.usefixtures("encoder")
def test_five_clips_become_a_release_that_is_scored(browse: Browse, clips: list[Path], moments: Path) -> None:
    home = acts.project()  # where the lead comes from: a site always has somebody who runs a project
    page = browse(factories.lead(home))
    page.goto("/")
    lead = Lead(page)

    lead.go("Data")
    lead.follow("All corpora")
    lead.follow("New collection")
    lead.fill("Name", "Five clips")
    lead.press("Make the collection")
    project = Project.objects.get(name="Five clips")

    lead.upload("Choose videos", *clips)
    expect(page.get_by_text("5 videos added within a day")).to_be_visible()
    lead.follow("Import moments")
    lead.upload("File", moments)
    lead.press("Check the file")
    lead.press("Import")
    expect(page.get_by_text("Imported.")).to_be_visible()
    assert Moment.objects.filter(preview_state=Moment.Preview.READY).count() == len(SEEN)

    lead.follow("Rewrite")
    lead.press("Rewrite 5 descriptions")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    lead.go("Data", "Splits")
    lead.press("Show what comes out")
    lead.press("Draw")
    lead.follow("Queries")
    lead.press("Rank candidates and open batches")

    lead.go("People")
    for name in ("wren", "finch"):
        lead.choose("Role", "Annotator who may judge at once, by your word")
        lead.press("Invite")
        join(browse, page.get_by_role("textbox", name="Link").input_value(), name)
    for batch in Batch.objects.filter(project=project):
        judge_round(batch, *[[4 if pair.candidate.rank == 1 else 0 for pair in batch.pairs.all()]] * 2)

    lead.go("Results")
    lead.press("Make a release")
    release = Release.objects.get(project=project)
    assert release.state == Release.State.READY
    assert Scoring.objects.filter(release=release).exists()
    assert Assignment.objects.filter(project=project).exists()
    assert lead.actions <= MOST_ACTIONS, lead.actions
