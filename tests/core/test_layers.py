"""core and accounts name nothing of the packages above them, not even in SQL."""

import re

from core.embedded.services import BASE_DIR

HIGHER = re.compile(r"\b(?:annotation|judging|models_runner)[_.:/]\w+", re.IGNORECASE)  # a table, label, module or page
SUFFIXES = {".py", ".sql", ".toml", ".txt"}


def test_core_and_accounts_name_no_table_label_or_page_of_a_higher_package() -> None:
    paths = [path for name in ("core", "accounts") for path in (BASE_DIR / name).rglob("*") if path.suffix in SUFFIXES]
    names = {path.relative_to(BASE_DIR).as_posix(): HIGHER.findall(path.read_text()) for path in paths}
    assert len(names) > 80
    assert {path: matches for path, matches in names.items() if matches} == {}
