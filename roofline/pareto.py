"""Which points of a cloud no other point beats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def pareto_front(gain: NDArray[np.float64], loss: NDArray[np.float64]) -> NDArray[np.intp]:
    """Indices of the points that no other point beats, more `gain` and less `loss` being better.

    gain, loss: shape (N,), any units, equal lengths; a point with a NaN in either never lies on the front.
    Returns the indices ordered by rising gain (hence rising loss); of equal points the first one counts.
    O(N log N): walking from the greatest gain down, a point is on the front when its loss is below all before it.
    """
    known = np.flatnonzero(~(np.isnan(gain) | np.isnan(loss)))
    order = known[np.lexsort((known, loss[known], -gain[known]))]
    best_before = np.concatenate(([np.inf], np.minimum.accumulate(loss[order])[:-1])) if order.size else np.empty(0)
    return order[loss[order] < best_before][::-1]
