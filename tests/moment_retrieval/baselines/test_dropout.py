"""Dropout on a CPU: the share that goes, what stays, its gradients, and what it is drawn from."""

import pytest
import torch

from moment_retrieval.models.blocks import Dropout

MANY = (41, 51, 101)  # no multiple of four, which come of one word


def dropped(share: float, shape: tuple[int, ...] = MANY, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(3)
    return Dropout(share)(torch.ones(shape, dtype=dtype))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_about_its_share_goes_and_the_rest_is_scaled_up(share: float) -> None:
    out = dropped(share)
    zero_share = (out == 0).double().mean().item()
    assert abs(zero_share - share) < 4 * (share * (1 - share) / out.numel()) ** 0.5  # four standard errors
    assert out[out != 0].unique().tolist() == [pytest.approx(1 / (1 - share))]


def test_positions_are_independent_of_their_neighbours() -> None:
    zeros = (dropped(0.5).flatten() == 0).double() - 0.5
    for apart in range(1, 9):  # four numbers share a word
        assert abs((zeros[:-apart] * zeros[apart:]).mean().item()) < 4 * 0.25 / len(zeros) ** 0.5


@pytest.mark.parametrize("shape", [(), (1,), (3,), (0, 4), (5, 7)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    assert dropped(0.5, shape).shape == shape


def test_narrow_numbers_stay_narrow() -> None:
    out = dropped(0.5, dtype=torch.bfloat16)
    assert out.dtype == torch.bfloat16 and set(out.unique().tolist()) == {0.0, 2.0}


def test_gradients_pass_where_values_did() -> None:
    torch.manual_seed(3)
    values = torch.ones(MANY, requires_grad=True)
    out = Dropout(0.1)(values)
    out.sum().backward()
    assert values.grad is not None and torch.equal(values.grad, out.detach())


def test_the_same_seed_drops_the_same_and_another_draw_another() -> None:
    assert torch.equal(dropped(0.1), dropped(0.1))
    layer = Dropout(0.1)
    assert not torch.equal(layer(torch.ones(MANY)), layer(torch.ones(MANY)))


@pytest.mark.parametrize("layer", [Dropout(0.0), Dropout(0.9).eval()])
def test_nothing_goes_without_a_share_or_training(layer: Dropout) -> None:
    assert torch.equal(layer(torch.ones(MANY)), torch.ones(MANY))
