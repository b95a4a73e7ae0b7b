"""A release read back into a project of its own: everything its files hold, in one transaction."""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from accounts.models import Membership, Project, User
from accounts.services.members import member_add
from annotation.corpora.services.corpora import project_over
from annotation.models import Candidate, Corpus, PoolAnswer, PoolEntry, Query
from core.audit import audit_record
from core.exceptions import ImportRefused, NotPossible
from judging.imports.historic import placeholders_create
from judging.imports.release_project import CorpusKeys, ProjectKeys, corpus_store, name_told, rules_store
from judging.models import SEATS, Batch, BatchReview, Judgment, Pair
from judging.releases import layout, reading
from judging.releases.metadata import IMPORT
from judging.releases.reading import BadLines, Cells, document, rows
from judging.work import rules

logger = logging.getLogger(__name__)
CHUNK = 5000
LARGEST_PAIR = 2**40  # new pairs are numbered behind it
LARGEST_RANK = 2**15 - 1
Ranked = tuple[int, int]  # a query's number, a rank or the number of a batch
NEXT_PAIR = """
SELECT setval(pg_get_serial_sequence('judging_pair', 'id'), %s)
WHERE %s > (SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('judging_pair', 'id')::regclass), 0))"""
LARGEST_WORKER = 2**31 - 1
TOLD = (Judgment.Source.PERSON, Judgment.Source.SIMULATED)


def release_import(
    *, path: Path, project_name: str | None = None, corpus_name: str | None = None, leads: Sequence[User] = ()
) -> tuple[Project, dict[str, int]]:
    """Make a project, with its corpus, of a release's archive or folder; nothing is kept unless all of it is.

    People are placeholders by their number, whom nobody can log in as. Names are those of the release unless others
    are given.

    Returns:
        The project, and counts from the rows in the database.

    Raises:
        ImportRefused: it is no release, a checksum fails, or lines of it cannot be.
        NotPossible: a project or a corpus of the name exists.
    """
    with reading.opened(path) as (folder, manifest):
        settings = document(folder, layout.SETTINGS)
        try:
            with transaction.atomic():
                project = _project_create(settings, project_name, corpus_name)
                _store(project, folder, settings)
                for lead in leads:
                    member_add(project=project, user=lead, role=Membership.Role.LEAD, actor=None)
                origin = {"content_sha256": manifest.get("content_sha256"), "draw": settings.get("draw")}
                audit_record(project=project, actor=None, action=IMPORT, subject=project.uuid, **origin)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ImportRefused(f"{layout.SETTINGS} does not have the form of such a file: {error!r}.") from error
        except ValidationError as error:
            raise ImportRefused(f"{layout.SETTINGS} cannot be: {'; '.join(error.messages)}") from error
        except (IntegrityError, DataError) as error:
            raise ImportRefused(f"The files do not fit together: {str(error).splitlines()[0]}") from error
    logger.info("release %s imported as %s", manifest.get("content_sha256"), project)
    return project, counts_of(project)


def counts_of(project: Project) -> dict[str, int]:
    batches = Batch.objects.filter(project=project)
    return {
        "videos": project.dataset.corpus.videos.count(),
        "queries": project.queries.count(),
        "batches": batches.count(),
        "pairs": Pair.objects.filter(batch__in=batches.values("pk")).count(),
        "judgments": Judgment.objects.filter(pair__batch__project=project).count(),
        "annotators": project.memberships.filter(number__isnull=False).count(),
    }


def _project_create(settings: dict[str, Any], project_name: str | None, corpus_name: str | None) -> Project:
    name = project_name or name_told("project", settings["project"])
    corpus = corpus_name or name_told("corpus", settings["corpus"]["name"])
    if Project.objects.filter(name=name).exists():
        raise NotPossible(f"There is a project named {name!r} already; name this one otherwise.")
    if Corpus.objects.filter(name=corpus).exists():
        raise NotPossible(f"There is a corpus named {corpus!r} already; name this one otherwise.")
    new_corpus = Corpus.objects.create(name=corpus, is_placeholder=settings["corpus"]["placeholder"])
    return project_over(corpus=new_corpus, name=name, similarity=settings["similarity"])


def _store(project: Project, folder: Path, settings: dict[str, Any]) -> None:
    bad = BadLines()
    corpus_keys = corpus_store(project.dataset.corpus, folder, bad)
    bad.refuse()
    keys = rules_store(project, folder, settings, corpus_keys)
    judged = pairs_store(project, folder, corpus_keys, keys, bad)
    grades_store(project, folder, judged, keys, bad)
    bad.refuse()


@dataclass
class Judged:
    """Keys of what was stored, by the numbers of files; pairs as they were told."""

    queries: dict[int, Query] = field(default_factory=dict)
    candidates: dict[Ranked, int] = field(default_factory=dict)
    batches: dict[Ranked, Batch] = field(default_factory=dict)
    reviews: list[tuple[Ranked, dict[str, str]]] = field(default_factory=list)
    pairs: dict[int, Pair] = field(default_factory=dict)


def pairs_store(project: Project, folder: Path, corpus_keys: CorpusKeys, keys: ProjectKeys, bad: BadLines) -> Judged:
    judged = Judged()
    queries = _queries_read(project, folder, corpus_keys, keys, bad)
    bad.refuse()
    _queries_store(queries, judged, bad)
    told = list(rows(folder, layout.CANDIDATES, partial(_candidate, judged, corpus_keys, keys), bad))
    bad.refuse()
    _candidates_store(judged, [row for row in told if row.source == Candidate.Source.SIMILARITY])
    lines = list(rows(folder, layout.PAIRS, partial(_pair, judged), bad))
    bad.refuse()
    _placeholders_store(project, judged, lines)
    _batches_store(project, folder, keys, judged, bad)
    _candidates_store(judged, [row for row in told if row.source == Candidate.Source.POOLED])
    _answers_store(folder, corpus_keys, keys, judged, bad)
    _pairs_store(judged, lines, bad)
    return judged


def _queries_read(
    project: Project, folder: Path, corpus_keys: CorpusKeys, keys: ProjectKeys, bad: BadLines
) -> list[tuple[Query, int | None]]:
    """Each query, with the number of the one it is judged as."""

    def read(cells: Cells) -> tuple[Query, int | None]:
        said, name = cells.maybe("caption"), cells.text("query_set")
        query_set = cells.known("query_set", keys.query_sets, name) if name else None
        query = Query(
            project=project,
            number=cells.number("query_id"),
            text=cells.text("query"),
            split=cells.one_of("split", *Query.Split.values),
            caption_id=None if said is None else cells.known("caption", corpus_keys.captions, said),
            query_set=query_set,
            is_placeholder=cells.yes("placeholder"),
            was_pilot=cells.yes("pilot") and not (query_set and query_set.is_pilot),
        )
        return query, cells.maybe("judged_as")

    return list(rows(folder, layout.QUERIES, read, bad))


def _queries_store(told: list[tuple[Query, int | None]], judged: Judged, bad: BadLines) -> None:
    """First those that are judged for themselves, then their twins."""
    own = Query.objects.bulk_create([query for query, twin_of in told if twin_of is None], batch_size=CHUNK)
    judged.queries |= {query.number: query for query in own}
    twins = []
    for line, (query, twin_of) in enumerate(told, start=2):
        if twin_of is None:
            continue
        if twin_of not in judged.queries:
            bad.add(layout.QUERIES, line, f"judged_as {twin_of} is no query that is judged for itself")
            continue
        query.judged_as = judged.queries[twin_of]
        twins.append(query)
    bad.refuse()
    Query.objects.bulk_create(twins, batch_size=CHUNK)


def _candidate(judged: Judged, corpus_keys: CorpusKeys, keys: ProjectKeys, cells: Cells) -> Candidate:
    source = cells.one_of("source", *Candidate.Source.values)
    span = (cells.text("video_name"), cells.real("start"), cells.real("end"))
    measure, pool = cells.maybe("measure"), cells.maybe("pool")
    moment = cells.known("moment", corpus_keys.moments, span)
    return Candidate(
        query=cells.known("query_id", judged.queries, cells.number("query_id")),
        moment_id=moment,
        rank=cells.number("rank", 1, LARGEST_RANK),
        similarity=cells.real("similarity") if cells.text("similarity") else None,
        measure_id=None if measure is None else cells.known("measure", keys.measures, measure),
        source=source,
        pooling_id=None if pool is None else cells.known("pool", keys.pools, pool),
        wordings=corpus_keys.wordings.get(moment, {}) if source == Candidate.Source.SIMILARITY else {},
    )


def _candidates_store(judged: Judged, told: Iterable[Candidate]) -> None:
    made = Candidate.objects.bulk_create(told, batch_size=CHUNK)
    judged.candidates |= {(row.query.number, row.rank): row.pk for row in made}


def _pair(judged: Judged, cells: Cells) -> tuple[Ranked, Ranked, Pair]:
    number = cells.number("query_id")
    cells.known("query_id", judged.queries, number)
    state = cells.one_of("state", *(s for s in Pair.State.values if s not in ("open", "escalated")))
    relevance = cells.maybe("relevance", most=4)
    if (state == Pair.State.SETTLED) != (relevance is not None):
        raise ValueError("a settled pair has its relevance, another has none")
    reason = cells.one_of("reason", "", *Pair.Reason.values)
    if (state == Pair.State.SETTLED) != (reason == ""):
        raise ValueError("a pair that is dropped or withdrawn says why, a settled one does not")
    pair = Pair(source_id=cells.number("pair_id", most=LARGEST_PAIR), state=state, relevance=relevance, reason=reason)
    return (number, cells.number("rank", 1, LARGEST_RANK)), (number, cells.number("batch", 1, LARGEST_RANK)), pair


def _placeholders_store(project: Project, judged: Judged, lines: list[tuple[Ranked, Ranked, Pair]]) -> None:
    """Store a moment that nobody has for each pair of a query that nobody knows."""
    ranks = [position for position, _, _ in lines if judged.queries[position[0]].is_placeholder]
    if ranks:
        corpus = project.dataset.corpus
        made = placeholders_create(corpus=corpus, ranks=[(judged.queries[number], rank) for number, rank in ranks])
        judged.candidates |= {(row.query.number, row.rank): row.pk for row in made}


def _batches_store(project: Project, folder: Path, keys: ProjectKeys, judged: Judged, bad: BadLines) -> None:
    now = timezone.now()

    def read(cells: Cells) -> Batch:
        number, pool = cells.number("query_id"), cells.maybe("pool")
        query = cells.known("query_id", judged.queries, number)
        place = (number, cells.number("batch", 1, LARGEST_RANK))
        review = {name: cells.text(name) for name in ("decision", "suggestion", "decided_by")}
        if review["decision"]:
            cells.one_of("decision", "extend", "close")
            cells.one_of("suggestion", "extend", "close")
            cells.one_of("decided_by", "lead", "rule")
            judged.reviews.append((place, review))
        return Batch(
            project=project,
            query=query,
            number=place[1],
            pooling_id=None if pool is None else cells.known("pool", keys.pools, pool),
            round=cells.number("rounds", 1, 2),
            state=Batch.State.DONE,
            priority=query.query_set.priority if query.query_set else 0,
            is_pilot=cells.yes("pilot"),
            begun=True,
            done_at=now,
        )

    told = list(rows(folder, layout.BATCHES, read, bad))
    bad.refuse()
    made = Batch.objects.bulk_create(told, batch_size=CHUNK)
    judged.batches |= {(batch.query.number, batch.number): batch for batch in made}


def _answers_store(folder: Path, corpus_keys: CorpusKeys, keys: ProjectKeys, judged: Judged, bad: BadLines) -> None:
    def named(cells: Cells) -> dict[str, Any]:
        source = (cells.number("pool"), cells.text("source"))
        query = cells.known("query_id", judged.queries, cells.number("query_id"))
        return {"source_id": cells.known("source", keys.sources, source), "query": query}

    def answer(cells: Cells) -> PoolAnswer:
        counts = {name: cells.number(name, most=2**31 - 1) for name in ("spans", "unmatched", "without_preview")}
        return PoolAnswer(**named(cells), **counts, drawn_from=cells.maybe("drawn_from", most=2**31 - 1))

    made = PoolAnswer.objects.bulk_create(rows(folder, layout.POOL_ANSWERS, answer, bad), batch_size=CHUNK)
    answers = {(row.source_id, row.query_id): row for row in made}

    def entry(cells: Cells) -> PoolEntry:
        of = named(cells)
        span = (cells.text("video_name"), cells.real("start"), cells.real("end"))
        return PoolEntry(
            answer=cells.known("answer", answers, (of["source_id"], of["query"].pk)),
            moment_id=cells.known("moment", corpus_keys.moments, span),
            rank=cells.number("rank", 1, LARGEST_RANK),
        )

    PoolEntry.objects.bulk_create(rows(folder, layout.POOL_ENTRIES, entry, bad), batch_size=CHUNK)
    bad.refuse()


def _pairs_store(judged: Judged, lines: list[tuple[Ranked, Ranked, Pair]], bad: BadLines) -> None:
    for line, (place, batch, pair) in enumerate(lines, start=2):
        if place not in judged.candidates:
            bad.add(layout.PAIRS, line, f"query {place[0]} has no candidate of rank {place[1]}")
        elif batch not in judged.batches:
            bad.add(layout.PAIRS, line, f"query {batch[0]} has no batch {batch[1]}")
        elif pair.source_id in judged.pairs:
            bad.add(layout.PAIRS, line, f"pair {pair.source_id} is there twice")
        else:
            pair.candidate_id, pair.batch = judged.candidates[place], judged.batches[batch]
            judged.pairs[pair.source_id or 0] = pair
    bad.refuse()
    Pair.objects.bulk_create(judged.pairs.values(), batch_size=CHUNK)
    last = max(judged.pairs, default=0)
    with connection.cursor() as cursor:
        cursor.execute(NEXT_PAIR, [max(last, 1), last])  # a new pair gets a number that no pair of the release has


def grades_store(project: Project, folder: Path, judged: Judged, keys: ProjectKeys, bad: BadLines) -> None:
    people = _People(project)
    seen: Counter[tuple[int, int]] = Counter()
    given: dict[int, list[int]] = defaultdict(list)

    def read(cells: Cells) -> Judgment:
        number, worker = cells.number("pair_id"), cells.number("worker", most=LARGEST_WORKER)
        pair = cells.known("pair_id", judged.pairs, number)
        guideline, policy = cells.maybe("guideline"), cells.maybe("policy")
        source = cells.one_of("source", *Judgment.Source.values)
        row = Judgment(
            pair=pair,
            occurrence=seen[number, worker],
            round=cells.number("round", 1, 2),
            seat=cells.number("seat", min(SEATS), max(SEATS)),
            grade=cells.number("relevance", most=max(rules.GRADES)),
            position=cells.maybe("position", 1, 2**15 - 1),
            source=Judgment.Source.IMPORTED,
            origin=source if source in TOLD else "",
            guideline_id=None if guideline is None else cells.known("guideline", keys.guidelines, guideline),
            policy_id=None if policy is None else cells.known("policy", keys.policies, policy),
            annotator_id=people.key_of(worker),
        )
        seen[number, worker] += 1
        given[number].append(row.grade)
        return row

    told = rows(folder, layout.JUDGMENTS, read, bad)
    while some := list(islice(told, CHUNK)):
        Judgment.objects.bulk_create(some)
    _check_states(judged, given, bad)
    bad.refuse()
    _reviews_store(project, judged)


class _People:
    """A placeholder account nobody can log in as, for each annotator number."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.keys: dict[int, int] = {}

    def key_of(self, worker: int) -> int:
        if worker not in self.keys:
            user = _placeholder(self.project, str(worker))
            Membership.objects.create(
                project=self.project,
                user=user,
                role=Membership.Role.ANNOTATOR,
                number=worker,
                standing=Membership.Standing.LEFT,
            )
            self.keys[worker] = user.pk
        return self.keys[worker]


def _placeholder(project: Project, who: str) -> User:
    return User.objects.create_user(f"released-{project.uuid.hex[:8]}-{who}")


def _check_states(judged: Judged, given: dict[int, list[int]], bad: BadLines) -> None:
    """A settled pair is what the rule makes of its grades, a dropped one is none that they settle."""
    for line, (number, pair) in enumerate(judged.pairs.items(), start=2):
        if pair.state == Pair.State.WITHDRAWN:
            continue
        if len(given[number]) > 4:
            bad.add(layout.PAIRS, line, f"pair {number} has {len(given[number])} grades, at most four make a pair")
            continue
        outcome = rules.settle(given[number])
        settled = outcome.state == rules.State.SETTLED
        if settled != (pair.state == Pair.State.SETTLED) or (settled and outcome.relevance != pair.relevance):
            said = f"{pair.state} {'' if pair.relevance is None else pair.relevance}".strip()
            bad.add(layout.PAIRS, line, f"pair {number} is {said}, which its grades {given[number]} do not give")


def _reviews_store(project: Project, judged: Judged) -> None:
    """Who decided is not told: a placeholder stands for the leads, nobody for the rule."""
    if not judged.reviews:
        return
    lead = _placeholder(project, "lead")
    BatchReview.objects.bulk_create(
        [
            BatchReview(
                batch=judged.batches[place],
                decision=review["decision"],
                suggestion=review["suggestion"],
                decided_by=lead if review["decided_by"] == "lead" else None,
            )
            for place, review in judged.reviews
        ],
        batch_size=CHUNK,
    )
