"""Settings. Every value that an installation may change is an environment variable, documented in docs/settings.md."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import environ
from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from config.secrets import secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

# --- where things are kept -------------------------------------------------------------------------------------------
DATA_DIR = Path(env.str("ROOFTREE_DATA_DIR", default=str(BASE_DIR / "var")))
DATA_DIR.mkdir(parents=True, exist_ok=True)
MEDIA_ROOT = DATA_DIR / "uploads"

# --- security --------------------------------------------------------------------------------------------------------
DEBUG = env.bool("ROOFTREE_DEBUG", default=False)
SECRET_KEY = env.str("ROOFTREE_SECRET_KEY", default="") or secret_key(DATA_DIR / "secret_key")
ALLOWED_HOSTS = env.list("ROOFTREE_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("ROOFTREE_CSRF_TRUSTED_ORIGINS", default=[])
ROOFTREE_LOGIN_REQUIRED = env.bool("ROOFTREE_LOGIN_REQUIRED", default=False)
ROOFTREE_MAX_BODY_BYTES = env.int("ROOFTREE_MAX_BODY_BYTES", default=10_000_000)
ROOFTREE_MAX_UPLOAD_BYTES = env.int("ROOFTREE_MAX_UPLOAD_BYTES", default=100_000_000)
ROOFTREE_MAX_FILE_BYTES = env.int("ROOFTREE_MAX_FILE_BYTES", default=50 * 2**20)
ROOFTREE_MAX_UNPACKED_BYTES = env.int("ROOFTREE_MAX_UNPACKED_BYTES", default=200 * 2**20)
ROOFTREE_MAX_RUNS = env.int("ROOFTREE_MAX_RUNS", default=10_000)
ROOFTREE_MAX_SCENARIOS = env.int("ROOFTREE_MAX_SCENARIOS", default=1000)
ROOFTREE_MAX_JSON_DEPTH = env.int("ROOFTREE_MAX_JSON_DEPTH", default=40)
DATA_UPLOAD_MAX_MEMORY_SIZE = ROOFTREE_MAX_BODY_BYTES
_https = env.bool("ROOFTREE_HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _https
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _https else None
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^metrics$"]
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

# Plotly makes one empty <style> element and fills it rule by rule: the hash of the empty text lets it.
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
# plotly.js appends the style sheet of its map traces, which no page draws: allowed, so that nothing is reported.
MAP_STYLE = "'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='"
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF, EMPTY_STYLE, MAP_STYLE],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# --- applications ----------------------------------------------------------------------------------------------------
ROOFTREE_APPS = [
    "faces",
    "accounts",
    "jobs",
    "gpus",
    "llms",
    "costs",
    "predictions",
    "benchmarks_ingest",
    "planner",
    "config",
]
INSTALLED_APPS = [
    *ROOFTREE_APPS,
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "knox",
    "django_filters",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "simple_history",
    "csp",
    "axes",
]
MIDDLEWARE = [
    "config.middleware.RequestMetricsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.BodyLimitMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.middleware.LoginMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "simple_history.middleware.HistoryRequestMiddleware",
    "axes.middleware.AxesMiddleware",
]
CSRF_FAILURE_VIEW = "faces.errors.csrf_failure"
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# --- database and cache ----------------------------------------------------------------------------------------------
DATABASES = {"default": env.db_url("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'rooftree.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # Readers never wait for the writer, and a writer takes the lock at once instead of failing half way.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    DATABASES["default"].setdefault("CONN_MAX_AGE", 60)
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Throttles count over all processes: the cache is a table, or Redis, never one process' memory.
CACHES = {
    "default": env.cache_url_config(
        env.str("CACHE_URL", default="") or env.str("REDIS_URL", default="") or "dbcache://rooftree_cache"
    )
}

# --- accounts --------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
KNOX_TOKEN_MODEL = "accounts.ApiToken"  # noqa: S105 (a table)
REST_KNOX = {"TOKEN_MODEL": KNOX_TOKEN_MODEL, "TOKEN_TTL": timedelta(days=365), "TOKEN_PREFIX": "rt_"}

# --- REST ------------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.ApiTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.permissions.ScopedAccess"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["faces.parsers.BoundedJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_THROTTLE_CLASSES": [
        "faces.throttles.AnonymousThrottle",
        "faces.throttles.PersonThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {
        "anon": env.str("ROOFTREE_THROTTLE_ANON", default="6000/minute"),
        "user": env.str("ROOFTREE_THROTTLE_USER", default="12000/minute"),
    },
    # Whose address counts: that of the connection, or the one that so many trusted proxies in front say.
    "NUM_PROXIES": env.int("ROOFTREE_PROXIES", default=0),
    "EXCEPTION_HANDLER": "faces.exceptions.exception_handler",
    "PAGE_SIZE": 100,
    "UNICODE_JSON": True,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Rooftree",
    "DESCRIPTION": "Capacity and cost of large language models on GPUs.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
}

# --- jobs ------------------------------------------------------------------------------------------------------------
ROOFTREE_JOB_LEASE_S = env.float("ROOFTREE_JOB_LEASE_S", default=30.0)
ROOFTREE_JOB_SWEEP_S = env.float("ROOFTREE_JOB_SWEEP_S", default=5.0)
ROOFTREE_SWEEP_POINTS = env.int("ROOFTREE_SWEEP_POINTS", default=100_000)
BROKER_DIR = DATA_DIR / "broker"
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="") or "filesystem://"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_DEFAULT_QUEUE = "rooftree"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if CELERY_BROKER_URL.startswith("filesystem:"):
    (BROKER_DIR / "control").mkdir(parents=True, exist_ok=True)
    (BROKER_DIR / "queue").mkdir(exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_DIR / "queue"),
        "data_folder_out": str(BROKER_DIR / "queue"),
        "control_folder": str(BROKER_DIR / "control"),
        "store_processed": False,
        "polling_interval": 0.1,
    }

# --- language and time -----------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", _("English")),
    ("pt", _("Portuguese")),
    ("nl", _("Dutch")),
    ("id", _("Indonesian")),
    ("de", _("German")),
]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

# --- static files: from the packages and static/ directly, without a collecting step, unless an image is built -------
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "planner.finders.PlotlyFinder",
]
_manifest = env.bool("ROOFTREE_MANIFEST_STATIC", default=False)
STATIC_ROOT = BASE_DIR / "var" / "static" if _manifest else None
WHITENOISE_USE_FINDERS = not _manifest
WHITENOISE_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if _manifest
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- serving ---------------------------------------------------------------------------------------------------------
ROOFTREE_WEB_PROCESSES = env.int("ROOFTREE_WEB_PROCESSES", default=2)
ROOFTREE_WEB_THREADS = env.int("ROOFTREE_WEB_THREADS", default=4)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("ROOFTREE_LOG_LEVEL", default="WARNING")},
    # The embedded broker has no host name, and kombu says so at each start; an unknown address is no event.
    "loggers": {"kombu.connection": {"level": "ERROR"}, "django.request": {"level": "ERROR"}},
}
