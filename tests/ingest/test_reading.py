"""Decoding, archives, guesses, checks and the registry."""

import io
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks_ingest.parsers import FileReport, Limits, ParseResult, Registry, Run, read
from benchmarks_ingest.parsers.archive import ArchiveError, safe_name
from benchmarks_ingest.parsers.checks import check
from benchmarks_ingest.parsers.decode import Document, json_values
from benchmarks_ingest.parsers.formats.steps import steady
from benchmarks_ingest.parsers.guess import find_gpu, guesses
from benchmarks_ingest.parsers.values import human, number, quantity, seconds

from .serving_cases import BLOCK, VLLM, dumps

RESULT = dumps(VLLM).encode()


def test_it_works() -> None:
    (report,) = read(RESULT, "result.json")
    assert (report.status, report.format) == ("to_confirm", "vllm-bench-serve")
    assert report.reason == "the file does not state the GPU or the number of GPUs"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "0 bytes"),
        (b" \n\t ", "white space"),
        (b"%PDF-1.4 ...", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (bytes(range(256)) * 20, "binary"),
        (b"<!DOCTYPE html><html><script>window.benchmarks = {}</script></html>", "web page"),
        (b"[]", "empty JSON"),
        (b"just some prose about nothing", "no known benchmark format"),
        (b"\x1f\x8b\x08\x00garbage-garbage", "gzip"),
        (b"{" * 5000, "no known benchmark format"),
    ],
)
def test_what_is_no_result_is_refused_with_a_sentence(data: bytes, reason: str) -> None:
    (report,) = read(data, "x.json")
    assert report.status == "refused"
    assert reason in report.reason


def test_too_large_a_file_is_refused() -> None:
    (report,) = read(RESULT, "x.json", limits=Limits(max_bytes=100))
    assert "more than the limit" in report.reason


def zipped(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return stream.getvalue()


def tarred(mode: str, **files: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=f"w:{mode}") as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


@pytest.mark.parametrize("pack", [zipped, lambda **files: tarred("gz", **files), lambda **files: tarred("", **files)])
def test_archives_are_read_file_by_file(pack: Callable[..., bytes]) -> None:
    reports = read(pack(h100_tp8__a=RESULT, b=b"", c=BLOCK.encode()), "all.zip")
    assert [report.file for report in reports] == ["all.zip/h100_tp8/a", "all.zip/b", "all.zip/c"]
    assert [report.status for report in reports] == ["to_confirm", "refused", "to_confirm"]
    assert {guess.field: guess.value for guess in reports[0].guesses}["gpu"] == "H100"


@pytest.mark.parametrize("name", ["../up.json", "/etc/passwd", "a/../../b", "C:\\x", "..\\x"])
def test_paths_that_climb_out_are_refused(name: str) -> None:
    with pytest.raises(ArchiveError):
        safe_name(name)
    (report,) = read(zipped(**{name: RESULT}) if "/" in name or "\\" in name else b"", "x.zip")
    assert report.status == "refused"


def test_bombs_are_refused() -> None:
    (report,) = read(zipped(bomb=b"0" * 30_000_000), "x.zip")
    assert "bomb" in report.reason
    (report,) = read(zipped(a=RESULT * 50, b=RESULT * 50), "x.zip", limits=Limits(max_unpacked_bytes=60_000))
    assert "unpacks to more than" in report.reason
    (report,) = read(zipped(a=RESULT, b=RESULT), "x.zip", limits=Limits(max_members=1))
    assert "more than 1 files" in report.reason
    (report,) = read(zipped(a=zipped(b=RESULT)), "x.zip")
    assert "inside another" in report.reason


def test_the_same_run_again_is_a_duplicate() -> None:
    seen: set[str] = set()
    assert read(RESULT, "a.json", seen=seen)[0].status == "to_confirm"
    assert read(RESULT + b"\n", "b.json", seen=seen)[0].status == "duplicate"
    assert [report.status for report in read(RESULT + b"\n" + RESULT, "c.json")] == ["to_confirm", "duplicate"]


@pytest.mark.parametrize(
    "wrap", [lambda r: {"results": [r]}, lambda r: {"8": {"run": r}}, lambda r: {"meta": {}, "data": {"runs": [r, r]}}]
)
def test_results_inside_a_wrapper_are_found(wrap: Callable[[Any], Any]) -> None:
    report = read(dumps(wrap(VLLM)).encode(), "mine.json")[0]
    assert (report.status, report.format) == ("to_confirm", "vllm-bench-serve")


def test_json_survives_what_happens_to_it() -> None:
    assert json_values('{"a": NaN}{"b": Infinity} {"c": 1}')[0][2] == {"c": 1}
    assert json_values('[{"a": 1}, {"b": 2}, {"c"')[0] == [{"a": 1}, {"b": 2}]
    assert json_values('{"a": 1}\n{"b": \n{"c": 3}\n') == ([{"a": 1}, {"c": 3}], 1)
    assert json_values("[default0]:hello\n[2024-01-01] x\n") == ([], 0)


@pytest.mark.parametrize(
    ("written", "value"),
    [("1,234.5", 1234.5), ("1.234,5", 1234.5), ("12,5", 12.5), ("1 234", 1234.0), ("inf", None), ("NaN", None), ("1e3", 1e3),
     (True, None), (None, None), ("12 ms", None), (10**400, None), ("-0.00", 0.0), ("1,234", 1234.0)],
)  # fmt: skip
def test_numbers(written: object, value: float | None) -> None:
    assert number(written) == value


def test_units_and_durations() -> None:
    assert quantity("1.20 Tokens/s") == (1.2, "Tokens/s")
    assert quantity("140W") == (140.0, "W")
    assert quantity("OOM") is None
    assert human("11.5K") == 11500.0
    assert [seconds(text) for text in ("0:32:48", "9 days, 21:39:23", "PT49.97S", "1m2.5s", "7", "x")] == [
        1968.0,
        855563.0,
        49.97,
        62.5,
        7.0,
        None,
    ]


@pytest.mark.parametrize(
    ("text", "gpu", "count"),
    [("gptoss_fp4_h200_tp8_conc16", "H200", None), ("8xMI300X_2xEPYC", "MI300X", 8), ("A100-80GB", "A100-80GB", None),
     ("8× NVIDIA L20", "L20", 8), ("xd670_h200_x16_vllm", "H200", 16),
        ("4Mi300x-throughput-quark", "MI300X", 4), ("nothing here", None, None)],
)  # fmt: skip
def test_gpus_are_found_in_names(text: str, gpu: str | None, count: int | None) -> None:
    assert find_gpu(text) == (gpu, count)


def test_guesses_have_reasons_and_never_replace_what_is_stated() -> None:
    run = Run(tp=4)
    found = {guess.field: guess for guess in guesses(run, "runs/8xH100/llama-3.1-70b_fp8_tp8_isl1024_osl256.json")}
    assert found["gpu"].value == "H100"
    assert found["gpu_count"].value == 8
    assert found["weights"].value == "fp8"
    assert found["input_tokens"].value == 1024
    assert "tp" not in found
    assert all(0 < guess.confidence < 1 and guess.reason for guess in found.values())


def run_with(**figures: Any) -> Run:
    run = Run()
    for name, value in figures.items():
        run.put(name, value, name)
    return run


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"requests_per_s": 2.0, "completed": 100, "duration_s": 100.0}, "disagrees with totals over duration"),
        ({"total_tokens_per_s": 10.0, "output_tokens_per_s": 20.0}, "is below output"),
        ({"ttft_mean_s": 1.0, "tpot_mean_s": 0.1, "output_tokens": 11, "e2e_mean_s": 5.0}, "disagrees with the end-to-end"),
        ({"requests_per_s": 10.0, "e2e_mean_s": 10.0, "concurrency": 8}, "Little's law"),
        ({"requests_per_s": 1.0, "e2e_mean_s": 1.0, "concurrency": 64, "completed": 1000}, "less than half"),
        ({"ttft_p50_s": 2.0, "ttft_p99_s": 1.0}, "not monotone"),
        ({"ttft_p90_s": 2.0, "ttft_p95_s": 1.0}, "p90 2 s is above p95"),
        ({"itl_mean_s": 0.33, "tpot_mean_s": 0.033}, "about 10 tokens"),
        ({"failed": 1, "completed": 9}, "1 of 10 requests failed"),
        ({"mfu_reported": 1.5}, "above 100 %"),
        ({"tflops_per_gpu": 400.0, "mfu_reported": 400 / 1979}, "with sparsity"),
        ({"tokens_per_s": 100.0, "tokens_per_s_per_gpu": 100.0, "gpu_count": 8}, "is not tokens/s per GPU"),
        ({"duration_s": 1.0}, "low confidence"),
    ],
)  # fmt: skip
def test_figures_that_disagree_are_warned_of(figures: dict[str, Any], message: str) -> None:
    assert any(message in warning for warning in check(run_with(**figures)))


def test_a_ceiling_check_can_be_supplied() -> None:
    reports = read(RESULT, "r.json", ceiling=lambda run: [f"above the roofline: {run.output_tokens_per_s:.0f}"])
    assert "above the roofline: 400" in reports[0].warnings


def test_sound_figures_are_not_warned_of() -> None:
    assert read(RESULT, "r.json")[0].warnings == []


def test_secrets_of_a_server_stay_behind() -> None:
    record = {
        **VLLM,
        "total_output_tokens_retokenized": 8000,
        "server_info": {"model_path": "m", "api_key": "secret-1", "host": "10.0.0.1"},
    }
    assert "secret-1" not in dumps([report.to_json() for report in read(dumps(record).encode(), "x.jsonl")])


def test_warm_up_is_found() -> None:
    assert steady([50.0, 2.0, 2.0, 2.0]) == 1
    assert steady([2.0] * 20) == 5
    assert steady([20.0, 7.0]) == 1
    assert steady([2.0]) == 0


class Extra:
    """A parser from elsewhere."""

    format = "extra"

    def score(self, document: Document) -> float:
        return 1.0 if document.head.startswith("extra") else 0.0

    def parse(self, document: Document) -> ParseResult:
        return ParseResult([Run(ttft_mean_s=1.0)])


def test_parsers_can_be_added_until_the_registry_is_frozen() -> None:
    registry = Registry([Extra()])
    assert registry.best(Document("x", b"", "extra 1")) is not None
    assert registry.best(Document("x", b"", "else")) is None
    with pytest.raises(ValueError, match="two parsers"):
        registry.register(Extra())
    with pytest.raises(TypeError):
        registry.register(object())  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        registry.freeze().register(Extra())


def test_a_report_has_the_keys_that_scripts_rely_on() -> None:
    line = FileReport("f", "refused", None, "why").to_json()
    assert list(line) == ["file", "status", "format", "reason", "warnings", "run"]
