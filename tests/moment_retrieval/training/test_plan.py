import json
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest

from moment_retrieval.cli import main
from moment_retrieval.preprocessing import Boundary
from moment_retrieval.settings import Boundaries, Encoder, Ranking, Streams
from moment_retrieval.training.events import read_events
from moment_retrieval.training.plan import PLAN, BadPlan, OtherSizes, Plan, settings_of
from tests.moment_retrieval.training.tiny import plan_of

NAMES = re.compile(r"`(\w+)`")


def test_a_plan_is_read_as_it_was_written_and_its_paths_are_relative_to_its_folder(tmp_path: Path) -> None:
    candidates = {"source": "checkpoint", "path": "../xml"}
    plan = plan_of("conquer", val="/data/val.json", candidates=candidates, test=None, patience=0)
    plan.write(tmp_path)
    assert Plan.read(tmp_path) == plan
    absolute_plan = plan.located(tmp_path)
    assert (absolute_plan.train, absolute_plan.val) == (str(tmp_path / "../train.json"), "/data/val.json")
    assert absolute_plan.candidates == {"source": "checkpoint", "path": str(tmp_path / "../xml")}


LISTS = {"source": "listed", "path": "lists.json"}
CONQUER = {"baseline": "conquer", "candidates": LISTS}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"baseline": "svr"}, "baseline must be one of xml, reloclnet, conquer, got 'svr'"),
        ({"top_n": 0}, "top_n must be a whole number, 1 or more"),
        ({"top_n": True}, "top_n must be a whole number"),
        ({"train": None}, "train must be a path"),
        ({"epochs": 0}, "epochs must be a whole number, 1 or more"),
        ({"evaluations_per_epoch": 0}, "evaluations_per_epoch must be more than 0"),
        ({"lr": float("nan")}, "lr must be more than 0"),
        ({"warmup": 1}, "warmup must be from 0 to less than 1"),
        ({"precision": "int8"}, "precision must be one of float32, bfloat16, float16"),
        ({"shuffle_links": "no"}, "shuffle_links must be true or false"),
        ({"candidates": {"source": "checkpoint", "path": "x"}}, "named for conquer"),
        ({"baseline": "conquer"}, "named for conquer, which needs them"),
        ({"candidates": {"source": "hero"}}, "candidates must be {source: checkpoint or listed, path}, and groups"),
        ({"epoch": 3}, "nothing is known of epoch"),
        ({"sizes": {"hiden": 3}}, "sizes: nothing is known of hiden"),
        ({"sizes": {"hidden": "wide"}}, "sizes: hidden must be like 256"),
        ({"sizes": {"hidden": None}}, "sizes: hidden must be like 256"),
        ({"objective": {"sum_positives": True}}, "sum_positives is of ReLoCLNet's video contrast, xml has none"),
        ({"objective": {"mask_positives": 1}}, "objective: mask_positives must be like False"),
        ({"decoding": {"alpha": "steep"}}, "decoding: alpha must be like 20.0"),
        ({"reading": {"endpoints": 1}}, "reading: endpoints must be like True, got 1"),
        ({"sizes": {"score_videos": True}}, "nothing is known of score_videos"),
        ({**CONQUER, "sizes": {"score_videos": True}}, "set sampled_videos of objective to 1 or more"),
        ({**CONQUER, "objective": {"sampled_videos": -1}}, "objective: sampled_videos must be like 0, got -1"),
        ({**CONQUER, "decoding": {"ranking": "exclusive"}}, "set score_videos of sizes to true"),
        ({**CONQUER, "decoding": {"ranking": "general"}}, "a list has none: name a checkpoint"),
        (
            {**CONQUER, "decoding": {"ranking": "best"}},
            "decoding: ranking must be one of disjoint, general, exclusive, got 'best'",
        ),
        ({"objective": {"sampled_videos": 2}}, "objective: sampled_videos is CONQUER's, xml has no candidates"),
        ({"decoding": {"ranking": "general"}}, "decoding: ranking is CONQUER's, xml has no candidates"),
        ({"sizes": {"encoder": "gru"}}, "sizes: encoder must be one of transformer, lstm, cnn, got 'gru'"),
        ({"sizes": {"encoder": ["cnn"]}}, "sizes: encoder must be one of transformer, lstm, cnn"),
        ({"sizes": {"encoder": "lstm", "hidden": 7, "heads": 1}}, "hidden must be even for the two directions"),
        ({"sizes": {"streams": "audio"}}, "sizes: streams must be one of both, video, subtitle, got 'audio'"),
        (
            {"sizes": {"boundaries": "anchors"}},
            "sizes: boundaries must be one of convolution, windows, groups, got 'anchors'",
        ),
        ({"sizes": {"modular": "no"}}, "sizes: modular must be like True, got 'no'"),
        ({"baseline": "reloclnet", "sizes": {"encoder": "cnn"}}, "sizes: nothing is known of encoder"),
        ({"sizes": {"padding": "compact"}}, "sizes: nothing is known of padding"),
        ({"reading": {"boundary": "last"}}, "reading: nothing is known of boundary"),
        (
            {"sizes": {"boundaries": "windows"}, "decoding": {"end_offset_s": 0}},
            "decoding: end_offset_s moves no end of windows, which end with their last clip: leave it out",
        ),
        ({"selected_by": ""}, "selected_by must be the name of a metric"),
        ({"sizes": {"video_size": 1026}}, "video_size is 1026 in the plan, and the features have 18"),
        ({"sizes": {"heads": 5}}, r"sizes: hidden \(32\) must be a multiple of heads \(5\)"),
        ({"sizes": {"heads": 0}}, "sizes: heads must be 1 or more, got 0"),
        ({"sizes": {"hidden": 0}}, "sizes: hidden must be 1 or more"),
        ({"sizes": {"clips": 0}}, "sizes: clips must be 1 or more"),
        ({"sizes": {"words": 0}}, "sizes: words must be 1 or more"),
        ({"sizes": {"dropout": 1.0}}, "sizes: dropout must be from 0 to less than 1, got 1.0"),
        ({"sizes": {"dropout": -0.1}}, "sizes: dropout must be from 0 to less than 1"),
        ({"sizes": {"kernel_size": 4}}, "sizes: kernel_size must be odd, got 4"),
        ({"baseline": "conquer", "candidates": LISTS, "sizes": {"inner": 0}}, "sizes: inner must be 1 or more"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_words_before_features_are_read(change: dict[str, Any], words: str) -> None:
    with pytest.raises((BadPlan, OtherSizes), match=words):
        settings_of(plan_of(**change), {"video_size": 18})


def test_settings_are_the_released_ones_but_for_the_changes() -> None:
    plan = plan_of(objective={"hard_from_epoch": None}, decoding={"end_offset_s": 0}, batch=None)
    settings = settings_of(plan, {"video_size": 18})
    assert (settings.config.video_size, settings.config.hidden, settings.batch) == (18, 32, 128)
    assert settings.objective.hard_from_epoch is None
    assert (settings.decoding.end_offset_s, settings.decoding.alpha) == (0, 20.0)
    assert settings.reading.endpoints
    assert not settings_of(plan_of("xml", reading={"endpoints": False})).reading.endpoints
    plan = plan_of()
    before = {name: value for name, value in asdict(plan).items() if name not in ("reading", "selected_by")}
    assert plan.differences(before) == []
    (difference,) = plan_of(reading={"endpoints": False}).differences(before)
    assert difference.startswith("reading: ")


def test_words_of_a_plan_become_choices_and_clips_inside_a_moment_are_labelled_to_its_last() -> None:
    settings = settings_of(plan_of(sizes={"encoder": "lstm", "modular": False, "boundaries": "groups"}))
    assert (settings.config.encoder, settings.config.modular) == (Encoder.LSTM, False)
    assert settings.config.boundaries is Boundaries.GROUPS and settings.config.streams is Streams.BOTH
    assert settings.reading.boundary is Boundary.LAST
    assert settings_of(plan_of(sizes={"encoder": "lstm"})).reading.boundary is Boundary.AFTER
    plan = plan_of("conquer", candidates={"source": "checkpoint", "path": "x"}, decoding={"ranking": "general"})
    assert settings_of(plan).decoding.ranking is Ranking.GENERAL


def test_a_bad_plan_ends_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", str(tmp_path)]) == 2
    assert list(tmp_path.iterdir()) == []
    (tmp_path / PLAN).write_text(json.dumps({"baseline": "xml"}))
    assert main(["train", str(tmp_path)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("plan.json: No such file or directory")
    assert second.endswith("plan.json: train, val, corpus, video, query must be given")
    (event,) = read_events(tmp_path)
    assert (event["kind"], event["reason"]) == ("failed", second.removeprefix("error: "))


def test_the_page_of_training_names_all_of_a_plan_with_its_defaults() -> None:
    table = (Path(__file__).parents[3] / "docs" / "training.md").read_text().split("## What is written")[0]
    lines = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    rows = {name: cells for cells in lines for name in NAMES.findall(cells[1])}
    assert set(rows) == {one.name for one in fields(Plan)}
    plan = Plan.of({"baseline": "xml", **dict.fromkeys(("train", "val", "corpus", "video", "query"), "x")})
    for name, default in (("epochs", "100"), ("patience", "10"), ("seed", "2024"), ("top_n", "20")):
        assert rows[name][2].strip() == default == str(getattr(plan, name))
