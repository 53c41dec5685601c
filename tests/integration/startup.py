#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands on disk when the program starts: wrong files are refused with exit code 2 and a message
that names the flag or the path; the data of an earlier run are all there, and their revisions go on.

    tests/integration/startup.py --build build/release
"""

import argparse
import base64
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from process import CONFIGMAPS, Server

COMPATIBILITY = pathlib.Path(__file__).resolve().parent.parent / "compatibility"

CONFIGURATION = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"

# Files (name: content) of the folder the program is started in, flags, what standard error must hold.
WRONG_FILES = [
    ({"data": "no folder"}, [], "data"),
    ({"data": "no folder"}, ["--data-dir=data/below"], "data"),
    ({}, ["--data-dir=/proc/portcullis"], "/proc/portcullis"),
    ({"data/portcullis.db/file": ""}, [], "portcullis.db"),
    ({"data/pki": "no folder"}, [], "pki"),
    ({"data/pki/ca.crt": "garbage", "data/pki/ca.key": "garbage"}, [], r"ca\.(crt|key)"),
    ({}, ["--tls-cert-file=absent.crt", "--tls-private-key-file=absent.key"], r"absent\.crt"),
    ({"a.crt": "", "a.key": ""}, ["--tls-cert-file=a.crt", "--tls-private-key-file=a.key"], "PEM|a.crt"),
    ({"a.crt": "GOOD", "a.key": "OTHER"}, ["--tls-cert-file=a.crt", "--tls-private-key-file=a.key"],
     "private key does not match public key"),
    ({"a.crt": "GOOD", "a.key": "absent"}, ["--tls-cert-file=a.crt", "--tls-private-key-file=a.key"], "PEM|a.key"),
    ({"ca.crt": "no certificate"}, ["--client-ca-file=ca.crt"], r"ca\.crt"),
    ({}, ["--token-auth-file=absent.csv"], r"absent\.csv"),
    ({"tokens.csv": "only-a-token\n"}, ["--token-auth-file=tokens.csv"], r"tokens\.csv|token"),
    ({"sa.key": "no key"}, ["--service-account-signing-key-file=sa.key"], r"sa\.key|service-account"),
    ({}, ["--admission-control-config-file=absent.yaml"], r"absent\.yaml"),
    ({"a.yaml": "a: [b"}, ["--admission-control-config-file=a.yaml"], r"a\.yaml"),
    ({"a.yaml": "kind: Pod\napiVersion: v1\n"}, ["--admission-control-config-file=a.yaml"], r"a\.yaml|Pod"),
    ({"a.yaml": CONFIGURATION + "plugins: 1\n"}, ["--admission-control-config-file=a.yaml"], r"a\.yaml|plugins"),
    ({"a.yaml": CONFIGURATION + "plugins: [{name: EventRateLimit, path: gone.yaml}]\n"},
     ["--admission-control-config-file=a.yaml", "--enable-admission-plugins=EventRateLimit"], r"gone\.yaml"),
    ({"a.yaml": CONFIGURATION + "plugins: [{name: PodSecurity, configuration: {kind: Nothing, apiVersion: v9}}]\n"},
     ["--admission-control-config-file=a.yaml"], "PodSecurity|Nothing"),
    ({"a.yaml": CONFIGURATION + "plugins:\n- name: EventRateLimit\n  path: limits.yaml\n",
      "limits.yaml": "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\nlimits:\n- type: Server\n  qps: 1\n"},
     ["--admission-control-config-file=a.yaml", "--enable-admission-plugins=EventRateLimit"],
     r"limits\.yaml:4:3: couldn't init admission plugin \"EventRateLimit\": limits\[0\]\.burst: Invalid value: 0: must be positive"),
    ({"a.yaml": CONFIGURATION + "plugins:\n- name: PodSecurity\n  configuration:\n"
                "    apiVersion: pod-security.admission.config.k8s.io/v1\n    kind: PodSecurityConfiguration\n"
                "    defaults: {enforce: strict}\n"},
     ["--admission-control-config-file=a.yaml"], r"a\.yaml:\d+:\d+: couldn't init .*enforce: must be one of privileged"),
    ({}, ["--kubernetes-version=1.30", "--enable-admission-plugins=SecurityContextDeny"],
     'enable-admission-plugins plugin "SecurityContextDeny" is unknown'),
    ({}, ["--disable-admission-plugins=PersistentVolumeLabel"],
     'disable-admission-plugins plugin "PersistentVolumeLabel" is unknown'),
    ({}, ["--disable-admission-plugins=Nope"], 'disable-admission-plugins plugin "Nope" is unknown'),
    ({}, ["--enable-admission-plugins=AlwaysDeny", "--disable-admission-plugins=AlwaysDeny"], "AlwaysDeny"),
    ({"policy.yaml": "rules: 5"}, ["--audit-policy-file=policy.yaml", "--audit-log-path=audit.log"],
     r"policy\.yaml|audit"),
    ({"policy.yaml": "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n"},
     ["--audit-policy-file=policy.yaml", "--audit-log-path=/proc/none/audit.log"], "/proc/none/audit.log"),
    ({}, ["--bind-address=999.0.0.1"], "bind-address|999.0.0.1"),
    ({}, ["--controllers=nope"], "nope"),
    ({}, ["--store=paper"], "--store|paper"),
    ({}, ["--webhook-service-map=x"], "webhook-service-map"),
    ({}, ["--runtime-config=nonsense/v9=maybe"], "runtime-config|nonsense"),
]


def start(program, folder, flags):
    return subprocess.run([program, "serve", "--data-dir=data", "--bind-address=127.0.0.1", "--secure-port=0", *flags],
                          cwd=folder, capture_output=True, text=True, timeout=60)


def certificate(folder):
    """A self-signed certificate, its key, and the key of another."""
    for name in ("one", "two"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-subj", "/CN=127.0.0.1", "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt"],
                       check=True, capture_output=True)
    return {"GOOD": (folder / "one.crt").read_text(), "OTHER": (folder / "two.key").read_text()}


def wrong_files(program):
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        known = certificate(pathlib.Path(folder))
    for files, flags, expected in WRONG_FILES:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(known.get(content, content))
            told = f"{files} {flags}"
            try:
                run = start(program, folder, flags)
            except subprocess.TimeoutExpired:
                failures.append(f"{told}: it started")
                continue
            if run.returncode != 2 or not re.search(expected, run.stderr):
                failures.append(f"{told}: exit {run.returncode}, expected 2 and {expected!r}; said:\n{run.stderr[-1500:]}")
    if failures:
        sys.exit("\n".join(failures))
    return len(WRONG_FILES)


def fill(server, count):
    versions = {}
    for i in range(count):
        status, made = server.call("POST", CONFIGMAPS, {"metadata": {"name": f"c{i}"}, "data": {"i": "x" * 2000}})
        assert status == 201, made
        versions[f"c{i}"] = made
    return versions


def restart(program):
    """Ends in both ways keep everything; revisions never go back, and none is given twice."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder)
        made = fill(server, 50)
        for i in range(10):
            assert server.call("DELETE", f"{CONFIGMAPS}/c{i}")[0] == 200
            del made[f"c{i}"]
        hook = {"metadata": {"name": "kept"}, "webhooks": [{
            "name": "hook.kept.example", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail", "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": base64.b64encode(
                (pathlib.Path(folder) / "pki/ca.crt").read_bytes()).decode()},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"]}]}]}
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        status, answer = server.call("POST", path, hook)
        assert status == 201, answer
        revision = int(server.call("GET", CONFIGMAPS)[1]["metadata"]["resourceVersion"])
        for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            code = server.end(how)
            assert code == (-9 if how == signal.SIGKILL else 0), f"ended with {code}"
            server = Server(program, folder)
            _, found = server.call("GET", CONFIGMAPS)
            for item in found["items"]:
                item.update(apiVersion="v1", kind="ConfigMap")
            kept = {item["metadata"]["name"]: item for item in found["items"]
                    if item["metadata"]["name"] != "kube-root-ca.crt"}
            assert kept == made, f"{len(kept)} objects instead of {len(made)}, or others"
            now = int(found["metadata"]["resourceVersion"])
            assert now >= revision, f"revision {now} after {revision}"
            status, answer = server.call("POST", CONFIGMAPS, {"metadata": {"name": f"new-{how}"}})
            assert status == 201 and int(answer["metadata"]["resourceVersion"]) > now, answer
            made[f"new-{how}"] = answer
            revision = int(answer["metadata"]["resourceVersion"])
            # The webhook of before is called: nobody listens there.
            status, answer = server.call("POST", CONFIGMAPS.replace("configmaps", "secrets"), {"metadata": {"name": "s"}})
            assert status == 500 and "hook.kept.example" in answer["message"], answer
        # A watch from before the restarts either continues or says that it cannot.
        status, answer = server.call("GET", f"{CONFIGMAPS}?limit=1")
        assert status == 200 and answer["metadata"].get("continue"), answer
        assert server.end(signal.SIGTERM) == 0


# Files, flags, what the log of a server that starts must hold.
WARNINGS = [
    ({"a.yaml": CONFIGURATION + "plugins: [{name: PodSecurityy}]\n"}, ["--admission-control-config-file=a.yaml"],
     'configures a plugin that does not exist plugin=PodSecurityy hint="did you mean PodSecurity?"'),
    ({"a.yaml": CONFIGURATION + "plugins: [{name: EventRateLimit}]\n"}, ["--admission-control-config-file=a.yaml"],
     'a plugin that is not enabled plugin=EventRateLimit hint="--enable-admission-plugins=EventRateLimit"'),
    ({"policy.yaml": "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n"},
     ["--audit-policy-file=policy.yaml"], "--audit-policy-file has no effect without --audit-log-path"),
    ({}, ["--audit-log-path=-"], "No audit policy file provided, no events will be recorded"),
]


def warnings(program):
    """What is passed over is told; and who does not say otherwise listens on the loopback."""
    for files, flags, expected in WARNINGS:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (pathlib.Path(folder) / name).write_text(content)
            run = subprocess.run([program, "exec", *flags, "--", "true"], cwd=folder,
                                 capture_output=True, text=True, timeout=60)
            if run.returncode != 0 or expected not in run.stderr:
                sys.exit(f"{files} {flags}: exit {run.returncode}, expected {expected!r}; said:\n{run.stderr}")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, without=["--bind-address=127.0.0.1"])
        local = [line.split()[1] for name in ("tcp", "tcp6")
                 for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]
                 if line.split()[1].endswith(f":{server.port:04X}") and line.split()[3] == "0A"]
        twin = "0" * 24 + "01000000"  # ::1, where the machine has IPv6
        assert local[0] == f"0100007F:{server.port:04X}" and set(local[1:]) <= {f"{twin}:{server.port:04X}"}, local
        assert server.end(signal.SIGTERM) == 0
    return len(WARNINGS) + 1


def damaged_database(program):
    """A database that was cut or overwritten is refused, or opens with what is whole; it never crashes."""
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / "whole"
        whole.mkdir()
        server = Server(program, whole)
        fill(server, 100)
        assert server.end(signal.SIGTERM) == 0
        content = (whole / "portcullis.db").read_bytes()
        rows = {
            "cut": content[:len(content) // 2],
            "first page lost": b"\0" * 4096 + content[4096:],
            "middle overwritten": content[:8192] + b"\xa5" * (len(content) - 16384) + content[-8192:],
            "header changed": b"SQLite format 4\0" + content[16:],
        }
        for story, damaged in rows.items():
            data = pathlib.Path(folder) / story.replace(" ", "-")
            shutil.copytree(whole, data)
            for extra in data.glob("portcullis.db-*"):
                extra.unlink()
            (data / "portcullis.db").write_bytes(damaged)
            run = start(program, folder, [f"--data-dir={data}"])
            if run.returncode != 2 or "portcullis.db" not in run.stderr:
                sys.exit(f"database, {story}: exit {run.returncode}, said:\n{run.stderr[-1500:]}")
        return len(rows)


def older_data(program):
    """Databases of earlier versions: all objects as that version has shown them, policies in force."""
    versions = sorted(path for path in COMPATIBILITY.iterdir() if path.is_dir())
    for version in versions:
        with tempfile.TemporaryDirectory() as folder:
            content = gzip.decompress((version / "portcullis.db.gz").read_bytes())
            (pathlib.Path(folder) / "portcullis.db").write_bytes(content)
            server = Server(program, folder)
            for path, kept in json.loads((version / "objects.json").read_text()).items():
                found = server.call("GET", path)
                assert found == (200, kept), f"{version.name}: {path}: {found}, not {kept}"
            status, answer = server.call("POST", CONFIGMAPS, {"metadata": {"name": "forbidden"}})
            assert status == 422 and "a forbidden name" in answer["message"], answer
            assert server.end(signal.SIGTERM) == 0
    return len(versions)


# The first release that serves them.
INTRODUCED = {
    "networking.k8s.io/v1/servicecidrs": 33, "networking.k8s.io/v1/ipaddresses": 33, "resource.k8s.io/v1/resourceslices": 34,
    "storage.k8s.io/v1/volumeattributesclasses": 34, "admissionregistration.k8s.io/v1/mutatingadmissionpolicies": 36,
    "admissionregistration.k8s.io/v1/validatingadmissionpolicies": 30,
}


def served(server):
    """"group/version/resource" of everything in groups."""
    versions = [version["groupVersion"] for group in server.call("GET", "/apis")[1]["groups"] for version in group["versions"]]
    return {f"{version}/{one['name']}" for version in versions for one in server.call("GET", f"/apis/{version}")[1]["resources"]}


def older_releases(program):
    """Each release starts, serves what it had, and gives addresses to Services, with IPAddresses or without."""
    for minor in range(29, 37):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(program, folder, f"--kubernetes-version=1.{minor}")
            expected = {name for name, since in INTRODUCED.items() if minor >= since}
            assert served(server) & INTRODUCED.keys() == expected, f"1.{minor}: {served(server)}"
            spec = {"type": "NodePort", "ports": [{"port": 80}]}
            status, made = server.call("POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "s"}, "spec": spec})
            assert status == 201 and made["spec"]["clusterIP"] and made["spec"]["ports"][0]["nodePort"], f"1.{minor}: {made}"
            assert server.call("DELETE", "/api/v1/namespaces/default/services/s")[0] == 200
            assert server.end(signal.SIGTERM) == 0
    return 8


def issuer(program):
    """The issuer's document names the algorithms of the keys that there are."""
    with tempfile.TemporaryDirectory() as folder:
        key = pathlib.Path(folder) / "rsa.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        for flags, expected in [([], ["ES256"]), ([f"--service-account-signing-key-file={key}"], ["RS256"])]:
            server = Server(program, folder, *flags)
            algorithms = server.call("GET", "/.well-known/openid-configuration")[1]["id_token_signing_alg_values_supported"]
            assert algorithms == expected, f"{flags}: {algorithms}"
            assert server.end(signal.SIGTERM) == 0
    return 2


def token_keys(program):
    """Tokens go on while their key and their issuer are replaced, as with kube-apiserver."""
    with tempfile.TemporaryDirectory() as folder:
        keys = pathlib.Path(folder, "keys")
        keys.mkdir()
        for name, kind in (("old", ["genrsa", "2048"]), ("new", ["ecparam", "-name", "prime256v1", "-genkey", "-noout"])):
            subprocess.run(["openssl", kind[0], "-out", keys / f"{name}.key", *kind[1:]], check=True, capture_output=True)
            subprocess.run(["openssl", "pkey", "-in", keys / f"{name}.key", "-pubout", "-out", keys / f"{name}.pub"], check=True)

        def flags(signing, verifying, *issuers):
            return [f"--service-account-signing-key-file={keys}/{signing}.key",
                    *(f"--service-account-key-file={keys}/{name}.pub" for name in verifying),
                    *(f"--service-account-issuer={issuer}" for issuer in issuers)]

        def documents(server):
            connection = server.connect()
            found = []
            for path in ("/.well-known/openid-configuration", "/openid/v1/jwks"):
                connection.request("GET", path)
                answer = connection.getresponse()
                text = answer.read()
                found.append(json.loads(text) if answer.status == 200 else answer.status)
            return found

        def authenticated(server, token):
            return server.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}})[1]["status"].get("authenticated", False)

        before, after = "https://before.example.com", "https://after.example.com"
        server = Server(program, folder, *flags("old", ["old"], before))
        status, made = server.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "a"}})
        assert status == 201, made
        token = server.call("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", {"spec": {}})[1]["status"]["token"]
        assert server.end(signal.SIGTERM) == 0
        # Flags; whether the token counts; algorithms and number of the keys that are published; where they are.
        elsewhere = "https://keys.example.com/jwks"
        for given, counts, algorithms, number, uri in [
                (flags("new", ["old", "new"], before), True, ["ES256", "RS256"], 2, None),
                (flags("new", ["new", "old"], after, before), True, ["ES256", "RS256"], 2, None),
                ([*flags("new", ["new", "old"], after), f"--service-account-jwks-uri={elsewhere}"], False, ["ES256", "RS256"], 2, elsewhere),
                (flags("old", ["new"], before), False, ["ES256"], 1, None)]:
            server = Server(program, folder, *given)
            about, published = documents(server)
            assert authenticated(server, token) == counts, given
            assert (about["id_token_signing_alg_values_supported"], len(published["keys"])) == (algorithms, number), (given, about, published)
            assert about["jwks_uri"] == (uri or f"https://127.0.0.1:{server.port}/openid/v1/jwks"), about
            assert server.end(signal.SIGTERM) == 0
        server = Server(program, folder, *flags("new", ["new"], "http://plain.example.com"))
        assert documents(server) == [404, 404], "documents of an issuer that cannot be discovered"
        assert not [path for path in server.call("GET", "/")[1]["paths"] if "openid" in path]
        assert server.end(signal.SIGTERM) == 0
    return 5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    program = str((parser.parse_args().build / "portcullis").resolve())
    passed = wrong_files(program)
    passed += warnings(program)
    passed += damaged_database(program)
    passed += older_data(program)
    passed += older_releases(program)
    passed += issuer(program)
    passed += token_keys(program)
    restart(program)
    print(f"startup: {passed + 1} passed, 0 failed")


if __name__ == "__main__":
    main()
