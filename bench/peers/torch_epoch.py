#!/usr/bin/env python3
"""The reference epoch in PyTorch, as a Python user would write it, for comparison.

Prints one line of Go benchmark format a sample, so that benchstat and gputax
read it like our own results:

    python3 bench/peers/torch_epoch.py --device cuda --modes eager,graph,compile > torch.txt

Modes: eager; graph, the whole step as one CUDA graph; compile, torch.compile
with mode="reduce-overhead".
"""
import argparse
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

CAPACITY = {10: 20.0, 20: 30.0, 50: 40.0, 100: 50.0}


class Layer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))

    def forward(self, x):
        batch, nodes, width = x.shape
        parts = self.qkv(x).view(batch, nodes, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, nodes, width)
        x = self.norm1(x + self.out(seen))
        return self.norm2(x + self.ff(x))


class Policy(nn.Module):
    """Encoder and decoder; forward rolls a whole batch out."""

    def __init__(self, customers, width=128, heads=8, layers=3, hidden=512):
        super().__init__()
        self.steps, self.heads, self.width = 2 * customers, heads, width
        self.depot, self.customer = nn.Linear(2, width), nn.Linear(3, width)
        self.layers = nn.ModuleList(Layer(width, heads, hidden) for _ in range(layers))
        self.keys = nn.Linear(width, 3 * width, bias=False)
        self.fixed = nn.Linear(width, width, bias=False)
        self.step = nn.Linear(width + 1, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def encode(self, xy, demand):
        x = torch.cat([self.depot(xy[:, :1]), self.customer(torch.cat([xy[:, 1:], demand[:, 1:, None]], -1))], 1)
        for layer in self.layers:
            x = layer(x)
        return x

    def split(self, x):
        batch, rows, _ = x.shape
        return x.view(batch, rows, self.heads, -1).transpose(1, 2)

    def forward(self, xy, demand, greedy: bool, noise):
        batch, nodes, _ = xy.shape
        x = self.encode(xy, demand)
        k, v, logit_keys = self.keys(x).chunk(3, -1)
        k, v, logit_keys = self.split(k), self.split(v), logit_keys.transpose(1, 2)
        fixed = self.fixed(x.mean(1))
        every = torch.arange(nodes, device=xy.device)[None]
        here = torch.zeros(batch, dtype=torch.long, device=xy.device)
        room = torch.ones(batch, device=xy.device)
        visited = torch.zeros(batch, nodes, dtype=torch.bool, device=xy.device)
        log_prob, cost, at = torch.zeros_like(room), torch.zeros_like(room), xy[:, 0]
        for t in range(self.steps):
            done = visited[:, 1:].all(1)
            hidden = visited | (demand > room[:, None] + 1e-6)
            hidden = torch.cat([((here == 0) & ~done)[:, None], hidden[:, 1:]], 1)
            current = x.gather(1, here[:, None, None].expand(-1, 1, self.width))[:, 0]
            query = fixed + self.step(torch.cat([current, room[:, None]], 1))
            seen = F.scaled_dot_product_attention(self.split(query[:, None]), k, v, attn_mask=~hidden[:, None, None])
            seen = self.out(seen.transpose(1, 2).reshape(batch, 1, self.width))
            logits = 10 * torch.tanh(torch.bmm(seen, logit_keys)[:, 0] / math.sqrt(self.width))
            chances = F.log_softmax(logits.masked_fill(hidden, -1e9), -1)
            to = chances.argmax(1) if greedy else (chances + noise[t]).argmax(1)
            log_prob = log_prob + chances.gather(1, to[:, None])[:, 0] * ~done
            visited = visited | ((every == to[:, None]) & (to[:, None] > 0))
            there = xy.gather(1, to[:, None, None].expand(-1, 1, 2))[:, 0]
            cost, at = cost + (there - at).norm(dim=1), there
            room = torch.where(to == 0, torch.ones_like(room), room - demand.gather(1, to[:, None])[:, 0])
            here = to
        return cost + (xy[:, 0] - at).norm(dim=1), log_prob


class Trainer:
    def __init__(self, mode, device, batch, customers):
        torch.manual_seed(0)
        torch.backends.cuda.matmul.allow_tf32 = mode != "eager"
        self.mode, self.device, self.batch, self.customers = mode, device, batch, customers
        self.policy, self.baseline = Policy(customers).to(device), Policy(customers).to(device)
        self.baseline.load_state_dict(self.policy.state_dict())
        fast = {"fused": True, "capturable": True} if device.type == "cuda" and mode != "eager" else {}
        self.adam = torch.optim.Adam(self.policy.parameters(), lr=1e-4, **fast)
        self.run_policy, self.run_baseline = self.policy, self.baseline
        if mode == "compile":
            self.run_policy = torch.compile(self.policy, mode="reduce-overhead")
            self.run_baseline = torch.compile(self.baseline, mode="reduce-overhead")
        if mode == "graph":
            self.capture()

    def instances(self):
        demand = torch.randint(1, 10, (self.batch, self.customers + 1)).float() / CAPACITY[self.customers]
        demand[:, 0] = 0
        return torch.rand(self.batch, self.customers + 1, 2), demand

    def noise(self):
        shape = (2 * self.customers, self.batch, self.customers + 1)
        return -torch.log(torch.empty(shape, device=self.device).exponential_().clamp_min(1e-20))

    def update(self, xy, demand, noise):
        with torch.no_grad():
            base = self.run_baseline(xy, demand, True, noise)[0].clone()
        cost, log_prob = self.run_policy(xy, demand, False, noise)
        self.adam.zero_grad(set_to_none=self.mode != "graph")
        ((cost.detach() - base) * log_prob).mean().backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0, foreach=True)
        self.adam.step()

    def capture(self):
        xy, demand = (t.to(self.device) for t in self.instances())
        self.inputs = (xy, demand, self.noise())
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.update(*self.inputs)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.update(*self.inputs)

    def step(self):
        xy, demand = self.instances()
        if self.mode != "graph":
            self.update(xy.to(self.device), demand.to(self.device), self.noise())
            return
        for to, value in zip(self.inputs, (xy, demand, self.noise())):
            to.copy_(value, non_blocking=True)
        self.graph.replay()

    def epoch(self, steps):
        for _ in range(steps):
            self.step()
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--device", default="cuda")
    args.add_argument("--modes", default="eager,graph,compile")
    args.add_argument("--batch", type=int, default=128)
    args.add_argument("--customers", type=int, default=10, choices=sorted(CAPACITY))
    args.add_argument("--steps", type=int, default=25)
    args.add_argument("--count", type=int, default=6, help="samples of each")
    args = args.parse_args()
    device = torch.device(args.device)
    print(f"torch: {torch.__version__}\nUnit ns/op better=lower\nUnit warmup-ns better=lower", flush=True)
    for mode in args.modes.split(","):
        start = time.perf_counter()
        trainer = Trainer(mode, device, args.batch, args.customers)
        trainer.epoch(3)
        warmup = time.perf_counter() - start
        for _ in range(args.count):
            start = time.perf_counter()
            trainer.epoch(args.steps)
            took = time.perf_counter() - start
            name = f"BenchmarkEpoch/variant=torch_{mode}/device={device.type}:0/batch={args.batch}/n={args.customers}/steps={args.steps}"
            print(f"{name} 1 {took * 1e9:.0f} ns/op {warmup * 1e9:.0f} warmup-ns", flush=True)


if __name__ == "__main__":
    main()
