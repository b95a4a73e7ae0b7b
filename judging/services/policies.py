"""The versions in force."""

from typing import Any

from django.db import transaction

from annotation.models import Project, User
from annotation.services.audit import audit_record
from judging.models import Guideline, Policy

OF_THE_VERSION = {"id", "project", "version", "created_by", "created_at"}
POLICY_VALUES = tuple(field.name for field in Policy._meta.fields if field.name not in OF_THE_VERSION)


def policy_in_force(project_id: int) -> Policy:
    return Policy.objects.filter(project=project_id).latest("version")


def guideline_in_force(project_id: int) -> Guideline:
    return Guideline.objects.filter(project=project_id).latest("version")


@transaction.atomic
def guideline_publish(*, project: Project, actor: User | None, body: str, levels: list[str]) -> Guideline:
    """Put a new version of the guideline in force."""
    Project.objects.select_for_update().get(pk=project.pk)
    last = Guideline.objects.filter(project=project).order_by("-version").first()
    made = Guideline.objects.create(
        project=project, version=last.version + 1 if last else 1, body=body, levels=levels, created_by=actor
    )
    audit_record(project=project, actor=actor, action="guideline.publish", subject=made.uuid, version=made.version)
    return made


@transaction.atomic
def policy_publish(*, project: Project, actor: User | None, **values: Any) -> Policy:
    """Put a new version of the policy in force; what ``values`` leaves out stays as it was."""
    Project.objects.select_for_update().get(pk=project.pk)
    last = Policy.objects.filter(project=project).order_by("-version").first()
    kept = {name: getattr(last, name) for name in POLICY_VALUES} if last else {}
    made = Policy.objects.create(
        project=project, version=last.version + 1 if last else 1, created_by=actor, **{**kept, **values}
    )
    audit_record(
        project=project, actor=actor, action="policy.publish", subject=project.uuid, version=made.version, **values
    )
    return made
