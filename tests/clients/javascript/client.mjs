// SPDX-License-Identifier: Apache-2.0

// What the tests of this folder share: a server, and clients of it.

import assert from 'node:assert/strict';

import { ApiException, KubeConfig } from '@kubernetes/client-node';

export { Line, Server, sleep, until } from '../server.mjs';

// The administrator's configuration; `port` for a way around.
export function administrator(server, port = server.port) {
    const config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
    for (const cluster of config.clusters) cluster.server = `https://127.0.0.1:${port}`;
    return config;
}

// Somebody else, by what stands in `user`: token, cert and key, or nothing.
export function somebody(server, user) {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
        { name: 'portcullis', server: `https://127.0.0.1:${server.port}`, caFile: server.file('pki/ca.crt') },
        { name: 'somebody', ...user });
    return config;
}

// The call must fail with an ApiException that carries a Status; returns the Status.
export async function refusal(call, code, reason) {
    try {
        await call;
    } catch (error) {
        assert.ok(error instanceof ApiException, `${error.stack}`);
        // The generated clients hand over the text, the object client the parsed object.
        const status = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
        assert.equal(error.code, code, status.message);
        assert.equal(status.kind, 'Status');
        assert.equal(status.status, 'Failure');
        assert.equal(status.code, code);
        assert.equal(status.reason, reason);
        return status;
    }
    return assert.fail(`the call should have failed with ${code} ${reason}`);
}
