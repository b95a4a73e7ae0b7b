"""Videos that CONQUER sees beside a query's own one, drawn from the list of the first stage.

Notation: Q queries, n listed videos of each, B samples of a step, k sampled videos of each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from moment_retrieval.settings import Objective
from moment_retrieval.training.plan import BadPlan

LAST_RANK = 100  # of the own video: where it is not among so many, it ranks there
STREAM = 2  # of random numbers, by the seed; others order samples and shuffle links


def list_length(objective: Objective) -> int:
    """Return how many listed videos of a query its sampled ones may come from, the own one among them."""
    return LAST_RANK + objective.sampled_pool + 1 if objective.sampled_videos else 0


@dataclass(frozen=True, eq=False)
class VideoSampler:
    """Draws ``count`` videos for each sample, by seed and step alone: a training goes on with the same ones.

    They are any of the videos that rank above the own one, and of the ``pool`` next, each at most once.

    Source: CONQUER (Hou et al. 2021, arXiv:2109.10016) and its released code.
    """

    lists: Tensor  # [Q, n] numbers of videos, best first; -1 is none
    count: int  # k
    pool: int
    seed: int

    def __call__(self, query: Tensor, video: Tensor, step: int) -> Tensor:
        """Queries and their own videos [B] of a step -> sampled videos [B, k]."""
        lists = self.lists[query]
        generator = np.random.default_rng([self.seed, STREAM, step])
        keys = torch.from_numpy(generator.random(lists.shape, dtype=np.float32))
        columns = keys.masked_fill(~self.allowed(lists, video), -1.0).topk(self.count, dim=1).indices
        return lists.gather(1, columns)

    def allowed(self, lists: Tensor, video: Tensor) -> Tensor:
        """Which listed videos may be drawn beside the own ones [B, n]."""
        own, column = lists == video[:, None], torch.arange(lists.shape[1])
        position = torch.where(own.any(1), own.int().argmax(1), LAST_RANK)
        above = position.clamp(max=LAST_RANK)  # how many videos rank above the own one
        others = column - (column > own.int().argmax(1)[:, None]).long() * own.any(1)[:, None]  # without the own one
        return (others < (above + self.pool)[:, None]) & ~own & (lists >= 0)

    def suffices(self, query: Tensor, video: Tensor) -> bool:
        """Return whether enough videos can be drawn for every sample."""
        return bool((self.allowed(self.lists[query], video).sum(1) >= self.count).all())

    def check(self, query: Tensor, video: Tensor, query_ids: tuple[str, ...]) -> None:
        """Raise BadPlan where the list of a sample is too short to draw from."""
        for rows in torch.arange(len(query)).split(4096):
            counts = self.allowed(self.lists[query[rows]], video[rows]).sum(1)
            if len(short := (counts < self.count).nonzero()):
                row = int(short[0])
                query_id, there = query_ids[int(query[rows][row])], int(counts[row])
                raise BadPlan(
                    f"candidates: {there} videos can be sampled for training query {query_id}, and sampled_videos of "
                    f"objective is {self.count}: name longer lists, raise sampled_pool, or sample fewer"
                )
