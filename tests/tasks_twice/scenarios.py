"""For every task of the site a piece of work as it is when the task is sent."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from accounts.models import Project, User
from accounts.services.identities import identity_set
from annotation.captions.selectors import prompt_in_force
from annotation.captions.services.captions import caption_accept
from annotation.captions.services.rewriting import caption_redo, failure_of, rewriting_start
from annotation.corpora.services import imports
from annotation.corpora.services.imports import corpus_import_create, corpus_import_work
from annotation.corpora.services.retirement import video_retire
from annotation.corpora.services.video_uploads import video_part_add
from annotation.models import Caption, Moment, PromptTrial, Rewriting, Video, VideoFolder, VideoUpload
from annotation.pools.services.poolings import Draw, Scope, pooling_discard
from annotation.proposals.services import options_checked, proposal_cancel, proposal_start, proposal_use
from annotation.statistics.services import statistics_request
from annotation.topics.services import IMPORTS as TOPIC_IMPORTS
from annotation.topics.services import topic_import_create, topic_import_work
from annotation.train_sets.services import train_set_discard, train_set_start
from judging.imports import services
from judging.imports.label_studio import Mapped
from judging.models import Policy, Release
from judging.people.services import invitation_create, invitation_revoke
from judging.projects.services import batches_request, candidates_request
from judging.qualification.services.exams import exam_close, exam_create
from judging.qualification.services.reports import attempt_report, exam_report
from judging.qualification.services.training import training_request
from judging.releases.services import release_build, release_comparison_of, release_create
from judging.review.services import batch_review, review_undo
from judging.studies.services import coverage_request, pool_open_request
from judging.work.services.pairs import recut_request
from models_runner.experiments.services import training_cancel
from models_runner.features.services import feature_set_delete, feature_set_start
from models_runner.ground_truths.services import GROUND_TRUTHS, truth_run_fail
from models_runner.leaderboard.services.economy import study_create
from models_runner.leaderboard.services.runs import run_fail, run_withdraw
from models_runner.leaderboard.services.score_tests import score_tests_schedule
from models_runner.leaderboard.services.scorings import truths_make
from models_runner.models import Run, Score, Scoring
from models_runner.pools.services import pool_request
from models_runner.tuning.services import settings_search_cancel
from moment_retrieval.metrics.leaderboard import COLUMNS
from tests.annotation.train_sets.train_sets import filled
from tests.factories import (
    CandidateFactory,
    CaptionFactory,
    DescriptionFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    UserFactory,
    VideoFactory,
    VideoUploadFactory,
    WebhookFactory,
    lead,
)
from tests.judging.covering import Covering
from tests.judging.exams import cohort_exam, examinee, sit
from tests.judging.growing import Growing
from tests.judging.imports.exports import annotation, rated, task, text
from tests.judging.play import judge
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, WRONG, bring, participant, ready_release, run_json
from tests.models_runner.benchmarks import only, order_experiment, order_search
from tests.models_runner.ground_truths.acts import upload_run, upload_truth

GONE = 2**31 - 1
CSV = "video,start,end,description,duration\nv,1,2,One sits.,60\nv,3,4,Ross,\n"
EXPORT = [
    task(1, {"pair_id": 0}, annotation(1, 7, rated(4)), annotation(2, 8, rated(3))),
    task(2, {"pair_id": 21}, annotation(3, 7, rated(0)), annotation(4, 9, rated(4))),
]


@dataclass
class Ground:
    """The initial state."""

    hand_made: HandMade
    clip: bytes
    folder: Path

    @property
    def project(self) -> Project:
        return self.hand_made.project

    @property
    def lead(self) -> User:
        return self.hand_made.lead


@dataclass(frozen=True)
class TaskScenario:
    """The arguments of a message; and what makes it come too late, where something does."""

    args: tuple[Any, ...] = ()
    over: Callable[[], object] | None = None
    error_table: str = ""  # the table whose row then says why nothing came of it


def nothing(ground: Ground) -> TaskScenario:
    """A sweep looks at all there is."""
    return TaskScenario()


def failed(rows: Any, **more: object) -> Callable[[], object]:
    """Return what makes the work end by failing."""
    return partial(rows.update, state="failed", error="no", **more)


# annotation


def uncut_video(ground: Ground) -> TaskScenario:
    video = VideoFactory(corpus=ground.hand_made.corpus, duration_s=4.0)
    video.file.save("clip.mp4", ContentFile(ground.clip))
    for start_s in (0.0, 1.0):
        MomentFactory(video=video, start_s=start_s, end_s=start_s + 1.0, uncut=True)
    fields = {"preview_state": Moment.Preview.FAILED, "preview_error": "It was taken away."}
    return TaskScenario((video.pk,), over=lambda: video.moments.update(**fields))


def unpictured_video(ground: Ground) -> TaskScenario:
    video = VideoFactory(corpus=ground.hand_made.corpus, duration_s=4.0)
    video.file.save("clip.mp4", ContentFile(ground.clip))
    poster = default_storage.save("posters/theirs.jpg", ContentFile(b"JPEG"))
    over = partial(Video.objects.filter(pk=video.pk).update, poster=poster, poster_state="ready")
    return TaskScenario((video.pk,), over=over)


def unplayable_video(ground: Ground) -> TaskScenario:
    video = VideoFactory(corpus=ground.hand_made.corpus, duration_s=4.0)
    video.file.save("clip.avi", ContentFile(ground.clip))
    over = partial(Video.objects.filter(pk=video.pk).update, playback_state="not_needed")
    return TaskScenario((video.pk,), over=over)


def unpictured_moment(ground: Ground) -> TaskScenario:
    moment = MomentFactory(video__corpus=ground.hand_made.corpus)
    poster = default_storage.save("previews/theirs.jpg", ContentFile(b"JPEG"))
    over = partial(Moment.objects.filter(pk=moment.pk).update, poster=poster, poster_state="ready")
    return TaskScenario((moment.pk,), over=over)


def uploaded_corpus(ground: Ground) -> TaskScenario:
    file = SimpleUploadedFile("a.csv", CSV.encode())
    lengths = SimpleUploadedFile("lengths.json", b'{"all": {"v": [60, 0]}}')
    options = {"corpus_name": "mine", "format": "csv", "file": file, "durations": lengths}
    row = corpus_import_create(actor=ground.lead, **options)

    def discard() -> None:
        corpus_import_work(import_id=row.pk)
        row.refresh_from_db()
        assert row.state == "checked", row.error
        imports.IMPORTS.discard(row=row, actor=ground.lead)

    return TaskScenario((row.pk,), over=discard)


def uploaded_topics(ground: Ground) -> TaskScenario:
    file = SimpleUploadedFile("a.tsv", b"901\tA man sings\n\tNo number\n")
    options = {"format": "tsv", "split": "test", "query_set": "topics", "file": file}
    row = topic_import_create(actor=ground.lead, project=ground.project, **options)

    def discard() -> None:
        topic_import_work(import_id=row.pk)
        row.refresh_from_db()
        assert row.state == "checked", row.error
        TOPIC_IMPORTS.discard(row=row, actor=ground.lead)

    return TaskScenario((row.pk,), over=discard)


def uploaded_video(ground: Ground) -> TaskScenario:
    row = VideoUploadFactory(project=ground.project, owner=ground.lead, size=len(ground.clip))
    video_part_add(upload=row, offset=0, read=BytesIO(ground.clip).read)
    return TaskScenario((row.pk,), over=failed(VideoUpload.objects.filter(pk=row.pk)))


def proposed(ground: Ground) -> TaskScenario:
    """Windows of a video are to be written."""
    video = VideoFactory(duration_s=7.0)
    row = proposal_start(corpus=video.corpus, options=options_checked(method="windows"), actor=None)
    proposal_use(proposal=row, actor=None, wake=False)
    return TaskScenario((row.pk,), over=partial(proposal_cancel, proposal=row, actor=None))


def forgetful(ground: Ground) -> TaskScenario:
    user: User = UserFactory()
    identity_set(user=user, name="Some Body", email="body@example.org")
    return TaskScenario((user.pk, "0" * 32), over=partial(User.objects.filter(pk=user.pk).update, is_active=False))


def moved(ground: Ground) -> TaskScenario:
    """Somebody has another e-mail address; the old one, which no row holds any more, is told."""
    return TaskScenario(("body@example.org", "0" * 32))


def unwritten(ground: Ground) -> TaskScenario:
    for index in range(3):
        DescriptionFactory(moment=ground.hand_made.moments[index], text=f"Ross and Joey wave {index} times.")
    of_corpus = {"corpus": ground.hand_made.corpus, "project": ground.project}
    row = rewriting_start(provider="rules", actor=ground.lead, **of_corpus)
    return TaskScenario((row.pk,), over=partial(Rewriting.objects.update, finished_at=timezone.now()))


def in_review(ground: Ground) -> Caption:
    about = {"project": ground.project, "corpus": ground.hand_made.corpus, "provider": "rules", "model": "1"}
    Rewriting.objects.get_or_create(**about, finished_at=timezone.now())
    description = DescriptionFactory(moment=ground.hand_made.moments[0], text="Ross and Joey wave.")
    fields = {"text": "A man and Joey wave.", "provider": "rules", "state": "in_review", "failed": ["name"]}
    caption: Caption = CaptionFactory(description=description, moment=ground.hand_made.moments[0], **fields)
    failure_of(caption).save()
    return caption


def other_wording(ground: Ground) -> TaskScenario:
    caption = in_review(ground)
    redo = caption_redo(project=ground.project, caption=caption, actor=ground.lead)
    decide = partial(caption_accept, project=ground.project, caption=caption, actor=ground.lead)
    return TaskScenario((redo.pk,), over=decide, error_table="annotation_captionredo")


def prompt_to_try(ground: Ground) -> TaskScenario:
    """Nothing is set up to ask: the trial says so."""
    trial = PromptTrial.objects.create(
        project=ground.project,
        corpus=ground.hand_made.corpus,
        prompt=prompt_in_force(ground.hand_made.corpus.pk),
        text="Replace names.",
        description_ids=[in_review(ground).description_id],
        actor=ground.lead,
    )
    finish = partial(PromptTrial.objects.filter(pk=trial.pk).update, finished_at=timezone.now())
    return TaskScenario((trial.pk,), over=finish, error_table="annotation_prompttrial")


def edited(ground: Ground) -> TaskScenario:
    fields = {"text": "Two men wave.", "state": "edited", "failed": [], "reviewed_by": ground.lead}
    Caption.objects.filter(pk=in_review(ground).pk).update(**fields)
    return TaskScenario((ground.hand_made.corpus.pk,))


def training_set(ground: Ground) -> TaskScenario:
    row = train_set_start(project=filled(ProjectFactory()), depth=3, actor=None, wake=False)
    return TaskScenario((row.pk,), over=partial(train_set_discard, train_set=row, actor=None))


def uncounted(ground: Ground) -> TaskScenario:
    statistics_request(project=ground.project)
    return TaskScenario((ground.project.pk,))


# judging


def judged(ground: Ground) -> TaskScenario:
    """Two people have judged a batch, far apart on one pair; nobody has decided anything."""
    batch = Growing().batch
    judge(batch, [4, 2])
    judge(batch, [0, 2])
    return TaskScenario((batch.pk,))


def to_extend(ground: Ground) -> TaskScenario:
    """A lead has asked for the second batch of query 30, and may take that back."""
    batch = ground.project.batches.get(query__number=30)
    for rank, moment in zip((21, 22), ground.hand_made.moments, strict=False):
        CandidateFactory(query=batch.query, moment=moment, rank=rank)
    batch_review(batch=batch, extend=True, lead=ground.lead)
    return TaskScenario((batch.pk,), over=partial(review_undo, batch=batch, lead=ground.lead))


def all_to_extend(ground: Ground) -> TaskScenario:
    return TaskScenario((ground.project.pk,), over=to_extend(ground).over)


def left_to_the_rule(ground: Ground) -> TaskScenario:
    Policy.objects.filter(project=ground.project).update(extend_automatically=True)
    return TaskScenario((ground.project.pk,), over=partial(Policy.objects.update, extend_automatically=False))


def to_retire(ground: Ground) -> TaskScenario:
    """Nothing makes it come too late but a lead who withdraws the pairs one by one."""
    pair = Growing().batch.pairs.earliest("pk")
    video = pair.candidate.moment.video
    video_retire(video=video, reason="Rights.", actor=ground.lead)
    return TaskScenario((video.pk,))


def folder_to_add(ground: Ground) -> TaskScenario:
    """Of a folder that is not there: what it adds, others show."""
    row = VideoFolder.objects.create(
        project=ground.project, corpus=ground.project.dataset.corpus, path="/none", started_by=ground.lead
    )
    return TaskScenario((row.pk,), over=failed(VideoFolder.objects.filter(pk=row.pk)))


def to_recut(ground: Ground) -> TaskScenario:
    growing = Growing()
    pair = growing.batch.pairs.earliest("pk")
    pair.candidate.moment.video.file.save("clip.mp4", ContentFile(ground.clip))
    Moment.objects.filter(pk=pair.candidate.moment.pk).update(start_s=0.0, end_s=1.0)
    recut = recut_request(pair=pair, lead=growing.lead)
    return TaskScenario((recut.pk,), over=failed(type(recut).objects, ended_at=timezone.now()))


def to_build(ground: Ground) -> TaskScenario:
    row = release_create(project=ground.project, actor=ground.lead, wake=False)
    return TaskScenario((row.pk,), over=failed(Release.objects.filter(pk=row.pk)))


def build_release(ground: Ground) -> Release:
    row = release_create(project=ground.project, actor=ground.lead, wake=False)
    return release_build(release_id=row.pk)  # type: ignore[return-value]


def to_compare(ground: Ground) -> TaskScenario:
    row = release_comparison_of(before=build_release(ground), after=build_release(ground), now=timezone.now())
    return TaskScenario((row.pk,), over=failed(type(row).objects))


def to_send(ground: Ground) -> TaskScenario:
    """Of a message to this machine, which no address of the open web is: its try fails, and it is tried again later."""
    webhook = WebhookFactory(project=ground.project, url="http://127.0.0.1:9/")
    webhook.deliveries.create(event="ping", payload={}, next_try_at=timezone.now())
    return TaskScenario((webhook.pk,), over=webhook.delete)


def demo(ground: Ground) -> TaskScenario:
    """It is seeded into an empty database alone: see test_demo_twice."""
    raise NotImplementedError


def fresh() -> Project:
    """Queries and captions, and nothing ranked yet."""
    project = filled(ProjectFactory())
    QueryFactory(project=project, number=2, text="a woman barks", split="val")
    return project


def to_open(ground: Ground) -> TaskScenario:
    project = fresh()
    batches_request(project=project, actor=lead(project))
    return TaskScenario((project.pk,), over=failed(project.jobs))


def to_rank(ground: Ground) -> TaskScenario:
    project = fresh()
    candidates_request(project=project, actor=lead(project))
    return TaskScenario((project.pk,), over=failed(project.jobs))


def pool_to_open(ground: Ground) -> TaskScenario:
    growing = Growing()
    plan = growing.plan(growing.rows("one", [0, 3, 7]))
    pool_open_request(pooling=plan, actor=growing.lead)
    return TaskScenario((plan.pk,))


def study_to_plan(ground: Ground) -> TaskScenario:
    covering = Covering()
    draw = {"queries": [covering.query], "draw": Draw(1, 4, 3)}
    study = coverage_request(project=covering.project, actor=covering.lead, **draw)
    return TaskScenario((study.pk,), over=partial(pooling_discard, pooling=study))


def to_draw(ground: Ground) -> TaskScenario:
    project = filled(ProjectFactory())
    training_request(project=project, actor=lead(project), queries=2, seed=7)
    return TaskScenario((project.pk, 2, 7), over=failed(project.jobs))


def exam_to_prepare(ground: Ground) -> TaskScenario:
    project = filled(ProjectFactory())
    exam = exam_create(project=project, actor=lead(project), kind="cohort", queries=2, depth=2, seed=7)
    return TaskScenario((exam.pk,), over=failed(type(exam).objects))


def sat(ground: Ground) -> Any:
    """A first cohort whose exam is closed; one of the three is far off."""
    exam = cohort_exam()
    for grade in (3, 3, 0):
        sit(examinee(exam.project), exam.project, lambda pair, grade=grade: grade)
    return exam_close(exam=exam, actor=lead(exam.project))


def exam_to_report(ground: Ground) -> TaskScenario:
    exam = sat(ground)

    def report() -> None:
        """All that follows has happened: everybody knows their result."""
        exam_report(exam_id=exam.pk)
        for attempt in exam.attempts.filter(state="done"):
            attempt_report(exam_attempt_id=attempt.pk)

    return TaskScenario((exam.pk,), over=report)


def attempt_to_report(ground: Ground) -> TaskScenario:
    return TaskScenario((sat(ground).attempts.order_by("pk").first().pk,))


def guest(ground: Ground) -> TaskScenario:
    fields = {"role": "annotator", "email": "guest@example.org"}
    row, _ = invitation_create(project=ground.project, actor=ground.lead, **fields)
    return TaskScenario((row.pk,), over=partial(invitation_revoke, invitation=row, actor=ground.lead))


def uploaded_judgments(ground: Ground) -> TaskScenario:
    owner, file = ground.lead, SimpleUploadedFile("export.json", text(EXPORT).encode())
    row = services.judgment_import_create(actor=owner, project_name="old", mapped=Mapped(pair="pair_id"), file=file)

    def discard() -> None:
        services.judgment_import_work(import_id=row.pk)
        row.refresh_from_db()
        services.IMPORTS.discard(row=row, actor=owner)

    return TaskScenario((row.pk,), over=discard)


def of_the_project(ground: Ground) -> TaskScenario:
    return TaskScenario((ground.project.pk,))


# models_runner


def answered(ground: Ground, *, work: bool = True) -> tuple[Release, Run]:
    """A release, and a participant's run on it."""
    release = ready_release(ground.project)
    return release, bring(participant(ground.project), release, run_json({10: GOOD, 11: GOOD}), work=work)


def withdrawal(ground: Ground, run: Run) -> Callable[[], object]:
    return partial(run_withdraw, run=run, actor=ground.lead, reason="A mistake.")


def to_receive(ground: Ground) -> TaskScenario:
    return TaskScenario((build_release(ground).pk,))


def uploaded_run(ground: Ground) -> TaskScenario:
    _, run = answered(ground, work=False)
    return TaskScenario((run.pk,), over=partial(run_fail, run, "It was called off."))


def to_score_again(ground: Ground) -> TaskScenario:
    _, run = answered(ground)
    later = build_release(ground)
    truths_make(later)
    waiting = Scoring.objects.create(run=run, release=later)
    return TaskScenario((waiting.pk,), over=withdrawal(ground, run))


def to_test(ground: Ground) -> TaskScenario:
    member, release = participant(ground.project), ready_release(ground.project)
    run = bring(member, release, run_json({10: GOOD, 11: WRONG}))
    other = bring(member, release, run_json({10: WRONG}), system="worst")
    scores = Score.objects.filter(scoring__release=release, **COLUMNS[0]._asdict())
    base = scores.get(scoring__run=run)
    score_tests_schedule(base=base.pk, others=scores.filter(scoring__run=other).values_list("pk", flat=True))
    return TaskScenario((base.pk,), over=withdrawal(ground, run))


def to_study(ground: Ground) -> TaskScenario:
    release, _ = answered(ground)
    bring(participant(ground.project), release, run_json({10: WRONG}), system="theirs")
    row = study_create(release=release, split="val", actor=None, wake=False)
    return TaskScenario((row.pk,), over=failed(type(row).objects))


def pool_to_plan(ground: Ground) -> TaskScenario:
    _, run = answered(ground)
    plan = pool_request(project=ground.project, runs=[run], scope=Scope(depth=3), actor=ground.lead)
    return TaskScenario((plan.pk,), over=partial(pooling_discard, pooling=plan))


def to_train(ground: Ground) -> TaskScenario:
    training = only(order_experiment(ready_release(ground.project), ground.folder))
    return TaskScenario((training.pk,), over=partial(training_cancel, training=training, actor=None))


def to_tune(ground: Ground) -> TaskScenario:
    search = order_search(ready_release(ground.project), ground.folder)
    return TaskScenario((search.pk,), over=partial(settings_search_cancel, search=search, actor=None))


def to_extract(ground: Ground) -> TaskScenario:
    row = feature_set_start(project=ground.project, kind="query", extractor="builtin-text", actor=None, wake=False)
    return TaskScenario((row.pk,), over=partial(feature_set_delete, feature_set=row, actor=None))


def labels_to_read(ground: Ground) -> TaskScenario:
    truth = upload_truth(ground.project, work=False)
    return TaskScenario((truth.pk,), over=partial(GROUND_TRUTHS.fail, truth, "It was called off."))


def run_on_labels(ground: Ground) -> TaskScenario:
    run = upload_run(participant(ground.project), upload_truth(ground.project, is_public=True), work=False)
    return TaskScenario((run.pk,), over=partial(truth_run_fail, run, "It was called off."))


def searched(ground: Ground) -> TaskScenario:
    """Of a training that is gone: whoever asked is told so."""
    return TaskScenario((GONE, "somebody sings", 10, False))


TASK_SCENARIOS: dict[str, Callable[[Ground], TaskScenario]] = {
    "annotation.tasks.video_cut_previews": uncut_video,
    "annotation.tasks.video_make_poster": unpictured_video,
    "annotation.tasks.video_make_playback": unplayable_video,
    "annotation.tasks.moment_make_poster": unpictured_moment,
    "core.tasks.sweep": nothing,
    "annotation.tasks.previews_sweep": nothing,
    "annotation.tasks.corpus_import_work": uploaded_corpus,
    "annotation.tasks.topic_import_work": uploaded_topics,
    "annotation.tasks.video_upload_read": uploaded_video,
    "accounts.tasks.sessions_sweep": nothing,
    "accounts.tasks.password_link_mail": forgetful,
    "accounts.tasks.email_changed_mail": moved,
    "annotation.tasks.proposal_work": proposed,
    "annotation.tasks.rewriting_run": unwritten,
    "annotation.tasks.caption_redo_make": other_wording,
    "annotation.tasks.edits_check": edited,
    "annotation.tasks.prompt_trial_run": prompt_to_try,
    "annotation.tasks.train_set_write": training_set,
    "annotation.tasks.statistics_compute": uncounted,
    "judging.tasks.batch_advance": judged,
    "judging.tasks.batch_extend": to_extend,
    "judging.tasks.batches_extend": all_to_extend,
    "judging.tasks.reviews_decide": left_to_the_rule,
    "annotation.tasks.video_folder_add": folder_to_add,
    "judging.tasks.recut_work": to_recut,
    "judging.tasks.retired_pairs_withdraw": to_retire,
    "judging.tasks.assignments_sweep": nothing,
    "judging.tasks.batches_sweep": nothing,
    "judging.tasks.release_build": to_build,
    "judging.tasks.release_compare": to_compare,
    "judging.tasks.webhook_send": to_send,
    "judging.tasks.demo_render": demo,
    "judging.tasks.demo_advance": demo,
    "judging.tasks.batches_prepare": to_open,
    "judging.tasks.candidates_rank": to_rank,
    "judging.tasks.pool_open": pool_to_open,
    "judging.tasks.coverage_prepare": study_to_plan,
    "judging.tasks.training_draw": to_draw,
    "judging.tasks.exam_prepare": exam_to_prepare,
    "judging.tasks.exam_report": exam_to_report,
    "judging.tasks.attempt_report": attempt_to_report,
    "judging.tasks.invitation_mail": guest,
    "judging.tasks.judgment_import_work": uploaded_judgments,
    "judging.tasks.retention_sweep": nothing,
    "judging.tasks.quality_compute": of_the_project,
    "models_runner.tasks.similarity_runs_make": to_receive,
    "models_runner.tasks.run_work": uploaded_run,
    "models_runner.tasks.scoring_work": to_score_again,
    "models_runner.tasks.score_tests_work": to_test,
    "models_runner.tasks.economy_work": to_study,
    "models_runner.tasks.pool_prepare": pool_to_plan,
    "models_runner.tasks.training_work": to_train,
    "models_runner.tasks.settings_search_work": to_tune,
    "models_runner.tasks.search_work": searched,
    "models_runner.tasks.ground_truth_work": labels_to_read,
    "models_runner.tasks.truth_run_work": run_on_labels,
    "models_runner.tasks.trainings_sweep": nothing,
    "models_runner.tasks.features_work": to_extract,
}
