"""Training logs: one dict of figures a logged step, warm-up dropped by one stated rule, medians of the rest."""

import re
from collections.abc import Mapping, Sequence

from ..canonical import Run
from ..values import median

Step = Mapping[str, float]
WITHIN = 0.2
ALWAYS_DROPPED = 5
ENOUGH = 15


def steady(paces: Sequence[float]) -> int:
    """How many leading steps are warm-up: all until one lies within 20 % of the later half's median, at least five
    of fifteen or more.
    """
    if len(paces) < 2:
        return 0
    middle = median(list(paces[len(paces) // 2 :]))
    lead = next((index for index, pace in enumerate(paces) if abs(pace / middle - 1) <= WITHIN), 0)
    return min(max(lead, ALWAYS_DROPPED if len(paces) >= ENOUGH else 0), len(paces) - 1)


def pace(step: Step) -> float | None:
    """Seconds a step, or the inverse of a rate: what shows whether a step is warm-up."""
    if step.get("step_time_s"):
        return step["step_time_s"]
    for rate in ("tokens_per_s_per_gpu", "tokens_per_s", "samples_per_s", "tflops_per_gpu"):
        if step.get(rate):
            return 1 / step[rate]
    return None


def put_steps(run: Run, steps: Sequence[Step], names: Mapping[str, str]) -> int:
    """Medians of the steady steps into the run, under the source's own names; peak memory is the largest. Returns
    the number of steady steps.
    """
    timed = [(value, step) for step in steps if (value := pace(step))]
    if not timed:
        return 0
    dropped = steady([value for value, _ in timed])
    kept = [step for _, step in timed[dropped:]]
    for field, source in names.items():
        values = [step[field] for step in kept if step.get(field)]
        if values:
            figure = max(values) if field == "peak_memory_bytes" else median(values)
            run.put(field, figure, f"{'largest' if field == 'peak_memory_bytes' else 'median'} of {source}")
    run.notes.append(
        f"{dropped} of {len(timed)} logged steps dropped as warm-up (until a step is within 20 % of "
        f"the later half's median), median of the other {len(kept)}"
    )
    if len(kept) == 1:
        run.warnings.append("only one steady step is logged: low confidence")
    return len(kept)


def put_tokens(run: Run) -> None:
    """tokens/s from batch, sequence length and step time; per GPU where the count is known."""
    if run.global_batch and run.seq_len and run.step_time_s:
        run.derive(
            "tokens_per_s",
            run.global_batch * run.seq_len / run.step_time_s,
            "global batch x sequence length / step time",
        )
    if run.tokens_per_s and run.gpu_count:
        run.derive("tokens_per_s_per_gpu", run.tokens_per_s / run.gpu_count, "tokens/s / GPUs")
    elif run.tokens_per_s_per_gpu and run.gpu_count:
        run.derive("tokens_per_s", run.tokens_per_s_per_gpu * run.gpu_count, "tokens/s per GPU x GPUs")


_SMI_ROW = re.compile(r"^\|\s+\d+\s+((?:NVIDIA|Tesla|GeForce|Quadro|A100|H100)[^|]*?)\s+(?:On|Off)\s+\|", re.MULTILINE)


def put_nvidia_smi(run: Run, text: str) -> None:
    """The GPUs of an nvidia-smi table printed into the log."""
    single = re.search(r"compiled for (?:CUDA|ROCm|HIP) [\w.]+ on ([^\n]{3,60}?) with world_size (\d{1,6})", text)
    if single:
        run.put("gpu", single[1], "start line of the log")
        run.put("gpu_count", single[2], "start line of the log")
        return
    names = [name.strip() for name in _SMI_ROW.findall(text)]
    if names and len(set(names)) == 1:
        run.put("gpu", names[0], "nvidia-smi table in the log")
        run.put("gpu_count", len(names), "nvidia-smi table in the log")
