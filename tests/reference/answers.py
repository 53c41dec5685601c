# SPDX-License-Identifier: Apache-2.0

"""What is comparable of an answer, and the shape of a difference between two.

Answers are compared as texts, byte by byte, after what no two servers can agree on has been replaced: uids,
resourceVersions, times of this year and later, addresses and ports that the server chose, random suffixes of names,
prose (descriptions of table columns). A shape names the paths that differ, without indexes and names of the user's,
or the two messages without what they quote."""

import collections
import datetime
import json
import re

Answer = collections.namedtuple("Answer", "code text warnings media")
Difference = collections.namedtuple("Difference", "shape request reference ours")

UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The clocks of the two servers are the only ones that tell the present.
YEAR = datetime.date.today().year
TIME = re.compile(rf"\b(?:{YEAR}|{YEAR + 1})-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
VERSION = re.compile(r'(resourceVersion[\\"=: ]*|ResourceVersion in (?:record \(|the precondition \(|precondition: |object meta: ))\d+')
CONTINUE = re.compile(r'(\bcontinue"?: *"?)[^"\s]+')
TOKEN_VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}\b")
CHOSEN = re.compile(r'("(?:nodePort|healthCheckNodePort)":)(3[0-2]\d{3})\b')
# Where the Service `kubernetes` points: the server's own port.
OWN_PORT = re.compile(r'("name":"kubernetes","namespace":"default",.*?"port":443,"targetPort":)\d+')
CHOSEN_IN_TABLE = re.compile(r"(?<=:)3[0-2]\d{3}(?=/(?:TCP|UDP|SCTP))")
ADDRESS = re.compile(r'(?<=")(?:(?:127\.96|10\.96|10\.0)\.\d+\.\d+|fd00:1::[0-9a-f]+)(?=\\?")')
# What the downstream builds of OpenShift add to the volumes of service account tokens.
DOWNSTREAM = re.compile(r',\{"configMap":\{"name":"openshift-service-ca\.crt","items":\[\{"key":"service-ca\.crt","path":"service-ca\.crt"\}\]\}\}')
# Where it was built from the vendored tree, its registries tell their files otherwise.
SCHEME = re.compile(r"k8s\.io/(?:kubernetes|apimachinery)/(?=pkg/(?:api/legacyscheme|apis/meta/internalversion)/)|"
                    r"k8s\.io/(?:apiextensions-apiserver|kube-aggregator)/(?=pkg/apiserver/(?:apiserver\.go|customresource_handler\.go|scheme/scheme\.go):)|"
                    r"(?:k8s\.io/apiserver/)?pkg/util/webhook/client\.go:\d+")
WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')
JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
AGE = re.compile(r'(?<=")(?:<invalid>|(?:\d+[ydhms])+)(?: ago)?(?=")')
# A kube-apiserver that knows its version does not warn of what only a later release deprecates (docs/sameness.md).
LATER = re.compile(r" is deprecated in v1\.3[7-9]\+")
DESCRIPTION = re.compile(r'"description":"(?:[^"\\]|\\.)*",')


def answer(code, text, fields):
    warnings, media = [], ""
    for name, value in fields:
        if name == "warning":
            match = WARNING.match(value)
            warnings.append(re.sub(r"\\(.)", r"\1", match[1]) if match else value)
        elif name == "content-type":
            media = value
    return Answer(code, text, warnings, media)


def comparable(one, request):
    """The answer without what no two servers agree on. What the request itself holds is not the server's choice."""
    asked = request.text()
    text = SCHEME.sub("", DOWNSTREAM.sub("", one.text))
    if "@@ -" in text and ("kube-api-access" in text or "pod updates may not change" in text):
        text = without_downstream_volume(text)
    text = UID.sub(lambda match: match[0] if match[0] in asked else "(uid)", text)
    text = TIME.sub(lambda match: match[0] if match[0] in asked else "(time)", text)
    text = CONTINUE.sub(r"\1(token)", VERSION.sub(r"\1(version)", text))
    text = JWT.sub(lambda match: match[0] if match[0] in asked else "(token)", text)
    text = TOKEN_VOLUME.sub("kube-api-access-(random)", text)
    text = CHOSEN.sub(lambda match: match[0] if match[2] in asked else match[1] + "(port)", text)
    text = OWN_PORT.sub(r"\g<1>0", text)
    text = ADDRESS.sub(lambda match: match[0] if match[0] in asked else "(address)", text)
    if "generateName" in text or "generateName" in asked:
        for prefix in set(re.findall(r'\bgenerateName"?: ?"?([^"\\\s]+)', text + asked)):
            text = re.sub(re.escape(prefix) + r"[a-z0-9]{5}\b", prefix + "(random)", text)
    if '"kind":"Table"' in text[:80]:
        text = AGE.sub("(age)", DESCRIPTION.sub("", text))
        text = CHOSEN_IN_TABLE.sub(lambda match: match[0] if match[0] in asked else "(port)", text)
    return Answer(one.code, text.rstrip("\n"), [TIME.sub("(time)", UID.sub("(uid)", w)) for w in one.warnings if not LATER.search(w)], one.media)


def without_downstream_volume(text):
    """A quoted difference without the source that downstream builds add to a volume, and without the numbers of its lines."""
    lines = text.split("\\n")
    for at in [i for i, line in enumerate(lines) if "openshift-service-ca.crt" in line][::-1]:
        start = max((i for i in range(at) if re.fullmatch(r"[-+ ] +\{", lines[i]) and i < at - 1), default=at)
        indent = len(lines[start]) - 1
        end = next((i for i in range(at, len(lines)) if re.fullmatch(r"[-+ ] +\},?", lines[i].rstrip()) and
                    len(lines[i].rstrip().rstrip(",")) - 1 == indent), at)
        if lines[start - 1].endswith("},") and not lines[end].endswith(","):
            lines[start - 1] = lines[start - 1][:-1]
        del lines[start:end + 1]
    return re.sub(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", "@@", "\\n".join(lines))


def parsed(text):
    """The document of an answer, with the entries of managedFields, the causes of a conflict and the conditions of a
    definition in one order."""
    try:
        document = json.loads(text)
    except ValueError:
        return text
    sort_managed_fields(document)
    sort_conflicts(document)
    sort_conditions(document)
    return document


def sort_conflicts(document):
    """The causes of a refused apply come in the order in which kube-apiserver goes through a Go map."""
    if not isinstance(document, dict) or document.get("reason") != "Conflict":
        return
    causes = (document.get("details") or {}).get("causes")
    if causes:
        causes.sort(key=lambda cause: [str(cause.get(part)) for part in ("reason", "message", "field")])


def sort_conditions(document):
    """The conditions of a definition come in the order in which the controllers of kube-apiserver get to it."""
    if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
        conditions = (document.get("status") or {}).get("conditions")
        if conditions:
            conditions.sort(key=lambda condition: str(condition.get("type")))


def sort_managed_fields(value):
    if isinstance(value, dict):
        for name, member in value.items():
            if name == "managedFields" and isinstance(member, list) and all(isinstance(entry, dict) for entry in member):
                # Their order tells which second a request came in.
                member.sort(key=lambda e: [str(e.get(part)) for part in ("operation", "manager", "apiVersion", "subresource")])
            sort_managed_fields(member)
    elif isinstance(value, list):
        for element in value:
            sort_managed_fields(element)


def same(a, b):
    if a == b:
        return True
    if (a.code, a.warnings, a.media) != (b.code, b.warnings, b.media):
        return False
    if '"managedFields"' not in a.text and '"FieldManagerConflict"' not in a.text:
        return False
    return json.dumps(parsed(a.text)) == json.dumps(parsed(b.text))


# --- shapes -----------------------------------------------------------------------------------------

FREE_MAPS = {"labels", "annotations", "data", "stringData", "binaryData", "matchLabels", "nodeSelector", "parameters", "limits",
             "requests", "hard", "used", "capacity", "allocatable", "selector", "podSelector", "extra"}


def template(message):
    """A message without what it quotes."""
    if not isinstance(message, str):
        return json.dumps(message)[:160]
    message = re.sub(r'"(?:[^"\\]|\\.)*"', '"_"', message.replace("\n", " "))
    message = re.sub(r"\{.*\}", "{_}", message)
    message = re.sub(r"Go struct field \S+ of type \S+", "Go struct field _ of type _", message)
    message = re.sub(r"\[\d+\]", "[*]", message)
    message = re.sub(r"\d+", "N", message)
    return re.sub(r'(?:"_"(?:, )?){2,}', '"_"…', message)[:300]


def pieces(message):
    return sorted(re.split(r', (?=[A-Za-z.\[\]<(])|\[|\]$|\n *', message)) if isinstance(message, str) else message


def place(path):
    parts = []
    for part in path:
        if isinstance(part, int):
            parts.append("[*]")
        elif part.startswith(("k:", "v:")):
            parts.append(part[:2])
        elif parts and parts[-1].removeprefix("f:") in FREE_MAPS | {"properties"}:
            parts.append("*")
        else:
            parts.append(part)
    if "fieldsV1" in parts:
        parts = parts[:parts.index("fieldsV1") + 6]
    return ".".join(parts).replace(".[*]", "[*]")


def walk(a, b, path, found):
    """Adds (sign, path) for each place where a and b differ: "-" only a has it, "+" only b, "≠" both."""
    if len(found) > 40:
        return
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted(set(a) | set(b)):
            if name not in b:
                found.append(("-", (*path, name)))
            elif name not in a:
                found.append(("+", (*path, name)))
            else:
                walk(a[name], b[name], (*path, name), found)
        if list(a) != list(b) and set(a) == set(b):
            found.append(("order", path))
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            found.append(("length", path))
        elif sorted(map(json.dumps, a)) == sorted(map(json.dumps, b)):
            if a != b:
                found.append(("order", path))
        else:
            for index, (left, right) in enumerate(zip(a, b)):
                walk(left, right, (*path, index), found)
    elif a != b or type(a) is not type(b):
        found.append(("≠", path))


def shape(reference, ours):
    """A tuple of lines."""
    a, b = parsed(reference.text), parsed(ours.text)
    lines = []
    said = [(one.code >= 400 or one.code == 0) and (document.get("message", "") if isinstance(document, dict) else one.text)
            for one, document in ((reference, a), (ours, b))]
    if reference.code != ours.code:
        lines.append(f"status {reference.code} → {ours.code}")
        lines += [f"{who} {template(message)}" for who, message in zip(("A says", "B says"), said) if message]
        return tuple(lines)
    if reference.warnings != ours.warnings:
        only = lambda these, those: [template(w) for w in these if w not in those]
        lines.append(f"warnings A={only(reference.warnings, ours.warnings)} B={only(ours.warnings, reference.warnings)}")
    if reference.media != ours.media:
        lines.append(f"media type {reference.media!r} → {ours.media!r}")
    if said[0] is not False and said[0] != said[1]:
        if pieces(said[0]) == pieces(said[1]):
            lines.append("the same errors in another order")
        elif said[0][:1] == "{" or not isinstance(a, dict):
            lines.append(f"texts of {reference.code}")
        else:
            left, right = first_differing(said[0], said[1])
            lines += [f"refused with {reference.code} by both", "A says " + template(left), "B says " + template(right)]
        return tuple(lines)
    found = []
    walk(a, b, (), found)
    lines += sorted({f"{sign} {place(path)}" for sign, path in found})[:8]
    return tuple(lines) or ("another text of the same document",)


def first_differing(a, b):
    """The messages from the error on where they begin to differ."""
    left, right = re.split(r", (?=[a-z.]+[\[.:a-zA-Z])", a), re.split(r", (?=[a-z.]+[\[.:a-zA-Z])", b)
    kind = left[0].split(" ", 1)[0]
    both = set(left) & set(right)
    left, right = [piece for piece in left if piece not in both], [piece for piece in right if piece not in both]
    return f"({kind}) " + ", ".join(left[:3]), f"({kind}) " + ", ".join(right[:3])
