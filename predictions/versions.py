"""What a prediction was made with: engine, calibration and catalogue."""

from typing import Any

from roofline import __version__


def stamp(*, gpus: str, models: str, offers: str, calibration: Any = None) -> dict[str, str]:
    """The versions of an answer: the stamps of the catalogues that it was read from, and the calibration it carries."""
    return {
        "engine": __version__,
        "calibration": calibration.version if calibration else "shipped",
        "catalog": f"gpus {gpus} · models {models} · offers {offers}",
    }
