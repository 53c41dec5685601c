#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`portcullis store` beside the real server: a backup while it writes, restore, export and import, check, compact, get;
nothing is overwritten without being told, nothing partial is left.

    tests/integration/store_command.py --build build/release
"""

import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import threading

from encryption import config, make, on_disk, started, value_of
from process import CONFIGMAPS
from story import expect, fail, run

OBJECTS = ["/api/v1/configmaps", "/api/v1/secrets", "/api/v1/namespaces", "/apis/apps/v1/deployments",
           "/apis/rbac.authorization.k8s.io/v1/clusterroles"]


def call(program, *words, code=0):
    done = subprocess.run([program, "store", *words], capture_output=True, text=True, timeout=60)
    if done.returncode != code:
        fail(f"store {' '.join(words)}: exit {done.returncode}, not {code}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def objects(server):
    """Every object of some collections, with uid, revision and managedFields."""
    return {path: server.call("GET", path)[1]["items"] for path in OBJECTS}


def files(folder):
    return sorted(name for name in os.listdir(folder) if "unfinished" in name or name.startswith("backup-"))


def a_backup_while_it_writes(program, _):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        flag = config(folder, [("secrets", [("aesgcm", ["k1"]), ("identity", [])])])
        copy = f"{other}/copy.db"
        with started(program, folder, flag) as server:
            make(server, "a")
            stop, written = threading.Event(), []

            def write():
                connection = server.connect()
                while not stop.is_set():
                    body = {"metadata": {"name": f"c{len(written)}"}, "data": {"x": "y" * 1000}}
                    status, answer = server.call("POST", CONFIGMAPS, body, connection)
                    expect("a write", status, 201)
                    written.append(int(answer["metadata"]["resourceVersion"]))

            thread = threading.Thread(target=write)
            thread.start()
            try:
                made = json.loads(call(program, "backup", copy, f"--data-dir={folder}", "-o", "json"))
                named = call(program, "backup", f"{other}/named.db", f"--kubeconfig={folder}/admin.kubeconfig")
            finally:
                stop.set()
                thread.join()
            expect("where it came from", made["fromServer"], True)
            if "from the running server" not in named:
                fail(f"said: {named}")
            before = objects(server)
        expect("what is left", files(folder) + files(other), [])
        if b"k8s:enc:aesgcm:v1:k1:" not in pathlib.Path(copy).read_bytes():
            fail("the copy is not encrypted")
        expect("its permissions", os.stat(copy).st_mode & 0o777, 0o600)
        report = json.loads(call(program, "check", copy, "-o", "json", f"--encryption-provider-config={folder}/encryption.yaml"))
        expect("damage", report["damaged"], [])
        expect("the revision", report["revision"], made["revision"])
        # Everything up to its revision is in it, and nothing later.
        data = f"{other}/data"
        call(program, "restore", copy, f"--data-dir={data}")
        with started(program, data, flag) as server:
            kept = objects(server)
            expect("the secret", value_of(server, "a"), "VERY-SECRET-VALUE")
        names = {item["metadata"]["name"]: item for item in kept["/api/v1/configmaps"]}
        for item in before["/api/v1/configmaps"]:
            name, revision = item["metadata"]["name"], int(item["metadata"]["resourceVersion"])
            if name.startswith("c"):
                expect(f"{name} of revision {revision}", names.get(name), item if revision <= made["revision"] else None)
        expect("the secrets", kept["/api/v1/secrets"], before["/api/v1/secrets"])


def there_and_back(program, _):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        flag = config(folder, [("secrets", [("aesgcm", ["k1"]), ("identity", [])])])
        with started(program, folder, flag) as server:
            made = make(server, "a")
            make(server, "gone")
            expect("a deletion", server.call("DELETE", "/api/v1/namespaces/default/secrets/gone")[0], 200)
            before = objects(server)
        text = f"{other}/objects.jsonl"
        refused = call(program, "export", text, f"--data-dir={folder}", code=2)
        if "/registry/secrets/default/a cannot be decrypted" not in refused or os.path.exists(text):
            fail(f"said: {refused}")
        for said in (refused, call(program, "get", "secrets/default/a", f"--data-dir={folder}", code=2),
                     call(program, "check", f"--data-dir={folder}", code=1)):
            if "give keys by --encryption-provider-config" not in said:
                fail(f"no word of the flag: {said}")
        call(program, "export", text, f"--data-dir={folder}", flag)
        expect("the permissions", os.stat(text).st_mode & 0o777, 0o600)
        if "there already" not in call(program, "export", text, f"--data-dir={folder}", flag, code=2):
            fail("the export was overwritten")
        call(program, "export", text, f"--data-dir={folder}", flag, "--replace")
        data = f"{other}/data"
        # Under another key than before.
        new = config(other, [("secrets", [("secretbox", ["k2"])])])
        call(program, "import", text, f"--data-dir={data}", new)
        if b"k8s:enc:secretbox:v1:k2:" not in on_disk(data):
            fail("the import is not encrypted")
        shown = json.loads(call(program, "get", "secrets/default/a", f"--data-dir={data}", new))
        expect("the uid", shown["metadata"]["uid"], made["metadata"]["uid"])
        expect("the revision", shown["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"])
        expect("managedFields", shown["metadata"]["managedFields"], made["metadata"]["managedFields"])
        again = f"{other}/again.jsonl"
        call(program, "export", again, f"--data-dir={data}", new)
        expect("the lines", pathlib.Path(again).read_bytes(), pathlib.Path(text).read_bytes())
        with started(program, data, new) as server:
            after = objects(server)
            # The next write goes on behind the last revision, that of the deletion included.
            revision = int(make(server, "next")["metadata"]["resourceVersion"])
        head = json.loads(pathlib.Path(text).read_text().splitlines()[0])
        if revision <= head["revision"]:
            fail(f"revision {revision} comes again; the export says {head['revision']}")
        for path in ("/api/v1/secrets", "/api/v1/namespaces", "/apis/rbac.authorization.k8s.io/v1/clusterroles"):
            expect(path, after[path], before[path])


def a_broken_line(program, _):
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "objects.jsonl"
        text.write_text('{"kind":"StoredObjects","version":1,"revision":9,"objects":1}\n{"key":"/registry/configmaps/n/a"\n')
        said = call(program, "import", str(text), f"--data-dir={folder}/data", code=2)
        if f"{text}:2: " not in said:
            fail(f"said: {said}")
        expect("what is left", os.listdir(f"{folder}/data"), ["lock"])


def damage_is_named(program, _):
    with tempfile.TemporaryDirectory() as folder:
        with started(program, folder) as server:
            make(server, "a")
        expect("a sound one", "0 damaged" in call(program, "check", f"--data-dir={folder}"), True)
        copy = f"{folder}/copy.db"
        call(program, "backup", copy, f"--data-dir={folder}")
        database = sqlite3.connect(copy)
        database.execute("UPDATE objects SET bytes = replace(bytes, 'Opaque', 'Opaquf') WHERE name = 'a'")
        database.commit()
        database.close()
        said = call(program, "check", copy, code=1)
        if 'damaged: secrets "default/a" of revision' not in said:
            fail(f"said: {said}")
        if "damaged" not in call(program, "restore", copy, f"--data-dir={folder}", "--replace", code=1):
            fail("a damaged backup was restored")
        expect("the old one", "0 damaged" in call(program, "check", f"--data-dir={folder}"), True)
        # A backup of damaged data does not take the place of a sound one.
        sound = f"{folder}/sound.db"
        call(program, "backup", sound, f"--data-dir={folder}")
        os.replace(copy, f"{folder}/portcullis.db")
        said = call(program, "backup", sound, f"--data-dir={folder}", "--replace", code=2)
        if "the copy is damaged" not in said:
            fail(f"said: {said}")
        expect("the sound backup", "0 damaged" in call(program, "check", sound), True)
        expect("what is left over", files(folder), [])


def a_server_is_not_disturbed(program, _):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        with started(program, folder) as server:
            make(server, "a")
            copy = f"{other}/copy.db"
            call(program, "backup", copy, f"--data-dir={folder}")
            for words in (["restore", copy, "--replace"], ["compact"], ["check"], ["export", f"{other}/o"], ["get", "secrets/default/a"]):
                said = call(program, *words, f"--data-dir={folder}", code=2)
                if "in use by another process" not in said:
                    fail(f"{words}: {said}")
            if "there already" not in call(program, "backup", copy, f"--data-dir={folder}", code=2):
                fail("the backup was overwritten")
            make(server, "b")
        said = call(program, "restore", copy, f"--data-dir={folder}", code=2)
        if "is there already; --replace replaces it" not in said:
            fail(f"said: {said}")
        call(program, "restore", copy, f"--data-dir={folder}", "--replace")
        with started(program, folder) as server:
            expect("what came after the backup", server.call("GET", "/api/v1/namespaces/default/secrets/b")[0], 404)
            expect("what it has", value_of(server, "a"), "VERY-SECRET-VALUE")
            # Only administrators may have a copy.
            path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
            review = {"spec": {"user": "joe", "groups": ["system:authenticated"],
                               "nonResourceAttributes": {"path": "/debug/store/backup", "verb": "get"}}}
            expect("who may", server.call("POST", path, review)[1]["status"]["allowed"], False)
        expect("compact", "before" in call(program, "compact", f"--data-dir={folder}"), True)
        if "is not there" not in call(program, "get", "secrets/default/none", f"--data-dir={folder}", code=1):
            fail("an object that is not there")


if __name__ == "__main__":
    run("store_command", __doc__, [a_backup_while_it_writes, there_and_back, a_broken_line, damage_is_named,
                                   a_server_is_not_disturbed])
