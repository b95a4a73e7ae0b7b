"""Topics: imported from a file as a whole, written one by one, and changed by a new version."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Max

from accounts.models import Project, User
from annotation.corpora.importers.base import BadLine
from annotation.corpora.importers.files import Budget
from annotation.corpora.services.imports import upload_limits
from annotation.models import Query, Topic, TopicImport, TopicVersion
from annotation.queries.rules import JUDGED
from annotation.queries.services import LONGEST_NAME, query_set_create
from annotation.topics.files import FIELDS, LABELS, LARGEST_FILE, Item, TopicRecord, read_topics, record_of, texts_of
from annotation.topics.selectors import is_ranked, may_import_topics, version_in_force, versions_by_number
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import durable
from core.texts import checked_name
from core.uploads import BytesProgress, LineWarning, OnWarning, UploadKind, upload_finish, warnings_writer

logger = logging.getLogger(__name__)
State = TopicImport.State
PREVIEWED = 5
CHUNK = 2000
IMPORTS = UploadKind(
    TopicImport,
    "annotation.tasks.topic_import_work",
    lock="topic-import",
    actions=("topics.upload", "topics.confirm", "topics.discard"),
    bad="bad_lines",
    bad_error="Some lines are bad. Repair the file, or say that they are left out.",
)
TITLE_STAYS = (
    "The title of topic {} stays {!r}: moments were ranked by it, and may have been judged for it. Change its"
    " description or narrative, or write another topic."
)


@dataclass
class TopicReport:
    """List what an import of topics did, or would do."""

    new: list[TopicRecord] = field(default_factory=list)
    changed: list[TopicRecord] = field(default_factory=list)  # get a new version
    unchanged: int = 0
    bad: list[BadLine] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        return {
            "topics": len(self.new) + len(self.changed) + self.unchanged,
            "new": len(self.new),
            "changed": len(self.changed),
            "unchanged": self.unchanged,
            "bad_lines": len(self.bad),
        }


@transaction.atomic
def topics_import(
    *,
    project: Project,
    items: Iterable[Item],
    split: str,
    query_set: str = "",
    actor: User | None = None,
    skip_bad: bool = False,
    dry_run: bool = False,
) -> TopicReport:
    """Store the topics of a file: each new one becomes a query, one that is there gets a new version where it differs.

    Nothing is written where a line is bad, unless ``skip_bad``.

    Args:
        items: what ``read_topics`` gives.
        split: val or test, of the new queries.
        query_set: the set that they go to; the split's name by default.

    Raises:
        NotPossible: the split is not judged, or the name of the set cannot be.
    """
    _check_split(split)
    name = _set_name(query_set or split)
    Project.objects.select_for_update().get(pk=project.pk)
    report = _compared(project, items)
    if dry_run or (report.bad and not skip_bad):
        return report
    _store(project, report.new, split=split, query_set=name, actor=actor)
    current = versions_by_number(project)
    for record in report.changed:
        _version_add(current[record.number], record._asdict(), actor)
    if report.new or report.changed:
        facts = {"new": len(report.new), "changed": len(report.changed), "split": split}
        audit_record(project=project, actor=actor, action="topics.import", subject=project.uuid, **facts)
    logger.info("project %s: topics imported: %s", project.pk, report.counts())
    return report


def _check_split(split: str) -> None:
    if split not in JUDGED:
        raise NotPossible(f"Topics are judged: their split is {' or '.join(JUDGED)}, not {split!r}.")


def _set_name(name: str) -> str:
    name = checked_name(name)
    if len(name) > LONGEST_NAME:
        raise NotPossible(f"The name of a query set has at most {LONGEST_NAME} characters.")
    return name


def _compared(project: Project, items: Iterable[Item]) -> TopicReport:
    """Say which topics are new, which differ from those there, and what is wrong with the others."""
    report, current = TopicReport(), versions_by_number(project)
    text_of = dict(project.queries.values_list("number", "text"))
    queries = {text: number for number, text in text_of.items()}
    numbers: dict[int, int] = {}
    titles: dict[str, int] = {}
    for item in items:
        if isinstance(item, BadLine):
            report.bad.append(item)
            continue
        there = current.get(item.number)
        if item.number in numbers:
            reason = f"topic {item.number} stands on line {numbers[item.number]} already"
        elif item.title in titles:
            reason = f"the title of topic {item.number} is that of the topic on line {titles[item.title]}"
        elif there is None and item.number in text_of:
            reason = f"number {item.number} is that of a query of this project, which is no topic"
        elif there is not None and there.title != item.title:
            reason = f"topic {item.number} is {there.title[:80]!r} in this project; a file does not change titles"
        elif there is None and item.title in queries:
            reason = f"the title of topic {item.number} is the text of query {queries[item.title]} of this project"
        else:
            reason = ""
        numbers.setdefault(item.number, item.line)
        titles.setdefault(item.title, item.line)
        if reason:
            report.bad.append(BadLine(item.line, reason))
        elif there is None:
            report.new.append(item)
        elif (there.description, there.narrative) != (item.description, item.narrative):
            report.changed.append(item)
        else:
            report.unchanged += 1
    report.bad.sort(key=lambda bad: bad.line)
    return report


def _store(
    project: Project, records: Sequence[TopicRecord], *, split: str, query_set: str, actor: User | None
) -> list[Topic]:
    """Store new topics with their queries, which go to the set of this name. The project is locked."""
    if not records:
        return []
    rows = [Query(project=project, number=record.number, text=record.title, split=split) for record in records]
    queries = Query.objects.bulk_create(rows, batch_size=CHUNK)
    topics = Topic.objects.bulk_create([Topic(query=query) for query in queries], batch_size=CHUNK)
    TopicVersion.objects.bulk_create(
        [
            TopicVersion(topic=topic, version=1, created_by=actor, **_texts(record._asdict()))
            for topic, record in zip(topics, records, strict=True)
        ],
        batch_size=CHUNK,
    )
    new = project.queries.filter(pk__in=[query.pk for query in queries])
    query_set_create(project=project, name=query_set, queries=new, actor=actor)
    return topics


def _texts(values: dict[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in FIELDS[1:]}


def _version_add(last: TopicVersion, values: dict[str, Any], actor: User | None) -> TopicVersion:
    number = last.version + 1
    return TopicVersion.objects.create(topic=last.topic, version=number, created_by=actor, **_texts(values))


@transaction.atomic
def topic_create(
    *,
    project: Project,
    title: str,
    description: str = "",
    narrative: str = "",
    number: int | None = None,
    split: str = Query.Split.TEST,
    query_set: str = "",
    actor: User | None = None,
) -> Topic:
    """Write one topic, by default under the number behind the largest of the project. Raises NotPossible where number
    or title is that of another query, or one of the texts cannot be."""
    _check_split(split)
    Project.objects.select_for_update().get(pk=project.pk)
    if number is None:
        number = (project.queries.aggregate(last=Max("number"))["last"] or 0) + 1
    values = {"number": number, "title": title, "description": description, "narrative": narrative}
    try:
        record = record_of(1, values)
    except ValueError as error:
        raise NotPossible(f"This topic cannot be stored: {error}.") from error
    if project.queries.filter(number=record.number).exists():
        raise NotPossible(f"There is a query with the number {record.number} already. Choose another number.")
    _check_title(project, record.title)
    [topic] = _store(project, [record], split=split, query_set=_set_name(query_set or split), actor=actor)
    audit_record(project=project, actor=actor, action="topic.create", subject=topic.uuid, number=record.number)
    return topic


def _check_title(project: Project, title: str) -> None:
    if other := project.queries.filter(text=title).first():
        raise NotPossible(f"The title is the text of query {other.number}; word it otherwise.")


@transaction.atomic
def topic_change(
    *,
    topic: Topic,
    title: str,
    description: str,
    narrative: str,
    actor: User | None = None,
    seen_version: int | None = None,
) -> TopicVersion:
    """Put a new version of the topic in force; where nothing differs the last one stays.

    Whoever has an assignment open goes on seeing the version that it began with.

    Args:
        seen_version: the one that whoever decides has looked at.

    Raises:
        NotPossible: there is a newer version than the one seen, the title differs and moments were ranked by it, it is
            the text of another query, or one of the texts cannot be.
    """
    project = Project.objects.select_for_update().get(pk=topic.query.project_id)  # as whoever stores candidates
    query = Query.objects.select_for_update().get(pk=topic.query_id)
    last = version_in_force(topic)
    if seen_version not in (None, last.version):
        raise NotPossible(f"Version {last.version} of topic {query.number} was saved meanwhile; look at it first.")
    try:
        texts = texts_of({"title": title, "description": description, "narrative": narrative})
    except ValueError as error:
        raise NotPossible(f"Topic {query.number} cannot be changed so: {error}.") from error
    if texts == _texts(vars(last)):
        return last
    if texts["title"] != last.title:
        if is_ranked(topic):
            raise NotPossible(TITLE_STAYS.format(query.number, last.title[:80]))
        _check_title(project, texts["title"])
        query.text = texts["title"]
        query.save(update_fields=["text"])
    version = _version_add(last, texts, actor)
    facts = {"number": query.number, "version": version.version}
    audit_record(project=project, actor=actor, action="topic.change", subject=topic.uuid, **facts)
    return version


def topic_import_create(
    *, actor: User, project: Project, format: str, split: str, query_set: str, file: "UploadedFile[Any]"
) -> TopicImport:
    """Store a file and wake the task that checks it. Raises NotPossible where another file of theirs is at work."""
    row = TopicImport(owner=actor, project=project, format=format, split=split, query_set=query_set)
    return IMPORTS.create(row, file, name=project.name, format=format)


@durable(IMPORTS.task)
def topic_import_work(*, import_id: int) -> None:
    """Take the next step of a file that is checked or imported; a repeat finds it done."""
    IMPORTS.step(import_id, check=_check, store=_import)


def _check(row: TopicImport, warnings: IO[str]) -> None:
    preview: list[dict[str, Any]] = []
    report = _run(row, warnings, preview, dry_run=True)
    if report.counts()["topics"]:
        upload_finish(row, warnings, state=State.CHECKED, counts=report.counts(), preview=preview)
        return
    first = f" The first bad line: {report.bad[0]}." if report.bad else " It holds nothing."
    error = f"Nothing in this file can be imported as {LABELS[row.format]}.{first}"
    upload_finish(row, warnings, state=State.FAILED, counts=report.counts(), error=error)


def _import(row: TopicImport, warnings: IO[str]) -> None:
    report = _run(row, warnings, [], dry_run=False)
    if report.bad and not row.skip_bad:
        raise NotPossible(
            f"The project has changed since this file was checked, and lines of it are bad now: {report.bad[0]}."
        )
    upload_finish(row, warnings, state=State.DONE, counts=report.counts())


def _run(row: TopicImport, warnings: IO[str], preview: list[dict[str, Any]], *, dry_run: bool) -> TopicReport:
    if not may_import_topics(actor=row.owner, project=row.project):
        raise NotPossible("You are no lead or admin of this project any more.")
    with row.file.open("rb") as source, BytesProgress(row) as progress:
        limits = upload_limits()
        limits = type(limits)(min(limits.size, LARGEST_FILE), limits.lines, limits.ratio, limits.seconds)
        items = read_topics(row.format, source, budget=Budget(limits, on_bytes=progress.add))
        report = topics_import(
            project=row.project,
            items=_previewed(items, preview),
            split=row.split,
            query_set=row.query_set,
            actor=row.owner,
            skip_bad=row.skip_bad,
            dry_run=dry_run,
        )
    _report_bad(report, warnings_writer(warnings))
    return report


def _report_bad(report: TopicReport, on_warning: OnWarning) -> None:
    for bad in report.bad:
        on_warning(LineWarning("", bad.line, "", "refused", bad.reason))


def _previewed(items: Iterable[Item], preview: list[dict[str, Any]]) -> Iterator[Item]:
    """Yield the items as they are; the first topics are kept to be shown."""
    for item in items:
        if isinstance(item, TopicRecord) and len(preview) < PREVIEWED:
            preview.append(item._asdict())
        yield item


def topic_file_names_forget(*, owner: User) -> None:
    TopicImport.objects.filter(owner=owner).update(file_name="erased")
