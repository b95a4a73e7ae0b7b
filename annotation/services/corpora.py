"""Importing annotated moments into a corpus."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction

from annotation.exceptions import NotPossible
from annotation.importers.base import BadLine, DescriptionRecord
from annotation.messages import send_on_commit
from annotation.models import Caption, Corpus, Description, Moment, Video
from annotation.services.audit import audit_record
from annotation.services.names import checked_name

VIDEO_SUFFIXES = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v")
CHUNK = 2000


@dataclass
class ImportReport:
    """What an import read and what it added."""

    descriptions: int = 0
    by_kind: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Description.Kind.values, 0))
    moments: int = 0
    videos: int = 0
    added: int = 0
    videos_with_file: int = 0
    bad: list[BadLine] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        return {
            "descriptions": self.descriptions,
            **self.by_kind,
            "moments": self.moments,
            "videos": self.videos,
            "added": self.added,
            "videos_with_file": self.videos_with_file,
            "bad_lines": len(self.bad),
        }


@transaction.atomic
def corpus_import(
    *,
    corpus_name: str,
    source_split: str,
    records: Iterable[DescriptionRecord | BadLine],
    durations: dict[str, tuple[float, int]],
    videos: Path | None = None,
    skip_bad: bool = False,
) -> ImportReport:
    """Add videos, moments, descriptions and captions of an annotation file; what is there already stays.

    The description serves as caption until it is rewritten. With a bad line nothing is written unless
    ``skip_bad``; the report names every bad line either way.
    """
    good, bad = _sort_out(records)
    report = ImportReport(bad=bad)
    if bad and not skip_bad:
        return report
    corpus, _ = Corpus.objects.get_or_create(name=checked_name(corpus_name))
    Corpus.objects.select_for_update().get(pk=corpus.pk)  # one import at a time
    if corpus.is_placeholder:
        raise NotPossible(f"The corpus {corpus_name!r} stands in for historic judgments; name another with --corpus.")
    new, clashes = _new_records(corpus, good)
    report.bad += clashes
    if clashes and not skip_bad:
        transaction.set_rollback(True)
        return report
    refused = {clash.line for clash in clashes}
    good = [record for record in good if record.line not in refused]
    by_name = _videos_add(corpus, good, durations, source_split)
    moments = _moments_add(by_name, good)
    _descriptions_add(corpus, new, moments, by_name)
    report.videos_with_file = _files_add(by_name, videos) if videos else 0
    _count(report, good)
    report.added = len(new)
    if new:
        audit_record(project=None, actor=None, action="corpus.import", subject=corpus.uuid, **report.counts())
    return report


def _sort_out(records: Iterable[DescriptionRecord | BadLine]) -> tuple[list[DescriptionRecord], list[BadLine]]:
    good: list[DescriptionRecord] = []
    bad: list[BadLine] = []
    for record in records:
        if isinstance(record, BadLine):
            bad.append(record)
        else:
            good.append(record)
    return good, bad


def _new_records(corpus: Corpus, records: Sequence[DescriptionRecord]) -> tuple[list[DescriptionRecord], list[BadLine]]:
    """Records the corpus does not hold yet, and those that contradict what it holds under the same id."""
    rows = corpus.descriptions.values_list(
        "source_id", "text", "kind", "moment__video__name", "moment__start_s", "moment__end_s"
    )
    known = {row[0]: row[1:] for row in rows}
    new, clashes = [], []
    for record in records:
        held = known.get(record.source_id)
        if held is None:
            new.append(record)
        elif held != (record.text, record.kind, record.video_name, record.start_s, record.end_s):
            clashes.append(BadLine(record.line, f"desc_id {record.source_id} is in the corpus with other content"))
    return new, clashes


def _videos_add(
    corpus: Corpus, records: Sequence[DescriptionRecord], durations: dict[str, tuple[float, int]], source_split: str
) -> dict[str, Video]:
    names = sorted({record.video_name for record in records})
    known = {video.name: video for video in corpus.videos.all()}
    taken = {video.index for video in known.values()}
    spare = max([*taken, *(index for _, index in durations.values()), -1]) + 1
    fresh = []
    for name in names:
        if name in known:
            continue
        duration_s, index = durations[name]
        if index in taken:
            index, spare = spare, spare + 1
        taken.add(index)
        fresh.append(Video(corpus=corpus, name=name, duration_s=duration_s, index=index, source_split=source_split))
    known |= {video.name: video for video in Video.objects.bulk_create(fresh, batch_size=CHUNK)}
    return {name: known[name] for name in names}


def _moments_add(
    videos: dict[str, Video], records: Sequence[DescriptionRecord]
) -> dict[tuple[int, float, float], Moment]:
    wanted = dict.fromkeys((videos[r.video_name].pk, r.start_s, r.end_s) for r in records)
    rows = [Moment(video_id=video_id, start_s=start, end_s=end) for video_id, start, end in wanted]
    Moment.objects.bulk_create(rows, batch_size=CHUNK, ignore_conflicts=True)
    held = Moment.objects.filter(video__in=[video.pk for video in videos.values()])
    return {(moment.video_id, moment.start_s, moment.end_s): moment for moment in held}


def _descriptions_add(
    corpus: Corpus,
    records: Sequence[DescriptionRecord],
    moments: dict[tuple[int, float, float], Moment],
    videos: dict[str, Video],
) -> None:
    rows = [
        Description(
            corpus=corpus,
            moment=moments[videos[record.video_name].pk, record.start_s, record.end_s],
            source_id=record.source_id,
            text=record.text,
            kind=record.kind,
        )
        for record in records
    ]
    made = Description.objects.bulk_create(rows, batch_size=CHUNK)
    captions = [
        Caption(moment_id=row.moment_id, description=row, text=row.text, provider=Caption.Provider.AS_DESCRIBED)
        for row in made
    ]
    Caption.objects.bulk_create(captions, batch_size=CHUNK)


def _files_add(videos: dict[str, Video], folder: Path) -> int:
    """Store the file of each video the corpus lacks and wake its cutting; moments of videos not found say so."""
    found = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix.lower() in VIDEO_SUFFIXES}
    added = 0
    for name, video in videos.items():
        if video.file and (name not in found or not _is_better(video, found[name])):
            continue
        if name not in found:
            video.moments.filter(preview_state=Moment.Preview.MISSING).update(
                preview_state=Moment.Preview.FAILED, preview_error="The folder of videos holds no file of this name."
            )
            continue
        replaced = video.file.name
        with found[name].open("rb") as source:
            video.file.save(found[name].name, File(source), save=True)
        if replaced:
            transaction.on_commit(partial(default_storage.delete, replaced))
        video.moments.filter(preview_state=Moment.Preview.FAILED).update(
            preview_state=Moment.Preview.MISSING, preview_error=""
        )
        added += 1
    if added:
        send_on_commit("annotation.tasks.previews_sweep")
    return added


def _is_better(video: Video, path: Path) -> bool:
    """Whether a file may replace the stored one: something could not be cut from that, and this is another."""
    failed = video.moments.filter(preview_state=Moment.Preview.FAILED).exists()
    return failed and path.stat().st_size != video.file.size


def _count(report: ImportReport, records: Sequence[DescriptionRecord]) -> None:
    report.descriptions = len(records)
    for record in records:
        report.by_kind[record.kind] += 1
    report.moments = len({(record.video_name, record.start_s, record.end_s) for record in records})
    report.videos = len({record.video_name for record in records})
