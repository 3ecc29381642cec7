"""Names as result files write them, found in the catalogues: with vendor words, folders and quantisation suffixes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchmarks_ingest.parsers.guess import find_gpu
from faces.names import NameBook
from gpus.selectors import GpuBook, gpu_book
from llms.selectors import ModelBook, model_book
from roofline.architecture import Architecture
from roofline.errors import ScenarioError
from roofline.hardware import Gpu, HardwareError

VENDOR = re.compile(r"(?i)\b(nvidia|amd|instinct|geforce|intel|google|gpu|graphics|accelerator)\b")
MEMORY = re.compile(r"(?i)[\s_-]*\b\d{2,3}\s?GB\b")
STORED_AS = re.compile(
    r"(?i)[-_.](?:fp8(?:[-_]dynamic|[-_]kv|[-_]block)?|nvfp4|fp4|mxfp4|awq|gptq|int[48]|w\da\d+|bnb(?:[-_]4bit)?|4bit|8bit|gguf|bf16|f16|fp16"
    r"|quantized|i?q\d(?:[-_]k)?(?:[-_](?:xxl|xl|xs|s|m|l|0|1))?|ud|dynamic|instruct|chat|it|hf|tput)$"
)


@dataclass(frozen=True)
class Books:
    """Both catalogues at one moment, for many runs."""

    gpus: GpuBook
    models: ModelBook

    @classmethod
    def now(cls, user: Any = None) -> Books:
        """The catalogues as they stand."""
        return cls(gpu_book(user), model_book(user))

    def gpu_slug(self, label: str | None) -> str:
        """The accelerator's id, or "" where the label means none or several."""
        return _found(self.gpus.names, label, _gpu_candidates) if label else ""

    def model_name(self, label: str | None) -> str:
        """The model's id, or ""."""
        return _found(self.models.names, label, _model_candidates) if label else ""

    def gpu(self, slug: str) -> Gpu | None:
        """The engine value of an id; None where the catalogue does not know enough of it."""
        return self.gpus.values.get(slug)

    def architecture(self, name: str) -> Architecture | None:
        """The model of an id; None where the engine cannot size it."""
        if len(self.models.names.matches(name)) != 1:
            return None
        try:
            return self.models.resolve(name)
        except (ScenarioError, HardwareError):
            return None

    def kind(self, name: str) -> str:
        """dense, moe, mla or hybrid; "" for an unknown model."""
        found = self.architecture(name)
        return found.columns().kind if found else ""


def _found(names: NameBook, label: str, candidates: Any) -> str:
    kept = _CACHES.get(candidates)
    if kept is None or kept.names is not names:
        kept = _CACHES[candidates] = _LookUps(names, candidates)
    return kept.resolve(label[:300])


class _LookUps:
    """Look-ups in one book: ten thousand runs of a file share a few labels. A changed catalogue has a new book."""

    def __init__(self, names: NameBook, candidates: Any) -> None:
        self.names = names
        self.candidates = candidates
        self.resolve = lru_cache(maxsize=4096)(self._resolve)

    def _resolve(self, label: str) -> str:
        for candidate in self.candidates(label):
            found = self.names.matches(candidate)
            if len(found) == 1:
                return found[0]
        return ""


_CACHES: dict[Any, _LookUps] = {}


def _gpu_candidates(label: str) -> Iterator[str]:
    """The label, without the maker's words, without its memory, the chip that is named in it."""
    yield label
    bare = " ".join(VENDOR.sub(" ", label.replace("_", " ")).split())
    yield bare
    yield MEMORY.sub("", bare).strip()
    inside = re.search(r"\(([^()]*)\)", label)
    if inside:
        yield from _gpu_candidates(inside[1])
        return
    named, _count = find_gpu(label)
    if named:
        yield named
        yield MEMORY.sub("", named).strip()


def _model_candidates(label: str) -> Iterator[str]:
    """The label, its last folder, and that without how it is stored, suffix by suffix."""
    yield label
    last = label.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    last = re.sub(r"\.(?:gguf|safetensors|bin)$", "", last)
    yield last
    yield last.replace("_", "/", 1)
    bare = last
    while (shorter := STORED_AS.sub("", bare)) != bare:
        bare = shorter
        yield bare
    organisation, _, rest = bare.partition("_")
    if organisation and rest:
        yield rest
