"""Every operation of the API's description, asked in ways made up by schemathesis: never a fault of ours.

Seeds are fixed and examples counted, so that a failure can be had again: EXAMPLES=200 looks longer.
"""

import io
import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
import yaml
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from annotation.models import User
from config.wsgi import application
from tests.factories import MembershipFactory
from tests.judging.api.acts import bearer
from tests.judging.api.test_doors import World

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.fuzz, pytest.mark.timeout(900)]
EXAMPLES = int(os.environ.get("EXAMPLES", "6"))
SEED = 20260101
ROLES = ["annotator", "lead", "admin", "participant", "stranger", "nobody"]
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


def described() -> dict[str, Any]:
    out = io.StringIO()
    call_command("spectacular", stdout=out)
    schema: dict[str, Any] = yaml.safe_load(out.getvalue())
    return schema


@pytest.fixture(scope="module")
def schema() -> Any:
    held = schemathesis.openapi.from_dict(described())
    held.app = application
    return held


@pytest.fixture(autouse=True)
def _kept_connection() -> Iterator[None]:
    """The site runs inside of the test's transaction, as with Django's own client."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def places(db: None) -> tuple[World, dict[str, str]]:
    """What paths may name, so that a part of the requests reaches something."""
    world = World()
    default_storage.save("release.zip", ContentFile(b"PK"))
    for pair in world.batch.pairs.all():
        pair.candidate.moment.preview_clip.save("preview.mp4", ContentFile(b"moving"))
    named = {
        "project_uuid": world.project.uuid,
        "pair_uuid": world.pair.uuid,
        "batch_uuid": world.done.uuid,
        "set_uuid": world.query_set.uuid,
        "release_uuid": world.project.releases.get().uuid,
        "preview_uuid": world.pair.candidate.moment.preview_uuid,
    }
    return world, {name: str(uuid) for name, uuid in named.items()}


def proof(world: World, role: str) -> dict[str, str]:
    if role == "nobody":
        return {}
    person: User = MembershipFactory().user if role == "stranger" else world.people[role]
    return bearer(person)


@pytest.mark.parametrize("role", ROLES)
def test_no_request_is_answered_by_a_fault(role: str, schema: Any, places: tuple[World, dict[str, str]]) -> None:
    world, named = places
    headers = proof(world, role)
    tried = set()
    for result in schema.get_all_operations():
        operation = result.ok()
        tried.add(operation.label)
        ask(operation, headers, named)
    assert len(tried) == sum(len(ways) for ways in described()["paths"].values())


def ask(operation: Any, headers: dict[str, str], named: dict[str, str]) -> None:
    modes = st.sampled_from([GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
    cases = modes.flatmap(lambda mode: operation.as_strategy(generation_mode=mode))

    @hypothesis.seed(SEED)
    @hypothesis.settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(case=cases, is_real=st.booleans())
    def once(case: Case, is_real: bool) -> None:
        if is_real:
            known = {name: named[name] for name in case.path_parameters if name in named}
            case.path_parameters = {**case.path_parameters, **known}
        answer = case.call(headers=headers)
        assert answer.status_code < 500, f"{operation.label}: {answer.status_code} {answer.content[:300]!r}"
        case.validate_response(answer, checks=CHECKS)

    once()
