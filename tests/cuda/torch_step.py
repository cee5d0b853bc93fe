"""The training step of `tutti-bench step` in PyTorch on a GPU, for device_check.sh: float32, no TF32."""
import argparse
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, dim, heads, ratio):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, ratio * dim), nn.Linear(ratio * dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Classifier(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.embed = nn.Linear(o.inputs, o.dim)
        self.position = nn.Parameter(torch.randn(o.tokens, o.dim) * 0.02)
        self.blocks = nn.Sequential(*[Block(o.dim, o.heads, o.ratio) for _ in range(o.layers)])
        self.norm, self.head = nn.LayerNorm(o.dim), nn.Linear(o.dim, o.classes)

    def forward(self, x):
        x = self.blocks(self.embed(x) + self.position)
        return self.head(self.norm(x.mean(1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in dict(batch=64, tokens=49, inputs=16, dim=128, heads=4, layers=4, classes=10, ratio=4).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    o = parser.parse_args()
    device = torch.device("cuda")
    torch.manual_seed(0)
    model = Classifier(o).to(device)
    x = torch.randn(o.batch, o.tokens, o.inputs, device=device)
    y = torch.randint(0, o.classes, (o.batch,), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    for _ in range(5):
        step()
    print(json.dumps({"ready": "pytorch"}), flush=True)
    for line in sys.stdin:
        words = line.split()
        if not words or words[0] == "quit":
            break
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(int(words[1])):
            step()
        torch.cuda.synchronize()
        print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)


if __name__ == "__main__":
    main()
