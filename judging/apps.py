from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_out

from core import clock


class JudgingConfig(AppConfig):
    name = "judging"

    def ready(self) -> None:
        from accounts.services.identities import identity_forgotten
        from accounts.services.members import role_requested
        from core.observability.metrics import register_figures
        from judging.work.selectors.metrics import judging_figures

        register_figures(judging_figures)
        user_logged_out.connect(leave_on_log_out)
        identity_forgotten.connect(forget_file_names)
        role_requested.connect(refuse_staff_with_grades)


def leave_on_log_out(sender: object, user: Any, **kwargs: object) -> None:
    """Shorten the leases of somebody who logs out: their pairs do not wait for the whole lease."""
    from judging.work.services.assignments import assignment_leave  # models are not loaded when this module is

    if user is not None:
        assignment_leave(annotator=user, now=clock.now())


def refuse_staff_with_grades(sender: object, project: Any, user: Any, roles: Any, **kwargs: object) -> None:
    """Whoever has graded in a project must not see its captions and others' grades, nor write or check its queries."""
    from accounts.models import Membership
    from core.exceptions import NotPossible
    from judging.people.selectors import has_grades

    if set(roles) & set(Membership.COMBINABLE) and has_grades(project=project, user=user):
        raise NotPossible(
            f"{user.username} has grades in {project.name!r}, and whoever graded there never sees captions or the"
            " grades of others. Give the role to another account."
        )


def forget_file_names(sender: object, user: Any, **kwargs: object) -> None:
    """A file may be named after whoever uploaded it."""
    from annotation.corpora.services.imports import file_names_forget
    from annotation.topics.services import topic_file_names_forget
    from judging.models import JudgmentImport

    file_names_forget(owner=user)
    topic_file_names_forget(owner=user)
    JudgmentImport.objects.filter(owner=user).update(file_name="erased")
