#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Client certificates with every fault, and what an API server says of each.

    tests/reference/certificates.py make DIR              # DIR/ca.crt for --client-ca-file, DIR/cases.json
    tests/reference/certificates.py ask URL DIR           # prints each case and the user it is taken for
    tests/reference/certificates.py record URL DIR FILE   # the same with all certificates, for the test
    tests/reference/certificates.py compare URL URL DIR   # prints the cases with different answers

Certificates are encoded here, byte by byte, since no tool makes wrong ones; keys and signatures are
the openssl tool's.
"""

import base64
import http.client
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import urllib.parse

REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


# --- DER ---------------------------------------------------------------------------------------------

def tlv(tag, *parts):
    body = b"".join(parts)
    size = len(body)
    if size < 128:
        return bytes([tag, size]) + body
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body


def seq(*parts):
    return tlv(0x30, *parts)


def integer(value):
    return tlv(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def oid(text):
    numbers = [int(part) for part in text.split(".")]
    out = bytearray([numbers[0] * 40 + numbers[1]])
    for number in numbers[2:]:
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(number & 0x7F | 0x80)
        out += bytes(reversed(digits))
    return tlv(0x06, bytes(out))


def octets(body):
    return tlv(0x04, body)


def bits(body, unused=0):
    return tlv(0x03, bytes([unused]), body)


def boolean(value):
    return tlv(0x01, b"\xff" if value else b"\0")


def moment(year):
    return tlv(0x17, f"{year % 100:02}0101000000Z".encode()) if year < 2050 else tlv(0x18, f"{year}0101000000Z".encode())


ATTRIBUTES = {"CN": "2.5.4.3", "O": "2.5.4.10", "UID": "1.3.6.1.4.1.57683.2", "OU": "2.5.4.11"}


def name(text, tag=0x0C):
    """"O=a/CN=b" """
    pairs = [pair.split("=", 1) for pair in text.split("/") if pair]
    return seq(*(tlv(0x31, seq(oid(ATTRIBUTES[key]), tlv(tag, value.encode()))) for key, value in pairs))


def extension(kind, body, critical=False):
    return seq(oid(kind), *([boolean(True)] if critical else []), octets(body))


def basic(ca=True, length=None, critical=True):
    parts = ([boolean(True)] if ca else []) + ([integer(length)] if length is not None else [])
    return extension("2.5.29.19", seq(*parts), critical)


def usage(*flags, critical=True):
    order = ["digitalSignature", "nonRepudiation", "keyEncipherment", "dataEncipherment", "keyAgreement", "keyCertSign",
             "cRLSign"]
    value = sum(0x80 >> order.index(flag) for flag in flags)
    return extension("2.5.29.15", bits(bytes([value])), critical)


PURPOSES = {"client": "1.3.6.1.5.5.7.3.2", "server": "1.3.6.1.5.5.7.3.1", "any": "2.5.29.37.0", "code": "1.3.6.1.5.5.7.3.3"}


def purposes(*names, critical=False):
    return extension("2.5.29.37", seq(*(oid(PURPOSES[n]) for n in names)), critical)


def general(kind, value):
    tags = {"email": 0x81, "dns": 0x82, "uri": 0x86, "ip": 0x87, "dir": 0xA4, "rid": 0x88}
    return tlv(tags[kind], value if isinstance(value, bytes) else value.encode())


def alternative(*names, critical=False):
    return extension("2.5.29.17", seq(*(general(*n) for n in names)), critical)


def constraints(permitted=(), excluded=(), critical=True):
    parts = [tlv(tag, *(seq(general(*n)) for n in names)) for tag, names in ((0xA0, permitted), (0xA1, excluded)) if names]
    return extension("2.5.29.30", seq(*parts), critical)


# --- keys and signatures ------------------------------------------------------------------------------

SIGNATURES = {"ecdsa-sha256": ("1.2.840.10045.4.3.2", "sha256"), "ecdsa-sha1": ("1.2.840.10045.4.1", "sha1"),
              "ecdsa-sha384": ("1.2.840.10045.4.3.3", "sha384"), "rsa-sha256": ("1.2.840.113549.1.1.11", "sha256"),
              "rsa-sha1": ("1.2.840.113549.1.1.5", "sha1"), "rsa-md5": ("1.2.840.113549.1.1.4", "md5"),
              "rsa-sha512": ("1.2.840.113549.1.1.13", "sha512"), "ed25519": ("1.3.101.112", None)}
KEYS = {"p256": ["EC", "ec_paramgen_curve:P-256"], "p384": ["EC", "ec_paramgen_curve:P-384"],
        "p521": ["EC", "ec_paramgen_curve:P-521"], "p224": ["EC", "ec_paramgen_curve:P-224"],
        "k256": ["EC", "ec_paramgen_curve:secp256k1"], "rsa2048": ["RSA", "rsa_keygen_bits:2048"],
        "rsa1024": ["RSA", "rsa_keygen_bits:1024"], "rsa512": ["RSA", "rsa_keygen_bits:512"], "ed25519": ["ED25519"]}


def run(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout


class Keys:
    def __init__(self, folder):
        self.folder = folder
        self.pems = {}

    def path(self, key):
        """"p256", or "p256:2" for another one of the kind."""
        path = self.folder / f"{key.replace(':', '-')}.key"
        if not path.exists():
            kind = KEYS[key.split(":")[0]]
            options = ["-pkeyopt", kind[1]] if len(kind) > 1 else []
            path.write_bytes(run("genpkey", "-algorithm", kind[0], *options))
        return path

    def write(self, key, text):
        (self.folder / f"{key.replace(':', '-')}.key").write_text(text)

    def public(self, key):
        return run("pkey", "-in", str(self.path(key)), "-pubout", "-outform", "DER")

    def sign(self, key, algorithm, data):
        digest = SIGNATURES[algorithm][1]
        if digest:
            return run("dgst", f"-{digest}", "-sign", str(self.path(key)), data=data)
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return run("pkeyutl", "-sign", "-rawin", "-in", file.name, "-inkey", str(self.path(key)))


class Maker:
    def __init__(self, folder):
        self.keys = Keys(folder)
        self.roots, self.cases, self.next_serial = [], [], 1

    def cert(self, subject, key="p256", issuer=None, signer=None, extensions=(), version=3, serial=None, years=(2020, 2049),
             algorithm=None, tag=0x0C, spoil=None, raw_extensions=None):
        """`issuer` and `signer`: the name and the key of who signs; by default the certificate itself."""
        signer = signer or key
        kind = signer.split(":")[0]
        default = "ed25519" if kind == "ed25519" else "rsa-sha256" if kind.startswith("rsa") else "ecdsa-sha256"
        sign_as = algorithm or default
        rsa = sign_as.startswith("rsa")
        identifier = seq(oid(SIGNATURES[sign_as][0]), *([b"\x05\0"] if rsa else []))
        self.next_serial += 1
        parts = [tlv(0xA0, integer(version - 1))] if version > 1 else []
        parts += [integer(self.next_serial if serial is None else serial), identifier,
                  name(subject if issuer is None else issuer), seq(moment(years[0]), moment(years[1])), name(subject, tag),
                  self.keys.public(key)]
        if extensions or raw_extensions:
            parts.append(tlv(0xA3, seq(*(raw_extensions or extensions))))
        body = seq(*parts)
        signature = self.keys.sign(signer, sign_as, body)
        if spoil:
            signature = spoil(signature)
        return seq(body, identifier, bits(signature))

    def root(self, subject, key, extensions, **more):
        made = self.cert(subject, key, extensions=extensions, **more)
        self.roots.append(made)
        return made

    def case(self, what, chain, key="p256:leaf"):
        self.cases.append({"case": what, "chain": chain, "key": key})

    def leaf(self, what, extensions=None, chain=(), subject="O=dev/CN=joe", issuer="CN=root", signer="p256:root", key="p256:leaf",
             **more):
        if extensions is None:
            extensions = [purposes("client")]
        self.case(what, [self.cert(subject, key, issuer, signer, extensions, **more), *chain], key)

    def authority(self, extensions=None, subject="CN=middle", issuer="CN=root", signer="p256:root", key="p256:middle", **more):
        if extensions is None:
            extensions = [basic(), usage("keyCertSign")]
        return self.cert(subject, key, issuer, signer, extensions, **more)

    def below(self, what, middle, **more):
        self.leaf(what, chain=[middle], issuer=more.pop("issuer", "CN=middle"), signer=more.pop("signer", "p256:middle"), **more)


def make_all(m):
    ca = [basic(), usage("keyCertSign")]
    m.root("CN=root", "p256:root", ca)
    m.root("CN=root-expired", "p256:r2", ca, years=(2000, 2010))
    m.root("CN=root-path0", "p256:r3", [basic(length=0), usage("keyCertSign")])
    m.root("CN=root-server", "p256:r4", [*ca, purposes("server")])
    m.root("CN=root-v1", "p256:r5", [], version=1)
    m.root("CN=root-plain", "p256:r6", [usage("keyCertSign")])
    m.root("CN=root-nosign", "p256:r7", [basic(), usage("cRLSign")])
    m.root("CN=root-dns", "p256:r8", [*ca, constraints(permitted=[("dns", "example.com")])])
    m.root("CN=root-rsa1024", "rsa1024", ca)
    m.root("CN=root-critical", "p256:r9", [*ca, extension("1.2.3.4", octets(b"x"), True)])
    m.root("CN=root-ed", "ed25519:r", ca)
    m.root("CN=root-rsa", "rsa2048:r", ca)
    m.root("CN=twin", "p256:t1", ca)
    m.root("CN=twin", "p256:t2", ca)
    m.roots.append(m.cert("O=dev/CN=pinned", "p256:leaf", extensions=[purposes("client")]))
    leaves(m)
    authorities(m)
    names(m)
    keys(m)


def leaves(m):
    m.leaf("good")
    m.leaf("several groups", subject="O=a/O=b/O=a/CN=joe")
    m.leaf("group of masters", subject="O=system:masters/CN=joe")
    m.leaf("uid", subject="UID=u-1/CN=joe")
    m.leaf("two uids", subject="UID=u-1/UID=u-2/CN=joe")
    m.leaf("empty uid", subject="UID=/CN=joe")
    m.leaf("two common names", subject="CN=ann/CN=joe")
    m.leaf("no common name", subject="O=dev")
    m.leaf("empty common name", subject="O=dev/CN=")
    m.leaf("empty subject", subject="")
    m.leaf("common name with a zero", subject="CN=joe\0admin")
    m.leaf("common name with a newline", subject="CN=joe\nadmin")
    m.leaf("common name as a printable string", tag=0x13)
    m.leaf("common name as a T61 string", tag=0x14)
    m.leaf("common name as an IA5 string", tag=0x16)
    m.leaf("common name as a printable string with an underscore", subject="CN=a_b", tag=0x13)
    m.leaf("common name as a BMP string", subject="CN=\0j\0o", tag=0x1E)
    m.leaf("common name as an octet string", tag=0x04)
    m.leaf("expired", years=(2000, 2010))
    m.leaf("not yet valid", years=(2045, 2049))
    m.leaf("valid beyond 2050", years=(2020, 2099))
    m.leaf("valid for ever", years=(2020, 9999))
    m.leaf("valid since long", years=(1950, 2049))
    m.leaf("no purposes", [usage("digitalSignature")])
    m.leaf("no extensions", [])
    m.leaf("for servers", [purposes("server")])
    m.leaf("for both", [purposes("server", "client")])
    m.leaf("for anything", [purposes("any")])
    m.leaf("for code", [purposes("code")])
    m.leaf("purposes critical", [purposes("client", critical=True)])
    m.leaf("no purposes in the list", [extension("2.5.29.37", seq())])
    m.leaf("purposes that are no list", [extension("2.5.29.37", octets(b"x"))])
    m.leaf("key usage of authorities only", [purposes("client"), usage("keyCertSign")])
    m.leaf("an authority itself", [purposes("client"), basic()])
    m.leaf("version 1", [], version=1)
    m.leaf("version 2", [], version=2)
    m.leaf("version 4", [purposes("client")], version=4)
    m.leaf("version 1 with extensions", version=1)
    m.leaf("serial 0", serial=0)
    m.leaf("serial negative", serial=-5)
    m.leaf("serial of 30 bytes", serial=1 << 235)
    m.leaf("unknown extension", [purposes("client"), extension("1.2.3.4", octets(b"x"))])
    m.leaf("unknown critical extension", [purposes("client"), extension("1.2.3.4", octets(b"x"), True)])
    for what, kind, body in (("subject key identifier", "2.5.29.14", octets(b"x")), ("authority key identifier", "2.5.29.35", seq()),
                             ("netscape type", "2.16.840.1.113730.1.1", bits(b"\x80", 7)), ("policies", "2.5.29.32",
                             seq(seq(oid("1.2.3")))), ("policy constraints", "2.5.29.36", seq(tlv(0x80, b"\0"))),
                             ("inhibit any policy", "2.5.29.54", integer(0)), ("issuer alternative name", "2.5.29.18",
                             seq(general("dns", "a"))), ("private key usage period", "2.5.29.16", seq()),
                             ("revocation lists", "2.5.29.31", seq()), ("OCSP no check", "1.3.6.1.5.5.7.48.1.5", b"\x05\0"),
                             ("proxy certificate", "1.3.6.1.5.5.7.1.14", seq(seq(oid("1.3.6.1.5.5.7.21.1")))),
                             ("authority information", "1.3.6.1.5.5.7.1.1", seq())):
        for critical in (False, True):
            m.leaf(f"{what}{', critical' if critical else ''}", [purposes("client"), extension(kind, body, critical)])
    m.leaf("a purpose twice", [purposes("client", "client")])
    m.leaf("extension twice", [purposes("client"), purposes("server")])
    m.leaf("unknown extension twice", [purposes("client"), *2 * [extension("1.2.3.4", octets(b"x"))]])
    m.leaf("empty list of extensions", raw_extensions=[b""])
    m.leaf("critical alternative name", [purposes("client"), alternative(("dns", "a.example"), critical=True)])
    m.leaf("critical alternative name of an unknown kind", [purposes("client"), alternative(("rid", b"\x2a\x03"), critical=True)])
    m.leaf("critical directory name", [purposes("client"), alternative(("dir", name("CN=x")), critical=True)])
    m.leaf("empty alternative name", [purposes("client"), alternative()])
    m.leaf("alternative name that is no ASCII", [purposes("client"), alternative(("dns", b"\xff"))])
    m.leaf("address of 5 bytes", [purposes("client"), alternative(("ip", b"12345"))])
    m.leaf("URI without sense", [purposes("client"), alternative(("uri", "http://[::1"))])
    m.leaf("basic constraints without sense", [purposes("client"), extension("2.5.29.19", b"\x05\0")])
    m.leaf("bits after the signature", spoil=lambda s: s + b"\0")
    m.leaf("wrong signature", spoil=lambda s: s[:-1] + bytes([s[-1] ^ 1]))
    m.leaf("empty signature", spoil=lambda s: b"")
    m.leaf("signed by somebody else", signer="p256:other")
    m.leaf("of an unknown authority", issuer="CN=nobody", signer="p256:other")
    m.leaf("self-signed", issuer="O=dev/CN=joe", signer="p256:leaf")
    m.leaf("self-signed in the name of the root", subject="CN=root", signer="p256:leaf")
    m.case("in the set of roots itself", [m.roots[-1]])


def authorities(m):
    for root, key in (("expired", "r2"), ("path0", "r3"), ("server", "r4"), ("v1", "r5"), ("plain", "r6"), ("nosign", "r7"),
                      ("dns", "r8"), ("critical", "r9")):
        m.leaf(f"below the root {root}", issuer=f"CN=root-{root}", signer=f"p256:{key}")
        m.below(f"two below the root {root}", m.authority(issuer=f"CN=root-{root}", signer=f"p256:{key}"))
    m.leaf("below the first twin", issuer="CN=twin", signer="p256:t1")
    m.leaf("below the second twin", issuer="CN=twin", signer="p256:t2")
    sign = usage("keyCertSign")
    m.below("one between", m.authority())
    m.leaf("one between that is not sent", issuer="CN=middle", signer="p256:middle")
    m.below("one between, expired", m.authority(years=(2000, 2010)))
    m.below("one between, not yet valid", m.authority(years=(2045, 2049)))
    m.below("one between, no authority", m.authority([basic(ca=False), sign]))
    m.below("one between, no basic constraints", m.authority([sign]))
    m.below("one between, basic constraints not critical", m.authority([basic(critical=False), sign]))
    m.below("one between, may not sign", m.authority([basic(), usage("cRLSign")]))
    m.below("one between, no key usage", m.authority([basic()]))
    m.below("one between, for servers", m.authority([basic(), sign, purposes("server")]))
    m.below("one between, for clients", m.authority([basic(), sign, purposes("client")]))
    m.below("one between, for anything", m.authority([basic(), sign, purposes("any")]))
    m.below("one between, unknown critical extension", m.authority([basic(), sign, extension("1.2.3", b"\x05\0", True)]))
    m.below("one between, version 1", m.authority([], version=1))
    m.below("one between, negative serial", m.authority(serial=-1))
    m.below("one between, signed with SHA-1", m.authority(algorithm="ecdsa-sha1"))
    m.below("one between, wrong signature", m.authority(signer="p256:other"))
    m.below("one between, path length 0", m.authority([basic(length=0), sign]))
    m.below("one between, negative path length", m.authority([basic(length=-1), sign]))
    second = m.cert("CN=second", "p256:second", "CN=middle", "p256:middle", [basic(), sign])
    for length in (0, 1):
        first = m.authority([basic(length=length), sign])
        m.leaf(f"two between, path length {length}", chain=[second, first], issuer="CN=second", signer="p256:second")
        m.leaf(f"two between in the wrong order, path length {length}", chain=[first, second], issuer="CN=second",
               signer="p256:second")
    m.below("cross-signed: a good and an expired way", m.authority(years=(2000, 2010)))
    good, old = m.authority(), m.authority(years=(2000, 2010))
    m.leaf("two ways, the first expired", chain=[old, good], issuer="CN=middle", signer="p256:middle")
    m.leaf("two ways, the second expired", chain=[good, old], issuer="CN=middle", signer="p256:middle")
    server = m.authority([basic(), sign, purposes("server")])
    m.leaf("two ways, the first for servers", chain=[server, good], issuer="CN=middle", signer="p256:middle")
    loop_a = m.cert("CN=a", "p256:a", "CN=b", "p256:b", [basic(), sign])
    loop_b = m.cert("CN=b", "p256:b", "CN=a", "p256:a", [basic(), sign])
    m.leaf("two that sign each other", chain=[loop_a, loop_b], issuer="CN=a", signer="p256:a")
    m.leaf("something else beside", chain=[b"\x30\x03\x02\x01\x01"])
    m.leaf("the root is sent along", chain=[m.roots[0]])
    m.leaf("an authority that has signed itself", chain=[m.cert("CN=own", "p256:own", extensions=[basic(), sign])],
           issuer="CN=own", signer="p256:own")


def names(m):
    def constrained(what, rule, leaf_names):
        m.below(what, m.authority([basic(), usage("keyCertSign"), rule]),
                extensions=[purposes("client"), *([alternative(*leaf_names)] if leaf_names else [])])
    v4, v4_10 = bytes([10, 1, 2, 3]), bytes([10, 0, 0, 0, 255, 0, 0, 0])
    kinds = {
        "dns": ("example.com", [("dns", "a.example.com")], [("dns", "a.example.org")]),
        "dns with a dot": (".example.com", [("dns", "a.example.com")], [("dns", "example.com")]),
        "dns, other case": ("EXAMPLE.com", [("dns", "a.example.COM")], [("dns", "xexample.com")]),
        "dns wildcard": ("example.com", [("dns", "*.example.com")], [("dns", "*.com")]),
        "email host": ("example.com", [("email", "joe@example.com")], [("email", "joe@a.example.com")]),
        "email domain": (".example.com", [("email", "joe@a.example.com")], [("email", "joe@example.com")]),
        "email box": ("joe@example.com", [("email", "joe@EXAMPLE.com")], [("email", "Joe@example.com")]),
        "uri": ("example.com", [("uri", "spiffe://example.com/a")], [("uri", "spiffe://a.example.org/a")]),
        "uri domain": (".example.com", [("uri", "https://a.example.com:1/a")], [("uri", "https://example.com/a")]),
        "ip": (v4_10, [("ip", v4)], [("ip", bytes([11, 1, 2, 3]))]),
    }
    for what, (rule, inside, outside) in kinds.items():
        kind = what.split()[0].strip(",")
        for side in ("permitted", "excluded"):
            for place, leaf_names in (("inside", inside), ("outside", outside), ("nothing", [])):
                constrained(f"name constraint {side} {what}: {place}", constraints(**{side: [(kind, rule)]}), leaf_names)
    constrained("name constraint not critical", constraints(permitted=[("dns", "a.b")], critical=False), [("dns", "x.y")])
    constrained("name constraint of a directory name", constraints(permitted=[("dir", name("O=dev"))]), [])
    constrained("name constraint of a directory name, not critical",
                constraints(permitted=[("dir", name("O=other"))], critical=False), [])
    constrained("name constraint without sense", extension("2.5.29.30", seq(), True), [])
    constrained("name constraint: mask with a hole", constraints(permitted=[("ip", bytes([10, 0, 0, 0, 255, 0, 255, 0]))]), [])
    constrained("name constraint: URI with an address", constraints(permitted=[("uri", "example.com")]),
                [("uri", "http://10.1.2.3/")])
    constrained("name constraint: URI without a host", constraints(permitted=[("uri", "example.com")]), [("uri", "urn:x")])
    constrained("name constraint: many names, one outside", constraints(permitted=[("dns", "example.com")]),
                [("dns", "a.example.com"), ("dns", "b.example.com"), ("dns", "evil.org")])
    named = m.authority([basic(), usage("keyCertSign"), alternative(("dns", "evil.org"))], issuer="CN=root-dns", signer="p256:r8")
    m.below("name constraint on an authority's own name", named)
    m.leaf("name constraint on a common name", issuer="CN=root-dns", signer="p256:r8", subject="CN=evil.org")


def keys(m):
    for kind in ("p224", "p384", "p521", "k256", "ed25519", "rsa2048", "rsa1024", "rsa512"):
        m.leaf(f"key {kind}", key=kind)
    for algorithm, issuer, signer in (
            ("ecdsa-sha1", "CN=root", "p256:root"), ("ecdsa-sha384", "CN=root", "p256:root"), ("rsa-sha1", "CN=root-rsa", "rsa2048:r"),
            ("rsa-md5", "CN=root-rsa", "rsa2048:r"), ("rsa-sha512", "CN=root-rsa", "rsa2048:r"),
            ("rsa-sha256", "CN=root-rsa1024", "rsa1024"), ("ed25519", "CN=root-ed", "ed25519:r")):
        m.leaf(f"signed with {algorithm} by {signer}", issuer=issuer, signer=signer, algorithm=algorithm)


# --- asking -------------------------------------------------------------------------------------------

def pem(der):
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    maker = Maker(folder)
    make_all(maker)
    (folder / "ca.crt").write_text("".join(pem(root) for root in maker.roots))
    rows = [{**case, "chain": [base64.b64encode(der).decode() for der in case["chain"]]} for case in maker.cases]
    (folder / "cases.json").write_text(json.dumps(rows))
    print(f"{len(rows)} cases, {len(maker.roots)} roots")


def verdict(url, folder, case):
    """The user that the certificate makes, or "refused": by the answer or by the handshake."""
    place = urllib.parse.urlsplit(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    chain = "".join(pem(base64.b64decode(der)) for der in case["chain"])
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(chain)
        file.flush()
        try:
            context.load_cert_chain(file.name, str(Keys(folder).path(case["key"])))
        except ssl.SSLError as error:
            return f"not sent: {error.reason}"
    connection = http.client.HTTPSConnection(place.hostname, place.port, context=context, timeout=20)
    try:
        connection.request("POST", REVIEW, '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        body = response.read()
    except OSError:
        return "refused"
    finally:
        connection.close()
    if response.status != 201:
        return "refused"
    user = json.loads(body)["status"]["userInfo"]
    return {"name": user.get("username", ""), "uid": user.get("uid", ""), "groups": user.get("groups", [])}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    command, *rest = sys.argv[1:]
    if command == "make":
        return make(pathlib.Path(rest[0]))
    folder = pathlib.Path(rest[1] if command != "compare" else rest[2])
    cases = json.loads((folder / "cases.json").read_text())
    if command == "compare":
        differing = 0
        for case in cases:
            a, b = verdict(rest[0], folder, case), verdict(rest[1], folder, case)
            if a != b:
                differing += 1
                print(f"{case['case']}\n  A {a}\n  B {b}")
        print(f"{len(cases)} cases, {differing} answered differently")
        return sys.exit(1 if differing else 0)
    rows = []
    for case in cases:
        rows.append({**case, "verdict": verdict(rest[0], folder, case)})
        print(f"{case['case']}: {rows[-1]['verdict']}", flush=True)
    if command == "record":
        text = ",\n".join(json.dumps(row) for row in rows)
        roots = (folder / "ca.crt").read_text()
        keys = {key: Keys(folder).path(key).read_text() for key in sorted({case["key"] for case in cases})}
        pathlib.Path(rest[2]).write_text(
            f'{{"roots": {json.dumps(roots)},\n"keys": {json.dumps(keys)},\n"cases": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
