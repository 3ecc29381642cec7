"""Which architecture a configuration describes, and which part of it is the language model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from roofline.architecture.errors import UnsupportedArchitecture
from roofline.architecture.families import FAMILIES, class_defaults, refused, wrappers
from roofline.architecture.family import Family
from roofline.architecture.reading import CORE, canonical

NESTS = ("text_config", "llm_config", "language_config", "thinker_config", "language_model_config", "text_model_config")
# Endings of class names that tell the task, longest first.
TASKS = ("ForConditionalGeneration", "ForCausalLM", "LMHeadModel", "ForVision2Seq", "Model")
ENCODER_TASKS = (
    "ForMaskedLM",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForPreTraining",
    "ForImageClassification",
)
LLAMA_LIKE = Family(
    qkv_bias="attention_bias|qkv_bias|use_bias|bias|use_qkv_bias",
    o_bias="attention_bias|use_bias|bias",
    mlp_bias="mlp_bias|use_bias|bias",
    qk_norm="head",
    qk_norm_if="use_qk_norm|qk_norm",
    window="declared",
)


# Keys whose meaning for a Llama-like decoder is known, and words in keys that shape no layer.
FAMILIAR = {
    *CORE,
    "num_key_value_heads", "head_dim", "sliding_window", "layer_types", "sliding_window_pattern", "num_experts",
    "num_experts_per_tok", "moe_intermediate_size", "n_shared_experts", "shared_intermediate_size",
    "first_k_dense_replace", "moe_layer_freq", "decoder_sparse_step", "mlp_only_layers", "kv_lora_rank",
    "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "qk_head_dim", "v_head_dim", "max_window_layers",
    "mlp_layer_types", "n_group", "topk_group", "text_config", "quantization_config",
    "num_nextn_predict_layers", "vision_config", "architectures", "auto_map",
}  # fmt: skip
NORMS = (
    "rms_norm_eps",
    "layer_norm_eps",
    "norm_eps",
    "layer_norm_epsilon",
    "layernorm_epsilon",
    "use_qk_norm",
    "qk_norm",
    "norm_topk_prob",
    "norm_type",
)
GATED = ("silu", "swish", "swiglu")
HARMLESS = re.compile(
    r"rope|rotary|position|token|eps|drop|init|scal|act|version|dtype|cache|seed|theta|label|pretrain|coef|norm|logit"
    r"|temperature|mult|beam|length|penalty|top_|range|softcap|task|image|audio|video|vision|mtp|ep_size|alpha|path"
    r"|name|generation|chunk_size_feed|pad|return|output|aux|jitter|use_"
)


@dataclass(slots=True)
class Subject:
    """The language model inside a configuration; `outers` are the configurations around it, the outermost first."""

    model_type: str
    family: Family
    text: Mapping[str, Any]
    defaults: Mapping[str, Any]
    wrapper: str = ""
    outers: tuple[Mapping[str, Any], ...] = ()
    warnings: list[str] = field(default_factory=list)


def identify(config: Mapping[str, Any]) -> Subject:
    """Find the language model, its family and the defaults for what its configuration leaves out."""
    chain = _chain(config)
    nested = len(chain) > 1
    kinds = [_model_type(section) for section in chain]
    for section, kind in zip(chain, kinds, strict=True):
        _refuse(section, kind)
    wrapper = next((kind for kind in reversed(kinds[:-1] if nested else kinds) if kind in wrappers()), "")
    inner = kinds[-1] if nested or not wrapper else ""
    known = _known(inner)
    if known is None and wrapper and (not inner or inner in wrappers()):
        known = _known(wrappers()[inner or wrapper].text)
    outer = wrapper or (kinds[0] if nested else "")
    return _subject(known, chain, outer) if known else _by_structure(chain, inner or kinds[0], outer)


def _subject(kind: str, chain: list[Mapping[str, Any]], wrapper: str) -> Subject:
    family, nested, text = FAMILIES[kind], len(chain) > 1, chain[-1]
    base = dict(_defaults(kind))
    if wrapper:
        base.update(_tie(chain, wrapper))
    if not nested:
        base = {key: value for key, value in base.items() if key not in CORE}
    given = canonical(text, family.renames)
    if "tie_word_embeddings" in base and wrapper:
        text = {**text, "tie_word_embeddings": base["tie_word_embeddings"]}
    absent = [name for name in CORE if name not in given and name in base]
    warnings = [f"class defaults stand in for {', '.join(absent)}"] if absent else []
    return Subject(kind, family, text, base, wrapper, tuple(chain), warnings)


@cache
def _defaults(kind: str) -> Mapping[str, Any]:
    """Class defaults of a family under canonical names."""
    family = FAMILIES[kind]
    return {**canonical(class_defaults().get(family.like or kind, {}), family.renames), **family.values}


def _tie(chain: list[Mapping[str, Any]], wrapper: str) -> dict[str, bool]:
    """Whether a wrapped model ties its embeddings; empty where its own default decides."""
    rule = wrappers().get(wrapper)
    text = chain[-1].get("tie_word_embeddings") if len(chain) > 1 else None
    outer = next(
        (
            section["tie_word_embeddings"]
            for section in chain[:-1] or chain
            if isinstance(section.get("tie_word_embeddings"), bool)
        ),
        None,
    )
    by = rule.tied_by if rule else "text"
    if by == "never":
        return {"tie_word_embeddings": False}
    if by == "text":
        outer = text if isinstance(text, bool) else outer
        return {"tie_word_embeddings": outer} if outer is not None else {}
    outer = outer if outer is not None else rule.tied if rule else None
    if by == "either":
        return {"tie_word_embeddings": bool(outer) or text is True}
    return {"tie_word_embeddings": outer} if outer is not None else {}


def _by_structure(chain: list[Mapping[str, Any]], kind: str, wrapper: str) -> Subject:
    """An unknown model_type whose keys are those of Llama is read as Llama with what the keys say.

    Any other is refused.
    """
    shown, text = kind or "unknown", chain[-1]
    given = canonical(text)
    missing = [name for name in CORE if given.get(name) is None]
    if missing:
        raise UnsupportedArchitecture(
            f"{shown}: unknown architecture, and the configuration does not state {', '.join(missing)}",
            fields=tuple(missing),
        )
    strange = sorted({*(str(key) for key, value in given.items() if _is_strange(key, value)), *_unclear(given)})
    if strange:
        raise UnsupportedArchitecture(
            f"{shown}: unknown architecture; it is not known what {', '.join(strange[:8])} mean for its layers",
            fields=tuple(strange),
        )
    defaults = {"tie_word_embeddings": False, **_tie(chain, wrapper)}
    note = f"{shown} is no known architecture: read by its keys as a Llama-like decoder"
    return Subject(shown, LLAMA_LIKE, {**text, **_tie(chain, wrapper)}, defaults, wrapper, tuple(chain), [note])


def _is_strange(key: Any, value: Any) -> bool:
    """Whether a key may shape layers in a way that Llama's do not: a number.

    List or section under an unfamiliar name.
    """
    if key in FAMILIAR or not isinstance(key, str) or HARMLESS.search(key):
        return False
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return False
    return bool(value) and value != 1


def _unclear(given: Mapping[str, Any]) -> list[str]:
    """Keys that leave open how many norms a layer has or whether its feed-forward is gated."""
    norms = [
        str(key)
        for key, value in given.items()
        if isinstance(key, str) and "norm" in key and value and key not in NORMS
    ]
    activation = given.get("hidden_act") or given.get("hidden_activation") or given.get("activation_function") or "silu"
    return [*norms, *([] if activation in GATED else ["hidden_act"])]


def _chain(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The configuration, and inside it that of the language model, however deep."""
    chain = [config]
    for _ in range(4):
        inner = next((chain[-1][key] for key in NESTS if isinstance(chain[-1].get(key), Mapping)), None)
        if inner is None:
            break
        chain.append(inner)
    return chain


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
