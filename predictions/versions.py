"""What a prediction was made with: engine, calibration and catalogue."""

from typing import Any

from costs.selectors import catalogue_stamp as offers_stamp
from gpus.selectors import catalogue_stamp as gpus_stamp
from llms.selectors import catalogue_stamp as models_stamp
from roofline import __version__


def stamp(calibration: Any = None) -> dict[str, str]:
    """The versions of this moment."""
    return {
        "engine": __version__,
        "calibration": calibration.version if calibration else "shipped",
        "catalog": f"gpus {gpus_stamp()} · models {models_stamp()} · offers {offers_stamp()}",
    }
