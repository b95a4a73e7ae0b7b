"""Routes of judging, by area."""

from judging.urls import coverage, exams, figures, judge, lead, pay, people, quality, settings

app_name = "judging"
AREAS = (judge, coverage, exams, figures, lead, people, pay, quality, settings)
urlpatterns = [route for area in AREAS for route in area.urlpatterns]
