"""What a row of a training set says of its moment, made once for each moment."""

from array import array
from functools import cached_property
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class TrainMoments:
    """The moments of a pool in the order of the pool."""

    def __init__(self) -> None:
        self.videos: dict[str, tuple[int, float]] = {}  # name to place and length
        self.video = array("q")
        self.start_s, self.end_s = array("d"), array("d")
        self.captions: list[str] = []

    def __len__(self) -> int:
        return len(self.captions)

    def add(self, *, video_name: str, duration_s: float, start_s: float, end_s: float, caption: str) -> None:
        place, _ = self.videos.setdefault(video_name, (len(self.videos), duration_s))
        self.video.append(place)
        self.start_s.append(start_s)
        self.end_s.append(end_s)
        self.captions.append(caption)

    @cached_property
    def fragments(self) -> list[str]:
        """Of a row in JSON: all that follows the pair's number, up to the value of the similarity."""
        videos = [(quoted(name), duration_s) for name, (_, duration_s) in self.videos.items()]
        return [
            f',\n    "video_name": {videos[video][0]},\n    "timestamp": [\n     {start_s!r},\n     {end_s!r}\n    ],'
            f'\n    "duration": {videos[video][1]!r},\n    "caption": {quoted(caption)},\n    "similarity": '
            for video, start_s, end_s, caption in zip(self.video, self.start_s, self.end_s, self.captions, strict=True)
        ]

    @cached_property
    def columns(self) -> "dict[str, pa.Array]":
        """Of a table: one value for each moment, under the column's name."""
        import pyarrow as pa

        video = pa.array(self.video, pa.int64())
        return {
            "video_name": pa.array(list(self.videos), pa.string()).take(video),
            "start_s": pa.array(self.start_s, pa.float64()),
            "end_s": pa.array(self.end_s, pa.float64()),
            "duration": pa.array([duration_s for _, duration_s in self.videos.values()], pa.float64()).take(video),
            "caption": pa.array(self.captions, pa.string()),
        }
