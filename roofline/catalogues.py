"""Coefficients bound to a catalogue of GPUs, kept as long as the catalogue is used."""

from collections.abc import Callable
from typing import Generic, TypeVar

from roofline.hardware import Gpu

Bound = TypeVar("Bound")
MOST_KEPT = 64  # catalogues and folds


class PerCatalogue(Generic[Bound]):
    """What `build(gpus, fold)` makes of a catalogue, made once for each.

    Kept by the identity of the tuple: hashing a catalogue takes longer than a prediction.
    """

    def __init__(self, build: Callable[[tuple[Gpu, ...], str], Bound]) -> None:
        self._build = build
        self._kept: dict[tuple[int, str], tuple[tuple[Gpu, ...], Bound]] = {}

    def __call__(self, gpus: tuple[Gpu, ...], fold: str = "") -> Bound:
        """The value for `gpus` and one fold of the fit; blank: fitted on all reference runs."""
        known = self._kept.get((id(gpus), fold))
        if known is None or known[0] is not gpus:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            known = self._kept[id(gpus), fold] = gpus, self._build(gpus, fold)
        return known[1]
