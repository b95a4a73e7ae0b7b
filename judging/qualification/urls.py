"""Onboarding: the screening test, training, exams."""

from django.urls import path

from judging.qualification.views import exam_attempts, exams, onboarding, training

urlpatterns = [
    path("attempts/<uuid:project_uuid>/start/", exam_attempts.attempt_start, name="attempt-start"),
    path("attempts/<uuid:attempt_uuid>/", exam_attempts.attempt, name="attempt"),
    path("attempts/<uuid:attempt_uuid>/last-look/", exam_attempts.last_look, name="attempt-look"),
    path("attempts/<uuid:attempt_uuid>/hand-in/", exam_attempts.hand_in, name="attempt-hand-in"),
    path("known/<uuid:pair_uuid>/", exam_attempts.pair_show, name="known-pair"),
    path("known/<uuid:pair_uuid>/grade/", exam_attempts.pair_grade, name="known-grade"),
    path("exams/<uuid:project_uuid>/", exams.exams, name="exams"),
    path("exams/<uuid:project_uuid>/new/", exams.exam_create, name="exam-create"),
    path("exams/<uuid:exam_uuid>/results/", exams.exam, name="exam"),
    path("exams/<uuid:exam_uuid>/close/", exams.exam_close, name="exam-close"),
    path("exams/<uuid:exam_uuid>/results.csv", exams.exam_csv, name="exam-csv"),
    path("known/<uuid:pair_uuid>/exam/", exams.known_pair, name="known-exam"),
    path("known/<uuid:pair_uuid>/explain/", exams.known_pair_explain, name="known-explain"),
    path("attempts/<uuid:attempt_uuid>/missed/", exams.missed_exam, name="missed-exam"),
    path("attempts/<uuid:attempt_uuid>/missed/count/", exams.missed_exam_count, name="missed-exam-count"),
    path("known/<uuid:pair_uuid>/anchor/", exams.known_pair_anchor, name="known-anchor"),
    path("known/<uuid:pair_uuid>/retire/", exams.known_pair_retire, name="known-retire"),
    path("training/<uuid:project_uuid>/", training.training, name="training"),
    path("training/<uuid:project_uuid>/draw/", training.training_draw, name="training-draw"),
    path("training-pairs/<uuid:pair_uuid>/", training.pair, name="training-pair"),
    path("training-pairs/<uuid:pair_uuid>/grade/", training.pair_grade, name="training-pair-grade"),
    path("training-pairs/<uuid:pair_uuid>/move/", training.pair_move, name="training-pair-move"),
    path("training-pairs/<uuid:pair_uuid>/remove/", training.pair_remove, name="training-pair-remove"),
    path("screening/<uuid:project_uuid>/", onboarding.screening, name="screening"),
    path("screening/<uuid:project_uuid>/start/", onboarding.attempt_start, name="screening-start"),
    path("screening/<uuid:project_uuid>/answer/", onboarding.attempt_answer, name="screening-answer"),
    path("screening/<uuid:project_uuid>/questions/", onboarding.questions, name="screening-questions"),
    path("screening/<uuid:project_uuid>/questions/new/", onboarding.question_new, name="screening-question-new"),
    path(
        "screening/<uuid:project_uuid>/questions/create/", onboarding.question_create, name="screening-question-create"
    ),
    path("screening/<uuid:project_uuid>/questions/preview/", onboarding.preview, name="screening-preview"),
    path("screening/<uuid:project_uuid>/questions/open/", onboarding.screening_set, name="screening-set"),
    path("screening-questions/<uuid:question_uuid>/", onboarding.question, name="screening-question"),
    path(
        "screening-questions/<uuid:question_uuid>/change/", onboarding.question_change, name="screening-question-change"
    ),
    path(
        "screening-questions/<uuid:question_uuid>/retire/", onboarding.question_retire, name="screening-question-retire"
    ),
]
