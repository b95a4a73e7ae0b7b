"""I3D, SlowFast, C3D and VGG: sizes as published, checkpoints by the names they are published with, rows by hand."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from moment_retrieval.errors import MissingModel
from moment_retrieval.features.extractors import ExtractorName, Kind, extractor_of
from moment_retrieval.features.extractors.base import Film
from moment_retrieval.features.extractors.clip_networks import (
    C3D_RECIPE,
    I3D_RECIPE,
    IMAGENET,
    RECIPES,
    SLOWFAST_RECIPE,
    Recipe,
)
from moment_retrieval.features.extractors.networks.c3d import C3D
from moment_retrieval.features.extractors.networks.i3d import I3D, same_padding
from moment_retrieval.features.extractors.networks.slowfast import SlowFast
from moment_retrieval.features.extractors.networks.vgg import VGG
from moment_retrieval.features.extractors.videos import clips, frames_at, timed_clips
from moment_retrieval.features.extractors.weights import fitted, load_network
from tests.moment_retrieval.features.test_extractors import film

TINY = {I3D: {"stem": 8}, SlowFast: {"stem": 8, "depths": (1, 1, 1, 1)}, C3D: {"stem": 1}, VGG: {"stem": 1}}


def tiny_network(network: type[nn.Module]) -> nn.Module:
    """A network of few channels with random weights that keep what they see as large as it is."""
    torch.manual_seed(0)
    small = network(**TINY[network])
    for name, value in small.state_dict().items():
        if name.endswith("running_mean"):
            value.normal_(std=0.1)
        elif value.dim() > 1:
            nn.init.kaiming_normal_(value)
    return small.eval()


@pytest.fixture(scope="module")
def short_film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return film(tmp_path_factory.mktemp("film") / "a.mp4", 4.0, size=(128, 96))


@pytest.mark.parametrize(
    ("network", "n_parameters", "width"),
    [(I3D, 12_287_264, 1024), (SlowFast, 33_644_488, 2304), (C3D, 61_214_464, 4096), (VGG, 134_260_544, 4096)],
)
def test_networks_are_as_large_as_published(network: type[nn.Module], n_parameters: int, width: int) -> None:
    """The published networks have their layer of classes besides: 0.41, 0.92, 16.8 (fc7 and 8) and 4.1 million."""
    with torch.device("meta"):
        whole = network()
    assert sum(value.numel() for value in whole.parameters()) == n_parameters and whole.width == width


@pytest.mark.parametrize(
    ("name", "recipe", "width"),
    [("i3d", I3D_RECIPE, 128), ("slowfast", SLOWFAST_RECIPE, 288), ("c3d", C3D_RECIPE, 64)],
)
def test_a_clip_is_one_pass_over_its_frames(
    tmp_path: Path, short_film: Path, name: str, recipe: Recipe, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name != "c3d":  # which takes pictures of one size alone
        recipe = replace(recipe, preparation=replace(recipe.preparation, shorter_side=72, crop=64))
        monkeypatch.setitem(RECIPES, name, recipe)
    network = tiny_network(recipe.network)
    torch.save(network.state_dict(), tmp_path / "weights.pt")
    extractor = extractor_of(ExtractorName(name), Kind.VIDEO, model=str(tmp_path / "weights.pt"))
    [rows] = extractor.rows([Film("a", short_film)])
    assert rows.shape == (3, width) == (3, extractor.width) and rows.dtype == np.float32
    times, frames = list(timed_clips(short_film, rate=recipe.fps, size=recipe.preparation.shorter_side))[1]
    pictures = frames_at(times, frames, np.array(recipe.instants_s)).astype(np.float32)
    side, crop = recipe.preparation.shorter_side, recipe.preparation.crop
    assert min(pictures.shape[1:3]) == side
    y, x = (pictures.shape[1] - crop) // 2, (pictures.shape[2] - crop) // 2
    pictures = pictures[:, y : y + crop, x : x + crop]
    values = {
        "i3d": lambda: pictures / 127.5 - 1,
        "slowfast": lambda: (pictures / 255 - 0.45) / 0.225,
        "c3d": lambda: pictures[..., ::-1] - np.float32([90, 98, 102]),
    }[name]()
    with torch.inference_mode():
        row = network(torch.from_numpy(np.ascontiguousarray(values.transpose(3, 0, 1, 2)))[None])[0].numpy()
    np.testing.assert_allclose(rows[1], row, rtol=1e-3, atol=1e-4)
    assert not np.allclose(rows[0], rows[2], atol=1e-5)  # the red square
    attributes = extractor.attributes
    assert attributes["extractor"] == name and attributes["width"] == width and attributes["fps"] == recipe.fps
    assert attributes["frames"] == len(recipe.instants_s) and re.search(
        "sha256:[0-9a-f]{16}$", str(attributes["model"])
    )


def test_vgg_gives_the_mean_over_three_frames_a_second(tmp_path: Path, short_film: Path) -> None:
    network = tiny_network(VGG)
    torch.save(network.state_dict(), tmp_path / "weights.pth")
    extractor = extractor_of(ExtractorName.VGG, Kind.VIDEO, model=str(tmp_path))  # a folder that holds one file
    [rows] = extractor.rows([Film("a", short_film)])
    frames = next(iter(clips(short_film, rate=3.0, size=256)))
    assert len(frames) == 5 and rows.shape == (3, 64)
    pictures = torch.from_numpy(IMAGENET.of(frames).transpose(1, 0, 2, 3).copy())
    with torch.inference_mode():
        np.testing.assert_allclose(rows[0], network(pictures).mean(dim=0).numpy(), rtol=1e-4, atol=1e-6)
    assert extractor.attributes["pooling"] == "mean over the frames of a clip"


def test_frames_of_a_slow_video_repeat_and_so_does_the_last(short_film: Path) -> None:
    clip_times = [times for times, _ in timed_clips(short_film, rate=25.0)]
    assert [len(times) for times in clip_times] == [12, 12, 8]  # 8 frames a second
    numbers = np.arange(12, dtype=np.uint8)[:, None, None, None]
    sampled = frames_at(clip_times[0], numbers, np.array(I3D_RECIPE.instants_s)).ravel().tolist()
    assert sampled[:8] == [0, 0, 0, 0, 1, 1, 1, 2] and sampled[-1] == 11 and len(sampled) == 38
    assert frames_at(clip_times[2], numbers[:8], np.array([1.0, 1.4])).ravel().tolist() == [7, 7]


def test_pictures_are_as_large_as_the_networks_were_trained_with() -> None:
    sides = {name: (recipe.preparation.shorter_side, recipe.preparation.crop) for name, recipe in RECIPES.items()}
    assert sides == {"i3d": (256, 224), "slowfast": (224, 224), "c3d": (128, 112)}


def test_slowfast_takes_the_frames_of_the_published_features() -> None:
    numbers = [round(instant * 30) for instant in SLOWFAST_RECIPE.instants_s]
    assert numbers[:5] == [0, 2, 4, 6, 8] and numbers[-10:] == [44] * 10 and len(numbers) == 32


def test_padding_is_that_of_tensorflow() -> None:
    values = torch.ones(1, 1, 4, 5, 6)
    assert same_padding(values, (7, 7, 7), (2, 2, 2)).shape[2:] == (9, 11, 11)
    assert same_padding(values, (1, 3, 3), (1, 2, 2)).shape[2:] == (4, 7, 7)
    line = same_padding(torch.ones(1, 1, 1, 1, 2), (1, 1, 2), (1, 1, 1))
    assert line.ravel().tolist() == [1, 1, 0]  # the odd zero lies behind


def pytorchvideo_name(name: str) -> str:
    """The name that PyTorchVideo has for a parameter of SlowFast."""
    stage = re.match(r"s(\d)", name)
    assert stage
    block = int(stage[1]) - 1
    name = re.sub(r"branch1_bn", "branch1_norm", re.sub(r"branch1\.", "branch1_conv.", name))
    name = re.sub(r"branch2\.([abc])\.", r"branch2.conv_\1.", re.sub(r"branch2\.([abc])_bn", r"branch2.norm_\1", name))
    name = re.sub(r"s1\.pathway(\d)_stem\.", r"blocks.0.multipathway_blocks.\1.", name)
    name = re.sub(r"s\d_fuse\.conv_f2s", f"blocks.{block}.multipathway_fusion.conv_fast_to_slow", name)
    name = re.sub(r"s\d_fuse\.bn", f"blocks.{block}.multipathway_fusion.norm", name)
    name = re.sub(r"s\d\.pathway(\d)_res(\d+)", rf"blocks.{block}.multipathway_blocks.\1.res_blocks.\2", name)
    return name.replace(".bn.", ".norm.") if name.startswith("blocks.0") else name


def test_checkpoints_of_other_libraries_are_read(tmp_path: Path) -> None:
    slowfast = tiny_network(SlowFast)
    state = {pytorchvideo_name(name): value for name, value in slowfast.state_dict().items()}
    assert "blocks.1.multipathway_blocks.0.res_blocks.0.branch1_conv.weight" in state
    torch.save({"model_state": {**state, "blocks.6.proj.weight": torch.zeros(400, 288)}}, tmp_path / "a.pyth")
    again, version = load_network(SlowFast, str(tmp_path / "a.pyth"))
    frames = torch.randn(1, 3, 8, 32, 32)
    with torch.inference_mode():
        assert torch.equal(again(frames), slowfast(frames)) and version.startswith("sha256:")
    c3d = tiny_network(C3D)
    numbers = dict(zip(("conv1", "conv2", "conv3a", "conv3b"), (0, 3, 6, 8), strict=True))
    numbers |= dict(zip(("conv4a", "conv4b", "conv5a", "conv5b"), (11, 13, 16, 18), strict=True))
    other = {
        re.sub(r"^conv\d\w?", lambda match: f"features.{numbers[match[0]]}", name).replace("fc6", "classifier.0"): value
        for name, value in c3d.state_dict().items()
    }
    assert torch.equal(fitted(C3D, {**other, "classifier.3.bias": torch.zeros(9)}, "x").fc6.weight, c3d.fc6.weight)
    vgg = tiny_network(VGG)
    timm = {
        name.replace("classifier.0", "pre_logits.fc1").replace("classifier.3", "pre_logits.fc2"): value
        for name, value in vgg.state_dict().items()
    }
    timm["pre_logits.fc1.weight"] = timm["pre_logits.fc1.weight"].reshape(64, 8, 7, 7)
    assert torch.equal(fitted(VGG, timm, "x").classifier[0].weight, vgg.classifier[0].weight)


def test_an_old_checkpoint_of_i3d_without_counters_and_with_classes_is_read(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    network = tiny_network(I3D)
    state = {name: value for name, value in network.state_dict().items() if "num_batches" not in name}
    save_file({**state, "logits.conv3d.weight": torch.zeros(400, 128, 1, 1, 1)}, tmp_path / "rgb.safetensors")
    again, _ = load_network(I3D, str(tmp_path / "rgb.safetensors"))
    frames = torch.randn(1, 3, 4, 32, 32)
    with torch.inference_mode():
        assert torch.equal(again(frames), network(frames))


def test_a_checkpoint_that_does_not_fit_is_refused_by_the_names_of_its_parameters() -> None:
    state = tiny_network(I3D).state_dict()
    with pytest.raises(MissingModel, match="'x' is no SlowFast: it has no parameter 's1.pathway0_stem.conv.weight'"):
        fitted(SlowFast, state, "x")
    missing, other = "Mixed_3b.b0.bn.bias", "Mixed_3b.b9.weight"
    with pytest.raises(MissingModel, match=f"{missing} is missing; {other} is none of its parameters"):
        fitted(I3D, {**{name: value for name, value in state.items() if name != missing}, other: torch.zeros(1)}, "x")
    with pytest.raises(MissingModel, match=r"Mixed_3b.b0.bn.bias has the shape \[5\], where \[8\] is expected"):
        fitted(I3D, {**state, missing: torch.zeros(5)}, "x")
    with pytest.raises(MissingModel, match="7 channels, which is no multiple of 8"):
        fitted(I3D, {**state, "Conv3d_1a_7x7.conv3d.weight": torch.zeros(7, 3, 7, 7, 7)}, "x")
    with pytest.raises(MissingModel, match="and 57 more"):
        fitted(I3D, {name: value for name, value in state.items() if "Mixed_5" not in name}, "x")


class Thing:
    """An object that is no tensor."""


def test_files_that_hold_no_weights_are_refused(tmp_path: Path) -> None:
    torch.save({"a": Thing()}, tmp_path / "code.pt")
    torch.save({"a": 1}, tmp_path / "numbers.pt")
    (tmp_path / "junk.pt").write_bytes(b"junk")
    (tmp_path / "empty").mkdir()
    for name, problem in (
        ("code.pt", "without running code"),
        ("numbers.pt", "no state dict"),
        ("junk.pt", "without running code|cannot be loaded"),
        ("nothing.pt", "there is no folder"),
        ("empty", "no weights"),
        ("", "3 files of weights"),
    ):
        with pytest.raises(MissingModel, match=problem):
            load_network(I3D, str(tmp_path / name))
