"""Routes of judging, by area."""

from judging.urls import exams, judge, lead, people, quality, settings

app_name = "judging"
AREAS = (judge, exams, lead, people, quality, settings)
urlpatterns = [route for area in AREAS for route in area.urlpatterns]
