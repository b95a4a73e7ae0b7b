"""A writer marks moments and writes queries: keys, drags, live checks, drafts, and a line that is down."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files import File
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.models import ShotDetection, Subtitle, Video
from judging.collection.rules import DANGLING, LONGEST, MESSAGES
from judging.models import ClipAssignment, WritingRound, WrittenQuery
from tests import factories
from tests.annotation.previews.clips import make_video
from tests.browser import acts
from tests.browser.axe import NARROW, barriers, barriers_in
from tests.browser.conftest import Browse

TABLE = json.loads((Path(__file__).parents[1] / "judging/collection/checks.json").read_text())
TEXT = "A woman in a green coat opens a letter."
SECONDS, FPS = 6.0, 10
SOURCE = f"testsrc=size=320x180:rate={FPS}:duration={SECONDS:g}"


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("films") / "film.mp4", "-movflags", "+faststart", source=SOURCE)


@pytest.fixture
def round_of(film: Path, transactional_db: None) -> Callable[..., WritingRound]:
    """Make a round over clips with subtitles and cuts."""

    def make(n: int = 2, **rules: Any) -> WritingRound:
        row = factories.WritingRoundFactory(name="Visual round", **rules)
        for _ in range(n):
            video = factories.VideoFactory(corpus=row.project.dataset.corpus, duration_s=SECONDS, fps=FPS)
            clip_of(row, video, film)
        return row  # type: ignore[no-any-return]

    return make


def clip_of(row: WritingRound, video: Video, film: Path) -> None:
    with film.open("rb") as content:
        video.file.save("film.mp4", File(content), save=False)
    video.playback_state = "not_needed"
    video.save()
    for start, text in ((0.5, "Where were you last night, Ross?"), (3.0, "I was at the museum with Carol.")):
        Subtitle.objects.create(video=video, start_s=start, end_s=start + 2, text=text)
    about = {"detector": "adaptive", "threshold": 3.0, "version": "1", "moved_at": factories.NOW}
    detection = ShotDetection.objects.create(video=video, file=video.file.name, state="done", **about)
    for frame in (20, 40):
        detection.cuts.create(frame=frame, at_s=frame / FPS)
    factories.WritingClipFactory(round=row, video=video)


def begin(browse: Browse, row: WritingRound, **options: Any) -> tuple[Page, User]:
    """Take a clip from the desk; its first frame is there."""
    person = factories.writer(row.project)
    page = browse(person, **options)
    page.goto(reverse("judging:writing-desk", args=[row.project.uuid]))
    page.get_by_role("button", name="Write queries").click()
    frame_shown(page)
    return page, person


def frame_shown(page: Page) -> None:
    page.wait_for_selector("#marking[data-frame]")
    page.wait_for_selector("#timeline[data-frames]")


def value(page: Page, name: str) -> str:
    return page.locator(f"[name={name}]").input_value()


def test_a_writer_goes_from_the_desk_to_the_next_clip_by_keys(browse: Browse, round_of: Any) -> None:
    row = round_of(queries_per_clip=1)
    page, person = begin(browse, row)
    first = page.locator("#marking").get_attribute("data-assignment")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("i")
    assert value(page, "start_s") == "1.1"
    page.keyboard.press("]")
    page.keyboard.press("o")
    page.keyboard.press("u")
    page.keyboard.press("[")
    assert (value(page, "start_s"), value(page, "end_s")) == ("0", "2")
    page.get_by_role("slider", name="End of the moment").focus()
    page.keyboard.press("ArrowLeft")
    assert value(page, "end_s") == "1.9"
    page.keyboard.press("u")
    assert value(page, "end_s") == "2"
    page.keyboard.press("Enter")
    for _ in range(2):
        page.keyboard.press("Enter")
    page.keyboard.type("I was at the museum with Carol.")
    expect(page.locator("#checks")).to_contain_text("copied from the subtitles: “I was at the museum with Carol.”")
    page.keyboard.press("Control+a")
    page.keyboard.type(TEXT)
    expect(page.locator("#checks")).to_have_text("Ready to submit.")
    assert barriers(page) == []
    page.keyboard.press("Enter")
    with page.expect_request("**/submit/") as request:
        page.keyboard.press("Enter")
    assert "active_ms=" in (request.value.post_data or "")
    expect(page.get_by_text("Here is the next clip.")).to_be_visible()
    frame_shown(page)
    assert page.locator("#marking").get_attribute("data-assignment") != first
    query = WrittenQuery.objects.get(writer=person)
    assert (query.text, query.start_s, query.end_s, query.type) == (TEXT, 0.0, 2.0, "v")


def test_the_first_frame_is_there_soon_after_next_and_a_drag_reads_no_layout(browse: Browse, round_of: Any) -> None:
    page, _ = begin(browse, round_of(queries_per_clip=1))
    for name, seconds in (("start_s", "1"), ("end_s", "2.5")):
        page.locator(f"[name={name}]").fill(seconds)
    page.get_by_label("Query", exact=True).fill(TEXT)
    box = page.locator("#timeline").bounding_box()
    assert box is not None
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable")
    at = lambda seconds: box["x"] + box["width"] * seconds / SECONDS  # noqa: E731
    page.mouse.move(at(2.5), box["y"] + 20)
    page.mouse.down()
    before = counted(client)
    steps = 40
    for step in range(steps):
        page.mouse.move(at(2.5 + 2 * step / steps), box["y"] + 20)
    after = counted(client)
    page.mouse.up()
    assert abs(float(value(page, "end_s")) - 4.45) < 0.1
    # To find what the pointer is over, to draw the span, where the clip has got to, and its frame
    assert after["RecalcStyleCount"] - before["RecalcStyleCount"] <= 4 * steps + 5
    assert after["LayoutCount"] - before["LayoutCount"] <= 2 * steps + 5
    page.evaluate("window.pressedAt = 0; document.getElementById('submit').addEventListener('click',"
                  " () => (window.pressedAt = performance.now()))")  # fmt: skip
    page.get_by_role("button", name="Submit and go on").click()
    page.get_by_text("Here is the next clip.").wait_for()
    page.wait_for_selector("#marking[data-frame]")
    shown_ms = int(page.locator("#marking").get_attribute("data-frame") or 0) - page.evaluate("window.pressedAt")
    assert shown_ms <= 5000  # 300 on a machine that does nothing else


def counted(client: Any) -> dict[str, float]:
    return {metric["name"]: metric["value"] for metric in client.send("Performance.getMetrics")["metrics"]}


def test_a_draft_survives_and_a_query_waits_for_the_line(browse: Browse, round_of: Any) -> None:
    row = round_of(1)
    page, person = begin(browse, row)
    page.get_by_label("Query", exact=True).fill(TEXT)
    expect(page.locator("#saved")).to_have_text("Draft kept.")
    assert ClipAssignment.objects.get(writer=person).draft_text == TEXT
    page.context.set_offline(True)
    page.locator("[name=start_s]").fill("1")
    page.locator("[name=end_s]").fill("2")
    expect(page.locator("#saved")).to_contain_text("kept in this browser")
    page.get_by_role("button", name="Submit and go on").click()
    expect(page.locator("#connection")).to_contain_text("Your query is kept")
    assert not WrittenQuery.objects.exists()
    page.context.set_offline(False)
    page.get_by_role("heading", name="Your queries").wait_for()  # no clip is left
    assert WrittenQuery.objects.get().text == TEXT
    acts.rest(page)


def test_what_a_check_of_the_server_refuses_stays_on_the_page(browse: Browse, round_of: Any) -> None:
    page, _ = begin(browse, round_of(1), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Query", exact=True).fill("A short one.")
    page.get_by_role("button", name="Submit and go on").click()
    expect(page.locator("#problems")).to_contain_text("Set where the moment starts.")
    expect(page.get_by_label("Query", exact=True)).to_have_value("A short one.")
    assert barriers_in(page, "dark", NARROW) == []


def test_checks_of_the_page_are_those_of_the_server(browse: Browse, round_of: Any) -> None:
    page, _ = begin(browse, round_of(1))
    data = {
        "duration": TABLE["duration_s"],
        "lines": [[index, index + 1, text] for index, text in enumerate(TABLE["lines"])],
        "checks": TABLE["checks"],
        "longest": LONGEST,
        "messages": MESSAGES,
        "dangling": sorted(DANGLING),
    }
    checked = page.evaluate(
        """([cases, data]) => cases.map(({text, type, start_s: start, end_s: end}) => [
            markingChecks.problems({text, type, start, end}, data).map(({code}) => code),
            markingChecks.warnings(text, data).map(({code}) => code)])""",
        [TABLE["cases"], data],
    )
    assert checked == [[case["codes"], case.get("warnings", [])] for case in TABLE["cases"]]
