#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three servers on one etcd, 64 clients: a quota is never exceeded, no two Services get one address or node port, and
a rule holds on all when its write is answered. Two servers: the Service kubernetes has the endpoints of those that live.

    tests/integration/replicas.py --build build/release
"""

import collections
import contextlib
import pathlib
import random
import signal
import sys
import threading

from etcd_store import SKIP, encoded, etcd_and_folder, find_etcd, gateway, started
from process import CONFIGMAPS
from story import expect, fail, run, until

CLIENTS = 64


@contextlib.contextmanager
def three_servers(program, *flags):
    with etcd_and_folder() as (etcd, folder), contextlib.ExitStack() as stack:
        key = pathlib.Path(folder) / "first/pki/sa.key"
        servers = []
        for name in ("first", "second", "third"):
            shared = [f"--service-account-signing-key-file={key}"] if key.exists() else []
            servers.append(stack.enter_context(started(program, f"{folder}/{name}", f"--etcd-servers={etcd.url}", *shared, *flags)))
        yield servers


def clients(servers, work):
    """64 threads, each with connections of its own to all servers; `work(number, call)`, call(method, path, body) goes to one
    server after the other."""
    failures = []

    def one(number):
        connections = [server.connect() for server in servers]
        turn = random.Random(number).randrange(3)

        def call(method, path, body=None):
            nonlocal turn
            turn = (turn + 1) % 3
            return servers[turn].call(method, path, body, connections[turn])

        try:
            work(number, call)
        except Exception as error:  # told by the main thread
            failures.append(f"client {number}: {error!r}")

    threads = [threading.Thread(target=one, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        fail("; ".join(failures[:5]))


def a_quota_is_never_exceeded(program, _):
    most = 25
    with three_servers(program) as servers:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": str(most)}}}
        path = "/api/v1/namespaces/default/resourcequotas"
        expect("the quota", servers[0].call("POST", path, quota)[0], 201)
        # No controllers run here: the status, from which admission counts, is set by hand.
        status = {"status": {"hard": quota["spec"]["hard"], "used": {"count/configmaps": "0"}}}
        shown = servers[0].call("GET", f"{path}/q")[1]
        expect("its status", servers[0].call("PUT", f"{path}/q/status", shown | status)[0], 200)
        codes, seen, over = collections.Counter(), [], threading.Event()

        def look():
            connection = servers[1].connect()
            while not over.is_set():
                code, body = servers[1].call("GET", CONFIGMAPS, None, connection)
                if code == 200:
                    seen.append(len(body["items"]))

        def work(number, call):
            for i in range(4):
                code, body = call("POST", CONFIGMAPS, {"metadata": {"name": f"c{number}-{i}"}})
                codes[code] += 1
                if code not in (201, 403, 409, 500):
                    fail(f"{code} {body}")

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            clients(servers, work)
        finally:
            over.set()
            watcher.join()
        there = len(servers[2].call("GET", CONFIGMAPS)[1]["items"])
        expect("what was created", codes[201], there)
        expect("how many there are", there, most)
        expect("the most that were seen", max(seen) <= most, True)
        used = servers[2].call("GET", f"{path}/q")[1]["status"]["used"]
        expect("what the quota counts", used, {"count/configmaps": str(most)})


def no_two_services_share_an_address_or_a_port(program, _):
    services = "/api/v1/namespaces/default/services"
    # Fewer addresses and ports than services: 253 of the /24 are taken at random, ports until none is left.
    with three_servers(program, "--service-cluster-ip-range=10.0.0.0/25", "--service-node-port-range=30000-30063") as servers:
        codes = collections.Counter()

        def work(number, call):
            for i in range(3):
                spec = {"ports": [{"port": 80}], "type": "NodePort" if i % 2 == 0 else "ClusterIP"}
                code, body = call("POST", services, {"metadata": {"name": f"s{number}-{i}"}, "spec": spec})
                codes[code] += 1
                if code not in (201, 422, 500):
                    fail(f"{code} {body}")
                if code == 201 and i == 2:  # what is given back is given again
                    call("DELETE", f"{services}/s{number}-{i}")

        clients(servers, work)
        shown = [server.call("GET", "/api/v1/services")[1]["items"] for server in servers]
        expect("what the servers show", shown[0] == shown[1] == shown[2], True)
        addresses = collections.Counter(item["spec"]["clusterIP"] for item in shown[0])
        ports = collections.Counter(port["nodePort"] for item in shown[0] for port in item["spec"]["ports"] if "nodePort" in port)
        expect("addresses given twice", [one for one, count in addresses.items() if count > 1], [])
        expect("node ports given twice", [one for one, count in ports.items() if count > 1], [])
        expect("addresses of the range", all(one.startswith("10.0.0.") for one in addresses), True)
        if codes[201] < 100 or not ports:
            fail(f"too little was made to show anything: {codes}")


def a_rule_holds_on_all_servers_when_its_write_is_answered(program, _):
    with three_servers(program) as servers:
        connections = [server.connect() for server in servers]

        def call(server, method, path, body=None):
            return servers[server % 3].call(method, path, body, connections[server % 3])

        # Writes of what is no rule do not ask etcd whether there are newer rules before they begin.
        for i in range(60):
            space, here, there = f"/api/v1/namespaces/n{i}", i, i + 1
            one = {"metadata": {"name": "one"}, "data": {"a": "b" * 100}}
            expect("a namespace", call(here, "POST", "/api/v1/namespaces", {"metadata": {"name": f"n{i}"}})[0], 201)
            expect("in the new namespace", call(there, "POST", f"{space}/configmaps", one)[0], 201)
            expect("the same name", call(here, "POST", f"{space}/configmaps", one)[0], 409)
            expect("its change", call(here, "PUT", f"{space}/configmaps/one", one | {"data": {"a": str(i)}})[0], 200)
            expect("no change", call(there, "PUT", f"{space}/configmaps/one", one | {"data": {"a": str(i)}})[0], 200)
            limits = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "default": {"cpu": f"{i + 1}m"}}]}}
            expect("limits", call(there, "POST", f"{space}/limitranges", limits)[0], 201)
            expect("an account", call(there, "POST", f"{space}/serviceaccounts", {"metadata": {"name": "default"}})[0], 201)
            pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            code, made = call(i + 2, "POST", f"{space}/pods", pod)
            expect("a pod", code, 201)
            expect("its limits", made["spec"]["containers"][0]["resources"]["limits"], {"cpu": f"{i + 1}m"})
            expect("its deletion", call(there, "DELETE", f"{space}/configmaps/one")[0], 200)
            expect("what is deleted", call(here, "PUT", f"{space}/configmaps/one", one)[0], 404)
            expect("the end of the namespace", call(here, "DELETE", space)[0], 200)
            expect("in the namespace that ends", call(there, "POST", f"{space}/configmaps", one)[0], 403)


ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


def endpoints_of(server):
    """The addresses that both objects list; None while they differ or one is missing."""
    (code, endpoints), (slice_code, sliced) = server.call("GET", ENDPOINTS), server.call("GET", SLICE)
    if (code, slice_code) != (200, 200):
        return None
    listed = [address["ip"] for subset in endpoints.get("subsets", []) for address in subset["addresses"]]
    shown = [address for endpoint in sliced["endpoints"] or [] for address in endpoint["addresses"]]
    return listed if listed == shown else None


def master_leases(etcd):
    found = gateway(etcd, "kv/range", key=encoded("/registry/masterleases/"), range_end=encoded("/registry/masterleases0"))
    return len(found.get("kvs", []))


def the_servers_that_live_are_endpoints(program, _):
    with etcd_and_folder() as (etcd, folder), contextlib.ExitStack() as stack:
        def start(number, *flags):
            more = [f"--etcd-servers={etcd.url}", f"--advertise-address=192.0.2.{number}", *flags]
            return stack.enter_context(started(program, f"{folder}/{number}", *more))

        first = start(1)
        until("the first server is an endpoint", lambda: endpoints_of(first) == ["192.0.2.1"])
        port = {"name": "https", "port": first.port, "protocol": "TCP"}
        shown = first.call("GET", ENDPOINTS)[1]
        expect("the endpoints", shown["subsets"], [{"addresses": [{"ip": "192.0.2.1"}], "ports": [port]}])
        expect("their labels", shown["metadata"]["labels"], {"endpointslice.kubernetes.io/skip-mirror": "true"})
        sliced = first.call("GET", SLICE)[1]
        expect("the slice", (sliced["addressType"], sliced["endpoints"], sliced["ports"]),
               ("IPv4", [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}], [port]))
        expect("its labels", sliced["metadata"]["labels"], {"kubernetes.io/service-name": "kubernetes"})
        expect("who wrote them", {shown["metadata"]["managedFields"][0]["manager"], sliced["metadata"]["managedFields"][0]["manager"]},
               {"kube-apiserver"})

        second, silent = start(2), start(3, "--endpoint-reconciler-type=none")
        both = ["192.0.2.1", "192.0.2.2"]
        until("both servers are endpoints", lambda: endpoints_of(silent) == both)
        second.end(signal.SIGTERM)
        # At once, unless the other one looked at that moment.
        until("a server that has stopped is none", lambda: endpoints_of(silent) == ["192.0.2.1"], limit=120)
        second = start(2)
        until("it is an endpoint again", lambda: endpoints_of(silent) == both)
        first.end(signal.SIGKILL)
        # Its lease ends after 15 s, and the other server looks every 10 s.
        until("a server that was killed is none", lambda: endpoints_of(silent) == ["192.0.2.2"], limit=300)
        expect("the leases", master_leases(etcd), 1)
        second.end(signal.SIGTERM)
        expect("the endpoints when all have stopped", endpoints_of(silent), [])
        expect("the leases when all have stopped", master_leases(etcd), 0)


if __name__ == "__main__":
    if find_etcd() is None:
        print("SKIP: no etcd: install the package etcd-server")
        sys.exit(SKIP)
    run("replicas", __doc__, [a_quota_is_never_exceeded, no_two_services_share_an_address_or_a_port,
                             a_rule_holds_on_all_servers_when_its_write_is_answered, the_servers_that_live_are_endpoints])
