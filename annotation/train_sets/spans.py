"""Which moments a training set ranks, read from its table."""

from typing import IO

Span = tuple[str, float, float, float]  # video, start, end, length of the video
COLUMNS = ["video_name", "start_s", "end_s", "duration"]


def spans_of(source: IO[bytes]) -> set[Span]:
    """Each moment once; a row group of the table is held at a time."""
    from pyarrow import parquet

    table = parquet.ParquetFile(source)
    spans: set[Span] = set()
    for part in range(table.num_row_groups):
        different = table.read_row_group(part, columns=COLUMNS).group_by(COLUMNS).aggregate([]).select(COLUMNS)
        spans.update(zip(*different.to_pydict().values(), strict=True))
    return spans
