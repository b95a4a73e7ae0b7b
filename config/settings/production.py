"""Everything by environment; what is missing stops the start."""

import os

from django.core.exceptions import ImproperlyConfigured

from core.env import env_address, env_bool, env_secret, env_str

from .base import *  # noqa: F403
from .base import ALLOWED_HOSTS

for _name in ("DATABASE_URL", "BROKER_URL", "ALLOWED_HOSTS"):
    if not os.environ.get(_name):
        raise ImproperlyConfigured(f"{_name} must be set in production.")

SITE_URL = env_address("SITE_URL", f"https://{ALLOWED_HOSTS[0].lstrip('.')}").rstrip("/")
SECRET_KEY = env_secret("SECRET_KEY")
SECRET_KEY_FALLBACKS = env_str("SECRET_KEY_FALLBACKS", "").split()  # former keys: read with, never written with
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
SECURE_SSL_REDIRECT = env_bool("SECURE_SSL_REDIRECT", True)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = True
