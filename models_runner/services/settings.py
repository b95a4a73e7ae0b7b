"""How participants take part: what they never see, how often they upload."""

from django.db import transaction

from annotation.models import Project, User
from annotation.services.audit import audit_record
from models_runner.models import Leaderboard


def leaderboard_of(project: Project) -> Leaderboard:
    """The project's settings; those of a project that has none yet are the defaults, unsaved."""
    return Leaderboard.objects.filter(project=project).first() or Leaderboard(project=project)


@transaction.atomic
def leaderboard_change(
    *,
    project: Project,
    actor: User | None,
    hides_val: bool,
    hides_test: bool,
    uploads_per_day: int,
    **others: int | str,
) -> Leaderboard:
    """Set what participants may see and do, from now on.

    Args:
        others: ``uploads_in_all``, ``least_queries``, ``ladder``, ``alike_percent``; what is left out stays as it is.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    values = {"hides_val": hides_val, "hides_test": hides_test, "uploads_per_day": uploads_per_day, **others}
    held = leaderboard_of(project)
    changed = {name: value for name, value in values.items() if getattr(held, name) != value}
    if changed or held.pk is None:
        held, _ = Leaderboard.objects.update_or_create(project=project, defaults=values)
        audit_record(project=project, actor=actor, action="leaderboard.change", subject=project.uuid, **changed)
    return held
