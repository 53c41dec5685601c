# SPDX-License-Identifier: Apache-2.0
"""Ports of 127.0.0.1 for servers that have to be told theirs before they start."""

import socket

_held = []


def hold_port():
    """A socket on a port that nothing else is given while the socket is open.

    It does not listen. A server that sets SO_REUSEADDR, as Portcullis, etcd and servers written in Go and Python do, can
    listen on the port beside it; the kernel gives the port to no socket that asks for any (ip(7), socket(7))."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


def free_port():
    """A port held until the program ends."""
    _held.append(hold_port())
    return _held[-1].getsockname()[1]
