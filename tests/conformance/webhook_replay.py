#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays recorded suites against servers whose plugins run in a webhook: `portcullis serve` without the plugins, and
`portcullis webhook` with them, registered by what its --print-config prints. The answers have to be those recorded from
kube-apiserver with the plugins built in, but for `admission webhook "…" denied the request: `.

    tests/conformance/webhook_replay.py --build build/release [SUITE…] [-v]

What differs because a webhook runs behind all built-in plugins, or is no part of the API server, is in
EXPECTED with the reason; everything else fails, and so does an entry of EXPECTED that does not differ any more.
"""

import argparse
import difflib
import json
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

import run

WRAPPING = re.compile(r'admission webhook \\?"[^"\\]+\\?" denied the request: ')

# Which plugins of a suite run in the webhook.
SUITES = {
    "builtin-default": "CertificateApproval CertificateSigning CertificateSubjectRestriction DefaultIngressClass "
                       "DefaultStorageClass DefaultTolerationSeconds LimitRanger PersistentVolumeClaimResize PodSecurity "
                       "PodTopologyLabels Priority RuntimeClass ServiceAccount StorageObjectInUseProtection "
                       "TaintNodesByCondition".split(),
    "builtin-extra": "AlwaysPullImages DenyServiceExternalIPs EventRateLimit ExtendedResourceToleration "
                     "LimitPodHardAntiAffinityTopology OwnerReferencesPermissionEnforcement PodNodeSelector "
                     "PodTolerationRestriction".split(),
    "builtin-extra-config": "ClusterTrustBundleAttest DefaultTolerationSeconds PodSecurity".split(),
    "policies": ["MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"],
}

# "suite/scenario: step": why its answer differs.
ORDER = "in a webhook the policy runs in the order of the webhooks, not before all of them"
EXPECTED = {
    "policies/map-before-webhooks: post configmaps": ORDER,
    "policies/map-reinvoked-after-webhook: post configmaps": ORDER,
    "policies/vap-excluded-kinds: webhook configuration": "API servers send no webhook configurations to webhooks",
}


def server_flags(rendered, plugins):
    """The flags of a suite for a server without the plugins."""
    flags, disabled = [], set(plugins)
    for flag in rendered:
        if flag.startswith("--enable-admission-plugins="):
            kept = [name for name in flag.split("=")[1].split(",") if name not in plugins]
            disabled -= set(flag.split("=")[1].split(","))
            flag = "--enable-admission-plugins=" + ",".join(kept)
        flags.append(flag)
    return [*flags, "--disable-admission-plugins=" + ",".join(sorted(disabled))]


def webhook_flags(rendered, plugins):
    shared = ("--admission-control-config-file", "--default-", "--feature-gates")
    return ["--enable-admission-plugins=" + ",".join(plugins), *[flag for flag in rendered if flag.startswith(shared)]]


def wait_for(what, found, process, log):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        text = log.read_text()
        if found(text):
            return found(text)
        time.sleep(0.02)
    sys.exit(f"{what}:\n{log.read_text()[-4000:]}")


class Sides:
    """The server and the webhook of one suite."""

    def __init__(self, build, suite, plugins, certificates, work):
        self.work, self.processes = work, []
        program = str((build / "portcullis").resolve())
        self.port = run.free_port()
        hooks = ["--webhook-listen", f"127.0.0.1:{run.free_port()}", "--webhook-cert", certificates["webhook.crt"],
                 "--webhook-key", certificates["webhook.key"], "--webhook-ca", certificates["ca.crt"]]
        self.hooks = hooks
        rendered = subprocess.run([sys.executable, run.SUITES / "replay.py", "--suite", suite, "--render", work / "files",
                                   *hooks], check=True, capture_output=True, text=True).stdout.split("\n")
        rendered = [flag for flag in rendered if flag]
        self.start("server", [program, "serve", f"--data-dir={work}/data", "--bind-address=127.0.0.1",
                              f"--secure-port={self.port}", "--authorization-mode=RBAC",
                              f"--client-ca-file={certificates['ca.crt']}",
                              "--service-account-issuer=https://kubernetes.default.svc",
                              "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
                              "--controllers=-*", *server_flags(rendered, plugins)])
        context = ssl._create_unverified_context()
        context.load_cert_chain(certificates["admin.crt"], certificates["admin.key"])
        run.wait_ready(f"https://127.0.0.1:{self.port}", context, self.processes[0], work / "server.log", 30)
        kubeconfig = f"--kubeconfig={work}/data/admin.kubeconfig"
        webhook = [program, "webhook", kubeconfig, f"--cert-dir={work}/certs", *webhook_flags(rendered, plugins)]
        process = self.start("webhook", [*webhook, "--secure-port=0"])
        found = wait_for("the webhook did not start", lambda text: re.search(r"serving address=(\S+)", text), process,
                         work / "webhook.log")
        self.address = address = found.group(1)
        run.wait_ready(f"https://{address}", ssl._create_unverified_context(), process, work / "webhook.log", 30)
        printed = subprocess.run([*webhook, "--print-config", f"--url=https://{address}"], check=True, capture_output=True,
                                 text=True).stdout
        kubectl = run.kubectl.find()
        subprocess.run([kubectl, kubeconfig, "apply", "-f", "-"], input=printed, check=True, capture_output=True, text=True)
        time.sleep(0.3)

    def start(self, name, command):
        with open(self.work / f"{name}.log", "w") as log:
            self.processes.append(subprocess.Popen([str(word) for word in command], stdout=log, stderr=log))
        return self.processes[-1]

    def reviews(self):
        """How many reviews the webhook has answered."""
        with urllib.request.urlopen(f"https://{self.address}/metrics", context=ssl._create_unverified_context()) as page:
            found = re.findall(r'webhook_requests_total\{code="200"[^}]*\} (\d+)', page.read().decode())
        return sum(map(int, found))

    def end(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(30)


def unwrapped(step):
    """The step with a webhook's refusal as the plugin has worded it."""
    return json.loads(WRAPPING.sub("", json.dumps({key: value for key, value in step.items() if key != "audit"})))


def differences(suite, recorded, replayed):
    """{"suite/scenario: step": diff}, and the number of steps compared."""
    found, steps = {}, 0
    for path in sorted(recorded.glob("*.json")):
        other = replayed / path.name
        before, after = json.loads(path.read_text()), json.loads(other.read_text())
        for old, new in zip(before["steps"], after["steps"]):
            steps += 1
            old, new = unwrapped(old), unwrapped(new)
            if old == new:
                continue
            lines = [json.dumps(side, indent=1, sort_keys=True).splitlines() for side in (old, new)]
            found[f"{suite}/{path.stem}: {old.get('name')}"] = "\n".join(difflib.unified_diff(*lines, lineterm="", n=1))
    return found, steps


def replay(build, name, certificates):
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"webhook-{name}-"))
    suite = work / "suite"
    shutil.copytree(run.SUITES / name, suite, ignore=shutil.ignore_patterns("golden"))
    (work / "files").mkdir()
    sides = Sides(build, suite, SUITES[name], certificates, work)
    try:
        done = subprocess.run([str(word) for word in [
            sys.executable, run.SUITES / "replay.py", "--server", f"https://127.0.0.1:{sides.port}", "--cert",
            certificates["admin.crt"], "--key", certificates["admin.key"], "--suite", suite, "--record", *sides.hooks]],
            capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stdout + done.stderr)
        reviews = sides.reviews()
    finally:
        sides.end()
    found, steps = differences(name, run.SUITES / name / "golden", suite / "golden")
    refused = sum(len(WRAPPING.findall(path.read_text())) for path in (suite / "golden").glob("*.json"))
    shutil.rmtree(work, ignore_errors=True)
    return found, f"{steps} steps, {reviews} reviews, {refused} refusals of the webhook", reviews > 0 and refused > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="*")
    parser.add_argument("--build", type=pathlib.Path, default=run.ROOT / "build/release", metavar="DIR")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the differences that are expected, too")
    args = parser.parse_args()
    try:
        run.kubectl.find()
    except run.kubectl.Unavailable as reason:
        print(f"SKIP: no kubectl 1.{run.kubectl.MINOR}: {reason}")
        return run.SKIP
    wrong = False
    with tempfile.TemporaryDirectory(prefix="webhook-replay-") as folder:
        certificates = run.Certificates(folder)
        for name in args.suite or SUITES:
            found, counts, works = replay(args.build, name, certificates)
            expected = {key for key in EXPECTED if key.startswith(f"{name}/")}
            print(f"{name}: {counts}, {len(found.keys() & expected)} differ as expected, "
                  f"{len(found.keys() - expected)} otherwise", flush=True)
            for key, text in found.items():
                if key not in expected or args.verbose:
                    print(f"{key}{': ' + EXPECTED[key] if key in expected else ''}\n{text}\n")
            for key in sorted(expected - found.keys()):
                print(f"{key}: does not differ any more: remove it from EXPECTED")
            wrong = wrong or not works or found.keys() != expected
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
