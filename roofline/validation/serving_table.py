"""Reading a table of published serving measurements (columns of data/measurements/inference.csv) into scenarios and figures."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path

from roofline.architecture import Architecture
from roofline.architecture import presets as catalogue
from roofline.engines import BATCHED_TOKENS, memory_share
from roofline.hardware import Gpu, presets
from roofline.units import GIB
from roofline.validation import tables
from roofline.validation.gpu_labels import gpu_labelled
from roofline.validation.model_labels import UnderSpecified, configured, named, sized, stored_format
from roofline.validation.residuals import source_name
from roofline.validation.serving_backends import variant
from roofline.validation.serving_formats import Formats, formats_of
from roofline.versions import release_year

Row = Mapping[str, str]

# Sources of InferenceX data draw lengths evenly from 0.8 to 1.0 of the nominal ones.
DRAWN_LENGTHS = ("aic-", "ixdb-", "ix_")
DRAWN_MEAN = 0.9
BENCHMARK_CONCURRENCY = 64.0  # up to here TTFT at fixed concurrency is compared: beyond it is queueing
EVERYTHING_QUEUED = math.inf
# Share of a prompt that earlier turns of its conversation have left in the cache, where a source does not say how much: what the rise of
# TPOT with the request rate tells of inference-perf's multi-turn runs.
MULTI_TURN_HIT = 0.5
MLPERF_LENGTHS = {  # public mean prompt and answer lengths of the data sets, tokens
    "cnn-dailymail": (870.0, 128.0),
    "gptj": (870.0, 69.0),
    "openorca+gsm8k+mbxp": (330.0, 145.0),
    "openorca": (294.0, 294.0),
    "reasoning mix": (1000.0, 1300.0),
    "longbench": (9400.0, 650.0),
}
MLPERF_BEAMS = (("gptj", 4.0),)  # models that MLPerf runs with beam search, and how wide
ENGINE_WORDS = (  # first match decides
    ("tensorrt", "tensorrt_llm"),
    ("trt", "tensorrt_llm"),
    ("sglang", "sglang"),
    ("llama.cpp", "llama_cpp"),
    ("ollama", "llama_cpp"),
    ("gpt-fast", "static_batching"),
    ("torchao", "static_batching"),
    ("deepspeed", "static_batching"),
    ("hf", "static_batching"),
    ("transformers", "static_batching"),
    ("exllama", "llama_cpp"),
    ("mlc", "llama_cpp"),
    ("autoawq", "static_batching"),
    ("lmdeploy", "tensorrt_llm"),
)
POOLS = re.compile(r"DISAGG prefill (\S+)x tp(\d+) dp(\d+) moe_ep(\d+); decode (\S+)x tp(\d+) dp(\d+) moe_ep(\d+)")
DEPTH = re.compile(r"@ ?d(\d+)|depth[ =:]+(\d+)")
NEW_TOKENS = re.compile(r"\bpp ?(\d+)")
GENERATED = re.compile(r"\btg ?(\d+)")
FLASH = re.compile(r"flash-attn True|-fa 1\b")  # llama.cpp's option, long off by default
FILE_SIZE = re.compile(r"GGUF (?:file|size) ([\d.]+) GiB")
MODEL_BYTES = re.compile(r"model weights (\d+) bytes")
CHUNK = re.compile(r"max_num_batched_tokens[ =](\d+)")
SEQUENCES = re.compile(r"max_num_seqs[ =](\d+)")
UTILIZATION = re.compile(r"gpu_mem_util[ =]([\d.]+)")
SHARED_PREFIX = re.compile(r"shared system prompt (\d+)")
MONTH = re.compile(r"(20\d\d)(?:-(\d\d))?")
VARIANT = re.compile(r"variant (gptj)")
DATASET = re.compile(r"dataset: ([^;,]*)")


@dataclass(frozen=True, slots=True)
class Skip:
    """A row that says too little, and what it does not say."""

    row: Row
    reason: str


@dataclass(frozen=True, slots=True)
class Run:
    """One row as numbers; nan where a value is not stated."""

    row: Row
    source: str
    architecture: Architecture
    gpu: Gpu
    gpus: float
    engine: str
    variant: str  # back end or harness, "" where there is one
    year: float
    formats: Formats
    tp: float
    pp: float
    ep: float
    dp: float
    attention_dp: bool
    input_tokens: float
    output_tokens: float
    concurrency: float
    request_rate: float
    prefix_hit: float
    chunk: float
    sequences: float
    utilization: float
    file_bytes: float
    prefill_gpus: float
    prefill_tp: float
    decode_gpus: float
    decode_tp: float
    flash_attention: bool
    beams: float  # sequences that are decoded for one answer
    pool_attention_dp: tuple[float, float]  # of prefill and decode instances of their own; nan elsewhere
    measured: Mapping[str, float]  # by quantity

    @property
    def id(self) -> str:
        """The row's own id."""
        return self.row.get("id", "")

    @property
    def model(self) -> str:
        """Name for groups and folds: the catalogue's, however the row writes it."""
        known = self.architecture.name
        return known if known in catalogue() else self.row.get("model_id", "") or self.row.get("model_name", "")

    @property
    def kind(self) -> str:
        """dense, moe, mla or hybrid."""
        return self.architecture.columns().kind


@lru_cache(maxsize=4096)
def read_rows(path: str | Path) -> list[dict[str, str]]:
    """The rows of a table; blank where a cell is."""
    return tables.read(path, "inference")


def shipped_rows() -> list[dict[str, str]]:
    """The measured points that ship with the engine."""
    return read_rows(Path(str(resources.files("roofline").joinpath("data/measurements/inference.csv"))))


def runs(rows: Sequence[Row]) -> tuple[list[Run], list[Skip]]:
    """The rows that a prediction can be made for, and the others with the reason."""
    good, skipped = [], []
    for row in rows:
        try:
            good.append(read_run(row))
        except UnderSpecified as reason:
            skipped.append(Skip(row, str(reason)))
    return good, skipped


def number(row: Row, name: str) -> float:
    """A column as a number; nan where it is blank or text."""
    try:
        return float(row.get(name) or math.nan)
    except ValueError:
        return math.nan


def _or(value: float, fallback: float) -> float:
    return fallback if math.isnan(value) else value


def _found(pattern: re.Pattern[str], text: str) -> float:
    match = pattern.search(text)
    return float(next(group for group in match.groups() if group)) if match else math.nan


def read_run(row: Row) -> Run:
    """One row. Raises UnderSpecified with the reason of data/README where it leaves out what is needed."""
    notes, engine = row.get("notes", ""), engine_of(row.get("engine", ""))
    gpu = _gpu(row)
    model = model_of(row)
    formats = formats_of(row, gpu, engine, stored_format(model, row.get("model_id", "")))
    gpus = number(row, "n_gpus")
    if math.isnan(gpus):
        raise UnderSpecified("number of GPUs not stated")
    run = Run(
        row=row,
        source=source_name(row.get("source", "")),
        architecture=model,
        gpu=gpu,
        gpus=gpus,
        engine=engine,
        variant=variant(row, engine, gpu),
        year=software_year(row, engine),
        formats=formats,
        tp=1.0,
        pp=1.0,
        ep=1.0,
        dp=1.0,
        attention_dp=False,
        input_tokens=math.nan,
        output_tokens=math.nan,
        concurrency=math.nan,
        request_rate=math.nan,
        prefix_hit=0.0,
        chunk=_or(_found(CHUNK, notes), float(BATCHED_TOKENS[engine])),
        sequences=_found(SEQUENCES, notes),
        utilization=_or(_found(UTILIZATION, notes), memory_share(engine, gpu)),
        file_bytes=_file_bytes(notes),
        prefill_gpus=0.0,
        prefill_tp=0.0,
        decode_gpus=0.0,
        decode_tp=0.0,
        beams=next((width for name, width in MLPERF_BEAMS if f"variant {name}" in notes), 1.0),
        flash_attention=engine != "llama_cpp" or FLASH.search(notes) is not None,
        pool_attention_dp=(math.nan, math.nan),
        measured={},
    )
    run = _with_load(_with_layout(run))
    measured = _measured(run)
    if not measured:
        raise UnderSpecified("no figure that is compared")
    return replace(run, measured=measured)


def engine_of(label: str) -> str:
    """The engine of a label, as a word of codes.ENGINES; vLLM where nothing tells.

    >>> engine_of("TensorRT-LLM (PyTorch backend)"), engine_of("llama.cpp-hip"), engine_of("vLLM (ROCm)")
    ('tensorrt_llm', 'llama_cpp', 'vllm')
    """
    lowered = label.lower()
    return next((name for word, name in ENGINE_WORDS if word in lowered), "vllm")


def software_year(row: Row, engine: str) -> float:
    """Software date in years: of the version, else of the source; nan where neither is stated."""
    version = release_year(engine, row.get("engine_version", ""))
    published = MONTH.match(row.get("source_date", ""))
    date = float(published[1]) + (float(published[2] or 6) - 0.5) / 12 if published else math.nan
    return date if math.isnan(version) else version


def _gpu(row: Row) -> Gpu:
    slug, label = row.get("gpu_slug", "").lower(), row.get("gpu", "")
    memory = number(row, "gpu_mem_gb")
    found = presets().get(slug) or gpu_labelled(slug, memory) or gpu_labelled(label, memory)
    if found is None:
        raise UnderSpecified("GPU not in the catalogue" if label or slug else "GPU not stated")
    return found


def model_of(row: Row) -> Architecture:
    """The architecture of a row: its configuration, the model that its id or label means, or typical dimensions of the
    stated size. Raises UnderSpecified."""
    found = configured(row.get("config_json", ""))
    return found or named("inference", row.get("model_id", ""), row.get("model_name", "")) or sized(row)


def _file_bytes(notes: str) -> float:
    gib = _found(FILE_SIZE, notes)
    return gib * GIB if not math.isnan(gib) else _found(MODEL_BYTES, notes)


def _with_layout(run: Run) -> Run:
    row, notes = run.row, run.row.get("notes", "")
    pools = POOLS.search(notes)
    if pools or "disaggregated" in row.get("scenario", ""):
        if not pools or "?" in pools[1] + pools[5]:
            raise UnderSpecified("number of GPUs of the prefill and decode pools not stated")
        count_p, tp_p, dp_p, _, count_d, tp_d, dp_d, ep_d = (float(text) for text in pools.groups())
        each_p, each_d = tp_p * dp_p, tp_d * dp_d
        return replace(
            run,
            gpus=count_p * each_p + count_d * each_d,
            tp=tp_d,
            dp=dp_d,
            ep=ep_d,
            attention_dp=dp_d > 1,
            prefill_gpus=count_p * each_p,
            prefill_tp=each_p,
            decode_gpus=count_d * each_d,
            decode_tp=each_d,
            pool_attention_dp=(float(dp_p > 1), float(dp_d > 1)),
        )
    if run.engine == "llama_cpp":  # layers are split over the GPUs
        return replace(run, pp=run.gpus)
    tp, pp, ep, dp = (number(row, name) for name in ("tp", "pp", "ep", "dp"))
    pp = max(_or(pp, 1.0), 1.0)
    if not tp > 0:
        tp = _smallest_tp(run, pp)
    dp = max(run.gpus / (tp * pp), 1.0)
    moe = run.architecture.columns().experts > 0
    ep = _or(ep, tp if "also uses EP" in notes and moe else 1.0)
    spread = moe and dp > 1 and ep >= dp
    if "layout DEP" in notes or ("also uses EP" in notes and moe and tp > 1 and run.architecture.columns().is_mla):
        spread, dp, tp = True, tp * dp, 1.0
        ep = dp
    return replace(run, tp=tp, pp=pp, ep=min(ep, tp * dp), dp=dp, attention_dp=bool(spread and dp > 1))


def _smallest_tp(run: Run, pp: float) -> float:
    """Where no layout is stated: replicas as small as hold the weights with some room for the cache."""
    bytes_each = run.architecture.total_params * run.formats.weight_bytes
    tp = 1.0
    while tp * 2 <= run.gpus and bytes_each > 0.7 * run.gpu.memory_bytes * tp * pp:
        tp *= 2
    return tp


def _with_load(run: Run) -> Run:
    row, notes, scenario = run.row, run.row.get("notes", ""), run.row.get("scenario", "")
    isl, osl = number(row, "isl"), number(row, "osl")
    drawn = run.id.startswith(DRAWN_LENGTHS) or "random_range_ratio 0.8" in notes
    scale = DRAWN_MEAN if drawn else 1.0
    concurrency, rate = number(row, "concurrency_or_batch"), number(row, "request_rate")
    depth = _or(_found(DEPTH, notes), 0.0)
    if scenario == "batch-1 decode":
        if math.isnan(osl):
            osl = _or(_found(GENERATED, notes), 128.0)
        return replace(run, input_tokens=max(_or(isl, 0.0), depth, 1.0), output_tokens=max(osl, 1.0), concurrency=1.0)
    if scenario == "prefill":
        new = _or(_found(NEW_TOKENS, notes), _or(isl, math.nan))
        if math.isnan(new):
            raise UnderSpecified("sequence length not stated")
        total = new + depth
        return replace(
            run, input_tokens=total, output_tokens=1.0, concurrency=_or(concurrency, 1.0), prefix_hit=depth / total
        )
    if math.isnan(isl) or math.isnan(osl) or isl <= 0 or osl <= 0:
        isl, osl = _data_set_lengths(row, isl, osl)
    run = replace(run, input_tokens=isl * scale, output_tokens=osl * scale)
    if scenario == "offline max throughput":
        # All requests are queued at once; a number beside it is how many may run together.
        return replace(run, concurrency=EVERYTHING_QUEUED, sequences=concurrency if concurrency > 1 else run.sequences)
    if "request rate" in scenario or "server" in scenario:
        if not math.isfinite(rate):
            raise UnderSpecified("request rate not stated")
        prefix = _found(SHARED_PREFIX, notes)
        hit = prefix / isl if "prefix caching ON" in notes and not math.isnan(prefix) else 0.0
        hit = max(hit, MULTI_TURN_HIT) if "prefix caching ON and multi-turn" in notes else hit
        return replace(run, request_rate=rate, prefix_hit=hit)
    if math.isnan(concurrency):
        raise UnderSpecified("concurrency not stated")
    # Benchmarks at a fixed concurrency let the engine run all of it.
    return replace(run, concurrency=concurrency, sequences=_or(run.sequences, max(concurrency, 64.0)))


def _data_set_lengths(row: Row, isl: float, osl: float) -> tuple[float, float]:
    """Public mean lengths of a benchmark's data set where the row gives none; answers as the two rates say where both are given."""
    osl = _or(osl, number(row, "output_tokens_per_s_total") / number(row, "requests_per_s"))
    found = VARIANT.search(row.get("notes", "")) or DATASET.search(row.get("notes", ""))
    name = found[1].lower() if found else ""
    for word, (prompt, answer) in MLPERF_LENGTHS.items():
        if name.startswith(word):
            return _or(isl, prompt), _or(osl, answer)
    raise UnderSpecified("sequence length not stated")


def _measured(run: Run) -> dict[str, float]:
    """The figures of a row that are compared, by quantity, SI units."""
    row, notes, scenario = run.row, run.row.get("notes", ""), run.row.get("scenario", "")
    ttft, tpot, e2e = number(row, "ttft_ms") / 1e3, number(row, "tpot_ms") / 1e3, number(row, "e2e_latency_s")
    output, total = number(row, "output_tokens_per_s_total"), number(row, "total_tokens_per_s_total")
    each = number(row, "tokens_per_s_per_gpu")
    if math.isnan(output) and "perGPU-col=OUTPUT" in notes:
        output = each * run.gpus
    if scenario == "prefill":
        found = {
            "prefill_tokens_per_s": total if not math.isnan(total) else run.input_tokens * (1 - run.prefix_hit) / ttft
        }
    elif scenario == "batch-1 decode":
        found = {"batch1_tokens_per_s": output if not math.isnan(output) else run.output_tokens / e2e}
    elif scenario == "offline max throughput":
        found = {"offline_mlperf_tokens_per_s" if "MLPerf" in notes else "offline_tokens_per_s": output}
    elif "server" in scenario:
        found = {"server_tpot": tpot, "server_ttft": ttft}
    elif "request rate" in scenario:
        found = {"tpot_open_loop": tpot, "ttft_open_loop": ttft}
    else:
        found = _closed_loop(run, ttft, tpot, e2e, output)
    return {name: value for name, value in found.items() if value > 0 and math.isfinite(value)}


def _closed_loop(run: Run, ttft: float, tpot: float, e2e: float, output: float) -> dict[str, float]:
    n, osl = run.concurrency, run.output_tokens
    for derived in (n * osl / (ttft + tpot * osl), n * osl / e2e):
        output = derived if math.isnan(output) else output
    found = {"tpot": tpot, "output_tokens_per_s": output}
    if n <= BENCHMARK_CONCURRENCY:
        found["ttft"] = ttft
    return found
