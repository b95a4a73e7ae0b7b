"""XML, cross-modal moment localisation (Lei et al. 2020, arXiv:2001.09099), as TVR-Ranking changed it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from moment_retrieval.batches import Batch
from moment_retrieval.distributed import ONE_PROCESS, SingleProcess
from moment_retrieval.losses import DrawNegatives, Loss, both_hinges, boundary_loss, positives_of, weighed
from moment_retrieval.models.two_stream import TwoStream
from moment_retrieval.settings import Objective, XmlConfig


@dataclass(frozen=True)
class XmlOutput:
    """Scores of every query with every video [B, B]; start and end logits in the own video [B, W]."""

    scores: Tensor
    start: Tensor
    end: Tensor

    def span_losses(self, batch: Batch) -> Tensor:
        """Cross-entropies of start and end, their sum per sample [B]."""
        start, end = boundary_loss(self.start, self.end, batch.start, batch.end)
        return start + end


class Xml(TwoStream):
    """Videos are scored by clips before the streams meet; moments are found after."""

    def __init__(self, config: XmlConfig) -> None:
        super().__init__(config, encoders=2, query_encoders=1, score_level=0, span_level=1)

    def forward(self, batch: Batch, processes: SingleProcess = ONE_PROCESS) -> XmlOutput:
        queries, videos = self.encode_queries(batch.queries), self.encode_videos(batch.video, batch.subtitle)
        scores = processes.columns(self.video_scores(processes.queries(queries), videos))
        return XmlOutput(scores, *map(processes.logits, self.span_logits(queries, videos)))


def xml_loss(output: XmlOutput, batch: Batch, objective: Objective, draw: DrawNegatives) -> Loss:
    """Start and end in the own video, the own video before others, the own query before others."""
    spans = output.span_losses(batch)
    videos, queries = both_hinges(
        output.scores, positives_of(batch, masked=objective.mask_positives), draw, objective.margin
    )
    total = weighed(objective.span_weight * spans, batch, objective) + videos + queries
    return Loss(total, {"spans": spans.mean(), "videos": videos, "queries": queries})
