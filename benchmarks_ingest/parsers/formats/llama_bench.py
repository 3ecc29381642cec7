"""llama.cpp's llama-bench: JSON, JSONL, CSV, Markdown and SQL, wrappers around it, and site aggregates.

A test is pp (prompt only: prefill tokens/s), tg (generation only: decode tokens/s of one sequence) or pg (both
together). pp and tg are never added up.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..tables import Table
from ..values import integer, number, quantity
from .common import as_dict, as_list, put_text

_QUANT = re.compile(
    r"(?i)(?<![A-Za-z0-9])(MXFP4|NVFP4|BF16|F16|F32|I?Q\d(?:_[A-Z0-9]+)*)(?:\s*-\s*(Small|Medium|Large))?"
)
_TEST = re.compile(r"(pp|tg)\s*(\d+)(?:\s*\+\s*tg\s*(\d+))?(?:\s*@\s*d\s*(\d+))?")
_DEVICE = re.compile(
    r"^\s*(?:Device \d+:|ggml_vulkan: \d+ =|ggml_metal_init: GPU name:|ggml_sycl_init:)\s*([^,|(\n]+)", re.MULTILINE
)

_AMDVLK = re.compile(r"^\s*ggml_vulkan: \d+ = [^|\n]*\(AMD open-source driver\)", re.MULTILINE)


def quantisation(text: str) -> str | None:
    """ "qwen2 7B Q4_K - Medium" as "q4_k_m"."""
    found = list(_QUANT.finditer(text))
    if not found:
        return None
    match = found[-1]
    name = match[1].lower() + (f"_{match[2][0].lower()}" if match[2] else "")
    return {"f16": "fp16", "f32": "fp32"}.get(name, name)


def test_run(record: Mapping[str, Any]) -> Run | Refusal:
    """One record of any machine-readable output."""
    prompt, generated = integer(record.get("n_prompt")) or 0, integer(record.get("n_gen")) or 0
    run = _subject(record)
    _put_speed(run, record.get("avg_ts"), prompt, generated, integer(record.get("n_depth")) or 0)
    if not run.has_result():
        return Refusal(f"{run.label or 'test'}: no speed measured")
    _check_speed(run, record, prompt + generated)
    return run


def _subject(record: Mapping[str, Any]) -> Run:
    run = Run(kind="single_stream", engine="llama_cpp")
    path = str(record.get("model_filename") or "").replace("\\", "/")
    put_text(
        run,
        "model",
        re.sub(r"(?:-00001-of-\d+)?\.gguf$", "", path.rsplit("/", 1)[-1]) or record.get("model_type"),
        "model_filename",
    )
    put_text(run, "weights", quantisation(str(record.get("model_type") or "")), "model_type")
    put_text(run, "kv_cache", record.get("type_k"), "type_k")
    if record.get("build_number"):
        run.put("engine_version", f"b{record['build_number']}", "build_number")
    run.put("date", record.get("test_time"), "test_time")
    _put_gpus(run, record)
    return run


def _put_gpus(run: Run, record: Mapping[str, Any]) -> None:
    """gpu_info lists every device; remote back ends hide further ones."""
    names = [name.strip() for name in str(record.get("gpu_info") or "").split(",") if name.strip()]
    layers = integer(record.get("n_gpu_layers"))
    if not names or layers == 0:
        run.notes.append("no layer ran on a GPU" if names else "the file names no GPU: a CPU run, or an unnamed device")
        return
    run.put("gpu", " + ".join(sorted(set(names))), "gpu_info")
    put_text(run, "backend", record.get("backends"), "backends")
    if "RPC" in str(record.get("backends") or ""):
        run.warnings.append("the RPC back end used further machines that the file does not name")
        return
    run.put("gpu_count", 1 if record.get("split_mode") == "none" else len(names), "devices in gpu_info")


def _put_speed(run: Run, speed: Any, prompt: int, generated: int, depth: int) -> None:
    run.put("concurrency", 1, "one sequence", "requests")
    run.put("input_tokens", prompt, "n_prompt", "tokens")
    run.put("output_tokens", generated, "n_gen", "tokens")
    run.put("depth_tokens", depth, "n_depth", "tokens")
    test = "+".join(part for part in (f"pp{prompt}" if prompt else "", f"tg{generated}" if generated else "") if part)
    run.put("label", test + (f" @ d{depth}" if depth else ""), "test")
    if prompt and generated:
        run.put("total_tokens_per_s", speed, "t/s of prompt and generation together", "tok/s")
    elif prompt:
        run.put("prefill_tokens_per_s", speed, "t/s of pp", "tok/s")
    elif generated:
        run.put("decode_tokens_per_s", speed, "t/s of tg", "tok/s")


def _check_speed(run: Run, record: Mapping[str, Any], tokens: int) -> None:
    """avg_ts is a mean of rates, avg_ns a mean of times: they agree within a few percent."""
    nanoseconds, speed = number(record.get("avg_ns")), number(record.get("avg_ts"))
    if nanoseconds and speed and tokens and abs(tokens / (nanoseconds * 1e-9) / speed - 1) > 0.05:
        run.warnings.append(
            f"avg_ts {speed:.6g} disagrees with tokens / avg_ns {tokens / (nanoseconds * 1e-9):.6g}: "
            "columns may be shifted"
        )


def _collect(records: Iterator[Mapping[str, Any]] | list[Any]) -> ParseResult:
    result = ParseResult()
    for record in records:
        outcome = test_run(record)
        result.add(outcome)
    return result


def _tests(document: Document) -> list[dict[str, Any]]:
    """Records of the tool, bare or wrapped under bench_raw."""
    found = []
    for record in document.records:
        inner = as_dict(record.get("bench_raw")) or record
        if {"build_commit", "avg_ts"} <= inner.keys():
            found.append({**inner, "wrapper": record if inner is not record else {}})
    return found


class LlamaBench:
    """-o json and -o jsonl, with log lines between and the closing bracket missing after a crash; wrappers with
    bench_raw.
    """

    format = "llama-bench"

    def score(self, document: Document) -> float:
        inner = as_dict(document.first.get("bench_raw")) or document.first
        return 0.95 if {"build_commit", "avg_ts"} <= inner.keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        return _collect(_tests(document))


class LlamaBenchCsv:
    """-o csv. Rows whose length differs from the header are refused: their values would stand under wrong names."""

    format = "llama-bench-csv"

    def score(self, document: Document) -> float:
        return 0.95 if not document.is_json and {"build_commit", "avg_ts"} <= set(_csv_table(document).header) else 0.0

    def parse(self, document: Document) -> ParseResult:
        table = _csv_table(document)
        result = _collect(list(table.records()))
        if table.bad_rows:
            width = len(table.header)
            result.refusals.append(
                Refusal(
                    f"{table.bad_rows} row(s) have another number of values than the header's {width} "
                    "columns: values would be shifted"
                )
            )
        return result


def _csv_table(document: Document) -> Table:
    """The table that begins with build_commit, log lines before it skipped."""
    start = re.search(r'^"?build_commit"?,', document.text, re.MULTILINE)
    if not start:
        return Table([], [])
    lines = [line for line in document.text[start.start() :].split("\n") if line.count(",") > 5]
    try:
        header, *rows = csv.reader(io.StringIO("\n".join(lines)))
    except csv.Error:
        return Table([], [])
    good = [row for row in rows if len(row) == len(header)]
    return Table(header, good, bad_rows=len(rows) - len(good))


class LlamaBenchSql:
    """-o sql: CREATE TABLE and INSERT INTO statements."""

    format = "llama-bench-sql"

    def score(self, document: Document) -> float:
        return 0.95 if document.search(r"(?i)^INSERT INTO \w+ \([^)]*build_commit[^)]*avg_ts") else 0.0

    def parse(self, document: Document) -> ParseResult:
        return _collect(list(sql_records(document.text)))


def sql_records(text: str) -> Iterator[dict[str, str]]:
    """Columns and values of each INSERT."""
    for match in re.finditer(r"(?i)INSERT INTO \w+ \(([^)]*)\)\s*VALUES\s*\(((?:[^')]|'(?:[^']|'')*')*)\)", text):
        columns = [column.strip(' "`') for column in match[1].split(",")]
        try:
            values = next(csv.reader([match[2]], quotechar="'", skipinitialspace=True))
        except (csv.Error, StopIteration):
            continue
        if len(values) == len(columns):
            yield dict(zip(columns, values, strict=True))


class LlamaBenchMarkdown:
    """The default output, in a log or pasted into a text."""

    format = "llama-bench-md"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.0
        if re.search(r"^\s*\|? *model +\|.*\bt/s\b", document.text, re.MULTILINE):
            return 0.9
        if (
            len(document.text) < 20_000
            and not document.markdown
            and "llama-bench" in document.text
            and ("ggml" in document.text or "Error" in document.head)
        ):
            return 0.3
        crashed = re.search(r"(?i)^error: .*llama", document.head, re.MULTILINE)
        return 0.3 if crashed and len(document.text) < 2000 else 0.0

    def parse(self, document: Document) -> ParseResult:
        tables = [table for table in document.markdown if "t/s" in table.header and "test" in table.header]
        if not tables:
            return ParseResult.refused("the benchmark printed no table of results")
        result = ParseResult()
        log = device_log(document, len(tables))
        for table in tables:
            result.runs.extend(run for row in table.records() if (run := row_run(row, log)).has_result())
            if table.bad_rows:
                result.notes.append(f"{table.bad_rows} torn row(s) of a table skipped")
        if not result.runs:
            return ParseResult.refused("the table's header was printed, but no result row: the benchmark crashed")
        others = len(document.markdown) - len(tables)
        if others:
            result.notes.append(f"{others} other table(s) in this text were not read")
        return result


def device_log(document: Document, tables: int) -> tuple[str, list[str], str]:
    """The build, the devices and the driver that the log lists; several tables may belong to several machines."""
    build = re.search(r"^build: ([0-9a-f]+) \((\d+)\)", document.text, re.MULTILINE)
    devices = [name.strip() for name in _DEVICE.findall(document.head)] if tables == 1 else []
    driver = "vulkan_amdvlk" if devices and _AMDVLK.search(document.head) else ""
    return f"b{build[2]}" if build else "", devices, driver


def row_run(row: Mapping[str, str], log: tuple[str, list[str], str]) -> Run:
    """One Markdown row."""
    run = Run(kind="single_stream", engine="llama_cpp")
    put_text(run, "model", row.get("model"), "model")
    put_text(run, "weights", quantisation(row.get("model", "")), "model")
    put_text(run, "kv_cache", row.get("type_k"), "type_k")
    put_text(run, "engine_version", log[0], "build")
    _put_devices(run, log[1], row.get("backend", ""))
    if row.get("ngl", "").strip() != "0":
        put_text(run, "backend", log[2] or row.get("backend"), "backend")
    match = _TEST.search(row.get("test", ""))
    speed = quantity(row.get("t/s", ""))
    if match and speed:
        kind, length, generated, depth = match[1], int(match[2]), int(match[3] or 0), int(match[4] or 0)
        prompt = length if kind == "pp" else 0
        _put_speed(run, speed[0], prompt, generated if kind == "pp" else length, depth)
    return run


def _put_devices(run: Run, devices: list[str], backend: str) -> None:
    if not devices:
        return
    run.put("gpu", " + ".join(sorted(set(devices))), "device lines of the log")
    if "RPC" in backend:
        run.warnings.append("the RPC back end used further machines that the log does not name")
    else:
        run.put("gpu_count", len(devices), "device lines of the log")


class LlamaBenchDerived:
    """Site aggregates: {"runs": [{"model", "test": "pp512", "tps_mean", "error"}]}."""

    format = "llama-bench-derived"

    def score(self, document: Document) -> float:
        return (
            0.9
            if any({"test", "tps_mean"} <= as_dict(item).keys() for item in as_list(document.first.get("runs"))[:3])
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for item in map(as_dict, as_list(document.first.get("runs"))):
            match = _TEST.search(str(item.get("test") or ""))
            if item.get("error") or not match or not number(item.get("tps_mean")):
                result.refusals.append(
                    Refusal(f"{item.get('model')} {item.get('test')}: {item.get('error_type') or 'no speed measured'}")
                )
            else:
                result.runs.append(derived_run(item, match))
        return result


def derived_run(item: Mapping[str, Any], match: "re.Match[str]") -> Run:
    """One entry of a site aggregate."""
    run = Run(kind="single_stream", engine="llama_cpp")
    put_text(run, "model", item.get("model_clean") or item.get("model"), "model")
    put_text(run, "weights", quantisation(str(item.get("quant") or "")), "quant")
    if as_dict(item.get("build")).get("number"):
        run.put("engine_version", f"b{item['build']['number']}", "build.number")
    prompt, length = (int(match[2]), int(match[3] or 0)) if match[1] == "pp" else (0, int(match[2]))
    _put_speed(run, item.get("tps_mean"), prompt, length, integer(item.get("context_tokens")) or int(match[4] or 0))
    run.put("label", f"{run.label} {item.get('env', '')}", "test, env")
    put_text(run, "backend", _env_backend(str(item.get("env") or "")), "env")
    return run


def _env_backend(env: str) -> str | None:
    """ "rocm-7_2_3-rocwmma" as "rocm", "vulkan_radv" as "vulkan"."""
    found = re.match(r"(?i)vulkan_amdvlk|vulkan|rocm|cuda|metal|sycl", env)
    return found[0] if found else None
