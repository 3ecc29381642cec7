"""Any bytes are answered with reports: never an exception, never more than a second a megabyte."""

import gzip
import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks_ingest.parsers import read

from .mutations import SEEDS, mutated

pieces = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"{",
                b"}",
                b"[",
                b"]",
                b",",
                b":",
                b'"',
                b"\n",
                b"|",
                b"NaN",
                b"Infinity",
                b"-",
                b"\x00",
                b"\xff",
                b"\x1b[31m",
            ]
        ),
        st.sampled_from(
            [
                b'"mean_ttft_ms"',
                b'"completed"',
                b"iteration 1/ 2 | ",
                b"[BENCHMARK] ",
                b":::MLLOG {",
                b"step,loss\n",
                b"t/s",
                b"1e999",
            ]
        ),
        st.binary(max_size=20),
    ),
    max_size=60,
)


@given(
    st.one_of(st.binary(max_size=2000), pieces.map(b"".join)),
    st.sampled_from(["a.json", "b.csv", "c.log", "d.xlsx", "tp8_h100.md"]),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_are_answered(data: bytes, name: str) -> None:
    reports = read(data, name)
    assert reports
    json.dumps([report.to_json() for report in reports], allow_nan=False)


@given(st.integers(0, len(SEEDS) - 1), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_results_are_answered(index: int, seed: int) -> None:
    data, name = mutated(SEEDS[index], seed)
    reports = read(data, name)
    assert all(report.reason for report in reports if report.status == "refused")
    json.dumps([report.to_json() for report in reports], allow_nan=False)


MEGABYTE = 2**20
HEAVY = {
    "open brackets": b"[" * MEGABYTE,
    "open objects": b'{"a":' * (MEGABYTE // 5),
    "open lists, a line each": b"[\n" * (MEGABYTE // 2),
    "torn objects": b'{"completed": 1, "mean_ttft_ms": \n' * (MEGABYTE // 34),
    "spaces": b"x" + b" " * MEGABYTE + b"x",
    "one line": b"a" * MEGABYTE,
    "pipes": b"|" * MEGABYTE,
    "pipe rows": b"| a | b |\n|---|---|\n" * (MEGABYTE // 20),
    "commas": b"," * MEGABYTE,
    "digits": b"9" * MEGABYTE,
    "quotes": b'"' * MEGABYTE,
    "iterations": b"iteration 1/ 2 | x" * (MEGABYTE // 18),
    "steps": b"step: 1 loss: 1 " * (MEGABYTE // 16),
    "braces and quotes": b"{'" * (MEGABYTE // 2),
    "equals": b"=" * MEGABYTE,
    "blocks": b"==== Serving Benchmark Result ====\n" * (MEGABYTE // 35),
    "colons": b"a: b\n" * (MEGABYTE // 5),
    "semicolon rows": b"a;b;c\n" * (MEGABYTE // 6),
    "inserts": b"INSERT INTO t (build_commit, avg_ts) VALUES ('" * (MEGABYTE // 46),
    "escapes": b"\x1b[" * (MEGABYTE // 2),
    "mllog": b":::MLLOG {" * (MEGABYTE // 10),
    "yaml": b"version: '0.1'\nscenario:\nmetrics:\n" + b"- [" * 20_000,
}


@pytest.mark.parametrize("name", HEAVY)
def test_a_megabyte_takes_less_than_its_second(name: str) -> None:
    started = time.process_time()
    assert read(HEAVY[name], "x.log")
    assert time.process_time() - started < 4.0  # a second, on a slow and busy machine


def test_a_gzip_bomb_is_refused() -> None:
    bomb = gzip.compress(b"0" * (210 * MEGABYTE), 1)
    (report,) = read(bomb, "x.json.gz")
    assert "more than 200 MB" in report.reason


def test_ten_thousand_runs_in_one_file() -> None:
    lines = "".join(
        json.dumps(
            {
                "build_commit": "a",
                "gpu_info": "G",
                "n_prompt": 512,
                "n_gen": 0,
                "avg_ts": 1000 + index,
                "n_gpu_layers": 99,
            }
        )
        + "\n"
        for index in range(10_000)
    )
    started = time.process_time()
    reports = read(lines.encode(), "b.jsonl")
    assert sum(report.status == "stored" for report in reports) == 10_000
    assert time.process_time() - started < 20
    (refused,) = read((lines + lines.replace("1000", "2000")).encode(), "b.jsonl")
    assert "more than the limit of 10,000" in refused.reason
