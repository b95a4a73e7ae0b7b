"""Routes of judging, by area."""

from judging.urls import exams, judge, lead

app_name = "judging"
urlpatterns = [*judge.urlpatterns, *exams.urlpatterns, *lead.urlpatterns]
