# SPDX-License-Identifier: Apache-2.0

"""The cases of authentication.py: issuers with their mappings and rules, and tokens for each; and configurations that are
refused. ISSUER stands for the address of the issuers, CA for their authority; numbers in times count from now."""

import base64
import json

from issuer import base64url, token

PLAIN = {"claimMappings": {"username": {"claim": "sub", "prefix": ""}}}


def mapped(**mappings):
    return {"claimMappings": {"username": {"claim": "sub", "prefix": "oidc:"}, **mappings}}


def expression(text):
    return {"expression": text}


EMAIL = {"claimMappings": {"username": {"claim": "email", "prefix": ""}}}
# Claims that most tokens have besides the issuer, the audience and the end.
WHO = {"sub": "ann", "email": "ann@example.com", "groups": ["a", "b"], "roles": "x,y", "n": 7, "f": 1.5, "yes": True,
       "kubernetes.io": {"namespace": "ns", "pod": {"name": "p", "uid": "u"}}, "nested": {"a-b": [{"c.d": "deep"}]}, "none": None}


def rule(text, message="no"):
    return {**PLAIN, "claimValidationRules": [{"expression": text, "message": message}]}


def mapping(name, text):
    return mapped(**{name: expression(text)})


def extra(text, key="example.org/x"):
    return mapped(extra=[{"key": key, "valueExpression": text}])


def user_rule(text):
    base = mapped(groups={"claim": "groups", "prefix": "g:"}, uid={"claim": "email"}, extra=[{"key": "example.org/x", "valueExpression": "claims.sub"}])
    return {**base, "userValidationRules": [{"expression": text, "message": "not you"}]}


# Name: issuer's part of the configuration, and the tokens: changes of the claims (None: the claim is left out).
ISSUERS = {
    "plain": (PLAIN, [{}, {"aud": ["other", "app"]}, {"aud": [5]}, {"aud": "other"}, {"aud": None}, {"aud": 5}, {"exp": -10}, {"exp": None}, {"exp": "soon"},
                      {"exp": None, "nbf": 5}, {"nbf": 30}, {"nbf": "x"}, {"sub": None}, {"sub": 5}, {"sub": ""}, {"jti": "id-1"}, {"jti": 5},
                      {"_claim_names": {"groups": "src"}}, {"_claim_names": {"groups": ""}}, {"_claim_names": 5}, {"exp": True}, {"iat": "x"}]),
    "audiences": ({**PLAIN, "audiences": ["app", "b"]}, [{}, {"aud": "b"}, {"aud": ["z", "b"]}, {"aud": ["x", "y"]}]),
    "email": (EMAIL, [{}, {"email_verified": True}, {"email_verified": False}, {"email_verified": "yes"}, {"email": None}]),
    "claims": (mapped(groups={"claim": "groups", "prefix": "oidc:"}, uid={"claim": "email"}),
               [{}, {"groups": "one"}, {"groups": 5}, {"groups": [1]}, {"groups": None}, {"groups": []}, {"groups": {"a": 1}}, {"email": None},
                {"groups": None, "_claim_names": {"groups": "s"}, "_claim_sources": {"s": {"JWT": "x"}}}]),
    "required": ({**PLAIN, "claimValidationRules": [{"claim": "hd", "requiredValue": "example.com"}]},
                 [{}, {"hd": "example.com"}, {"hd": "other"}, {"hd": 5}]),
    "dots": ({"claimMappings": {"username": expression("'sa:' + claims.kubernetes__dot__io.namespace"), "groups": expression("[claims.nested.a__dash__b[0].c__dot__d]")}},
             [{}, {"kubernetes.io": {}}, {"nested": 1}]),
    "split": (mapping("groups", "claims.roles.split(',')"), [{}, {"roles": "one"}, {"roles": ""}, {"roles": 5}, {"roles": None}]),
    "mapped list": (mapping("groups", "claims.roles.split(',').map(r, 'r:' + r)"), [{}]),
    "list of claims": (mapping("groups", "claims.groups + ['more', '']"), [{}, {"groups": "text"}, {"groups": [1, "a"]}]),
    "bare list": (mapping("groups", "claims.groups"), [{}, {"groups": "text"}, {"groups": 5}, {"groups": []}, {"groups": ""}, {"groups": None}, {"groups": [None]}, {"groups": [["a"]]}]),
    "filter": (mapping("groups", "dyn(claims.groups).filter(g, g != 'a')"), [{}, {"groups": [1, 2]}]),
    "optional": (mapping("groups", "claims.?teams.orValue(['none'])"), [{}, {"teams": ["t"]}]),
    "null": (mapping("groups", "claims.none"), [{}]),
    "number as group": (mapping("groups", "claims.n"), [{}]),
    "map as group": (mapping("groups", "claims.nested"), [{}]),
    "found": (mapping("groups", "claims.roles.findAll('[a-z]')"), [{}]),
    "username": ({"claimMappings": {"username": expression("claims.name")}}, [{}, {"name": "bob"}, {"name": ""}, {"name": 5}, {"name": ["x"]}]),
    "verified email": ({"claimMappings": {"username": expression("claims.email_verified ? claims.email : 'nobody'")}}, [{}, {"email_verified": True}, {"email_verified": False}, {"email_verified": 1}]),
    "uid": (mapping("uid", "claims.id"), [{}, {"id": "7"}, {"id": 7}, {"id": ""}]),
    "number text": (mapping("uid", "string(claims.n)"), [{}, {"n": 1.5}, {"n": 1e21}, {"n": 12345678901}]),
    "number": (rule("claims.n == 7 && claims.n < 8 && type(claims.n) == double && claims.f == 1.5"), [{}, {"n": 8}]),
    "sum": (rule("claims.exp - claims.iat <= 100000"), [{}, {"iat": 0}]),
    "wrong sum": (rule("claims.n + 1 == 8"), [{}]),
    "in": (rule("'a' in claims.groups && 'kubernetes.io' in claims && has(claims.sub)"), [{}, {"groups": ["b"]}, {"groups": {"a": 1}}]),
    "escaped in": (rule("'kubernetes__dot__io' in claims"), [{}]),
    "index": (rule("claims['sub'] == 'ann' && claims['kubernetes.io'].namespace == 'ns' && 'namespace' in claims['kubernetes.io']"), [{}, {"sub": "bob"}]),
    "in and has": (rule("'a' in claims.groups && has(claims.sub) && !has(claims.other)"), [{}, {"groups": []}]),
    "split and more": (mapping("groups", "claims.roles.split(',') + ['more']"), [{}]),
    "nested has": (rule("has(claims.nested.a__dash__b) && size(claims.nested) == 1 && dyn(claims.nested).all(k, k == 'a-b')"), [{}, {"nested": {}}]),
    "size": (rule("size(claims) > 3"), [{}]),
    "kinds": (rule("type(claims.groups) == list && type(claims.nested) == map && claims.none == null"), [{}]),
    "no such key": (rule("claims.nothing == 'x'"), [{}]),
    "message": (rule("claims.sub == 'bob'", "only bob may"), [{}, {"sub": "bob"}]),
    "without message": (rule("claims.sub == 'bob'", ""), [{}]),
    "two rules": ({**PLAIN, "claimValidationRules": [{"expression": "claims.sub != 'ann'", "message": "first"}, {"expression": "claims.missing == 1"}]}, [{}, {"missing": 1}]),
    "extra": (extra("claims.nested.a__dash__b[0].c__dot__d"), [{}, {"jti": "x"}]),
    "extra list": (extra("claims.groups"), [{}, {"groups": []}, {"groups": 7}]),
    "extra empty": (extra("''"), [{}]),
    "extra missing": (extra("claims.nothing"), [{}]),
    "user": (user_rule("user.username == 'oidc:ann' && user.uid == 'ann@example.com' && 'g:a' in user.groups"), [{}, {"sub": "bob"}, {"groups": None}]),
    "user extra": (user_rule("user.extra['example.org/x'] == ['ann'] && user.extra.example__dot__org__slash__x[0] == 'ann'"), [{}]),
    "user prefix": (user_rule("!user.username.startsWith('system:') && !user.groups.exists(g, g.startsWith('system:'))"), [{}, {"groups": ["system:masters"]}]),
    "user has": (user_rule("has(user.uid) && has(user.extra) && user.groups.size() == 2"), [{}, {"groups": None}]),
}


def issuers(url, authority):
    """The configuration of all of them."""
    jwt = []
    for number, (part, _) in enumerate(ISSUERS.values()):
        part = dict(part)
        audiences = part.pop("audiences", ["app"])
        issuer = {"url": f"{url}/{number}", "audiences": audiences, "certificateAuthority": authority}
        if len(audiences) > 1:
            issuer["audienceMatchPolicy"] = "MatchAny"
        jwt.append({"issuer": issuer, **part})
    return {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", "jwt": jwt}


def claims_of(url, number, changes, now):
    claims = {"iss": f"{url}/{number}", "aud": "app", "exp": 3600, "iat": -5, **WHO}
    claims.update(changes)
    for name in ("exp", "iat", "nbf"):
        if isinstance(claims.get(name), int) and not isinstance(claims[name], bool):
            claims[name] += now
    # A claim that is left out, but for the one that is to be null.
    return {name: value for name, value in claims.items() if value is not None or name == "none"}


# Signatures of another length.
LENGTHS = {"with a zero before": lambda text: b"\0" + text, "with a zero behind": lambda text: text + b"\0",
           "without its end": lambda text: text[:-1], "twice": lambda text: text + text}
# Go counts seconds from the year 1, which the largest numbers are too large for.
YEAR_ONE = 62135596800
ENDS = (2**63 - 1, 2**63 - YEAR_ONE, 2**63 - 1 - YEAR_ONE, 2**63, 1e18, 9.3e18, 1e300, -1, -2**63, -YEAR_ONE, -YEAR_ONE - 1, 253402300800)


def tokens(url, keys, now):
    """(name, token) of every case: those of the issuers, then what is wrong with the tokens themselves."""
    for number, (name, (_, cases)) in enumerate(ISSUERS.items()):
        for changes in cases:
            yield f"{name}: {json.dumps(changes)}", token(keys["rsa"], claims_of(url, number, changes, now))
    plain = claims_of(url, 0, {}, now)
    for algorithm, key in (("RS384", "rsa"), ("RS512", "rsa"), ("PS256", "rsa"), ("PS384", "rsa"), ("PS512", "rsa"), ("ES256", "P-256"),
                           ("ES384", "P-384"), ("ES512", "P-521")):
        yield algorithm, token(keys[key], plain, algorithm)
    good = token(keys["rsa"], plain)
    head, payload, signature = good.split(".")
    yield "no kid", token(keys["rsa"], plain, header={"kid": None})
    yield "unknown kid", token(keys["rsa"], plain, header={"kid": "other"})
    yield "kid of another key", token(keys["rsa"], plain, header={"kid": "P-256"})
    yield "unknown key", token(keys["unknown"], plain)
    yield "unknown key with a known kid", token(keys["unknown"], plain, header={"kid": "rsa"})
    yield "algorithm none", token(keys["rsa"], plain, header={"alg": "none"})
    yield "algorithm HS256", token(keys["rsa"], plain, header={"alg": "HS256"})
    yield "algorithm of another key", token(keys["rsa"], plain, header={"alg": "ES256"})
    yield "no algorithm", token(keys["rsa"], plain, header={"alg": None})
    yield "critical", token(keys["rsa"], plain, header={"crit": ["x"], "x": 1})
    yield "other issuer", token(keys["rsa"], {**plain, "iss": "https://other"})
    yield "issuer in capitals", token(keys["rsa"], {**{n: v for n, v in plain.items() if n != "iss"}, "ISS": plain["iss"]})
    yield "issuer with a slash", token(keys["rsa"], {**plain, "iss": plain["iss"] + "/"})
    yield "no signature", f"{head}.{payload}."
    yield "changed signature", f"{head}.{payload}.{base64url(b'x' * 256)}"
    for key, algorithm in (("rsa", "RS256"), ("rsa", "PS256"), ("P-256", "ES256")):
        for name, change in LENGTHS.items():
            signed, _, signature = token(keys[key], plain, algorithm).rpartition(".")
            yield f"{algorithm}, signature {name}", f"{signed}.{base64url(change(base64.urlsafe_b64decode(signature + '==')))}"
    for name in ("rsa-1024", "rsa-1016"):
        yield f"key {name}", token(keys[name], plain)
    for end in ENDS:
        yield f"exp {end}", token(keys["rsa"], {**plain, "exp": end})
        yield f"nbf {end}", token(keys["rsa"], {**plain, "nbf": end})
    yield "two parts", f"{head}.{payload}"
    yield "four parts", f"{good}.x"
    yield "ill payload", f"{head}.{base64url(b'{')}.{signature}"
    yield "payload that is a list", f"{head}.{base64url(b'[]')}.{signature}"
    yield "a claim twice", token(keys["rsa"], json.dumps(plain).encode()[:-1] + b', "sub": "bob"}')
    yield "issuer twice", token(keys["rsa"], json.dumps(plain).encode()[:-1] + b', "iss": "https://other"}')
    yield "padded", f"{head}.{payload}.{base64.urlsafe_b64encode(b'x').decode()}"
    yield "text", "no-token"


HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"


def jwt(issuer="{url: https://a.example, audiences: [app]}", mappings="{username: {claim: sub, prefix: ''}}", more=""):
    return f"{HEAD}jwt:\n- issuer: {issuer}\n  claimMappings: {mappings}\n{more}"


def rules(text):
    return jwt(more=f"  claimValidationRules: {text}\n")


def user_rules(text):
    return jwt(more=f"  userValidationRules: {text}\n")


def username(text, more=""):
    return jwt(mappings=f"{{username: {{expression: {text}}}}}", more=more)


def extras(text):
    return jwt(mappings=f"{{username: {{claim: sub, prefix: ''}}, extra: {text}}}")


# Files that kube-apiserver refuses.
CONFIGURATIONS = {
    "empty": "",
    "no kind": "apiVersion: apiserver.config.k8s.io/v1\n",
    "no version": "kind: AuthenticationConfiguration\n",
    "other version": "apiVersion: apiserver.config.k8s.io/v2\nkind: AuthenticationConfiguration\n",
    "other kind": "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: []\n",
    "unknown field": HEAD + "jwts: []\n",
    "unknown field inside": jwt("{url: https://a.example, audience: [app]}"),
    "repeated field": HEAD + "jwt: []\njwt: []\n",
    "wrong type": HEAD + "jwt: {}\n",
    "wrong type inside": jwt("{url: 5, audiences: [app]}"),
    "not YAML": HEAD + "jwt: [\n",
    "empty issuer": HEAD + "jwt:\n- {}\n",
    "http": jwt("{url: http://a.example, audiences: [app]}"),
    "user, query and fragment": jwt("{url: 'https://u:p@a.example?q=1#f', audiences: [app]}"),
    "ill url": jwt("{url: 'https://[::1', audiences: [app]}"),
    "discovery like the issuer": jwt("{url: https://a.example/, discoveryURL: https://a.example, audiences: [app]}"),
    "http discovery": jwt("{url: https://a.example, discoveryURL: http://b.example, audiences: [app]}"),
    "no audiences": jwt("{url: https://a.example}"),
    "empty and repeated audiences": jwt("{url: https://a.example, audiences: ['', b, b], audienceMatchPolicy: MatchAny}"),
    "several audiences without a policy": jwt("{url: https://a.example, audiences: [a, b]}"),
    "wrong policy": jwt("{url: https://a.example, audiences: [a], audienceMatchPolicy: MatchAll}"),
    "ill authority": jwt("{url: https://a.example, audiences: [a], certificateAuthority: none}"),
    "egress selector": jwt("{url: https://a.example, audiences: [a], egressSelectorType: etcd}"),
    "egress selector without one": jwt("{url: https://a.example, audiences: [a], egressSelectorType: cluster}"),
    "same issuer twice": jwt() + jwt().partition("jwt:\n")[2],
    "same discovery twice": jwt("{url: https://a.example, discoveryURL: https://d.example, audiences: [a]}")
    + jwt("{url: https://b.example, discoveryURL: https://d.example, audiences: [a]}").partition("jwt:\n")[2],
    "issuer of service accounts": jwt("{url: 'https://kubernetes.default.svc', audiences: [a]}"),
    "too many": HEAD + "jwt:\n" + "- {}\n" * 65,
    "empty rule": rules("[{}]"),
    "claim and expression": rules("[{claim: a, expression: 'true'}]"),
    "claim with a message": rules("[{claim: a, message: m}, {claim: a}]"),
    "expression with a value": rules("[{expression: 'true', requiredValue: v}, {expression: 'true'}]"),
    "rule that is no bool": rules("[{expression: '1'}]"),
    "rule that is dyn": rules("[{expression: claims.a}]"),
    "rule that does not compile": rules("[{expression: 'claims.a +'}]"),
    "rule of something else": rules("[{expression: user.username == ''}]"),
    "no mapping": jwt(mappings="{}"),
    "no prefix": jwt(mappings="{username: {claim: sub}, groups: {claim: groups}}"),
    "both in mappings": jwt(mappings="{username: {claim: a, expression: b}, groups: {claim: a, expression: b}, uid: {claim: a, expression: b}}"),
    "prefix with an expression": jwt(mappings="{username: {prefix: a, expression: claims.sub}}"),
    "mappings that do not compile": jwt(mappings="{username: {expression: foo}, groups: {expression: '1 +'}, uid: {expression: '['}}"),
    "email": username("claims.email"),
    "email by optional": username('"claims.?email.orValue(\'x\')"'),
    "email in a list": username("'[claims.email, claims.sub].filter(x, x != null)[0]'"),
    "extra without key": extras("[{valueExpression: claims.a}]"),
    "extra without domain": extras("[{key: foo, valueExpression: claims.a}]"),
    "extra in capitals": extras("[{key: Example.org/Foo, valueExpression: claims.a}]"),
    "extra of Kubernetes": extras("[{key: a.k8s.io/foo, valueExpression: claims.a}, {key: kubernetes.io/a, valueExpression: claims.a}]"),
    "extra with an ill path": extras("[{key: 'example.org/a b', valueExpression: claims.a}]"),
    "extra twice": extras("[{key: example.org/a, valueExpression: claims.a}, {key: example.org/a, valueExpression: claims.a}]"),
    "extra without expression": extras("[{key: example.org/a}]"),
    "extra that does not compile": extras("[{key: example.org/a, valueExpression: '('}]"),
    "empty user rule": user_rules("[{}]"),
    "user rule twice": user_rules("[{expression: 'true'}, {expression: 'true'}]"),
    "user rule that is no bool": user_rules("[{expression: user.username}]"),
    "user rule of an unknown field": user_rules("[{expression: user.name == ''}]"),
    "user rule over claims": user_rules("[{expression: claims.a == ''}]"),
    "anonymous with conditions but off": HEAD + "anonymous: {enabled: false, conditions: [{path: /livez}]}\n",
}

# Flags, and what stands in the file of --authentication-config, if it is among them.
FLAGS = {
    "client without issuer": (["--oidc-client-id=app"], None),
    "groups without issuer": (["--oidc-groups-claim=groups"], None),
    "file and flags": (["--authentication-config=FILE", "--oidc-issuer-url=https://a.example", "--oidc-client-id=app"], jwt()),
    "no such file": (["--authentication-config=/nope"], None),
    "http issuer": (["--oidc-issuer-url=http://a.example", "--oidc-client-id=app"], None),
    "unknown algorithm": (["--oidc-issuer-url=https://a.example", "--oidc-client-id=app", "--oidc-signing-algs=HS256"], None),
    "no such authority": (["--oidc-issuer-url=https://a.example", "--oidc-client-id=app", "--oidc-ca-file=/nope"], None),
    "ill authority": (["--oidc-issuer-url=https://a.example", "--oidc-client-id=app", "--oidc-ca-file=/etc/hostname"], None),
    "no username claim": (["--oidc-issuer-url=https://a.example", "--oidc-client-id=app", "--oidc-username-claim="], None),
    "ill required claim": (["--oidc-issuer-url=https://a.example", "--oidc-client-id=app", "--oidc-required-claim=a"], None),
    "anonymous twice": (["--authentication-config=FILE", "--anonymous-auth=true"], HEAD + "anonymous: {enabled: true}\n"),
    "no such webhook": (["--authentication-token-webhook-config-file=/nope"], None),
    "webhook version": (["--authentication-token-webhook-config-file=WEBHOOK", "--authentication-token-webhook-version=v2"], None),
}
