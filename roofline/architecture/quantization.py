"""A configuration's quantization_config: which format the weights are stored in, and which modules stay at 16 bit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

MOST_EXPRESSIONS, LONGEST_EXPRESSION, MOST_REPEATS = 64, 300, 3
# A repeat of anything but a digit. Configurations come from anybody: repeats within repeats, and many in a row, take a
# regular expression longer than anyone waits.
REPEAT, REPEATED_GROUP = re.compile(r"(?<!\\)(?<!\\d)[*+{]"), re.compile(r"(?<!\\)\)[*+{]")
GROUP = 128  # usual group of 4-bit integers where the configuration is silent
EXCEPTIONS = (
    "modules_to_not_convert",
    "ignore",
    "exclude_modules",
    "ignored_layers",
    "exclude",
    "llm_int8_skip_modules",
    "modules_to_not_quantize",
)


@dataclass(frozen=True, slots=True)
class Quantization:
    """How the weights of a checkpoint are stored.

    `weights` is the scenario format nearest to it (fp8, fp8_block, int4_g128 …), `experts` that of routed experts
    where they differ.
    `only_experts`: nothing else is quantised. `exceptions` are the patterns of modules that stay at 16 bit, `unread`
    those that were not understood.
    """

    method: str
    weights: str
    bits: float
    group_size: int = 0
    experts: str = ""
    only_experts: bool = False
    exceptions: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def expert_format(self) -> str:
        return self.experts or self.weights

    def is_exception(self, names: Sequence[str]) -> bool:
        """Whether one of these spellings of a module is kept at 16 bit. Names start at `layers.` (or are `lm_head`)."""
        return any(_matches(self.exceptions, name) for name in names)


def _matches(patterns: tuple[str, ...], name: str) -> bool:
    plain, wild = _sorted(patterns)
    words = name.split(".")
    runs = (".".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1))
    return any(run in plain for run in runs) or any(_matches_wild(pattern, name) for pattern in wild)


@lru_cache(maxsize=512)
def _sorted(patterns: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Names to look up, and the rest: wildcards and regular expressions."""
    wild = tuple(pattern for pattern in patterns if "*" in pattern or pattern.startswith("re:"))
    return frozenset(patterns) - set(wild), wild


def _matches_wild(pattern: str, name: str) -> bool:
    if pattern.startswith("re:"):
        return re.search(pattern[3:].lstrip("^"), f"model.{name}") is not None
    return fnmatchcase(name, pattern) or fnmatchcase(f"model.{name}", pattern)


def parse_quantization(config: Mapping[str, Any]) -> Quantization | None:
    """The quantisation that a checkpoint states.

    None where it states none or one that has no name among the formats.
    """
    section = config.get("quantization_config")
    if not isinstance(section, Mapping):
        return None
    nested = section.get("quantization")
    section = nested if isinstance(nested, Mapping) else section
    method = str(section.get("quant_method") or section.get("quant_algo") or "").lower()
    stored = _stored(method, section)
    if stored is None:
        return None
    weights, bits, group = stored
    experts = "mxfp4" if str(config.get("expert_dtype") or section.get("expert_dtype") or "").lower() == "fp4" else ""
    only_experts = method == "mxfp4"
    named = _exceptions(section)
    expressions = [name for name in named if name.startswith("re:")]
    known = {name for name in expressions if _is_readable(name[3:])} & set(expressions[:MOST_EXPRESSIONS])
    read = tuple(name for name in named if not name.startswith("re:") or name in known)
    unread = tuple(name for name in expressions if name not in known)
    return Quantization(method or weights, weights, bits, group, experts, only_experts, read, unread)


def _exceptions(section: Mapping[str, Any]) -> tuple[str, ...]:
    names: list[str] = []
    for key in EXCEPTIONS:
        value = section.get(key)
        if isinstance(value, list | tuple):
            names += [_from_layers(item) for item in value if isinstance(item, str) and item]
    return tuple(dict.fromkeys(names))


def _is_readable(text: str) -> bool:
    """Whether a text is a regular expression that is matched in no time."""
    if len(text) > LONGEST_EXPRESSION or len(REPEAT.findall(text)) > MOST_REPEATS or REPEATED_GROUP.search(text):
        return False
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _from_layers(pattern: str) -> str:
    """`model.language_model.layers.3.mlp` and `layers.3.mlp` name the same module."""
    if pattern.startswith(("re:", "*")):
        return pattern
    place = pattern.find("layers.")
    return pattern[place:] if place > 0 else pattern


def _stored(method: str, section: Mapping[str, Any]) -> tuple[str, float, int] | None:
    """(format, bits, group size) by the quantisation method."""
    if method in ("fp8", "fbgemm_fp8", "finegrained_fp8"):
        return ("fp8_block", 8, 0) if section.get("weight_block_size") else ("fp8", 8, 0)
    if method in ("awq", "gptq", "auto-round", "autoround", "hqq", "gptq_marlin", "awq_marlin"):
        bits = _number(section.get("bits") or section.get("w_bit") or section.get("nbits"), 4)
        return ("int8" if bits == 8 else "int4_g128", bits, int(_number(section.get("group_size"), GROUP)))
    if method in ("bitsandbytes", "bitsandbytes_4bit", "bitsandbytes_8bit"):
        return ("nf4", 4, 64) if section.get("load_in_4bit") or method.endswith("4bit") else ("int8", 8, 0)
    if method in ("mxfp4", "mxfp8", "nvfp4"):
        return method, 8 if method == "mxfp8" else 4, 16 if method == "nvfp4" else 32
    if (
        method in ("compressed-tensors", "modelopt", "modelopt_fp4", "modelopt_mixed", "quark")
        or "quant_algo" in section
    ):
        return _by_groups(section) or _by_algorithm(section)
    return _by_algorithm(section)


def _by_algorithm(section: Mapping[str, Any]) -> tuple[str, float, int] | None:
    text = " ".join(
        str(section.get(key) or "") for key in ("quant_algo", "format", "quant_method", "quant_type")
    ).lower()
    for word, stored in (
        ("nvfp4", ("nvfp4", 4.0, 16)),
        ("mxfp4", ("mxfp4", 4.0, 32)),
        ("mxfp8", ("mxfp8", 8.0, 32)),
        ("w4a16", ("int4_g128", 4.0, GROUP)),
        ("w4a8", ("int4_g128", 4.0, GROUP)),
        ("int4", ("int4_g128", 4.0, GROUP)),
        ("fp8", ("fp8", 8.0, 0)),
        ("float8", ("fp8", 8.0, 0)),
        ("fp4", ("nvfp4", 4.0, 16)),
        ("w8a8", ("int8", 8.0, 0)),
        ("int8", ("int8", 8.0, 0)),
    ):
        if word in text:
            return stored
    return None


def _by_groups(section: Mapping[str, Any]) -> tuple[str, float, int] | None:
    """compressed-tensors and ModelOpt: the weights of the group with the fewest bits (the bulk of the model)."""
    groups = section.get("config_groups")
    found = []
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping):
            found.append(_by_weights(weights, str(section.get("format") or group.get("format") or "").lower()))
    return min(found, key=lambda stored: stored[1]) if found else None


def _by_weights(weights: Mapping[str, Any], layout: str) -> tuple[str, float, int]:
    bits, size = _number(weights.get("num_bits"), 8), int(_number(weights.get("group_size"), 0))
    if "float" in str(weights.get("type", "")).lower():
        if bits == 4:
            return ("mxfp4", 4, 32) if "mxfp4" in layout or size == 32 else ("nvfp4", 4, 16)
        if weights.get("strategy") == "block" or weights.get("block_structure"):
            return "fp8_block", 8, 0
        return ("mxfp8", 8, 32) if size == 32 else ("fp8", 8, 0)
    return ("int4_g128", bits, size or GROUP) if bits <= 4 else ("int8", 8, size)


def _number(value: Any, default: float) -> float:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 else default
    )
