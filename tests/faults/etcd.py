#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three servers on three members of etcd while one fault follows the other: what clients saw is held against what is promised.

    tests/faults/etcd.py --build build/release --cycles 1000 [--seconds 3600] [--writers 16] [--seed 1] [--only leader-moved,cut]

Writers read, create, update, delete and list a few ConfigMaps through any of the servers, and note when each request began and
ended and what came of it. Watchers follow all of them from a resourceVersion on, through other servers after a break. Meanwhile
one fault follows the other, of those below (FAULTS): members and servers killed and paused, the leader moved, connections cut and
silent, disks slow and full, etcd's quota used up, the clocks of servers moved, history compacted, members defragmented. Then history.py looks
whether what was seen can be true.

Prints what was done, and which faults this machine does not let it make and exits with 1 if it cannot. A write that ended in an error may have happened or not.
"""

import argparse
import base64
import collections
import http.client
import itertools
import json
import os
import pathlib
import pickle
import random
import signal
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from types import MappingProxyType
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/harness"), str(ROOT / "tests/conformance")]
from disk import Disk, is_possible as disks_can_fail  # noqa: E402
from etcd_cluster import Etcd, find_etcd  # noqa: E402
from history import Event, History, Listing, Operation, check  # noqa: E402
from links import Links  # noqa: E402
from ports import free_port  # noqa: E402
from run import SKIP, Certificates, wait_ready  # noqa: E402

KEYS = 8
PATH = "/api/v1/namespaces/default/configmaps"
OURS = "?labelSelector=history"
SERVERS = MEMBERS = 3
QUOTA = 32 << 20  # of etcd
FILL = base64.b64encode(b"/fill/").decode(), base64.b64encode(b"/fill0").decode()  # a prefix, and its end


class Cluster:
    """Three members, three servers, and a link from each server to each member."""

    def __init__(self, folder, build):
        self.folder = pathlib.Path(folder)
        self.certificates = Certificates(folder)
        self.context = ssl._create_unverified_context()
        self.context.load_cert_chain(self.certificates["admin.crt"], self.certificates["admin.key"])
        self.disks = [Disk(self.folder / f"disk{i}") for i in range(MEMBERS)] if disks_can_fail() else []
        self.etcd = Etcd(self.folder / "etcd", MEMBERS, flags=["--quota-backend-bytes", QUOTA], wrap=self._with_disk)
        self.links = Links([(free_port(), port) for _ in range(SERVERS) for port in self.etcd.client_ports])
        self.build = build
        self.clock_library = build / "tests/faults/libmoved_clock.so"
        self.clocks = [self.folder / f"clock{i}" for i in range(SERVERS)]
        for i in range(SERVERS):
            self.set_clock(i, 0)
        self.ports = [free_port() for _ in range(SERVERS)]
        self.processes = [None] * SERVERS

    def _with_disk(self, member, command):
        return self.disks[member].command(command) if self.disks else command

    def set_clock(self, server, seconds):
        """So much its wall clock is ahead."""
        with open(self.clocks[server], "r+b" if self.clocks[server].exists() else "wb") as file:
            file.write(struct.pack("=q", seconds))

    def links_of(self, server):
        return range(server * MEMBERS, (server + 1) * MEMBERS)

    def start(self, number):
        etcd = ",".join(f"http://127.0.0.1:{self.links.pairs[link][0]}" for link in self.links_of(number))
        command = [self.build / "portcullis", "serve", "--bind-address=127.0.0.1", f"--secure-port={self.ports[number]}",
                   f"--data-dir={self.folder / f'data{number}'}", f"--client-ca-file={self.certificates['ca.crt']}",
                   f"--service-account-signing-key-file={self.certificates['ca.key']}",
                   f"--etcd-servers={etcd}", "--controllers=-*", "--request-timeout=15s"]
        with open(self.folder / f"server{number}.log", "a", encoding="utf-8") as log:
            clock = {"LD_PRELOAD": str(self.clock_library), "MOVED_CLOCK": str(self.clocks[number])} if self.clock_library.exists() else {}
            self.processes[number] = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, env=os.environ | clock)

    def wait(self, number, seconds=120):
        wait_ready(f"https://127.0.0.1:{self.ports[number]}", self.context, self.processes[number],
                   self.folder / f"server{number}.log", seconds)

    def kill(self, number):
        self.processes[number].send_signal(signal.SIGKILL)
        self.processes[number].wait(30)

    def connect(self, number, seconds=20):
        return http.client.HTTPSConnection("127.0.0.1", self.ports[number], context=self.context, timeout=seconds)


def call(connection, method, path, body=None):
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"{}")


def config_map(name, value, version=None):
    metadata = {"name": name, "namespace": "default", "labels": {"history": ""}} | ({"resourceVersion": version} if version else {})
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"value": value}}


def version_of(body):
    return int(body["metadata"]["resourceVersion"])


def listing(connection, who):
    """A Listing, or None and the status."""
    began = time.monotonic()
    status, body = call(connection, "GET", PATH + OURS)
    if status != 200:
        return None, status
    states = {item["metadata"]["name"]: (version_of(item), item["data"]["value"]) for item in body["items"]}
    return Listing(who, began, time.monotonic(), version_of(body), states), status


class Load:
    """Writers and watchers, and what they noted."""

    def __init__(self, cluster, writers, seed):
        self.cluster, self.seed = cluster, seed
        self.over = threading.Event()
        self.history, self.errors = History(), collections.Counter()
        self.threads = [threading.Thread(target=self._write, args=(i,)) for i in range(writers)]
        self.watchers = [f"watcher {i}" for i in range(SERVERS)]
        self.following = [threading.Thread(target=self._watch, args=(i,)) for i in range(SERVERS)]
        self.since, self.until = 0, None

    def start(self, since):
        self.since = since
        for thread in self.threads + self.following:
            thread.start()

    def _write(self, number):
        dice, servers = random.Random(self.seed * 1000 + number), itertools.cycle(range(number, number + SERVERS))
        connection, server = None, 0
        for count in itertools.count():
            if self.over.is_set():
                return
            try:
                if connection is None or dice.random() < 0.2:
                    server = next(servers) % SERVERS
                    connection = self.cluster.connect(server)
                self._step(connection, server, dice, f"key{dice.randrange(KEYS)}", f"{number}-{count}")
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.errors[type(error).__name__] += 1
                connection = None
                time.sleep(0.05)

    def _step(self, connection, server, dice, key, value):
        if dice.random() < 0.1:
            seen, status = listing(connection, f"server {server}")
            if seen is None:
                return self._refused("list", status, {})
            return self.history.listings.append(seen)
        version = self.operate(connection, "read", key)
        chance = dice.random()
        if version == 0:
            self.operate(connection, "create", key, value)
        elif version is not None and chance < 0.6:
            self.operate(connection, "update", key, value, version)
        elif version is not None and chance < 0.7:
            self.operate(connection, "delete", key, None, version)

    def operate(self, connection, kind, key, value=None, named=None):
        """The version that was seen or made; 0: there is no such object; None: an error."""
        method, path, body = {
            "read": ("GET", f"{PATH}/{key}", None), "create": ("POST", PATH, config_map(key, value)),
            "update": ("PUT", f"{PATH}/{key}", config_map(key, value, str(named))),
            "delete": ("DELETE", f"{PATH}/{key}", {"preconditions": {"resourceVersion": str(named)}})}[kind]
        began = time.monotonic()
        status, answer = call(connection, method, path, body)
        ended = time.monotonic()
        if status not in (200, 201):
            return self._refused(kind, status, answer)
        if kind == "delete":
            self.history.operations.append(Operation(kind, key, began, ended, None, None, named))
            return None
        version = version_of(answer)
        self.history.operations.append(Operation(kind, key, began, ended, version, answer["data"]["value"], named))
        return version

    def _refused(self, kind, status, answer):
        self.errors[f"{kind} {status}"] += 1
        if status not in (404, 409, 429, 500, 503, 504):
            self.history.problems.append(f"{kind}: {status} {answer.get('message')}")
        return 0 if (kind, status) == ("read", 404) else None

    def _watch(self, number):
        version, server, name = self.since, number, self.watchers[number]
        while self.until is None or version < self.until:
            try:
                version = self._follow(name, server % SERVERS, version)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.05)
            server += 1

    def _follow(self, name, server, version):
        """Watches until the watch ends; the version up to which everything was seen."""
        events = self.history.events[name]
        if events:
            version = max(version, events[-1].version)
        connection = self.cluster.connect(server, 5)
        connection.request("GET", f"{PATH}{OURS}&watch=1&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=3")
        answer = connection.getresponse()
        if answer.status == 410:
            return self._list_again(name, server, version)
        if answer.status != 200:
            time.sleep(0.05)
            return version
        try:
            for line in answer:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    if event["object"].get("code") == 410:
                        return self._list_again(name, server, version)
                    self.history.problems.append(f"{name}: {event['object'].get('message')}")
                    return version
                item, version = event["object"], version_of(event["object"])
                if event["type"] != "BOOKMARK":
                    value = None if event["type"] == "DELETED" else item["data"]["value"]
                    events.append(Event(item["metadata"]["name"], version, value, event["type"]))
        except (OSError, http.client.HTTPException, ValueError):
            pass
        return version

    def _list_again(self, name, server, version):
        self.errors["watch 410"] += 1
        seen, _ = listing(self.cluster.connect(server), f"{name} by server {server}")
        if seen is None:
            return version
        self.history.listings.append(seen)
        self.history.gaps[name].append((version, seen.revision))
        return seen.revision


# --- Faults: each begins and ends within seconds, and leaves everything running.

def member_killed(cluster, dice):
    member = dice.randrange(MEMBERS)
    cluster.etcd.stop(member, signal.SIGKILL)
    time.sleep(dice.random())
    cluster.etcd.start(member)


def paused(process, seconds):
    process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.send_signal(signal.SIGCONT)


def member_paused(cluster, dice):
    paused(cluster.etcd.processes[dice.randrange(MEMBERS)], 0.5 + 2 * dice.random())


def majority_killed(cluster, dice):
    members = dice.sample(range(MEMBERS), 2)
    for member in members:
        cluster.etcd.stop(member, signal.SIGKILL)
    time.sleep(dice.random())
    for member in members:
        cluster.etcd.start(member)
    cluster.etcd.wait()


def server_killed(cluster, dice):
    server = dice.randrange(SERVERS)
    cluster.kill(server)
    cluster.start(server)
    cluster.wait(server)


def server_paused(cluster, dice):
    paused(cluster.processes[dice.randrange(SERVERS)], 0.5 + dice.random())


def some_links(cluster, dice):
    """All links of a server, those of all servers to one member, or one."""
    server, member = dice.randrange(SERVERS), dice.randrange(MEMBERS)
    return dice.choice([list(cluster.links_of(server)), [member + MEMBERS * i for i in range(SERVERS)],
                        [server * MEMBERS + member]])


def cut(cluster, dice):
    links = some_links(cluster, dice)
    cluster.links.set("broken", links)
    time.sleep(0.2 + dice.random())
    cluster.links.set("open", links)


def silent(cluster, dice):
    """Nothing passes for a while; then it goes on, or the connections break."""
    links = some_links(cluster, dice)
    cluster.links.set("silent", links)
    time.sleep(0.2 + 2 * dice.random())
    if dice.random() < 0.5:
        cluster.links.set("broken", links)
    cluster.links.set("open", links)


def gateway(port, path, body, seconds=10, failed=MappingProxyType({})):
    """A call of etcd's own JSON gateway; `failed` if it fails."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v3/{path}", json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return json.load(answer)
    except (OSError, ValueError, http.client.HTTPException):
        return failed


def leader_moved(cluster, dice):
    states = {port: gateway(port, "maintenance/status", {}, 2) for port in cluster.etcd.client_ports}
    members = {state["header"]["member_id"]: port for port, state in states.items() if "header" in state}
    leader = next((state["leader"] for state in states.values() if state.get("leader")), None)
    others = sorted(members.keys() - {leader})
    if leader in members and others:
        gateway(members[leader], "maintenance/transfer-leadership", {"targetID": dice.choice(others)})


def compact(cluster):
    for port in cluster.etcd.client_ports:
        revision = gateway(port, "kv/range", {"key": "AA=="}, 3).get("header", {}).get("revision")
        if revision and gateway(port, "kv/compaction", {"revision": revision}, 3):
            return


def compacted(cluster, dice):
    compact(cluster)


def compacted_while_cut(cluster, dice):
    """A server finds that the history it needs is gone."""
    links = list(cluster.links_of(dice.randrange(SERVERS)))
    cluster.links.set("broken", links)
    time.sleep(0.3 + dice.random() / 2)
    compact(cluster)
    cluster.links.set("open", links)


def defragmented(cluster, dice):
    gateway(dice.choice(cluster.etcd.client_ports), "maintenance/defragment", {})


def some_members(dice):
    return dice.sample(range(MEMBERS), dice.choice([1, 1, 2, 3]))


def disk_slow(cluster, dice):
    """Up to all members; a leader whose disk is so slow may lose its place."""
    members = some_members(dice)
    for member in members:
        cluster.disks[member].set(f"slow {dice.choice([0.02, 0.1, 0.4])}")
    time.sleep(0.5 + 2 * dice.random())
    for member in members:
        cluster.disks[member].set("")


def disk_full(cluster, dice):
    """Members end when they cannot write; when there is room again, they are started. Up to all."""
    members = some_members(dice)
    for member in members:
        cluster.disks[member].set("full")
    time.sleep(0.3 + dice.random())
    for member in members:
        cluster.etcd.stop(member, signal.SIGKILL)
        cluster.disks[member].set("")
        cluster.etcd.start(member)
    cluster.etcd.wait()


def alarms(cluster):
    """Those that are set; None if no member tells."""
    for port in cluster.etcd.client_ports:
        answer = gateway(port, "maintenance/alarm", {"action": "GET"}, failed=None)
        if answer is not None:
            return answer.get("alarms", [])
    return None


def large_members(cluster):
    """The ports of those that have used up half of the quota, and of those that do not tell what they have used."""
    return [port for port in cluster.etcd.client_ports
            if int(gateway(port, "maintenance/status", {}, 5).get("dbSize", QUOTA)) > QUOTA // 2]


def free_space(cluster):
    """What an operator does: delete, compact, defragment, disarm. A member that has not been defragmented would raise
    the alarm again."""
    port, deadline = cluster.etcd.client_ports[0], time.monotonic() + 120
    while alarms(cluster) != [] or large_members(cluster):
        if time.monotonic() > deadline:
            raise RuntimeError(f"etcd has no space, although it was freed: {alarms(cluster)}, {large_members(cluster)}")
        gateway(port, "kv/deleterange", {"key": FILL[0], "range_end": FILL[1]})
        compact(cluster)
        for large in large_members(cluster):
            gateway(large, "maintenance/defragment", {})
        for alarm in alarms(cluster) or []:
            gateway(port, "maintenance/alarm", {"action": "DEACTIVATE"} | alarm)


def space_used_up(cluster, dice):
    """Something else fills etcd up to its quota, upon which it refuses writes, those of all."""
    value = base64.b64encode(bytes(1 << 20)).decode()
    for count in range(2 * QUOTA >> 20):
        key = base64.b64encode(f"/fill/{count}".encode()).decode()
        gateway(cluster.etcd.client_ports[count % MEMBERS], "kv/put", {"key": key, "value": value}, 5)
        if count % 8 == 7 and alarms(cluster):
            break
    time.sleep(dice.random())
    free_space(cluster)


def clock_moved(cluster, dice):
    """By up to 40 hours, forward or back. Not behind the true time, and no further: the clients' certificates would not be valid."""
    cluster.set_clock(dice.randrange(SERVERS), dice.choice([0, 1, 60, 3600, 86400, 40 * 3600]))


FAULTS = {function.__name__.replace("_", "-"): function for function in (
    member_killed, member_paused, majority_killed, server_killed, server_paused, cut, silent, leader_moved, compacted,
    compacted_while_cut, defragmented, disk_slow, disk_full, space_used_up, clock_moved)}


def possible_faults(cluster):
    names = set(FAULTS)
    if not cluster.disks:
        names -= {"disk-slow", "disk-full"}
    if not cluster.clock_library.exists():
        names -= {"clock-moved"}
    return names


def final_listings(cluster):
    """What each server shows when all is still."""
    for number in range(SERVERS):
        deadline = time.monotonic() + 60
        while True:
            try:
                seen, status = listing(cluster.connect(number), f"server {number}, in the end,")
            except (OSError, http.client.HTTPException, ValueError):
                seen, status = None, "no answer"
            if seen is not None:
                yield seen
                break
            if time.monotonic() > deadline:
                raise RuntimeError(f"server {number} does not come back: {status}: "
                                   f"{(cluster.folder / f'server{number}.log').read_text()[-3000:]}")


def marked(cluster, load):
    """The version of a last object, at which watchers may end."""
    for number in itertools.cycle(range(SERVERS)):
        try:
            version = load.operate(cluster.connect(number), "create", "marker", "last")
            if version is None:  # it may be there from an attempt that was not answered
                version = load.operate(cluster.connect(number), "read", "marker")
            if version:
                return version
        except (OSError, http.client.HTTPException, ValueError):
            time.sleep(0.1)


def run(cluster, args):
    dice = random.Random(args.seed)
    for number in range(SERVERS):
        cluster.start(number)
    for number in range(SERVERS):
        cluster.wait(number)
    status, body = call(cluster.connect(0), "GET", PATH)
    if status != 200:
        return [f"list: {status} {body}"]
    load, done = Load(cluster, args.writers, args.seed), collections.Counter()
    begun = time.monotonic()
    load.start(version_of(body))
    names = args.only.split(",") if args.only else sorted(possible_faults(cluster))
    if len(names) < len(FAULTS) and not args.only:
        print(f"not possible here: {', '.join(sorted(set(FAULTS) - set(names)))}")
    while sum(done.values()) < args.cycles and time.monotonic() < begun + args.seconds:
        if large_members(cluster):  # what is written fills it, too
            free_space(cluster)
        name = dice.choice(names)
        FAULTS[name](cluster, dice)
        done[name] += 1
        time.sleep(dice.random() / 2)
    cluster.etcd.wait()
    load.over.set()
    for thread in load.threads:
        thread.join()
    load.until = marked(cluster, load)
    final = list(final_listings(cluster))
    for thread in load.following:
        thread.join(120)
        if thread.is_alive():
            return [f"a watcher does not reach {load.until}"]
    history = load.history
    kinds = collections.Counter(op.kind for op in history.operations)
    print(f"{sum(done.values())} faults in {time.monotonic() - begun:.0f} s: {dict(sorted(done.items()))}")
    print(f"{dict(sorted(kinds.items()))}, {len(history.listings)} lists, {sum(map(len, history.events.values()))} events; "
          f"not answered with success: {dict(sorted(load.errors.items()))}")
    problems = check(history, load.watchers, load.since, final)
    if problems and args.logs:
        args.logs.mkdir(exist_ok=True)
        (args.logs / "history.pickle").write_bytes(pickle.dumps((vars(history), load.watchers, load.since, final)))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--cycles", type=int, default=10**9, help="so many faults")
    parser.add_argument("--seconds", type=float, default=30, help="no new fault after so long")
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults, by commas: " + ", ".join(sorted(FAULTS)))
    parser.add_argument("--logs", type=pathlib.Path, help="folder in which the logs of servers and members are kept, and a history that cannot be true")
    args = parser.parse_args()
    if find_etcd() is None:
        print("SKIP: no etcd: install the package etcd-server")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="etcd-faults-") as folder:
        cluster = Cluster(folder, args.build)
        try:
            with cluster.etcd, cluster.links:
                problems = run(cluster, args)
        finally:
            for process in cluster.processes:
                if process is not None:
                    process.kill()
                    process.wait()
            if args.logs:
                args.logs.mkdir(exist_ok=True)
                for log in [*cluster.folder.glob("server*.log"), *cluster.folder.glob("etcd/m*.log")]:
                    (args.logs / log.name).write_text(log.read_text())
    for problem in problems[:40]:
        print(problem)
    print(f"FAIL: {len(problems)} problems" if problems else "OK")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
