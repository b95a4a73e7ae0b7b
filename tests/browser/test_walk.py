"""A query's whole way: two annotators, two more where they were far apart, the lead's word, the release."""

import csv
import io
import json
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, expect

from accounts.models import Project, User
from judging.models import Assignment, Batch, BatchReview, Judgment, JudgmentChange, Pair, Release
from models_runner.models import Run
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.judging.play import judge_round

PASSWORD = "a-long-enough-password"
DISTANT = {1: (1, 4, 3, 4), 2: (2, 0, 0, 1), 3: (3, 0, 0, 3)}  # rank: the four grades
OUTCOMES = {1: ("settled", 4), 2: ("settled", 1), 3: ("dropped", None)}


def wish(rank: int, slot: int) -> int:
    """Round 1: what this slot gives the pair of this rank; apart from DISTANT both slots agree."""
    return DISTANT[rank][slot - 1] if rank in DISTANT else rank % 5


def person(project: Project, role: str = "annotator") -> User:
    user = factories.MembershipFactory(project=project, role=role).user
    user.set_password(PASSWORD)
    user.save()
    return user  # type: ignore[no-any-return]


def arrive(browse: Browse, user: User) -> Page:
    page = browse()
    acts.log_in(page, user.username, PASSWORD)
    return page


def finish(page: Page) -> None:
    acts.settle(page)
    page.get_by_role("button", name="Finish and stop").click()
    expect(page.get_by_role("main").get_by_role("status")).to_contain_text("your grades for this batch are final")


def judge_first_round(browse: Browse, batch: Batch, slot: int) -> None:
    page = arrive(browse, person(batch.project))
    expect(page.get_by_role("button", name="Start a batch")).to_be_focused()
    page.keyboard.press("Enter")
    acts.judge(page, 20, lambda pair: wish(pair.candidate.rank, slot), give=acts.by_key)
    assert acts.grades_by_rank(batch, slot=slot) == {rank: wish(rank, slot) for rank in range(1, 21)}
    if slot == 1:
        change_rank_20(page, batch)
    finish(page)
    assert Assignment.objects.get(batch=batch, round=1, slot=slot).state == Assignment.State.FINISHED


def change_rank_20(page: Page, batch: Batch) -> None:
    """From the last look, by a click on the moment: 0 becomes 1."""
    pair = batch.pairs.get(candidate__rank=20)
    page.locator(f"ol.looks a[href*='{pair.uuid}']").click()
    expect(page.locator("button[aria-pressed=true]")).to_have_attribute("value", "0")
    acts.settle(page)
    page.keyboard.press("1")
    expect(page.locator(f"ol.looks a[href*='{pair.uuid}'] .grade")).to_have_text("1")
    change = JudgmentChange.objects.get()
    assert (change.judgment.pair, change.from_grade, change.to_grade) == (pair, 0, 1)


def judge_second_round(browse: Browse, batch: Batch, slot: int) -> None:
    page = arrive(browse, person(batch.project))
    page.get_by_role("button", name="Start a batch").click()
    acts.judge(page, len(DISTANT), lambda pair: DISTANT[pair.candidate.rank][slot + 1], give=acts.by_key)
    finish(page)
    assert acts.grades_by_rank(batch, round=2, slot=slot) == {
        rank: grades[slot + 1] for rank, grades in DISTANT.items()
    }


def decide(page: Page, batch: Batch, word: str) -> None:
    page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link", name="Judging").click()
    case = page.locator("article.case").filter(has_text=batch.query.text)
    case.get_by_role("button", name=word).click()
    expect(page.get_by_role("status")).to_be_visible()
    expect(case).to_have_count(0)


def release(page: Page, project: Project) -> dict[str, str]:
    """Make a release and download it: its files by name."""
    page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link", name="Results").click()
    page.get_by_role("button", name="Make a release").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert Release.objects.get(project=project).state == Release.State.READY
    assert download.value.suggested_filename == "momentjudge-release-1.zip"
    with ZipFile(download.value.path()) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.mark.usefixtures("encoder")
def test_a_query_goes_from_its_first_grade_to_the_release(browse: Browse) -> None:
    project = acts.project()
    batch = acts.batch(project, text="A person opens a letter", pairs=20, beyond=2)
    for slot in (1, 2):
        judge_first_round(browse, batch, slot)
    batch.refresh_from_db()
    assert (batch.state, batch.round) == (Batch.State.OPEN, 2)
    escalated = batch.pairs.filter(state=Pair.State.ESCALATED)
    assert set(escalated.values_list("candidate__rank", flat=True)) == set(DISTANT)

    for slot in (1, 2):
        judge_second_round(browse, batch, slot)
    batch.refresh_from_db()
    assert batch.state == Batch.State.DONE
    correct = {rank: OUTCOMES.get(rank, ("settled", rank % 5)) for rank in range(1, 20)} | {20: ("settled", 1)}
    pairs = batch.pairs.values_list("candidate__rank", "state", "relevance")
    assert {rank: (state, relevance) for rank, state, relevance in pairs} == correct

    other = acts.batch(project, text="A person waters a plant", split="test")
    judge_round(other, [4, 3, 0], [4, 3, 1])
    lead = person(project, "lead")
    page = arrive(browse, lead)
    decide(page, batch, "Extend")
    decide(page, other, "Close")
    reviews = BatchReview.objects.order_by("batch").values_list("batch", "decision", "decided_by")
    assert list(reviews) == [(batch.pk, "extend", lead.pk), (other.pk, "close", lead.pk)]
    second = Batch.objects.get(query=batch.query, number=2)
    assert list(second.pairs.values_list("candidate__rank", flat=True).order_by("candidate__rank")) == [21, 22]
    judge_round(second, [2, 0], [2, 0])

    check_files(release(page, project), batch, other, second)
    assert set(Run.objects.values_list("split", "state")) == {("val", "scored"), ("test", "scored")}


def check_files(files: dict[str, str], *batches: Batch) -> None:
    training = {f"train_top{depth}.json" for depth in ("01", "20", "40")}
    published = training | {"val.json", "test.json", "video_corpus.json"}
    assert set(files) > published | {"raw_annotation.csv", "pairs.csv", "qrels.txt", "datasheet.md", "manifest.json"}
    settled = Pair.objects.filter(batch__in=batches, state=Pair.State.SETTLED)
    for split, total in (("val", 19 + 2), ("test", 3)):
        queries = json.loads(files[f"{split}.json"])
        judged = {row["pair_id"]: row["relevance"] for query in queries for row in query["relevant_moment"]}
        assert judged == dict(settled.filter(batch__query__split=split).values_list("pk", "relevance"))
        assert len(judged) == total
    raw = list(csv.reader(io.StringIO(files["raw_annotation.csv"])))[1:]
    assert len(raw) == Judgment.objects.count() == 2 * (20 + 3 + 3 + 2)
