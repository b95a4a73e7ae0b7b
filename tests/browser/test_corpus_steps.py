"""A corpus goes its way by pages: imported, made a project, rewritten, looked at, divided, ranked, written, counted."""

import json
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from accounts.models import Project
from annotation.models import Query
from tests import factories
from tests.browser.conftest import Browse
from tests.browser.test_every_page import visit

ACTS = ["opens a letter", "closes the door", "sits down", "waves", "reads a book", "leaves", "eats soup", "laughs"]


@pytest.mark.usefixtures("encoder")
def test_from_a_file_to_pools_training_sets_and_statistics(browse: Browse, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    rows = [f"v{n},{n}.0,{n}.5,Rachel {act} in the kitchen of the house.,60,video" for n, act in enumerate(ACTS)]
    rows.append("v9,1,2,<b>Ross</b> and Joey wave.,60,video")
    file.write_text("\n".join(["video,start,end,description,duration,kind", *rows]))
    page = browse(factories.lead(factories.ProjectFactory()))

    page.goto(reverse("annotation:corpora"))
    page.get_by_role("button", name="Import a file").click()
    page.get_by_label("Form of the file").select_option("csv")
    page.locator("input[name=file]").set_input_files(file)
    page.locator("input[name=corpus_name]").fill("Winter")
    page.get_by_role("button", name="Upload and check").click()
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("link", name="Make a project over Winter").click()
    page.get_by_label("Name").fill("Winter queries")
    page.get_by_role("button", name="Make the project").click()

    page.get_by_role("link", name="Rewrite", exact=True).click()
    page.get_by_role("button", name="Rewrite 9 descriptions").click()
    page.get_by_role("button", name="Accept").click()
    expect(page.locator("#waiting")).to_have_text("0")

    page.get_by_role("link", name="Splits").click()
    page.get_by_label("Validation").fill("2")
    page.get_by_label("Test").fill("25%")
    page.get_by_role("button", name="Show what comes out").click()
    expect(page.get_by_role("row", name="Training (train)")).to_contain_text("5")
    page.get_by_role("button", name="Draw these queries").click()
    expect(page.get_by_text("9 queries are drawn.")).to_be_visible()
    assert Query.objects.filter(split="test").count() == 2

    page.get_by_role("link", name="Queries", exact=True).first.click()
    page.get_by_label("Similarity that ranks").select_option("bow")
    page.get_by_role("button", name="Rank candidates").click()
    with page.expect_download() as pool:
        page.get_by_role("link", name="All candidates as CSV").click()
    assert len(pool.value.path().read_text().splitlines()) == 1 + 4 * 9

    page.get_by_role("link", name="Corpus", exact=True).first.click()
    page.get_by_role("link", name="Training sets").click()
    page.get_by_label("N, moments for each query").fill("3")
    page.get_by_role("button", name="Write a training set").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    assert [len(row["relevant_moment"]) for row in json.loads(download.value.path().read_text())] == [3] * 5

    page.get_by_role("link", name="Statistics").click()
    expect(page.get_by_role("img", name="Texts by their number of words")).to_be_visible()
    page.get_by_role("link", name="Validation queries").click()
    expect(page.get_by_role("heading", name="Validation queries")).to_be_visible()

    project = Project.objects.get(name="Winter queries")
    captions, splits, statistics = (
        reverse(f"annotation:{name}", args=[project.uuid]) for name in ("captions", "splits", "statistics")
    )
    new = reverse("judging:project-new", args=[project.dataset.corpus.uuid])
    assert visit(page, captions, f"{splits}?val=1&test=1&seed=2", statistics, new) == []
