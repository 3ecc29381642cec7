"""Questions and their candidate layouts as a Batch: words become codes, missing numbers nan, units SI."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roofline import codes, hardware
from roofline.columns import Batch, Gpu, Layout, Levers, Model, Serving, Training
from roofline.fields import OPTIMIZATIONS
from roofline.memory.checkpoint import stored_bytes
from roofline.question import Question
from roofline.scenario import Scenario
from roofline.units import GIGA
from roofline.versions import release_year


def batch_of(
    questions: Sequence[Question],
    owners: NDArray[np.intp],
    table: NDArray[np.float64],
    gpus: tuple[hardware.Gpu, ...],
) -> Batch:
    """The batch of the candidates in `table` (rows as `Options.table`), of shape (rows,); row i answers question
    owners[i].

    All questions are of one workload, and their GPUs are among `gpus`, which the codes of the batch index.
    """
    training = questions[0].scenario.workload == "training"
    *layout, micro_batch, global_batch, recompute = table.T
    setup = None
    if training:
        setup = Training.stack([_training(question) for question in questions]).take(owners)
        setup.micro_batch, setup.global_batch, setup.recompute = micro_batch, global_batch, recompute.astype(np.intp)
    return Batch(
        model=_models(questions, owners),
        gpu=_gpus(questions, owners, gpus),
        layout=Layout(*layout, **_machines(questions, owners)),
        levers=Levers.stack([_levers(question.scenario) for question in questions]).take(owners),
        training=setup,
        serving=None if training else Serving.stack([_serving(question) for question in questions]).take(owners),
    )


def _models(questions: Sequence[Question], owners: NDArray[np.intp]) -> Model:
    distinct = {id(question.architecture): question.model for question in questions}
    place = {key: position for position, key in enumerate(distinct)}
    rows = np.array([place[id(question.architecture)] for question in questions])
    return Model.stack(list(distinct.values())).take(rows[owners])


_DISTINCT: dict[tuple[int, ...], tuple[hardware.Gpu, ...]] = {}  # by the identities of GPUs that the value keeps alive
MOST_DISTINCT = 64


def distinct_gpus(questions: Sequence[Question]) -> tuple[hardware.Gpu, ...]:
    """The GPUs of `questions`, each once: `Gpu.code` of a batch of theirs is the position here.

    The same GPUs give the same tuple again, because coefficients are bound to a tuple by its identity.
    """
    distinct = tuple(dict.fromkeys(question.gpu for question in questions))
    if len(_DISTINCT) >= MOST_DISTINCT:
        _DISTINCT.clear()
    return _DISTINCT.setdefault(tuple(map(id, distinct)), distinct)


def _gpus(questions: Sequence[Question], owners: NDArray[np.intp], gpus: tuple[hardware.Gpu, ...]) -> Gpu:
    place = {gpu: position for position, gpu in enumerate(gpus)}
    rows = np.array([place[question.gpu] for question in questions])
    return hardware.gpu_columns(gpus).take(rows[owners])


def _machines(questions: Sequence[Question], owners: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
    nodes = np.array([question.node.gpus_per_node for question in questions], dtype=float)
    network = np.array([question.scenario.get("internode_gbps_per_gpu") for question in questions], dtype=float)
    return {"gpus_per_node": nodes[owners], "internode_bandwidth": network[owners] * GIGA / 8}


def _levers(scenario: Scenario) -> Levers:
    on = set(scenario.get("optimizations"))
    return Levers(**{name: float(name in on) for name in OPTIMIZATIONS})


def _training(question: Question) -> Training:
    get = question.scenario.get
    framework = get("training.framework")
    return Training(
        method=codes.METHODS.index(get("training.method")),
        framework=codes.FRAMEWORKS.index(framework),
        framework_year=release_year(framework, get("training.framework_version")),
        precision=codes.TRAINING_PRECISIONS.index(get("training.precision")),
        gradient_dtype=codes.GRADIENT_DTYPES.index(get("training.gradient_dtype")),
        seq_len=float(get("training.seq_len")),
        global_batch=math.nan,
        micro_batch=math.nan,
        recompute=0,
        optimizer=codes.OPTIMIZERS.index(get("training.optimizer")),
        total_tokens=get("training.total_tokens", math.nan),
        lora_rank=float(get("training.lora_rank")),
        lora_targets=codes.LORA_TARGETS.index(get("training.lora_targets")),
        padding_fraction=get("training.padding_fraction"),
        data_loader_bytes_per_s=get("training.data_loader_bytes_per_s", math.inf),
    )


def _serving(question: Question) -> Serving:
    get = question.scenario.get
    engine, concurrency = get("inference.engine"), get("inference.concurrency", math.nan)
    return Serving(
        engine=codes.ENGINES.index(engine),
        engine_year=release_year(engine, get("inference.engine_version")),
        input_tokens=float(get("inference.input_tokens")),
        output_tokens=float(get("inference.output_tokens")),
        concurrency=math.inf if concurrency == "max" else float(concurrency),
        request_rate=get("inference.request_rate_per_s", math.nan),
        weights=codes.WEIGHT_FORMATS.index(get("inference.weights")),
        activations=codes.ACTIVATION_FORMATS.index(get("inference.activations")),
        kv_cache=codes.KV_FORMATS.index(get("inference.kv_cache")),
        max_model_len=float(get("inference.max_model_len")),
        gpu_memory_utilization=get("inference.gpu_memory_utilization"),
        max_num_batched_tokens=float(get("inference.max_num_batched_tokens")),
        max_num_seqs=float(get("inference.max_num_seqs", math.nan)),
        prefix_cache_hit=get("inference.prefix_cache_hit"),
        draft_tokens=float(get("inference.speculative.draft_tokens", 0)),
        acceptance=get("inference.speculative.acceptance", 0.0),
        draft_cost=get("inference.speculative.draft_cost", 0.0),
        prefill_gpus=float(get("inference.disaggregated.prefill.gpus", 0)),
        prefill_tp=float(get("inference.disaggregated.prefill.tp", 0)),
        decode_gpus=float(get("inference.disaggregated.decode.gpus", 0)),
        decode_tp=float(get("inference.disaggregated.decode.tp", 0)),
        backend=codes.BACKENDS.index(get("inference.backend", "")),
        weight_bytes_override=stored_bytes(question.architecture, get("inference.weights")),
        prefill_attention_dp=float(get("inference.disaggregated.prefill.attention_dp", math.nan)),
        decode_attention_dp=float(get("inference.disaggregated.decode.attention_dp", math.nan)),
    )
