#!/usr/bin/env python3
"""Writes the .safetensors files beside it: values computed by PyTorch, which the tests compare with.

  python make_reference.py       (needs PyTorch 2.x; running the tests does not)

Inputs, outputs and gradients are stored, so nothing depends on anyone's random numbers. float64 unless named "32".
"""
import json
import math
import pathlib
import struct

import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).parent
DTYPES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.bool: "BOOL"}


def save(name, tensors):
    """The safetensors format: length of the header, header in JSON, data. Keys in order, so that files can be compared."""
    header, data = {"__metadata__": {"made_by": f"make_reference.py, PyTorch {torch.__version__}"}}, b""
    for key in sorted(tensors):
        t = tensors[key].detach().contiguous()
        raw = bytes(t.flatten().view(torch.uint8).tolist())
        header[key] = {"dtype": DTYPES[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (HERE / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def rand(*shape, scale=1.0):
    return torch.randn(*shape, dtype=torch.float64) * scale


def record(out, case, inputs, y, dy=None):
    """case.name for each input, case.y, and for a floating y case.dy and case.d_name for each input with a gradient."""
    for name, x in inputs.items():
        out[f"{case}.{name}"] = x
    out[f"{case}.y"] = y
    leaves = {n: x for n, x in inputs.items() if x.requires_grad}
    if not leaves:
        return
    dy = torch.randn_like(y) if dy is None else dy
    out[f"{case}.dy"] = dy
    for name, g in zip(leaves, torch.autograd.grad(y, list(leaves.values()), dy)):
        out[f"{case}.d_{name}"] = g


def functions():
    out = {}
    x = rand(5, 7, scale=3).requires_grad_()
    for name, f in {
        "gelu_erf": F.gelu,
        "gelu_tanh": lambda t: F.gelu(t, approximate="tanh"),
        "silu": F.silu,
        "softmax": lambda t: F.softmax(t, 0),
        "log_softmax": lambda t: F.log_softmax(t, 1),
        "logsumexp": lambda t: torch.logsumexp(t, 1),
    }.items():
        record(out, name, {"x": x}, f(x))

    x, w, b = rand(4, 3, 9).requires_grad_(), rand(9).requires_grad_(), rand(9).requires_grad_()
    record(out, "layer_norm", {"x": x, "weight": w, "bias": b}, F.layer_norm(x, (9,), w, b, 1e-5))
    record(out, "rms_norm", {"x": x, "weight": w}, F.rms_norm(x, (9,), w, 1e-6))

    logits = rand(6, 5, scale=2).requires_grad_()
    target = torch.tensor([0, 4, 2, -100, 1, 4])
    weight = torch.rand(5, dtype=torch.float64) + 0.1
    for name, options in {
        "plain": {},
        "smooth": {"label_smoothing": 0.2},
        "weighted": {"weight": weight},
        "both": {"weight": weight, "label_smoothing": 0.3},
        "sum": {"weight": weight, "reduction": "sum"},
        "none": {"label_smoothing": 0.1, "reduction": "none"},
        "ignore_4": {"ignore_index": 4},
    }.items():
        t = target.clamp(min=0) if name == "ignore_4" else target
        inputs = {"logits": logits, "target": t}
        record(out, f"cross_entropy_{name}", inputs, F.cross_entropy(logits, t, **options))
    out["cross_entropy.weight"] = weight

    x, t = rand(4, 3, scale=5).requires_grad_(), torch.rand(4, 3, dtype=torch.float64).requires_grad_()
    for reduction in ("mean", "sum", "none"):
        inputs = {"x": x, "target": t}
        y = F.binary_cross_entropy_with_logits(x, t, reduction=reduction)
        record(out, f"bce_{reduction}", inputs, y)
        record(out, f"mse_{reduction}", inputs, F.mse_loss(x, t, reduction=reduction))

    table, index = rand(6, 3).requires_grad_(), torch.tensor([[1, 1, 3], [0, 5, 1]])
    record(out, "embedding", {"index": index, "weight": table}, F.embedding(index, table))
    save("functions", out)


def attention():
    out = {}
    q, k, v = (rand(2, 2, n, 5).requires_grad_() for n in (5, 7, 7))
    inputs = {"q": q, "k": k, "v": v}
    keep = torch.rand(2, 1, 5, 7) > 0.4
    keep[..., 0] = True  # no row without a key: PyTorch gives NaN there
    bias = rand(1, 2, 5, 7).requires_grad_()
    end_aligned = torch.ones(5, 7, dtype=torch.bool).tril(2)
    record(out, "plain", inputs, F.scaled_dot_product_attention(q, k, v))
    record(out, "scaled", inputs, F.scaled_dot_product_attention(q, k, v, scale=0.7))
    record(out, "bool_mask", inputs | {"mask": keep}, F.scaled_dot_product_attention(q, k, v, attn_mask=keep))
    record(out, "bias", inputs | {"mask": bias.detach()}, F.scaled_dot_product_attention(q, k, v, attn_mask=bias.detach()))
    record(out, "causal_end", inputs, F.scaled_dot_product_attention(q, k, v, attn_mask=end_aligned))
    q2 = rand(2, 2, 7, 5).requires_grad_()
    square = {"q": q2, "k": k, "v": v}
    record(out, "causal", square, F.scaled_dot_product_attention(q2, k, v, is_causal=True))
    band = torch.ones(7, 7, dtype=torch.bool).tril(1).triu(-1)
    record(out, "window_2", square, F.scaled_dot_product_attention(q2, k, v, attn_mask=band))
    k1, v1 = rand(2, 1, 7, 5).requires_grad_(), rand(2, 1, 7, 5).requires_grad_()
    y = F.scaled_dot_product_attention(q2, k1.repeat_interleave(2, 1), v1.repeat_interleave(2, 1))
    record(out, "one_kv_head", {"q": q2, "k": k1, "v": v1}, y)
    save("attention", out)


class Attention(nn.Module):
    """The standard layer, or with groups the article's: one linear map per group for each of q, k and v."""

    def __init__(self, dim, heads, groups=None):
        super().__init__()
        self.heads, self.groups, g = heads, groups, dim // (groups or 1)
        self.out = nn.Linear(dim, dim)
        if groups is None:
            self.qkv = nn.Linear(dim, 3 * dim)
        else:
            self.weight = nn.Parameter(torch.empty(3, groups, g, g).uniform_(-1, 1) / math.sqrt(g))
            self.bias = nn.Parameter(torch.zeros(3 * dim))

    def forward(self, x):
        b, t, c = x.shape
        if self.groups is None:
            qkv, scale = self.qkv(x), 1 / math.sqrt(c // self.heads)
        else:
            pieces, biases = x.chunk(self.groups, -1), self.bias.view(3, self.groups, -1)
            qkv = torch.cat([F.linear(pieces[i], self.weight[p, i], biases[p, i])
                             for p in range(3) for i in range(self.groups)], -1)
            scale = 1 / math.sqrt(c // self.groups)
        q, k, v = qkv.view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, scale=scale)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, dim, heads, groups, hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = Attention(dim, heads, groups)
        self.ffn = nn.ModuleDict({"up": nn.Linear(dim, hidden), "down": nn.Linear(hidden, dim)})

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ffn["down"](F.gelu(self.ffn["up"](self.norm2(x))))


def blocks():
    out = {}
    for case, heads, groups in (("standard", 2, None), ("grouped", 4, 4), ("grouped_8_heads", 8, 4)):
        block = Block(16, heads, groups, 24).double()
        for p in block.parameters():
            p.data += torch.randn_like(p) * 0.2
        x = rand(2, 5, 16).requires_grad_()
        record(out, case, {"x": x} | dict(block.named_parameters()), block(x))
    save("blocks", out)


def optimizers():
    """20 steps on a small classifier: the data, the first weights, the last weights and the losses of each optimizer."""
    out = {}
    x, y = rand(12, 6), torch.randint(3, (12,))
    first = {"a.weight": rand(8, 6, scale=0.4), "a.bias": rand(8, scale=0.1),
             "b.weight": rand(3, 8, scale=0.4), "b.bias": rand(3, scale=0.1)}
    out |= {"x": x, "label": y} | {f"first.{n}": t for n, t in first.items()}
    cases = {
        "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
        "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.05),
        "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.01),
        "adam": lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.97), weight_decay=0.1),
        "adamw": lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0.1),
        "adamw_clipped": lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0.1),
    }
    for case, make in cases.items():
        p = {n: t.clone().requires_grad_() for n, t in first.items()}
        optimizer, losses = make(p.values()), []
        for _ in range(20):
            hidden = F.gelu(x @ p["a.weight"].T + p["a.bias"])
            loss = F.cross_entropy(hidden @ p["b.weight"].T + p["b.bias"], y)
            optimizer.zero_grad()
            loss.backward()
            if case == "adamw_clipped":
                torch.nn.utils.clip_grad_norm_(p.values(), 0.1)
            optimizer.step()
            losses.append(loss.detach())
        out[f"{case}.losses"] = torch.stack(losses)
        out |= {f"{case}.{n}": t for n, t in p.items()}
    save("optimizers", out)


torch.manual_seed(0)
functions()
attention()
blocks()
optimizers()
