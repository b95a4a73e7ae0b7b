"""What people do on the site, and the rows they find there."""

from collections.abc import Callable
from uuid import UUID

from django.urls import reverse
from playwright.sync_api import Locator, Page, Request, expect

from annotation.models import Project
from judging.guideline import BODY, LEVELS
from judging.models import Assignment, Batch, Pair
from judging.services.batches import batch_create
from tests import factories


def project() -> Project:
    """A project with the guideline that every new project starts with."""
    return factories.ProjectFactory(guideline__body=BODY, guideline__levels=list(LEVELS))  # type: ignore[no-any-return]


def batch(
    held: Project, *, text: str = "A person opens a letter", pairs: int = 3, beyond: int = 0, split: str = "val"
) -> Batch:
    """The first batch of a new query; ``beyond`` candidates are left for a second one."""
    query = factories.QueryFactory(project=held, text=text, split=split)
    for rank in range(1, pairs + beyond + 1):
        candidate = factories.CandidateFactory(query=query, rank=rank)
        factories.CaptionFactory(moment=candidate.moment)
    opened = batch_create(query=query, number=1)
    assert opened is not None
    assert opened.pairs.count() == pairs
    return opened


def log_in(page: Page, name: str, password: str) -> None:
    page.goto("/login/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")


def start(page: Page, held: Project) -> None:
    """Take a batch from the desk; its first pair is shown."""
    page.goto(desk(held))
    take(page)


def desk(held: Project) -> str:
    return reverse("judging:desk", args=[held.uuid])


def take(page: Page) -> None:
    page.get_by_role("button", name="Start a batch").click()
    expect(place(page)).to_contain_text("pair 1 of")
    page.wait_for_load_state()  # keys work from here on


def place(page: Page) -> Locator:
    return page.locator(".place span")


def shown(page: Page) -> UUID:
    """The pair on the page."""
    return UUID((page.locator("#grade-form").get_attribute("action") or "").split("/")[2])


def judge(page: Page, total: int, grade_of: Callable[[Pair], int], *, give: Callable[[Page, int], None]) -> None:
    """Grade all pairs of a fresh assignment, up to the last look."""
    for position in range(1, total + 1):
        place(page).filter(has_text=f"pair {position} of {total}").wait_for()  # looks more often than expect
        page.wait_for_load_state()
        give(page, grade_of(Pair.objects.select_related("candidate").get(uuid=shown(page))))
    expect(page.get_by_role("heading", name="A last look")).to_be_visible()


def by_key(page: Page, grade: int) -> None:
    page.keyboard.press(str(grade))


def by_click(page: Page, grade: int) -> None:
    page.locator(f"button[name=grade][value='{grade}']").click()


def posts(page: Page) -> list[Request]:
    """A list that grows by every POST the page sends."""
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request) if request.method == "POST" else None)
    return sent


def given(held: Batch, *, round: int = 1, seat: int = 1) -> dict[int, int]:
    """Grade by rank of what one seat holds."""
    rows = Assignment.objects.get(batch=held, round=round, seat=seat).judgments
    return dict(rows.order_by("pair__candidate__rank").values_list("pair__candidate__rank", "grade"))
