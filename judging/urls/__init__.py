"""Routes of judging, by area."""

from judging.urls import judge, lead, pay

app_name = "judging"
urlpatterns = [*judge.urlpatterns, *lead.urlpatterns, *pay.urlpatterns]
