"""The web server as `manage.py serve` runs it."""

from typing import Any

from django.conf import settings
from gunicorn.app.base import BaseApplication


class Web(BaseApplication):
    """gunicorn with the settings of this installation; imports once for all its processes."""

    def __init__(self, host: str, port: int) -> None:
        self.bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        super().__init__()

    def load_config(self) -> None:
        options: dict[str, Any] = {
            "bind": self.bind,
            "preload_app": True,
            "workers": settings.ROOFTREE_WEB_PROCESSES,
            "threads": settings.ROOFTREE_WEB_THREADS,
            "timeout": 120,
            "graceful_timeout": 3,
            "loglevel": "warning",
            "control_socket_disable": True,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        from config.wsgi import application  # only now are settings and metrics in place

        return application
