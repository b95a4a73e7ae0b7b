import numpy as np
import pytest
import torch

from moment_retrieval.optim import BertAdam, CorrectedAdam, warmed_up
from tests.moment_retrieval.baselines.vectors import arrays, needs_parity

UNITS = "units/bertadam.npz"
PARAMETERS = {"w_decay": 0.01, "w_no_decay": 0.0, "big": 0.01}
SETTINGS = {"warmup": {"total": 40, "warm_up": 0.1}, "const": {}, "noclip": {"max_norm": 0.0}}


@needs_parity
@pytest.mark.parametrize("case", SETTINGS)
def test_six_steps_of_bertadam_lead_where_the_published_ones_lead(case: str) -> None:
    start = {name: torch.from_numpy(arrays(UNITS)[f"{case}/{name}/step0"].copy()) for name in PARAMETERS}
    groups = [{"params": [start[name]], "weight_decay": decay} for name, decay in PARAMETERS.items()]
    optimiser = BertAdam(groups, lr=0.05, **SETTINGS[case])
    for step in range(1, 7):
        for name, parameter in start.items():
            parameter.grad = torch.from_numpy(arrays(UNITS)[f"{case}/{name}/grad{step}"].copy())
        optimiser.step()
        for name, parameter in start.items():
            np.testing.assert_allclose(parameter.numpy(), arrays(UNITS)[f"{case}/{name}/step{step}"], atol=1e-6)


@needs_parity
def test_the_warm_up_is_the_published_one() -> None:
    for step, multiplier in zip(arrays(UNITS)["schedule/step"], arrays(UNITS)["schedule/multiplier"], strict=True):
        assert warmed_up(int(step), 1000) == pytest.approx(multiplier, abs=1e-12)


def test_clipping_leaves_the_gradient_as_it_was() -> None:
    parameter = torch.zeros(2)
    parameter.grad = torch.tensor([3.0, 4.0])
    BertAdam([{"params": [parameter]}], lr=0.1).step()
    assert parameter.grad.tolist() == [3.0, 4.0]


def test_corrected_adam_is_its_formula() -> None:
    generator = np.random.default_rng(1)
    correct = generator.normal(size=5)
    parameter = torch.from_numpy(correct.copy())
    optimiser = CorrectedAdam([{"params": [parameter], "weight_decay": 0.01}], lr=0.1)
    first, second = np.zeros(5), np.zeros(5)
    for step in range(1, 5):
        gradient = generator.normal(size=5) * 1e-3  # small: epsilon counts
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        correct -= rate * first / (np.sqrt(second) + 1e-6)
        correct -= 0.1 * 0.01 * correct
        parameter.grad = torch.from_numpy(gradient)
        optimiser.step()
        np.testing.assert_allclose(parameter.numpy(), correct, rtol=1e-10)
        assert optimiser.param_groups[0]["lr"] == 0.1  # what is told and kept is what was asked for
