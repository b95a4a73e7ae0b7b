"""Which queries a release holds and which it lacks; releases to those who may read them, and their files."""

import lzma
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import IO, Any, NamedTuple
from uuid import UUID
from zipfile import BadZipFile, ZipFile

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.http import FileResponse, Http404, HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from accounts.access import STAFF, grant
from accounts.models import Membership, Project
from annotation.models import Candidate, Moment, Query
from annotation.pools.rules import BATCH_SIZE, BATCHES
from annotation.queries.selectors import queries_to_judge
from judging.exceptions import NotPossibleNow
from judging.models import Batch, BatchReview, Pair, Release
from judging.releases.judgments import judgments_csv
from judging.releases.layout import DATASHEET

MISSING = "The archive is not in the storage."
ALTERED = "The archive in the storage is not the one that was released."
ARCHIVE_PIECE = 1 << 20
# what reading an archive raises that is no archive, or not the one its directory says
DAMAGED = (BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError)
IS_PILOT = Q(batches__is_pilot=True) | (Q(batches__isnull=True) & (Q(query_set__is_pilot=True) | Q(was_pilot=True)))
UNDECIDED = (Pair.State.OPEN, Pair.State.ESCALATED)


class Listed(NamedTuple):
    """A query of a release: one that was judged, or a twin that shares its pairs."""

    number: int
    text: str
    split: str
    judged: int  # the key of the query judged
    is_own: bool  # it is that query
    is_placeholder: bool


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
    listed: tuple[Listed, ...]  # by number, twins among them
    missing: tuple[Missing, ...]  # by number
    is_anonymised: bool = False

    @cached_property
    def own(self) -> tuple[Listed, ...]:
        return tuple(query for query in self.listed if query.is_own)

    @cached_property
    def keys(self) -> list[int]:
        """Of the queries judged."""
        return [query.judged for query in self.own]

    @property
    def among(self) -> RawSQL:
        """The keys as ``__in`` takes them, however many there are."""
        return RawSQL("SELECT unnest(%s::bigint[])", [self.keys])

    @property
    def is_partial(self) -> bool:
        return any(query.state != PILOT for query in self.missing)

    @property
    def missing_by_state(self) -> dict[str, int]:
        found = Counter(query.state for query in self.missing)
        return {state: found[state] for state in STATES if found[state]}


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
    own = {row["pk"]: row for row in released.distinct().values("pk", "number", "text", "split", "is_placeholder")}
    listed = [Listed(r["number"], r["text"], r["split"], pk, True, r["is_placeholder"]) for pk, r in own.items()]
    twins = Query.objects.filter(project=project, judged_as__isnull=False)
    for number, text, split, judged in twins.values_list("number", "text", "split", "judged_as"):
        if judged in own:
            listed.append(Listed(number, text, split, judged, False, False))
    return Scope(
        project=project,
        includes_pilot=release.includes_pilot,
        is_anonymised=release.is_anonymised,
        listed=tuple(sorted(listed)),
        missing=tuple(_missing(project.pk, set(own), includes_pilot=release.includes_pilot)),
    )


def finished_queries(project_id: int) -> QuerySet[Query]:
    """Judged queries with nothing left to do: closed after the first batch, second batch done, or historic.

    One that was extended is finished, too, where no candidate is left whose preview could be cut. A batch pooled from
    runs makes a query unfinished until it is done.
    """
    closed = BatchReview.objects.filter(batch__query=OuterRef("pk"), decision=BatchReview.Decision.CLOSE)
    extended = BatchReview.objects.filter(batch__query=OuterRef("pk"), decision=BatchReview.Decision.EXTEND)
    second = Batch.objects.filter(query=OuterRef("pk"), number=2)
    beyond = Candidate.objects.filter(
        query=OuterRef("pk"), source=Candidate.Source.SIMILARITY, rank__range=(BATCH_SIZE + 1, BATCHES * BATCH_SIZE)
    ).exclude(moment__preview_state=Moment.Preview.FAILED)  # nobody will ever see it
    judged = Query.objects.filter(project=project_id, batches__number=1, batches__state=Batch.State.DONE)
    return judged.filter(~Exists(Batch.objects.filter(query=OuterRef("pk"), state=Batch.State.OPEN))).filter(
        Q(is_placeholder=True)
        | Exists(closed)
        | Exists(second.filter(state=Batch.State.DONE))
        | (Exists(extended) & ~Exists(second) & ~Exists(beyond))
    )


def unfinished_queries(project_id: int) -> QuerySet[Query]:
    """Queries to judge that a release made now would lack, those of pilot sets apart."""
    left = queries_to_judge(project_id).exclude(pk__in=finished_queries(project_id).values("pk"))
    return left.exclude(pk__in=queries_to_judge(project_id).filter(IS_PILOT).values("pk"))


def _missing(project_id: int, released: set[int], *, includes_pilot: bool) -> Iterator[Missing]:
    to_judge = queries_to_judge(project_id)
    pilot = set() if includes_pilot else set(to_judge.filter(IS_PILOT).values_list("pk", flat=True))
    last, decided = _last_batches(project_id), _decisions(project_id)
    for pk, number, text, split in to_judge.order_by("number").values_list("pk", "number", "text", "split"):
        if pk in released:
            continue
        batch = last.get(pk)
        state = PILOT if pk in pilot else _state_of(batch, decided.get(pk))
        if batch is None or state == PILOT:  # how far a pilot is says nothing of what is missing
            yield Missing(number, text, split, state, None, None, None)
        else:
            yield Missing(number, text, split, state, batch["number"], batch["round"], batch["undecided"])


def _last_batches(project_id: int) -> dict[int, dict[str, Any]]:
    """The batch that each query is at: the open one, else its last."""
    rows = Batch.objects.filter(project=project_id).annotate(
        undecided=Count("pairs", filter=Q(pairs__state__in=UNDECIDED))
    )
    rows = rows.order_by("query", "state", "number")  # an open one comes last, and is kept
    return {row["query"]: dict(row) for row in rows.values("query", "number", "round", "state", "undecided")}


def _decisions(project_id: int) -> dict[int, str]:
    return dict(BatchReview.objects.filter(batch__project=project_id).values_list("batch__query", "decision"))


def _state_of(batch: dict[str, Any] | None, decision: str | None) -> str:
    if batch is None:
        return "no_batch"
    if batch["state"] == Batch.State.OPEN:
        return "being_judged"
    return "second_batch_awaited" if decision == BatchReview.Decision.EXTEND else "awaits_decision"


def archive_opened(release: Release) -> IO[bytes]:
    """The archive at its first byte, after all of it was compared with the checksum that is kept of it.

    One from before that was kept is compared with the checksums that it holds itself.

    Raises:
        NotPossibleNow: it is not in the storage, or it is another.
    """
    try:
        source: IO[bytes] = release.archive.open("rb")
        good = _is_as_told(release, source) if release.archive_sha256 else _is_whole(source)
        source.seek(0)
    except (OSError, ValueError) as error:  # ValueError: the row names none
        raise NotPossibleNow(MISSING) from error
    if not good:
        source.close()
        raise NotPossibleNow(ALTERED)
    return source


def _is_as_told(release: Release, source: IO[bytes]) -> bool:
    digest = sha256()
    while piece := source.read(ARCHIVE_PIECE):
        digest.update(piece)
    return digest.hexdigest() == release.archive_sha256


def _is_whole(source: IO[bytes]) -> bool:
    try:
        with ZipFile(source) as archive:
            return archive.testzip() is None
    except DAMAGED:
        return False


def datasheet_of(release: Release) -> str | None:
    """Its datasheet; None where it cannot be read, or is not the one of the manifest."""
    told = release.manifest.get("files", {}).get(DATASHEET)
    if not told:
        return None
    try:
        with release.archive.open("rb") as source, ZipFile(source) as archive, archive.open(DATASHEET) as file:
            held = file.read(told["bytes"] + 1)
    except (OSError, ValueError, *DAMAGED):
        return None
    return held.decode("utf-8", "replace") if sha256(held).hexdigest() == told["sha256"] else None


def release_granted(request: HttpRequest, release_uuid: UUID, roles: frozenset[Membership.Role] = STAFF) -> Release:
    """Return the release; 404 for strangers, 403 for people of another role."""
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


def judgments_csv_response(project: Project) -> StreamingHttpResponse:
    """Send all final grades of the project as they are read."""
    headers = {"Content-Disposition": 'attachment; filename="judgments.csv"'}
    return StreamingHttpResponse(judgments_csv(project), content_type="text/csv; charset=utf-8", headers=headers)
