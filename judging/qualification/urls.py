"""The way to judging: the screening test, training, exams."""

from django.urls import path

from judging.qualification.views import exams, onboarding, sittings, training

urlpatterns = [
    path("sittings/<uuid:project_uuid>/start/", sittings.attempt_start, name="sitting-start"),
    path("sittings/<uuid:sitting_uuid>/", sittings.sitting, name="sitting"),
    path("sittings/<uuid:sitting_uuid>/last-look/", sittings.last_look, name="sitting-look"),
    path("sittings/<uuid:sitting_uuid>/hand-in/", sittings.hand_in, name="sitting-hand-in"),
    path("known/<uuid:pair_uuid>/", sittings.pair_show, name="known-pair"),
    path("known/<uuid:pair_uuid>/grade/", sittings.pair_grade, name="known-grade"),
    path("exams/<uuid:project_uuid>/", exams.exams, name="exams"),
    path("exams/<uuid:project_uuid>/new/", exams.exam_create, name="exam-create"),
    path("exams/<uuid:exam_uuid>/results/", exams.exam, name="exam"),
    path("exams/<uuid:exam_uuid>/close/", exams.exam_close, name="exam-close"),
    path("exams/<uuid:exam_uuid>/results.csv", exams.exam_csv, name="exam-csv"),
    path("known/<uuid:pair_uuid>/exam/", exams.known_pair, name="known-exam"),
    path("known/<uuid:pair_uuid>/explain/", exams.known_pair_explain, name="known-explain"),
    path("sittings/<uuid:sitting_uuid>/missed/", exams.missed_exam, name="missed-exam"),
    path("sittings/<uuid:sitting_uuid>/missed/count/", exams.missed_exam_count, name="missed-exam-count"),
    path("known/<uuid:pair_uuid>/anchor/", exams.known_pair_anchor, name="known-anchor"),
    path("known/<uuid:pair_uuid>/retire/", exams.known_pair_retire, name="known-retire"),
    path("training/<uuid:project_uuid>/", training.training, name="training"),
    path("training/<uuid:project_uuid>/draw/", training.training_draw, name="training-draw"),
    path("training-pairs/<uuid:pair_uuid>/", training.pair, name="training-pair"),
    path("training-pairs/<uuid:pair_uuid>/grade/", training.pair_grade, name="training-pair-grade"),
    path("training-pairs/<uuid:pair_uuid>/move/", training.pair_move, name="training-pair-move"),
    path("training-pairs/<uuid:pair_uuid>/remove/", training.pair_remove, name="training-pair-remove"),
    path("gate/<uuid:project_uuid>/", onboarding.gate, name="gate"),
    path("gate/<uuid:project_uuid>/start/", onboarding.attempt_start, name="gate-start"),
    path("gate/<uuid:project_uuid>/answer/", onboarding.attempt_answer, name="gate-answer"),
    path("gate/<uuid:project_uuid>/questions/", onboarding.questions, name="gate-questions"),
    path("gate/<uuid:project_uuid>/questions/new/", onboarding.question_new, name="gate-question-new"),
    path("gate/<uuid:project_uuid>/questions/create/", onboarding.question_create, name="gate-question-create"),
    path("gate/<uuid:project_uuid>/questions/preview/", onboarding.preview, name="gate-preview"),
    path("gate/<uuid:project_uuid>/questions/open/", onboarding.screening_set, name="gate-set"),
    path("gate-questions/<uuid:question_uuid>/", onboarding.question, name="gate-question"),
    path("gate-questions/<uuid:question_uuid>/change/", onboarding.question_change, name="gate-question-change"),
    path("gate-questions/<uuid:question_uuid>/retire/", onboarding.question_retire, name="gate-question-retire"),
]
