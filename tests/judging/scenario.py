"""A project small enough to write its release down by hand."""

from accounts.models import Project, User
from annotation.models import Query
from judging.models import Assignment, Batch, Pair
from judging.review.services import batch_review
from judging.work.services.batches import batch_advance
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    CaptionFactory,
    CorpusFactory,
    DescriptionFactory,
    JudgmentFactory,
    MembershipFactory,
    MomentFactory,
    PairFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
    lead,
)
from tests.judging.play import judge


class HandMade:
    """Two videos with two moments each; queries 10 (val, closed), 11 (its twin), 20 (test, extended), 30 (test, open),
    40 and 41 (train). Annotators have the numbers 101 to 104."""

    def __init__(self) -> None:
        self.corpus = CorpusFactory(name="two shows")
        videos = [
            VideoFactory(corpus=self.corpus, name=name, index=index, duration_s=seconds)
            for name, index, seconds in (("alpha", 5, 60.5), ("beta", 2, 30.0))
        ]
        spans = [(0, 1.0, 2.5), (0, 10.0, 20.25), (1, 0.0, 3.0), (1, 3.0, 30.0)]
        self.moments = [MomentFactory(video=videos[v], start_s=start, end_s=end) for v, start, end in spans]
        for source_id, moment in enumerate(self.moments):
            description = DescriptionFactory(moment=moment, source_id=source_id)
            CaptionFactory(description=description, moment=moment, text=f"caption {source_id}")
        second = DescriptionFactory(moment=self.moments[0], source_id=99)
        CaptionFactory(description=second, moment=self.moments[0], text="a later caption")
        self.project: Project = ProjectFactory(name="hand made", corpus=self.corpus)
        self.people = [MembershipFactory(project=self.project, number=101 + n).user for n in range(4)]
        self.lead = lead(self.project)
        self._closed()
        self._extended()
        self._open()
        for number in (40, 41):
            QueryFactory(project=self.project, number=number, text=f"caption {number - 40}", split="train")

    def batch(self, query: Query, number: int, ranked: list[int]) -> Batch:
        """A batch whose candidates are these of the four moments, best first."""
        batch: Batch = BatchFactory(query=query, number=number, pairs=0)
        for rank, index in enumerate(ranked, start=20 * (number - 1) + 1):
            candidate = CandidateFactory(
                query=query, moment=self.moments[index], rank=rank, similarity=round(1 - rank / 100, 6)
            )
            PairFactory(batch=batch, candidate=candidate)
        return batch

    def _closed(self) -> None:
        self.val = QueryFactory(project=self.project, number=10, text="a person sings", split="val")
        QueryFactory(project=self.project, number=11, text=self.val.text, split="val", judged_as=self.val)
        self.first = self.batch(self.val, 1, [0, 1, 2])
        a, b, c, d = self.people
        judge(self.first, [4, 0, 0], a)
        judge(self.first, [3, 2, 4], b)
        judge_rest(self.first, [3, 4], c)
        judge_rest(self.first, [2, 0], d)
        batch_review(batch=self.first, extend=False, lead=self.lead)

    def _extended(self) -> None:
        self.test = QueryFactory(project=self.project, number=20, text="a dog barks", split="test")
        one = self.batch(self.test, 1, [3])
        judge(one, [1], self.people[0])
        judge(one, [1], self.people[1])
        decide(one)
        beyond = CandidateFactory(query=self.test, moment=self.moments[0], rank=21, similarity=0.79)
        batch_review(batch=one, extend=True, lead=self.lead)
        two = BatchFactory(query=self.test, number=2, pairs=0)
        PairFactory(batch=two, candidate=beyond)
        judge(two, [0], self.people[2])
        judge(two, [0], self.people[3])
        decide(two)

    def _open(self) -> None:
        """Done but not reviewed, and one still open: both stay out of a release."""
        waiting = self.batch(QueryFactory(project=self.project, number=30, split="test"), 1, [2])
        judge(waiting, [4], self.people[0])
        judge(waiting, [4], self.people[1])
        decide(waiting)
        begun = self.batch(QueryFactory(project=self.project, number=31, split="val"), 1, [1])
        JudgmentFactory(assignment=AssignmentFactory(batch=begun, annotator=self.people[0]))


def decide(batch: Batch) -> None:
    batch_advance(batch_id=batch.pk)
    batch.refresh_from_db()
    assert batch.state == Batch.State.DONE


def judge_rest(batch: Batch, grades: list[int], person: User) -> Assignment:
    """Judge the escalated pairs; the first to do so has round 1 decided first."""
    batch_advance(batch_id=batch.pk)
    batch.refresh_from_db()
    assert Pair.objects.filter(batch=batch, state="escalated").count() == len(grades)
    assignment = judge(batch, grades, person)
    batch_advance(batch_id=batch.pk)
    return assignment
