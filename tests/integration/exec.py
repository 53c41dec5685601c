#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`portcullis exec`: the command has a server of its own and gives the exit code; nothing is left behind.

    tests/integration/exec.py --build build/release
"""

import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.request

from story import expect, fail, run, until

# What the commands print: what they find in their environment.
TELL = "echo $KUBECONFIG; echo $PORTCULLIS_URL; echo $USE_EXISTING_CLUSTER; umask; ulimit -c; grep NoNewPrivs /proc/self/status"


def execute(program, *words, folder, **more):
    env = {**os.environ, "TMPDIR": str(folder), **more.pop("env", {})}
    return subprocess.run([program, "exec", *words], capture_output=True, text=True, timeout=60, env=env, **more)


def in_folder(story):
    """The story gets an empty folder for temporary files, which must be empty again in the end."""
    def told(program, _):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            story(program, folder)
            until("the temporary files are gone", lambda: not list(folder.iterdir()), 5)
    told.__name__ = story.__name__
    return told


@in_folder
def environment(program, folder):
    """The command runs with the limits and rights of its caller, and knows the server."""
    def told():
        os.umask(0o22)
    done = execute(program, "--", "sh", "-c", TELL, folder=folder, preexec_fn=told)
    expect("the exit code", done.returncode, 0)
    kubeconfig, url, existing, umask, cores, privileges = done.stdout.splitlines()
    if not kubeconfig.startswith(f"{folder}/portcullis-exec-") or not re.fullmatch(r"https://127\.0\.0\.1:\d+", url):
        fail(f"KUBECONFIG={kubeconfig}, PORTCULLIS_URL={url}")
    expect("USE_EXISTING_CLUSTER", existing, "true")
    expect("the umask", umask, "0022")
    mine = subprocess.run(["sh", "-c", TELL], capture_output=True, text=True, preexec_fn=told).stdout.splitlines()
    expect("limits and rights", [cores, privileges], mine[-2:])
    expect("standard error", done.stderr, "")


@in_folder
def exit_codes(program, folder):
    plain = folder / "plain"
    plain.write_text("no program\n")
    for words, code in ((["true"], 0), (["sh", "-c", "exit 37"], 37), (["sh", "-c", "kill -9 $$"], 137),
                        (["no-such-program"], 127), ([str(plain)], 126), ([str(folder)], 126)):
        expect(f"the exit code of {words}", execute(program, "--", *words, folder=folder).returncode, code)
    for words, text in ((["--no-such-flag", "--", "true"], "unknown flag: --no-such-flag"),
                        (["true"], "a command is missing: portcullis exec [flags] -- COMMAND"),
                        (["--"], "a command is missing"),
                        (["--enable-admission-plugins=Nope", "--", "touch", f"{folder}/ran"], '"Nope" is unknown'),
                        (["--bind-address=192.0.2.1", "--", "touch", f"{folder}/ran"], "Hint: --bind-address must be an address of")):
        done = execute(program, *words, folder=folder)
        expect(f"the exit code of {words}", done.returncode, 125)
        if text not in done.stderr:
            fail(f"{words}: {done.stderr!r}")
    plain.unlink()
    done = execute(program, "--", "no-such-program", folder=folder)
    expect("the error", done.stderr, 'Error: exec: "no-such-program": executable file not found in $PATH\n')


ASK = """
import json, os, ssl, subprocess, sys, urllib.request
config = os.environ["KUBECONFIG"]
text = open(config).read()
import base64, re, tempfile
def part(name):
    f = tempfile.NamedTemporaryFile(delete=False)
    f.write(base64.b64decode(re.search(name + ": (.*)", text).group(1)))
    f.close()
    return f.name
ca, crt, key = part("certificate-authority-data"), part("client-certificate-data"), part("client-key-data")
context = ssl.create_default_context(cafile=ca)
context.load_cert_chain(crt, key)
for f in (ca, crt, key): os.unlink(f)
url = os.environ["PORTCULLIS_URL"]
names = json.load(urllib.request.urlopen(url + "/api/v1/namespaces", context=context))["items"]
print(" ".join(n["metadata"]["name"] for n in names))
"""


@in_folder
def server(program, folder):
    """The server is ready before the command begins, and gone when it has ended."""
    done = execute(program, "--", sys.executable, "-c", ASK + "print(url)", folder=folder)
    expect("standard error", done.stderr, "")
    names, url = done.stdout.splitlines()
    expect("namespaces", names, "default kube-node-lease kube-public kube-system")
    try:
        urllib.request.urlopen(url + "/livez", context=ssl._create_unverified_context(), timeout=5)
        fail("the server still answers")
    except OSError:
        pass


@in_folder
def signals(program, folder):
    """Signals are handed on; what the command makes of them decides."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        begun = folder / "begun"
        script = f"trap 'rm {begun}; exit 42' {int(number)}; touch {begun}; while :; do sleep 0.05; done"
        process = subprocess.Popen([program, "exec", "--", "sh", "-c", script], env={**os.environ, "TMPDIR": str(folder)})
        until("the command has begun", begun.exists)
        process.send_signal(number)
        expect(f"the exit code after {number.name}", process.wait(20), 42)


@in_folder
def killed(program, folder):
    """A server that is killed takes its command along."""
    begun = folder / "begun"
    process = subprocess.Popen([program, "exec", "--", "sh", "-c", f"echo $$ > {begun}; exec sleep 1000"],
                               env={**os.environ, "TMPDIR": str(folder)})
    until("the command has begun", lambda: begun.exists() and begun.read_text().strip())
    process.kill()
    process.wait()
    command = int(begun.read_text())
    until("the command has ended", lambda: not pathlib.Path(f"/proc/{command}").exists() or
          "Z" in pathlib.Path(f"/proc/{command}/stat").read_text().split(")")[1][:3])
    # Its files cannot be removed by a process that was killed.
    subprocess.run(["rm", "-rf", *map(str, folder.iterdir())], check=True)


@in_folder
def ready_file(program, folder):
    """serve writes --ready-file when it is ready, and removes it when it stops."""
    ready, config = folder / "ready", folder / "config"
    ready.write_text("of a server that was killed\n")
    process = subprocess.Popen([program, "serve", "--store=memory", "--secure-port=0", f"--data-dir={folder}/data",
                                f"--ready-file={ready}", f"--write-kubeconfig={config}"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until("the server is ready", lambda: ready.exists() and ready.read_text().startswith("https://127.0.0.1:"))
    url = ready.read_text().strip()
    if f"server: {url}\n" not in config.read_text():
        fail(f"{config.read_text()} does not name {url}")
    # Another one on the same folder leaves it alone.
    other = subprocess.run([program, "serve", "--store=memory", "--secure-port=0", f"--data-dir={folder}/data",
                            f"--ready-file={ready}"], capture_output=True, text=True, timeout=30)
    expect("the exit code of a second server", other.returncode, 2)
    expect("the ready file", ready.read_text().strip(), url)
    with urllib.request.urlopen(url + "/readyz", context=ssl._create_unverified_context(), timeout=5) as answer:
        expect("/readyz", answer.read(), b"ok")
    process.terminate()
    expect("the exit code", process.wait(20), 0)
    if ready.exists():
        fail("the ready file is left")
    subprocess.run(["rm", "-rf", *map(str, folder.iterdir())], check=True)


@in_folder
def own_folder(program, folder):
    """A --data-dir that was named is kept."""
    data = folder / "mine"
    done = execute(program, f"--data-dir={data}", "--", "true", folder=folder)
    expect("the exit code", done.returncode, 0)
    if not (data / "admin.kubeconfig").exists():
        fail("the folder that was named is gone")
    subprocess.run(["rm", "-rf", str(data)], check=True)


@in_folder
def side_by_side(program, folder):
    """Twenty at once do not see each other."""
    env = {**os.environ, "TMPDIR": str(folder)}
    running = [subprocess.Popen([program, "exec", "--", "sh", "-c", "echo $PORTCULLIS_URL; sleep 0.5"], env=env,
                                stdout=subprocess.PIPE, text=True) for _ in range(20)]
    urls = {process.communicate(timeout=60)[0] for process in running}
    expect("different servers", len(urls), 20)
    expect("exit codes", {process.returncode for process in running}, {0})


if __name__ == "__main__":
    run("exec", __doc__, [environment, exit_codes, server, signals, killed, ready_file, own_folder, side_by_side])
