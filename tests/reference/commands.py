# SPDX-License-Identifier: Apache-2.0

"""kubectl's commands: the same command lines (commands.yaml) are run on both servers, and what they print and their exit
codes are compared. Each session has a namespace and a folder of files of its own."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import yaml

import answers
from comparing import Tally
from generated import Request

SESSIONS = pathlib.Path(__file__).with_name("commands.yaml")
SECONDS = 60  # for one command

# What two servers cannot agree on, as kubectl prints it; in this order.
NORMALISED = [
    (re.compile(r" +"), " "),  # columns are as wide as what is in them
    (re.compile(r" $", re.M), ""),
    (re.compile(r"(?:https://)?127\.0\.0\.1:\d+"), "(server)"),
    (answers.UID, "(uid)"),
    (answers.TIME, "(time)"),
    (answers.JWT, "(token)"),
    (re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20\d\d \d\d:\d\d:\d\d [+-]\d{4}"), "(time)"),
    (re.compile(r"(resourceVersion\"?: ?|Resource Version: |resource version to be \d+, was )\"?\d+\"?"), r"\1(version)"),
    (re.compile(r"(?<![\w.-])(?:<invalid>|(?:\d+[ydhms])+)(?: ago)?(?![\w.-])"), "(age)"),
    (re.compile(r"\b10\.0\.0\.\d+\b"), "(address)"),
    (re.compile(r"\b3[0-2]\d{3}\b"), "(port)"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}\b"), "kube-api-access-(random)"),
    (re.compile(r"\b(g|debugger)-[a-z0-9]{5}\b"), r"\1-(random)"),  # the sessions' generateName, and kubectl's
    (re.compile(r"^@@ -\d+,\d+ \+\d+,\d+ @@", re.M), "@@"),  # lines are counted with what is left out below
    (re.compile(r"^([IWEF])\d{4} \S+ \d+ ", re.M), r"\1 "),  # kubectl's log lines
    (re.compile(r'"(git\w+|buildDate|goVersion|compiler)": "[^"]*"'), r'"\1": (of the build)'),
    # kube-apiserver looks for addresses that are not taken, and finds new ones before they are.
    (re.compile(r"\nEvents:\n Type Reason Age From Message\n ---- ------ ---- ---- -------\n Warning ClusterIPNotAllocated .*"), "\nEvents: <none>"),
    # The prose of Kubernetes is not part of Portcullis.
    (re.compile(r"^DESCRIPTION:\n.*?(?=^FIELDS:|\Z)", re.M | re.S), "DESCRIPTION: (prose)\n"),
    # What the downstream builds of OpenShift add: a source of the volumes of tokens, and paths that all may read.
    (re.compile(r'\n - configMap:\n items:\n - key: service-ca\.crt\n path: service-ca\.crt\n name: openshift-service-ca\.crt'), ""),
    (re.compile(r',\n \{\n "configMap": \{\n "items": \[\n \{\n "key": "service-ca\.crt",\n "path": "service-ca\.crt"\n \}\n \],\n "name": "openshift-service-ca\.crt"\n \}\n \}'), ""),
    (re.compile(r"\n ConfigMapName: openshift-service-ca\.crt\n ConfigMapOptional: <nil>"), ""),
    (re.compile(r"\n \[/\.well-known(?:/\*)?\] \[\] \[get\]"), ""),
]


def normalised(text, folder):
    text = text.replace(str(folder), "(folder)")
    for pattern, replacement in NORMALISED:
        text = pattern.sub(replacement, text)
    return text


class Session:
    """One session on one server."""

    def __init__(self, url, token, namespace, session, folder):
        self.folder, self.namespace = folder, namespace
        folder.mkdir(parents=True)
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                  "clusters": [{"name": "c", "cluster": {"server": url, "insecure-skip-tls-verify": True}}],
                  "users": [{"name": "u", "user": {"token": token}}],
                  "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}]}
        (folder / "kubeconfig").write_text(json.dumps(config))
        for name, text in (session.get("files") or {}).items():
            (folder / name).write_text(text.replace("(namespace)", namespace))
        self.environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig"), "HOME": str(folder), "KUBE_EDITOR": "true", "TZ": "UTC",
                            "KUBECTL_EXTERNAL_DIFF": "diff -u --label A --label B"}

    def run(self, words, stdin=""):
        try:
            done = subprocess.run(["kubectl", *words], cwd=self.folder, env=self.environment, input=stdin, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return answers.Answer(124, f"no end after {SECONDS} s", [], "")
        text = normalised(done.stdout, self.folder) + "--- stderr\n" + normalised(done.stderr, self.folder)
        return answers.Answer(done.returncode, text, [], "")


def run_session(number, session, addresses, token, root):
    namespace = f"commands-{number}"
    both = [Session(url, token, namespace, session, root / f"{number}-{side}") for side, url in enumerate(addresses)]
    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        def do(words, stdin=""):
            return list(pool.map(lambda one: one.run(words, stdin), both))

        do(["create", "namespace", namespace])
        do(["create", "serviceaccount", "default"])
        for step in session["run"]:
            line, stdin = (step, "") if isinstance(step, str) else (step["command"], step.get("stdin", ""))
            a, b = do(shlex.split(line.replace("(namespace)", namespace)), stdin)
            tally.asked += 1
            tally.codes[a.code] += 1
            if a == b:
                tally.same += 1
            elif a.code == b.code and sorted(a.text.split("\n")) == sorted(b.text.split("\n")):
                tally.random += 1  # Go goes through maps in any order
            else:
                shape = (f"kubectl {line.split()[0]}", "exit codes differ" if a.code != b.code else "what is printed differs")
                tally.add(session["name"], shape, Request("kubectl", line, stdin or None, label=session["name"]), a, b)
    return tally


def run(addresses, arguments):
    sessions = [one for one in yaml.safe_load(SESSIONS.read_text()) if not arguments.kinds or one["name"] in arguments.kinds.split(",")]
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="commands-") as folder, concurrent.futures.ThreadPoolExecutor(arguments.workers) as pool:
        running = [pool.submit(run_session, number, session, addresses, arguments.token, pathlib.Path(folder))
                   for number, session in enumerate(sessions)]
        for session, done in zip(sessions, running):
            tally.take(done.result())
            print(f"{tally.asked:7} commands, {sum(entry[0] for entry in tally.shapes.values())} differ: {session['name']}", file=sys.stderr, flush=True)
    return tally
