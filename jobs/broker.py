"""The embedded broker: kombu's folder of messages, with messages that appear whole."""

import os
import uuid
from pathlib import Path
from time import monotonic
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.encoding import str_to_bytes
from kombu.utils.json import dumps


class Channel(filesystem.Channel):  # type: ignore[misc]  # kombu has no types
    """A channel whose reader never meets a half-written message."""

    def _put(self, queue: str, payload: dict[str, Any], **kwargs: Any) -> None:
        """Write the message under a name that no reader looks for, then rename it into view."""
        name = f"{round(monotonic() * 1000):015d}_{uuid.uuid4()}.{queue}.msg"
        hidden = Path(self.data_folder_out) / f".{name}.part"
        hidden.write_bytes(str_to_bytes(dumps(payload)))
        os.replace(hidden, hidden.with_name(name))


class Transport(filesystem.Transport):  # type: ignore[misc]
    """kombu's filesystem transport over our channel."""

    Channel = Channel


def register_transport() -> None:
    """Make `filesystem://` mean this transport."""
    TRANSPORT_ALIASES["filesystem"] = f"{__name__}:Transport"
