"""Small result files of serving tools, written for these tests in the tools' real formats, with the odd values that occur."""
# ruff: noqa: E501 - lines of real logs are long

import gzip
import json

from .case import Case

VLLM = {
    "date": "20260101-120000", "endpoint_type": "vllm", "backend": "vllm", "label": None, "model_id": "acme/tiny-7b", "tokenizer_id": "acme/tiny-7b",
    "num_prompts": 40, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 8, "duration": 20.0, "completed": 40, "failed": 0,
    "total_input_tokens": 40000, "total_output_tokens": 8000, "request_throughput": 2.0, "request_goodput": None, "output_throughput": 400.0,
    "total_token_throughput": 2400.0, "mean_ttft_ms": 150.0, "median_ttft_ms": 140.0, "p99_ttft_ms": 400.0, "p99.9_ttft_ms": 410.0,
    "mean_tpot_ms": 18.0, "median_tpot_ms": 17.5, "p99_tpot_ms": 25.0, "mean_itl_ms": 18.0, "median_itl_ms": 17.0, "p99_itl_ms": 60.0,
    "mean_e2el_ms": 3732.0, "median_e2el_ms": 3700.0, "p99_e2el_ms": 5000.0,
}  # fmt: skip
VLLM_RUN = {
    "model": "acme/tiny-7b", "engine": "vllm", "input_tokens": 1000, "output_tokens": 200, "concurrency": 8, "request_rate_per_s": None, "completed": 40,
    "failed": 0, "requests_per_s": 2.0, "output_tokens_per_s": 400.0, "total_tokens_per_s": 2400.0, "ttft_mean_s": 0.15, "ttft_p50_s": 0.14,
    "ttft_p99_s": 0.4, "tpot_mean_s": 0.018, "tpot_p50_s": 0.0175, "tpot_p99_s": 0.025, "itl_mean_s": 0.018, "e2e_mean_s": 3.732,
}  # fmt: skip
SGLANG = (
    '{"backend": "sglang", "dataset_name": "random", "request_rate": Infinity, "max_concurrency": null, "total_input_tokens": 6000,'
    ' "total_output_tokens": 3000, "total_output_tokens_retokenized": 2990, "mean_e2e_latency_ms": 4000.0, "median_e2e_latency_ms": 3900.0,'
    ' "median_ttft_ms": 210.0, "median_itl_ms": 12.0, "output_throughput": 300.0, "random_input_len": 400, "random_output_len": 100,'
    ' "random_range_ratio": 0.0, "duration": 10.0, "completed": 30}\n'
)
BLOCK = """============ Serving Benchmark Result ============
Successful requests:                     1,000
Failed requests:                         24
Maximum request concurrency:             64
Benchmark duration (s):                  100.00
Total input tokens:                      500,000
Total generated tokens:                  100000
Request throughput (req/s):              10.00
Output token throughput (tok/s):         1000.00
Total Token throughput (tok/s):          6000.00
---------------Time to First Token----------------
Mean TTFT (ms):                          250.50
Median TTFT (ms):                        200.00
P99 TTFT (ms):                           900.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          50.00
Median TPOT (ms):                        49.00
P99 TPOT (ms):                           80.00
---------------Inter-token Latency----------------
Mean ITL (ms):                           -0.00
==================================================
"""
BLOCK_RUN = {"completed": 1000, "failed": 24, "concurrency": 64, "input_tokens": 500, "output_tokens": 100, "total_tokens_per_s": 6000.0,
             "ttft_mean_s": 0.2505, "tpot_p50_s": 0.049, "itl_mean_s": None}  # fmt: skip
TRT_REPORT = {
    "engine": {"model": "acme/tiny-7b", "backend": "Pytorch", "dtype": "bfloat16", "kv_cache_dtype": "FP8", "quantization": "FP8", "version": "1.0.0"},
    "machine": {"name": "NVIDIA H100 80GB HBM3"}, "world_info": {"tp_size": 2, "pp_size": 1, "ep_size": None, "world_size": 2},
    "request_info": {"num_requests": 100, "avg_num_concurrent_requests": 31.5, "avg_input_length": 512.0, "avg_output_length": 128.0},
    "performance": {"total_latency_ms": 12800.0, "avg_request_latency_ms": 4032.0, "request_throughput_req_s": 7.8125,
                    "system_output_throughput_tok_s": 1000.0, "system_total_throughput_tok_s": 5000.0, "output_throughput_per_gpu_tok_s": 500.0,
                    "request_latency_percentiles_ms": {"p50": 4000.0, "p99": 5000.0}},
    "streaming_metrics": {"avg_ttft_ms": 300.0, "avg_tpot_ms": 29.4, "tpot_percentiles": {"p99": 40.0}},
}  # fmt: skip
TRT_CONSOLE = """===========================================================
= PYTORCH BACKEND
===========================================================
Model:\t\t\tacme/tiny-7b
TensorRT-LLM Version:\t1.0.0
Quantization:\t\tNVFP4
===========================================================
= REQUEST DETAILS
===========================================================
Number of requests:             64
Average Input Length (tokens):  1024.0000
===========================================================
= WORLD + RUNTIME INFORMATION
===========================================================
TP Size:                4
PP Size:                1
EP Size:                None
Issue Rate (req/sec):   2.3E+15
===========================================================
= PERFORMANCE OVERVIEW
===========================================================
Request Throughput (req/sec):                     4.0000
Total Output Throughput (tokens/sec):             800.0000
Per GPU Output Throughput (tps/gpu):              200.0000
[Latency] P99    : 5000.0
"""
AIPERF = {
    "request_throughput": {"unit": "requests/sec", "avg": 2.0}, "request_latency": {"unit": "ms", "avg": 2190.0, "p50": 2100.0, "p99": 3000.0},
    "request_count": {"unit": "requests", "avg": 40.0}, "error_request_count": None, "time_to_first_token": {"unit": "ms", "avg": 200.0, "p50": 190.0},
    "inter_token_latency": {"unit": "ms", "avg": 20.1, "p99": 30.0}, "inter_chunk_latency": {"unit": "ms", "avg": 22.0},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 200.0}, "output_sequence_length": {"unit": "tokens", "avg": 100.0},
    "input_sequence_length": {"unit": "tokens", "avg": 512.0}, "benchmark_duration": {"unit": "sec", "avg": 20.0}, "was_cancelled": False,
    "error_summary": [{"error_details": {}, "count": 3}],
    "input_config": {"models": {"items": [{"name": "acme/tiny-7b"}]}, "phases": [{"exclude_from_results": True, "concurrency": 1}, {"concurrency": 5}]},
}  # fmt: skip
AIPERF_RUN = {"model": "acme/tiny-7b", "concurrency": 5, "completed": 40, "failed": 3, "tpot_mean_s": 0.0201, "tpot_p99_s": 0.03, "itl_mean_s": 0.022,
              "ttft_mean_s": 0.2, "e2e_mean_s": 2.19, "output_tokens_per_s": 200.0, "input_tokens": 512}  # fmt: skip
GENAI_CSV = (
    "Metric,avg,min,max,p99,p50\r\nTime To First Token (ms),23.94,22.92,30.75,30.10,23.20\r\nInter Token Latency (ms),11.54,11.45,11.70,11.69,11.52\r\n"
    'Request Latency (ms),"5,919.16","5,912.73","5,934.45","5,933.31","5,918.56"\r\nOutput Sequence Length,511.90,505.00,516.00,515.91,512.00\r\n'
    '\r\nMetric,Value\r\nOutput Token Throughput (per sec),"1,729.54"\r\nRequest Throughput (per sec),3.38\r\n'
)
GENAI_CONSOLE = """                         LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃            Statistic ┃           avg ┃           p99 ┃
┡━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ Request latency (ns) │ 2,000,000,000 │ 3,000,000,000 │
│     Num output token │           120 │           130 │
└──────────────────────┴───────────────┴───────────────┘
"""
STATS = {"mean": 0.0, "median": 0.0, "percentiles": {}}


def _guide(value: float, median: float, p99: float) -> dict[str, object]:
    worse = {"mean": value * 3, "median": median, "percentiles": {}}
    return {
        "successful": {"mean": value, "median": median, "percentiles": {"p001": 0.0, "p50": median, "p99": p99}},
        "errored": STATS,
        "total": worse,
    }


GUIDELLM = {
    "metadata": {"guidellm_version": "0.5.0"}, "args": {"model": "acme/tiny-7b"},
    "benchmarks": [{
        "type_": "generative_benchmark", "config": {"strategy": {"type_": "concurrent", "streams": 4}}, "duration": 50.0,
        "scheduler_metrics": {"requests_made": {"successful": 30}},
        "metrics": {
            "request_totals": {"successful": 25, "errored": 1, "incomplete": 0}, "requests_per_second": _guide(0.5, 0.5, 0.6),
            "request_concurrency": _guide(3.9, 4.0, 4.0), "prompt_token_count": _guide(300.0, 300.0, 300.0), "output_token_count": _guide(101.0, 100.0, 128.0),
            "output_tokens_per_second": _guide(50.0, 50.0, 60.0), "tokens_per_second": _guide(200.0, 190.0, 220.0),
            "time_to_first_token_ms": _guide(60.0, 55.0, 99.0), "time_per_output_token_ms": _guide(25.0, 25.0, 30.0),
            "inter_token_latency_ms": _guide(20.0, 20.0, 24.0), "request_latency": _guide(2.06, 2.0, 3.0)}}],
}  # fmt: skip
GUIDELLM_CONSOLE = """ℹ Request Latency Statistics (Completed Requests)
|============|=======|=======|======|======|======|======|======|======|
| Benchmark  | Request Latency || TTFT       || ITL        || TPOT       ||
| Strategy   | Sec          || ms         || ms         || ms         ||
|            | Mdn   | p95   | Mdn  | p95  | Mdn  | p95  | Mdn  | p95  |
|------------|-------|-------|------|------|------|------|------|------|
| concurrent@8 | 30.6  | 30.9  | 47.7 | 57.8 | 29.9 | 30.1 | 31.5 | 31.9 |
|============|=======|=======|======|======|======|======|======|======|
"""
GUIDELLM_CSV3 = (
    "Run Info,Benchmark,Timings,Request Counts,Request Counts,Request Latency,Request Latency,Inter Token Latency,Token Throughput,Token Throughput\n"
    "Backend,Strategy,Duration,Successful,Errored,Successful Sec,Successful Sec,Successful ms,Successful Output Tokens/Sec,Errored Output Tokens/Sec\n"
    ",,Sec,,,Mean,Percentiles,Mean,Mean,Mean\n"
    '"{""model"": ""acme/tiny-7b""}",constant,60.0,30,2,2.5,"[1.0, 1.0, 1.1, 1.2, 1.3, 2.0, 3.0, 3.5, 3.8, 4.0, 4.1]",21.0,55.5,1.0\n'
)
LLMPERF = {
    "version": "2023-08-31", "model": "tiny", "num_concurrent_requests": 5, "results_ttft_s_mean": 0.2, "results_ttft_s_quantiles_p50": 0.19,
    "results_ttft_s_quantiles_p99": 0.5, "results_inter_token_latency_s_mean": 0.022, "results_end_to_end_latency_s_mean": 2.2,
    "results_number_input_tokens_mean": 550.0, "results_number_output_tokens_mean": 101.0, "results_number_errors": 130,
    "results_error_code_frequency": "{429.0: 130}", "results_mean_output_throughput_token_per_s": 60.6, "results_num_completed_requests": 20,
    "results_num_completed_requests_per_min": 36.0,
}  # fmt: skip
INDIVIDUAL = [
    {
        "error_code": None,
        "ttft_s": 0.2,
        "end_to_end_latency_s": 1.2,
        "number_output_tokens": 101,
        "number_input_tokens": 550,
    },
    {"error_code": 429, "ttft_s": 0, "end_to_end_latency_s": 0, "number_output_tokens": 0, "number_input_tokens": 550},
]
STAGE = {
    "load_summary": {"count": 100, "schedule_delay": {"mean": 10.9}, "requested_rate": 50.0, "achieved_rate": 40.0},
    "successes": {"count": 98, "latency": {"request_latency": {"mean": 1.04, "median": 1.0, "p99": 2.0}, "time_to_first_token": {"mean": 0.05, "p99.9": 0.3},
                                           "time_per_output_token": {"mean": 0.01}, "inter_token_latency": {"mean": 0.005},
                                           "normalized_time_per_output_token": {"mean": 0.0104}},
                  "throughput": {"output_tokens_per_sec": 900.0, "total_tokens_per_sec": 3000.0, "requests_per_sec": 9.0},
                  "prompt_len": {"mean": 230.0}, "output_len": {"mean": 100.0}},
    "failures": {"count": 2, "request_latency": None},
}  # fmt: skip
LMBENCH = "prompt_tokens,generation_tokens,ttft,generation_time,launch_time,finish_time\n100,11,0.5,1.0,1000.0,1001.5\n300,21,0.7,4.0,1000.5,1005.2\n"
LLMD = """version: '0.2'
run:
  time: {duration: PT1M40S}
scenario:
  stack:
  - standardized:
      kind: inference_engine
      tool: vllm
      tool_version: 0.10.0
      role: decode
      replicas: 2
      model: {name: acme/tiny-7b}
      accelerator: {model: NVIDIA-H100-80GB-HBM3, count: 4, parallelism: {tp: 4, pp: 1, ep: 1, dp: 1}}
  load:
    standardized: {rate_qps: 10, concurrency: .inf}
results:
  request_performance:
    aggregate:
      requests: {total: 500, failures: 10, input_length: {mean: 1000}, output_length: {mean: 100}}
      latency:
        time_to_first_token: {units: s, mean: 0.25, p99: 0.9, p99p9: 1.5}
        time_per_output_token: {units: ms/token, mean: 12.0, p50: 11.0}
      throughput:
        output_token_rate: {units: tokens/s, mean: 490.0}
        request_rate: {units: queries/s, mean: 4.9}
"""
INFERENCEX = {
    "hw": "gb200", "conc": 64, "model": "acme/big", "framework": "sglang", "precision": "fp4", "disagg": "true", "isl": 1024, "osl": 1024, "tp": 4, "ep": 4,
    "num_prefill_gpu": 4, "num_decode_gpu": 12, "tput_per_gpu": 1000.0, "output_tput_per_gpu": 700.0, "mean_ttft": 0.5, "mean_tpot": 0.01, "p99_tpot": 0.02,
    "mean_intvty": 100.0,
}  # fmt: skip
SITE = (
    "# Licensed\n# Copyright\n# Attribution\nModel,ISL,OSL,Hardware,Hardware Key,Framework,Precision,TP,Concurrency,Throughput/GPU (tok/s),"
    "Output Throughput/GPU (tok/s),Mean TTFT (ms),Mean TPOT (ms),Mean Interactivity (tok/s/user),Disaggregated\n"
    "big,1024,1024,h200,h200_vllm,vllm,fp8,8,4,100.0,50.0,{ttft},{tpot},100.0,false\n"
)
SUMMARY = """================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 80.00
Completed tokens per second: 24000.00
Result is : VALID
  Performance constraints satisfied : Yes
Mean latency (ns)               : 43579602295
99.00 percentile latency (ns)   : 136069232834
Completed tokens per second                 : 24000.00
Mean First Token latency (ns)               : 918456323
99.00 percentile first token latency (ns)   : 1914647532
Mean Time to Output Token (ns)              : 144594078
"""
DETAIL = "".join(
    f':::MLLOG {{"key": "{key}", "value": {json.dumps(value)}, "time_ms": 1.0, "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME", "metadata": {{}}}}\n'
    for key, value in {
        "loadgen_version": "5.1.0", "effective_scenario": "Offline", "effective_test_mode": "PerformanceOnly", "result_validity": "VALID",
        "generated_samples_per_query": 24576, "result_tokens_per_second": 30000.0, "result_token_throughput": 6.9e-09, "result_samples_per_second": 100.0,
        "result_mean_latency_ns": 5000000000, "num_errors": 0}.items()
)  # fmt: skip
RESULTS = [
    {"Model": "llama2-70b-99", "Scenario": "Offline", "Accelerator": "AMD Instinct MI355X (x87)", "Total Accelerators": 88, "Nodes": 11, "a#": 8,
     "Platform": "87xMI355X", "weight_data_types": "fp4", "Performance_Result": 1000.0, "Performance_Units": "Tokens/s"},
    {"Model": "resnet", "Scenario": "Offline", "Accelerator": "A", "Performance_Result": 5.0, "Performance_Units": "Samples/s"},
]  # fmt: skip
CHECKER = (
    "Organization,Model,MlperfModel,Scenario,Result,Accuracy,number_of_nodes,accelerator_model_name,accelerators_per_node,errors,inferred,Units\n"
    'Acme,deepseek-r1,deepseek-r1,Server,15000.5,TOKENS_PER_SAMPLE: 3700.5,2,"NVIDIA B200","8",0,0,Tokens/s\n'
)
LLAMA = {
    "build_commit": "abc", "build_number": 5000, "gpu_info": "NVIDIA RTX 4090, NVIDIA RTX 4090", "backends": "CUDA", "model_filename": "m/tiny-Q4_K_M.gguf",
    "model_type": "tiny 7B Q4_K - Medium", "type_k": "f16", "n_gpu_layers": 99, "split_mode": "layer", "n_prompt": 512, "n_gen": 0, "n_depth": 4096,
    "avg_ns": 512_000_000, "avg_ts": 1000.0, "stddev_ts": 5.0, "flash_attn": 1,
}  # fmt: skip
LLAMA_MD = """ggml_cuda_init: found 1 ROCm devices:
  Device 0: AMD Instinct MI300X, gfx942 (0x942), VMM: no
| model                          |       size |     params | backend    | ngl |          test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | ------------: | -------------------: |
| tiny 7B Q8_0                   |   7.00 GiB |     7.00 B | ROCm       |  99 |         pp512 |       5000.00 ± 6.83 |
| tiny 7B Q8_0                   |   7.00 GiB |     7.00 B | ROCm       |  99 | tg128 @ d8192 |        100.50 ± 0.23 |

build: 4fc43d43d (7085)
"""
LLAMA_CSV_HEAD = "build_commit,build_number,gpu_info,backends,model_filename,model_type,n_gpu_layers,n_prompt,n_gen,n_depth,avg_ns,stddev_ns,avg_ts,stddev_ts"
LLAMA_CSV_ROW = (
    '"abc","5000","NVIDIA RTX 4090","CUDA","t.gguf","tiny 7B Q4_0","99","0","128","0","1280000000","5","100.0","1.0"'
)
OPTIMUM = {
    "config": {"backend": {"name": "pytorch", "model": "acme/tiny-7b", "device": "cuda", "device_ids": "2,4", "torch_dtype": "bfloat16"},
               "scenario": {"input_shapes": {"batch_size": 2, "sequence_length": 64}, "generate_kwargs": {"max_new_tokens": 101}},
               "environment": {"gpu": ["NVIDIA A100", "NVIDIA A100", "NVIDIA DGX Display"], "gpu_count": 3, "gpu_vram_mb": 347892350976}},
    "report": {"prefill": {"latency": {"unit": "s", "mean": 0.1, "p50": 0.1, "p99": 0.2}, "throughput": {"unit": "samples/s", "value": 20.0},
                           "memory": {"unit": "MB", "max_allocated": 8000.0}},
               "decode": {"latency": {"mean": 4.0}, "throughput": {"unit": "tokens/s", "value": 50.0}, "memory": {"max_allocated": 9000.0}},
               "per_token": {"latency": {"mean": 9.9}}},
}  # fmt: skip
OPTIMUM_MD = """# prefill:
## latency:
| metric | value | unit |
| :----- | ----: | ---: |
| mean   | 0.100 | s |
## throughput:
| metric     | value | unit |
| :--------- | ----: | ---: |
| throughput | 10.0 | samples/s |
# decode:
## throughput:
| metric     | value | unit |
| :--------- | ----: | ---: |
| throughput | 20.0 | tokens/s |
"""
ONE_BATCH = {"run_name": "default", "batch_size": 8, "input_len": 1000, "output_len": 100, "prefill_latency": 0.2, "prefill_throughput": 40000.0,
             "median_decode_latency": 0.01, "median_decode_throughput": 800.0, "total_latency": 1.2, "overall_throughput": 7333.33}  # fmt: skip
GPT_MANAGER = (
    "num_samples,num_error_samples,total_latency(ms),seq_throughput(seq/sec),token_throughput(token/sec),avg_sequence_latency(ms),\n"
    "100,1,20000,5.0,640.0,1500.0\n"
)


def dumps(value: object) -> str:
    return json.dumps(value)


CASES = [
    Case("vllm serve", "r.json", dumps(VLLM), "vllm-bench-serve", VLLM_RUN),
    Case("vllm serve gzipped, BOM and CRLF", "r.json.gz", gzip.compress(b"\xef\xbb\xbf" + json.dumps(VLLM, indent=1).replace("\n", "\r\n").encode()),
         "vllm-bench-serve", VLLM_RUN),
    Case("vllm serve appended to one file", "r.json", dumps(VLLM) + "\n" + dumps({**VLLM, "duration": 21.0}), "vllm-bench-serve", VLLM_RUN, runs=2),
    Case("vllm serve with user metadata as text", "r.json", dumps({**VLLM, "gpu": "H100", "num_gpus": "8", "tensor_parallel_size": "8", "conc": "50"}),
         "vllm-bench-serve", {"gpu": "H100", "gpu_count": 8, "tp": 8}, status="stored"),
    Case("vllm serve old version: arrays, colon key, failures only as texts", "r.json",
         dumps({key: value for key, value in VLLM.items() if key not in {"failed", "endpoint_type"}}
               | {"request_goodput:": None, "num_prompts": 1000, "errors": ["", "boom"] * 480, "input_lens": [1] * 40, "ttfts": [0.1] * 40}),
         "vllm-bench-serve", {"completed": 40, "failed": 480}, warns="480 of 520 requests failed"),
    Case("vllm serve all failed", "r.json", dumps({**VLLM, "completed": 0, "failed": 40, "mean_ttft_ms": 0.0}), "vllm-bench-serve", None,
         reason="no request completed"),
    Case("vllm serve NaN and Infinity", "r.json", dumps({**VLLM, "mean_ttft_ms": float("nan"), "p99_tpot_ms": float("inf")}), "vllm-bench-serve",
         {"ttft_mean_s": None, "tpot_p99_s": None, "ttft_p50_s": 0.14}),
    Case("vllm serve several tokens a chunk", "r.json", dumps({**VLLM, "mean_itl_ms": 180.0}), "vllm-bench-serve", {"itl_mean_s": 0.18}, warns="tokens a streamed chunk"),
    Case("vllm serve embedding run", "r.json",
         dumps({key: value for key, value in VLLM.items() if not any(part in key for part in ("ttft", "tpot", "itl", "output_throughput"))} | {"total_output_tokens": 0}),
         "vllm-bench-serve", {"requests_per_s": 2.0, "ttft_mean_s": None, "e2e_mean_s": 3.732}),
    Case("vllm serve truncated download", "r.json", dumps(VLLM)[:-40], "vllm-bench-serve", None, reason="truncated"),
    Case("vllm sweep list", "summary.json", dumps([{**VLLM, "run_number": 0, "max_num_seqs": 4}, {**VLLM, "run_number": 1, "duration": 22.0}]),
         "vllm-bench-sweep", {"concurrency": 8}, runs=2),
    Case("look-alike in seconds", "r.json", dumps({"model_id": "acme/big", "tokenizer_id": "acme/big", "duration": 10.0, "completed": 20, "num_prompts": 20,
         "total_input_tokens": 20000, "total_output_tokens": 2000, "request_throughput": 2.0, "output_throughput": 200.0, "median_ttft": 0.9,
         "p99_ttft": 7.0, "median_tpot": 0.087, "median_e2el": 12.0}), "inferencex-decode-slo", {"ttft_p50_s": 0.9, "tpot_p50_s": 0.087, "ttft_p99_s": 7.0}),
    Case("vllm throughput with a misspelt user key", "t.json", dumps({"input": 100, "ouput": 100, "elapsed_time": 10.0, "num_requests": 20,
         "total_num_tokens": 4000, "requests_per_second": 2.0, "tokens_per_second": 400.0}), "vllm-bench-throughput",
         {"total_tokens_per_s": 400.0, "output_tokens_per_s": 200.0, "input_tokens": 100}),
    Case("vllm latency", "l.json", dumps({"avg_latency": 4.0, "latencies": [], "percentiles": {"50": 4.0, "99": 4.4}}), "vllm-bench-latency",
         {"e2e_mean_s": 4.0}),
    Case("vllm nightly list: latency in ms, NaN elsewhere", "benchmark_results.json",
         '[{"test_name": "latency_tp4", "gpu_type": "NVIDIA H100 80GB HBM3x4", "avg_latency": 2500.0, "mean_ttft_ms": NaN, "tokens_per_second": NaN}]',
         "vllm-nightly-results", {"e2e_mean_s": 2.5, "gpu": "NVIDIA H100 80GB HBM3", "gpu_count": 4}, status="stored"),
    Case("vllm pytorch sidecar", "x.pytorch.json", dumps([{"benchmark": {}, "model": {}, "metric": {"benchmark_values": ["inf"]}}]), "vllm-pytorch-sidecar",
         None, reason="dashboard copy"),
    Case("console block", "log.txt", BLOCK, "bench-serve-stdout", BLOCK_RUN, warns="24 of 1024"),
    Case("console block in shell comments with colours", "res.sh", "".join(f"# \x1b[32m{line}\x1b[0m\n" for line in BLOCK.split("\n")), "bench-serve-stdout", BLOCK_RUN),
    Case("console block of SGLang with arguments above", "log.txt",
         "benchmark_args=Namespace(backend='sglang', model='acme/tiny-7b', num_prompts=1200, request_rate=inf)\n"
         + BLOCK.replace("Failed requests:                         24\n", "").replace("Maximum request concurrency:             64", "Max reqeuest concurrency: not set"),
         "bench-serve-stdout", {"engine": "sglang", "model": "acme/tiny-7b", "failed": 200, "concurrency": None}),
    Case("console block redacted", "README.md", "```\n" + BLOCK.replace("1,000", "xxx").replace("100000", "xxx") .replace("24\n", "xxx\n").translate(
         str.maketrans("123456789", "xxxxxxxxx")) + "```", "bench-serve-stdout", None, reason="redacted"),
    Case("sglang jsonl, Infinity, appended, exact repeat", "o.jsonl", SGLANG + SGLANG.replace('"duration": 10.0', '"duration": 12.0') + SGLANG,
         "sglang-bench-serving", {"request_rate_per_s": None, "input_tokens": 200, "requests_per_s": 3.0, "ttft_p50_s": 0.21, "e2e_mean_s": 4.0}, runs=3),
    Case("sglang jsonl torn in the middle", "o.jsonl", SGLANG + SGLANG[:100] + "\n" + SGLANG.replace('"completed": 30', '"completed": 33'),
         "sglang-bench-serving", {"completed": 30}, runs=2, warns="broken or truncated"),
    Case("sglang with server_info", "o.jsonl", SGLANG.rstrip()[:-1] + ', "server_info": {"model_path": "acme/tiny-7b", "tp_size": 8, "quantization": "fp8",'
         ' "version": "0.5.5", "api_key": "secret-token-1"}}', "sglang-bench-serving", {"model": "acme/tiny-7b", "tp": 8, "weights": "fp8", "engine_version": "0.5.5"}),
    Case("sglang one batch", "result.jsonl", dumps(ONE_BATCH), "sglang-one-batch",
         {"prefill_tokens_per_s": 40000.0, "tpot_p50_s": 0.01, "decode_tokens_per_s": 800.0, "ttft_mean_s": 0.2, "e2e_mean_s": 1.2}),
    Case("sglang offline crashed", "o.jsonl", dumps({"backend": "engine", "successful_requests": -1, "total_latency": -1, "total_throughput": -1,
         "last_gen_throughput": -1}), "sglang-offline-throughput", None, reason="did not finish"),
    Case("trtllm report", "report.json", dumps(TRT_REPORT), "trtllm-bench", {"gpu": "NVIDIA H100 80GB HBM3", "gpu_count": 2, "tp": 2, "weights": "fp8",
         "output_tokens_per_s": 1000.0, "ttft_mean_s": 0.3, "tpot_mean_s": 0.0294, "tpot_p99_s": 0.04, "e2e_mean_s": 4.032}, status="stored"),
    Case("trtllm console", "log.txt", TRT_CONSOLE, "trtllm-bench-stdout", {"model": "acme/tiny-7b", "weights": "nvfp4", "tp": 4, "gpu_count": 4,
         "output_tokens_per_s": 800.0, "requests_per_s": 4.0, "input_tokens": 1024, "e2e_mean_s": None}),
    Case("trtllm legacy, one line a case", "log.txt", "[BENCHMARK] model_name gpt_350m world_size 2 precision float16 batch_size 8 input_length 60 output_length 20"
         " gpu_peak_mem(gb) 4.28 tokens_per_sec 3477.28 latency(ms) 46.013\n", "trtllm-legacy-benchmark-stdout",
         {"gpu_count": 2, "output_tokens_per_s": 3477.28, "e2e_mean_s": 0.046013, "peak_memory_bytes": 4.28e9}),
    Case("trtllm gptManager: header with a trailing comma", "g.csv", GPT_MANAGER, "trtllm-gpt-manager-csv",
         {"completed": 100, "failed": 1, "requests_per_s": 5.0, "output_tokens_per_s": 640.0, "e2e_mean_s": 1.5}),
    Case("aiperf", "profile_export_aiperf.json", dumps(AIPERF), "aiperf", AIPERF_RUN),
    Case("aiperf sweep", "profile_export_aiperf_sweep.json", dumps({"aggregation_type": "sweep", "per_combination_metrics": [
         {"parameters": {"concurrency": 16}, "metrics": {key: value for key, value in AIPERF.items() if isinstance(value, dict) and "avg" in value}}]}),
         "aiperf-sweep", {"concurrency": 16, "tpot_mean_s": 0.0201, "completed": 40}),
    Case("genai-perf", "profile_export_genai_perf.json", dumps({key: value for key, value in AIPERF.items() if key not in {"was_cancelled", "error_summary"}}),
         "genai-perf", {"tpot_mean_s": 0.0201, "output_tokens_per_s": 200.0}),
    Case("genai-perf csv with thousands in quotes", "profile_export_genai_perf.csv", GENAI_CSV, "genai-perf-csv",
         {"e2e_mean_s": 5.91916, "tpot_mean_s": 0.01154, "output_tokens_per_s": 1729.54, "requests_per_s": 3.38, "ttft_p99_s": 0.0301}),
    Case("aiperf csv, stacked tables", "profile_export_aiperf.csv", GENAI_CSV + "Benchmark Duration (sec),191.24\r\nRequest Count,10.00\r\nError Request Count,10.00\r\n",
         "aiperf-csv", {"completed": 10, "failed": 10, "output_tokens_per_s": 1729.54}),
    Case("genai-perf console in nanoseconds", "out.txt", GENAI_CONSOLE, "genai-perf-console", {"e2e_mean_s": 2.0, "output_tokens": 120, "ttft_mean_s": None}),
    Case("guidellm", "benchmarks.json", dumps(GUIDELLM), "guidellm", {"model": "acme/tiny-7b", "concurrency": 4, "completed": 25, "failed": 1,
         "tpot_mean_s": 0.02, "ttft_mean_s": 0.06, "e2e_mean_s": 2.06, "output_tokens_per_s": 50.0, "itl_mean_s": None}),
    Case("guidellm 0.1", "b.json", dumps({"benchmarks": [{"mode": "synchronous", "concurrencies": [], "errors": [], "results": [
         {"start_time": 10.0, "end_time": 12.0, "first_token_time": 0.5, "prompt_token_count": 50, "output_token_count": 16}]}]}), "guidellm-0.1",
         {"e2e_mean_s": 2.0, "ttft_mean_s": 0.5, "tpot_mean_s": 0.1, "output_tokens_per_s": 8.0}),
    Case("guidellm csv with three header rows", "benchmarks.csv", GUIDELLM_CSV3, "guidellm-csv", {"model": "acme/tiny-7b", "completed": 30, "failed": 2,
         "e2e_mean_s": 2.5, "tpot_mean_s": 0.021, "output_tokens_per_s": 55.5}),
    Case("guidellm csv with one header row", "benchmarks.csv", "Name,Duration,Successful Requests,Errored Requests,Successful Request latency mean,"
         "Successful Inter token latency ms mean\nsynchronous,30,5,0,2.0,15.5\n", "guidellm-csv", {"e2e_mean_s": 2.0, "tpot_mean_s": 0.0155, "concurrency": 1}),
    Case("guidellm console", "bench.log", GUIDELLM_CONSOLE, "guidellm-console", {"ttft_p50_s": 0.0477, "tpot_p50_s": 0.0299, "concurrency": 8}),
    Case("guidellm not installed", "bench.log", "bash: line 1: guidellm: command not found\n", "guidellm-console", None, reason="not found"),
    Case("llmperf summary", "s.json", dumps(LLMPERF), "llmperf-summary", {"completed": 20, "failed": 130, "concurrency": 5, "ttft_mean_s": 0.2,
         "tpot_mean_s": 0.02, "itl_mean_s": None, "output_tokens_per_s": 60.6, "requests_per_s": 0.6}, warns="130 of 150"),
    Case("llmperf by concurrency", "s.json", dumps({"1": LLMPERF, "2": {**LLMPERF, "num_concurrent_requests": 2}}), "llmperf-summary", {"concurrency": 5}, runs=2),
    Case("llmperf individual", "i.json", dumps(INDIVIDUAL), "llmperf-individual", {"completed": 1, "failed": 1, "tpot_mean_s": 0.01, "ttft_mean_s": 0.2}),
    Case("inference-perf stage", "stage_1_lifecycle_metrics.json", dumps(STAGE), "inference-perf", {"completed": 98, "failed": 2, "ttft_mean_s": 0.05,
         "tpot_mean_s": 0.01, "itl_mean_s": 0.005, "request_rate_per_s": 50.0, "requests_per_s": 9.0}, warns="client was saturated"),
    Case("inference-perf single requests", "per_request_lifecycle_metrics.json", dumps([{"start_time": 1.0, "end_time": 2.0, "info": {"output_tokens": 9}}]),
         "inference-perf-requests", None, reason="single requests"),
    Case("optimum configuration alone", "benchmark_config.json", dumps({"name": "x", "backend": {}, "scenario": {}, "launcher": {}}), "optimum-benchmark", None,
         reason="configuration"),
    Case("inference-perf prometheus", "summary_prometheus_metrics.json", dumps({"load_summary": {}, "successes": {"count": 9, "rate": 1.0, "prompt_len": {"mean": 0}}}),
         "inference-perf", None, reason="Prometheus"),
    Case("lmbench", "LMBench_sharegpt_output_1.csv", LMBENCH, "lmbench-per-request", {"completed": 2, "ttft_mean_s": 0.6, "tpot_mean_s": 0.15,
         "output_tokens": 16, "input_tokens": 200}),
    Case("fmperf", "f.json", dumps([{"worker_idx": 0, "request_idx": 0, "response_idx": index, "n_tokens": 1, "duration_ms": 100.0 if index == 0 else 20.0,
         "ok": True, "exclude": False, "timestamp": 10**18 + index * 10**8, "exp_num_users": 4} for index in range(5)]), "fmperf",
         {"ttft_mean_s": 0.1, "itl_mean_s": 0.02, "concurrency": 4, "completed": 1, "output_tokens": 5}),
    Case("llm-d report", "benchmark_report.yaml", LLMD, "llmd-benchmark-report", {"gpu": "NVIDIA-H100-80GB-HBM3", "gpu_count": 8, "tp": 4, "completed": 490,
         "failed": 10, "ttft_mean_s": 0.25, "tpot_mean_s": 0.012, "output_tokens_per_s": 490.0, "request_rate_per_s": 10, "concurrency": None}, status="stored"),
    Case("inferencex aggregated, disaggregated", "agg_x.json", dumps(INFERENCEX), "inferencex", {"gpu": "gb200", "gpu_count": 16, "total_tokens_per_s": 16000.0,
         "output_tokens_per_s": 8400.0, "ttft_mean_s": 0.5, "tpot_mean_s": 0.01, "weights": "fp4"}, status="stored"),
    Case("inferencex table in seconds under (ms)", "t.csv", SITE.format(ttft="0.5", tpot="0.01"), "inferencex-table", {"ttft_mean_s": 0.5, "tpot_mean_s": 0.01,
         "total_tokens_per_s": 800.0, "output_tokens_per_s": 400.0, "gpu": "h200", "gpu_count": 8}, status="stored"),
    Case("inferencex table really in ms", "t.csv", SITE.format(ttft="500", tpot="10"), "inferencex-table", {"ttft_mean_s": 0.5, "tpot_mean_s": 0.01}, status="stored"),
    Case("mlperf summary", "mlperf_log_summary.txt", SUMMARY, "mlperf-inference-summary", {"output_tokens_per_s": 24000.0, "requests_per_s": 80.0,
         "ttft_mean_s": 0.918456323, "tpot_mean_s": 0.144594078, "ttft_p99_s": 1.914647532, "output_tokens": 300}),
    Case("mlperf summary invalid", "mlperf_log_summary.txt", SUMMARY.replace(": VALID", ": INVALID"), "mlperf-inference-summary", None, reason="INVALID"),
    Case("mlperf summary of an accuracy run", "mlperf_log_summary.txt", "\n2 warnings encountered. See detailed log.\n\nNo errors encountered during test.\n",
         "mlperf-inference-summary", None, reason="accuracy"),
    Case("mlperf detail", "mlperf_log_detail.txt", DETAIL, "mlperf-inference-detail", {"output_tokens_per_s": 30000.0, "requests_per_s": 100.0, "completed": 24576}),
    Case("mlperf results", "summary_results.json", dumps(RESULTS), "mlperf-summary-results", {"gpu": "AMD Instinct MI355X", "gpu_count": 87, "weights": "fp4",
         "output_tokens_per_s": 1000.0}, status="stored", warns="88 accelerators"),
    Case("mlperf checker table", "summary.csv", CHECKER, "mlperf-summary-table", {"output_tokens_per_s": 15000.5, "gpu": "NVIDIA B200", "gpu_count": 16,
         "output_tokens": 3700.5}, status="stored"),
    Case("mlperf checker table without rows", "summary.csv", CHECKER.split("\n", maxsplit=1)[0] + "\n", "mlperf-summary-table", None, reason="without any result row"),
    Case("llama-bench json without its end, log lines between", "b.json", "ggml_cuda_init: found 2 CUDA devices:\n[\n" + dumps(LLAMA) + ",\n"
         + dumps({**LLAMA, "n_prompt": 0, "n_gen": 128, "avg_ts": 90.0, "avg_ns": 1422222222}) + "\n", "llama-bench",
         {"prefill_tokens_per_s": 1000.0, "gpu": "NVIDIA RTX 4090", "gpu_count": 2, "weights": "q4_k_m", "model": "tiny-Q4_K_M", "backend": "cuda"}, status="stored", runs=2),
    Case("llama-bench wrapper", "b.jsonl", dumps({"mode": "tg", "bench_raw": {**LLAMA, "n_prompt": 0, "n_gen": 128, "avg_ts": 90.0, "avg_ns": 1422222222}}),
         "llama-bench", {"decode_tokens_per_s": 90.0, "prefill_tokens_per_s": None}, status="stored"),
    Case("llama-bench csv", "b.csv", LLAMA_CSV_HEAD + "\n" + LLAMA_CSV_ROW + "\n", "llama-bench-csv", {"decode_tokens_per_s": 100.0, "gpu_count": 1, "backend": "cuda"}, status="stored"),
    Case("llama-bench csv, one column more in the header", "b.csv", LLAMA_CSV_HEAD.replace("n_prompt", "new,n_prompt") + "\n" + LLAMA_CSV_ROW + "\n",
         "llama-bench-csv", None, reason="15 columns"),
    Case("llama-bench sql", "b.sql", "CREATE TABLE IF NOT EXISTS test (build_commit TEXT);\nINSERT INTO test (build_commit, gpu_info, model_type, n_prompt, n_gen,"
         " avg_ns, avg_ts) VALUES ('abc', 'NVIDIA RTX 4090', 'tiny 7B Q4_0', '512', '0', '512000000', '1000.0');\n", "llama-bench-sql",
         {"prefill_tokens_per_s": 1000.0, "gpu": "NVIDIA RTX 4090"}, status="stored"),
    Case("llama-bench markdown", "b.log", LLAMA_MD, "llama-bench-md", {"prefill_tokens_per_s": 5000.0, "gpu": "AMD Instinct MI300X", "gpu_count": 1,
         "backend": "rocm"}, status="stored", runs=2),
    Case("llama-bench on a Mac", "b.jsonl", dumps({**LLAMA, "gpu_info": "Apple M2 Ultra", "backends": "MTL,BLAS"}), "llama-bench",
         {"backend": "metal", "gpu": "Apple M2 Ultra"}, status="stored"),
    Case("llama-bench of two back ends", "b.jsonl", dumps({**LLAMA, "gpu_info": "A, B", "backends": "CUDA,Vulkan"}), "llama-bench", {"backend": None}, status="stored"),
    Case("llama-bench on the processor", "b.jsonl", dumps({**LLAMA, "n_gpu_layers": 0}), "llama-bench", {"backend": None, "gpu": None}),
    Case("llama-bench markdown, AMDVLK", "b.log", LLAMA_MD.replace("ROCm       ", "Vulkan     ").replace(
        "  Device 0: AMD Instinct MI300X, gfx942 (0x942), VMM: no", "ggml_vulkan: 0 = AMD Radeon Graphics (AMD open-source driver) | uma: 1 | fp16: 1"),
        "llama-bench-md", {"backend": "vulkan_amdvlk", "gpu": "AMD Radeon Graphics"}, status="stored", runs=2),
    Case("llama-bench markdown, crashed after its header", "b.log", LLAMA_MD.split("| tiny", maxsplit=1)[0] + "ggml_abort\n", "llama-bench-md", None, reason="crashed"),
    Case("llama-bench site aggregate", "results.json", dumps({"runs": [{"model": "tiny", "quant": "Q8_0", "test": "tg128 @ d4096", "tps_mean": 20.5, "env": "vulkan_radv"},
         {"model": "big", "test": "pp512", "tps_mean": None, "error": True, "error_type": "load"}]}), "llama-bench-derived", {"decode_tokens_per_s": 20.5, "backend": "vulkan"}),
    Case("optimum with configuration", "benchmark.json", dumps(OPTIMUM), "optimum-benchmark", {"gpu": "NVIDIA A100", "gpu_count": 2, "ttft_mean_s": 0.1,
         "decode_tokens_per_s": 50.0, "tpot_mean_s": 0.04, "prefill_tokens_per_s": 1280.0, "peak_memory_bytes": 9e9}, status="stored"),
    Case("optimum report alone", "benchmark_report.json", dumps(OPTIMUM["report"]), "optimum-benchmark", {"concurrency": 2, "tpot_mean_s": 0.04}),
    Case("optimum markdown", "benchmark_report.md", OPTIMUM_MD, "optimum-benchmark-md", {"ttft_mean_s": 0.1, "decode_tokens_per_s": 20.0, "tpot_mean_s": 0.05}),
    Case("optimum 2023 csv", "inference_results.csv", "forward.latency(s),forward.throughput(samples/s),generate.latency(s),generate.throughput(tokens/s),"
         "generate.peak_memory(MB)\n0.846,18.9,50.6,316.0,47496\n", "optimum-benchmark-csv", {"output_tokens_per_s": 316.0, "e2e_mean_s": 50.6,
         "ttft_mean_s": 0.846, "peak_memory_bytes": 47496e6}),
    Case("optimum 2023 training csv", "training_results.csv", ",warmup.runtime(s),training.runtime(s),training.throughput(samples/s),"
         "overall_training.throughput(samles/s)\n0,20.9,31.0,15.4,9.2\n", "optimum-benchmark-csv", {"samples_per_s": 15.4}),
    Case("evalscope: ms and s side by side", "benchmark_summary.json", dumps({"Test Duration (s)": 10.0, "Concurrency": 4, "Success Requests": 50,
         "Failed Requests": 0, "Avg Latency (s)": 0.8, "Avg TTFT (ms)": 100.0, "TPOT (ms)": 7.1, "Output Throughput (tok/s)": 500.0}), "evalscope-perf",
         {"e2e_mean_s": 0.8, "ttft_mean_s": 0.1, "tpot_mean_s": 0.0071, "concurrency": 4}),
    Case("evalscope percentiles", "benchmark_percentile.json", dumps([{"Percentiles": "10%", "TTFT (ms)": 5.0}]), "evalscope-percentiles", None, reason="benchmark_summary"),
    Case("openvino llm_bench", "o.json", dumps({"metadata": {"model": "tiny"}, "perfdata": {"results": [
         {"iteration": 0, "first_latency": 900.0, "second_avg_latency": 90.0}, {"iteration": 1, "first_latency": 100.0, "second_avg_latency": 20.0}]}}),
         "openvino-llm-bench", {"ttft_mean_s": 0.1, "tpot_mean_s": 0.02}),
    Case("fireworks csv", "s.csv", "Provider,Model,Qps,Time To First Token,Latency Per Token,Concurrency\nvllm,tiny,2.0,150,20.5,QPS 2 constant\n",
         "fireworks-benchmark-csv", {"requests_per_s": 2.0, "ttft_mean_s": 0.15, "tpot_mean_s": 0.0205, "concurrency": None}),
    Case("locust", "x_stats.csv", "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Requests/s,99%\n,Aggregated,100,5,900,1000,5.0,3000\n",
         "locust-stats", {"completed": 95, "failed": 5, "e2e_mean_s": 1.0, "e2e_p50_s": 0.9, "requests_per_s": 5.0, "output_tokens_per_s": None}),
    Case("k6", "k6.json", dumps({"metrics": {"http_req_duration": {"avg": 1000.0, "med": 900.0}, "http_reqs": {"count": 10, "rate": 2.0}}}), "k6-summary",
         {"e2e_mean_s": 1.0, "requests_per_s": 2.0}),
    Case("llm-optimizer", "lo.json", dumps({"config": {"client_args": {"max_concurrency": 4}}, "results": {"completed": 8, "duration": 4.0, "backend": "sglang",
         "total_input_tokens": 800, "total_output_tokens": 80, "mean_ttft_ms": 50.0}}), "llm-optimizer", {"concurrency": 4, "ttft_mean_s": 0.05, "input_tokens": 100}),
    Case("hf inference-benchmarker", "ib.json", dumps({"config": {"model_name": "tiny"}, "results": [{"id": "warmup", "executor_type": "ConstantVUs"},
         {"id": "constant@2", "executor_type": "ConstantArrivalRate", "config": {"rate": 2.0}, "successful_requests": 50, "failed_requests": 1, "request_rate": 1.9,
          "token_throughput_secs": 300.0, "time_to_first_token_ms": {"avg": 80.0}, "inter_token_latency_ms": {"avg": 9.0}}]}), "hf-inference-benchmarker",
         {"model": "tiny", "ttft_mean_s": 0.08, "tpot_mean_s": 0.009, "request_rate_per_s": 2.0, "requests_per_s": 1.9, "output_tokens_per_s": 300.0}),
    Case("ollama --verbose", "o.txt", "total duration:       1m2.5s\nload duration: 5ms\nprompt eval count:    120 token(s)\nprompt eval rate:     400.5 tokens/s\n"
         "eval count:           600 token(s)\neval rate:            12.50 tokens/s\n", "ollama-verbose", {"decode_tokens_per_s": 12.5,
         "prefill_tokens_per_s": 400.5, "e2e_mean_s": 62.5, "input_tokens": 120}),
    Case("ollama api in nanoseconds", "o.json", dumps({"model": "tiny", "eval_count": 100, "eval_duration": 2_000_000_000, "prompt_eval_count": 50,
         "prompt_eval_duration": 100_000_000}), "ollama-verbose", {"decode_tokens_per_s": 50.0, "prefill_tokens_per_s": 500.0}),
]  # fmt: skip
