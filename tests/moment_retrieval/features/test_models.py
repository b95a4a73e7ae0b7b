"""ResNet as published, SigLIP, VideoMAE, CLAP, Whisper and layers of text models: small random ones, rows by hand."""

import json
from pathlib import Path

import av
import numpy as np
import pytest
import torch

from moment_retrieval.errors import MissingModel, UnreadableFile
from moment_retrieval.features.extractors import ExtractorName, Kind, extractor_of
from moment_retrieval.features.extractors.audio import heard
from moment_retrieval.features.extractors.base import Extractor, Film, Line, Sentence, Speech
from moment_retrieval.features.extractors.video_models import frames_of
from moment_retrieval.features.extractors.videos import clips, timed_clips
from tests.moment_retrieval.features.test_extractors import bert, film, tiny

__all__ = ["bert"]  # a fixture
SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
RATE = 16_000


@pytest.fixture(scope="module")
def short_film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return film(tmp_path_factory.mktemp("film") / "a.mp4", 4.0)


def rows_of(extractor: Extractor, path: Path) -> np.ndarray:
    [rows] = extractor.rows([Film("a", path)])
    return rows


def test_resnet_gives_the_largest_values_of_three_frames_a_second(tmp_path: Path, short_film: Path) -> None:
    from transformers import AutoImageProcessor, ResNetModel

    resnet = extractor_of(ExtractorName.RESNET, Kind.VIDEO, model=str(tiny("resnet", tmp_path / "model")))
    rows = rows_of(resnet, short_film)
    times = [times.tolist() for times, _ in timed_clips(short_film, rate=3.0, offset_s=0.1)]
    assert times[0] == [0.125, 0.5, 0.875, 1.125]  # of 8 a second, the first at or after 0.1, 0.43, ...
    frames = list(clips(short_film, rate=3.0, offset_s=0.1))[1]
    processor = AutoImageProcessor.from_pretrained(tmp_path / "model", backend="pil")
    pixels = processor(images=list(frames), return_tensors="pt")["pixel_values"]
    with torch.inference_mode():
        pooled = ResNetModel.from_pretrained(tmp_path / "model").eval()(pixels).pooler_output.flatten(1)
    np.testing.assert_allclose(rows[1], pooled.max(dim=0).values.numpy(), rtol=1e-4, atol=1e-6)
    attributes = resnet.attributes
    assert (attributes["fps"], attributes["pooling"]) == (3.0, "max over the frames of a clip")
    assert (attributes["normalisation"], attributes["width"], attributes["clip_s"]) == ("none", 16, 1.5)
    with pytest.raises(MissingModel, match="of the kind 'vit', not a ResNet. Take the extractor image-model"):
        extractor_of(ExtractorName.RESNET, Kind.VIDEO, model=str(tiny("vit", tmp_path / "vit")))


@pytest.mark.parametrize(("seconds", "count"), [(0.125, 1), (1.5, 1), (1.625, 2), (3.0, 2)])
def test_every_clip_has_a_frame_though_none_is_due_in_it(tmp_path: Path, seconds: float, count: int) -> None:
    path = film(tmp_path / "a.mp4", seconds, square=False)
    assert len(list(clips(path, rate=3.0, offset_s=0.1))) == count == len(list(clips(path, rate=2.0)))


def test_the_shorter_side_of_frames_can_be_chosen(short_film: Path) -> None:
    assert next(clips(short_film, rate=1.0, size=32)).shape == (2, 32, 48, 3)  # of 96 x 64


def test_siglip_is_an_image_model(tmp_path: Path, short_film: Path) -> None:
    from transformers import SiglipConfig, SiglipImageProcessorPil, SiglipModel

    torch.manual_seed(0)
    vision = {**SIZES, "image_size": 32, "patch_size": 16}
    config = SiglipConfig(text_config={**SIZES, "vocab_size": 9}, vision_config=vision)
    SiglipModel(config).save_pretrained(tmp_path)
    SiglipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    siglip = extractor_of(ExtractorName.IMAGES, Kind.VIDEO, model=str(tmp_path))
    rows = rows_of(siglip, short_film)
    assert rows.shape == (3, 16) and siglip.attributes["fps"] == 2.0
    assert siglip.attributes["pooling"] == "mean over the frames of a clip"


def test_videomae_gives_the_mean_over_the_tokens_of_a_clip(tmp_path: Path, short_film: Path) -> None:
    from transformers import VideoMAEConfig, VideoMAEImageProcessorPil, VideoMAEModel

    torch.manual_seed(0)
    config = VideoMAEConfig(**SIZES, image_size=32, patch_size=16, num_frames=4, tubelet_size=2)
    model = VideoMAEModel(config).eval()
    model.save_pretrained(tmp_path)
    processor = VideoMAEImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    processor.save_pretrained(tmp_path)
    extractor = extractor_of(ExtractorName.CLIPS, Kind.VIDEO, model=str(tmp_path))
    rows = rows_of(extractor, short_film)
    _, frames = list(timed_clips(short_film, rate=4 / 1.5, size=256))[1]
    pixels = processor(images=list(frames), return_tensors="pt")["pixel_values"]
    assert pixels.shape == (1, 4, 3, 32, 32)
    with torch.inference_mode():
        row = model(pixel_values=pixels).last_hidden_state[0].mean(dim=0).numpy()
    assert rows.shape == (3, 16)
    np.testing.assert_allclose(rows[1], row, rtol=1e-4, atol=1e-5)
    attributes = extractor.attributes
    assert (attributes["frames"], attributes["layer"], attributes["width"]) == (4, "last hidden state", 16)
    assert attributes["fps"] == pytest.approx(4 / 1.5) and attributes["pooling"] == "mean over the tokens of a clip"
    assert frames_of(object()) == 16


def with_sound(path: Path, seconds: float, *, sound_s: tuple[float, float]) -> Path:
    """A grey film that sounds in a span of time, and is silent before and behind it."""
    with av.open(str(path), "w") as container:
        picture = container.add_stream("libx264", rate=8, options={"preset": "ultrafast"})
        picture.width, picture.height, picture.pix_fmt = 32, 32, "yuv420p"
        sound = container.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for _ in range(round(seconds * 8)):
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), 128, np.uint8), format="rgb24")
            container.mux(picture.encode(frame))
        container.mux(picture.encode())
        moments = np.arange(round(sound_s[1] * RATE)) / RATE
        wave = (np.sin(2 * np.pi * 440 * moments) * 20_000 * (moments >= sound_s[0])).astype(np.int16)
        samples = av.AudioFrame.from_ndarray(wave[None], format="s16", layout="mono")
        samples.sample_rate = RATE
        container.mux(sound.encode(samples))
        container.mux(sound.encode())
    return path


@pytest.fixture(scope="module")
def sounding_film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five clips; the second and the third sound."""
    return with_sound(tmp_path_factory.mktemp("sound") / "a.mkv", 7.0, sound_s=(1.5, 4.5))


def test_sound_is_heard_at_its_time(sounding_film: Path, short_film: Path, tmp_path: Path) -> None:
    samples, count = heard(sounding_film, rate=8_000)
    assert count == 5 and len(samples) == pytest.approx(4.5 * 8_000, abs=200) and samples.dtype == np.float32
    assert not samples[:11_800].any() and np.abs(samples[12_200:35_000]).max() == pytest.approx(
        20_000 / 2**15, abs=0.05
    )
    silence, count = heard(short_film, rate=8_000)
    assert count == 3 and not len(silence)
    (tmp_path / "junk.mp4").write_bytes(b"junk" * 100)
    with pytest.raises(UnreadableFile, match="corrupt or not a video"):
        heard(tmp_path / "junk.mp4", rate=8_000)


@pytest.fixture(scope="module")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperModel

    folder = tmp_path_factory.mktemp("whisper")
    torch.manual_seed(0)
    layers = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    sizes = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "vocab_size": 9, "num_mel_bins": 8}
    special = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"), 1)
    config = WhisperConfig(**layers, **sizes, **special, max_source_positions=300, max_target_positions=4)
    WhisperModel(config).save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=8, chunk_length=6).save_pretrained(folder)
    return folder


def test_whisper_gives_the_mean_state_of_a_clip_and_zeros_for_silence(whisper: Path, sounding_film: Path) -> None:
    from transformers import WhisperFeatureExtractor, WhisperModel

    extractor = extractor_of(ExtractorName.AUDIO, Kind.VIDEO, model=str(whisper))
    rows = rows_of(extractor, sounding_film)
    assert rows.shape == (5, 16) and [bool(row.any()) for row in rows] == [False, True, True, False, False]
    samples, _ = heard(sounding_film, rate=RATE)
    values = WhisperFeatureExtractor.from_pretrained(whisper)(
        samples[: 6 * RATE], sampling_rate=RATE, return_tensors="pt"
    )
    with torch.inference_mode():
        encoder = WhisperModel.from_pretrained(whisper).eval().get_encoder()
        states = encoder(values["input_features"]).last_hidden_state[0].numpy()
    assert len(states) == 300  # 6 s, 20 ms each
    np.testing.assert_allclose(rows[2], states[150:225].mean(axis=0), rtol=1e-4, atol=1e-5)
    attributes = extractor.attributes
    assert (attributes["pooling"], attributes["width"]) == ("mean over a clip", 16) and "fps" not in attributes


def test_a_film_longer_than_whisper_hears_at_a_time_goes_on(whisper: Path, tmp_path: Path) -> None:
    path = with_sound(tmp_path / "a.mkv", 9.0, sound_s=(0.0, 9.0))
    rows = rows_of(extractor_of(ExtractorName.AUDIO, Kind.VIDEO, model=str(whisper)), path)
    assert rows.shape == (6, 16) and rows.any(axis=1).all()


def test_a_film_without_sound_has_rows_of_zeros(whisper: Path, short_film: Path) -> None:
    rows = rows_of(extractor_of(ExtractorName.AUDIO, Kind.VIDEO, model=str(whisper)), short_film)
    assert rows.shape == (3, 16) and not rows.any()


def test_clap_hears_each_clip_alone(tmp_path: Path, sounding_film: Path) -> None:
    from transformers import ClapConfig, ClapFeatureExtractor, ClapModel

    torch.manual_seed(0)
    audio = {"hidden_size": 16, "patch_embeds_hidden_size": 8, "depths": [1, 1], "num_attention_heads": [1, 2]}
    audio |= {"num_hidden_layers": 2, "num_mel_bins": 16, "spec_size": 64, "window_size": 4, "projection_dim": 6}
    text = {**SIZES, "vocab_size": 9, "projection_dim": 6}
    patches = {"patch_size": 4, "patch_stride": [4, 4]}
    model = ClapModel(ClapConfig(audio_config={**audio, **patches}, text_config=text, projection_dim=6)).eval()
    model.save_pretrained(tmp_path)
    features = ClapFeatureExtractor(feature_size=16, sampling_rate=RATE, max_length_s=2, truncation="rand_trunc")
    features.save_pretrained(tmp_path)
    extractor = extractor_of(ExtractorName.AUDIO, Kind.VIDEO, model=str(tmp_path))
    rows = rows_of(extractor, sounding_film)
    assert rows.shape == (5, 6) and [bool(row.any()) for row in rows] == [False, True, True, False, False]
    samples, _ = heard(sounding_film, rate=RATE)
    values = features([samples[3 * RATE : round(4.5 * RATE)]], sampling_rate=RATE, return_tensors="pt")
    with torch.inference_mode():
        embedding = model.get_audio_features(**values)
    row = embedding if hasattr(embedding, "dim") else embedding.pooler_output
    np.testing.assert_allclose(rows[2], row[0].numpy(), rtol=1e-3, atol=1e-4)
    assert extractor.attributes["layer"] == "audio embedding"


def test_a_model_of_pictures_hears_nothing(tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match="cannot be loaded|of the kind 'vit', not clap or whisper"):
        extractor_of(ExtractorName.AUDIO, Kind.VIDEO, model=str(tiny("vit", tmp_path)))


def test_the_layer_of_a_text_model_can_be_chosen(tmp_path: Path) -> None:
    from transformers import RobertaConfig, RobertaModel

    from tests.moment_retrieval.features.test_tuning import roberta_tokenizer

    torch.manual_seed(0)
    tokenizer = roberta_tokenizer(tmp_path)
    config = RobertaConfig(**{**SIZES, "num_hidden_layers": 3}, vocab_size=len(tokenizer), max_position_embeddings=20)
    model = RobertaModel(config).eval()
    model.save_pretrained(tmp_path)
    words = extractor_of(ExtractorName.TEXTS, Kind.QUERY, model=str(tmp_path), layer=-2)
    [rows] = words.rows([Sentence("1", "a man opens the door")])
    with torch.inference_mode():
        tokens = tokenizer("a man opens the door", return_tensors="pt")
        states = model(**tokens, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(rows, states[2][0].numpy(), atol=1e-5)  # of embeddings and three layers
    assert words.name.endswith(" layer -2") and words.attributes["layer"] == -2
    spoken = extractor_of(ExtractorName.TEXTS, Kind.SUBTITLE, model=str(tmp_path), layer=-2)
    [talk] = spoken.rows([Speech("v", 1, [Line(0, 1, "a man opens the door")])])
    np.testing.assert_allclose(talk[0], states[2][0, 1:-1].numpy().max(axis=0), atol=1e-5)
    assert spoken.attributes["pooling"] == "max over the tokens heard in a clip"
    for layer in (0, -4):
        with pytest.raises(MissingModel, match=f"has the layers -1 to -3, and no layer {layer}"):
            extractor_of(ExtractorName.TEXTS, Kind.QUERY, model=str(tmp_path), layer=layer)
    with pytest.raises(ValueError, match="image-model takes no layer"):
        extractor_of(ExtractorName.IMAGES, Kind.VIDEO, model="x", layer=-2)


def test_published_subtitles_leave_out_special_tokens(bert: Path) -> None:
    spoken = extractor_of(ExtractorName.TEXTS, Kind.SUBTITLE, model=str(bert))
    assert spoken.attributes["extractor"] == "text-model" and spoken.attributes["layer"] == -1


def test_a_text_has_one_row_that_compares_with_the_images_of_its_model(tmp_path: Path, bert: Path) -> None:
    from transformers import AutoModel, BertTokenizerFast

    folder = tiny("clip", tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["text_config"]["eos_token_id"] = 3  # where CLIP reads its embedding of a text
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "man", "door", "opens"]))
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=77).save_pretrained(folder)
    texts = extractor_of(ExtractorName.JOINT_TEXTS, Kind.QUERY, model=str(folder))
    images = extractor_of(ExtractorName.IMAGES, Kind.VIDEO, model=str(folder))
    short, long = texts.rows([Sentence("1", "man"), Sentence("2", "man opens door " * 50)])
    assert short.shape == long.shape == (1, 6) and texts.width == images.width == 6
    with torch.inference_mode():
        alone = AutoModel.from_pretrained(folder).eval().get_text_features(input_ids=torch.tensor([[2, 4, 3]]))
    np.testing.assert_allclose(
        short, getattr(alone, "pooler_output", alone).numpy(), atol=1e-6
    )  # the padding is masked
    assert not np.allclose(short, long, atol=1e-3) and texts.attributes["model"] == images.attributes["model"]
    with pytest.raises(MissingModel, match="of the kind 'bert', which embeds no texts beside images"):
        extractor_of(ExtractorName.JOINT_TEXTS, Kind.QUERY, model=str(bert))
    with pytest.raises(ValueError, match="joint-text takes no layer"):
        extractor_of(ExtractorName.JOINT_TEXTS, Kind.QUERY, model=str(folder), layer=-2)
