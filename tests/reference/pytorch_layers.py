#!/usr/bin/env python3
"""PyTorch's side of tests/nn/pytorch_test.cpp, which runs it: the test exchanges weights with PyTorch's own layers.

  python pytorch_layers.py make FOLDER     writes <layer>.safetensors: state, input, result and gradients of each layer
  python pytorch_layers.py check FOLDER    loads <layer>.back.safetensors, written by Tutti, into the layer: the same bits?

Exits with 77 where there is no PyTorch.
"""
import pathlib
import sys

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit(77)
import json
import struct

DTYPES = {"F32": torch.float32, "F64": torch.float64, "BF16": torch.bfloat16, "F16": torch.float16, "I64": torch.int64}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def save(path, tensors):
    header, data = {}, b""
    for key, t in tensors.items():
        raw = bytes(t.detach().contiguous().flatten().view(torch.uint8).tolist())
        header[key] = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def load(path):
    raw = path.read_bytes()
    length, = struct.unpack("<Q", raw[:8])
    data, tensors = raw[8 + length:], {}
    for key, t in json.loads(raw[8:8 + length]).items():
        if key != "__metadata__":
            begin, end = t["data_offsets"]
            tensors[key] = torch.frombuffer(bytearray(data[begin:end]), dtype=DTYPES[t["dtype"]]).reshape(t["shape"])
    return tensors


def encoder_layer(**options):
    return nn.TransformerEncoderLayer(8, 2, 12, dropout=0, batch_first=True, **options)


class Attention(nn.MultiheadAttention):
    def forward(self, x):
        return super().forward(x, x, x, need_weights=False)[0]


def layers():
    return {
        "linear": nn.Linear(8, 6),
        "linear_without_bias": nn.Linear(8, 6, bias=False),
        "embedding": nn.Embedding(10, 8),
        "layer_norm": nn.LayerNorm(8),
        "attention": Attention(8, 2, batch_first=True),
        "attention_without_bias": Attention(8, 2, bias=False, batch_first=True),
        "layer": encoder_layer(),
        "layer_gelu_first": encoder_layer(activation="gelu", norm_first=True, layer_norm_eps=1e-3),
        "layer_without_bias": encoder_layer(bias=False),
        "encoder": nn.TransformerEncoder(encoder_layer(activation="gelu"), 3, enable_nested_tensor=False),
        "encoder_norm": nn.TransformerEncoder(encoder_layer(norm_first=True), 2, nn.LayerNorm(8), enable_nested_tensor=False),
    }


def make(folder):
    torch.manual_seed(0)
    for name, layer in layers().items():
        for p in layer.parameters():
            p.data += 0.1 * torch.randn_like(p)
        for dtype in DTYPES.values():
            if dtype == torch.int64:
                continue
            layer.to(dtype)
            out = {f"state.{key}": t for key, t in layer.state_dict().items()}
            if dtype in (torch.float32, torch.float64):
                x = torch.randint(10, (2, 5)) if name == "embedding" else torch.randn(2, 5, 8, dtype=dtype).requires_grad_()
                y = layer(x)
                dy = torch.randn_like(y)
                layer.zero_grad()
                y.backward(dy)
                out |= {"x": x, "y": y, "dy": dy} | {f"d.{key}": p.grad for key, p in layer.named_parameters()}
                if x.grad is not None:
                    out["dx"] = x.grad
            save(folder / f"{name}.{NAMES[dtype]}.safetensors", out)


def check(folder):
    for name, layer in layers().items():
        for dtype in ("F32", "F64", "BF16", "F16"):
            state = load(folder / f"{name}.{dtype}.back.safetensors")
            layer.to(DTYPES[dtype])
            layer.load_state_dict(state)  # strict
            before = {k[6:]: t for k, t in load(folder / f"{name}.{dtype}.safetensors").items() if k.startswith("state.")}
            for key, t in layer.state_dict().items():
                assert t.dtype == before[key].dtype and torch.equal(t.view(torch.uint8), before[key].view(torch.uint8)), \
                    f"{name}.{dtype}: {key} differs"


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
