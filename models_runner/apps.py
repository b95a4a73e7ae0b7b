import tomllib
from pathlib import Path
from typing import Any

from django.apps import AppConfig

from judging.audit.rules import Pages, register_actions

# The audit: sentences of actions, and the pages they lead to
SENTENCES: dict[str, str] = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8"))
BY_SUBJECT: Pages = {("pool.",): ("pools:pool", "Pool")}
OF_PROJECT: Pages = {
    ("run.",): ("models_runner:runs", "Runs"),
    ("ground_truth.", "truth_run."): ("models_runner:ground-truths", "Ground truths"),
}
OWN_RUNS = ("owner", ["uuid", "split", "system", "team", "state", "file_name", "bytes", "created_at"])
OWN_TRUTH_RUNS = ("owner", ["uuid", "system", "team", "state", "file_name", "bytes", "created_at"])


class ModelsRunnerConfig(AppConfig):
    name = "models_runner"

    def ready(self) -> None:
        from accounts.services.identities import identity_forgotten
        from core.observability.metrics import register_figures
        from judging.demo.services import register_last_step
        from judging.people.person_data import register_own
        from judging.projects.checklist import register_step
        from judging.releases.services import release_ready
        from models_runner.demo.services import demo_results_add
        from models_runner.experiments.selectors import training_figures, training_step

        register_figures(training_figures)
        register_step(training_step)
        register_last_step(demo_results_add)
        register_actions("Releases and runs", SENTENCES, by_subject=BY_SUBJECT, of_project=OF_PROJECT)
        register_own("models_runner.Run", *OWN_RUNS)
        register_own("models_runner.TruthRun", *OWN_TRUTH_RUNS)
        identity_forgotten.connect(forget_teams)
        release_ready.connect(read_release)


def forget_teams(sender: object, user: Any, **kwargs: object) -> None:
    """Runs stay on the leaderboard, without the team and the file's name, which may identify a person."""
    from models_runner.models import Run, TruthRun

    for table in (Run, TruthRun):
        table.objects.filter(owner=user).update(team="", file_name="")


def read_release(sender: object, release: Any, **kwargs: object) -> None:
    """Have a new release read, and runs scored on it."""
    from core.messages import send_on_commit
    from models_runner.leaderboard.services.releases import READY_RELEASES

    send_on_commit(READY_RELEASES.task, release.pk)
