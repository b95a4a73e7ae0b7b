"""Base of XML and ReLoCLNet: a query split in two, video and subtitle streams attending to each other.

Notation: B videos, Q queries, R rows kept of all videos end to end, W clips of the longest, H hidden features.
Pairs are always (video, subtitle).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from moment_retrieval.batches import HIDDEN, NOTHING, Layout, Sequences, wide
from moment_retrieval.distributed import Pair
from moment_retrieval.models.blocks import (
    NORM_EPSILON,
    Attention,
    EncoderBlock,
    InputProjection,
    PositionalEncoding,
    initialise,
)
from moment_retrieval.proposals import Proposals
from moment_retrieval.settings import Config, Padding

Propose = Callable[[Tensor, Tensor], Proposals]  # of scores [N, V, W] and how many clips are real [N, V]


class SpanHead(nn.Module):
    """Start and end logits for every clip.

    One convolution each slides over time, so that a boundary is judged from the clips around it: the ConvSE of XML (Lei
    et al. 2020, arXiv:2001.09099), section 4.
    """

    def __init__(self, *, kernel_size: int) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be odd to keep the number of clips, got {kernel_size}")
        self.start = nn.Conv1d(1, 1, kernel_size, padding=kernel_size // 2, bias=False)
        self.end = nn.Conv1d(1, 1, kernel_size, padding=kernel_size // 2, bias=False)

    def forward(self, similarity: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """similarity [B, W], real [B, W] (True: a clip) -> start, end [B, W]; no clip holds -1e10."""
        start, end = (wide(one(similarity[:, None]).squeeze(1)) for one in (self.start, self.end))
        return start.masked_fill(~real, NOTHING), end.masked_fill(~real, NOTHING)


LENGTH_EPSILON = 1e-12


@dataclass(frozen=True)
class EncodedVideos:
    """Videos after each of the encoders, ready to be asked."""

    levels: dict[int, Pair]  # rows [R, H] of both streams after the first encoder (0), the second (1), ...
    layouts: tuple[Layout, Layout]  # where these rows lie

    def __len__(self) -> int:
        return len(self.layouts[0].lengths)

    def taken(self, indexes: Tensor) -> EncodedVideos:
        visual, rows = self.layouts[0].taken(indexes)
        subtitle, _ = self.layouts[1].taken(indexes)  # both streams keep as many rows of a video
        levels = {level: (pair[0][rows], pair[1][rows]) for level, pair in self.levels.items()}
        return EncodedVideos(levels, (visual, subtitle))

    @classmethod
    def joined(cls, parts: Sequence[EncodedVideos]) -> EncodedVideos:
        """The videos of all parts, one after the other."""
        levels = {}
        for level in parts[0].levels:
            visual_rows, subtitle_rows = zip(*(part.levels[level] for part in parts), strict=True)
            levels[level] = torch.cat(visual_rows), torch.cat(subtitle_rows)
        video, subtitle = zip(*(part.layouts for part in parts), strict=True)
        return cls(levels, (Layout.joined(video), Layout.joined(subtitle)))

    def only(self, *levels: int) -> EncodedVideos:
        """Without the other levels."""
        return EncodedVideos({level: self.levels[level] for level in levels}, self.layouts)


class TwoStream(nn.Module):
    """Queries and videos to vectors and clips that can be compared.

    Args:
        encoders: encoders of each stream; the streams meet after the first.
        query_encoders: encoders of the query.
        score_level, span_level: after which encoder, from 0, a video is scored and its spans are found.
    """

    propose: Propose | None = None  # proposes moments from the scores of clips; None: start and end are predicted

    def __init__(
        self, config: Config, *, encoders: int, query_encoders: int, score_level: int, span_level: int
    ) -> None:
        super().__init__()
        self.config = config
        self.score_level, self.span_level = score_level, span_level
        hidden_size, heads, dropout = config.hidden, config.heads, config.dropout
        self.query_input = InputProjection(config.query_size, hidden_size, dropout)
        self.query_position = PositionalEncoding(config.words, hidden_size, dropout)
        self.query_encoders = nn.ModuleList(EncoderBlock(hidden_size, heads, dropout) for _ in range(query_encoders))
        self.query_split = nn.Linear(hidden_size, 2, bias=False)
        self.clip_position = PositionalEncoding(config.clips, hidden_size, dropout)
        self.video = Stream(config.video_size, config, encoders)
        self.subtitle = Stream(config.subtitle_size, config, encoders)
        self.span_head = SpanHead(kernel_size=config.kernel_size)
        self.apply(initialise)

    @staticmethod
    def undecayed(name: str) -> bool:
        """Whether the parameter of this name keeps its size: biases and norms, but for the norms where streams meet.

        Those the released code decays, by the case of a letter.
        """
        return name.endswith("bias") or (".norm." in name and ".meeting." not in name)

    def encode_queries(self, queries: Sequences) -> Pair:
        """The part of each query that asks for pictures, and the part that asks for words, [Q, H] each."""
        layout = Layout.of(queries.lengths, queries.rows.device)
        rows = self.query_position(self.query_input(queries.rows), layout.position)
        for encoder in self.query_encoders:
            rows = encoder(rows, layout)
        return self.split_queries(rows, layout)

    def split_queries(self, rows: Tensor, layout: Layout) -> Pair:
        """Encoded words [R, H] -> both parts of each query, [Q, H] each."""
        parts = self.word_weights(rows, layout)
        pictures, words = (parts.transpose(1, 2) @ layout.spread(rows)).unbind(1)  # [Q, 2, W] x [Q, W, H]
        return pictures, words

    def word_weights(self, rows: Tensor, layout: Layout) -> Tensor:
        """How much of each word is in each part of its query [Q, W, parts]; all words together 1."""
        return layout.spread(wide(self.query_split(rows))).masked_fill(~layout.real[..., None], NOTHING).softmax(1)

    def encode_videos(self, video: Sequences, subtitle: Sequences) -> EncodedVideos:
        """Both streams of each video after every encoder."""
        narrow, wide = self.layouts((video.lengths, subtitle.lengths), video.rows.device)
        visual_rows = self.video.first(video.rows, wide[0], self.clip_position)
        subtitle_rows = self.subtitle.first(subtitle.rows, wide[1], self.clip_position)
        pair = wide[0].narrowed(visual_rows, narrow[0]), wide[1].narrowed(subtitle_rows, narrow[1])
        levels = {0: pair}
        pair = (
            self.video.meet(pair[0], narrow[0], subtitle_rows, wide[1], self.config.padding),
            self.subtitle.meet(pair[1], narrow[1], visual_rows, wide[0], self.config.padding),
        )
        for deeper in zip(self.video.deeper, self.subtitle.deeper, strict=True):
            pair = deeper[0](pair[0], narrow[0]), deeper[1](pair[1], narrow[1])
            levels[len(levels)] = pair
        return EncodedVideos(levels, narrow)

    def layouts(self, lengths: Pair, device: torch.device) -> tuple[tuple[Layout, Layout], tuple[Layout, Layout]]:
        """Of both streams, the rows that are kept after the first encoder, and those it computes."""
        is_compact = self.config.padding is Padding.COMPACT
        around = 0 if is_compact else self.config.kernel_size // 2  # clips that the convolution sees after the last
        row_counts = (torch.maximum(*lengths) + around).clamp(max=self.config.clips)
        if not is_compact:  # attention over a stream without clips is the mean over all the padding
            row_counts = torch.where(torch.minimum(*lengths) == 0, self.config.clips, row_counts)
        narrow = _layouts(lengths, row_counts, device)
        if is_compact:
            return narrow, narrow
        return narrow, _layouts(lengths, torch.full_like(lengths[0], self.config.clips), device)

    def video_scores(self, queries: Pair, videos: EncodedVideos) -> Tensor:
        """How well each query suits each video, by the cosine of its best clip, both streams averaged [Q, B]."""
        near = (functional.normalize(part, dim=-1, eps=LENGTH_EPSILON) for part in queries)
        level = (functional.normalize(rows, dim=-1, eps=LENGTH_EPSILON) for rows in videos.levels[self.score_level])
        return mean_of(map(best_clip, near, level, videos.layouts))

    def span_logits(self, queries: Pair, videos: EncodedVideos) -> tuple[Tensor, Tensor]:
        """Start and end logits of each query in the video beside it [B, W]; the real clips are the video stream's."""
        return self.span_head(self.similarity(queries, videos), videos.layouts[0].real)

    def curves(self, queries: Pair, videos: EncodedVideos) -> tuple[Tensor, Tensor]:
        """Probabilities of each query's start and end in the video beside it [B, W]."""
        start, end = (boundary.softmax(1) for boundary in self.span_logits(queries, videos))
        return start, end

    def similarity(self, queries: Pair, videos: EncodedVideos) -> Tensor:
        """How like each query the clips of the video beside it are [B, W], streams averaged; spans are found by it."""
        streams, level = (self.video, self.subtitle), videos.levels[self.span_level]
        return mean_of(map(self._similarity, streams, queries, level, videos.layouts))

    def _similarity(self, stream: Stream, query: Tensor, rows: Tensor, layout: Layout) -> Tensor:
        """[B, W]: of a query part [B, H] with the clips of the video beside it."""
        similarity = clip_scores(stream.span_query(query), rows, layout)
        return similarity if self.config.padding is Padding.OFFICIAL else similarity * layout.real


class Stream(nn.Module):
    """One half of a video: what is seen, or what is said."""

    def __init__(self, size: int, config: Config, encoders: int) -> None:
        super().__init__()
        hidden_size, heads, dropout = config.hidden, config.heads, config.dropout
        self.input = InputProjection(size, hidden_size, dropout)
        self.encoder = EncoderBlock(hidden_size, heads, dropout)
        self.meeting = Meeting(hidden_size, heads, dropout)
        self.deeper = nn.ModuleList(EncoderBlock(hidden_size, heads, dropout) for _ in range(encoders - 1))
        self.span_query = nn.Linear(hidden_size, hidden_size)

    def first(self, rows: Tensor, layout: Layout, position: PositionalEncoding) -> Tensor:
        """Feature rows of the real clips -> rows after the first encoder, of all that is kept [R, H]."""
        rows = self.input.laid(rows, layout)
        return self.encoder(position(rows, layout.position), layout)

    def meet(self, rows: Tensor, layout: Layout, other_rows: Tensor, other_layout: Layout, padding: Padding) -> Tensor:
        """Rows [R, H] after looking at the other stream.

        In the released code a row that is no clip looks at everything, padding included: all scores sink alike.
        """
        mask_bias = other_layout.hidden
        if padding is Padding.OFFICIAL:
            mask_bias = torch.where(layout.real[:, None, :, None], mask_bias, HIDDEN)  # [B, 1, W, W']
        return self.meeting(rows, layout, mask_bias, (other_rows, other_layout))


class Meeting(nn.Module):
    """Cross attention: one stream looks at the other and keeps itself."""

    def __init__(self, hidden_size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(hidden_size, heads, dropout)
        self.norm = nn.LayerNorm(hidden_size, eps=NORM_EPSILON)

    def forward(self, rows: Tensor, layout: Layout, mask_bias: Tensor, context: tuple[Tensor, Layout]) -> Tensor:
        """[R, H] -> [R, H]."""
        return self.norm(self.attention(rows, layout, mask_bias, context) + rows)


def _layouts(lengths: Pair, row_counts: Tensor, device: torch.device) -> tuple[Layout, Layout]:
    """Of both streams, which keep as many rows of a video."""
    width = max(1, int(row_counts.max()))
    return Layout(lengths[0], row_counts, width, device), Layout(lengths[1], row_counts, width, device)


def mean_of(pair: Iterable[Tensor]) -> Tensor:
    """Half of the one and half of the other."""
    one, other = pair
    return (one + other) / 2


def best_clip(queries: Tensor, rows: Tensor, layout: Layout) -> Tensor:
    """queries [Q, H], rows [R, H] -> the largest product of each query with a real clip of each video [Q, B]."""
    products = layout.spread(wide(rows @ queries.T))  # [B, W, Q]
    return products.masked_fill(~layout.real[..., None], NOTHING).amax(1).T


def clip_scores(queries: Tensor, rows: Tensor, layout: Layout) -> Tensor:
    """queries [B, H], rows [R, H] -> the product of each query with every clip of the video beside it [B, W]."""
    return wide(layout.spread(rows) @ queries[..., None]).squeeze(-1)
