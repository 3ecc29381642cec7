"""The built-in formats, one small file a tool. The order decides only between equal scores."""

from ..protocol import Parser
from . import genai, serve_stdout, sglang, trtllm, vllm_offline, vllm_serve

BUILT_IN: tuple[Parser, ...] = (
    vllm_serve.VllmServe(), vllm_serve.VllmSweep(), vllm_serve.SecondsLookalike(), vllm_offline.VllmThroughput(), vllm_offline.VllmLatency(),
    vllm_offline.VllmNightly(), vllm_offline.PytorchSidecar(), serve_stdout.ServeStdout(), sglang.SglangServing(), sglang.SglangOneBatch(),
    sglang.SglangOffline(), trtllm.TrtllmJson(), trtllm.TrtllmStdout(), trtllm.TrtllmLegacyStdout(), trtllm.GptManagerCsv(), genai.AiperfJson(),
    genai.GenaiPerfJson(), genai.AiperfCsv(), genai.GenaiPerfCsv(), genai.GenaiConsole(), genai.AiperfPerRequest(),
)  # fmt: skip
