#!/usr/bin/env python3
"""The comparison of README.md, which compare.sh runs: tables in Markdown, one line as soon as it is measured."""
import argparse
import os
import shlex
import statistics
import subprocess
import sys

from pair import Contender, ratio, rounds_of

here = os.path.dirname(os.path.abspath(__file__))

# name: options of a step of ours, then those of the peers if they differ
works = {
    "vit": "",
    "vit grouped vs looped": ("--kind grouped", "--kind looped"),
    "vit grouped vs hand-batched": "--kind grouped",
    "image": "--batch 16 --tokens 196 --inputs 48 --dim 256 --heads 8",
    "long": "--batch 2 --tokens 2048 --dim 256 --heads 8 --layers 2",
    "wide": "--batch 8 --tokens 128 --inputs 64 --dim 512 --heads 8",
    "tiny": "--batch 32 --tokens 16 --inputs 4 --dim 64 --heads 4 --layers 2",
    "far": "--batch 1 --tokens 16384 --dim 128 --heads 4 --layers 2",
    "vit forward": "--infer",
    "sentence forward": "--infer --batch 1 --tokens 128 --inputs 64 --dim 384 --heads 12 --layers 6",
    "short forward": "--infer --batch 1 --tokens 16 --inputs 64 --dim 384 --heads 12 --layers 6",
}


def python(script, *options):
    return [sys.executable, os.path.join(here, script), *options]


def models(a):
    print("| work | Tutti, ms | PyTorch, ms | time, PyTorch / Tutti | memory, Tutti / PyTorch | time, ONNX Runtime / Tutti | "
          "memory, Tutti / ONNX Runtime |\n|---|---|---|---|---|---|---|", flush=True)
    for name in a.only or works:
        ours, theirs = works[name] if isinstance(works[name], tuple) else 2 * (works[name],)
        ours, theirs = (shlex.split(f"{options} --threads {a.threads}") for options in (ours, theirs))
        contenders = [Contender([a.bench, "step", *ours]), Contender(python("torch_step.py", *theirs))]
        if "--infer" in theirs:
            contenders.append(Contender(python("ort_step.py", *theirs)))
        seconds = rounds_of(contenders, a.rounds)
        memory = [c.quit()["work_bytes"] for c in contenders]
        cells = [name, *(f"{1e3 * statistics.median(s):.1f}" for s in seconds[:2])]
        for own, used in zip(seconds[1:], memory[1:]):
            value, low, high = ratio(own, seconds[0])
            cells += [f"{value:.2f} [{low:.2f}, {high:.2f}]", f"{memory[0] / used:.2f}"]
        print("| " + " | ".join(cells + ["–"] * (7 - len(cells))) + " |", flush=True)


def operations(a):
    def listed(*options):
        done = subprocess.run([a.bench, "kernels", "--list", *options], capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode == 0 else []

    only = ["--only", ",".join(a.only)] if a.only else []
    cases = listed(*only) + listed("--odd", *only)
    if not cases:
        sys.exit(f"compare: --only {','.join(a.only)}: no operation has that in its line (tutti-bench kernels --list prints them)")
    print("| operation | Tutti, ms | PyTorch, ms | time, PyTorch / Tutti | |\n|---|---|---|---|---|", flush=True)
    slower = []
    torch = Contender(python("torch_op.py"), f"exp 1 --threads {a.threads}")
    for case in cases:
        line = f"{case} --threads {a.threads}"
        torch.ask(line)
        ours = Contender([a.bench, "op", *line.split()])
        seconds = rounds_of([ours, torch], a.rounds, block=0.02)
        ours.quit()
        value, low, high = ratio(seconds[1], seconds[0])
        flag = "slower" if value < 0.95 and high < 1 else ""
        print(f"| {case} | {1e3 * statistics.median(seconds[0]):.4f} | {1e3 * statistics.median(seconds[1]):.4f} | "
              f"{value:.2f} [{low:.2f}, {high:.2f}] | {flag} |", flush=True)
        if flag:
            slower.append((value, case))
    torch.quit()
    print(f"\n{len(slower)} of {len(cases)} operations are slower than PyTorch (ratio below .95, interval below 1)"
          + "".join(f"\n  {value:.2f}  {case}" for value, case in sorted(slower)))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bench", required=True, help="the program tutti-bench")
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--only", type=lambda text: text.split(","))
    p.add_argument("--ops", action="store_true")
    p.add_argument("--processor-time", action="store_true")
    a = p.parse_args()
    for name in [] if a.ops else a.only or []:
        if name not in works:
            sys.exit(f"compare: --only {name}: no such work; there are {', '.join(works)}")
    Contender.by_processor = a.processor_time
    import torch

    versions = [f"PyTorch {torch.__version__}"]
    if not a.ops:
        import onnxruntime

        versions.append(f"ONNX Runtime {onnxruntime.__version__}")
    ours = Contender([a.bench, "op", "exp", "1", "--threads", str(a.threads)])
    print(f"{ours.hello['environment']}; {', '.join(versions)}; {a.rounds} rounds, medians of their ratios, "
          f"95 % intervals{'; processor time' if a.processor_time else ''}\n", flush=True)
    ours.quit()
    (operations if a.ops else models)(a)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
