from django.urls import path

from annotation import views

app_name = "annotation"
urlpatterns = [path("<uuid:project_uuid>/", views.corpus, name="corpus")]
