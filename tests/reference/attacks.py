# SPDX-License-Identifier: Apache-2.0

"""Requests that try to get around permissions: paths, names, selectors, escalation, tokens of others, nodes. What they
write is a dry run."""

from credentials import NS, RBAC, Case, binding, rule

ROLES, BINDINGS = f"{RBAC}/namespaces/who/roles", f"{RBAC}/namespaces/who/rolebindings"
MAPS = f"{NS}/configmaps"
MERGE, PATCH, APPLY = "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
NODES = "/api/v1/nodes"


def cases(credentials):
    for user, rows in (("local", [*paths(), *token_requests(credentials)]), (None, anonymous()), ("named", names()),
                       ("updater", creations()), ("granter", escalations())):
        yield from made(user, rows)
    for user in ("node", "other-node", "node-without-name", "node-without-group", "pretender"):
        yield from made(user, of_nodes(credentials))


def made(user, rows):
    for number, (method, path, *rest) in enumerate(rows):
        body, kind = (*rest, None, None)[:2]
        headers = {"Authorization": f"Bearer {user}"} if user else {}
        if kind:
            headers["Content-Type"] = kind
        if method not in ("GET", "HEAD", "OPTIONS"):
            path += ("&" if "?" in path else "?") + "dryRun=All"
        yield Case(f"{user} {number}: {method} {path}", headers, request=(method, path, body))


def paths():
    """All rights in one namespace, none elsewhere."""
    for path in ("namespaces", "namespaces/default", "namespaces/default/finalize", "namespaces/default/status", "nodes", "nodes/node",
                 "persistentvolumes", "../default/secrets", "%2e%2e/default/secrets", "..%2fdefault/secrets", "secrets/../../default/secrets",
                 "/secrets", "secrets//", "secrets/", "secrets;x", "secrets%00", "secrets%2f", "SECRETS", "secrets/secret/", "secrets/secret/x", "./secrets",
                 "secrets/.", "secrets/..", "componentstatuses", "serviceaccounts/sa/token", "pods/pod/exec?command=x", "pods/pod/proxy/x", "services/x/proxy",
                 "events", "bindings", "status", "finalize"):
        yield "GET", f"{NS}/{path}"
    for path in ("/api/v1/namespaces/default/secrets", "/api/v1/secrets", "/api/v1/namespaces/who", "/api/v1/namespaces/who/", "/api/v1/namespaces",
                 "/api/v1//namespaces/default/secrets", "//api/v1/namespaces/who/secrets", "/api//v1/namespaces/who/secrets", "/API/v1/namespaces/who/secrets",
                 "/api/V1/namespaces/who/secrets", "/api/v1/Namespaces/who/secrets", "/api/v1/namespaces/WHO/secrets", "/api/v1/namespaces/who%2fsecrets",
                 "/api/v1/namespaces/who;x/secrets", "/api/v1/namespaces/default/secrets?namespace=who", "/api/v1/namespaces//secrets",
                 "/api/v1/namespaces/*/secrets", "/api/v1/namespaces/-/secrets", "/api/v1/namespaces/%20/secrets", "/api/v1/namespaces/./secrets",
                 "/api/v1/secrets?fieldSelector=metadata.namespace%3Dwho", "/api/v1/secrets?fieldSelector=metadata.namespace%3Dwho%2Cmetadata.name%3Dsecret",
                 "/api/v1/watch/secrets", "/api/v1/watch/namespaces/default/secrets", "/api/v1/watch/namespaces/who/namespaces", "/api/v1/watch/namespaces/who",
                 "/api/v1/watch/namespaces", "/api/v1/proxy/namespaces/who/pods/pod", "/api/v1/redirect/namespaces/who/pods/pod", "/apis/v1/namespaces/who/secrets",
                 "/apis//v1/namespaces/who/secrets", "/apis/apps/v1/namespaces/default/deployments", f"{RBAC}/namespaces/who/clusterroles",
                 f"{RBAC}/namespaces/who/clusterrolebindings", f"{RBAC}/clusterroles", "/api/v1/namespaces/who/secrets/secret/namespaces/default",
                 "/healthz", "/healthz/", "/metrics", "/logs", "/debug/pprof/", "/configz", "/openapi/v2", "/apis", "/api", "/version", "/", "/swagger.json"):
        yield "GET", path
    for method, path, body in (("POST", f"{NS}/namespaces", {"metadata": {"name": "new"}}), ("DELETE", f"{NS}/namespaces/default", None),
                               ("PATCH", f"{NS}/namespaces/default", {"metadata": {"labels": {"a": "b"}}}), ("PUT", f"{NS}/namespaces/default", {}),
                               ("PUT", f"{NS}/namespaces/default/finalize", {"metadata": {"name": "default"}, "spec": {"finalizers": []}}),
                               ("DELETE", f"{NS}/namespaces", None), ("DELETE", "/api/v1/namespaces/who", None), ("PATCH", "/api/v1/namespaces/who", {}),
                               ("DELETE", "/api/v1/watch/namespaces/who/secrets", None), ("POST", "/api/v1/watch/namespaces/who/secrets", {}),
                               ("POST", f"{NS}/configmaps", {"metadata": {"name": "new", "namespace": "default"}}),
                               ("PUT", f"{MAPS}/one", {"metadata": {"name": "one", "namespace": "default"}}),
                               ("PUT", f"{MAPS}/one", {"metadata": {"name": "two"}}), ("POST", "/api/v1/configmaps", {"metadata": {"name": "new", "namespace": "who"}}),
                               ("POST", f"{NS}/pods/pod/binding", {"metadata": {"name": "pod"}, "target": {"kind": "Node", "name": "node"}}),
                               ("POST", f"{RBAC}/namespaces/who/clusterroles", {"metadata": {"name": "new"}}), ("POST", ROLES, {"metadata": {"name": "new"}, "rules": [
                                   rule(["*"], ["*"], ["*"])]}), ("POST", BINDINGS, binding("ClusterRole", "cluster-admin", "new")),
                               ("POST", ROLES, {"metadata": {"name": "new"}, "rules": [{"nonResourceURLs": ["*"], "verbs": ["*"]}]})):
        yield method, path, body, MERGE if method == "PATCH" else None


def anonymous():
    for path in ("/", "/api", "/api/", "/api/v1", "/apis", "/apis/", "/apis/apps", "/apis/apps/v1", "/healthz", "/healthz/", "/healthz/ping", "/healthz/etcd",
                 "/livez", "/livez/ping", "/readyz", "/readyz/etcd", "/readyz?verbose", "/version", "/version/", "/metrics", "/metrics/slis", "/logs", "/logs/x",
                 "/debug/pprof/", "/debug/flags/v", "/debug/api_priority_and_fairness/dump_requests", "/openapi/v2", "/openapi/v3", "/openapi/v3/version",
                 "/openid/v1/jwks", "/configz", "/flagz", "/statusz", "/swagger.json", "/ui", "/favicon.ico", "/api/v1/nodes",
                 "/api/v1/namespaces", "/api/v1/namespaces/kube-public/configmaps/cluster-info", "/api/v1/secrets", "/apis/authorization.k8s.io/v1", "/x", "//healthz",
                 "/healthz/..", "/version/..%2fapi", "/livez/../api", "/HEALTHZ"):
        yield "GET", path
    for method in ("POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"):
        yield method, "/version", {} if method in ("POST", "PUT", "PATCH") else None
    yield "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "plain"}}
    yield "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}


def names():
    """Rights to one name."""
    for name in ("one", "two", "ONE", "one%2f", "one/", "one%00", "..%2fone", "%6fne", "one;two", "one,two"):
        yield "GET", f"{MAPS}/{name}"
        yield "DELETE", f"{MAPS}/{name}"
    for selector in ("metadata.name=one", "metadata.name==one", "metadata.name=two", "metadata.name!=two", "metadata.name=one,metadata.name=two",
                     "metadata.name=two,metadata.name=one", "metadata.name=one,metadata.namespace=who", "metadata.namespace=who", "metadata.name=", "metadata.name",
                     "metadata.name===one", "metadata.name=one,", ",metadata.name=one", " metadata.name=one", "metadata.name= one", "metadata.name=one ",
                     "metadata.name=o\\\\ne", "METADATA.NAME=one", "metadata.name=one,x=y", "metadata.name=one,metadata.name!=two", "metadata.name=*", "=one", ""):
        query = "fieldSelector=" + "".join(f"%{ord(c):02x}" if not c.isalnum() and c != "." else c for c in selector)
        for method, more in (("GET", ""), ("GET", "&watch=1&timeoutSeconds=1"), ("DELETE", "")):
            yield method, f"{MAPS}?{query}{more}"
        yield "GET", f"/api/v1/watch/namespaces/who/configmaps?{query}&timeoutSeconds=1"
    yield "GET", f"{MAPS}?fieldSelector=metadata.name%3Done&fieldSelector=metadata.name%3Dtwo"
    yield "GET", f"{MAPS}?fieldSelector=metadata.name%3Dtwo&fieldSelector=metadata.name%3Done"
    for path in (MAPS, f"{MAPS}?labelSelector=a", f"{MAPS}?limit=1", f"{MAPS}?watch=1&timeoutSeconds=1", "/api/v1/watch/namespaces/who/configmaps/one?timeoutSeconds=1",
                 "/api/v1/watch/namespaces/who/configmaps/two?timeoutSeconds=1", f"{MAPS}/two?fieldSelector=metadata.name%3Done"):
        yield "GET", path
    yield "PATCH", f"{MAPS}/one", {"data": {"a": "b"}}, MERGE
    yield "PATCH", f"{MAPS}/two", {"data": {"a": "b"}}, MERGE
    yield "PATCH", f"{MAPS}/one", {"metadata": {"name": "two"}}, MERGE


def creations():
    """Update and patch without create."""
    for name in ("one", "new"):
        whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        yield "POST", MAPS, whole
        yield "PUT", f"{MAPS}/{name}", whole
        yield "PATCH", f"{MAPS}/{name}", {"data": {"a": "b"}}, MERGE
        yield "PATCH", f"{MAPS}/{name}?fieldManager=m", whole, APPLY
        yield "PATCH", f"{MAPS}/{name}", [], PATCH
        yield "DELETE", f"{MAPS}/{name}"
    yield "POST", f"{MAPS}/one", {"metadata": {"name": "one"}}
    yield "DELETE", MAPS


def escalations():
    """Who may write roles and bindings, but not give what they do not have."""
    def role(*rules):
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "new"}, "rules": list(rules)}
    for rules in ([], [rule([""], ["configmaps"], ["get"])], [rule([""], ["configmaps"], ["get"], ["x"])], [rule([""], ["configmaps"], ["get", "list"])],
                  [rule([""], ["*"], ["get"])], [rule(["*"], ["configmaps"], ["get"])], [rule(["*"], ["*"], ["*"])], [rule([""], ["configmaps/status"], ["get"])],
                  [rule([""], ["secrets"], ["get"])], [rule([""], ["configmaps"], ["get"]), rule([""], ["secrets"], ["get"])],
                  [rule(["rbac.authorization.k8s.io"], ["roles"], ["escalate"])], [rule(["rbac.authorization.k8s.io"], ["roles"], ["create"])],
                  [{"nonResourceURLs": ["/x"], "verbs": ["get"]}], [rule([], [], [])]):
        yield "POST", ROLES, role(*rules)
        yield "PUT", f"{ROLES}/granter", {**role(*rules), "metadata": {"name": "granter"}}
        yield "PATCH", f"{ROLES}/granter", {"rules": rules}, MERGE
        yield "PATCH", f"{ROLES}/granter", [{"op": "replace", "path": "/rules", "value": rules}], PATCH
        yield "PATCH", f"{ROLES}/new?fieldManager=m", role(*rules), APPLY
    yield "PATCH", f"{ROLES}/granter", [{"op": "add", "path": "/rules/-", "value": rule(["*"], ["*"], ["*"])}], PATCH
    yield "PATCH", f"{ROLES}/granter", {"metadata": {"labels": {"a": "b"}}}, MERGE
    yield "PATCH", f"{ROLES}/local", {"metadata": {"labels": {"a": "b"}}}, MERGE
    for kind, name in (("Role", "granter"), ("Role", "local"), ("Role", "named"), ("Role", "missing"), ("ClusterRole", "cluster-admin"), ("ClusterRole", "view"),
                       ("ClusterRole", "missing"), ("ClusterRole", "system:discovery"), ("x", "granter"), ("Role", "")):
        yield "POST", BINDINGS, {**binding(kind, name, "granter"), "metadata": {"name": "new"}}
        yield "PUT", f"{BINDINGS}/granter", binding(kind, name, "granter")
        yield "PATCH", f"{BINDINGS}/new?fieldManager=m", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", **binding(kind, name, "new")}, APPLY
    for group in ("", "x", "rbac.authorization.k8s.io/v1", "RBAC.authorization.k8s.io"):
        made_up = binding("ClusterRole", "cluster-admin", "new")
        yield "POST", BINDINGS, {**made_up, "roleRef": {**made_up["roleRef"], "apiGroup": group}}
    yield "PATCH", f"{BINDINGS}/local", {"subjects": binding("Role", "x", "granter")["subjects"]}, MERGE
    yield "PATCH", f"{BINDINGS}/granter", {"subjects": binding("Role", "x", "bob")["subjects"]}, MERGE
    yield "PATCH", f"{BINDINGS}/granter", {"roleRef": {"name": "local"}}, MERGE
    yield "POST", f"{RBAC}/clusterroles", {"metadata": {"name": "new"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {}}]}}
    yield "POST", f"{RBAC}/clusterrolebindings", binding("ClusterRole", "cluster-admin", "granter")


def token_requests(c):
    """Tokens for an account, asked for with what belongs to others."""
    path = f"{NS}/serviceaccounts/sa/token"
    uids = c.uids
    for metadata in ({}, {"name": "sa"}, {"name": "other"}, {"namespace": "who"}, {"namespace": "default"}, {"uid": "x"}, {"uid": uids["sa account"]},
                     {"uid": uids["renewed account"]}, {"name": "sa", "namespace": "who"}, {"generateName": "x"}):
        yield "POST", path, {"metadata": metadata, "spec": {"audiences": ["api"]}}
    for ref in ({"kind": "Pod", "apiVersion": "v1", "name": "pod"}, {"kind": "Pod", "apiVersion": "v1", "name": "pod", "uid": uids["pod"]},
                {"kind": "Pod", "apiVersion": "v1", "name": "pod", "uid": "x"}, {"kind": "Pod", "apiVersion": "v1", "name": "of-renewed"},
                {"kind": "Pod", "apiVersion": "v1", "name": "old-pod", "uid": uids["old pod"]}, {"kind": "Pod", "apiVersion": "v1", "name": "missing"},
                {"kind": "Secret", "apiVersion": "v1", "name": "secret"}, {"kind": "Secret", "apiVersion": "v1", "name": "secret", "uid": "x"},
                {"kind": "Secret", "apiVersion": "v1", "name": "missing"}, {"kind": "Node", "apiVersion": "v1", "name": "node"},
                {"kind": "Node", "apiVersion": "v1", "name": "node", "uid": "x"}, {"kind": "ConfigMap", "apiVersion": "v1", "name": "one"},
                {"kind": "Pod", "apiVersion": "v2", "name": "pod"}, {"kind": "Pod", "name": "pod"}, {"kind": "Deployment", "apiVersion": "apps/v1", "name": "x"},
                {"kind": "Pod", "apiVersion": "a/b/c", "name": "pod"}, {"apiVersion": "v1", "name": "pod"}, {}):
        yield "POST", path, {"spec": {"boundObjectRef": ref}}
    for spec in ({"expirationSeconds": 1}, {"expirationSeconds": 600}, {"expirationSeconds": -1}, {"expirationSeconds": 1 << 40}, {"audiences": ["x"]},
                 {"audiences": []}, {"audiences": [""]}, {}):
        yield "POST", path, {"spec": spec}
    for other in ("missing", "gone", "renewed"):
        yield "POST", f"{NS}/serviceaccounts/{other}/token", {"spec": {}}
    yield "POST", "/api/v1/namespaces/default/serviceaccounts/sa/token", {"spec": {}}
    yield "GET", path
    yield "PUT", path, {"spec": {}}


def of_nodes(c):
    uids = c.uids
    own = [{"apiVersion": "v1", "kind": "Node", "name": "node", "uid": uids["node"], "controller": True}]
    mirror = {"metadata": {"name": "new", "annotations": {"kubernetes.io/config.mirror": "x"}, "ownerReferences": own},
              "spec": {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]}}
    for path in (f"{NS}/secrets/secret", f"{NS}/secrets/missing", f"{NS}/secrets", "/api/v1/secrets", f"{NS}/secrets?fieldSelector=metadata.name%3Dsecret",
                 "/api/v1/secrets?fieldSelector=metadata.name%3Dsecret", f"{NS}/configmaps/one", f"{NS}/pods/pod", f"{NS}/pods/on-node", f"{NS}/pods",
                 "/api/v1/pods", "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode", "/api/v1/pods?fieldSelector=spec.nodeName%3Dother", NODES, f"{NODES}/node",
                 f"{NODES}/other", f"{NODES}?fieldSelector=metadata.name%3Dnode", "/api/v1/persistentvolumes", "/api/v1/persistentvolumes/x", f"{NS}/serviceaccounts/sa",
                 f"{NS}/services", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node", "/apis/coordination.k8s.io/v1/namespaces/who/leases/node",
                 "/apis/storage.k8s.io/v1/csinodes/node", "/apis/storage.k8s.io/v1/csinodes/other", "/apis/storage.k8s.io/v1/volumeattachments/x",
                 "/apis/resource.k8s.io/v1/resourceslices", "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Dnode",
                 "/apis/certificates.k8s.io/v1/certificatesigningrequests/x", f"{RBAC}/clusterroles", f"{NS}/persistentvolumeclaims/x"):
        yield "GET", path
    for change in ({}, {"annotations": {}}, {"ownerReferences": []}, {"ownerReferences": own * 2}, {"ownerReferences": [{**own[0], "uid": "x"}]},
                   {"ownerReferences": [{**own[0], "controller": False}]}, {"ownerReferences": [{**own[0], "blockOwnerDeletion": True}]},
                   {"ownerReferences": [{**own[0], "name": "other"}]}, {"ownerReferences": [{**own[0], "kind": "Pod"}]}):
        yield "POST", f"{NS}/pods", {**mirror, "metadata": {**mirror["metadata"], **change}}
    for change in ({"nodeName": "other"}, {"nodeName": ""}, {"serviceAccountName": "sa"}, {"volumes": [{"name": "v", "secret": {"secretName": "secret"}}]},
                   {"volumes": [{"name": "v", "configMap": {"name": "one"}}]}, {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]},
                   {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, {"volumes": [{"name": "v", "csi": {"driver": "d"}}]},
                   {"volumes": [{"name": "v", "emptyDir": {}, "csi": {"driver": "d"}}]}, {"volumes": [{"name": "v"}]},
                   {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
                   {"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {}}]}}]}, {"volumes": [{"name": "v", "projected": {"sources": [{}]}}]},
                   {"imagePullSecrets": [{"name": "x"}]}, {"resourceClaims": [{"name": "c", "resourceClaimName": "x"}]},
                   {"containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": "one"}}]}]}):
        yield "POST", f"{NS}/pods", {**mirror, "spec": {**mirror["spec"], **change}}
    for name in ("pod", "on-node", "missing"):
        yield "DELETE", f"{NS}/pods/{name}"
        yield "PATCH", f"{NS}/pods/{name}", {"metadata": {"labels": {"a": "b"}}}, MERGE
        yield "PATCH", f"{NS}/pods/{name}/status", {"status": {"message": "x"}}, MERGE
        yield "PATCH", f"{NS}/pods/{name}/status", {"metadata": {"labels": {"a": "b"}}}, MERGE
        yield "PATCH", f"{NS}/pods/{name}/status", {"status": {"extendedResourceClaimStatus": {}}}, MERGE
        yield "PATCH", f"{NS}/pods/{name}/status", {"status": {"resourceClaimStatuses": [{"name": "x"}]}}, MERGE
        yield "POST", f"{NS}/pods/{name}/eviction", {"metadata": {"name": name}}
        yield "POST", f"{NS}/pods/{name}/binding", {"metadata": {"name": name}, "target": {"kind": "Node", "name": "node"}}
        for audience in ([], ["api"], ["a", "b"]):
            bound = {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": uids.get("pod of the node" if name == "on-node" else name, "x")}
            yield "POST", f"{NS}/serviceaccounts/sa/token", {"spec": {"audiences": audience, "boundObjectRef": bound}}
    yield "DELETE", f"{NS}/pods"
    yield "POST", f"{NS}/serviceaccounts/sa/token", {"spec": {}}
    yield "POST", f"{NS}/serviceaccounts/sa/token", {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "on-node"}}}
    yield "POST", f"{NS}/serviceaccounts/sa/token", {"spec": {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "node", "uid": uids["node"]}}}
    yield "PATCH", f"{NS}/serviceaccounts/sa", {"metadata": {"labels": {"a": "b"}}}, MERGE
    for name in ("node", "other"):
        yield "DELETE", f"{NODES}/{name}"
        for key in ("a", "kubernetes.io/hostname", "kubernetes.io/x", "node-restriction.kubernetes.io/x", "a.node-restriction.kubernetes.io/x", "x.k8s.io/y",
                    "node.kubernetes.io/x", "a.kubelet.kubernetes.io/x", "topology.kubernetes.io/zone", "xkubernetes.io/y"):
            yield "PATCH", f"{NODES}/{name}", {"metadata": {"labels": {key: "b"}}}, MERGE
            yield "POST", NODES, {"metadata": {"name": name, "labels": {key: "b"}}}
        for change in ({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}, {"spec": {"unschedulable": True}}, {"metadata": {"ownerReferences": own}},
                       {"spec": {"configSource": {"configMap": {"name": "x", "namespace": "y", "kubeletConfigKey": "z"}}}}):
            yield "PATCH", f"{NODES}/{name}", change, MERGE
            yield "PATCH", f"{NODES}/{name}/status", change, MERGE
        for group, resource, more in (("coordination.k8s.io", "namespaces/kube-node-lease/leases", {}), ("coordination.k8s.io", "namespaces/who/leases", {}),
                                      ("storage.k8s.io", "csinodes", {"spec": {"drivers": []}})):
            yield "POST", f"/apis/{group}/v1/{resource}", {"metadata": {"name": name}, **more}
            yield "DELETE", f"/apis/{group}/v1/{resource}/{name}"
        for node_name in ({"nodeName": name}, {"allNodes": True}):
            yield "POST", "/apis/resource.k8s.io/v1/resourceslices", {"metadata": {"name": "new"}, "spec": {
                "driver": "d.example.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, **node_name}}
    yield "DELETE", NODES
    yield "DELETE", "/apis/resource.k8s.io/v1/resourceslices"
    yield "DELETE", "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Dnode"
    for signer in ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kube-apiserver-client"):
        yield "POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", {"metadata": {"name": "new"}, "spec": {
            "signerName": signer, "request": "eA==", "usages": ["digital signature"]}}
    for resource in ("secrets", "configmaps"):
        for method, path in (("DELETE", f"{NS}/{resource}/secret"), ("DELETE", f"{NS}/{resource}"), ("POST", f"{NS}/{resource}")):
            yield method, path, {"metadata": {"name": "new"}} if method == "POST" else None
    yield "PATCH", f"{NS}/persistentvolumeclaims/x/status", {"status": {}}, MERGE
    yield "PATCH", f"{NS}/persistentvolumeclaims/x", {"metadata": {}}, MERGE
