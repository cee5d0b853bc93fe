#!/usr/bin/env python3
"""Times contenders against each other on the same work, side by side: long-lived processes, interleaved blocks.

  pair.py "build/bin/tutti-bench step --kind grouped" "python3 torch_step.py --kind looped"

Each argument is one contender's command line; the first is the reference. Prints, for each, the median time of a step, the
ratio other/first (above 1: the first is faster) with a bootstrap 95 % interval over rounds, and its memory.
"""
import argparse
import glob
import json
import random
import shlex
import statistics
import subprocess
import sys
import time


class Contender:
    by_processor = False  # seconds are those that the process's threads ran, which other programs disturb less

    def __init__(self, command, first_line=None):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hello = self.ask(first_line) if first_line else self.read()

    def read(self):
        for line in self.process.stdout:          # a contender may print other lines; JSON objects are the protocol
            if line.startswith("{"):
                return json.loads(line)
        sys.exit(f"'{shlex.join(self.command)}' ended without an answer (exit {self.process.wait()})")

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass                                  # read() says that it ended
        return self.read()

    def processor_seconds(self):
        total = 0
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat"):
            with open(path) as f:
                total += int(f.read().split()[0])
        return total / 1e9

    def seconds(self, steps):
        before = self.processor_seconds() if self.by_processor else 0
        seconds = self.ask(f"run {steps}")["seconds"]
        return (self.processor_seconds() - before if self.by_processor else seconds) / steps

    def quit(self):
        facts = self.ask("quit")
        self.process.wait()
        return facts


def rounds_of(contenders, rounds, block=0.5):
    """seconds[contender][round] of one step, in interleaved blocks of about `block` seconds."""
    steps = []
    for c in contenders:
        one = min(c.seconds(1) for _ in range(3))
        steps.append(max(1, min(100000, round(block / one))))
    seconds = [[] for _ in contenders]
    for i in range(rounds):
        order = list(range(len(contenders)))
        for k in order if i % 2 == 0 else reversed(order):     # ABBA
            time.sleep(0.005)                     # threads of the one before may still wait actively for work
            seconds[k].append(contenders[k].seconds(steps[k]))
    return seconds


def ratio(theirs, ours):
    """Median of the rounds' ratios, with a bootstrap 95 % interval."""
    rng = random.Random(0)
    ratios = [a / b for a, b in zip(theirs, ours)]
    boots = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(2000))
    return statistics.median(ratios), boots[50], boots[1949]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=12, help="default 12")
    p.add_argument("contenders", nargs="+", metavar="COMMAND")
    a = p.parse_args()
    contenders = [Contender(shlex.split(c)) for c in a.contenders]
    seconds = rounds_of(contenders, a.rounds)
    for c, own in zip(contenders, seconds):
        value, low, high = ratio(own, seconds[0])
        work = c.quit().get("work_bytes")
        memory = f"{work / 2**20:9.1f} MiB" if work else ""
        print(f"{c.hello['ready']:44s} {1e3 * statistics.median(own):10.3f} ms  x{value:.3f} [{low:.3f}, {high:.3f}] {memory}")


if __name__ == "__main__":
    main()
