import argparse
import codecs
import io
import os
import pickle
import random
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from moment_retrieval.errors import ScoringError
from moment_retrieval.published import TABLES, UnfitWeights, UnknownWeight, UnsafeCheckpoint, load_published, our_name
from tests.moment_retrieval.baselines.small import batch_of, model_of

Save = Callable[..., Path]
FORMS = pytest.mark.parametrize("is_new", [True, False])


def published_weights(baseline: str, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    modules, inside = TABLES[baseline]
    names = [(module, within, kind) for module in modules for within in inside for kind in ("weight", "bias")]
    theirs = [".".join(part for part in parts if part) for parts in names] + list(modules)
    by_ours = {our_name(baseline, name): name for name in theirs}
    return {by_ours[name]: tensor for name, tensor in weights.items()}


class EasyDict(dict[str, Any]):
    """Pickles as the package of this name does: a dictionary whose values are attributes too."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.__dict__.update(values)


@pytest.fixture
def easydict(monkeypatch: pytest.MonkeyPatch) -> type[EasyDict]:
    """The class as a file would name it; where the file is read there is no such package."""
    module = ModuleType("easydict")
    module.EasyDict = EasyDict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "easydict", module)
    monkeypatch.setattr(EasyDict, "__module__", "easydict")
    return EasyDict


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Save as torch does, in the form of now or in the one before."""

    def save_as(content: Any, *, is_new: bool = True) -> Path:
        torch.save(content, tmp_path / "best.ckpt", _use_new_zipfile_serialization=is_new)
        return tmp_path / "best.ckpt"

    return save_as


def xml_weights(**changes: Tensor) -> dict[str, Tensor]:
    return published_weights("xml", model_of("xml").state_dict()) | changes


@pytest.mark.parametrize("baseline", TABLES)
def test_a_published_checkpoint_scores_as_its_weights_do(
    baseline: str, save: Save, easydict: type[EasyDict], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = model_of(baseline).eval()
    options: Any = easydict({"n_heads": 2, "bert_config": easydict({"num_attention_heads": 2})})
    path = save({"model": published_weights(baseline, ours.state_dict()), "model_cfg": options, "epoch": 23})
    monkeypatch.delitem(sys.modules, "easydict")
    checkpoint = load_published(path)
    assert (checkpoint.baseline, checkpoint.epoch, checkpoint.options["n_heads"]) == (baseline, 23, 2)
    with torch.no_grad():
        assert torch.equal(checkpoint.model()(batch_of()).start, ours(batch_of()).start)


def test_the_later_form_of_reloclnet_is_read_too_with_a_device_among_its_options(save: Save) -> None:
    content = {
        "epoch": 41,
        "model_cfg": argparse.Namespace(n_heads=2, ctx_mode="video_sub", device=torch.device("cuda", 0)),
        "model_state_dict": published_weights("reloclnet", model_of("reloclnet").state_dict()),
        "optimizer_state_dict": {"state": {0: {"step": 3, "next_m": torch.zeros(2)}}, "param_groups": []},
    }
    checkpoint = load_published(save(content))
    assert (checkpoint.baseline, checkpoint.epoch, checkpoint.options["ctx_mode"]) == ("reloclnet", 41, "video_sub")
    assert checkpoint.options["device"].index == 0


class Hostile:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.trace}",)


@pytest.mark.parametrize("where", ["model", "model_cfg", "epoch"])
@pytest.mark.parametrize("form", ["torch", "old torch", "pickle"])
def test_a_hostile_checkpoint_is_refused_and_runs_nothing(where: str, form: str, save: Save, tmp_path: Path) -> None:
    trace = tmp_path / "it-ran"
    content: dict[str, Any] = {"model": {}, "model_cfg": {}, "epoch": 1, where: Hostile(trace)}
    path = save(content, is_new=form == "torch")
    if form == "pickle":
        path.write_bytes(pickle.dumps(content))
    with pytest.raises(UnsafeCheckpoint, match=r"best\.ckpt: it is refused") as refusal:
        load_published(path)
    assert not trace.exists()
    assert "weights_only" not in str(refusal.value)  # no advice to load it nevertheless


HUGE = torch.zeros(1).as_strided((10**9, 10**9), (0, 0))


@pytest.mark.parametrize(
    ("content", "error", "problem"),
    [
        (b"", UnsafeCheckpoint, "it is refused"),
        (b"not a checkpoint", UnsafeCheckpoint, "it is refused"),
        (b"PK\x03\x04", UnsafeCheckpoint, "it is refused"),
        ({"epoch": 1}, UnsafeCheckpoint, "no weights"),
        ([1, 2], UnsafeCheckpoint, "no weights"),
        ({"model": {"a": 3}}, UnsafeCheckpoint, "no weights"),
        ({"model": {3: torch.zeros(2)}}, UnsafeCheckpoint, "no names"),
        ({"model": {"query_input_proj.net.1.weight": HUGE}}, UnsafeCheckpoint, "said to be larger than the file"),
        ({"model": {"layer1.weight": torch.zeros(2)}}, UnknownWeight, r"xml has no weight 'layer1\.weight'"),
    ],
)
def test_what_holds_no_weights_is_refused(content: Any, error: type[Exception], problem: str, save: Save) -> None:
    path = save(content)
    if isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(error, match=problem):
        load_published(path)


def test_a_missing_file_and_missing_weights_are_named(save: Save) -> None:
    with pytest.raises(UnsafeCheckpoint, match="cannot be read"):
        load_published(Path("/nowhere/best.ckpt"))
    weights = xml_weights()
    del weights["query_input_proj.net.1.weight"]
    with pytest.raises(UnknownWeight, match=r"query_input\.linear\.weight"):
        load_published(save({"model": weights})).model()


@pytest.mark.parametrize("error", [IndexError, KeyError, AssertionError, AttributeError, RecursionError, MemoryError])
def test_what_torch_cannot_read_is_refused(error: type[Exception], save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumbling(*_: Any, **__: Any) -> None:
        raise error

    path = save({"model": {}})
    monkeypatch.setattr(torch, "load", stumbling)
    with pytest.raises(UnsafeCheckpoint, match="it is refused"):
        load_published(path)


@FORMS
def test_damaged_checkpoints_are_refused_in_our_words(is_new: bool, save: Save) -> None:
    """Bytes of the part that tells of the weights are struck by chance; some stay readable."""
    content = {"model": {"a": torch.zeros(2), "b": torch.zeros(3)}, "model_cfg": {"n_heads": 2}, "epoch": 1}
    path, draw = save(content, is_new=is_new), random.Random(1)
    whole = path.read_bytes()
    for _ in range(300):
        struck = bytearray(whole)
        for _ in range(3):
            struck[draw.randrange(400)] = draw.randrange(256)
        path.write_bytes(struck)
        with pytest.raises(ScoringError):
            load_published(path).model()


class Made:
    """Pickled as what somebody makes by calling ``function``."""

    def __init__(self, function: Any, *args: Any, state: Any = None) -> None:
        self.made = (function, args) if state is None else (function, args, state)

    def __reduce__(self) -> Any:
        return self.made


MANY = {str(number): number for number in range(1000)}
GREEDY = {
    "bytearray": [Made(bytearray, 3 * 2**30)],
    "tensor": [Made(torch.Tensor, 10**9)],
    "copies of pairs": [Made(OrderedDict, list(MANY.items())) for _ in range(1000)],
    "copies of attributes": [Made(OrderedDict, state=MANY) for _ in range(1000)],
    "copies of texts": [Made(codecs.encode, "a" * 1000, "utf-32") for _ in range(1000)],
}


@FORMS
@pytest.mark.parametrize("greed", GREEDY)
def test_nothing_is_made_of_a_checkpoint_that_asks_for_more_memory_than_it_has_bytes(
    greed: str, is_new: bool, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save({"model": {}, "model_cfg": {"a": GREEDY[greed]}}, is_new=is_new)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("torch makes it"))
    with pytest.raises(UnsafeCheckpoint, match="it is refused: it (asks for|makes copies)"):
        load_published(path)


@FORMS
@pytest.mark.parametrize("storage_view", [(0, (10**9,), (1,)), (10**9, (1,), (1,)), (0, (2, 2), (1, 2))])
def test_weights_larger_than_their_storage_are_refused(storage_view: tuple[Any, ...], is_new: bool, save: Save) -> None:
    function, (storage, _, _, _, *more) = torch.zeros(2).__reduce_ex__(2)
    path = save({"model": {"a": Made(function, storage, *storage_view, *more)}}, is_new=is_new)
    with pytest.raises(UnsafeCheckpoint, match="a weight is said to be larger than it is"):
        load_published(path)


@FORMS
@pytest.mark.parametrize(
    ("number", "problem"),
    [
        (b"M\x4d\xff", "its weights are said to be larger than the file"),  # 77 numbers become 65,357
        (b"J\xff\xff\xff\xff", "a tensor of it has -1 numbers"),  # which would make up for others
    ],
)
def test_storages_larger_than_the_file_or_negative_are_refused(
    number: bytes, problem: str, is_new: bool, save: Save
) -> None:
    def changed(pickled: bytes) -> bytes:
        return pickled.replace(b"K\x4d", number, 1)

    path = save({"model": {"a": torch.zeros(77)}}, is_new=is_new)
    path.write_bytes(rezipped(path, changed) if is_new else changed(path.read_bytes()))
    with pytest.raises(UnsafeCheckpoint, match=problem):
        load_published(path)


def rezipped(path: Path, change: Callable[[bytes], bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(target, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            after.writestr(name, change(content) if name.endswith("data.pkl") else content)
    return target.getvalue()


def test_a_packed_checkpoint_is_refused_before_it_is_unpacked(save: Save, tmp_path: Path) -> None:
    path = save({"model": {"a": torch.zeros(1_000_000)}})
    with zipfile.ZipFile(path) as plain, zipfile.ZipFile(tmp_path / "packed", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    with pytest.raises(UnsafeCheckpoint, match="more is packed in it"):
        load_published(tmp_path / "packed")


@pytest.mark.parametrize(
    ("name", "tensor", "problem"),
    [
        ("query_input_proj.net.1.weight", torch.zeros(()), "too flat"),
        ("merged_st_predictor.weight", torch.zeros(5), "too flat"),
        ("merged_st_predictor.weight", torch.zeros(1, 1, 4), "kernel_size must be odd"),
        ("query_input_proj.net.1.bias", torch.zeros(7), r"shape \[7\], where \[16\] is expected"),
        ("query_encoder.self.key.weight", torch.zeros(2, 2, 2), "is expected"),
    ],
)
def test_weights_of_other_shapes_are_refused(name: str, tensor: Tensor, problem: str, save: Save) -> None:
    with pytest.raises(UnfitWeights, match=problem):
        load_published(save({"model": xml_weights(**{name: tensor}), "model_cfg": {"n_heads": 2}})).model()


@pytest.mark.parametrize("heads", [3, "two", [2], -1])
def test_heads_that_no_model_has_are_refused(heads: Any, save: Save) -> None:
    for options in ({"n_heads": heads}, {"bert_config": {"num_attention_heads": heads}}):
        with pytest.raises(UnfitWeights, match="heads"):
            load_published(save({"model": xml_weights(), "model_cfg": options})).model()
