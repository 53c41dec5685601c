#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `portcullis exec` costs: one, and many at once.

    benchmarks/exec.py --build build/release [--runs 30] [--servers 100]
                       [--kube-apiserver FILE --etcd FILE]

one      `portcullis exec -- true`, exec to exit; beside it `true` alone, in turn. Medians.
many     --servers of them at once, each holding its server until all are ready: until the last one is
         ready, and the memory of each (VmHWM, and the private part of what it holds then).
With --kube-apiserver and --etcd the time until a kube-apiserver with its own etcd is ready, once, and
its memory: what envtest starts.
"""

import argparse
import os
import pathlib
import re
import resource
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/harness"))
from ports import free_port  # noqa: E402


def timed(command):
    """Milliseconds on the clock and of CPU."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True)
    took, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * took, 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def one(program, runs):
    times = {"exec": [], "true": []}
    for _ in range(runs):
        times["exec"].append(timed([program, "exec", "--", "true"]))
        times["true"].append(timed(["true"]))
    ours, none = ([statistics.median(column) for column in zip(*times[name])] for name in ("exec", "true"))
    print(f"portcullis exec -- true: {ours[0]:.1f} ms (target 40 ms), CPU {ours[1]:.1f} ms; true alone {none[0]:.1f} ms")


def memory_of(pid):
    """Megabytes: the most that was resident, and what is private now."""
    peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))
    try:
        rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        private = sum(int(n) for n in re.findall(r"Private_\w+:\s+(\d+)", rollup))
    except PermissionError:  # the server lets nobody look but root
        private = 0
    return peak / 1024, private / 1024


def many(program, count):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        begin = time.perf_counter()
        os.mkfifo(folder / "end")  # a command that polled would cost more than the servers do
        script = f"touch {folder}/$$.ready; read line < {folder}/end"
        running = [subprocess.Popen([program, "exec", "--", "sh", "-c", script]) for _ in range(count)]
        while len(list(folder.glob("*.ready"))) < count:
            time.sleep(0.005)
            if any(process.poll() is not None for process in running):
                raise SystemExit("a server ended")
        took = time.perf_counter() - begin
        figures = [memory_of(process.pid) for process in running]
        with open(folder / "end", "w") as end:
            end.write("\n" * count)
            end.flush()
            codes = {process.wait() for process in running}
    peak, private = (statistics.median(column) for column in zip(*figures))
    print(f"{count} at once: all ready after {took:.2f} s (target 3 s for 100), {peak:.1f} MB resident at most each (target "
          f"25 MB), {private:.1f} MB of it private; exit codes {sorted(codes)}")


def theirs(apiserver, etcd):
    """What envtest starts: etcd, then kube-apiserver, until /readyz."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="exec-baseline-"))
    subprocess.run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text('t,admin,1,"system:masters"\n')
    client, peer, port = free_port(), free_port(), free_port()
    begin, processes = time.perf_counter(), []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        processes.append(subprocess.Popen(
            [etcd, f"--data-dir={folder}/etcd", f"--listen-client-urls=http://127.0.0.1:{client}",
             f"--advertise-client-urls=http://127.0.0.1:{client}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
             "--unsafe-no-fsync"], **quiet))
        processes.append(subprocess.Popen(
            [apiserver, f"--etcd-servers=http://127.0.0.1:{client}", f"--cert-dir={folder}", f"--secure-port={port}",
             "--bind-address=127.0.0.1", "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC",
             f"--service-account-signing-key-file={folder}/sa.key", f"--service-account-key-file={folder}/sa.key",
             "--service-account-issuer=https://localhost", f"--token-auth-file={folder}/tokens.csv"], **quiet))
        context = ssl._create_unverified_context()
        while True:
            try:
                request = urllib.request.Request(f"https://127.0.0.1:{port}/readyz", headers={"Authorization": "Bearer t"})
                if urllib.request.urlopen(request, context=context, timeout=2).status == 200:
                    break
            except OSError:
                time.sleep(0.01)
        took = time.perf_counter() - begin
        peaks = [memory_of(process.pid)[0] for process in processes]
        print(f"kube-apiserver with etcd: ready after {took:.2f} s, {sum(peaks):.0f} MB")
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--servers", type=int, default=100)
    parser.add_argument("--kube-apiserver")
    parser.add_argument("--etcd", default="etcd")
    args = parser.parse_args()
    program = args.build.resolve() / "portcullis"
    one(program, args.runs)
    many(program, args.servers)
    if args.kube_apiserver:
        theirs(args.kube_apiserver, args.etcd)


if __name__ == "__main__":
    os.environ.pop("KUBECONFIG", None)
    main()
