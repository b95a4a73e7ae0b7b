"""The page of proposals, the strip of shots, the command, and the API."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from annotation.models import Corpus, Moment, ProjectCorpus, Proposal
from annotation.proposals.services import options_checked, proposal_start, proposal_work
from tests.conftest import Messages
from tests.factories import CandidateFactory, ProjectFactory, VideoFactory, admin, lead
from tests.judging.api.acts import Program, refusal

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(corpus: Corpus, project: Project) -> Project:
    ProjectCorpus.objects.filter(pk=project.pk).update(corpus=corpus)
    return Project.objects.get(pk=project.pk)


def post(client: Client, project: Project, act: str, **form: object) -> tuple[int, str]:
    """Send a form of the page as its lead; return the status, and the page after it."""
    client.force_login(lead(project))
    answer = client.post(reverse(f"annotation:proposal-{act}", args=[project.uuid]), form, follow=True)
    first_status = answer.redirect_chain[0][1] if answer.redirect_chain else answer.status_code
    return first_status, answer.content.decode()


class TestPage:
    def test_shots_are_detected_counted_used_and_removed(
        self, client: Client, project: Project, messages: Messages
    ) -> None:
        with messages():
            assert post(client, project, "start", method="shots", threshold=3)[0] == 302
        row = Proposal.objects.get()
        text = client.get(reverse("annotation:proposals", args=[project.uuid])).content.decode()
        for words in ("<dd>6</dd>", "Use as moments", "1 video could not be read", "broken</a>: The file is corrupt"):
            assert words in text
        with messages():
            assert post(client, project, "use", proposal=row.uuid)[0] == 302
        assert Moment.objects.filter(video__corpus=row.corpus, preview_state="ready").count() == 6
        video = row.corpus.videos.get(name="a")
        page = client.get(reverse("annotation:video", args=[project.uuid, video.uuid])).content.decode()
        assert page.count('aria-label="Shot ') == 3 and 'data-at="3.500"' in page and "No caption." in page
        candidate = CandidateFactory(moment=row.moments.first(), query__project=project)
        text = post(client, project, "undo", proposal=row.uuid)[1]
        assert "1 of its 6 moments are in use" in text and "cannot be removed any more" in text
        candidate.delete()
        with messages():
            post(client, project, "undo", proposal=row.uuid)
        assert not Moment.objects.filter(video__corpus=row.corpus).exists()

    @pytest.mark.parametrize(
        ("form", "status", "words"),
        [
            ({"method": "uniform", "segment_s": "0.1"}, 422, "from 0.5 to 3,600 seconds"),
            ({"method": "windows", "most": "many"}, 422, "is a whole number"),
            ({"method": "magic"}, 422, "There is no method"),
            ({"method": "windows"}, 409, "being proposed for this corpus already"),
        ],
    )
    def test_what_is_refused_says_why(
        self, client: Client, project: Project, form: dict[str, str], status: int, words: str
    ) -> None:
        if status == 409:
            shots = options_checked(method="shots")
            proposal_start(corpus=project.dataset.corpus, options=shots, actor=None, wake=False)
        answer, text = post(client, project, "start", **form)
        assert answer == status and words in text

    def test_orders_of_another_corpus_are_not_there(self, client: Client, project: Project) -> None:
        other = proposal_start(
            corpus=VideoFactory().corpus, options=options_checked(method="windows"), actor=None, wake=False
        )
        for uuid in (other.uuid, "x"):
            assert post(client, project, "use", proposal=uuid)[0] == 404


class TestCommand:
    def propose(self, *words: str) -> dict[str, object]:
        out, errors = StringIO(), StringIO()
        call_command("propose_moments", *words, stdout=out, stderr=errors)
        return {**json.loads(out.getvalue().splitlines()[-1]), "says": errors.getvalue()}

    def test_shots_are_used_and_undone(self, corpus: Corpus) -> None:
        first = self.propose(corpus.name, "--method", "shots")
        assert (first["moments"], first["written"], first["failed_videos"]) == (6, None, 1)
        assert "broken: The file is corrupt" in str(first["says"])
        again = self.propose(corpus.name, "--method", "shots", "--use")
        assert (again["written"], again["state"]) == (6, "done")
        assert Proposal.objects.count() == 1
        assert self.propose(corpus.name, "--undo")["state"] == "undone"
        with pytest.raises(CommandError, match="have written moments"):
            self.propose(corpus.name, "--undo")

    def test_it_goes_on_where_it_was_cancelled(self, corpus: Corpus) -> None:
        row = proposal_start(corpus=corpus, options=options_checked(method="shots"), actor=None, wake=False)
        Proposal.objects.filter(pk=row.pk).update(state="cancelled")
        assert self.propose(corpus.name, "--method", "shots")["moments"] == 6
        assert Proposal.objects.get() == row


class TestApi:
    def test_an_order_from_start_to_undo(self, project: Project, messages: Messages) -> None:
        program = Program(admin(project))
        assert refusal(program.post("proposals", project, method="uniform", most=3)) == (422, "invalid")
        answer = program.post("proposals", project, method="uniform", segment_s=3)
        assert (answer.status_code, answer.json()["n_moments"]) == (201, 6)
        row = Proposal.objects.get()
        assert refusal(program.post("proposal-cancel", row)) == (409, "not_possible")
        with messages():
            program.post("proposal-use", row)
        assert program.get("proposal", row).json()["n_written"] == 6
        with messages():
            program.post("proposal-undo", row)
        assert [one["state"] for one in program.get("proposals", project).json()["results"]] == ["undone"]
        assert refusal(Program(admin(ProjectFactory())).get("proposal", row)) == (404, "not_found")

    def test_shots_are_listed(self, project: Project) -> None:
        shots = options_checked(method="shots")
        row = proposal_start(corpus=project.dataset.corpus, options=shots, actor=None, wake=False)
        proposal_work(proposal_id=row.pk)
        results = {one["name"]: one for one in Program(admin(project)).get("shots", project).json()["results"]}
        assert [one["first_frame"] for one in results["a"]["shots"]] == [0, 20, 35]
        assert (results["broken"]["shots"], results["broken"]["state"]) == ([], "failed")
