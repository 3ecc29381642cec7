"""Settings of the tests: database and broker in memory, quick passwords. The environment still decides over them."""

import getpass
import os
import tempfile
from pathlib import Path

os.environ.setdefault("ROOFTREE_DATA_DIR", str(Path(tempfile.gettempdir()) / f"rooftree-tests-{getpass.getuser()}"))
os.environ.setdefault("CELERY_BROKER_URL", "memory://")
os.environ.setdefault("ROOFTREE_LOG_LEVEL", "ERROR")

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.counting"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AXES_ENABLED = os.environ.get("ROOFTREE_TEST_AXES") == "true"
