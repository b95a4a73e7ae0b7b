import argparse
import os
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from models_runner.retrieval.published import (
    TABLES,
    UnknownWeight,
    UnsafeCheckpoint,
    load_published,
    our_name,
)
from tests.models_runner.retrieval.baselines.small import batch_of, model_of


def published_weights(baseline: str, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Our weights by their published names."""
    places, inside = TABLES[baseline]
    theirs = {}
    for place in places:
        for within in inside:
            for kind in ("weight", "bias"):
                name = ".".join(part for part in (place, within, kind) if part)
                theirs[our_name(baseline, name)] = name
        if our_name(baseline, place) in weights:
            theirs[our_name(baseline, place)] = place
    return {theirs[name]: tensor for name, tensor in weights.items()}


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


@pytest.mark.parametrize("baseline", TABLES)
def test_a_published_checkpoint_scores_as_its_weights_do(
    baseline: str, tmp_path: Path, easydict: type[EasyDict], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = model_of(baseline).eval()
    options: Any = easydict({"n_heads": 2, "bert_config": easydict({"num_attention_heads": 2})})
    torch.save(
        {"model": published_weights(baseline, ours.state_dict()), "model_cfg": options, "epoch": 23},
        tmp_path / "best.ckpt",
    )
    monkeypatch.delitem(sys.modules, "easydict")
    found = load_published(tmp_path / "best.ckpt")
    assert (found.baseline, found.epoch, found.options["n_heads"]) == (baseline, 23, 2)
    with torch.no_grad():
        assert torch.equal(found.model()(batch_of()).start, ours(batch_of()).start)


def test_the_later_form_of_reloclnet_is_read_too(tmp_path: Path) -> None:
    ours = model_of("reloclnet")
    content = {
        "epoch": 41,
        "model_cfg": argparse.Namespace(n_heads=2, ctx_mode="video_sub"),
        "model_state_dict": published_weights("reloclnet", ours.state_dict()),
        "optimizer_state_dict": {"state": {0: {"step": 3, "next_m": torch.zeros(2)}}, "param_groups": []},
    }
    torch.save(content, tmp_path / "best.pt")
    found = load_published(tmp_path / "best.pt")
    assert (found.baseline, found.epoch, found.options["ctx_mode"]) == ("reloclnet", 41, "video_sub")


class Hostile:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.trace}",)


@pytest.mark.parametrize("where", ["model", "model_cfg", "epoch"])
@pytest.mark.parametrize("form", ["torch", "old torch", "pickle"])
def test_a_hostile_checkpoint_is_refused_and_runs_nothing(where: str, form: str, tmp_path: Path) -> None:
    trace = tmp_path / "it-ran"
    content: dict[str, Any] = {"model": {}, "model_cfg": {}, "epoch": 1, where: Hostile(trace)}
    path = tmp_path / "best.ckpt"
    if form == "pickle":
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "torch")
    with pytest.raises(UnsafeCheckpoint, match=r"best\.ckpt: it is refused") as refusal:
        load_published(path)
    assert not trace.exists()
    assert "weights_only" not in str(refusal.value)  # no advice to load it nevertheless


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04"])
def test_what_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UnsafeCheckpoint, match="it is refused"):
        load_published(tmp_path / "file")


@pytest.mark.parametrize("content", [{"epoch": 1}, [1, 2], {"model": {"a": 3}}])
def test_a_file_without_weights_is_refused(content: Any, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "file")
    with pytest.raises(UnsafeCheckpoint, match="no weights"):
        load_published(tmp_path / "file")


def test_a_missing_file_is_told() -> None:
    with pytest.raises(UnsafeCheckpoint, match="cannot be read"):
        load_published(Path("/nowhere/best.ckpt"))


def test_weights_of_something_else_are_refused(tmp_path: Path) -> None:
    torch.save({"model": {"layer1.weight": torch.zeros(2)}}, tmp_path / "file")
    with pytest.raises(UnknownWeight, match=r"xml has no weight 'layer1\.weight'"):
        load_published(tmp_path / "file")


def test_missing_weights_are_named(tmp_path: Path) -> None:
    weights = published_weights("xml", model_of("xml").state_dict())
    del weights["query_input_proj.net.1.weight"]
    torch.save({"model": weights}, tmp_path / "file")
    with pytest.raises(UnknownWeight, match=r"query_input\.linear\.weight"):
        load_published(tmp_path / "file").model()
