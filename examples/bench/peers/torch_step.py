#!/usr/bin/env python3
"""PyTorch as a contender: one training step of the classifier (forward, cross-entropy, backward, AdamW) or a forward pass.

Options and protocol are those of `tutti-bench step`; --compile uses torch.compile.
"""
import argparse

from contender import add_model_options, contend, reset_peak, say, status_bytes


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_model_options(p)
    p.add_argument("--compile", action="store_true", help="with torch.compile")
    a = p.parse_args()

    import torch
    from torch.nn import functional as F

    from torch_model import Classifier

    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    tiny = Classifier(a.kind, 8, 8, 32, 4, 4, 1, 10, 4.0)      # loads what PyTorch loads lazily, so that work_bytes counts
    F.cross_entropy(tiny(torch.randn(4, 8, 8)), torch.zeros(4, dtype=torch.long)).backward()           # the work alone
    torch.optim.AdamW(tiny.parameters(), fused=True).step()
    reset_peak()
    base = status_bytes("VmRSS")
    model = Classifier(a.kind, a.inputs, a.tokens, a.dim, a.heads, a.groups, a.layers, a.classes, a.ratio)
    x = torch.randn(a.batch, a.tokens, a.inputs)
    y = torch.randint(a.classes, (a.batch,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
    parameters = sum(q.numel() for q in model.parameters())
    if a.compile:
        model = torch.compile(model)

    def train():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    def infer():
        with torch.no_grad():
            model(x)

    step = infer if a.infer else train
    for _ in range(5):
        step()
    contend(step, ready=f"PyTorch {torch.__version__}{' compile' if a.compile else ''} {a.kind}", parameters=parameters)
    peak = status_bytes("VmHWM")
    say(peak_rss_bytes=peak, work_bytes=peak - base)


if __name__ == "__main__":
    main()
