"""Feature extractors: of videos by pixels or models of images, clips or sound, of texts by a text model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from moment_retrieval.features.extractors.base import DEFAULT, Extractor, Setup


class Kind(StrEnum):
    """Source of features."""

    VIDEO = "video"
    SUBTITLE = "subtitle"
    QUERY = "query"


class ExtractorName(StrEnum):
    PIXELS = "builtin-pixels"
    WORDS = "builtin-text"
    IMAGES = "image-model"
    TEXTS = "text-model"
    JOINT_TEXTS = "joint-text"
    RESNET = "resnet"
    I3D = "i3d"
    SLOWFAST = "slowfast"
    C3D = "c3d"
    VGG = "vgg"
    CLIPS = "video-model"
    AUDIO = "audio-model"


@dataclass(frozen=True)
class About:
    """Kinds of features that an extractor makes, and whether a model is to be named."""

    kinds: tuple[Kind, ...]
    asks_for_model: bool = False
    is_one_file: bool = False  # whether the model is a file of weights, or a folder that holds one, not of transformers


EXTRACTORS = {
    ExtractorName.PIXELS: About((Kind.VIDEO,)),
    ExtractorName.WORDS: About((Kind.SUBTITLE, Kind.QUERY)),
    ExtractorName.IMAGES: About((Kind.VIDEO,), asks_for_model=True),
    ExtractorName.TEXTS: About((Kind.SUBTITLE, Kind.QUERY), asks_for_model=True),
    ExtractorName.JOINT_TEXTS: About((Kind.QUERY,), asks_for_model=True),
    ExtractorName.RESNET: About((Kind.VIDEO,), asks_for_model=True),
    ExtractorName.I3D: About((Kind.VIDEO,), asks_for_model=True, is_one_file=True),
    ExtractorName.SLOWFAST: About((Kind.VIDEO,), asks_for_model=True, is_one_file=True),
    ExtractorName.C3D: About((Kind.VIDEO,), asks_for_model=True, is_one_file=True),
    ExtractorName.VGG: About((Kind.VIDEO,), asks_for_model=True, is_one_file=True),
    ExtractorName.CLIPS: About((Kind.VIDEO,), asks_for_model=True),
    ExtractorName.AUDIO: About((Kind.VIDEO,), asks_for_model=True),
}
LAST_LAYER = -1


def extractor_of(
    extractor_name: ExtractorName, kind: Kind, *, model: str = "", setup: Setup = DEFAULT, layer: int = LAST_LAYER
) -> Extractor:
    """The extractor, its model loaded.

    Args:
        layer: of a text model, counted from the last, -1.

    Raises:
        ValueError: it makes no features of this kind, or has no layers to choose from.
        MissingModel: the model cannot be loaded here.
    """
    if kind not in EXTRACTORS[extractor_name].kinds:
        raise ValueError(f"{extractor_name.value} makes no {kind.value} features")
    if kind is Kind.VIDEO:
        if layer != LAST_LAYER:
            raise ValueError(f"{extractor_name.value} takes no layer: text models do")
        return _video_extractor(extractor_name, model, setup)
    from moment_retrieval.features.extractors.texts import BUILTIN, JointTexts, Spoken, TextModel, Words

    if extractor_name is ExtractorName.JOINT_TEXTS:
        if layer != LAST_LAYER:
            raise ValueError(f"{extractor_name.value} takes no layer: text models do")
        return JointTexts(model, setup=setup)
    text = TextModel(BUILTIN if extractor_name is ExtractorName.WORDS else model, setup=setup, layer=layer)
    return Words(text) if kind is Kind.QUERY else Spoken(text)


def _video_extractor(extractor_name: ExtractorName, model: str, setup: Setup) -> Extractor:
    from moment_retrieval.features.extractors.videos import Images, Pixels, ResNet

    if extractor_name is ExtractorName.PIXELS:
        return Pixels()
    if extractor_name in (ExtractorName.IMAGES, ExtractorName.RESNET):
        return (ResNet if extractor_name is ExtractorName.RESNET else Images)(model, setup=setup)
    if extractor_name is ExtractorName.AUDIO:
        from moment_retrieval.features.extractors.audio import AudioModel

        return AudioModel(model, setup=setup)
    if extractor_name is ExtractorName.CLIPS:
        from moment_retrieval.features.extractors.video_models import VideoModel

        return VideoModel(model, setup=setup)
    from moment_retrieval.features.extractors.clip_networks import RECIPES, ClipNetwork, VGGFrames

    if extractor_name is ExtractorName.VGG:
        return VGGFrames(model, setup=setup)
    return ClipNetwork(RECIPES[extractor_name.value], model, setup=setup)
