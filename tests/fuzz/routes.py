"""A project in which every operation of the API finds something to do, and a request for each that is right."""

from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from django.core.files.base import ContentFile
from django.utils import timezone

from accounts.models import Project, User
from annotation.models import CorpusImport, NamedQuerySet, Proposal, TrainSet, VideoUpload
from annotation.topics.services import topic_create
from core.models import Job
from judging.checking.services import Verdict, query_check
from judging.models import Batch, Pair, Release, WebhookDelivery
from judging.people.services import invitation_create
from models_runner.experiments.services import training_cancel
from models_runner.models import FeatureSet, Training
from models_runner.search.services import Answered
from models_runner.tuning.services import settings_search_cancel
from moment_retrieval.answers import Answer, Hit, Why
from tests.factories import (
    BatchFactory,
    CaptionFactory,
    ClipAssignmentFactory,
    FlagFactory,
    JudgmentFactory,
    MeasureFactory,
    MembershipFactory,
    PoolingFactory,
    ProjectFactory,
    VerificationPairFactory,
    VideoFactory,
    VideoUploadFactory,
    WebhookFactory,
    WritingClipFactory,
    admin,
    checker,
    query_waiting,
    writer,
)
from tests.judging.api.acts import bearer
from tests.judging.scenario import HandMade
from tests.judging.views.acts import hold, key
from tests.models_runner.acts import GOOD, bring, member_of, participant, ready_release, run_json, uploaded
from tests.models_runner.benchmarks import features_of, only, order_experiment, order_search
from tests.models_runner.ground_truths.acts import FILES, upload_run, upload_truth

TRAIN_SET = b'[{"query_id": 40, "query": "somebody sings", "relevant_moment": []}]'
FOUND = Answered(
    Answer(
        hits=[Hit("alpha", 1.0, 2.5, 0.9, first=0, last=1), Hit("gamma", 3.0, 4.5, 0.5, first=2, last=2)],
        videos={name: Why(0.5, 0.25, 0.75, start=[0.5, 0.5], end=[0.5, 0.5]) for name in ("alpha", "gamma")},
        searched=2,
        alpha=20.0,
        clip_s=1.5,
        end_offset_s=0.0,
    ),
    ms=12.5,
)


class Right(NamedTuple):
    """Data of a request that succeeds; paths name the first of their kind by default."""

    body: dict[str, Any] | bytes | None = None
    query: dict[str, Any] = {}
    path: dict[str, Any] = {}
    headers: dict[str, str] = {}


class ReleasedSite:
    """The hand-made project released and trained on, and one person of every role; its annotator may finish."""

    def __init__(self, folder: Path) -> None:
        hand_made = HandMade()
        self.project = hand_made.project
        release = ready_release(self.project)
        team = participant(self.project)
        self.people: dict[str, User] = {
            "annotator": hand_made.people[1],
            "lead": hand_made.lead,
            "admin": admin(self.project),
            "participant": team.user,
            "checker": checker(self.project),
            "writer": writer(self.project),
            "stranger": MembershipFactory().user,
        }
        self._assign_pairs()
        VideoFactory(corpus=self.project.dataset.corpus, name="film")
        waiting_query, rejected_query = (query_waiting(assignment__clip__round__project=self.project) for _ in range(2))
        verdict = Verdict("reject", 1.5, 4.25, "wrong")
        check = query_check(query=rejected_query.uuid, checker=self.people["checker"], verdict=verdict)
        clip = WritingClipFactory(round=waiting_query.clip.round)
        clip.video.file.save("clip.mp4", ContentFile(b"a video"))
        ClipAssignmentFactory(clip=clip, writer=self.people["writer"])
        verification_pair = VerificationPairFactory(study__project=self.project)
        features_of(self.project, folder)
        own = bring(team, release, run_json({10: GOOD}))
        by_lead = bring(member_of(hand_made, hand_made.lead), release, run_json({10: GOOD}), system="trained")
        waiting, ended, finished = (
            order_experiment(release, folder, name=name) for name in ("waiting", "ended", "done")
        )
        training_cancel(training=only(ended), actor=None)
        values = {"state": "done", "ended_at": timezone.now(), "val_run": by_lead, "best": 0.25}
        Training.objects.filter(experiment=finished).update(**values)
        second = order_experiment(release, folder, name="second", baseline="conquer", candidates=only(finished))
        waiting_search, ended_search = (order_search(release, folder, name=name) for name in ("waits", "ended"))
        settings_search_cancel(search=ended_search, actor=None)
        train_set, set_at_work = self._train_sets()
        truth, spare_truth = (upload_truth(self.project, name=name, is_public=True) for name in ("labels", "spare"))
        truth_run = upload_run(team, truth)
        query_set = NamedQuerySet.objects.create(project=self.project, name="a set")
        described, failed_release = self._described(hand_made.lead), self._failed_release()
        fresh, cancelled = self._features()
        uploads, imports = self._uploads(hand_made.lead)
        planned, discardable = (PoolingFactory(project=self.project) for _ in range(2))
        invited, _ = invitation_create(project=self.project, actor=hand_made.lead, role="annotator")
        job = Job.objects.create(project=self.project, kind="an earlier one", title="x", state="done")
        corpus = str(self.project.dataset.corpus.uuid)
        webhook = WebhookFactory(project=self.project, url="http://127.0.0.1:1/")
        message = {"event": "ping", "payload": {}, "state": "failed", "error": "x", "next_try_at": timezone.now()}
        draw = {"val": 1, "test": "50%", "seed": 1}
        reviewed, waits = hand_made.first, Batch.objects.get(project=self.project, query__number=30)
        self.named = {
            "project_uuid": [self.project, described],
            "pair_uuid": [self.pair, self.flagged, self.withdrawn, verification_pair],
            "study_uuid": [verification_pair.study],
            "batch_uuid": [self.pair.batch, reviewed, waits],
            "set_uuid": [query_set, train_set, set_at_work, fresh, cancelled],
            "release_uuid": [release, failed_release],
            "import_uuid": imports,
            "upload_uuid": uploads,
            "pooling_uuid": [planned, discardable],
            "proposal_uuid": self._proposals(),
            "topic_uuid": [topic_create(project=self.project, number=1_000_000, title="A cat sleeps")],
            "invitation_uuid": [invited],
            "job_uuid": [job],
            "webhook_uuid": [webhook],
            "delivery_uuid": [WebhookDelivery.objects.create(webhook=webhook, **message)],
            "run_uuid": [own, by_lead, truth_run],
            "truth_uuid": [truth, spare_truth],
            "experiment_uuid": [waiting, ended, finished, second],
            "search_uuid": [waiting_search, ended_search],
            "training_uuid": [only(waiting), only(ended), only(finished)],
            "round_uuid": [waiting_query.clip.round],
            "query_uuid": [waiting_query],
            "check_uuid": [check],
            "preview_uuid": [self.pair.candidate.moment.preview_uuid],
        }
        grade, decision = {"grade": 2, "key": str(key(self.assignment, self.pair))}, {"decision": "close"}
        file = uploaded(run_json({10: GOOD})).read()
        self.right = {
            "judgment": Right({**grade, "comment": "It plays.", "active_ms": 1200}),
            "flag": Right({"reason": "broken"}),
            "flag_withdraw": Right(path={"pair_uuid": self.flagged}),
            "batch_review": Right(decision, path={"batch_uuid": waits}),
            "pair_withdraw": Right({"reason": "broken"}),
            "pair_restore": Right({"reason": "mended"}, path={"pair_uuid": self.withdrawn}),
            "query_set_change": Right({"priority": "high"}),
            "train_set_json": Right(path={"set_uuid": train_set}),
            "train_set_parquet": Right(path={"set_uuid": train_set}),
            "run_upload": Right({"file": file, "system": "theirs", "split": "val"}),
            "run_withdraw": Right(query={"reason": "a mistake"}),
            "ground_truth_upload": Right({"file": FILES["tvr"][0], "name": "more labels"}),
            "ground_truth_delete": Right(path={"truth_uuid": spare_truth}),
            "truth_run": Right(path={"run_uuid": truth_run}),
            "truth_run_upload": Right({"file": FILES["tvr"][1], "system": "theirs"}, path={"truth_uuid": truth}),
            "truth_run_withdraw": Right(path={"run_uuid": truth_run}, query={"reason": "a mistake"}),
            "leaderboard": Right(query={"sort": "NDCG@20,IoU>=0.5", "split": "val"}),
            "experiment_start": Right({"baseline": "xml", "name": "another"}),
            "experiment_delete": Right(path={"experiment_uuid": ended}),
            "settings_search_start": Right({"baseline": "xml", "name": "rates", "space": {"lr": "1e-4, 1e-3"}}),
            "settings_search_delete": Right(path={"search_uuid": ended_search}),
            "settings_search_resume": Right(path={"search_uuid": ended_search}),
            "training_resume": Right(path={"training_uuid": only(ended)}),
            "search": Right(query={"q": "somebody sings"}),
            "project_create": Right({"name": "another", "corpus": corpus}),
            "policy_publish": Right({"version": 1, "lease_minutes": 25}),
            "batches_open": Right({}),
            "candidates_rank": Right({"similarity": ""}),
            "captions_rewrite": Right({"provider": "rules"}, path={"project_uuid": described}),
            "rules_change": Right({"judges": 3}, path={"project_uuid": described}),
            "corpus_export": Right(query={"form": "tvr"}, path={"project_uuid": described}),
            "queries_draft": Right(query=draw, path={"project_uuid": described}),
            "queries_draw": Right(draw, path={"project_uuid": described}),
            "topic_create": Right({"title": "A man sings", "narrative": "Loudly.", "number": 900}),
            "topic_change": Right({"narrative": "Softly."}),
            "train_set": Right(path={"set_uuid": train_set}),
            "train_set_start": Right({"depth": 1}),
            "train_set_discard": Right(path={"set_uuid": train_set}),
            "invitation_create": Right({"role": "lead", "days": 3}),
            "invitation_renew": Right({"mail": False}),
            "webhook_create": Right({"url": "https://example.org/", "events": ["release.ready"]}),
            "webhook_change": Right({"is_active": True, "events": ["batch.done"]}),
            "release_create": Right({"key": str(uuid4()), "is_anonymised": True}),
            "release_retry": Right(path={"release_uuid": failed_release}),
            "writing_round_create": Right({"name": "visual", "queries_per_clip": 2}),
            "writing_round_change": Right({"change": "pause"}),
            "clip_take": Right({"round": str(waiting_query.clip.round.uuid)}),
            "query_submit": Right(
                {
                    "key": str(uuid4()),
                    "text": "A man opens the blue door there.",
                    "type": "v",
                    "start_s": 1,
                    "end_s": 4.5,
                }
            ),
            "written_query_check": Right({"decision": "reject", "reason": "wrong", "note": "He sits."}),
            "verification_study_create": Right({"name": "first", "n_pairs": 1}),
            "verification_study_change": Right({"change": "close"}),
            "pool_plan": Right({"runs": [str(own.uuid)], "depth": 5}),
            "verification_pair_inspect": Right(path={"pair_uuid": verification_pair}),
            "proposal_start": Right({"method": "uniform", "segment_s": 5.0}, path={"project_uuid": described}),
            "proposal_cancel": Right(path={"proposal_uuid": self.named["proposal_uuid"][1]}),
            "proposal_resume": Right(path={"proposal_uuid": self.named["proposal_uuid"][2]}),
            "proposal_undo": Right(path={"proposal_uuid": self.named["proposal_uuid"][3]}),
            "features_start": Right({"kind": "query", "extractor": "builtin-text", "name": "words"}),
            "feature_set": Right(path={"set_uuid": fresh}),
            "features_cancel": Right(path={"set_uuid": fresh}),
            "features_resume": Right(path={"set_uuid": cancelled}),
            "features_delete": Right(path={"set_uuid": fresh}),
            "corpus_import_upload": Right(
                {"file": b"video,start,end,description\n", "corpus_name": "films", "format": "csv"}
            ),
            "corpus_import_confirm": Right({"skip_bad": True}),
            "video_upload_begin": Right(headers={"Upload-Length": "3", "Upload-Metadata": "filename ZmlsbS5tcDQ="}),
            "subtitles_set": Right({"file": b"1\n00:00:01,000 --> 00:00:02,000\nHello.\n"}),
            "video_piece": Right(b"abc", headers={"Upload-Offset": "0"}),
        }

    def _assign_pairs(self) -> None:
        """Assign pairs to the annotator: one graded, one flagged, one withdrawn."""
        batch = BatchFactory(query__project=self.project, pairs=3)
        self.assignment = hold(batch, annotator=self.people["annotator"])
        self.pair, self.flagged, self.withdrawn = batch.pairs.order_by("pk")
        self.pair.candidate.moment.preview_clip.save("preview.mp4", ContentFile(b"moving"))
        JudgmentFactory(assignment=self.assignment, pair=self.pair)
        FlagFactory(assignment=self.assignment, pair=self.flagged)
        Pair.objects.filter(pk=self.withdrawn.pk).update(state="withdrawn", reason="withdrawn_by_lead")

    def _described(self, person: User) -> Project:
        """Return a project whose captions wait to be rewritten and drawn; the lead and the admin run it too."""
        project: Project = ProjectFactory()
        for role in ("lead", "admin"):
            MembershipFactory(project=project, user=self.people[role], role=role)
        for text in ("a man sings", "a dog runs"):
            caption = CaptionFactory(text=text, moment__video__corpus=project.dataset.corpus)
            assert caption.description.corpus == project.dataset.corpus
        return project

    def _failed_release(self) -> Release:
        return Release.objects.create(project=self.project, version=9, state="failed", error="no room")

    def _features(self) -> list[FeatureSet]:
        about = {"project": self.project, "kind": "video", "extractor": "builtin-pixels"}
        return [
            FeatureSet.objects.create(name=state, path=f"/{state}.h5", state=state, **about)
            for state in ("running", "cancelled")
        ]

    def _uploads(self, owner: User) -> tuple[list[VideoUpload], list[CorpusImport]]:
        """Return a video on its way and a checked file, which has a report."""
        row = CorpusImport(owner=owner, corpus_name="c", format="csv", state="checked", file_name="x", file="imports/x")
        row.report.save("report.csv", ContentFile(b"file,line,item,outcome,reason,text\n"))
        return [VideoUploadFactory(project=self.project, size=3)], [row]

    def _proposals(self) -> list[Proposal]:
        """Return proposals that are ready, at work, cancelled and written, each of a corpus of its own."""
        rows = []
        for state in ("ready", "running", "cancelled", "done"):
            project: Project = ProjectFactory()
            for role in ("lead", "admin"):
                MembershipFactory(project=project, user=self.people[role], role=role)
            about = {"method": "uniform", "segment_s": 5.0, "step": "writing", "n_moments": 0, "n_written": 0}
            rows.append(Proposal.objects.create(corpus=project.dataset.corpus, state=state, **about))
        return rows

    def _train_sets(self) -> tuple[TrainSet, TrainSet]:
        about = {"project": self.project, "measure": MeasureFactory()}
        finished = TrainSet(depth=2, state="done", finished_at=timezone.now(), **about)
        for form in ("json", "parquet"):
            getattr(finished, form).save(f"set.{form}", ContentFile(TRAIN_SET), save=False)
        finished.json_sha256 = finished.parquet_sha256 = "0" * 64
        finished.save()
        return finished, TrainSet.objects.create(project=self.project, depth=1)

    def proof(self, role: str) -> dict[str, str]:
        return bearer(self.people[role]) if role in self.people else {}

    def path(self, operation: str, names: Any) -> dict[str, str]:
        """Return the right path parameters."""
        overrides = self.right.get(operation, Right()).path
        return {name: uuid_of(overrides.get(name, self.named[name][0])) for name in names}

    def path_at(self, index: int, names: Any) -> dict[str, str]:
        """One of everything that there is."""
        return {name: uuid_of(self.named[name][index % len(self.named[name])]) for name in names}


def uuid_of(row: Any) -> str:
    return str(getattr(row, "uuid", row))
