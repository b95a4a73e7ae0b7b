"""One page, one template, in the folder of its concept."""

import re

import pytest

from core.embedded.services import BASE_DIR
from tests.migrated import APPS

FOLDER = BASE_DIR / "templates"
TEMPLATES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.html"))
ELSEWHERE = {"404.html", "403.html", "500.html"}  # Django's own handlers look for them


@pytest.fixture(scope="module")
def template_names() -> set[str]:
    """Provide template names quoted in code and templates, without the part."""
    sources = [*FOLDER.rglob("*.html"), *(path for app in (*APPS, "config") for path in (BASE_DIR / app).rglob("*.py"))]
    return {name for path in sources for name in re.findall(r"""["']([\w/]+\.html)[#"'{]""", path.read_text())}


def is_at_home(template: str) -> bool:
    """Whether it is APP/CONCEPT/NAME, APP/_PART, or of ``accounts``, which has no concepts."""
    app, *concept, name = template.split("/")
    is_concept = app in APPS and len(concept) <= 1 and (BASE_DIR / app).joinpath(*concept).is_dir()
    return is_concept and (bool(concept) or name.startswith("_") or app == "accounts")


def test_it_stands_with_its_concept() -> None:
    assert [template for template in TEMPLATES if "/" in template and not is_at_home(template)] == []


def test_every_template_is_used_and_there(template_names: set[str]) -> None:
    assert set(TEMPLATES) - ELSEWHERE - template_names == set()
    assert template_names - set(TEMPLATES) == set()
