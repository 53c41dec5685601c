#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that try to make the server hold more than it has: bodies that are never finished, answers
and watches that are not read, many watches and large lists at once, single requests that once took gigabytes, policies that
take much. Each story prints the peak of memory before and after (VmHWM, MiB) and
fails if it took more than its bound or if others were not served meanwhile.

    tests/faults/exhaustion.py --build build/release [--scale 0.1] [--only NAME]

The figures in docs/reliability.md are of --scale 1, which takes a few minutes.
"""

import argparse
import base64
import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import ssl
import struct
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from process import CONFIGMAPS, Server  # noqa: E402

MIB = 1 << 20
LIMIT = 15  # --request-timeout, seconds
USERS = "admin-token,admin,1,system:masters\nuser-token,user,2,system:masters\n"


def memory(server, name="VmHWM"):
    """MiB."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split(name + ":")[1].split()[0]) / 1024


def forget_peak(server):
    pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


def others_are_served(server, story):
    """Reads and writes of another client; returns the slowest, in seconds."""
    slowest = 0
    for number in range(5):
        started = time.monotonic()
        name = f"{story}-{os.getpid()}-{time.monotonic_ns()}-{number}"
        status, answer = server.call("POST", CONFIGMAPS, {"metadata": {"name": name}})
        assert status == 201, f"{story}: another client's write: {status} {answer}"
        status, answer = server.call("GET", f"{CONFIGMAPS}/{name}")
        assert status == 200, f"{story}: another client's read: {status} {answer}"
        slowest = max(slowest, time.monotonic() - started)
    return slowest


def open_tls(server, protocols=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(protocols)
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    plain.settimeout(20)
    plain.connect(("127.0.0.1", server.port))
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def ask(connection, method, path, body=None):
    """Status, Retry-After and text of an answer that need not be JSON."""
    connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.headers.get("Retry-After"), answer.read()


def within(story, server, before, bound):
    after = memory(server)
    print(f"{story}: VmHWM {before:.0f} MiB before, {after:.0f} MiB after (bound {bound:.0f})", flush=True)
    assert after <= bound, f"{story}: {after:.0f} MiB, more than {bound:.0f}"


def wait_for(story, what, condition, limit):
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, f"{story}: {what} not within {limit} s"
        time.sleep(0.2)


def is_closed(sock):
    """Without waiting; reads what there is."""
    sock.settimeout(0.01)
    try:
        while sock.recv(65536):
            pass
        return True
    except (socket.timeout, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


def half_sent(story, server, count, headers):
    """TLS connections that each send most of a body of 3 MB and no more."""
    forget_peak(server)
    before = memory(server)
    head = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: a\r\n{headers}Content-Type: application/json\r\n" \
           f"Content-Length: 3000000\r\n\r\n".encode()
    part = b'{"data":{"a":"' + b"x" * 2_900_000

    def send(_):
        sock = open_tls(server)
        sock.settimeout(0.3)  # the server need not read all of it
        try:
            sock.sendall(head)
            view = memoryview(part)
            for at in range(0, len(part), 65536):
                sock.sendall(view[at:at + 65536])
        except OSError:
            pass
        return sock

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        socks = list(pool.map(send, range(count)))
    slowest = others_are_served(server, story)
    print(f"{story}: {count} bodies half sent, the slowest of others' requests took {slowest:.2f} s")
    within(story, server, before, 150)
    wait_for(story, "all given up", lambda: all(is_closed(sock) for sock in socks), LIMIT + 15)
    for sock in socks:
        sock.close()


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A field of HPACK without an index or Huffman code."""
    def text(data):
        assert len(data) < 127
        return bytes((len(data),)) + data
    return b"\0" + text(name.encode()) + text(value.encode())


def get(stream, path, token):
    fields = [(":method", "GET"), (":scheme", "https"), (":path", path), (":authority", "a"),
              ("authorization", f"Bearer {token}")]
    return frame(1, 5, stream, b"".join(literal(*field) for field in fields))


def resets(sock):
    """The streams that the server has reset so far."""
    found = set()
    data = b""
    sock.settimeout(0.2)
    try:
        while piece := sock.recv(65536):
            data += piece
    except (socket.timeout, ssl.SSLWantReadError):
        pass
    while len(data) >= 9:
        size = int.from_bytes(data[:3], "big")
        if data[3] == 3:
            found.add(int.from_bytes(data[5:9], "big"))
        data = data[9 + size:]
    return found


def fill(server, namespace, count, size):
    server.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    path = f"/api/v1/namespaces/{namespace}/configmaps"

    def create(numbers):
        connection = server.connect()
        for number in numbers:
            status, answer = server.call("POST", path, {"metadata": {"name": f"m{number}"}, "data": {"a": "x" * size}},
                                         connection)
            assert status == 201, answer

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(create, [range(first, count, 8) for first in range(8)]))
    return path


def unread_answers(story, server, scale):
    """HTTP/2 streams without a window that ask for 20 MB each."""
    path = fill(server, "large", 200, int(100_000 * scale))
    forget_peak(server)
    before = memory(server)
    socks = []
    for _ in range(2):
        sock = open_tls(server, ["h2"])
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, struct.pack(">HI", 4, 0)))
        sock.sendall(b"".join(get(1 + 2 * i, path, "user-token") for i in range(40)))
        socks.append(sock)
    time.sleep(5)
    slowest = others_are_served(server, story)
    print(f"{story}: 80 answers of {20 * scale:.0f} MB unread, the slowest of others' requests took {slowest:.2f} s")
    within(story, server, before, 300)
    gone = [set(), set()]

    def all_reset():
        for seen, sock in zip(gone, socks):
            seen |= resets(sock)
        return all(len(seen) == 40 for seen in gone)

    wait_for(story, "all cut off", all_reset, LIMIT + 15)


def unread_watches(story, server, scale):
    """Watches with initial list that nobody reads."""
    # 15 MB at every scale: what fits into the sockets' buffers is no burden to the server.
    path = fill(server, "many", int(60_000 * scale), int(250 / scale) - 240)
    forget_peak(server)
    before = memory(server)
    few = len(os.listdir(f"/proc/{server.process.pid}/fd")) + 5
    socks = []
    for _ in range(60):
        sock = open_tls(server)
        sock.sendall(f"GET {path}?watch=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer user-token\r\n\r\n".encode())
        socks.append(sock)
    time.sleep(5)
    slowest = others_are_served(server, story)
    print(f"{story}: 60 watches unread, the slowest of others' requests took {slowest:.2f} s")
    within(story, server, before, 200)

    def open_files():
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    wait_for(story, "all cut off", lambda: open_files() < few, LIMIT + 15)
    for sock in socks:
        sock.close()


def silent_watches(story, server, scale):
    """Watches that are read, and hear nothing of 1,500 writes of 20 KB to other namespaces."""
    path = fill(server, "silent", 1, 10)
    head = f"GET {path}?watch=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer user-token\r\n\r\n".encode()
    socks = []
    for _ in range(int(1000 * scale)):
        socks.append(open_tls(server))
        socks[-1].sendall(head)
    wait_for(story, "all began", lambda: all(sock.recv(65536) for sock in socks), LIMIT)
    forget_peak(server)
    before = memory(server)
    fill(server, "loud", 1500, 20_000)
    slowest = others_are_served(server, story)
    print(f"{story}: {len(socks)} watches silent, the slowest of others' requests took {slowest:.2f} s")
    # What was written is 30 MB, kept as objects and as history.
    within(story, server, before, before + 100)
    for sock in socks:
        sock.close()


def lists_at_once(story, server, scale):
    """24 clients that each read a list of 60,000 objects at the same time."""
    path = fill(server, "many", int(60_000 * scale), int(250 / scale) - 240)
    forget_peak(server)
    before = memory(server)

    def read(_):
        connection = server.connect()
        connection.request("GET", path)
        answer = connection.getresponse()
        size = 0
        while piece := answer.read(1 << 20):
            size += len(piece)
        return answer.status, size

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        lists = [pool.submit(read, number) for number in range(24)]
        slowest = others_are_served(server, story)
        answers = {one.result() for one in lists}
    assert len(answers) == 1 and next(iter(answers))[0] == 200, f"{story}: {answers}"
    print(f"{story}: 24 lists of {next(iter(answers))[1] / 1e6:.0f} MB, "
          f"the slowest of others' requests took {slowest:.2f} s")
    within(story, server, before, before + 150)


def processor_time(server):
    """Seconds."""
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one_request(story, server, method, path, body, wanted, bound):
    connection = server.connect()
    connection.timeout = 60
    forget_peak(server)
    before, used = memory(server), processor_time(server)
    status, answer = server.call(method, path, body, connection)
    assert status == wanted, f"{story}: {method} {path}: {status} {str(answer)[:1000]}"
    print(f"{story}: {method} of {len(json.dumps(body)) / 1e6:.2f} MB answered with {status}, "
          f"{processor_time(server) - used:.2f} s of processor time")
    within(story, server, before, before + bound)


def large_pods(story, server, scale):
    """A pod of 20,000 containers, which has become too large for the store when it has its defaults, and an
    update of a pod of 650 KB that is refused with the difference."""
    server.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    pods = "/api/v1/namespaces/default/pods"
    containers = [{"name": f"c{number}", "image": "i"} for number in range(int(20_000 * scale))]
    one_request(story, server, "POST", pods, {"metadata": {"name": "many"}, "spec": {"containers": containers}},
                500 if scale == 1 else 201, 300)

    def pod(value):
        env = [{"name": f"N{number}", "value": f"{value}-{number:025}"} for number in range(int(10_000 * scale))]
        return {"metadata": {"name": "large"}, "spec": {"containers": [{"name": "c", "image": "i", "env": env}]}}

    status, answer = server.call("POST", pods, pod("one"))
    assert status == 201, answer
    one_request(story, server, "PUT", f"{pods}/large", pod("other"), 422, 100)


def memory_limit(story, server, _):
    """Objects are stored until there is no memory for more; then some are deleted."""
    limit = int(FLAGS[story][0].split("=")[1].removesuffix("Mi"))
    path = fill(server, "full", 0, 0)
    admin = server.connect()
    text = base64.b64encode(os.urandom(750_000)).decode()
    stored = 0
    def store(number):
        return ask(admin, "POST", path, {"metadata": {"name": f"m{number}"}, "data": {"a": text}})

    while store(stored)[0] == 201:
        stored += 1
        assert stored < 2 * limit, f"{story}: {stored} objects of 1 MB stored"
    refused = store(stored)
    assert refused[:2] == (429, "1"), f"{story}: {refused}"

    def watch_is_refused():
        nonlocal stored, refused
        refused = ask(admin, "GET", path + "?watch=1&timeoutSeconds=1")
        while refused[0] == 200 and store(stored)[0] == 201:  # what the refused write has given back was enough
            stored += 1
            assert stored < 2 * limit, f"{story}: {stored} objects of 1 MB stored"
        return refused[0] != 200

    wait_for(story, "a watch is refused", watch_is_refused, 30)
    assert refused[:2] == (503, "1") and b'"reason":"ServiceUnavailable"' in refused[2], f"{story}: {refused}"
    assert ask(admin, "GET", "/livez")[0] == 200
    # Pages of files do not count: the kernel takes those back as it likes.
    used = memory(server, "RssAnon")
    assert used <= limit, f"{story}: {used:.0f} MiB of {limit}"
    for number in range(stored):
        status, _, answer = ask(admin, "DELETE", f"{path}/m{number}")
        assert status == 200, f"{story}: a deletion is answered {status} {answer}"
    wait_for(story, "writes again", lambda: store(stored)[0] == 201, 30)
    print(f"{story}: {stored} objects of 1 MB stored in {used:.0f} of {limit} MiB, and writes go on after they are deleted")


def enforce(server, kind, spec, binding, operation="CREATE"):
    """A policy for config maps with data in the namespace default, in force when this returns."""
    group, name = "/apis/admissionregistration.k8s.io/v1", kind.lower().replace("policy", "policies")
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": ["configmaps"]}
    condition = {"name": "data", "expression": "has((object == null ? oldObject : object).data)"}
    policy = {"metadata": {"name": "p"}, "spec": {"failurePolicy": "Fail", "matchConditions": [condition], "matchConstraints": {
        "resourceRules": [rule], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, **spec}}
    for path, body in (name, policy), (f"{kind.lower()}bindings", {"metadata": {"name": "p"},
                                                                   "spec": {"policyName": "p", **binding}}):
        status, answer = server.call("POST", f"{group}/{path}", body)
        assert status == 201, answer


def copies(count):
    """`count` variables that each make 10 copies of the text of an object, and one expression that reads all."""
    texts = {f"v{n}": f"object.data.n.split(',').map(i, object.data.x + i + '{n}')" for n in range(count)}
    return [{"name": name, "expression": text} for name, text in texts.items()], \
        " && ".join(f"variables.{name}.size() > 0" for name in texts)


LARGE = {"metadata": {"name": "judged"}, "data": {"n": "0,1,2,3,4", "x": "x" * 900_000}}


def policy_parameters(story, server, scale):
    """A policy that takes 18 MB for a large object, then one that changes it nine times, meets 50 parameters."""
    for number in range(int(50 * scale)):
        status, answer = server.call("POST", CONFIGMAPS, {"metadata": {"name": f"p{number}", "labels": {"p": "1"}}})
        assert status == 201, answer
    variables, expression = copies(2)
    binding = {"paramRef": {"selector": {"matchLabels": {"p": "1"}}, "parameterNotFoundAction": "Deny"}}
    params = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "variables": variables}
    enforce(server, "ValidatingAdmissionPolicy", {**params, "validations": [{"expression": expression}]},
            {"validationActions": ["Deny"], **binding})
    one_request(story, server, "POST", CONFIGMAPS + "?dryRun=All", LARGE, 201, 50)
    server.call("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/p")
    patch = "[JSONPatch{op: 'replace', path: '/data/x', value: object.data.x + '.'}]"
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}] * 9
    enforce(server, "MutatingAdmissionPolicy", {
        "paramKind": params["paramKind"], "reinvocationPolicy": "Never", "mutations": mutations}, binding)
    one_request(story, server, "POST", CONFIGMAPS + "?dryRun=All", LARGE, 201, 30)


def judged_deletions(story, server, scale):
    """A collection of 2,000 objects is deleted, each of which takes 200 KB to judge."""
    text = ",".join(f"{number % 90:02}" for number in range(12_000))
    for number in range(int(2000 * scale)):
        status, answer = server.call("POST", CONFIGMAPS, {"metadata": {"name": f"m{number}"}, "data": {"x": text}})
        assert status == 201, answer
    enforce(server, "ValidatingAdmissionPolicy",
            {"validations": [{"expression": "oldObject.data.x.split(',').all(i, i != 'q')"}]},
            {"validationActions": ["Deny"]}, "DELETE")
    one_request(story, server, "DELETE", CONFIGMAPS, None, 200, 20 + 30 * scale)


def limited_request(story, server, _):
    """A policy that takes 360 MB for one object, which is more than the limit: the request ends, the server does not."""
    limit = int(FLAGS[story][0].split("=")[1].removesuffix("Mi"))
    variables, expression = copies(40)
    enforce(server, "ValidatingAdmissionPolicy", {"variables": variables, "validations": [{"expression": expression}]},
            {"validationActions": ["Deny"]})
    # Pages of files count in the peak, and not in the limit.
    one_request(story, server, "POST", CONFIGMAPS, LARGE, 500, limit - memory(server, "RssAnon") + 10)
    others_are_served(server, story)


STORIES = {
    "half-sent-by-strangers": lambda name, server, scale: half_sent(name, server, int(1000 * scale), ""),
    "half-sent-by-a-user": lambda name, server, scale: half_sent(
        name, server, int(1000 * scale), "Authorization: Bearer user-token\r\n"),
    "unread-answers": unread_answers,
    "unread-watches": unread_watches,
    "silent-watches": silent_watches,
    "lists-at-once": lists_at_once,
    "large-pods": large_pods,
    "policy-parameters": policy_parameters,
    "judged-deletions": judged_deletions,
    "limited-request": limited_request,
    "memory-limit": memory_limit,
}
FLAGS = dict.fromkeys(("limited-request", "memory-limit"), ["--memory-limit=160Mi"])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default="build/release")
    arguments.add_argument("--scale", type=float, default=0.1)
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    program = pathlib.Path(given.build) / "portcullis"
    for name, story in STORIES.items():
        if given.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            tokens = pathlib.Path(folder) / "tokens.csv"
            tokens.write_text(USERS)
            server = Server(program, folder, f"--token-auth-file={tokens}", f"--request-timeout={LIMIT}s",
                            "--anonymous-auth=false", *FLAGS.get(name, []))
            try:
                story(name, server, given.scale)
            finally:
                server.end(signal.SIGTERM)
    print("every story within its bound")


if __name__ == "__main__":
    main()
