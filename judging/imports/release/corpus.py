"""Videos, moments and the captions that serve, as a release tells them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from annotation.models import Caption, Corpus, Description, Moment, Video
from judging.releases.layout import MOMENTS, VIDEOS
from judging.releases.reading import BadLines, Cells, objects, rows

CHUNK = 2000
NOT_CUT = "It could not be cut where it was released."
Span = tuple[str, float, float]


@dataclass
class Held:
    """Keys of what was stored, by what files call it."""

    videos: dict[str, int] = field(default_factory=dict)
    moments: dict[Span, int] = field(default_factory=dict)
    captions: dict[int, int] = field(default_factory=dict)  # by the description's number
    wordings: dict[int, dict[int, str]] = field(default_factory=dict)  # captions of a moment, by its key


def corpus_store(corpus: Corpus, folder: Path, bad: BadLines) -> Held:
    held = Held()
    for some in _some(rows(folder, VIDEOS, _video, bad)):
        made = Video.objects.bulk_create(Video(corpus=corpus, **values) for values in some)
        held.videos |= {video.name: video.pk for video in made}
    for lines in _some(objects(folder, MOMENTS, lambda line: _moment(line, held), bad)):
        _moments_store(corpus, lines, held)
    return held


def _some(source: Iterator[Any]) -> Iterator[list[Any]]:
    while some := list(islice(source, CHUNK)):
        yield some


def _video(cells: Cells) -> dict[str, Any]:
    return {
        "name": cells.text("video_name"),
        "index": cells.number("index", most=2**31 - 1),
        "duration_s": cells.real("duration"),
        "source_split": cells.text("source_split"),
    }


def _moment(line: dict[str, Any], held: Held) -> tuple[Span, bool, list[dict[str, Any]]]:
    span = (str(line["video_name"]), float(line["start"]), float(line["end"]))
    if span[0] not in held.videos:
        raise ValueError(f"video {span[0][:60]!r} is not known")
    if not 0 <= span[1] < span[2] < math.inf:
        raise ValueError("a moment starts before it ends")
    for caption in line["captions"]:
        if not (isinstance(caption["id"], int) and caption["text"] and isinstance(caption["text"], str)):
            raise ValueError("a caption has a number and says something")
        Description.Kind(caption["kind"])
        Caption.Provider(caption["provider"])
    return span, bool(line.get("not_cut")), line["captions"]


def _moments_store(corpus: Corpus, lines: list[tuple[Span, bool, list[dict[str, Any]]]], held: Held) -> None:
    made = Moment.objects.bulk_create(
        Moment(
            video_id=held.videos[video],
            start_s=start_s,
            end_s=end_s,
            preview_state=Moment.Preview.FAILED if not_cut else Moment.Preview.MISSING,
            preview_error=NOT_CUT if not_cut else "",
        )
        for (video, start_s, end_s), not_cut, _ in lines
    )
    held.moments |= {span: moment.pk for (span, *_), moment in zip(lines, made, strict=True)}
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
        held.captions[caption["id"]] = row.pk
        held.wordings.setdefault(moment.pk, {})[row.pk] = row.text
