#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`portcullis webhook` in front of a real `portcullis serve` that does not run the plugins itself: registered with
what --print-config prints, by kubectl, over TLS.

    tests/integration/webhook_command.py --build build/release
"""

import contextlib
import http.client
import json
import pathlib
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from story import expect, fail, run, serving, until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/kubectl"))
import kubectl  # noqa: E402

POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replica-limit}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - expression: object.spec.replicas <= int(params.data.most)
    messageExpression: "'at most ' + params.data.most + ' replicas, not ' + string(object.spec.replicas)"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replica-limit}
spec:
  policyName: replica-limit
  paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {environment: test}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: owner}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "add", path: "/metadata/labels", value: {"owner": request.userInfo.username}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: owner}
spec: {policyName: owner}
"""
LIMITS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: default}\ndata: {most: '5'}\n"


class Webhook:
    def __init__(self, program, folder, *flags):
        self.folder = pathlib.Path(folder)
        self.program, self.flags = program, [f"--cert-dir={folder}/certs", *flags]
        self.log = open(self.folder / "webhook.log", "w+")
        self.process = subprocess.Popen([program, "webhook", "--secure-port=0", *self.flags], stderr=self.log,
                                        stdout=self.log)
        until("the webhook serves", lambda: self.process.poll() is not None or self.found())
        if not self.found():
            fail("the webhook did not start:\n" + self.text())
        self.port = int(self.found().group(1))
        made = self.folder / "certs/ca.crt"
        self.context = ssl.create_default_context(cafile=made if made.exists() else None)

    def text(self):
        return (self.folder / "webhook.log").read_text()

    def found(self):
        return re.search(r"serving address=127\.0\.0\.1:(\d+)", self.text())

    def call(self, method, path, body=None, headers=None):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=10)
        connection.request(method, path, body, headers or {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def ready(self):
        until("the webhook is ready", lambda: self.call("GET", "/readyz")[0] == 200)

    def configuration(self, *flags):
        done = subprocess.run([self.program, "webhook", "--print-config", f"--url=https://127.0.0.1:{self.port}",
                               *self.flags, *flags], capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"--print-config: {done.stderr}")
        return done.stdout


@contextlib.contextmanager
def answering(program, folder, *flags):
    webhook = Webhook(program, folder, *flags)
    try:
        yield webhook
    finally:
        if webhook.process.poll() is None:
            webhook.process.send_signal(signal.SIGTERM)
            expect("exit status of the webhook", webhook.process.wait(30), 0)
        webhook.log.close()


def client(server, program):
    """Runs kubectl against the server: (exit status, what it printed)."""
    def call(*words, text=None):
        done = subprocess.run([program, f"--kubeconfig={server.folder}/admin.kubeconfig", *words], input=text,
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr
    return call


def pod(**spec):
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"},
                       "spec": {"containers": [{"name": "c", "image": "i"}], **spec}})


def of_files(program, kube):
    """Policies of files, parameters and namespaces of the cluster."""
    with serving(program) as server, tempfile.TemporaryDirectory() as folder:
        ctl = client(server, kube)
        policies = pathlib.Path(folder, "policies")
        policies.mkdir()
        (policies / "policy.yaml").write_text(POLICY)
        with answering(program, folder, f"--policies={policies}",
                       f"--kubeconfig={server.folder}/admin.kubeconfig") as webhook:
            webhook.ready()
            code, out = ctl("apply", "-f", "-", text=webhook.configuration())
            expect("the configurations are applied", code, 0)
            ctl("create", "namespace", "a")
            ctl("label", "namespace", "a", "environment=test")
            ctl("create", "configmap", "limits", "--from-literal=most=5")
            until("the parameters are followed", lambda: "at most 5" in ctl(
                "create", "-n", "a", "deployment", "d", "--image=i", "--replicas=7", "--dry-run=server")[1])
            code, out = ctl("create", "-n", "a", "deployment", "d", "--image=i", "--replicas=7")
            expect("what kubectl says", out.strip(), (
                "error: failed to create deployment: admission webhook \"validate.portcullis.portcullis.dev\" denied the "
                "request: deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'replica-limit' with binding "
                "'replica-limit' denied request: at most 5 replicas, not 7"))
            ctl("create", "configmap", "other", "--from-literal=a=b")
            expect("a small one", ctl("create", "-n", "a", "deployment", "d", "--image=i")[0], 0)
            code, out = ctl("get", "-n", "a", "deployment", "d", "-o", "jsonpath={.metadata.labels.owner}")
            expect("the label of the mutating policy", out, "kubernetes-admin")
            # A change of the parameters counts once it has been followed.
            ctl("patch", "configmap", "limits", "--type=merge", "-p", '{"data":{"most":"8"}}')
            until("changed parameters are followed", lambda: ctl(
                "create", "-n", "a", "deployment", "e", "--image=i", "--replicas=7", "--dry-run=server")[0] == 0)
            # A namespace that is made and used at once has its labels when it is judged.
            text = ('{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"b","labels":{"environment":"test"}}}\n')
            ctl("create", "-f", "-", text=text)
            code, out = ctl("create", "-n", "b", "deployment", "d", "--image=i", "--replicas=9")
            if code == 0 or "at most 8" not in out:
                fail(f"a new namespace was judged without its labels: {out}")
            status, page = webhook.call("GET", "/metrics")
            if not re.search(r'controller_runtime_webhook_requests_total\{code="200",webhook="/validate"\} [1-9]', page):
                fail(f"no metric of the reviews:\n{page}")


def of_plugins(program, kube):
    """Built-in plugins with what a cluster has."""
    plugins = "AlwaysPullImages,LimitRanger,PodSecurity,PodNodeSelector"
    with serving(program, "--disable-admission-plugins=LimitRanger,PodSecurity,ServiceAccount") as server, \
            tempfile.TemporaryDirectory() as folder:
        ctl = client(server, kube)
        with answering(program, folder, f"--enable-admission-plugins={plugins}",
                       f"--kubeconfig={server.folder}/admin.kubeconfig") as webhook:
            webhook.ready()
            text = webhook.configuration()
            if re.search(r"'\*'", text):
                fail(f"a rule is wider than the plugins:\n{text}")
            expect("the configurations are applied", ctl("apply", "-f", "-", text=text)[0], 0)
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": "a", "labels": {"pod-security.kubernetes.io/enforce": "baseline",
                                        "pod-security.kubernetes.io/warn": "restricted"},
                "annotations": {"scheduler.alpha.kubernetes.io/node-selector": "zone=a"}}}
            ctl("create", "-f", "-", text=json.dumps(namespace))
            code, out = ctl("create", "-f", "-", text=pod(hostNetwork=True))
            expect("what kubectl says of a pod that baseline refuses", out.strip().splitlines()[-1], (
                'Error from server (Forbidden): error when creating "STDIN": admission webhook '
                '"validate.portcullis.portcullis.dev" denied the request: pods "p" is forbidden: violates PodSecurity '
                '"baseline:latest": host namespaces (hostNetwork=true)'))
            code, out = ctl("create", "-f", "-", text=pod())
            if code != 0 or 'Warning: would violate PodSecurity "restricted:latest"' not in out:
                fail(f"a pod with a warning: {code} {out}")
            made = json.loads(ctl("get", "-n", "a", "pod", "p", "-o", "json")[1])
            expect("the pull policy", made["spec"]["containers"][0]["imagePullPolicy"], "Always")
            expect("the node selector", made["spec"].get("nodeSelector"), {"zone": "a"})
            limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "a"},
                      "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]}}
            ctl("delete", "-n", "a", "pod", "p", "--grace-period=0", "--force")
            ctl("create", "-f", "-", text=json.dumps(limits))
            until("limit ranges are followed", lambda: '"cpu":"1"' in ctl(
                "create", "--dry-run=server", "-o", "json", "-f", "-", text=pod())[1].replace(" ", ""))


def refusals(program, kube):
    """What cannot be a webhook, requests that are no reviews, and a server that is not ready."""
    def wrong(flags, text):
        done = subprocess.run([program, "webhook", "--secure-port=0", *flags], capture_output=True, text=True, timeout=30)
        if done.returncode != 2 or text not in done.stderr:
            fail(f"{flags}: exit {done.returncode}: {done.stderr}")
    wrong([], "no plugin is enabled")
    wrong(["--enable-admission-plugins=MutatingAdmissionWebhook"], "cannot be a webhook: it calls webhooks")
    wrong(["--enable-admission-plugins=PodSecurty"], "did you mean PodSecurity?")
    wrong(["--enable-admission-plugins=CertificateApproval"], "asks who may do what")
    wrong(["--enable-admission-plugins=PodSecurity", "--tls-cert-file=x"], "go together")
    wrong(["--enable-admission-plugins=PodSecurity", "--kubeconfig=/nope"], "/nope: no such file or directory")
    wrong(["--policies=/nope"], "/nope: no such file or directory")
    wrong(["--enable-admission-plugins=PodSecurity", "--memory-limit=1Mi"], "must be at least 64Mi")
    wrong(["--enable-admission-plugins=PodSecurity", "--service=x", "--print-config"], "--service is NAMESPACE/NAME")
    with tempfile.TemporaryDirectory() as folder:
        broken = pathlib.Path(folder, "broken.yaml")
        broken.write_text(POLICY.replace("int(params.data.most)", "int("))
        for printed in ([], ["--print-config"]):  # what would not start is not printed either
            wrong(["--enable-admission-plugins=EventRateLimit", *printed], "limits: Invalid value")
            wrong([f"--policies={broken}", *printed], "compilation failed")
        dead = pathlib.Path(folder, "dead.kubeconfig")
        dead.write_text("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: "
                        "'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: c, context: "
                        "{cluster: c, user: u}}]\n")
        with answering(program, folder, "--enable-admission-plugins=PodSecurity,AlwaysPullImages") as webhook:
            webhook.ready()
            expect("a GET", webhook.call("GET", "/validate")[0], 405)
            expect("no review", webhook.call("POST", "/validate", "{}")[0], 400)
            expect("another type", webhook.call("POST", "/validate", "{}", {"Content-Type": "text/plain"})[0], 415)
            status, text = webhook.call("POST", "/mutate/PodSecurity", "{}")
            expect("a phase that the plugin does not have", status, 404)
            if "/validate/PodSecurity" not in text or "/mutate/AlwaysPullImages" not in text:
                fail(f"the paths that there are: {text}")
            expect("health", webhook.call("GET", "/healthz"), (200, "ok"))
        with answering(program, folder, "--enable-admission-plugins=LimitRanger", f"--kubeconfig={dead}") as webhook:
            until("it says what is missing", lambda: "limitranges: " in webhook.call("GET", "/readyz")[1])
            expect("not ready", webhook.call("GET", "/readyz")[0], 503)
            connection = http.client.HTTPSConnection("127.0.0.1", webhook.port, context=webhook.context, timeout=10)
            connection.request("POST", "/validate", "{}", {"Content-Type": "application/json"})
            answer = connection.getresponse()
            expect("a review meanwhile, and when to ask again", (answer.status, answer.headers["Retry-After"]), (503, "1"))


def half_sent_bodies(program, _):
    """What of large bodies has not come yet takes no more than 64 MiB for one address; others wait, and are refused in time."""
    with tempfile.TemporaryDirectory() as folder, answering(program, folder, "--enable-admission-plugins=AlwaysPullImages") as webhook:
        webhook.ready()

        def begun(query=""):
            plain = socket.create_connection(("127.0.0.1", webhook.port), timeout=20)
            sock = webhook.context.wrap_socket(plain, server_hostname="127.0.0.1")
            sock.sendall(f"POST /mutate{query} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {16 << 20}\r\nExpect: 100-continue\r\n\r\n".encode())
            return sock

        def status(sock):
            return sock.recv(65536).split(b"\r\n")[0]

        held = [begun() for _ in range(4)]
        expect("bodies that are read", {status(sock) for sock in held}, {b"HTTP/1.1 100 Continue"})
        with begun("?timeout=1s") as fifth:
            expect("one more", status(fifth), b"HTTP/1.1 429 Too Many Requests")
        expect("a small one", webhook.call("POST", "/mutate", "x")[0], 400)
        for sock in held:
            sock.close()
        with begun() as later:
            expect("when they are gone", status(later), b"HTTP/1.1 100 Continue")


COSTLY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: costly}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  variables: %s
  validations:
  - expression: %s
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: costly}
spec: {policyName: costly, validationActions: [Deny]}
"""


def memory_limit(program, _):
    """A review that takes 360 MB ends at --memory-limit; the webhook goes on and says what it takes."""
    texts = {f"v{n}": f"object.data.n.split(',').map(i, object.data.x + i + '{n}')" for n in range(40)}
    variables = [{"name": name, "expression": text} for name, text in texts.items()]
    expression = " && ".join(f"variables.{name}.size() > 0" for name in texts)

    def review(size):
        resource = {"group": "", "version": "v1"}
        data = {"n": "0,1,2,3,4", "x": "x" * size}
        return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "1", "kind": {**resource, "kind": "ConfigMap"}, "resource": {**resource, "resource": "configmaps"},
            "name": "c", "namespace": "a", "operation": "CREATE", "userInfo": {"username": "u"},
            "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "a"}, "data": data}}})
    with tempfile.TemporaryDirectory() as folder:
        policy = pathlib.Path(folder, "costly.yaml")
        policy.write_text(COSTLY % (json.dumps(variables), json.dumps(expression)))
        with answering(program, folder, f"--policies={policy}", "--memory-limit=160Mi") as webhook:
            webhook.ready()
            expect("a costly review", webhook.call("POST", "/validate", review(900_000))[0], 500)
            status, text = webhook.call("POST", "/validate", review(100))
            expect("a small one", (status, json.loads(text)["response"]["allowed"]), (200, True))
            peak = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{webhook.process.pid}/status").read_text())
            if int(peak.group(1)) > 200 << 10:
                fail(f"{peak.group()} kB at a limit of 160 MiB")
            page = webhook.call("GET", "/metrics")[1]
            expect("the limit in the metrics", re.findall(r"(?m)^portcullis_memory_limit_bytes (\S+)", page), ["1.6777216e+08"])


def strangers(program, _):
    """Heads of 64 KiB at most, and 2,000 connections from one address."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        fail(f"2,001 connections need more open files than {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    with tempfile.TemporaryDirectory() as folder, answering(program, folder, "--enable-admission-plugins=PodSecurity") as webhook:
        webhook.ready()
        for size, status in ((60 << 10, 200), (70 << 10, 431)):
            expect(f"a head of {size} bytes", webhook.call("GET", "/healthz", headers={"X": "x" * size})[0], status)
        with contextlib.ExitStack() as stack:
            def connected():
                return stack.enter_context(socket.create_connection(("127.0.0.1", webhook.port), timeout=20))
            first = [connected() for _ in range(2000)]
            expect("one more connection", connected().recv(1), b"")
            first[0].close()
            until("one has gone", lambda: reached(webhook))


def reached(webhook):
    with contextlib.suppress(OSError):
        return webhook.call("GET", "/healthz")[0] == 200


def certificates(program, kube):
    """The certificate is read again when its file changes; --client-ca-file lets only its clients ask."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ("one", "two"):
            (folder / name).mkdir()
            with answering(program, folder / name, "--enable-admission-plugins=PodSecurity"):
                pass
        for part in ("crt", "key"):
            shutil.copy(folder / f"one/certs/webhook.{part}", folder / f"tls.{part}")
        (folder / "run").mkdir()
        with answering(program, folder / "run", "--enable-admission-plugins=PodSecurity",
                       f"--tls-cert-file={folder}/tls.crt", f"--tls-private-key-file={folder}/tls.key") as webhook:
            webhook.context = ssl.create_default_context(cafile=folder / "one/certs/ca.crt")
            webhook.ready()
            for part in ("key", "crt"):
                shutil.copy(folder / f"two/certs/webhook.{part}", folder / f"tls.{part}")
            webhook.context = ssl.create_default_context(cafile=folder / "two/certs/ca.crt")

            def reloaded():
                with contextlib.suppress(ssl.SSLError):
                    return webhook.call("GET", "/healthz")[0] == 200
            until("the certificate is read again", reloaded, limit=30)
        (folder / "closed").mkdir()
        with answering(program, folder / "closed", "--enable-admission-plugins=PodSecurity",
                       f"--client-ca-file={folder}/one/certs/ca.crt") as webhook:
            expect("health needs no certificate", webhook.call("GET", "/readyz")[0], 200)
            expect("a review without a certificate", webhook.call("POST", "/validate", "{}")[0], 401)
            expect("metrics without a certificate", webhook.call("GET", "/metrics")[0], 401)


def manifests(program, kube):
    """What --print-config prints for a cluster is accepted by a server, and runs nothing wider than it has to."""
    with serving(program) as server, tempfile.TemporaryDirectory() as folder:
        ctl = client(server, kube)
        pathlib.Path(folder, "policy.yaml").write_text(POLICY + "---\n" + LIMITS)
        limits = {"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration",
                  "limits": [{"type": "Server", "qps": 50, "burst": 100}]}
        pathlib.Path(folder, "admission.yaml").write_text(json.dumps({
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
            "plugins": [{"name": "EventRateLimit", "configuration": limits}]}))
        done = subprocess.run([program, "webhook", "--print-config", f"--cert-dir={folder}/certs",
                               f"--admission-control-config-file={folder}/admission.yaml",
                               "--enable-admission-plugins=ResourceQuota,EventRateLimit,CertificateApproval",
                               f"--policies={folder}/policy.yaml"], capture_output=True, text=True)
        expect("--print-config", (done.returncode, done.stderr), (0, ""))
        code, out = ctl("apply", "--validate=strict", "-f", "-", text=done.stdout)
        expect("all of it is applied", code, 0)
        for line in ("namespace/portcullis created", "deployment.apps/portcullis created", "secret/portcullis-tls created",
                     "configmap/portcullis-policies created", "service/portcullis created",
                     "validatingwebhookconfiguration.admissionregistration.k8s.io/portcullis created",
                     "mutatingwebhookconfiguration.admissionregistration.k8s.io/portcullis created"):
            if line not in out:
                fail(f"no {line}:\n{out}")
        hook = json.loads(ctl("get", "validatingwebhookconfiguration", "portcullis", "-o", "json")[1])["webhooks"][0]
        expect("side effects, declared because events are counted", hook["sideEffects"], "NoneOnDryRun")
        expect("namespaces that are left out", hook["namespaceSelector"]["matchExpressions"][0]["values"],
               ["kube-system", "portcullis"])
        if "Every resource is sent because of ResourceQuota." not in done.stdout:
            fail(f"no word why a rule is wide:\n{done.stdout}")
        rules = json.loads(ctl("get", "clusterrole", "portcullis", "-o", "json")[1])["rules"]
        found = {resource for rule in rules for resource in rule["resources"]}
        expect("the rights", sorted(found), ["configmaps", "customresourcedefinitions", "deviceclasses", "namespaces", "pods",
                                             "resourcequotas", "subjectaccessreviews"])


def main():
    try:
        program = kubectl.find()
    except kubectl.Unavailable as reason:
        print(f"SKIP: no kubectl 1.{kubectl.MINOR}: {reason}")
        return kubectl.SKIP
    run("webhook_command", __doc__, [of_files, of_plugins, refusals, half_sent_bodies, memory_limit, strangers, certificates, manifests], lambda folder: program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
