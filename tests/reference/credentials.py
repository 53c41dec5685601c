# SPDX-License-Identifier: Apache-2.0

"""The credentials and objects that cases about identities need: static tokens, keys of tokens, certificates of
clients and of front proxies, and service accounts with what tokens can be bound to."""

import base64
import dataclasses
import hashlib
import json
import subprocess

ADMIN = "admin-token"
ISSUER, OLD_ISSUER = "https://issuer.example", "https://old.example"
# What kube-apiserver is to be given in the file of static tokens: token, user, uid, groups.
USERS = [
    (ADMIN, "admin", "1", "system:masters"), ("plain", "plain", "2", ""), ("grouped", "grouped", "3", "a,b"),
    ("gaps", "gaps", "4", "a,,b,"), ("spaced", "name with spaces", "uid with spaces", " a, b"), ("twice", "first", "5", ""),
    ("twice", "second", "6", ""), ("", "nobody", "7", ""), ("pläin", "umlaut", "8", ""), ("a b", "blank", "9", ""),
    ("anonymous", "system:anonymous", "", ""), ("unnamed", "", "10", "a"), ("authenticated", "x", "11", "system:authenticated"),
    ("unauthenticated", "y", "12", "system:unauthenticated"), ("quo\"ted", "quoted", "13", "a"), ("Case", "case", "14", ""),
    ("imp-all", "imp-all", "15", ""), ("imp-user", "imp-user", "16", ""), ("imp-new", "imp-new", "17", ""),
    ("imp-none", "imp-none", "18", ""), ("imp-some", "imp-some", "19", ""), ("local", "local", "20", ""), ("named", "named", "21", ""),
    ("updater", "updater", "22", ""), ("granter", "granter", "23", ""), ("node", "system:node:node", "24", "system:nodes"),
    ("other-node", "system:node:other", "25", "system:nodes"), ("node-without-name", "system:node:", "26", "system:nodes"),
    ("node-without-group", "system:node:node", "27", ""), ("pretender", "pretender", "28", "system:nodes"),
]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NS = "/api/v1/namespaces/who"
AUTHENTICATION = "authentication.k8s.io"


@dataclasses.dataclass
class Case:
    name: str
    headers: dict = dataclasses.field(default_factory=dict)
    certificate: str | None = None
    query: str = ""
    review: dict | None = None  # the spec of a TokenReview, to be asked instead
    request: tuple | None = None  # method, path and body, to be sent instead


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout


def rule(groups, resources, verbs, names=()):
    return {"apiGroups": groups, "resources": resources, "verbs": verbs, **({"resourceNames": list(names)} if names else {})}


def binding(kind, role, user):
    return {"metadata": {"name": user}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}


# Who may impersonate whom.
ROLES = {
    "imp-all": [rule([""], ["users", "groups", "serviceaccounts"], ["impersonate"]),
                rule([AUTHENTICATION], ["uids", "userextras/*"], ["impersonate"])],
    "imp-user": [rule([""], ["users"], ["impersonate"], ["bob"])],
    "imp-some": [rule([""], ["users"], ["impersonate"], ["bob", "system:node:n", "system:anonymous"]),
                 rule([""], ["groups"], ["impersonate"], ["a", "system:authenticated"]),
                 rule([""], ["serviceaccounts"], ["impersonate"], ["sa"]),
                 rule([AUTHENTICATION], ["userextras/k.io/scopes"], ["impersonate"], ["view"]),
                 rule([AUTHENTICATION], ["uids"], ["impersonate"], ["u-1"])],
    "imp-new": [rule([AUTHENTICATION], ["users", "groups", "uids", "userextras/k.io/scopes"], ["impersonate:user-info"]),
                rule([AUTHENTICATION], ["nodes"], ["impersonate:arbitrary-node"], ["n"]),
                rule([AUTHENTICATION], ["serviceaccounts"], ["impersonate:serviceaccount"]),
                rule([AUTHENTICATION], ["selfsubjectreviews"],
                     [f"impersonate-on:{mode}:create" for mode in ("user-info", "arbitrary-node", "serviceaccount")])],
}

# Who has rights in the namespace "who" only.
LOCAL_ROLES = {
    "local": [rule(["*"], ["*"], ["*"])],
    "named": [rule([""], ["configmaps"], ["get", "list", "watch", "delete", "deletecollection", "patch"], ["one"])],
    "updater": [rule([""], ["configmaps"], ["get", "update", "patch"])],
    "granter": [rule(["rbac.authorization.k8s.io"], ["roles", "rolebindings"], ["create", "update", "patch", "get"]),
                rule([""], ["configmaps"], ["get"])],
}


class Credentials:
    def __init__(self, folder):
        self.folder = folder
        self.uids = {}

    def path(self, name):
        return self.folder / name

    # --- made once -----------------------------------------------------------------------------------

    def make(self, certificates):
        self.folder.mkdir(parents=True, exist_ok=True)
        quoted = [[field.replace('"', '""') for field in user] for user in USERS]
        self.path("tokens.csv").write_text("".join(f'"{t}","{u}",{i},"{g}"\n' for t, u, i, g in quoted))
        for name, options in (("rsa", ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]), ("other", ["RSA"]),
                              ("ec", ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"])):
            self.path(f"{name}.key").write_bytes(openssl("genpkey", "-algorithm", *options))
            self.path(f"{name}.pub").write_bytes(openssl("pkey", "-in", str(self.path(f"{name}.key")), "-pubout"))
        self.make_certificates(certificates)

    def make_certificates(self, c):
        maker = c.Maker(self.folder)
        ca = [c.basic(), c.usage("keyCertSign")]
        for name, key in (("ca", "p256:ca"), ("proxy-ca", "p256:proxy-ca"), ("other-ca", "p256:other-ca")):
            self.path(f"{name}.crt").write_text(c.pem(maker.cert(f"CN={name}", key, extensions=ca)))
        client = [c.purposes("client")]
        for name, subject, signer, more in (
                ("client", "O=dev/CN=joe", "ca", {}), ("nameless", "O=dev", "ca", {}), ("uid", "UID=u-9/CN=joe", "ca", {}),
                ("stranger", "CN=joe", "other-ca", {}), ("expired", "CN=joe", "ca", {"years": (2000, 2010)}),
                ("proxy", "CN=proxy", "proxy-ca", {}), ("proxy-two", "CN=proxy-two", "proxy-ca", {}),
                ("proxy-unknown", "CN=unknown", "proxy-ca", {}), ("proxy-case", "CN=Proxy", "proxy-ca", {}),
                ("proxy-expired", "CN=proxy", "proxy-ca", {"years": (2000, 2010)}), ("proxy-of-clients", "CN=proxy", "ca", {}),
                ("proxy-of-strangers", "CN=proxy", "other-ca", {}),
                ("proxy-for-servers", "CN=proxy", "proxy-ca", {"extensions": [c.purposes("server")]})):
            made = maker.cert(subject, "p256:leaf", f"CN={signer}", f"p256:{signer}", more.pop("extensions", client), **more)
            self.path(f"{name}.crt").write_text(c.pem(made))

    def files(self, certificate):
        return str(self.path(f"{certificate}.crt")), str(self.path("p256-leaf.key"))

    def flags(self):
        return [f"--token-auth-file={self.path('tokens.csv')}", f"--client-ca-file={self.path('ca.crt')}",
                f"--requestheader-client-ca-file={self.path('proxy-ca.crt')}", "--requestheader-allowed-names=proxy,proxy-two",
                "--requestheader-username-headers=X-Remote-User,X-Other-User", "--requestheader-uid-headers=X-Remote-Uid",
                "--requestheader-group-headers=X-Remote-Group,X-Other-Group",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-,X-More-",
                f"--service-account-signing-key-file={self.path('rsa.key')}",
                f"--service-account-key-file={self.path('rsa.pub')}", f"--service-account-key-file={self.path('ec.pub')}",
                f"--service-account-issuer={ISSUER}", f"--service-account-issuer={OLD_ISSUER}", "--api-audiences=api,also",
                "--enable-bootstrap-token-auth=true", "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=NodeRestriction"]

    # --- made on each server -------------------------------------------------------------------------

    def prepare(self, asker):
        """Objects, by which `uids` is filled; those named "old" have been deleted since."""
        self.asker = asker
        self.create("/api/v1/namespaces", "namespace", {"metadata": {"name": "who"}})
        accounts = f"{NS}/serviceaccounts"
        for name in ("sa", "gone", "renewed"):
            self.create(accounts, f"{name} account", {"metadata": {"name": name}})
        self.uids["old account"] = self.uids["renewed account"]
        for name in ("gone", "renewed"):
            asker.admin("DELETE", f"{accounts}/{name}")
        self.create(accounts, "renewed account", {"metadata": {"name": "renewed"}})
        pod = {"serviceAccountName": "sa", "automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
        for path, kind, rest in ((f"{NS}/pods", "pod", {"spec": pod}), (f"{NS}/secrets", "secret", {}),
                                 ("/api/v1/nodes", "node", {})):
            self.create(path, kind, {"metadata": {"name": kind}, **rest})
            self.create(path, f"old {kind}", {"metadata": {"name": f"old-{kind}"}, **rest})
            asker.admin("DELETE", f"{path}/old-{kind}?gracePeriodSeconds=0")
        self.create(f"{NS}/pods", "pod of the node", {"metadata": {"name": "on-node"}, "spec": {**pod, "nodeName": "node", "volumes": [
            {"name": "s", "secret": {"secretName": "secret"}}]}})
        self.create(f"{NS}/pods", "pod of another account", {"metadata": {"name": "of-renewed"}, "spec": {**pod, "serviceAccountName": "renewed"}})
        for name in ("one", "two"):
            self.create(f"{NS}/configmaps", f"map {name}", {"metadata": {"name": name}})
        for scope, kind, roles in ((RBAC, "ClusterRole", ROLES), (f"{RBAC}/namespaces/who", "Role", LOCAL_ROLES)):
            for user, rules in roles.items():
                self.create(f"{scope}/{kind.lower()}s", f"role {user}", {"metadata": {"name": user}, "rules": rules})
                self.create(f"{scope}/{kind.lower()}bindings", f"binding {user}", binding(kind, user, user))

    def create(self, path, what, body):
        code, answer = self.asker.admin("POST", path, body)
        if code == 409:
            code, answer = self.asker.admin("GET", f"{path}/{body['metadata']['name']}")
        if code not in (200, 201):
            raise RuntimeError(f"{path}: {code} {answer}")
        self.uids[what] = answer["metadata"]["uid"]

    # --- tokens --------------------------------------------------------------------------------------

    def key_id(self, key):
        return base64url(hashlib.sha256(self.der(key)).digest())

    def sign(self, data, key="rsa", digest="sha256", pss=False):
        options = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"] if pss else []
        return openssl("dgst", f"-{digest}", "-sign", str(self.path(f"{key}.key")), *options, data=data)

    def token(self, claims, header=None, key="rsa", **how):
        """A token as it should be, of what may be wrong. Claims and headers may be given as bytes."""
        head = json.dumps({"alg": "RS256", "kid": self.key_id(key)} if header is None else header)
        body = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
        text = f"{base64url(head.encode())}.{base64url(body)}"
        return f"{text}.{base64url(self.sign(text.encode(), key, **how))}"

    def token_of(self, header, claims, key="rsa"):
        """With a header that is written out."""
        text = f"{base64url(header.encode())}.{base64url(json.dumps(claims).encode())}"
        return f"{text}.{base64url(self.sign(text.encode(), key))}"

    def ec_token(self, claims, header):
        """With a signature of two numbers, as tokens have it instead of DER."""
        text = f"{base64url(json.dumps(header).encode())}.{base64url(json.dumps(claims).encode())}"
        der, numbers = self.sign(text.encode(), "ec"), b""
        at = 2
        for _ in range(2):
            size = der[at + 1]
            numbers += der[at + 2:at + 2 + size].lstrip(b"\0").rjust(32, b"\0")
            at += 2 + size
        return f"{text}.{base64url(numbers)}"

    def der(self, key):
        return openssl("pkey", "-pubin", "-in", str(self.path(f"{key}.pub")), "-outform", "DER")

    def modulus(self, key):
        text = openssl("rsa", "-pubin", "-in", str(self.path(f"{key}.pub")), "-noout", "-modulus").decode()
        return base64url(bytes.fromhex(text.split("=")[1].strip()))

    def make_bootstrap_secret(self, number, changes, metadata):
        """The secret of a bootstrap token, as it should be but for the changes."""
        identity = f"boot{number:02}"
        name = f"bootstrap-token-{identity}"
        data = {"token-id": identity, "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true", **changes}
        path = "/api/v1/namespaces/kube-system/secrets"
        self.asker.admin("DELETE", f"{path}/{name}")
        self.create(path, f"bootstrap {identity}", {
            "metadata": {"name": name}, "type": metadata.get("type", "bootstrap.kubernetes.io/token"),
            "stringData": {key: value for key, value in data.items() if value is not None}})
        return f"{identity}.0123456789abcdef"

    def make_secret(self, name, token, how):
        """The secret of a legacy token: with a label, of another type, or as it should be."""
        metadata = {"name": name, "annotations": {"kubernetes.io/service-account.name": "sa"}}
        if "label" in how:
            metadata["labels"] = {how["label"]: "2020-01-01"}
        self.asker.admin("DELETE", f"{NS}/secrets/{name}")
        self.create(f"{NS}/secrets", f"secret {name}", {
            "metadata": metadata, "type": how.get("type", "kubernetes.io/service-account-token"), "stringData": {"token": token}})
