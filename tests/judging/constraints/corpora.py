"""Videos, their moments and words; projects, their jobs and their audit."""

from django.db import connection

from accounts.models import Project
from annotation.models import Measure, Subtitle, TextStatistics, TextVector
from core.models import AuditEvent, Job
from tests.factories import (
    NOW,
    CorpusFactory,
    DescriptionFactory,
    MeasureFactory,
    MomentFactory,
    ProjectFactory,
    VideoFactory,
)
from tests.judging.constraints.writes import More, Refused, Write, again, change


def audit_event() -> AuditEvent:
    return AuditEvent.objects.create(action="test")


def audit_emptied() -> Write:
    """All at once, which no trigger for a row would see."""
    audit_event()
    connection.cursor().execute("SET CONSTRAINTS ALL IMMEDIATE")  # what waits to be checked would refuse it first
    return lambda: connection.cursor().execute("TRUNCATE core_auditevent CASCADE")


def job(**values: object) -> Job:
    return Job.objects.create(**{"project": values.pop("project", None) or ProjectFactory(), "kind": "k", **values})


def project_without_corpus() -> None:
    Project.objects.create(name="empty")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


REFUSED: Refused = {
    "text_statistics_computed_say_something": lambda: (
        lambda: TextStatistics.objects.create(project=ProjectFactory(), computed_at=NOW)
    ),
    "video_name_once_per_corpus": again(VideoFactory, corpus=CorpusFactory, name="a"),
    "video_index_once_per_corpus": again(VideoFactory, corpus=CorpusFactory, index=3),
    "video_lasts": change(VideoFactory, duration_s=0),
    "subtitle_starts_before_end": lambda: (
        lambda: Subtitle.objects.create(video=VideoFactory(), start_s=2, end_s=2, text="x")
    ),
    "moment_once_per_video_and_span": again(MomentFactory, video=VideoFactory, start_s=1, end_s=2),
    "moment_starts_before_it_ends": change(MomentFactory, start_s=5, end_s=5),
    "moment_ready_has_its_preview": change(MomentFactory, preview=""),
    "moment_clip_is_of_a_ready_preview": change(lambda: MomentFactory(uncut=True), preview_clip="a.mp4"),
    "moment_failed_says_why": change(MomentFactory, preview_state="failed"),
    "description_source_id_once_per_corpus": again(
        lambda corpus, source_id: DescriptionFactory(moment__video__corpus=corpus, source_id=source_id),
        corpus=CorpusFactory,
        source_id=4,
    ),
    "description_says_something": change(DescriptionFactory, text=""),
    "text_vector_once_per_measure": again(
        TextVector.objects.create, measure=MeasureFactory, text_sha256=b"1" * 32, vector=b""
    ),
    "measure_once": again(Measure.objects.create, name="bow", model="words", version="1", normalisation="clean"),
    "measure_has_a_name": lambda: lambda: Measure.objects.create(name="", model="x", version="1", normalisation="x"),
    "project_demo_has_videos_and_seed": change(ProjectFactory, demo_videos=3),
    "job_runs_once_per_project_and_kind": again(job, project=ProjectFactory),
    "job_done_within_total": change(job, done=1),
}
MORE: More = {
    "a moment does not start before its video": ("moment_starts_before_it_ends", change(MomentFactory, start_s=-1)),
    "measures do not change": ("append-only", change(MeasureFactory, version="2")),
    "measures stay": ("append-only", lambda: MeasureFactory().delete),
    "audit events do not change": ("append-only", change(audit_event, action="nothing")),
    "audit events stay": ("append-only", lambda: audit_event().delete),
    "audit events are not emptied out": ("append-only", audit_emptied),
    "a project has a corpus": ("has no corpus", lambda: project_without_corpus),
}
TRIGGERS: set[str] = {
    "audit_event_is_append_only",
    "audit_event_is_never_emptied",
    "measure_is_append_only",
    "project_has_a_corpus",
}
