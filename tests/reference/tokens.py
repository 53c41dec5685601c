# SPDX-License-Identifier: Apache-2.0

"""Cases of bearer tokens: the header, static tokens, and tokens of service accounts with every fault."""

import hashlib
import hmac
import json
import time

from credentials import ISSUER, OLD_ISSUER, Case, base64url

LEGACY = "kubernetes/serviceaccount"
SUBJECT = "system:serviceaccount:who:sa"


def cases(credentials):
    yield from of_the_header()
    yield from of_websockets()
    for name, token in of_accounts(credentials):
        yield Case(f"token: {name}", {"Authorization": f"Bearer {token}"})
    for name, token in of_bootstrapping(credentials):
        yield Case(f"bootstrap token: {name}", {"Authorization": f"Bearer {token}"})
    yield from of_reviews(credentials)


def of_the_header():
    yield Case("no credentials")
    for value in ("Bearer plain", "bearer plain", "BEARER plain", "bEaReR plain", "Bearer  plain", "Bearer   plain", "Bearer\tplain",
                  "Bearer plain more", "Bearer plain  ", "  Bearer plain", "Bearer", "Bearer ", "Basic plain", "Basic cGxhaW46",
                  "Token plain", "plain", "Bearer plain,", "Bearer \"plain\"", "Bearer plain\xa0", "\xa0Bearer plain", "Bearer\xa0plain",
                  "Bearer: plain", "Bearer=plain", "Bearer plain\t", "Bearer plain\tmore", "Bearer PLAIN", "Bearer Case", "Bearer case",
                  "Bearer plai", "Bearer plainn", "Bearer a b", "Bearer quo\"ted", "Bearer pläin", "Bearer 0", "",
                  "Bearer grouped", "Bearer gaps", "Bearer spaced", "Bearer twice", "Bearer anonymous", "Bearer unnamed",
                  "Bearer authenticated", "Bearer unauthenticated", "Negotiate plain", "Bearer Bearer plain", "Bearer\nX: y"):
        if "\n" not in value:
            yield Case(f"header {value!r}", {"Authorization": value})
    good, bad = "Bearer plain", "Bearer wrong"
    for name, values in (("good, bad", [good, bad]), ("bad, good", [bad, good]), ("good, good", [good, "Bearer grouped"]),
                         ("empty, good", ["", good]), ("basic, good", ["Basic x", good]), ("good, basic", [good, "Basic x"])):
        yield Case(f"two headers: {name}", {"Authorization": values})
    yield Case("header name in lower case", {"authorization": good})
    yield Case("header name in upper case", {"AUTHORIZATION": good})
    yield Case("proxy authorization", {"Proxy-Authorization": good})
    yield Case("cookie", {"Cookie": "Authorization=Bearer plain; token=plain"})
    for query in ("?access_token=plain", "?token=plain", "?authorization=Bearer+plain"):
        yield Case(f"query {query}", query=query)
    for certificate in ("client", "nameless", "uid", "stranger", "expired"):
        yield Case(f"certificate {certificate}", certificate=certificate)
        yield Case(f"certificate {certificate} and a good token", {"Authorization": good}, certificate)
        yield Case(f"certificate {certificate} and a bad token", {"Authorization": bad}, certificate)


def of_websockets():
    prefix = "base64url.bearer.authorization.k8s.io."
    good = prefix + base64url(b"plain")
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    for name, protocols, more in (
            ("good", f"{good}, v4.channel.k8s.io", {}), ("last", f"v4.channel.k8s.io, {good}", {}), ("alone", good, {}),
            ("twice", f"{good}, {good}, x", {}), ("two headers", [good, "x"], {}), ("two tokens in two headers", [good, good], {}),
            ("bad token", f"{prefix}{base64url(b'wrong')}, x", {}), ("no base64", f"{prefix}+/=, x", {}),
            ("padded", f"{prefix}cGxhaW4=, x", {}), ("no UTF-8", f"{prefix}{base64url(bytes([255]))}, x", {}),
            ("empty", f"{prefix}, x", {}), ("other case", f"{good.upper()}, x", {}),
            ("no websocket", f"{good}, x", {"Connection": None, "Upgrade": None}), ("no upgrade", f"{good}, x", {"Upgrade": None}),
            ("upgrade to something else", f"{good}, x", {"Upgrade": "SPDY/3.1"}), ("no connection", f"{good}, x", {"Connection": None}),
            ("beside a bad header", f"{good}, x", {"Authorization": "Bearer wrong"}),
            ("beside a good header", f"{prefix}{base64url(b'wrong')}, x", {"Authorization": "Bearer plain"}),
            ("upgrade among others", f"{good}, x", {"Connection": "keep-alive, Upgrade"}),
            ("upgrade in upper case", f"{good}, x", {"Upgrade": "WEBSOCKET"})):
        headers = {**upgrade, "Sec-WebSocket-Protocol": protocols, **more}
        yield Case(f"websocket: {name}", {key: value for key, value in headers.items() if value is not None})


class Claims:
    """What a good token says, and the same with changes."""

    def __init__(self, credentials):
        self.uids = credentials.uids

    @property
    def now(self):
        return int(time.time())

    def ref(self, name, uid):
        return {"name": name, "uid": self.uids[uid]}

    def made(self, bound=None, **changes):
        """A change to None takes the claim away."""
        own = {"namespace": "who", "serviceaccount": self.ref("sa", "sa account"), **(bound or {})}
        own = {key: value for key, value in own.items() if value is not ...}
        claims = {"iss": ISSUER, "sub": SUBJECT, "aud": ["api"], "exp": self.now + 3600, "iat": self.now, "nbf": self.now,
                  "jti": "id-1", "kubernetes.io": own, **changes}
        return {key: value for key, value in claims.items() if value is not ...}

    def raw(self, **texts):
        """Claims written out, with members in the places of others or doubled."""
        text = json.dumps(self.made())
        for old, new in texts.items():
            text = text.replace(f'"{old}":', new)
        return text.encode()


def of_accounts(c):
    claims = Claims(c)
    yield "good", c.token(claims.made())
    yield from of_headers(c, claims)
    yield from of_signatures(c, claims)
    yield from of_shape(c, claims)
    for name, made in [*of_claims(claims), *of_bound_objects(claims)]:
        yield name, c.token(made)
    yield from of_legacy(c, claims)


def of_headers(c, claims):
    rsa, ec, good = c.key_id("rsa"), c.key_id("ec"), claims.made()
    yield "without key id", c.token(good, {"alg": "RS256"})
    for name, kid in (("unknown", "x"), ("of another key", ec), ("number", 1), ("empty", ""), ("null", None), ("list", [rsa])):
        yield f"key id {name}", c.token(good, {"alg": "RS256", "kid": kid})
    for name, more in (("type", {"typ": "JWT"}), ("other type", {"typ": "at+jwt"}), ("critical unknown", {"crit": ["x"], "x": 1}),
                       ("critical empty", {"crit": []}), ("critical b64", {"crit": ["b64"], "b64": True}), ("critical null", {"crit": None}),
                       ("critical text", {"crit": "x"}), ("not b64", {"b64": False}), ("nonce", {"nonce": "x"}),
                       ("key set", {"jku": "https://x"}), ("certificates without sense", {"x5c": ["x"]}), ("no certificates", {"x5c": []}),
                       ("embedded key without sense", {"jwk": {"kty": "x"}}), ("unknown member", {"x": {"y": [1]}})):
        yield f"header with {name}", c.token(good, {"alg": "RS256", "kid": rsa, **more})
    n = c.modulus("other")
    embedded = {"alg": "RS256", "jwk": {"kty": "RSA", "n": n, "e": "AQAB"}}
    yield "embedded key of somebody else", c.token(good, embedded, "other")
    yield "embedded key beside the right one", c.token(good, {**embedded, "kid": rsa})
    yield "header with duplicates", c.token_of(f'{{"alg":"RS256","kid":"{rsa}","kid":"{rsa}"}}', good)
    yield "header in other case", c.token_of(f'{{"ALG":"RS256","KID":"{rsa}"}}', good)
    yield "header that is no JSON", c.token_of("{", good)
    yield "header that is a list", c.token_of("[]", good)
    yield "header that is null", c.token_of("null", good)
    yield "header empty", c.token_of("", good)
    yield "header with blanks", c.token_of(f' {{ "alg" : "RS256", "kid":"{rsa}" }} ', good)


def of_signatures(c, claims):
    good = claims.made()
    text = base64url(json.dumps({"alg": "RS256", "kid": c.key_id("rsa")}).encode()) + "." + base64url(json.dumps(good).encode())
    signature = base64url(c.sign(text.encode()))
    yield "signature wrong", f"{text}.{signature[:-8]}AAAAAAAA"
    yield "signature empty", f"{text}."
    yield "signature cut", f"{text}.{signature[:-4]}"
    yield "signature longer", f"{text}.{signature}AAAA"
    yield "signature with padding", f"{text}.{signature}=="
    yield "signature with other last bits", f"{text}.{signature[:-1]}{chr(ord(signature[-1]) + 1)}"
    yield "signature in the other alphabet", f"{text}.{signature.replace('-', '+').replace('_', '/')}"
    yield "signature of somebody else", c.token(good, key="other")
    yield "signature of somebody else with the right key id", c.token(good, {"alg": "RS256", "kid": c.key_id("rsa")}, "other")
    for name in ("none", "None", "NONE", ""):
        for what, tail in (("", ""), (" with a signature", signature)):
            head = base64url(json.dumps({"alg": name}).encode())
            yield f"algorithm {name!r}{what}", f"{head}.{text.split('.')[1]}.{tail}"
    for name, secret in (("PEM", c.path("rsa.pub").read_bytes()), ("DER", c.der("rsa")), ("nothing", b"")):
        for kid in ({}, {"kid": c.key_id("rsa")}):
            head = base64url(json.dumps({"alg": "HS256", **kid}).encode())
            body = f"{head}.{text.split('.')[1]}"
            tail = base64url(hmac.new(secret, body.encode(), hashlib.sha256).digest())
            yield f"HMAC with {name}{' and key id' if kid else ''}", f"{body}.{tail}"
    yield "no algorithm", c.token(good, {"kid": c.key_id("rsa")})
    yield "algorithm in lower case", c.token(good, {"alg": "rs256"})
    yield "algorithm of another digest", c.token(good, {"alg": "RS512"})
    for digest in ("384", "512"):
        yield f"RS{digest}", c.token(good, {"alg": f"RS{digest}"}, digest=f"sha{digest}")
    for digest in ("256", "384", "512"):
        yield f"PS{digest}", c.token(good, {"alg": f"PS{digest}"}, digest=f"sha{digest}", pss=True)
    yield "ES256", c.ec_token(good, {"alg": "ES256", "kid": c.key_id("ec")})
    yield "ES256 without key id", c.ec_token(good, {"alg": "ES256"})
    yield "ES256 in DER", c.token(good, {"alg": "ES256", "kid": c.key_id("ec")}, "ec")
    yield "ES384 with a key of ES256", c.ec_token(good, {"alg": "ES384", "kid": c.key_id("ec")})
    yield "RS256 with a key of ES256", c.token(good, {"alg": "RS256", "kid": c.key_id("ec")}, "ec")
    head = base64url(json.dumps({"alg": "ES256", "kid": c.key_id("ec")}).encode())
    for name, raw in (("zeros", bytes(64)), ("ones", bytes([0] * 31 + [1]) * 2), ("too short", bytes(63)), ("too long", bytes(66))):
        yield f"ES256 of {name}", f"{head}.{text.split('.')[1]}.{base64url(raw)}"


def of_shape(c, claims):
    good = c.token(claims.made())
    head, body, tail = good.split(".")
    for name, token in (("one part", head), ("two parts", f"{head}.{body}"), ("four parts", f"{good}.x"), ("five parts", f"{good}.x.y"),
                        ("a dot before", f".{good}"), ("a dot behind", f"{good}."), ("dots", ".."), ("a dot", "."), ("no payload", f"{head}..{tail}"),
                        ("no header", f".{body}.{tail}"), ("a brace before", "{" + good), ("tab in the header", f"{head[:5]}\t{head[5:]}.{body}.{tail}"),
                        ("tab in the payload", f"{head}.{body[:5]}\t{body[5:]}.{tail}"), ("tab in the signature", f"{head}.{body}.{tail[:5]}\t{tail[5:]}"),
                        ("payload with padding", f"{head}.{body}=.{tail}"), ("in quotes", f'"{good}"'), ("a comma behind", f"{good},")):
        yield name, token
    whole = json.dumps({"payload": body, "protected": head, "signature": tail}, separators=(",", ":"))
    yield "in full JSON", whole
    for name, payload in (("no JSON", b"{"), ("a list", b"[]"), ("null", b"null"), ("text", b'"x"'), ("empty", b""),
                          ("something behind", json.dumps(claims.made()).encode() + b" x"), ("blanks behind", json.dumps(claims.made()).encode() + b" \n"),
                          ("a mark before", b"\xef\xbb\xbf" + json.dumps(claims.made()).encode()),
                          ("issuer twice", claims.raw(iss=f'"iss": "{ISSUER}", "iss":')),
                          ("another issuer first", claims.raw(iss='"iss": "x", "iss":')),
                          ("another issuer in upper case before", claims.raw(iss='"ISS": "x", "iss":')),
                          ("issuer in upper case", claims.raw(iss='"ISS":')),
                          ("issuer in upper case behind", claims.raw(sub=f'"ISS": "{ISSUER}", "sub":')),
                          ("another issuer in upper case behind", claims.raw(sub='"ISS": "x", "sub":')),
                          ("subject twice", claims.raw(sub='"sub": "x", "sub":')), ("account twice", claims.raw(name='"name": "x", "name":')),
                          ("kubernetes.io in upper case", claims.raw(**{"kubernetes.io": '"KUBERNETES.IO":'})),
                          ("namespace in upper case", claims.raw(namespace='"NAMESPACE":')),
                          ("unknown member twice", claims.raw(sub='"x": 1, "x": 2, "sub":')),
                          ("no UTF-8", claims.raw(sub='"x": "\u00ff", "sub":').replace(b"\xc3\xbf", b"\xff"))):
        yield f"payload {name}", c.token(payload)


def of_claims(claims):
    now = claims.now
    for name, value in (("of old", OLD_ISSUER), ("unknown", "x"), ("missing", ...), ("number", 1), ("null", None), ("with a slash", ISSUER + "/"),
                        ("in upper case", ISSUER.upper()), ("list", [ISSUER])):
        yield f"issuer {name}", claims.made(iss=value)
    for name, value in (("text", "api"), ("other", ["also"]), ("both", ["also", "api"]), ("unknown", ["x"]), ("unknown text", "x"), ("one known", ["x", "api"]),
                        ("empty", []), ("missing", ...), ("null", None), ("number", 1), ("list with a number", ["api", 1]), ("empty text", ""),
                        ("object", {"a": "api"}), ("in upper case", ["API"])):
        yield f"audience {name}", claims.made(aud=value)
    for claim in ("exp", "nbf", "iat"):
        for name, value in (("half a minute ago", now - 30), ("two minutes ago", now - 120), ("in half a minute", now + 30),
                            ("in five minutes", now + 300), ("missing", ...), ("null", None), ("text", str(now + 3600)), ("float", now + 3600.5),
                            ("small float", now - 30.5), ("zero", 0), ("negative", -1), ("far", 10000000000), ("true", True), ("list", [now])):
            yield f"{claim} {name}", claims.made(**{claim: value})
    for name, value in (("missing", ...), ("other", "system:serviceaccount:who:gone"), ("number", 1), ("null", None), ("empty", ""), ("user", "admin")):
        yield f"subject {name}", claims.made(sub=value)
    for name, value in (("missing", ...), ("empty", ""), ("number", 1), ("null", None), ("long", "x" * 500)):
        yield f"id {name}", claims.made(jti=value)
    yield "unknown claim", claims.made(x={"y": 1})
    yield "groups as a claim", claims.made(groups=["system:masters"], username="admin")


def of_bound_objects(claims):
    ref = claims.ref
    for name, value in (("missing", ...), ("null", None), ("text", "x"), ("list", []), ("empty", {})):
        yield f"kubernetes.io {name}", claims.made(**{"kubernetes.io": value})
    for name, bound in (
            ("namespace missing", {"namespace": ...}), ("namespace empty", {"namespace": ""}), ("namespace other", {"namespace": "default"}),
            ("namespace number", {"namespace": 1}), ("account missing", {"serviceaccount": ...}), ("account null", {"serviceaccount": None}),
            ("account of wrong uid", {"serviceaccount": {"name": "sa", "uid": "x"}}), ("account without uid", {"serviceaccount": {"name": "sa"}}),
            ("account unknown", {"serviceaccount": {"name": "x", "uid": "x"}}), ("account without name", {"serviceaccount": {"uid": "x"}}),
            ("account gone", {"serviceaccount": ref("gone", "gone account")}), ("account renewed", {"serviceaccount": ref("renewed", "renewed account")}),
            ("account as before renewal", {"serviceaccount": ref("renewed", "old account")}), ("account text", {"serviceaccount": "sa"}),
            ("unknown member", {"x": 1}), ("warnafter past", {"warnafter": claims.now - 100}), ("warnafter future", {"warnafter": claims.now + 100}),
            ("warnafter text", {"warnafter": "x"}), ("warnafter null", {"warnafter": None})):
        yield f"bound {name}", claims.made(bound)
    for kind in ("pod", "secret", "node"):
        for name, value in (("good", ref(kind, kind)), ("of wrong uid", {"name": kind, "uid": "x"}), ("without uid", {"name": kind}),
                            ("without name", {"uid": claims.uids[kind]}), ("empty", {}), ("null", None), ("unknown", {"name": "x", "uid": "x"}),
                            ("deleted", ref(f"old-{kind}", f"old {kind}")), ("text", kind)):
            yield f"bound to a {kind}: {name}", claims.made({kind: value})
    pod, secret, node = (ref(kind, kind) for kind in ("pod", "secret", "node"))
    for name, bound in (("pod and node", {"pod": pod, "node": node}), ("pod and unknown node", {"pod": pod, "node": {"name": "x", "uid": "x"}}),
                        ("pod and node without uid", {"pod": pod, "node": {"name": "x"}}), ("secret and node", {"secret": secret, "node": node}),
                        ("secret and unknown node", {"secret": secret, "node": {"name": "x", "uid": "x"}}),
                        ("pod, secret and node", {"pod": pod, "secret": secret, "node": node}),
                        ("pod and unknown secret", {"pod": pod, "secret": {"name": "x", "uid": "x"}})):
        yield f"bound to {name}", claims.made(bound)


def of_legacy(c, claims):
    """Tokens that live in secrets. The secret of each is made, or what there is of it."""
    prefix = "kubernetes.io/serviceaccount/"
    good = {"iss": LEGACY, "sub": SUBJECT, f"{prefix}namespace": "who", f"{prefix}service-account.name": "sa",
            f"{prefix}service-account.uid": claims.uids["sa account"]}
    for number, (name, changes, secret) in enumerate((
            ("good", {}, {}), ("secret missing", {}, None), ("secret with another token", {}, {"token": "x"}),
            ("secret without a token", {}, {"token": ""}), ("secret that is no secret of a token", {}, {"type": "Opaque"}),
            ("marked invalid", {}, {"label": "kubernetes.io/legacy-token-invalid-since"}),
            ("without subject", {"sub": ...}, {}), ("another subject", {"sub": "system:serviceaccount:who:x"}, {}),
            ("subject of a user", {"sub": "admin"}, {}), ("without namespace", {f"{prefix}namespace": ...}, {}),
            ("without secret", {f"{prefix}secret.name": ...}, {}), ("without account", {f"{prefix}service-account.name": ...}, {}),
            ("without uid", {f"{prefix}service-account.uid": ...}, {}), ("wrong uid", {f"{prefix}service-account.uid": "x"}, {}),
            ("account gone", {"sub": "system:serviceaccount:who:gone", f"{prefix}service-account.name": "gone",
                              f"{prefix}service-account.uid": claims.uids["gone account"]}, {}),
            ("expired", {"exp": claims.now - 1000}, {}), ("not yet valid", {"nbf": claims.now + 1000}, {}),
            ("for this audience", {"aud": ["api"]}, {}), ("for another audience", {"aud": ["x"]}, {}),
            ("as of now", {"kubernetes.io": claims.made()["kubernetes.io"]}, {}))):
        own = {f"{prefix}secret.name": f"legacy-{number}", **good, **changes}
        token = c.token({key: value for key, value in own.items() if value is not ...})
        if secret is not None:
            c.make_secret(f"legacy-{number}", secret.get("token", token), secret)
        yield f"legacy {name}", token
    yield "legacy issuer, new claims", c.token(claims.made(iss=LEGACY))


def of_bootstrapping(c):
    now = time.time()
    for number, (name, changes, metadata) in enumerate((
            ("good", {}, {}), ("of another type", {}, {"type": "Opaque"}), ("another secret", {"token-secret": "0123456789abcdeg"}, {}),
            ("without secret", {"token-secret": None}, {}), ("another id", {"token-id": "xxxxxx"}, {}), ("without id", {"token-id": None}, {}),
            ("not for authentication", {"usage-bootstrap-authentication": "false"}, {}), ("of no use", {"usage-bootstrap-authentication": None}, {}),
            ("of use True", {"usage-bootstrap-authentication": "True"}, {}), ("for signing too", {"usage-bootstrap-signing": "true"}, {}),
            ("expired", {"expiration": moment(now - 10)}, {}), ("not yet expired", {"expiration": moment(now + 600)}, {}),
            ("expiration without sense", {"expiration": "x"}, {}), ("expiration empty", {"expiration": ""}, {}),
            ("expiration with an offset", {"expiration": "2049-01-01T00:00:00+01:00"}, {}), ("a date", {"expiration": "2049-01-01"}, {}),
            ("a group", {"auth-extra-groups": "system:bootstrappers:a"}, {}),
            ("groups", {"auth-extra-groups": "system:bootstrappers:b,system:bootstrappers:a:c-d,system:bootstrappers:b"}, {}),
            ("a foreign group", {"auth-extra-groups": "system:masters"}, {}), ("groups and a foreign one", {"auth-extra-groups": "system:bootstrappers:a,x"}, {}),
            ("a group with a blank", {"auth-extra-groups": "system:bootstrappers:a, system:bootstrappers:b"}, {}),
            ("a group without name", {"auth-extra-groups": "system:bootstrappers:"}, {}), ("the group itself", {"auth-extra-groups": "system:bootstrappers"}, {}),
            ("a group with a dash at its end", {"auth-extra-groups": "system:bootstrappers:a-"}, {}),
            ("a group in upper case", {"auth-extra-groups": "system:bootstrappers:A"}, {}),
            ("a long group", {"auth-extra-groups": "system:bootstrappers:" + "a" * 256}, {}),
            ("a group that is too long", {"auth-extra-groups": "system:bootstrappers:" + "a" * 257}, {}))):
        yield name, c.make_bootstrap_secret(number, changes, metadata)
    good = c.make_bootstrap_secret(90, {}, {})
    for name, token in (("unknown", "xxxxxx.0123456789abcdef"), ("in upper case", good.upper()), ("longer", good + "0"), ("shorter", good[:-1]),
                        ("without a dot", good.replace(".", "-")), ("another end", good[:-1] + "0"), ("id alone", good[:6]), ("a dot behind", good + ".")):
        yield name, token


def moment(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def of_reviews(c):
    """What a TokenReview says of a token, by its audiences."""
    claims = Claims(c)
    tokens = {"static": "plain", "unknown": "wrong", "empty": "", "good": c.token(claims.made()), "expired": c.token(claims.made(exp=claims.now - 120)),
              "early": c.token(claims.made(nbf=claims.now + 300)), "from the future": c.token(claims.made(iat=claims.now + 300)),
              "for others": c.token(claims.made(aud=["x", "y"])), "of no audience": c.token(claims.made(aud=...)),
              "of another issuer": c.token(claims.made(iss="x")), "of a gone account": c.token(claims.made(
                  {"serviceaccount": claims.ref("gone", "gone account")})), "of another uid": c.token(claims.made(
                      {"serviceaccount": {"name": "sa", "uid": "x"}})), "of a gone pod": c.token(claims.made({"pod": claims.ref("old-pod", "old pod")})),
              "of another pod": c.token(claims.made({"pod": {"name": "pod", "uid": "x"}})), "of a pod": c.token(claims.made({"pod": claims.ref("pod", "pod")})),
              "of another secret": c.token(claims.made({"secret": {"name": "secret", "uid": "x"}})),
              "of another node": c.token(claims.made({"node": {"name": "node", "uid": "x"}})),
              "of a node": c.token(claims.made({"node": claims.ref("node", "node")})),
              "wrong signature": c.token(claims.made()) + "AAAA", "unknown key": c.token(claims.made(), {"alg": "RS256", "kid": "x"}),
              "with blanks": " plain", "two words": "plain more", "spaced": "plain "}
    for name, token in tokens.items():
        for what, audiences in (("", None), (" for api", ["api"]), (" for x", ["x"]), (" for also and x", ["also", "x"]), (" for nothing", [])):
            spec = {"token": token, **({} if audiences is None else {"audiences": audiences})}
            yield Case(f"review: {name}{what}", review=spec)


