"""Reading values out of a configuration: renamed keys, class defaults and validation, all in one place."""

import math
from collections.abc import Mapping
from typing import Any

from roofline.architecture.errors import InvalidConfig, UnsupportedArchitecture

LARGEST = {"num_hidden_layers": 4_096, "vocab_size": 100_000_000, "num_experts": 100_000}
LARGEST_DIMENSION = 10_000_000

# Canonical name: the other names that configurations give to the same quantity.
ALIASES = {
    "hidden_size": ("n_embd", "d_model", "n_embed", "dim"),
    "num_hidden_layers": ("n_layer", "num_layers", "n_layers"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads", "attention_heads"),
    "num_key_value_heads": (
        "num_kv_heads",
        "n_head_kv",
        "multi_query_group_num",
        "num_query_groups",
        "n_kv_heads",
        "num_attention_groups",
        "kv_n_heads",
    ),
    "head_dim": ("attention_head_dim", "kv_channels", "attn_head_dim", "head_size"),
    "intermediate_size": ("ffn_dim", "ffn_hidden_size", "n_inner", "d_ff"),
    "vocab_size": ("padded_vocab_size",),
    "num_experts": ("n_routed_experts", "num_local_experts", "moe_num_experts", "num_routed_experts"),
    "num_experts_per_tok": (
        "num_experts_per_token",
        "moe_k",
        "moe_top_k",
        "moe_topk",
        "top_k_experts",
        "experts_per_token",
    ),
    "moe_intermediate_size": (
        "expert_ffn_hidden_size",
        "moe_ffn_hidden_size",
        "expert_intermediate_size",
        "ffn_moe_hidden_size",
    ),
    "n_shared_experts": ("num_shared_experts", "moe_num_shared_experts", "num_shared_expert"),
    "shared_intermediate_size": (
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "share_expert_dim",
        "share_expert_dims",
        "shared_experts_intermediate_size",
    ),
    "max_position_embeddings": (
        "n_positions",
        "seq_length",
        "max_seq_len",
        "context_length",
        "max_sequence_length",
        "model_max_length",
        "n_ctx",
    ),
    "sliding_window": ("window_size", "attention_window_size", "sliding_window_size"),
    "layer_types": ("layers_block_type", "block_types"),
    "tie_word_embeddings": ("tie_embeddings",),
    "mamba_n_heads": ("mamba_num_heads", "n_mamba_heads"),
    "mamba_d_head": ("mamba_head_dim", "mamba_headdim"),
    "mamba_d_state": ("state_size", "ssm_state_size"),
    "mamba_d_conv": ("conv_kernel", "conv1d_width"),
    "mamba_expand": ("expand",),
    "mamba_n_groups": ("mamba_ngroups", "n_groups"),
    "mamba_dt_rank": ("time_step_rank",),
    "mamba_conv_bias": ("use_conv_bias",),
    "moe_latent_size": ("routed_expert_hidden_size",),
}
CANONICAL = {alias: name for name, aliases in ALIASES.items() for alias in aliases}
# Without these a file at the top level says too little; nested configurations leave out what equals the class default.
CORE = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")


def canonical(config: Mapping[str, Any], renames: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The configuration under canonical names. A value wins over null, the canonical name over an alias."""
    names = CANONICAL if not renames else {**CANONICAL, **renames}
    values: dict[str, Any] = {}
    for key, value in config.items():
        name = names.get(key, key) if isinstance(key, str) else key
        if name not in values or (value is not None and (values[name] is None or name == key)):
            values[name] = value
    return values


class Reader:
    """Typed access to one configuration. Missing dimensions are gathered, so that one answer names them all."""

    __slots__ = ("defaulted", "given", "missing", "model_type", "values")

    def __init__(
        self,
        config: Mapping[str, Any],
        defaults: Mapping[str, Any],
        *,
        model_type: str,
        renames: Mapping[str, str] | None = None,
    ) -> None:
        self.given = canonical(config, renames)
        self.values = {**defaults, **self.given}
        self.model_type = model_type
        self.missing: list[str] = []
        self.defaulted: list[str] = []

    def get(self, name: str) -> Any:
        return self.values.get(name)

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool | int):
            raise InvalidConfig(f"{self.model_type}: {name} must be true or false, not {_shown(value)}", fields=(name,))
        return bool(value)

    def flags(self, expression: str) -> bool:
        """'' is never, 'yes' always, 'a|b' either key, '!a' not the key."""
        if expression in ("", "yes"):
            return expression == "yes"
        if expression.startswith("!"):
            return not self.flags(expression[1:])
        return any(self.flag(name) for name in expression.split("|"))

    def dim(self, name: str, default: int | None = None) -> int:
        """A positive whole number. Missing without a default: remembered, and 1 stands in until all are known."""
        value = self.values.get(name)
        if value is None:
            if default is None:
                if name not in self.missing:
                    self.missing.append(name)
                return 1
            return default
        return self.whole(name, value, least=1)

    def count(self, name: str, default: int = 0) -> int:
        """A whole number that may be 0."""
        value = self.values.get(name)
        return default if value is None else self.whole(name, value, least=0)

    def whole(self, name: str, value: Any, *, least: int) -> int:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or (isinstance(value, float) and not _is_whole(value))
        ):
            raise InvalidConfig(
                f"{self.model_type}: {name} must be a whole number, not {_shown(value)}", fields=(name,)
            )
        number, most = int(value), LARGEST.get(name, LARGEST_DIMENSION)
        if not least <= number <= most:
            raise InvalidConfig(
                f"{self.model_type}: {name} must lie between {least} and {most}, not {_shown(value)}", fields=(name,)
            )
        return number

    def per_layer(self, name: str, layers: int, *, least: int = 0) -> list[int] | None:
        """A list of whole numbers, one a layer; None where the key is absent or no list."""
        value = self.values.get(name)
        if not isinstance(value, list | tuple):
            return None
        if len(value) < layers:
            raise InvalidConfig(
                f"{self.model_type}: {name} has {len(value)} entries for {layers} layers", fields=(name,)
            )
        return [self.whole(name, item, least=least) for item in value[:layers]]

    def section(self, name: str) -> Mapping[str, Any]:
        value = self.values.get(name)
        return value if isinstance(value, Mapping) else {}

    def at(self, index: int) -> "Reader":
        """The values that hold for one layer: `per_layer_config` overrides single keys by layer."""
        section = self.section("per_layer_config")
        own = section.get(str(index), section.get(f"{index:02d}"))
        if not isinstance(own, Mapping):
            return self
        layer = Reader(own, self.values, model_type=self.model_type)
        layer.missing = self.missing
        return layer

    def close(self) -> None:
        """Refuse where dimensions were missing."""
        if self.missing:
            names = ", ".join(self.missing)
            raise UnsupportedArchitecture(
                f"{self.model_type}: the configuration does not state {names}", fields=tuple(self.missing)
            )


def _is_whole(value: float) -> bool:
    return math.isfinite(value) and value.is_integer()


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, bool | int | float | str) or value is None else type(value).__name__
    return text if len(text) <= 40 else text[:37] + "..."
