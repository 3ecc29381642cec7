"""Which architecture a configuration describes, and which part of it is the language model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roofline.architecture.errors import UnsupportedArchitecture
from roofline.architecture.families import FAMILIES, class_defaults, refused, wrappers
from roofline.architecture.family import Family
from roofline.architecture.reading import ALIASES, CORE, canonical

NESTS = ("text_config", "llm_config", "language_config", "thinker_config", "language_model_config", "text_model_config")
# Endings of class names that tell the task, longest first.
TASKS = ("ForConditionalGeneration", "ForCausalLM", "LMHeadModel", "ForVision2Seq", "Model")
ENCODER_TASKS = ("ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForPreTraining", "ForImageClassification")
LLAMA_LIKE = Family(qkv_bias="attention_bias|qkv_bias|use_bias|bias|use_qkv_bias", o_bias="attention_bias|use_bias|bias", mlp_bias="mlp_bias|use_bias|bias", qk_norm="head", qk_norm_if="use_qk_norm|qk_norm", window="declared")


@dataclass(slots=True)
class Subject:
    """The language model inside a configuration."""

    model_type: str
    family: Family
    text: Mapping[str, Any]
    defaults: Mapping[str, Any]
    wrapper: str = ""
    warnings: list[str] = field(default_factory=list)


def identify(config: Mapping[str, Any]) -> Subject:
    """Find the language model, its family and the defaults for what its configuration leaves out."""
    outer = _model_type(config)
    _refuse(config, outer)
    text, nested = _innermost(config)
    inner = _model_type(text) if nested else outer
    kind = _known(inner) or _known(wrappers().get(outer, "")) if nested else _known(outer) or _known(wrappers().get(outer, ""))
    wrapper = outer if nested or outer in wrappers() else ""
    if kind is None:
        return _by_structure(config, text, inner or outer, wrapper)
    if nested and kind != inner:
        _refuse(text, inner)
    return _subject(kind, config, text, nested, wrapper)


def _subject(kind: str, config: Mapping[str, Any], text: Mapping[str, Any], nested: bool, wrapper: str) -> Subject:
    family = FAMILIES[kind]
    names = {**{alias: name for name, aliases in ALIASES.items() for alias in aliases}, **family.renames} if family.renames else None
    base = canonical(class_defaults().get(family.like or kind, {}), names)
    base.update(family.values)
    if nested:
        base.update(_tie(config, text, wrapper))
    else:
        base = {key: value for key, value in base.items() if key not in CORE}
    return Subject(kind, family, text, base, wrapper, _defaulted(text, base, nested, family))


def _tie(config: Mapping[str, Any], text: Mapping[str, Any], wrapper: str) -> dict[str, Any]:
    """Tied embeddings: the nested word, then the outer one, then the class default of the wrapper."""
    for source in (text, config, class_defaults().get(wrapper, {})):
        if isinstance(source.get("tie_word_embeddings"), bool):
            return {"tie_word_embeddings": source["tie_word_embeddings"]}
    return {}


def _defaulted(text: Mapping[str, Any], base: Mapping[str, Any], nested: bool, family: Family) -> list[str]:
    if not nested:
        return []
    given = canonical(text, family.renames)
    absent = [name for name in CORE if name not in given and name in base]
    return [f"class defaults stand in for {', '.join(absent)}"] if absent else []


def _by_structure(config: Mapping[str, Any], text: Mapping[str, Any], kind: str, wrapper: str) -> Subject:
    """An unknown model_type whose keys are those of Llama is read as Llama with what the keys say."""
    shown = kind or "unknown"
    given = canonical(text)
    missing = [name for name in CORE if given.get(name) is None]
    if missing:
        raise UnsupportedArchitecture(f"{shown}: unknown architecture, and the configuration does not state {', '.join(missing)}", fields=tuple(missing))
    defaults = {"tie_word_embeddings": False, **_tie(config, text, wrapper)}
    note = f"{shown} is no known architecture: read by its keys as a Llama-like decoder"
    return Subject(shown, LLAMA_LIKE, text, defaults, wrapper, [note])


def _innermost(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The nested configuration of the language model, however deep, and whether there was one."""
    text, nested = config, False
    for _ in range(4):
        inner = next((text[key] for key in NESTS if isinstance(text.get(key), Mapping)), None)
        if inner is None:
            break
        text, nested = inner, True
    return text, nested


def _model_type(config: Mapping[str, Any]) -> str:
    value = config.get("model_type")
    if isinstance(value, str) and value:
        return value.lower()
    names = config.get("architectures")
    name = names[0] if isinstance(names, list | tuple) and names and isinstance(names[0], str) else ""
    for task in TASKS:
        if name.endswith(task):
            return name[: -len(task)].lower()
    return name.lower()


def _known(kind: str) -> str | None:
    """The family's key for a model_type, in whatever spelling."""
    if kind in FAMILIES:
        return kind
    plain = _plain(kind)
    return next((key for key in FAMILIES if _plain(key) == plain), None) if plain else None


def _plain(kind: str) -> str:
    return kind.replace("_", "").replace("-", "")


def _refuse(config: Mapping[str, Any], kind: str) -> None:
    """Encoders and encoder-decoders have no decoder-only cache to plan for."""
    reason = refused().get(kind)
    names = config.get("architectures")
    name = names[0] if isinstance(names, list | tuple) and names and isinstance(names[0], str) else ""
    if reason is None and name.endswith(ENCODER_TASKS):
        reason = "an encoder"
    if reason is None and config.get("is_encoder_decoder") is True:
        reason = "an encoder-decoder"
    if reason is not None:
        raise UnsupportedArchitecture(f"{kind or name} is {reason}, not a decoder-only language model")
