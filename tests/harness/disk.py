# SPDX-License-Identifier: Apache-2.0
"""A program whose disk can be made slow, or full: its system calls that write files stop at a supervisor.

    disk = Disk(folder / "disk")
    process = subprocess.Popen(disk.command(["etcd", …]))
    disk.set("slow 0.2")      # each fsync takes so many seconds longer
    disk.set("full")          # writes that need room, and fsync, fail with ENOSPC
    disk.set("")

A preloaded library would not do: etcd is written in Go, which calls the kernel itself. The kernel's filter of system calls (seccomp, with
a listener) stops them whoever makes them, and needs no right to mount anything. What stops is what etcd does to files alone: pwrite64,
fallocate, ftruncate, fsync, fdatasync. write(2), which it uses for its log of changes and for sockets, does not; each entry of that
log is followed by an fdatasync before it counts.
"""

import array
import ctypes
import errno
import fcntl
import os
import pathlib
import platform
import select
import socket
import struct
import sys
import time

# By machine: its number for the audit, of seccomp(2), and of what is stopped.
MACHINES = {
    "x86_64": (0xC000003E, 317, {"fsync": 74, "fdatasync": 75, "pwrite64": 18, "ftruncate": 77, "fallocate": 285}),
    "aarch64": (0xC00000B7, 277, {"fsync": 82, "fdatasync": 83, "pwrite64": 68, "ftruncate": 46, "fallocate": 47}),
}
# linux/seccomp.h
SET_MODE_FILTER, NEW_LISTENER, WAIT_KILLABLE = 1, 1 << 3, 1 << 5
ALLOW, USER_NOTIF, CONTINUE = 0x7FFF0000, 0x7FC00000, 1
NOTIF, RESPONSE = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
RECEIVE, SEND = 0xC0502100, 0xC0182101
SET_NO_NEW_PRIVS = 38  # linux/prctl.h


class Disk:
    """`path` is the file in which a supervisor looks what is to happen."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.set("")

    def set(self, state):
        passing = self.path.with_suffix(".new")
        passing.write_text(state, encoding="utf-8")
        passing.replace(self.path)

    def command(self, command):
        return [sys.executable, __file__, self.path, *command]


def is_possible():
    """Whether this kernel lets this user do it."""
    child = os.fork()
    if child == 0:
        try:
            install()
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def install():
    """Stops the calls of this process from now on; returns the listener."""
    audit, seccomp, calls = MACHINES[platform.machine()]
    load, jump, answer = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
    numbers = list(calls.values())
    steps = [(load, 0, 0, 4), (jump, 0, len(numbers) + 1, audit), (load, 0, 0, 0)]
    steps += [(jump, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    steps += [(answer, 0, 0, ALLOW), (answer, 0, 0, USER_NOTIF)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    for flags in (NEW_LISTENER | WAIT_KILLABLE, NEW_LISTENER):  # the second one before Linux 5.19
        listener = libc.syscall(seccomp, SET_MODE_FILTER, flags, program)
        if listener >= 0:
            return listener
    raise OSError(ctypes.get_errno(), "seccomp")


def supervise(listener, path):
    """Until the program has ended."""
    _, _, calls = MACHINES[platform.machine()]
    syncs = {calls["fsync"], calls["fdatasync"]}
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while True:
        if any(what & select.POLLHUP for _, what in poll.poll()):
            return
        notice = bytearray(NOTIF.size)
        try:
            fcntl.ioctl(listener, RECEIVE, notice)
        except OSError:  # it has been killed meanwhile
            continue
        number, _, _, call, *_ = NOTIF.unpack(notice)
        state = path.read_text(encoding="utf-8").split()
        if state[:1] == ["slow"] and call in syncs:
            time.sleep(float(state[1]))
        reply = (0, -errno.ENOSPC, 0) if state[:1] == ["full"] else (0, 0, CONTINUE)
        try:
            fcntl.ioctl(listener, SEND, RESPONSE.pack(number, *reply))
        except OSError:
            continue


def main():
    """Becomes the program; a grandchild, of which it knows nothing, is its supervisor."""
    path, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            ours.close()
            _, ancillary, _, _ = theirs.recvmsg(1, socket.CMSG_LEN(4))
            if ancillary:
                supervise(array.array("i", ancillary[0][2])[0], path)
        os._exit(0)
    os.waitpid(child, 0)
    theirs.close()
    listener = install()
    socket.send_fds(ours, [b"f"], [listener])
    os.close(listener)
    ours.close()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
