"""What the team says of its releases: leads write it, admins may read it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from annotation.access import LEAD, STAFF, MemberRequest, post_only, project_page
from annotation.models import Project
from judging.models import WORDS, ReleaseWords
from judging.release_forms import WordsForm
from judging.services.releases import release_words_set

PAGE = "judging/release_words.html"


@project_page(STAFF)
def words(request: MemberRequest, project: Project) -> HttpResponse:
    held = ReleaseWords.objects.filter(project=project).first() or ReleaseWords()
    return _page(request, WordsForm(initial={name: getattr(held, name) for name in WORDS}))


@post_only("judging:release-words")
@project_page(LEAD)
def words_save(request: MemberRequest, project: Project) -> HttpResponse:
    form = WordsForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    if release_words_set(project=project, actor=request.user, **form.cleaned_data):
        messages.success(request, "Saved. The next release says so.")
    return redirect("judging:release-words", project.uuid)


def _page(request: MemberRequest, form: WordsForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "may_write": request.membership.role in LEAD}
    return render(request, PAGE, context, status=status)
