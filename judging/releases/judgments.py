"""Judgments as CSV, made by the database and handed on piece by piece, so that their number costs no memory."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import SystemRandom
from types import MappingProxyType
from typing import Any

from django.db import connection

from accounts.models import Project
from core.exceptions import NotPossible
from judging.releases.layout import COLUMNS, JUDGMENTS, RAW

PIECE = 1 << 16  # bytes sent at once
LIVE_COLUMNS = ("query_id", *COLUMNS[JUDGMENTS])
FROM = """
FROM judging_judgment given
JOIN judging_pair pair ON pair.id = given.pair_id
JOIN judging_batch batch ON batch.id = pair.batch_id
LEFT JOIN accounts_membership member ON member.project_id = batch.project_id AND member.user_id = given.annotator_id
LEFT JOIN judging_assignment held ON held.id = given.assignment_id
LEFT JOIN judging_guideline guideline ON guideline.id = given.guideline_id
LEFT JOIN judging_policy policy ON policy.id = given.policy_id"""
FINAL = "(held.id IS NULL OR held.state <> 'open')"  # a grade that may still change is in no file
OF_QUERIES = f"{FROM} WHERE batch.query_id = ANY (%(queries)s) AND {FINAL}"
OF_PROJECT = f"""{FROM} JOIN annotation_query query ON query.id = batch.query_id
WHERE batch.project_id = %(project)s AND {FINAL}"""
NUMBER = "coalesce(pair.source_id, pair.id)"
CELLS = {
    "query_id": "query.number",
    "pair_id": NUMBER,
    "worker": "member.number",
    "relevance": "given.grade",
    "round": "given.round",
    "seat": "given.seat",
    "position": "given.position",
    "guideline": "guideline.version",
    "policy": "policy.version",
    "source": "coalesce(nullif(given.origin, ''), given.source)",
}
ANONYMOUS = {"worker": "(%(numbers)s::jsonb ->> given.annotator_id::text)::integer"}
ORDER = f"ORDER BY {NUMBER}, given.round, given.seat"
FACTS = f"""
SELECT count(*), count(*) FILTER (WHERE 'simulated' IN (given.source, given.origin)),
    count(DISTINCT given.annotator_id),
    count(*) FILTER (WHERE member.number IS NULL),
    min(given.created_at) FILTER (WHERE given.source <> 'imported'),
    max(given.created_at) FILTER (WHERE given.source <> 'imported')
{OF_QUERIES}"""
VERSIONS = f"""
SELECT guideline.version, policy.version, count(*) {OF_QUERIES} GROUP BY 1, 2 ORDER BY 1 NULLS FIRST, 2 NULLS FIRST"""


def write_judgments(queries: Sequence[int], folder: Path, *, anonymised: bool = False) -> None:
    """Every final grade of these queries under the annotator's number; identities are never joined.

    Args:
        anonymised: under numbers that are drawn for this one time and kept nowhere.

    Raises:
        NotPossible: somebody judged who has no number any more.
    """
    if _facts(queries)[3]:
        raise NotPossible("Somebody who judged has no annotator number any more; their grades cannot be named.")
    values: dict[str, object] = {"queries": list(queries)}
    if anonymised:
        values["numbers"] = json.dumps(drawn_numbers(queries))
    for name in (RAW, JUDGMENTS):
        with (folder / name).open("wb") as file:
            for piece in _copied(COLUMNS[name], OF_QUERIES, values, instead=ANONYMOUS if anonymised else {}):
                file.write(piece)


def drawn_numbers(queries: Sequence[int]) -> dict[int, int]:
    """A number from 1 on for each account that judged these queries, in an order that nobody can draw again."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT given.annotator_id {OF_QUERIES}", {"queries": list(queries)})  # nosec B608 - constants
        people = [account for (account,) in cursor.fetchall()]
    SystemRandom().shuffle(people)
    return {account: number for number, account in enumerate(people, start=1)}


def judgments_csv(project: Project) -> Iterator[bytes]:
    """All final grades of a project as they are now, finished queries or not."""
    return _copied(LIVE_COLUMNS, OF_PROJECT, {"project": project.pk})


def facts_of(queries: Sequence[int]) -> dict[str, Any]:
    """How many, by how many people, and from which day to which they were given here."""
    judgments, simulated, annotators, _, first, last = _facts(queries)
    return {
        "judgments": judgments,
        "simulated_judgments": simulated,
        "annotators": annotators,
        "judged_from": first.date().isoformat() if first else None,
        "judged_to": last.date().isoformat() if last else None,
    }


def versions_of(queries: Sequence[int]) -> list[tuple[int | None, int | None, int]]:
    """Version of the guideline, version of the policy, judgments given under both."""
    with connection.cursor() as cursor:
        cursor.execute(VERSIONS, {"queries": list(queries)})
        return list(cursor.fetchall())


def _facts(queries: Sequence[int]) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(FACTS, {"queries": list(queries)})
        return tuple(cursor.fetchone())


def _copied(
    columns: Sequence[str], source: str, values: dict[str, object], instead: Mapping[str, str] = MappingProxyType({})
) -> Iterator[bytes]:
    known = {**CELLS, **instead}
    cells = ", ".join(f"{known[name]} AS {name}" for name in columns)
    statement = f"COPY (SELECT {cells} {source} {ORDER}) TO STDOUT WITH (FORMAT csv)"
    yield f"{','.join(columns)}\n".encode()
    with connection.cursor() as cursor, cursor.copy(statement, values) as rows:
        held = bytearray()
        for row in rows:
            held += row
            if len(held) > PIECE:
                yield bytes(held)
                held.clear()
        yield bytes(held)
