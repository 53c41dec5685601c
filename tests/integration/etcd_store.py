#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real program on a real etcd: objects that cannot be read, values of other versions, encryption, and the way from the
database to etcd and back. What several servers do: replicas.py; beside a kube-apiserver: tests/reference/same_etcd.py.

    tests/integration/etcd_store.py --build build/release
"""

import base64
import contextlib
import http.client
import json
import pathlib
import shutil
import ssl
import sys
import tempfile
import urllib.request

import encryption
from encryption import SECRETS, config, make, metrics, value_of
from process import CONFIGMAPS
from store_command import call, objects
from story import expect, fail, run, until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "harness"))
from etcd_cluster import Etcd, find_etcd  # noqa: E402

SKIP = 77
ALL_CONFIGMAPS = "/api/v1/configmaps"


def gateway(etcd, path, **body):
    request = urllib.request.Request(f"{etcd.url}/v3/{path}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def encoded(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def put(etcd, key, value):
    gateway(etcd, "kv/put", key=encoded(key), value=encoded(value))


def remove(etcd, key):
    gateway(etcd, "kv/deleterange", key=encoded(key))


def stored(etcd, key):
    return base64.b64decode(gateway(etcd, "kv/range", key=encoded(key))["kvs"][0]["value"])


def started(program, folder, *flags):
    pathlib.Path(folder).mkdir(exist_ok=True)
    return encryption.started(program, folder, *flags)


@contextlib.contextmanager
def etcd_and_folder():
    with tempfile.TemporaryDirectory() as folder, Etcd(pathlib.Path(folder) / "etcd") as etcd:
        yield etcd, folder


def an_object_that_cannot_be_read(program, _):
    with etcd_and_folder() as (etcd, folder):
        for name in ("before", "broken"):
            thing = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": "default"}}
            put(etcd, f"/registry/configmaps/default/{name}", json.dumps(thing) if name == "before" else b"k8s\0garbage")
        with started(program, f"{folder}/data", f"--etcd-servers={etcd.url}") as server:
            if "/registry/configmaps/default/broken" not in (pathlib.Path(folder) / "data/log").read_text():
                fail("the log does not name the object")
            expect("another object", server.call("GET", f"{CONFIGMAPS}/before")[0], 200)
            expect("a new object", server.call("POST", CONFIGMAPS, {"metadata": {"name": "new"}})[0], 201)
            expect("another kind", server.call("GET", "/api/v1/namespaces")[0], 200)
            expect("the object", server.call("GET", f"{CONFIGMAPS}/broken")[0], 500)
            expect("a list with it", server.call("GET", CONFIGMAPS)[0], 500)
            expect("its name", server.call("POST", CONFIGMAPS, {"metadata": {"name": "broken"}})[0], 409)
            # It breaks while the server runs: the last state is not served any more.
            shown = server.call("GET", f"{CONFIGMAPS}/new")[1]
            put(etcd, "/registry/configmaps/default/new", b"\1")
            expect("what is broken", server.call("GET", f"{CONFIGMAPS}/new")[0], 500)
            expect("an update", server.call("PUT", f"{CONFIGMAPS}/new", shown | {"data": {"a": "b"}})[0], 500)
            expect("the metric of it", metrics(server, "apiserver_storage_decode_errors_total{"),
                   ['apiserver_storage_decode_errors_total{group="",resource="configmaps"} 1'])
            counted = {name: metrics(server, name + '{group="",operation="create",resource="configmaps"}')
                       for name in ("etcd_request_duration_seconds_count", "etcd_requests_total", "etcd_request_errors_total")}
            expect("how often the metrics of creates are there", [len(lines) for lines in counted.values()], [1, 1, 0])
            for name in ("new", "broken"):
                remove(etcd, f"/registry/configmaps/default/{name}")
            expect("a list without them", server.call("GET", CONFIGMAPS)[0], 200)
            expect("their names", server.call("POST", CONFIGMAPS, {"metadata": {"name": "broken"}})[0], 201)


def a_key_that_another_server_has_first(program, _):
    reload = "--encryption-provider-config-automatic-reload"
    why = "Internal error occurred: no matching key was found for the provided AES transformer"
    reloads = "apiserver_encryption_config_controller_automatic_reloads_total"

    def give(server, folder, *names):
        before = metrics(server, reloads)
        config(folder, [("secrets", [("aesgcm", names)])])
        until("a reload", lambda: metrics(server, reloads) != before)

    with etcd_and_folder() as (etcd, folder):
        one, two = f"{folder}/one", f"{folder}/two"
        for each in (one, two):
            pathlib.Path(each).mkdir()
        flags = [f"--etcd-servers={etcd.url}", reload]
        with started(program, one, config(one, [("secrets", [("aesgcm", ["old"])])]), *flags) as first, \
             started(program, two, config(two, [("secrets", [("aesgcm", ["old"])])]), *flags) as second:
            made = make(first, "a", "1")
            expect("what the second one has", value_of(second, "a"), "1")
            give(first, one, "new", "old")
            path = f"{SECRETS}/a"
            expect("an update", first.call("PUT", path, made | {"stringData": {"key": "2"}})[0], 200)
            expect("reading it", second.call("GET", path)[1].get("message"), why)
            expect("listing it", second.call("GET", SECRETS)[0], 500)
            for method, body in (("PUT", made), ("DELETE", None)):
                expect(method, second.call(method, path, body)[1].get("message"), why)
            accounts = "/api/v1/namespaces/default/serviceaccounts"
            expect("an account", first.call("POST", accounts, {"metadata": {"name": "robot"}})[0], 201)
            bound = {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "a"}}}
            expect("a token for it", second.call("POST", f"{accounts}/robot/token", bound)[1].get("message"), why)
            give(second, two, "old", "new")
            until("it is read", lambda: second.call("GET", path)[0] == 200)
            expect("what the second one has", value_of(second, "a"), "2")
            expect("listing it", second.call("GET", SECRETS)[0], 200)


def versions_that_a_kube_apiserver_stores(program, _):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "olds", "singular": "old", "kind": "Old", "listKind": "OldList"}
    definition = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1beta1",
                  "metadata": {"name": "olds.example.com", "uid": "u", "creationTimestamp": "2020-01-01T00:00:00Z"},
                  "spec": {"group": "example.com", "version": "v1", "names": names, "scope": "Namespaced", "validation": schema,
                           "versions": [{"name": "v1", "served": True, "storage": True}], "preserveUnknownFields": False},
                  "status": {"conditions": [{"type": kind, "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
                                            for kind in ("NamesAccepted", "Established")],
                             "acceptedNames": names, "storedVersions": ["v1"]}}
    budget = {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1beta1", "metadata": {"name": "b", "namespace": "default", "uid": "v"},
              "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}, "status": {}}
    key = "/registry/apiextensions.k8s.io/customresourcedefinitions/olds.example.com"
    with etcd_and_folder() as (etcd, folder):
        put(etcd, key, json.dumps(definition))
        put(etcd, "/registry/poddisruptionbudgets/default/b", json.dumps(budget))
        with started(program, f"{folder}/data", f"--etcd-servers={etcd.url}") as server:
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/olds.example.com"
            status, shown = server.call("GET", path)
            expect("the definition", (status, shown["apiVersion"], shown["spec"]["versions"][0]["schema"]),
                   (200, "apiextensions.k8s.io/v1", schema))
            olds = "/apis/example.com/v1/namespaces/default/olds"
            until("the kind is served", lambda: server.call("GET", olds)[0] == 200)
            thing = {"apiVersion": "example.com/v1", "kind": "Old", "metadata": {"name": "o"}}
            expect("an object of it", server.call("POST", olds, thing)[0], 201)
            # What would be written in another form is written when nothing else changes.
            path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b"
            shown = server.call("GET", path)[1]
            expect("the budget", shown["apiVersion"], "policy/v1")
            again = server.call("PUT", path, shown)[1]
            if again["metadata"]["resourceVersion"] == shown["metadata"]["resourceVersion"]:
                fail("the budget was not written again")
            expect("the stored version", json.loads(stored(etcd, "/registry/poddisruptionbudgets/default/b"))["apiVersion"], "policy/v1")
            expect("once", server.call("PUT", path, again)[1]["metadata"]["resourceVersion"], again["metadata"]["resourceVersion"])


def writing_again_under_a_key(program, _):
    key = "/registry/secrets/default/a"
    with etcd_and_folder() as (etcd, folder):
        flag = f"--etcd-servers={etcd.url}"
        with started(program, f"{folder}/data", flag) as server:
            make(server, "a")
        expect("what is stored", stored(etcd, key)[:1], b"{")
        steps = [("k1", [("aesgcm", ["k1"]), ("identity", [])]), ("k2", [("aesgcm", ["k2", "k1"])])]
        for name, providers in steps:
            with started(program, f"{folder}/data", flag, config(folder, [("secrets", providers)])) as server:
                before = server.call("GET", f"{SECRETS}/a")[1]
                after = server.call("PUT", f"{SECRETS}/a", before)[1]
                if after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]:
                    fail(f"{name}: the value was not written again")
                unchanged = server.call("PUT", f"{SECRETS}/a", after)[1]
                expect("a second time", unchanged["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"])
            expect("what is stored", stored(etcd, key).startswith(f"k8s:enc:aesgcm:v1:{name}:".encode()), True)


def same_lines(what, file, other):
    """Byte for byte, in whatever order."""
    found, wanted = (set(pathlib.Path(name).read_bytes().splitlines()) for name in (file, other))
    if found != wanted:
        fail(f"the lines of {what}: {sorted(found ^ wanted)[:2]}")


def from_the_database_to_etcd_and_back(program, _):
    with etcd_and_folder() as (etcd, folder), tempfile.TemporaryDirectory() as other:
        flag, servers = config(folder, [("secrets", [("aesgcm", ["k1"]), ("identity", [])])]), f"--etcd-servers={etcd.url}"
        with started(program, f"{folder}/data", flag) as server:
            make(server, "a")
            for i in range(5):
                expect("a write", server.call("POST", CONFIGMAPS, {"metadata": {"name": f"c{i}"}})[0], 201)
            expect("a deletion", server.call("DELETE", f"{CONFIGMAPS}/c1")[0], 200)
            before = objects(server)
        lines = [f"{folder}/{name}.jsonl" for name in ("database", "etcd", "back")]
        call(program, "export", lines[0], f"--data-dir={folder}/data", flag)
        call(program, "import", lines[0], servers, flag)
        expect("the secret is encrypted", stored(etcd, "/registry/secrets/default/a").startswith(b"k8s:enc:aesgcm:v1:k1:"), True)
        call(program, "export", lines[1], servers, flag)
        same_lines("etcd", lines[1], lines[0])
        shown = json.loads(call(program, "get", "configmaps/default/c2", servers))
        expect("the uid", shown["metadata"]["uid"], next(item["metadata"]["uid"] for item in before[ALL_CONFIGMAPS]
                                                         if item["metadata"]["name"] == "c2"))
        if "keys below /registry" not in call(program, "import", lines[0], servers, flag, code=2):
            fail("an import into an etcd with objects is not refused")
        call(program, "import", lines[1], f"--data-dir={other}/data", flag)
        call(program, "export", lines[2], f"--data-dir={other}/data", flag)
        same_lines("the database", lines[2], lines[0])
        with started(program, f"{folder}/on-etcd", servers, flag) as server:
            after = objects(server)
            expect("the secret", value_of(server, "a"), "VERY-SECRET-VALUE")
            revision = int(make(server, "next")["metadata"]["resourceVersion"])
        head = json.loads(pathlib.Path(lines[0]).read_text().splitlines()[0])
        if revision <= head["revision"]:
            fail(f"revision {revision} comes again; the export says {head['revision']}")
        for found in (before, after):  # that of another data directory has another CA
            found[ALL_CONFIGMAPS] = [item for item in found[ALL_CONFIGMAPS] if item["metadata"]["namespace"] == "default"]
        for path in ("/api/v1/secrets", ALL_CONFIGMAPS, "/apis/rbac.authorization.k8s.io/v1/clusterroles"):
            expect(path, after[path], before[path])


def warnings_of_a_refusal_that_is_confirmed(program, _):
    """What was warned of while the client was identified stays when the server asks etcd for its newest state."""
    with etcd_and_folder() as (etcd, folder), \
            started(program, f"{folder}/data", f"--etcd-servers={etcd.url}") as server:
        rbac = "rbac.authorization.k8s.io"
        binding = {"metadata": {"name": "anonymous"}, "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin"},
                   "subjects": [{"apiGroup": rbac, "kind": "User", "name": "system:anonymous"}]}
        expect("the binding", server.call("POST", f"/apis/{rbac}/v1/clusterrolebindings", binding)[0], 201)
        for status in (201, 409):
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=ssl._create_unverified_context(), timeout=30)
            connection.request("POST", CONFIGMAPS, json.dumps({"metadata": {"name": "a"}}),
                               {"Content-Type": "application/json", "Authorization": "Bearer  x"})
            answer = connection.getresponse()
            expect("the status", answer.status, status)
            expect("the warning", answer.headers["Warning"],
                   '299 - "the provided Authorization header contains extra space before the bearer token, and is ignored"')


def checks_that_wait_for_no_time(program, _):
    """As for kube-apiserver, 0s stands for the two seconds of the default."""
    with etcd_and_folder() as (etcd, folder), \
            started(program, f"{folder}/data", f"--etcd-servers={etcd.url}", "--etcd-healthcheck-timeout=0s", "--etcd-readycheck-timeout=0s") as server:
        for path in ("/livez/etcd", "/readyz/etcd"):
            connection = server.connect()
            connection.request("GET", path)
            expect(path, connection.getresponse().read(), b"ok")


def an_etcd_that_is_set_back(program, _):
    """An older copy of etcd's data is put in its place while the server runs: what came after the copy is gone."""
    with etcd_and_folder() as (etcd, folder), \
            started(program, f"{folder}/data", f"--etcd-servers={etcd.url}") as server:
        data, copy = pathlib.Path(folder) / "etcd/m0", pathlib.Path(folder) / "copy"

        def names():
            return sorted(name for each in server.call("GET", CONFIGMAPS)[1]["items"] if (name := each["metadata"]["name"])[0] != "k")

        def restarted(between):
            etcd.stop(0)
            between()
            etcd.start(0)
            etcd.wait()

        expect("an object", server.call("POST", CONFIGMAPS, {"metadata": {"name": "before"}})[0], 201)
        restarted(lambda: shutil.copytree(data, copy))
        for i in range(30):
            expect("a later object", server.call("POST", CONFIGMAPS, {"metadata": {"name": f"later-{i}"}})[0], 201)
        last = int(server.call("GET", CONFIGMAPS)[1]["metadata"]["resourceVersion"])
        restarted(lambda: (shutil.rmtree(data), shutil.move(copy, data)))
        expect("the objects", names(), ["before"])
        version = int(server.call("GET", CONFIGMAPS)[1]["metadata"]["resourceVersion"])
        expect("the resourceVersion is older", version < last, True)
        expect("one that is gone", server.call("DELETE", f"{CONFIGMAPS}/later-1")[0], 404)
        expect("a new object", server.call("POST", CONFIGMAPS, {"metadata": {"name": "new"}})[0], 201)
        expect("the new object", server.call("GET", f"{CONFIGMAPS}/new")[0], 200)
        expect("the objects", names(), ["before", "new"])
        if "etcd has been set back to an older state" not in (pathlib.Path(folder) / "data/log").read_text():
            fail("the log does not say so")


def an_etcd_that_is_full(program, _):
    """What is stored can be read and deleted, also by a server that starts then; and afterwards all goes on."""
    with tempfile.TemporaryDirectory() as folder, \
            Etcd(pathlib.Path(folder) / "etcd", flags=["--quota-backend-bytes=16000000"]) as etcd:
        flags = [f"{folder}/data", f"--etcd-servers={etcd.url}"]
        secrets = "/api/v1/namespaces/default/secrets"
        roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
        with started(program, *flags) as server:
            for name in ("a", "b"):
                for path in (secrets, roles):
                    expect(path, server.call("POST", path, {"metadata": {"name": name}})[0], 201)
            thing, count = {"metadata": {"name": "m"}, "data": {"x": "x" * 900_000}}, 0
            while (answer := server.call("POST", CONFIGMAPS, {**thing, "metadata": {"name": f"m{count}"}}))[0] == 201 and count < 100:
                count += 1
            expect("why", answer[1]["message"], "etcdserver: mvcc: database space exceeded")
            for path in (secrets, roles):
                expect("a deletion", server.call("DELETE", f"{path}/a")[0], 200)
                expect("what is deleted", server.call("GET", f"{path}/a")[0], 404)
        with started(program, *flags) as server:
            for path in (secrets, roles):
                expect("a deletion after a restart", server.call("DELETE", f"{path}/b")[0], 200)
            for i in range(count):
                expect("a deletion", server.call("DELETE", f"{CONFIGMAPS}/m{i}")[0], 200)
            revision = gateway(etcd, "kv/range", key=encoded("/"))["header"]["revision"]
            gateway(etcd, "kv/compaction", revision=revision, physical=True)
            gateway(etcd, "maintenance/defragment")
            for alarm in gateway(etcd, "maintenance/alarm", action="GET").get("alarms", []):
                gateway(etcd, "maintenance/alarm", action="DEACTIVATE", memberID=alarm["memberID"], alarm=alarm["alarm"])
            for path in (CONFIGMAPS, roles):
                expect("a new object", server.call("POST", path, {"metadata": {"name": "new"}})[0], 201)


if __name__ == "__main__":
    if find_etcd() is None:
        print("SKIP: no etcd: install the package etcd-server")
        sys.exit(SKIP)
    run("etcd_store", __doc__, [an_object_that_cannot_be_read, a_key_that_another_server_has_first, versions_that_a_kube_apiserver_stores,
                                writing_again_under_a_key, from_the_database_to_etcd_and_back, warnings_of_a_refusal_that_is_confirmed,
                                checks_that_wait_for_no_time, an_etcd_that_is_set_back, an_etcd_that_is_full])
