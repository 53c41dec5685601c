#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""history.py finds what it has to find: histories that are true, and the same with one lie in each."""

import sys

from history import Event, History, Listing, Operation, check


def made():
    """Two objects: a is created (2), updated (3, 5), deleted (6); b is created (4)."""
    history = History()
    history.operations = [Operation("create", "a", 0, 1, 2, "x", None), Operation("update", "a", 2, 3, 3, "y", 2),
                          Operation("read", "a", 4, 5, 3, "y", None), Operation("create", "b", 2, 5, 4, "b", None),
                          Operation("update", "a", 6, 7, 5, "z", 3), Operation("delete", "a", 8, 9, None, None, 5)]
    history.listings = [Listing("s0", 6, 8, 5, {"a": (5, "z"), "b": (4, "b")})]
    for watcher in ("w0", "w1"):
        history.events[watcher] = [Event("a", 2, "x", "ADDED"), Event("a", 3, "y", "MODIFIED"), Event("b", 4, "b", "ADDED"),
                                   Event("a", 5, "z", "MODIFIED"), Event("a", 6, None, "DELETED")]
    return history, [Listing(f"s{i}", 10, 11, 6, {"b": (4, "b")}) for i in range(2)]


def swap(items, index, **changes):
    items[index] = items[index]._replace(**changes)


LIES = {
    "nothing": lambda history, final: None,
    "a value differs": lambda history, final: swap(history.operations, 2, value="q"),
    "a read is old": lambda history, final: swap(history.operations, 2, version=2, value="x"),
    "a write names another version": lambda history, final: swap(history.operations, 4, named=2),
    "two writes make one version": lambda history, final: history.operations.append(history.operations[1]),
    "a create over what is there": lambda history, final: swap(history.operations, 4, kind="create"),
    "a deletion did not happen": lambda history, final: swap(history.operations, 5, named=4),
    "a list is no state that was": lambda history, final: swap(history.listings, 0, states={"a": (5, "z")}),
    "a list is old": lambda history, final: swap(history.listings, 0, began=9.5, ended=9.6),
    "an event is missing": lambda history, final: history.events["w1"].pop(1),
    "an event comes twice": lambda history, final: history.events["w1"].insert(1, history.events["w1"][1]),
    "events are out of order": lambda history, final: history.events["w0"].reverse(),
    "an event has the wrong type": lambda history, final: swap(history.events["w0"], 1, type="ADDED"),
    "a write is lost in the end": lambda history, final: swap(final, 1, states={}),
    "a server is behind in the end": lambda history, final: swap(final, 1, states={"a": (5, "z"), "b": (4, "b")}),
}


def main():
    failed = 0
    for name, lie in LIES.items():
        history, final = made()
        lie(history, final)
        problems = check(history, ["w0", "w1"], 1, final)
        if bool(problems) != (name != "nothing"):
            failed += 1
            print(f"{name}: {problems}")
    # A list stands for what a watcher missed while history was gone.
    history, final = made()
    history.events["w1"] = history.events["w1"][3:]
    history.gaps["w1"] = [(1, 4)]
    failed += bool(check(history, ["w0", "w1"], 1, final))
    # A deletion that none could see, and one that one of two could have seen.
    for gaps, wrong in (({"w0": [(5, 7)], "w1": [(4, 8)]}, False), ({"w0": [(5, 7)], "w1": []}, True)):
        history, final = made()
        for watcher in ("w0", "w1"):
            history.events[watcher].pop()
        history.gaps.update(gaps)
        failed += bool(check(history, ["w0", "w1"], 1, final)) != wrong
    print(f"history: {len(LIES) + 3 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
