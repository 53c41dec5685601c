#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds /metrics to what a kube-apiserver 1.36 has shown after the same traffic (tests/reference/metrics.py): names, types, help
texts, labels and buckets.

    tests/integration/recorded_metrics.py --build build/release
"""

import base64
import json
import pathlib
import subprocess
import sys

from story import expect, fail, run, serving, until

REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "reference"
sys.path.insert(0, str(REFERENCE))

import metrics  # noqa: E402
import metrics_traffic  # noqa: E402
import servers  # noqa: E402

RECORDED = REFERENCE / "recorded" / "metrics.json"
# Of etcd and of issuers of tokens, which the server of this test has not, and of requests that wait, which none does here.
OTHERWISE = {"apiserver_flowcontrol_current_inqueue_requests", "apiserver_flowcontrol_current_inqueue_seats",
             "apiserver_storage_events_received_total", "etcd_bookmark_total", "etcd_request_duration_seconds", "etcd_requests_total",
             "etcd_request_errors_total", "authentication_token_cache_active_fetch_count", "authentication_token_cache_fetch_total",
             "authentication_token_cache_request_duration_seconds", "authentication_token_cache_request_total"}


def page(program, folder):
    folder = pathlib.Path(folder)
    (folder / "audit.json").write_text(servers.AUDIT_POLICY)
    flags = servers.FLAGS + servers.make_credentials(folder) + [f"--audit-policy-file={folder}/audit.json", f"--audit-log-path={folder}/audit.log"]
    with serving(program, *[flag for flag in flags if not flag.startswith("--bind-address")], "--store=sqlite") as server:
        hooks, bundle = metrics_traffic.hook_server(folder)
        traffic = metrics_traffic.Traffic(f"https://127.0.0.1:{server.port}", servers.TOKEN, hooks.url, bundle, servers.client_certificate(folder))
        traffic.send()
        text = traffic.page()
        hooks.server.shutdown()
    return metrics.parse(text)


def names_and_forms(program, folder):
    """Every metric of the recording is here in the same form, or docs/metrics.md says why not."""
    recorded, ours, patterns = json.loads(RECORDED.read_text()), page(program, folder), metrics.left_out()
    expect("a table of what is left out", len(patterns) > 10, True)
    wrong = []
    for name, wanted in recorded.items():
        if metrics.is_left_out(name, patterns) or name in OTHERWISE:
            continue
        found = metrics.facts(ours[name]) if name in ours else None
        if found != wanted:
            wrong.append(f"{name}: {found}, not {wanted}")
    if wrong:
        fail(f"{len(wrong)} of {len(recorded)} metrics differ:\n" + "\n".join(wrong))
    served = [name for name in ours if metrics.is_left_out(name, patterns)]
    expect("served and said to be left out", served, [])
    unused = [pattern for pattern in patterns if not any(metrics.is_left_out(name, [pattern]) for name in recorded)]
    expect("said to be left out and unknown to kube-apiserver", unused, [])


def limits(program, _):
    """The flags of metrics; counts of custom resources go with their definition."""
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "as.limits.io"},
                  "spec": {"group": "limits.io", "scope": "Cluster", "names": {"plural": "as", "kind": "A"}, "versions": [
                      {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    with serving(program, "--disabled-metrics=apiserver_response_sizes,authentication_attempts,none", "--show-hidden-metrics-for-version=1.35",
                 "--allow-metric-labels=apiserver_request_total,verb='LIST,POST'".replace("'", "")) as server:
        def text():
            connection = server.connect()
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        server.call("GET", "/api/v1/namespaces/default")
        page = text()
        for wanted, there in (("apiserver_response_sizes", False), ("authentication_attempts", True), ("disabled_metrics_total 3\n", True),
                              ("hidden_metrics_total 1\n", True), ("apiserver_request_slo_duration_seconds_count{", True),
                              ('resource="namespaces",scope="resource",subresource="",verb="unexpected",version="v1"}', True),
                              ("cardinality_enforcement_unexpected_categorizations_total 0\n", False)):
            expect(f"{wanted} on the page", wanted in page, there)
        expect("a definition", server.call("POST", path, definition)[0], 201)
        until("a count of its objects", lambda: 'apiserver_resource_objects{group="limits.io",resource="as"} 0' in text())
        expect("its deletion", server.call("DELETE", path + "/as.limits.io")[0], 200)
        until("no count", lambda: "limits.io" not in "".join(line for line in text().splitlines() if "_objects{" in line))


def encoded(folder, *arguments):
    """What openssl writes for a key of its own."""
    subprocess.run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key", "-out", "out",
                    "-subj", "/CN=x", *arguments], check=True, capture_output=True, cwd=folder)
    return base64.b64encode((pathlib.Path(folder) / "out").read_bytes()).decode()


def issued_certificates(program, folder):
    """Certificates that were asked for with a duration, and those that have it, as a kube-apiserver has counted them."""
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    client, day = "kubernetes.io/kube-apiserver-client", 86400
    request, certificates = encoded(folder), {days: encoded(folder, "-x509", "-days", str(days)) for days in (1, 2, 10, 95, 96)}
    asked = [(client, day, 1), (client, day, 2), ("example.com/x", 10 * day, 10), ("example.com/x", None, 10), ("example.com/y", 100 * day, 95),
             ("example.com/y", 100 * day, 96)]
    with serving(program) as server:
        for number, (signer, seconds, days) in enumerate(asked):
            spec = {"request": request, "signerName": signer, "usages": ["client auth"], **({"expirationSeconds": seconds} if seconds else {})}
            expect("a request", server.call("POST", path, {"metadata": {"name": f"c{number}"}, "spec": spec})[0], 201)
            issued = {"metadata": {"name": f"c{number}"}, "spec": spec, "status": {"certificate": certificates[days]}}
            for query in ("?dryRun=All", "", ""):
                expect("a certificate", server.call("PUT", f"{path}/c{number}/status{query}", issued)[0], 200)
        connection = server.connect()
        connection.request("GET", "/metrics")
        lines = [line for line in connection.getresponse().read().decode().splitlines() if line.startswith("apiserver_certificates_registry_csr_")]
    prefix = "apiserver_certificates_registry_csr_"
    expect("the counts", lines, [f'{prefix}{what}_duration_total{{signerName="{signer}"}} {count}' for what, signer, count in (
        ("honored", client, 1), ("honored", "other", 3), ("requested", client, 2), ("requested", "other", 3))])


if __name__ == "__main__":
    run("recorded_metrics", __doc__, [names_and_forms, limits, issued_certificates], lambda folder: folder)
