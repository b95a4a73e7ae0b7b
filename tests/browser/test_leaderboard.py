"""A participant's way: bring a run, see it scored, compare it, open a case."""

import json
import re
from pathlib import Path

from django.core.files.base import ContentFile
from django.urls import reverse
from playwright.sync_api import expect

from accounts.models import Project
from judging.models import Release
from models_runner.leaderboard.services.releases import release_receive
from models_runner.models import Run
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import Complaints, visit
from tests.judging.views.endpoints import zipped
from tests.models_runner.acts import GOOD, WRONG, bring, participant, run_json


def released(project: Project) -> Release:
    """Two judged queries of the validation split."""
    for name in ("alpha", "beta"):
        factories.VideoFactory(corpus=project.dataset.corpus, name=name)
    rows = []
    for number in (10, 11):
        factories.QueryFactory(project=project, number=number, text=f"a person sings {number}", split="val")
        spans = [span[1:3] for span in GOOD[:2]]
        moments = [{"video_name": "alpha", "timestamp": span, "relevance": 4 - n} for n, span in enumerate(spans)]
        rows.append({"query_id": number, "query": f"a person sings {number}", "relevant_moment": moments})
    release = Release(project=project, version=1, state="ready", manifest={"counts": {"pairs": {}}})
    release.archive.save("release.zip", ContentFile(zipped({"val.json": json.dumps(rows).encode()})), save=False)
    release.save()
    release_receive(release_id=release.pk)
    return release


def test_a_run_is_uploaded_scored_compared_and_looked_into(browse: Browse, tmp_path: Path) -> None:
    project = acts.project()
    release = released(project)
    bring(participant(project), release, run_json({10: WRONG}), system="theirs")
    member = participant(project)
    path = tmp_path / "run.json"
    path.write_bytes(run_json({10: GOOD, 11: GOOD}))

    page = browse(member.user)
    complaints = Complaints(page)
    page.goto(reverse("models_runner:runs", args=[project.uuid]))
    page.get_by_role("navigation").get_by_role("link", name="Upload a run").click()
    page.get_by_label("File").set_input_files(path)
    page.get_by_label("System").fill("ours")
    page.get_by_label("Split").select_option("val")
    page.get_by_role("button", name="Upload and score").click()
    expect(page.get_by_role("heading", name="Release 1")).to_be_visible()
    assert Run.objects.get(system="ours").scorings.get().state == "scored"

    page.get_by_role("link", name="Release 1").click()
    urls = [page.url]
    row = page.get_by_role("row", name=re.compile("theirs"))
    expect(row).to_contain_text("unjudged")
    row.get_by_role("link", name="compare").click()
    expect(page.get_by_text("0 · 0 · 2")).to_be_visible()
    urls.append(page.url)
    page.get_by_role("link", name="10", exact=True).click()
    expect(page.get_by_role("heading", name="Query 10")).to_be_visible()
    expect(page.locator("li.found")).to_have_count(2)
    urls.append(page.url)
    assert complaints == []
    assert visit(page, *urls) == []
