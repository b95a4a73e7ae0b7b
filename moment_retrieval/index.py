"""A corpus encoded once and laid out for searching: nothing is normalised or laid out anew when a query comes.

Notation: N queries, V videos, R rows kept of all videos end to end, H hidden features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from moment_retrieval.batches import NOTHING, Layout
from moment_retrieval.checkpoints import BrokenCheckpoint
from moment_retrieval.distributed import Pair
from moment_retrieval.models.two_stream import LENGTH_EPSILON, EncodedVideos

ROWS_ON_CPU, ROWS_ON_GPU = 2**13, 2**21  # of a block: there its products stay in the cache, here launches stay few
STREAMS = ("seen", "heard")
Block = tuple[Pair, Pair, tuple[Layout, Layout]]  # rows [r, H], one by their lengths [r, 1], where they lie


@dataclass(frozen=True)
class Index:
    """Encoded videos, ready to be scored and looked into."""

    videos: EncodedVideos  # the levels a search needs, [R, H] each
    reciprocals: Pair  # one by the length of every row that videos are scored by, of both streams [R]
    score_level: int  # which level that is

    @classmethod
    def of(cls, videos: EncodedVideos, *, score_level: int) -> Index:
        """Keep videos with the lengths of the rows that they are scored by."""
        visual, subtitle = (1 / rows.norm(dim=1).clamp(min=LENGTH_EPSILON) for rows in videos.levels[score_level])
        return cls(videos, (visual, subtitle), score_level)

    def __len__(self) -> int:
        return len(self.videos)

    @property
    def nbytes(self) -> int:
        """Bytes of all vectors."""
        return sum(rows.nbytes for pair in (*self.videos.levels.values(), self.reciprocals) for rows in pair)

    def scores(self, queries: Pair) -> Tensor:
        """How well each query [N, H] suits each video by its best clip, streams averaged [N, V]."""
        with torch.inference_mode():
            near = [functional.normalize(part, dim=1, eps=LENGTH_EPSILON) for part in queries]
            result = torch.empty(len(near[0]), len(self), device=near[0].device)
            columns = result.split([len(layouts[0].lengths) for *_, layouts in self._blocks], dim=1)
            for (rows, reciprocals, layouts), part in zip(self._blocks, columns, strict=True):
                visual, subtitle = map(_best, near, rows, reciprocals, layouts)
                part.copy_(((visual + subtitle) / 2).T)
        return result

    def stream_scores(self, queries: Pair, videos: Tensor) -> Pair:
        """By what is seen, and by what is heard: cosines of each query's halves with the best clips [N, v] each."""
        with torch.inference_mode():
            each = max(1, self._limit // (videos.shape[1] * self.videos.layouts[0].width))
            near = [functional.normalize(part, dim=1, eps=LENGTH_EPSILON).split(each) for part in queries]
            visual, subtitle = (
                torch.cat([self._best_clips(stream, *chunk) for chunk in zip(part, videos.split(each), strict=True)])
                for stream, part in enumerate(near)
            )
            return visual, subtitle

    def _best_clips(self, stream: int, near: Tensor, videos: Tensor) -> Tensor:
        """Cosines of unit queries [n, H] with the best clips of their videos, by one stream [n, v]."""
        starts, lengths = self._segments[stream]
        rows = self.videos.levels[self.score_level][stream]
        clip = torch.arange(max(1, int(lengths[videos].max())), device=rows.device)
        row_index = (starts[videos][..., None] + clip).clamp(max=len(rows) - 1)  # [n, v, W]
        cells = rows[row_index.flatten()].view(len(near), -1, rows.shape[1])  # [n, v * W, H]
        products = (cells @ near[..., None]).squeeze(2) / cells.norm(dim=2).clamp(min=LENGTH_EPSILON)
        return products.view(row_index.shape).masked_fill(clip >= lengths[videos][..., None], NOTHING).amax(2)

    @cached_property
    def _segments(self) -> list[Pair]:
        """Of both streams, where each video's rows begin and how many are real [V], beside the rows."""
        row_counts = self.videos.layouts[0].computed
        starts = row_counts.cumsum(0) - row_counts
        return [(starts.to(layout.device), layout.lengths.to(layout.device)) for layout in self.videos.layouts]

    @property
    def _limit(self) -> int:
        """Rows of a block."""
        return ROWS_ON_GPU if self.reciprocals[0].is_cuda else ROWS_ON_CPU

    def taken(self, indexes: Tensor) -> EncodedVideos:
        return self.videos.taken(indexes)

    def save(self, path: Path) -> None:
        """One safetensors file; ``load`` maps it into memory."""
        tensors = {
            f"{level}.{name}": rows
            for level, pair in self.videos.levels.items()
            for name, rows in zip(STREAMS, pair, strict=True)
        }
        tensors |= {f"reciprocals.{name}": one for name, one in zip(STREAMS, self.reciprocals, strict=True)}
        for name, layout in zip(STREAMS, self.videos.layouts, strict=True):
            tensors |= {f"lengths.{name}": layout.lengths, "kept": layout.computed}
        whole = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
        save_file(whole, path, metadata={"score_level": str(self.score_level)})

    @classmethod
    def load(cls, path: Path, device: str | torch.device = "cpu") -> Index:
        """Read an index. Raises BrokenCheckpoint: it cannot be read."""
        try:
            with safe_open(path, framework="pt") as file:
                score_level = int(file.metadata()["score_level"])
            tensors = load_file(path, device=str(device))
            row_counts = tensors["kept"].cpu()
            lengths = [tensors[f"lengths.{name}"].cpu() for name in STREAMS]
            width = max(1, int(row_counts.max()))
            levels = {
                int(level): (tensors[f"{level}.seen"], tensors[f"{level}.heard"])
                for level in sorted({name.split(".")[0] for name in tensors if name[:1].isdigit()})
            }
            reciprocals = tensors["reciprocals.seen"], tensors["reciprocals.heard"]
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise BrokenCheckpoint(f"{path}: no index can be read: {error}") from error
        visual, subtitle = (Layout(one, row_counts, width, torch.device(device)) for one in lengths)
        return cls(EncodedVideos(levels, (visual, subtitle)), reciprocals, score_level)

    @cached_property
    def _blocks(self) -> list[Block]:
        """Stretches of the corpus, views of its rows; their layouts are made once."""
        row_counts = self.videos.layouts[0].computed
        ends = row_counts.cumsum(0)
        stretch = torch.div(ends - 1, self._limit, rounding_mode="floor")  # by where a video's last row lies
        counts = stretch.unique_consecutive(return_counts=True)[1].tolist()
        blocks, first, row = [], 0, 0
        for count in counts:
            last = first + count
            end = int(ends[last - 1])
            blocks.append(self._block(slice(first, last), slice(row, end)))
            first, row = last, end
        return blocks

    def _block(self, videos: slice, rows: slice) -> Block:
        visual, subtitle = (
            Layout(
                layout.lengths[videos],
                layout.computed[videos],
                max(1, int(layout.computed[videos].max())),
                layout.device,
            )
            for layout in self.videos.layouts
        )
        level = self.videos.levels[self.score_level]
        reciprocals = self.reciprocals[0][rows, None], self.reciprocals[1][rows, None]
        return (level[0][rows], level[1][rows]), reciprocals, (visual, subtitle)


def _best(near: Tensor, rows: Tensor, reciprocals: Tensor, layout: Layout) -> Tensor:
    """Cosines of unit queries [N, H] with each video's best clip [v, N], of rows [r, H] and one by their lengths."""
    cells = layout.spread(rows @ near.T * reciprocals)  # [v, W, N]
    if not layout.whole:
        cells = cells.masked_fill(~layout.real[..., None], NOTHING)
    return cells.amax(1)
