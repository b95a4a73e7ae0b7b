"""A batch computed in parts."""

from pathlib import Path

import pytest
import torch

from moment_retrieval.distributed import Team
from tests.moment_retrieval.training.steps import losses_and_gradients
from tests.moment_retrieval.training.tiny import Collection

ALONE = Team(torch.device("cpu"))


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    Collection().write(tmp_path)
    return tmp_path


def test_halves_of_a_batch_add_up_to_it_where_samples_do_not_see_each_other(data_folder: Path) -> None:
    whole, halves = (losses_and_gradients(data_folder, "conquer", 15, ALONE, parts) for parts in (1, 2))
    for name, value in whole.items():
        torch.testing.assert_close(halves[name], value, rtol=1e-5, atol=2e-7, msg=name)


def test_negatives_of_a_half_come_from_it_so_rankings_differ_and_spans_do_not(data_folder: Path) -> None:
    whole, halves = (losses_and_gradients(data_folder, "xml", 15, ALONE, parts) for parts in (1, 2))
    torch.testing.assert_close(halves["loss/spans"], whole["loss/spans"])
    assert not torch.isclose(halves["loss/videos"], whole["loss/videos"])


def test_one_sample_alone_has_no_negatives_and_still_teaches_its_span(data_folder: Path) -> None:
    values = losses_and_gradients(data_folder, "xml", 1, ALONE, parts=2)
    assert values["loss/videos"] == values["loss/queries"] == 0
    assert values["span_head.start.weight"].abs().sum() > 0
