#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks two API servers the same generated questions about permissions and prints what they answer
differently: "A" is kube-apiserver, "B" is Portcullis (README.md says how both are started).

    tests/reference/authorization.py --a URL TOKEN --b URL TOKEN --questions 200000 --requests 20000 --seed 1

Most questions are SubjectAccessReviews; a part are real requests, dry runs as far as they write. Both
servers are first given the same objects: roles, bindings, and pods with what they need. They should be
new servers, since the objects stay. Each difference is shrunk to the smallest question that still
differs. --record writes questions with A's answers, a quarter each of reviews and requests that are allowed
and that are not.
"""

import argparse
import concurrent.futures
import json
import random
import sys
import time

from connection import Connection
from questions import Questions
from world import World

BATCH = 64


class Server:
    def __init__(self, url, token):
        self.url, self.token = url, token
        self.connections = []

    def connect(self):
        return Connection(self.url, self.token)

    def make(self, objects):
        """Creates what is not there; the order of `objects` counts."""
        connection = self.connect()
        for path, body in objects:
            code, answer = connection.ask([("POST", path, body, {})])[0]
            if code not in (201, 409):
                sys.exit(f"{self.url}{path}: {code} {answer[:300]}")

    def wait_for(self, question, limit=30):
        """Until caches have seen the newest object."""
        connection, end = self.connect(), time.monotonic() + limit
        while not self.decide(connection, [question])[0].get("allowed"):
            if time.monotonic() > end:
                sys.exit(f"{self.url}: what was made last is not in force after {limit} s")
            time.sleep(0.1)

    def decide(self, connection, questions):
        """What is comparable of the answers."""
        answers = connection.ask([question.request() for question in questions])
        return [question.outcome(code, body) for question, (code, body) in zip(questions, answers)]


def shrink(question, differs):
    """The smallest question, by its own steps, for which `differs` holds still."""
    steps, changed = 0, True
    while changed and steps < 200:
        changed = False
        for smaller in question.smaller():
            steps += 1
            if differs(smaller):
                question, changed = smaller, True
                break
    return question


class Comparison:
    def __init__(self, a, b, limit):
        self.a, self.b, self.limit = a, b, limit
        self.asked = 0
        self.allowed = 0
        self.differing = []
        self.per_worker = {}

    def ask(self, questions):
        a, b = self.a.connect(), self.b.connect()
        for start in range(0, len(questions), BATCH):
            batch = questions[start:start + BATCH]
            for question, of_a, of_b in zip(batch, self.a.decide(a, batch), self.b.decide(b, batch)):
                self.asked += 1
                self.allowed += bool(of_a.get("allowed"))
                if of_a != of_b and len(self.differing) < self.limit:
                    self.differing.append(question)
            if len(self.differing) >= self.limit:
                return

    def tell(self):
        a, b = self.a.connect(), self.b.connect()
        shown = set()
        for question in self.differing:
            def differs(candidate):
                return self.a.decide(a, [candidate]) != self.b.decide(b, [candidate])
            if not differs(question):
                print("DIFFERED ONCE", question.text())
                continue
            small = shrink(question, differs)
            if small.text() in shown:
                continue
            shown.add(small.text())
            print(f"{small.text()}\n  A {json.dumps(self.a.decide(a, [small])[0], sort_keys=True)}"
                  f"\n  B {json.dumps(self.b.decide(b, [small])[0], sort_keys=True)}")
        return len(self.differing)


def compare(arguments):
    world = World(arguments.seed)
    a, b = Server(*arguments.a), Server(*arguments.b)
    for server in (a, b):
        server.make(world.objects)
        server.wait_for(Questions(world, 0).sentinel())
    generator = Questions(world, arguments.seed, a.connect())
    comparison = Comparison(a, b, arguments.limit)
    end = time.monotonic() + arguments.seconds
    plan = [("reviews", arguments.questions, generator.review), ("requests", arguments.requests, generator.request)]
    for name, count, make in plan:
        before, start = comparison.asked, time.monotonic()
        while comparison.asked - before < count and time.monotonic() < end:
            size = min(count - (comparison.asked - before), 4096)
            questions = [make() for _ in range(size)]
            share = -(-size // arguments.workers)
            with concurrent.futures.ThreadPoolExecutor(arguments.workers) as pool:
                list(pool.map(comparison.ask, [questions[i:i + share] for i in range(0, size, share)]))
            if len(comparison.differing) >= arguments.limit:
                break
        asked = comparison.asked - before
        print(f"{asked} {name}, seed {arguments.seed}, {time.monotonic() - start:.0f} s", flush=True)
    differing = comparison.tell()
    print(f"{comparison.asked} questions, {comparison.allowed} allowed, {differing} answered differently")
    sys.exit(1 if differing else 0)


def record(arguments):
    world = World(arguments.seed)
    server = Server(*arguments.a)
    server.make(world.objects)
    server.wait_for(Questions(world, 0).sentinel())
    generator, connection = Questions(world, arguments.seed, server.connect()), server.connect()
    rows, users, outcomes = [], {}, {}
    # As many that are allowed as that are not, of both kinds: most generated ones are refused for lack of any right.
    for make in (generator.review, generator.request):
        wanted = {True: arguments.questions // 4, False: arguments.questions // 4}
        while any(wanted.values()):
            batch = [make() for _ in range(BATCH)]
            for question, outcome in zip(batch, server.decide(connection, batch)):
                allowed = bool(outcome.get("allowed"))
                if wanted[allowed]:
                    wanted[allowed] -= 1
                    user, rest = question.as_json()
                    rows.append([users.setdefault(compact(user), len(users)), rest, outcomes.setdefault(compact(outcome), len(outcomes))])
    with open(arguments.record, "w") as file:
        file.write(f'{{"seed": {arguments.seed}')
        for name, values in (("users", users), ("outcomes", outcomes), ("rows", map(compact, rows))):
            file.write(f', "{name}": [\n' + ",\n".join(values) + "\n]")
        file.write("}\n")
    print(f"{len(rows)} questions with {len(outcomes)} different answers recorded")


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--a", nargs=2, metavar=("URL", "TOKEN"), required=True)
    parser.add_argument("--b", nargs=2, metavar=("URL", "TOKEN"))
    parser.add_argument("--questions", type=int, default=10000, help="access reviews")
    parser.add_argument("--requests", type=int, default=1000, help="real requests")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--seconds", type=float, default=600, help="end after this time")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--limit", type=int, default=50, help="end after so many differences")
    parser.add_argument("--record", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.record:
        record(arguments)
    elif arguments.b:
        compare(arguments)
    else:
        parser.error("--b or --record")


if __name__ == "__main__":
    main()
