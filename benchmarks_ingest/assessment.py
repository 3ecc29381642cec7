"""One run looked at closely: its figures beside predictions, what could explain a gap, and what the gap costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks_ingest.ceilings import fastest_peak, matrix_params
from benchmarks_ingest.figures import TIMES, predicted_figure
from benchmarks_ingest.models import MeasuredRun, RunFigure
from benchmarks_ingest.precisions import training_precision, weight_format
from benchmarks_ingest.residuals import QUANTITIES, Others, others
from benchmarks_ingest.resolving import Books
from benchmarks_ingest.scenarios import run_scenario
from predictions.services import predict_many
from roofline import precision as formats
from roofline.audit import wasted_gpu_hours

TOLERATED = 0.10  # a gap within this needs no explanation
PEAKS = {"fp8": "fp8", "mxfp8": "fp8", "nvfp4": "fp4", "mxfp4": "fp4", "fp32": "fp32", "tf32": "tf32"}
SATURATED = ("output_tokens_per_s", "offline_tokens_per_s")
ORDER = list(QUANTITIES)
RATES = ("tokens_per_s_per_gpu", *SATURATED)
SATURATING = 32  # requests in flight from which a serving run is taken to use its hardware


@dataclass(frozen=True)
class Line:
    """One quantity of a run: `calibrated` is what the viewer's active calibration says, None where none is."""

    figure: RunFigure
    calibrated: float | None
    others: Others | None
    reasons: list[str]


@dataclass(frozen=True)
class Waste:
    """Achieved against achievable (predicted, calibrated) against the roof, tokens/s of all GPUs; what the gap costs
    in a year of such work."""

    quantity: str
    achieved: float
    achievable: float
    roof: float
    roof_words: str
    gpu_hours: float
    usd_per_gpu_hour: float | None
    usd_per_year: float | None
    price_words: str

    @property
    def share(self) -> float:
        """Achieved of achievable."""
        return self.achieved / self.achievable

    @property
    def achieved_pct(self) -> float:
        """Achieved of the roof, in %."""
        return min(100.0, 100 * self.achieved / self.roof)

    @property
    def achievable_pct(self) -> float:
        """Achievable of the roof, in %."""
        return min(100.0, 100 * self.achievable / self.roof)


@dataclass(frozen=True)
class Assessment:
    """All that the page of a run shows."""

    lines: list[Line]
    answer: Mapping[str, Any]
    waste: Waste | None


def assess(run: MeasuredRun, *, user: Any = None, usd: float | None = None) -> Assessment:
    """The assessment of a confirmed run; its answer holds `error` where it cannot be predicted."""
    figures = sorted(run.figures.all(), key=lambda figure: ORDER.index(figure.quantity))
    answer: Mapping[str, Any] = {}
    if run.model and run.gpu and not run.reference:
        answer = predict_many([run_scenario(run)], user=user, detail=False)[0]
    calibrated = bool(answer.get("versions")) and answer["versions"]["calibration"] != "shipped"
    lines = [_line(run, figure, answer, calibrated) for figure in figures]
    waste = _waste(run, figures, answer, usd) if answer.get("memory", {}).get("fits") else None
    return Assessment(lines, answer, waste)


def _line(run: MeasuredRun, figure: RunFigure, answer: Mapping[str, Any], calibrated: bool) -> Line:
    found = predicted_figure(figure.quantity, answer) if calibrated else None
    reasons = list(likely_reasons(run, figure, answer)) if abs(figure.ratio - 1) > TOLERATED else []
    return Line(figure, found[0] if found else None, others(figure), reasons)


def likely_reasons(run: MeasuredRun, figure: RunFigure, answer: Mapping[str, Any]) -> Iterator[str]:
    """What could explain that prediction and measurement differ, the likeliest first."""
    yield from (warning for warning in run.warnings if "columns read" not in warning)
    if figure.quantity.startswith("ttft"):
        yield _("Time to first token holds queueing and warm-up, which depend on how requests arrive.")
    assumed = _assumed(run, answer)
    if assumed:
        yield _("The file does not state %(what)s: the planner's defaults were taken.") % {"what": ", ".join(assumed)}
    if run.workload == "inference" and not run.data.get("engine"):
        yield _("The engine is not stated: %(engine)s was taken.") % {"engine": run.engine}
    faster = figure.ratio > 1 if figure.quantity in TIMES else figure.ratio < 1
    if faster and run.workload == "inference":
        yield _("It ran faster than predicted: several tokens a step (speculation) or cached prompts would explain it.")
    elif not faster:
        yield _(
            "It ran slower than predicted: a bound host, older software, a missing optimization or a shared machine."
        )


ASSUMED = {
    "training.seq_len": gettext_lazy("sequence length"),
    "training.global_batch": gettext_lazy("global batch"),
    "training.precision": gettext_lazy("precision"),
    "inference.weights": gettext_lazy("number format of the weights"),
    "inference.input_tokens": gettext_lazy("prompt length"),
    "inference.output_tokens": gettext_lazy("answer length"),
    "inference.engine_version": gettext_lazy("engine version"),
    "parallelism.tp": gettext_lazy("tensor parallelism"),
}


def _assumed(run: MeasuredRun, answer: Mapping[str, Any]) -> list[str]:
    origins = answer.get("origins") or {}
    mine = [path for path in ASSUMED if path.startswith((run.workload, "parallelism"))]
    return [str(ASSUMED[path]) for path in mine if origins.get(path) in ("default", "chosen")]


def _waste(run: MeasuredRun, figures: list[RunFigure], answer: Mapping[str, Any], usd: float | None) -> Waste | None:
    figure = next((one for name in RATES for one in figures if one.quantity == name), None)
    roof = _roof(run) if figure else None
    if figure is None or roof is None or not run.gpu_count or not _is_saturated(run, figure):
        return None
    scale = run.gpu_count if figure.quantity == "tokens_per_s_per_gpu" else 1
    found = predicted_figure(figure.quantity, answer)
    achievable = max((found[0] if found else figure.predicted) * scale, figure.measured * scale)
    price = (answer.get("cost") or {}).get("price") or {}
    rate = usd if usd is not None else price.get("usd_per_gpu_hour")
    hours = wasted_gpu_hours(figure.measured * scale, achievable, run.gpu_count)
    return Waste(
        quantity=figure.quantity,
        achieved=figure.measured * scale,
        achievable=achievable,
        roof=roof[0],
        roof_words=roof[1],
        gpu_hours=hours,
        usd_per_gpu_hour=rate,
        usd_per_year=None if rate is None else hours * rate,
        price_words=_("as typed") if usd is not None else str(price.get("basis") or price.get("kind") or ""),
    )


def _is_saturated(run: MeasuredRun, figure: RunFigure) -> bool:
    """Training always; serving where it is offline or many requests are in flight."""
    together = run.data.get("concurrency") or run.data.get("batch_size") or 0
    return figure.quantity != "output_tokens_per_s" or together >= SATURATING


def _roof(run: MeasuredRun) -> tuple[float, str] | None:
    """Tokens/s of all GPUs that the hardware alone would allow, and the sentence that derives it."""
    books = Books.now()
    gpu, architecture = books.gpu(run.gpu), books.architecture(run.model)
    if gpu is None or architecture is None or not run.gpu_count:
        return None
    model = architecture.columns()
    if run.workload == "training":
        word = training_precision(run.data.get("weights")) or "bf16"
        peak = gpu.peak(PEAKS.get(word, "bf16")) or fastest_peak(gpu)
        roof = run.gpu_count * peak / (6 * matrix_params(model))
        return roof, _("dense %(what)s peak over 6 FLOPs a parameter and token") % {"what": word.upper()}
    compute = run.gpu_count * fastest_peak(gpu) / float(model.flops_per_token)
    stored = formats.FORMATS[weight_format(run.data.get("weights"), run.model) or "bf16"].body
    together = run.data.get("concurrency") or run.data.get("batch_size")
    memory = run.gpu_count * gpu.bandwidth / (matrix_params(model) * stored) * together if together else compute
    if memory < compute:
        return memory, _("memory bandwidth over the active weights, read once a step for all requests")
    return compute, _("fastest dense peak over the FLOPs of a token")
