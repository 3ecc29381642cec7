"""The whole accuracy record: every shipped table, baselines on the same rows, and what is worst."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from roofline.validation import validate
from roofline.validation.report import errors, report, worst
from roofline.validation.residuals import Residual

Json = dict[str, Any]
MEASUREMENTS = Path(str(resources.files("roofline"))) / "data" / "measurements"
OPERATORS = ("gemm", "attention_prefill", "attention_decode", "moe", "collective", "custom_allreduce")
TABLES: dict[str, tuple[str, ...]] = {
    "training": ("training.csv",),
    "inference": ("inference.csv",),
    "serving_memory": ("serving_memory.csv",),
    "ops": tuple(f"ops/{name}.csv" for name in OPERATORS),
}
# Figures of other tools on such rows, median / 90th percentile of the error in %, as their authors or comparisons with
# them state: not recomputed here.
PUBLISHED: dict[str, str] = {
    "inference: tpot": "AIConfigurator 11.3 / 38, on rows that it was tuned with",
    "inference: output_tokens_per_s": "AIConfigurator 10.7 / 42",
    "inference: ttft": "AIConfigurator 41 / 86; repeats of the same measurement 2.5 / 27",
    "inference: tpot_open_loop": "BLIS 7.4, fitted to such runs",
    "inference: ttft_open_loop": "BLIS 16.7, fitted to such runs",
    "inference: offline_tokens_per_s": "AIConfigurator 12.4 / 51",
    "training: tokens_per_s_per_gpu": "Calculon 22 / 49; repeats of the same run 1.3 / 11 (dense), 2 / 22 (MoE)",
    "training: peak_memory": "llm-analysis 47 / 126, accelerate 36 / 56",
    "serving_memory: kv_cache_tokens": "llm-d-planner 0.5 / 4.2",
}


def record() -> tuple[Json, dict[str, Sequence[Residual]]]:
    """The report of every shipped table (operators a table each), and the compared figures by table."""
    reports: Json = {}
    compared: dict[str, Sequence[Residual]] = {}
    for kind, names in TABLES.items():
        for name in names:
            outcome = validate(MEASUREMENTS / name, kind)
            title = kind if len(names) == 1 else f"{kind}: {Path(name).stem}"
            reports[title] = report(kind, outcome)
            compared[title] = outcome.residuals
    _add_baselines(reports)
    runs = [residual for kind in ("training", "inference") for residual in compared[kind]]
    return {"reports": reports, "published": PUBLISHED, "worst": [_plain(one) for one in worst(runs)]}, compared


def _plain(residual: Residual) -> Json:
    return asdict(residual) | {"reason": likely_reason(residual)}


def likely_reason(residual: Residual) -> str:
    """A first guess at why a row is far off, from what the row is."""
    ratio = residual.predicted / residual.measured
    if residual.quantity in ("ttft", "ttft_open_loop", "server_ttft"):
        return "queueing: the arrival pattern or the warm-up differs from what the row states"
    if residual.quantity.startswith("prefill"):
        return "short prompts on a back end whose launch costs are not known"
    if ratio > 1 and residual.quantity.endswith("per_s"):
        return "the run is slower than its hardware allows: host-bound, early software or another layout than stated"
    if ratio < 1 and residual.quantity.endswith("per_s"):
        return "the run is faster than predicted: several tokens a step (speculation) or a smaller model than stated"
    return "a configuration without near neighbours among the measured ones"


def _add_baselines(reports: Json) -> None:
    from roofline.validation import inference, serving_table, training_table
    from roofline.validation.training_baseline import median_mfu

    _baseline(reports["inference"], "textbook roofline", inference.baseline(serving_table.shipped_rows()).residuals)
    _baseline(reports["training"], "median MFU", median_mfu(training_table.shipped_rows()))


def _baseline(found: Json, name: str, residuals: Iterable[Residual]) -> None:
    groups: dict[str, list[Residual]] = {}
    for residual in residuals:
        groups.setdefault(residual.quantity, []).append(residual)
    for quantity, rows in groups.items():
        if quantity in found["quantities"]:
            found["quantities"][quantity].setdefault("baselines", {})[name] = errors(rows)


def as_markdown(body: Mapping[str, Any]) -> str:
    """The record as tables for docs/accuracy.md."""
    lines = [
        "| table | quantity | rows | median error | 90th percentile | bias | 80 % range holds | high / low | baselines |"
    ]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|---|")
    for title, found in body["reports"].items():
        for quantity, row in found["quantities"].items():
            lines.append(_line(title, quantity, row))
    lines += [
        "",
        "Rows read, predicted and skipped:",
        "",
        "| table | rows | predicted | skipped |",
        "|---|---:|---:|---|",
    ]
    for title, found in body["reports"].items():
        skipped = ", ".join(f"{reason} {count}" for reason, count in found["skipped"].items()) or "none"
        lines.append(f"| {title} | {found['rows']:,} | {found['predicted']:,} | {skipped} |")
    return "\n".join(lines) + "\n"


def _line(title: str, quantity: str, row: Mapping[str, Any]) -> str:
    baselines = [
        f"{name} {e['median_ape_pct']:g} / {e['p90_ape_pct']:g} %" for name, e in row.get("baselines", {}).items()
    ]
    published = PUBLISHED.get(f"{title}: {quantity}")
    cells = (
        title,
        quantity,
        f"{row['n']:,}",
        f"{row['median_ape_pct']:.1f} %",
        f"{row['p90_ape_pct']:.1f} %",
        f"{row['bias_pct']:+.1f} %",
        _cell(row["interval_coverage_pct"]["80"], " %"),
        _cell(row["interval_width"]["80"], ""),
        "; ".join([*baselines, *([published] if published else [])]) or "–",
    )
    return f"| {' | '.join(cells)} |"


def _cell(value: float | None, unit: str) -> str:
    return "–" if value is None else f"{value:.3g}{unit}"
