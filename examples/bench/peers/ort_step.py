#!/usr/bin/env python3
"""ONNX Runtime as a contender: a forward pass of the same classifier, which is what people deploy on a CPU.

The model of torch_model.py, exported to ONNX in a temporary folder. Options and protocol are those of `tutti-bench step`
with --infer, which is implied.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from contender import add_model_options, contend, reset_peak, say, status_bytes


def export(a):
    """In a process of its own, so that PyTorch takes none of this one's memory."""
    import torch

    from torch_model import Classifier

    torch.manual_seed(0)
    model = Classifier(a.kind, a.inputs, a.tokens, a.dim, a.heads, a.groups, a.layers, a.classes, a.ratio).eval()
    torch.onnx.export(model, (torch.randn(a.batch, a.tokens, a.inputs),), a.export, input_names=["x"], output_names=["y"],
                      dynamo=True, optimize=True, external_data=False)
    print(sum(q.numel() for q in model.parameters()))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_model_options(p)
    p.add_argument("--export", help="only write the model to this file")
    a = p.parse_args()
    if a.export:
        export(a)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        done = subprocess.run([sys.executable, *sys.argv, "--export", path], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr[-2000:])
        parameters = int(done.stdout.split()[-1])
        import numpy
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = a.threads
        options.log_severity_level = 3
        x = numpy.random.default_rng(0).standard_normal((a.batch, a.tokens, a.inputs), dtype=numpy.float32)
        reset_peak()
        base = status_bytes("VmRSS")
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def step():
        session.run(None, {"x": x})

    for _ in range(5):
        step()
    contend(step, ready=f"ONNX Runtime {ort.__version__} {a.kind}", parameters=parameters)
    peak = status_bytes("VmHWM")
    say(peak_rss_bytes=peak, work_bytes=peak - base)


if __name__ == "__main__":
    main()
