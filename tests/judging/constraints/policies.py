"""Versions in force, and releases."""

from judging.models import Guideline, GuidelineExample, Policy, Release
from tests.factories import GuidelineFactory, MomentFactory, PolicyFactory, ProjectFactory
from tests.judging.constraints.writes import Refused, adding, again, change, maker


def first_guideline() -> Guideline:
    return ProjectFactory().guidelines.get()  # type: ignore[no-any-return]


def policy() -> Policy:
    return ProjectFactory().policies.get()


example = maker(GuidelineExample, guideline=first_guideline, grade=1, query_text="q", moment=MomentFactory)
release = maker(Release, project=ProjectFactory, version=1)
REFUSED: Refused = {
    "policy_version_once_per_project": adding(PolicyFactory, project=ProjectFactory),
    "policy_lease_lasts": change(policy, lease_minutes=0),
    "policy_writing_is_a_share": change(policy, writing_accepted=101),
    "policy_writing_pay_is_an_amount": change(policy, query_price=-1),
    "policy_mean_is_a_relevance": change(policy, extend_from_mean=9.5),
    "guideline_version_once_per_project": adding(GuidelineFactory, project=ProjectFactory),
    "guideline_example_once_per_grade": again(example, guideline=first_guideline),
    "guideline_example_grade_from_0_to_9": change(example, grade=10),
    "release_version_once_per_project": again(release, project=ProjectFactory),
    "release_ready_has_its_archive": change(release, state="ready"),
}
