#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Portcullis and a kube-apiserver with etcd, in one run on one machine, under the same load in turn; and the floor of both.

    benchmarks/side_by_side.py --kube-apiserver FILE [--etcd FILE] [--build build/release] [--ours build/profiled/portcullis] [--scenarios A,B]
                              [--seconds 5] [--update]

Both start new and empty, with fsync of every write. portcullis-load puts them under load in slices of 0.15 s in turn, so that what else the
machine does disturbs both alike; afterwards Portcullis alone, since what kube-apiserver and etcd still do after their slice holds up the answers
of the next one. CPU and memory of the reference are those of kube-apiserver and etcd. The floor is the least that such a
write can cost: a POST over HTTPS that is appended to a file, synchronised and sent back (benchmarks/floor). What is published is compiled with
a profile (tools/make_profiled.py): --ours measures that program with the load generator of --build. Prints Markdown; --update also writes it into benchmarks/README.md."""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from etcd import ROOT, kubeconfig, resident
from servers import FLAGS, free_port, make_credentials, start, wait_for

MARKS = ("<!-- side_by_side.py -->", "<!-- end of side_by_side.py -->")
P99_GOAL = 3  # ms, of creates under 16 connections
# Name of the scenario, title, and goals: how many times less CPU, how many times more requests a second.
ROWS = [
    ("create-configmap", "create a ConfigMap of 1 KB", 20, 12),
    ("create-pod", "create a Pod of 2 KB", 20, 12),
    ("create-pod-protobuf", "create a Pod, in protobuf", None, None),
    ("get", "get a ConfigMap", None, None),
    ("list", "list 500 ConfigMaps", None, None),
    ("list-protobuf", "list 500 ConfigMaps, in protobuf", None, None),
    ("validating-1", "create, 1 validating webhook", 15, None),
    ("validating-10", "create, 10 validating webhooks", 15, None),
    ("mutating-1", "create, 1 mutating webhook", 15, None),
    ("mutating-5", "create, 5 mutating webhooks", 15, None),
    ("webhooks-1000-idle", "create, 1,000 webhooks of which none matches", 20, None),
    ("policies-1", "create, 1 policy", 25, None),
    ("policies-50", "create, 50 policies", 100, None),
    ("policies-1000-idle", "create, 1,000 policies of which none matches", None, None),
]


def ready(name, command, url, log, stack):
    begun = time.monotonic()
    process = start(command, log, stack)
    wait_for(url + "/readyz", process, log, 600)
    print(f"{name}: ready after {time.monotonic() - begun:.2f} s", file=sys.stderr, flush=True)
    return process


def start_servers(args, folder, stack):
    """(Portcullis' kubeconfig and processes, those of kube-apiserver)"""
    client, peer = free_port(), free_port()
    etcd_url = f"http://127.0.0.1:{client}"
    etcd = start([args.etcd, "--data-dir", folder / "etcd", "--log-level", "warn", "--listen-client-urls", etcd_url, "--advertise-client-urls", etcd_url,
                  "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                  "--initial-cluster", f"default=http://127.0.0.1:{peer}"], folder / "etcd.log", stack)
    wait_for(etcd_url + "/health", etcd, folder / "etcd.log")
    flags = FLAGS + make_credentials(folder)
    urls = [f"https://127.0.0.1:{free_port()}" for _ in range(2)]
    ports = [f"--secure-port={url.rsplit(':', 1)[1]}" for url in urls]
    ours = ready("Portcullis", [args.ours, "serve", f"--data-dir={folder}/ours", ports[0], *flags], urls[0], folder / "ours.log", stack)
    theirs = ready("kube-apiserver", [args.kube_apiserver, f"--etcd-servers={etcd_url}", f"--cert-dir={folder}/certs", "--allow-privileged=true",
                                      ports[1], *flags], urls[1], folder / "theirs.log", stack)
    return (kubeconfig(folder, "ours", urls[0]), [ours]), (kubeconfig(folder, "theirs", urls[1]), [theirs, etcd])


def load(args, scenarios, server, baseline=None, connections=16):
    """The rows of portcullis-load by name."""
    command = [args.build / "portcullis-load", "--json", f"--connections={connections}", f"--seconds={args.seconds}", "--scenarios=" + ",".join(scenarios)]
    for side, prefix in ((server, ""), (baseline, "baseline-")):
        if side:
            command += [f"--{prefix}kubeconfig={side[0]}"] + [f"--{prefix}pid={process.pid}" for process in side[1]]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True)
    return {row["scenario"]: row for row in json.loads(done.stdout)["scenarios"]}


def measure_floor(args, folder, stack):
    (folder / "floor").mkdir()
    process = subprocess.Popen([args.build / "portcullis-floor", folder / "floor"], stdout=subprocess.PIPE, text=True)
    stack.callback(process.terminate)
    url = process.stdout.readline().strip()
    path = folder / "floor.kubeconfig"
    path.write_text(kubeconfig(folder, "floor", url).read_text().replace(str(folder / "ca.crt"), str(folder / "floor/ca.crt")))
    return {connections: load(args, ["create-configmap"], (path, [process]), connections=connections)["create-configmap"]["server"]
            for connections in (16, 1)}


def judged(value, goal):
    return f"{value:.1f}" if goal is None else f"{value:.1f} ({goal}: {'met' if value >= goal else '**missed**'})"


def latency(side):
    return f"{side['p50Milliseconds']:.2f} / {side['p99Milliseconds']:.1f}"


def latency_alone(row, is_create):
    if not is_create:
        return latency(row["server"])
    return f"{latency(row['server'])} ({P99_GOAL}: {'met' if row['server']['p99Milliseconds'] <= P99_GOAL else '**missed**'})"


def cells(row, title, cpu_goal=None, rate_goal=None, alone=""):
    if "error" in row:
        return [title, row["error"]]
    ours, theirs = row["server"], row["baseline"]
    for side in (ours, theirs):
        if side.get("errors"):
            raise RuntimeError(f"{row['scenario']}: {side['errors']} requests failed: {side['firstError']}")
    return [title, f"{theirs['requestsPerSecond']:,.0f}", f"{ours['requestsPerSecond']:,.0f}",
            judged(row["requestsPerSecondRatio"]["median"], rate_goal), f"{theirs['cpuMillisecondsPerRequest']:.3f}",
            f"{ours['cpuMillisecondsPerRequest']:.3f}", judged(1 / row["cpuRatio"]["median"], cpu_goal), latency(theirs), latency(ours), alone,
            f"{theirs['memoryMegabytes']:,.0f}", f"{ours['memoryMegabytes']:,.0f}"]


def table(args, folder, stack):
    ours, theirs = start_servers(args, folder, stack)
    begun, idle = os.getloadavg()[0], [sum(map(lambda process: resident(process.pid), side[1])) for side in (ours, theirs)]
    wanted = [row for row in ROWS if not args.scenarios or row[0] in args.scenarios.split(",")]
    found = load(args, [row[0] for row in wanted], ours, theirs)
    alone = load(args, [row[0] for row in wanted], ours)
    lines = [cells(found[name], title, cpu_goal, rate_goal, latency_alone(alone[name], title.startswith("create")))
             for name, title, cpu_goal, rate_goal in wanted]
    one = load(args, ["create-configmap"], ours, theirs, connections=1)["create-configmap"]
    one_alone = load(args, ["create-configmap"], ours, connections=1)["create-configmap"]
    lines.append(cells(one, "create a ConfigMap, one after the other", alone=latency(one_alone["server"])))
    for connections, floor in measure_floor(args, folder, stack).items():
        lines.append([f"*floor, {connections} connection{'s' * (connections > 1)}*", "", f"{floor['requestsPerSecond']:,.0f}", "", "",
                      f"{floor['cpuMillisecondsPerRequest']:.3f}", "", "", "", latency(floor), "",
                      f"{floor['memoryMegabytes']:,.0f}"])
    head = ["16 connections", "reference, requests/s", "ours", "times", "reference, CPU ms", "ours", "less", "reference, p50 / p99 ms", "ours",
            "ours alone", "reference, MB", "ours"]
    text = [f"{os.cpu_count()} cores, {time.strftime('%-d %B %Y')}, load {begun:.1f} to {os.getloadavg()[0]:.1f} with the load generator and the servers. "
            f"Ours is of {args.ours.parent.name}. Idle: reference {idle[1]:.0f} MB with etcd, ours {idle[0]:.0f} MB.", ""]
    return "\n".join(text + ["| " + " | ".join(line) + " |" for line in [head, ["---"] + ["--:"] * (len(head) - 1), *lines]])


def write_into(path, text):
    old = path.read_text()
    before, rest = old.split(MARKS[0])
    path.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{rest.split(MARKS[1])[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--ours", type=pathlib.Path, help="the program that is measured; default: that of --build")
    parser.add_argument("--kube-apiserver", required=True)
    parser.add_argument("--etcd", default=shutil.which("etcd"))
    parser.add_argument("--scenarios", default="", help="only these, by portcullis-load's names")
    parser.add_argument("--seconds", type=int, default=5, help="of each scenario and server")
    parser.add_argument("--update", action="store_true", help="write the table into benchmarks/README.md")
    args = parser.parse_args()
    args.ours = (args.ours or args.build / "portcullis").absolute()
    with contextlib.ExitStack() as stack:
        text = table(args, pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="side-by-side-"))), stack)
    print(text)
    if args.update:
        write_into(ROOT / "benchmarks/README.md", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
