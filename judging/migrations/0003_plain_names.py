"""Gives tables and columns plain names, as the .sql files beside it say; the site stops for it."""

from pathlib import Path

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FILES = ("plain_names.sql", "plain_functions.sql")
OLD_CONSTRAINTS = {
    "assignment": ("assignment_one_holder_per_seat", "assignment_seat_is_1_or_2"),
    "batch": ("batch_has_two_seats_a_round",),
    "examattempt": (
        "sitting_one_at_a_time",
        "sitting_of_an_exam_names_it",
        "sitting_asks_for_something",
        "sitting_ended_has_its_time",
        "sitting_counted_by_a_lead_was_missed",
        "sitting_left_out_was_closed",
        "sitting_shown_before_is_a_part_of_it",
    ),
    "examgrade": (
        "sitting_grade_once_per_pair_and_attempt",
        "sitting_grade_first_once_per_annotator",
        "sitting_grade_from_0_to_4",
    ),
    "flaganswer": ("flag_answer_says_why",),
    "judgment": ("judgment_two_per_pair_and_round", "judgment_seat_is_1_or_2"),
    "policy": ("policy_gate_can_be_passed",),
    "screeningattempt": ("gate_attempt_one_at_a_time", "gate_attempt_answered_has_its_score"),
    "screeningquestion": (
        "gate_question_says_something",
        "gate_question_has_2_to_6_options",
        "gate_question_has_a_right_option",
    ),
}
CONSTRAINTS = {
    "assignment": [
        models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('batch', 'round', 'slot'), name='assignment_one_holder_per_slot', violation_error_message='Somebody else has just taken this batch.'),
        models.CheckConstraint(condition=models.Q(('slot__in', (1, 2))), name='assignment_slot_is_1_or_2'),
    ],
    "batch": [
        models.CheckConstraint(condition=models.Q(('free_slots__range', (0, 2))), name='batch_has_two_slots_a_round'),
    ],
    "examattempt": [
        models.UniqueConstraint(condition=models.Q(('state__in', ['open', 'waiting', 'feedback'])), fields=('project', 'annotator', 'purpose'), name='exam_attempt_one_at_a_time'),
        models.CheckConstraint(condition=models.Q(models.Q(('exam__isnull', False), ('purpose', 'exam')), models.Q(models.Q(('purpose', 'exam'), _negated=True), ('exam__isnull', True)), _connector='OR'), name='exam_attempt_of_an_exam_names_it'),
        models.CheckConstraint(condition=models.Q(('known_ids__len__gt', 0)), name='exam_attempt_asks_for_something'),
        models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['done', 'missed']), ('ended_at__isnull', False)), models.Q(models.Q(('state__in', ['done', 'missed']), _negated=True), ('ended_at__isnull', True)), _connector='OR'), name='exam_attempt_ended_has_its_time'),
        models.CheckConstraint(condition=models.Q(('missed_counts', False), models.Q(('purpose', 'exam'), ('state', 'missed')), _connector='OR'), name='exam_attempt_counted_by_a_lead_was_missed'),
        models.CheckConstraint(condition=models.Q(('left_out', False), models.Q(('purpose', 'exam'), ('state__in', ['feedback', 'done', 'missed'])), _connector='OR'), name='exam_attempt_left_out_was_closed'),
        models.CheckConstraint(condition=models.Q(('shown_before__isnull', True), models.Q(('purpose', 'exam'), ('shown_before__lte', models.F('known_ids__len'))), _connector='OR'), name='exam_attempt_shown_before_is_a_part_of_it'),
    ],
    "examgrade": [
        models.UniqueConstraint(fields=('exam_attempt', 'known_pair', 'try_number'), name='exam_grade_once_per_pair_and_try'),
        models.UniqueConstraint(condition=models.Q(('try_number', 0)), fields=('annotator', 'known_pair'), name='exam_grade_first_once_per_annotator', violation_error_message='You have graded this pair before.'),
        models.CheckConstraint(condition=models.Q(('grade__range', (0, 4))), name='exam_grade_from_0_to_4'),
    ],
    "flaganswer": [
        models.CheckConstraint(condition=models.Q(('kind__in', ['recut', 'bounds']), models.Q(('text', ''), _negated=True), _connector='OR'), name='flag_answer_says_why'),
    ],
    "judgment": [
        models.UniqueConstraint(fields=('pair', 'round', 'slot'), name='judgment_two_per_pair_and_round'),
        models.CheckConstraint(condition=models.Q(('slot__in', (1, 2))), name='judgment_slot_is_1_or_2'),
    ],
    "policy": [
        models.CheckConstraint(condition=models.Q(('screening_attempts__gte', 1), ('screening_passing__lte', models.F('screening_questions')), ('screening_questions__gte', 1)), name='policy_screening_can_be_passed', violation_error_message='The screening test asks at least one question, needs no more right answers than it asks, and allows an attempt.'),
    ],
    "screeningattempt": [
        models.UniqueConstraint(condition=models.Q(('answered_at__isnull', True)), fields=('project', 'annotator'), name='screening_attempt_one_at_a_time'),
        models.CheckConstraint(condition=models.Q(models.Q(('answered_at__isnull', True), ('score__isnull', True)), models.Q(('answered_at__isnull', False), ('score__isnull', False)), _connector='OR'), name='screening_attempt_answered_has_its_score'),
    ],
    "screeningquestion": [
        models.CheckConstraint(condition=models.Q(('description', ''), _negated=True), name='screening_question_says_something'),
        models.CheckConstraint(condition=models.Func(models.F('options'), models.Value('strict $ ? (@.type() == "array" && @.size() >= 2 && @.size() <= 6 && !exists(@[*] ? (@.type() != "string" || @ == "")))'), function='jsonb_path_exists', output_field=models.BooleanField()), name='screening_question_has_2_to_6_options'),
        models.CheckConstraint(condition=models.Func(models.F('options'), models.Value('$[$correct]'), models.Func(models.Value('correct'), models.F('correct'), function='jsonb_build_object', output_field=models.JSONField()), function='jsonb_path_exists', output_field=models.BooleanField()), name='screening_question_has_a_right_option'),
    ],
}
FIELDS = {
    ("batch", "free_slots"): models.PositiveSmallIntegerField(default=2, help_text='Free slots of the round.'),
    ("examattempt", "annotator"): models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='exam_attempts', to=settings.AUTH_USER_MODEL),
    ("examattempt", "exam"): models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='judging.exam'),
    ("examattempt", "project"): models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='exam_attempts', to='accounts.project'),
    ("examgrade", "annotator"): models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='exam_grades', to=settings.AUTH_USER_MODEL),
    ("screeningattempt", "annotator"): models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='screening_attempts', to=settings.AUTH_USER_MODEL),
    ("screeningattempt", "project"): models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='screening_attempts', to='accounts.project'),
    ("screeningquestion", "project"): models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='screening_questions', to='accounts.project'),
}


class Migration(migrations.Migration):
    needs_downtime = True  # code of 0.1.0 does not find the new names
    dependencies = [("judging", "0002_triggers"), ("accounts", "0003_plain_names")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(Path(__file__).with_name(name).read_text()) for name in FILES],
            state_operations=[
                migrations.RenameModel("Sitting", "ExamAttempt"),
                migrations.RenameModel("SittingGrade", "ExamGrade"),
                migrations.RenameField("examgrade", "sitting", "exam_attempt"),
                migrations.RenameField("examgrade", "attempt", "try_number"),
                migrations.RenameModel("GateQuestion", "ScreeningQuestion"),
                migrations.RenameModel("GateAttempt", "ScreeningAttempt"),
                migrations.RenameField("screeningattempt", "asked", "questions"),
                migrations.RenameField("policy", "gate_is_open", "screening_is_open"),
                migrations.RenameField("policy", "gate_questions", "screening_questions"),
                migrations.RenameField("policy", "gate_passing", "screening_passing"),
                migrations.RenameField("policy", "gate_attempts", "screening_attempts"),
                migrations.RenameField("assignment", "seat", "slot"),
                migrations.RenameField("judgment", "seat", "slot"),
                migrations.RenameField("batch", "free_seats", "free_slots"),
                migrations.RenameField("flaganswer", "words", "text"),
                migrations.RenameField("recut", "asked_by", "requested_by"),
                migrations.RenameField("recut", "asked_at", "requested_at"),
                *(migrations.RemoveConstraint(model, name) for model, names in OLD_CONSTRAINTS.items() for name in names),
                *(migrations.RemoveIndex("batch", name) for name in ("batch_to_be_taken", "batch_no_seat_free")),
                *(migrations.AlterField(model, name, field) for (model, name), field in FIELDS.items()),
                migrations.AddIndex(
                    "batch",
                    models.Index(condition=models.Q(('free_slots__gt', 0), ('is_paused', False), ('state', 'open')), fields=['project', '-priority', '-round', '-begun', 'id'], name='batch_to_be_taken'),
                ),
                migrations.AddIndex(
                    "batch",
                    models.Index(condition=models.Q(('free_slots', 0), ('state', 'open')), fields=['id'], name='batch_no_slot_free'),
                ),
                *(migrations.AddConstraint(model, added) for model, constraints in CONSTRAINTS.items() for added in constraints),
            ],
        )
    ]
