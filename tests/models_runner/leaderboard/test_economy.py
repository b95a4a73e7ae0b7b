"""Studies of judging economy: ordered, computed once, shown, written."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.exceptions import NotPossible
from core.jobs import sweep_all
from judging.models import Release
from models_runner.leaderboard.services.economy import pairs_of, rounds_of, study_create, study_work
from models_runner.leaderboard.services.releases import release_receive
from models_runner.models import EconomyStudy
from tests.conftest import Messages
from tests.judging.scenario import HandMade
from tests.judging.views.endpoints import zipped
from tests.models_runner.acts import GOOD, WRONG, bring, participant, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture(scope="module")
def released_once(released_once: Release) -> Release:
    bring(participant(released_once.project), released_once, run_json({10: GOOD, 11: GOOD}))
    bring(participant(released_once.project), released_once, run_json({10: WRONG}), system="theirs")
    return released_once


def test_a_study_is_requested_and_computed(release: Release, scenario: HandMade, messages: Messages) -> None:
    pairs = {pair.pair_id: pair for pair in pairs_of(release) if pair.query_id == "10"}
    assert sorted(pair.grades for pair in pairs.values()) == [(0, 2, 3, 2), (0, 4, 4, 0), (4, 3)]
    assert {pair.batch for pair in pairs.values()} == {1}
    made_study = study_create(release=release, split="val", actor=scenario.lead)  # its message is lost
    with messages():
        sweep_all(now=timezone.now() + timedelta(minutes=3))
    made_study.refresh_from_db()
    assert (made_study.state, made_study.done) == ("done", made_study.total)
    names = [reduction["name"] for reduction in made_study.result["cuts"]]
    assert names == ["half", "depth", "two-averaged", "two-agreed"]
    assert scenario.project.audit_events.get(action="economy.study").data == {"version": 1, "split": "val"}


def test_too_few_runs_and_the_command(
    release: Release, scenario: HandMade, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("judging_economy", scenario.project.name, split="val", csv=tmp_path / "economy.csv")
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "NDCG@10,IoU>=0.3, 3 runs"
    assert set(json.loads(last)["tau"]) == {"half", "depth", "two-averaged", "two-agreed"}
    assert len((tmp_path / "economy.csv").read_text().splitlines()) == 1 + 5 * 9 * 3
    with pytest.raises(NotPossible, match="needs 3 runs; scored on this release and split: 1"):
        study_create(release=release, split="test", actor=None)
    study_create(release=release, split="val", actor=None)
    with pytest.raises(NotPossible, match="at work already"):
        study_create(release=release, split="val", actor=None)


def test_the_page_orders_and_shows(release: Release, scenario: HandMade, messages: Messages, client: Client) -> None:
    client.force_login(scenario.lead)
    url, query = reverse("models_runner:economy", args=[scenario.project.uuid]), "?split=val"
    assert "Too few runs" in client.get(url + "?split=test").content.decode()
    with messages():
        client.post(reverse("models_runner:economy-study", args=[scenario.project.uuid]), {"split": "val"})
    text = client.get(url + query + "&measure=NDCG@20,IoU>=0.5").content.decode()
    assert "The first two annotators alone, pairs where they lie apart left out" in text
    assert "NDCG@20,IoU&gt;=0.5</h2>" in text
    assert "holds no" not in text
    file = client.get(reverse("models_runner:economy-csv", args=[scenario.project.uuid]) + query).content.decode()
    lines = file.splitlines()
    assert lines[0].startswith('"cut","judgments","pairs","measure","tau"')
    assert len(lines) == 1 + 5 * 9 * 3


def second_release(scenario: HandMade, files: dict[str, bytes]) -> Release:
    """Return a second release of these files, with runs enough for a study."""
    release = Release(
        project=scenario.project, version=2, state="ready", manifest={"files": {name: {} for name in files}}
    )
    release.archive.save("release.zip", ContentFile(zipped(files)), save=False)
    release.save()
    release_receive(release_id=release.pk)
    for system in ("one", "two"):
        bring(participant(scenario.project), release, run_json({10: GOOD}), system=system)
    return release


def test_the_rules_of_the_release_count(release: Release, scenario: HandMade, client: Client) -> None:
    """Three judges and grades that may not differ, whatever the project says now."""
    rows = [{"video_name": name, "timestamp": [0, 3], "relevance": n} for n, name in enumerate(("alpha", "beta"))]
    grades = {1: (0, 0, 0), 2: (1, 1, 0, 1, 1, 1)}
    new_release = second_release(
        scenario,
        {
            "val.json": json.dumps([{"query_id": 10, "query": "a person sings", "relevant_moment": rows}]).encode(),
            "settings.json": json.dumps({"consensus": {"judgments_per_round": 3, "largest_spread": 0}}).encode(),
            "pairs.csv": b"pair_id,query_id,video_name,start,end,rank,batch,state\n"
            b"1,10,alpha,0,3,1,1,settled\n2,10,beta,0,3,2,1,settled\n",
            "raw_annotation.csv": "\n".join(
                ["pair_id,relevance", *(f"{pair},{grade}" for pair, of_pair in grades.items() for grade in of_pair)]
            ).encode(),
        },
    )
    study_work(study_id=study_create(release=new_release, split="val", actor=None).pk)
    (agreed,) = (row for row in EconomyStudy.objects.get().result["cuts"] if row["name"] == "three-agreed")
    assert (agreed["judgments"], agreed["pairs"]) == (6, 1)
    client.force_login(scenario.lead)
    text = client.get(reverse("models_runner:economy", args=[scenario.project.uuid])).content.decode()
    assert "The first three annotators alone" in text
    assert "first two" not in text


def test_a_release_without_grades_is_studied_by_halves(release: Release, scenario: HandMade, client: Client) -> None:
    rows = [{"video_name": name, "timestamp": [0, 3], "relevance": 4} for name in ("alpha", "beta")]
    judged = json.dumps([{"query_id": 10, "query": "a person sings", "relevant_moment": rows}]).encode()
    new_release = second_release(scenario, {"val.json": judged})
    assert rounds_of(new_release) == {"judges": 2, "max_spread": 1}  # as in releases that do not state their rules
    study_work(study_id=study_create(release=new_release, split="val", actor=None).pk)
    assert [reduction["name"] for reduction in EconomyStudy.objects.get().result["cuts"]] == ["half"]
    client.force_login(scenario.lead)
    text = client.get(reverse("models_runner:economy", args=[scenario.project.uuid])).content.decode()
    assert "Release 2 holds no pairs.csv and no raw_annotation.csv" in text
    assert "judgments are not counted" in text
