"""Losses of the baselines.

Notation: B samples, each a query and the video of its moment; S [B, B] scores of every query (rows) with every video
(columns), the own ones on the diagonal; P [B, B] which videos are positives of which query, the diagonal among them;
L clips.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from moment_retrieval.batches import Batch
from moment_retrieval.settings import Objective

FRONT = 999.0  # puts positives before all scores, in a copy that is only sorted
NO_ONE = 1e-12  # added to counts that may be 0
DrawNegatives = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Loss:
    """Loss of a step, and the means it is made of, by name, before their weights."""

    total: Tensor
    terms: dict[str, Tensor]


@dataclass(frozen=True)
class RandomNegatives:
    """For every row one column that is no positive, drawn from the hardest ``pool``, or from all.

    Args:
        generator: on the CPU; its state says what comes next.
        pool: how many of the highest-scoring negatives are drawn from; None for all.
    """

    generator: torch.Generator
    pool: int | None = None

    def __call__(self, scores: Tensor, positives: Tensor) -> Tensor:
        """scores [B, B], positives [B, B] -> columns [B]; a row without negatives gets a positive."""
        first = positives.sum(1).cpu()
        beyond = len(scores) if self.pool is None else (first + self.pool).clamp(max=len(scores))
        shares = torch.rand(len(scores), generator=self.generator)
        ranks = first + (shares * (beyond - first)).long()
        return columns_at(scores, positives, ranks.clamp(max=len(scores) - 1).to(scores.device))


def columns_at(scores: Tensor, positives: Tensor, ranks: Tensor) -> Tensor:
    """The column of each row that lies at its rank [B], best first, positives before all others."""
    order = scores.detach().masked_fill(positives, FRONT).argsort(dim=1, descending=True, stable=True)
    return order.gather(1, ranks[:, None]).squeeze(1)


def weighed(losses: Tensor, batch: Batch, objective: Objective) -> Tensor:
    """The mean of losses per sample [B]."""
    return (losses * batch.similarity).mean() if objective.weigh_by_similarity else losses.mean()


def diagonal(size: int, device: torch.device) -> Tensor:
    """P when every query has one positive, its own."""
    return torch.eye(size, dtype=torch.bool, device=device)


def positives_of(batch: Batch, *, masked: bool) -> Tensor:
    """Return which videos of the batch are positives of which query [B, B]: the own one, and if ``masked`` the known.

    Raises:
        ValueError: ``masked``, and the batch does not know its positives.
    """
    if not masked:
        return diagonal(len(batch), batch.start.device)
    if batch.positives is None:
        raise ValueError("the mask of positives needs batches that know their positives")
    return batch.positives


def hinge(scores: Tensor, positives: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """How much less than ``margin`` the own video leads the negative one, per row [B]; 0 where there is no negative."""
    lead = scores.diagonal() - scores.gather(1, negatives[:, None]).squeeze(1)
    return functional.relu(margin - lead).masked_fill(positives.all(1), 0.0)


def both_hinges(scores: Tensor, positives: Tensor, draw: DrawNegatives, margin: float) -> tuple[Tensor, Tensor]:
    """Means of the hinges against other videos, and against other queries. The videos are drawn first."""
    videos = hinge(scores, positives, draw(scores, positives), margin)
    queries = hinge(scores.T, positives.T, draw(scores.T, positives.T), margin)
    return videos.mean(), queries.mean()


def boundary_loss(start: Tensor, end: Tensor, first: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropies of start and end logits [B, L] against clips [B], per sample [B] each."""
    return (
        functional.cross_entropy(start, first, reduction="none"),
        functional.cross_entropy(end, last, reduction="none"),
    )


def clip_loss(logits: Tensor, first: Tensor, last: Tensor, real: Tensor) -> Tensor:
    """Binary cross-entropy of clips' logits [B, L], the mean of real ones, per sample [B].

    Args:
        first, last: clips between which, both included, the label is 1 [B].
        real: True where a clip is [B, L].

    Source: XML (Lei et al. 2020, arXiv:2001.09099), how its proposal-based ablations are trained.
    """
    clip = torch.arange(logits.shape[1], device=logits.device)
    inside = ((clip >= first[:, None]) & (clip <= last[:, None])).to(logits.dtype)
    losses = functional.binary_cross_entropy_with_logits(logits, inside, reduction="none")
    return losses.masked_fill(~real, 0.0).sum(1) / real.sum(1).clamp(min=1)


def frame_contrast(scores: Tensor, inside: Tensor, outside: Tensor) -> Tensor:
    """Frame-level contrast: clips of the moment against the others of its video, by Jensen-Shannon bounds, [B].

    Args:
        scores: of each clip with the query [B, L], not normalised.
        inside: True for clips of the moment [B, L].
        outside: True for the other real clips [B, L].

    Source: ReLoCLNet (Zhang et al. 2021, arXiv:2105.06247), section 3.4.
    """
    far = functional.softplus(-scores)
    agree = ((math.log(2) - far) * inside).sum(1) / (inside.sum(1) + NO_ONE)
    differ = ((far + scores - math.log(2)) * outside).sum(1) / (outside.sum(1) + NO_ONE)
    return differ - agree


def video_contrast(scores: Tensor) -> Tensor:
    """Video-level contrast: every query against all videos and every video against all queries, per sample [B].

    The own pair stands in the denominator twice, as released with ReLoCLNet.
    """
    return torch.cat([scores, scores.T], dim=1).logsumexp(1) - scores.diagonal()


def masked_video_contrast(scores: Tensor, positives: Tensor) -> Tensor:
    """Video-level contrast in which other positives are no negatives, per sample [B].

    They are left out of the denominator, and the own pair stands there once.
    """
    others = positives & ~diagonal(len(scores), scores.device)
    rows = scores.masked_fill(others, -torch.inf)
    columns = scores.T.masked_fill(positives.T, -torch.inf)
    return torch.cat([rows, columns], dim=1).logsumexp(1) - scores.diagonal()


def summed_video_contrast(scores: Tensor, positives: Tensor, hard_scores: Tensor | None = None) -> Tensor:
    """Video-level contrast whose numerator sums all positives, per sample [B]; the own pair counts once.

    Args:
        hard_scores: [B] of one more negative each, which stands in the denominator alone.

    Source: TVR-Ranking (arXiv:2407.06597), where the mask takes the place of the diagonal in the numerator; with
    ``hard_scores`` the form in the repository of SPR.
    """
    columns = scores.T.masked_fill(diagonal(len(scores), scores.device), -torch.inf)
    pairs = torch.cat([scores, columns], dim=1)  # [B, 2B]
    numerator = pairs.masked_fill(~torch.cat([positives, positives.T], dim=1), -torch.inf).logsumexp(1)
    if hard_scores is not None:
        pairs = torch.cat([pairs, hard_scores[:, None]], dim=1)
    return pairs.logsumexp(1) - numerator
