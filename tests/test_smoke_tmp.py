from tests.factories import *
from tests.judging.play import *
def test_it(db, messages):

    a = AssignmentFactory()
    j = JudgmentFactory(assignment=a)
    assert j.pair.candidate.moment.video.corpus == a.project.corpus
    MembershipFactory(role="lead")
    b = BatchFactory(pairs=3)
    with messages():
        judge(b, [0, 4, 4]); judge(b, [0, 3, 1])
    b.refresh_from_db()
    assert outcomes(b) == [("settled", 0), ("settled", 4), ("escalated", None)]
    assert b.round == 2
    CaptionFactory()
    BatchFactory(state="done")
