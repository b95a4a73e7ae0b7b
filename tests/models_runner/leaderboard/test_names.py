"""Names of runs, and runs of the same name."""

import pytest

from core.exceptions import NotPossible
from judging.models import Release
from models_runner.leaderboard.services.economy import runs_of, study_create, study_work
from models_runner.models import Run
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, WRONG, bring, participant, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.mark.parametrize("name", ["ou\u200brs", "ours\u202e", "ou\nrs", "ou\x07rs", "ours\u2028x"])
def test_characters_that_nobody_sees_are_refused(name: str, release: Release, scenario: HandMade) -> None:
    with pytest.raises(NotPossible, match="nobody sees|control characters"):
        bring(participant(scenario.project), release, run_json({10: GOOD}), system=name)


@pytest.mark.parametrize("name", ["similarity", "Similarity ", "ｓimilarity"])
def test_the_sites_own_name_is_its_own(name: str, release: Release, scenario: HandMade) -> None:
    with pytest.raises(NotPossible, match="its own run"):
        bring(participant(scenario.project), release, run_json({10: GOOD}), system=name)
    assert not Run.objects.filter(source="upload").exists()


def test_two_runs_of_one_name_are_both_studied(release: Release, scenario: HandMade) -> None:
    one, other = (bring(participant(scenario.project), release, run_json({10: rows})) for rows in (GOOD, WRONG))
    assert {one, other} < set(runs_of(release, "val"))
    made_study = study_create(release=release, split="val", actor=None)
    study_work(study_id=made_study.pk)
    made_study.refresh_from_db()
    names = [f"{run.name} · {str(run.uuid)[:8]}" for run in (one, other)]
    assert made_study.result["runs"] == ["similarity", *names]
    assert len({tuple(scores) for scores in made_study.result["scores"]}) == 3
