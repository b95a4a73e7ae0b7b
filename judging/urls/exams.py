"""Where pairs of known truth are graded, and where exams are led."""

from django.urls import path

from judging.views import exams, sittings

urlpatterns = [
    path("sittings/<uuid:project_uuid>/start/", sittings.sitting_start, name="sitting-start"),
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
]
