"""The built-in formats, one small file a tool. The order decides only between equal scores."""

from ..protocol import Parser
from . import genai, guidellm, inference_perf, inferencex, llama_bench, llmd, llmperf, mlperf_inference, optimum, serve_stdout, sglang, trtllm, vllm_offline, vllm_serve

BUILT_IN: tuple[Parser, ...] = (
    vllm_serve.VllmServe(), vllm_serve.VllmSweep(), vllm_serve.SecondsLookalike(), vllm_offline.VllmThroughput(), vllm_offline.VllmLatency(),
    vllm_offline.VllmNightly(), vllm_offline.PytorchSidecar(), serve_stdout.ServeStdout(), sglang.SglangServing(), sglang.SglangOneBatch(),
    sglang.SglangOffline(), trtllm.TrtllmJson(), trtllm.TrtllmStdout(), trtllm.TrtllmLegacyStdout(), trtllm.GptManagerCsv(), genai.AiperfJson(),
    genai.GenaiPerfJson(), genai.AiperfCsv(), genai.GenaiPerfCsv(), genai.GenaiConsole(), genai.AiperfPerRequest(),
    llmperf.LlmperfSummary(), llmperf.LlmperfIndividual(), guidellm.GuidellmJson(), guidellm.GuidellmFirst(), guidellm.GuidellmCsv(),
    guidellm.GuidellmConsole(), inference_perf.InferencePerf(), inference_perf.LmbenchCsv(), inference_perf.Fmperf(), llmd.LlmdReport(), llmd.GuidellmYaml(),
    inferencex.InferencexJson(), inferencex.InferencexTable(), mlperf_inference.MlperfSummary(), mlperf_inference.MlperfDetail(),
    mlperf_inference.MlperfResultsJson(), mlperf_inference.MlperfTable(), llama_bench.LlamaBench(), llama_bench.LlamaBenchCsv(), llama_bench.LlamaBenchSql(),
    llama_bench.LlamaBenchMarkdown(), llama_bench.LlamaBenchDerived(), optimum.OptimumJson(), optimum.OptimumMarkdown(), optimum.OptimumCsv(),
)  # fmt: skip
