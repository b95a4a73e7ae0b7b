from django.urls import path

from judging.imports import views

urlpatterns = [
    path("judgments/imports/", views.imports, name="judgment-imports"),
    path("judgments/imports/new/", views.import_new, name="judgment-import-new"),
    *views.import_urls,
]
