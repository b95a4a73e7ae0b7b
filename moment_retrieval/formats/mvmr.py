"""The forms of MVMR (Yang et al., CIKM 2024): one JSON object, video by video.

Ground truth: ``{video: {duration, timestamps, sentences, pos_moments, retrieval_pool}}``, lists with an entry for each
sentence of the video. ``pos_moments`` are rows [video, sentence, [start, end]] beside the golden moment in
``timestamps``; all have relevance 1. With ``fps`` and ``num_frames`` in place of ``duration``, times are frames.

A query is called ``video#number``, from 0. MVMR published no form of runs; ours mirrors the ground truth:
``{video: {predictions: [[[video, start, end, score]]]}}``, times in seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

from moment_retrieval.entries import Entry, Window, located, value_positions
from moment_retrieval.errors import InvalidRecord, NotWritable, UnknownVideo, at
from moment_retrieval.formats.builder import Builder, Rows, SourceFile
from moment_retrieval.formats.tvr_ranking import add_predictions, ranking
from moment_retrieval.jsonfiles import as_array, as_number, as_object, as_text, member, shown
from moment_retrieval.tables import JudgedTable, Note, RunTable

RELEVANT = 1


@dataclass(frozen=True, eq=False)
class PoolTruth(JudgedTable):
    """The golden moment of each query first, then its other positives."""

    pools: tuple[tuple[str, ...], ...] = ()  # [Q] the videos to search, the golden one first
    durations_s: Mapping[str, float] = field(default_factory=dict)  # how long each video is


def query_name(video: str, number: int) -> str:
    return f"{video}#{number}"


def videos(source: SourceFile, name: str) -> Iterator[tuple[str, Entry]]:
    window, line, last = Window(source.text), 1, 0
    for video, start in sorted(value_positions(source.text, name).items(), key=itemgetter(1)):
        line, last = line + source.text.count("\n", last, start), start
        yield video, Entry(f"video {video}", line, window.decoded(start)[0], start)


def read_run(source: SourceFile) -> RunTable:
    """A run. Raises ScoringError with line and place."""
    builder = Builder(source)
    for video, entry in videos(source, "run"):
        with located(source.text, entry):
            rankings = as_array(member(as_object(entry.value, "a video"), "predictions"), "predictions")
            for number, ranked in enumerate(rankings):
                builder.query(query_name(video, number), "", entry.line)
                with at(f"query {number}", "predictions", number):
                    add_predictions(builder, ranked)
    return builder.run()


def read_ground_truth(source: SourceFile) -> PoolTruth:
    """Moments in seconds, golden ones cut to their video. Raises ScoringError with line and place."""
    entries = dict(videos(source, "ground truth"))
    rates, pools = {}, []
    for video, entry in entries.items():
        with located(source.text, entry):
            rates[video] = rate(as_object(entry.value, "a video"))
    builder = Builder(source, judged=True)
    for video, entry in entries.items():
        with located(source.text, entry):
            pools += add_video(builder, video, entry, rates)
    durations = {video: duration for video, (_, duration) in rates.items()}
    return PoolTruth(*builder.columns(), notes=tuple(builder.notes), pools=tuple(pools), durations_s=durations)


def rate(record: dict[str, object]) -> tuple[float, float]:
    """(frames a second, duration in seconds) of a video; 1 where the file speaks of seconds."""
    if "fps" not in record:
        return 1.0, as_number(member(record, "duration"), "duration")
    fps, frames = as_number(record["fps"], "fps"), as_number(member(record, "num_frames"), "num_frames")
    if fps <= 0:
        raise InvalidRecord(f"fps must be above 0, got {shown(fps)}")
    return fps, frames / fps


def add_video(
    builder: Builder, video: str, entry: Entry, rates: dict[str, tuple[float, float]]
) -> list[tuple[str, ...]]:
    """The queries of one video; returns their pools."""
    record = as_object(entry.value, "a video")
    keys = ("timestamps", "sentences", "pos_moments", "retrieval_pool")
    golden, sentences, positives, pools = (as_array(member(record, key), key) for key in keys)
    if len({len(golden), len(sentences), len(positives), len(pools)}) > 1:
        raise InvalidRecord(f"{', '.join(keys)} must have one entry for each sentence")
    fps, duration = rates[video]
    for number, (times, text, others) in enumerate(zip(golden, sentences, positives, strict=True)):
        builder.query(query_name(video, number), as_text(text, "sentence"), entry.line)
        with at(f"query {number}"), at("timestamps", "timestamps", number):
            start, end = (min(max(time / fps, 0.0), duration) for time in interval(times))
        moments = [(video, start, end, str(text))]
        for index, other in enumerate(as_array(others, "pos_moments")):
            with at(f"query {number}"), at(f"positive {index + 1}", "pos_moments", number, index):
                moments.append(positive(other, rates))
        names, starts, ends, captions = zip(*moments, strict=True)
        with at(f"query {number}"):
            rows = Rows(names, starts, ends, [RELEVANT] * len(moments))
            builder.add(rows, lambda row: at(f"moment {row + 1}"), [Note(caption=caption) for caption in captions])
    return [tuple(as_text(name, "a video of the pool") for name in as_array(pool, "retrieval_pool")) for pool in pools]


def interval(value: object) -> tuple[float, float]:
    """[start, end] as the file counts."""
    times = as_array(value, "an interval")
    if len(times) != 2:
        raise InvalidRecord(f"expected [start, end], got {shown(times)}")
    return as_number(times[0], "start"), as_number(times[1], "end")


def positive(value: object, rates: dict[str, tuple[float, float]]) -> tuple[str, float, float, str]:
    """Video, start, end in seconds, and sentence of a row [video, sentence, [start, end]], which may count frames."""
    row = as_array(value, "a positive")
    if len(row) != 3:
        raise InvalidRecord(f"expected [video, sentence, [start, end]], got {shown(row)}")
    video = as_text(row[0], "video")
    if video not in rates:
        raise UnknownVideo(f"the file has no video {shown(video)}")
    start, end = interval(row[2])
    return video, start / rates[video][0], end / rates[video][0], as_text(row[1], "sentence")


def write_run(run: RunTable) -> str:
    """A run by the videos of its queries. Raises NotWritable unless queries are called ``video#number``, from 0."""
    rankings_by_video: dict[str, dict[str, list[list[list[object]]]]] = {}
    for number, (video, position) in enumerate(named(run)):
        rankings = rankings_by_video.setdefault(video, {"predictions": []})["predictions"]
        if position != len(rankings):
            raise NotWritable(f"query {run.query_ids[number]} comes where {query_name(video, len(rankings))} belongs")
        rankings.append(ranking(run, number))
    return json.dumps(rankings_by_video, ensure_ascii=False, allow_nan=False) + "\n"


def named(table: RunTable | JudgedTable) -> Iterator[tuple[str, int]]:
    """Video and number of every query."""
    for query_id in table.query_ids:
        video, mark, number = query_id.rpartition("#")
        if not mark or not number.isdecimal():
            raise NotWritable(f"query {query_id} is not called video#number, as the form of MVMR asks")
        yield video, int(number)
