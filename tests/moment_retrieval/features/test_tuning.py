"""A text model is tuned by guessing masked words: what is masked, the loss by hand, and work that is cut short."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from moment_retrieval.errors import InvalidRecord, MissingModel, NotWritable
from moment_retrieval.features.extractors import ExtractorName, Kind, extractor_of
from moment_retrieval.features.extractors.base import Sentence
from moment_retrieval.features.extractors.tuning import IGNORED, Tuning, _step, masked, rate_factor, tune
from tests.moment_retrieval.features.test_extractors import tiny

VOCABULARY = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
VOCABULARY += ["a", "man", "opens", "the", "door", "she", "smiles", "at", "him"]
TEXTS = ["a man opens the door", "she smiles at him", "the man smiles", "she opens a door", "him", "at the door"]
TUNING = Tuning(epochs=2, batch=2, rate=0.01)


def roberta_tokenizer(folder: Path) -> Any:
    """A tokenizer of whole words with RoBERTa's special tokens, saved in the folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(VOCABULARY)}
    whole = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    whole.pre_tokenizer = pre_tokenizers.Whitespace()
    whole.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    more = {"mask_token": "<mask>", "cls_token": "<s>", "sep_token": "</s>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=whole, model_max_length=18, **special, **more)
    tokenizer.save_pretrained(folder)
    return tokenizer


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import RobertaConfig, RobertaForMaskedLM

    folder = tmp_path_factory.mktemp("roberta")
    torch.manual_seed(0)
    roberta_tokenizer(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = RobertaConfig(**sizes, vocab_size=len(VOCABULARY), max_position_embeddings=20)
    RobertaForMaskedLM(config).save_pretrained(folder)
    return folder


def test_of_the_tokens_to_be_guessed_eight_tenths_are_masked_and_one_tenth_replaced() -> None:
    tokens = torch.full((100, 100), 7)
    guessable = torch.zeros(100, 100, dtype=torch.bool)
    guessable[:, :80] = True
    visible, labels = masked(
        tokens, guessable, share=0.15, mask_token=4, n_tokens=1000, generator=np.random.default_rng(0)
    )
    to_guess = labels != IGNORED
    assert not to_guess[:, 80:].any() and torch.equal(visible[~to_guess], tokens[~to_guess])
    assert (labels[to_guess] == 7).all() and int(to_guess.sum()) == pytest.approx(0.15 * 8000, rel=0.1)
    shares = [float((visible[to_guess] == token).float().mean()) for token in (4, 7)]
    assert shares == pytest.approx([0.8, 0.1], abs=0.03)
    assert tokens.unique().tolist() == [7]  # untouched


def test_the_loss_is_the_mean_over_the_tokens_to_be_guessed(roberta: Path) -> None:
    from transformers import AutoTokenizer, RobertaForMaskedLM

    network, tokenizer = RobertaForMaskedLM.from_pretrained(roberta).eval(), AutoTokenizer.from_pretrained(roberta)
    rows = [tokenizer(text)["input_ids"] for text in TEXTS[:2]]
    loss = _step(network, tokenizer, rows, Tuning(mask=0.5), np.random.default_rng(1))
    tokens = torch.tensor([rows[0], [*rows[1], 1]])
    guessable = torch.tensor([[False, *[True] * 5, False], [False, *[True] * 4, False, False]])
    visible, labels = masked(
        tokens, guessable, share=0.5, mask_token=4, n_tokens=len(VOCABULARY), generator=np.random.default_rng(1)
    )
    logits = network(visible, attention_mask=(tokens != 1).long()).logits
    positions = labels != IGNORED
    assert 1 < int(positions.sum()) < 9
    torch.testing.assert_close(loss, functional.cross_entropy(logits[positions], tokens[positions]))
    assert float(_step(network, tokenizer, [[0, 2]], Tuning(), np.random.default_rng(0))) == 0.0  # nothing to guess


def test_the_learning_rate_rises_and_falls_to_zero() -> None:
    factor = rate_factor(20)
    assert [factor(step) for step in (0, 1, 2, 11, 20)] == pytest.approx([0.5, 1, 1, 0.5, 0])
    assert rate_factor(1)(0) == 1


def weights(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "model.safetensors"))


def test_a_tuned_model_makes_features_and_one_cut_short_ends_alike(roberta: Path, tmp_path: Path) -> None:
    progress: list[tuple[int, int, float]] = []
    outcome = tune(
        [*TEXTS, "him", " "],
        str(roberta),
        tmp_path / "whole",
        tuning=TUNING,
        on_progress=lambda *at: progress.append(at),
    )
    assert (outcome.n_texts, len(outcome.losses), len(progress)) == (6, 2, 6) and progress[-1][:2] == (6, 6)
    assert outcome.losses[0] == pytest.approx(np.mean([loss for _, _, loss in progress[:3]]))
    words = extractor_of(ExtractorName.TEXTS, Kind.QUERY, model=str(tmp_path / "whole"), layer=-2)
    [rows] = words.rows([Sentence("1", "a man")])
    assert rows.shape == (4, 16)

    def interrupt(step: int, total: int, loss: float) -> None:
        if step == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(TEXTS, str(roberta), tmp_path / "again", tuning=TUNING, on_progress=interrupt)
    assert not (tmp_path / "again").exists()
    with pytest.raises(NotWritable, match="begun with other texts, another model or other options"):
        tune(TEXTS[:3], str(roberta), tmp_path / "again", tuning=TUNING)
    steps: list[int] = []
    again = tune(
        TEXTS, str(roberta), tmp_path / "again", tuning=TUNING, on_progress=lambda step, *_: steps.append(step)
    )
    assert steps == [4, 5, 6] and again.losses == outcome.losses
    whole, resumed, before = weights(tmp_path / "whole"), weights(tmp_path / "again"), weights(roberta)
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert any(not torch.equal(whole[name], before[name]) for name in whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "whole"]


def test_the_loss_falls(roberta: Path, tmp_path: Path) -> None:
    outcome = tune(TEXTS, str(roberta), tmp_path / "a", tuning=Tuning(epochs=12, batch=6, rate=0.02, mask=0.3))
    assert np.mean(outcome.losses[-3:]) < np.mean(outcome.losses[:3])


def test_what_cannot_be_tuned_is_reported(roberta: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord, match="no text"):
        tune([" "], str(roberta), tmp_path / "a")
    with pytest.raises(NotWritable, match="there already"):
        tune(TEXTS, str(roberta), roberta)
    with pytest.raises(MissingModel, match="cannot be loaded"):
        tune(TEXTS, str(tiny("vit", tmp_path / "vit")), tmp_path / "a")
    for values in ({"epochs": 0}, {"batch": 0}, {"mask": 1.0}, {"rate": 0.0}):
        with pytest.raises(InvalidRecord):
            Tuning(**values)
