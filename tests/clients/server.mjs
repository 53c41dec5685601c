// SPDX-License-Identifier: Apache-2.0

// Starts the program under test, and puts a line between it and its client that a test can cut.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

const PROGRAM = path.join(process.env.PC_BUILD ?? 'build/release', 'portcullis');

export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Waits until `condition` returns something true and returns that; fails with `what` after `limit` milliseconds.
export async function until(what, condition, limit = 20_000) {
    const end = Date.now() + limit;
    for (;;) {
        const found = await condition();
        if (found) return found;
        if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
        await sleep(10);
    }
}

export class Server {
    #process;

    constructor(flags) {
        this.folder = mkdtempSync(path.join(tmpdir(), 'portcullis-client-'));
        this.flags = flags;
        this.starts = 0;
    }

    static async start(...flags) {
        const server = new Server(flags);
        await server.run();
        return server;
    }

    async run() {
        const log = path.join(this.folder, `log-${this.starts++}`);
        const output = openSync(log, 'w');
        this.#process = spawn(PROGRAM, ['serve', `--data-dir=${this.folder}/data`, '--bind-address=127.0.0.1',
            '--secure-port=0', ...this.flags], { stdio: ['ignore', output, output] });
        this.ended = once(this.#process, 'exit');
        this.port = await until(`the start of ${PROGRAM}`, () => {
            const text = readFileSync(log, 'utf8');
            if (this.#process.exitCode !== null) throw new Error(`the server did not start:\n${text}`);
            return text.match(/serving url=https:\/\/127\.0\.0\.1:(\d+)/)?.[1];
        });
    }

    get pid() { return this.#process.pid; }
    get kubeconfig() { return path.join(this.folder, 'data/admin.kubeconfig'); }
    file(name) { return path.join(this.folder, 'data', name); }
    read(name) { return readFileSync(this.file(name), 'utf8'); }

    async kill(signal = 'SIGTERM') {
        this.#process.kill(signal);
        await this.ended;
    }

    async stop() {
        await this.kill();
        rmSync(this.folder, { recursive: true, force: true });
    }
}

// A port that leads to the server's and stays the same over its restarts.
export class Line {
    #sockets = new Set();
    #listener;

    static async to(server) {
        const line = new Line();
        line.#listener = net.createServer((client) => {
            const onward = net.connect(server.port, '127.0.0.1');
            for (const [one, other] of [[client, onward], [onward, client]]) {
                line.#sockets.add(one);
                one.pipe(other);
                one.on('error', () => other.destroy());
                one.on('close', () => {
                    line.#sockets.delete(one);
                    other.destroy();
                });
            }
        });
        line.#listener.listen(0, '127.0.0.1');
        await once(line.#listener, 'listening');
        line.port = line.#listener.address().port;
        return line;
    }

    // All connections break at once, without a word.
    cut() {
        for (const socket of this.#sockets) socket.resetAndDestroy?.() ?? socket.destroy();
    }

    async close() {
        this.#listener.close();
        this.cut();
    }
}
