"""Every page for every role: nothing on the console, nothing against the CSP, nothing wider than a phone."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Job, Moment, Project, User
from judging.models import Batch, Release
from judging.services.releases import release_create
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.judging.play import judge, judge_round

LOOKS = {
    "desktop in light": {"viewport": {"width": 1280, "height": 720}, "color_scheme": "light"},
    "desktop in dark": {"viewport": {"width": 1280, "height": 720}, "color_scheme": "dark"},
    "phone in light": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "phone in dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
LONG = "A person in a long dark coat hurries down the stairs of an old house while somebody else is calling from above"
STAFF_PAGES = ["overview", "review-queue", "queries", "releases", "guideline", "audit"]


class Complaints(list[str]):
    """What the browser holds against the pages it shows."""

    def listen(self, page: Page) -> None:
        page.on("console", lambda said: self.append(f"{page.url}: {said.type}: {said.text}"))
        page.on("pageerror", lambda error: self.append(f"{page.url}: {error}"))
        page.on("requestfailed", lambda request: self.append(f"{page.url}: {request.url} {request.failure}"))
        page.on("response", lambda answer: self.append(f"{answer.url}: {answer.status}") if answer.status >= 400 else 0)


def visit(page: Page, *paths: str) -> Complaints:
    complaints = Complaints()
    complaints.listen(page)
    for path in paths:
        page.goto(path)
        page.wait_for_load_state("load")
        width, room = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        if width > room:
            complaints.append(f"{path}: {width} wide on {room}")
    return complaints


def to(name: str, *names: object) -> str:
    return reverse(name if ":" in name else f"judging:{name}", args=names)


def busy_project() -> tuple[Project, Batch]:
    """Something on every page: pairs in every state, a release, runs, a job, a moment that could not be cut."""
    project = acts.project()
    batch = acts.batch(project, text=LONG, pairs=20)
    judge_round(batch, [0, 4, 4, 0, 2] * 4, [0, 0, 4, 3, 3] * 4)
    judge_round(batch, [2, 4] * 4, [4, 1] * 4)
    judge_round(acts.batch(project, text="Somebody laughs"), [1, 2, 3], [1, 2, 3])
    acts.batch(project, text="A person waits")
    Job.objects.create(project=project, kind="preview", title="Cutting previews", done=3, total=9)
    broken = {"preview_state": Moment.Preview.FAILED, "preview_error": "ffmpeg: " + "moov atom not found, " * 8}
    factories.MomentFactory(video__corpus=project.corpus, preview="", **broken)
    release_create(project=project, actor=factories.lead(project))
    return project, batch


def staff_paths(project: Project, batch: Batch) -> list[str]:
    pages = [to(name, project.uuid) for name in (*STAFF_PAGES, "annotation:corpus", "models_runner:runs")]
    return [*pages, to("batch", batch.uuid), reverse("help")]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.usefixtures("encoder")
def test_pages_of_lead_and_admin_are_clean(browse: Browse, look: str) -> None:
    project, batch = busy_project()
    for user in (factories.lead(project), factories.admin(project)):
        assert visit(browse(user, **LOOKS[look]), *staff_paths(project, batch)) == []


@pytest.mark.parametrize("look", LOOKS)
def test_pages_of_the_annotator_are_clean(browse: Browse, look: str) -> None:
    project = acts.project()
    user = factories.annotator(project)
    judge(acts.batch(project, text=LONG, pairs=8), [0, 1, 2, 3, 4, 0, 1, 2], user)
    page = browse(user, **LOOKS[look])
    desk = to("desk", project.uuid)
    assert visit(page, desk) == []
    acts.batch(project, text="Supercalifragilisticexpialidociously" * 3)
    acts.start(page, project)
    names = ["desk", "pair-next", "last-look", "own-grades", "guideline"]
    assert visit(page, *[to(name, project.uuid) for name in names], reverse("help")) == []
    page.goto(to("pair-next", project.uuid))
    acts.judge(page, 3, lambda pair: 2, give=acts.by_key)
    assert visit(page, page.url, to("last-look", project.uuid)) == []


@pytest.mark.parametrize("look", LOOKS)
def test_pages_of_nobody_and_of_somebody_in_many_projects_are_clean(browse: Browse, look: str) -> None:
    assert visit(browse(**LOOKS[look]), reverse("login"), reverse("help")) == []
    user: User = factories.annotator(acts.project())
    factories.MembershipFactory(user=user, role="lead")
    assert visit(browse(user, **LOOKS[look]), reverse("home")) == []
    assert visit(browse(factories.UserFactory(), **LOOKS[look]), reverse("home")) == []


@pytest.mark.parametrize("look", LOOKS)
def test_all_five_grades_are_in_sight_without_scrolling(browse: Browse, look: str) -> None:
    project = acts.project()
    acts.batch(project, text=LONG)
    page = browse(factories.annotator(project), **LOOKS[look])
    acts.start(page, project)
    lines = "h => Math.round(h.getBoundingClientRect().height / parseFloat(getComputedStyle(h).lineHeight))"
    assert page.locator("h1.query").evaluate(lines) >= 2
    for grade in range(5):
        expect(page.locator(f"button[name=grade][value='{grade}']")).to_be_in_viewport(ratio=1)


@pytest.mark.usefixtures("encoder")
def test_pages_that_ask_again_show_what_has_changed(browse: Browse) -> None:
    project = acts.project()
    judge_round(batch := acts.batch(project), [1, 2, 3], [1, 2, 3])
    release = release_create(project=project, actor=None, wake=False)
    page = browse(factories.lead(project))
    complaints = Complaints()
    complaints.listen(page)
    page.clock.install()
    page.goto(to("overview", project.uuid))
    waiting = page.locator("dt", has_text="Waiting for you").locator("+ dd")
    expect(waiting).to_have_text("1")
    Batch.objects.filter(pk=batch.pk).update(number=2)
    page.clock.run_for(3100)
    expect(waiting).to_have_text("0")

    page.goto(to("releases", project.uuid))
    expect(page.get_by_text("Preparing the files")).to_be_visible()
    Release.objects.filter(pk=release.pk).update(state=Release.State.FAILED, error="The disk is full.")
    page.clock.run_for(2100)
    expect(page.get_by_text("The disk is full.")).to_be_visible()
    expect(page.get_by_role("main")).to_have_count(1)
    assert complaints == []
