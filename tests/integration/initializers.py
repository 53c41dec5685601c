#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Creates that wait for initializers, and a server that is killed meanwhile (docs/legacy.md): nothing is
lost, shown before it is initialized, or stuck.

    tests/integration/initializers.py --build build/release
"""

import http.client
import signal
import tempfile
import threading

from process import Server
from story import expect, run, until

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
FLAGS = ["--enable-admission-plugins=Initializers", "--runtime-config=admissionregistration.k8s.io/v1alpha1"]
COUNT = 8


def configuration(*names):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    return {"apiVersion": "admissionregistration.k8s.io/v1alpha1", "kind": "InitializerConfiguration", "metadata": {"name": "cfg"},
            "initializers": [{"name": name, "rules": [rule]} for name in names]}


def names(server, query=""):
    status, found = server.call("GET", CONFIGMAPS + query)
    expect("the list", status, 200)
    return sorted(item["metadata"]["name"] for item in found["items"] if item["metadata"]["name"].startswith("w"))


def killed_while_creates_wait(program, _):
    """kill -9 while creates wait: their objects are there and hidden, and are initialized or deleted later."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, *FLAGS)
        expect("the configuration", server.call("POST", CONFIGURATIONS, configuration("a.init.test.io"))[0], 201)
        wanted = [f"w{i}" for i in range(COUNT)]
        answered = []

        def create(name):
            try:
                answered.append(server.call("POST", CONFIGMAPS, {"metadata": {"name": name}}, server.connect())[0])
            except (OSError, http.client.HTTPException, ValueError):
                pass

        threads = [threading.Thread(target=create, args=(name,)) for name in wanted]
        for thread in threads:
            thread.start()
        until("all creates wait", lambda: names(server, "?includeUninitialized=true") == wanted)
        expect("the plain list", names(server), [])
        server.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        expect("answers to creates that waited", answered, [])

        server = Server(program, folder, *FLAGS)
        expect("what is stored", names(server, "?includeUninitialized=true"), wanted)
        expect("what shows", names(server), [])
        for index, name in enumerate(wanted):
            path = f"{CONFIGMAPS}/{name}"
            status, found = server.call("GET", path)
            expect("a hidden object by its name", (status, found["metadata"]["initializers"]),
                   (200, {"pending": [{"name": "a.init.test.io"}]}))
            expect("a second create", server.call("POST", CONFIGMAPS, {"metadata": {"name": name}})[0], 409)
            if index % 2:
                expect("a deletion", server.call("DELETE", path)[0], 200)
                continue
            del found["metadata"]["initializers"]
            found["data"] = {"by": "controller"}
            expect("the end of the initialization", server.call("PUT", path, found)[0], 200)
        expect("what shows then", names(server), wanted[::2])
        expect("what is stored then", names(server, "?includeUninitialized=true"), wanted[::2])
        expect("the end", server.end(signal.SIGTERM), 0)


def started_without_initializers(program, _):
    """A server without the plugin shows what was hidden, and the next write drops the field."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, *FLAGS)
        expect("the configuration", server.call("POST", CONFIGURATIONS, configuration("a.init.test.io"))[0], 201)
        expect("the create", server.call("POST", f"{CONFIGMAPS}?includeUninitialized=true", {"metadata": {"name": "w"}})[0], 202)
        server.end(signal.SIGKILL)
        server = Server(program, folder)
        expect("what shows", names(server), ["w"])
        status, found = server.call("GET", f"{CONFIGMAPS}/w")
        found["data"] = {"a": "b"}
        status, written = server.call("PUT", f"{CONFIGMAPS}/w", found)
        expect("the write", (status, "initializers" in written["metadata"]), (200, False))
        expect("the end", server.end(signal.SIGTERM), 0)


if __name__ == "__main__":
    run("initializers", __doc__, [killed_while_creates_wait, started_without_initializers])
