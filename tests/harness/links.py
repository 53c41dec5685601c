#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Connections that tests can cut: a process that passes on what comes on one port of 127.0.0.1 to another.

    with Links([(listening_port, target_port), …]) as links:
        links.set("broken", [0, 2])   # connections of these end, new ones are refused
        links.set("silent", [1])      # nothing passes in either direction, connections stay
        links.set("open", [0, 1, 2])  # those that were silent go on

A process of its own, so that its work does not hold up the threads of the test.
"""

import asyncio
import subprocess
import sys


class Links:
    def __init__(self, pairs):
        self.pairs = pairs

    def __enter__(self):
        words = [f"{listening}:{target}" for listening, target in self.pairs]
        self.process = subprocess.Popen([sys.executable, __file__, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._wait()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def _wait(self):
        if not self.process.stdout.readline():
            raise RuntimeError("the links have ended")

    def set(self, state, numbers):
        """Returns when it is so."""
        self.process.stdin.write(f"{state} {' '.join(map(str, numbers))}\n")
        self.process.stdin.flush()
        self._wait()


class Link:
    """One port, in the process that passes on."""

    def __init__(self, listening, target):
        self.listening, self.target = listening, target
        self.state, self.passing, self.writers = "open", asyncio.Event(), set()
        self.passing.set()

    async def listen(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", self.listening)

    def set(self, state):
        self.state = state
        if state == "silent":
            self.passing.clear()
        else:
            self.passing.set()
        if state == "broken":
            for writer in list(self.writers):
                writer.transport.abort()

    async def accept(self, reader, writer):
        if self.state == "broken":
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self.writers |= {writer, far_writer}
        await asyncio.gather(self.copy(reader, far_writer), self.copy(far_reader, writer))
        self.writers -= {writer, far_writer}

    async def copy(self, reader, writer):
        try:
            while data := await reader.read(65536):
                await self.passing.wait()
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except OSError:
            writer.transport.abort()


async def serve(words):
    links = [Link(*map(int, word.split(":"))) for word in words]
    for link in links:
        await link.listen()
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    print("ready", flush=True)
    while line := (await commands.readline()).decode().split():
        for number in line[1:]:
            links[int(number)].set(line[0])
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1:]))
