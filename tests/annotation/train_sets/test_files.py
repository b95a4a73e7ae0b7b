"""The files of training sets, against ``json.dumps`` and against each other, for whatever texts and numbers."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from annotation.train_sets.files import JsonTrainFile, ParquetTrainFile
from annotation.train_sets.ranks import Block, Ranks, TrainMoments

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)  # no half of a character: no database holds one
SECONDS = st.floats(0, 1e6)
COLUMNS = ["query_id", "query", "rank", "pair_id", "video_name"]
COLUMNS += ["start_s", "end_s", "duration", "caption", "similarity"]


class Video(NamedTuple):
    name: str
    duration_s: float


class Moment(NamedTuple):
    video: Video
    start_s: float
    end_s: float
    caption: str


@st.composite
def sets(draw: st.DrawFn) -> tuple[list[Moment], list[Block]]:
    """Moments, and blocks of queries ranked over them somehow."""
    names = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    videos = st.sampled_from([Video(name, draw(SECONDS)) for name in names])
    moments = draw(st.lists(st.builds(Moment, videos, SECONDS, SECONDS, TEXTS), min_size=1, max_size=6))
    ranked = draw(st.integers(1, len(moments)))
    indexes = st.lists(st.integers(0, len(moments) - 1), min_size=ranked, max_size=ranked)
    millionths = st.lists(st.integers(-1_000_000, 1_000_000), min_size=ranked, max_size=ranked)
    sizes = draw(st.lists(st.integers(1, 3), max_size=3))
    blocks = []
    for size in sizes:
        numbers = draw(st.lists(st.integers(0, 2**62), min_size=size, max_size=size))
        texts = draw(st.lists(TEXTS, min_size=size, max_size=size))
        ranks = [
            np.array(draw(st.lists(each, min_size=size, max_size=size)), np.int32) for each in (indexes, millionths)
        ]
        blocks.append(Block(numbers, texts, Ranks(*ranks)))
    return moments, blocks


def train_moments_of(moments: list[Moment]) -> TrainMoments:
    train_moments = TrainMoments()
    for video, start_s, end_s, caption in moments:
        about = {"video_name": video.name, "duration_s": video.duration_s, "caption": caption}
        train_moments.add(start_s=start_s, end_s=end_s, **about)
    return train_moments


def published(moments: list[Moment], blocks: list[Block], depth: int, first: int) -> list[dict[str, Any]]:
    """The content of the published form, said plainly."""
    queries, row = [], first
    for block in blocks:
        for number, text, indexes, millionths in zip(*block[:2], *block.ranks, strict=True):
            ranked = [
                {
                    "pair_id": row + rank,
                    "video_name": moments[index].video.name,
                    "timestamp": [moments[index].start_s, moments[index].end_s],
                    "duration": moments[index].video.duration_s,
                    "caption": moments[index].caption,
                    "similarity": int(similarity) / 1e6,
                }
                for rank, (index, similarity) in enumerate(zip(indexes, millionths, strict=True))
            ]
            queries.append({"query_id": number, "query": text, "relevant_moment": ranked[:depth]})
            row += len(indexes)
    return queries


def json_file(folder: Path, moments: list[Moment], blocks: list[Block], depth: int, first: int = 1) -> bytes:
    path = folder / "set.json"
    with JsonTrainFile(path, train_moments_of(moments), depth=depth, first=first) as file:
        for block in blocks:
            file.add(block)
    return path.read_bytes()


def parquet_file(folder: Path, moments: list[Moment], blocks: list[Block], depth: int, first: int = 1) -> Path:
    path, about = folder / "set.parquet", {"depth": str(depth)}
    with ParquetTrainFile(path, train_moments_of(moments), depth=depth, about=about, first=first) as file:
        for block in blocks:
            file.add(block)
    return path


NOTHING: tuple[list[Moment], list[Block]] = ([Moment(Video("v", 2.0), 0.0, 1.0, "c")], [])


@given(train_set=sets(), depth=st.integers(1, 7), first=st.integers(1, 2**40))
@example(train_set=NOTHING, depth=1, first=1)
@settings(max_examples=60)
def test_json_is_what_dumping_the_whole_would_write(
    train_set: tuple[list[Moment], list[Block]], depth: int, first: int
) -> None:
    with TemporaryDirectory() as folder:
        content = json_file(Path(folder), *train_set, depth, first)
    whole = published(*train_set, depth, first)
    assert content == (json.dumps(whole, ensure_ascii=False, indent=1) + "\n").encode()


@given(train_set=sets(), depth=st.integers(1, 7), first=st.integers(1, 2**40))
@example(train_set=NOTHING, depth=1, first=1)
@settings(max_examples=30)
def test_parquet_has_the_rows_of_the_json(train_set: tuple[list[Moment], list[Block]], depth: int, first: int) -> None:
    with TemporaryDirectory() as folder:
        table = pandas.read_parquet(parquet_file(Path(folder), *train_set, depth, first))
    assert list(table.columns) == COLUMNS
    rows = [
        (
            *(query["query_id"], query["query"], rank, moment["pair_id"], moment["video_name"]),
            *(*moment["timestamp"], moment["duration"], moment["caption"], moment["similarity"]),
        )
        for query in published(*train_set, depth, first)
        for rank, moment in enumerate(query["relevant_moment"], start=1)
    ]
    assert list(table.itertuples(index=False, name=None)) == rows


def test_a_row_group_is_a_block_and_the_file_says_what_it_is(tmp_path: Path) -> None:
    ranks = Ranks(np.zeros((3, 2), np.int32), np.zeros((3, 2), np.int32))
    blocks = [
        Block([1, 2, 3], ["a", "b", "c"], ranks),
        Block([4], ["d"], Ranks(ranks.moments[:1], ranks.millionths[:1])),
    ]
    path = parquet_file(tmp_path, NOTHING[0], blocks, depth=2)
    file, content = parquet.ParquetFile(path), path.read_bytes()
    groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
    assert [group.num_rows for group in groups] == [6, 2]
    assert {group.column(index).compression for group in groups for index in range(10)} == {"ZSTD"}
    assert file.schema_arrow.metadata[b"depth"] == b"2"
    assert parquet_file(tmp_path, NOTHING[0], blocks, depth=2).read_bytes() == content
