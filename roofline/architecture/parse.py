"""From a configuration to an `Architecture`."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from roofline.architecture import build, special, vision
from roofline.architecture.errors import UnsupportedArchitecture
from roofline.architecture.family import Family
from roofline.architecture.identify import Subject, identify
from roofline.architecture.layers import Layer, LayerGroup
from roofline.architecture.model import Architecture
from roofline.architecture.quantization import Quantization, parse_quantization
from roofline.architecture.reading import Reader


def parse(config: Mapping[str, Any], *, name: str = "") -> Architecture:
    """A Hugging Face config.json, as it is, to an architecture with exact counts.

    Raises UnsupportedArchitecture where the configuration is of no decoder-only language model, leaves dimensions out
    or
    contradicts itself; the message names the architecture and the fields.
    """
    if not isinstance(config, Mapping):
        raise UnsupportedArchitecture(f"a configuration is an object with keys, not {type(config).__name__}")
    subject = identify(config)
    reader = Reader(subject.text, subject.defaults, model_type=subject.model_type, renames=subject.family.renames)
    draft = _assemble(reader, subject.family)
    reader.close()
    return _finish(config, subject, reader, draft, name)


def _assemble(reader: Reader, family: Family) -> build.Draft:
    builder = special.BUILDERS.get(family.special)
    try:
        return builder(reader, family) if builder else build.standard(reader, family)
    except UnsupportedArchitecture:
        reader.close()  # a missing dimension explains more than what followed from it
        raise


def _finish(config: Mapping[str, Any], subject: Subject, reader: Reader, draft: build.Draft, name: str) -> Architecture:
    stored = parse_quantization(config) or parse_quantization(subject.text)
    return Architecture(
        name=name or _own_name(config),
        model_type=subject.model_type,
        hidden=reader.dim("hidden_size"),
        vocab=reader.dim("vocab_size"),
        max_position=_max_position(reader),
        groups=_groups(draft.layers),
        embedding_params=draft.embedding,
        lm_head_params=draft.lm_head,
        lookup_params=draft.lookup,
        outer_norms=draft.norms,
        outer_biases=draft.biases,
        outer_other=draft.other,
        vision_params=vision.vision_params(config, subject, reader.dim("hidden_size")),
        quantization=stored,
        warnings=(*subject.warnings, *_unread(stored)),
        rope_table_factor=_rope_table_factor(subject.text),
    )


def _unread(stored: Quantization | None) -> Iterator[str]:
    """A sentence on the modules whose names were not understood."""
    if stored and stored.unread:
        names = ", ".join(name[:60] for name in stored.unread[:3])
        yield f"quantization_config: {names} cannot be read: what it names counts as quantised"


def _own_name(config: Mapping[str, Any]) -> str:
    value = config.get("_name_or_path")
    return value if isinstance(value, str) else ""


def _max_position(reader: Reader) -> int:
    value = reader.get("max_position_embeddings")
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1 << 40 else 0


def _rope_table_factor(text: Mapping[str, Any]) -> float:
    """The factor of linear rope scaling, stated once or for full attention; 1 for every other kind."""
    for key in ("rope_scaling", "rope_parameters"):
        stated = text.get(key)
        if isinstance(stated, Mapping):
            scaling = stated.get("full_attention", stated)
            factor = scaling.get("factor", 1.0) if isinstance(scaling, Mapping) else 1.0
            if _is_factor(factor) and "linear" in (scaling.get("rope_type"), scaling.get("type")):
                return float(factor)
    return 1.0


def _is_factor(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= 10_000


def _groups(layers: list[Layer]) -> tuple[LayerGroup, ...]:
    places: dict[Layer, list[int]] = {}
    by_identity: dict[int, list[int]] = {}
    for index, layer in enumerate(layers):
        indices = by_identity.get(id(layer))
        if indices is None:
            indices = by_identity[id(layer)] = places.setdefault(layer, [])
        indices.append(index)
    return tuple(LayerGroup(layer, tuple(indices)) for layer, indices in places.items())
