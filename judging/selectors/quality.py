"""Whether people have judged."""

from annotation.models import Project
from judging.models import Judgment


def people_have_judged(project: Project) -> bool:
    return Judgment.objects.filter(assignment__project=project, source=Judgment.Source.PERSON).exists()
