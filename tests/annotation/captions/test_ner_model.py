"""Names found by a real model of transformers, made here: no download, and its word for every token is known.

The one layer of the model lets each token through as it is embedded, so that its label follows from its place in the
vocabulary alone.
"""

import json
from pathlib import Path

import pytest

from annotation.captions import ner
from annotation.captions.ner import ModelNames, windows
from annotation.captions.rewriting.rules import Found
from core.exceptions import MomentJudgeError

pytestmark = pytest.mark.slow  # what imports transformers
WORDS = ["a", "man", "and", "wave", "##s", "in", "paris", "the", "rain", "##bow", ".", "é"]
PERSONS, MAYBE, CITIES = ["joey", "tri", "##bb", "##iani"], ["chase"], ["paris"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *PERSONS, *MAYBE]
LABELS = ["O", "B-PER", "I-PER", "B-LOC"]
SIZE = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is sure of Joey Tribbiani, undecided about Chase, and takes Paris for a place."""
    import torch
    from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast

    model_folder = tmp_path_factory.mktemp("ner")
    (model_folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    tokenizer = BertTokenizerFast(str(model_folder / "vocab.txt"), do_lower_case=True, strip_accents=False)
    tokenizer.save_pretrained(model_folder)
    size = {"hidden_size": SIZE, "intermediate_size": SIZE, "num_hidden_layers": 1, "num_attention_heads": 1}
    labels = {"id2label": dict(enumerate(LABELS)), "label2id": {label: n for n, label in enumerate(LABELS)}}
    config = BertConfig(vocab_size=len(VOCABULARY), max_position_embeddings=512, **size, **labels)
    model = BertForTokenClassification(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        for name, weights in model.named_parameters():
            if name.endswith("LayerNorm.weight"):
                weights.fill_(1.0)
        words = model.bert.embeddings.word_embeddings.weight
        for n, token in enumerate(VOCABULARY):
            words[n, _kind(token)] = 1.0
        for kind, logits in enumerate([[9, 0, 0, 0], [0, 9, 0, 0], [0, 0, 9, 0], [0, 0, 0, 9], [0, 0.5, 0, 0]]):
            model.classifier.weight[:, kind] = torch.tensor(logits, dtype=torch.float32) / SIZE**0.5
    model.save_pretrained(model_folder)
    return model_folder


def _kind(token: str) -> int:
    if token in MAYBE:
        return 4
    if token in CITIES:
        return 3
    return 0 if token not in PERSONS else 2 if token.startswith("##") or token == "tri" else 1


@pytest.fixture(autouse=True)
def loaded_anew() -> None:
    ner._load.cache_clear()


def find(folder: Path, *texts: str) -> list[Found]:
    return ModelNames(str(folder)).find(texts, videos=[""] * len(texts))


def test_name_of_several_tokens_is_one_entity_with_its_words(folder: Path) -> None:
    person, city, nobody = find(folder, "Joey Tribbiani waves.", "A man waves in Paris.", "A rainbow.")
    assert person.text.lower() == "joey tribbiani" and person.score > 0.8
    assert (city, nobody) == (Found(), Found())


def test_a_doubtful_name_stays_below_the_threshold(folder: Path, settings: object) -> None:
    (entity,) = find(folder, "A man and Chase wave.")
    assert 0 < entity.score <= settings.CAPTION_NAME_SCORE_MAX  # type: ignore[attr-defined]
    (likeliest,) = find(folder, "Chase and Joey wave.")
    assert likeliest.text.lower() == "joey" and likeliest.score > 0.8


def test_every_part_of_a_long_text_is_read(folder: Path) -> None:
    before = "a man waves in the rain and " * 60
    text = f"{before}Joey Tribbiani waves."
    parts = windows(text)
    assert len(parts) > 2
    (entity,) = find(folder, text)
    assert entity.text.lower() == "joey tribbiani"
    for part in parts:
        assert len(_tokens(folder, part)) <= 512


def test_name_on_the_edge_of_a_window_is_whole_in_one(folder: Path) -> None:
    room = ner.WINDOW - len("Joey Tribbiani")
    for shift in range(-20, 20):
        words = "é " * ((room + shift) // 3)
        (entity,) = find(folder, f"{words}Joey Tribbiani waves in the rain.")
        assert entity.text.lower() == "joey tribbiani", shift


def test_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(MomentJudgeError, match="Set CAPTION_NER"):
        find(tmp_path, "Joey waves.")


def _tokens(folder: Path, text: str) -> list[int]:
    from transformers import AutoTokenizer

    ids: list[int] = AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
    return ids
