"""Who takes part, and by which key."""

from hashlib import sha256
from uuid import uuid4

from annotation.models import AccessToken
from tests.factories import MembershipFactory, ProjectFactory, UserFactory
from tests.judging.constraints.writes import More, Refused, again, change


def token(**values: object) -> AccessToken:
    digest = sha256(uuid4().bytes).hexdigest()
    return AccessToken.objects.create(**{"user": UserFactory(), "name": "a token", "digest": digest, **values})


REFUSED: Refused = {
    "membership_one_role_per_person_and_project": again(
        lambda project, user: MembershipFactory(project=project, user=user),
        project=ProjectFactory,
        user=lambda: MembershipFactory().user,
    ),
    "membership_number_once_per_project": again(MembershipFactory, project=ProjectFactory, number=5),
    "membership_number_for_annotators_only": change(MembershipFactory, role="lead"),
    "membership_role_is_known": change(MembershipFactory, role="owner", number=None),
    "access_token_name_once_per_person": again(token, user=UserFactory),
    "access_token_is_kept_as_digest": change(token, digest="mj_the_token_itself"),
}
MORE: More = {
    "an annotator has a number": ("membership_number_for_annotators_only", change(MembershipFactory, number=None)),
}
TRIGGERS: set[str] = set()
