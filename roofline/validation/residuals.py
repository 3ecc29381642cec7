"""One compared figure: what was measured, what was predicted, and the groups under which errors are reported."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Residual:
    """A measured figure and its prediction, in the same unit; `low` and `high` bound the 80 % interval."""

    id: str
    quantity: str
    measured: float
    predicted: float
    low: float
    high: float
    gpu: str
    source: str
    architecture: str  # dense, moe, mla or hybrid
    engine: str
    model: str
    precision: str
    operator: str = ""  # class of a single operator's timing


def source_name(text: str) -> str:
    """The source of a row: the text before the first space, @ or #.

    >>> source_name("NVIDIA/dgxc-benchmarking@143b90d README")
    'NVIDIA/dgxc-benchmarking'
    """
    head = text.split(maxsplit=1)[0] if text.strip() else ""
    return head.split("@")[0].split("#")[0]
