"""Annotators confirm what they have read."""

from django.db import transaction

from annotation.models import Project, User
from annotation.services.audit import audit_record
from judging.exceptions import FormStale
from judging.models import GuidelineConfirmation
from judging.services.policies import guideline_in_force
from judging.services.way import way_advance


@transaction.atomic
def guideline_confirm(*, project: Project, annotator: User, version: int) -> GuidelineConfirmation:
    """Write down that the annotator has read this version, and take them on; a repeat changes nothing.

    Raises:
        FormStale: another version is in force.
    """
    in_force = guideline_in_force(project.pk)
    if version != in_force.version:
        raise FormStale(f"Version {in_force.version} of the guideline is in force by now. Read that one.")
    confirmed, made = GuidelineConfirmation.objects.get_or_create(guideline=in_force, annotator=annotator)
    if made:
        audit_record(
            project=project, actor=annotator, action="guideline.confirm", subject=in_force.uuid, version=version
        )
        way_advance(project=project, annotator=annotator)
    return confirmed
