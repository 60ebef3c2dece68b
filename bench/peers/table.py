#!/usr/bin/env python3
"""Reads epochs in Go benchmark format and prints the median of each variant, the fastest first.

    python3 bench/peers/table.py < docs/results/h200/peers.txt
"""
import re
import statistics
import sys

RESULT = re.compile(r"BenchmarkEpoch/variant=(\w+)/\S+\s+\d+\s+([\d.e+]+) ns/op")


def main():
    times = {}
    for line in sys.stdin:
        if match := RESULT.match(line):
            times.setdefault(match[1], []).append(float(match[2]) / 1e9)
    if not times:
        sys.exit("table.py: no epochs in the input")
    rows = sorted((statistics.median(v), name, v) for name, v in times.items())
    print(f"{'variant':20s} {'median s':>9s} {'min':>9s} {'max':>9s}  slower")
    for median, name, v in rows:
        print(f"{name:20s} {median:9.4f} {min(v):9.4f} {max(v):9.4f}  {median / rows[0][0]:.1f}x")


if __name__ == "__main__":
    main()
