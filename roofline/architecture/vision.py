"""Vision towers, counted apart from the language model."""

from collections.abc import Mapping
from typing import Any

from roofline.architecture.identify import Subject


def vision_params(config: Mapping[str, Any], subject: Subject, hidden: int) -> int | None:
    """Parameters of the vision tower and its projector; None where the configuration does not allow a count."""
    return None
