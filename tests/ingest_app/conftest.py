"""Result files and shortcuts of these tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from benchmarks_ingest.models import Upload
from benchmarks_ingest.services import upload_create
from jobs.models import Job
from jobs.services import job_run

SERVE: dict[str, Any] = {
    "date": "20260301-101500",
    "backend": "vllm",
    "model_id": "meta-llama/Llama-3.1-70B-Instruct",
    "num_prompts": 400,
    "request_rate": "inf",
    "max_concurrency": 64,
    "duration": 51.2,
    "completed": 400,
    "failed": 0,
    "total_input_tokens": 409600,
    "total_output_tokens": 102400,
    "request_throughput": 7.8125,
    "output_throughput": 2000.0,
    "total_token_throughput": 10000.0,
    "mean_ttft_ms": 420.0,
    "median_ttft_ms": 400.0,
    "p99_ttft_ms": 900.0,
    "mean_tpot_ms": 30.0,
    "median_tpot_ms": 29.5,
    "p99_tpot_ms": 45.0,
    "mean_itl_ms": 30.0,
    "median_itl_ms": 29.0,
    "p99_itl_ms": 60.0,
}
TABLE = (
    "model,gpu,gpus,engine,precision,input tokens,output tokens,concurrency,output tokens/s,ttft (ms),tpot (ms)\n"
    "llama-3.1-70b,H100-SXM,8,vllm,bf16,1024,256,64,1900,410,31\n"
    "llama-3.1-70b,H100-SXM,8,vllm,bf16,1024,256,32,1350,250,22\n"
)
HARDWARE = {"gpu": "h100-sxm", "gpu_count": 8}


def serve(**changes: Any) -> bytes:
    """A serving benchmark's result without any word on the hardware."""
    return json.dumps({**SERVE, **changes}).encode()


def many(factors: list[float]) -> bytes:
    """Several results in one file, each `factor` times as slow as the first."""
    rows = [
        {
            **SERVE,
            "duration": SERVE["duration"] * factor,
            "output_throughput": 2000.0 / factor,
            "total_token_throughput": 10000.0 / factor,
            "request_throughput": 7.8125 / factor,
            "mean_tpot_ms": 30.0 * factor,
            "median_tpot_ms": 29.5 * factor,
            "p99_tpot_ms": 45.0 * factor,
        }
        for factor in factors
    ]
    return "\n".join(json.dumps(row) for row in rows).encode()


def run_jobs() -> None:
    """Work off all queued jobs, and those that they make."""
    while queued := list(Job.objects.filter(status="queued")):
        for job in queued:
            job_run(job_id=job.pk, worker="tests")


def uploaded(owner: Any, data: bytes, name: str = "result.json") -> Upload:
    """An upload that was read."""
    row, _new = upload_create(owner=owner, chunks=[data], name=name)
    run_jobs()
    row.refresh_from_db()
    return row


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> Path:
    """Raw bytes of a test lie in its own folder."""
    settings.MEDIA_ROOT = tmp_path / "uploads"
    return tmp_path / "uploads"


@pytest.fixture
def api_uploader(user: Any) -> APIClient:
    """A REST client with a token that may read and upload."""
    from accounts.services import token_create

    _row, text = token_create(user=user, name="uploads", scopes=["read", "upload"])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {text}")
    return client
