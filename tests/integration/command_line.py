#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Help, completion and manual pages of every command, and what is said to a newcomer who is stuck.

    tests/integration/command_line.py --build build/release
"""

import pathlib
import re
import shutil
import subprocess
import tempfile

from story import expect, fail, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def call(*words, code=0, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, **more)
    if done.returncode != code:
        fail(f"{words}: exit code {done.returncode}, not {code}: {done.stderr[-500:]}")
    return done


def commands(program):
    """Names of the commands, as the root help lists them."""
    text = call(program, "--help").stdout
    names = re.findall(r"^  ([a-z-]+(?: [a-z]+)?) {2,}\S", text.split("Commands:\n")[1].split("\n\n")[0], re.M)
    if "serve" not in names or "schema import" not in names:
        fail(f"the help lists {names}")
    return names


def help_of_every_command(program, _):
    for name in commands(program):
        text = call(program, *name.split(), "--help").stdout
        expect(f"help {name}", call(program, "help", *name.split()).stdout, text)
        if f"portcullis {name}" not in text or "Usage:" not in text:
            fail(f"the help of {name} has no usage")
        if re.search(r"^(\w+:)\n+\1$", text, re.M):
            fail(f"the help of {name} says a heading twice")
    expect("help", call(program, "help").stdout, call(program).stdout)


def mistakes(program, _):
    for words, text in ((["srve"], "Did you mean this?\n\tserve"), (["help", "srve"], "Did you mean this?\n\tserve"),
                        (["schema"], '"schema" needs a command of its own: import'),
                        (["store", "backups"], 'unknown command "store backups" for "portcullis"\n\nDid you mean this?\n\tstore backup'),
                        (["plugins", "-o", "xml"], "must be one of table, json, yaml, markdown"),
                        (["version", "-o", "xml"], "must be one of text, json, yaml"),
                        (["version", "extra"], 'unknown command "extra" for "portcullis version"'),
                        (["completion", "tcsh"], "one shell is needed: bash, zsh or fish"),
                        (["man", "nothing"], 'there is no command "nothing"'),
                        (["plugins", "--kubernetes-version=2.0"], "must be 1.")):
        done = call(program, *words, code=2)
        if text not in done.stderr or done.stdout:
            fail(f"{words}: {done.stdout!r} {done.stderr!r}, not {text!r}")


def what_cannot_be_written(program, _):
    """Output that finds no room is an error; a reader who goes early is none."""
    for words in (["version"], ["plugins", "-o", "json"], ["cel", "1 + 1"], ["serve", "--help"], ["help"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([program, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        expect(f"{words} on a full disk", (done.returncode, done.stderr),
               (2, "Error: standard output cannot be written: it is closed, or its disk is full\n"))


def versions(program, _):
    import json
    told = json.loads(call(program, "version", "-o", "json").stdout)
    expect("the version", told["version"], re.search(r"VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text().split("project(")[1]).group(1))
    rows = dict(re.findall(r'^(\w+): "(.*)"$', call(program, "version", "-o", "yaml").stdout, re.M))
    expect("the same in YAML", rows, told)
    if not re.fullmatch(r"[0-9a-f]{40}|", told["gitCommit"]) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told["buildDate"]):
        fail(f"commit and date: {told}")
    expect("--version", call(program, "--version").stdout, call(program, "version").stdout)


def plugins_of_a_release(program, _):
    def names(*words):
        return {line.split()[0] for line in call(program, "plugins", *words).stdout.splitlines()[1:]}
    old, new = names("--kubernetes-version=1.29"), names("--kubernetes-version=1.36")
    expect("of old ones and the newest, and of those between", old | new <= names(), True)
    if "SecurityContextDeny" not in old or "SecurityContextDeny" in new or "MutatingAdmissionPolicy" in old:
        fail(f"1.29: {sorted(old)}; 1.36: {sorted(new)}")


def completion_in_bash(program, _):
    """What the shell offers, asked of the shell itself."""
    def offered(*words):
        line = " ".join(f"'{word}'" for word in words)
        script = (f"source <('{program}' completion bash); COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
                  "compopt() { :; }; _portcullis; printf '%s\n' \"${COMPREPLY[@]}\"")
        return call("bash", "-c", script).stdout.split()
    expect("commands", offered("portcullis", "ser"), ["serve"])
    expect("a flag", offered("portcullis", "serve", "--secure-p"), ["--secure-port="])
    expect("a switch", offered("portcullis", "serve", "--anonymous"), ["--anonymous-auth="[:-1]])
    expect("of a command with two words", offered("portcullis", "schema", "import", "--kubec"), ["--kubeconfig="])
    expect("the command of exec", offered("portcullis", "exec", "--", "--secure-p"), [])
    expect("help", offered("portcullis", "help", "vers"), ["version"])
    expect("second words", offered("portcullis", "store", "ch"), ["check"])
    expect("shells", offered("portcullis", "completion", ""), ["bash", "zsh", "fish"])


# Asks zsh's own completion, in a pseudo-terminal, and prints what it would offer.
ASK_ZSH = r'''
zmodload zsh/zpty || exit 77
zpty z zsh -f -i
zpty -w z "PS1=; autoload -Uz compinit; compinit -u -D; source $1"
zpty -w z 'compadd() { local -a out; builtin compadd -O out "$@"; print; print -rl -- "offered "${^out}; builtin compadd "$@" }'
zpty -w z 'take() { _main_complete; compstate[insert]=; compstate[list]=; print; print -r -- "offered"" all" }; zle -C take complete-word take'
zpty -w z 'bindkey "^T" take; print -r -- "set"" up"'
while zpty -r z line; do [[ $line == "set up"* ]] && break; done
zpty -n -w z "$2"$'\C-T'
while zpty -r z line; do print -r -- ${line%%$'\r'*}; [[ $line == "offered all"* ]] && break; done
'''
# What both shells are asked, and what is to be among the answers; None: nothing of portcullis may be.
OFFERED = (("portcullis ser", {"serve"}), ("portcullis serve --secure-p", {"--secure-port"}), ("portcullis store ch", {"check"}),
           ("portcullis store check --", {"--output", "--data-dir"}), ("portcullis store restore --", {"--replace"}),
           ("portcullis help vers", {"version"}), ("portcullis man st", {"store"}), ("portcullis help store exp", {"export"}),
           ("portcullis completion ", {"bash", "zsh", "fish"}), ("portcullis exec --secure-p", {"--secure-port"}),
           ("portcullis exec -- tr", None))


def completion_in(shell, program):
    if not shutil.which(shell):
        return
    with tempfile.TemporaryDirectory() as name:
        script = pathlib.Path(name) / "script"
        script.write_text(call(program, "completion", shell).stdout)
        ask = pathlib.Path(name) / "ask"
        ask.write_text(ASK_ZSH if shell == "zsh" else "source $argv[1]; complete -C $argv[2]\n")
        for line, expected in OFFERED:
            shown = call(shell, "-f" if shell == "zsh" else "--no-config", ask, script, line, cwd=name).stdout
            if shell == "zsh":
                offered = {row.removeprefix("offered ") for row in shown.splitlines() if row.startswith("offered ")} - {"all"}
            else:
                offered = {row.split("\t")[0] for row in shown.splitlines()}
            if expected is None:
                if wrong := {word for word in offered if word.startswith("--")} | offered & {"serve", "store"}:
                    fail(f"{shell} offers {wrong} after {line!r}")
            elif not expected <= offered:
                fail(f"{shell} offers {sorted(offered)} after {line!r}, not {sorted(expected)}")
            elif offered & {"script", "ask"}:
                fail(f"{shell} offers files after {line!r}")
            if line.startswith("portcullis store restore") and "--output" in offered:
                fail(f"{shell} offers flags of other commands: {sorted(offered)}")


def completion_in_zsh(program, _):
    completion_in("zsh", program)


def completion_in_fish(program, _):
    completion_in("fish", program)


def exit_status(program, _):
    """The help and the manual page of every command tell it."""
    for name in commands(program):
        for words in (["help"], ["man"]):
            if "Exit status:" not in call(program, *words, *name.split()).stdout:
                fail(f"portcullis {words[0]} {name} tells no exit status")


def manual_pages(program, _):
    """Each page is one that man can show, without a warning."""
    for name in [None, *commands(program)]:
        page = call(program, "man", *(name.split() if name else [])).stdout
        for section in (".SH NAME", ".SH SYNOPSIS", ".SH SEE ALSO"):
            if section not in page:
                fail(f"the page of {name} has no {section}")
        if shutil.which("groff"):
            shown = call("groff", "-k", "-man", "-Tutf8", "-ww", input=page)
            expect(f"warnings about the page of {name}", shown.stderr, "")
            if name == "serve" and "‐‐secure‐port" in shown.stdout:
                fail("hyphens are not those of the keyboard")


def catalog_of_its_sources(program, _):
    """The catalog is what its facts and additions make, with the recorded answers that it holds."""
    call(ROOT / "tools/catalog_inputs.py", program, "--check")


def run_before_anything_is_installed(program, _):
    """./run --help in a fresh clone: help, no packages, no build."""
    with tempfile.TemporaryDirectory() as name:
        clone = pathlib.Path(name)
        (clone / "docs").mkdir()
        shutil.copy2(ROOT / "run", clone)
        shutil.copy2(ROOT / "docs/flags.md", clone / "docs")
        text = call(clone / "run", "--help").stdout
        for expected in ("ten minutes", "packages.txt", "--secure-port int"):
            if expected not in text:
                fail(f"./run --help does not say {expected}: {text[:300]}")
        if (clone / "build").exists():
            fail("./run --help has built something")


if __name__ == "__main__":
    run("command line", __doc__, [help_of_every_command, mistakes, what_cannot_be_written, versions, plugins_of_a_release, completion_in_bash,
                                  completion_in_zsh, completion_in_fish, exit_status, manual_pages, catalog_of_its_sources,
                                  run_before_anything_is_installed])
