"""ReLoCLNet: contrastive learning for moment retrieval (Zhang et al. 2021, arXiv:2105.06247), by TVR-Ranking."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from moment_retrieval.batches import Batch, Layout
from moment_retrieval.distributed import ONE_PROCESS, SingleProcess
from moment_retrieval.losses import (
    DrawNegatives,
    Loss,
    both_hinges,
    boundary_loss,
    frame_contrast,
    masked_video_contrast,
    positives_of,
    summed_video_contrast,
    video_contrast,
    weighed,
)
from moment_retrieval.models.two_stream import TwoStream, best_clip, clip_scores, mean_of
from moment_retrieval.settings import Objective, ReloclnetConfig


@dataclass(frozen=True)
class ReloclnetOutput:
    """Inputs of the losses of a batch."""

    scores: Tensor  # of every query with every video [B, B]
    # start, end: logits in the own video [B, W]
    start: Tensor
    end: Tensor
    frames: tuple[Tensor, ...]  # products of each query part with the clips of its own video, by stream [B, W]
    videos: Tensor  # products of every query with the best clip of every video, streams averaged [B, B]
    layouts: tuple[Layout, ...]  # which clips are real, by stream


class Reloclnet(TwoStream):
    """Videos are scored and moments found after the third encoder; the contrasts look at the second."""

    contrast_level = 1

    def __init__(self, config: ReloclnetConfig) -> None:
        super().__init__(config, encoders=3, query_encoders=2, score_level=2, span_level=2)

    def forward(self, batch: Batch, processes: SingleProcess = ONE_PROCESS) -> ReloclnetOutput:
        queries, videos = self.encode_queries(batch.queries), self.encode_videos(batch.video, batch.subtitle)
        level, layouts, all_queries = videos.levels[self.contrast_level], videos.layouts, processes.queries(queries)
        start, end = self.span_logits(queries, videos)
        return ReloclnetOutput(
            processes.columns(self.video_scores(all_queries, videos)),
            processes.logits(start),
            processes.logits(end),
            frames=tuple(map(processes.cells, map(clip_scores, queries, level, layouts))),
            videos=processes.columns(mean_of(map(best_clip, all_queries, level, layouts))),
            layouts=tuple(map(processes.layout, layouts)),
        )


def reloclnet_loss(output: ReloclnetOutput, batch: Batch, objective: Objective, draw: DrawNegatives) -> Loss:
    """XML's losses, and contrasts that pull a query to its clips and to its video."""
    positives = positives_of(batch, masked=objective.mask_positives)
    spans = sum(boundary_loss(output.start, output.end, batch.start, batch.end))
    frames = mean_of(frame_losses(output, batch))
    if objective.sum_positives:
        videos = summed_video_contrast(output.videos, positives_of(batch, masked=True))
    elif objective.mask_positives:
        videos = masked_video_contrast(output.videos, positives)
    else:
        videos = video_contrast(output.videos)
    contrast = objective.frame_weight * frames + objective.video_weight * videos
    against_videos, against_queries = both_hinges(output.scores, positives, draw, objective.margin)
    total = weighed(contrast + objective.span_weight * spans, batch, objective) + against_videos + against_queries
    terms = {
        "spans": spans.mean(),
        "frame_contrast": frames.mean(),
        "video_contrast": videos.mean(),
        "videos": against_videos,
        "queries": against_queries,
    }
    return Loss(total, terms)


def frame_losses(output: ReloclnetOutput, batch: Batch) -> tuple[Tensor, Tensor]:
    """The frame contrast of each stream [B]; the moment is all clips from start to end, both included."""
    width = output.frames[0].shape[1]
    clip = torch.arange(width, device=batch.start.device)
    inside = (clip >= batch.start[:, None]) & (clip <= batch.end[:, None])
    visual, subtitle = (
        frame_contrast(scores, inside, ~inside & layout.real)
        for scores, layout in zip(output.frames, output.layouts, strict=True)
    )
    return visual, subtitle
