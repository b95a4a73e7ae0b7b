"""User input is text in every file that the site gives out: SVG, JSON, LaTeX and Markdown (CSV: test_csv)."""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from xml.etree import ElementTree as ET

import pytest
from django.test import Client, TestCase
from django.urls import reverse
from markdown_it import MarkdownIt

from accounts.models import Project, User
from annotation.statistics import collection
from judging.figures.views import FIGURES
from judging.models import Batch, Release, ReleaseWords
from judging.releases import layout
from judging.releases.services import release_build, release_create
from judging.review.services import batch_review
from models_runner.leaderboard.files import escaped
from models_runner.models import Run
from tests import factories
from tests.conftest import hash_with
from tests.hostile import INJECTED, spoil
from tests.judging.play import judge_round

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
VIEWER = MarkdownIt("commonmark", {"html": True})  # one that runs what it finds
FIRST = {"release": 1}  # its runs are scored
COMMANDS = re.compile(r"\\(?:input|write18)|\^\^|(?<!\\)[#&$_]")  # where they are not the site's own


@pytest.fixture(scope="module")
def project_once(module_database: None) -> Project:
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        return spoilt_project()


@pytest.fixture
def project(db: None, project_once: Project) -> Project:
    return deepcopy(project_once)


def spoilt_project() -> Project:
    """Two queries that are judged, a release with the site's own runs, and another of what was spoilt."""
    project: Project = factories.ProjectFactory()
    person = factories.lead(project)
    messages = partial(TestCase.captureOnCommitCallbacks, execute=True)
    for split in ("val", "test"):
        query = factories.QueryFactory(project=project, split=split)
        batch: Batch = factories.BatchFactory(query=query, pairs=3)
        with messages():
            judge_round(batch, [1, 2, 3], [1, 2, 3])
        batch.refresh_from_db()
        batch_review(batch=batch, extend=False, lead=person, reason="no more")
    with messages():
        release_create(project=project, actor=person)
    ReleaseWords.objects.get_or_create(project=project)
    spoil()
    release = release_create(project=project, actor=person, wake=False)
    release_build(release_id=release.pk)
    return project


@pytest.fixture
def lead(project: Project) -> Client:
    client = Client()
    client.force_login(User.objects.filter(memberships__project=project, memberships__roles__contains=["lead"])[0])
    return client


def test_figures_are_whole_svg(project: Project, lead: Client) -> None:
    for figure in FIGURES:
        answer = lead.get(reverse("judging:figure-svg", args=[project.uuid, figure.name]))
        assert answer.status_code == 200, figure.name
        assert "Content-Disposition" in answer.headers
        root = ET.fromstring(answer.content)
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= DRAWN, figure.name


DRAWN = {"svg", "title", "style", "rect", "text", "tspan", "g", "line", "circle", "polyline", "path", "polygon"}


def test_a_leaderboard_in_latex_runs_nothing(project: Project, lead: Client) -> None:
    assert Run.objects.filter(project=project, state="scored").exists()
    answer = lead.get(reverse("models_runner:export", args=[project.uuid, "tex"]), FIRST)
    assert (answer.status_code, INJECTED in answer.content.decode()) == (200, True)
    check_latex(answer.content.decode())


def check_latex(text: str) -> None:
    for line in text.splitlines():
        if line.startswith("%"):
            continue
        cell = line.partition(" & ")[0]  # what the row is about
        assert not COMMANDS.search(cell.replace("$<$", "").replace("$\\geq$", "")), cell
        assert cell.count("{") == cell.count("}")


@pytest.mark.parametrize(
    "text", ["\\input{/etc/passwd}", "^^5cinput /etc/passwd ", "\\write18{id}", "a % b", "$x_1$ & #"]
)
def test_words_in_latex_are_words(text: str) -> None:
    assert not COMMANDS.search(escaped(text).replace(r"\&", "")), escaped(text)
    table = collection.latex([collection.Table("", [(text, "", False)], [])])
    assert not COMMANDS.search(table.replace(" & ", "").replace(r"\&", "")), table


def test_a_line_in_latex_stays_one() -> None:
    assert escaped("one\n\n\\\\ two\x0b\x1b") == "one \\textbackslash{}\\textbackslash{} two"


def test_json_is_json(project: Project, lead: Client) -> None:
    answer = lead.get(reverse("models_runner:export", args=[project.uuid, "json"]), FIRST)
    assert any(INJECTED in row["system"] for row in json.loads(answer.content)["scores"])
    assert answer.headers["Content-Type"].startswith("application/json")


def test_files_of_a_release(project: Project) -> None:
    files = dict(members(Release.objects.filter(project=project).latest("version")))
    for name, content in files.items():
        if name.endswith(".json"):
            json.loads(content)
    assert INJECTED in files[layout.CROISSANT]
    for name in (layout.README, layout.DATASHEET):
        assert INJECTED in files[name]
        output = VIEWER.render(files[name])
        assert not re.search(r"<(i|script|svg|/title|/textarea)\b", output), name
        heading = output.splitlines()[0]
        assert heading.startswith("<h1>") and heading.endswith("</h1>") and "<a " not in heading, heading


def members(release: Release) -> Iterator[tuple[str, str]]:
    with release.archive.open("rb") as file, zipfile.ZipFile(io.BytesIO(file.read())) as archive:
        for name in archive.namelist():
            yield name.rpartition("/")[2], archive.read(name).decode()
