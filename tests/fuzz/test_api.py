"""Every operation of the API's description, asked in ways made up by schemathesis: never a fault of ours.

Seeds are fixed and examples counted, so that a failure can be had again: EXAMPLES=200 looks longer.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
import yaml
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from annotation.corpora.tus import PIECES
from tests.fuzz.routes import FOUND, ReleasedSite, Right
from tests.models_runner.benchmarks import configure_training as stand_ins

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.fuzz, pytest.mark.timeout(1800)]
EXAMPLES = int(os.environ.get("EXAMPLES", "6"))
SEED = 20260101
WATCHES = {"projects", "preview_gif", "preview_mp4"}
LOOKS = WATCHES | {
    "progress",
    "batches",
    "batch",
    "query_sets",
    "query_set",
    "releases",
    "release_zip",
    "judgments_csv",
}
LOOKS |= {"train_sets", "train_set_json", "train_set_parquet", "experiments", "experiment", "search"}
LOOKS |= {"settings_searches", "settings_search"}
LOOKS |= {"project", "jobs", "job", "policy", "captions", "queries_draft", "train_set", "pools", "pool", "release"}
LOOKS |= {"shots", "proposals", "proposal"}
LOOKS |= {"verification_studies", "verification_study", "verification_answers_csv"}
LOOKS |= {"topics", "topic", "writing_rounds", "writing_round", "written_queries"}
LOOKS |= {"written_query_video"}
LOOKS |= {"corpora", "corpus_imports", "video_uploads", "video_upload"}
LOOKS |= {"topics", "topic"}
LOOKS |= {"corpora", "corpus_export", "corpus_imports", "video_uploads", "video_upload"}
BUILDS = {"project_create", "batches_open", "candidates_rank", "captions_rewrite", "queries_draw", "train_set_start"}
BUILDS |= {"topic_create", "topic_change", "subtitles_set"}
BUILDS |= {"train_set_discard", "pool_plan", "pool_open", "pool_discard", "corpus_import_upload"}
BUILDS |= {"ground_truth_upload", "ground_truth_delete", "video_upload_begin", "video_piece", "video_upload_discard"}
BUILDS |= {f"proposal_{act}" for act in ("start", "use", "cancel", "resume", "undo")}
LEADS = {"batch_review", "pair_withdraw", "pair_restore", "query_set_change", "run_withdraw", "policy_publish"}
LEADS |= {
    "corpus_import",
    "corpus_import_confirm",
    "corpus_import_discard",
    "corpus_import_report",
    "release_create",
    "release_retry",
}
LEADS |= {"invitations", "invitation_create", "invitation_renew", "invitation_revoke"}
LEADS |= {f"webhook{step}" for step in ("s", "_create", "_change", "_delete", "_ping", "_deliveries")}
LEADS |= {"writing_round_create", "writing_round_change"}
LEADS |= {"verification_study_create", "verification_study_change", "verification_pair_inspect"}
LEADS |= {"webhook_delivery_retry", "rules_change", "truth_run_withdraw"}
BENCHMARKS = {"features", "experiment_start", "experiment_delete", "training_cancel", "training_resume"}
BENCHMARKS |= {"features_start", "feature_set", "features_cancel", "features_resume", "features_delete"}
BENCHMARKS |= {f"settings_search_{act}" for act in ("start", "cancel", "resume", "delete")}
TRUTHS = {"ground_truths", "ground_truth", "ground_truth_scores", "truth_runs", "truth_run", "truth_run_upload"}
RUNS = {"projects", "runs", "run", "run_upload", "leaderboard"} | TRUTHS
JUDGES = WATCHES | {"assignment", "judgment", "flag", "flag_withdraw", "own_judgments"}
JUDGES |= {f"assignment_{step}" for step in ("take", "heartbeat", "finish", "return")}
CLIP_STEPS = ("take", "video", "return", "exhausted")
MAY = {  # which operations do what they are for, asked by whom
    "annotator": JUDGES,
    "lead": LOOKS | BUILDS | RUNS | LEADS,
    "admin": LOOKS | BUILDS | RUNS | BENCHMARKS,
    "participant": RUNS | {"run_withdraw", "truth_run_withdraw"},
    "checker": {
        "projects",
        "written_queries",
        "written_query_check",
        "query_to_check",
        "written_query_video",
        "check_undo",
    },
    "writer": {"projects", "clip", "query_submit", "own_queries"} | {f"clip_{step}" for step in CLIP_STEPS},
    "stranger": {"projects"},
    "nobody": set[str](),
}
schemathesis.serializer.alias(PIECES, "application/octet-stream")
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


def described() -> dict[str, Any]:
    out = io.StringIO()
    call_command("spectacular", stdout=out)
    schema: dict[str, Any] = yaml.safe_load(out.getvalue())
    return schema


@pytest.fixture(scope="module")
def schema() -> Any:
    loaded_schema = schemathesis.openapi.from_dict(described())
    loaded_schema.app = get_wsgi_application()
    return loaded_schema


@pytest.fixture(autouse=True)
def _persistent_connection() -> Iterator[None]:
    """The site runs inside of the test's transaction, as with Django's own client."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def released_site(
    db: None, encoder: object, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ReleasedSite:
    stand_ins(settings, tmp_path)
    monkeypatch.setattr("models_runner.search.api.search_ask", lambda **options: FOUND)
    return ReleasedSite(tmp_path)


@pytest.mark.parametrize("role", MAY)
def test_no_request_is_answered_by_a_fault(role: str, schema: Any, released_site: ReleasedSite) -> None:
    headers = released_site.proof(role)
    successes = set()
    for result in schema.get_all_operations():
        operation = result.ok()
        if is_done(operation, headers, released_site):
            successes.add(name_of(operation))
        ask(operation, headers, released_site)
    assert successes == MAY[role]


def test_every_operation_is_done_by_somebody() -> None:
    operations = [operation for methods in described()["paths"].values() for operation in methods.values()]
    assert {operation["operationId"] for operation in operations} == set().union(*MAY.values())


def is_done(operation: Any, headers: dict[str, str], site: ReleasedSite) -> bool:
    """Whether the right request is carried out. It is sent again, as by somebody who got no answer."""
    with rolled_back():
        first, _ = [answered(right_case(operation, site), headers) for _ in range(2)]
    return 200 <= first.status_code < 300


def right_case(operation: Any, site: ReleasedSite) -> Case:
    right = site.right.get(name_of(operation), Right())
    path = site.path(name_of(operation), (parameter.name for parameter in operation.path_parameters))
    body = {} if right.body is None else {"body": right.body, "media_type": operation.body[0].media_type}
    return operation.Case(path_parameters=path, query=right.query, headers=right.headers, **body)  # type: ignore[no-any-return]


def ask(operation: Any, headers: dict[str, str], site: ReleasedSite) -> None:
    """Requests that are made up; in a part of them the path names what there is, or the body is right."""
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
    @hypothesis.given(case=cases, path_index=st.none() | st.integers(0, 3), is_right=st.booleans())
    def once(case: Case, path_index: int | None, is_right: bool) -> None:
        if path_index is not None:
            case.path_parameters = site.path_at(path_index, case.path_parameters)
        if is_right and name_of(operation) in site.right:
            right = right_case(operation, site)
            case.query, case.body, case.media_type = right.query, right.body, right.media_type
            case.headers = right.headers
        with rolled_back():
            answered(case, headers)

    once()


def answered(case: Case, headers: dict[str, str]) -> Any:
    answer = case.call(headers=headers)
    assert answer.status_code < 500, f"{case.operation.label}: {answer.status_code} {answer.content[:300]!r}"
    case.validate_response(answer, checks=CHECKS)
    return answer


@contextmanager
def rolled_back() -> Iterator[None]:
    """Every request finds what the first one found."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def name_of(operation: Any) -> str:
    return str(operation.definition.raw["operationId"])
