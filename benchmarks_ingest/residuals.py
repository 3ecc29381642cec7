"""Measured against predicted, aggregated in the database: medians from counts by bucket, a sample for the chart, a
page of rows. None of it reads all rows."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import Count, Q, QuerySet

from benchmarks_ingest.models import SAMPLE_RANGE, RunFigure

MOST_DRAWN = 1200
FILTERS = ("gpu", "engine", "model", "architecture")
WHOSE = ("", "mine", "reference")
# The likeliest wish first.
QUANTITIES = {
    "output_tokens_per_s": "Output tokens/s",
    "tpot": "TPOT (s)",
    "ttft": "TTFT (s)",
    "e2e": "End to end (s)",
    "tokens_per_s_per_gpu": "Training tokens/s per GPU",
    "offline_tokens_per_s": "Offline output tokens/s",
    "offline_mlperf_tokens_per_s": "Offline output tokens/s (MLPerf)",
    "batch1_tokens_per_s": "Single-stream decode tokens/s",
    "prefill_tokens_per_s": "Prefill tokens/s",
    "tpot_open_loop": "TPOT at a request rate (s)",
    "ttft_open_loop": "TTFT at a request rate (s)",
    "server_tpot": "TPOT under a service level (s)",
    "server_ttft": "TTFT under a service level (s)",
    "peak_memory": "Peak memory (bytes)",
}


@dataclass(frozen=True)
class Wanted:
    """What the page is filtered by."""

    quantity: str = ""
    gpu: str = ""
    engine: str = ""
    model: str = ""
    architecture: str = ""
    whose: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Wanted:
        """From an address; unknown words mean no filter."""
        values = {name: str(given.get(name) or "").replace("\0", "")[:200] for name in ("quantity", *FILTERS)}
        whose = str(given.get("whose") or "")
        if values["quantity"] not in QUANTITIES:
            values["quantity"] = ""
        return cls(**values, whose=whose if whose in WHOSE else "")

    @property
    def filtered(self) -> bool:
        """Whether anything but the quantity is chosen."""
        return any(value for key, value in asdict(self).items() if key != "quantity")


def figures_visible(user: Any) -> QuerySet[RunFigure]:
    """Figures of one's own runs and of everyone's."""
    key = user.pk if getattr(user, "is_authenticated", False) else 0
    return RunFigure.objects.filter(owner_key__in={0, key})


def figures_found(user: Any, wanted: Wanted) -> QuerySet[RunFigure]:
    """After the filters."""
    rows = figures_visible(user)
    chosen = {name: value for name in ("quantity", *FILTERS) if (value := getattr(wanted, name))}
    if wanted.whose == "reference":
        rows = rows.filter(reference=True)
    elif wanted.whose == "mine":
        rows = rows.filter(owner_key=user.pk or -1)
    return rows.filter(**chosen)


def quantities_in_use(user: Any) -> list[str]:
    """Quantities that have a figure, the likeliest wish first."""
    found = set(figures_visible(user).order_by().values_list("quantity", flat=True).distinct())
    return [name for name in QUANTITIES if name in found]


@dataclass
class Group:
    """Errors of one GPU's figures: `counts` by bucket of ln(predicted / measured)."""

    name: str
    counts: Counter[int] = field(default_factory=Counter)

    @property
    def n(self) -> int:
        """How many figures."""
        return sum(self.counts.values())

    @property
    def median_error(self) -> float:
        """Median of |predicted / measured - 1|."""
        errors: Counter[float] = Counter()
        for bucket, count in self.counts.items():
            errors[abs(math.expm1(bucket / 100))] += count
        return _median(errors)

    @property
    def bias(self) -> float:
        """Median of predicted / measured - 1."""
        return math.expm1(_median(Counter({float(key): count for key, count in self.counts.items()})) / 100)

    def within(self, share: float) -> float:
        """Share of figures whose prediction is within `share` of the measurement."""
        return sum(count for bucket, count in self.counts.items() if abs(math.expm1(bucket / 100)) <= share) / self.n

    @property
    def within_tenth(self) -> float:
        return self.within(0.1)

    @property
    def within_quarter(self) -> float:
        return self.within(0.25)


def _median(counts: Counter[float]) -> float:
    half, seen = sum(counts.values()) / 2, 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= half:
            return value
    return 0.0


def groups(figures: QuerySet[RunFigure]) -> list[Group]:
    """Errors by GPU, the most measured first; one grouped query."""
    found: dict[str, Group] = {}
    for gpu, bucket, count in figures.order_by().values_list("gpu", "bucket").annotate(count=Count("pk")):
        found.setdefault(gpu, Group(gpu)).counts[bucket] += count
    return sorted(found.values(), key=lambda group: -group.n)


def together(rows: Iterable[Group]) -> Group:
    """All groups as one."""
    whole = Group("all")
    for group in rows:
        whole.counts.update(group.counts)
    return whole


def sample(figures: QuerySet[RunFigure], total: int) -> QuerySet[RunFigure]:
    """About MOST_DRAWN figures, the same ones each time: each carries a number that was drawn when it was stored."""
    if total > MOST_DRAWN:
        figures = figures.filter(sample__lt=max(1, SAMPLE_RANGE * MOST_DRAWN // total))
    return figures.order_by().only("run_id", "gpu", "model", "engine", "measured", "predicted")[: 2 * MOST_DRAWN]


def choices(user: Any, wanted: Wanted) -> dict[str, list[str]]:
    """Values that the filters offer for the present quantity."""
    rows = figures_visible(user).filter(quantity=wanted.quantity).order_by()
    found: dict[str, set[str]] = defaultdict(set)
    for values in rows.values_list(*FILTERS).distinct():
        for name, value in zip(FILTERS, values, strict=True):
            found[name].add(value)
    return {name: sorted(value for value in found[name] if value) for name in FILTERS}


def figure_facts(figure: RunFigure) -> dict[str, Any]:
    """One figure as a row of the twins."""
    run = figure.run
    return {
        "run": figure.run_id,
        "reference": figure.reference,
        "source": run.source or run.file,
        "model": figure.model,
        "gpu": figure.gpu,
        "gpu_count": run.gpu_count,
        "engine": figure.engine,
        "precision": run.precision,
        "load": run.load,
        "quantity": figure.quantity,
        "measured": figure.measured,
        "predicted": figure.predicted,
        "low": figure.low,
        "high": figure.high,
        "ratio": figure.ratio,
    }


def likeness(figure: RunFigure) -> QuerySet[RunFigure]:
    """Reference figures of the same quantity on the same GPU."""
    return RunFigure.objects.filter(reference=True, gpu=figure.gpu, quantity=figure.quantity).exclude(run=figure.run_id)


@dataclass(frozen=True)
class Others:
    """Where public runs on the same GPU lie: the middle half of their measured over predicted, over that of this
    run, so that model, load and count are allowed for."""

    n: int
    low: float
    high: float
    same_model: bool


FEWEST_OTHERS = 5


def others(figure: RunFigure) -> Others | None:
    """The comparable public runs of a figure: of the same model where there are enough, else of the GPU."""
    rows = likeness(figure)
    for same, narrowed in ((True, rows.filter(Q(model=figure.model))), (False, rows)):
        buckets = sorted(narrowed.order_by().values_list("bucket", flat=True))
        if len(buckets) >= FEWEST_OTHERS:
            return _others(figure, buckets, same)
    return None


def _others(figure: RunFigure, buckets: list[int], same: bool) -> Others:
    """Rates: how many times this run's rate; times: how many times this run's time."""
    quarters = [buckets[round(share * (len(buckets) - 1))] for share in (0.25, 0.75)]
    low, high = sorted(math.exp((figure.bucket - bucket) / 100) for bucket in quarters)
    return Others(len(buckets), low, high, same)


def nearest(figure: RunFigure, most: int = 8) -> Iterator[RunFigure]:
    """Public runs of the same model on the same GPU, the nearest measured figures first."""
    rows = likeness(figure).filter(model=figure.model).select_related("run")[:200]
    yield from sorted(rows, key=lambda other: abs(math.log(other.measured / figure.measured)))[:most]
