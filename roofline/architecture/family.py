"""What a family of models does that its configuration does not say: one declarative row each.

An expression (type `Flag`) is '' for never, 'yes' for always, or the name of a configuration key that decides ('a|b'
either,
'!a' not a).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Flag = str


@dataclass(frozen=True, slots=True)
class Family:
    """Conventions of one family. The defaults of this class are those of Llama."""

    # biases of the linear layers: by key below, or none, or all
    biases: str = ""
    # attention
    qkv_bias: Flag = "attention_bias"
    o_bias: Flag = "attention_bias"
    qk_norm: str = ""  # '', head (one head dimension each), head_bias, full (all heads), full_if_window
    qk_norm_if: Flag = "yes"
    # '', width (a gate for each channel), double (the same, out of the query projection), head (one for each head)
    query_gate: str = ""
    query_gate_if: Flag = "yes"
    sinks: str = ""  # '', all, window: one learned logit for each head
    attention_norm: bool = False  # a norm over the attention's output before the projection (BitNet)
    attention_other: str = ""  # named extras, see `attention.EXTRAS`
    multi_query: Flag = ""  # one KV head where true
    mla: bool = False  # latent attention even where the keys are only class defaults
    mla_gate: str = ""  # '', head, width
    # which layers look back how far
    window: str = ""  # the rules of `patterns`
    period: int = 0  # of the pattern, where the configuration has none
    cycle: tuple[str, ...] = ()  # kinds in turn
    recurrent: str = ""  # kind of the layers that are not softmax attention, see `recurrent.KINDS`
    # feed-forward
    gated: bool = True
    mlp_bias: Flag = "mlp_bias"
    width_rule: str = ""  # '', 4d, half (the key counts both halves), lfm2, recurrent_gemma, zamba
    mlp_norm: bool = False  # a norm inside the MLP (BitNet)
    mlp_other: int = 0  # learned scalars of the activation
    # experts
    moe: bool = False
    expert_gated: bool = True
    expert_bias: bool = False
    router_bias: Flag = ""
    correction_bias: Flag = ""  # only where the class holds it as a parameter
    shared_gate: bool = False  # a gate of one output on the shared expert
    shared_if_any: bool = False  # shared experts are counted, width = count x expert width
    expert_width: str = "moe_intermediate_size"
    dense_width: str = "intermediate_size"
    all_moe: bool = False  # every layer, whatever the keys say
    moe_norms: int = 0  # further norms of MoE layers
    # norms and the rest
    norm: str = "rms"  # rms (scale), layer (scale and shift), none (no parameters)
    layer_norms: int = 2
    final_norm: bool = True
    embedding_norm: bool = False
    positions: str = ""  # key that sizes a learned table of positions
    position_offset: int = 0
    lm_head_bias: Flag = ""
    never_tied: bool = False  # the class ignores tie_word_embeddings
    special: str = ""  # name of a builder of its own, see `special`
    renames: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, object] = field(default_factory=dict)  # class defaults beside those of class_defaults.json
    like: str = ""  # take the class defaults of that model_type

    @property
    def qkv_flag(self) -> Flag:
        return _BIASES.get(self.biases, self.qkv_bias)

    @property
    def o_flag(self) -> Flag:
        return _BIASES.get(self.biases, self.o_bias)

    @property
    def mlp_flag(self) -> Flag:
        return _BIASES.get(self.biases, self.mlp_bias)


_BIASES = {"none": "", "all": "yes"}
