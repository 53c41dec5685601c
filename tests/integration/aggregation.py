#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""API servers behind this one: another server that serves custom resources, which trusts this one's certificate, and a
peer that answers as it is told. Texts and headers are those of a kube-apiserver before the same peer.

    tests/integration/aggregation.py --build build/release
"""

import base64
import contextlib
import hashlib
import http.client
import http.server
import json
import pathlib
import socket
import ssl
import threading
import time
import urllib.parse

from serving import Pki
from story import expect, fail, run, serving, until

SERVICES = "/api/v1/namespaces/default/services"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITION = {
    "metadata": {"name": "flowers.garden.io"},
    "spec": {"group": "garden.io", "scope": "Namespaced", "names": {"plural": "flowers", "kind": "Flower"},
             "versions": [{"name": "v1", "served": True, "storage": True,
                           "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
RESOURCES = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "peer.io/v1", "resources": [
    {"name": "things", "singularName": "thing", "namespaced": True, "kind": "Thing", "verbs": ["get"], "shortNames": ["th"]},
    {"name": "things/status", "singularName": "", "namespaced": True, "kind": "Thing", "verbs": ["get"]}]}
DOCUMENTS = ("apis/peer.io/v1", "apis/other.io/v1", "api/v1")
REDIRECTED = "the backend attempted to redirect this request, which is not permitted"


GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
# What the peer answers to an upgrade, and what the client has of that.
REFUSALS = {
    "refuse": (b"HTTP/1.1 403 No Way\r\nx-b: 2\r\nX-A: 1\r\nAudit-Id: theirs\r\nContent-Length: 4\r\n\r\nno!\n",
               "HTTP/1.1 403 No Way\r\nContent-Length: 4\r\nAudit-Id: theirs\r\nX-A: 1\r\nX-B: 2\r\n\r\nno!\n"),
    "chunks": (b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nno!\n\r\n0\r\n\r\n",
               "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nno!\n\r\n0\r\n\r\n"),
    "end": (b"HTTP/1.0 500 Oops\r\nContent-Type: text/plain\r\n\r\nrest", "HTTP/1.0 500 Oops\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\nrest"),
    "fine": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "invalid upgrade response: status code 200\n"),
    "continue": (b"HTTP/1.1 100 Continue\r\n\r\n", "invalid upgrade response: status code 100\n"),
    "nothing": (b"", "unexpected EOF\n"),
    "half": (b"HTTP/1.1 101 Swi", "unexpected EOF\n"),
    "nonsense": (b"whatever\r\n\r\n", 'malformed HTTP response "whatever"\n'),
    "field": (b"HTTP/1.1 101 X\r\nbad field\r\n\r\n", 'malformed MIME header: missing colon: "bad field"\n'),
}


# Answers to requests that ask for no upgrade, and what the client has of them.
UNFIT = {
    "switched": (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
                 'backend tried to switch protocol "x" when "" was requested\n'),
    "zero": (b"HTTP/1.1 000 OK\r\nContent-Length: 2\r\n\r\nok", "error trying to reach service: malformed HTTP status code\n"),
}


class Peer(http.server.BaseHTTPRequestHandler):
    """Tells what it was asked, or misbehaves as the last part of the path says."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        what = self.path.split("?")[0].rsplit("/", 1)[-1]
        if "upgrade" in self.headers.get("Connection", "").lower():
            self._upgrade(what, body)
        elif self.path == "/apis/peer.io/v1":
            self._send(200, {}, json.dumps(RESOURCES))
        elif self.path == "/openapi/v3":
            self._send(200, {}, json.dumps({"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash=1"} for path in DOCUMENTS}}))
        elif self.path == "/apis":
            self._send(404, {}, "404 page not found\n")
        elif what == "redirect":
            self._send(302, {"Location": "/elsewhere"}, "")
        elif what == "headers":
            self._send(200, {"Audit-Id": "peer", "Access-Control-Allow-Origin": "*", "Connection": "x-hop", "X-Hop": "1", "X-Own": "2"}, "x")
        elif what == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"abc")
            self.close_connection = True
        elif what == "drop":
            self.close_connection = True
        elif what in UNFIT:
            self.wfile.write(UNFIT[what][0])
            self.close_connection = True
        elif what == "pieces":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.server.head_seen.wait(20)  # the client has the head before there is a body
            for _ in range(3):
                self.wfile.write(b"5\r\nabcd\n\r\n")
            self.wfile.write(b"0\r\n\r\n")
        else:
            told = {"method": self.command, "path": self.path, "body": body, "headers": self.headers.items()}
            self._send(200, {"Content-Type": "application/json"}, json.dumps(told))

    def _upgrade(self, what, body):
        self.close_connection = True
        if what in REFUSALS:
            self.wfile.write(REFUSALS[what][0])
        elif what == "echo":
            told = json.dumps({"body": body, "headers": self.headers.items()}).encode()
            accept = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + GUID).encode()).digest()).decode()
            self.wfile.write(f"HTTP/1.1 101 Some  Text\r\nupgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
            self.wfile.write(b"%d " % len(told) + told)
            while received := self.rfile.read1(65536):
                self.wfile.write(received)
                if received.endswith(b"bye"):
                    return
            self.server.left.set()

    def _send(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body.encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _answer


class Keeper(Peer):
    """Holds things by their names, page by page. What it answers to deletions is no JSON."""

    def _answer(self):
        held, url = self.server.held, urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        name = url.path.partition("/things/")[2]
        if url.path == "/apis/keeper.io/v1":
            thing = {"name": "things", "singularName": "thing", "namespaced": True, "kind": "Thing", "verbs": ["list", "delete"]}
            self._send(200, {}, json.dumps({**RESOURCES, "groupVersion": "keeper.io/v1", "resources": [thing]}))
        elif self.command == "DELETE" and name:
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(self.server.delay)
            if name[0] != "x":
                held.discard(name)
            self._send(*((200, {}, "gone"), (202, {}, ""), (204, {}, ""))[len(held) % 3])
        elif url.path.endswith("/namespaces/full/things") and self.command == "GET":
            limit = min(int(query["limit"]), 5)
            left = sorted(name for name in held if name > query.get("continue", ""))
            metadata = {"continue": left[limit - 1]} if len(left) > limit else {}
            self._send(200, {}, json.dumps({"metadata": metadata, "items": [{"metadata": {"name": name}} for name in left[:limit]]}))
        elif "/things" in url.path:
            self._send(404, {}, "")
        else:
            super()._answer()

    do_GET = do_DELETE = _answer


def pki(folder):
    made = Pki(folder)
    for authority in ("fronts", "backs"):
        made.authority(authority)
    made.issue("fronts", "front", "front", "extendedKeyUsage=clientAuth\n")
    made.issue("backs", "back", "back", "subjectAltName=DNS:back.default.svc\nextendedKeyUsage=serverAuth\n")
    return made


def peer(made, handler=Peer):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads, server.head_seen, server.left = True, threading.Event(), threading.Event()
    server.handle_error = lambda *_: None  # its clients leave as they like
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.path("back.crt"), made.path("back.key"))
    context.load_verify_locations(made.path("fronts.crt"))
    context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@contextlib.contextmanager
def closing(server):
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def front(program, made, *flags):
    return serving(program, f"--proxy-client-cert-file={made.path('front.crt')}", f"--proxy-client-key-file={made.path('front.key')}", *flags)


def register(server, made, group, port, service="back", **spec):
    body = {"metadata": {"name": service}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    server.call("POST", SERVICES, body)
    spec = {"caBundle": base64.b64encode(pathlib.Path(made.path("backs.crt")).read_bytes()).decode(), **spec}
    body = {"metadata": {"name": f"v1.{group}"},
            "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
                     "service": {"name": service, "namespace": "default", "port": port}, **spec}}
    expect("an APIService", server.call("POST", API_SERVICES, body)[0], 201)


def condition(server, group):
    conditions = server.call("GET", f"{API_SERVICES}/v1.{group}")[1].get("status", {}).get("conditions") or [{}]
    return conditions[0].get("status"), conditions[0].get("reason"), conditions[0].get("message")


def available(server, group):
    until(f"{group} is available", lambda: condition(server, group) == ("True", "Passed", "all checks passed"))


def ask(server, path, method="GET", body=None, headers=None):
    """Status, headers, text."""
    connection = server.connect()
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


@contextlib.contextmanager
def behind(program, made):
    """One of our servers, which trusts the other one and serves flowers."""
    with serving(program, f"--requestheader-client-ca-file={made.path('fronts.crt')}", "--requestheader-username-headers=X-Remote-User",
                 "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                 f"--tls-cert-file={made.path('back.crt')}", f"--tls-private-key-file={made.path('back.key')}") as back:
        back.context.check_hostname, back.context.verify_mode = False, ssl.CERT_NONE
        expect("a definition", back.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)[0], 201)
        yield back


def custom_resources(program, made):
    """All of it, with a server that is one of ours."""
    with behind(program, made) as back:
        with front(program, made) as server:
            register(server, made, "garden.io", back.port)
            available(server, "garden.io")
            flowers = "/apis/garden.io/v1/namespaces/default/flowers"
            watched = server.connect()
            watched.request("GET", flowers + "?watch=1")
            watch = watched.getresponse()
            expect("the watch's flow", "X-Kubernetes-Pf-Flowschema-Uid" in watch.headers, True)
            expect("a watch begins before there is an event", watch.status, 200)
            status, made_flower = server.call("POST", flowers, {"apiVersion": "garden.io/v1", "kind": "Flower", "metadata": {"name": "rose"}})
            expect("a flower", status, 201)
            event = json.loads(watch.readline())
            expect("the event", (event["type"], event["object"]), ("ADDED", made_flower))
            watched.close()
            expect("behind", back.call("GET", flowers + "/rose"), (200, made_flower))
            expect("none of here", server.call("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")[1]["items"], [])
            index = "apis/garden.io/v1"
            until("OpenAPI", lambda: index in server.call("GET", "/openapi/v3")[1]["paths"])
            expect("OpenAPI", json.loads(ask(server, "/openapi/v3/" + index)[2]), json.loads(ask(back, "/openapi/v3/" + index)[2]))
            path = "/apis/garden.io/v1/namespaces/{namespace}/flowers"
            paths = server.call("GET", "/openapi/v2")[1]["paths"]
            expect("OpenAPI v2", paths[path], back.call("GET", "/openapi/v2")[1]["paths"][path])
            expect("a path of here", "/api/v1/pods" in paths, True)
            accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}

            def groups(of):
                items = json.loads(ask(of, "/apis", headers=accept)[2])["items"]
                return {item["metadata"]["name"]: item["versions"] for item in items}
            expect("aggregated discovery", groups(server)["garden.io"], groups(back)["garden.io"])


def namespaces(program, made):
    """What the other server holds of a namespace goes with it."""
    with contextlib.ExitStack() as stack:
        back = stack.enter_context(behind(program, made))
        server = stack.enter_context(front(program, made, "--controllers=namespace-controller"))
        register(server, made, "garden.io", back.port)
        available(server, "garden.io")
        accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
        until("the resource is known", lambda: '"flowers"' in ask(server, "/apis", headers=accept)[2])

        def flower(namespace, **metadata):
            for each in (back, server):
                expect("a namespace", each.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})[0], 201)
            path = f"/apis/garden.io/v1/namespaces/{namespace}/flowers"
            body = {"apiVersion": "garden.io/v1", "kind": "Flower", "metadata": {"name": "rose", **metadata}}
            expect("a flower", server.call("POST", path, body)[0], 201)
            return f"{path}/rose"

        def delete(namespace):
            expect("the deletion", server.call("DELETE", f"/api/v1/namespaces/{namespace}")[0], 200)

        def status_of(namespace, kind):
            conditions = server.call("GET", f"/api/v1/namespaces/{namespace}")[1].get("status", {}).get("conditions", [])
            return next(((one["status"], one["reason"], one["message"]) for one in conditions if one["type"] == kind), None)

        def is_gone(namespace):
            return server.call("GET", f"/api/v1/namespaces/{namespace}")[0] == 404

        rose = flower("plain")
        delete("plain")
        until("the namespace is gone", lambda: is_gone("plain"))
        expect("its flower", back.call("GET", rose)[0], 404)

        rose = flower("held", finalizers=["garden.io/hold"])
        delete("held")
        until("the conditions name it", lambda: status_of("held", "NamespaceContentRemaining") == (
            "True", "SomeResourcesRemain", "Some resources are remaining: flowers.garden.io has 1 resource instances"))
        expect("what holds it", status_of("held", "NamespaceFinalizersRemaining"), (
            "True", "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: garden.io/hold in 1 resource instances"))
        held = back.call("GET", rose)[1]
        held["metadata"]["finalizers"] = []
        expect("without its finalizer", back.call("PUT", rose, held)[0], 200)
        until("the namespace is gone", lambda: is_gone("held"))

        flower("silent")
        back.end(15)
        delete("silent")
        until("an error", lambda: status_of("silent", "NamespaceDeletionContentFailure") == (
            "True", "ContentDeletionFailed", "Failed to delete all resource types, 1 remaining: the server is currently unable to handle the "
                                             "request (delete flowers.garden.io)"))
        # Availability is looked at every half minute.
        until("the condition", limit=120, condition=lambda: status_of("silent", "NamespaceDeletionDiscoveryFailure") == (
            "True", "DiscoveryFailed", "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
                                       "garden.io/v1: stale GroupVersion discovery: garden.io/v1"))
        expect("the namespace", is_gone("silent"), False)
        expect("the APIService", server.call("DELETE", f"{API_SERVICES}/v1.garden.io")[0], 200)
        until("the namespace is gone", lambda: is_gone("silent"))


def contents(program, made):
    """What many objects, odd answers and a slow server do to the deletion of a namespace."""
    with front(program, made, "--controllers=namespace-controller") as server, closing(peer(made, Keeper)) as back:
        back.delay, back.held = 0, {f"a{number}" for number in range(6)} | {f"x{number}" for number in range(6)}
        register(server, made, "keeper.io", back.server_port)
        available(server, "keeper.io")
        accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
        until("the resource is known", lambda: '"things"' in ask(server, "/apis", headers=accept)[2])

        def told(kind):
            conditions = server.call("GET", "/api/v1/namespaces/full")[1].get("status", {}).get("conditions", [])
            return next((one["message"] for one in conditions if one["type"] == kind), "")

        def is_gone(namespace):
            return server.call("GET", f"/api/v1/namespaces/{namespace}")[0] == 404

        def delete(namespace):
            expect("a namespace", server.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})[0], 201)
            expect("the deletion", server.call("DELETE", f"/api/v1/namespaces/{namespace}")[0], 200)

        delete("full")
        until("what stays is counted", lambda: told("NamespaceContentRemaining").endswith(": things.keeper.io has 6 resource instances"))
        expect("an error", told("NamespaceDeletionContentFailure"), "All content successfully deleted, may be waiting on finalization")
        back.held = {f"a{number}" for number in range(10)}
        until("the namespace is gone", lambda: is_gone("full"))

        back.delay, back.held = 3, {f"a{number}" for number in range(10)}
        delete("full")
        delete("other")
        until("what is not done is told", lambda: told("NamespaceDeletionContentFailure").endswith(
            "1 remaining: the server is currently unable to handle the request (delete things.keeper.io a3)"))
        until("other namespaces get their turn", lambda: is_gone("other"), limit=10)
        back.delay = 0
        until("the namespace is gone", lambda: is_gone("full"))


def discovery(program, made):
    with front(program, made) as server, closing(peer(made)) as back:
        before = server.call("GET", "/apis")[1]["groups"]
        register(server, made, "peer.io", back.server_port)
        available(server, "peer.io")
        version = {"groupVersion": "peer.io/v1", "version": "v1"}
        group = {"name": "peer.io", "versions": [version], "preferredVersion": version}
        expect("/apis", server.call("GET", "/apis")[1]["groups"], before + [group])
        expect("the group", server.call("GET", "/apis/peer.io")[1], {"kind": "APIGroup", "apiVersion": "v1", **group})
        expect("the version", server.call("GET", "/apis/peer.io/v1")[1], RESOURCES)
        expect("paths", [path for path in server.call("GET", "/")[1]["paths"] if "peer.io" in path], ["/apis/peer.io", "/apis/peer.io/v1"])
        kind = {"group": "", "version": "", "kind": "Thing"}
        wanted = [{"version": "v1", "freshness": "Current", "resources": [
            {"resource": "things", "responseKind": kind, "scope": "Namespaced", "singularResource": "thing", "verbs": ["get"], "shortNames": ["th"],
             "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["get"]}]}]}]

        def shown(name):
            accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
            items = json.loads(ask(server, "/apis", headers=accept)[2])["items"]
            return next((item["versions"] for item in items if item["metadata"]["name"] == name), None)
        until("what the peer serves is shown", lambda: shown("peer.io") == wanted)
        index = server.call("GET", "/openapi/v3")[1]["paths"]
        expect("documents of its server", [index[path]["serverRelativeURL"] for path in DOCUMENTS[:2]], [f"/openapi/v3/{path}?hash=1" for path in DOCUMENTS[:2]])
        expect("a document of here", index["api/v1"]["serverRelativeURL"] == "/openapi/v3/api/v1?hash=1", False)
        for path in DOCUMENTS[:2]:
            expect(path, server.call("GET", f"/openapi/v3/{path}?hash=1")[1].get("path"), f"/openapi/v3/{path}?hash=1")
        expect("the document of here", "components" in server.call("GET", "/openapi/v3/api/v1")[1], True)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            register(server, made, "silent.io", silent.getsockname()[1])
            expect("what has not answered yet is stale", shown("silent.io"), [{"version": "v1", "freshness": "Stale"}])
        register(server, made, "gone.io", 1)
        until("what cannot be asked is stale", lambda: shown("gone.io") == [{"version": "v1", "freshness": "Stale"}])
        expect("deleted", server.call("DELETE", API_SERVICES + "/v1.peer.io")[0], 200)
        until("it is shown no more", lambda: shown("peer.io") is None)
        expect("nor served", ask(server, "/apis/peer.io/v1")[::2], (404, "404 page not found\n"))


def requests(program, made):
    """What the peer is sent."""
    with front(program, made) as server, closing(peer(made)) as back:
        register(server, made, "peer.io", back.server_port)
        available(server, "peer.io")
        things = "/apis/peer.io/v1/namespaces/n/things"
        headers = {"X-Forwarded-For": "9.9.9.9", "X-Remote-User": "evil", "X-Remote-Extra-Foo": "evil", "Te": "trailers", "Cookie": "a=b",
                   "Audit-Id": "mine", "Impersonate-User": "jane", "Impersonate-Group": "system:masters", "Impersonate-Extra-a%2fb": "c", "Connection": "x-hop",
                   "X-Hop": "1", "Content-Type": "application/json", "Accept-Encoding": "identity"}
        status, answer, text = ask(server, things + "/a%20b%2Fc?b=2&a=1%2F;x&c", "POST", '{"a":1}', headers)
        expect("the answer", status, 200)
        told = json.loads(text)
        expect("what is asked", (told["method"], told["path"], told["body"]), ("POST", things + "/a%20b/c?b=2&c=", '{"a":1}'))
        host = f"localhost:{back.server_port}"
        expect("its headers", sorted(map(tuple, told["headers"])), sorted({
            "Accept-Encoding": "identity", "Audit-Id": "mine", "Content-Length": "7", "Content-Type": "application/json", "Cookie": "a=b",
            "Host": host, "Te": "trailers", "X-Forwarded-For": "9.9.9.9, 127.0.0.1", "X-Forwarded-Host": host, "X-Forwarded-Proto": "https",
            "X-Forwarded-Uri": things + "/a%20b/c", "X-Remote-Extra-A%2fb": "c", "X-Remote-User": "jane"}.items()
            | {("X-Remote-Group", "system:masters"), ("X-Remote-Group", "system:authenticated")}))
        expect("the audit ID", answer.get_all("Audit-Id"), ["mine"])


def answers(program, made):
    """What comes of what the peer answers."""
    with front(program, made) as server, closing(peer(made)) as back:
        register(server, made, "peer.io", back.server_port)
        available(server, "peer.io")
        things = "/apis/peer.io/v1/namespaces/n/things/"
        expect("a redirect", ask(server, things + "redirect")[::2], (502, REDIRECTED))
        headers = ask(server, things + "headers", headers={"Audit-Id": "mine"})[1]
        expect("headers", [headers.get_all(name) for name in ("Audit-Id", "Access-Control-Allow-Origin", "X-Hop", "X-Own")],
               [["mine", "peer"], None, None, ["2"]])
        expect("no answer", ask(server, things + "drop")[::2], (503, "error trying to reach service: EOF\n"))
        try:
            ask(server, things + "cut")
            fail("half an answer passed for a whole one")
        except (http.client.HTTPException, OSError):
            pass
        connection = server.connect()
        connection.request("GET", things + "pieces")
        answer = connection.getresponse()
        back.head_seen.set()
        expect("pieces", (answer.status, answer.headers.get("Transfer-Encoding"), answer.read()), (200, "chunked", b"abcd\n" * 3))
        expect("HEAD", ask(server, things + "x", "HEAD")[::2], (200, ""))
        for what, (_, text) in UNFIT.items():
            expect(what, ask(server, things + what)[::2], (503, text))
        # What has been compressed unasked would have to be held inflated.
        told = json.loads(ask(server, things + "x", headers={"Accept-Encoding": "deflate"})[2])
        expect("what a client accepts", dict(map(tuple, told["headers"]))["Accept-Encoding"], "deflate")
        connection.putrequest("GET", things + "x", skip_accept_encoding=True)
        connection.endheaders()
        told = json.loads(connection.getresponse().read())
        expect("what is asked for a client that accepts anything", dict(map(tuple, told["headers"]))["Accept-Encoding"], "identity")
    with front(program, made, "--aggregator-reject-forwarding-redirect=false") as server, closing(peer(made)) as back:
        register(server, made, "peer.io", back.server_port)
        available(server, "peer.io")
        status, headers, _ = ask(server, "/apis/peer.io/v1/redirect")
        expect("a redirect that is allowed", (status, headers["Location"]), (302, f"https://localhost:{back.server_port}/elsewhere"))


def handshake(server, what, head="", body=b""):
    """A connection that asks for an upgrade."""
    connection = server.connect()
    connection.connect()
    connection.sock.sendall(
        f"{'POST' if body else 'GET'} /apis/peer.io/v1/namespaces/n/things/x/{what} HTTP/1.1\r\nHost: me\r\nConnection: keep-alive, Upgrade\r\n"
        f"Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{head}\r\n".encode() + body)
    return connection.sock


def read_to(sock, end):
    received = b""
    while not received.endswith(end):
        piece = sock.recv(1)
        if not piece:
            fail(f"ended after {received!r}")
        received += piece
    return received


def read_all(sock):
    received = b""
    while piece := sock.recv(65536):
        received += piece
    return received


def opened(server, head="", body=b""):
    """A connection to the peer's echo, and what that has been asked."""
    sock = handshake(server, "echo", head, body)
    answer = read_to(sock, b"\r\n\r\n")
    expect("the handshake", answer, b"HTTP/1.1 101 Some  Text\r\nupgrade: websocket\r\nConnection: Upgrade\r\n"
           b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
    length = int(read_to(sock, b" "))
    told = b""
    while len(told) < length:
        told += sock.recv(length - len(told))
    return sock, json.loads(told)


def upgrades(program, made):
    """Connections that are given away."""
    with front(program, made) as server, closing(peer(made)) as back:
        register(server, made, "peer.io", back.server_port)
        available(server, "peer.io")
        head = ("X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Uri: /kept\r\nX-Remote-User: evil\r\nAudit-Id: mine\r\nKeep-Alive: 5\r\nContent-Length: 3\r\n")
        sock, told = opened(server, head, b"abc")
        expect("the body", told["body"], "abc")
        given = {(name.lower(), value) for name, value in told["headers"] if not name.lower().startswith("x-remote-extra-")}
        groups = {("x-remote-group", "system:masters"), ("x-remote-group", "system:authenticated")}
        user = {(name, value) for name, value in given if name == "x-remote-user"} - {("x-remote-user", "evil")}
        expect("who asks", len(user), 1)
        expect("the headers", given, user | groups | set({
            "audit-id": "mine", "connection": "keep-alive, Upgrade", "content-length": "3", "host": f"localhost:{back.server_port}", "keep-alive": "5",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "13", "upgrade": "websocket", "user-agent": "Go-http-client/1.1",
            "x-forwarded-for": "9.9.9.9, 127.0.0.1", "x-forwarded-uri": "/kept"}.items()))
        frame = b"\x81\x85\x01\x02\x03\x04" + bytes(byte ^ (index % 4 + 1) for index, byte in enumerate(b"hello"))
        sock.sendall(frame)
        expect("a frame", read_to(sock, frame), frame)
        sent = bytes(range(251)) * 32768  # 8 MiB: more than is held of either direction
        writer = threading.Thread(target=sock.sendall, args=(sent,), daemon=True)
        writer.start()
        received = bytearray()
        while len(received) < len(sent):
            received += sock.recv(65536)
        writer.join()
        expect("what is sent comes back", bytes(received) == sent, True)
        sock.sendall(b"bye")
        expect("the peer ends", read_all(sock), b"bye")
        sock, _ = opened(server)
        sock.close()
        if not back.left.wait(20):
            fail("a client that leaves is kept")
        for what, (_, wanted) in REFUSALS.items():
            sock = handshake(server, what, "X-End: 1\r\n")
            if wanted.startswith("HTTP/"):
                expect(what, read_all(sock).decode(), wanted)
            else:
                head, text = read_to(sock, wanted.encode()).decode().split("\r\n\r\n")
                expect(what, (head.splitlines()[0], text), ("HTTP/1.1 503 Service Unavailable", wanted))
        sock, _ = opened(server)
        expect("the server's end", server.end(15), 0)
        expect("ends the connection", sock.recv(1), b"")


def conditions(program, made):
    """Why a server is not available."""
    foreign = base64.b64encode(pathlib.Path(made.path("fronts.crt")).read_bytes()).decode()
    with front(program, made) as server, closing(peer(made)) as back:
        port = back.server_port
        register(server, made, "ca.io", port, caBundle=foreign)
        register(server, made, "name.io", port, service="other")
        register(server, made, "refused.io", 1)
        register(server, made, "status.io", port, service="other", caBundle=None, insecureSkipTLSVerify=True)
        available(server, "status.io")
        register(server, made, "skip.io", port, service="other", caBundle=None, insecureSkipTLSVerify=True)
        server.call("POST", SERVICES, {"metadata": {"name": "ip"}, "spec": {"ports": [{"name": "a", "port": 443}]}})
        register(server, made, "port.io", 444, service="ip")
        register(server, made, "endpoints.io", 443, service="ip")
        failed = "failing or missing response from https://localhost:{0}/apis/{1}/v1: Get \"https://localhost:{0}/apis/{1}/v1\": {2}"
        tls = "tls: failed to verify certificate: x509: certificate "
        for group, reason, message in [
                ("ca.io", "FailedDiscoveryCheck", failed.format(port, "ca.io", tls + "signed by unknown authority")),
                ("name.io", "FailedDiscoveryCheck", failed.format(port, "name.io", tls + "is valid for back.default.svc, not other.default.svc")),
                ("refused.io", "FailedDiscoveryCheck", failed.format(1, "refused.io", "dial tcp 127.0.0.1:1: connect: connection refused")),
                ("port.io", "ServicePortError", 'service/ip in "default" is not listening on port 444'),
                ("endpoints.io", "EndpointsNotFound", 'cannot find endpointslices for service/ip in "default"')]:
            until(f"{group} is judged", lambda: condition(server, group)[0] is not None)
            expect(group, condition(server, group), ("False", reason, message))
            status, headers, text = ask(server, f"/apis/{group}/v1")
            expect(group, (status, headers["Content-Type"], headers["X-Content-Type-Options"], text),
                   (503, "text/plain; charset=utf-8", "nosniff", "service unavailable\n"))
        available(server, "skip.io")
        patch = ask(server, API_SERVICES + "/v1.status.io", "PATCH", '{"spec":{"service":{"port":1}}}', {"Content-Type": "application/merge-patch+json"})
        expect("another port", patch[0], 200)
        until("it is not available any more", lambda: condition(server, "status.io")[0] == "False")
        metrics = ask(server, "/metrics")[2]
        for line in ('aggregator_unavailable_apiservice{name="v1.ca.io"} 1', 'aggregator_unavailable_apiservice{name="v1.skip.io"} 0',
                     'aggregator_unavailable_apiservice_total{name="v1.status.io",reason="FailedDiscoveryCheck"} 1'):
            if line not in metrics:
                fail(f"/metrics lacks {line}")
        wanted = ('apiserver_request_terminations_total{', 'code="503"', 'component="aggregator"', 'subresource="/apis/ca.io/v1"', 'verb="GET"', "} 1")
        if not any(all(part in line for part in wanted) for line in metrics.splitlines()):
            fail("/metrics lacks a request that was not passed on")


def routing(program, made):
    """With --enable-aggregator-routing, which wants endpoints. None can be on the loopback: EndpointSlices refuse it."""
    with front(program, made, "--enable-aggregator-routing") as server, closing(peer(made)) as back:
        register(server, made, "peer.io", back.server_port)
        until("it is judged", lambda: condition(server, "peer.io")[0] is not None)
        expect("a name", condition(server, "peer.io"), ("False", "FailedDiscoveryCheck", 'unsupported service type "ExternalName"'))
        expect("a request", ask(server, "/apis/peer.io/v1")[::2], (503, "service unavailable\n"))


def endings(program, made):
    """A server ends with a watch under way, and a client that leaves takes its watch along."""
    with front(program, made) as server, closing(peer(made)) as back:
        register(server, made, "peer.io", back.server_port)
        available(server, "peer.io")
        connection = server.connect()
        connection.request("GET", "/apis/peer.io/v1/namespaces/n/things/pieces?watch=1")
        expect("the head", connection.getresponse().status, 200)
        started = time.monotonic()
        expect("the end", server.end(15), 0)
        if time.monotonic() - started > 15:
            fail("the server waited for the watch")
        back.head_seen.set()


if __name__ == "__main__":
    run("aggregation", __doc__, [custom_resources, namespaces, contents, discovery, requests, answers, upgrades, conditions, routing, endings], pki)
