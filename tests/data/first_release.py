"""Make ``first_release.sql.gz`` again, a database of 0.1.0 with rows in every table.

    python -m tests.data.first_release

It checks that revision out, installs its locked packages, migrates an empty database with its code, and has its own
tests' fixtures and factories fill it; ``fill`` therefore runs in that tree and knows its names, not today's.
"""

import gzip
import os
import re
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

REVISION = "9f804b29"  # 0.1.0, of 2026-11-23
DUMP = Path(__file__).with_suffix(".sql.gz")
SEED = b"a secret of 20 bytes"  # of a phone
RECOVERY_CODE = "ABCDE-23456-fghjk"
TOKEN = "mj_of-the-first-release"
ADDRESS = "192.0.2.7"  # of somebody who mistyped a password
OURS = ("core", "accounts", "annotation", "judging", "models_runner")
PROJECT = "OwnedWorld"  # a project with all that an address can name
FIXTURES = ["flagged", "train_set", "drawn", "question", "study", "studied", "training", "features", "settings_form"]
FIXTURES += ["token", "browser", "corpus_import", "judgment_import", "own_run"]


def main() -> None:
    from benchmarks import common
    from core.embedded.holding import hold_database
    from core.embedded.postgres import NAME, binary

    var = common.ROOT / "var" / "first_release"
    with common.worktree(REVISION) as tree, hold_database(var) as postgres:
        python, link = common.python_for(tree), postgres.url
        name = f"first_release_{os.getpid()}"
        psql = [binary("psql"), "--dbname", link, "--quiet", "--command"]
        subprocess.run([*psql, f'CREATE DATABASE "{name}"'], check=True)
        try:
            link = link.replace(f"@/{NAME}?", f"@/{name}?")
            own = {"DATABASE_URL": link, "MOMENTJUDGE_VAR": str(var), "PYTHONPATH": str(tree)}
            own["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
            own |= {key: os.environ[key] for key in ("PATH", "HOME")}
            for command in (["manage.py", "migrate", "--no-input", "--verbosity", "0"], ["-P", __file__, "fill"]):
                subprocess.run([python, *command], cwd=tree, env=own, check=True)
            dump = [binary("pg_dump"), "--inserts", "--rows-per-insert=50", "--no-owner", "--no-privileges", link]
            text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
        finally:
            subprocess.run([*psql, f'DROP DATABASE "{name}"'], check=True)
    sql = re.sub(r"^\\(un)?restrict .*\n", "", text, flags=re.MULTILINE)  # commands of psql
    DUMP.write_bytes(gzip.compress(sql.encode(), mtime=0))


def fill() -> None:
    """Store rows in every table, with the code of the revision."""
    import django
    import pytest

    django.setup()
    from django.apps import apps
    from django.db import connection, transaction
    from django.test.utils import setup_test_environment

    setup_test_environment()
    import_module("tests.conftest").hash_with(pytest.MonkeyPatch())
    with transaction.atomic():
        store_judgments(apps)
        store_second_steps(apps)
        fixtures = getattr(import_module("tests.judging.views.doors.owned"), PROJECT)()
        for name in FIXTURES:
            getattr(fixtures, name)
        import_module("tests.judging.constraints.judgments").imported_judgment()
        fill_empty_tables(apps)
        store_rest(apps)
        connection.run_on_commit = []  # nobody listens
    if tables := empty_tables(apps):
        sys.exit(f"These tables have no row: {', '.join(sorted(tables))}")


def fill_empty_tables(apps: Any) -> None:
    """Keep the valid part of a test of a constraint where it stores a row in a table that has none."""
    from django.db import DatabaseError, connection, transaction

    for area in import_module("tests.judging.test_constraints").AREAS:
        prepares = [*area.REFUSED.values(), *(prepare for _, prepare in getattr(area, "MORE", {}).values())]
        for prepare in prepares:
            before = empty_tables(apps)
            with suppress(DatabaseError, ValueError), transaction.atomic():
                prepare()
                with connection.cursor() as cursor:
                    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                    cursor.execute("SET CONSTRAINTS ALL DEFERRED")
                transaction.set_rollback(empty_tables(apps) == before)


def store_rest(apps: Any) -> None:
    """Store rows in tables that those tests have no use for."""

    def one(model: str) -> Any:
        return apps.get_model(model).objects.order_by("pk").first()

    for model, fields in {
        "accounts.Identity": {"user": one("accounts.User"), "name": "A Name", "email": "a@example.com"},
        "annotation.Subtitle": {"video": one("annotation.Video"), "start_s": 1, "end_s": 2, "text": "A line."},
        "core.LeftFile": {"name": "previews/left.gif"},
        "judging.ReleaseWords": {"project": one("accounts.Project"), "title": "A title"},
        "models_runner.PerQuery": {"scoring": one("models_runner.Scoring"), "values": b"x"},
        "models_runner.ReadRelease": {"release": one("judging.Release")},
    }.items():
        apps.get_model(model).objects.create(**fields)


def empty_tables(apps: Any) -> set[str]:
    models = [model for app in OURS for model in apps.get_app_config(app).get_models()]
    return {model._meta.db_table for model in models if not model._default_manager.exists()}


def store_judgments(apps: Any) -> None:
    """Store two pairs: one person has finished them, another is in the middle, and in a tutorial."""
    from django.utils import timezone

    def create(model: str, **fields: Any) -> Any:
        return apps.get_model(model).objects.create(**fields)

    corpus = create("annotation.Corpus", name="films")
    project = create("accounts.Project", name="films")
    create("annotation.ProjectCorpus", project=project, corpus=corpus)
    policy = create("judging.Policy", project=project, version=1, **{"gate_passing": 7})
    guideline = create("judging.Guideline", project=project, version=1, body="b", levels=["0", "1", "2", "3", "4"])
    video = create("annotation.Video", corpus=corpus, name="one", duration_s=60, index=1)
    query = create("annotation.Query", project=project, text="a dog", split="test", number=1)
    moments = [create("annotation.Moment", video=video, start_s=start, end_s=9) for start in (1, 2)]
    candidates = [
        create("annotation.Candidate", query=query, moment=moment, rank=rank)
        for rank, moment in enumerate(moments, start=1)
    ]
    batch = create("judging.Batch", project=project, query=query, number=1)
    pairs = [create("judging.Pair", batch=batch, candidate=candidate) for candidate in candidates]
    ids = [pair.pk for pair in pairs]
    for slot, (username, graded) in enumerate({"first": 2, "second": 1}.items(), start=1):
        user = create("accounts.User", username=username)
        fields = {"role": "annotator", "number": slot, "standing": "qualified"}
        member = create("accounts.Membership", project=project, user=user, **fields)
        create("accounts.StandingChange", membership=member, **{"from_standing": "exam", "to_standing": "qualified"})
        fields = {"round": 1, "seat": slot, "pair_ids": ids, "shuffle_seed": 1}
        lease = timezone.now() + timedelta(minutes=20)
        assignment = create(
            "judging.Assignment", project=project, batch=batch, annotator=user, expires_at=lease, **fields
        )
        for position, pair in enumerate(pairs[:graded], start=1):
            fields = {"round": 1, "seat": slot, "position": position, "grade": position, "source": "person"}
            fields |= {"policy": policy, "guideline": guideline, "annotator": user}
            create("judging.Judgment", pair=pair, assignment=assignment, **fields)
        if graded == len(pairs):
            changes = {"state": "finished", "ended_at": timezone.now()}
            apps.get_model("judging.Assignment").objects.filter(pk=assignment.pk).update(**changes)
    owner = {"project": project, "annotator": user}
    create("judging.GateAttempt", **owner, **{"asked": [{"question": "one"}], "passing": 1})
    known_pair = create("judging.KnownPair", project=project, query=query, moment=moments[0], source="lead", truth=3)
    tutorial = create("judging.Sitting", purpose="tutorial", seed=1, known_ids=[known_pair.pk], **owner)
    fields = {"sitting": tutorial, "known_pair": known_pair, "annotator": user, "guideline": guideline}
    create("judging.SittingGrade", **fields, **{"attempt": 0, "grade": 3, "position": 1})


def store_second_steps(apps: Any) -> None:
    """Store a phone, another that was only begun, codes on paper, a token and a wrong password."""
    from accounts.services.tokens import token_digest
    from accounts.services.totp import recovery_digest

    def create(model: str, **fields: Any) -> Any:
        return apps.get_model(model).objects.create(**fields)

    person = apps.get_model("accounts.User").objects.get(username="first")
    owner: dict[str, Any] = {"user": person, "name": "phone"}
    phone = create("otp_totp.TOTPDevice", **owner, key=SEED.hex(), confirmed=True, drift=2, last_t=7)
    apps.get_model("otp_totp.TOTPDevice").objects.filter(pk=phone.pk).update(created_at="2026-01-02T03:04Z")
    create("otp_totp.TOTPDevice", **owner, key="ab", confirmed=False)
    paper = create("otp_static.StaticDevice", user=person, name="recovery codes", confirmed=True)
    create("otp_static.StaticToken", device=paper, token=recovery_digest(person, RECOVERY_CODE))
    create("accounts.AccessToken", user=person, name="a program", digest=token_digest(TOKEN), scopes=["read"])
    create("axes.AccessAttempt", username="first", ip_address=ADDRESS, failures_since_start=1)


if __name__ == "__main__":
    fill() if sys.argv[1:] == ["fill"] else main()
