"""A released number stands in ``moment_retrieval/settings.py`` and nowhere else."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from moment_retrieval.baselines import BASELINES
from moment_retrieval.settings import (
    EPOCHS,
    EVALUATIONS_PER_EPOCH,
    LEARNING_RATE,
    PATIENCE,
    RELEASED,
    WARM_UP,
    epochs_of,
    evaluations_per_epoch_of,
)
from moment_retrieval.training.plan import Plan

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("config", "objective", "reading", "decoding")
NAMES = {name for one in RELEASED.values() for part in PARTS for name in asdict(getattr(one, part))}
NAMES |= {"batch", "lr", "warm_up", "warmup", "patience", "epochs", "evaluations_per_epoch"}
FOLDERS = ("moment_retrieval", "models_runner")
EXTRACTORS = "extractors"  # of features: other networks, with sizes of their own
SIZES = {1026, 768, 770, 4352, 384, 3072}  # of features and of models: no other number here is one of them


def defaults(source: str) -> Iterator[tuple[str, object]]:
    """Names of fields and parameters whose default is a number, with it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            pairs = [(node.target.id, node.value)]
        elif isinstance(node, ast.arguments):
            positional = [*node.posonlyargs, *node.args][-len(node.defaults) :] if node.defaults else []
            pairs = [(one.arg, value) for one, value in zip(positional, node.defaults, strict=True)]
            pairs += [(one.arg, value) for one, value in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
        else:
            continue
        for name, value in pairs:
            if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                yield name, value.value


def modules() -> list[Path]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return [path for path in paths if EXTRACTORS not in path.parts]


def test_no_other_module_states_a_released_number() -> None:
    for path in modules():
        stated = {
            name for name, value in defaults(path.read_text()) if name in NAMES and value and type(value) is not bool
        }
        assert not stated or path.name == "settings.py", f"{path}: take {stated} from moment_retrieval/settings.py"
    source = "class A:\n    hidden: int = 3\n    name: str = 'x'\ndef f(a, lr=0.1, *, heads=2): ..."
    assert set(defaults(source)) == {("hidden", 3), ("lr", 0.1), ("heads", 2)}


def test_no_other_module_states_a_released_size() -> None:
    for path in modules():
        constants = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        stated = {value for value in constants if type(value) is int} & SIZES
        assert not stated or path.name == "settings.py", f"{path}: take {stated} from moment_retrieval/settings.py"


def test_plans_and_models_start_from_what_was_released_and_pages_read_it_without_torch() -> None:
    paths = dict.fromkeys(("train", "val", "corpus", "video", "query"), "x")
    plan = Plan(baseline="xml", **paths)
    assert (plan.lr, plan.warmup, plan.patience, plan.top_n in EPOCHS) == (LEARNING_RATE, WARM_UP, PATIENCE, True)
    assert {name: one.released for name, one in BASELINES.items()} == RELEASED
    source = "import sys, moment_retrieval.training.plan; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", source], cwd=ROOT, check=True)


def test_any_number_of_moments_sees_as_many_samples_as_the_released_ones() -> None:
    assert {n: epochs_of(n) for n in EPOCHS} == EPOCHS
    assert {n: evaluations_per_epoch_of(n) for n in EVALUATIONS_PER_EPOCH} == EVALUATIONS_PER_EPOCH
    assert (epochs_of(10), evaluations_per_epoch_of(10)) == (400, 0.5)
