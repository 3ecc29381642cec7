"""What it takes to hand a prompt's cache from a prefill instance to a decode instance."""

from typing import Any

from roofline import precision
from roofline.columns import Batch
from roofline.selection import maximum, minimum, pick
from roofline.serving.coefficients import FAST, NETWORK, PCIE, ServingCoefficients

Column = Any


def handover(batch: Batch, c: ServingCoefficients) -> Column:
    """Seconds: a fixed cost and the bytes of the prompt's cache over the links of the prefill instance's GPUs, each sending its share.

    The link is the fast one where it joins the GPUs of both pools, PCIe where one machine holds them, else the network.
    """
    model, gpu, layout, load = batch.model, batch.gpu, batch.layout, batch.serving
    assert load is not None
    tokens = load.input_tokens
    held = model.kv_bytes_per_token * tokens + model.kv_window_bytes_per_token * minimum(tokens, model.window)
    held = held + model.kv_indexer_bytes_per_token * tokens
    nbytes = held * (0.5 * precision.KV_BYTES[load.kv_cache]) + model.state_bytes_per_sequence
    fast = (gpu.link_bandwidth > 0) & (layout.gpus <= gpu.domain)
    local = layout.gpus <= layout.gpus_per_node
    link = pick(fast, FAST, pick(local, PCIE, NETWORK))
    speed = pick(fast, gpu.link_bandwidth, pick(local, gpu.pcie_bandwidth, layout.internode_bandwidth))
    senders = maximum(load.prefill_tp, 1.0)
    return c.scalar["handoff_s"] + nbytes / (senders * speed * c.link_share[link])
