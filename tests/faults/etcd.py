#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three servers on three members of etcd while members and servers are killed: what clients saw is held against what is promised.

    tests/faults/etcd.py --build build/release --seconds 60 [--writers 16] [--seed 1] [--only member-killed,server-killed]

Writers read and update a few ConfigMaps through any of the servers, always naming the resourceVersion they have read, and note
when each request began and ended and what came of it. Watchers follow all of them from a resourceVersion on, through other
servers after a break. Meanwhile one fault follows the other. Then, for each ConfigMap:

- each version has one value, whatever server tells of it, and follows the version that its writer named;
- a request that began after another had ended sees no older version, a write makes a newer one (with the above: linearizable);
- every acknowledged write is seen by every watcher, once, in order of versions, and is not lost in the end.

Prints what was done and exits with 1 if one of these does not hold. A write that ended in an error may have happened or not.
"""

import argparse
import collections
import http.client
import itertools
import json
import pathlib
import random
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/harness"), str(ROOT / "tests/conformance")]
from etcd_cluster import Etcd, find_etcd, free_port  # noqa: E402
from run import SKIP, Certificates, wait_ready  # noqa: E402

KEYS = 8
PATH = "/api/v1/namespaces/default/configmaps"
SERVERS = 3
Operation = collections.namedtuple("Operation", "kind key began ended version value named")


class Cluster:
    def __init__(self, folder, build):
        self.folder = pathlib.Path(folder)
        self.certificates = Certificates(folder)
        self.context = ssl._create_unverified_context()
        self.context.load_cert_chain(self.certificates["admin.crt"], self.certificates["admin.key"])
        self.etcd = Etcd(self.folder / "etcd", 3)
        self.build = build
        self.ports = [free_port() for _ in range(SERVERS)]
        self.processes = [None] * SERVERS

    def start(self, number):
        command = [self.build / "portcullis", "serve", "--bind-address=127.0.0.1", f"--secure-port={self.ports[number]}",
                   f"--data-dir={self.folder / f'data{number}'}", f"--client-ca-file={self.certificates['ca.crt']}",
                   f"--service-account-signing-key-file={self.certificates['ca.key']}",
                   f"--etcd-servers={self.etcd.url}", "--controllers=-*", "--request-timeout=15s"]
        with open(self.folder / f"server{number}.log", "a", encoding="utf-8") as log:
            self.processes[number] = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log)

    def wait(self, number, seconds=60):
        wait_ready(f"https://127.0.0.1:{self.ports[number]}", self.context, self.processes[number],
                   self.folder / f"server{number}.log", seconds)

    def stop(self, number, how=signal.SIGKILL):
        self.processes[number].send_signal(how)
        self.processes[number].wait(30)

    def connect(self, number, seconds=20):
        return http.client.HTTPSConnection("127.0.0.1", self.ports[number], context=self.context, timeout=seconds)


def call(connection, method, path, body=None):
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"{}")


def config_map(name, value, version=None):
    metadata = {"name": name, "namespace": "default"} | ({"resourceVersion": version} if version else {})
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"value": value}}


def version_of(body):
    return int(body["metadata"]["resourceVersion"])


class Load:
    """Writers and watchers, and what they noted."""

    def __init__(self, cluster, writers, seed):
        self.cluster, self.seed = cluster, seed
        self.over = threading.Event()
        self.operations, self.errors = [], collections.Counter()
        self.events = collections.defaultdict(list)  # by watcher: (key, version, value)
        self.problems = []
        self.threads = [threading.Thread(target=self._write, args=(i,)) for i in range(writers)]
        self.watchers = [threading.Thread(target=self._watch, args=(i,)) for i in range(SERVERS)]
        self.since, self.until = 0, None

    def start(self, since):
        self.since = since
        for thread in self.threads + self.watchers:
            thread.start()

    def _write(self, number):
        dice, servers = random.Random(self.seed * 1000 + number), itertools.cycle(range(number, number + SERVERS))
        connection = None
        for count in itertools.count():
            if self.over.is_set():
                return
            key = f"key{dice.randrange(KEYS)}"
            try:
                if connection is None or dice.random() < 0.2:
                    connection = self.cluster.connect(next(servers) % SERVERS)
                version = self._operate(connection, "read", key)
                if version is not None and dice.random() < 0.7:
                    self._operate(connection, "write", key, f"{number}-{count}", version)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.errors[type(error).__name__] += 1
                connection = None
                time.sleep(0.05)

    def _operate(self, connection, kind, key, value=None, named=None):
        began = time.monotonic()
        if kind == "read":
            status, body = call(connection, "GET", f"{PATH}/{key}")
        else:
            status, body = call(connection, "PUT", f"{PATH}/{key}", config_map(key, value, str(named)))
        ended = time.monotonic()
        if status != 200:
            self.errors[f"{kind} {status}"] += 1
            if status not in (409, 429, 500, 503, 504):
                self.problems.append(f"{kind} of {key}: {status} {body.get('message')}")
            return None
        version = version_of(body)
        self.operations.append(Operation(kind, key, began, ended, version, body["data"]["value"], named))
        return version

    def _watch(self, number):
        version, server = self.since, number
        while self.until is None or version < self.until:
            try:
                connection = self.cluster.connect(server % SERVERS, 5)
                connection.request("GET", f"{PATH}?watch=1&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=5")
                answer = connection.getresponse()
                if answer.status != 200:
                    raise OSError(f"status {answer.status}")
                for line in answer:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        self.problems.append(f"watcher {number}: {event['object'].get('message')}")
                        return
                    version = version_of(event["object"])
                    if event["type"] != "BOOKMARK":
                        item = event["object"]
                        self.events[number].append((item["metadata"]["name"], version, item.get("data", {}).get("value")))
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.05)
            server += 1


def check_key(key, operations, problems):
    values, followed = {}, {}
    for op in operations:
        if values.setdefault(op.version, op.value) != op.value:
            problems.append(f"{key}: version {op.version} is {op.value!r} and {values[op.version]!r}")
        if op.kind == "write":
            if op.version in followed:
                problems.append(f"{key}: two writes made version {op.version}")
            followed[op.version] = op.named
    known = sorted(values)
    for before, after in zip(known, known[1:]):
        # Versions that only an unacknowledged write made may be missing in between.
        if after in followed and not before <= followed[after] < after:
            problems.append(f"{key}: version {after} follows {followed[after]} although {before} was there")
    latest, ends = 0, sorted((op.ended, op.version) for op in operations)
    at = 0
    for op in sorted(operations, key=lambda op: op.began):
        while at < len(ends) and ends[at][0] < op.began:
            latest = max(latest, ends[at][1])
            at += 1
        if op.version < latest or (op.kind == "write" and op.version == latest):
            problems.append(f"{key}: a {op.kind} that began after version {latest} was seen has version {op.version}")


def check(load, final):
    problems = list(load.problems)
    by_key = collections.defaultdict(list)
    for op in load.operations:
        by_key[op.key].append(op)
    for key, operations in by_key.items():
        check_key(key, operations, problems)
        newest = max(op.version for op in operations)
        if final[key] < newest:
            problems.append(f"{key}: version {newest} was seen, in the end there is {final[key]}")
    writes = {(op.key, op.version, op.value) for op in load.operations if op.kind == "write"}
    for number, events in load.events.items():
        versions = [version for _, version, _ in events]
        if any(a >= b for a, b in zip(versions, versions[1:])):
            problems.append(f"watcher {number}: events twice or out of order")
        for missing in sorted(writes - set(events))[:5]:
            problems.append(f"watcher {number}: an acknowledged write was not seen: {missing}")
    if len(load.events) < SERVERS:
        problems.append("a watcher saw nothing")
    return problems


# --- Faults: each begins and ends in a few seconds, and leaves everything running.

def member_killed(cluster, dice):
    member = dice.randrange(3)
    cluster.etcd.stop(member, signal.SIGKILL)
    time.sleep(1)
    cluster.etcd.start(member)


def member_stopped(cluster, dice):
    member = dice.randrange(3)
    cluster.etcd.processes[member].send_signal(signal.SIGSTOP)
    time.sleep(3)
    cluster.etcd.processes[member].send_signal(signal.SIGCONT)


def majority_killed(cluster, dice):
    members = dice.sample(range(3), 2)
    for member in members:
        cluster.etcd.stop(member, signal.SIGKILL)
    time.sleep(1)
    for member in members:
        cluster.etcd.start(member)
    cluster.etcd.wait()


def server_killed(cluster, dice):
    server = dice.randrange(SERVERS)
    cluster.stop(server)
    cluster.start(server)
    cluster.wait(server)


def server_paused(cluster, dice):
    process = cluster.processes[dice.randrange(SERVERS)]
    process.send_signal(signal.SIGSTOP)
    time.sleep(2)
    process.send_signal(signal.SIGCONT)


def gateway(cluster, path, body):
    """A call of etcd's own JSON gateway, to the first member that answers."""
    for port in cluster.etcd.client_ports:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v3/{path}", json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except OSError:
            continue
    return {}


def compacted(cluster, dice):
    revision = gateway(cluster, "kv/range", {"key": "AA=="}).get("header", {}).get("revision", "0")
    gateway(cluster, "kv/compaction", {"revision": revision})


def defragmented(cluster, dice):
    gateway(cluster, "maintenance/defragment", {})


FAULTS = {"member-killed": member_killed, "member-paused": member_stopped, "majority-killed": majority_killed,
          "server-killed": server_killed, "server-paused": server_paused, "compacted": compacted,
          "defragmented": defragmented}


def run(cluster, args):
    dice = random.Random(args.seed)
    for number in range(SERVERS):
        cluster.start(number)
    for number in range(SERVERS):
        cluster.wait(number)
    connection = cluster.connect(0)
    for i in range(KEYS):
        status, body = call(connection, "POST", PATH, config_map(f"key{i}", "first"))
        if status != 201:
            return [f"create: {status} {body}"]
    load = Load(cluster, args.writers, args.seed)
    load.start(version_of(body))
    done = collections.Counter()
    end = time.monotonic() + args.seconds
    names = args.only.split(",") if args.only else sorted(FAULTS)
    while time.monotonic() < end:
        name = dice.choice(names)
        FAULTS[name](cluster, dice)
        done[name] += 1
        time.sleep(dice.random())
    cluster.etcd.wait()
    time.sleep(1)
    load.over.set()
    for thread in load.threads:
        thread.join()
    connection = cluster.connect(1)
    final = {f"key{i}": version_of(call(connection, "GET", f"{PATH}/key{i}")[1]) for i in range(KEYS)}
    load.until = max(final.values())
    for thread in load.watchers:
        thread.join(30)
    kinds = collections.Counter(op.kind for op in load.operations)
    print(f"{dict(done)}: {kinds['read']} reads, {kinds['write']} writes, "
          f"{sum(map(len, load.events.values()))} events, errors {dict(load.errors)}")
    return check(load, final)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults, by commas: " + ", ".join(sorted(FAULTS)))
    args = parser.parse_args()
    if find_etcd() is None:
        print("SKIP: no etcd: install the package etcd-server")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="etcd-faults-") as folder:
        cluster = Cluster(folder, args.build)
        try:
            with cluster.etcd:
                problems = run(cluster, args)
        finally:
            for process in cluster.processes:
                if process is not None:
                    process.kill()
    for problem in problems[:20]:
        print(problem)
    print("FAIL" if problems else "OK")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
