# SPDX-License-Identifier: Apache-2.0

"""Compares CEL: generated expressions as validations of policies and as rules of custom resources, on both servers. What they say
of an expression when it is sent is compared, and what they say of an object that it judges."""

import json
import random
import re
import sys
import time

import answers
from comparing import Pair, Tally
from expressions_grammar import Grammar
from generated import Request

ADMISSION = "/apis/admissionregistration.k8s.io/v1/"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OF_ONE = 8  # expressions: warnings of more would be cut
LENGTH = 170
# What the servers choose: the number in the name of a schema's type, uids.
CHOSEN = re.compile(r"(?<=selfType)\d+|" + answers.UID.pattern)

# What a policy reads.
OBJECT = {"metadata": {"labels": {"app": "x", "n": "3"}, "annotations": {"a/b": "c"}}, "data": {"a": "1", "b": "two", "list": "a,b", "t": "2024-05-06T07:08:09Z"}}
OBJECT_LEAVES = {
    "string": ["object.data.a", "object.data['b']", "object.metadata.name", "object.kind", "object.data.list", "object.data.t", "request.operation", "object.data.nothing", "request.userInfo.username", "object.metadata.labels.n"],
    "map": ["object.data", "object.metadata.labels", "object.metadata", "request.userInfo", "namespaceObject.metadata.labels", "object.nothing"],
    "int": ["size(object.data)", "object.data.a", "int(object.data.a)"],
    "bool": ["request.dryRun", "has(object.data.b)", "has(object.binaryData)", "oldObject == null", "authorizer.group('').resource('pods').check('get').allowed()"],
    "list": ["request.userInfo.groups", "object.data.list.split(',')", "object.metadata.managedFields"],
    "optional": ["object.?data.a", "object.data[?'zz']", "object.?binaryData"],
    "null": ["oldObject", "params"],
}

# What rules of a custom resource read.
FIELDS = {"i": {"type": "integer"}, "l": {"type": "integer", "format": "int64", "maximum": 100}, "n": {"type": "number"}, "s": {"type": "string", "maxLength": 40}, "b": {"type": "boolean"}, "u": {"type": "string"},
          "t": {"type": "string", "format": "date-time"}, "du": {"type": "string", "format": "duration"}, "by": {"type": "string", "format": "byte"}, "d": {"type": "string", "format": "date"},
          "e": {"type": "string", "enum": ["one", "two"]}, "x": {"x-kubernetes-int-or-string": True}, "li": {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
          "ls": {"type": "array", "maxItems": 4, "items": {"type": "string", "maxLength": 10}}, "set": {"type": "array", "maxItems": 4, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 10}},
          "lm": {"type": "array", "maxItems": 3, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                 "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 5}, "v": {"type": "integer"}}}},
          "m": {"type": "object", "maxProperties": 4, "additionalProperties": {"type": "string", "maxLength": 20}}, "mi": {"type": "object", "additionalProperties": {"type": "integer"}},
          "o": {"type": "object", "properties": {"a": {"type": "string"}, "c": {"type": "integer", "nullable": True}, "self": {"type": "string"}, "in": {"type": "integer"}, "a-b": {"type": "string"}, "__x__": {"type": "integer"}}},
          "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "ll": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}}
VALUE = {"i": 3, "l": 42, "n": 1.5, "s": "abc", "b": True, "u": "über", "t": "2024-02-29T23:59:59Z", "du": "1h30m", "by": "YWJj", "d": "2024-01-31", "e": "one", "x": "50%", "li": [3, 1, 2], "ls": ["a", "b"], "set": ["p", "q"],
         "lm": [{"k": "k1", "v": 1}, {"k": "k2"}], "m": {"a": "1", "b": "z"}, "mi": {"a": 1}, "o": {"a": "x", "self": "s", "in": 1, "a-b": "d", "__x__": 2}, "any": {"q": [1, "2", 3.5, None]}, "ll": [[1], [2, 3]]}
SELF_LEAVES = {
    "int": ["self.i", "self.l", "self.li[0]", "self.o.c", "self.lm[0].v", "self.o.__in__", "self.o.__underscores__x__", "self.o.__underscores__x__underscores__", "self.mi['a']", "self.x", "self.missing", "size(self.u)"],
    "double": ["self.n", "double(self.i)"], "string": ["self.s", "self.u", "self.e", "self.m['a']", "self.ls[0]", "self.o.a", "self.o.self", "self.o.a__dash__b", "self.lm[0].k", "self.d"], "bool": ["self.b", "has(self.o.c)", "has(self.s)", "has(self.missing)"],
    "timestamp": ["self.t", "self.d"], "duration": ["self.du"], "bytes": ["self.by"], "list": ["self.li", "self.ls", "self.set", "self.lm", "self.ll", "self.lm.map(e, e.k)"],
    "map": ["self.m", "self.mi", "self.o", "self.any", "self"], "optional": ["self.?s", "self.?o.?c", "self.li[?7]", "self.m[?'a']", "oldSelf.optMap(o, 1)"], "null": ["self.o.c", "oldSelf"],
}


def expressions(grammar, kinds):
    """So many as one object holds: (kind, text)."""
    found = []
    while len(found) < OF_ONE:
        kind = grammar.random.choice(kinds)
        text = grammar.expression("any" if kind == "error" else kind, grammar.random.choice([1, 2, 2, 3]))
        if len(text) <= LENGTH:
            found.append((kind, text))
    return found


def validation(kind, text):
    """How a policy shows what an expression is: a boolean judges, a text is the message, the values of others are printed in one, and
    of those called "error" a comparison tells why they are nothing."""
    if kind == "bool":
        return {"expression": text}
    if kind == "error":
        return {"expression": f"[{text}] == []"}
    return {"expression": "false", "messageExpression": text if kind == "string" else f"'%s'.format([{text}])"}


def sorted_causes(text):
    """{field: [messages]} of an Invalid status."""
    causes = {}
    for cause in json.loads(text).get("details", {}).get("causes", []):
        causes.setdefault(cause.get("field", ""), []).append(cause.get("message", ""))
    return causes


class Comparison:
    def __init__(self, addresses, arguments):
        self.pair, self.arguments, self.tally = Pair(*addresses, arguments.token), arguments, Tally()
        self.random = random.Random(arguments.seed)

    def run(self):
        begun, number = time.monotonic(), 0
        self.pair.do(Request("POST", "/api/v1/namespaces", '{"metadata":{"name":"expressions","labels":{"env":"prod"}}}'))
        while self.tally.asked < self.arguments.expressions:
            for step in (self.policies, self.rules):
                number += 1
                step(number)
                print(f"{time.monotonic() - begun:6.1f} s  {self.tally.asked:7}  {sum(e[0] for e in self.tally.shapes.values()):5} differ", file=sys.stderr, flush=True)
        return self.tally

    def judge(self, what, expression, request, texts):
        """One expression: what each of the two says of it."""
        texts = [CHOSEN.sub("", str(text)) if text else "" for text in texts]
        self.tally.asked += 1
        self.tally.codes[200 if not texts[0] else 422] += 1
        if texts[0] == texts[1]:
            self.tally.same += 1
            return
        shape = tuple(re.sub(r"\d+", "0", re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", str(text).replace(expression, "(expression)")))[:200] for text in texts)
        label = Request(request.method, request.path, expression, {}, what)
        self.tally.add(what, shape, label, *[answers.Answer(0, str(text), [], "") for text in texts])

    def sent(self, request, things, place, rebuild):
        """Sends an object, compares what is said of each of its expressions, and sends it without those that are refused. The rest, or
        None where the two do not agree."""
        for _ in range(3):
            both = self.pair.do(request)
            if both[0].code == both[1].code == 201:
                for _, text in things:
                    self.judge("compilation", text, request, ("", ""))
                return things
            if both[0].code == 0:  # a handler of the reference has panicked
                self.tally.random += 1
                return None
            if 422 not in (both[0].code, both[1].code):
                self.judge("object", "", request, (both[0].text, both[1].text))
                return None
            causes = [sorted_causes(one.text) if one.code == 422 else {} for one in both]
            refused = set()
            for index, (_, text) in enumerate(things):
                of = [sorted((field.replace(place(index), "…"), *messages) for field, messages in found.items() if field.startswith(place(index))) for found in causes]
                if of[0] or of[1]:
                    refused.add(index)
                    self.judge("compilation", text, request, of)
            if not refused:
                self.judge("object", "", request, (both[0].text, both[1].text))
                return None
            things = [one for index, one in enumerate(things) if index not in refused]
            if not things:
                return None
            request = rebuild(things)
        return None

    def policies(self, number):
        made, grammar = [], Grammar(self.random, OBJECT_LEAVES)
        for index in range(self.arguments.batch):
            name = f"p{number}-{index}"

            def build(things, name=name):
                rules = {"resourceRules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "resourceNames": [name]}]}
                return Request("POST", ADMISSION + "validatingadmissionpolicies", json.dumps({"metadata": {"name": name}, "spec": {
                    "matchConstraints": rules, "validations": [validation(*one) for one in things]}}))

            things = expressions(grammar, ["bool", "error", "string", "any"])
            kept = self.sent(build(things), things, lambda i: f"spec.validations[{i}]", build)
            if kept:
                self.pair.do(Request("POST", ADMISSION + "validatingadmissionpolicybindings", json.dumps({"metadata": {"name": name}, "spec": {
                    "policyName": name, "validationActions": ["Warn"]}})))
                made.append((name, kept))
        self.wait(f"m{number}")
        for name, kept in made:
            request = Request("POST", "/api/v1/namespaces/expressions/configmaps?dryRun=All", json.dumps({**OBJECT, "metadata": {**OBJECT["metadata"], "name": name}}))
            self.compare_verdicts("policy", kept, request, lambda one: list(one.warnings) if one.code == 201 else [one.text])
            for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
                self.pair.do(Request("DELETE", f"{ADMISSION}{plural}/{name}"))

    def compare_verdicts(self, what, kept, request, told_by):
        """What an object is told about each expression; `told_by` gives the texts of an answer."""
        for _, text in kept:
            self.judge(what, text, request, ("", ""))
        ask = lambda: [[CHOSEN.sub("", text) for text in told_by(one)] for one in self.pair.do(request)]
        verdicts = ask()
        if verdicts[0] != verdicts[1] and any(again[0] != verdicts[0] for again in (ask() for _ in range(4))):
            self.tally.random += 1  # Go goes through maps in no order
            return
        if verdicts[0] != verdicts[1]:
            only = [[text for text in side if text not in other] for side, other in zip(verdicts, reversed(verdicts))]
            count = max(len(only[0]), len(only[1]), 1)
            self.tally.same -= count
            self.tally.asked -= count
            for a, b in zip(only[0] + [""] * (count - len(only[0])), only[1] + [""] * (count - len(only[1]))):
                told = [text for _, text in kept if text in a or text in b]
                self.judge(what, max(told, key=len, default=json.dumps([text for _, text in kept])), request, (a, b))

    def wait(self, name):
        """Until the policies that were made are in force: one made after them is."""
        rules = {"resourceRules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "resourceNames": [name]}]}
        self.pair.do(Request("POST", ADMISSION + "validatingadmissionpolicies", json.dumps({"metadata": {"name": name}, "spec": {"matchConstraints": rules, "validations": [{"expression": "false"}]}})))
        self.pair.do(Request("POST", ADMISSION + "validatingadmissionpolicybindings", json.dumps({"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}})))
        self.until(Request("POST", "/api/v1/namespaces/expressions/configmaps?dryRun=All", json.dumps({"metadata": {"name": name}})), lambda one: one.code == 422)
        for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            self.pair.do(Request("DELETE", f"{ADMISSION}{plural}/{name}"))

    def until(self, request, wanted):
        for _ in range(300):
            if all(map(wanted, self.pair.do(request))):
                return True
            time.sleep(0.05)
        print(f"not in force: {request.path}", file=sys.stderr)
        return False

    def rules(self, number):
        made, grammar = [], Grammar(self.random, SELF_LEAVES)
        for index in range(max(1, self.arguments.batch // 3)):
            plural = f"r{number}x{index}s"

            def build(things, plural=plural):
                checks = [{"rule": text if kind == "bool" else f"'%s'.format([{text}]) == ''"} if kind != "string" else {"rule": "false", "messageExpression": text} for kind, text in things]
                spec = {"type": "object", "properties": FIELDS, "x-kubernetes-validations": checks}
                version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}
                return Request("POST", DEFINITIONS, json.dumps({"metadata": {"name": f"{plural}.expressions.test"}, "spec": {
                    "group": "expressions.test", "scope": "Cluster", "names": {"plural": plural, "singular": plural[:-1], "kind": plural.title(), "listKind": plural.title() + "List"}, "versions": [version]}}))

            things = expressions(grammar, ["bool", "bool", "any", "string"])
            place = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations"
            kept = self.sent(build(things), things, lambda i: f"{place}[{i}]", build)
            if kept:
                made.append((plural, kept))
        for plural, kept in made:
            path = f"/apis/expressions.test/v1/{plural}"
            if not self.until(Request("GET", path), lambda one: one.code == 200):
                continue
            request = Request("POST", path + "?dryRun=All", json.dumps({"apiVersion": "expressions.test/v1", "kind": plural.title(), "metadata": {"name": "a"}, "spec": VALUE}))
            self.compare_verdicts("rule", kept, request, lambda one: sum(sorted_causes(one.text).values(), []) if one.code == 422 else
                                  [] if one.code == 201 else [one.text])
        for plural, _ in made:
            self.pair.do(Request("DELETE", f"{DEFINITIONS}/{plural}.expressions.test"))


def run(addresses, arguments):
    return Comparison(addresses, arguments).run()
