from django.urls import path

from judging.people import views

urlpatterns = [
    path("invitations/<str:secret>/", views.invitation, name="invitation"),
    path("join/<uuid:project_uuid>/", views.registration, name="join"),
    path("judge/<uuid:project_uuid>/leave-project/", views.leave_project, name="leave-project"),
    path("people/<uuid:project_uuid>/", views.people, name="people"),
    path("people/<uuid:project_uuid>/invite/", views.invitation_create, name="invitation-create"),
    path("people/<uuid:project_uuid>/registration/", views.registration_switch, name="registration-switch"),
    path("people/<uuid:project_uuid>/roles/", views.staff_role_change, name="staff-role"),
    path("people/invitations/<uuid:invitation_uuid>/", views.invitation_redirect, name="invitation-place"),
    path("people/invitations/<uuid:invitation_uuid>/renew/", views.invitation_renew, name="invitation-renew"),
    path("people/invitations/<uuid:invitation_uuid>/revoke/", views.invitation_revoke, name="invitation-revoke"),
    path("people/<uuid:project_uuid>/<int:number>/", views.person, name="person"),
    path("people/<uuid:project_uuid>/<int:number>/status/", views.status_change, name="person-status"),
    path("people/<uuid:project_uuid>/<int:number>/password/", views.password_link, name="person-password"),
    path("people/<uuid:project_uuid>/<int:number>/erase/", views.erase, name="person-erase"),
]
