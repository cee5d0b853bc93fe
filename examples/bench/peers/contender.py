"""The contender protocol, for the programs here: what examples/bench/contender.h is for tutti-bench."""
import json
import sys
import time


def status_bytes(field):
    """VmRSS (now) or VmHWM (peak since reset_peak) of this process."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))


def reset_peak():
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def say(**facts):
    print(json.dumps(facts), flush=True)


def contend(step, **hello):
    """Says that it is ready, runs `step` N times for each line "run N", and returns the first other line ("" at the end)."""
    say(**hello)
    for line in sys.stdin:
        word, *count = line.split() or [""]
        if word != "run":
            return line.strip()
        start = time.perf_counter()
        for _ in range(int(count[0])):
            step()
        say(seconds=time.perf_counter() - start)
    return ""


def add_model_options(parser):
    """Those of `tutti-bench step`, with its defaults."""
    parser.add_argument("--kind", choices=["standard", "looped", "grouped"], default="standard", help="attention layer (default standard)")
    defaults = dict(batch=64, tokens=49, inputs=16, dim=128, heads=4, groups=4, layers=4, classes=10, threads=2)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    parser.add_argument("--ratio", type=float, default=4.0, help="feed-forward width over dim (default 4)")
    parser.add_argument("--infer", action="store_true", help="only the forward pass, without gradients")
