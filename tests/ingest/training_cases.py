"""Small training logs, hand-kept tables and what is recognised but refused, written for these tests in the real formats."""
# ruff: noqa: E501 - lines of real logs are long

import io
import json

from openpyxl import Workbook

from .case import Case


def megatron(iteration: int, milliseconds: float, tail: str = "\n") -> str:
    return (
        f" iteration {iteration:8d}/     100 | consumed samples: {iteration * 64:12d} | elapsed time per iteration (ms): {milliseconds:.1f} |"
        f" throughput per GPU (TFLOP/s/GPU): 400.0 | learning rate: 1.0E-05 | global batch size:    64 | lm loss: 2.4E+00 | loss scale: 1.0 |"
        f" number of nan iterations:   0 |{tail}"
    )


MEGATRON = (
    "using world size: 16, data-parallel-size: 2, context-parallel-size: 1, tensor-model-parallel size: 4, pipeline-model-parallel size: 2\n"
    "  seq_length ...................................... 4096\n  micro_batch_size ................................ 1\n"
    "  bf16 ............................................ True\n"
    + megatron(1, 53048.6)
    + "".join(megatron(step, 2000.0) for step in range(2, 10))
    + megatron(10, 2000.0, "Number of parameters in transformer layers in billions:  6.98\n")
    + "[Rank 0] (after 10 iterations) memory (MB) | allocated: 1000.0 | max allocated: 20480.0 | reserved: 1.0\n"
)
PRIMUS = "iteration  4700/ 4768 | elapsed time per iteration (ms): 1460.8/1450.4 |\n   TFLOP/s/GPU: 633.7 | tokens per GPU (tokens/s/GPU): 180743.2 | lm loss: 3.3\n"
NEMO = "".join(
    f"[default0]:Training epoch 0, iteration {step}/19 | lr: 1e-07 | global_batch_size: 512 | global_step: {step} | reduced_train_loss: 11.0 |"
    f" train_step_timing in s: {30.0 if step == 0 else 7.5} | consumed_samples: {512 * (step + 1)}\n"
    for step in range(8)
)
TITAN = "".join(
    f"\x1b[32m[rank0]:[titan] 2026-01-01 - root - INFO - \x1b[31mstep: {step}  \x1b[32mloss: 10.7069  \x1b[33mmemory: 30.99GiB(32.62%)  "
    f"\x1b[34mtps: {tps}  tflops: {flops}  \x1b[35mmfu: {mfu}\x1b[39m\n"
    for step, tps, flops, mfu in (
        (1, "375", "20.10", "2.05%"),
        (10, "7,034", "407.35", "41.19%"),
        (20, "7,040", "407.50", "N/A"),
    )
)
MAXTEXT = "".join(
    f"completed step: {step}, seconds: {time}, TFLOP/s/device: {rate}, Tokens/s/device: {tokens}, total_weights: 131072, loss: 12.0\n"
    for step, time, rate, tokens in (
        (0, 44.923, 17.0, 1094.1),
        (1, 0.319, 2400.7, 154316.6),
        (2, 5.6, 135.1, 8777.1),
        (3, 5.6, 135.1, 8777.1),
        (4, 5.6, 135.1, 8777.1),
    )
)
NANOTRON = (
    "10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=0]: iteration: 327281 / 378950 | consumed_tokens: 85.8G | elapsed_time_per_iteration_ms: 11.5K |"
    " tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 11.4K | global_batch_size: 64 | model_tflops_per_gpu: 38.3 | grad_norm: 1.25\n"
)
LITGPT = (
    "Epoch 1 | iter 1 step 0 | loss train: 1.646, val: n/a | iter time: 900.00 ms\nEpoch 1 | iter 2 step 1 | loss train: 1.660, val: n/a | iter time: 600.00 ms (step)\n"
    "Epoch 1 | iter 3 step 1 | loss train: 1.646, val: n/a | iter time: 300.00 ms\nEpoch 1 | iter 4 step 2 | loss train: 1.660, val: n/a | iter time: 500.00 ms (step)\n"
    "Epoch 1 | iter 5 step 2 | loss train: 1.646, val: n/a | iter time: 300.00 ms\nEpoch 1 | iter 6 step 3 | loss train: 1.660, val: n/a | iter time: 500.00 ms (step)\n"
    "Memory used: 13.90 GB\n"
)
NANOGPT = "".join(
    f"iter {step}: loss 4.4, time {23218.37 if step == 0 else 200.0:.2f}ms, mfu {-100.0 if step < 5 else 107.5:.2f}%\n"
    for step in range(20)
)
MODDED = "import torch\nstep:0/3375 val_loss:10.8 train_time:0.000s step_avg:nanms\nstep:3375/3375 val_loss:3.28 train_time:1633.268s step_avg:478.74ms\n"
TIMER = "".join(
    f"[INFO] [timer.py:199:stop] epoch=0/micro_step={step}/global_step={step}, RunningAvgSamplesPerSec=173.4, CurrSamplesPerSec={rate},"
    f" MemAllocated=3.96GB, MaxMemAllocated=22.95GB\n"
    for step, rate in ((10, 90.0), (20, 172.0), (30, 172.0), (40, 171.0))
)
CHAT = "Model Parameters: 0.331 B, Latency: 0.27s, TFLOPs: 1.02, Samples/sec: 7.28, Time/seq 0.14s, Batch Size: 2, Sequence Length: 512\n"
PROFILE = """-------------------------- DeepSpeed Flops Profiler --------------------------
world size:                                                   1
batch size per GPU:                                           80
fwd latency:                                                  76.67 ms
fwd+bwd FLOPS per GPU = 3 * fwd flops per GPU / (fwd+bwd latency):   102.0 TFLOPS
iter latency:                                                 184.73 ms
samples/second:                                               433.07
"""
STATE = {
    "global_step": 100, "train_batch_size": 4, "num_input_tokens_seen": 0,
    "log_history": [{"loss": 2.0, "step": 5}, {"step": 100, "train_runtime": 200.0, "train_samples_per_second": 8.0, "train_steps_per_second": 0.5}],
}  # fmt: skip
SWIFT = (
    "{'loss': 1.5, 'grad_norm': 11.1, 'epoch': 0.4, 'memory(GiB)': 6.5}\n"
    "{'train_runtime': 100.0, 'train_samples_per_second': 8.0, 'train_steps_per_second': 0.5, 'train_loss': 1.5, 'global_step/max_steps': '50/50', 'memory(GiB)': 6.5}\n"
)
HF_TABLE = (
    "INFO 2024-10-28T00:56:14Z [x] ***** train metrics *****\nINFO [x] train_runtime = 0:08:58.11\nINFO [x] train_samples_per_second = 9.515\n"
    "INFO [x] train_steps_per_second = 0.019\n  Total train batch size (w. parallel, distributed & accumulation) = 512\n"
)
FACTORY = "".join(
    json.dumps(
        {
            "current_steps": step,
            "total_steps": 40,
            "loss": 2.0,
            "lr": 1e-6,
            "percentage": 2.5 * step,
            "elapsed_time": time,
        }
    )
    + "\n"
    for step, time in ((5, "23:50:00"), (10, "23:55:00"), (15, "1 day, 0:00:00"), (20, "1 day, 0:05:00"))
)


def mllog(key: str, value: object, time_ms: int = 0, prefix: str = "0: ", **metadata: object) -> str:
    event = {
        "namespace": "",
        "time_ms": time_ms,
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": metadata,
    }
    return f"{prefix}:::MLLOG {json.dumps(event)}\n"


MLPERF = (
    '+ echo \':::SYSJSON {"number_of_nodes":"2","accelerators_per_node":"8","accelerator_model_name":"NVIDIA H200"}\'\n'
    + mllog("submission_benchmark", "llama2_70b_lora")
    + mllog("submission_platform", "1xSUBMISSION_PLATFORM_PLACEHOLDER")
    + mllog("global_batch_size", 8)
    + mllog("run_start", "", 1_000_000)
    + "".join(mllog("tracked_stats", {"throughput": 2.5 + step / 1000}, step=step) * 2 for step in range(4))
    + mllog("run_stop", 0.92, 2_200_000, status="success")
)
CHART = '"Step","run-a - throughput/tokens_per_sec","run-a - throughput/tokens_per_sec__MIN","run-a - throughput/tokens_per_sec__MAX"\n"1","1000","1000","1000"\n"2","1010","1","1"\n"3","1012","1","1"\n'
SMI = "timestamp, index, power.draw [W], utilization.gpu [%]\n2026/06/10 20:34:26.165, 0, 76.10 W, 0 %\n2026/06/10 20:34:26.165, 1, 700.00 W, 99 %\n"
EUROPEAN = "Modell;GPU;Concurrency;Mean TTFT (ms);Mean TPOT (ms);Output tokens/s\ntiny;H100;8;150,5;18,25;1.234,5\n"
VLLM_KEYS = "num_prompts,completed,total_input_tokens,total_output_tokens,duration,output_throughput,mean_ttft_ms,p99_tpot_ms,request_rate,max_concurrency\n"
SLIPPED = "completed,duration,,p99_ttft_ms,mean_ttft_ms\n100,50,150,400,\n"
PIPES = """### Token generation speed (tokens/s)

| GPU | 8B Q4_K_M | 70B Q4_K_M |
|-----|-----------|------------|
| 3090 24GB | 111.74 | OOM |
| 4090 24GB * 2 | **122.56** | 19.06 |
"""
OLLAMA_TABLE = """## Tiny 7B

| System | CPU/GPU | Eval Rate | Power |
| :--- | :--- | :--- | :--- |
| [Box (Nvidia RTX 4090<sup>1</sup>)](https://example.org/1) | GPU | 92.49 Tokens/s | 464W |
| Pi | CPU | N/A | 13W |
"""


def workbook() -> bytes:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        (None, "three replicas", "split 2+1"),
        ("ITL (Mean) ms", 41.5, 45.7),
        ("ITL (95th) ms", 51.4, 64.3),
        ("TTFT (Mean) ms", 955.0, 1060.0),
    ):
        sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


CASES = [
    Case("megatron log: compile step, glued line, argument dump", "train.log", MEGATRON, "megatron-log", {"step_time_s": 2.0, "global_batch": 64, "seq_len": 4096,
         "gpu_count": 16, "tp": 4, "pp": 2, "tflops_per_gpu": 400.0, "tokens_per_s": 131072.0, "tokens_per_s_per_gpu": 8192.0, "peak_memory_bytes": 20480 * 2**20}),
    Case("megatron fork of AMD: wrapped, instant/average", "g.md", PRIMUS, "megatron-log", {"step_time_s": 1.4608, "tflops_per_gpu": 633.7, "tokens_per_s_per_gpu": 180743.2}),
    Case("megatron golden values", "golden.json", json.dumps({str(step): {"elapsed time per iteration (ms)": 53048.6 if step == 0 else 230.0,
         "GPU utilization": 1.0 if step == 0 else 270.0} for step in range(10)} | {"max_alloc": 93.2}), "megatron-golden",
         {"step_time_s": 0.23, "tflops_per_gpu": 270.0, "mfu_reported": None}),
    Case("nemo behind rank prefixes", "out.log", NEMO, "nemo-log", {"step_time_s": 7.5, "global_batch": 512, "tokens_per_s": None}),
    Case("torchtitan: ANSI colours, thousands commas, compile step", "out.log", TITAN, "torchtitan-log", {"tokens_per_s_per_gpu": 7037.0,
         "tflops_per_gpu": 407.425, "mfu_reported": 0.4119, "peak_memory_bytes": 30.99 * 2**30}),
    Case("maxtext: two compile steps", "out.log", MAXTEXT, "maxtext-log", {"step_time_s": 5.6, "tflops_per_gpu": 135.1, "tokens_per_s_per_gpu": 8777.1,
         "tokens_per_s": 131072 / 5.6}),
    Case("nanotron: human numbers, torn line", "out.log", NANOTRON * 3 + "36.9 | hardware_tflops_per_gpu: 36.9\n10/05/2025 [INFO|DP=0|PP=1|TP=0]: iteration:", "nanotron-log",
         {"step_time_s": 11.5, "tokens_per_s": 22800.0, "tokens_per_s_per_gpu": 11400.0, "gpu_count": 2, "tflops_per_gpu": 38.3, "global_batch": 64}),
    Case("litgpt: micro-batches summed", "out.log", LITGPT, "litgpt-log", {"step_time_s": 0.8, "peak_memory_bytes": 13.9e9}),
    Case("litgpt metrics.csv", "metrics.csv", "epoch,iter,iter_time,loss,step\n0,2,0.5,2.0,1\n0,4,0.5,2.0,2\n0,6,0.5,2.0,3\n", "litgpt-metrics", {"step_time_s": 1.0}),
    Case("nanogpt: MFU of an assumed A100", "output.log", NANOGPT, "nanogpt-log", {"step_time_s": 0.2, "mfu_reported": 1.075}, warns="above 100 %"),
    Case("modded nanogpt", "record.txt", MODDED, "modded-nanogpt-log", {"step_time_s": 0.47874}),
    Case("modded nanogpt loss only", "main.log", "s:0 tel:10.9830\ns:250 tel:6.3097\ns:500 tel:5.5887\n", "modded-nanogpt-log", None, reason="loss curve"),
    Case("deepspeed timer", "out.log", TIMER, "deepspeed-log", {"samples_per_s": 172.0, "peak_memory_bytes": 22.95e9}),
    Case("deepspeed chat by every rank", "out.log", CHAT * 8, "deepspeed-log", {"step_time_s": 0.27, "seq_len": 512, "tflops_per_gpu": None}),
    Case("deepspeed flops profiler", "out.log", PROFILE, "deepspeed-log", {"step_time_s": 0.18473, "tflops_per_gpu": 102.0, "gpu_count": 1}),
    Case("hf trainer_state", "trainer_state.json", json.dumps(STATE), "hf-trainer", {"step_time_s": 2.0, "global_batch": 16}),
    Case("hf trainer_state without a runtime", "trainer_state.json", json.dumps({**STATE, "log_history": [{"loss": 1.0}]}), "hf-trainer", None, reason="loss curve"),
    Case("hf results with coarse rates", "train_results.json", json.dumps({"train_runtime": 857595.1, "train_samples_per_second": 3.902,
         "train_steps_per_second": 0.003}), "hf-trainer", {"samples_per_s": 3.902, "step_time_s": None}, warns="rounded too coarsely"),
    Case("hf results of a prediction", "all_results.json", json.dumps({"predict_runtime": 610.3, "predict_samples_per_second": 0.8}), "hf-trainer", None, reason="prediction"),
    Case("hf console dict", "out.txt", SWIFT, "hf-trainer-stdout", {"step_time_s": 2.0, "samples_per_s": 8.0, "peak_memory_bytes": 6.5 * 2**30}),
    Case("hf console table", "out.txt", HF_TABLE, "hf-trainer-stdout", {"samples_per_s": 9.515, "global_batch": 512, "step_time_s": None}),
    Case("llama-factory with days", "trainer_log.jsonl", FACTORY, "llamafactory-trainer-log", {"step_time_s": 60.0}),
    Case("llama-factory prediction", "trainer_log.jsonl", json.dumps({"current_steps": 5, "total_steps": 250, "percentage": 2.0, "elapsed_time": "0:00:19"}),
         "llamafactory-trainer-log", None, reason="prediction"),
    Case("mlperf training: srun prefixes, repeats by ranks", "result_0.txt", MLPERF, "mlperf-training-mllog", {"gpu": "NVIDIA H200", "gpu_count": 16,
         "global_batch": 8, "time_to_train_s": 1200.0, "samples_per_s": 2.5015, "tokens_per_s": None}, status="stored"),
    Case("mlperf training aborted", "result_0.txt", MLPERF.replace('"status": "success"', '"status": "aborted"'), "mlperf-training-mllog", None, reason="aborted"),
    Case("mlperf training of no language model", "result_0.txt", MLPERF.replace("llama2_70b_lora", "resnet"), "mlperf-training-mllog", None, reason="not a language model"),
    Case("wandb chart of speed", "wandb.csv", CHART, "wandb", {"tokens_per_s": 1010.0}),
    Case("wandb chart of losses", "wandb.csv", CHART.replace("throughput/tokens_per_sec", "train/loss"), "wandb", None, reason="no metric of speed"),
    Case("wandb runs without metrics", "wandb.csv", '"Name","Runtime","seed"\n"a","300","1"\n', "wandb", None, reason="without any metric"),
    Case("step metrics of any logger", "metrics.csv", "step,loss,step_time,tokens_per_sec\n1,10,50,100\n2,9,2,5000\n3,8,2,5000\n", "step-metrics-csv",
         {"step_time_s": 2.0, "tokens_per_s": 5000.0}),
    Case("wandb summary", "wandb-summary.json", json.dumps({"_wandb": {"runtime": 9}, "_step": 12, "mfu": 45.0}), "wandb-summary", {"mfu_reported": 0.45}),
    Case("wandb config", "config.yaml", "_wandb:\n    value:\n        cli_version: 0.18.3\nbatch_size:\n    value: 12\n", "wandb-config", None, reason="settings"),
    Case("nvidia-smi monitor", "gpu_metrics.csv", SMI, "gpu-monitor", None, reason="evidence"),
    Case("dcgm monitor", "x.csv", "timestamp,DCGM_FI_DEV_POWER_USAGE\n1701412591,76.487\n", "gpu-monitor", None, reason="evidence"),
    Case("empty monitor", "a_gpu_monitor.json", "[]", "gpu-monitor", None, reason="no GPU"),
    Case("profiler trace", "trace.json", '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [{"ph": "X"}]}', "profiler-trace", None, reason="profiler trace"),
    Case("nccl table", "llama3.1-8b_ns_16.csv", "Aggregation Strategy,NCCL Algo,Average Time (s),Real Throughput (Gb/s)\na,ring,2.2,106.3\n", "nccl-table", None, reason="network"),
    Case("loss curve", "loss.csv", "step,loss\n0,11.1\n1,7.1\n", "loss-curve", None, reason="loss curve"),
    Case("server log", "server.log", "INFO 11-18 11:22:41 model_runner.py:1060] Loading model weights took 56.7677 GB\nAvg prompt throughput: 10.0 tokens/s\n",
         "server-log", None, reason="server"),
    Case("crashed program", "output.log", 'Traceback (most recent call last):\n  File "a.py", line 1\nTypeError: no\n', "server-log", None, reason="crashed before any result: TypeError"),
    Case("hand-kept csv with a decimal comma", "werte.csv", EUROPEAN, "hand-kept-csv", {"gpu": "H100", "concurrency": 8, "ttft_mean_s": 0.1505,
         "tpot_mean_s": 0.01825, "output_tokens_per_s": 1234.5}),
    Case("hand-kept csv of vLLM keys, tabs in .csv, OOM and dashes", "o.csv", VLLM_KEYS.replace(",", "\t") + "100\t98\t98000\t9800\t50\t196\t150.5\t30\t16\t-\n".replace(",", "\t")
         + "100\tOOM\t\t\t\t\t\t\t32\t-\n", "hand-kept-csv", {"completed": 98, "failed": 2, "input_tokens": 1000, "output_tokens": 100, "ttft_mean_s": 0.1505,
         "tpot_p99_s": 0.03, "request_rate_per_s": 16, "concurrency": None}),
    Case("hand-kept csv with a slipped header", "o.csv", SLIPPED, "hand-kept-csv", {"ttft_mean_s": None, "ttft_p99_s": 0.4}, warns="probably slipped"),
    Case("hand-kept csv without a unit", "o.csv", "Hardware,Num of Hardware,Model,Input Output Length,Batch Size,Latency,Throughput\nNvidia A100 GPU,1,tiny,1024,1,14.0,146.3\n",
         "hand-kept-csv", {"e2e_mean_s": 14.0, "total_tokens_per_s": 146.3, "output_tokens_per_s": None, "gpu_count": 1}),
    Case("hand-kept training table", "t.csv", "Model,SeqLen (T),# GPUs,GPU,MFU,GlobalBatchSize,Throughput (T/s),Throughput (T/s/GPU)\n7b,2048,64,H100,45.5,1024,640000,10000\n",
         "hand-kept-csv", {"mfu_reported": 0.455, "tokens_per_s": 640000.0, "tokens_per_s_per_gpu": 10000.0, "gpu_count": 64, "seq_len": 2048}),
    Case("hand-kept workbook, metrics as rows", "r.xlsx", workbook(), "hand-kept-xlsx", {"itl_mean_s": 0.0415, "ttft_mean_s": 0.955}, runs=2),
    Case("hand-kept pipes: models as columns, counts in names", "README.md", PIPES, "hand-kept-md-table", {"gpu": "3090 24GB", "gpu_count": 1, "model": "8B",
         "weights": "q4_k_m", "decode_tokens_per_s": 111.74}, runs=3),
    Case("hand-kept pipes: units in the cells, links, footnotes", "README.md", OLLAMA_TABLE, "hand-kept-md-table", {"gpu": "Box (Nvidia RTX 4090)",
         "decode_tokens_per_s": 92.49}),
    Case("hand-kept json with labels", "r.json", json.dumps([{"Model": "tiny", "GPU": "H100", "Mean TTFT (ms)": 150.0, "Output tokens/s": 400.0}]), "hand-kept-json",
         {"gpu": "H100", "ttft_mean_s": 0.15, "output_tokens_per_s": 400.0}),
    Case("guidellm yaml", "benchmarks.yaml", "args: {model: tiny}\nodd: \"['{\"a\":1}']\"\nbenchmarks:\n- type_: generative_benchmark\n  config: {strategy: {type_: synchronous}}\n  metrics:\n"
         "    request_totals: {successful: 5, errored: 0}\n    time_to_first_token_ms: {successful: {mean: 40.0, median: 39.0}}\n", "guidellm-yaml",
         {"ttft_mean_s": 0.04, "concurrency": 1, "completed": 5}),
    Case("aiperf single requests", "profile_export.jsonl", json.dumps({"metadata": {}, "metrics": {"request_latency": {"value": 9.0, "unit": "ms"}}}),
         "aiperf-per-request", None, reason="aggregated"),
]  # fmt: skip
