"""The accelerator that a label means, as people write labels in tables: vendor and product words, form factor and
memory in any order or left out."""

import csv
import math
import re
from functools import cache, lru_cache
from importlib import resources

from roofline.hardware import Gpu, presets
from roofline.units import GIB

FORM = re.compile(r"\d+gb|pcie|sxm\d*|oam|nvl")
MEMORY = re.compile(r"(?<![a-z0-9.])(?<!\d-)(\d{1,3}) ?g(?:i?b)(?![a-z])")
COUNT = re.compile(
    r"(?<![a-z0-9])(?:\d{1,4} ?x|x ?\d{1,4})(?![a-z0-9])|(?<![a-z0-9])\d+x(?=[a-z])|(?<=\d)x\d+(?![a-z0-9])"
)
SEVERAL = " + "  # of several kinds: none of them stands for all
# Cut-down chips under a desktop name: not the accelerator of the catalogue.
CUT_DOWN = ("laptop", "mobile", "max-q", "mig")
USUAL_FORM = ("sxm", "oam")  # where a label does not say: what most machines of that chip have
SAME_MEMORY = 0.12  # labels say 80 where the driver says 79.2, or 270 where the datasheet says 288


def gpu_labelled(label: str, memory_gb: float = math.nan) -> Gpu | None:
    """The shipped accelerator that `label` (a slug, a known label or words) means; None where none is meant.

    `memory_gb` (nan: not stated) decides between variants of one chip.

    >>> gpu_labelled("NVIDIA H100 80GB HBM3").slug, gpu_labelled("8x A100 PCIe 40GB").slug, gpu_labelled("24GB")
    ('h100-sxm5-80gb', 'a100-pcie-40gb', None)
    """
    slug = _slug(label.strip().lower(), memory_gb if memory_gb > 0 else -1.0)
    return presets()[slug] if slug else None


def stated_memory(label: str) -> float:
    """GB that a label states; nan where it does not."""
    found = MEMORY.search(label.lower())
    return float(found[1]) if found else math.nan


@lru_cache(maxsize=4096)
def _slug(label: str, memory_gb: float) -> str:
    if label in presets():
        return label
    known = aliases().get(label, {})
    if memory_gb in known:
        return known[memory_gb]
    return _worded(label, memory_gb) or next(iter(known.values()), "")


def _worded(label: str, memory_gb: float) -> str:
    """The slug whose words the label holds, of variants the likeliest."""
    text = _plain(label)
    if SEVERAL in label or any(word in text for word in CUT_DOWN):
        return ""
    fits = [slug for slug in presets() if _names(_base(slug), text)]
    longest = max((len(_base(slug)) for slug in fits), default=0)
    fits = [slug for slug in fits if len(_base(slug)) == longest]
    memory = memory_gb if memory_gb > 0 else stated_memory(label)
    words = set(text.split("-"))
    return max(fits, key=lambda slug: _likeness(slug, words, memory), default="")


def _plain(label: str) -> str:
    text = COUNT.sub(" ", label.replace("+", " "))
    text = re.sub(r"(?<![a-z])rtx(?=\d)", "rtx-", re.sub(r"gaudi[ -](?=\d)", "gaudi", text))
    return re.sub(r"[\s_/(),-]+", "-", text).strip("-")


def _names(base: str, text: str) -> bool:
    """Whether the words of a chip stand in a label, in their order: rtx-pro-6000-server in RTX PRO 6000 Blackwell Server."""
    rest = iter(re.split(r"-", text))
    chip = base.removeprefix("rtx-").split("-")
    return all(any(_is(word, given) for given in rest) for word in chip)


def _is(word: str, given: str) -> bool:
    return given == word or bool(re.fullmatch(rf"{re.escape(word)}(?:sxm\d?|pcie|nvl|oam)", given))


def _likeness(slug: str, words: set[str], memory_gb: float) -> tuple[bool, int, bool]:
    same = math.isnan(memory_gb) or abs(memory_gb * GIB / presets()[slug].memory_bytes - 1) <= SAME_MEMORY
    own = slug.split("-")
    stated = sum(any(word in given for given in words) for word in own if FORM.fullmatch(word))
    return same, stated, any(word.startswith(USUAL_FORM) for word in own)


@cache
def _base(slug: str) -> str:
    """The part of a slug that names the chip: rtx-3090-ti, h100, max-1550."""
    return "-".join(word for word in slug.split("-") if not FORM.fullmatch(word))


@cache
def aliases() -> dict[str, dict[float, str]]:
    """Catalogue slugs by label, lower case, and by the memory in GB stated beside it (-1: none)."""
    found: dict[str, dict[float, str]] = {}
    with resources.files("roofline").joinpath("data/gpu_aliases.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["slug"] in presets():
                by_memory = found.setdefault(row["gpu"].strip().lower(), {})
                by_memory.setdefault(float(row["gpu_mem_gb"] or -1.0), row["slug"])
    return found
