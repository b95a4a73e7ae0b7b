"""Routes of judging, by area."""

from judging.urls import judge, lead, people

app_name = "judging"
urlpatterns = [*judge.urlpatterns, *lead.urlpatterns, *people.urlpatterns]
