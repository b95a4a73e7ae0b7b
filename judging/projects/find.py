"""Find what a word or number names in a project: its pages, queries, videos, people (for leads alone), and help."""

import re
from functools import lru_cache
from html import unescape
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import OuterRef, Q, Subquery
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import strip_tags

from accounts.menu import menu_of
from accounts.models import Membership, Project
from annotation.models import Video
from judging.models import Batch

SHOWN = 6  # of each kind
LONGEST_NUMBER = 18  # digits that the database holds


class Hit(NamedTuple):
    title: str
    url: str
    hint: str = ""


class Section(NamedTuple):
    label: str
    rows: list[Hit]
    more: str = ""  # address of a page that lists all of them


def find_named(membership: Membership, words: str) -> list[Section]:
    """Return what ``words`` names, in sections that are not empty; capitals do not count."""
    project = membership.project
    sections = [
        Section("Pages", _pages(membership, words)),
        _queries(project, words),
        _videos(project, words),
        *([_people(project, words)] if membership.is_lead else []),
        Section("Help", _help(words)),
    ]
    return [section for section in sections if section.rows]


def _pages(membership: Membership, words: str) -> list[Hit]:
    return [
        Hit(page.label, page.url, "" if group.label == page.label else group.label)
        for group in menu_of(membership)
        for page in group.pages
        if words.casefold() in f"{group.label} {page.label}".casefold()
    ][:SHOWN]


def _queries(project: Project, words: str) -> Section:
    """Queries by number or text: each at its newest batch, one without a batch where all are listed."""
    match = Q(text__icontains=words) | Q(number__in=_numbers(words))
    newest = Batch.objects.filter(query=OuterRef("pk")).order_by("-number")
    queries = project.queries.filter(match, is_placeholder=False).order_by("number")
    batch, state = (Subquery(newest.values(name)[:1]) for name in ("uuid", "state"))
    queries = queries.annotate(batch=batch, batch_state=state)
    splits = reverse("annotation:splits", args=[project.uuid])
    rows = [
        Hit(
            query.text,
            reverse("judging:batch", args=[query.batch]) if query.batch else f"{splits}?{urlencode({'q': query.text})}",
            f"query {query.number}, {query.batch_state or query.split}",
        )
        for query in queries[: SHOWN + 1]
    ]
    return _section("Queries", rows, splits, words)


def _videos(project: Project, words: str) -> Section:
    videos = Video.objects.filter(corpus=project.dataset.corpus_id, name__icontains=words).order_by("name")
    rows = [
        Hit(video.name, reverse("annotation:video", args=[project.uuid, video.uuid]), f"{video.duration_s:.0f} s")
        for video in videos[: SHOWN + 1]
    ]
    return _section("Videos", rows, reverse("annotation:corpus", args=[project.uuid]), words)


def _people(project: Project, words: str) -> Section:
    """Members by user name, name or address, annotators by number too: for leads, who see all of them under People."""
    match = Q(user__username__icontains=words) | Q(number__in=_numbers(words))
    match |= Q(user__identity__name__icontains=words) | Q(user__identity__email__icontains=words)
    members = project.memberships.filter(match).select_related("user__identity", "project")
    people = reverse("judging:people", args=[project.uuid])
    rows = [_person(member, people) for member in members.order_by("number", "user__username")[: SHOWN + 1]]
    return Section("People", rows[:SHOWN], people if len(rows) > SHOWN else "")


def _person(member: Membership, people: str) -> Hit:
    """Return an annotator at their own page, somebody else where leads, admins and participants are listed."""
    identity = getattr(member.user, "identity", None)
    name = (identity and identity.name) or member.user.username
    if member.number is None:
        return Hit(name, f"{people}#staff", ", ".join(member.roles))
    page = reverse("judging:person", args=[member.project.uuid, member.number])
    return Hit(name, page, f"annotator {member.number}, {member.status}")


def _section(label: str, rows: list[Hit], page: str, words: str) -> Section:
    more = f"{page}?{urlencode({'q': words})}" if len(rows) > SHOWN else ""
    return Section(label, rows[:SHOWN], more)


def _numbers(words: str) -> list[int]:
    return [int(words)] if words.isdecimal() and len(words) <= LONGEST_NUMBER else []


def _help(words: str) -> list[Hit]:
    return [
        Hit(paragraph.text, f"{reverse('help')}#{paragraph.part}")
        for paragraph in help_paragraphs()
        if words.casefold() in paragraph.text.casefold()
    ][:SHOWN]


class Paragraph(NamedTuple):
    part: str  # id of the heading it stands under
    text: str


@lru_cache(maxsize=1)
def help_paragraphs() -> list[Paragraph]:
    """Return the paragraphs and points of the help page as plain text."""
    page, part, paragraphs = render_to_string("help.html", {}), "", []
    for heading, markup in re.findall(r'<h2 id="([a-z-]+)">|<(?:p|li)>(.*?)</(?:p|li)>', page, re.DOTALL):
        if heading:
            part = heading
        elif part:
            paragraphs.append(Paragraph(part, " ".join(unescape(strip_tags(markup)).split())))
    return paragraphs
