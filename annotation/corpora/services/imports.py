"""Imports through the web: check, confirm, import, each step safe to repeat.

A file is imported in one transaction that also marks it done: a worker that dies leaves nothing, and the sweep sends
the import again.
"""

from collections.abc import Iterator
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from accounts.models import Membership, User
from annotation.corpora.importers import FORMATS, form_of
from annotation.corpora.importers.base import BadLine, Given, ImportFileError, Item, VideoRecord
from annotation.corpora.importers.files import Budget, Limits, read_file
from annotation.corpora.importers.tvr import durations_of
from annotation.corpora.services.corpora import ImportReport, corpus_durations, corpus_import, corpus_lengths
from annotation.models import Corpus, CorpusImport
from core.exceptions import NotPossible
from core.jobs import durable
from core.messages import send_on_commit
from core.uploads import BytesProgress, UploadKind, upload_finish, warnings_writer

PREVIEWED = 10
State = CorpusImport.State
IMPORTS = UploadKind(
    CorpusImport,
    "annotation.tasks.corpus_import_work",
    lock="corpus-import",
    actions=("corpus.upload", "corpus.confirm", "corpus.discard"),
    bad="bad_lines",
    bad_error="The file has bad lines. Repair them and upload it again, or say that they are left out.",
)


def upload_limits() -> Limits:
    """Return the limits of one upload of annotations or judgments."""
    return Limits(
        size=settings.IMPORT_MAX_UNPACKED_MB * 2**20,
        lines=settings.UPLOAD_MAX_LINES,
        ratio=settings.UPLOAD_MAX_RATIO,
        seconds=settings.UPLOAD_MAX_S,
    )


def may_import_into(*, actor: User, corpus_name: str) -> bool:
    """Whether the corpus is new, used by a project that ``actor`` leads or administers, or made by their import."""
    corpus = Corpus.objects.filter(name=corpus_name).first()
    if corpus is None:
        return True
    if corpus.is_placeholder:
        return False
    is_staff = Membership.objects.filter(
        user=actor, roles__overlap=Membership.STAFF, project__dataset__corpus=corpus
    ).exists()
    imports = CorpusImport.objects.filter(owner=actor, corpus_name=corpus_name, state=State.DONE)
    return is_staff or (imports.exists() and not corpus.datasets.exists())


def corpus_import_create(
    *,
    actor: User,
    corpus_name: str,
    format: str,
    file: "UploadedFile[Any]",
    durations: "UploadedFile[Any] | None" = None,
    source_split: str = "",
    clip: bool = False,
) -> CorpusImport:
    """Store a file and wake the task that checks it. Raises NotPossible where the corpus is somebody else's, or another
    file of theirs is still at work."""
    if not may_import_into(actor=actor, corpus_name=corpus_name):
        raise NotPossible("There is a corpus of this name that is not yours. Choose another name.")
    row = CorpusImport(owner=actor, corpus_name=corpus_name, format=format, source_split=source_split, clip=clip)
    row.durations = durations
    return IMPORTS.create(row, file, corpus=corpus_name, format=format)


@durable(IMPORTS.task)
def corpus_import_work(*, import_id: int) -> None:
    """Take the next step of a file that is checked or imported; a repeat finds it done."""
    IMPORTS.step(import_id, check=_check, store=_import)


def _check(row: CorpusImport, warnings: IO[str]) -> None:
    preview: list[dict[str, Any]] = []
    report = _run(row, preview, warnings, dry_run=True)
    if report.moments or report.subtitles:
        upload_finish(row, warnings, state=State.CHECKED, counts=report.counts(), preview=preview)
        return
    error = _hopeless(row, report)
    upload_finish(row, warnings, state=State.FAILED, counts=report.counts(), error=error)


def _hopeless(row: CorpusImport, report: ImportReport) -> str:
    """Why a file that could be read gives nothing."""
    bad = report.bad_lines
    message = f"All {bad:,} lines are bad." if bad > 1 else "Its only line is bad." if bad else "It holds nothing."
    first = f" The first: {report.bad[0]}." if report.bad else ""
    with row.file.open("rb") as source:
        seems = form_of(source, row.file_name)
    other = f" It looks like {FORMATS[seems].label}." if seems and seems != row.format else ""
    return f"Nothing in this file can be imported as {FORMATS[row.format].label}. {message}{first}{other}"


def _import(row: CorpusImport, warnings: IO[str]) -> None:
    report = _run(row, [], warnings, dry_run=False)
    if report.bad_lines and not row.skip_bad:
        raise NotPossible("The corpus has changed since this file was checked, and lines of it are bad now.")
    upload_finish(row, warnings, state=State.DONE, counts=report.counts())
    if report.moments:  # of videos that may be here already
        send_on_commit("annotation.tasks.previews_sweep")


def _run(row: CorpusImport, preview: list[dict[str, Any]], warnings: IO[str], *, dry_run: bool) -> ImportReport:
    if not may_import_into(actor=row.owner, corpus_name=row.corpus_name):
        raise NotPossible("The corpus of this name is not yours any more.")
    form = FORMATS[row.format]
    durations = corpus_durations(corpus_name=row.corpus_name) if form.holds == "subtitles" else _durations(row)
    with row.file.open("rb") as source, BytesProgress(row) as progress:
        options = Given(durations, clip=row.clip, corpus_videos=corpus_lengths(corpus_name=row.corpus_name))
        budget = Budget(upload_limits(), on_bytes=progress.add)
        items = read_file(form, source, row.file_name, options, budget=budget)
        return corpus_import(
            corpus_name=row.corpus_name,
            source_split=row.source_split,
            records=_previewed(items, preview),
            durations=durations,
            skip_bad=row.skip_bad or dry_run,
            dry_run=dry_run,
            actor=row.owner,
            on_warning=warnings_writer(warnings),
        )


def _durations(row: CorpusImport) -> dict[str, tuple[float, int]]:
    if not row.durations:
        return {}
    with row.durations.open("rb") as source:
        try:
            return durations_of(source.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ImportFileError("The file of video lengths is not UTF-8.") from error


def _previewed(items: Iterator[Item], preview: list[dict[str, Any]]) -> Iterator[Item]:
    """The items as they are; the first records are kept to be shown."""
    for item in items:
        if len(preview) < PREVIEWED and not isinstance(item, BadLine | VideoRecord):
            span = {"video": item.video_name, "start": item.start_s, "end": item.end_s}
            preview.append({**span, "text": getattr(item, "text", ""), "notes": list(getattr(item, "notes", ()))})
        yield item


def file_names_forget(*, owner: User) -> None:
    CorpusImport.objects.filter(owner=owner).update(file_name="erased")
