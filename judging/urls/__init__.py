"""Routes of judging, by area."""

from judging.urls import exams, judge, lead, people, quality

app_name = "judging"
urlpatterns = [
    *judge.urlpatterns,
    *exams.urlpatterns,
    *lead.urlpatterns,
    *people.urlpatterns,
    *quality.urlpatterns,
]
