"""Imports annotated moments, subtitles, video files and cast lists into a corpus."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Max, Model

from accounts.models import Project, User
from accounts.services.members import project_create
from annotation.captions.rewriting.lexicon import COLUMNS, Member
from annotation.corpora.importers.base import (
    BadLine,
    DescriptionRecord,
    Durations,
    Item,
    MomentRecord,
    SpanRecord,
    SubtitleRecord,
    VideoRecord,
)
from annotation.corpora.services.videos import video_files_add
from annotation.models import Caption, CastMember, Corpus, Description, Moment, ProjectCorpus, Query, Subtitle, Video
from core.audit import audit_record
from core.exceptions import NotPossible
from core.texts import checked_name
from core.uploads import LineWarning, OnWarning

CHUNK = 5000  # records in memory
ROWS = 2000  # of one statement, which holds at most 65,535 values
BAD_LINES_MAX = 1000  # in memory; the written report has them all
TEXT_SHOWN = 200
SPAN = ("video_id", "start_s", "end_s")
Span = tuple[int, float, float]  # video, start, end
Placed = DescriptionRecord | MomentRecord
Row = Placed | SubtitleRecord


@dataclass
class ImportReport:
    """Counts of what an import read and added; ``bad`` holds the first bad lines, ``bad_lines`` counts all."""

    descriptions: int = 0
    by_kind: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Description.Kind.values, 0))
    moments: int = 0
    videos: int = 0
    subtitles: int = 0
    added: int = 0
    videos_with_file: int = 0
    clipped: int = 0
    flagged: int = 0
    bad_lines: int = 0
    bad: list[BadLine] = field(default_factory=list)
    on_warning: OnWarning | None = None

    def counts(self) -> dict[str, int]:
        names = ("moments", "videos", "subtitles", "added", "videos_with_file", "clipped", "flagged", "bad_lines")
        counts = {name: getattr(self, name) for name in names}
        return {"descriptions": self.descriptions, **self.by_kind, **counts}

    def refuse(self, bad: BadLine) -> None:
        self.bad_lines += 1
        if len(self.bad) < BAD_LINES_MAX:
            self.bad.append(bad)
        self._say(LineWarning(bad.file, bad.line, bad.item, "refused", bad.reason))

    def take(self, record: Row) -> None:
        """Count what a record says of itself."""
        text = "" if isinstance(record, MomentRecord) else record.text[:TEXT_SHOWN]
        if record.past_end:
            self.clipped += 1
            reason = f"ended after its video; it now ends at {record.end_s:g} s"
            self._say(LineWarning("", record.line, record.item, "clipped", reason, text))
        if isinstance(record, DescriptionRecord):
            self.descriptions += 1
            self.by_kind[record.kind] += 1
            if record.notes:
                self.flagged += 1
                self._say(LineWarning("", record.line, record.item, "flagged", "; ".join(record.notes), text))
        elif isinstance(record, SubtitleRecord):
            self.subtitles += 1

    def _say(self, warning: LineWarning) -> None:
        if self.on_warning:
            self.on_warning(warning)


@transaction.atomic
def project_over(*, corpus: Corpus, name: str, similarity: str = "", **fields: Any) -> Project:
    """Return a new project that judges ``corpus``; ``fields`` are further columns of Project."""
    project = project_create(name=name, **fields)
    ProjectCorpus.objects.create(project=project, corpus=corpus, similarity=similarity)
    return project


def similarity_set(*, project: Project, similarity: str) -> None:
    ProjectCorpus.objects.filter(pk=project.pk).update(similarity=similarity)


@transaction.atomic
def corpus_create(*, name: str, actor: User | None) -> Corpus:
    """Return a new corpus without videos. Raises NotPossible where the name is taken."""
    corpus, is_new = Corpus.objects.get_or_create(name=checked_name(name))
    if not is_new:
        raise NotPossible(f"There is a corpus named {name.strip()!r} already. Choose another name.")
    audit_record(project=None, actor=actor, action="corpus.create", subject=corpus.uuid, corpus=corpus.name)
    return corpus


def corpus_lengths(*, corpus_name: str) -> dict[str, tuple[float, int]]:
    """Return name, length and index of the videos of a corpus; none where there is no such corpus."""
    videos = Video.objects.filter(corpus__name=corpus_name.strip())
    return {name: (length, index) for name, length, index in videos.values_list("name", "duration_s", "index")}


def corpus_durations(*, corpus_name: str) -> dict[str, tuple[float, int]]:
    """Return what ``corpus_lengths`` does. Raises NotPossible where there is no such corpus."""
    if not Corpus.objects.filter(name=corpus_name.strip()).exists():
        raise NotPossible(f"There is no corpus {corpus_name!r}; upload its videos or import its moments first.")
    return corpus_lengths(corpus_name=corpus_name)


def corpus_import(
    *,
    corpus_name: str,
    source_split: str,
    records: Iterable[Item],
    durations: Durations | None = None,
    videos: Path | None = None,
    skip_bad: bool = False,
    dry_run: bool = False,
    actor: User | None = None,
    on_warning: OnWarning | None = None,
) -> ImportReport:
    """Add videos, moments, descriptions, captions and subtitles of a file; what is there already stays.

    The description serves as caption until it is rewritten. With a bad line nothing is written unless ``skip_bad``;
    nothing is written in a ``dry_run``, whose report says what would be. ``on_warning`` gets every bad line,
    clipped window and flagged description.
    Files of ``videos`` are stored after that, each by itself: a repeat goes on where an earlier one was ended.
    """
    report = ImportReport(on_warning=on_warning)
    with transaction.atomic():
        corpus = _corpus_locked(corpus_name)
        intake = _Intake(corpus, source_split, durations or {}, report, skip_bad=skip_bad)
        remaining = iter(records)
        while chunk := list(islice(remaining, CHUNK)):
            intake.take(chunk)
        report.moments, report.videos = len(intake.spans), len(intake.names)
        if report.bad_lines and not skip_bad:
            report.added = 0
        is_refused = dry_run or (report.bad_lines and not skip_bad)
        if is_refused:
            transaction.set_rollback(True)
        elif report.added:
            audit_record(project=None, actor=actor, action="corpus.import", subject=corpus.uuid, **report.counts())
    if videos and not is_refused:
        used_videos = {name: intake.videos[name] for name in sorted(intake.names)}
        report.videos_with_file = video_files_add(videos=used_videos, folder=videos)
        about = {"videos_with_file": report.videos_with_file}
        audit_record(project=None, actor=actor, action="corpus.videos", subject=corpus.uuid, **about)
    return report


def _corpus_locked(name: str) -> Corpus:
    """The corpus, new if there is none, held so that one import runs at a time; rows may refer to it meanwhile."""
    corpus, _ = Corpus.objects.get_or_create(name=checked_name(name))
    Corpus.objects.select_for_update(no_key=True).get(pk=corpus.pk)
    if corpus.is_placeholder:
        raise NotPossible(f"The corpus {name!r} stands in for historic judgments; name another with --corpus.")
    return corpus


class _Intake:
    """Takes records into a corpus, some thousands at a time."""

    def __init__(
        self, corpus: Corpus, source_split: str, durations: Durations, report: ImportReport, *, skip_bad: bool
    ) -> None:
        self.corpus, self.source_split, self.report, self.skip_bad = corpus, source_split, report, skip_bad
        self.lengths: dict[str, tuple[float, int | None]] = dict(durations)
        self.videos = {video.name: video for video in corpus.videos.all()}
        self.taken = {video.index for video in self.videos.values()}
        self.spare = max([*self.taken, *(index for _, index in durations.values()), -1]) + 1
        self.next_id = 1 + (corpus.descriptions.aggregate(last=Max("source_id"))["last"] or 0)
        self.names: set[str] = set()
        self.spans: set[tuple[str, float, float]] = set()
        self.repeats: Counter[tuple[str, float, float, str]] = Counter()

    @property
    def writes(self) -> bool:
        """Whether it is worth writing: what was refused takes everything back unless bad lines are skipped."""
        return self.skip_bad or not self.report.bad_lines

    def take(self, chunk: Sequence[Item]) -> None:
        self.lengths |= {
            item.name: (item.duration_s, item.index)
            for item in chunk
            if isinstance(item, VideoRecord) and item.name not in self.lengths
        }
        new, clashes = self._new([item for item in chunk if isinstance(item, DescriptionRecord)])
        good = self._sorted_out(chunk, {(clash.line, clash.item): clash for clash in clashes})
        placed = [record for record in good if isinstance(record, Placed)]
        self.names.update(record.video_name for record in good)
        self.spans.update((record.video_name, record.start_s, record.end_s) for record in placed)
        if self.writes:
            self._videos_add(dict.fromkeys(record.video_name for record in placed))
            moments = self._moments_add(placed)
            self._descriptions_add(new, moments)
            subtitles = [record for record in good if isinstance(record, SubtitleRecord)]
            self.report.added += len(new) + self._subtitles_add(subtitles)

    def _sorted_out(self, chunk: Sequence[Item], clashes: Mapping[tuple[int, str], BadLine]) -> list[Row]:
        """The records that may become rows; everything is reported in the order of the file."""
        good: list[Row] = []
        for item in chunk:
            if isinstance(item, VideoRecord):
                continue
            if isinstance(item, BadLine):
                self.report.refuse(item)
            elif clash := clashes.get((item.line, item.item)):
                self.report.refuse(clash)
            else:
                self.report.take(item)
                good.append(item)
        return good

    def _new(self, records: Sequence[DescriptionRecord]) -> tuple[list[tuple[int, DescriptionRecord]], list[BadLine]]:
        """Records the corpus does not hold yet, each with its number, and those that contradict what it holds."""
        numbered = [(record.source_id, record) for record in records if record.source_id is not None]
        rows = self.corpus.descriptions.filter(source_id__in=[source_id for source_id, _ in numbered])
        fields = ("source_id", "text", "kind", "moment__video__name", "moment__start_s", "moment__end_s")
        content_by_id = {source_id: content for source_id, *content in rows.values_list(*fields)}
        new, clashes = [], []
        for source_id, record in numbered:
            content = content_by_id.get(source_id)
            if content is None:
                new.append((source_id, record))
            elif _content(*content) != _content(record.text, record.kind, *_span(record)):
                reason = f"desc_id {source_id} is in the corpus with other content"
                clashes.append(BadLine(record.line, reason, record.item))
        return new + self._numbered([record for record in records if record.source_id is None]), clashes

    def _numbered(self, records: Sequence[DescriptionRecord]) -> list[tuple[int, DescriptionRecord]]:
        """Records without a number that are new, with the next free ones.

        The source may say the same twice: the n-th time is new where the corpus holds fewer than n.
        """
        if not records:
            return []
        videos = [video.pk for name in {r.video_name for r in records} if (video := self.videos.get(name))]
        rows = self.corpus.descriptions.filter(moment__video__in=videos)
        fields = ("moment__video__name", "moment__start_s", "moment__end_s", "text")
        counts = Counter((*span, text.strip()) for *span, text in rows.values_list(*fields))
        new = []
        for record in records:
            key = (*_span(record), record.text.strip())
            self.repeats[key] += 1
            if self.repeats[key] > counts[key]:
                new.append((self.next_id, record))
                self.next_id += 1
        return new

    def _videos_add(self, names: Iterable[str]) -> None:
        fresh = []
        for name in names:
            if name in self.videos:
                continue
            duration_s, index = self.lengths[name]
            is_index_free = index is not None and index not in self.taken
            if index is None or not is_index_free:
                index, self.spare = self.spare, self.spare + 1
            self.taken.add(index)
            row = Video(corpus=self.corpus, name=name, duration_s=duration_s, index=index, index_is_given=is_index_free)
            row.source_split = self.source_split
            fresh.append(row)
        self.videos |= {video.name: video for video in Video.objects.bulk_create(fresh, batch_size=ROWS)}

    def _moments_add(self, records: Sequence[Placed]) -> dict[Span, int]:
        spans = dict.fromkeys((self.videos[r.video_name].pk, r.start_s, r.end_s) for r in records)
        rows = Moment.objects.filter(video__in={video for video, _, _ in spans}).values_list(*SPAN, "pk")
        ids_by_span = {(video, start, end): pk for video, start, end, pk in rows}
        fresh = [Moment(**dict(zip(SPAN, span, strict=True))) for span in spans if span not in ids_by_span]
        moments = Moment.objects.bulk_create(fresh, batch_size=ROWS)
        return ids_by_span | {(moment.video_id, moment.start_s, moment.end_s): moment.pk for moment in moments}

    def _descriptions_add(self, new: Sequence[tuple[int, DescriptionRecord]], moments: dict[Span, int]) -> None:
        rows = [
            Description(
                corpus=self.corpus,
                moment_id=moments[self.videos[record.video_name].pk, record.start_s, record.end_s],
                source_id=source_id,
                text=record.text,
                kind=record.kind,
            )
            for source_id, record in new
        ]
        descriptions = Description.objects.bulk_create(rows, batch_size=ROWS)
        captions = [
            Caption(moment_id=row.moment_id, description=row, text=row.sentence, provider=Caption.Provider.AS_DESCRIBED)
            for row in descriptions
        ]
        Caption.objects.bulk_create(captions, batch_size=ROWS)

    def _subtitles_add(self, records: Sequence[SubtitleRecord]) -> int:
        """Add the subtitles that their videos do not have; say how many."""
        subtitles = dict.fromkeys((self.videos[r.video_name].pk, r.start_s, r.end_s, r.text) for r in records)
        existing = set(Subtitle.objects.filter(video__in={video for video, *_ in subtitles}).values_list(*SPAN, "text"))
        fresh = [
            Subtitle(video_id=video, start_s=start_s, end_s=end_s, text=text)
            for video, start_s, end_s, text in subtitles
            if (video, start_s, end_s, text) not in existing
        ]
        Subtitle.objects.bulk_create(fresh, batch_size=ROWS)
        return len(fresh)


def _span(record: SpanRecord) -> tuple[str, float, float]:
    return record.video_name, record.start_s, record.end_s


def _content(text: str, *facts: object) -> tuple[object, ...]:
    """Return what a number stands for; blanks around the text do not count, as earlier imports left them out."""
    return text.strip(), *facts


def members_of(corpus_id: int) -> tuple[Member, ...]:
    rows = CastMember.objects.filter(corpus=corpus_id).order_by("pk")
    return tuple(Member(*row) for row in rows.values_list(*COLUMNS))


@transaction.atomic
def cast_import(*, corpus: Corpus, members: Sequence[Member], actor: User | None) -> int:
    """Add members to the corpus, replacing those of the same name; return how many. Captions made before stay."""
    last = {(member.name, member.videos): member for member in members}
    rows = [CastMember(corpus=corpus, **{name: getattr(m, name) for name in COLUMNS}) for m in last.values()]
    CastMember.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["corpus", "name", "videos"],
        update_fields=["gender", "kind", "noun"],
        batch_size=1000,
    )
    audit_record(project=None, actor=actor, action="cast.import", subject=corpus.uuid, names=len(rows))
    return len(rows)


TableRow = TypeVar("TableRow", bound=Model)
CHUNK = 2000


def rows_create(rows: Iterable[TableRow]) -> list[TableRow]:
    """Store new rows of one table of annotation, in the order given.

    Raises:
        TypeError: a row belongs to another package or another table than the first.
        django.db.IntegrityError: a constraint of the table refuses one.
    """
    new_rows = list(rows)
    for row in new_rows:
        if row._meta.app_label != Query._meta.app_label or type(row) is not type(new_rows[0]):
            raise TypeError(f"expected rows of one table of annotation, got a {type(row).__name__}")
    return type(new_rows[0])._default_manager.bulk_create(new_rows, batch_size=CHUNK) if new_rows else []


def row_create(row: TableRow) -> TableRow:
    """Store one new row of annotation, as ``rows_create`` does."""
    return rows_create([row])[0]
