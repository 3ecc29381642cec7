"""Accuracy: how far predictions were off on measured runs that no fit had seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from faces.twins import csv_twin, json_twin
from planner.formats import sig

REPORT = Path(__file__).resolve().parents[2] / "docs" / "accuracy.json"
COMMAND = "python manage.py accuracy"
# What is compared, as people read it, in the order of the page: kind and quantity to section and label.
TRAINING, SERVING = gettext_lazy("Training"), gettext_lazy("Serving")
MEMORY, OPERATORS = gettext_lazy("Memory of serving engines at start-up"), gettext_lazy("Operators")
LABELS: dict[tuple[str, str], tuple[str | Promise, str | Promise]] = {
    ("training", "tokens_per_s_per_gpu"): (TRAINING, gettext_lazy("Tokens/s per GPU")),
    ("training", "peak_memory"): (TRAINING, gettext_lazy("Peak memory")),
    ("inference", "tpot"): (SERVING, gettext_lazy("TPOT, fixed concurrency")),
    ("inference", "output_tokens_per_s"): (SERVING, gettext_lazy("Output tokens/s, fixed concurrency")),
    ("inference", "ttft"): (SERVING, gettext_lazy("TTFT in a benchmark, fixed concurrency")),
    ("inference", "tpot_open_loop"): (SERVING, gettext_lazy("TPOT, given request rate")),
    ("inference", "ttft_open_loop"): (SERVING, gettext_lazy("TTFT, given request rate")),
    ("inference", "offline_tokens_per_s"): (SERVING, gettext_lazy("Output tokens/s, offline")),
    ("inference", "batch1_tokens_per_s"): (SERVING, gettext_lazy("Output tokens/s, one request")),
    ("inference", "prefill_tokens_per_s"): (SERVING, gettext_lazy("Prefill tokens/s")),
    ("inference", "offline_mlperf_tokens_per_s"): (SERVING, gettext_lazy("MLPerf offline tokens/s (lengths assumed)")),
    ("inference", "server_tpot"): (SERVING, gettext_lazy("MLPerf server TPOT (load assumed)")),
    ("inference", "server_ttft"): (SERVING, gettext_lazy("MLPerf server TTFT (load assumed)")),
    ("serving_memory", "weights_bytes"): (MEMORY, gettext_lazy("Weights, bytes")),
    ("serving_memory", "kv_cache_tokens"): (MEMORY, gettext_lazy("KV cache, tokens")),
    ("serving_memory", "kv_cache_bytes"): (MEMORY, gettext_lazy("KV cache, bytes")),
    ("ops: gemm", "latency"): (OPERATORS, gettext_lazy("GEMM")),
    ("ops: attention_prefill", "latency"): (OPERATORS, gettext_lazy("Attention, prefill")),
    ("ops: attention_decode", "latency"): (OPERATORS, gettext_lazy("Attention, decode")),
    ("ops: moe", "latency"): (OPERATORS, gettext_lazy("Grouped GEMM of experts")),
    ("ops: collective", "latency"): (OPERATORS, gettext_lazy("Collectives")),
    ("ops: custom_allreduce", "latency"): (OPERATORS, gettext_lazy("All-reduce kernels of engines")),
}
HEADLINES = (
    ("training", "tokens_per_s_per_gpu", gettext_lazy("training speed")),
    ("inference", "output_tokens_per_s", gettext_lazy("serving throughput")),
    ("inference", "tpot", gettext_lazy("time per output token")),
    ("inference", "ttft", gettext_lazy("time to first token")),
)


@require_GET
def accuracy(request: HttpRequest) -> HttpResponse:
    """The page."""
    report = _report()
    rows = _rows(report)
    context = {
        "report": report,
        "answer": _answer(rows),
        "sections": _sections(rows, _tables(report)),
        "command": COMMAND,
    }
    return render(request, "planner/accuracy.html", context)


@require_GET
def accuracy_json(request: HttpRequest) -> HttpResponse:
    """The report as the command wrote it."""
    return json_twin(_report())


@require_GET
def accuracy_csv(request: HttpRequest) -> HttpResponse:
    """Errors by quantity and group as rows."""
    report = _report()
    rows = [*_rows(report), *({**row, "by": f"{table['by']}"} for table in _tables(report) for row in table["rows"])]
    return csv_twin(
        rows,
        "accuracy",
        ["kind", "quantity", "by", "group", "n", "median_ape_pct", "p90_ape_pct", "bias_pct", "coverage", "width"],
    )


def _report() -> dict[str, Any]:
    return _read(REPORT.stat().st_mtime_ns) if REPORT.exists() else {}


@lru_cache(maxsize=1)
def _read(stamp: int) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(REPORT.read_text(encoding="utf-8"))
    return report


def _kinds(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((kind, found) for kind, found in (report.get("reports") or {}).items() if isinstance(found, dict))


def _rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a quantity, with the interval's coverage and width and the baselines where they are known."""
    return [
        {
            "kind": kind,
            "quantity": quantity,
            **_errors(errors),
            "coverage": _eighty(errors, found, "interval_coverage_pct"),
            "width": _eighty(errors, found, "interval_width"),
            "baselines": errors.get("baselines") or {},
            "published": (report.get("published") or {}).get(f"{kind}: {quantity}"),
        }
        for kind, found in _kinds(report)
        for quantity, errors in (found.get("quantities") or {}).items()
    ]


def _tables(report: dict[str, Any]) -> list[dict[str, Any]]:
    """One table for each quantity and grouping, worst group first."""
    return [
        {
            "kind": kind,
            "quantity": quantity,
            "by": by,
            "rows": sorted(
                (
                    {"kind": kind, "quantity": quantity, "group": name, **_errors(group)}
                    for name, group in groups.items()
                ),
                key=lambda row: -(row["median_ape_pct"] or 0),
            ),
        }
        for kind, found in _kinds(report)
        for quantity, errors in (found.get("quantities") or {}).items()
        for by, groups in (errors.get("by") or {}).items()
        if groups
    ]


def _sections(rows: list[dict[str, Any]], tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows under their titles, in the order of LABELS, what it does not know last; each with its tables by group."""
    order = list(LABELS)
    known = {(row["kind"], row["quantity"]): row for row in rows}
    found: dict[str, list[dict[str, Any]]] = {}
    for key in sorted(known, key=lambda key: order.index(key) if key in LABELS else len(order)):
        title, label = LABELS.get(key, key)
        own = [table for table in tables if (table["kind"], table["quantity"]) == key]
        found.setdefault(str(title), []).append(known[key] | {"label": label, "tables": own})
    return [{"title": title, "rows": section} for title, section in found.items()]


def _answer(rows: list[dict[str, Any]]) -> str:
    """The errors that most people ask for, as a sentence; "" where they are not known."""
    known = {(row["kind"], row["quantity"]): row for row in rows}
    told = [(str(name), known[kind, quantity]) for kind, quantity, name in HEADLINES if (kind, quantity) in known]
    if not told:
        return ""
    halves = ", ".join(f"{sig(row['median_ape_pct'])} % ({name})" for name, row in told)
    tenths = ", ".join(f"{sig(row['p90_ape_pct'])} %" for _name, row in told)
    held = [row["coverage"] for _name, row in told if row["coverage"] is not None]
    sentence = _(
        "Half of the left-out runs are predicted to within %(halves)s of what was measured, nine in ten to within "
        "%(tenths)s."
    ) % {"halves": halves, "tenths": tenths}
    if not held:
        return sentence
    holds = _("The 80 %% ranges hold %(least)s to %(most)s %% of them.")
    return f"{sentence} {holds % {'least': sig(min(held)), 'most': sig(max(held))}}"


def _errors(errors: dict[str, Any]) -> dict[str, Any]:
    return {key: errors.get(key) for key in ("n", "median_ape_pct", "p90_ape_pct", "bias_pct")}


def _eighty(errors: dict[str, Any], found: dict[str, Any], key: str) -> Any:
    own = errors.get(key)
    value = own if own is not None else found.get(key)
    return value.get("80") if isinstance(value, dict) else value
