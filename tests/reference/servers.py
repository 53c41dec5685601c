# SPDX-License-Identifier: Apache-2.0

"""Starts a kube-apiserver (with etcd) and Portcullis with the same keys, tokens and flags, new and empty, on free ports of
the loopback."""

import contextlib
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "harness"))
from ports import free_port  # noqa: E402

TOKEN = "reference-token"
FLAGS = ["--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
         "--service-account-issuer=https://kubernetes.default.svc", "--bind-address=127.0.0.1"]

AUDIT_POLICY = '{"kind":"Policy","apiVersion":"audit.k8s.io/v1","omitStages":["RequestReceived"],"rules":[{"level":"Request"}]}'


def make_credentials(folder):
    """The flags that name them."""
    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=folder)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-days", 30, "-subj", "/CN=ca")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=kube-apiserver")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", 30, "-out", "server.crt",
            "-extfile", "names")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "client.key", "-out", "client.csr", "-subj", "/CN=client")
    openssl("x509", "-req", "-in", "client.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", 30, "-out", "client.crt")
    openssl("genrsa", "-out", "sa.key", 2048)
    openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
    (folder / "tokens.csv").write_text(f'{TOKEN},reference,reference-uid,"system:masters"\n')
    return [f"--client-ca-file={folder}/ca.crt", f"--tls-cert-file={folder}/server.crt", f"--tls-private-key-file={folder}/server.key",
            f"--service-account-key-file={folder}/sa.pub", f"--service-account-signing-key-file={folder}/sa.key",
            f"--token-auth-file={folder}/tokens.csv"]


def client_certificate(folder):
    """The files of the certificate and of the key of the user "client"."""
    return str(folder / "client.crt"), str(folder / "client.key")


def start(command, log, stack):
    with open(log, "w") as sink:
        process = subprocess.Popen([str(word) for word in command], stdout=sink, stderr=sink, stdin=subprocess.DEVNULL)
    stack.callback(stop, process)
    return process


def stop(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()


def wait_for(url, process, log, seconds=120):
    context, end = ssl._create_unverified_context(), time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
            with urllib.request.urlopen(request, context=context, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"{url} does not answer:\n{pathlib.Path(log).read_text()[-2000:]}")


@contextlib.contextmanager
def started(arguments):
    """(URL of the reference, URL of ours, their audit logs if admission is compared); servers that run already are left alone."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="compare-")))
        flags, audit_logs = FLAGS + arguments.flags, []
        reference, ours = arguments.reference, arguments.ours
        if not reference or not ours:
            flags += make_credentials(folder)
            arguments.certificate = client_certificate(folder)
        if arguments.admission and not reference and not ours:
            (folder / "audit.json").write_text(AUDIT_POLICY)
            flags.append(f"--audit-policy-file={folder}/audit.json")
            audit_logs = [folder / "reference-audit.log", folder / "ours-audit.log"]
        release = arguments.release
        emulated = [f"--emulated-version=kube={release}"] if release else []
        as_release = [f"--kubernetes-version={release}"] if release else []
        audit = [[f"--audit-log-path={log}"] for log in audit_logs] or [[], []]
        if not reference:
            etcd, peer, port = free_port(), free_port(), free_port()
            store = f"http://127.0.0.1:{etcd}"
            process = start([arguments.etcd, "--data-dir", folder / "etcd", "--log-level", "warn", "--unsafe-no-fsync", "--listen-client-urls", store,
                             "--advertise-client-urls", store, "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                             "--initial-cluster", f"default=http://127.0.0.1:{peer}"], folder / "etcd.log", stack)
            wait_for(store + "/health", process, folder / "etcd.log")
            reference = f"https://127.0.0.1:{port}"
            process = start([arguments.reference_binary, f"--etcd-servers={store}", f"--secure-port={port}", f"--cert-dir={folder}/certs",
                             "--allow-privileged=true", *flags, *emulated, *audit[0]], folder / "reference.log", stack)
            wait_for(reference + "/readyz", process, folder / "reference.log")
        if not ours:
            port = free_port()
            ours = f"https://127.0.0.1:{port}"
            process = start([arguments.ours_binary, "serve", "--store=memory", f"--data-dir={folder}/ours", f"--secure-port={port}",
                             "--controllers=-*", *flags, *as_release, *audit[1]], folder / "ours.log", stack)
            wait_for(ours + "/readyz", process, folder / "ours.log")
        yield reference, ours, audit_logs
