"""A release read back into a project of its own: everything its files hold, in one transaction."""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from accounts.models import Membership, Project, User
from accounts.services.members import member_add, placeholder_annotators, placeholder_user
from annotation.corpora.services.corpora import project_over, row_create, rows_create
from annotation.models import Candidate, Corpus, PoolAnswer, PoolEntry, Query, Topic, TopicVersion
from annotation.pools.rules import BATCHES, strata_rows
from annotation.topics.files import texts_of
from core.audit import audit_record
from core.exceptions import ImportRefused, NotPossible
from judging.imports.historic import placeholders_create
from judging.imports.release_project import Ranked, ReleaseIntake, corpus_store, name_from_file, rules_store
from judging.models import Batch, BatchReview, Judgment, Pair
from judging.releases import layout, reading
from judging.releases.metadata import IMPORT
from judging.releases.reading import Cells, document, objects, rows
from judging.work import rules
from judging.work.models import BULK

logger = logging.getLogger(__name__)
CHUNK = 5000
LARGEST_PAIR = 2**40  # new pairs are numbered behind it
LARGEST_RANK = 2**15 - 1
NEXT_PAIR = """
SELECT setval(pg_get_serial_sequence('judging_pair', 'id'), %s)
WHERE %s > (SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('judging_pair', 'id')::regclass), 0))"""
LARGEST_WORKER = 2**31 - 1
ORIGINS = (Judgment.Source.PERSON, Judgment.Source.SIMULATED)


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
                intake = ReleaseIntake(project, folder)
                corpus_store(intake)
                rules_store(intake, settings)
                reviews = pairs_store(intake)
                grades_store(intake)
                _reviews_store(intake, reviews)
                for lead in leads:
                    member_add(project=project, user=lead, roles=Membership.STAFF, actor=None)
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
    name = project_name or name_from_file("project", settings["project"])
    corpus = corpus_name or name_from_file("corpus", settings["corpus"]["name"])
    if Project.objects.filter(name=name).exists():
        raise NotPossible(f"There is a project named {name!r} already; name this one otherwise.")
    if Corpus.objects.filter(name=corpus).exists():
        raise NotPossible(f"There is a corpus named {corpus!r} already; name this one otherwise.")
    new_corpus = row_create(Corpus(name=corpus, is_placeholder=settings["corpus"]["placeholder"]))
    columns = _rules_in(settings)
    Project(name=name, **columns).validate_constraints()
    return project_over(corpus=new_corpus, name=name, similarity=settings["similarity"], **columns)


def _rules_in(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the rules of the project that was released, as columns; older releases do not name the scale."""
    consensus, pooling = settings["consensus"], settings["pooling"]
    return {
        "top_grade": int(consensus.get("highest_grade", rules.TVR_RANKING.top_grade)),
        "judges": int(consensus["judgments_per_round"]),
        "max_spread": int(consensus["largest_spread"]),
        "max_rounds": int(consensus["rounds"]),
        "batch_size": int(pooling["batch"]),
        "has_second_batch": int(pooling["batches"]) > 1,
        "strata": strata_rows(pooling.get("strata", [])),
    }


def pairs_store(intake: ReleaseIntake) -> list[tuple[Ranked, dict[str, str]]]:
    """Store queries, candidates, batches, answers of pools and pairs; the decisions about batches are returned."""
    _queries_store(intake)
    candidates = intake.read(layout.CANDIDATES, partial(_candidate, intake))
    _candidates_store(intake, [row for row in candidates if row.source == Candidate.Source.SIMILARITY])
    lines = intake.read(layout.PAIRS, partial(_pair, intake))
    ranks = [(intake.queries[number], rank) for (number, rank), _, _ in lines]
    if ranks := [(query, rank) for query, rank in ranks if query.is_placeholder]:  # of queries that nobody knows
        rows = placeholders_create(corpus=intake.project.dataset.corpus, ranks=ranks)
        intake.candidates |= {(row.query.number, row.rank): row.pk for row in rows}
    reviews = _batches_store(intake)
    _candidates_store(intake, [row for row in candidates if row.source == Candidate.Source.POOLED])
    _answers_store(intake)
    _pairs_store(intake, lines)
    return reviews


def _queries_store(intake: ReleaseIntake) -> None:
    """First those that are judged for themselves, then their twins."""

    def read(cells: Cells) -> tuple[Query, int | None]:
        name = cells.text("query_set")
        query_set = cells.known("query_set", intake.query_sets, name) if name else None
        query = Query(
            project=intake.project,
            number=cells.number("query_id"),
            text=cells.text("query"),
            split=cells.one_of("split", *Query.Split.values),
            caption_id=cells.maybe_known("caption", intake.captions),
            query_set=query_set,
            is_placeholder=cells.yes("placeholder"),
            was_pilot=cells.yes("pilot") and not (query_set and query_set.is_pilot),
        )
        return query, cells.maybe("judged_as")

    lines = intake.read(layout.QUERIES, read)
    own = rows_create(query for query, judged_as in lines if judged_as is None)
    intake.queries |= {query.number: query for query in own}
    duplicates = []
    for line, (query, judged_as) in enumerate(lines, start=2):
        if judged_as is None:
            continue
        if judged_as not in intake.queries:
            intake.bad.add(layout.QUERIES, line, f"judged_as {judged_as} is no query that is judged for itself")
            continue
        query.judged_as = intake.queries[judged_as]
        duplicates.append(query)
    intake.bad.refuse()
    rows_create(duplicates)
    _topics_store(intake)


def _topics_store(intake: ReleaseIntake) -> None:
    """Store all versions of the topics, where the release has some; the last one of each first, as its title is the
    query's text, which those of earlier ones need not be."""

    def read(line: dict[str, Any]) -> TopicVersion:
        number, version, n_judgments = line["number"], line["version"], line["judgments"]
        if number not in intake.queries:
            raise ValueError(f"number {str(number)[:40]} is no query that is judged for itself")
        if type(version) is not int or not 1 <= version <= LARGEST_RANK:
            raise ValueError(f"version is {str(version)[:40]}, no whole number from 1 to {LARGEST_RANK}")
        if type(n_judgments) is not int or not 0 <= n_judgments <= 2**31 - 1:
            raise ValueError(f"judgments is {str(n_judgments)[:40]}, no count")
        topic = topics.setdefault(number, Topic(query=intake.queries[number]))
        return TopicVersion(topic=topic, version=version, judgments_imported=n_judgments, **texts_of(line))

    if not (intake.folder / layout.TOPICS).is_file():
        return
    topics: dict[int, Topic] = {}
    versions = list(objects(intake.folder, layout.TOPICS, read, intake.bad))
    intake.bad.refuse()
    rows_create(topics.values())
    rows_create(sorted(versions, key=attrgetter("version"), reverse=True))


def _query(intake: ReleaseIntake, cells: Cells) -> Query:
    return cells.known("query_id", intake.queries, cells.number("query_id"))


def _candidate(intake: ReleaseIntake, cells: Cells) -> Candidate:
    source = cells.one_of("source", *Candidate.Source.values)
    moment = cells.known("moment", intake.moments, intake.span(cells))
    return Candidate(
        query=_query(intake, cells),
        moment_id=moment,
        rank=cells.number("rank", 1, LARGEST_RANK),
        similarity=cells.real("similarity") if cells.text("similarity") else None,
        measure_id=cells.maybe_known("measure", intake.measures),
        source=source,
        pooling_id=cells.maybe_known("pool", intake.pools),
        wordings=intake.wordings.get(moment, {}) if source == Candidate.Source.SIMILARITY else {},
    )


def _candidates_store(intake: ReleaseIntake, candidates: Iterable[Candidate]) -> None:
    rows = rows_create(candidates)
    intake.candidates |= {(row.query.number, row.rank): row.pk for row in rows}


def _pair(intake: ReleaseIntake, cells: Cells) -> tuple[Ranked, Ranked, Pair]:
    number = _query(intake, cells).number
    state = cells.one_of("state", *(s for s in Pair.State.values if s not in ("open", "escalated")))
    relevance = cells.maybe("relevance", most=intake.project.top_grade)
    if (state == Pair.State.SETTLED) != (relevance is not None):
        raise ValueError("a settled pair has its relevance, another has none")
    reason = cells.one_of("reason", "", *Pair.Reason.values)
    if (state == Pair.State.SETTLED) != (reason == ""):
        raise ValueError("a pair that is dropped or withdrawn says why, a settled one does not")
    pair = Pair(source_id=cells.number("pair_id", most=LARGEST_PAIR), state=state, relevance=relevance, reason=reason)
    return (number, cells.number("rank", 1, LARGEST_RANK)), (number, cells.number("batch", 1, LARGEST_RANK)), pair


def _batches_store(intake: ReleaseIntake) -> list[tuple[Ranked, dict[str, str]]]:
    """Store the batches; the decisions about them are returned."""
    now = timezone.now()
    reviews = []

    def read(cells: Cells) -> Batch:
        query = _query(intake, cells)
        number = cells.number("batch", 1, LARGEST_RANK)
        review = {name: cells.text(name) for name in ("decision", "suggestion", "decided_by")}
        if review["decision"]:
            cells.one_of("decision", "extend", "close")
            cells.one_of("suggestion", "extend", "close")
            cells.one_of("decided_by", "lead", "rule")
            reviews.append(((query.number, number), review))
        return Batch(
            project=intake.project,
            query=query,
            number=number,
            pooling_id=cells.maybe_known("pool", intake.pools),
            round=cells.number("rounds", 1, intake.project.max_rounds),
            free_slots=0,
            state=Batch.State.DONE,
            priority=query.query_set.priority if query.query_set else 0,
            is_pilot=cells.yes("pilot"),
            begun=True,
            done_at=now,
            strata=intake.project.strata if number <= BATCHES else [],
            **rules.rules_of(intake.project)._asdict(),
        )

    batches = Batch.objects.bulk_create(intake.read(layout.BATCHES, read), batch_size=BULK)
    intake.batches |= {(batch.query.number, batch.number): batch for batch in batches}
    return reviews


def _answers_store(intake: ReleaseIntake) -> None:
    def named(cells: Cells) -> dict[str, Any]:
        source = (cells.number("pool"), cells.text("source"))
        query = _query(intake, cells)
        return {"source_id": cells.known("source", intake.sources, source), "query": query}

    def answer(cells: Cells) -> PoolAnswer:
        counts = {name: cells.number(name, most=2**31 - 1) for name in ("spans", "unmatched", "without_preview")}
        return PoolAnswer(**named(cells), **counts, drawn_from=cells.maybe("drawn_from", most=2**31 - 1))

    rows_of = partial(rows, intake.folder, bad=intake.bad)
    pool_answers = rows_create(rows_of(layout.POOL_ANSWERS, answer))
    answers = {(row.source_id, row.query_id): row for row in pool_answers}

    def entry(cells: Cells) -> PoolEntry:
        of = named(cells)
        span = intake.span(cells)
        return PoolEntry(
            answer=cells.known("answer", answers, (of["source_id"], of["query"].pk)),
            moment_id=cells.known("moment", intake.moments, span),
            rank=cells.number("rank", 1, LARGEST_RANK),
        )

    rows_create(rows_of(layout.POOL_ENTRIES, entry))
    intake.bad.refuse()


def _pairs_store(intake: ReleaseIntake, lines: list[tuple[Ranked, Ranked, Pair]]) -> None:
    for line, (position, batch, pair) in enumerate(lines, start=2):
        if position not in intake.candidates:
            intake.bad.add(layout.PAIRS, line, f"query {position[0]} has no candidate of rank {position[1]}")
        elif batch not in intake.batches:
            intake.bad.add(layout.PAIRS, line, f"query {batch[0]} has no batch {batch[1]}")
        elif pair.source_id in intake.pairs:
            intake.bad.add(layout.PAIRS, line, f"pair {pair.source_id} is there twice")
        else:
            pair.candidate_id, pair.batch = intake.candidates[position], intake.batches[batch]
            intake.pairs[pair.source_id or 0] = pair
    intake.bad.refuse()
    Pair.objects.bulk_create(intake.pairs.values(), batch_size=CHUNK)
    last = max(intake.pairs, default=0)
    with connection.cursor() as cursor:
        cursor.execute(NEXT_PAIR, [max(last, 1), last])  # a new pair gets a number that no pair of the release has


def grades_store(intake: ReleaseIntake) -> None:
    project_rules = rules.rules_of(intake.project)
    annotators: dict[int, int] = {}
    occurrences: Counter[tuple[int, int]] = Counter()
    grades_by_pair: dict[int, list[int]] = defaultdict(list)

    def read(cells: Cells) -> Judgment:
        number, worker = cells.number("pair_id"), cells.number("worker", most=LARGEST_WORKER)
        pair = cells.known("pair_id", intake.pairs, number)
        source = cells.one_of("source", *Judgment.Source.values)
        row = Judgment(
            pair=pair,
            occurrence=occurrences[number, worker],
            round=cells.number("round", 1, project_rules.max_rounds),
            slot=cells.number("seat", 1, project_rules.judges),
            grade=cells.number("relevance", most=project_rules.top_grade),
            position=cells.maybe("position", 1, 2**15 - 1),
            source=Judgment.Source.IMPORTED,
            origin=source if source in ORIGINS else "",
            guideline_id=cells.maybe_known("guideline", intake.guidelines),
            policy_id=cells.maybe_known("policy", intake.policies),
        )
        if worker not in annotators:
            annotators.update(placeholder_annotators(project=intake.project, workers=[worker], prefix="released"))
        row.annotator_id = annotators[worker]
        occurrences[number, worker] += 1
        grades_by_pair[number].append(row.grade)
        return row

    judgments = rows(intake.folder, layout.JUDGMENTS, read, intake.bad)
    while chunk := list(islice(judgments, CHUNK)):
        Judgment.objects.bulk_create(chunk)
    _check_states(intake, grades_by_pair)


def _check_states(intake: ReleaseIntake, grades_by_pair: dict[int, list[int]]) -> None:
    """A settled pair is what the rule makes of its grades, a dropped one is none that they settle."""
    project_rules = rules.rules_of(intake.project)
    most = project_rules.judges * project_rules.max_rounds
    for line, (number, pair) in enumerate(intake.pairs.items(), start=2):
        if pair.state == Pair.State.WITHDRAWN:
            continue
        if len(grades_by_pair[number]) > most:
            reason = f"pair {number} has {len(grades_by_pair[number])} grades, at most {most} make a pair"
            intake.bad.add(layout.PAIRS, line, reason)
            continue
        outcome = rules.settle(grades_by_pair[number], project_rules)
        settled = outcome.state == rules.State.SETTLED
        if settled != (pair.state == Pair.State.SETTLED) or (settled and outcome.relevance != pair.relevance):
            state = f"{pair.state} {'' if pair.relevance is None else pair.relevance}".strip()
            reason = f"pair {number} is {state}, which its grades {grades_by_pair[number]} do not give"
            intake.bad.add(layout.PAIRS, line, reason)
    intake.bad.refuse()


def _reviews_store(intake: ReleaseIntake, reviews: list[tuple[Ranked, dict[str, str]]]) -> None:
    """Who decided is not in the file: a placeholder stands for the leads, nobody for the rule."""
    if not reviews:
        return
    people = {"lead": placeholder_user(project=intake.project, name="lead", prefix="released")}
    rows = []
    for position, review in reviews:
        values = {**review, "decided_by": people.get(review["decided_by"])}
        rows.append(BatchReview(batch=intake.batches[position], **values))
    BatchReview.objects.bulk_create(rows, batch_size=CHUNK)
