"""MLPerf training: :::MLLOG lines inside a whole job log, each printed by several ranks, behind srun prefixes.

Time to train is run_stop - run_start. Speed stands only in the vendors' tracked_stats.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..guess import find_gpu
from ..protocol import ParseResult
from ..values import integer, number
from .common import as_dict, put_text
from .steps import Step, put_steps, put_tokens

NOT_LANGUAGE = re.compile(
    r"(?i)resnet|unet|ssd|retinanet|dlrm|dcn|rnnt|maskrcnn|minigo|stable_diffusion|flux|gnn|rgat|ncf"
)


_EVENT = re.compile(r'^[^,"\n]{0,60}:::MLLOG \{', re.MULTILINE)


def events(text: str) -> Iterator[dict[str, Any]]:
    """The events in order; torn ones are skipped."""
    for line in text.split("\n"):
        _, mark, body = line.partition(":::MLLOG ")
        if not mark:
            continue
        try:
            event = json.JSONDecoder().raw_decode(body.strip())[0]
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


class MlperfTraining:
    """One training run."""

    format = "mlperf-training-mllog"

    def score(self, document: Document) -> float:
        if document.is_json or '"loadgen_version"' in document.head:
            return 0.0
        return 0.93 if _EVENT.search(document.text) else 0.0

    def parse(self, document: Document) -> ParseResult:
        log = list(events(document.text))
        values = {str(event.get("key")): event.get("value") for event in log}
        benchmark = str(values.get("submission_benchmark") or "")
        if NOT_LANGUAGE.search(benchmark):
            return ParseResult.refused(f"{benchmark} is not a language model")
        stop = next((event for event in log if event.get("key") == "run_stop"), None)
        status = as_dict(as_dict(stop).get("metadata")).get("status")
        if stop is not None and status not in ("success", None):
            return ParseResult.refused(f"the run ended with status {status}")
        run = training_run(log, values, document.text)
        if not run.has_result():
            return ParseResult.refused("no run_stop and no speed: the log breaks off, or nothing was trained")
        if stop is None:
            run.warnings.append("the log has no run_stop: the run did not finish")
        return ParseResult([run])


def training_run(log: list[dict[str, Any]], values: Mapping[str, Any], text: str) -> Run:
    """Time to train, speed and setting of one log."""
    run = Run(kind="training")
    put_text(run, "model", values.get("submission_benchmark"), "submission_benchmark")
    for field, key in (("global_batch", "global_batch_size"), ("seq_len", "max_sequence_length")):
        run.put(field, values.get(key), key)
    start, stop = (_time(log, key) for key in ("run_start", "run_stop"))
    if start and stop and stop > start:
        run.put("time_to_train_s", stop - start, "run_stop - run_start", "ms")
    _put_speed(run, log)
    _put_platform(run, values, text)
    if run.step_time_s is None and run.samples_per_s and run.global_batch:
        run.derive("step_time_s", run.global_batch / run.samples_per_s, "global_batch_size / throughput")
    put_tokens(run)
    if run.tokens_per_s is None and run.samples_per_s and run.seq_len:
        run.derive("tokens_per_s", run.samples_per_s * run.seq_len, "throughput x max_sequence_length")
    if run.seq_len is None:
        run.notes.append("the log names no sequence length: tokens/s cannot be computed")
    return run


def _time(log: list[dict[str, Any]], key: str) -> float | None:
    return next((number(event.get("time_ms")) for event in log if event.get("key") == key), None)


def _put_speed(run: Run, log: list[dict[str, Any]]) -> None:
    """tracked_stats: throughput in samples/s, or the time of a step; repeats of other ranks count once."""
    steps: list[Step] = []
    seen: set[Any] = set()
    for event in log:
        stats = as_dict(event.get("value")) if event.get("key") == "tracked_stats" else {}
        figures = {
            "samples_per_s": number(stats.get("throughput")),
            "step_time_s": number(stats.get("train_step_timing in s") or stats.get("train_step_time")),
        }
        step = {key: value for key, value in figures.items() if value and value > 0}
        mark = (as_dict(event.get("metadata")).get("step"), *step.values())
        if step and mark not in seen:
            seen.add(mark)
            steps.append(step)
    for field, source in (
        ("step_time_s", "tracked_stats train_step_timing in s"),
        ("samples_per_s", "tracked_stats throughput"),
    ):
        chosen = [{field: step[field]} for step in steps if field in step]
        if chosen:
            put_steps(run, chosen, {field: source})
    _tell_tokens_from_samples(run)


def _tell_tokens_from_samples(run: Run) -> None:
    """Some vendors' throughput counts tokens: then it is near batch x sequence length / step time."""
    if not (run.samples_per_s and run.step_time_s and run.global_batch):
        return
    expected = run.global_batch / run.step_time_s
    if run.samples_per_s > 10 * expected:
        run.warnings.append(
            f"throughput {run.samples_per_s:.6g} counts tokens, not samples (batch / step time is "
            f"{expected:.4g} samples/s)"
        )
        run.samples_per_s = expected


def _put_platform(run: Run, values: Mapping[str, Any], text: str) -> None:
    """The :::SYSJSON facts where they are there; the platform is free text and only a label."""
    system = _sysjson(text)
    put_text(run, "gpu", system.get("accelerator_model_name"), "SYSJSON accelerator_model_name")
    nodes, per_node = integer(system.get("number_of_nodes")), integer(system.get("accelerators_per_node"))
    if nodes and per_node:
        run.put("gpu_count", nodes * per_node, "SYSJSON number_of_nodes x accelerators_per_node")
    put_text(run, "engine", system.get("framework"), "SYSJSON framework")
    platform = str(values.get("submission_platform") or "")
    put_text(run, "label", platform, "submission_platform")
    if run.gpu is None and "PLACEHOLDER" not in platform and find_gpu(platform)[0]:
        put_text(run, "gpu", find_gpu(platform)[0], "submission_platform")


def _sysjson(text: str) -> dict[str, Any]:
    match = re.search(r":::SYSJSON (\{.*)", text)
    if match is None:
        return {}
    try:
        return as_dict(json.JSONDecoder().raw_decode(match[1])[0])
    except (ValueError, RecursionError):
        return {}
