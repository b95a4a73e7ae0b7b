"""Features of what is heard in clips: by the audio half of CLAP, or by the encoder of Whisper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import MissingModel, UnreadableFile
from moment_retrieval.features.attributes import Attributes
from moment_retrieval.features.extractors.base import DEFAULT, Film, Setup
from moment_retrieval.features.extractors.videos import opened, video_stream
from moment_retrieval.features.stores import Rows
from moment_retrieval.hub import loading, source_of, version_of
from moment_retrieval.preprocessing import CLIP_S

Samples = NDArray[np.float32]
CLIPS_TOGETHER = 16  # that CLAP takes at a time
KINDS = ("clap", "whisper")


def heard(path: Path, *, rate: int) -> tuple[Samples, int]:
    """Return the samples of a video's sound and how many clips it has.

    There are ``rate`` samples a second, from where the picture begins to where the sound ends; none without sound.

    Raises:
        UnreadableFile: there is no such file, or it shows no picture.
    """
    import av

    with opened(path) as container:
        begin_s, count = _extent(container)
    parts: list[Samples] = []
    with opened(path) as container:
        if not container.streams.audio:
            return np.zeros(0, np.float32), count
        resampler = av.AudioResampler(format="flt", layout="mono", rate=rate)
        lead_s: float | None = None
        for frame in container.decode(container.streams.audio[0]):
            lead_s = (frame.time or 0.0) - begin_s if lead_s is None else lead_s
            parts += [part.to_ndarray()[0] for part in resampler.resample(frame)]
        parts += [part.to_ndarray()[0] for part in resampler.resample(None)]
    samples = np.concatenate([*parts, np.zeros(0, np.float32)])
    lead = round((lead_s or 0.0) * rate)  # sound that begins later is preceded by silence
    samples = samples[-lead:] if lead < 0 else np.concatenate([np.zeros(lead, np.float32), samples])
    return samples.astype(np.float32)[: round(count * CLIP_S * rate)], count


def _extent(container: Any) -> tuple[float, int]:
    """Return when the picture begins, in seconds, and how many clips it has; nothing is decoded."""
    packets = container.demux(video_stream(container))
    stamps = [(packet.dts if packet.pts is None else packet.pts, packet.time_base) for packet in packets]  # AVI: dts
    times = [float(stamp * base) for stamp, base in stamps if stamp is not None]
    if not times:
        raise UnreadableFile("the pictures of the video have no times")
    begin_s = min(times)
    return begin_s, math.floor((max(times) - begin_s + 1e-6) / CLIP_S) + 1


def windows(samples: Samples, count: int, *, rate: int) -> list[Samples]:
    """Return the samples of each clip; those of the last may be fewer, and of those after the sound there are none."""
    bounds = [round(clip * CLIP_S * rate) for clip in range(count + 1)]
    return [samples[first:end] for first, end in pairwise(bounds)]


class AudioModel:
    """Features of films by their sound: zeros for a clip without any.

    CLAP hears each clip alone and gives its audio embedding. Whisper hears 30 s at a time, as it was trained; a clip's
    row is the mean of the encoder's states in its 1.5 s.
    """

    batch = 1

    def __init__(self, model: str, *, setup: Setup = DEFAULT) -> None:
        from transformers import AutoFeatureExtractor, AutoModel

        source = source_of(model)
        self.device = setup.device_name()
        with loading(model):
            self._extractor = AutoFeatureExtractor.from_pretrained(source)  # nosec B615 - as requested
            self._model = AutoModel.from_pretrained(source).eval().to(self.device)  # nosec B615 - as requested
            self.kind = self._model.config.model_type
            if self.kind not in KINDS:
                raise MissingModel(f"the model {model!r} is of the kind {self.kind!r}, not {' or '.join(KINDS)}")
            self.rate = int(self._extractor.sampling_rate)
            self.width = self._embedded([np.zeros(round(CLIP_S * self.rate), np.float32)]).shape[1]
        self._model_name = f"{model} {version_of(source)}"
        self.name = f"audio {self._model_name}"

    @property
    def attributes(self) -> Attributes:
        """How the features are made, for the file that keeps them."""
        is_clap = self.kind == "clap"
        values: Attributes = {"extractor": "audio-model", "model": self._model_name, "clip_s": CLIP_S}
        values |= {"layer": "audio embedding" if is_clap else "last state of the encoder"}
        values |= {"pooling": "the model's own" if is_clap else "mean over a clip"}
        return values | {"normalisation": "none", "width": self.width}

    def rows(self, items: Sequence[Film]) -> Iterator[Rows]:
        """One row for each clip of each film."""
        for film in items:
            samples, count = heard(film.path, rate=self.rate)
            parts = windows(samples, count, rate=self.rate)
            rows = np.zeros((count, self.width), np.float32)
            with_sound = [index for index, part in enumerate(parts) if part.any()]
            if with_sound:
                if self.kind == "clap":
                    rows[with_sound] = self._embedded([parts[index] for index in with_sound])
                else:
                    rows[with_sound] = self._encoded(samples, count)[with_sound]
            yield rows

    def _embedded(self, parts: Sequence[Samples]) -> Rows:
        """Samples of clips -> a row for each [n, width]."""
        if self.kind != "clap":
            return self._encoded(parts[0], 1)
        import torch

        rows: list[Rows] = []
        for start in range(0, len(parts), CLIPS_TOGETHER):
            together = list(parts[start : start + CLIPS_TOGETHER])
            values = self._extractor(together, sampling_rate=self.rate, return_tensors="pt").to(self.device)
            values["is_longer"] = torch.zeros(len(together), 1, dtype=torch.bool, device=self.device)  # else by chance
            with torch.inference_mode():
                features = self._model.get_audio_features(**values)
            features = features if hasattr(features, "dim") else features.pooler_output
            rows.append(features.float().cpu().numpy())
        return np.concatenate(rows)

    def _encoded(self, samples: Samples, count: int) -> Rows:
        """All samples of a film -> a row for each of its clips [count, width]."""
        import torch

        length_s = float(self._extractor.chunk_length)
        clips = max(1, int(length_s / CLIP_S))  # that Whisper hears at a time
        rows: list[Rows] = []
        for first in range(0, count, clips):
            part = samples[round(first * CLIP_S * self.rate) : round((first + clips) * CLIP_S * self.rate)]
            values = self._extractor(part, sampling_rate=self.rate, return_tensors="pt")["input_features"]
            with torch.inference_mode():
                states = self._model.get_encoder()(values.to(self.device)).last_hidden_state[0].float().cpu().numpy()
            bounds = [round(clip * CLIP_S / length_s * len(states)) for clip in range(min(clips, count - first) + 1)]
            rows += [states[start:end].mean(axis=0) for start, end in pairwise(bounds)]
        return np.stack(rows)
