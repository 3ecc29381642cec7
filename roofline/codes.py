"""The categories of a scenario: the words a person may write, in the order whose index is the engine's integer code."""

WORKLOADS = ("training", "inference")

METHODS = ("pretrain", "full_finetune", "lora", "qlora")
FRAMEWORKS = (
    "megatron",
    "nemo",
    "fsdp",
    "deepspeed",
    "maxtext",
    "torchtitan",
    "llm_foundry",
    "nanotron",
    "hf_trainer",
    "other",
)
TRAINING_PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4")
GRADIENT_DTYPES = ("fp32", "bf16")
RECOMPUTES = ("none", "selective", "full")
OPTIMIZERS = ("adamw", "adamw_8bit", "adafactor", "muon", "lion", "sgd")
LORA_TARGETS = ("attention", "all_linear")

ENGINES = ("vllm", "sglang", "tensorrt_llm", "llama_cpp", "static_batching")
# Back ends of llama.cpp; blank: the usual one of the GPU's vendor, and other engines. rocblas: ROCm without hipBLASLt.
BACKENDS = ("", "cuda", "metal", "rocm", "rocblas", "vulkan", "vulkan_amdvlk", "sycl")
WEIGHT_FORMATS = (
    "fp32",
    "bf16",
    "fp16",
    "fp8",
    "fp8_block",
    "int8",
    "int4_g128",
    "nf4",
    "mxfp4",
    "mxfp8",
    "nvfp4",
    "q2_k",
    "q3_k_s",
    "q3_k_m",
    "q3_k_l",
    "q4_0",
    "q4_1",
    "q4_k_s",
    "q4_k_m",
    "q4_k_xl",
    "q5_0",
    "q5_1",
    "q5_k_s",
    "q5_k_m",
    "q5_k_xl",
    "q6_k",
    "q6_k_xl",
    "q8_0",
    "q8_k_xl",
    "iq4_xs",
    "q3_k_xl",
    "fp6",
)
ACTIVATION_FORMATS = ("bf16", "fp16", "fp8", "int8", "nvfp4", "mxfp8", "fp32", "mxfp4")
KV_FORMATS = ("bf16", "fp16", "fp8", "int8", "nvfp4", "fp32", "q8_0")

BOUNDS = ("compute", "memory", "interconnect", "latency")
