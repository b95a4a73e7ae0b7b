"""What an annotator's pages read besides what they hold."""

from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from annotation.models import Moment, Project, User
from judging.models import Assignment, Judgment

VISIBLE = """
SELECT moment.* FROM annotation_moment moment JOIN annotation_video video ON video.id = moment.video_id
WHERE moment.preview_uuid = %(preview)s AND moment.preview_state = 'ready' AND (
    EXISTS (SELECT 1 FROM annotation_candidate candidate
        JOIN judging_pair pair ON pair.candidate_id = candidate.id
        JOIN judging_assignment held ON held.batch_id = pair.batch_id AND held.annotator_id = %(user)s
            AND pair.id = ANY (held.pair_ids)
        WHERE candidate.moment_id = moment.id AND (held.state IN ('open', 'finished') OR EXISTS (
            SELECT 1 FROM judging_judgment given WHERE given.pair_id = pair.id AND given.annotator_id = %(user)s)))
    OR EXISTS (SELECT 1 FROM annotation_membership member JOIN annotation_project project
            ON project.id = member.project_id AND project.corpus_id = video.corpus_id
        WHERE member.user_id = %(user)s AND member.role IN ('lead', 'admin'))
    OR EXISTS (SELECT 1 FROM judging_guidelineexample example
        JOIN judging_guideline guideline ON guideline.id = example.guideline_id
        JOIN annotation_membership member ON member.project_id = guideline.project_id AND member.user_id = %(user)s
        WHERE example.moment_id = moment.id))"""


def open_assignment(*, project: Project, annotator: User) -> Assignment | None:
    return Assignment.objects.filter(project=project, annotator=annotator, state=Assignment.State.OPEN).first()


def given_in(assignment: Assignment) -> list[Judgment]:
    """The person's own grades of one assignment, in the order given."""
    return list(assignment.judgments.select_related("pair__candidate__moment").order_by("id"))


def final_judgments(*, project: Project, annotator: User) -> QuerySet[Judgment]:
    """The person's own grades that cannot change any more."""
    given = Judgment.objects.filter(annotator=annotator, assignment__project=project)
    ended = given.exclude(assignment__state=Assignment.State.OPEN)
    return ended.select_related("pair__batch__query", "pair__candidate__moment")


def work_done(*, project: Project, annotator: User, since: datetime) -> dict[str, int]:
    """Batches finished and grades given by the annotator, in all and ``since`` (say, midnight)."""
    finished = Assignment.objects.filter(project=project, annotator=annotator, state=Assignment.State.FINISHED)
    given = Judgment.objects.filter(annotator=annotator, assignment__project=project)
    return {
        "batches": finished.count(),
        "judgments": given.count(),
        "today": given.filter(created_at__gte=since).count(),
    }


def preview_visible_to(*, user: User, preview: UUID) -> Moment | None:
    """The moment of this preview, when the person may watch it: asked of them, of their project, or an example."""
    return next(iter(Moment.objects.raw(VISIBLE, {"user": user.pk, "preview": preview})), None)
