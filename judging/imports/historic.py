"""Historic judgments: files of (pair_id, worker, relevance), or others read elsewhere, stored as ordinary rows."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import Membership, Project, User
from accounts.services.members import member_add, placeholder_annotators
from annotation.corpora.services.corpora import project_over, row_create, rows_create
from annotation.models import Candidate, Corpus, Moment, Query, Video
from annotation.pools.rules import BATCH_SIZE
from core.audit import audit_record
from core.exceptions import ImportRefused, NotPossible
from core.models import AuditEvent
from judging.guidelines.services import policy_defaults
from judging.models import Batch, Judgment, Pair, Policy
from judging.releases.reading import BadLines
from judging.work.models import BULK
from judging.work.rules import TVR_RANKING, Outcome, Rules, State, rules_of, settle

ACTION = "judgments.import"
COLUMNS = ["pair_id", "worker", "relevance"]
CHUNK = 5000
LARGEST_PAIR_ID, LARGEST_WORKER = 2**53, 2**31 - 1  # what the database holds, with room for blocks


@dataclass(frozen=True)
class HistoricPair:
    """One pair of the file: who gave which grade, in the order of the file."""

    pair_id: int
    workers: tuple[int, ...]
    grades: tuple[int, ...]

    def outcome(self, rules: Rules) -> tuple[Outcome, str]:
        """Return the rules' outcome, and the reason when the pair is dropped; no further round will come."""
        outcome = settle(self.grades, rules)
        if outcome.state == State.SETTLED:
            return outcome, ""
        if outcome.state == State.DROPPED:
            return outcome, Pair.Reason.NO_CONSENSUS
        return Outcome(State.DROPPED), Pair.Reason.NO_SECOND_ROUND


def read_judgments(path: Path, rules: Rules = TVR_RANKING) -> list[HistoricPair]:
    """The pairs of the file by id. Raises ImportRefused where the header or a line cannot be read, a grade is not of
    the scale, or a pair has more grades than its rounds ask for."""
    rows: dict[int, list[tuple[int, int]]] = {}
    bad = BadLines()
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        reader = csv.reader(file)
        try:
            if next(reader, None) != COLUMNS:
                raise ImportRefused(f"{path.name}: the first line must be {','.join(COLUMNS)}.")
            for line in filter(None, reader):
                try:
                    pair_id, worker, grade = _numbers(line, rules)
                    rows.setdefault(pair_id, []).append((worker, grade))
                except ValueError as error:
                    bad.report(f"line {reader.line_num}: {error}")
        except csv.Error as error:
            raise ImportRefused(f"{path.name}, line {reader.line_num}: {error}.") from error
    for pair_id, grades in rows.items():
        if len(grades) > rules.most_grades:
            bad.report(f"pair {pair_id}: {len(grades)} grades, at most {rules.most_grades} make a pair")
    bad.refuse(f"{path.name}: nothing was imported.")
    if not rows:
        raise ImportRefused(f"{path.name} holds no judgment.")
    return _pairs_of(sorted(rows.items()))


def _pairs_of(rows: Iterable[tuple[Any, Sequence[Sequence[int]]]]) -> list[HistoricPair]:
    """Pairs, from their ids with each worker and grade."""
    return [HistoricPair(pair_id, *map(tuple, zip(*grades, strict=True))) for pair_id, grades in rows]


def _numbers(line: Sequence[str], rules: Rules) -> tuple[int, int, int]:
    if len(line) != len(COLUMNS):
        raise ValueError(f"{len(line)} columns instead of {len(COLUMNS)}")
    for name, cell in zip(COLUMNS, line, strict=True):
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", cell):
            raise ValueError(f"{name} is no whole number: {cell[:20]!r}")
    pair_id, worker, grade = (int(cell) for cell in line)
    if not (0 <= pair_id <= LARGEST_PAIR_ID and 0 <= worker <= LARGEST_WORKER):
        raise ValueError("a number that is negative or too large")
    if grade not in rules.grades:
        raise ValueError(f"relevance {grade} is outside 0 to {rules.top_grade}")
    return pair_id, worker, grade


def summary(pairs: Sequence[HistoricPair], rules: Rules) -> dict[str, object]:
    """Counts of what the rules make of the file; ``settled_by_two`` are settled by the first round, and
    ``settled_by_four`` by the second, whatever its judges."""
    outcomes = [(pair, *pair.outcome(rules)) for pair in pairs]
    settled = [(pair, outcome) for pair, outcome, _ in outcomes if outcome.state == State.SETTLED]
    relevance = Counter(outcome.relevance for _, outcome in settled)
    return {
        "judgments": sum(len(pair.grades) for pair in pairs),
        "pairs": len(pairs),
        "settled": len(settled),
        "settled_by_two": sum(len(pair.grades) == rules.judges for pair, _ in settled),
        "settled_by_four": sum(len(pair.grades) > rules.judges for pair, _ in settled),
        "dropped": sum(outcome.state == State.DROPPED for _, outcome, _ in outcomes),
        "no_second_round": sum(reason == Pair.Reason.NO_SECOND_ROUND for *_, reason in outcomes),
        "same_person_twice": sum(len(set(pair.workers)) < len(pair.workers) for pair in pairs),
        "relevance": {str(grade): relevance[grade] for grade in rules.grades},
    }


def judgments_import(
    *, path: Path, project_name: str, rules: Rules = TVR_RANKING, leads: Sequence[User] = ()
) -> dict[str, object]:
    """Store the file's judgments in a project of their own; the same file twice is stored once.

    Returns:
        The counts of ``summary``, from the rows in the database.

    Raises:
        ImportRefused: the file cannot be read (see ``read_judgments``).
        NotPossible: a project of this name exists and holds something else.
    """
    pairs = read_judgments(path, rules)
    digest = sha256(path.read_bytes()).hexdigest()
    project = judgments_store(pairs=pairs, digest=digest, project_name=project_name, rules=rules, leads=leads)
    return summary(historic_pairs(project), rules)


@transaction.atomic
def judgments_store(
    *,
    pairs: Sequence[HistoricPair],
    digest: str,
    project_name: str,
    rules: Rules = TVR_RANKING,
    leads: Sequence[User] = (),
    actor: User | None = None,
    texts: Mapping[int, str] | None = None,
) -> Project:
    """Pairs as a project of their own; what has the same digest is stored once under its rules.

    Args:
        digest: of what they were read from.
        texts: of the queries, by the number of their block of 20 pairs; placeholders where it has none.

    Raises:
        NotPossible: a project of this name exists and holds something else.
    """
    if project := project_holding(name=project_name, digest=digest, rules=rules):
        return project
    corpus = row_create(Corpus(name=project_name, is_placeholder=True))
    project = project_over(corpus=corpus, name=project_name, **rules._asdict())
    Policy.objects.create(project=project, version=1, **policy_defaults(rules.top_grade))
    workers = {worker for pair in pairs for worker in pair.workers}
    annotators = placeholder_annotators(project=project, workers=workers, prefix="historic")
    queries = _queries(project, sorted({pair.pair_id // BATCH_SIZE for pair in pairs}), texts or {})
    ranks = [(queries[pair.pair_id // BATCH_SIZE], pair.pair_id % BATCH_SIZE + 1) for pair in pairs]
    candidates = placeholders_create(corpus=corpus, ranks=ranks)
    rows = _pairs(_batches(project, queries), candidates, pairs, rules)
    Judgment.objects.bulk_create(_judgments(pairs, rows, annotators, rules), batch_size=CHUNK)
    for lead in leads:
        member_add(project=project, user=lead, roles=Membership.STAFF, actor=actor)
    audit_record(project=project, actor=actor, action=ACTION, subject=project.uuid, sha256=digest, pairs=len(pairs))
    return project


def project_holding(*, name: str, digest: str, rules: Rules) -> Project | None:
    """The project of this name, if it holds just what has this digest, by these rules; None where the name is free.
    Raises NotPossible where the name is taken by something else."""
    project = Project.objects.filter(name=name).first()
    if project is None and Corpus.objects.filter(name=name).exists():
        raise NotPossible(f"A corpus is named {name!r}; name the project otherwise.")
    if project and not AuditEvent.objects.filter(project=project, action=ACTION, data__sha256=digest).exists():
        raise NotPossible(f"A project named {name!r} exists and holds other data.")
    if project and rules_of(project) != rules:
        raise NotPossible(f"A project named {name!r} exists and holds these judgments by other rules.")
    return project


def historic_pairs(project: Project) -> list[HistoricPair]:
    """The imported pairs of a project as the database holds them."""
    rows = (
        Judgment.objects.filter(pair__batch__project=project, source=Judgment.Source.IMPORTED)
        .order_by("pair__source_id", "round", "slot")
        .values_list("pair__source_id", "annotator", "grade")
    )
    by_pair = groupby(rows.iterator(chunk_size=20_000), key=itemgetter(0))
    return _pairs_of((pair_id, [grade for _, *grade in group]) for pair_id, group in by_pair)


def _queries(project: Project, blocks: Sequence[int], texts: Mapping[int, str]) -> dict[int, Query]:
    common: dict[str, Any] = {"project": project, "split": Query.Split.TEST, "is_placeholder": True}
    rows = []
    for block in blocks:
        pairs = f"{block * BATCH_SIZE} to {(block + 1) * BATCH_SIZE - 1}"
        rows.append(Query(number=block, text=texts.get(block) or f"Historic query of pairs {pairs}", **common))
    return dict(zip(blocks, rows_create(rows), strict=True))


def placeholders_create(*, corpus: Corpus, ranks: Sequence[tuple[Query, int]]) -> list[Candidate]:
    """Store a candidate for each query and rank, of a moment of its own that nobody can watch."""
    video = row_create(Video(corpus=corpus, name="placeholder", duration_s=len(ranks) + 1, index=0))
    state = Moment.Preview.PLACEHOLDER
    moments = rows_create(Moment(video=video, start_s=i, end_s=i + 1, preview_state=state) for i in range(len(ranks)))
    rows = zip(ranks, moments, strict=True)
    return rows_create(Candidate(query=query, moment=moment, rank=rank) for (query, rank), moment in rows)


def _batches(project: Project, queries: Mapping[int, Query]) -> dict[int, Batch]:
    common: dict[str, Any] = {"project": project, "number": 1, "state": Batch.State.DONE, "done_at": timezone.now()}
    common |= {**rules_of(project)._asdict(), "free_slots": 0}
    rows = [Batch(query=query, **common) for query in queries.values()]
    return dict(zip(queries, Batch.objects.bulk_create(rows, batch_size=BULK), strict=True))


def _pairs(
    batches: Mapping[int, Batch], candidates: Sequence[Candidate], pairs: Sequence[HistoricPair], rules: Rules
) -> list[Pair]:
    rows = []
    for pair, candidate in zip(pairs, candidates, strict=True):
        outcome, reason = pair.outcome(rules)
        row = Pair(
            batch=batches[pair.pair_id // BATCH_SIZE], candidate=candidate, source_id=pair.pair_id, reason=reason
        )
        row.state, row.relevance = outcome.state, outcome.relevance
        rows.append(row)
    return Pair.objects.bulk_create(rows, batch_size=CHUNK)


def _judgments(
    pairs: Sequence[HistoricPair], rows: Sequence[Pair], annotators: Mapping[int, int], rules: Rules
) -> Iterator[Judgment]:
    for pair, row in zip(pairs, rows, strict=True):
        for index, (worker, grade) in enumerate(zip(pair.workers, pair.grades, strict=True)):
            yield Judgment(
                pair=row,
                annotator_id=annotators[worker],
                occurrence=pair.workers[:index].count(worker),
                round=index // rules.judges + 1,
                slot=index % rules.judges + 1,
                grade=grade,
                source=Judgment.Source.IMPORTED,
            )
