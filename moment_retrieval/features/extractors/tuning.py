"""Tune a text model on texts by guessing masked words (Devlin et al. 2019, arXiv:1810.04805).

TVR's text features come from RoBERTa tuned so on the queries and subtitles of the training videos. Of the tokens 15 %
are to be guessed: 80 % of those are masked, 10 % replaced by any other, 10 % left as they are.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from moment_retrieval.errors import InvalidRecord, MissingModel, NotWritable, first_line
from moment_retrieval.features.extractors.base import DEFAULT, Setup
from moment_retrieval.features.extractors.texts import LONGEST
from moment_retrieval.hub import loading, source_of, version_of

OnProgress = Callable[[int, int, float], None]
IGNORED = -100  # a token that is not to be guessed, as cross-entropy marks it
MASK_SHARE, RANDOM_SHARE = 0.8, 0.1  # of the tokens to be guessed
WARM_UP = 0.1  # share of the steps over which the learning rate rises; it falls to zero over the others
CLIP = 1.0  # largest norm of a gradient
STATE = "state.pt"


@dataclass(frozen=True)
class Tuning:
    """How a model is tuned."""

    epochs: int = 3
    batch: int = 32  # texts
    rate: float = 5e-5  # largest learning rate
    mask: float = 0.15  # share of tokens that are to be guessed
    seed: int = 2018

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1:
            raise InvalidRecord(f"{self.epochs} epochs of {self.batch} texts a step: name one or more of each")
        if not 0 < self.mask < 1 or not self.rate > 0:
            raise InvalidRecord(f"mask {self.mask:g} must lie between 0 and 1, rate {self.rate:g} above 0")


@dataclass(frozen=True)
class Tuned:
    """A model that was tuned."""

    folder: Path  # which ``TextModel`` takes
    n_texts: int
    losses: list[float]  # mean of each epoch


def tune(
    texts: Sequence[str],
    model: str,
    folder: str | Path,
    *,
    tuning: Tuning = Tuning(),
    setup: Setup = DEFAULT,
    on_progress: OnProgress | None = None,
) -> Tuned:
    """Tune a model of transformers on texts and save it as a folder, which is put in place as a whole.

    After each epoch the state is kept beside the folder (``.<name>.part``). A call that was cut short goes on there,
    and ends with the same weights as one that was not.

    Args:
        texts: each once; empty ones are left out.
        model: a name on the hub or a folder, of a model with a token for masked words: RoBERTa, BERT and their like.
        folder: to be made; its parent is there.
        on_progress: called after each step with steps done, all steps, and the loss.

    Raises:
        MissingModel: the model cannot be loaded, or has no such token.
        NotWritable: the folder is there already, or an unfinished one was tuned otherwise.
        InvalidRecord: there is no text.
    """
    folder = Path(folder)
    if folder.exists():
        raise NotWritable(f"{folder} is there already; name another folder, or delete it")
    texts = list(dict.fromkeys(text.strip() for text in texts if text.strip()))
    if not texts:
        raise InvalidRecord("there is no text to tune the model on")
    network, tokenizer, source = _loaded(model, setup)
    rows = [tokenizer(text, truncation=True, max_length=_longest(network, tokenizer))["input_ids"] for text in texts]
    part = folder.with_name(f".{folder.name}.part")
    identity = {**asdict(tuning), "model": version_of(source), "texts": sha256(json.dumps(texts).encode()).hexdigest()}
    part.mkdir(exist_ok=True)
    steps = math.ceil(len(rows) / tuning.batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=tuning.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_factor(steps * tuning.epochs))
    training = {"network": network, "optimizer": optimizer, "schedule": schedule}
    losses = _resume(part, identity, training, network.device)
    for epoch in range(len(losses), tuning.epochs):
        torch.manual_seed(tuning.seed * 1_000 + epoch)  # of dropout
        generator = np.random.default_rng((tuning.seed, epoch))
        order = generator.permutation(len(rows))
        total = 0.0
        for step in range(steps):
            batch = [rows[index] for index in order[step * tuning.batch : (step + 1) * tuning.batch]]
            loss = _step(network, tokenizer, batch, tuning, generator)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
            if on_progress:
                on_progress(epoch * steps + step + 1, steps * tuning.epochs, float(loss.detach()))
        losses.append(total / steps)
        _keep(part, identity, training, losses)
    _save(part, folder, network, tokenizer)
    return Tuned(folder, len(texts), losses)


def masked(
    tokens: Tensor, guessable: Tensor, *, share: float, mask_token: int, n_tokens: int, generator: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Return tokens with some masked or replaced, and the tokens to be guessed (IGNORED elsewhere).

    Args:
        tokens: [B, L].
        guessable: [B, L], False for special tokens and padding.
        share: of the guessable tokens, drawn one by one.
        n_tokens: how many tokens there are to replace one by.
    """
    draws = torch.from_numpy(generator.random((2, *tokens.shape)))
    replacements = torch.from_numpy(generator.integers(n_tokens, size=tuple(tokens.shape)))
    chosen_tokens = guessable & (draws[0] < share)
    labels = torch.where(chosen_tokens, tokens, IGNORED)
    is_masked = chosen_tokens & (draws[1] < MASK_SHARE)
    is_replaced = chosen_tokens & ~is_masked & (draws[1] < MASK_SHARE + RANDOM_SHARE)
    visible = torch.where(is_masked, mask_token, torch.where(is_replaced, replacements, tokens))
    return visible, labels


def rate_factor(steps: int) -> Callable[[int], float]:
    """Return the learning rate of a step, as a share of the largest: up over the first tenth, then down to zero."""
    warm_up = max(1, round(WARM_UP * steps))

    def factor(step: int) -> float:
        return (step + 1) / warm_up if step < warm_up else max(0.0, (steps - step) / max(1, steps - warm_up))

    return factor


def _loaded(model: str, setup: Setup) -> tuple[Any, Any, str]:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    source = source_of(model)
    device = setup.device_name()
    with loading(model):
        tokenizer = AutoTokenizer.from_pretrained(source)  # nosec B615 - as requested
        if tokenizer.mask_token_id is None or tokenizer.pad_token_id is None:
            raise MissingModel(f"the tokenizer of the model {model!r} has no mask token; take one like roberta-base")
        return AutoModelForMaskedLM.from_pretrained(source).to(device).train(), tokenizer, source  # nosec B615


def _longest(network: Any, tokenizer: Any) -> int:
    positions = getattr(network.config, "max_position_embeddings", None) or LONGEST
    return min(LONGEST, tokenizer.model_max_length, positions)


def _step(
    network: Any, tokenizer: Any, batch: list[list[int]], tuning: Tuning, generator: np.random.Generator
) -> Tensor:
    """Return the loss: mean cross-entropy over the tokens to be guessed; zero where there is none."""
    padded = tokenizer.pad({"input_ids": batch}, return_tensors="pt")
    tokens, attention = padded["input_ids"], padded["attention_mask"]
    special = torch.isin(tokens, torch.tensor(tokenizer.all_special_ids))
    visible, labels = masked(
        tokens,
        attention.bool() & ~special,
        share=tuning.mask,
        mask_token=tokenizer.mask_token_id,
        n_tokens=len(tokenizer),
        generator=generator,
    )
    logits = network(input_ids=visible.to(network.device), attention_mask=attention.to(network.device)).logits
    total = functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten().to(network.device), ignore_index=IGNORED, reduction="sum"
    )
    return total / max(1, int((labels != IGNORED).sum()))


def _resume(part: Path, identity: dict[str, Any], training: dict[str, Any], device: Any) -> list[float]:
    """Return the losses of the epochs that an earlier call finished, and go on where it stopped."""
    file = part / STATE
    if not file.exists():
        return []
    try:
        state = torch.load(file, map_location=device, weights_only=True)  # nosec B614 - numbers alone
    except Exception as error:
        raise NotWritable(f"{file} cannot be read ({first_line(error)}); delete the folder {part}") from error
    if state["identity"] != identity:
        raise NotWritable(f"{part} was begun with other texts, another model or other options; delete it to begin anew")
    for name, value in training.items():
        value.load_state_dict(state[name])
    losses: list[float] = state["losses"]
    return losses


def _keep(part: Path, identity: dict[str, Any], training: dict[str, Any], losses: list[float]) -> None:
    states = {name: value.state_dict() for name, value in training.items()}
    unfinished = part / f"{STATE}.part"
    torch.save({"identity": identity, "losses": losses, **states}, unfinished)
    os.replace(unfinished, part / STATE)


def _save(part: Path, folder: Path, network: Any, tokenizer: Any) -> None:
    model_folder = part / "model"
    shutil.rmtree(model_folder, ignore_errors=True)
    network.save_pretrained(model_folder)
    tokenizer.save_pretrained(model_folder)
    os.replace(model_folder, folder)
    shutil.rmtree(part)
