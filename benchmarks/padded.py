"""The training step of the released code, re-stated plainly: everything padded, one tensor after the other.

Our models are compared with it, in numbers (tests) and in time (``train_step.py``). It computes with the weights of our
models, so that both start alike. Written from the specification of the computation, not from the released code.

Notation: B samples, L clips (128, or 100 for CONQUER), T words (30 for CONQUER, else the longest query), H features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from moment_retrieval.batches import Batch, Sequences
from moment_retrieval.losses import DrawNegatives, both_hinges, boundary_loss, frame_contrast, video_contrast, weighed
from moment_retrieval.models import blocks
from moment_retrieval.models.conquer import Conquer, ConquerOutput, conquer_loss
from moment_retrieval.models.reloclnet import Reloclnet
from moment_retrieval.models.two_stream import Stream, TwoStream
from moment_retrieval.settings import Objective

HIDDEN, NOTHING, NO_CLIP = -10_000.0, -1e10, -1e4
Masked = tuple[Tensor, Tensor]  # rows [B, L, D] and 1 where they are real [B, L]


@dataclass(frozen=True)
class PaddedBatch:
    """A batch as the released code has it."""

    queries: Masked
    video: Masked
    subtitle: Masked
    labels: Batch

    @classmethod
    def of(cls, batch: Batch, *, clips: int, words: int | None = None) -> PaddedBatch:
        """Padded to ``clips`` and ``words``; to the longest query without ``words``."""
        longest = int(batch.queries.lengths.max()) if words is None else words
        return cls(padded(batch.queries, longest), padded(batch.video, clips), padded(batch.subtitle, clips), batch)


def padded(sequences: Sequences, length: int) -> Masked:
    """Rows with zeros behind them, and the mask."""
    mask = (torch.arange(length) < sequences.lengths[:, None]).float().to(sequences.rows.device)
    cells = sequences.rows.new_zeros(len(sequences), length, sequences.rows.shape[1])
    cells[mask.bool()] = sequences.rows
    return cells, mask


def two_stream_loss(model: TwoStream, batch: PaddedBatch, objective: Objective, draw: DrawNegatives) -> Tensor:
    """The loss of XML or ReLoCLNet."""
    pictures, words = ask(model, batch.queries)
    visual, subtitle = levels(model, batch)
    masks = batch.video[1], batch.subtitle[1]
    score = (visual[model.score_level], subtitle[model.score_level])
    span = (visual[model.span_level], subtitle[model.span_level])
    scores = (cosines(pictures, score[0], masks[0]) + cosines(words, score[1], masks[1])) / 2
    start, end = boundaries(model, (pictures, words), span, masks[0])
    labels = batch.labels
    losses = objective.span_weight * sum(boundary_loss(start, end, labels.start, labels.end))
    if isinstance(model, Reloclnet):
        losses = losses + contrasts((pictures, words), (visual[1], subtitle[1]), masks, labels, objective)
    videos, queries = both_hinges(
        scores, torch.eye(len(labels), dtype=torch.bool, device=scores.device), draw, objective.margin
    )
    return weighed(losses, labels, objective) + videos + queries


def levels(model: TwoStream, batch: PaddedBatch) -> tuple[list[Tensor], list[Tensor]]:
    """Clips [B, L, H] after every encoder, of both streams."""
    streams = (model.video, model.subtitle)
    inputs = (batch.video, batch.subtitle)
    masks = batch.video[1], batch.subtitle[1]
    first = [
        encode(stream.encoder, add_positions(model.clip_position, project(stream.input, rows)), mask)
        for stream, (rows, mask) in zip(streams, inputs, strict=True)
    ]
    outputs: list[list[Tensor]] = [[first[0]], [first[1]]]
    for own, other in ((0, 1), (1, 0)):
        both = torch.einsum("bm,bn->bmn", masks[own], masks[other])
        rows = meet(streams[own], first[own], first[other], both)
        for block in streams[own].deeper:
            rows = encode(block, rows, masks[own])
            outputs[own].append(rows)
    return outputs[0], outputs[1]


def ask(model: TwoStream, queries: Masked) -> tuple[Tensor, Tensor]:
    rows, mask = queries
    rows = add_positions(model.query_position, project(model.query_input, rows))
    for block in model.query_encoders:
        rows = encode(block, rows, mask)
    shares = torch.softmax(logits_of(model.query_split(rows), mask.unsqueeze(2)), dim=1)
    pictures, words = torch.einsum("blm,bld->bmd", shares, rows).unbind(1)
    return pictures, words


def boundaries(model: TwoStream, queries: Any, level: Any, mask: Tensor) -> tuple[Tensor, Tensor]:
    visual = torch.einsum("bd,bld->bl", model.video.span_query(queries[0]), level[0])
    subtitle = torch.einsum("bd,bld->bl", model.subtitle.span_query(queries[1]), level[1])
    similarity = ((visual + subtitle) / 2).unsqueeze(1)
    start, end = (head(similarity).squeeze(1) for head in (model.span_head.start, model.span_head.end))
    return logits_of(start, mask), logits_of(end, mask)


def contrasts(queries: Any, mid: Any, masks: Any, labels: Batch, objective: Objective) -> Tensor:
    """ReLoCLNet's, per sample [B]."""
    clip = torch.arange(mid[0].shape[1], device=mid[0].device)
    inside = (clip >= labels.start[:, None]) & (clip <= labels.end[:, None])
    frames = sum(
        frame_contrast(torch.einsum("bd,bld->bl", query, rows), inside.float(), (~inside).float() * mask)
        for query, rows, mask in zip(queries, mid, masks, strict=True)
    )
    videos = sum(
        best(torch.einsum("md,nld->mln", query, rows), mask)
        for query, rows, mask in zip(queries, mid, masks, strict=True)
    )
    return objective.frame_weight * frames / 2 + objective.video_weight * video_contrast(videos / 2)


def cosines(query: Tensor, rows: Tensor, mask: Tensor) -> Tensor:
    """[B, B]: of every query with the best clip of every video."""
    query, rows = functional.normalize(query, dim=-1), functional.normalize(rows, dim=-1)
    return best(torch.einsum("md,nld->mln", query, rows), mask)


def best(products: Tensor, mask: Tensor) -> Tensor:
    """[B, L, B] -> [B, B]: the largest of real clips."""
    return logits_of(products, mask.transpose(0, 1).unsqueeze(0)).max(dim=1)[0]


def conquer_step_loss(model: Conquer, batch: PaddedBatch, objective: Objective) -> Tensor:
    """The loss of CONQUER; for every clip and word there is a row of 3 H features."""
    (rows, word_mask), (visual, mask), (subtitle, subtitle_mask) = batch.queries, batch.video, batch.subtitle
    visual = add_positions(model.clip_position, project(model.visual_input, visual), kind=0)
    subtitle = add_positions(model.clip_position, project(model.subtitle_input, subtitle), kind=1)
    both = encode(model.clip_encoder, torch.cat([visual, subtitle], dim=1), torch.cat([mask, subtitle_mask], dim=1))
    visual, subtitle = both.split(mask.shape[1], dim=1)
    words = encode(
        model.query_encoder, add_positions(model.query_position, project(model.query_input, rows), kind=1), word_mask
    )
    weights = model.fusion(words)
    fused = weights[:, :1, None] * visual + weights[:, 1:, None] * subtitle
    aware = flow(model, fused, words, mask, word_mask)
    context = encode(model.context.encoder, project(model.context.input, aware), mask)
    aware = torch.cat([aware, context], dim=2)
    start = encode(model.start.encoder, project(model.start.input, aware), mask)
    end = encode(model.end.encoder, project(model.end.input, torch.cat([context, start], dim=2)), mask)
    logits = (
        head.alone(functional.relu(head.around(features.transpose(1, 2)))).squeeze(1)
        for head, features in ((model.start_score, start), (model.end_score, end))
    )
    start, end = (one * mask + (1 - mask) * NO_CLIP for one in logits)
    return conquer_loss(ConquerOutput(start, end, None), batch.labels, objective).total


def flow(model: Conquer, clips: Tensor, words: Tensor, mask: Tensor, word_mask: Tensor) -> Tensor:
    """Attention flow [B, L, 4 H] by way of [B, L, T, 3 H]."""
    count, length = clips.shape[1], words.shape[1]
    clip_rows = clips.unsqueeze(2).repeat(1, 1, length, 1)
    word_rows = words.unsqueeze(1).repeat(1, count, 1, 1)
    alike = model.flow(torch.cat([clip_rows, word_rows, clip_rows * word_rows], dim=-1)).squeeze(-1)
    both = torch.einsum("bm,bn->bmn", mask, word_mask)
    towards = torch.bmm(torch.softmax(logits_of(alike, both), dim=2), words)
    shares = torch.softmax(logits_of(alike, both).max(dim=2)[0], dim=1).unsqueeze(1)
    back = torch.bmm(shares, clips).repeat(1, count, 1)
    return torch.cat([clips, towards, clips * towards, clips * back], dim=2)


def drop(block: blocks.Dropout, rows: Tensor) -> Tensor:
    return functional.dropout(rows, block.share, block.training)


def project(block: blocks.InputProjection, rows: Tensor) -> Tensor:
    return functional.relu(block.linear(drop(block.dropout, block.norm(rows))))


def add_positions(block: blocks.PositionalEncoding, rows: Tensor, kind: int | None = None) -> Tensor:
    position = torch.arange(rows.shape[1], device=rows.device).unsqueeze(0).repeat(rows.shape[0], 1)
    rows = rows + block.place(position)
    if kind is not None and block.kind is not None:
        rows = rows + block.kind(torch.full_like(position, kind))
    return drop(block.dropout, block.norm(rows))


def encode(block: blocks.EncoderBlock, rows: Tensor, mask: Tensor) -> Tensor:
    """A transformer layer [B, L, H]; the mask [B, L] is of the keys."""
    mixed = attend(block.attention, rows, rows, mask.unsqueeze(1))
    rows = block.norm(drop(block.dropout, block.mix(mixed)) + rows)
    return bend(block.feed_forward, rows) if isinstance(block.feed_forward, blocks.FeedForward) else rows


def bend(block: blocks.FeedForward, rows: Tensor) -> Tensor:
    """BERT's second half; its GELU is put together from single operations, as in the released code."""
    inner = block.outward(rows)
    inner = inner * 0.5 * (1.0 + torch.erf(inner / math.sqrt(2.0)))
    return block.norm(drop(block.dropout, block.back(inner)) + rows)


def meet(stream: Stream, own: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    return stream.meeting.norm(attend(stream.meeting.attention, own, other, mask) + own)


def attend(block: blocks.Attention, own: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    """Attention of rows [B, L, H] over rows [B, L', H]; the mask is [B, 1 or L, L']."""
    query, key, value = (
        linear(rows).view(rows.shape[0], rows.shape[1], block.heads, -1).permute(0, 2, 1, 3).contiguous()
        for linear, rows in ((block.query, own), (block.key, other), (block.value, other))
    )
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.shape[-1])
    scores = scores + (1 - mask.unsqueeze(1)) * HIDDEN
    shares = drop(block.dropout, torch.softmax(scores, dim=-1))
    return torch.matmul(shares, value).permute(0, 2, 1, 3).contiguous().flatten(2)


def logits_of(values: Tensor, mask: Tensor) -> Tensor:
    return values * mask + (1 - mask) * NOTHING


def plain_adam(groups: list[dict[str, Any]], *, clips_each: bool) -> torch.optim.AdamW:
    """Return an AdamW that goes from parameter to parameter, as the released ones do; BertAdam clips each gradient."""
    optimiser = torch.optim.AdamW(groups, lr=1e-4, eps=1e-6, foreach=False)

    def clip_each(*_: object) -> None:
        for group in groups:
            for parameter in group["params"]:
                nn.utils.clip_grad_norm_(parameter, 1.0)

    if clips_each:
        optimiser.register_step_pre_hook(clip_each)
    return optimiser
