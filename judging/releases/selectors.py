"""Which queries, similarities, pools and judgments a release holds; releases to those who may read them.

Judgments are made into CSV by the database and passed on piece by piece, so that their number costs no memory.
"""

import json
import lzma
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest, sha256
from operator import attrgetter
from pathlib import Path
from random import SystemRandom
from typing import IO, Any, NamedTuple
from uuid import UUID
from zipfile import BadZipFile, ZipFile

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Trim
from django.http import FileResponse, Http404, HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from accounts.access import STAFF, grant
from accounts.models import Membership, Project
from annotation.captions.selectors import captions_to_train_on
from annotation.models import Candidate, Caption, Measure, Moment, PoolAnswer, Pooling, Query
from annotation.queries.selectors import queries_to_judge, queries_to_train_on
from core.exceptions import NotPossible
from core.sql import sql_named, sql_rows
from judging.exceptions import NotPossibleNow
from judging.models import Batch, BatchReview, Pair, Release
from judging.releases.layout import COLUMNS, DATASHEET, JUDGMENTS, RAW
from judging.review.selectors import candidates_beyond

MISSING = "The archive is not in the storage."
ALTERED = "The archive in the storage is not the one that was released."
# what reading an archive raises that is no archive, or not the one its directory says
DAMAGED = (BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError)
IS_PILOT = Q(batches__is_pilot=True) | (Q(batches__isnull=True) & (Q(query_set__is_pilot=True) | Q(was_pilot=True)))
OPENED = (Pooling.State.OPENING, Pooling.State.DONE)
UNDECIDED = (Pair.State.OPEN, Pair.State.ESCALATED)


class Missing(NamedTuple):
    """A query to judge that is not in the release, and how far it is."""

    number: int
    text: str
    split: str
    state: str
    batch: int | None
    round: int | None
    undecided: int | None


@dataclass(frozen=True)
class Scope:
    """The queries of one release, read once."""

    project: Project
    includes_pilot: bool
    listed: tuple[Query, ...]  # by number: those that were judged, and duplicates that share the pairs of one
    missing: tuple[Missing, ...]  # by number
    is_anonymised: bool = False

    @cached_property
    def own(self) -> tuple[Query, ...]:
        return tuple(query for query in self.listed if query.judged_as_id is None)

    @cached_property
    def keys(self) -> list[int]:
        """Of the queries judged."""
        return [query.pk for query in self.own]

    @property
    def among(self) -> RawSQL:
        """The keys as ``__in`` takes them, however many there are."""
        return RawSQL("SELECT unnest(%s::bigint[])", [self.keys])

    @cached_property
    def measures(self) -> dict[int, Measure]:
        """How the similarities of the candidates of these queries were computed, by name; by their numbers in files."""
        candidates = Candidate.objects.filter(query__in=self.among, measure__isnull=False).order_by()
        rows = Measure.objects.filter(pk__in=candidates.values("measure").distinct())
        return dict(enumerate(sorted(rows, key=attrgetter("name", "model", "version", "normalisation")), start=1))

    @cached_property
    def pools(self) -> dict[int, Pooling]:
        """Opened pools that answered these queries, in the order they were opened, by their numbers in files; each with
        the number of ``pairs`` that it pooled."""
        answered = PoolAnswer.objects.filter(query__in=self.among).values("source__pooling")
        candidates = Candidate.objects.filter(query__in=self.among, pooling__isnull=False).order_by()
        used = Q(pk__in=answered) | Q(pk__in=candidates.values("pooling"))
        its_pairs = Q(candidates__query__in=self.among, candidates__pair__isnull=False)
        rows = Pooling.objects.filter(used, state__in=OPENED).annotate(pairs=Count("candidates", filter=its_pairs))
        rows = rows.select_related("query_set").prefetch_related("sources").order_by("opened_at", "pk")
        return dict(enumerate(rows, start=1))

    @property
    def is_partial(self) -> bool:
        return any(query.state != PILOT for query in self.missing)

    @property
    def missing_by_state(self) -> dict[str, int]:
        counts = Counter(query.state for query in self.missing)
        return {state: counts[state] for state in STATES if counts[state]}


PILOT = "pilot"
STATES = {
    "no_batch": "no batch is open yet",
    "being_judged": "a batch is open",
    "awaits_decision": "the first batch is done; a lead decides about a second",
    "second_batch_awaited": "a second batch was asked for and is not open yet, or its previews are not cut",
    PILOT: "of a pilot set, which this release leaves out",
}


def scope_of(release: Release) -> Scope:
    project = Project.objects.select_related("dataset__corpus").get(pk=release.project_id)
    finished = finished_queries(project.pk)
    released = finished if release.includes_pilot else finished.exclude(batches__is_pilot=True)
    own = {query.pk: query for query in released.distinct()}
    duplicates = [query for query in project.queries.filter(judged_as__isnull=False) if query.judged_as_id in own]
    return Scope(
        project=project,
        includes_pilot=release.includes_pilot,
        is_anonymised=release.is_anonymised,
        listed=tuple(sorted([*own.values(), *duplicates], key=attrgetter("number"))),
        missing=tuple(_missing(project.pk, set(own), includes_pilot=release.includes_pilot)),
    )


def judged_key(query: Query) -> int:
    """Key of the query that was judged: this one, or the one whose pairs it shares."""
    return query.judged_as_id or query.pk


def finished_queries(project_id: int) -> QuerySet[Query]:
    """Judged queries with nothing left to do: closed after the first batch, second batch done, or historic.

    One that was extended is finished, too, where no candidate is left whose preview could be cut. A batch pooled from
    runs makes a query unfinished until it is done.
    """
    closed = BatchReview.objects.filter(batch__query=OuterRef("pk"), decision=BatchReview.Decision.CLOSE)
    extended = BatchReview.objects.filter(batch__query=OuterRef("pk"), decision=BatchReview.Decision.EXTEND)
    second = Batch.objects.filter(query=OuterRef("pk"), number=2)
    beyond = candidates_beyond().filter(query=OuterRef("pk"))
    beyond = beyond.exclude(moment__preview_state__in=Moment.NEVER_SEEN)
    judged = Query.objects.filter(project=project_id, batches__number=1, batches__state=Batch.State.DONE)
    return judged.filter(~Exists(Batch.objects.filter(query=OuterRef("pk"), state=Batch.State.OPEN))).filter(
        Q(is_placeholder=True)
        | Exists(closed)
        | Exists(second.filter(state=Batch.State.DONE))
        | (Exists(extended) & ~Exists(second) & ~Exists(beyond))
    )


def unfinished_queries(project_id: int) -> QuerySet[Query]:
    """Queries to judge that a release made now would lack, those of pilot sets apart."""
    unfinished = queries_to_judge(project_id).exclude(pk__in=finished_queries(project_id).values("pk"))
    return unfinished.exclude(pk__in=queries_to_judge(project_id).filter(IS_PILOT).values("pk"))


def _missing(project_id: int, released: set[int], *, includes_pilot: bool) -> Iterator[Missing]:
    to_judge = queries_to_judge(project_id)
    pilot = set() if includes_pilot else set(to_judge.filter(IS_PILOT).values_list("pk", flat=True))
    undecided = Count("pairs", filter=Q(pairs__state__in=UNDECIDED))
    batches = Batch.objects.filter(project=project_id).annotate(undecided=undecided)
    batches = batches.order_by("query", "state", "number")  # an open one comes last, and is kept
    last = {batch.query_id: batch for batch in batches}
    decided = dict(BatchReview.objects.filter(batch__project=project_id).values_list("batch__query", "decision"))
    for query in to_judge.order_by("number"):
        if query.pk in released:
            continue
        batch = last.get(query.pk)
        if query.pk in pilot:  # how far a pilot is says nothing of what is missing
            state, batch = PILOT, None
        elif batch is None:
            state = "no_batch"
        elif batch.state == Batch.State.OPEN:
            state = "being_judged"
        else:
            is_extended = decided.get(query.pk) == BatchReview.Decision.EXTEND
            state = "second_batch_awaited" if is_extended else "awaits_decision"
        how_far = (batch.number, batch.round, batch.undecided) if batch else (None, None, None)
        yield Missing(query.number, query.text, query.split, state, *how_far)


def archive_opened(release: Release) -> IO[bytes]:
    """The archive at its first byte, after all of it was compared with the checksum that is kept of it.

    One from before that was kept is compared with the checksums that it holds itself. Raises NotPossibleNow where it is
    not in the storage, or it is another.
    """
    try:
        source: IO[bytes] = release.archive.open("rb")
        if release.archive_sha256:
            good = file_digest(source, "sha256").hexdigest() == release.archive_sha256  # type: ignore[arg-type]
        else:
            good = _is_whole(source)
        source.seek(0)
    except (OSError, ValueError) as error:  # ValueError: the row names none
        raise NotPossibleNow(MISSING) from error
    if not good:
        source.close()
        raise NotPossibleNow(ALTERED)
    return source


def _is_whole(source: IO[bytes]) -> bool:
    try:
        with ZipFile(source) as archive:
            return archive.testzip() is None
    except DAMAGED:
        return False


def datasheet_of(release: Release) -> str | None:
    """Its datasheet; None where it cannot be read, or is not the one of the manifest."""
    entry = release.manifest.get("files", {}).get(DATASHEET)
    if not entry:
        return None
    try:
        with release.archive.open("rb") as source, ZipFile(source) as archive, archive.open(DATASHEET) as file:
            content = file.read(entry["bytes"] + 1)
    except (OSError, ValueError, *DAMAGED):
        return None
    return content.decode("utf-8", "replace") if sha256(content).hexdigest() == entry["sha256"] else None


def release_granted(request: HttpRequest, release_uuid: UUID, roles: frozenset[Membership.Role] = STAFF) -> Release:
    """Return the release; 404 for strangers, 403 for people of other roles."""
    release = get_object_or_404(Release.objects.select_related("project__dataset__corpus"), uuid=release_uuid)
    grant(request, release.project, roles)
    return release


def ready_release(request: HttpRequest, release_uuid: UUID) -> Release:
    """Return the release as ``release_granted`` does; 404 while it has no archive."""
    release = release_granted(request, release_uuid)
    if release.state != Release.State.READY:
        raise Http404
    return release


def others(release: Release) -> QuerySet[Release]:
    """Return the other releases of the project that have an archive, newest first."""
    return release.project.releases.filter(state=Release.State.READY).exclude(pk=release.pk)


def release_file(request: HttpRequest, release_uuid: UUID) -> FileResponse:
    """Send the archive, as it was released: another of its name is not handed out."""
    release = ready_release(request, release_uuid)
    name = f"momentjudge-release-{release.version}.zip"
    return FileResponse(archive_opened(release), as_attachment=True, filename=name)


def judgments_csv(request: HttpRequest, project: Project) -> StreamingHttpResponse:
    """Send all final grades as they are now, finished queries or not, as they are read."""
    headers = {"Content-Disposition": 'attachment; filename="judgments.csv"'}
    pieces = _copied(LIVE_COLUMNS, OF_PROJECT, {"project": project.pk})
    return StreamingHttpResponse(pieces, content_type="text/csv; charset=utf-8", headers=headers)


def described_in_train(project: Project) -> dict[str, int]:
    """Texts of the training sets that are descriptions as imported, never rewritten, names and all. A query
    keeps the text that it was drawn with when its caption is rewritten."""
    unwritten = Caption.Provider.AS_DESCRIBED
    drawn_before = Q(text=Trim("caption__description__text")) & ~Q(text=F("caption__text"))
    queries = queries_to_train_on(project.pk).filter(drawn_before | Q(caption__provider=unwritten))
    return {
        "captions_as_described": captions_to_train_on(project.dataset.corpus_id).filter(provider=unwritten).count(),
        "train_queries_as_described": queries.count(),
    }


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
    "seat": "given.slot",
    "position": "given.position",
    "guideline": "guideline.version",
    "policy": "policy.version",
    "source": "coalesce(nullif(given.origin, ''), given.source)",
}
ANONYMOUS = {"worker": "(%(numbers)s::jsonb ->> given.annotator_id::text)::integer"}
ORDER = f"ORDER BY {NUMBER}, given.round, given.slot"
FACTS = f"""
SELECT count(*) AS judgments,
    count(*) FILTER (WHERE 'simulated' IN (given.source, given.origin)) AS simulated_judgments,
    count(DISTINCT given.annotator_id) AS annotators, count(*) FILTER (WHERE member.number IS NULL) AS nameless,
    min(given.created_at) FILTER (WHERE given.source <> 'imported') AS judged_from,
    max(given.created_at) FILTER (WHERE given.source <> 'imported') AS judged_to
{OF_QUERIES}"""
VERSIONS = f"""
SELECT guideline.version AS guideline, policy.version AS policy, count(*) AS judgments {OF_QUERIES}
GROUP BY 1, 2 ORDER BY 1 NULLS FIRST, 2 NULLS FIRST"""


def write_judgments(queries: Sequence[int], folder: Path, *, anonymised: bool = False) -> None:
    """Every final grade of these queries under the annotator's number; identities are never joined.

    Args:
        anonymised: under numbers that are drawn for this one time and kept nowhere.

    Raises:
        NotPossible: somebody judged who has no number any more.
    """
    if facts_of(queries).nameless:
        raise NotPossible("Somebody who judged has no annotator number any more; their grades cannot be named.")
    parameters: dict[str, object] = {"queries": list(queries)}
    if anonymised:  # from 1 on for each account that judged, in an order that nobody can draw again
        rows = sql_rows(f"SELECT DISTINCT given.annotator_id {OF_QUERIES}", parameters)  # nosec B608 - constants
        people = [account for (account,) in rows]
        SystemRandom().shuffle(people)
        parameters["numbers"] = json.dumps({account: number for number, account in enumerate(people, start=1)})
    for name in (RAW, JUDGMENTS):
        with (folder / name).open("wb") as file:
            for piece in _copied(COLUMNS[name], OF_QUERIES, parameters, instead=ANONYMOUS if anonymised else None):
                file.write(piece)


def facts_of(queries: Sequence[int]) -> Any:
    """How many, by how many people, and from which day to which they were given here."""
    [facts] = sql_named(FACTS, {"queries": list(queries)})
    return facts


def versions_of(queries: Sequence[int]) -> list[Any]:
    """Version of the guideline, version of the policy, judgments given under both."""
    return sql_named(VERSIONS, {"queries": list(queries)})


def _copied(
    columns: Sequence[str], source: str, parameters: dict[str, object], instead: Mapping[str, str] | None = None
) -> Iterator[bytes]:
    expressions = {**CELLS, **(instead or {})}
    cells = ", ".join(f"{expressions[name]} AS {name}" for name in columns)
    statement = f"COPY (SELECT {cells} {source} {ORDER}) TO STDOUT WITH (FORMAT csv)"
    yield f"{','.join(columns)}\n".encode()
    with connection.cursor() as cursor, cursor.copy(statement, parameters) as rows:
        piece = bytearray()
        for row in rows:
            piece += row
            if len(piece) > PIECE:
                yield bytes(piece)
                piece.clear()
        yield bytes(piece)
