from django.urls import path

from judging.verification import views

urlpatterns = [
    path("verification/<uuid:project_uuid>/", views.studies, name="verification"),
    path("verification/<uuid:project_uuid>/new/", views.study_create, name="verification-create"),
    path("verification/<uuid:project_uuid>/desk/", views.desk, name="verification-desk"),
    path("verification/<uuid:project_uuid>/again/", views.inspect, name="pair-to-inspect"),
    path("verification/studies/<uuid:study_uuid>/", views.study, name="verification-study"),
    path("verification/studies/<uuid:study_uuid>/change/", views.study_change, name="verification-change"),
    path("verification/studies/<uuid:study_uuid>/answers.csv", views.answers_csv, name="verification-csv"),
    path("verification/studies/<uuid:study_uuid>/next/", views.verify, name="pair-to-verify"),
    path("verification/pairs/<uuid:pair_uuid>/video/", views.pair_video, name="verification-video"),
    path("verification/pairs/<uuid:pair_uuid>/again/", views.inspection_create, name="verification-inspect"),
    path("verification/assignments/<uuid:assignment_uuid>/answer/", views.answer, name="verification-answer"),
    path("verification/assignments/<uuid:assignment_uuid>/undo/", views.undo, name="verification-undo"),
    path("verification/inspections/<uuid:inspection_uuid>/decide/", views.decide, name="verification-decide"),
]
