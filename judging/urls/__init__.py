"""Routes of judging, by area."""

from judging.urls import judge, lead, settings

app_name = "judging"
urlpatterns = [*judge.urlpatterns, *lead.urlpatterns, *settings.urlpatterns]
