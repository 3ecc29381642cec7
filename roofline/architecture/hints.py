"""Architectures from the dimensions that a paper or a table gives.

`hidden=8192;layers=80;heads=64;ffn=32768;vocab=50368`.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any

from roofline.architecture.errors import InvalidConfig, UnsupportedArchitecture
from roofline.architecture.model import Architecture
from roofline.architecture.parse import parse

GPT_VOCAB = 51_200
SMALL_VOCAB = 60_000
MOST_POSITIONS = 131_072
HEAD_DIM = 128
NEMOTRON_STATE, NEMOTRON_GROUPS, NEMOTRON_HEAD_DIM = 256, 8, 64


@lru_cache(maxsize=4096)
def from_hint(text: str, params_b: float | None = None) -> Architecture:
    """The architecture that a hint describes. Keys: hidden, layers, heads, kv_heads, ffn, vocab, experts, topk, tied.

    What a hint leaves open (gated or not, tied or not, experts in each layer or every other) is decided by
    `params_b`, in 10^9,
    where given; else a feed-forward of four times the width is an ungated GPT, any other a gated Llama. Raises
    UnsupportedArchitecture where width or depth is missing and cannot be had from the size.
    """
    given = _numbers(text)
    if "mamba_layers" in given:
        return _named(_nemotron(given), text)
    if "hidden" not in given or ("layers" not in given and params_b is None):
        missing = [key for key in ("hidden", "layers") if key not in given]
        raise UnsupportedArchitecture(f"the hint {text!r} does not give {' and '.join(missing)}", fields=tuple(missing))
    candidates = [parse(config) for config in _candidates(given, params_b)]
    if params_b is None:
        return _named(candidates[0], text)
    candidates = [_with_positions(model, params_b * 1e9) for model in candidates]
    return _named(min(candidates, key=lambda model: round(abs(model.total_params / (params_b * 1e9) - 1), 3)), text)


def _with_positions(model: Architecture, wanted: float) -> Architecture:
    """A GPT that falls short by less than a table of positions has one."""
    short = round((wanted - model.total_params) / model.hidden)
    is_gpt = model.model_type == "mpt" and model.vocab <= SMALL_VOCAB
    return replace(model, lookup_params=short * model.hidden) if is_gpt and 0 < short <= MOST_POSITIONS else model


def _numbers(text: str) -> dict[str, int]:
    given: dict[str, int] = {}
    for item in text.split(";"):
        key, _, value = item.strip().partition("=")
        if not key:
            continue
        if not value.strip().isdigit():
            raise InvalidConfig(f"the hint {text!r} has no whole number for {key}", fields=(key,))
        given[key.strip()] = int(value)
    return given


def _named(model: Architecture, text: str) -> Architecture:
    return replace(model, name=text, warnings=("dimensions from a hint; what it leaves open was chosen",))


def _candidates(given: dict[str, int], params_b: float | None) -> list[dict[str, Any]]:
    """Configurations that agree with the hint, the likeliest first."""
    gated = [_is_gated(given), not _is_gated(given)]
    tied = [bool(given["tied"])] if "tied" in given else [not gated[0], gated[0]]
    kv_heads = [given["kv_heads"]] if "kv_heads" in given else [0, 8]
    steps, shares = ([1, 2], [1, 2]) if "experts" in given else ([1], [1])
    options = product(gated, tied, kv_heads, steps, shares)
    return [_config(given, params_b, *option) for option in options]


def _is_gated(given: dict[str, int]) -> bool:
    if "experts" in given:
        return True
    return "ffn" in given and given["ffn"] != 4 * given["hidden"]


def _config(
    given: dict[str, int], params_b: float | None, gated: bool, tied: bool, kv_heads: int, step: int, share: int
) -> dict[str, Any]:
    hidden = given["hidden"]
    heads = given.get("heads", max(1, hidden // HEAD_DIM))
    width = given.get("ffn", 4 * hidden)
    vocab = given.get("vocab", GPT_VOCAB)
    head_dim = max(1, hidden // heads)
    config: dict[str, Any] = {
        "model_type": "llama" if gated else "mpt",
        "hidden_size": hidden,
        "num_hidden_layers": given.get("layers") or _depth(hidden, width, vocab, params_b or 0),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads if kv_heads and heads % kv_heads == 0 else heads,
        "head_dim": head_dim,
        "intermediate_size": width,
        "vocab_size": vocab,
        "tie_word_embeddings": tied,
        "max_position_embeddings": given.get("seq", 0),
    }
    if "experts" in given:
        config |= {
            "model_type": "qwen3_moe",
            "num_experts": given["experts"],
            "num_experts_per_tok": given.get("topk", 1),
        }
        config |= {"moe_intermediate_size": max(1, width // share), "decoder_sparse_step": step}
    return config


def _depth(hidden: int, width: int, vocab: int, params_b: float) -> int:
    return max(1, round((params_b * 1e9 - hidden * vocab) / (4 * hidden * hidden + 2 * hidden * width)))


def _nemotron(given: dict[str, int]) -> Architecture:
    """A Nemotron-H of so many Mamba-2, attention and MLP blocks; Mamba sizes are those of the published 56B."""
    hidden = given["hidden"]
    blocks = {
        "mamba": given["mamba_layers"],
        "attention": given.get("attn_layers", 0),
        "mlp": given.get("mlp_layers", 0),
    }
    return parse(
        {
            "model_type": "nemotron_h",
            "hidden_size": hidden,
            "layers_block_type": [kind for kind, count in blocks.items() for _ in range(count)],
            "num_attention_heads": given.get("heads", hidden // HEAD_DIM),
            "num_key_value_heads": given.get("kv_heads", 8),
            "head_dim": HEAD_DIM,
            "intermediate_size": given.get("ffn", 4 * hidden),
            "vocab_size": given.get("vocab", 131_072),
            "mamba_num_heads": 2 * hidden // NEMOTRON_HEAD_DIM,
            "mamba_head_dim": NEMOTRON_HEAD_DIM,
            "ssm_state_size": NEMOTRON_STATE,
            "n_groups": NEMOTRON_GROUPS,
            "tie_word_embeddings": False,
        }
    )
