# SPDX-License-Identifier: Apache-2.0

"""What users, controllers and kubelets do with objects: lifecycles.yaml has for each kind of work the steps that there are, from
which sequences are drawn. Each sequence has a namespace and names of its own. It ends at the first step that the servers answer
differently, and is then shrunk: the steps that are not needed are left out. Watches at the end return all that has happened.

A step names its verb (one of METHODS), the path, the body and headers. Values in it are drawn:
  {$any: [...]}       one of them
  {$some: [...]}      a list of some of them
  {$maybe: value}     the value, or nothing
  {$seldom: [...]}    one of them, one time out of six
  $absent             nothing
and places in its texts are filled in:
  (life)              the number of the sequence; its namespace is life-(life)
  (version), (stale)  the resourceVersion of the object that the path names, the one before it
  (begin)             the resourceVersion at the start of the sequence
  (uid), (uid of pods/web)
  (mark)              the number of the step
`edit` reads the object, sets what the body names by JSON pointers, and writes it, as controllers do. A definition of custom resources
names a printer column (mark): the next step waits until both servers show it."""

import concurrent.futures
import copy
import dataclasses
import json
import multiprocessing
import pathlib
import random
import re
import sys
import time

import yaml

import answers
from comparing import Pair, Tally
from generated import APPLY, JSON_PATCH, MERGE, STRATEGIC, Request, path_with
from mutations import dump
from sequences import TABLE, events_of_watches

METHODS = {"create": ("POST", "application/json"), "get": ("GET", None), "update": ("PUT", "application/json"), "edit": ("PUT", "application/json"),
           "merge": ("PATCH", MERGE), "strategic": ("PATCH", STRATEGIC), "json": ("PATCH", JSON_PATCH), "apply": ("PATCH", APPLY),
           "delete": ("DELETE", "application/json")}
MANAGERS = ("kubectl", "controller", "kubelet")
STEPS = 30
SHRUNK = 3  # sequences of a lifecycle that are shrunk: the others have most often the same cause
ABSENT = object()


def drawn(value, dice):
    """The value with what is to be drawn drawn."""
    if isinstance(value, dict):
        if "$any" in value:
            return drawn(dice.choice(value["$any"]), dice)
        if "$some" in value:
            return drawn([element for element in value["$some"] if dice.random() < 0.5], dice)
        if "$maybe" in value:
            return drawn(value["$maybe"], dice) if dice.random() < 0.5 else ABSENT
        if "$seldom" in value:
            return drawn(dice.choice(value["$seldom"]), dice) if dice.random() < 1 / 6 else ABSENT
        members = {name: drawn(member, dice) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not ABSENT}
    if isinstance(value, list):
        return [element for element in (drawn(element, dice) for element in value) if element is not ABSENT]
    return ABSENT if value == "$absent" else value


def set_in(document, pointer, value):
    """Sets, or removes if the value is null, what a JSON pointer names; what is on the way to it is made."""
    *parents, last = pointer.strip("/").split("/")
    for part in parents:
        if isinstance(document, list):
            if not part.isdigit() or int(part) >= len(document):
                return
            document = document[int(part)]
        elif isinstance(document, dict):
            document = document.setdefault(part.replace("~1", "/"), {})
    if isinstance(document, list):
        if last == "-":
            document.append(value)
        elif last.isdigit() and int(last) < len(document):
            document[int(last):int(last) + 1] = [] if value is None else [value]
    elif isinstance(document, dict):
        last = last.replace("~1", "/")
        document.pop(last, None) if value is None else document.update({last: value})


def object_of(path):
    """pods/web of /api/v1/namespaces/x/pods/web/status?…"""
    parts = path.partition("?")[0].strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
        parts = parts[2:]
    return "/".join(parts[:2])


@dataclasses.dataclass
class Filled(Request):
    """A request that each server gets with its own versions and uids: Pair.versions holds what is known of each of them."""
    edited: list = dataclasses.field(default_factory=list)  # the bodies for both, if they are not the same

    def filled(self, known):
        body = self.edited[known.side] if self.edited else self.body
        return self.method, known.fill(self.path, self.path), None if body is None else known.fill(body, self.path).encode(), self.headers


class Known:
    """What is known of the objects of one server."""

    def __init__(self, side, begin):
        self.side, self.begin, self.metadata, self.before = side, begin, {}, {}

    def learn(self, path, text):
        try:
            document = json.loads(text)
        except ValueError:
            return
        metadata = document.get("metadata") or {} if isinstance(document, dict) else {}
        if metadata.get("name") and metadata.get("resourceVersion"):
            key = object_of(path).partition("/")[0] + "/" + metadata["name"]
            self.before[key] = self.metadata.get(key, metadata)
            self.metadata[key] = metadata

    def fill(self, text, path):
        own = object_of(path)
        text = text.replace("(version)", self.metadata.get(own, {}).get("resourceVersion", "1")).replace("(begin)", self.begin)
        text = text.replace("(stale)", self.before.get(own, {}).get("resourceVersion", "1"))
        absent = "00000000-0000-0000-0000-000000000000"
        text = text.replace("(uid)", self.metadata.get(own, {}).get("uid", absent))
        return re.sub(r"\(uid of ([^)]+)\)", lambda match: self.metadata.get(match[1], {}).get("uid", absent), text)


class Lifecycle:
    def __init__(self, pair, lifecycle, seed, worker):
        self.pair, self.lifecycle = pair, lifecycle
        self.dice = random.Random(f"{seed}/{lifecycle['lifecycle']}/{worker}")
        self.worker, self.count, self.shrunk = worker, 0, 0
        self.key = lifecycle["lifecycle"]

    # --- steps ---------------------------------------------------------------------------------------

    def steps(self):
        made = [drawn({**step, "query": {"fieldManager": "kubectl"}}, self.dice) for step in self.lifecycle.get("given", [])]
        choices, weights = self.lifecycle["steps"], [step.get("weight", 1) for step in self.lifecycle["steps"]]
        while len(made) < STEPS:
            step = drawn(self.dice.choices(choices, weights)[0], self.dice)
            query = {"fieldManager": self.dice.choice(MANAGERS), "dryRun": "All" if self.dice.random() < 0.06 else None}
            if step["do"] == "apply":
                query["force"] = self.dice.choice(("true", "false", None))
            step["query"] = {**query, **step.get("query", {})} if step["do"] not in ("get", "delete") else {}
            made.append(step)
        return made

    def request(self, step, mark):
        method, media = METHODS[step["do"]]
        path = step.get("path", "")
        if not path.startswith("/"):
            path = self.lifecycle["at"] + ("" if path[:1] in ("", "?") else "/") + path
        query = {name: str(value) for name, value in step["query"].items() if value is not None}
        if query:
            path = path_with(path, **query) if "?" not in path else path + "&" + path_with("", **query)[1:]
        headers = {**({"Content-Type": media} if media else {}), **step.get("headers", {})}
        body = None if step.get("body") is None else dump(step["body"])
        here = lambda text: text.replace("(life)", self.life).replace("(mark)", str(mark))
        return Filled(method, here(path), None if body is None else here(body), headers, step["do"])

    def edit(self, request):
        """Makes of what the request sets the whole objects; whether both servers have the object."""
        got = self.pair.do(Filled("GET", request.path.partition("?")[0]))
        if any(answer.code != 200 for answer in got):
            return False
        for answer in got:
            document = json.loads(answer.text)
            for pointer, value in json.loads(request.body).items():
                set_in(document, pointer, copy.deepcopy(value))
            request.edited.append(json.dumps(document, separators=(",", ":")))
        return True

    def step(self, step, mark):
        """None, or the request and in which shape the answers differ."""
        request = self.request(step, mark)
        known = self.pair.versions
        if step["do"] == "edit" and not self.edit(request):
            return None
        tally, self.pair.tally = self.pair.tally, Tally()
        _, both, same = next(self.pair.compare([request], self.key))
        if request.method != "GET" and all(answer.code < 300 for answer in both):
            for one, answer in zip(known, both):
                one.learn(request.path, answer.text)
            own = object_of(request.path)
            written = [one.before.get(own) is not one.metadata.get(own) and
                       one.before[own].get("resourceVersion") != one.metadata[own].get("resourceVersion") for one in known]
            if same and "dryRun" not in request.path and written[0] != written[1]:
                self.pair.tally.add(self.key, ("only one of both has stored it anew",), request, *both)
                same = False
            if same and "customresourcedefinitions" in request.path:
                self.settle(request.path, both)
        tally.take(self.pair.tally)
        shape, self.pair.tally = next(iter(self.pair.tally.shapes), None), tally
        return None if same else (request, shape)

    def settle(self, path, both):
        """Waits until both servers serve custom resources as the definition that was written says."""
        for connection, answer in zip(self.pair.connections, both):
            definition = json.loads(answer.text)
            if definition.get("kind") != "CustomResourceDefinition" or "dryRun" in path:
                continue
            spec, gone = definition["spec"], "deletionTimestamp" in definition["metadata"]
            for version in spec["versions"]:
                wanted = [column["name"] for column in version.get("additionalPrinterColumns", [])] if version["served"] and not gone else None
                url = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}?limit=1"
                for _ in range(300):
                    (code, text, _), = connection.exchange([("GET", url, None, TABLE)])
                    shown = [column["name"] for column in json.loads(text)["columnDefinitions"]][1:] if code == 200 else None
                    if code in (200, 404) and (shown == wanted or (wanted is not None and not wanted and shown == ["Age"])):
                        break
                    time.sleep(0.02)

    # --- sequences -----------------------------------------------------------------------------------

    def begin(self):
        self.count += 1
        self.life = f"{self.worker}-{self.count}"
        both = self.pair.do(Request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": f"life-{self.life}"}})))
        self.pair.versions = [Known(side, json.loads(answer.text)["metadata"]["resourceVersion"]) for side, answer in enumerate(both)]
        self.pair.do(Filled("POST", f"/api/v1/namespaces/life-{self.life}/serviceaccounts", '{"metadata":{"name":"default"}}'))

    def play(self, steps):
        """None, or the number of the step whose answers differ, its request and the shape."""
        self.pair.versions = ["", ""]
        self.begin()
        for index, (mark, step) in enumerate(steps):
            if found := self.step(step, mark):
                return index, *found
        return None

    def end(self):
        for one in self.lifecycle.get("end", []):
            self.pair.do(Filled("DELETE", one.replace("(life)", self.life)))

    def run(self):
        steps = list(enumerate(self.steps()))
        found = self.play(steps)
        tally = self.pair.tally
        at = f"{self.lifecycle['at']}".replace("(life)", self.life)
        if found and self.shrunk < SHRUNK:
            self.shrunk += 1
            self.end()
            found[1].label = self.smallest(steps[:found[0] + 1], found[2])
        elif not found and self.lifecycle.get("watch", True):
            events_of_watches(self.pair, self.dice, at, self.key, [known.begin for known in self.pair.versions])
        self.pair.tally = tally
        self.end()

    def smallest(self, steps, shape):
        """The steps, as text, without those that the last does not need to be answered in this shape."""
        self.pair.tally = Tally()
        for index in range(len(steps) - 2, -1, -1):
            fewer = steps[:index] + steps[index + 1:]
            found = self.play(fewer)
            self.end()
            if found and found[0] == len(fewer) - 1 and found[2] == shape:
                steps = fewer
        again = self.play(steps)
        lines = [f"{step['do']} {step.get('path', '')} {dump(step.get('body'))} {json.dumps(step['query'])}" for _, step in steps]
        return ("" if again and again[2] == shape else "(did not repeat) ") + "\n      after ".join(lines[::-1])


# --- all lifecycles -------------------------------------------------------------------------------------

def all_of(arguments):
    chosen = arguments.kinds.split(",") if arguments.kinds else None
    documents = yaml.safe_load_all((pathlib.Path(__file__).parent / "lifecycles.yaml").read_text())
    return {number: document for number, document in enumerate(documents) if not chosen or document["lifecycle"] in chosen}


def run_part(addresses, arguments, number, part, until):
    lifecycle = all_of(arguments)[number]
    pair = Pair(*addresses, arguments.token)
    one = Lifecycle(pair, lifecycle, arguments.seed, f"{arguments.seed}-{number}-{part}")
    while pair.tally.asked < until:
        one.run()
    return lifecycle["lifecycle"], pair.tally.plain()


def run(addresses, arguments):
    numbers = list(all_of(arguments))
    steps = arguments.lifecycles / max(1, len(numbers) * arguments.workers)
    tally, begun = Tally(), time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(arguments.workers, mp_context=multiprocessing.get_context("fork")) as pool:
        submitted = [pool.submit(run_part, addresses, arguments, number, part, steps) for number in numbers for part in range(arguments.workers)]
        for done in concurrent.futures.as_completed(submitted):
            name, one = done.result()
            tally.take(one)
            print(f"{time.monotonic() - begun:6.1f} s  {tally.asked:7}  {sum(e[0] for e in one.shapes.values()):5} differ of {one.asked}: {name}",
                  file=sys.stderr, flush=True)
    return tally
