"""Models of transformers make features from a folder, without a network; small random ones stand in for real ones."""

from pathlib import Path

import numpy as np
import pytest
import torch

from moment_retrieval.errors import InvalidRecord, MissingModel
from moment_retrieval.features.extractors import ExtractorName, Kind, extractor_of
from moment_retrieval.features.extractors.base import Film, Line, Sentence, Speech
from moment_retrieval.features.extractors.texts import pooled
from tests.moment_retrieval.features.test_pixels import film

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "man", "opens", "the", "door"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import BertConfig, BertModel, BertTokenizerFast  # not at the collection of every test

    folder = tmp_path_factory.mktemp("bert")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=12, **sizes)).save_pretrained(folder)
    return folder


def test_a_query_has_a_row_for_every_token_and_both_ends(bert: Path) -> None:
    from transformers import BertModel

    words = extractor_of(ExtractorName.TEXTS, Kind.QUERY, model=str(bert))
    texts = ("a man opens the door", "man", "man " * 50)
    first, second, long = words.rows([Sentence(str(number), text) for number, text in enumerate(texts)])
    assert (words.width, first.shape, second.shape) == (16, (7, 16), (3, 16))
    assert long.shape == (12, 16)  # as much as the model takes
    model = BertModel.from_pretrained(bert).eval()
    with torch.inference_mode():
        correct = model(torch.tensor([[2, 6, 3]])).last_hidden_state[0].numpy()
    np.testing.assert_allclose(second, correct, atol=1e-6)  # padding beside a longer text changes nothing


def test_subtitles_have_a_row_for_every_clip_the_largest_values_of_its_words(bert: Path) -> None:
    spoken = extractor_of(ExtractorName.TEXTS, Kind.SUBTITLE, model=str(bert))
    lines = [Line(1.6, 3.2, "a man"), Line(3.1, 3.3, "the door"), Line(7.0, 7.2, "  ")]
    talk, silence = spoken.rows([Speech("v", 5, lines), Speech("w", 3)])
    assert [bool(row.any()) for row in talk] == [False, True, True, False, False]
    assert silence.shape == (3, 16) and not silence.any()
    assert (talk[2] >= talk[1]).all() and (talk[2] > talk[1]).any()  # both lines are heard in the third clip
    words = [np.array([[1, -5], [0, 2]], np.float32), np.array([[-1, 9]], np.float32)]
    rows = pooled(3, [Line(0, 1.5, "a b"), Line(1.4, 99, "c")], words, 2)
    assert rows.tolist() == [[1, 9], [-1, 9], [-1, 9]]
    with pytest.raises(InvalidRecord, match="nan"):
        pooled(3, [Line(float("nan"), 2, "a")], words[:1], 2)


def tiny(kind: str, folder: Path) -> Path:
    import transformers

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    vision = {**sizes, "image_size": 32, "patch_size": 16}
    if kind == "vit":
        transformers.ViTModel(transformers.ViTConfig(**vision), add_pooling_layer=False).save_pretrained(folder)
        transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    elif kind == "resnet":
        config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])
        transformers.ResNetModel(config).save_pretrained(folder)
        transformers.ConvNextImageProcessorPil(size={"shortest_edge": 32}).save_pretrained(folder)
    else:
        config = transformers.CLIPConfig(text_config={**sizes, "vocab_size": 9}, vision_config=vision, projection_dim=6)
        transformers.CLIPModel(config).save_pretrained(folder)
        crop = {"height": 32, "width": 32}
        transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=crop).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(("kind", "width"), [("vit", 16), ("resnet", 16), ("clip", 6)])
def test_an_image_model_gives_a_row_for_every_clip(tmp_path: Path, kind: str, width: int) -> None:
    images = extractor_of(ExtractorName.IMAGES, Kind.VIDEO, model=str(tiny(kind, tmp_path / "model")))
    [rows] = images.rows([Film("a", film(tmp_path / "a.mp4", 4.0))])
    assert rows.shape == (3, width) and rows.dtype == np.float32 and np.isfinite(rows).all()
    assert not np.allclose(rows[0], rows[2], atol=1e-4)  # the red square
    assert np.allclose(rows[0], rows[1], atol=1e-2)


@pytest.mark.parametrize(("method", "kind"), [(ExtractorName.TEXTS, Kind.QUERY), (ExtractorName.IMAGES, Kind.VIDEO)])
def test_a_missing_model_is_reported(
    tmp_path: Path, method: ExtractorName, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in ("", "./nothing", "a/b/c", str(tmp_path)):
        with pytest.raises(MissingModel, match="there is no folder|cannot be loaded"):
            extractor_of(method, kind, model=model)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(MissingModel, match="HF_HUB_OFFLINE"):
        extractor_of(method, kind, model="nobody/nothing")
