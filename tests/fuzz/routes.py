"""A project in which every operation of the API finds something to do, and a request for each that is right."""

from pathlib import Path
from typing import Any, NamedTuple

from django.core.files.base import ContentFile
from django.utils import timezone

from accounts.models import User
from annotation.models import NamedQuerySet, TrainSet
from judging.models import Batch, Pair
from models_runner.experiments.services import training_cancel
from models_runner.models import Training
from models_runner.search.services import Answered
from moment_retrieval.answers import Answer, Hit, Why
from tests.factories import BatchFactory, FlagFactory, JudgmentFactory, MeasureFactory, MembershipFactory, admin
from tests.judging.api.acts import bearer
from tests.judging.scenario import HandMade
from tests.judging.views.acts import hold, key
from tests.models_runner.acts import GOOD, bring, member_of, participant, ready_release, run_json, uploaded
from tests.models_runner.benchmarks import features_of, only, order_experiment

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

    body: dict[str, Any] | None = None
    query: dict[str, Any] = {}
    path: dict[str, Any] = {}


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
            "stranger": MembershipFactory().user,
        }
        self._assign_pairs()
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
        train_set, set_at_work = self._train_sets()
        query_set = NamedQuerySet.objects.create(project=self.project, name="a set")
        reviewed, waits = hand_made.first, Batch.objects.get(project=self.project, query__number=30)
        self.named = {
            "project_uuid": [self.project],
            "pair_uuid": [self.pair, self.flagged, self.withdrawn],
            "batch_uuid": [self.pair.batch, reviewed, waits],
            "set_uuid": [query_set, train_set, set_at_work],
            "release_uuid": [release],
            "run_uuid": [own, by_lead],
            "experiment_uuid": [waiting, ended, finished, second],
            "training_uuid": [only(waiting), only(ended), only(finished)],
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
            "leaderboard": Right(query={"sort": "NDCG@20,IoU>=0.5", "split": "val"}),
            "experiment_start": Right({"baseline": "xml", "name": "another"}),
            "experiment_delete": Right(path={"experiment_uuid": ended}),
            "training_resume": Right(path={"training_uuid": only(ended)}),
            "search": Right(query={"q": "somebody sings"}),
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
