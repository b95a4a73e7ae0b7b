"""Videos, their moments and words; projects, their jobs and their audit."""

from functools import partial

from django.db import connection

from accounts.models import Project
from annotation.models import Measure, Subtitle, TextStatistics, TextVector, VideoFolder, VideoPart
from core.models import AuditEvent, Job
from tests.factories import (
    NOW,
    BatchFactory,
    CorpusFactory,
    DescriptionFactory,
    ExamFactory,
    KnownPairFactory,
    MeasureFactory,
    MomentFactory,
    ProjectFactory,
    UserFactory,
    VideoFactory,
    VideoUploadFactory,
)
from tests.judging.constraints.writes import More, Refused, Write, adding, again, change, deletion, maker

audit_event = maker(AuditEvent, action="test")
job = maker(Job, project=ProjectFactory, kind="k")
measure = maker(Measure, name="bow", model="words", version="1", normalisation="clean")
statistics = maker(TextStatistics, project=ProjectFactory)
subtitle = maker(Subtitle, video=VideoFactory, start_s=1, end_s=2, text="x")
part = maker(VideoPart, upload=VideoUploadFactory, start=0, size=1, file="video_parts/a")
video_folder = maker(VideoFolder, project=ProjectFactory, corpus=CorpusFactory, started_by=UserFactory, path="/films")
uncut = partial(MomentFactory, uncut=True)


def audit_emptied() -> Write:
    """All at once, which no trigger for a row would see."""
    audit_event()
    connection.cursor().execute("SET CONSTRAINTS ALL IMMEDIATE")  # what waits to be checked would refuse it first
    return lambda: connection.cursor().execute("TRUNCATE core_auditevent CASCADE")


def replacement_of_another() -> Write:
    row = VideoUploadFactory()
    videos = {name: VideoFactory(corpus=row.corpus) for name in ("video", "replaces")}
    return lambda: type(row).objects.filter(pk=row.pk).update(state="done", offset=100, **videos)


def project_without_corpus() -> None:
    Project.objects.create(name="empty")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def description_of(corpus: object, source_id: int) -> object:
    return DescriptionFactory(moment__video__corpus=corpus, source_id=source_id)


def project_with_a_batch() -> Project:
    return BatchFactory().project  # type: ignore[no-any-return]


def project_with_a_truth() -> Project:
    return KnownPairFactory(exam=None, project=ProjectFactory(), source="lead", truth=2).project  # type: ignore[no-any-return]


def project_with_an_exam() -> Project:
    return ExamFactory().project  # type: ignore[no-any-return]


OTHER_RULES = {
    "top_grade": 3,
    "judges": 3,
    "max_spread": 0,
    "max_rounds": 1,
    "batch_size": 10,
    "has_second_batch": False,
    "strata": [[1, 40, 20]],
}
NO_STRATA = {
    "they have rows": [1, 40, 20],
    "each has its sample": [[1, 40]],
    "each number is there": [[1, 40, None]],
    "the first begins somewhere": [[None, 40, 20]],
    "they begin with the first rank": [[2, 40, 20]],
    "they leave nothing out": [[1, 10, 10], [12, 40, 10]],
    "they do not overlap": [[1, 10, 10], [10, 40, 10]],
    "they end behind their beginning": [[1, 20, 20], [21, 20, 0]],
    "they go no deeper than rank 1000": [[1, 1001, 20]],
    "something of each is drawn": [[1, 20, 20], [21, 40, 0]],
    "no more is drawn than there is": [[1, 10, 11], [11, 40, 9]],
}
NO_RULES = {
    "a scale has two grades": {"top_grade": 0, "max_spread": 0},
    "a scale has ten grades at most": {"top_grade": 10},
    "nobody judges alone": {"judges": 1},
    "no more than three judge in a round": {"judges": 4},
    "there is a round": {"max_rounds": 0},
    "there are two rounds at most": {"max_rounds": 3},
}
REFUSED: Refused = {
    "text_statistics_computed_say_something": adding(statistics, computed_at=NOW),
    "video_name_once_per_corpus": again(VideoFactory, corpus=CorpusFactory, name="a"),
    "video_index_once_per_corpus": again(VideoFactory, corpus=CorpusFactory, index=3),
    "video_lasts": change(VideoFactory, duration_s=0),
    "video_has_frames": change(VideoFactory, fps=0),
    "video_poster_ready_is_there": change(VideoFactory, poster_state="ready"),
    "video_sha256_is_a_checksum": change(VideoFactory, sha256="0" * 63),
    "video_playback_ready_is_there": change(VideoFactory, playback_state="ready"),
    "video_upload_is_not_empty": change(VideoUploadFactory, size=0, state="failed", error="x"),
    "video_upload_state_is_known": change(VideoUploadFactory, offset=100, state="lost"),
    "video_upload_is_read_when_whole": change(VideoUploadFactory, state="reading"),
    "video_upload_failed_says_why": change(VideoUploadFactory, offset=100, state="failed"),
    "video_upload_done_has_its_video": change(VideoUploadFactory, offset=100, state="done"),
    "video_upload_is_of_the_video_it_replaces": replacement_of_another,
    "moment_old_preview_is_ready": change(uncut, preview_is_old=True),
    "video_retired_says_why_and_has_no_file": change(VideoFactory, retired_at=NOW),
    "moment_retired_has_no_files": change(MomentFactory, preview_state="retired"),
    "video_folder_running_once_per_corpus": again(video_folder, corpus=CorpusFactory),
    "video_folder_state_is_known": change(video_folder, state="lost"),
    "video_folder_path_is_absolute": change(video_folder, path="films"),
    "video_folder_done_within_its_files": change(video_folder, n_done=1, n_files=1, n_added=1, n_problems=1),
    "video_folder_failed_says_why": change(video_folder, state="failed"),
    "video_upload_unfinished_once_per_name": again(VideoUploadFactory, project=ProjectFactory, name="a"),
    "video_part_once_per_upload_and_start": again(part, upload=VideoUploadFactory),
    "video_part_is_not_empty": change(part, size=0),
    "video_part_has_its_file": change(part, file=""),
    "subtitle_starts_before_end": adding(subtitle, start_s=2),
    "moment_once_per_video_and_span": again(MomentFactory, video=VideoFactory, start_s=1, end_s=2),
    "moment_starts_before_it_ends": change(MomentFactory, start_s=5, end_s=5),
    "moment_ready_has_its_preview": change(MomentFactory, preview=""),
    "moment_clip_is_of_a_ready_preview": change(uncut, preview_clip="a.mp4"),
    "moment_poster_ready_is_there": change(MomentFactory, poster_state="ready"),
    "moment_failed_says_why": change(MomentFactory, preview_state="failed"),
    "description_source_id_once_per_corpus": again(description_of, corpus=CorpusFactory, source_id=4),
    "description_says_something": change(DescriptionFactory, text=""),
    "text_vector_once_per_measure": again(
        TextVector.objects.create, measure=MeasureFactory, text_sha256=b"1" * 32, vector=b""
    ),
    "measure_once": again(measure),
    "measure_has_a_name": adding(measure, name=""),
    "project_demo_has_videos_and_seed": change(ProjectFactory, demo_videos=3),
    "project_rules_are_possible": change(ProjectFactory, max_spread=4),
    "project_batch_of_5_to_50_pairs": change(ProjectFactory, batch_size=4),
    "project_strata_follow_each_other_and_fill_a_batch": change(ProjectFactory, strata=[[1, 20, 19]]),
    "job_runs_once_per_project_and_kind": again(job, project=ProjectFactory),
    "job_done_within_total": change(job, done=1),
}
MORE: More = {
    "project_strata_follow_each_other_and_fill_a_batch": {
        f"strata that cannot be: {sentence}": change(ProjectFactory, strata=rows)
        for sentence, rows in NO_STRATA.items()
    },
    "project_rules_are_possible": {sentence: change(ProjectFactory, **values) for sentence, values in NO_RULES.items()},
    "project_batch_of_5_to_50_pairs": {"a batch has 50 pairs at most": change(ProjectFactory, batch_size=51)},
    "its rules are fixed": {
        f"a project with a batch keeps its {field}": change(project_with_a_batch, **{field: value})
        for field, value in OTHER_RULES.items()
    }
    | {
        "a project with a known truth keeps its rules": change(project_with_a_truth, top_grade=9),
        "a project with an exam keeps its rules": change(project_with_an_exam, top_grade=9),
    },
    "video_upload_is_read_when_whole": {
        "what is whole is not on its way any more": change(VideoUploadFactory, offset=100),
        "no more is here than the file has": change(VideoUploadFactory, offset=101),
    },
    "moment_starts_before_it_ends": {"a moment does not start before its video": change(MomentFactory, start_s=-1)},
    "append-only": {
        "measures do not change": change(MeasureFactory, version="2"),
        "measures stay": deletion(MeasureFactory),
        "audit events do not change": change(audit_event, action="nothing"),
        "audit events stay": deletion(audit_event),
        "audit events are not emptied out": audit_emptied,
    },
    "has no corpus": {"a project has a corpus": lambda: project_without_corpus},
}
TRIGGERS = {
    *("audit_event_is_append_only", "audit_event_is_never_emptied", "measure_is_append_only"),
    *("project_has_a_corpus", "project_rules_are_fixed"),
}
