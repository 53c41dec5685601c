# SPDX-License-Identifier: Apache-2.0

"""Asks two servers the same requests and counts the shapes in which their answers differ."""

import collections
import dataclasses
import json

import answers
from connection import Connection

BATCH = 12  # as many requests as both ends' buffers hold
EXAMPLES = 2


@dataclasses.dataclass
class Resource:
    prefix: str
    group: str
    version: str
    name: str
    kind: str
    namespaced: bool
    verbs: list
    subresources: dict
    builtin: bool = True

    def path(self, namespace):
        return "/".join([self.prefix, self.version] + (["namespaces", namespace] if self.namespaced and namespace else []) + [self.name])

    def key(self):
        return f"{self.name}.{self.version}.{self.group}"


class Tally:
    """What was compared and what differed."""

    def __init__(self):
        self.asked, self.same, self.random, self.codes = 0, 0, 0, collections.Counter()
        self.shapes = collections.defaultdict(lambda: [0, collections.Counter(), []])

    def add(self, key, shape, request, reference, ours):
        entry = self.shapes[shape]
        entry[0] += 1
        entry[1][key] += 1
        if len(entry[2]) < EXAMPLES:
            entry[2].append((request, reference, ours))

    def take(self, other):
        self.asked += other.asked
        self.same += other.same
        self.random += other.random
        self.codes.update(other.codes)
        for shape, (count, keys, examples) in other.shapes.items():
            entry = self.shapes[shape]
            entry[0] += count
            entry[1].update(keys)
            entry[2].extend(examples[:EXAMPLES - len(entry[2])])

    def plain(self):
        """Without what cannot be sent to another process."""
        self.shapes = dict(self.shapes)
        return self


class Pair:
    """A connection to each of the servers."""

    def __init__(self, reference, ours, token):
        self.connections = [Connection(reference, token), Connection(ours, token)]
        self.tally = Tally()
        self.versions = ["", ""]  # of the stored object that requests are about
        self.uids = ["", ""]

    def ask(self, requests):
        """[(reference's answer, ours)]"""
        sent = [[request.filled(*own) for request in requests] for own in zip(self.versions, self.uids)]
        for connection, these in zip(self.connections, sent):
            connection.send(these)
        found = [connection.receive(these) for connection, these in zip(self.connections, sent)]
        return [tuple(answers.answer(*one) for one in pair) for pair in zip(*found)]

    def do(self, request):
        """Both answers to a request that makes what others need."""
        return self.ask([request])[0]

    def compare(self, requests, key):
        """Yields (request, answers, whether they are the same)."""
        requests = list(requests)
        for start in range(0, len(requests), BATCH):
            batch = requests[start:start + BATCH]
            for request, pair in zip(batch, self.ask(batch)):
                yield request, pair, self.judge(request, pair, key)

    def compare_all(self, requests, key):
        for _ in self.compare(requests, key):
            pass

    def judge(self, request, pair, key, again=True):
        self.tally.asked += 1
        self.tally.codes[pair[0].code] += 1
        a, b = (answers.comparable(one, request) for one in pair)
        if answers.same(a, b):
            self.tally.same += 1
            return True
        if again and self.varies(request, a, b):
            self.tally.random += 1
            return True
        self.tally.add(key, answers.shape(a, b), request, a, b)
        return False

    def varies(self, request, a, b):
        """Whether the reference answers in no order, or the answers become the same when asked again."""
        refused = a.code == b.code >= 400  # nothing was written
        if "dryRun=All" not in request.path and request.method != "GET" and not refused:
            return False
        reordered = a.code == b.code and answers.shape(a, b) == ("the same errors in another order",)
        # Go goes through two members of a small map in the order in which they came seven times out of eight.
        for _ in range(24 if reordered else 6 if refused else 1):
            new_a, new_b = (answers.comparable(one, request) for one in self.do(request))
            if answers.same(new_a, new_b) or (reordered and new_a != a):
                return True
        return False


def print_tally(tally, top, width, file):
    different = sum(entry[0] for entry in tally.shapes.values())
    print(f"{tally.asked} requests: {tally.same} answered the same, {tally.random} in an order that the reference itself varies, "
          f"{different} differently in {len(tally.shapes)} shapes", file=file)
    print("the reference's codes: " + ", ".join(f"{code}: {count}" for code, count in tally.codes.most_common()), file=file)

    def cut(text):
        return text if len(text) <= width else text[:width] + f"…({len(text)})"

    for shape, (count, keys, examples) in sorted(tally.shapes.items(), key=lambda item: -item[1][0])[:top]:
        print(f"\n[{count}] " + "\n    ".join(shape), file=file)
        print("    of " + ", ".join(f"{key} {n}" for key, n in keys.most_common(8)) + (" …" if len(keys) > 8 else ""), file=file)
        for request, a, b in examples:
            print(f"  · {request.label}: {request.method} {request.path} {json.dumps(request.headers) if request.headers else ''}", file=file)
            if request.body is not None:
                print("    " + cut(request.body), file=file)
            left, right = excerpt(a.text, b.text, width)
            print(f"    A {a.code} {left}\n    B {b.code} {right}", file=file)
            if a.warnings != b.warnings:
                print(f"    A warns {a.warnings}\n    B warns {b.warnings}", file=file)


def excerpt(a, b, width):
    """Both texts from a little before the place where they begin to differ."""
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    start = max(0, at - width // 2) if max(len(a), len(b)) > width else 0
    return tuple(("…" if start else "") + text[start:start + width] for text in (a, b))
