"""The ways into a project, for whoever holds a link, and the way out."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.access import ANNOTATOR, MemberRequest, project_page
from annotation.addresses import address_block
from annotation.exceptions import NotPossible
from annotation.models import Membership, Project, User
from annotation.services.identities import EMAIL_TAKEN, NewAccount
from annotation.services.throttles import REGISTRATIONS, throttle_or_refuse
from annotation.services.totp import totp_device
from judging.exceptions import InvitationGone, InvitationUnknown
from judging.forms import JoinForm
from judging.services import invitations, standings

BACKEND = "config.sessions.AccountBackend"
FIRST_PAGES = {
    Membership.Role.ANNOTATOR: "judging:desk",
    Membership.Role.PARTICIPANT: "models_runner:runs",
}
Accept = Callable[[User | NewAccount], Membership]


@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """What the invitation is for, and the form to take it up."""
    try:
        held = invitations.invitation_find(secret=secret)
    except InvitationGone:
        again = _sent_twice(request, secret)
        if again is None:
            raise
        return _arrive(request, again)
    known = {"name": held.identity.name, "email": held.identity.email} if held.identity else {}

    def accept(person: User | NewAccount) -> Membership:
        return invitations.invitation_accept(secret=secret, person=person)

    answer = _join(request, held.project, held.role, accept, known)
    # The address holds the secret: no other page is told it. "no-referrer" would hide the Origin of the form as well,
    # which the CSRF check needs.
    answer["Referrer-Policy"] = "strict-origin"
    answer["X-Robots-Tag"] = "noindex, nofollow"
    answer["Cache-Control"] = "no-store"
    return answer


@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "POST"])
def registration(request: HttpRequest, project_uuid: UUID) -> HttpResponse:
    """A project that takes whoever comes."""
    project = Project.objects.filter(uuid=project_uuid, registration_is_open=True).first()
    if project is None:
        raise InvitationUnknown(invitations.CLOSED)

    def accept(person: User | NewAccount) -> Membership:
        return invitations.registration_join(project_uuid=project.uuid, person=person)

    return _join(request, project, Membership.Role.ANNOTATOR, accept, {})


def _join(request: HttpRequest, project: Project, role: str, accept: Accept, known: dict[str, str]) -> HttpResponse:
    person = request.user if request.user.is_authenticated else None
    held = Membership.objects.filter(project=project, user=person).first() if person else None
    form = JoinForm(request.POST if request.method == "POST" and not person else None, initial=known)
    if request.method == "POST" and not held:
        throttle_or_refuse(REGISTRATIONS, address_block(request), "Too many people joined from here of late.")
        joined = _accepted(form, person, accept)
        if joined is not None:
            messages.success(request, f"Welcome. You are {joined.label} of {joined.project.name}.")
            return _arrive(request, joined)
    context = {"joining": project, "role": Membership.Role(role).label.lower(), "held": held, "form": form}
    return render(request, "people/join.html", context, status=422 if form.errors else 200)


def _accepted(form: JoinForm, person: User | None, accept: Accept) -> Membership | None:
    """The new membership; None when the form has to be looked at."""
    if person is not None:
        return accept(person)
    if not form.is_valid():
        return None
    try:
        return accept(form.account())
    except NotPossible as refused:
        form.add_error("email" if str(refused) == EMAIL_TAKEN else "username", str(refused))
        return None


def _sent_twice(request: HttpRequest, secret: str) -> Membership | None:
    if request.method != "POST":
        return None
    said = {field: request.POST.get(field, "") for field in ("username", "password")}
    return invitations.invitation_accepted_just_now(secret=secret, **said)


def _arrive(request: HttpRequest, member: Membership) -> HttpResponse:
    """Logged in, at the first page of the role; who logs in with a code does that themselves."""
    if request.user != member.user:
        if totp_device(member.user):
            return redirect("login")
        login(request, member.user, backend=BACKEND)
    return redirect(FIRST_PAGES.get(Membership.Role(member.role), "judging:overview"), member.project.uuid)


@project_page(ANNOTATOR)
def leave_project(request: MemberRequest, project: Project) -> HttpResponse:
    """An annotator goes: asked first, then done."""
    if request.method == "POST":
        reason = request.POST.get("reason", "").replace("\0", "")[:1000]
        standings.annotator_leave(membership=request.membership, actor=request.user, reason=reason)
        messages.success(request, f"You have left {project.name}. Your grades and hours are kept.")
        return redirect("home")
    return render(request, "people/leave.html")
