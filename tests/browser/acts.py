"""People's actions on the site, and the rows they find there."""

import time
from collections.abc import Callable
from io import BytesIO
from typing import Any
from uuid import UUID

from django.core.files.base import ContentFile
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Locator, Page, Request, Route, expect

from accounts.models import Project, User
from judging.guidelines.selectors import BODY, LEVELS
from judging.models import Assignment, Batch, Pair
from judging.work.services.assignments import assignment_take
from judging.work.services.batches import batch_create
from tests import factories

PROBE = "/probe"
PATIENCE_S = 180  # ends what hangs
PASSED = """typeof pairShown === 'undefined'
  || (!document.querySelector('#pair.htmx-added') && (pairShown.at = -Infinity) < 0)"""


def project() -> Project:
    """A project with the guideline that every new project starts with."""
    return factories.ProjectFactory(guideline__body=BODY, guideline__levels=list(LEVELS))  # type: ignore[no-any-return]


def batch(
    project: Project,
    *,
    text: str = "A person opens a letter",
    pairs: int = 3,
    beyond: int = 0,
    split: str = "val",
    gif: bytes = factories.GIF,
    mp4: bytes | None = None,
) -> Batch:
    """The first batch of a new query; ``beyond`` candidates are left for a second one."""
    query = factories.QueryFactory(project=project, text=text, split=split)
    media = {"preview": ContentFile(gif, "preview.gif")} | ({"preview_clip": ContentFile(mp4, "c.mp4")} if mp4 else {})
    for rank in range(1, pairs + beyond + 1):
        moment = factories.MomentFactory(video__corpus=project.dataset.corpus, **media)
        candidate = factories.CandidateFactory(query=query, rank=rank, moment=moment)
        factories.CaptionFactory(moment=candidate.moment)
    first_batch = batch_create(query=query, number=1)
    assert first_batch is not None
    assert first_batch.pairs.count() == pairs
    return first_batch


def log_in(page: Page, name: str, password: str) -> None:
    page.goto("/login/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")


def start(page: Page, project: Project) -> None:
    """Take a batch from the desk; its first pair is shown."""
    page.goto(desk(project))
    take(page)


def desk(project: Project) -> str:
    return reverse("judging:desk", args=[project.uuid])


def take(page: Page) -> None:
    page.get_by_role("button", name="Start a batch").click()
    expect(position_label(page)).to_contain_text("pair 1 of")
    settle(page)


def settle(page: Page) -> None:
    """Until the page takes an answer, which it refuses in the moment after a pair appears, as a press too many: that
    moment, counted from htmx:load, is passed over."""
    page.wait_for_load_state()
    wait_until(lambda: page.evaluate(PASSED))


def rest(page: Page) -> None:
    """Until the page has told the server that somebody is there; else that could be the first to hear of an end."""
    page.wait_for_load_state("networkidle")


def position_label(page: Page) -> Locator:
    return page.locator(".place span")


def pair_on_page(page: Page) -> UUID:
    """The pair on the page."""
    return UUID((page.locator("#grade-form").get_attribute("action") or "").split("/")[2])


def judge(page: Page, total: int, grade_of: Callable[[Pair], int], *, give: Callable[[Page, int], None]) -> None:
    """Grade all pairs of a fresh assignment, up to the last look."""
    for position in range(1, total + 1):
        arrive(page, position, total)
        give(page, grade_of(Pair.objects.select_related("candidate").get(uuid=pair_on_page(page))))
    expect(page.get_by_role("heading", name="A last look")).to_be_visible()
    settle(page)


def arrive(page: Page, position: int, total: int = 3) -> None:
    """Wait for a pair, until it takes an answer."""
    position_label(page).filter(has_text=f"pair {position} of {total}").wait_for()  # looks more often than expect
    settle(page)


def by_key(page: Page, grade: int) -> None:
    page.keyboard.press(str(grade))


def by_click(page: Page, grade: int) -> None:
    page.locator(f"button[name=grade][value='{grade}']").click()


def answers(page: Page) -> list[Request]:
    """A list that grows by every grade or flag the page sends."""
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request) if is_answer(request) else None)
    return requests


def catch(page: Page, pattern: str, handler: Callable[[Route], object]) -> None:
    """``page.route``, once the page goes by it: Chromium says so some moments before it is so.

    ``pattern`` is a path behind ``**``.
    """
    caught: list[str] = []

    def caught_by(route: Route) -> None:
        if PROBE in route.request.url:
            caught.append(route.request.url)
            route.abort()
        else:
            handler(route)

    def probed() -> list[str]:
        page.evaluate("(path) => fetch(path).then(() => null, () => null)", pattern.replace("**", PROBE))
        return caught

    page.route(pattern, caught_by)
    wait_until(probed)


def is_answer(request: Request) -> bool:
    return request.method == "POST" and "/pairs/" in request.url


def judging(
    browse: Callable[..., Page], *, media: dict[str, Any] | None = None, clock: bool = False, **options: Any
) -> tuple[Page, Batch]:
    """An annotator before the first of three pairs, whose clips are ``media``; a ``clock`` is turned by the test."""
    first_batch = batch(project(), **(media or {}))
    person = factories.annotator(first_batch.project)
    page = browse(person, **options)
    if clock:
        page.clock.install()
    go_on(page, person, first_batch)
    if clock:
        stop_clock(page)
    return page, first_batch


def stop_clock(page: Page) -> None:
    """The page's time stands still, however slow the machine is, until the test turns it."""
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now() + 1000"))


def go_on(page: Page, person: User, batch: Batch) -> None:
    """To the first pair of a batch that was taken before."""
    assignment = assignment_take(project=batch.project, annotator=person)
    assert assignment is not None and assignment.batch == batch
    page.goto(reverse("judging:pair-next", args=[batch.project.uuid]))
    expect(position_label(page)).to_contain_text("pair 1 of")
    settle(page)


def moving_gif(frames: int = 8, *, duration_ms: int = 500) -> bytes:
    """Squares that grow, so that each frame is another picture."""
    pictures = [Image.new("RGB", (64, 36), (20 * number, 90, 160)) for number in range(frames)]
    for number, picture in enumerate(pictures):
        picture.paste((250, 250, 250), (0, 0, 4 * number + 4, 4 * number + 4))
    file = BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=duration_ms, loop=0)
    return file.getvalue()


def media_of(kind: str, clip: bytes) -> dict[str, bytes]:
    """A moving GIF, and for the kind "mp4" the same moment as a film, which is shown instead."""
    return {"gif": moving_gif()} | ({"mp4": clip} if kind == "mp4" else {})


def wait_until(holds: Callable[[], object]) -> None:
    """For what the page does not show, as when a request has reached the server."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)


def grades_by_rank(batch: Batch, *, round: int = 1, slot: int = 1) -> dict[int, int]:
    """Grade by rank of what one slot holds."""
    rows = Assignment.objects.get(batch=batch, round=round, slot=slot).judgments
    return dict(rows.order_by("pair__candidate__rank").values_list("pair__candidate__rank", "grade"))
