"""Writes TVR's descriptions, TVC's moments, the table of video lengths, and the subtitles of TVQA.

Keys, their order, numbers and the order of lines are those of the files published with TVR and TVC (Lei et al., ECCV
2020): descriptions and moments stand in the order of their import, which the published files do not sort by anything.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from annotation.corpora.exporters.base import Selection, json_line, seconds
from annotation.corpora.importers.tvr import KINDS
from annotation.models import Description, Moment, PoolSpan, Subtitle, Video

CHUNK = 2000  # rows in memory
TYPES: dict[str, str] = {kind: letters for letters, kind in KINDS.items()}


def descriptions(selection: Selection) -> QuerySet[Description]:
    return Description.objects.filter(**selection.of_videos("moment__video__"))


def description_lines(selection: Selection) -> Iterator[str]:
    """Yield a line for each description, as in ``tvr_val_release.jsonl``."""
    fields = ("moment__video__name", "moment__video__duration_s", "moment__start_s", "moment__end_s")
    rows = descriptions(selection).order_by("pk").values_list(*fields, "text", "kind", "source_id")
    for name, duration_s, start_s, end_s, text, kind, source_id in rows.iterator(chunk_size=CHUNK):
        span = {"vid_name": name, "duration": duration_s, "ts": [seconds(start_s), seconds(end_s)]}
        yield json_line(span | {"desc": text, "type": TYPES[kind], "desc_id": source_id})


OF_A_PROGRAM = Q(proposal__isnull=False) | Exists(PoolSpan.objects.filter(moment=OuterRef("pk"), is_new=True))


def bare_moments(selection: Selection) -> QuerySet[Moment]:
    """Return the moments that nobody has described, whoever made them."""
    is_described = Exists(Description.objects.filter(moment=OuterRef("pk")))
    return Moment.objects.filter(~is_described, **selection.of_videos("video__"))


def unmarked_moments(selection: Selection) -> QuerySet[Moment]:
    """Return the moments of proposals and pools that nobody has described."""
    return bare_moments(selection).filter(OF_A_PROGRAM)


def moments(selection: Selection) -> QuerySet[Moment]:
    """Return the moments that people marked or described."""
    is_described = Exists(Description.objects.filter(moment=OuterRef("pk")))
    return Moment.objects.filter(Q(is_described) | ~Q(OF_A_PROGRAM), **selection.of_videos("video__"))


def moment_lines(selection: Selection) -> Iterator[str]:
    """Yield a line for each moment, as in TVC's releases; one without captions has no ``descs``, as in its test sets.

    ``clip_id`` counts the moments of the file. ``from_retrieval``, which no import keeps, is left out.
    """
    captions = Prefetch("descriptions", Description.objects.order_by("pk"))
    rows = moments(selection).order_by("pk").select_related("video").prefetch_related(captions)
    for clip_id, moment in enumerate(rows.iterator(chunk_size=CHUNK), start=selection.first_clip_id):
        line: dict[str, Any] = {
            "vid_name": moment.video.name,
            "duration": moment.video.duration_s,
            "ts": [seconds(moment.start_s), seconds(moment.end_s)],
            "clip_id": clip_id,
        }
        if captions_of_it := list(moment.descriptions.all()):
            line["descs"] = [
                {"desc": row.text, "type": TYPES[row.kind], "desc_id": row.source_id} for row in captions_of_it
            ]
        yield json_line(line)


def videos(selection: Selection) -> QuerySet[Video]:
    return Video.objects.filter(**selection.of_videos())


def duration_lines(selection: Selection) -> Iterator[str]:
    """Yield the parts of ``{split: {name: [duration, index]}}`` by split and index: ``tvr_video2dur_idx.json``."""
    rows = videos(selection).order_by("source_split", "index")
    fields = rows.values_list("source_split", "name", "duration_s", "index")
    before_split = "{"
    for split, group in groupby(fields.iterator(chunk_size=CHUNK), key=lambda row: row[0]):
        yield f"{before_split}{json.dumps(split)}: "
        before_split, before_video = ", ", "{"
        for _, name, duration_s, index in group:
            yield f"{before_video}{json.dumps(name)}: {json.dumps([duration_s, index])}"
            before_video = ", "
        yield "}"
    yield "}\n"


def subtitles(selection: Selection) -> QuerySet[Subtitle]:
    return Subtitle.objects.filter(**selection.of_videos("video__"))


def subtitle_lines(selection: Selection) -> Iterator[str]:
    """Yield a line for each video that has subtitles, in the order of import; its subtitles stand in that of time."""
    rows = subtitles(selection).order_by("video_id", "start_s", "pk")
    fields = rows.values_list("video_id", "video__name", "text", "start_s", "end_s")
    for (_, name), group in groupby(fields.iterator(chunk_size=CHUNK), key=lambda row: row[:2]):
        yield json_line(
            {"vid_name": name, "sub": [{"text": text, "start": start, "end": end} for *_, text, start, end in group]}
        )
