"""Building a collection by the API: projects, corpora, imports, videos, captions, queries, people, releases."""

from base64 import b64encode
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from pytest_django import Settings

from accounts.models import Membership, Project
from annotation.models import Corpus, CorpusImport, NamedQuerySet, Pooling, Query, Rewriting, TrainSet, VideoUpload
from core.models import AuditEvent, Job
from judging.models import Batch, Invitation, Policy, Release
from models_runner.models import FeatureSet, Run
from tests.conftest import Messages
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    CaptionFactory,
    DescriptionFactory,
    MembershipFactory,
    PoolingFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
    admin,
    annotator,
    lead,
)
from tests.judging.api.acts import Program, bearer, refusal, url
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, bring, member_of, ready_release, run_json

pytestmark = pytest.mark.django_db
INVALID, NOT_POSSIBLE = (422, "invalid"), (409, "not_possible")
LINES = "video,start,end,description,duration\na,1,3,A man sings.,60\na,4,9,A dog runs.,60\na,9,5,No end.,60\n"


def described(*texts: str) -> Project:
    """Return a project over a corpus with these captions, which nobody has rewritten."""
    project: Project = ProjectFactory()
    for text in texts:
        description = DescriptionFactory(moment__video__corpus=project.dataset.corpus, text=text)
        CaptionFactory(description=description, moment=description.moment, text=text)
    return project


class TestProjects:
    def test_a_name_begins_a_project_and_its_corpus(self) -> None:
        program = Program(lead(ProjectFactory()))
        answer = program.post("projects", name="films")
        assert answer.status_code == 201
        project = Project.objects.get(name="films")
        body = answer.json()
        assert (body["uuid"], body["corpus"]["name"]) == (str(project.uuid), "films")
        assert body["queries"] == {"train": 0, "val": 0, "test": 0}
        assert [step["state"] for step in body["steps"]][:2] == ["now", "later"]
        assert project.memberships.get(user=program.person).roles == ["lead", "admin"]
        assert program.get("project", project).json() == body
        assert refusal(program.post("projects", name="films")) == NOT_POSSIBLE

    def test_a_project_over_a_corpus_takes_settings_and_queries_along(self) -> None:
        source = ProjectFactory()
        QueryFactory(project=source, split="test")
        program, corpus = Program(lead(source)), source.dataset.corpus
        about = {"corpus": str(corpus.uuid), "settings_of": str(source.uuid), "with_queries": True}
        answer = program.post("projects", name="again", **about)
        assert answer.status_code == 201, answer.content
        assert answer.json()["queries"] == {"train": 0, "val": 0, "test": 1}
        assert answer.json()["corpus"] == {"uuid": str(corpus.uuid), "name": corpus.name}

    def test_a_project_has_rules_of_its_own(self) -> None:
        program = Program(lead(ProjectFactory()))
        rules = {
            "top_grade": 2,
            "judges": 3,
            "max_spread": 0,
            "max_rounds": 1,
            "batch_size": 8,
            "has_second_batch": False,
            "strata": [{"first": 1, "last": 4, "sample": 4}, {"first": 5, "last": 40, "sample": 4}],
        }
        assert program.post("projects", name="films", **rules).json()["rules"] == rules
        corpus = str(Project.objects.get(name="films").dataset.corpus.uuid)
        again = program.post("projects", name="again", corpus=corpus, top_grade=9).json()["rules"]
        assert (again["top_grade"], again["judges"], again["batch_size"]) == (9, 2, 20)
        assert refusal(program.post("projects", name="odd", judges=5)) == NOT_POSSIBLE
        assert not Project.objects.filter(name="odd").exists()

    def test_a_corpus_of_others_is_not_there(self) -> None:
        program = Program(lead(ProjectFactory()))
        theirs = ProjectFactory()
        body = {"name": "mine", "corpus": str(theirs.dataset.corpus.uuid)}
        assert refusal(program.post("projects", **body)) == (404, "not_found")
        mine = str(program.person.memberships.get().project.dataset.corpus.uuid)
        assert refusal(program.post("projects", name="m", corpus=mine, settings_of=str(theirs.uuid))) == INVALID
        assert refusal(program.post("projects", name="m", with_queries=True)) == INVALID
        assert refusal(program.post("projects", name="")) == INVALID

    @pytest.mark.parametrize("role", ["annotator", "participant"])
    def test_whoever_runs_nothing_builds_nothing(self, role: str) -> None:
        program = Program(MembershipFactory(role=role).user)
        file = SimpleUploadedFile("a.csv", LINES.encode())
        answers = [
            program.post("projects", name="films"),
            program.get("corpora"),
            program.get("imports"),
            program.client.post(url("imports"), {"file": file, "corpus_name": "films"}),
        ]
        assert [refusal(answer) for answer in answers] == [(403, "permission_denied")] * 4
        assert not Corpus.objects.filter(name="films").exists()


class TestImports:
    def send(self, program: Program, lines: str = LINES, **fields: Any) -> HttpResponse:
        file = SimpleUploadedFile("moments.csv", lines.encode())
        return program.client.post(url("imports"), {"file": file, "corpus_name": "films", **fields})

    def test_from_file_to_corpus(self, messages: Messages) -> None:
        program = Program(lead(ProjectFactory()))
        with messages():
            first = self.send(program).json()
        assert "code" not in first, first
        row = CorpusImport.objects.get()
        assert (first["uuid"], first["state"], first["format"]) == (str(row.uuid), "checking", "csv")
        body = program.get("import", row).json()
        assert (body["state"], body["counts"]["bad_lines"], len(body["preview"])) == ("checked", 1, 2)
        assert body["warnings"][0]["outcome"] == "refused"
        report = b"".join(program.client.get(body["report"]).streaming_content)  # type: ignore[attr-defined]
        assert b"refused" in report
        assert refusal(program.post("import-confirm", row)) == NOT_POSSIBLE
        with messages():
            assert program.post("import-confirm", row, skip_bad=True).json()["state"] == "importing"
        assert program.get("import", row).json()["state"] == "done"
        (corpus,) = [row for row in program.get("corpora").json() if row["name"] == "films"]
        assert (corpus["videos"], corpus["moments"], corpus["projects"]) == (1, 2, [])
        assert [row["uuid"] for row in program.get("imports").json()["results"]] == [str(row.uuid)]

    def test_a_checked_file_is_discarded(self, messages: Messages) -> None:
        program = Program(lead(ProjectFactory()))
        with messages():
            self.send(program)
        row = CorpusImport.objects.get()
        assert program.post("import-discard", row).json()["state"] == "discarded"
        assert refusal(program.post("import-discard", row)) == NOT_POSSIBLE
        assert not Corpus.objects.filter(name="films").exists()

    @pytest.mark.parametrize("fields", [{"corpus_name": ""}, {"colour": "red"}, {"format": "tiff"}])
    def test_what_is_wrong_is_refused(self, fields: dict[str, str]) -> None:
        assert refusal(self.send(Program(lead(ProjectFactory())), **fields)) == INVALID
        assert not CorpusImport.objects.exists()

    def test_the_size_of_a_file_has_a_limit(self, settings: Settings) -> None:
        settings.IMPORT_MAX_MB = -1
        assert refusal(self.send(Program(lead(ProjectFactory())))) == (413, "too_large")


class TestVideos:
    def begin(self, program: Program, project: Project, size: int, **headers: str) -> HttpResponse:
        about = {"Upload-Length": str(size), "Upload-Metadata": f"filename {b64encode(b'film.mp4').decode()}"}
        return program.client.post(url("video-uploads", project), headers={**about, **headers})

    def send(self, program: Program, address: str, data: bytes, offset: int) -> HttpResponse:
        headers = {"Upload-Offset": str(offset), "Tus-Resumable": "1.0.0"}
        return program.client.patch(address, data, content_type="application/offset+octet-stream", headers=headers)

    def test_pieces_become_a_video(self, clip: bytes, messages: Messages) -> None:
        project = ProjectFactory()
        program = Program(lead(project))
        answer = self.begin(program, project, len(clip))
        assert (answer.status_code, answer.headers["Tus-Resumable"]) == (201, "1.0.0")
        address = answer.headers["Location"]
        half = len(clip) // 2
        assert self.send(program, address, clip[:half], 0).headers["Upload-Offset"] == str(half)
        assert refusal(self.send(program, address, clip, 0)) == NOT_POSSIBLE
        assert program.client.head(address).headers["Upload-Offset"] == str(half)
        with messages():
            assert self.send(program, address, clip[half:], half).status_code == 204
        body = program.client.get(address).json()
        video = project.dataset.corpus.videos.get()
        assert (body["state"], body["offset"], body["video"]) == ("done", len(clip), str(video.uuid))
        assert program.get("video-uploads", project).json()["results"] == [body]

    def test_what_is_no_video_says_so(self, messages: Messages) -> None:
        project = ProjectFactory()
        program = Program(lead(project))
        address = self.begin(program, project, 3).headers["Location"]
        with messages():
            self.send(program, address, b"abc", 0)
        assert program.client.get(address).json()["error"]
        assert program.client.head(address).status_code == 410
        assert program.client.delete(address).status_code == 204
        assert not VideoUpload.objects.exists()

    def test_another_version_and_missing_headers(self) -> None:
        project = ProjectFactory()
        program = Program(lead(project))
        other = self.begin(program, project, 3, **{"Tus-Resumable": "0.2.2"})
        assert (refusal(other), other.headers["Tus-Version"]) == ((412, "version"), "1.0.0")
        assert refusal(program.client.post(url("video-uploads", project))) == (400, "bad_request")
        assert not VideoUpload.objects.exists()


class TestCaptionsAndQueries:
    def test_rewritten_then_drawn(self, encoder: object, messages: Messages) -> None:
        project = described("Ross sings.", "Monica runs.", "A dog barks.", "A cat sleeps.")
        program = Program(lead(project))
        assert program.get("captions", project).json()["rewriting"] is None
        with messages():
            answer = program.post("captions-rewrite", project, provider="rules")
        assert (answer.status_code, answer.json()["unwritten"]) == (202, 4)
        body = program.get("captions", project).json()
        assert (body["unwritten"], body["rewritten"]) == (0, 4)
        assert body["rewriting"]["finished_at"] and not body["rewriting"]["error"]
        (job,) = program.get("jobs", project).json()["results"]
        assert (job["kind"], job["state"]) == ("rewriting", "done")
        assert program.client.get(url("job", Job.objects.get())).json() == job
        assert refusal(program.post("captions-rewrite", project, provider="rules")) == NOT_POSSIBLE
        assert refusal(program.post("captions-rewrite", project, provider="magic")) == INVALID
        assert Rewriting.objects.count() == 1

    def test_a_draft_draws_nothing_and_the_draw_gives_the_same(self) -> None:
        project = described("a man sings", "a dog runs", "a cat sleeps", "it rains")
        program = Program(lead(project))
        draft = program.get("queries-draw", project, val="25%", test="1", seed="7").json()
        assert not project.queries.exists()
        answer = program.post("queries-draw", project, val="25%", test=1, seed=7)
        assert (answer.status_code, answer.json()) == (201, draft)
        assert draft == {"val": 1, "test": 1, "train": 2, "removed": 0, "waiting": 0}
        assert refusal(program.post("queries-draw", project, val=1, test=1, seed=7)) == NOT_POSSIBLE
        again = program.post("queries-draw", project, val=2, test=1, seed=7, again=True)
        assert again.json()["val"] == project.queries.filter(split="val").count() == 2
        assert AuditEvent.objects.filter(action="queries.redraw").exists()

    @pytest.mark.parametrize(
        "body",
        [
            {"val": 1, "test": 1},
            {"val": "many", "test": 1, "seed": 1},
            {"val": 1.5, "test": 1, "seed": 1},
            {"val": True, "test": 1, "seed": 1},
            {"val": 1, "test": 1, "seed": -1},
            {"val": 1, "test": 1, "seed": 1, "seen": 4},
        ],
    )
    def test_a_draw_that_is_none(self, body: dict[str, Any]) -> None:
        project = described("a man sings", "a dog runs")
        program = Program(lead(project))
        assert refusal(program.post("queries-draw", project, **body)) == INVALID
        assert refusal(program.get("queries-draw", project, val="1", test="x", seed="1")) == INVALID
        assert not Query.objects.exists()

    def test_batches_are_opened_by_a_worker(self, encoder: object, messages: Messages) -> None:
        project = described("a man sings", "a dog runs", "a cat sleeps")
        QueryFactory(project=project, split="test")
        program = Program(admin(project))
        with messages():
            answer = program.post("batches-open", project)
        assert (answer.status_code, answer.json()["state"]) == (202, "running")
        assert Job.objects.get(uuid=answer.json()["uuid"]).state == "done"
        assert Batch.objects.get(project=project).pairs.count() == 3
        assert refusal(program.post("batches-open", project, similarity="magic")) == INVALID
        with messages():
            assert program.post("candidates-rank", project).json()["kind"] == "ranking"

    def test_train_sets(self, encoder: object, messages: Messages) -> None:
        project = described("a man sings")
        program = Program(lead(project))
        assert refusal(program.post("train-sets", project, depth=1)) == NOT_POSSIBLE  # nothing to train on
        QueryFactory(project=project, split="train")
        assert refusal(program.post("train-sets", project, depth="1")) == INVALID
        with messages():
            uuid = program.post("train-sets", project, depth=1).json()["uuid"]
        row = TrainSet.objects.get(uuid=uuid)
        assert program.get("train-set", row).json()["state"] == "done"
        assert program.delete("train-set", row).status_code == 204
        assert program.get("train-set", row).status_code == 404


class TestRules:
    def test_what_is_named_changes_until_somebody_judges(self) -> None:
        project = ProjectFactory()
        program = Program(lead(project))
        before = program.get("project", project).json()["rules"]
        answer = program.patch("rules", project, judges=3, top_grade=1, max_spread=0)
        assert answer.json() == before | {"judges": 3, "top_grade": 1, "max_spread": 0}
        assert program.get("project", project).json()["rules"] == answer.json()
        AssignmentFactory(batch=BatchFactory(query__project=Project.objects.get(pk=project.pk)))
        assert refusal(program.patch("rules", project, judges=2)) == (409, "not_possible_now")

    @pytest.mark.parametrize(
        "body",
        [
            *({"judges": 4}, {"max_spread": 4}, {"batch_size": "20"}, {"grades": 5}),
            *(
                {"strata": "1-20: 20"},
                {"strata": [[1, 20, 20]]},
                {"strata": [{"first": 1, "last": 20, "sample": 10**9}]},
            ),
            {"strata": [{"first": 1, "last": 20, "sample": 19}]},
        ],
    )
    def test_rules_that_cannot_be(self, body: dict[str, Any]) -> None:
        project = ProjectFactory()
        assert refusal(Program(lead(project)).patch("rules", project, **body)) == INVALID


class TestPolicy:
    def test_a_new_version_changes_what_it_names(self) -> None:
        project = ProjectFactory()
        program = Program(lead(project))
        before = program.get("policy", project).json()
        after = program.post("policy", project, version=before["version"], lease_minutes=45).json()
        assert after == before | {"version": before["version"] + 1, "lease_minutes": 45}
        assert Policy.objects.filter(project=project).count() == 2
        stale = program.post("policy", project, version=before["version"], lease_minutes=50)
        assert refusal(stale) == (409, "policy_stale")

    @pytest.mark.parametrize("body", [{}, {"version": 1, "lease_minutes": 0}, {"version": 1, "leash": 4}])
    def test_what_is_no_policy(self, body: dict[str, Any]) -> None:
        project = ProjectFactory()
        assert refusal(Program(lead(project)).post("policy", project, **body)) == INVALID
        assert Policy.objects.filter(project=project).count() == 1


class TestInvitations:
    def test_a_link_is_shown_once_and_opens_the_project(self) -> None:
        project = ProjectFactory()
        program = Program(lead(project))
        answer = program.post("invitations", project, days=3)
        assert answer.status_code == 201
        invitation = Invitation.objects.get()
        assert program.client.get(answer.json()["link"]).status_code == 200
        (row,) = program.get("invitations", project).json()["results"]
        assert row == {name: value for name, value in answer.json().items() if name != "link"}
        renewed = program.post("invitation-renew", invitation).json()
        assert renewed["link"] != answer.json()["link"]
        assert program.client.get(answer.json()["link"]).status_code == 404
        assert program.delete("invitation", invitation).status_code == 204
        assert program.client.get(renewed["link"]).status_code == 410
        assert program.get("invitations", project).json()["results"] == []

    def test_by_e_mail_the_answer_holds_no_link(self, messages: Messages, mailoutbox: list[Any]) -> None:
        project = ProjectFactory()
        program = Program(lead(project))
        with messages():
            answer = program.post("invitations", project, role="lead", email="somebody@example.org", name="Some Body")
        assert (answer.json()["link"], answer.json()["email"]) == ("", "somebody@example.org")
        assert mailoutbox[0].to == ["somebody@example.org"]
        again = program.post("invitations", project, email="somebody@example.org")
        assert refusal(again) == NOT_POSSIBLE

    def test_who_is_known_judges_without_an_exam(self) -> None:
        project = ProjectFactory()
        program = Program(lead(project))
        assert program.post("invitations", project, qualifies=True).json()["qualifies"] is True
        assert Invitation.objects.get().qualifies
        assert refusal(program.post("invitations", project, role="admin", qualifies=True)) == NOT_POSSIBLE

    @pytest.mark.parametrize(
        "body", [{"role": "owner"}, {"role": "qualified"}, {"days": 0}, {"days": "3"}, {"email": "nobody"}]
    )
    def test_what_is_no_invitation(self, body: dict[str, Any]) -> None:
        project = ProjectFactory()
        assert refusal(Program(lead(project)).post("invitations", project, **body)) == INVALID
        assert not Invitation.objects.exists()


class TestPools:
    def test_planned_from_runs_then_opened(self, encoder: object, messages: Messages) -> None:
        hand_made = HandMade()
        release = ready_release(hand_made.project)
        member = member_of(hand_made, hand_made.lead)
        run = bring(member, release, run_json({10: GOOD}))
        program = Program(hand_made.lead)
        with messages():
            answer = program.post("pools", hand_made.project, runs=[str(run.uuid)], depth=5)
        assert answer.status_code == 201, answer.content
        pooling = Pooling.objects.get()
        body = program.get("pool", pooling).json()
        assert (body["state"], body["depth"], body["error"]) == ("ready", 5, "")
        assert body["report"]["moments"] >= body["report"]["to_judge"]
        with messages():
            answer = program.post("pool-open", pooling)
        assert answer.json()["state"] == "opening"
        assert program.get("pool", pooling).json()["progress"]["pairs"] == body["report"]["to_judge"]
        assert refusal(program.post("pool-discard", pooling)) == NOT_POSSIBLE
        assert [row["uuid"] for row in program.get("pools", hand_made.project).json()["results"]] == [str(pooling.uuid)]

    def test_discarded_ones_are_not_listed_and_studies_are_no_pools(self) -> None:
        pooling = PoolingFactory()
        study = PoolingFactory(project=pooling.project, seed=1, others=2)
        program = Program(lead(pooling.project))
        assert program.post("pool-discard", pooling).json()["state"] == "discarded"
        assert program.get("pools", pooling.project).json()["results"] == []
        assert program.get("pool", study).status_code == 404
        assert refusal(program.post("pool-open", pooling)) == NOT_POSSIBLE

    def test_what_is_no_plan(self) -> None:
        batch = BatchFactory()
        program, release = Program(lead(batch.project)), ready_release(batch.project)
        run = Run(project=batch.project, release=release, system="s", split="val", state="scored")
        run.file.save("run.json", ContentFile(b"[]"))
        query_set = NamedQuerySet.objects.create(project=batch.project, name="s")
        right = {"runs": [str(run.uuid)]}
        wrong: list[dict[str, Any]] = [
            {"runs": []},
            {"runs": [str(query_set.uuid)]},
            {**right, "depth": 0},
            {**right, "split": "train"},
            {**right, "split": "val", "query_set": str(query_set.uuid)},
            {**right, "query_set": str(run.uuid)},
        ]
        assert [refusal(program.post("pools", batch.project, **body)) for body in wrong] == [INVALID] * len(wrong)
        assert not Pooling.objects.exists()
        planned = program.post("pools", batch.project, **right, query_set=str(query_set.uuid)).json()
        assert planned["query_set"] == str(query_set.uuid)


class TestFeatures:
    @pytest.fixture
    def project(self) -> Project:
        return VideoFactory(corpus=(project := ProjectFactory()).dataset.corpus) and project  # type: ignore[no-any-return]

    def test_started_cancelled_resumed_deleted(self, project: Project) -> None:
        program = Program(admin(project))
        answer = program.post("features", project, kind="video", extractor="builtin-pixels", name="pixels")
        assert (answer.status_code, answer.json()["state"]) == (201, "running")
        row = FeatureSet.objects.get()
        assert refusal(program.post("features-resume", row)) == NOT_POSSIBLE
        assert program.post("features-cancel", row).json()["state"] == "cancelled"
        assert program.post("features-resume", row).json()["state"] == "running"
        assert program.get("feature-set", row).json()["name"] == "pixels"
        assert program.delete("feature-set", row).status_code == 204
        assert not FeatureSet.objects.exists()

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({"kind": "video", "extractor": "builtin-text"}, INVALID),
            ({"kind": "subtitle", "extractor": "builtin-text"}, INVALID),  # the corpus has none
            ({"kind": "video", "extractor": "image-model"}, INVALID),  # of which model
            ({"kind": "video", "extractor": "builtin-pixels", "path": "/x.h5"}, INVALID),
            ({"kind": "video", "extractor": "file"}, INVALID),
            ({"kind": "video", "extractor": "file", "path": "/etc/passwd"}, NOT_POSSIBLE),
            ({"kind": "query", "extractor": "builtin-text"}, NOT_POSSIBLE),  # nothing to make them of
        ],
    )
    def test_what_cannot_be_made(self, body: dict[str, str], code: tuple[int, str], project: Project) -> None:
        assert refusal(Program(admin(project)).post("features", project, **body)) == code
        assert not FeatureSet.objects.exists()


class TestReleases:
    def test_made_once_for_a_key_and_fetched(self, messages: Messages) -> None:
        batch = BatchFactory(state="done")
        program = Program(lead(batch.project))
        body = {"key": "11111111-2222-4333-8444-555555555555", "is_anonymised": True}
        with messages():
            first = program.post("releases", batch.project, **body)
        assert (first.status_code, first.json()["state"]) == (201, "preparing")
        release = Release.objects.get()
        ready = program.get("release", release).json()
        assert (ready["state"], ready["is_anonymised"], ready["version"]) == ("ready", True, 1)
        assert program.client.get(ready["archive"]["url"]).status_code == 200
        assert program.post("releases", batch.project, **body).json() == ready
        assert refusal(program.post("releases", batch.project, **{**body, "is_anonymised": False})) == (
            409,
            "form_stale",
        )
        assert refusal(program.post("release-retry", release)) == (409, "not_possible_now")
        assert refusal(program.post("releases", batch.project, anonymous=True)) == INVALID
        assert Release.objects.count() == 1

    def test_one_that_failed_is_built_again(self, messages: Messages) -> None:
        batch = BatchFactory(state="done")
        failed = Release.objects.create(project=batch.project, version=1, state="failed", error="no room")
        program = Program(lead(batch.project))
        with messages():
            assert program.post("release-retry", failed).json()["state"] == "preparing"
        assert program.get("release", failed).json()["state"] == "ready"


def test_a_token_that_may_only_read_builds_nothing() -> None:
    project = ProjectFactory()
    program = Program(lead(project))
    program.client.defaults["HTTP_AUTHORIZATION"] = bearer(program.person)["Authorization"]
    program.person.access_tokens.update(scopes=["read"])
    answers = [
        program.post("projects", name="films"),
        program.post("invitations", project),
        program.post("releases", project),
        program.client.post(url("imports"), {"corpus_name": "films"}),
    ]
    assert [refusal(answer) for answer in answers] == [(403, "scope_missing")] * 4
    assert program.get("project", project).status_code == 200


def test_annotators_learn_of_no_job_and_no_release() -> None:
    batch = BatchFactory()
    release = ready_release(batch.project)
    job = Job.objects.create(project=batch.project, kind="x", title="x", state="done")
    blind = Program(annotator(batch.project))
    assert [refusal(blind.get(name, row)) for name, row in (("release", release), ("job", job))] == [
        (403, "permission_denied")
    ] * 2
    assert Membership.Role.ANNOTATOR in blind.person.memberships.get().roles
