"""Routes of judging, by area."""

from judging.urls import judge, lead, people, quality

app_name = "judging"
urlpatterns = [*judge.urlpatterns, *lead.urlpatterns, *people.urlpatterns, *quality.urlpatterns]
