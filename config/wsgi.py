"""The entry point of web servers."""

import os

from django.core.wsgi import get_wsgi_application

from core.messages import send_aside

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
send_aside()
application = get_wsgi_application()
