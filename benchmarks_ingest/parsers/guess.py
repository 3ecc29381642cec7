"""Guesses of what a file does not say, from its content, its file name and its folders. Never facts: each has a
reason and a confidence.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from .canonical import Run

GPU_NAMES = (
    "GB300",
    "GB200",
    "B300",
    "B200",
    "GH200",
    "H200",
    "H100",
    "H800",
    "H20",
    "A100",
    "A800",
    "A30",
    "A40",
    "A10G",
    "A10",
    "L40S",
    "L40",
    "L20",
    "L4",
    "V100",
    "T4",
    "P100",
    "MI355X",
    "MI325X",
    "MI300X",
    "MI300A",
    "MI300",
    "MI250X",
    "MI250",
    "MI210",
    "MI100",
    "RTX 6000 Ada",
    "RTX PRO 6000",
    "RTX A6000",
    "RTX 5090",
    "RTX 4090",
    "RTX 3090",
    "Gaudi 3",
    "Gaudi 2",
    "Gaudi3",
    "Gaudi2",
    "TPU v6e",
    "TPU v5p",
    "TPU v5e",
    "v6e",
    "v5p",
    "v5e",
    "Trainium2",
    "Ascend 910B",
    "Strix Halo",
)
_GPU = re.compile(
    r"(?<![A-Za-z0-9])(?:(\d{1,4})\s*[x×]\s*(?:NVIDIA[\s_-]*|AMD[\s_-]*(?:Instinct[\s_-]*)?)?|(\d{1,2})(?=MI\d))?"
    f"({'|'.join(re.sub('[ -]', '[ _-]?', name) for name in GPU_NAMES)})"
    r"((?:[\s_-]?(?:SXM\d?|PCIe|NVL|HBM\d?e?|\d{2,3}\s?GB))*)(?:[\s_]*[x×*]\s*(\d{1,4}))?(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_NUMBER_FIELDS = {
    "tp": r"(?<![a-z])(?:tp|tep|tp_size|tensor[-_ ]parallel(?:[-_ ]size)?)[-_=: ]?(\d{1,4})(?!\d)",
    "pp": r"(?<![a-z])(?:pp|pp_size|pipeline[-_ ]parallel(?:[-_ ]size)?)[-_=: ]?(\d{1,3})(?!\d)",
    "dp": r"(?<![a-z])(?:dp|dp_size|data[-_ ]parallel(?:[-_ ]size)?)[-_=: ]?(\d{1,4})(?!\d)",
    "ep": r"(?<![a-z])(?:ep|tep|ep_size)[-_=: ]?(\d{1,4})(?!\d)",
    "concurrency": r"(?<![a-z])(?:conc(?:urrency)?|c)[-_=]?(\d{1,6})(?!\d)",
    "input_tokens": r"(?<![a-z])(?:isl|in|ip|input(?:[-_]?len)?)[-_=]?(\d{2,7})(?!\d)",
    "output_tokens": r"(?<![a-z])(?:osl|out|op|output(?:[-_]?len)?)[-_=]?(\d{1,7})(?!\d)",
    "batch_size": r"(?<![a-z])(?:bs|batch(?:[-_]?size)?|np)[-_=]?\(?(\d{1,6})(?!\d)",
}
_WEIGHTS = (
    ("nvfp4", r"nvfp4"),
    ("mxfp4", r"mxfp4"),
    ("fp8", r"(?<![a-z])fp8|w8a8[-_]?fp8|fp8_dyn"),
    ("fp4", r"(?<![a-z])fp4"),
    ("int4_awq", r"(?<![a-z])awq"),
    ("int4_gptq", r"(?<![a-z])gptq"),
    ("int8", r"(?<![a-z])int8|w8a8"),
    ("int4", r"(?<![a-z])int4|w4a16"),
    ("nf4", r"(?<![a-z])nf4|bnb"),
    ("bf16", r"(?<![a-z])bf16|bfloat16"),
    ("fp16", r"(?<![a-z])fp16|float16"),
)
_GGUF = re.compile(
    r"(?<![A-Za-z0-9])(I?Q\d(?:_(?:K(?:_(?:XXL|XL|XS|XXS|S|M|L))?|0|1|XXS|XS|S|M|NL))|MXFP4|BF16|F16|F32)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_ENGINES = (
    ("sglang", "sglang"),
    ("vllm", "vllm"),
    ("tensorrt_llm", r"tensorrt|trt[-_]?llm|trtllm"),
    ("llama_cpp", r"llama[-_.]?cpp|llama[-_]bench|gguf"),
    ("tgi", r"(?<![a-z])tgi(?![a-z])"),
    ("lmdeploy", "lmdeploy"),
    ("ollama", "ollama"),
)
_MODEL = re.compile(
    r"((?:meta-llama[_/-]+)?(?:meta-)?llama[-_ ]?\d(?:[._]\d)?[-_]\d+b(?:[-_]instruct|[-_]chat)?"
    r"|gpt[-_]?oss(?:[-_]\d+b)?|deepseek[-_]?(?:r1|v\d(?:[._]\d)?)(?:[-_]\d{4})?"
    r"|qwen[-_]?\d(?:[._]\d)?[-_]\d+b(?:[-_]a\d+b)?(?:[-_]instruct|[-_]thinking)?|mixtral[-_]\d+x\d+b|mistral[-_]\d+b|kimi[-_]k\d(?:[._]\d)?|glm[-_]?\d(?:[._]\d)?(?:[-_]air)?"
    r"|minimax[-_]?m\d(?:[._]?\d)?|gemma[-_]?\d[-_]\d+b|phi[-_]\d(?:[._]\d)?|opt[-_]\d+(?:\.\d+)?[bm])(?![a-z0-9])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Guess:
    """A likely value of a field; confidence from 0 to 1."""

    field: str
    value: Any
    reason: str
    confidence: float

    def to_json(self) -> dict[str, Any]:
        """As printed beside a run."""
        return {**asdict(self), "confidence": round(self.confidence, 2)}


def guesses(run: Run, name: str, content: str = "") -> list[Guess]:
    """Guesses for the fields that the run leaves open; names count more than the surrounding text."""
    found = [
        *_all_from(name, "the file or folder name", 0.6),
        *_all_from(content[:20_000], "the text of the file", 0.4),
    ]
    if run.tp and run.gpu_count is None:
        found.append(
            Guess("gpu_count", run.tp * (run.pp or 1) * (run.dp or 1), "the product of the stated parallel sizes", 0.5)
        )
    best: dict[str, Guess] = {}
    for guess in found:
        if getattr(run, guess.field) is None and guess.field not in best:
            best[guess.field] = guess
    return list(best.values())


def conflicts(run: Run, name: str) -> list[str]:
    """Warnings where the file name says otherwise than the file."""
    messages = []
    for guess in _all_from(name.replace("\\", "/").rsplit("/", 1)[-1], "", 0.0):
        stated = getattr(run, guess.field)
        if guess.field == "model" and isinstance(stated, str) and not _same_model(stated, str(guess.value)):
            messages.append(f"the file name says {guess.value}, the file itself says model {stated}")
        elif guess.field == "tp" and stated is not None and stated != guess.value:
            messages.append(f"the file name says tp {guess.value}, the file itself says {stated}")
    for engine, pattern in _ENGINES[:3]:
        if (
            run.engine in {"vllm", "sglang", "tensorrt_llm"}
            and run.engine != engine
            and re.search(pattern, name, re.IGNORECASE)
        ):
            messages.append(f"the path names {engine}, the file itself says {run.engine}")
    return messages


def _same_model(stated: str, guess: str) -> bool:
    letters = [re.sub(r"[^a-z0-9]", "", item.lower()) for item in (stated, guess)]
    family = re.match(r"[a-z]+", letters[1])
    return letters[1] in letters[0] or (family is not None and family[0] in letters[0])


@lru_cache(maxsize=256)
def _all_from(text: str, reason: str, confidence: float) -> tuple[Guess, ...]:
    """The same name and text stand behind every run of a file."""
    return tuple(_from(text, reason, confidence))


def _from(text: str, reason: str, confidence: float) -> Iterator[Guess]:
    if not text:
        return
    gpu, count = find_gpu(text)
    if gpu:
        yield Guess("gpu", gpu, reason, confidence)
    if count:
        yield Guess("gpu_count", count, reason, confidence)
    lowered = text.lower()
    for name, pattern in _NUMBER_FIELDS.items():
        match = re.search(pattern, lowered)
        if match and int(match[1]):
            yield Guess(
                name,
                int(match[1]),
                reason,
                confidence if name not in {"concurrency", "batch_size"} else confidence - 0.2,
            )
    yield from _named(text, reason, confidence)


def _named(text: str, reason: str, confidence: float) -> Iterator[Guess]:
    for name, pattern in _WEIGHTS:
        if re.search(pattern, text, re.IGNORECASE):
            yield Guess("weights", name, reason, confidence - 0.1)
            break
    else:
        gguf = _GGUF.search(text)
        if gguf:
            yield Guess("weights", gguf[1].lower(), reason, confidence)
    for engine, pattern in _ENGINES:
        if re.search(pattern, text, re.IGNORECASE):
            yield Guess("engine", engine, reason, confidence - 0.2)
            break
    model = _MODEL.search(text)
    if model:
        yield Guess("model", model[1], reason, confidence)


def find_gpu(text: str) -> tuple[str | None, int | None]:
    """The first accelerator named in a text and its count where one stands beside it ("8xH100", "MI300X x 4", "4090
    24GB * 2").
    """
    match = _GPU.search(text[:20_000])
    if match is None:
        return None, None
    before, glued, name, form, after = match.groups()
    count = before or glued or after
    return (name.upper() if not name.lower().startswith(("tpu", "v", "rtx", "gaudi", "strix")) else name) + (
        form or ""
    ).rstrip(" _-"), int(count) if count else None
