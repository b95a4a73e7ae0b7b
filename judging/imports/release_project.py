"""The project of a release: videos, moments and captions, versions, query sets, similarities, pools, words."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import Project
from annotation.corpora.services.corpora import row_create, rows_create
from annotation.models import (
    Caption,
    Corpus,
    Description,
    Moment,
    NamedQuerySet,
    Pooling,
    PoolSource,
    PoolSpan,
    Query,
    Video,
)
from annotation.pools.services.candidates import measure_named
from core.exceptions import ImportRefused, NotPossible
from core.texts import checked_name
from judging.guidelines.models import POLICY_VALUES, PUBLISHED
from judging.models import WORDS, Batch, Guideline, GuidelineExample, Pair, Policy, ReleaseWords
from judging.qualification.rules.passing import ANY_LEVELS, ANY_LOW
from judging.releases.layout import MOMENTS, SETTINGS, VIDEOS, guideline_file
from judging.releases.reading import BadLines, Cells, objects, rows

CHUNK = 2000
NOT_CUT = "It could not be cut where it was released."
Span = tuple[str, float, float]
Ranked = tuple[int, int]  # a query's number, a rank or the number of a batch
T = TypeVar("T")


class MomentLine(NamedTuple):
    """A line of the file of moments."""

    span: Span
    is_not_cut: bool
    captions: list[dict[str, Any]]
    is_of_a_pool: bool  # made of a span that a run returned
    pool: int | None  # the number of its pool, where the release holds it


@dataclass
class ReleaseIntake:
    """A release on its way in: its files, their bad lines, and what was stored of it, by what the files call it."""

    project: Project
    folder: Path
    bad: BadLines = field(default_factory=BadLines)
    videos: dict[str, int] = field(default_factory=dict)
    moments: dict[Span, int] = field(default_factory=dict)
    pool_moments: list[tuple[Moment, int | None]] = field(default_factory=list)  # made by pools, with their numbers
    captions: dict[int, int] = field(default_factory=dict)  # by the description's number
    wordings: dict[int, dict[int, str]] = field(default_factory=dict)  # captions of a moment, by its key
    guidelines: dict[int, int] = field(default_factory=dict)
    policies: dict[int, int] = field(default_factory=dict)
    query_sets: dict[str, NamedQuerySet] = field(default_factory=dict)
    measures: dict[int, int] = field(default_factory=dict)
    pools: dict[int, int] = field(default_factory=dict)
    sources: dict[tuple[int, str], int] = field(default_factory=dict)  # by pool and name
    queries: dict[int, Query] = field(default_factory=dict)
    candidates: dict[Ranked, int] = field(default_factory=dict)
    batches: dict[Ranked, Batch] = field(default_factory=dict)
    pairs: dict[int, Pair] = field(default_factory=dict)

    def read(self, name: str, line: Callable[[Cells], T]) -> list[T]:
        """Return every line of a CSV file as ``line`` makes of it; raises ImportRefused where one is bad."""
        values = list(rows(self.folder, name, line, self.bad))
        self.bad.refuse()
        return values

    def span(self, cells: Cells) -> Span:
        return cells.text("video_name"), cells.real("start"), cells.real("end")


def corpus_store(intake: ReleaseIntake) -> None:
    corpus = intake.project.dataset.corpus

    def video(cells: Cells) -> Video:
        index, duration_s = cells.number("index", most=2**31 - 1), cells.real("duration")
        row = Video(corpus=corpus, name=cells.text("video_name"), index=index, duration_s=duration_s)
        row.source_split = cells.text("source_split")
        return row

    for videos in _some(rows(intake.folder, VIDEOS, video, intake.bad)):
        intake.videos |= {row.name: row.pk for row in rows_create(videos)}
    for lines in _some(objects(intake.folder, MOMENTS, partial(_moment, intake), intake.bad)):
        _moments_store(corpus, lines, intake)
    intake.bad.refuse()


def _some(source: Iterator[Any]) -> Iterator[list[Any]]:
    while some := list(islice(source, CHUNK)):
        yield some


def _moment(intake: ReleaseIntake, line: dict[str, Any]) -> MomentLine:
    span = (str(line["video_name"]), float(line["start"]), float(line["end"]))
    if span[0] not in intake.videos:
        raise ValueError(f"video {span[0][:60]!r} is not known")
    if not 0 <= span[1] < span[2] < math.inf:
        raise ValueError("a moment starts before it ends")
    for caption in line["captions"]:
        if not (isinstance(caption["id"], int) and caption["text"] and isinstance(caption["text"], str)):
            raise ValueError("a caption has a number and says something")
        Description.Kind(caption["kind"])
        Caption.Provider(caption["provider"])
    pool = line.get("pool")
    if pool is not None and type(pool) is not int:
        raise ValueError(f"pool is {str(pool)[:40]!r}, no number of a pool")
    return MomentLine(span, bool(line.get("not_cut")), line["captions"], "pool" in line, pool)


def _moments_store(corpus: Corpus, lines: list[MomentLine], intake: ReleaseIntake) -> None:
    moments = rows_create(
        Moment(
            video_id=intake.videos[video],
            start_s=start_s,
            end_s=end_s,
            preview_state=Moment.Preview.FAILED if not_cut else Moment.Preview.MISSING,
            preview_error=NOT_CUT if not_cut else "",
        )
        for (video, start_s, end_s), not_cut, *_ in lines
    )
    intake.moments |= {span: moment.pk for (span, *_), moment in zip(lines, moments, strict=True)}
    intake.pool_moments += [
        (moment, line.pool) for line, moment in zip(lines, moments, strict=True) if line.is_of_a_pool
    ]
    moment_captions = [
        (moment, caption) for line, moment in zip(lines, moments, strict=True) for caption in line.captions
    ]
    descriptions = rows_create(
        Description(corpus=corpus, moment=moment, source_id=caption["id"], text=caption["text"], kind=caption["kind"])
        for moment, caption in moment_captions
    )
    captions = rows_create(
        Caption(
            moment=moment,
            description=description,
            text=caption["text"],
            provider=caption["provider"],
            model=str(caption["model"]),
        )
        for (moment, caption), description in zip(moment_captions, descriptions, strict=True)
    )
    for (moment, caption), row in zip(moment_captions, captions, strict=True):
        intake.captions[caption["id"]] = row.pk
        intake.wordings.setdefault(moment.pk, {})[row.pk] = row.text


def rules_store(intake: ReleaseIntake, settings: dict[str, Any]) -> None:
    project = intake.project
    for record in settings["policies"]:
        intake.policies[record["version"]] = _policy(project, record).pk
    for record in settings["guidelines"]:
        intake.guidelines[record["version"]] = _guideline(intake, record).pk
    for record in settings["query_sets"]:
        values = {name: record[name] for name in ("priority", "is_paused", "is_pilot")}
        name = name_from_file("query set", record["name"])
        intake.query_sets[record["name"]] = row_create(NamedQuerySet(project=project, name=name, **values))
    for record in settings["similarities"]:
        measure_key = {name: record[name] for name in ("name", "model", "version", "normalisation")}
        intake.measures[record["number"]] = measure_named(**measure_key).pk
    for record in settings["pools"]:
        _pool(intake, record)
    if unknown := [pool for _, pool in intake.pool_moments if pool is not None and pool not in intake.pools]:
        raise ImportRefused(f"{MOMENTS}: pool {unknown[0]} of a moment is not in {SETTINGS}.")
    rows_create(
        PoolSpan(
            pooling_id=None if pool is None else intake.pools[pool],
            **{name: getattr(moment, name) for name in ("video_id", "start_s", "end_s")},
            moment=moment,
            is_new=True,
        )
        for moment, pool in intake.pool_moments
    )
    words = {name: str(settings["words"].get(name, "")) for name in WORDS}
    if any(words.values()):
        row = ReleaseWords(project=project, **words)
        try:
            row.clean_fields(exclude=["project", "edited_by"])
        except ValidationError as error:
            raise ImportRefused(f"{SETTINGS}: words: {'; '.join(error.messages)}") from error
        row.save()


AMOUNTS = {"pay_rate", "query_price", "check_price"}


def name_from_file(of: str, name: str) -> str:
    """A name that the file gives; raises ImportRefused."""
    try:
        return checked_name(name)
    except NotPossible as error:
        raise ImportRefused(f"{SETTINGS}: {of}: {error}") from error


def _policy(project: Project, record: dict[str, Any]) -> Policy:
    """A version as it was; what this release did not know yet has its default, and a pass rule asks for no more."""
    published = {name: PUBLISHED.get(name, name) for name in POLICY_VALUES}
    asks_nothing = {"exam_kappa_low": ANY_LOW, "exam_bias": project.top_grade, "exam_levels": ANY_LEVELS}
    values = {**asks_nothing, **{name: record[of] for name, of in published.items() if of in record}}
    for name in AMOUNTS & values.keys():
        values[name] = Decimal(values[name])
    row = Policy(project=project, version=record["version"], **values)
    try:
        row.full_clean(exclude=["project", "created_by"])
    except ValidationError as error:
        raise ImportRefused(f"{SETTINGS}: policy {record['version']}: {'; '.join(error.messages)}") from error
    row.save()
    return row


def _guideline(intake: ReleaseIntake, record: dict[str, Any]) -> Guideline:
    path = intake.folder / guideline_file(int(record["version"]))
    if not path.is_file():
        raise ImportRefused(f"{path.name} is not in it.")
    levels = record["levels"]
    is_list = isinstance(levels, list) and len(levels) == intake.project.top_grade + 1
    if not (is_list and all(isinstance(level, str) for level in levels)):
        raise ImportRefused(f"{SETTINGS}: guideline {record['version']}: there is a line in words for each grade.")
    with path.open(newline="", encoding="utf-8") as file:
        body = file.read()
    values = {name: record[name] for name in ("version", "levels", "changes")}
    row = Guideline.objects.create(project=intake.project, body=body, **values)
    GuidelineExample.objects.bulk_create(
        GuidelineExample(
            guideline=row,
            grade=example["grade"],
            query_text=example["query"],
            moment_id=intake.moments[example["video_name"], example["start"], example["end"]],
        )
        for example in record["examples"]
    )
    return row


def _pool(intake: ReleaseIntake, record: dict[str, Any]) -> None:
    query_set = intake.query_sets[record["query_set"]] if record["query_set"] else None
    values = {name: record[name] for name in ("depth", "iou_min", "split", "seed", "others")}
    values["makes_moments"] = bool(record.get("makes_moments"))
    state: dict[str, Any] = {"state": Pooling.State.DONE, "opened_at": timezone.now()}
    row = row_create(Pooling(project=intake.project, query_set=query_set, **state, **values))
    intake.pools[record["number"]] = row.pk
    for source in record["sources"]:
        other = source["other_queries"]
        pool_source = row_create(PoolSource(pooling=row, name=source["name"], other_queries=other))
        intake.sources[record["number"], pool_source.name] = pool_source.pk
