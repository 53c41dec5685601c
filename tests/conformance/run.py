#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded conformance suites against a fresh `portcullis serve` each, and holds the floor.

    tests/conformance/run.py --build build/release                 every suite, compared with floors.json
    tests/conformance/run.py --build build/dev webhooks kubectl    these suites
    tests/conformance/run.py --build build/dev webhooks --scenario deny-reason -v
    tests/conformance/run.py --build build/asan --sanitized        what the sanitizers say

The suites and the program that replays them are in tests/conformance/suites. For each suite: the
auxiliary files are rendered, a server is started on a free port with an empty store and the suite's
flags, the suite is replayed, `<suite>: N passed, N failed` is printed. floors.json holds the least
number of scenarios that must pass; a figure below it fails, a figure above it asks for the floor to be
raised.

A second set of suites may lie beside the repository, in ../shared/conformance (or --also DIR). Those of
its suites that differ from the repository's, in a file or in the replayer, are replayed too, by their
own replayer and against the same floor; `differs: ` lines name them. Equal suites are not replayed twice.

With --store etcd each suite has an etcd of its own (Debian's etcd-server), with --replicas N as many servers
on it, to which a balancer hands connections in turn.

With --sanitized the suites are only the load: a report of a sanitizer in the server's log, a server that
ends by itself or with an exit code fails, a scenario that does not pass (such servers are slow) does not.

Exits with 1 if a suite is below its floor, with 77 if none is but one was skipped (`SKIP` lines say why).
"""

import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLOORS = HERE / "floors.json"
SUITES = HERE / "suites"
SKIP = 77

sys.path[:0] = [str(ROOT / "tools/kubectl"), str(ROOT / "tests/harness")]
import kubectl  # noqa: E402
from etcd_cluster import Balancer, Etcd, find_etcd  # noqa: E402
from ports import free_port  # noqa: E402


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


class Certificates:
    """A CA, an administrator and a webhook server, made once for all suites."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.ca = self._ca("ca", "conformance-ca")
        self._signed("admin", "/O=system:masters/CN=conformance-admin", "extendedKeyUsage=clientAuth")
        self._signed("webhook", "/CN=127.0.0.1",
                     "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth")

    def __getitem__(self, name):
        return self.folder / name

    def _ca(self, name, subject):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", f"/CN={subject}", "-keyout", self[f"{name}.key"], "-out", self[f"{name}.crt"],
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        return self[f"{name}.crt"]

    def _signed(self, name, subject, extensions):
        self[f"{name}.ext"].write_text(extensions + "\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", subject,
                "-keyout", self[f"{name}.key"], "-out", self[f"{name}.csr"])
        openssl("x509", "-req", "-in", self[f"{name}.csr"], "-CA", self["ca.crt"], "-CAkey", self["ca.key"],
                "-CAcreateserial", "-days", "2", "-extfile", self[f"{name}.ext"], "-out", self[f"{name}.crt"])


def wait_ready(url, context, process, log, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server stopped with {process.returncode}:\n{log.read_text()[-4000:]}")
        try:
            with urllib.request.urlopen(url + "/readyz", context=context, timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.02)
    raise RuntimeError(f"the server is not ready after {seconds} s:\n{log.read_text()[-4000:]}")


class Servers:
    """The servers that one suite is replayed against: one, or several on one etcd behind a balancer."""

    def __init__(self, work, certificates, flags, args):
        self.work, self.resources = work, contextlib.ExitStack()
        self.processes, self.logs = [], []
        self.context = ssl._create_unverified_context()
        self.context.load_cert_chain(certificates["admin.crt"], certificates["admin.key"])
        self.common = [args.build / "portcullis", "serve", "--authorization-mode=RBAC",
                       f"--client-ca-file={certificates['ca.crt']}",
                       "--service-account-issuer=https://kubernetes.default.svc",
                       "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none", "--controllers=-*",
                       *flags]
        if args.sanitized:
            self.common.append("--allow-core-dumps")  # else LeakSanitizer may not look into the process
        if args.store == "etcd":
            etcd = self.resources.enter_context(Etcd(work / "etcd"))
            self.common += [f"--etcd-servers={etcd.url}",
                            f"--service-account-signing-key-file={certificates['ca.key']}"]
        self.seconds = 300 if args.sanitized else 30
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.hosts = ["127.0.0.1"]
        if args.replicas > 1:
            # All have the balancer's port and name, which answers show.
            self.hosts = [f"127.0.0.{number + 2}" for number in range(args.replicas)]
            self.common.append("--external-hostname=127.0.0.1")
        for number, host in enumerate(self.hosts):
            self._start(number, host)
        if args.replicas > 1:
            balancer = Balancer(self.port, [(host, self.port) for host in self.hosts])
            self.resources.enter_context(contextlib.closing(balancer))

    def _start(self, number, host):
        log = self.work / f"server{number}.log"
        command = [*self.common, f"--data-dir={self.work / f'data{number}'}", f"--bind-address={host}",
                   f"--secure-port={self.port}"]
        with open(log, "w") as sink:
            process = subprocess.Popen([str(word) for word in command if str(word)], stdout=sink, stderr=sink,
                                       stdin=subprocess.DEVNULL)
        self.processes.append(process)
        self.logs.append(log)

    def wait_ready(self):
        for host, process, log in zip(self.hosts, self.processes, self.logs):
            wait_ready(f"https://{host}:{self.port}", self.context, process, log, self.seconds)

    def stop(self, patience):
        """What was wrong with the ends of the servers."""
        for process in self.processes:
            process.terminate()
        wrong = []
        for process in self.processes:
            try:
                if process.wait(patience) != 0:
                    wrong.append(f"the server ended with {process.returncode}")
            except subprocess.TimeoutExpired:
                process.kill()
                wrong.append("the server did not stop in time after SIGTERM")
        self.resources.close()
        return wrong


def replay(suite, certificates, args):
    """Runs one suite; returns (folder, passed, failed, output)."""
    replay_py = suite.parent / "replay.py"
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"conformance-{suite.name}-"))
    hook_port = free_port()
    hooks = ["--webhook-listen", f"127.0.0.1:{hook_port}", "--webhook-cert", certificates["webhook.crt"],
             "--webhook-key", certificates["webhook.key"], "--webhook-ca", certificates["ca.crt"]]
    rendered = subprocess.run([sys.executable, replay_py, "--suite", suite, "--render", work / "files", *hooks],
                              check=True, capture_output=True, text=True)
    flags = [word for word in rendered.stdout.split("\n") if word]
    output, passed, failed, unsound = "", 0, 0, []
    servers = Servers(work, certificates, flags, args)
    try:
        servers.wait_ready()
        extra = [word for name in args.scenario for word in ("--scenario", name)]
        audit = work / "files" / "audit.log"
        if any("audit-log-path" in word for word in flags):
            extra += ["--audit-log", audit]
        if args.verbose:
            extra.append("-v")
        if args.max_diff is not None:
            extra += ["--max-diff", args.max_diff]
        if args.pause_ms is not None:
            extra += ["--pause-ms", args.pause_ms]
        if args.settle_ms is not None:
            extra += ["--settle-ms", args.settle_ms]
        run = subprocess.run([str(word) for word in [
            sys.executable, replay_py, "--server", servers.url, "--cert", certificates["admin.crt"], "--key",
            certificates["admin.key"], "--suite", suite, "--kubectl", args.kubectl or "kubectl", "--check", *hooks, *extra]],
            capture_output=True, text=True)
        output = run.stdout + run.stderr
        found = re.search(r"(\d+) passed, (\d+) failed", output)
        if found:
            passed, failed = int(found.group(1)), int(found.group(2))
        for process, log in zip(servers.processes, servers.logs):
            if process.poll() is not None:
                output += f"\nthe server ended by itself with {process.returncode}\n{log.read_text()[-4000:]}"
                failed = max(failed, 1)
                unsound.append(f"the server ended by itself with {process.returncode}")
    except RuntimeError as error:
        output, failed = str(error), 1
    finally:
        wrong = servers.stop(120 if args.sanitized else 15)
        if any("in time" in line for line in wrong):
            output += "\n" + "\n".join(wrong)
            failed = max(failed, 1)
        unsound += wrong
        if args.sanitized:
            output = "\n".join(unsound + [report for log in servers.logs for report in sanitizer_reports(log)])
        if args.keep:
            output += f"\nkept: {work}\n"
        else:
            shutil.rmtree(work, ignore_errors=True)
    return suite, passed, failed, output


def sanitizer_reports(log):
    """The reports in a server's log, each with the lines that follow it, the same place once."""
    lines = log.read_text(errors="replace").splitlines()
    starts = [i for i, line in enumerate(lines)
              if re.search(r"(ERROR|WARNING): \w+Sanitizer|runtime error: ", line)]
    found = {}
    for i in starts:
        text = lines[i:i + 60]
        place = next((line for line in text if " in portcullis::" in line or "runtime error" in line), text[0])
        found.setdefault(re.sub(r"0x[0-9a-f]+", "", place), "\n".join(text))
    return list(found.values())


def only_ages_differ(output):
    """Whether all that differs are ages: a second went by between a write and the table that shows it."""
    changed = re.findall(r"^ *([-+] +\S.*)$", output, re.MULTILINE)
    return bool(changed) and all(re.fullmatch(r'[-+] +"[0-9]s",?', line) for line in changed)


def replay_in_time(suite, certificates, args):
    result = replay(suite, certificates, args)
    if args.sanitized:
        return result
    return replay(suite, certificates, args) if result[2] > 0 and only_ages_differ(result[3]) else result


def digests(folder):
    """{path inside the folder: hash of the file}."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts}


def differing(other):
    """The suites in `other` that the repository does not have like that, each with the names of a few differing files."""
    replayers = (SUITES / "replay.py", other / "replay.py")
    same_replayer = replayers[0].read_bytes() == replayers[1].read_bytes()
    found = {}
    for suite in sorted(path.parent for path in other.glob("*/suite.json")):
        ours, theirs = digests(SUITES / suite.name), digests(suite)
        files = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
        if files or not same_replayer:
            found[suite] = files or ["../replay.py"]
    return found


def chosen_suites(args):
    """The folders of the suites to replay."""
    suites = [path.parent for path in sorted(SUITES.glob("*/suite.json"))]
    if args.also.is_dir() and (args.also / "replay.py").exists() and args.also.resolve() != SUITES:
        for suite, files in differing(args.also.resolve()).items():
            print(f"differs: {suite.name} of {os.path.relpath(args.also)} is replayed as well "
                  f"({len(files)} files: {', '.join(files[:3])}{', …' if len(files) > 3 else ''})")
            suites.append(suite)
    return [suite for suite in suites if not args.suite or suite.name in args.suite]


def without_kubectl(suites, args):
    """The suites that can be replayed; those with kubectl's texts only by a kubectl of that version."""
    if not any(suite.name == "kubectl" for suite in suites):
        return suites
    try:
        args.kubectl = args.kubectl or kubectl.find()
        return suites
    except kubectl.Unavailable as reason:
        print(f"SKIP: suite kubectl: no kubectl 1.{kubectl.MINOR}: {reason}")
        return [suite for suite in suites if suite.name != "kubectl"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="*", help="names of suites (default: all)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR",
                        help="build folder that holds the program")
    parser.add_argument("--also", type=pathlib.Path, default=ROOT.parent / "shared/conformance", metavar="DIR",
                        help="folder with more suites; those that differ are replayed too")
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help="only this scenario")
    parser.add_argument("--kubectl", metavar="PATH", help="kubectl 1.32 (default: what tools/kubectl/kubectl.py finds)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="suites at a time")
    parser.add_argument("--pause-ms", type=int, metavar="N", help="pause after a write")
    parser.add_argument("--settle-ms", type=int, metavar="N", help="pause after a settle step")
    parser.add_argument("--max-diff", type=int, metavar="N", help="lines of diff per step; 0 shows all")
    parser.add_argument("--store", choices=("sqlite", "etcd"), default="sqlite", help="where the servers keep objects")
    parser.add_argument("--replicas", type=int, default=1, metavar="N", help="servers on one etcd")
    parser.add_argument("--sanitized", action="store_true", help="look for reports of sanitizers only")
    parser.add_argument("--keep", action="store_true", help="keep the server's files and log")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line per scenario, and every diff")
    return parser.parse_args()


def report(suite, passed, failed, output, floor, args):
    """Prints what came of one suite; returns whether the floor holds."""
    name = suite.name if suite.parent == SUITES else f"{suite.name}-also"
    print(f"{name}: {passed} passed, {failed} failed", flush=True)
    whole = not args.scenario
    if args.verbose or (whole and passed < floor):
        print(output)
    if whole and passed < floor:
        print(f"  below the floor: {floor} must pass")
        return False
    if whole and passed > floor:
        print(f"  above the floor of {floor}: raise it in {FLOORS.relative_to(ROOT)}")
    return True


def main():
    args = arguments()
    if args.replicas > 1 and args.store != "etcd":
        print("--replicas needs --store etcd")
        return 2
    if args.store == "etcd" and find_etcd() is None:
        print("SKIP: no etcd: install the package etcd-server")
        return SKIP
    wanted = chosen_suites(args)
    unknown = set(args.suite) - {suite.name for suite in wanted}
    if unknown or not wanted:
        print(f"no such suites: {', '.join(sorted(unknown)) or 'none at all'}")
        return 2
    suites = without_kubectl(wanted, args)
    floors = json.loads(FLOORS.read_text())
    absent = sorted(floors.keys() - {path.parent.name for path in SUITES.glob("*/suite.json")})
    if absent:
        print(f"floors.json names suites that are not there: {', '.join(absent)}")
    held = not absent
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        certificates = Certificates(folder)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            runs = [pool.submit(replay_in_time, suite, certificates, args) for suite in suites]
            for run in concurrent.futures.as_completed(runs):
                suite, passed, failed, output = run.result()
                if args.sanitized:
                    print(f"{suite.name}: {passed} passed, {failed} failed; {output or 'no reports'}", flush=True)
                    held = held and not output
                    continue
                held = report(suite, passed, failed, output, floors.get(suite.name, 0), args) and held
    if not held:
        return 1
    return SKIP if len(suites) < len(wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
