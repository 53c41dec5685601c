# SPDX-License-Identifier: Apache-2.0
"""What clients of several servers saw, and whether it can be true.

Threads append to a History; check() holds it against what is promised (docs/etcd.md):

- each version of an object has one value, whoever tells of it, and follows the version that its writer named;
- what began after something else had ended sees nothing older, and a write makes something newer (with the above: each
  object is linearizable);
- a list is a state that has been, over all objects, and is as new;
- a watcher gets every version once, in order, of the right type; where it was told that history is gone (410), the list that
  it made takes the place of what it missed;
- in the end all servers show the newest version of every object.
"""

import bisect
import collections

# `kind` is read, create, update or delete. `version` is None of deletes, whose answer does not name it. `named` is the version
# that a write depends on, None of creates. `value` is None of deletes.
Operation = collections.namedtuple("Operation", "kind key began ended version value named")
# `states`: key -> (version, value).
Listing = collections.namedtuple("Listing", "who began ended revision states")
# `type` is ADDED, MODIFIED or DELETED; `value` None of DELETED.
Event = collections.namedtuple("Event", "key version value type")


class History:
    def __init__(self):
        self.operations, self.listings, self.problems = [], [], []
        self.events = collections.defaultdict(list)  # by watcher
        self.gaps = collections.defaultdict(list)    # by watcher: revisions (after, up to) that a list stands for


class Key:
    """Every known version of one object, in order."""

    def __init__(self, name):
        self.name, self.values, self.order = name, {}, []

    def add(self, version, value, problems, who):
        if self.values.setdefault(version, value) != value:
            problems.append(f"{self.name}: version {version} is {value!r} to {who} and {self.values[version]!r} to others")

    def before(self, version):
        """The version that was there before it, or None."""
        at = bisect.bisect_left(self.order, version)
        return self.order[at - 1] if at else None

    def at(self, revision):
        at = bisect.bisect_right(self.order, revision)
        return self.order[at - 1] if at else None

    def after(self, version):
        at = bisect.bisect_right(self.order, version)
        return self.order[at] if at < len(self.order) else None


def versions(history, problems):
    keys = {}
    for op in history.operations:
        key = keys.setdefault(op.key, Key(op.key))
        if op.version is not None:
            key.add(op.version, op.value, problems, op.kind)
    for listing in history.listings:
        for name, (version, value) in listing.states.items():
            keys.setdefault(name, Key(name)).add(version, value, problems, listing.who)
    for watcher, events in history.events.items():
        for event in events:
            keys.setdefault(event.key, Key(event.key)).add(event.version, event.value, problems, watcher)
    for key in keys.values():
        key.order = sorted(key.values)
    return keys


def unseen_deletion(op, following, history, watchers):
    """A version for a deletion that no watcher could see, because history was gone for all of them; None if one could."""
    floor = max([op.named, *(one.revision for one in history.listings if one.states.get(op.key, (0,))[0] == op.named)])
    for start in sorted({floor, *(after for name in watchers for after, _ in history.gaps[name] if after > floor)}):
        version = start + 0.5
        if following is not None and version > following:
            break
        if all(any(after < version <= upto for after, upto in history.gaps[name]) for name in watchers):
            return version
    return None


def with_versions(history, watchers, keys, problems):
    """The operations; deletes with the version that they made: the next one after what they named."""
    for op in history.operations:
        if op.kind == "delete":
            key = keys[op.key]
            made = key.after(op.named)
            if made is None or key.values[made] is not None:
                unseen = unseen_deletion(op, made, history, watchers)
                if unseen is None:
                    problems.append(f"{op.key}: the deletion of version {op.named} was acknowledged, next is {made}")
                    continue
                made = unseen
                key.values[made] = None
                bisect.insort(key.order, made)
            op = op._replace(version=made)
        yield op


def check_writes(operations, keys, problems):
    made = set()
    for op in operations:
        if op.kind == "read":
            continue
        if (op.key, op.version) in made:
            problems.append(f"{op.key}: two writes made version {op.version}")
        made.add((op.key, op.version))
        before = keys[op.key].before(op.version)
        if op.kind == "create" and before is not None and keys[op.key].values[before] is not None:
            problems.append(f"{op.key}: version {op.version} was created although {before} was there")
        if op.kind != "create" and before != op.named:
            problems.append(f"{op.key}: version {op.version} follows {before}, its writer named {op.named}")


def check_time(operations, problems):
    """Of one object."""
    latest, at, ends = 0, 0, sorted((op.ended, op.version) for op in operations)
    for op in sorted(operations, key=lambda op: op.began):
        while at < len(ends) and ends[at][0] < op.began:
            latest = max(latest, ends[at][1])
            at += 1
        if op.version < latest or (op.kind not in ("read", "list") and op.version == latest):
            problems.append(f"{op.key}: a {op.kind} that began after version {latest} was seen has version {op.version}")


def check_listings(history, operations, keys, problems):
    """Each is the state at its revision; reads of each object, for check_time."""
    for listing in history.listings:
        for name, key in keys.items():
            newest = key.at(listing.revision)
            seen = listing.states.get(name)
            if newest is None or (seen is None and key.values[newest] is None):
                if seen is not None:
                    problems.append(f"{name}: {listing.who} lists version {seen[0]} at {listing.revision}")
                elif newest is not None:
                    yield Operation("list", name, listing.began, listing.ended, newest, None, None)
                continue
            if seen is None or seen[0] != newest:
                problems.append(f"{name}: {listing.who} lists {seen and seen[0]} at {listing.revision}, where {newest} was there")
                continue
            yield Operation("list", name, listing.began, listing.ended, newest, seen[1], None)
    ends = sorted([(op.ended, op.version) for op in operations] + [(one.ended, one.revision) for one in history.listings])
    latest, at = 0, 0
    for listing in sorted(history.listings, key=lambda one: one.began):
        while at < len(ends) and ends[at][0] < listing.began:
            latest = max(latest, ends[at][1])
            at += 1
        if listing.revision < latest:
            problems.append(f"{listing.who}: a list that began after revision {latest} was seen is of {listing.revision}")


def check_watcher(watcher, events, gaps, since, until, keys, problems):
    for a, b in zip(events, events[1:]):
        if a.version >= b.version:
            problems.append(f"{watcher}: {b.key} of {b.version} after {a.version}: twice, or out of order")
    for event in events:
        before = keys[event.key].before(event.version)
        was_there = before is not None and keys[event.key].values[before] is not None
        if event.version > since and (event.type == "ADDED") == was_there:
            problems.append(f"{watcher}: {event.type} of {event.key} at {event.version}, before it was {before}")
    seen = {(event.key, event.version) for event in events}
    missed = [(key.name, version) for key in keys.values() for version in key.order
              if since < version <= until and (key.name, version) not in seen
              and not any(after < version <= upto for after, upto in gaps)]
    problems.extend(f"{watcher}: version {version} of {name} was not seen" for name, version in missed[:5])


def check(history, watchers, since, final):
    """What cannot be true, as texts. `watchers`: their names; `since`: the revision they began behind; `final`: the Listings of
    all servers at the end, when all was still."""
    problems = list(history.problems)
    history.listings += final
    keys = versions(history, problems)
    operations = list(with_versions(history, watchers, keys, problems))
    check_writes(operations, keys, problems)
    by_key = collections.defaultdict(list)
    for op in [*operations, *check_listings(history, operations, keys, problems)]:
        by_key[op.key].append(op)
    for of_key in by_key.values():
        check_time(of_key, problems)
    until = min(listing.revision for listing in final)
    for watcher in watchers:
        check_watcher(watcher, history.events[watcher], history.gaps[watcher], since, until, keys, problems)
    for key in keys.values():
        newest = key.order[-1]
        for listing in final:
            seen = listing.states.get(key.name)
            if (seen and seen[0]) != (newest if key.values[newest] is not None else None):
                problems.append(f"{key.name}: {newest} was seen, in the end {listing.who} shows {seen}")
    return problems
