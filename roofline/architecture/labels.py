"""The catalogue model that a label means, as people write labels in tables: another organisation, a quantised or tuned
copy, other separators, parts left out. Looser than `resolve`, which a scenario's own words go through."""

import math
import re
from functools import cache, lru_cache
from typing import NamedTuple

from roofline.architecture.model import Architecture
from roofline.architecture.presets import configurations, names, presets

# Words that say how a copy is stored or tuned, not what its dimensions are.
STORED = re.compile(
    r"(?:nv|mx)?fp\d+(?:-v\d)?|bf16|f16|f32|int\d+|u?int\d+|i?q\d(?:[_-](?:[0-9km]|xx?s|[sml]|xl|nl)(?![a-z0-9.]))*|ud|w\d+a\d+\w*"
    r"|wna16|awq|gptq|gguf|ggml|bnb|nf4|exl\d|mlx|hqq|aqlm|autoround|marlin|\d+-?bits?|\d+bpw|g128|quantized|quant|qat"
    r"|dynamic|static|per-?tensor|per-?channel|fp8kv|kv|mtp|eagle\d?"
)
TUNED = re.compile(
    r"instruct|inst|chat|it|base|hf|pt|text|raw|omitted|keys|thinking|preview|sft|dpo|rlhf|latest|meta|nvidia|\d{4}|v0[.\d]*|v1\.0"
    r"|\d+k|1m|debug"
)
# Words that tell sizes of one family apart where no number does.
QUALIFIERS = re.compile(
    r"xx?l|nano|micro|tiny|mini|small|medium|large|lite|flash|air|plus|pro|max|super|ultra|next|linear"
)
SIZE = re.compile(r"(?:\d+x)?\d+(?:\.\d+)?[bmt]|a\d+(?:\.\d+)?b|e\d+b")
TOTAL = re.compile(r"(\d+(?:\.\d+)?)([bmt])")
ACTIVE = re.compile(r"a(\d+(?:\.\d+)?)b")
UNITS = {"m": 1e-3, "b": 1.0, "t": 1e3}  # 10^9 parameters
NEAR = 0.1  # a size in a name is rounded: 70B has 70.6e9
DISTILLED = {  # their names hold two models: the second gives the dimensions
    "deepseek-r1-distill-llama-8b": "meta-llama/Meta-Llama-3.1-8B",
    "deepseek-r1-distill-llama-70b": "meta-llama/Llama-3.3-70B-Instruct",
    "deepseek-r1-distill-qwen-1.5b": "Qwen/Qwen2.5-1.5B",
    "deepseek-r1-distill-qwen-7b": "Qwen/Qwen2.5-7B-Instruct",
    "deepseek-r1-distill-qwen-14b": "Qwen/Qwen2.5-14B-Instruct",
    "deepseek-r1-distill-qwen-32b": "Qwen/Qwen2.5-32B-Instruct",
}

FORMATS = {
    "nvfp4": "nvfp4",
    "fp4": "nvfp4",
    "mxfp4": "mxfp4",
    "mxfp8": "mxfp8",
    "fp8": "fp8",
    "awq": "int4_g128",
    "gptq": "int4_g128",
    "int4": "int4_g128",
    "w4a16": "int4_g128",
    "int8": "int8",
    "w8a8": "int8",
}

Words = tuple[str, ...]


class Size(NamedTuple):
    """What a name says of the size, in 10^9; `active` is nan where it does not."""

    total: float
    active: float


def labelled(label: str) -> Architecture | None:
    """The shipped model that `label` means, or None where none or several may be meant.

    >>> labelled("RedHatAI/Qwen3-8B-FP8-dynamic").name, labelled("NousResearch/Hermes-3-Llama-3.1-8B").name
    ('Qwen/Qwen3-8B', 'meta-llama/Meta-Llama-3.1-8B')
    """
    name = _found(label)
    return presets().get(name) if name else None


@lru_cache(maxsize=4096)
def _found(label: str) -> str | None:
    exact = names().get(label.strip().lower(), frozenset())
    if len(exact) == 1:
        return next(iter(exact))
    wanted = words(label)
    distilled = DISTILLED.get("-".join(wanted))
    if distilled:
        return distilled
    if not wanted:
        return None
    return _same(wanted) or _inside(wanted) or _shortened(wanted)


def words(label: str) -> Words:
    """The words of a label that tell one model from another, lower case, organisation and storage left out."""
    name = label.strip().lower().rstrip("/").rpartition("/")[2].removesuffix(".gguf")
    name = re.sub(r"[\s()\[\],:+]+", "-", name)
    name = re.sub(rf"(?<![a-z0-9.])(?:{STORED.pattern}|\d+-layers?)(?![a-z0-9.])", "-", name)
    name = re.sub(r"(?<=\d)_(?=\d)", ".", name)
    name = re.sub(r"(?<![a-z])([a-z]{3,})(\d)", r"\1-\2", name)  # llama3.1 and llama-3.1, qwen3 and qwen-3
    parts = (part for part in re.split(r"[-_]+", name) if part)
    return tuple(part for part in parts if not TUNED.fullmatch(part))


@cache
def _catalogue() -> dict[Words, str]:
    """Catalogue ids by their words; of several the one whose id says least beyond them."""
    found: dict[Words, str] = {}
    for name in sorted(configurations(), key=lambda one: (len(one.rpartition("/")[2]), one)):
        if name in presets():
            found.setdefault(words(name), name)
    return found


def _same(wanted: Words) -> str | None:
    return _catalogue().get(wanted)


def _inside(wanted: Words) -> str | None:
    """The longest catalogue name whose words the label holds in this order: a tuned copy of that model."""
    held = [known for known in _catalogue() if len(known) > 1 and _in_order(known, wanted) and _agrees(known, wanted)]
    longest = max(map(len, held), default=0)
    best = [known for known in held if len(known) == longest]
    return _catalogue()[best[0]] if len(best) == 1 else None


def _shortened(wanted: Words) -> str | None:
    """The catalogue name that the label leaves words out of, where one leaves out fewest."""
    if len(wanted) < 2 or not any(re.search(r"[a-z]{3}", word) for word in wanted):
        return None
    held = sorted((len(known), known) for known in _catalogue() if _in_order(wanted, known))
    if not held or (len(held) > 1 and held[0][0] == held[1][0]):
        return None
    return _catalogue()[held[0][1]]


def _in_order(few: Words, many: Words) -> bool:
    rest = iter(many)
    return all(word in rest for word in few)


def _agrees(known: Words, wanted: Words) -> bool:
    """Whether every size in the label is one that the catalogue's name states, or that its model has."""
    sized = any(SIZE.fullmatch(word) for word in known)
    if not sized and any(QUALIFIERS.fullmatch(word) for word in wanted if word not in known):
        return False
    sizes = [word for word in wanted if SIZE.fullmatch(word) and word not in known]
    if not sizes:
        return True
    total = presets()[_catalogue()[known]].total_params / 1e9
    stated = stated_size("-".join(sizes))
    return stated is not None and len(sizes) == 1 and abs(stated.total / total - 1) <= NEAR


def named_format(label: str) -> str:
    """The weight format that the name of a quantised copy states; empty where it states none.

    >>> named_format("nvidia/Llama-3.1-70B-Instruct-FP8"), named_format("Qwen/Qwen3-8B"), named_format("x-AWQ")
    ('fp8', '', 'int4_g128')
    """
    parts = re.split(r"[-_.]+", label.lower().rpartition("/")[2])
    return next((FORMATS[part] for part in parts if part in FORMATS), "")


def stated_size(label: str) -> Size | None:
    """The size that a name states; None where it states none, or only one of several experts (8x7B).

    >>> stated_size("Some-MoE-80B-A3B-Instruct-FP8"), stated_size("MPT-350M").total
    (Size(total=80.0, active=3.0), 0.35)
    """
    total = math.nan
    for word in _parts(label):
        if found := TOTAL.fullmatch(word):
            total = float(found[1]) * UNITS[found[2]] if math.isnan(total) else total
    return None if math.isnan(total) else Size(total, stated_active(label))


def stated_active(label: str) -> float:
    """The active parameters that a name states, 10^9; nan where it states none.

    >>> stated_active("Hunyuan-A13B-Instruct")
    13.0
    """
    found = [match for word in _parts(label) if (match := ACTIVE.fullmatch(word))]
    return float(found[-1][1]) if found else math.nan


def _parts(label: str) -> list[str]:
    return re.split(r"[\s/_():\-]+", label.lower())
