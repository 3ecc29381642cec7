"""Sanity checks of one run: figures of the same file that disagree, each as a sentence with the numbers."""

import itertools
from collections.abc import Callable, Iterator

from .canonical import Run

CeilingCheck = Callable[[Run], list[str]]
RATE_TOLERANCE = 0.01
LATENCY_TOLERANCE = 0.10
LITTLE_TOLERANCE = 0.25
ROUNDING = 0.006  # figures pasted from a console have two decimals


def check(run: Run, ceiling: CeilingCheck | None = None) -> list[str]:
    """Warnings of every check that applies. `ceiling` compares a run with its roofline; it is supplied by who knows
    the hardware.
    """
    checks = (
        _completed,
        _rates,
        _totals,
        _end_to_end,
        _little,
        _percentiles,
        _chunks,
        _single_token,
        _small_sample,
        _mfu,
        _per_gpu,
    )
    found = [message for one in checks for message in one(run)]
    return found + (ceiling(run) if ceiling else [])


def _differs(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) > tolerance * max(abs(a), abs(b)) + ROUNDING


def _completed(run: Run) -> Iterator[str]:
    if run.failed:
        total = run.failed + (run.completed or 0)
        yield f"{run.failed} of {total} requests failed"


def _rates(run: Run) -> Iterator[str]:
    """Rates against counts over the duration."""
    if not run.duration_s or not run.completed:
        return
    for name, per_request in (
        ("requests_per_s", 1.0),
        ("output_tokens_per_s", run.output_tokens),
        ("total_tokens_per_s", _both(run)),
    ):
        stated = getattr(run, name)
        expected = per_request * run.completed / run.duration_s if per_request else None
        if stated and expected and _differs(stated, expected, RATE_TOLERANCE):
            yield f"{name} {stated:.6g} disagrees with totals over duration {expected:.6g}"


def _both(run: Run) -> float | None:
    return run.input_tokens + run.output_tokens if run.input_tokens and run.output_tokens else None


def _totals(run: Run) -> Iterator[str]:
    if (
        run.total_tokens_per_s
        and run.output_tokens_per_s
        and run.total_tokens_per_s < run.output_tokens_per_s * (1 - 1e-6) - ROUNDING
    ):
        yield f"total tokens/s {run.total_tokens_per_s:.6g} is below output tokens/s {run.output_tokens_per_s:.6g}"


def _end_to_end(run: Run) -> Iterator[str]:
    """TTFT + TPOT x (output tokens - 1) against E2E."""
    if run.ttft_mean_s and run.tpot_mean_s and run.e2e_mean_s and run.output_tokens:
        expected = run.ttft_mean_s + run.tpot_mean_s * max(run.output_tokens - 1, 0)
        if _differs(expected, run.e2e_mean_s, LATENCY_TOLERANCE):
            yield (
                f"TTFT + TPOT x (output tokens - 1) = {expected:.4g} s disagrees with the end-to-end "
                f"latency {run.e2e_mean_s:.4g} s"
            )


def _little(run: Run) -> Iterator[str]:
    """Little's law: requests in flight = rate x latency, which cannot exceed the concurrency limit."""
    if not (run.requests_per_s and run.e2e_mean_s):
        return
    in_flight = run.requests_per_s * run.e2e_mean_s
    stated = run.concurrency_achieved or run.concurrency
    if not stated:
        return
    if run.concurrency_achieved and _differs(in_flight, run.concurrency_achieved, LITTLE_TOLERANCE):
        yield (
            f"Little's law: rate x latency = {in_flight:.4g} requests in flight, but the achieved "
            f"concurrency is {stated:.4g}"
        )
    elif in_flight > stated * 1.1 + 1:
        yield (
            f"Little's law: rate x latency = {in_flight:.4g} requests in flight, more than the concurrency {stated:.4g}"
        )
    elif in_flight < stated * 0.5 and run.completed and run.completed >= 4 * stated:
        yield (
            f"Little's law: rate x latency = {in_flight:.4g} requests in flight, less than half of the "
            f"concurrency {stated:.4g}"
        )


def _percentiles(run: Run) -> Iterator[str]:
    for metric in ("ttft", "tpot", "itl", "e2e"):
        points = sorted(_points(run, metric))
        for (low, a), (high, b) in itertools.pairwise(points):
            if a > b * (1 + 1e-9):
                yield f"{metric.upper()} percentiles are not monotone: p{low:g} {a:.4g} s is above p{high:g} {b:.4g} s"


def _points(run: Run, metric: str) -> Iterator[tuple[float, float]]:
    for percent in (50.0, 99.0):
        value = getattr(run, f"{metric}_p{percent:g}_s")
        if value is not None:
            yield percent, value
    for name, value in run.percentiles.items():
        body = name.removeprefix(f"{metric}_p").removesuffix("_s")
        if name == f"{metric}_p{body}_s" and body.replace(".", "", 1).isdigit():
            yield float(body), value


def _chunks(run: Run) -> Iterator[str]:
    if run.itl_mean_s and run.tpot_mean_s and run.itl_mean_s > 3 * run.tpot_mean_s:
        ratio = run.itl_mean_s / run.tpot_mean_s
        yield (
            f"ITL {run.itl_mean_s:.4g} s is {ratio:.1f} x TPOT {run.tpot_mean_s:.4g} s: about {ratio:.0f} "
            "tokens a streamed chunk"
        )


def _single_token(run: Run) -> Iterator[str]:
    if run.output_tokens and run.output_tokens <= 1.5 and run.ttft_mean_s and run.e2e_mean_s:
        yield f"{run.output_tokens:.3g} output tokens a request: there is no decode to measure"


def _small_sample(run: Run) -> Iterator[str]:
    if run.kind == "serving" and run.completed is not None and 0 < run.completed < 20:
        yield f"only {run.completed} requests: low confidence"
    if run.kind in {"serving", "offline"} and run.duration_s is not None and run.duration_s < 5:
        yield f"the run lasted only {run.duration_s:.3g} s: low confidence"


def _mfu(run: Run) -> Iterator[str]:
    if run.mfu_reported and run.mfu_reported > 1:
        yield f"MFU {run.mfu_reported * 100:.1f} % is above 100 %: the tool assumed another GPU's peak"


def _per_gpu(run: Run) -> Iterator[str]:
    """A whole system's tokens/s against tokens/s per GPU."""
    if run.tokens_per_s and run.tokens_per_s_per_gpu and run.gpu_count:
        expected = run.tokens_per_s_per_gpu * run.gpu_count
        if _differs(expected, run.tokens_per_s, 0.05):
            yield (
                f"tokens/s {run.tokens_per_s:.6g} is not tokens/s per GPU {run.tokens_per_s_per_gpu:.6g} x "
                f"{run.gpu_count} GPUs"
            )
    if run.tflops_per_gpu and run.mfu_reported and run.mfu_reported <= 1:
        peak = run.tflops_per_gpu / run.mfu_reported
        if any(abs(peak / sparse - 1) < 0.02 for sparse in (624.0, 1979.0, 4500.0)):
            yield (
                f"MFU was taken against a peak of {peak:.0f} TFLOP/s, the figure with sparsity: the dense "
                "MFU is twice as high"
            )
