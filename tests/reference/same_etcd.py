#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kube-apiserver and Portcullis on the same etcd: each has to show every object of the other as the other shows it.

    tests/reference/same_etcd.py --reference-binary PATH/kube-apiserver --etcd PATH/etcd [--build build/release] [--media-type JSON|protobuf]

1. The kube-apiserver stores the good objects of every kind (those of tests/reference/run), definitions and custom resources.
   Objects in versions that Kubernetes no longer writes are put into etcd as older releases stored them. Then Portcullis is
   started on that etcd.
2. Portcullis changes every object by a patch, and stores the good objects once more in another namespace.
3. The kube-apiserver changes every object.
4. Both are stopped and started again, the kube-apiserver on what Portcullis wrote last.

After each step every resource is listed in every version from both, and the objects are compared byte by byte: names, uids,
resourceVersions, managedFields, order of members. Prints what differs, and exits with 1 if anything does."""

import argparse
import base64
import contextlib
import http.client
import json
import pathlib
import ssl
import sys
import tempfile
import urllib.parse
import urllib.request

import generated
import servers
from servers import TOKEN, free_port, start, stop, wait_for

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MERGE = "application/merge-patch+json"
# Written by each server by itself, or different between two servers for other reasons than storage.
NOT_COMPARED = {"componentstatuses"}


class Server:
    def __init__(self, name, url):
        self.name, self.address = name, urllib.parse.urlsplit(url)
        self.connection = None

    def do(self, method, path, body=None, media="application/json"):
        for last in (False, True):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPSConnection(self.address.hostname, self.address.port, timeout=60,
                                                                  context=ssl._create_unverified_context())
                self.connection.request(method, path, None if body is None else json.dumps(body),
                                        {"Authorization": f"Bearer {TOKEN}", "Content-Type": media, "Accept": "application/json"})
                answer = self.connection.getresponse()
                text = answer.read() or b"{}"
                return answer.status, json.loads(text) if text.startswith(b"{") else {"message": text.decode()}
            except (OSError, http.client.HTTPException):
                self.connection = None
                if last:
                    raise

    def resources(self):
        """(prefix, resource) of everything that can be listed, in every version."""
        versions = [("/api/v1", "")]
        for group in self.do("GET", "/apis")[1]["groups"]:
            versions += [(f"/apis/{version['groupVersion']}", group["name"]) for version in group["versions"]]
        for prefix, _ in versions:
            for resource in self.do("GET", prefix)[1].get("resources", []):
                if "/" not in resource["name"] and "list" in resource["verbs"] and resource["name"] not in NOT_COMPARED:
                    yield prefix, resource


def path_of(prefix, resource, thing):
    space = thing["metadata"].get("namespace")
    return f"{prefix}/namespaces/{space}/{resource['name']}" if resource["namespaced"] else f"{prefix}/{resource['name']}"


def listed(server, prefix, resource):
    status, body = server.do("GET", f"{prefix}/{resource['name']}")
    if status != 200:
        return f"{status} {body.get('message')}"
    return {(item["metadata"].get("namespace", ""), item["metadata"]["name"]): item for item in body["items"] or []}


def compare(step, reference, ours):
    """The differences after a step, as texts."""
    differences, objects, kinds = [], 0, 0
    for prefix, resource in reference.resources():
        theirs, mine = listed(reference, prefix, resource), listed(ours, prefix, resource)
        what = f"{prefix}/{resource['name']}"
        if not isinstance(theirs, dict) or not isinstance(mine, dict):
            if theirs != mine:
                differences.append(f"{what}: list: {theirs if isinstance(theirs, str) else 'OK'} | {mine if isinstance(mine, str) else 'OK'}")
            continue
        kinds += bool(theirs)
        for key in sorted(theirs.keys() | mine.keys()):
            objects += 1
            a, b = (json.dumps(side.get(key)) for side in (theirs, mine))
            if a == b:
                continue
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            differences.append(f"{what} {'/'.join(key)}\n    theirs …{a[max(0, at - 60):at + 140]}\n    ours   …{b[max(0, at - 60):at + 140]}")
    print(f"{step}: {objects} objects of {kinds} resources and versions compared, {len(differences)} differ", flush=True)
    return differences


CRD_RESOURCE = ("/apis/apiextensions.k8s.io/v1", {"name": "customresourcedefinitions"})
CRD = f"{CRD_RESOURCE[0]}/{CRD_RESOURCE[1]['name']}"


def definitions():
    """Definitions of several shapes: each must come through v1beta1, in which a kube-apiserver stores them."""
    schema = {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer", "default": 3, "minimum": 0}, "note": {"type": "string", "nullable": True},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            "x-kubernetes-validations": [{"rule": "self.size < 100", "message": "too large"}]},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1, "description": "how large"},
               {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    plain = {"name": "v1", "served": True, "storage": True, "schema": schema}
    full = {**plain, "additionalPrinterColumns": columns, "subresources": {
        "status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
        "selectableFields": [{"jsonPath": ".spec.note"}]}
    other = {**full, "name": "v1beta1", "storage": False, "deprecated": True, "deprecationWarning": "old"}
    webhook = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1", "v1beta1"], "clientConfig": {
        "service": {"namespace": "default", "name": "converter", "path": "/convert"}, "caBundle": ""}}}
    for plural, kind, scope, versions, more in (
            ("plains", "Plain", "Namespaced", [plain], {}),
            ("fulls", "Full", "Namespaced", [full], {}),
            ("clusters", "ClusterThing", "Cluster", [full, other], {}),
            ("unequals", "Unequal", "Namespaced", [full, {**plain, "name": "v1beta1", "storage": False}], {}),
            ("hooked", "Hooked", "Namespaced", [full], {"conversion": webhook})):
        if "conversion" in more:
            more["conversion"]["webhook"]["clientConfig"].pop("caBundle")
        yield {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
               "metadata": {"name": f"{plural}.same.example.com"},
               "spec": {"group": "same.example.com", "scope": scope, "versions": versions,
                        "names": {"plural": plural, "kind": kind, "shortNames": [plural[:3]], "categories": ["all"]}, **more}}


def custom_resources(definition):
    for version in definition["spec"]["versions"]:
        yield {"apiVersion": f"same.example.com/{version['name']}", "kind": definition["spec"]["names"]["kind"],
               "metadata": {"name": f"made-as-{version['name']}", "labels": {"b": "1", "a": "2"}},
               "spec": {"size": 5, "note": "x", "any": {"z": [1, 2.5, None], "a": {}}}}


def everything(server, space):
    """Creates the good object of every kind; how many were stored. What depends on another object comes in a later round."""
    server.do("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
    server.do("POST", f"/api/v1/namespaces/{space}/serviceaccounts", {"metadata": {"name": "default"}})
    by_kind = generated.good_objects()
    waiting = []
    for prefix, resource in server.resources():
        group, version = resource.get("group", ""), prefix.rpartition("/")[2]
        group = "" if prefix == "/api/v1" else prefix.split("/")[2]
        if "create" not in resource["verbs"] or resource["name"] in ("namespaces", "customresourcedefinitions"):
            continue
        for thing in by_kind.get((group, resource["kind"]), []):
            if thing["apiVersion"].rpartition("/")[2] != version:
                continue
            thing = json.loads(json.dumps(thing))
            if resource["namespaced"]:
                thing["metadata"]["namespace"] = space
            else:
                thing["metadata"]["name"] += f"-{space}" if "/" not in thing["metadata"]["name"] else ""
            waiting.append((path_of(prefix, resource, thing), thing))
    for definition in definitions():
        if server.do("POST", CRD, definition)[0] in (201, 409):
            plural = definition["spec"]["names"]["plural"]
            for thing in custom_resources(definition):
                place = f"/namespaces/{space}" if definition["spec"]["scope"] == "Namespaced" else ""
                thing["metadata"]["name"] += "" if place else f"-{space}"
                waiting.append((f"/apis/{thing['apiVersion']}{place}/{plural}", thing))
    stored, count = 0, len(waiting)
    for _ in range(4):
        left = []
        for path, thing in waiting:
            if server.do("POST", path, thing)[0] != 201:
                left.append((path, thing))
        stored += len(waiting) - len(left)
        waiting = left
    print(f"{server.name}: {stored} of {count} good objects stored in {space}; not: {sorted({path.rpartition('/')[2] for path, _ in waiting})}", flush=True)


def change_all(server, value):
    """A label on every object, in its preferred version; how many patches were made and how many refused, by code."""
    codes, seen = {}, set()
    for prefix, resource in server.resources():
        group = prefix.split("/")[2] if prefix.startswith("/apis") else ""
        if "patch" not in resource["verbs"] or (group, resource["name"]) in seen or resource["name"] == "events":
            continue
        seen.add((group, resource["name"]))
        items = listed(server, prefix, resource)
        for item in items.values() if isinstance(items, dict) else ():
            path = f"{path_of(prefix, resource, item)}/{urllib.parse.quote(item['metadata']['name'])}"
            status, _ = server.do("PATCH", path, {"metadata": {"labels": {"changed-by": value}}}, MERGE)
            codes[status] = codes.get(status, 0) + 1
    print(f"{server.name}: a label on everything: {codes}", flush=True)


def put(etcd_url, key, value):
    body = {"key": base64.b64encode(key.encode()).decode(), "value": base64.b64encode(value).decode()}
    request = urllib.request.Request(f"{etcd_url}/v3/kv/put", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        answer.read()


def old_objects():
    """Keys below the prefix and objects in versions that Kubernetes once stored them in."""
    def thing(version, kind, name, rest, space=None, uid=[0]):
        uid[0] += 1
        metadata = {"name": name} | ({"namespace": space} if space else {})
        metadata |= {"uid": f"00000000-0000-0000-0000-{uid[0]:012}", "creationTimestamp": "2020-01-02T03:04:05Z"}
        return {"kind": kind, "apiVersion": version, "metadata": metadata, **rest}

    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    rule = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"serviceName": "s", "servicePort": 80}}]}}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "olds", "singular": "old", "kind": "Old", "listKind": "OldList"}
    status = {"conditions": [], "acceptedNames": names, "storedVersions": ["v1"]}
    yield "poddisruptionbudgets/old/budget", thing("policy/v1beta1", "PodDisruptionBudget", "budget", {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}, "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}}, "old")
    yield "poddisruptionbudgets/old/all", thing("policy/v1beta1", "PodDisruptionBudget", "all", {"spec": {"minAvailable": "50%", "selector": {}}, "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}}, "old")
    yield "poddisruptionbudgets/old/none", thing("policy/v1beta1", "PodDisruptionBudget", "none", {"spec": {"maxUnavailable": 1}, "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}}, "old")
    yield "horizontalpodautoscalers/old/scaler", thing("autoscaling/v1", "HorizontalPodAutoscaler", "scaler", {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "minReplicas": 1, "maxReplicas": 5, "targetCPUUtilizationPercentage": 70}, "status": {"currentReplicas": 0, "desiredReplicas": 0}}, "old")
    yield "cronjobs/old/cron", thing("batch/v1beta1", "CronJob", "cron", {"spec": {"schedule": "* * * * *", "jobTemplate": {"metadata": {}, "spec": {"template": {**pod, "spec": {**pod["spec"], "restartPolicy": "Never"}}}}}, "status": {}}, "old")
    yield "ingress/old/ingress", thing("networking.k8s.io/v1beta1", "Ingress", "ingress", {"spec": {"backend": {"serviceName": "d", "servicePort": "http"}, "rules": [{"host": "a.example.com", **rule}]}, "status": {"loadBalancer": {}}}, "old")
    yield "ingress/old/older", thing("extensions/v1beta1", "Ingress", "older", {"spec": {"rules": [{"host": "b.example.com", **rule}]}, "status": {"loadBalancer": {}}}, "old")
    yield "ingressclasses/old", thing("networking.k8s.io/v1beta1", "IngressClass", "old", {"spec": {"controller": "example.com/c"}})
    yield "deployments/old/deployment", thing("apps/v1beta1", "Deployment", "deployment", {"spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": pod, "strategy": {}}, "status": {}}, "old")
    yield "deployments/old/oldest", thing("extensions/v1beta1", "Deployment", "oldest", {"spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": pod, "strategy": {}, "rollbackTo": {"revision": 2}}, "status": {}}, "old")
    yield "daemonsets/old/daemons", thing("apps/v1beta2", "DaemonSet", "daemons", {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod, "updateStrategy": {}}, "status": {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0}}, "old")
    yield "daemonsets/old/older", thing("extensions/v1beta1", "DaemonSet", "older", {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod, "updateStrategy": {}, "templateGeneration": 3}, "status": {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0}}, "old")
    yield "statefulsets/old/set", thing("apps/v1beta1", "StatefulSet", "set", {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod, "serviceName": "s"}, "status": {"replicas": 0}}, "old")
    yield "replicasets/old/replicas", thing("extensions/v1beta1", "ReplicaSet", "replicas", {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod}, "status": {"replicas": 0}}, "old")
    yield "controllerrevisions/old/revision", thing("apps/v1beta1", "ControllerRevision", "revision", {"data": {"a": 1}, "revision": 1}, "old")
    yield "networkpolicies/old/policy", thing("extensions/v1beta1", "NetworkPolicy", "policy", {"spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}]}]}}, "old")
    yield "endpointslices/old/slice", thing("discovery.k8s.io/v1beta1", "EndpointSlice", "slice", {"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}, "topology": {"kubernetes.io/hostname": "n", "topology.kubernetes.io/zone": "z", "other": "o"}}], "ports": [{"name": "http", "protocol": "TCP", "port": 80}]}, "old")
    yield "leases/old/lease", thing("coordination.k8s.io/v1beta1", "Lease", "lease", {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 10}}, "old")
    yield "roles/old/role", thing("rbac.authorization.k8s.io/v1beta1", "Role", "role", {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}, "old")
    yield "rolebindings/old/binding", thing("rbac.authorization.k8s.io/v1alpha1", "RoleBinding", "binding", {"subjects": [{"kind": "User", "apiVersion": "rbac.authorization.k8s.io/v1alpha1", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "old"}, {"kind": "User", "name": "*"}], "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "role"}}, "old")
    yield "clusterroles/old", thing("rbac.authorization.k8s.io/v1alpha1", "ClusterRole", "old", {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]})
    yield "clusterrolebindings/old", thing("rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding", "old", {"subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "g"}], "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "old"}})
    yield "priorityclasses/old", thing("scheduling.k8s.io/v1beta1", "PriorityClass", "old", {"value": 10})
    yield "storageclasses/old", thing("storage.k8s.io/v1beta1", "StorageClass", "old", {"provisioner": "example.com/p"})
    yield "volumeattachments/old", thing("storage.k8s.io/v1beta1", "VolumeAttachment", "old", {"spec": {"attacher": "a", "source": {"persistentVolumeName": "v"}, "nodeName": "n"}, "status": {"attached": False}})
    yield "csidrivers/old", thing("storage.k8s.io/v1beta1", "CSIDriver", "old", {"spec": {"attachRequired": True}})
    yield "csinodes/old", thing("storage.k8s.io/v1beta1", "CSINode", "old", {"spec": {"drivers": None}})
    yield "csistoragecapacities/old/capacity", thing("storage.k8s.io/v1beta1", "CSIStorageCapacity", "capacity", {"storageClassName": "old", "capacity": "1Gi"}, "old")
    yield "runtimeclasses/old", thing("node.k8s.io/v1beta1", "RuntimeClass", "old", {"handler": "h"})
    yield "runtimeclasses/oldest", thing("node.k8s.io/v1alpha1", "RuntimeClass", "oldest", {"spec": {"runtimeHandler": "h", "overhead": {"podFixed": {"cpu": "1"}}}})
    yield "certificatesigningrequests/old", thing("certificates.k8s.io/v1beta1", "CertificateSigningRequest", "old", {"spec": {"request": "eA==", "signerName": "example.com/s", "usages": ["client auth"]}, "status": {}})
    yield "flowschemas/old", thing("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema", "old", {"spec": {"priorityLevelConfiguration": {"name": "old"}, "matchingPrecedence": 9000}, "status": {}})
    yield "prioritylevelconfigurations/old", thing("flowcontrol.apiserver.k8s.io/v1beta2", "PriorityLevelConfiguration", "old", {"spec": {"type": "Limited", "limited": {"assuredConcurrencyShares": 7, "limitResponse": {"type": "Reject"}}}, "status": {}})
    yield "prioritylevelconfigurations/newer", thing("flowcontrol.apiserver.k8s.io/v1beta3", "PriorityLevelConfiguration", "newer", {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}}}, "status": {}})
    yield "mutatingwebhookconfigurations/old", thing("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration", "old", {"webhooks": [{"name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [{"operations": ["CREATE"], "apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["nones"]}]}]})
    yield "validatingwebhookconfigurations/old", thing("admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration", "old", {"webhooks": [{"name": "a.example.com", "clientConfig": {"service": {"namespace": "old", "name": "s"}}, "rules": [{"operations": ["CREATE"], "apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["nones"]}]}]})
    yield "apiregistration.k8s.io/apiservices/v1.old.example.com", thing("apiregistration.k8s.io/v1beta1", "APIService", "v1.old.example.com", {"spec": {"group": "old.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10}, "status": {}})
    yield "apiextensions.k8s.io/customresourcedefinitions/olds.old2.example.com", thing("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "olds.old2.example.com", {"spec": {"group": "old2.example.com", "version": "v1", "names": names, "scope": "Namespaced", "validation": schema, "subresources": {"status": {}}, "additionalPrinterColumns": [{"name": "A", "type": "string", "JSONPath": ".spec.a"}]}, "status": status})
    # Stored in its newest version before that had all of today's fields with defaults.
    yield "services/specs/old/service", thing("v1", "Service", "service", {"spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.77", "clusterIPs": ["10.0.0.77"], "type": "ClusterIP", "sessionAffinity": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}, "status": {"loadBalancer": {}}}, "old")
    # Of before 1.20, which knew one address and one family.
    for name, spec in {"one": {"clusterIP": "10.0.0.78", "type": "ClusterIP", "selector": {"a": "b"}}, "headless": {"clusterIP": "None", "type": "ClusterIP", "selector": {"a": "b"}}, "bare": {"clusterIP": "None", "type": "ClusterIP"}, "external": {"type": "ExternalName", "externalName": "a.example.com", "internalTrafficPolicy": "Cluster"}}.items():
        yield f"services/specs/old/{name}", thing("v1", "Service", name, {"spec": {"ports": [{"port": 80}], "sessionAffinity": "None", **spec}, "status": {"loadBalancer": {}}}, "old")
    yield "pods/old/pod", thing("v1", "Pod", "pod", {"spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {}}, "old")
    yield "persistentvolumeclaims/old/claim", thing("v1", "PersistentVolumeClaim", "claim", {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}}, "old")
    yield "jobs/old/job", thing("batch/v1", "Job", "job", {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {**pod, "spec": {**pod["spec"], "restartPolicy": "Never"}}}, "status": {}}, "old")


def run(arguments, stack):
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="same-etcd-")))
    flags = servers.FLAGS + ["--runtime-config=api/all=true"] + servers.make_credentials(folder)
    client, peer = free_port(), free_port()
    url = f"http://127.0.0.1:{client}"
    process = start([arguments.etcd, "--data-dir", folder / "etcd", "--log-level", "warn", "--unsafe-no-fsync", "--listen-client-urls", url,
                     "--advertise-client-urls", url, "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
                     f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}"], folder / "etcd.log", stack)
    wait_for(url + "/health", process, folder / "etcd.log")

    def launch(name, command, more):
        port, log = free_port(), folder / f"{name}.log"
        process = start([*command, f"--etcd-servers={url}", f"--secure-port={port}", *more, *flags], log, stack)
        address = f"https://127.0.0.1:{port}"
        wait_for(address + "/readyz", process, log)
        return process, Server(name, address)

    def launch_reference():
        # Definitions are served a moment after /readyz.
        process, server = launch("kube-apiserver", [arguments.reference_binary], [
            f"--cert-dir={folder}/certs", "--allow-privileged=true",
            "--storage-media-type=application/" + ("vnd.kubernetes.protobuf" if arguments.media_type == "protobuf" else "json")])
        while any(server.do("GET", f"/apis/{name.partition('.')[2]}")[0] != 200 for _, name in listed(server, *CRD_RESOURCE)):
            pass
        return process, server

    def launch_ours():
        return launch("portcullis", [arguments.build / "portcullis", "serve"], [f"--data-dir={folder}/ours", "--controllers=-*"])

    differences = []
    reference_process, reference = launch_reference()
    everything(reference, "theirs")
    reference.do("POST", "/api/v1/namespaces", {"metadata": {"name": "old"}})
    stop(reference_process)
    for key, thing in old_objects():
        put(url, f"/registry/{key}", json.dumps(thing, separators=(",", ":")).encode() + b"\n")
    reference_process, reference = launch_reference()
    ours_process, ours = launch_ours()
    differences += compare("1. stored by the kube-apiserver", reference, ours)
    everything(ours, "ours")
    differences += compare("2. new ones by Portcullis", reference, ours)
    change_all(ours, "portcullis")
    differences += compare("3. changed by Portcullis", reference, ours)
    change_all(reference, "kube-apiserver")
    differences += compare("4. changed by the kube-apiserver", reference, ours)
    change_all(ours, "portcullis-again")
    stop(ours_process)
    stop(reference_process)
    reference_process, reference = launch_reference()
    ours_process, ours = launch_ours()
    differences += compare("5. both started again", reference, ours)
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference-binary", required=True)
    parser.add_argument("--etcd", default="etcd")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--media-type", choices=("JSON", "protobuf"), default="protobuf")
    parser.add_argument("--show", type=int, default=40, help="so many differences are printed")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        differences = run(arguments, stack)
    for difference in differences[:arguments.show]:
        print(difference)
    print("FAIL" if differences else "OK")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
