"""Features of pixels, and of models of transformers: small random ones in a folder stand in for real ones."""

import shutil
from pathlib import Path

import av
import numpy as np
import pytest
import torch

from moment_retrieval.errors import InvalidRecord, MissingModel, UnreadableFile
from moment_retrieval.features.extractors import ExtractorName, Kind, extractor_of
from moment_retrieval.features.extractors.base import Film, Line, Sentence, Speech
from moment_retrieval.features.extractors.texts import pooled
from moment_retrieval.features.extractors.videos import Pixels, clip_count, clips

FPS = 8


def film(path: Path, seconds: float, *, size: tuple[int, int] = (96, 64), square: bool = True) -> Path:
    """A grey picture; a red square crosses it from the second 3 on."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"crf": "18", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for number in range(round(seconds * FPS)):
            picture = np.full((size[1], size[0], 3), 128, np.uint8)
            if square and number >= 3 * FPS:
                x_left = (number - 3 * FPS) * 4 % (size[0] - 16)
                picture[8:24, x_left : x_left + 16] = (220, 20, 20)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def rows_of(path: Path, name: str = "a") -> np.ndarray:
    [rows] = Pixels().rows([Film(name, path)])
    return rows


@pytest.mark.parametrize(("seconds", "count"), [(0.5, 1), (1.5, 1), (1.625, 2), (6.0, 4)])
def test_there_is_a_row_for_every_clip(tmp_path: Path, seconds: float, count: int) -> None:
    rows = rows_of(film(tmp_path / "a.mp4", seconds))
    assert rows.shape == (count, 512) and rows.dtype == np.float32 and np.isfinite(rows).all()
    assert clip_count(seconds) == count


def test_frames_of_a_clip_are_those_of_its_time_or_the_last_before(tmp_path: Path) -> None:
    clip_frames = list(clips(film(tmp_path / "a.mp4", 4.0), rate=4.0, size=(48, 32)))
    assert [len(frames) for frames in clip_frames] == [6, 6, 4] and clip_frames[0].shape[1:] == (32, 48, 3)
    reddest = [int(frames[..., 0].max()) for frames in clip_frames]
    assert reddest[0] < 150 and reddest[1] < 150 and reddest[2] > 190
    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for pts, value in ((0, 40), (5 * FPS, 200)):  # nothing for five seconds
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), value, np.uint8), format="rgb24")
            frame.pts = pts
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    shades = [round(float(frames.mean()), -1) for frames in clips(tmp_path / "a.mkv", rate=4.0)]
    assert shades == [40, 40, 40, 200]


def test_a_file_of_another_name_or_beside_others_gives_equal_features(tmp_path: Path) -> None:
    path, other = film(tmp_path / "friends_waves.mp4", 6.0), film(tmp_path / "b.mp4", 3.0, square=False)
    renamed = shutil.copy(path, tmp_path / "x17.mp4")
    rows = rows_of(path, "waves")
    _, in_a_list = Pixels().rows([Film("b", other), Film("somebody dances", renamed)])
    np.testing.assert_array_equal(rows, in_a_list)
    still, moving = np.linalg.norm(rows[0] - rows[1]), np.linalg.norm(rows[0] - rows[2])
    assert moving > 10 * still


def test_what_is_no_video_says_so(tmp_path: Path) -> None:
    (tmp_path / "junk.mp4").write_bytes(b"junk" * 1000)
    (tmp_path / "list.m3u8").write_text("#EXTM3U\n#EXTINF:10,\n/etc/hostname\n")
    path = film(tmp_path / "cut.mp4", 4.0)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ValueError, match="builtin-pixels makes no query features"):
        extractor_of(ExtractorName.PIXELS, Kind.QUERY)
    for name in ("junk.mp4", "list.m3u8", "cut.mp4", "nothing.mp4"):
        with pytest.raises(UnreadableFile, match="corrupt or not a video|does not exist"):
            rows_of(tmp_path / name)


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
        with pytest.raises(MissingModel, match="there is no folder|holds no config.json|cannot be loaded"):
            extractor_of(method, kind, model=model)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(MissingModel, match="HF_HUB_OFFLINE"):
        extractor_of(method, kind, model="nobody/nothing")
