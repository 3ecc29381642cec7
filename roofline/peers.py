"""How long other estimators take for one estimate; run by the interpreter of the environment that holds them.

    .peers/bin/python roofline/peers.py

prints one JSON object: for each installed peer its version, seconds for one estimate (median, everything loaded before,
no two questions alike) and its answer to the first question: Llama 3.1 70B in bf16 on 8 H100 in tensor parallel, 1,024
tokens in, 256 out. Nothing of the project is imported, so that the two environments need not agree.
"""

import contextlib
import importlib.metadata
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

MODEL, GPUS, PROMPT, ANSWER = "meta-llama/Meta-Llama-3.1-70B", 8, 1024, 256
USERS = (64, 65, 66, 67, 68)  # requests at once, one question each
Estimate = Callable[[int], float]  # requests at once to seconds for a token


def genz() -> Estimate:
    """One decode step of genz-llm."""
    ask: Any = import_module("GenZ").decode_moddeling

    def estimate(users: int) -> float:
        found = ask(
            model="meta-llama/llama-3.1-70b",
            batch_size=users,
            input_tokens=PROMPT,
            output_tokens=ANSWER,
            Bb=1,
            system_name="H100_GPU",
            bits="bf16",
            tensor_parallel=GPUS,
        )
        return float(found["Latency"]) / 1e3

    return estimate


def aiconfigurator() -> Estimate:
    """One aggregated worker of aiconfigurator, model and measurements already loaded."""
    sdk: Any = {
        name: import_module(f"aiconfigurator.sdk.{name}")
        for name in ("backends.factory", "config", "inference_session", "models", "perf_database")
    }
    system, engine = "h100_sxm", "trtllm"
    config, database = sdk["config"], sdk["perf_database"]
    version = database.get_latest_database_version(system=system, backend=engine)
    session = sdk["inference_session"].InferenceSession(
        sdk["models"].get_model(MODEL, config.ModelConfig(tp_size=GPUS), engine),
        database.get_database_view(system, engine, version),
        sdk["backends.factory"].get_backend(engine),
    )

    def estimate(users: int) -> float:
        asked = config.RuntimeConfig(isl=PROMPT, osl=ANSWER, batch_size=users)
        return float(session.run_agg(asked, ctx_tokens=PROMPT).get_result_dict()["tpot"]) / 1e3

    return estimate


PEERS = {"genz-llm": genz, "aiconfigurator": aiconfigurator}


def timed(prepare: Callable[[], Estimate]) -> dict[str, float]:
    """Seconds for one estimate, and the answer to the first question."""
    estimate = prepare()
    answer, spent = estimate(USERS[0]), []
    for users in USERS[1:]:
        began = time.perf_counter()
        estimate(users)
        spent.append(time.perf_counter() - began)
    return {"seconds": round(statistics.median(spent), 6), "tpot_s": round(answer, 6)}


def measure() -> dict[str, dict[str, Any]]:
    """Every peer that is installed."""
    found: dict[str, dict[str, Any]] = {}
    for name, prepare in PEERS.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            version = importlib.metadata.version(name)
            found[name] = {"version": version, **timed(prepare)}
    return found


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # peers print what they do; only the result goes to the output
    json.dump(measure(), out)
    out.flush()
    sys.exit(0)
