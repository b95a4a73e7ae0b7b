"""Routes of judging, by area."""

from judging.urls import judge, lead, people, quality, settings

app_name = "judging"
AREAS = (judge, lead, people, quality, settings)
urlpatterns = [route for area in AREAS for route in area.urlpatterns]
