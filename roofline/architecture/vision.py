"""Vision towers and their projectors, counted apart from the language model.

A tower is a stack of equal blocks of width d and feed-forward ff between a patch embedding and a projector to the
language model's
width D. Where a configuration leaves its tower out, or has one that is not described here, there is no count.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from roofline.architecture.errors import UnsupportedArchitecture
from roofline.architecture.identify import Subject
from roofline.architecture.reading import Reader

Outer = Mapping[str, Any]
Counter = Callable[[Reader, Outer, int], int]


@cache
def vision_defaults() -> dict[str, dict[str, Any]]:
    """What the vision classes take where a key is absent, by their model_type."""
    return json.loads((Path(__file__).parent / "vision_defaults.json").read_text())  # type: ignore[no-any-return]


def vision_params(config: Mapping[str, Any], subject: Subject, hidden: int) -> int | None:
    """Parameters of the vision tower and its projector; None where the configuration does not allow a count."""
    section = next(
        (outer["vision_config"] for outer in subject.outers if isinstance(outer.get("vision_config"), Mapping)), None
    )
    if section is None or subject.wrapper not in TOWERS:
        return None
    kind, counter = TOWERS[subject.wrapper]
    stated = section.get("model_type")
    kind = stated if isinstance(stated, str) and stated in vision_defaults() else kind
    if kind not in COUNTED[subject.wrapper]:
        return None
    reader = Reader(section, vision_defaults()[kind], model_type=kind, renames=_plain_names(section))
    try:
        total = counter(reader, config, hidden)
        reader.close()
    except UnsupportedArchitecture:
        return None
    return total


def _plain_names(section: Mapping[str, Any]) -> dict[str, str]:
    """The aliases of language models do not hold here: `embed_dim` and `hidden_size` differ."""
    return {
        key: key for key in (*section, "num_heads", "embed_dim", "depth", "head_dim", "window_size", "attention_heads")
    }


def _linear(n_in: int, n_out: int, bias: bool = True) -> int:
    return n_in * n_out + n_out * bias


def _block(d: int, ff: int, *, bias: bool = True, mlp_bias: bool = True, gated: bool = False, norm: int = 2) -> int:
    """Attention with four square projections, a feed-forward, two norms of `norm`·d."""
    inner = _linear(d, ff, mlp_bias) * (2 if gated else 1) + _linear(ff, d, mlp_bias)
    return 4 * _linear(d, d, bias) + inner + 2 * norm * d


def _side(reader: Reader, name: str) -> int:
    value = reader.get(name)
    return reader.whole(name, value[0], least=1) if isinstance(value, list | tuple) and value else reader.dim(name)


def _patches(reader: Reader) -> int:
    return (_side(reader, "image_size") // _side(reader, "patch_size")) ** 2


def _siglip(reader: Reader) -> int:
    d, ff, patch = reader.dim("hidden_size"), reader.dim("intermediate_size"), reader.dim("patch_size")
    positions = reader.dim("num_patches") if reader.has("num_patches") else _patches(reader)
    total = _linear(reader.dim("num_channels", 3) * patch**2, d) + positions * d + 2 * d
    total += reader.dim("num_hidden_layers") * _block(d, ff)
    head = d + 4 * _linear(d, d) + 2 * d + _linear(d, ff) + _linear(ff, d)
    return total + head * reader.flag("vision_use_head", False)


def _clip(reader: Reader) -> int:
    d, ff, patch = reader.dim("hidden_size"), reader.dim("intermediate_size"), reader.dim("patch_size")
    total = d + reader.dim("num_channels", 3) * patch**2 * d + (_patches(reader) + 1) * d + 4 * d
    return total + reader.dim("num_hidden_layers") * _block(d, ff)


def _clip_or_siglip(reader: Reader) -> int:
    return _clip(reader) if reader.model_type == "clip_vision_model" else _siglip(reader)


def _pixtral_tower(reader: Reader) -> int:
    d, ff, patch = reader.dim("hidden_size"), reader.dim("intermediate_size"), reader.dim("patch_size")
    layers = reader.dim("num_hidden_layers")
    return (
        reader.dim("num_channels", 3) * patch**2 * d
        + d
        + layers * _block(d, ff, bias=False, mlp_bias=False, gated=True, norm=1)
    )


def _number(outer: Outer, key: str, default: int) -> int:
    value = outer.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10_000 else default


def _llava(reader: Reader, outer: Outer, hidden: int) -> int:
    """Two projections with a GELU between; several feature layers are joined."""
    features = outer.get("vision_feature_layer")
    count = len(features) if isinstance(features, list | tuple) else 1
    bias = outer.get("multimodal_projector_bias", True) is not False
    return (
        _clip_or_siglip(reader)
        + _linear(reader.dim("hidden_size") * count, hidden, bias)
        + _linear(hidden, hidden, bias)
    )


def _llava_newline(reader: Reader, outer: Outer, hidden: int) -> int:
    return _llava(reader, outer, hidden) + hidden


def _gemma3(reader: Reader, outer: Outer, hidden: int) -> int:
    d = reader.dim("hidden_size")
    return _siglip(reader) + d * hidden + d


def _paligemma(reader: Reader, outer: Outer, hidden: int) -> int:
    return _siglip(reader) + _linear(reader.dim("hidden_size"), _number(outer, "projection_dim", hidden))


def _mistral3(reader: Reader, outer: Outer, hidden: int) -> int:
    d, merge = reader.dim("hidden_size"), _number(outer, "spatial_merge_size", 2)
    bias = outer.get("multimodal_projector_bias") is True
    return _pixtral_tower(reader) + d + merge**2 * d * d + _linear(d, hidden, bias) + _linear(hidden, hidden, bias)


def _qwen2_vl(reader: Reader, outer: Outer, hidden: int) -> int:
    """Its `hidden_size` is that of the language model; the tower is `embed_dim` wide."""
    d, out = reader.dim("embed_dim"), reader.dim("hidden_size")
    wide = d * reader.dim("spatial_merge_size") ** 2
    total = _patch_volume(reader) * d + reader.dim("depth") * _block(d, reader.dim("mlp_ratio") * d)
    return total + 2 * d + _linear(wide, wide) + _linear(wide, out)


def _patch_volume(reader: Reader) -> int:
    channels = reader.dim("in_chans") if "in_chans" in reader.given else reader.dim("in_channels", 3)
    return channels * reader.dim("temporal_patch_size", 2) * reader.dim("patch_size") ** 2


def _qwen25_vl(reader: Reader, outer: Outer, hidden: int) -> int:
    d, out = reader.dim("hidden_size"), reader.dim("out_hidden_size", hidden)
    wide = d * reader.dim("spatial_merge_size") ** 2
    blocks = reader.dim("depth") * _block(d, reader.dim("intermediate_size"), gated=True, norm=1)
    return _patch_volume(reader) * d + blocks + d + _linear(wide, wide) + _linear(wide, out)


def _qwen3_vl(reader: Reader, outer: Outer, hidden: int) -> int:
    """Learned positions, and one more merger for each level that is fed into the language model."""
    d, out = reader.dim("hidden_size"), reader.dim("out_hidden_size", hidden)
    wide = d * reader.dim("spatial_merge_size") ** 2
    levels = reader.get("deepstack_visual_indexes")
    deep = len(levels) if isinstance(levels, list | tuple) else 3 if reader.model_type.startswith("qwen3_vl") else 0
    deep = deep if not reader.model_type.startswith("qwen3_5") else 0
    merger = _linear(wide, wide) + _linear(wide, out)
    total = _linear(_patch_volume(reader), d) + reader.dim("num_position_embeddings") * d
    total += reader.dim("depth") * _block(d, reader.dim("intermediate_size"))
    return total + merger + 2 * d + deep * (merger + 2 * wide)


def _glm4v(reader: Reader, outer: Outer, hidden: int) -> int:
    """Feed-forward of the blocks as wide as the output; the merger is a gated one."""
    d, out, ff = reader.dim("hidden_size"), reader.dim("out_hidden_size"), reader.dim("intermediate_size")
    merge = reader.dim("spatial_merge_size")
    bias = reader.flag("attention_bias")
    blocks = reader.dim("depth") * (_linear(d, 3 * d, bias) + d * d + 3 * d * out + 2 * d)
    total = _patches(reader) * d + _linear(_patch_volume(reader), d) + blocks + 2 * d
    return total + _linear(d * merge**2, out) + out * out + 2 * out + 3 * out * ff


def _gemma4(reader: Reader, outer: Outer, hidden: int) -> int:
    d, ff, patch = reader.dim("hidden_size"), reader.dim("intermediate_size"), reader.dim("patch_size")
    heads = reader.dim("num_attention_heads")
    dim, kv_heads = reader.dim("head_dim", d // heads), reader.dim("num_key_value_heads", heads)
    block = 2 * d * dim * (heads + kv_heads) + 3 * d * ff + 4 * d + 2 * dim
    return (
        2 * reader.dim("position_embedding_size") * d
        + 3 * patch**2 * d
        + reader.dim("num_hidden_layers") * block
        + d * hidden
    )


def _mllama(reader: Reader, outer: Outer, hidden: int) -> int:
    d, ff, patch = reader.dim("hidden_size"), reader.dim("intermediate_size"), reader.dim("patch_size")
    tiles, ratios = reader.dim("max_num_tiles", 4), reader.get("supported_aspect_ratios")
    shapes = (len(ratios) if isinstance(ratios, list | tuple) else 8) + 1
    positions = _patches(reader) + 1
    kept = reader.get("intermediate_layers_indices")
    width = d * (1 + (len(kept) if isinstance(kept, list | tuple) else 5))
    block = _block(d, ff, bias=False)
    total = d + reader.dim("num_channels", 3) * patch**2 * d + 1 + positions * d + shapes * tiles * positions * d
    total += 2 * (1 + shapes * tiles * d) + 4 * d + reader.dim("num_hidden_layers") * block
    return total + reader.dim("num_global_layers", 8) * (block + 2) + _linear(width, hidden)


def _llama4(reader: Reader, outer: Outer, hidden: int) -> int:
    d, ff, patch = reader.dim("hidden_size"), reader.dim("intermediate_size"), reader.dim("patch_size")
    ratio = reader.get("pixel_shuffle_ratio")
    shuffled = int(d // float(ratio) ** 2) if isinstance(ratio, int | float) and 0.01 < ratio < 100 else 4 * d
    inner = reader.dim("projector_input_dim", 4096)
    total = d + reader.dim("num_channels", 3) * patch**2 * d + (_patches(reader) + 1) * d + 4 * d
    total += reader.dim("num_hidden_layers") * _block(d, ff)
    return (
        total
        + shuffled * inner
        + inner * reader.dim("projector_output_dim", 4096)
        + reader.dim("vision_output_dim", 7680) * hidden
    )


def _idefics3(reader: Reader, outer: Outer, hidden: int) -> int:
    return _siglip(reader) + reader.dim("hidden_size") * _number(outer, "scale_factor", 2) ** 2 * hidden


def _internvl(reader: Reader, outer: Outer, hidden: int) -> int:
    d, ff, patch = reader.dim("hidden_size"), reader.dim("intermediate_size"), _side(reader, "patch_size")
    bias = reader.flag("attention_bias")
    block = 3 * _linear(d, d, bias) + _linear(d, d) + _linear(d, ff) + _linear(ff, d) + 4 * d + 2 * d
    norms = 2 * d if reader.flag("use_qk_norm") else 0
    wide = 4 * d
    total = d + (_patches(reader) + 1) * d + _linear(reader.dim("num_channels", 3) * patch**2, d)
    total += reader.dim("num_hidden_layers") * (block + norms)
    return total + 2 * wide + _linear(wide, hidden) + _linear(hidden, hidden)


def _kimi(reader: Reader, outer: Outer, hidden: int) -> int:
    d, ff, patch = reader.dim("hidden_size"), reader.dim("intermediate_size"), reader.dim("patch_size")
    merge = reader.get("merge_kernel_size") or [2, 2]
    wide = d * merge[0] * merge[1]
    total = _linear(3 * patch**2, d) + reader.dim("pos_emb_height") * reader.dim("pos_emb_width") * d
    total += reader.dim("num_hidden_layers") * _block(d, ff) + 2 * d
    return total + 2 * d + _linear(wide, wide) + _linear(wide, hidden)


# Wrapper: (the vision model_type where the configuration names none, how to count it).
TOWERS: dict[str, tuple[str, Counter]] = {
    "llava": ("clip_vision_model", _llava),
    "vipllava": ("clip_vision_model", _llava),
    "llava_next": ("clip_vision_model", _llava_newline),
    "llava_next_video": ("clip_vision_model", _llava_newline),
    "llava_onevision": ("siglip_vision_model", _llava_newline),
    "gemma3": ("siglip_vision_model", _gemma3),
    "shieldgemma2": ("siglip_vision_model", _gemma3),
    "paligemma": ("siglip_vision_model", _paligemma),
    "mistral3": ("pixtral", _mistral3),
    "qwen2_vl": ("qwen2_vl_vision", _qwen2_vl),
    "qwen2_5_vl": ("qwen2_5_vl_vision", _qwen25_vl),
    "qwen3_vl": ("qwen3_vl_vision", _qwen3_vl),
    "qwen3_vl_moe": ("qwen3_vl_moe_vision", _qwen3_vl),
    "qwen3_5": ("qwen3_5_vision", _qwen3_vl),
    "qwen3_5_moe": ("qwen3_5_moe_vision", _qwen3_vl),
    "glm4v": ("glm4v_vision", _glm4v),
    "glm4v_moe": ("glm4v_moe_vision", _glm4v),
    "glm46v": ("glm4v_vision", _glm4v),
    "gemma4": ("gemma4_vision", _gemma4),
    "mllama": ("mllama_vision_model", _mllama),
    "llama4": ("llama4_vision_model", _llama4),
    "idefics3": ("idefics3_vision", _idefics3),
    "smolvlm": ("smolvlm_vision", _idefics3),
    "internvl": ("internvl_vision", _internvl),
    "kimi_k25": ("kimi_k25_vision", _kimi),
}
_EITHER = ("clip_vision_model", "siglip_vision_model")
COUNTED = {wrapper: _EITHER if kind in _EITHER else (kind,) for wrapper, (kind, _) in TOWERS.items()}
