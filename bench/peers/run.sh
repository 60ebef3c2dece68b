#!/usr/bin/env bash
# PyTorch and gputax on the same epoch, on one card, in one run; one table.
#
#   bench/peers/run.sh [OUT]
#
# Needs python3 with PyTorch, and Go or a built gputax in $GPUTAX. Results go to
# OUT (default gputax-out/peers): bench.txt (ours), torch.txt and table.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-gputax-out/peers}
gputax=${GPUTAX:-go run ./cmd/gputax}
mkdir -p "$out"

$gputax run -full -count 6 -time 1s -device cuda:0 -run Epoch \
  -variant cpu_loop,gpu_fused,graph,tf32,fastest -o "$out" > "$out/table.txt"
python3 bench/peers/torch_epoch.py --count 6 > "$out/torch.txt"

# The median of each variant, the fastest first.
cat "$out/bench.txt" "$out/torch.txt" | python3 bench/peers/table.py | tee -a "$out/table.txt"
