#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the subjects of commits: `area: what changes`, imperative, short.

    tools/check_commits.py [BASE]

Looks at the commits of HEAD that are not in BASE, without merges. Without BASE: those made in the 24 hours
before HEAD, and none older than SINCE. That needs no knowledge of where the last submission ended.
"""

import datetime
import re
import subprocess
import sys

LIMIT = 80
SINCE = "2026-11-22T16:00:00Z"  # commits made before there was this rule are left alone
AREAS = r"[a-z][a-z0-9_/.-]*"
SUBJECT = re.compile(rf"^{AREAS}(?:, {AREAS})*: (?P<verb>[a-z]\S*)(?P<rest>.*)$")
# A subject that tells what is, was or is done instead of what the commit does.
NOT_IMPERATIVE = re.compile(r"\b(?:is|are|was|were|has|have|had|been|does|did|gets|got)\b")
PAST = re.compile(r"(?:[a-z]{2,}ed|[a-z]{3,}ing)$")
VERBS = {"alias", "focus", "embed", "need", "feed", "speed", "exceed", "proceed", "seed", "shed", "bring", "ping", "string", "ring"}
NOUNS = {"a", "an", "the", "what", "who", "of", "for", "with", "no", "every", "each", "all", "two", "facts", "figures", "texts",
         "tests", "docs", "names", "it", "this"}


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def recent():
    """The commits of the last day of work, newest first."""
    newest = int(git("log", "-1", "--format=%ct").strip())
    since = max(newest - 24 * 3600, int(datetime.datetime.fromisoformat(SINCE.replace("Z", "+00:00")).timestamp()))
    return git("log", "--no-merges", f"--since={since}", "--format=%h%x09%s").splitlines()


def fault(subject):
    """What is wrong with a subject, "" if nothing is."""
    if len(subject) > LIMIT:
        return f"{len(subject)} characters, {LIMIT} allowed"
    match = SUBJECT.match(subject)
    if not match:
        return "wants `area: what changes`, both in lower case"
    if subject.endswith("."):
        return "no full stop"
    if ";" in subject:
        return "one topic a commit"
    verb = match["verb"].rstrip(",:")
    if verb in NOUNS or (PAST.search(verb) and verb not in VERBS) or (verb.endswith("s") and not verb.endswith("ss")):
        return f'wants a verb in the imperative after the area, not "{verb}"'
    if NOT_IMPERATIVE.match(match["rest"].strip()):
        return "wants the imperative: what the commit does, not what is"
    return ""


def main():
    if len(sys.argv) > 1:
        commits = git("log", "--no-merges", "--format=%h%x09%s", f"{sys.argv[1]}..HEAD").splitlines()
    else:
        commits = recent()
    wrong = [(line, fault(line.split("\t", 1)[1])) for line in commits]
    wrong = [(line, why) for line, why in wrong if why]
    for line, why in wrong:
        print(f"{line.replace(chr(9), ' ')}: {why}")
    print(f"{len(commits)} subjects looked at")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
