"""Routes of judging, by area."""

from judging.urls import coverage, exams, figures, imports, judge, lead, pay, people, quality, releases, settings

app_name = "judging"
AREAS = (judge, coverage, exams, figures, imports, lead, people, pay, quality, releases, settings)
urlpatterns = [route for area in AREAS for route in area.urlpatterns]
