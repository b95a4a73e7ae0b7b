"""Where leads set what annotators judge by, and annotators meet it: guideline, training, gate, policy."""

from django.urls import path

from judging.views import gate, gate_questions, guideline, guidelines, policy, training

urlpatterns = [
    path("guideline/<uuid:project_uuid>/confirm/", guideline.guideline_confirm, name="guideline-confirm"),
    path("guideline/<uuid:project_uuid>/versions/", guidelines.versions, name="guideline-versions"),
    path("guideline-versions/<uuid:guideline_uuid>/", guidelines.version, name="guideline-version"),
    path("guideline/<uuid:project_uuid>/edit/", guidelines.edit, name="guideline-edit"),
    path("guideline/<uuid:project_uuid>/edit/save/", guidelines.draft_save, name="guideline-save"),
    path("guideline/<uuid:project_uuid>/edit/preview/", guidelines.preview, name="guideline-preview"),
    path("guideline/<uuid:project_uuid>/edit/review/", guidelines.review, name="guideline-review"),
    path("guideline/<uuid:project_uuid>/edit/publish/", guidelines.draft_publish, name="guideline-publish"),
    path("guideline/<uuid:project_uuid>/edit/discard/", guidelines.draft_discard, name="guideline-discard"),
    path("guideline/<uuid:project_uuid>/edit/examples/", guidelines.examples, name="guideline-examples"),
    path("guideline/<uuid:project_uuid>/edit/examples/set/", guidelines.example_set, name="guideline-example-set"),
    path(
        "guideline/<uuid:project_uuid>/edit/examples/remove/",
        guidelines.example_remove,
        name="guideline-example-remove",
    ),
    path("training/<uuid:project_uuid>/", training.training, name="training"),
    path("training/<uuid:project_uuid>/draw/", training.training_draw, name="training-draw"),
    path("training-pairs/<uuid:pair_uuid>/", training.pair, name="training-pair"),
    path("training-pairs/<uuid:pair_uuid>/grade/", training.pair_grade, name="training-pair-grade"),
    path("training-pairs/<uuid:pair_uuid>/move/", training.pair_move, name="training-pair-move"),
    path("training-pairs/<uuid:pair_uuid>/remove/", training.pair_remove, name="training-pair-remove"),
    path("gate/<uuid:project_uuid>/", gate.gate, name="gate"),
    path("gate/<uuid:project_uuid>/start/", gate.attempt_start, name="gate-start"),
    path("gate/<uuid:project_uuid>/answer/", gate.attempt_answer, name="gate-answer"),
    path("gate/<uuid:project_uuid>/questions/", gate_questions.questions, name="gate-questions"),
    path("gate/<uuid:project_uuid>/questions/new/", gate_questions.question_new, name="gate-question-new"),
    path("gate/<uuid:project_uuid>/questions/create/", gate_questions.question_create, name="gate-question-create"),
    path("gate/<uuid:project_uuid>/questions/preview/", gate_questions.preview, name="gate-preview"),
    path("gate/<uuid:project_uuid>/questions/open/", gate_questions.gate_set, name="gate-set"),
    path("gate-questions/<uuid:question_uuid>/", gate_questions.question, name="gate-question"),
    path("gate-questions/<uuid:question_uuid>/change/", gate_questions.question_change, name="gate-question-change"),
    path("gate-questions/<uuid:question_uuid>/retire/", gate_questions.question_retire, name="gate-question-retire"),
    path("policy/<uuid:project_uuid>/", policy.policy, name="policy"),
    path("policy/<uuid:project_uuid>/publish/", policy.policy_publish, name="policy-publish"),
]
