#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encryption at rest with the real program: what the database and its log hold, keys that change, with a restart and
without, and a key that is missing.

    tests/integration/encryption.py --build build/release
"""

import base64
import contextlib
import pathlib
import signal
import subprocess
import tempfile

from process import Server
from story import expect, fail, run, until

SECRETS = "/api/v1/namespaces/default/secrets"
PLANTED = "VERY-SECRET-VALUE"


def config(folder, rules):
    """rules: (resources, [(provider, [key names])]); a key is made of its name."""
    lines = ["kind: EncryptionConfiguration", "apiVersion: apiserver.config.k8s.io/v1", "resources:"]
    for resources, providers in rules:
        lines += [f"- resources: [{resources}]", "  providers:"]
        for provider, names in providers:
            keys = [f"{{name: {name}, secret: {base64.b64encode((name * 32)[:32].encode()).decode()}}}" for name in names]
            lines.append(f"  - {provider}: " + (f"{{keys: [{', '.join(keys)}]}}" if keys else "{}"))
    path = pathlib.Path(folder) / "encryption.yaml"
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)
    return f"--encryption-provider-config={path}"


@contextlib.contextmanager
def started(program, folder, *flags):
    server = Server(program, folder, *flags)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end(signal.SIGTERM)


def on_disk(folder):
    files = [pathlib.Path(folder) / name for name in ("portcullis.db", "portcullis.db-wal")]
    return b"".join(file.read_bytes() for file in files if file.exists())


def make(server, name, value=PLANTED):
    body = {"metadata": {"name": name}, "stringData": {"key": value}}
    status, answer = server.call("POST", SECRETS, body)
    expect(f"creation of {name}", status, 201)
    return answer


def value_of(server, name):
    status, answer = server.call("GET", f"{SECRETS}/{name}")
    expect(f"reading {name}", status, 200)
    return base64.b64decode(answer["data"]["key"]).decode()


def metrics(server, prefix):
    connection = server.connect()
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    return [line for line in text.splitlines() if line.startswith(prefix)]


def no_plain_value_on_the_disk(program, _):
    for provider in ("aesgcm", "aescbc", "secretbox"):
        with tempfile.TemporaryDirectory() as folder:
            flag = config(folder, [("secrets", [(provider, ["key1"]), ("identity", [])])])
            with started(program, folder, flag) as server:
                made = make(server, "a")
                changed = server.call("PUT", f"{SECRETS}/a", {**made, "stringData": {"key": PLANTED + "2"}})
                expect("the update", changed[0], 200)
                make(server, "b")
                expect("the deletion", server.call("DELETE", f"{SECRETS}/b")[0], 200)
                disk = on_disk(folder)
            for bytes_, when in ((disk, "while it runs"), (on_disk(folder), "afterwards")):
                if PLANTED.encode() in bytes_ or base64.b64encode(PLANTED.encode())[:16] in bytes_:
                    fail(f"{provider}: the value is on the disk {when}")
                if f"k8s:enc:{provider}:v1:key1:".encode() not in bytes_:
                    fail(f"{provider}: nothing encrypted on the disk {when}")
            with started(program, folder, flag) as server:
                expect("the value", value_of(server, "a"), PLANTED + "2")
                # The same revision as before the restart.
                expect("the revision", server.call("GET", f"{SECRETS}/a")[1]["metadata"]["resourceVersion"],
                       changed[1]["metadata"]["resourceVersion"])


def keys_change(program, _):
    with tempfile.TemporaryDirectory() as folder:
        with started(program, folder) as server:
            make(server, "a")
        if base64.b64encode(PLANTED.encode())[:16] not in on_disk(folder):
            fail("the test is blind: a plain value is not found")
        # From plain to a key, then to another one; the object is written again without a change.
        steps = [("k1", [("aesgcm", ["k1"]), ("identity", [])]), ("k2", [("aesgcm", ["k2", "k1"])])]
        for name, providers in steps:
            with started(program, folder, config(folder, [("secrets", providers)])) as server:
                before = server.call("GET", f"{SECRETS}/a")[1]
                status, after = server.call("PUT", f"{SECRETS}/a", before)
                expect("writing it again", status, 200)
                if after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]:
                    fail(f"{name}: the value was not written again")
                expect("what is written", {**after, "metadata": None}, {**before, "metadata": None})
                unchanged = server.call("PUT", f"{SECRETS}/a", after)[1]
                expect("a second time", unchanged["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"])
            disk = on_disk(folder)
            if base64.b64encode(PLANTED.encode())[:16] in disk:
                fail(f"{name}: the plain value is left on the disk")
            if f"k8s:enc:aesgcm:v1:{name}:".encode() not in disk:
                fail(f"{name}: not encrypted")
        with started(program, folder, config(folder, [("secrets", [("aesgcm", ["k2"])])])) as server:
            expect("the value", value_of(server, "a"), PLANTED)


def a_file_that_changes(program, _):
    with tempfile.TemporaryDirectory() as folder:
        flag = config(folder, [("secrets", [("aesgcm", ["k1"]), ("identity", [])])])
        with started(program, folder, flag, "--encryption-provider-config-automatic-reload") as server:
            make(server, "a")
            config(folder, [("secrets", [("secretbox", ["k2"]), ("aesgcm", ["k1"]), ("identity", [])])])
            reloads = "apiserver_encryption_config_controller_automatic_reloads_total"
            until("a reload", lambda: any('status="success"' in line for line in metrics(server, reloads)))
            make(server, "b")
            if b"k8s:enc:secretbox:v1:k2:" not in on_disk(folder):
                fail("the new key is not used")
            (pathlib.Path(folder) / "encryption.yaml").write_text("resources: []\n")
            until("a failure", lambda: any('status="failure"' in line for line in metrics(server, reloads)))
            make(server, "c")
            expect("the first one", value_of(server, "a"), PLANTED)
            for path, wanted in (("/healthz/kms-providers", 200), ("/readyz/kms-providers", 200), ("/livez/kms-providers", 404),
                                 ("/livez/poststarthook/start-encryption-provider-config-automatic-reload", 200)):
                connection = server.connect()
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                expect(path, answer.status, wanted)
            steps = metrics(server, "apiserver_storage_transformation_operations_total")
            wanted = 'resource="secrets",status="OK",transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:"'
            if not any(wanted in line for line in steps):
                fail(f"no count of transformations: {steps}")


def a_key_is_missing(program, _):
    with tempfile.TemporaryDirectory() as folder:
        with started(program, folder, config(folder, [("secrets", [("aesgcm", ["k1"])])])) as server:
            make(server, "a")
        with started(program, folder, config(folder, [("secrets", [("aesgcm", ["k2"]), ("identity", [])])])) as server:
            log = (pathlib.Path(folder) / "log").read_text()
            if "/registry/secrets/default/a" not in log:
                fail(f"the log does not name the object:\n{log}")
            why = "Internal error occurred: no matching key was found for the provided AES transformer"
            status, answer = server.call("GET", f"{SECRETS}/a")
            expect("reading it", (status, answer["message"]), (500, why))
            status, answer = server.call("GET", SECRETS)
            expect("listing", (status, answer["message"]),
                   (500, 'Internal error occurred: unable to transform key "/registry/secrets/default/a": '
                         "no matching key was found for the provided AES transformer"))
            status, answer = server.call("DELETE", f"{SECRETS}/a")
            expect("deleting", (status, answer["message"]), (500, why))
            status, answer = server.call("POST", SECRETS, {"metadata": {"name": "a"}})
            expect("its name", (status, answer["reason"]), (409, "AlreadyExists"))
            make(server, "b")
            expect("another one", value_of(server, "b"), PLANTED)
        with started(program, folder, config(folder, [("secrets", [("aesgcm", ["k2", "k1"])])])) as server:
            expect("with the key", value_of(server, "a"), PLANTED)
        flags = (config(folder, [("secrets", [("aesgcm", ["k2"])])]), "--feature-gates=AllowUnsafeMalformedObjectDeletion=true")
        with started(program, folder, *flags) as server:
            unsafe = "?ignoreStoreReadErrorWithClusterBreakingPotential=true"
            gone = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": "a", "kind": "Secret"}, "code": 200}
            expect("deleting it unread", server.call("DELETE", f"{SECRETS}/a{unsafe}"), (200, gone))
            expect("once more", server.call("DELETE", f"{SECRETS}/a{unsafe}")[0], 422)
            expect("reading it", server.call("GET", f"{SECRETS}/a")[0], 404)
            expect("listing", server.call("GET", SECRETS)[0], 200)
            make(server, "a", "new")
        with started(program, folder, *flags) as server:
            expect("the new one", (value_of(server, "a"), value_of(server, "b")), ("new", PLANTED))


def what_decides_must_be_readable(program, _):
    with tempfile.TemporaryDirectory() as folder:
        with started(program, folder, config(folder, [("'*.*'", [("aesgcm", ["k1"])])])) as server:
            make(server, "a")
        if b'"kind":' in on_disk(folder):
            fail("something is stored in plain")
        command = [program, "serve", f"--data-dir={folder}", "--secure-port=0", "--bind-address=127.0.0.1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        expect("the exit code", done.returncode, 2)
        if "requests are judged by this object" not in done.stderr:
            fail(f"said: {done.stderr}")


def definition():
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"metadata": {"name": "foos.x.io"},
            "spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


def policy():
    """It refuses Secrets of the name that a parameter forbids."""
    matches = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}]}
    return {"metadata": {"name": "p"},
            "spec": {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": matches,
                     "validations": [{"expression": "object.metadata.name != params.data.forbidden"}]}}


def binding():
    selector = {"matchLabels": {"forbids": "yes"}}
    return {"metadata": {"name": "p"},
            "spec": {"policyName": "p", "validationActions": ["Deny"],
                     "paramRef": {"namespace": "default", "selector": selector, "parameterNotFoundAction": "Allow"}}}


def what_cannot_be_read_is_not_gone(program, _):
    encrypted = "configmaps, poddisruptionbudgets.policy, foos.x.io"
    admission = "/apis/admissionregistration.k8s.io/v1"
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "w"}}
    flags = ("--controllers=namespace-controller", "--disable-admission-plugins=ServiceAccount")
    with tempfile.TemporaryDirectory() as folder:
        with started(program, folder, config(folder, [(encrypted, [("aesgcm", ["k1"])])]), *flags) as server:
            for path, body in (
                ("/api/v1/namespaces", {"metadata": {"name": "a"}}),
                ("/api/v1/namespaces/a/configmaps", {"metadata": {"name": "c"}}),
                (definitions, definition()),
                ("/api/v1/namespaces/default/configmaps",
                 {"metadata": {"name": "c", "labels": {"forbids": "yes"}}, "data": {"forbidden": "x"}}),
                (f"{admission}/validatingadmissionpolicies", policy()),
                (f"{admission}/validatingadmissionpolicybindings", binding()),
                ("/apis/policy/v1/namespaces/default/poddisruptionbudgets",
                 {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "w"}}}}),
                ("/api/v1/namespaces/default/pods",
                 {"metadata": {"name": "w", "labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
                ("/api/v1/namespaces/default/pods/w/binding", {"metadata": {"name": "w"}, "target": {"kind": "Node", "name": "n"}}),
            ):
                expect(path, server.call("POST", path, body)[0], 201)
            pod = server.call("GET", "/api/v1/namespaces/default/pods/w")[1]
            running = {**pod, "status": {**pod["status"], "phase": "Running"}}
            expect("the pod runs", server.call("PUT", "/api/v1/namespaces/default/pods/w/status", running)[0], 200)
            until("the definition", lambda: server.call("POST", "/apis/x.io/v1/namespaces/default/foos", {
                "apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": "f"}})[0] == 201)
            expect("what the policy forbids", server.call("POST", SECRETS, {"metadata": {"name": "x"}})[0], 422)
            expect("an eviction", server.call("POST", "/api/v1/namespaces/default/pods/w/eviction", eviction)[0], 429)
        with started(program, folder, config(folder, [(encrypted, [("aesgcm", ["k2"])])]), *flags) as server:
            expect("the definition's deletion", server.call("DELETE", f"{definitions}/foos.x.io")[0], 200)
            expect("the namespace's deletion", server.call("DELETE", "/api/v1/namespaces/a")[0], 200)
            status, answer = server.call("POST", SECRETS, {"metadata": {"name": "x"}})
            expect("what the policy forbids", status, 422)
            if "no matching key was found" not in answer["message"]:
                fail(f"why: {answer['message']}")
            status, answer = server.call("POST", "/api/v1/namespaces/default/pods/w/eviction", eviction)
            expect("an eviction", (status, "no matching key was found" in answer["message"]), (500, True))

            def told():
                conditions = server.call("GET", "/api/v1/namespaces/a")[1]["status"].get("conditions", [])
                return any("no matching key was found" in condition["message"] for condition in conditions)

            until("why the namespace stays", told)
            expect("the definition", server.call("GET", f"{definitions}/foos.x.io")[0], 200)
        with started(program, folder, config(folder, [(encrypted, [("aesgcm", ["k2", "k1"])])]), *flags) as server:
            until("the namespace", lambda: server.call("GET", "/api/v1/namespaces/a")[0] == 404)
            until("the definition", lambda: server.call("GET", f"{definitions}/foos.x.io")[0] == 404)
            expect("the definition anew", server.call("POST", definitions, definition())[0], 201)
            until("no objects of before", lambda: server.call("GET", "/apis/x.io/v1/namespaces/default/foos")[1].get("items") == [])


def wrong_files(program, _):
    cases = [
        ("resources: []\n", "Object 'Kind' is missing"),
        ("kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n",
         "--encryption-provider-config: error while parsing file: resources: Required value: at least one resources is required"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "e.yaml"
        command = [program, "serve", f"--data-dir={folder}/data", "--secure-port=0", "--bind-address=127.0.0.1"]
        for text, wanted in cases:
            path.write_text(text)
            done = subprocess.run([*command, f"--encryption-provider-config={path}"], capture_output=True, text=True, timeout=60)
            if done.returncode != 2 or wanted not in done.stderr:
                fail(f"exit {done.returncode}, not {wanted!r}: {done.stderr}")
        done = subprocess.run([*command, "--encryption-provider-config-automatic-reload"], capture_output=True, text=True,
                              timeout=60)
        if "must be set with --encryption-provider-config" not in done.stderr:
            fail(f"said: {done.stderr}")


if __name__ == "__main__":
    run("encryption", __doc__, [no_plain_value_on_the_disk, keys_change, a_file_that_changes, a_key_is_missing,
                                what_decides_must_be_readable, what_cannot_be_read_is_not_gone, wrong_files])
