"""Joining and leaving a project, and its people as leads alone see them, by name."""

from collections.abc import Callable
from functools import partial
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import ANNOTATOR, LEAD, MemberRequest, project_action, project_page, row_page
from accounts.adapters import AccountAdapter
from accounts.limits import REGISTRATIONS, address_block
from accounts.menu import first_page
from accounts.models import Membership, Project, User
from accounts.rules import OUT, STEPS
from accounts.services.identities import EMAIL_TAKEN, NewAccount, account_led_or_refused
from accounts.services.members import role_refusal
from core.exceptions import MomentJudgeError, NotPossible
from judging.exceptions import InvitationGone, InvitationUnknown
from judging.models import Invitation
from judging.people import services
from judging.people.forms import InviteForm, JoinForm, StaffRoleForm, StatusForm
from judging.people.person_data import person_data
from judging.people.selectors import (
    Person,
    actor_names,
    invitations_unused,
    people_of,
    shortage_of,
    staff_of,
    status_counts,
)

Accept = Callable[..., Membership]  # of ``person``


@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """Show the invitation, and the form to take it up."""
    try:
        row = services.invitation_find(secret=secret)
    except InvitationGone:
        username, password = (request.POST.get(name, "") for name in ("username", "password"))
        member = services.invitation_accepted_just_now(secret=secret, username=username)
        if not member or AccountAdapter().authenticate(request, username=username, password=password) != member.user:
            raise
        return _arrive(request, member)
    initial = {"name": row.identity.name, "email": row.identity.email} if row.identity else {}
    accept = partial(services.invitation_accept, secret=secret)
    answer = _join(request, row.project, row.role, accept, initial, qualifies=row.qualifies)
    # The address holds the secret: no other page may receive it. "no-referrer" would hide the Origin of the form too,
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
        raise InvitationUnknown(services.CLOSED)
    accept = partial(services.registration_join, project_uuid=project.uuid)
    return _join(request, project, Membership.Role.ANNOTATOR, accept, {})


def _join(
    request: HttpRequest,
    project: Project,
    role: str,
    accept: Accept,
    initial: dict[str, str],
    *,
    qualifies: bool = False,
) -> HttpResponse:
    person = request.user if request.user.is_authenticated else None
    memberships = Membership.objects.filter(project=project, user=person).select_related("project", "user")
    membership = memberships.first() if person else None
    refusal = role_refusal(membership, role) if membership else ""
    form = JoinForm(request.POST if request.method == "POST" and not person else None, initial=initial)
    if request.method == "POST" and not refusal:
        REGISTRATIONS.try_or_refuse(address_block(request), "Too many people joined from here of late.")
        member = _accepted(form, person, accept)
        if member is not None:
            messages.success(request, f"{'' if membership else 'Welcome. '}You are {member.label} of {project.name}.")
            return _arrive(request, member)
    context = {
        "joining": project,
        "role": role,
        "qualifies": qualifies,
        "member": membership,
        "refusal": refusal,
        "form": form,
    }
    return render(request, "judging/people/join.html", context, status=422 if form.errors else 200)


def _accepted(form: JoinForm, person: User | None, accept: Accept) -> Membership | None:
    """The new membership; None when the form has to be looked at."""
    if person is not None:
        return accept(person=person)
    if not form.is_valid():
        return None
    try:
        return accept(person=NewAccount(**{name: form.cleaned_data[name] for name in NewAccount._fields}))
    except NotPossible as refused:
        form.add_error("email" if str(refused) == EMAIL_TAKEN else "username", str(refused))
        return None


def _arrive(request: HttpRequest, member: Membership) -> HttpResponse:
    """Logged in, at the first page of the role."""
    if request.user != member.user:
        return AccountAdapter().log_in(request, member.user, first_page(member))
    return redirect(first_page(member))


@project_page(ANNOTATOR)
def leave_project(request: MemberRequest, project: Project) -> HttpResponse:
    """An annotator goes: asked first, then done."""
    if request.method == "POST":
        reason = request.POST.get("reason", "").replace("\0", "")[:1000]
        services.annotator_leave(membership=request.membership, actor=request.user, reason=reason)
        messages.success(request, f"You have left {project.name}. Your grades and hours are kept.")
        return redirect("home")
    return render(request, "judging/people/leave.html")


INVITATIONS = Invitation.objects.select_related("project")
DONE_MESSAGES = {
    "suspend": "Suspended. No batch is handed to them until you reinstate them.",
    "reinstate": "Reinstated.",
    "qualify": "Qualified by your word; the reason is kept.",
    "leave": "Marked as gone.",
}


@project_page(LEAD)
def people(request: MemberRequest, project: Project) -> HttpResponse:
    """Annotators, leads and admins, and who is invited."""
    return _people(request, project, InviteForm())


def _people(
    request: MemberRequest,
    project: Project,
    form: InviteForm,
    *,
    link: str = "",
    invited: Invitation | None = None,
    error: str = "",
    role_error: str = "",
    status: int = 200,
) -> HttpResponse:
    status_text = request.GET.get("status", "")
    counts = status_counts(project)
    status_filter = status_text if status_text in dict(counts) else ""
    context = {
        "people": people_of(project, status=status_filter),
        "chosen": status_filter,
        "counts": counts,
        "total": sum(n for _, n in counts),
        "staff": [(member, _role_changes(member, request.user)) for member in staff_of(project)],
        "invitations": invitations_unused(project),
        "join_link": request.build_absolute_uri(reverse("judging:join", args=[project.uuid])),
        "form": form,
        "link": request.build_absolute_uri(link) if link else "",
        "link_title": f"The link of the invitation {invited.short_name}" if invited else "",
        "error": error,
        "shortage": shortage_of(project),
        "role_error": role_error,
    }
    return render(request, "judging/people/people.html", context, status=status)


def _role_changes(member: Membership, viewer: User) -> list[tuple[str, str, str]]:
    """Return the changes of somebody's roles that the viewer may order: the change, the role, the button's text."""
    if member.user_id == viewer.pk or not member.has(Membership.COMBINABLE):
        return []
    missing = [("add", role, f"Make {role} as well") for role in Membership.COMBINABLE if role not in member.roles]
    removable = member.roles if len(member.roles) > 1 else []
    return missing + [("remove", role, f"No longer {role}") for role in removable]


@project_action(LEAD, back="judging:people")
def staff_role_change(request: MemberRequest, project: Project) -> HttpResponse:
    """Give somebody else one more of the roles that combine, or take one."""
    form = StaffRoleForm(request.POST)
    if not form.is_valid():
        return _people(request, project, InviteForm(), role_error=form.first_error(), status=422)
    person, role, change = (form.cleaned_data[name] for name in ("person", "role", "change"))
    member = get_object_or_404(project.memberships.select_related("user", "project"), user__uuid=person)
    try:
        member = services.staff_role_change(membership=member, role=role, is_theirs=change == "add", actor=request.user)
    except NotPossible as refused:
        return _people(request, project, InviteForm(), role_error=str(refused), status=409)
    messages.success(request, f"{member.user.username} is {member.label} of this project now.")
    return redirect("judging:people", project.uuid)


@project_action(LEAD, back="judging:people")
def invitation_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Answers with the link itself: it is shown this once, so no redirect may carry it."""
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _people(request, project, form, error=form.first_error(), status=422)
    try:
        invited, link = services.invitation_create(project=project, actor=request.user, **form.cleaned_data)
    except NotPossible as refused:
        return _people(request, project, form, error=str(refused), status=409)
    if link:
        another = InviteForm(initial={"role": form.data.get("role", "")})  # as often several of a kind are invited
        return _people(request, project, another, link=link, invited=invited)
    messages.success(request, "The invitation is being sent.")
    return redirect("judging:people", project.uuid)


@project_action(LEAD, back="judging:people")
def registration_switch(request: MemberRequest, project: Project) -> HttpResponse:
    is_open = request.POST.get("open") == "yes"
    services.registration_switch(project=project, actor=request.user, is_open=is_open)
    message = "Anybody who can open this site may join now." if is_open else "Only invited people can join now."
    messages.success(request, message)
    return redirect("judging:people", project.uuid)


@row_page(INVITATIONS, LEAD)
def invitation_redirect(request: MemberRequest, invitation: Invitation) -> HttpResponse:
    """Redirect to the invitation's row among the others."""
    return redirect("judging:people", invitation.project.uuid)


@row_page(INVITATIONS, LEAD, back="judging:invitation-place")
def invitation_renew(request: MemberRequest, invitation: Invitation) -> HttpResponse:
    mail = request.POST.get("way") == "mail"
    link = services.invitation_renew(invitation=invitation, actor=request.user, mail=mail)
    if link:
        return _people(request, invitation.project, InviteForm(), link=link, invited=invitation)
    messages.success(request, "The invitation is being sent again; the link before it opens nothing any more.")
    return redirect("judging:people", invitation.project.uuid)


@row_page(INVITATIONS, LEAD, back="judging:invitation-place")
def invitation_revoke(request: MemberRequest, invitation: Invitation) -> HttpResponse:
    services.invitation_revoke(invitation=invitation, actor=request.user)
    messages.success(request, "Revoked. The link opens nothing any more.")
    return redirect("judging:people", invitation.project.uuid)


@project_page(LEAD)
def person(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    """One annotator: who that is, their status so far, and what a lead can do."""
    return _person(request, project, _known(project, number))


def _known(project: Project, number: int) -> Person:
    rows = people_of(project, number=number)
    if not rows:
        raise Http404
    return rows[0]


def _person(
    request: MemberRequest, project: Project, annotator: Person, *, link: str = "", error: str = "", status: int = 200
) -> HttpResponse:
    names = actor_names(project, to_lead=request.membership.is_lead)
    changes = annotator.membership.status_changes.order_by("id")
    context = {
        "person": annotator,
        "changes": [
            (change, names.get(change.actor_id, "–") if change.actor_id else "the system") for change in changes
        ],
        "is_onboarding": annotator.membership.status in STEPS,
        "is_out": annotator.membership.status in OUT,
        "before": services.status_before(annotator.membership),
        "not_ours": _not_ours(request, annotator),
        "link": request.build_absolute_uri(link) if link else "",
        "error": error,
    }
    return render(request, "judging/people/person.html", context, status=status)


def _not_ours(request: MemberRequest, annotator: Person) -> str:
    """Why this lead may not touch the account; empty when they may."""
    try:
        account_led_or_refused(user=annotator.membership.user, lead=request.user)
    except NotPossible as refused:
        return str(refused)
    return ""


@project_action(LEAD, back="judging:person")
def status_change(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    annotator = _known(project, number)
    form = StatusForm(request.POST)
    if not form.is_valid():
        return _person(request, project, annotator, error=form.first_error(), status=422)
    action, reason = form.cleaned_data["action"], form.cleaned_data["reason"]
    try:
        services.ACTIONS[action](membership=annotator.membership, actor=request.user, reason=reason)
    except MomentJudgeError as refused:
        return _person(request, project, annotator, error=str(refused), status=refused.status)
    messages.success(request, DONE_MESSAGES[action])
    return redirect("judging:person", project.uuid, number)


@project_action(LEAD, back="judging:person")
def password_link(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    """Answers with the link itself, this once."""
    annotator = _known(project, number)
    link = services.annotator_password_link(membership=annotator.membership, actor=request.user)
    return _person(request, project, annotator, link=link)


@project_page(LEAD)
def erase(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    """Forget who an annotator is: says what goes and what stays, then does it for whoever types the number."""
    annotator = _known(project, number)
    typed = request.POST.get("number", "").strip()
    if request.method == "POST" and typed == str(number):
        services.annotator_erase(membership=annotator.membership, actor=request.user)
        messages.success(request, f"Name, e-mail and account of annotator {number} are erased.")
        return redirect("judging:person", project.uuid, number)
    error = f"Type {number}, the number of this annotator. Nothing was erased." if request.method == "POST" else ""
    context = {"person": annotator, "not_ours": _not_ours(request, annotator), "typed": typed, "error": error}
    return render(request, "judging/people/erase.html", context, status=422 if error else 200)


@login_required
@require_POST
def person_export(request: HttpRequest) -> HttpResponse:
    """Send who asks their stored data, as a zip file; nothing in it tells what their grades are measured by."""
    person = cast(User, request.user)
    answer = HttpResponse(person_data(user=person, actor=person, own=True), content_type="application/zip")
    answer["Content-Disposition"] = 'attachment; filename="momentjudge-my-data.zip"'
    answer["Cache-Control"] = "no-store"
    return answer
