"""The project of a release: videos, moments and captions, versions, query sets, similarities, pools, words."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import Project
from annotation.models import Caption, Corpus, Description, Measure, Moment, NamedQuerySet, Pooling, PoolSource, Video
from core.exceptions import ImportRefused, NotPossible
from core.texts import checked_name
from judging.guidelines.models import POLICY_VALUES
from judging.models import WORDS, Guideline, GuidelineExample, Policy, ReleaseWords
from judging.qualification.rules.passing import ANY_BIAS, ANY_LEVELS, ANY_LOW
from judging.releases.layout import MOMENTS, SETTINGS, VIDEOS, guideline_file
from judging.releases.reading import BadLines, Cells, objects, rows
from judging.work.rules import GRADES

CHUNK = 2000
NOT_CUT = "It could not be cut where it was released."
Span = tuple[str, float, float]
MomentLine = tuple[Span, bool, list[dict[str, Any]]]  # whether it could not be cut, and its captions


@dataclass
class CorpusKeys:
    """Keys of what was stored, by what files call it."""

    videos: dict[str, int] = field(default_factory=dict)
    moments: dict[Span, int] = field(default_factory=dict)
    captions: dict[int, int] = field(default_factory=dict)  # by the description's number
    wordings: dict[int, dict[int, str]] = field(default_factory=dict)  # captions of a moment, by its key


def corpus_store(corpus: Corpus, folder: Path, bad: BadLines) -> CorpusKeys:
    corpus_keys = CorpusKeys()

    def video(cells: Cells) -> Video:
        index, duration_s = cells.number("index", most=2**31 - 1), cells.real("duration")
        row = Video(corpus=corpus, name=cells.text("video_name"), index=index, duration_s=duration_s)
        row.source_split = cells.text("source_split")
        return row

    for videos in _some(rows(folder, VIDEOS, video, bad)):
        corpus_keys.videos |= {row.name: row.pk for row in Video.objects.bulk_create(videos)}
    for lines in _some(objects(folder, MOMENTS, lambda line: _moment(line, corpus_keys), bad)):
        _moments_store(corpus, lines, corpus_keys)
    return corpus_keys


def _some(source: Iterator[Any]) -> Iterator[list[Any]]:
    while some := list(islice(source, CHUNK)):
        yield some


def _moment(line: dict[str, Any], corpus_keys: CorpusKeys) -> MomentLine:
    span = (str(line["video_name"]), float(line["start"]), float(line["end"]))
    if span[0] not in corpus_keys.videos:
        raise ValueError(f"video {span[0][:60]!r} is not known")
    if not 0 <= span[1] < span[2] < math.inf:
        raise ValueError("a moment starts before it ends")
    for caption in line["captions"]:
        if not (isinstance(caption["id"], int) and caption["text"] and isinstance(caption["text"], str)):
            raise ValueError("a caption has a number and says something")
        Description.Kind(caption["kind"])
        Caption.Provider(caption["provider"])
    return span, bool(line.get("not_cut")), line["captions"]


def _moments_store(corpus: Corpus, lines: list[MomentLine], corpus_keys: CorpusKeys) -> None:
    made = Moment.objects.bulk_create(
        Moment(
            video_id=corpus_keys.videos[video],
            start_s=start_s,
            end_s=end_s,
            preview_state=Moment.Preview.FAILED if not_cut else Moment.Preview.MISSING,
            preview_error=NOT_CUT if not_cut else "",
        )
        for (video, start_s, end_s), not_cut, _ in lines
    )
    corpus_keys.moments |= {span: moment.pk for (span, *_), moment in zip(lines, made, strict=True)}
    told = [(moment, caption) for (*_, own), moment in zip(lines, made, strict=True) for caption in own]
    descriptions = Description.objects.bulk_create(
        Description(corpus=corpus, moment=moment, source_id=caption["id"], text=caption["text"], kind=caption["kind"])
        for moment, caption in told
    )
    captions = Caption.objects.bulk_create(
        Caption(
            moment=moment,
            description=description,
            text=caption["text"],
            provider=caption["provider"],
            model=str(caption["model"]),
        )
        for (moment, caption), description in zip(told, descriptions, strict=True)
    )
    for (moment, caption), row in zip(told, captions, strict=True):
        corpus_keys.captions[caption["id"]] = row.pk
        corpus_keys.wordings.setdefault(moment.pk, {})[row.pk] = row.text


ASKED_NOTHING = {"exam_kappa_low": ANY_LOW, "exam_bias": ANY_BIAS, "exam_levels": ANY_LEVELS}


@dataclass
class ProjectKeys:
    """Keys of what was stored, by the number or name it has in files."""

    guidelines: dict[int, int] = field(default_factory=dict)
    policies: dict[int, int] = field(default_factory=dict)
    query_sets: dict[str, NamedQuerySet] = field(default_factory=dict)
    measures: dict[int, int] = field(default_factory=dict)
    pools: dict[int, int] = field(default_factory=dict)
    sources: dict[tuple[int, str], int] = field(default_factory=dict)  # by pool and name


def rules_store(project: Project, folder: Path, settings: dict[str, Any], corpus_keys: CorpusKeys) -> ProjectKeys:
    keys = ProjectKeys()
    for told in settings["policies"]:
        keys.policies[told["version"]] = _policy(project, told).pk
    for told in settings["guidelines"]:
        keys.guidelines[told["version"]] = _guideline(project, folder, told, corpus_keys).pk
    for told in settings["query_sets"]:
        values = {name: told[name] for name in ("priority", "is_paused", "is_pilot")}
        name = name_told("query set", told["name"])
        keys.query_sets[told["name"]] = NamedQuerySet.objects.create(project=project, name=name, **values)
    for told in settings["similarities"]:
        named = {name: told[name] for name in ("name", "model", "version", "normalisation")}
        keys.measures[told["number"]] = Measure.objects.get_or_create(**named)[0].pk
    for told in settings["pools"]:
        _pool(project, told, keys)
    words = {name: str(settings["words"].get(name, "")) for name in WORDS}
    if any(words.values()):
        row = ReleaseWords(project=project, **words)
        try:
            row.clean_fields(exclude=["project", "edited_by"])
        except ValidationError as error:
            raise ImportRefused(f"{SETTINGS}: words: {'; '.join(error.messages)}") from error
        row.save()
    return keys


def name_told(of: str, name: str) -> str:
    """A name that the file gives; raises ImportRefused."""
    try:
        return checked_name(name)
    except NotPossible as error:
        raise ImportRefused(f"{SETTINGS}: {of}: {error}") from error


def _policy(project: Project, told: dict[str, Any]) -> Policy:
    """A version as it was; what this release did not know yet has its default, and a pass rule asks for no more."""
    values = {**ASKED_NOTHING, **{name: told[name] for name in POLICY_VALUES if name in told}}
    values["pay_rate"] = Decimal(values["pay_rate"])
    row = Policy(project=project, version=told["version"], **values)
    try:
        row.full_clean(exclude=["project", "created_by"])
    except ValidationError as error:
        raise ImportRefused(f"{SETTINGS}: policy {told['version']}: {'; '.join(error.messages)}") from error
    row.save()
    return row


def _guideline(project: Project, folder: Path, told: dict[str, Any], corpus_keys: CorpusKeys) -> Guideline:
    path = folder / guideline_file(int(told["version"]))
    if not path.is_file():
        raise ImportRefused(f"{path.name} is not in it.")
    levels = told["levels"]
    if not isinstance(levels, list) or len(levels) != len(GRADES) or not all(isinstance(said, str) for said in levels):
        raise ImportRefused(f"{SETTINGS}: guideline {told['version']}: there are five levels, each said in words.")
    with path.open(newline="", encoding="utf-8") as file:
        body = file.read()
    row = Guideline.objects.create(
        project=project, version=told["version"], body=body, levels=levels, changes=told["changes"]
    )
    GuidelineExample.objects.bulk_create(
        GuidelineExample(
            guideline=row,
            grade=example["grade"],
            query_text=example["query"],
            moment_id=corpus_keys.moments[example["video_name"], example["start"], example["end"]],
        )
        for example in told["examples"]
    )
    return row


def _pool(project: Project, told: dict[str, Any], keys: ProjectKeys) -> None:
    row = Pooling.objects.create(
        project=project,
        query_set=keys.query_sets[told["query_set"]] if told["query_set"] else None,
        state=Pooling.State.DONE,
        opened_at=timezone.now(),
        **{name: told[name] for name in ("depth", "iou_min", "split", "seed", "others")},
    )
    keys.pools[told["number"]] = row.pk
    for source in told["sources"]:
        made = PoolSource.objects.create(pooling=row, name=source["name"], other_queries=source["other_queries"])
        keys.sources[told["number"], made.name] = made.pk
