"""What the words of a table of training runs mean: frameworks, precisions, dates, accelerators and models."""

import csv
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources

from roofline import architecture
from roofline.architecture import Architecture
from roofline.hardware import Gpu, presets
from roofline.units import GIB, TERA
from roofline.versions import release_year

Row = Mapping[str, str]
FRAMEWORK_WORDS = (  # first match decides
    ("automodel", "fsdp"),
    ("xtuner", "fsdp"),
    ("megatron-bridge", "nemo"),
    ("megatron-deepspeed", "deepspeed"),
    ("deepspeed", "deepspeed"),
    ("nanotron", "nanotron"),
    ("picotron", "nanotron"),
    ("maxtext", "maxtext"),
    ("jax", "maxtext"),
    ("pax", "maxtext"),
    ("t5x", "maxtext"),
    ("levanter", "maxtext"),
    ("torchtitan", "torchtitan"),
    ("llm-foundry", "llm_foundry"),
    ("composer", "llm_foundry"),
    ("unsloth", "hf_trainer"),
    ("llama-factory", "hf_trainer"),
    ("axolotl", "hf_trainer"),
    ("hf", "hf_trainer"),
    ("transformers", "hf_trainer"),
    ("rocm", "other"),
    ("llmboost", "other"),
    ("megatron", "megatron"),
    ("primus", "megatron"),
    ("nemo", "nemo"),
    ("nvidia", "nemo"),
    ("ngc", "nemo"),
    ("torchtune", "fsdp"),
    ("litgpt", "fsdp"),
    ("lit-gpt", "fsdp"),
    ("fsdp", "fsdp"),
)
PRECISION_WORDS = (
    ("nvfp4", "nvfp4"),
    ("mxfp8", "mxfp8"),
    ("int8", "fp8"),
    ("fp8", "fp8"),
    ("fp16", "fp16"),
    ("tf32", "tf32"),
    ("fp32", "fp32"),
)
HINTED_LAYERS = re.compile(r"(?:^|;)layers=(\d+)")
MONTH = re.compile(r"(20\d\d)(?:-(\d\d))?")
ROUNDS = "mlcommons"  # whose entries carry placeholders for versions: the round's date tells more
LOW_POWER_SOURCES = ("pytorch/torchtitan", "pytorch/ao")


class UnderSpecified(ValueError):
    """A row leaves out what a prediction needs."""


def framework_of(label: str) -> str:
    """The framework of a free-text label, as a word of codes.FRAMEWORKS.

    >>> framework_of("Megatron-Bridge/NeMo 26.04"), framework_of("HF Trainer + DeepSpeed ZeRO-3")
    ('nemo', 'deepspeed')
    """
    lowered = label.lower()
    return next((name for word, name in FRAMEWORK_WORDS if word in lowered), "other")


def software_year(row: Row) -> float:
    """Software date in years: of the version in the label, but at most a year older than the source's own date; nan if nothing tells."""
    version = release_year("", row.get("framework", ""))
    published = MONTH.match(row.get("source_date", ""))
    date = float(published[1]) + (float(published[2] or 6) - 0.5) / 12 if published else math.nan
    if math.isnan(version) or row.get("source", "").startswith(ROUNDS):
        return date
    return version if math.isnan(date) else min(max(version, date - 1.0), date + 0.1)


def precision_of(label: str) -> str:
    """The word of codes.TRAINING_PRECISIONS for a label; blank means bf16.

    >>> precision_of(""), precision_of("int8+bf16"), precision_of("nf4+bf16")
    ('bf16', 'fp8', 'bf16')
    """
    return next((name for word, name in PRECISION_WORDS if word in label.lower()), "bf16")


def gpu_of(row: Row) -> Gpu:
    slug = row.get("gpu_slug", "")
    known = presets()
    if slug in known:
        return _variant(row, known[slug])
    if alias := gpu_aliases().get(row.get("gpu", "").strip().lower()):
        return known[alias]
    raise UnderSpecified("GPU not stated" if not row.get("gpu") else "GPU not in the catalogue")


def _variant(row: Row, gpu: Gpu) -> Gpu:
    """The accelerator as a source had it: the PyTorch teams' H100 is one of 500 W with 96 GB of HBM2e where no memory size is stated."""
    theirs = row.get("source", "").startswith(LOW_POWER_SOURCES) and not row.get("gpu_mem_gb")
    if gpu.slug == "h100-sxm5-80gb" and theirs:
        return replace(gpu, tdp_watts=500.0, bandwidth=2.4 * TERA, memory_bytes=0.99 * 96 * GIB)
    return gpu


@cache
def gpu_aliases() -> dict[str, str]:
    """Catalogue slug by label, lower case, of labels that name one accelerator."""
    lines = resources.files("roofline").joinpath("data/gpu_aliases.csv").read_text(encoding="utf-8").splitlines()
    return {row["gpu"].lower(): row["slug"] for row in csv.DictReader(lines) if row["slug"] in presets()}


def model_of(row: Row) -> Architecture:
    """The architecture of a row: its configuration, else the catalogue model, else the dimensions of the hint, else the label's alias."""
    if row.get("config_json"):
        return _parsed(row["config_json"])
    hint, model_id = row.get("arch_hint", ""), row.get("model_id", "")
    if model_id in architecture.presets():
        return _catalogue_model(model_id, hint)
    if hint and "hidden=" in hint:
        return _hinted(hint, row.get("params_b", ""))
    if not model_id and (alias := model_aliases().get(row.get("model_name", "").strip().lower())):
        return _catalogue_model(alias, hint)
    raise UnderSpecified("size or architecture of the model not stated")


@cache
def model_aliases() -> dict[str, str]:
    """Catalogue id by label, lower case, of labels of training tables that name one model."""
    lines = resources.files("roofline").joinpath("data/model_aliases.csv").read_text(encoding="utf-8").splitlines()
    known = architecture.presets()
    rows = [row for row in csv.DictReader(lines) if row["table"] == "training" and row["canonical_id"] in known]
    return {row["model_name"].lower(): row["canonical_id"] for row in rows}


@cache
def _parsed(config: str) -> Architecture:
    try:
        return architecture.parse(json.loads(config))
    except (json.JSONDecodeError, architecture.UnsupportedArchitecture) as fault:
        raise UnderSpecified(f"configuration not readable: {fault}") from fault


@cache
def _catalogue_model(model_id: str, hint: str) -> Architecture:
    """The catalogue's model; with fewer layers where the hint says that only so many were run."""
    fewer = HINTED_LAYERS.search(hint)
    whole = architecture.presets()[model_id]
    if not fewer or "hidden=" in hint or int(fewer[1]) >= whole.layers:
        return whole
    config = json.loads(
        resources.files("roofline")
        .joinpath(f"data/models/{model_id.replace('/', '__')}.json")
        .read_text(encoding="utf-8")
    )
    config["num_hidden_layers"] = int(fewer[1])
    for key, value in config.items():
        if isinstance(value, list) and len(value) >= whole.layers:
            config[key] = value[: int(fewer[1])]
    try:
        return architecture.parse(config, name=f"{whole.name}, {fewer[1]} layers")
    except architecture.UnsupportedArchitecture:
        return whole


@cache
def _hinted(hint: str, params_b: str) -> Architecture:
    try:
        return architecture.from_hint(hint, float(params_b) if params_b else None)
    except architecture.UnsupportedArchitecture as fault:
        raise UnderSpecified("size or architecture of the model not stated") from fault
