"""Routes of judging, by area."""

from judging.urls import judge, lead, quality

app_name = "judging"
urlpatterns = [*judge.urlpatterns, *lead.urlpatterns, *quality.urlpatterns]
