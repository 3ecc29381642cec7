"""What the words of a table of training runs mean: frameworks, precisions, dates, accelerators and models."""

import math
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache

from roofline import architecture
from roofline.architecture import Architecture
from roofline.hardware import Gpu, presets
from roofline.units import GIB, TERA
from roofline.validation.gpu_labels import gpu_labelled
from roofline.validation.model_labels import NO_MODEL, UnderSpecified, configured, known, named, number, sized
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
NODE_SIZE = re.compile(r"(\d+) GPUs per node")


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


def precision_in(row: Row, gpu: Gpu) -> str:
    """The precision of a row. Entries of MLPerf rounds that leave it blank run in 8 bit where the hardware can: all that state one do, and
    in 16 bit some would exceed the roof."""
    stated = row.get("precision", "")
    unstated = not stated and row.get("source", "").startswith(ROUNDS)
    return "fp8" if unstated and gpu.peak("fp8") else precision_of(stated)


def gpu_of(row: Row) -> Gpu:
    """The accelerator of a row: its slug decides over its label. Raises UnderSpecified."""
    slugs, slug, label = presets(), row.get("gpu_slug", "").lower(), row.get("gpu", "")
    memory = number(row.get("gpu_mem_gb", ""))
    found = slugs.get(slug) or gpu_labelled(slug, memory) or gpu_labelled(label, memory)
    if found is None:
        raise UnderSpecified("GPU not in the catalogue" if label or slug else "GPU not stated")
    return _variant(row, found)


def _variant(row: Row, gpu: Gpu) -> Gpu:
    """The accelerator as a source had it: in smaller nodes where the interconnect column says so; the PyTorch teams' H100 is one of 500 W
    with 96 GB of HBM2e where no memory size is stated.
    """
    if node := NODE_SIZE.search(row.get("interconnect", "")):
        gpu = replace(gpu, gpus_per_node=int(node[1]), domain=min(gpu.domain, int(node[1])))
    theirs = row.get("source", "").startswith(LOW_POWER_SOURCES) and not row.get("gpu_mem_gb")
    if gpu.slug == "h100-sxm5-80gb" and theirs:
        return replace(gpu, tdp_watts=500.0, bandwidth=2.4 * TERA, memory_bytes=0.99 * 96 * GIB)
    return gpu


def model_of(row: Row) -> Architecture:
    """The architecture of a row: its configuration, else the catalogue model, else the dimensions of the hint, else what
    its names mean, else typical dimensions of the stated size. Raises UnderSpecified."""
    found = configured(row.get("config_json", ""))
    if found:
        return found
    hint, model_id = row.get("arch_hint", ""), row.get("model_id", "")
    if "hidden=" in hint and model_id not in architecture.presets():
        return _hinted(hint, row.get("params_b", ""))
    found = named("training", model_id, row.get("model_name", ""))
    return _with_layers(found, hint) if found else sized(row)


def is_guessed(row: Row) -> bool:
    """Whether only a tuned copy's name or a size says what was run: such a row is predicted, but nothing is fitted to it."""
    if "hidden=" in row.get("arch_hint", "") or row.get("config_json"):
        return False
    return not known("training", row.get("model_id", "") or row.get("model_name", ""))


@cache
def _with_layers(whole: Architecture, hint: str) -> Architecture:
    """The catalogue's model; with fewer layers where the hint says that only so many were run."""
    fewer = HINTED_LAYERS.search(hint)
    shipped = architecture.configurations().get(whole.name)
    if not fewer or shipped is None or "hidden=" in hint or int(fewer[1]) >= whole.layers:
        return whole
    config = deepcopy(shipped)
    text = config.get("text_config") or config
    text["num_hidden_layers"] = int(fewer[1])
    for key, value in text.items():
        if isinstance(value, list) and len(value) >= whole.layers:
            text[key] = value[: int(fewer[1])]
    try:
        return architecture.parse(config, name=f"{whole.name}, {fewer[1]} layers")
    except architecture.UnsupportedArchitecture:
        return whole


@cache
def _hinted(hint: str, params_b: str) -> Architecture:
    try:
        size = number(params_b)
        return architecture.from_hint(hint, size if size > 0 else None)
    except architecture.UnsupportedArchitecture as fault:
        raise UnderSpecified(NO_MODEL) from fault
