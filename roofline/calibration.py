"""A calibration: how much slower or faster measured runs are than the shipped engine says, by kind of run, shrunk
where runs are few."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from roofline.question import Question

SHRINKAGE = 8.0  # runs at which a cell's own mean and its parent's weigh the same
Cell = tuple[str, ...]


@dataclass(frozen=True)
class Calibration:
    """`cells` maps a kind of run (workload, GPU, software, architecture …) to the shrunken mean of ln(measured
    time / predicted)."""

    version: str
    cells: Mapping[Cell, float] = field(default_factory=dict)

    def slowdown(self, question: Question) -> float:
        """Factor on every time of the question's prediction; 1 where no run is near."""
        for cell in cells_of(question):
            if cell in self.cells:
                return math.exp(self.cells[cell])
        return 1.0


def cells_of(question: Question) -> list[Cell]:
    """The kinds that a question belongs to, nearest first: model, then architecture, then the GPU and software
    alone."""
    scenario = question.scenario
    software = scenario.get("training.framework") or scenario.get("inference.engine")
    base = (scenario.workload, question.gpu.slug, str(software))
    return [(*base, question.architecture.name), (*base, kind_of(question)), base]


def kind_of(question: Question) -> str:
    """dense, moe, mla or hybrid."""
    model = question.model
    if model.is_hybrid:
        return "hybrid"
    if model.is_mla:
        return "mla"
    return "moe" if model.is_moe else "dense"
