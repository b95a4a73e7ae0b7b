from typing import Any

from django.apps import AppConfig


class ModelsRunnerConfig(AppConfig):
    name = "models_runner"

    def ready(self) -> None:
        from accounts.services.identities import identity_forgotten
        from core.observability.metrics import register_figures
        from models_runner.experiments.selectors import training_figures

        register_figures(training_figures)
        identity_forgotten.connect(forget_teams)


def forget_teams(sender: object, user: Any, **kwargs: object) -> None:
    """Runs stay on the leaderboard, without the team and the file's name, which may be somebody's own."""
    from models_runner.models import Run

    Run.objects.filter(owner=user).update(team="", file_name="")
