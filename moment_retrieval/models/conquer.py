"""CONQUER: contextual query-aware ranking (Hou et al. 2021, arXiv:2109.10016), as TVR-Ranking changed it.

Notation: Q queries, P = Q * (1 + negatives) videos, those of one query together, its own first; R rows kept of all
videos end to end, W clips of the longest, T words, H hidden features, K centres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from moment_retrieval.batches import NOTHING, Batch, Layout, Sequences, SideBySide, wide
from moment_retrieval.distributed import ONE_PROCESS, SingleProcess
from moment_retrieval.losses import DrawNegatives, Loss, weighed
from moment_retrieval.models.blocks import (
    NORM_EPSILON,
    Dropout,
    EncoderBlock,
    InputProjection,
    PositionalEncoding,
    ProjectedEncoder,
    initialise,
)
from moment_retrieval.settings import ConquerConfig, Objective, Padding

NO_CLIP = -1e4  # logit of what is no clip; the other masks of this model are larger
VISUAL, SUBTITLE, QUERY = 0, 1, 1  # kinds of rows, for their encodings


@dataclass(frozen=True)
class EncodedQueries:
    """Words after their encoder [Q, T, H]; which are real [Q, T]; what to weigh (seen, heard) by [Q, 2]."""

    words: Tensor
    real: Tensor
    weights: Tensor

    def taken(self, indexes: Tensor) -> EncodedQueries:
        return EncodedQueries(self.words[indexes], self.real[indexes], self.weights[indexes])


@dataclass(frozen=True)
class EncodedClips:
    """Rows [R, H] of what is seen and what is heard; no query has touched them yet."""

    seen: Tensor
    heard: Tensor
    layout: Layout

    def taken(self, indexes: Tensor) -> EncodedClips:
        layout, rows = self.layout.taken(indexes)
        return EncodedClips(self.seen[rows], self.heard[rows], layout)

    @classmethod
    def joined(cls, parts: Sequence[EncodedClips]) -> EncodedClips:
        """The videos of all parts, one after the other."""
        visual, subtitle = (torch.cat([getattr(part, stream) for part in parts]) for stream in ("seen", "heard"))
        return cls(visual, subtitle, Layout.joined([part.layout for part in parts]))


@dataclass(frozen=True)
class ConquerOutput:
    """Start and end logits [P, W]; scores of the videos [P], where the model gives them."""

    start: Tensor
    end: Tensor
    videos: Tensor | None


class Conquer(nn.Module):
    """Reads every video with the query in mind: nothing of it can be kept but its encoded clips."""

    def __init__(self, config: ConquerConfig) -> None:
        super().__init__()
        self.config = config
        hidden_size, dropout = config.hidden, config.dropout
        sizes = (hidden_size, config.heads, dropout)
        projected = partial(
            ProjectedEncoder, hidden=hidden_size, heads=config.heads, dropout=dropout, inner=config.inner
        )
        self.visual_input = InputProjection(config.video_size, hidden_size, dropout)
        self.subtitle_input = InputProjection(config.subtitle_size, hidden_size, dropout)
        self.clip_position = PositionalEncoding(config.clips, hidden_size, dropout, kinds=2)
        self.clip_encoder = EncoderBlock(*sizes, inner=config.inner)
        self.query_input = InputProjection(config.query_size, hidden_size, dropout)
        self.query_position = PositionalEncoding(config.words, hidden_size, dropout, kinds=2)
        self.query_encoder = EncoderBlock(*sizes, inner=config.inner)
        self.fusion = Fusion(hidden_size, config.centres, dropout)
        self.flow = nn.Linear(3 * hidden_size, 1, bias=False)
        self.context = projected(4 * hidden_size)
        self.start = projected(5 * hidden_size)
        self.end = projected(2 * hidden_size)
        self.start_score = ClipScore(hidden_size, config.narrow, config.kernel_size)
        self.end_score = ClipScore(hidden_size, config.narrow, config.kernel_size)
        self.video_score = VideoScore(projected(5 * hidden_size), config) if config.score_videos else None
        self.apply(initialise)

    @staticmethod
    def undecayed(name: str) -> bool:
        """Whether the parameter of this name keeps its size: biases and norms."""
        return name.endswith("bias") or ".norm." in name

    def forward(self, batch: Batch, processes: SingleProcess = ONE_PROCESS) -> ConquerOutput:
        """A batch of Q queries and P videos."""
        queries = self.encode_queries(batch.queries)
        each = len(batch.video) // len(batch.queries)
        query_index = torch.arange(len(batch.queries), device=queries.words.device).repeat_interleave(each)
        output = self.locate(queries.taken(query_index), self.encode_clips(batch.video, batch.subtitle))
        start, end = (processes.logits(logits, each) for logits in (output.start, output.end))
        videos = None if output.videos is None else processes.video_values(output.videos, each)
        return replace(output, start=start, end=end, videos=videos)

    def encode_queries(self, queries: Sequences) -> EncodedQueries:
        """Words that have seen each other, all T places of them."""
        row_counts = torch.full_like(queries.lengths, self.config.words)
        layout = Layout(queries.lengths, row_counts, self.config.words, queries.rows.device)
        rows = self.query_position(self.query_input.laid(queries.rows, layout), layout.position, QUERY)
        words = layout.spread(self.query_encoder(rows, layout))
        return EncodedQueries(words, layout.real, self.fusion(words))

    def encode_clips(self, video: Sequences, subtitle: Sequences) -> EncodedClips:
        """Clips that have seen the rest of their video and heard what is said in it."""
        longer = torch.maximum(video.lengths, subtitle.lengths)
        row_counts = (longer + self._behind()).clamp(max=self.config.clips)
        width = max(1, int(row_counts.max()))
        visual_layout, subtitle_layout = (
            Layout(lengths, row_counts, width, video.rows.device) for lengths in (video.lengths, subtitle.lengths)
        )
        rows = [
            self.clip_position(self.visual_input.laid(video.rows, visual_layout), visual_layout.position, VISUAL),
            self.clip_position(
                self.subtitle_input.laid(subtitle.rows, subtitle_layout), subtitle_layout.position, SUBTITLE
            ),
        ]
        rows = self.clip_encoder(torch.cat(rows), SideBySide(visual_layout, subtitle_layout)).chunk(2)
        return EncodedClips(rows[0], rows[1], visual_layout)

    def locate(self, queries: EncodedQueries, clips: EncodedClips) -> ConquerOutput:
        """Start and end of what each query [P] asks for in the video beside it."""
        layout = clips.layout
        weights = queries.weights[layout.owner]  # [R, 2]
        rows = weights[:, :1] * clips.seen + weights[:, 1:] * clips.heard
        aware = self._query_aware(rows, layout, queries)  # [R, 4 H]
        context = self.context(aware, layout)
        aware = torch.cat([aware, context], dim=1)  # [R, 5 H]
        start = self.start(aware, layout)
        end = self.end(torch.cat([context, start], dim=1), layout)
        videos = None if self.video_score is None else self.video_score(aware, layout)
        return ConquerOutput(self.start_score(start, layout), self.end_score(end, layout), videos)

    def _query_aware(self, rows: Tensor, layout: Layout, queries: EncodedQueries) -> Tensor:
        """Trilinear attention flow: clips with the words they are like, and with the clips most like a word.

        w . [clip; word; clip * word] falls into three sums, so no row is made for each clip and word.
        """
        of_clip, of_word, of_both = self.flow.weight[0].chunk(3)
        cells = layout.spread(rows)  # [P, W, H]
        alike = (cells * of_both) @ queries.words.transpose(1, 2)  # [P, W, T]
        alike = alike + (cells @ of_clip)[..., None] + (queries.words @ of_word)[:, None]
        alike = wide(alike).masked_fill(~(layout.real[..., None] & queries.real[:, None]), NOTHING)
        words = layout.collect(alike.softmax(2) @ queries.words)  # [R, H]
        best = (alike.amax(2).softmax(1)[:, None] @ cells).squeeze(1)  # [P, H]
        return torch.cat([rows, words, rows * words, rows * best[layout.owner]], dim=1)

    def _behind(self) -> int:
        """How many rows behind the end the logits of real clips, or the score of the video, depend on."""
        if self.config.padding is Padding.COMPACT:
            return 0
        return self.config.clips if self.config.score_videos else self.config.kernel_size // 2


class Fusion(nn.Module):
    """How much a query asks for pictures and how much for words, by the centres its words are near (NetVLAD).

    All places count, words or not, as released.
    """

    def __init__(self, hidden_size: int, centres: int, dropout: float) -> None:
        super().__init__()
        self.centres = nn.Parameter(torch.randn(hidden_size, centres) / hidden_size**0.5)
        self.origins = nn.Parameter(torch.randn(1, hidden_size, centres) / hidden_size**0.5)
        self.norm = nn.LayerNorm(centres, eps=NORM_EPSILON)
        self.dropout = Dropout(dropout)
        self.gate = nn.Linear(hidden_size * centres, 2, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        """[Q, T, H] -> weights of what is seen and heard [Q, 2], their sum 1."""
        near = self.norm(words @ self.centres).softmax(2)  # [Q, T, K]
        pooled = words.transpose(1, 2) @ near - near.sum(1, keepdim=True) * self.origins  # [Q, H, K]
        pooled = functional.normalize(functional.normalize(pooled, dim=1).flatten(1), dim=1)
        return self.gate(self.dropout(pooled)).softmax(1)


class ClipScore(nn.Module):
    """A logit for every clip, from the clips around it."""

    def __init__(self, hidden: int, narrow: int, kernel_size: int) -> None:
        super().__init__()
        self.around = nn.Conv1d(hidden, narrow, kernel_size, padding=kernel_size // 2, bias=False)
        self.alone = nn.Conv1d(narrow, 1, 1, bias=False)

    def forward(self, rows: Tensor, layout: Layout) -> Tensor:
        """[R, H] -> [P, W]; no clip holds -1e4."""
        features = functional.relu(self.around(layout.spread(rows).transpose(1, 2)))  # [P, N, W]
        return wide(self.alone(features)).squeeze(1).masked_fill(~layout.real, NO_CLIP)


class VideoScore(nn.Module):
    """One score for each video, from its most telling rows; what is no clip is not left out, as released."""

    def __init__(self, features: ProjectedEncoder, config: ConquerConfig) -> None:
        super().__init__()
        self.features = features
        self.narrow = nn.Linear(config.hidden, config.narrow, bias=False)
        self.score = nn.Linear(config.narrow, 1, bias=False)

    def forward(self, rows: Tensor, layout: Layout) -> Tensor:
        """[R, 5 H] -> [P]."""
        mask = torch.arange(layout.width, device=rows.device) < layout.computed.to(rows.device)[:, None]
        features = layout.spread(wide(self.features(rows, layout))).masked_fill(~mask[..., None], NOTHING)
        return self.score(functional.relu(self.narrow(features.amax(1)))).squeeze(1)


def conquer_loss(output: ConquerOutput, batch: Batch, objective: Objective, draw: DrawNegatives | None = None) -> Loss:
    """Start and end among the clips of the own video and of the sampled ones; the own video among them.

    Nothing is drawn: its negatives are in the batch.
    """
    size = len(batch)
    starts = functional.cross_entropy(output.start.reshape(size, -1), batch.start, reduction="none")
    ends = functional.cross_entropy(output.end.reshape(size, -1), batch.end, reduction="none")
    terms = {"spans": (starts + ends).mean()}
    total = weighed(objective.span_weight * (starts + ends), batch, objective)
    if output.videos is not None:
        own = torch.zeros_like(batch.start)
        terms["videos"] = functional.cross_entropy(output.videos.reshape(size, -1), own)
        total = total + objective.own_video_weight * terms["videos"]
    return Loss(total, terms)
