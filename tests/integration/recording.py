#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`portcullis record` as a webhook of a server, and `portcullis replay` against a server and against a webhook.

    tests/integration/recording.py --build build/release
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

import offline
from offline import check, holds
from webhook_lab import CONFIGURATIONS, Lab

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"


class Recorder:
    """`portcullis record --listen` on a free port, with the configuration that it prints."""

    def __init__(self, folder, *flags):
        self.folder = folder
        self.process = subprocess.Popen([folder.program, "record", "--to=corpus", "--listen=127.0.0.1:0", "--configuration=hook.yaml",
                                         *flags], cwd=folder.path, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stderr.readline().strip().removeprefix("listening at ")
        done = folder.run("test", "hook.yaml", "-o", "json", code=0)
        self.configuration = json.loads(done)["results"][0]["object"]
        for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"):
            self.configuration["metadata"].pop(field, None)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        text = self.process.stderr.read()
        check("exit status of record", self.process.wait(30), 0)
        self.process.stderr.close()
        return text


def apply_configuration(lab, recorder):
    kind = "mutating" if recorder.configuration["kind"].startswith("Mutating") else "validating"
    path = CONFIGURATIONS.format(kind)
    check("the configuration", lab.call("POST", path, recorder.configuration)[0], 201)
    lab.made.append(f"{path}/{recorder.configuration['metadata']['name']}")


def make_some(lab):
    for i in range(3):
        made = {"metadata": {"name": f"a{i}"}, "data": {"size": str(i), "key": "hidden"}}
        check("made", lab.call("POST", CONFIGMAPS, made)[0], 201)
    check("a dry run", lab.call("POST", CONFIGMAPS + "?dryRun=All", {"metadata": {"name": "dry"}})[0], 201)
    check("a Secret", lab.call("POST", SECRETS, {"metadata": {"name": "s"}, "stringData": {"x": "hidden"}})[0], 201)
    stored = lab.call("GET", CONFIGMAPS + "/a1")[1]
    stored["data"]["size"] = "7"
    check("updated", lab.call("PUT", CONFIGMAPS + "/a1", stored)[0], 200)
    check("deleted", lab.call("DELETE", CONFIGMAPS + "/a2")[0], 200)


def webhook(folder, lab):
    recorder = Recorder(folder, "--redact=configmaps:data.key")
    hook = recorder.configuration["webhooks"][0]
    check("its URL", hook["clientConfig"]["url"], f"https://{recorder.address}/record")
    check("a failure lets pass", hook["failurePolicy"], "Ignore")
    check("a dry run is not recorded", hook["sideEffects"], "NoneOnDryRun")
    # A webhook that cannot be called would be passed over without a word.
    recorder.configuration["webhooks"][0]["failurePolicy"] = "Fail"
    apply_configuration(lab, recorder)
    make_some(lab)
    text = recorder.end()
    lab.reset()
    holds("what it says", text, " requests recorded in corpus")
    recorded = (folder.path / "corpus/requests.json").read_text()
    check("secrets", "hidden" in recorded, False)
    events = [json.loads(line) for line in recorded.splitlines()]
    # The namespace has objects that the server makes by itself, too.
    of_maps = [event for event in events if event["objectRef"].get("resource") == "configmaps" and event["objectRef"]["name"][0] == "a"]
    check("verbs", [event["verb"] for event in of_maps], ["create", "create", "create", "update", "delete"])
    check("the stored object", of_maps[3]["oldObject"]["data"], {"size": "1", "key": "REDACTED"})
    check("its user", of_maps[0]["user"]["username"], "kubernetes-admin")
    return of_maps


def replays_of_files(folder):
    holds("a replay", folder.run("replay", "corpus", code=0), " 0 failed")
    folder.write("policies/policy.yaml", offline.POLICY % 5)
    holds("no such folder", folder.run("replay", "absent", code=2), "absent: no such file or directory")
    text = folder.run("replay", "corpus", "-f", "policies", code=1)
    holds("what a policy changes", text, "too large")
    holds("how much it changes", text, " 1 failed")
    # An update alone finds the object that the webhook has seen.
    lines = (folder.path / "corpus/requests.json").read_text().splitlines()
    folder.write("update.json", next(line for line in lines if '"verb":"update"' in line) + "\n")
    folder.write("old/policy.yaml", offline.POLICY.replace("int(object.data.size) <= %s", "oldObject.data.size != '1'"))
    holds("its old object", folder.run("replay", "update.json", "-f", "old", code=1), " 1 failed")


def replays_of_servers(folder, lab):
    config = f"--kubeconfig={folder.path}/admin.kubeconfig"
    holds("the same server", folder.run("replay", "corpus", "--server", config, code=0), " 0 failed")
    check("nothing is deleted", lab.call("GET", SECRETS + "/s")[0], 200)
    check("nothing is changed", lab.call("GET", CONFIGMAPS + "/a0")[1]["data"]["key"], "hidden")
    lab.answers["/no"] = lambda request, number: {"allowed": request["userInfo"]["username"] != "kubernetes-admin",
                                                  "status": {"message": "not you"}}
    lab.configure("validating", lab.hook("/no", operations=["CREATE"], resources=["configmaps"]))
    text = folder.run("replay", "corpus", "--server", config, code=1)
    holds("a webhook's denial", text, "denied the request: not you")
    check("dry runs", {request["dryRun"] for request in lab.reviews("/no")}, {True})
    lab.reset()
    holds("no server", folder.run("replay", "corpus", "--server", "--kubeconfig=absent", code=2), "absent")


def replays_of_webhooks(folder, lab):
    lab.answers["/check"] = lambda request, number: {
        "allowed": (request["object"] or {}).get("data", {}).get("size") != "7", "status": {"message": "seven"}}
    text = folder.run("replay", "corpus", f"--webhook={lab.url}/check", f"--webhook-ca={folder.path}/hook.crt", code=1)
    holds("a denial", text, 'admission webhook "replay.portcullis.dev" denied the request: seven')
    holds("one of them", text, " 1 failed")
    operations = {request["operation"] for request in lab.reviews("/check")}
    check("what it was asked", operations, {"CREATE", "UPDATE", "DELETE"})
    hook = lab.hook("/check", operations=["UPDATE"], resources=["configmaps"])
    folder.write("configuration.yaml", json.dumps({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                                                   "metadata": {"name": "c"}, "webhooks": [hook]}))
    holds("its rules", folder.run("replay", "corpus", "--webhook=configuration.yaml", code=1), " 1 failed")
    check("only updates", {request["operation"] for request in lab.reviews("/check")}, {"UPDATE"})
    text = folder.run("replay", "corpus", f"--webhook={lab.url}/check", code=1)
    holds("a certificate that is not trusted", text, "x509: ")
    holds("both", folder.run("replay", "corpus", "--server", "--webhook=x", code=2), "both say what judges")


def mutating(folder, lab):
    """One that is called first sees objects as clients have sent them, and keeps its certificate."""
    lab.answers["/patch"] = lambda request, number: {"allowed": True, "patch": [{"op": "add", "path": "/data", "value": {"by": "hook"}}]}
    recorder = Recorder(folder, "--to=first", "--mutating", "--cert-dir=keys")
    ca = recorder.configuration["webhooks"][0]["clientConfig"]["caBundle"]
    recorder.configuration["webhooks"][0]["failurePolicy"] = "Fail"
    apply_configuration(lab, recorder)
    lab.configure("mutating", lab.hook("/patch", operations=["CREATE"], resources=["configmaps"]))
    status, made, _ = lab.call("POST", CONFIGMAPS, {"metadata": {"name": "m"}})
    check("the other webhook", (status, made.get("data")), (201, {"by": "hook"}))
    recorder.end()
    lab.reset()
    events = [json.loads(line) for line in (folder.path / "first/requests.json").read_text().splitlines()]
    check("the object", ["data" in event["requestObject"] for event in events if event["objectRef"].get("name") == "m"], [False])
    again = Recorder(folder, "--to=first", "--mutating", "--cert-dir=keys")
    check("its CA", again.configuration["webhooks"][0]["clientConfig"]["caBundle"], ca)
    again.end()


def mistakes(folder):
    holds("all addresses", folder.run("record", "--to=c", "--listen=0.0.0.0:0", code=2), "--service or --url has to say")
    holds("a service", folder.run("record", "--to=c", "--listen=0.0.0.0:0", "--service=x", code=2), "NAMESPACE/NAME[:PORT]")
    holds("plain HTTP", folder.run("record", "--to=c", "--listen=127.0.0.1:0", "--url=http://a/", code=2), "https://")
    holds("files, too", folder.run("record", "--to=c", "--listen=127.0.0.1:0", "a.log", code=2), "and no FILE")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    program = (parser.parse_args().build / "portcullis").resolve()
    with tempfile.TemporaryDirectory(prefix="recording-") as path:
        folder = offline.Folder(program, pathlib.Path(path))
        mistakes(folder)
        lab = Lab(program, path)
        try:
            webhook(folder, lab)
            replays_of_files(folder)
            replays_of_servers(folder, lab)
            replays_of_webhooks(folder, lab)
            mutating(folder, lab)
        finally:
            lab.end()
    print("recording: the webhook, servers and webhooks passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
