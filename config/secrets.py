"""The secret key of an installation that was given none."""

import os
import secrets
from pathlib import Path


def secret_key(path: Path) -> str:
    """Return the key kept at `path`, made on first use and readable by its owner only."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(48))
    return path.read_text(encoding="ascii").strip()
