"""Runs and their scores."""

from judging.models import Release
from models_runner.models import Run, Score
from tests.factories import ProjectFactory
from tests.judging.constraints.writes import More, Refused, Write, again, change


def run() -> Run:
    release = Release.objects.create(project=ProjectFactory(), version=1)
    return Run.objects.create(project=release.project, release=release, system="x", split="val")


def score(**values: object) -> Score:
    given = {"run": values.get("run") or run(), "convention": "paper", "gain": "linear", "k": 10, "mu": 0.5}
    return Score.objects.create(**{"value": 0.5, **given})


def run_twice() -> Write:
    made = run()
    return lambda: Run.objects.create(project=made.project, release=made.release, system=made.system, split=made.split)


REFUSED: Refused = {
    "run_once_per_release_system_and_split": run_twice,
    "run_split_is_judged": change(run, split="train"),
    "run_scored_has_its_file": change(run, state="scored"),
    "score_once_per_measure": again(score, run=run),
    "score_within_0_and_1": change(score, value=1.5),
}
MORE: More = {}
TRIGGERS: set[str] = set()
