"""A checker hears and sees each moment: accepts it, moves its bounds, rejects it, takes it back; and verifies some."""

from pathlib import Path
from urllib.parse import parse_qs

import pytest
from django.core.files import File
from django.urls import reverse
from playwright.sync_api import Page, expect

from judging.models import (
    QueryCheck,
    VerificationAnswer,
    VerificationStatement,
    VerificationStudy,
    WritingRound,
    WrittenQuery,
)
from tests import factories
from tests.annotation.previews.clips import make_video
from tests.browser.axe import NARROW, barriers, barriers_in
from tests.browser.conftest import Browse

SPENT = "Number(Object.entries(sessionStorage).find(([name]) => name.startsWith('momentjudge-time-spent:'))[1])"
TEXTS = ("A woman in a green coat opens a letter.", "A dog runs along the beach.", "A man sings on the stairs.")


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = "testsrc=size=320x180:rate=10:duration=6"
    return make_video(tmp_path_factory.mktemp("films") / "film.mp4", "-movflags", "+faststart", source=source)


@pytest.fixture
def to_check(film: Path, transactional_db: None) -> WritingRound:
    """A round with three queries that wait."""
    row: WritingRound = factories.WritingRoundFactory(name="Visual round")
    for text in TEXTS:
        video = factories.VideoFactory(corpus=row.project.dataset.corpus, duration_s=6.0, fps=10)
        with film.open("rb") as content:
            video.file.save("film.mp4", File(content), save=False)
        video.playback_state = "not_needed"
        video.save()
        clip = factories.WritingClipFactory(round=row, video=video)
        query = factories.WrittenQueryFactory(assignment__clip=clip, text=text)
        query.assignment.state, query.assignment.n_queries, query.assignment.ended_at = "finished", 1, factories.NOW
        query.assignment.save()
    return row


def ready(page: Page, text: str) -> None:
    expect(page.locator("p.query")).to_have_text(text)
    page.wait_for_selector("#marking[data-frame]")


def test_a_checker_decides_by_keys_and_takes_one_back(browse: Browse, to_check: WritingRound) -> None:
    page = browse(factories.checker(to_check.project))
    page.goto(reverse("judging:checking-desk", args=[to_check.project.uuid]))
    page.get_by_role("button", name="Check queries").click()
    ready(page, TEXTS[0])
    expect(page.locator("#time")).to_have_text("1.50 s")
    assert barriers(page) == []
    expect(page.get_by_role("button", name="Accept with these bounds")).to_be_hidden()
    page.keyboard.press("a")
    ready(page, TEXTS[1])
    expect(page.get_by_text(f"Accepted: “{TEXTS[0]}”")).to_be_visible()

    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("i")
    expect(page.get_by_role("button", name="Accept", exact=True)).to_be_hidden()
    page.keyboard.press("a")
    expect(page.get_by_role("alert")).to_contain_text("Say why you move the bounds.")
    assert page.locator("[name=start_s]").input_value() == "2.5"
    page.get_by_label("Note").fill("It starts later.")
    page.get_by_label("Note").press("Enter")  # what is chosen, whichever button comes first
    ready(page, TEXTS[2])
    page.reload()  # the time goes on where it was
    ready(page, TEXTS[2])
    before = page.evaluate(SPENT)
    page.keyboard.press("2")
    page.get_by_label("Note").fill("Look left.")
    with page.expect_request("**/decide/") as request:
        page.get_by_label("Note").press("Enter")
    assert int(parse_qs(request.value.post_data or "")["active_ms"][0]) > before > 0
    expect(page.get_by_text("No query waits for you. Look again later.")).to_be_visible()
    rows = QueryCheck.objects.order_by("pk").values_list("decision", "reason", "note", "start_s", "end_s")
    assert list(rows) == [
        ("accept", "", "", 1.5, 4.25),
        ("correct", "", "It starts later.", 2.5, 4.25),
        ("reject", "not_only", "Look left.", 1.5, 4.25),
    ]
    page.get_by_role("row", name=TEXTS[2]).get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken back: the query waits again.")).to_be_visible()
    assert [row.state for row in WrittenQuery.objects.order_by("pk")] == ["accepted", "accepted", "waiting"]


def test_the_page_fits_a_phone_and_the_dark(browse: Browse, to_check: WritingRound) -> None:
    page = browse(factories.checker(to_check.project), viewport={"width": 390, "height": 844})
    page.goto(reverse("judging:query-to-check", args=[to_check.project.uuid]))
    ready(page, TEXTS[0])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert barriers_in(page, "dark", NARROW) == []


@pytest.fixture
def to_verify(film: Path, transactional_db: None) -> VerificationStudy:
    """A study of two pairs and two statements."""
    row: VerificationStudy = factories.VerificationStudyFactory(n_pairs=2)
    VerificationStatement.objects.create(study=row, position=2, text="Nothing else matches.")
    for text in TEXTS[:2]:
        pair = factories.VerificationPairFactory(study=row, description__text=text)
        video = pair.description.moment.video
        with film.open("rb") as content:
            video.file.save("film.mp4", File(content), save=False)
        video.duration_s, video.fps = 6.0, 10
        video.save()
    return row


def test_a_checker_verifies_by_keys_and_takes_one_back(browse: Browse, to_verify: VerificationStudy) -> None:
    page = browse(factories.checker(to_verify.project))
    page.goto(reverse("judging:verification-desk", args=[to_verify.project.uuid]))
    page.get_by_role("button", name="Verify").click()
    ready(page, TEXTS[0])
    expect(page.locator("#time")).to_have_text("1.50 s")
    assert barriers(page) == []
    page.keyboard.press("Space")
    expect(page.locator("#time")).not_to_have_text("1.50 s")
    page.keyboard.press("Space")
    page.keyboard.press("i")  # the bounds are what is asked about: they stay
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Say how far you agree with statement 2 as well.")
    expect(page.get_by_role("radio", name="5 strongly agree").first).to_be_checked()
    page.keyboard.press("1")
    page.keyboard.press("u")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    ready(page, TEXTS[1])
    rows = VerificationAnswer.objects.order_by("pk").values_list("statement__position", "value")
    assert list(rows) == [(1, 5), (2, 2)]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken back: the pair waits again.")).to_be_visible()
    expect(page.get_by_text("2 pairs wait for you.")).to_be_visible()


def test_the_pages_of_verification_fit_a_phone_and_the_dark(browse: Browse, to_verify: VerificationStudy) -> None:
    page = browse(factories.checker(to_verify.project), viewport={"width": 390, "height": 844})
    page.goto(reverse("judging:pair-to-verify", args=[to_verify.uuid]))
    ready(page, TEXTS[0])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert barriers_in(page, "dark", NARROW) == []
