"""Measured behaviour of serving engines and of GPUs under them: read from coefficients/serving.csv, bound to a catalogue of GPUs.

The file holds one row for each (fold, name, level): fold blank is fitted on all reference runs, fold k on those outside fold k.
A level is an engine, a GPU family, a number format, a kind of link, or blank for one number that holds everywhere.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline.catalogues import PerCatalogue
from roofline.codes import BACKENDS, ENGINES, WEIGHT_FORMATS
from roofline.coefficients import family
from roofline.columns import Batch
from roofline.engines import usual_backend
from roofline.hardware import Gpu
from roofline.selection import pick, some
from roofline.serving import corrections
from roofline.serving.corrections import Corrections
from roofline.serving.formats import COMPUTE_TYPES

Array = NDArray[np.float64]
Values = Mapping[tuple[str, str], float]

LINKS = ("fast", "pcie", "network")  # NVLink and its like, PCIe, the network between nodes
FAST, PCIE, NETWORK = range(len(LINKS))

SCALARS = (
    "kv_memory",  # share of the streaming bandwidth that decode attention reaches
    "kv_head_s",  # s for each sequence, layer and KV head of decode attention
    "decode_attention",  # share of the 16-bit peak that decode attention reaches
    "prefill_attention",  # share of the 16-bit peak that prefill attention reaches
    "moe_compute",  # grouped GEMM against plain GEMM
    "moe_memory",
    "moe_tile",  # rows that each touched expert is padded to
    "moe_kernels",  # launches of a MoE layer
    "mla_kernels",  # launches of latent attention
    "recurrent_kernels",
    "expert_imbalance",  # busiest rank against the mean, in standard deviations of the draw
    "expert_draws",  # tokens to this power draw experts as if by chance: 1 without skew
    "element_passes",  # passes over the hidden state, each layer: norms, residuals, activation, quantisation
    "quantised_passes",  # more of them where activations are narrower than 16 bit
    "eager_launch_s",  # launch by the host, without a CUDA graph
    "handoff_s",  # s to hand a prompt's cache over from a prefill pool, beside its bytes
    "state_memory",  # share of the streaming bandwidth that recurrent state reaches
    "unpacking",  # what llama.cpp's products of packed weights reach against those of 16-bit weights
    "small_gemm_rows",  # rows at which a GEMM of few rows reaches half of its efficiency
)
REFERENCE_YEAR = 2026.0
LLAMA_CPP = ENGINES.index("llama_cpp")


class OfGpu(NamedTuple):
    """Columns looked up by GPU."""

    memory: Any  # share of the bandwidth
    compute: Any  # compute efficiency of its family against the common one
    launch: Any  # kernel cost against the engine's own
    fa3: Any  # what FlashAttention 3 gains there
    accumulate: Any  # 16-bit matrix rate with 16-bit against 32-bit accumulation


class OfEngine(NamedTuple):
    """Columns looked up by engine."""

    kernel_s: Any  # s for each kernel, tail and gap to the next one included
    step_s: Any  # s of scheduling, sampling and host work of a step
    sequence_s: Any  # the same, for each sequence of the step
    arrival_s: Any  # s until a request that comes alone reaches the scheduler, and from the first token back
    request_s: Any  # the same of requests that follow answers, as clients of a closed loop send them
    prefill_passes: Any  # prefill passes until the first token there: those that follow answers come together
    first_steps: (
        Any  # steps until the first token is through there: the step that runs, and steps that a stream gathers
    )
    burst: Any  # share of a benchmark's requests that its opening burst delays, by half the burst
    mixes: Any  # share of prefill passes that also carry decode tokens
    trend: Any  # speed-up in a year of software, as a logarithm
    queue: Any  # waiting for other prompts, against M/D/1
    engine_compute: Any  # compute efficiency of its kernels against the common one
    engine_memory: Any  # the same of memory


class OfBackend(NamedTuple):
    """Columns looked up by back end of llama.cpp, against CUDA's; 1 for other engines."""

    backend_compute: Any  # share of the matrix rate
    backend_bf16: Any  # share of that with BF16 weights
    backend_memory: Any  # share of the bandwidth
    backend_attention: Any  # rate of prefill attention
    backend_kv: Any  # bandwidth of decode attention
    backend_plain: Any  # share of that without FlashAttention


NO_BACKEND = OfBackend(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
BY_ENGINE = OfEngine._fields


@dataclass(frozen=True, slots=True)
class ServingCoefficients:
    """Coefficients as arrays: by (GPU of the catalogue, arithmetic type), by GPU, by engine, by weight format, by link, or one number."""

    compute: Array  # (GPUs, arithmetic types): share of the peak
    gpu: Array  # (fields of OfGpu, GPUs)
    stream: Array  # (weight formats,): share of the memory efficiency
    link_share: Array  # (links,)
    link_s: Array  # (links,): s for each collective
    rank_s: Array  # (links,): s for each further rank
    engine: Array  # (fields of BY_ENGINE, engines)
    backend: Array  # (fields of OfBackend, back ends of llama.cpp)
    usual_backend: NDArray[np.intp]  # (GPUs,): code of the back end where a scenario names none
    scalar: Mapping[str, float]
    corrections: Corrections | None = None

    def of_engine(self, engine: Any) -> "OfEngine":
        """Coefficients of each scenario's engine, by code."""
        return OfEngine(*self.engine.take(engine, axis=1))

    def backend_of(self, batch: Batch) -> Any:
        """Code of each scenario's back end; 0 for other engines than llama.cpp."""
        load = batch.serving
        assert load is not None
        ours = load.engine == LLAMA_CPP
        if not some(ours):
            return 0
        named = pick(load.backend > 0, load.backend, self.usual_backend[batch.gpu.code])
        return pick(ours, named, 0)

    def of_backend(self, backend: Any) -> "OfBackend":
        """Coefficients of each scenario's back end, by code."""
        return OfBackend(*self.backend.take(backend, axis=1)) if some(backend) else NO_BACKEND

    def of_gpu(self, code: Any) -> "OfGpu":
        """Coefficients of each scenario's GPU, by position in the catalogue."""
        return OfGpu(*self.gpu.take(code, axis=1))


def build(values: Values, gpus: Sequence[Gpu]) -> ServingCoefficients:
    """Coefficients for `gpus`, whose position is `Gpu.code`. A family that was not measured has the level `any`."""
    families = [family(gpu) for gpu in gpus]

    def by_gpu(name: str) -> Array:
        return np.array([values.get((name, group), values[name, "any"]) for group in families])

    types = np.array([values["compute", kind] for kind in COMPUTE_TYPES])
    return ServingCoefficients(
        compute=np.minimum(by_gpu("family_compute")[:, None] * types, 0.95),
        gpu=np.array(
            OfGpu(
                memory=np.minimum(by_gpu("family_memory"), 0.97),
                compute=by_gpu("family_compute"),
                launch=by_gpu("family_launch"),
                fa3=[values["fa3", "Hopper"] if gpu.architecture == "Hopper" else 1.0 for gpu in gpus],
                accumulate=[_half_accumulate().get(gpu.slug, 1.0) for gpu in gpus],
            )
        ),
        stream=np.array([values.get(("stream", name), values["stream", "any"]) for name in WEIGHT_FORMATS]),
        link_share=np.array([values["link_share", link] for link in LINKS]),
        link_s=np.array([values["link_s", link] for link in LINKS]),
        rank_s=np.array([values["rank_s", link] for link in LINKS]),
        engine=np.array([[values[name, engine] for engine in ENGINES] for name in BY_ENGINE]),
        backend=np.array([[1.0, *(values[name, level] for level in _levels_of(name))] for name in OfBackend._fields]),
        usual_backend=np.array([BACKENDS.index(usual_backend(gpu.vendor)) for gpu in gpus]),
        scalar={name: values[name, ""] for name in SCALARS},
    )


def _levels_of(name: str) -> list[str]:
    """The back ends whose value each back end takes: rocBLAS multiplies matrices, the rest is ROCm's."""
    if name in ("backend_compute", "backend_attention"):
        return list(BACKENDS[1:])
    return ["rocm" if backend == "rocblas" else backend for backend in BACKENDS[1:]]


@cache
def _half_accumulate() -> Mapping[str, float]:
    """GPUs whose 16-bit matrix products run faster with 16-bit accumulation (GeForce), and by how much."""
    with resources.files("roofline").joinpath("data/gpus.csv").open(encoding="utf-8") as lines:
        pairs = {
            row["slug"]: (row["fp16_dense_tflops_fp16_accumulate"], row["fp16_dense_tflops"])
            for row in csv.DictReader(lines)
        }
    return {slug: max(float(fast) / float(usual), 1.0) for slug, (fast, usual) in pairs.items() if fast and usual}


@cache
def shipped(fold: str = "") -> Values:
    """The shipped values of one fold by (name, level); blank: fitted on all reference runs."""
    with resources.files("roofline").joinpath("coefficients/serving.csv").open(encoding="utf-8") as lines:
        return {
            (row["name"], row["level"]): float(row["value"]) for row in csv.DictReader(lines) if row["fold"] == fold
        }


@cache
def known_models() -> dict[str, str]:
    """Kind of each measured model by its number of parameters, as text."""
    with resources.files("roofline").joinpath("coefficients/serving_models.csv").open(encoding="utf-8") as lines:
        return {row["total_params"]: row["kind"] for row in csv.DictReader(lines)}


def _bind(gpus: tuple[Gpu, ...], fold: str) -> ServingCoefficients:
    effects = corrections.build(corrections.shipped(fold), gpus, known_models())
    return replace(build(shipped(fold), gpus), corrections=effects)


_bound = PerCatalogue(_bind)


def load(gpus: tuple[Gpu, ...], fold: str = "") -> ServingCoefficients:
    """The shipped coefficients of one fold, bound to a catalogue of GPUs."""
    return _bound(gpus, fold)


def textbook(gpus: Sequence[Gpu], fold: str = "") -> ServingCoefficients:
    """Coefficients of the textbook roofline, for comparison: every efficiency 1, nothing between the kernels, prompts served at once."""
    shares = {name: 1.0 for name, _ in shipped(fold)}
    nothing = {name: 0.0 for name in SCALARS + BY_ENGINE if name.endswith(("_s", "_kernels", "_passes"))}
    idle = dict.fromkeys(
        ("first_steps", "burst", "trend", "queue", "moe_tile", "expert_imbalance", "small_gemm_rows"), 0.0
    )
    idle |= {"link_s": 0.0, "rank_s": 0.0}
    values = {key: (shares | nothing | idle | {"prefill_passes": 1.0})[key[0]] for key in shipped(fold)}
    return replace(
        build(values, gpus),
        compute=np.ones((len(gpus), len(COMPUTE_TYPES))),
        gpu=np.ones((len(OfGpu._fields), len(gpus))),
    )
