#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the server to recorded answers of a kube-apiserver 1.36: who may do what, and whom certificates,
tokens and headers stand for (tests/reference/README.md).

    tests/integration/recorded_access.py --build build/release
"""

import json
import pathlib
import sys

from story import expect, fail, run, serving

REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "reference"
sys.path.insert(0, str(REFERENCE))

import certificates  # noqa: E402
import identities  # noqa: E402
import questions  # noqa: E402
from connection import Connection  # noqa: E402
from credentials import Credentials  # noqa: E402
from world import World  # noqa: E402

TOKEN = "recorded"


def recorded(name):
    return json.loads((REFERENCE / "recorded" / name).read_text())


def differing(rows):
    """Some of the differences tell as much as all."""
    if rows:
        fail(f"{len(rows)} answers differ:\n" + "\n".join(rows[:10]))


def decisions(program, folder):
    """Questions as SubjectAccessReviews and as requests (authorization.py)."""
    record = recorded("decisions.json")
    tokens = pathlib.Path(folder) / "tokens.csv"
    tokens.write_text(f'{TOKEN},recorder,1,"system:masters"\n')
    with serving(program, f"--token-auth-file={tokens}", "--authorization-mode=Node,RBAC", "--controllers=-*",
                 "--enable-admission-plugins=NodeRestriction") as server:
        connection = Connection(f"https://127.0.0.1:{server.port}", TOKEN)
        made = connection.ask([("POST", path, body, {}) for path, body in World(record["seed"]).objects])
        for (path, _), (code, text) in zip(World(record["seed"]).objects, made):
            if code not in (201, 409):
                fail(f"{path}: {code} {text}")
        asked = [questions.from_json(record["users"][user], question) for user, question, _ in record["rows"]]
        answers = []
        for start in range(0, len(asked), 64):
            answers += connection.ask([question.request() for question in asked[start:start + 64]])
        connection.close()
        wrong = []
        for question, (_, _, number), (code, body) in zip(asked, record["rows"], answers):
            outcome = question.outcome(code, body)
            if outcome != record["outcomes"][number]:
                wrong.append(f"{question.text()}\n  {outcome}, not {record['outcomes'][number]}")
        differing(wrong)
        expect("thousands of questions", len(asked) >= 2000, True)


def client_certificates(program, folder):
    """Client certificates with every fault (certificates.py)."""
    record = recorded("certificates.json")
    folder = pathlib.Path(folder)
    (folder / "ca.crt").write_text(record["roots"])
    for key, text in record["keys"].items():
        certificates.Keys(folder).write(key, text)
    with serving(program, f"--client-ca-file={folder / 'ca.crt'}") as server:
        wrong = []
        for case in record["cases"]:
            verdict = certificates.verdict(f"https://127.0.0.1:{server.port}", folder, case)
            if verdict != case["verdict"]:
                wrong.append(f"{case['case']}: {verdict}, not {case['verdict']}")
        differing(wrong)


def tokens_and_headers(program, folder):
    """Tokens, front proxies and impersonation with every fault (identities.py)."""
    record = identities.read(REFERENCE / "recorded" / "identities.json")
    folder = pathlib.Path(folder) / "identities"
    credentials = Credentials(folder)
    credentials.make(certificates)
    with serving(program, *credentials.flags(), "--controllers=-*") as server:
        verdicts = identities.verdicts(f"https://127.0.0.1:{server.port}", folder)
        expect("the cases", sorted(verdicts), sorted(record))
        differing([f"{name}: {verdicts[name]}, not {wanted}" for name, wanted in record.items() if verdicts[name] != wanted])


if __name__ == "__main__":
    run("recorded_access", __doc__, [decisions, client_certificates, tokens_and_headers], lambda folder: folder)
