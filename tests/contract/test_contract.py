"""The public interface stays: the API, addresses, files, commands, settings, metrics, and what the database enforces.

Additions are allowed but in the schema, where everything is equal. ``CONTRACT_WRITE=1 pytest tests/contract`` writes
additions down; what is removed or changed, a break for programs outside, takes ``CONTRACT_WRITE=removals``.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from torch import nn
from torch.optim import SGD

from judging.figures.views import FIGURES
from judging.models import Release
from judging.releases import files
from judging.releases.selectors import scope_of
from moment_retrieval import checkpoints
from moment_retrieval.baselines import BASELINES
from moment_retrieval.features import FeatureWriter
from tests.contract import collect
from tests.judging.scenario import HandMade
from tests.judging.views.endpoints import ENDPOINTS, Site
from tests.moment_retrieval.baselines.small import model_of

HERE = Path(__file__).parent
NO_TABLE = {"judging:release-changes-csv"}  # two releases that differ are in tests/judging/releases alone
OF_API = {
    "malformed",
    "parse_error",
    "length_required",
    "unknown_cursor",
    "scope_missing",
    "totp_required",
    "invalid",
}
WRITES = os.environ.get("CONTRACT_WRITE")


def check(name: str, present: Any, *, additions: bool = True) -> None:
    path = HERE / f"{name}.json"
    present = json.loads(json.dumps(present))
    recorded = json.loads(path.read_text()) if path.exists() or not WRITES else type(present)()
    removals = collect.missing(recorded, present)
    if WRITES == "removals" or (WRITES == "1" and not removals):
        path.write_text(json.dumps(present, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        recorded, removals = present, []
    assert recorded, name
    assert removals == []
    if not additions:
        assert collect.missing(present, recorded) == []


@pytest.mark.parametrize(
    "read",
    [
        collect.openapi,
        collect.routes,
        collect.commands,
        collect.error_codes,
        collect.environment,
        collect.metrics,
        collect.audit_actions,
        collect.browser_storage,
    ],
    ids=lambda read: read.__name__,
)
def test_the_contract_holds(read: Callable[[], Any]) -> None:
    check(read.__name__, read())


def test_dashboards_ask_for_metrics_that_exist() -> None:
    metrics = collect.metrics()
    parts = tuple(f"{name}{end}" for name in metrics["code"] for end in ("", "_bucket", "_count", "_sum", "_total"))
    assert [name for name in metrics["dashboards"] if name not in parts] == []


def test_the_page_of_the_api_lists_codes_with_their_status() -> None:
    codes = collect.error_codes()
    rows = re.findall(r"^\| (\d{3}) \| (`.+?`) \|", (collect.ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    documented = {code: int(status) for status, names in rows for code in re.findall(r"`(\w+)`", names)}
    assert documented and documented.items() - codes.items() == set()
    assert OF_API - documented.keys() == set()


@pytest.mark.django_db
def test_the_database_enforces_what_it_did() -> None:
    def rows(statement: str) -> list[tuple[str, str]]:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    check("schema", collect.schema(rows), additions=False)


@pytest.mark.django_db
@pytest.mark.usefixtures("encoder")
def test_files_of_a_release_have_their_layout(tmp_path: Path) -> None:
    release = Release.objects.create(project=HandMade().project, version=1)
    files.write_files(release, scope_of(release), tmp_path)
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    check("release", {name: collect.file_layout(name, (tmp_path / name).read_bytes()) for name in names})


@pytest.mark.django_db
def test_tables_that_pages_hand_out_have_their_columns() -> None:
    """Every page whose name ends in ``csv`` or ``export`` is asked for, and of the figures each."""
    site, headers = Site(), {}
    for endpoint in ENDPOINTS:
        name, method = endpoint[0], endpoint[3]
        if method != "get" or not name.endswith(("csv", "export")) or name in NO_TABLE:
            continue
        person = site.people[sorted(endpoint[2])[-1]]
        headers[name] = columns_of(site.request(endpoint, person))
    lead = Client()
    lead.force_login(site.people["lead"])
    for figure in FIGURES:
        address = reverse("judging:figure-csv", args=[site.project.uuid, figure.name])
        headers[f"judging:figure-csv {figure.name}"] = columns_of(lead.get(address))
    check("tables", headers)


def columns_of(answer: Any) -> str:
    assert answer.headers["Content-Type"].startswith("text/csv"), answer
    content: str = (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()
    return content.lstrip("\ufeff").partition("\n")[0]


def test_checkpoints_and_features_keep_their_keys(tmp_path: Path) -> None:
    model = nn.Linear(2, 1)
    about = checkpoints.About(
        baseline="xml", config={"hidden": 2}, code="1", data={"train": "0"}, seeds={"a": 1}, metrics={"m": 0.5}
    )
    optimiser = SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(next(model.parameters())).sum().backward()
    optimiser.step()
    checkpoints.save(tmp_path / "checkpoint", about, model, optimiser)
    folder = {path.name for path in (tmp_path / "checkpoint").iterdir()}
    meta = json.loads((tmp_path / "checkpoint" / checkpoints.META).read_text())
    writer = FeatureWriter(tmp_path / "features.h5", width=2)
    writer.add("a", np.ones((3, 2)))
    writer.finish()
    with h5py.File(tmp_path / "features.h5") as file:
        dataset = file["a"]
        features = {"attributes": sorted(file.attrs), "a": [str(dataset.dtype), dataset.ndim, sorted(dataset.attrs)]}
    models = {baseline: model_of(baseline).state_dict() for baseline in BASELINES}
    weights = {baseline: {name: value.dim() for name, value in model.items()} for baseline, model in models.items()}
    layout = {"files": sorted(folder), "meta": collect.layout(meta), "groups": sorted(meta["groups"][0])}
    layout["weights"] = weights
    check("checkpoint", {"checkpoint": layout, "features": features})


@pytest.mark.parametrize(
    ("recorded", "present", "faults"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, 0),
        ({"a": 1}, {"b": 1}, 1),
        ({"a": 1}, {"a": 2}, 1),
        ({"enum": ["x", "y"]}, {"enum": ["y", "z", "x"]}, 0),
        ({"enum": ["x", "y"]}, {"enum": ["y"]}, 1),
        ({"required": ["x"]}, {"required": ["x", "y"]}, 1),
        ([{"name": "q", "in": "query"}], [{"name": "q", "in": "query", "description": "d"}], 0),
        ([{"name": "q"}], [], 1),
    ],
)
def test_a_removal_is_a_fault(recorded: Any, present: Any, faults: int) -> None:
    assert len(collect.missing(recorded, present)) == faults


@pytest.mark.parametrize(
    ("writes", "present", "recorded"),
    [
        ("", {"a": 1, "b": 2}, {"a": 1}),
        ("1", {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        ("removals", {"b": 2}, {"b": 2}),
    ],
)
def test_additions_are_written_where_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: str, present: Any, recorded: Any
) -> None:
    write_record(tmp_path, monkeypatch, writes)
    check("letters", present)
    assert json.loads((tmp_path / "letters.json").read_text()) == recorded


@pytest.mark.parametrize("present", [{"b": 2}, {"a": 2, "b": 2}], ids=["removed", "changed"])
@pytest.mark.parametrize("writes", ["", "1"])
def test_a_removal_fails_and_is_not_written_among_additions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: str, present: Any
) -> None:
    write_record(tmp_path, monkeypatch, writes)
    with pytest.raises(AssertionError, match="/a"):
        check("letters", present)
    assert json.loads((tmp_path / "letters.json").read_text()) == {"a": 1}


def write_record(folder: Path, monkeypatch: pytest.MonkeyPatch, writes: str) -> None:
    """Record ``{"a": 1}`` as the contract of letters, CONTRACT_WRITE being ``writes``."""
    (folder / "letters.json").write_text('{"a": 1}')
    monkeypatch.setattr(f"{__name__}.HERE", folder)
    monkeypatch.setattr(f"{__name__}.WRITES", writes)
