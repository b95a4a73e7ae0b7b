from django.urls import path

from judging.pay import views

urlpatterns = [
    path("pay/<uuid:project_uuid>/", views.pay, name="pay"),
    path("pay/<uuid:project_uuid>/pay.csv", views.pay_csv, name="pay-csv"),
    path("pay/<uuid:project_uuid>/rate/", views.rate_set, name="pay-rate-set"),
    path("pay/<uuid:project_uuid>/correction/", views.correct, name="hours-correct"),
    path("pay/<uuid:project_uuid>/annotators/<int:number>/", views.person, name="pay-person"),
    path("pay/<uuid:project_uuid>/annotators/<int:number>/days.csv", views.person_csv, name="pay-person-csv"),
    path("pay/<uuid:project_uuid>/members/<uuid:user_uuid>/", views.member, name="pay-member"),
    path("pay/<uuid:project_uuid>/members/<uuid:user_uuid>/days.csv", views.member_csv, name="pay-member-csv"),
    path("forecast/<uuid:project_uuid>/", views.forecast, name="forecast"),
    path("hours/<uuid:project_uuid>/", views.hours, name="hours"),
    path("hours/<uuid:project_uuid>/days.csv", views.hours_csv, name="hours-csv"),
]
