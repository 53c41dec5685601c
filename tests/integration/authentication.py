#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens that other servers vouch for: issuers of --authentication-config and of the flags --oidc-*, and the token webhook.

    tests/integration/authentication.py --build build/release
"""

import contextlib
import email.utils
import http.client
import json
import pathlib
import ssl
import sys
import tempfile
import time

from process import CONFIGMAPS
from story import expect, fail, run, serving, until

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "faults"), str(TESTS / "reference")]
import authentication as reference  # noqa: E402
import authentication_cases as cases  # noqa: E402
import peers  # noqa: E402
from issuer import Issuer, Key, token  # noqa: E402

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
ADMIN = "recorder"


class Lab:
    """A folder with an issuer, its keys, and the files that the server is given."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.certificates = peers.Certificates(folder)
        self.keys = reference.keys_in(folder)
        (self.folder / "tokens.csv").write_text(f'{ADMIN},recorder,1,"system:masters"\n')

    @contextlib.contextmanager
    def issuer(self, *keys):
        folder = self.certificates.folder
        issuer = Issuer(folder / "good.crt", folder / "peer.key", [self.keys[name] for name in keys or ("rsa",)])
        try:
            yield issuer
        finally:
            issuer.close()

    def write(self, **members):
        path = self.folder / "authentication.json"
        path.write_text(json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", **members}))
        return f"--authentication-config={path}"

    def jwt(self, issuer, place="", **more):
        return {"issuer": {"url": issuer.url + place, "audiences": ["app"], "certificateAuthority": self.certificates.authority.decode()},
                "claimMappings": {"username": {"claim": "sub", "prefix": ""}, "groups": {"claim": "groups", "prefix": ""}}, **more}

    def token(self, issuer, place="", key="rsa", **claims):
        return token(self.keys[key], {"iss": issuer.url + place, "aud": "app", "sub": "ann", "exp": int(time.time()) + 3600, **claims})

    def serving(self, program, *flags, **more):
        return serving(program, f"--token-auth-file={self.folder / 'tokens.csv'}", *flags, **more)

    def kubeconfig(self, port):
        path = self.folder / "webhook.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "here", "users": [{"name": "u", "user": {}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{port}/review", "certificate-authority": "ca.crt"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}]}))
        return f"--authentication-token-webhook-config-file={path}"


def call(server, token, method, path, body=None):
    context = ssl.create_default_context(cafile=server.folder / "pki/ca.crt")
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=40)
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request(method, path, body and json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    return answer.status, json.loads(text) if text.startswith("{") else text


def who(server, token):
    """The user whom the server takes the bearer for, or the code."""
    code, answer = call(server, token, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    return answer["status"]["userInfo"] if code == 201 else code


def error_of(server, token):
    return reference.review(f"https://127.0.0.1:{server.port}", token, ADMIN).get("error", "")


def known(server, token):
    until("the issuer", lambda: who(server, token) != 401)


def policies_see_groups(program, lab):
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "writers"},
              "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]},
                       "validations": [{"expression": "'writers' in request.userInfo.groups && request.userInfo.extra['example.org/team'] == ['blue']",
                                        "messageExpression": "request.userInfo.username + ' is in ' + request.userInfo.groups.join(',')"}]}}
    binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "writers"},
               "spec": {"policyName": "writers", "validationActions": ["Deny"]}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "all"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}]}
    with lab.issuer() as issuer:
        jwt = lab.jwt(issuer)
        jwt["claimMappings"]["extra"] = [{"key": "example.org/team", "valueExpression": "claims.team"}]
        with lab.serving(program, lab.write(jwt=[jwt], anonymous={"enabled": True, "conditions": [{"path": "/livez"}]})) as server:
            writer = lab.token(issuer, groups=["writers"], team="blue", jti="t1")
            known(server, writer)
            expect("the user", who(server, writer), {
                "username": "ann", "groups": ["writers", "system:authenticated"],
                "extra": {"authentication.kubernetes.io/credential-id": ["JTI=t1"], "example.org/team": ["blue"]}})
            for path, made in ((POLICIES + "ies", policy), (POLICIES + "ybindings", binding), ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", role)):
                expect(path, call(server, ADMIN, "POST", path, made)[0], 201)
            until("the policy", lambda: call(server, ADMIN, "POST", CONFIGMAPS + "?dryRun=All", configmap("x"))[0] == 422)
            expect("a writer", call(server, writer, "POST", CONFIGMAPS, configmap("a"))[0], 201)
            code, answer = call(server, lab.token(issuer, groups=["readers"], team="blue"), "POST", CONFIGMAPS, configmap("b"))
            expect("a reader", (code, answer["message"].rpartition(": ")[2]), (422, "ann is in readers,system:authenticated"))
            expect("without a token", [call(server, "", "GET", path)[0] for path in ("/livez", "/readyz", "/version")], [200, 401, 401])
            code, answer = call(server, lab.token(issuer, exp=5), "GET", CONFIGMAPS)
            expect("an old token", (code, answer), (401, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                                                          "message": "Unauthorized", "reason": "Unauthorized", "code": 401}))
            said = call(server, ADMIN, "GET", "/metrics")[1]
            for name in ("apiserver_authentication_jwt_authenticator_latency_seconds_count{jwt_issuer_hash=", 'result="success"',
                         "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info{", "apiserver_authentication_config_controller_last_config_info{",
                         'authentication_token_cache_fetch_total{status="ok"} ', 'authentication_token_cache_request_total{status="miss"} '):
                expect(name, name in said, True)


def configmap(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def recorded_tokens(program, lab):
    """What kube-apiserver says of every token of tests/reference/authentication_cases.py."""
    record = json.loads((reference.RECORDED / "tokens.json").read_text())
    with lab.issuer(*(name for name in lab.keys if name != "unknown")) as issuer:
        file = lab.folder / "issuers.json"
        file.write_text(json.dumps(cases.issuers(issuer.url, lab.certificates.authority.decode())))
        with lab.serving(program, f"--authentication-config={file}", "--service-account-issuer=https://kubernetes.default.svc") as server:
            url = f"https://127.0.0.1:{server.port}"
            reference.wait_for_issuers(url, issuer, lab.keys, ADMIN, len(cases.ISSUERS))
            said = reference.statuses(url, issuer, cases.tokens(issuer.url, lab.keys, int(time.time())), ADMIN)
    wrong = [f"{name}: {said.get(name)}, not {status}" for name, status in record.items() if said.get(name) != status]
    if wrong or len(said) != len(record):
        fail(f"{len(wrong)} of {len(said)} differ:\n" + "\n".join(wrong[:10]))


def recorded_refusals(program, lab):
    rows = json.loads((reference.RECORDED / "refusals.json").read_text())
    flags = [(row["name"], row["flags"], row["file"]) for row in rows if row["name"].startswith("flags: ")]
    said = reference.refusals(lab.folder, flags, lambda line: reference.refusal_of_ours(program, lab.folder, line))
    for row in rows:
        if row["name"] in said:
            expect(f"{row['name']}: {said[row['name']]}", reference.is_said(row["error"], said[row["name"]]), True)


def keys_change(program, lab):
    with lab.issuer("rsa") as issuer:
        issuer.documents[""] = (503, "later")
        with lab.serving(program, lab.write(jwt=[lab.jwt(issuer)])) as server:
            first = lab.token(issuer)
            expect("before the issuer answers", who(server, first), 401)
            expect("why", error_of(server, first), "[invalid bearer token, oidc: authenticator not initialized]")
            del issuer.documents[""]
            known(server, first)
            second = lab.token(issuer, key="P-256")
            expect("an unknown key", who(server, second), 401)
            issuer.keys = [lab.keys["P-256"]]
            second = token(lab.keys["P-256"], {"iss": issuer.url, "aud": "app", "sub": "bob", "exp": int(time.time()) + 3600}, "ES256")
            expect("a new key", who(server, second)["username"], "bob")
            issuer.key_sets[""] = (500, "broken")
            expect("the keys are gone", error_of(server, lab.token(issuer, sub="x")),
                   "[invalid bearer token, oidc: verify token: failed to verify signature: fetching keys oidc: get keys failed: "
                   "500 Internal Server Error broken]")


def keys_are_kept(program, lab):
    """Also if the issuer would not have them kept; and they are fresh as long as it says."""
    with lab.issuer("rsa") as issuer:
        fetches = lambda: issuer.asked.count("/keys")  # noqa: E731
        issuer.headers = {"Cache-Control": "no-store"}
        with lab.serving(program, lab.write(jwt=[lab.jwt(issuer)])) as server:
            known(server, lab.token(issuer))
            expect("one fetch", fetches(), 1)
            expect("a known key", (who(server, lab.token(issuer, sub="bob"))["username"], fetches()), ("bob", 1))
            issuer.headers = {"Expires": email.utils.formatdate(time.time() + 3600, usegmt=True)}
            expect("an unknown key", (who(server, lab.token(issuer, key="unknown")), fetches()), (401, 2))
            expect("it is known to be unknown", (who(server, lab.token(issuer, key="unknown")), fetches()), (401, 2))


def reloads(program, lab):
    with lab.issuer() as issuer:
        with lab.serving(program, lab.write(jwt=[lab.jwt(issuer, "/a")])) as server:
            a, b = lab.token(issuer, "/a"), lab.token(issuer, "/b")
            known(server, a)
            expect("unknown yet", who(server, b), 401)
            lab.write(jwt=[{}])
            until("the complaint", lambda: "failed to validate authentication config" in (server.folder / "log").read_text())
            lab.write(jwt=[lab.jwt(issuer, "/b")], anonymous={"enabled": True})
            until("the other complaint", lambda: "anonymous: Forbidden: changed from initial configuration file" in (server.folder / "log").read_text())
            expect("as before", who(server, lab.token(issuer, "/a", sub="x"))["username"], "x")
            lab.write(jwt=[lab.jwt(issuer, "/b")])
            known(server, b)
            expect("the old issuer", who(server, lab.token(issuer, "/a", sub="y")), 401)
            said = call(server, ADMIN, "GET", "/metrics")[1]
            expect("counted", all(f'automatic_reloads_total{{apiserver_id_hash="sha256:{hash_of(said)}",status="{status}"}} {count}' in said
                                  for status, count in (("failure", 2), ("success", 1))), True)


def hash_of(metrics):
    return metrics.partition('automatic_reloads_total{apiserver_id_hash="sha256:')[2][:64]


def flags_of_old(program, lab):
    with lab.issuer() as issuer:
        (lab.folder / "oidc-ca.crt").write_bytes(lab.certificates.authority)
        flags = [f"--oidc-issuer-url={issuer.url}", "--oidc-client-id=app", f"--oidc-ca-file={lab.folder / 'oidc-ca.crt'}"]
        with lab.serving(program, *flags, "--oidc-groups-claim=groups", "--oidc-groups-prefix=g:", "--oidc-required-claim=hd=a,b") as server:
            good = lab.token(issuer, groups="one", hd="a,b")
            known(server, good)
            expect("the user", who(server, good), {"username": f"{issuer.url}#ann", "groups": ["g:one", "system:authenticated"]})
            expect("another claim", who(server, lab.token(issuer, hd="a")), 401)
        with lab.serving(program, *flags, "--oidc-username-claim=email", "--oidc-username-prefix=-", "--oidc-signing-algs=ES256,RS256") as server:
            good = lab.token(issuer, email="ann@example.com", email_verified=True)
            known(server, good)
            expect("by address", who(server, good)["username"], "ann@example.com")


def webhook_says(program, lab):
    asked, answers = [], {}

    def judge(request):
        review = json.loads(request.body)
        asked.append(review)
        if review["spec"]["token"] == "broken":
            return peers.answer(b"ill", "400 Bad Request", kind="text/plain")
        status = answers.get(review["spec"]["token"], {})
        return peers.answer(json.dumps({"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}).encode())

    answers["good"] = {"authenticated": True, "user": {"username": "ann", "uid": "1", "groups": ["g"], "extra": {"example.org/x": ["y"]}}}
    answers["narrow"] = {**answers["good"], "audiences": ["elsewhere"]}
    answers["wide"] = {**answers["good"], "audiences": ["elsewhere", "api"]}
    answers["wrong"] = {"error": "I do not know you"}
    peer = peers.Peer(peers.sends(judge), lab.certificates.context("good"))
    flag = lab.kubeconfig(peer.port)
    with lab.serving(program, flag, "--api-audiences=api,more") as server:
        user = {"username": "ann", "uid": "1", "groups": ["g", "system:authenticated"], "extra": {"example.org/x": ["y"]}}
        expect("good", who(server, "good"), user)
        expect("the question", asked[0], {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1beta1", "metadata": {},
                                          "spec": {"token": "good", "audiences": ["api", "more"]}, "status": {"user": {}}})
        expect("remembered", (who(server, "good"), len(asked)), (user, 1))
        expect("another audience", (who(server, "narrow"), who(server, "wide")), (401, user))
        expect("unknown", (who(server, "nobody"), who(server, "nobody"), len(asked)), (401, 401, 4))
        expect("wrong", error_of(server, "wrong"), "[invalid bearer token, I do not know you]")
        expect("others are not asked", (call(server, ADMIN, "GET", CONFIGMAPS)[0], server.call("GET", CONFIGMAPS)[0]), (200, 200))
        expect("so many were", len(asked), 5)
    with lab.serving(program, flag, "--authentication-token-webhook-version=v1", "--authentication-token-webhook-cache-ttl=0s") as server:
        expect("unknown twice", (who(server, "nobody"), who(server, "nobody"), len(asked)), (401, 401, 7))
        expect("the version", asked[-1]["apiVersion"], "authentication.k8s.io/v1")
        expect("no answer", error_of(server, "broken"), "[invalid bearer token, the server rejected our request for an unknown reason]")
    peer.close()


if __name__ == "__main__":
    run("authentication", __doc__, [policies_see_groups, recorded_tokens, recorded_refusals, keys_change, keys_are_kept, reloads, flags_of_old, webhook_says], Lab)
