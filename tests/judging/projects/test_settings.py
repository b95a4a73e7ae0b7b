"""Pages of the settings: what leads publish there, and what annotators meet of it."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Membership, Project, User
from core.models import AuditEvent
from judging.guidelines.forms import GROUPS
from judging.guidelines.models import POLICY_VALUES
from judging.guidelines.selectors import pass_rule_of, policy_in_force
from judging.guidelines.services import Example, guideline_publish, policy_publish
from judging.models import GuidelineConfirmation, GuidelineDraft, KnownPair, ScreeningAttempt
from tests.factories import BatchFactory, MembershipFactory, MomentFactory, admin, annotator
from tests.judging.settings import drawn_pair, guideline_form, policy_form, screening_attempt, screening_question
from tests.judging.views.acts import HTMX, grade_all, logged_in, take, url

pytestmark = pytest.mark.django_db
LEVELS = ["a"] * 5


def page_of(client: Client, name: str, row: object, **query: str) -> str:
    return client.get(url(name, row), query).content.decode()


class TestGuidelineEditor:
    def test_write_review_publish(self, lead_client: Client, project: Project) -> None:
        annotator(project)
        saved = lead_client.post(url("guideline-save", project), guideline_form(body="# Two", then="review"))
        assert saved.headers["Location"] == url("guideline-review", project)
        review = page_of(lead_client, "guideline-review", project)
        assert "# Two" in review
        assert "1 qualified annotator will have to read" in review
        lead_client.post(url("guideline-publish", project))
        assert "<h1>Two</h1>" in page_of(lead_client, "guideline", project)

    @pytest.mark.parametrize("headers", [{}, HTMX])
    def test_a_preview_runs_no_html(self, lead_client: Client, project: Project, headers: dict[str, str]) -> None:
        form = guideline_form(body="# Seen\n<script>alert(1)</script>", level_0="")
        answer = lead_client.post(url("guideline-preview", project), form, headers=headers)
        body = answer.content.decode()
        assert answer.status_code == 200
        assert "<h1>Seen</h1>" in body
        assert "<script>alert" not in body
        assert ("<!doctype" in body) == (not headers)
        assert not GuidelineDraft.objects.exists()

    def test_a_level_without_its_line(self, lead_client: Client, project: Project) -> None:
        answer = lead_client.post(url("guideline-save", project), guideline_form(body="# Kept", level_2=""))
        assert answer.status_code == 422
        for words in ("Say in one line what grade 2 means.", "# Kept"):
            assert words in answer.content.decode()

    def test_examples_are_chosen_for_the_draft(self, lead_client: Client, project: Project) -> None:
        pair = drawn_pair(project)
        assert str(pair.moment.uuid) in page_of(lead_client, "guideline-examples", project)
        form = {"grade": 4, "query_text": "q", "moment": pair.moment.uuid}
        assert lead_client.post(url("guideline-example-set", project), form).status_code == 302
        assert GuidelineDraft.objects.get().examples.get().moment == pair.moment
        assert lead_client.post(url("guideline-example-set", project), {**form, "grade": 5}).status_code == 422
        assert lead_client.post(url("guideline-example-remove", project), {"grade": 4}).status_code == 302
        assert not GuidelineDraft.objects.get().examples.exists()

    def test_versions_stay_readable(self, project: Project) -> None:
        first = project.guidelines.get()
        second = guideline_publish(project=project, actor=None, body="# Two", levels=LEVELS, changes="All.")
        reader = logged_in(annotator(project))
        assert "Version 1" in page_of(reader, "guideline-versions", project)
        assert "Judge by the picture alone." in page_of(reader, "guideline-version", first)
        page = page_of(reader, "guideline-version", second)
        assert '<li class="new"><ins><span class="unseen">New: </span># Two</ins></li>' in page

    def test_no_name_of_a_file_stands_in_the_changes(self, project: Project) -> None:
        moment = MomentFactory(video__corpus=project.dataset.corpus, video__name="the_secret_show")
        guideline = guideline_publish(
            project=project, actor=None, body="b", levels=LEVELS, examples=[Example(4, "a query", moment.pk)]
        )
        page = page_of(logged_in(annotator(project)), "guideline-version", guideline)
        assert "a query" in page
        assert "the_secret_show" not in page


class TestConfirming:
    def test_the_desk_and_the_start_button_lead_to_the_guideline_and_back(self, project: Project) -> None:
        BatchFactory(query__project=project)
        person = annotator(project)
        guideline_publish(project=project, actor=None, body="# Two", levels=LEVELS, changes="All is new.")
        client = logged_in(person)
        response = client.post(url("assignment-take", project))
        assert response.headers["Location"] == url("guideline", project)
        page = page_of(client, "guideline", project)
        assert "All is new." in page
        assert "I have read this version" in page
        assert client.post(url("guideline-confirm", project), {"version": 2}).headers["Location"] == url(
            "desk", project
        )
        assert "I have read this version" not in page_of(client, "guideline", project)
        assert client.post(url("assignment-take", project)).headers["Location"] == url("pair-next", project)

    def test_an_old_page_confirms_nothing(self, project: Project) -> None:
        person = annotator(project)
        guideline_publish(project=project, actor=None, body="# Two", levels=LEVELS)
        for version in ("1", "", "two", "9" * 40):
            answer = logged_in(person).post(url("guideline-confirm", project), {"version": version})
            assert answer.status_code == 409
        assert GuidelineConfirmation.objects.filter(annotator=person).count() == 1

    def test_finishing_with_a_next_batch_leads_there_too(self, project: Project) -> None:
        batch = BatchFactory(query__project=project)
        assignment = take(batch)
        client = logged_in(assignment.annotator)
        grade_all(client, assignment)
        guideline_publish(project=project, actor=None, body="# Two", levels=LEVELS)
        answer = client.post(url("assignment-finish", project), {"more": "yes"}, headers=HTMX)
        assert answer.headers["HX-Redirect"] == url("guideline", project)
        assignment.refresh_from_db()
        assert assignment.state == "finished"


class TestTraining:
    def test_a_pair_is_graded_added_and_shown_by_level(self, lead_client: Client, project: Project) -> None:
        page = page_of(lead_client, "training", project)
        assert "No tutorial yet" in page and "No pair drawn yet" in page
        pair = drawn_pair(project)
        answer = lead_client.post(url("training-pair-grade", pair), {"grade": "5"})
        assert (answer.status_code, KnownPair.objects.get().truth) == (422, None)
        assert "A grade is a whole number from 0 to 4." in answer.content.decode()
        form = {"grade": 2, "explanation": "Only <b>half</b> of it.", "then": "tutorial"}
        assert lead_client.post(url("training-pair-grade", pair), form).status_code == 302
        page = page_of(lead_client, "training", project)
        assert "Only &lt;b&gt;half&lt;/b&gt; of it." in page and "No pair of grade 0, 1, 3, 4 yet" in page
        assert KnownPair.objects.get().tutorial_position == 1

    def test_so_many_queries_are_not_drawn(self, lead_client: Client, project: Project) -> None:
        for queries in ("", "0", "51", "many"):
            assert lead_client.post(url("training-draw", project), {"queries": queries}).status_code == 422

    def test_moving_answers_htmx_with_the_tutorial(self, lead_client: Client, project: Project) -> None:
        pairs = [drawn_pair(project, truth=1, tutorial_position=position) for position in (1, 2)]
        answer = lead_client.post(url("training-pair-move", pairs[1]), {"by": -1}, headers=HTMX)
        assert answer.content.decode().strip().startswith('<section id="tutorial">')
        assert KnownPair.objects.get(tutorial_position=1) == pairs[1]

    def test_pairs_of_an_exam_are_not_for_training(self, lead_client: Client, project: Project) -> None:
        exam = project.exams.create(number=1, kind="cohort", state="open", seed=1)
        pair = drawn_pair(project)
        exam_pair = KnownPair.objects.create(
            project=project, query=pair.query, moment=MomentFactory(), source="exam", exam=exam
        )
        assert lead_client.post(url("training-pair-grade", exam_pair), {"grade": 1}).status_code == 404
        assert str(exam_pair.uuid) not in page_of(lead_client, "training", project)


class TestScreening:
    @pytest.fixture
    def person(self, project: Project) -> User:
        for _ in range(3):
            screening_question(project)
        policy_publish(
            project=project,
            actor=None,
            screening_questions=2,
            screening_passing=2,
            screening_attempts=1,
            screening_is_open=True,
        )
        return MembershipFactory(project=project, status="candidate").user  # type: ignore[no-any-return]

    def answers(self, *, right: bool) -> dict[str, object]:
        attempt = ScreeningAttempt.objects.get()
        answers = {f"answer-{n}": (row["correct"] + (not right)) % 3 for n, row in enumerate(attempt.questions)}
        return {"attempt": attempt.uuid, **answers}

    def test_taking_it(self, project: Project, person: User) -> None:
        client = logged_in(person)
        assert "A short test first" in page_of(client, "screening", project)
        client.post(url("screening-start", project))
        page = page_of(client, "screening", project)
        assert page.count('type="radio"') == 6
        assert "correct" not in page
        form = self.answers(right=True)
        for _ in range(2):
            assert client.post(url("screening-answer", project), form).headers["Location"] == url("screening", project)
        assert "<b>2 of 2</b>, needed 2" in page_of(client, "screening", project)
        assert Membership.objects.get(user=person).status == "training"

    def test_failing_the_last_attempt(self, project: Project, person: User) -> None:
        client = logged_in(person)
        client.post(url("screening-start", project))
        client.post(url("screening-answer", project), self.answers(right=False))
        page = page_of(client, "screening", project)
        assert "<b>0 of 2</b>, needed 2" in page
        assert "Ask your lead" in page
        client.post(url("screening-start", project))
        assert ScreeningAttempt.objects.count() == 1

    def test_a_bad_answer_keeps_the_others(self, project: Project, person: User) -> None:
        client = logged_in(person)
        client.post(url("screening-start", project))
        for last in ("", "3", "-1", "x", "9" * 30):
            answer = client.post(url("screening-answer", project), {**self.answers(right=True), "answer-1": last})
            assert answer.status_code == 422
            assert len(re.findall(r'type="radio"[^>]* checked', answer.content.decode())) == 1
        assert ScreeningAttempt.objects.get().answered_at is None

    def test_a_clip_is_seen_by_who_has_its_question(self, project: Project, person: User) -> None:
        question = screening_question(project)
        screening_attempt(person, [question])
        other = annotator(project)
        statuses = [
            logged_in(who).get(f"/previews/{question.moment.preview_uuid}.gif").status_code for who in (person, other)
        ]
        assert statuses == [200, 404]

    def test_leads_see_how_questions_and_people_did(self, lead_client: Client, project: Project, person: User) -> None:
        question = project.screening_questions.first()
        assert question is not None
        screening_attempt(person, [question], answers=[0], score=1, answered_at=timezone.now())
        page = page_of(lead_client, "screening-questions", project)
        assert "Answered 1 time, rightly 1." in page
        assert "1 of 1, needed 1: passed" in page


class TestScreeningQuestions:
    def form(self, project: Project, **values: object) -> dict[str, object]:
        moment = MomentFactory(video__corpus=project.dataset.corpus)
        options = {"option_0": "a", "option_1": "", "option_2": "b", "correct": 2}
        return {"moment": moment.uuid, "description": "What?", **options, **values}

    def test_empty_options_are_left_out_and_the_right_one_stays(self, lead_client: Client, project: Project) -> None:
        assert lead_client.post(url("screening-question-create", project), self.form(project)).status_code == 302
        question = project.screening_questions.get()
        assert (question.options, question.correct) == (["a", "b"], 1)
        changed = self.form(project, option_0="b", option_2="c", correct=0)
        lead_client.post(url("screening-question-change", question), changed)
        question.refresh_from_db()
        assert (question.options, question.correct) == (["b", "c"], 0)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"option_2": "", "correct": 0}, "Write at least two options."),
            ({"option_2": "a"}, "Two options are the same."),
            ({"correct": 1}, "The option marked as right is empty."),
            ({"correct": 6}, "Mark one of the options."),
            ({"description": " "}, "Write what is asked."),
            ({"moment": ""}, "Choose a clip."),
        ],
    )
    def test_no_question(self, lead_client: Client, project: Project, values: dict[str, object], message: str) -> None:
        answer = lead_client.post(url("screening-question-create", project), self.form(project, **values))
        assert answer.status_code == 422
        assert message in answer.content.decode()
        assert not project.screening_questions.exists()


class TestPolicy:
    def test_saving_makes_a_version_and_audits_only_what_changed(self, lead_client: Client, project: Project) -> None:
        lead_client.post(url("policy-publish", project), policy_form(project))
        assert project.policies.count() == 1
        changes = {"pay_currency": "EUR", "time_zone": "Europe/Berlin", "extend_automatically": True}
        form = policy_form(project, **{**changes, "pay_currency": "eur"})
        assert lead_client.post(url("policy-publish", project), form).status_code == 302
        policy = policy_in_force(project.pk)
        assert {name: getattr(policy, name) for name in changes} == changes
        assert AuditEvent.objects.get(action="policy.publish").data == {"version": 2, **changes}
        page = page_of(lead_client, "policy", project)
        assert "Currency: SGD → EUR" in page and "Open it without asking: no → yes" in page

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"time_zone": "Mars/Base"}, "There is no time zone of this name."),
            ({"pay_currency": "XXQ"}, "ISO 4217 has no currency of these letters."),
            ({"exam_kappa": "1.5"}, "The least kappa lies between -1 and 1"),
            ({"exam_kappa": "nan"}, "Enter a number."),
            ({"gold_percent": "60"}, "At most half of the pairs shown can be gold."),
            ({"screening_passing": "13"}, "needs no more right answers than it asks"),
            ({"lease_minutes": "-3"}, "greater than or equal to 0"),
            ({"exam_weights": "cubic"}, "Select a valid choice."),
            ({"extend_from_mean": "4.5"}, "The mean to extend from is a relevance: 0 to 4."),
            ({"exam_bias": "4.1"}, "The bias lies between 0 and 4."),
            ({"exam_levels": "6"}, "The distinguished levels are between 1 and 5."),
        ],
    )
    def test_no_policy(self, lead_client: Client, project: Project, values: dict[str, str], message: str) -> None:
        answer = lead_client.post(url("policy-publish", project), policy_form(project, **values))
        assert answer.status_code == 422
        assert message in answer.content.decode()
        assert project.policies.count() == 1

    def test_a_bias_below_the_top_grade_is_required(self, lead_client: Client, project: Project) -> None:
        Project.objects.filter(pk=project.pk).update(top_grade=9)
        for bias, required in (("5", True), ("9", False)):
            lead_client.post(url("policy-publish", project), policy_form(project, exam_bias=bias))
            assert pass_rule_of(policy_in_force(project.pk)).asks_bias == required
        assert "the highest grade or more asks for nothing" in page_of(lead_client, "policy", project)

    def test_another_version_came_meanwhile(self, lead_client: Client, project: Project) -> None:
        old = policy_form(project, lease_minutes=5)
        policy_publish(project=project, actor=None, break_minutes=0)
        answer = lead_client.post(url("policy-publish", project), old)
        assert answer.status_code == 409
        assert "Version 2 was saved meanwhile" in answer.content.decode()
        assert policy_in_force(project.pk).lease_minutes == 20

    def test_a_screening_with_too_few_questions_stays_closed(self, lead_client: Client, project: Project) -> None:
        answer = lead_client.post(url("screening-set", project), {"open": "yes"})
        assert answer.status_code == 409
        assert "asks 12 questions, and 0 are written" in answer.content.decode()
        answer = lead_client.post(url("policy-publish", project), policy_form(project, screening_is_open=True))
        assert (answer.status_code, policy_in_force(project.pk).screening_is_open) == (409, False)

    def test_admins_look(self, project: Project) -> None:
        page = page_of(logged_in(admin(project)), "policy", project)
        assert "Save as a new version" not in page
        assert page.count("<fieldset disabled>") == 8


def test_the_page_shows_every_value_of_the_policy() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(POLICY_VALUES)
