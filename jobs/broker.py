"""The embedded broker: kombu's folder of messages, with messages that appear whole."""

import os
import uuid
from pathlib import Path
from time import monotonic
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """A channel whose reader never meets a half-written message."""

    def _put(self, queue: str, payload: dict[str, Any], **kwargs: Any) -> None:  # type: ignore[override]  # kombu's own
        """Write the message under a name that no reader looks for, then rename it into view."""
        name = f"{round(monotonic() * 1000):015d}_{uuid.uuid4()}.{queue}.msg"
        hidden = Path(self.data_folder_out) / f".{name}.part"
        hidden.write_text(dumps(payload), encoding="utf-8")  # type: ignore[no-untyped-call]
        os.replace(hidden, hidden.with_name(name))


class Transport(filesystem.Transport):
    """kombu's filesystem transport over our channel."""

    Channel = Channel


def register_transport() -> None:
    """Make `filesystem://` mean this transport."""
    TRANSPORT_ALIASES["filesystem"] = f"{__name__}:Transport"
