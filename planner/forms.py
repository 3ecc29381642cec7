"""The what-if form, derived from the declared scenario fields; and the small forms around saved scenarios."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner.models import Scenario
from planner.queries import flat_values, plain_number
from planner.space import is_range, range_text
from roofline.fields import BY_PATH, FIELDS, Field
from roofline.scenario import DEFAULT_OPTIMIZATIONS

# Shown at once, in this order; all others are folded into their group.
FIRST = {
    "inference": (
        "model",
        "gpu",
        "gpu_count",
        "parallelism.tp",
        "inference.weights",
        "inference.kv_cache",
        "inference.input_tokens",
        "inference.output_tokens",
        "inference.concurrency",
        "inference.engine",
    ),
    "training": (
        "model",
        "gpu",
        "gpu_count",
        "training.method",
        "training.precision",
        "training.seq_len",
        "training.global_batch",
        "training.total_tokens",
        "training.recompute",
        "parallelism.zero_stage",
    ),
}
SHORT = {
    "inference": ("model", *FIRST["inference"][4:], "inference.slo.ttft_s", "inference.slo.tpot_s"),
    "training": ("model", "gpu_count", *FIRST["training"][3:]),
}
GROUP_TITLES = {
    "what": gettext_lazy("Name the model or the hardware in another way"),
    "parallelism": gettext_lazy("Parallelism and network"),
    "optimizations": gettext_lazy("Optimizations"),
    "price": gettext_lazy("Price and use"),
    "inference": gettext_lazy("Engine details"),
    "training": gettext_lazy("Training details"),
}
NOT_IN_FORM = frozenset({"name", "workload"})
LISTS = {"model": "model-names", "gpu": "gpu-names"}
WIDE = frozenset({"model", "gpu", "model_config", "gpu_spec", "price.tco", "optimizations"})


@dataclass
class Input:
    """One field as the form shows it."""

    field: Field
    text: str = ""  # what was typed
    hint: str = ""  # what holds while nothing is typed: the default, or what the planner chose
    origin: str = ""
    errors: list[str] = dataclasses.field(default_factory=list)
    options: list[tuple[str, str, bool]] = dataclasses.field(default_factory=list)
    ranges: bool = False

    @property
    def name(self) -> str:
        return self.field.path

    @property
    def id(self) -> str:
        return f"f-{self.field.path.replace('.', '-')}"

    @property
    def label(self) -> str:
        return _(self.field.label)

    @property
    def help(self) -> str:
        return _(self.field.help)

    @property
    def list(self) -> str:
        return LISTS.get(self.field.path, "")

    @property
    def wide(self) -> bool:
        return self.field.path in WIDE

    @property
    def widget(self) -> str:
        kinds = {"choice": "select", "boolean": "select", "object": "textarea", "choices": "checkboxes"}
        widget = kinds.get(self.field.kind, "number" if self.field.kind in ("integer", "number", "count") else "text")
        return "many" if self.ranges and widget == "select" else widget


@dataclass
class Group:
    """Fields that are folded together."""

    key: str
    title: str
    inputs: list[Input]

    @property
    def open(self) -> bool:
        """A group opens where something in it was given or is wrong."""
        return any(entry.errors or (entry.text and entry.origin == "given") for entry in self.inputs)


@dataclass
class PlanForm:
    """Everything the form template needs."""

    workload: str
    first: list[Input]
    groups: list[Group]
    errors: list[str]  # what belongs to no single field
    ranges: bool = False


def plan_form(
    scenario: Mapping[str, Any],
    *,
    result: Mapping[str, Any] | None = None,
    errors: Mapping[str, list[str]] | None = None,
    ranges: bool = False,
    short: bool = False,
) -> PlanForm:
    """The form of a scenario: what was typed, what the planner chose for the rest, and what is wrong where."""
    workload = scenario.get("workload")
    workload = workload if workload in FIRST else "inference"
    given, used = dict(flat_values(scenario)), dict(flat_values(result["scenario"])) if result else {}
    origins = result["origins"] if result else {}
    inputs = {
        entry.path: _input(entry, given, used, origins, (errors or {}).get(entry.path, []), str(workload), ranges)
        for entry in FIELDS
        if entry.path not in NOT_IN_FORM and entry.workload in (None, workload)
    }
    first = [path for path in (SHORT if short else FIRST)[str(workload)] if path in inputs]
    groups = [] if short else _groups(inputs, first)
    loose = [message for path, messages in (errors or {}).items() if path not in inputs for message in messages]
    return PlanForm(str(workload), [inputs[path] for path in first], groups, loose, ranges)


def chosen_values(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the planner filled in, by path, for the hints of the form; and which suggestions were displaced."""
    used = dict(flat_values(result["scenario"]))
    origins = result["origins"]
    displaced = {path: {"clear": True} for path in ("model", "gpu") if path not in used}
    return displaced | {
        path: {
            "text": words(_shown(value)) if BY_PATH[path].choices else _shown(value),
            "origin": origins[path],
            "said": str(_("chosen")),
        }
        for path, value in used.items()
        if path in BY_PATH and origins.get(path) in ("chosen", "default") and not isinstance(value, list | dict)
    }


def _groups(inputs: Mapping[str, Input], first: Iterable[str]) -> list[Group]:
    rest = [entry for path, entry in inputs.items() if path not in set(first)]
    return [
        Group(key, str(title), [entry for entry in rest if entry.field.group == key])
        for key, title in GROUP_TITLES.items()
        if any(entry.field.group == key for entry in rest)
    ]


def _input(
    declared: Field,
    given: Mapping[str, Any],
    used: Mapping[str, Any],
    origins: Mapping[str, str],
    errors: list[str],
    workload: str,
    ranges: bool,
) -> Input:
    path = declared.path
    value = given.get(path)
    hint = _shown(used.get(path, declared.default))
    hint = words(hint) if declared.choices and hint else hint
    origin = "given" if path in given else origins.get(path, "")
    return Input(declared, _shown(value), hint, origin, list(errors), _options(declared, value, hint, workload), ranges)


def _options(declared: Field, value: Any, hint: str, workload: str) -> list[tuple[str, str, bool]]:
    if declared.kind == "choices":
        on = DEFAULT_OPTIMIZATIONS[workload] if value is None else value
        on = [] if is_range(on) else on
        return [(word, words(word), word in on) for word in declared.choices]
    picked = [_shown(entry) for entry in value["values"]] if is_range(value) and "values" in value else [_shown(value)]
    if declared.kind == "boolean":
        return [("true", str(_("on")), "true" in picked), ("false", str(_("off")), "false" in picked)]
    return [(word, words(word), word in picked) for word in declared.choices]


def words(name: str) -> str:
    """A name of the format as people read it."""
    special = {
        "vllm": "vLLM",
        "sglang": "SGLang",
        "tensorrt_llm": "TensorRT-LLM",
        "llama_cpp": "llama.cpp",
        "cuda": "CUDA",
        "metal": "Metal",
        "rocm": "ROCm",
        "rocblas": "ROCm, rocBLAS",
        "vulkan": "Vulkan",
        "vulkan_amdvlk": "Vulkan, AMDVLK",
        "sycl": "SYCL",
        "inference": "serving",
    }
    return special.get(name, name.replace("_", " "))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if is_range(value):
        return range_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return plain_number(value)
    return json.dumps(value, indent=1) if isinstance(value, dict) else str(value)


class ScenarioForm(forms.Form):
    """Name, tags and notes of a saved scenario."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=200)
    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        max_length=400,
        required=False,
        help_text=gettext_lazy("Words, separated by commas."),
    )
    notes = forms.CharField(label=gettext_lazy("Notes"), required=False, widget=forms.Textarea(attrs={"rows": 3}))

    @classmethod
    def of(cls, scenario: Scenario) -> ScenarioForm:
        """The form filled from a row."""
        tags = ", ".join(tag.name for tag in scenario.tags.all())
        return cls(initial={"name": scenario.name, "tags": tags, "notes": scenario.notes})

    def clean_tags(self) -> list[str]:
        """The words as tags, each once."""
        return tag_names(self.cleaned_data["tags"].split(","))


def tag_names(words_given: Iterable[str]) -> list[str]:
    """Tags as they are kept: lower case, hyphens, each once."""
    return list(dict.fromkeys(name for word in words_given if (name := slugify(word)[:40])))
