#!/usr/bin/env python3
"""PyTorch as a contender: one operation in float32, as `tutti-bench op` does it.

  torch_op.py softmax 4096 1024            torch_op.py matmul 1024 1024 1024 --backward

A step is the operation on ready inputs; with --backward also the gradients of all its inputs from a ready output gradient.
Without arguments it reads such lines, and "run N" after each: loading PyTorch takes longer than most operations.
"""
import argparse
import shlex
import sys

from contender import contend, say

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("op")
p.add_argument("sizes", type=int, nargs="+")
p.add_argument("--backward", action="store_true", help="also the gradients of all inputs")
p.add_argument("--transposed", action="store_true", help="the inputs' last two axes lie the other way round in memory")
p.add_argument("--threads", type=int, default=2)
if "-h" in sys.argv or "--help" in sys.argv:
    p.parse_args()

import torch
from torch.nn import functional as F


def work(a):
    """(function, inputs) of the operation."""
    s = a.sizes

    def new(*shape):
        x = torch.randn(*shape)
        if a.transposed and len(shape) > 1:
            x = x.transpose(-1, -2).contiguous().transpose(-1, -2)
        return x.requires_grad_(a.backward)

    def parameters():                                      # tensors numel, with gradients
        w = [torch.randn(s[1], requires_grad=True) for _ in range(s[0])]
        for q in w:
            q.grad = torch.randn_like(q)
        return w

    unary = dict(
        softmax=lambda x: F.softmax(x, -1), softmax_dim0=lambda x: F.softmax(x, 0), log_softmax=lambda x: F.log_softmax(x, -1),
        logsumexp=lambda x: torch.logsumexp(x, 1),
        gelu=F.gelu, gelu_tanh=lambda x: F.gelu(x, approximate="tanh"), silu=F.silu, relu=F.relu, exp=torch.exp, tanh=torch.tanh,
        clamp=lambda x: x.clamp(-1, 1), pow=lambda x: x.pow(3), dropout=lambda x: F.dropout(x, 0.1, True),
        sum=torch.sum, sum_dim0=lambda x: x.sum(0), sum_dim1=lambda x: x.sum(1), max_dim1=lambda x: x.max(1).values,
        argmax_dim1=lambda x: x.argmax(1), var_dim1=lambda x: x.var(1), norm=torch.linalg.vector_norm,
        topk=lambda x: x.topk(min(8, x.shape[1]), 1).values, transpose=lambda x: x.transpose(-1, -2).contiguous())
    binary = dict(add=torch.add, mul=torch.mul, gt=torch.gt, cat=lambda x, y: torch.cat([x, y], 1))
    if a.op in unary:
        return unary[a.op], (new(*s),)
    if a.op in binary:
        return binary[a.op], (new(*s), new(*s))
    match a.op:
        case "matmul":                                     # m n k
            return torch.matmul, (new(s[0], s[2]), new(s[2], s[1]))
        case "batched_matmul":                             # b m n k
            return torch.matmul, (new(s[0], s[1], s[3]), new(s[0], s[3], s[2]))
        case "linear":                                     # rows in out
            return F.linear, (new(s[0], s[1]), new(s[2], s[1]), new(s[2]))
        case "grouped_linear":                             # rows in out G, as the looped code of the article
            g = s[3]
            w = [new(s[2] // g, s[1] // g) for _ in range(g)]
            b = [new(s[2] // g) for _ in range(g)]

            def looped(x, *wb):
                parts = x.view(s[0], g, -1)
                return torch.cat([F.linear(parts[:, i], wb[i], wb[g + i]) for i in range(g)], -1)

            return looped, (new(s[0], s[1]), *w, *b)
        case "layer_norm":
            return (lambda x, w, b: F.layer_norm(x, (s[-1],), w, b)), (new(*s), new(s[-1]), new(s[-1]))
        case "rms_norm":
            return (lambda x, w: F.rms_norm(x, (s[-1],), w)), (new(*s), new(s[-1]))
        case "add_bias":                                   # rows cols
            return torch.add, (new(*s), new(s[-1]))
        case "add_column":
            return torch.add, (new(*s), new(s[0], 1))
        case "where":
            mask = torch.randn(*s) > 0
            return (lambda x, y: torch.where(mask, x, y)), (new(*s), new(*s))
        case "rand" | "randn":
            return (lambda: getattr(torch, a.op)(*s)), ()
        case "cross_entropy":                              # rows classes
            y = torch.randint(s[1], (s[0],))
            return (lambda x: F.cross_entropy(x, y)), (new(*s),)
        case "embedding":                                  # vocabulary width tokens
            i = torch.randint(s[0], (s[2],))
            return (lambda w: F.embedding(i, w)), (new(s[0], s[1]),)
        case "attention" | "causal_attention":             # B H T d
            causal = a.op.startswith("causal")
            return (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)), tuple(new(*s) for _ in range(3))
        case "adamw":
            return torch.optim.AdamW(parameters(), lr=1e-3, fused=True).step, ()
        case "sgd":
            return torch.optim.SGD(parameters(), lr=1e-3, momentum=.9, fused=True).step, ()
        case "clip_grad_norm":
            w = parameters()
            return (lambda: torch.nn.utils.clip_grad_norm_(w, 1)), ()
    sys.exit(f"torch_op: unknown operation {a.op}")


def prepare(a):
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    function, inputs = work(a)
    if not a.backward:

        def forward():
            with torch.no_grad():
                function(*inputs)

        return forward
    dy = torch.randn_like(function(*inputs))
    return lambda: torch.autograd.grad(function(*inputs), inputs, dy)


line = shlex.join(sys.argv[1:]) or sys.stdin.readline().strip()
while line and line != "quit":
    step = prepare(p.parse_args(shlex.split(line)))
    for _ in range(3):
        step()
    line = contend(step, ready=f"PyTorch {torch.__version__} {line}")
say()
