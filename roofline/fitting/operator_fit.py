"""Least squares of one group of operator timings."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from roofline.fitting.operator_parameters import Parameter
from roofline.fitting.operator_tables import Floats, OpTable, predicted

FLAT = 1e-4  # relative gain of the loss below which a fit is done
STEP = 1e-6  # of a logarithm, in the differences that make the Jacobian
PRIOR = 0.03  # pull of a coefficient's starting value: a factor of e away weighs like one row that is 3 % off
POOL_ROWS = 600  # fits over several GPUs look at no more rows than about this, evenly taken


def fit(
    table: OpTable, parameters: Mapping[str, Parameter], kind: Any, *, start: Any = None, pull: float = PRIOR
) -> Any:
    """The coefficients (a `kind` of numbers) with the least soft-L1 loss of ln(predicted / measured), in logarithms, within bounds.

    `start` is a `kind` to start from and to be pulled to (the parameters' own starting values unless given); `pull` is the weight of
    being a factor of e away from it, in units of the logarithm of a row's error.
    """
    free = [name for name, p in parameters.items() if p.low < p.high]
    values = {name: p.start for name, p in parameters.items()} if start is None else start._asdict()
    target = np.log(table.measured)

    low, high = (np.log([getattr(parameters[name], edge) for name in free]) for edge in ("low", "high"))
    centre = np.clip(np.log([values[name] for name in free]), low, high)

    def logs(x: Floats) -> Floats:
        coef = kind(**{**values, **dict(zip(free, np.exp(x), strict=True))})
        return np.log(predicted(table, coef)) - target

    def residuals(x: Floats) -> Floats:
        return np.concatenate([logs(x), pull * (x - centre)])

    def jacobian(x: Floats) -> Floats:
        # All forward differences in one call: coefficients of shape (parameters, 1) against rows.
        shifted = logs((x + STEP * np.eye(len(x))).T[:, :, np.newaxis])
        return np.concatenate([(shifted - logs(x)).T / STEP, pull * np.eye(len(x))])

    found = least_squares(
        residuals, centre, jac=jacobian, bounds=(low, high), loss="soft_l1", f_scale=0.1, ftol=FLAT, max_nfev=80
    )
    return kind(**{**values, **{name: rounded(v) for name, v in zip(free, np.exp(found.x), strict=True)}})


def rounded(value: float) -> float:
    """Five significant digits: what the CSV holds, so that a fit and its file predict the same."""
    return float(f"{value:.4e}")


def thinned(table: OpTable) -> OpTable:
    """At most about POOL_ROWS rows, evenly taken."""
    step = max(len(table.measured) // POOL_ROWS, 1)
    return table.take(np.arange(0, len(table.measured), step))


def joined(*columns: NDArray[np.str_]) -> NDArray[np.str_]:
    """Text columns of shape (N,) as one, parted by bars."""
    whole = columns[0]
    for column in columns[1:]:
        whole = np.char.add(np.char.add(whole, "|"), column)
    return whole
