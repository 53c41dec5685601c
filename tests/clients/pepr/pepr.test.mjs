// SPDX-License-Identifier: Apache-2.0

// A webhook server made by others: a Pepr module is built, its manifests are applied, and its two
// controllers run beside the server as their pods would run beside kube-apiserver: with their own
// service account's token, the certificate of their own Secret, reached through their Service.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { ApiException, CoreV1Api, KubeConfig, KubernetesObjectApi, PatchStrategy, loadAllYaml } from '@kubernetes/client-node';

import { Server, until } from '../server.mjs';

let server, config, core, objects;
const controllers = [];

async function freePort() {
    const listener = net.createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address();
    await new Promise((done) => listener.close(done));
    return port;
}

const makePod = (object, namespace) => core.createNamespacedPod({ namespace, body: object });
const pod = (name, labels = {}, image = 'app:1') => ({ metadata: { name, labels }, spec: { containers: [{ name: 'app', image }] } });

async function refused(call) {
    const error = await call.then(() => assert.fail('should have been refused'), (thrown) => thrown);
    assert.ok(error instanceof ApiException, error.stack);
    return { code: error.code, message: JSON.parse(error.body).message };
}

// What the kubelet would mount into the controllers' pods, and the kubeconfig their client would make of it.
async function mount(folder) {
    mkdirSync(folder, { recursive: true });
    const secret = async (name) => (await core.readNamespacedSecret({ name, namespace: 'pepr-system' })).data;
    const write = (name, content) => {
        writeFileSync(path.join(folder, name), content);
        return path.join(folder, name);
    };
    const tls = await secret('pepr-teams-tls');
    const answer = await core.createNamespacedServiceAccountToken({ name: 'pepr-teams', namespace: 'pepr-system', body: { spec: {} } });
    return {
        SSL_CERT_PATH: write('tls.crt', Buffer.from(tls['tls.crt'], 'base64')),
        SSL_KEY_PATH: write('tls.key', Buffer.from(tls['tls.key'], 'base64')),
        PEPR_API_PATH: Buffer.from((await secret('pepr-teams-api-path')).value, 'base64').toString(),
        KUBECONFIG: write('kubeconfig', JSON.stringify({
            apiVersion: 'v1', kind: 'Config', 'current-context': 'here',
            clusters: [{ name: 'here', cluster: { server: `https://127.0.0.1:${server.port}`, 'certificate-authority': server.file('pki/ca.crt') } }],
            users: [{ name: 'pepr', user: { token: answer.status.token } }],
            contexts: [{ name: 'here', context: { cluster: 'here', user: 'pepr', namespace: 'pepr-system' } }],
        })),
    };
}

async function end(child) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
}

async function control(name, port, environment) {
    const log = path.join(server.folder, `${name}.log`);
    const output = openSync(log, 'w');
    const child = spawn(process.execPath, ['dist/pepr-teams.js'], {
        stdio: ['ignore', output, output],
        env: { ...process.env, PEPR_PRETTY_LOG: 'false', LOG_LEVEL: 'info', PEPR_PORT: String(port), ...environment },
    });
    controllers.push(child);
    const healthy = () => new Promise((done) => {
        https.get({ port, host: '127.0.0.1', path: '/healthz', rejectUnauthorized: false }, (answer) => {
            answer.resume();
            done(answer.statusCode === 200);
        }).on('error', () => done(false));
    });
    await until(`the start of the ${name}`, async () => {
        assert.equal(child.exitCode, null, readFileSync(log, 'utf8'));
        return healthy();
    }).catch((error) => assert.fail(`${error.message}\n${readFileSync(log, 'utf8')}`));
}

before(async () => {
    execFileSync('npx', ['--no-install', 'pepr', 'build'], { stdio: 'pipe', env: { ...process.env, CI: 'true' } });

    const admission = await freePort();
    server = await Server.start('--store=memory', `--webhook-service-map=pepr-system/pepr-teams:443=127.0.0.1:${admission}`);
    config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
    core = config.makeApiClient(CoreV1Api);
    objects = KubernetesObjectApi.makeApiClient(config);
    for (const name of ['shop', 'office', 'elsewhere']) await core.createNamespace({ body: { metadata: { name } } });

    for (const object of loadAllYaml(readFileSync('dist/pepr-module-teams.yaml', 'utf8')).filter(Boolean)) {
        await objects.patch(object, undefined, undefined, 'pepr-test', true, PatchStrategy.ServerSideApply);
    }
    // The start of Pepr's image makes the CRD of its store; that it then finds no module in the image's
    // folder does not matter here.
    spawnSync(process.execPath, ['node_modules/pepr/dist/controller.js', '0'.repeat(64)],
        { env: { ...process.env, KUBECONFIG: server.kubeconfig, LOG_LEVEL: 'error' } });

    const environment = await mount(path.join(server.folder, 'mounts'));
    await control('admission controller', admission, { ...environment, PEPR_WATCH_MODE: 'false' });
    await control('watcher', await freePort(), { ...environment, PEPR_WATCH_MODE: 'true' });
});

after(async () => {
    for (const child of controllers) await end(child);
    await server?.stop();
});

test('its mutation is obeyed', async () => {
    const made = await makePod(pod('plain', { obsolete: 'yes', app: 'web' }), 'shop');
    assert.deepEqual(made.metadata.labels, { app: 'web', team: 'shop' });
    assert.equal(made.metadata.annotations['teams.example.com/asked-by'], 'kubernetes-admin');
    assert.equal(made.metadata.annotations['teams.pepr.dev/teams'], 'succeeded');

    const kept = await makePod(pod('labelled', { team: 'mine' }), 'office');
    assert.equal(kept.metadata.labels.team, 'mine');
});

test('its mutation of an update is obeyed', async () => {
    const made = await makePod(pod('updated'), 'office');
    delete made.metadata.labels.team;
    const updated = await core.replaceNamespacedPod({ name: 'updated', namespace: 'office', body: made });
    assert.equal(updated.metadata.labels.team, 'office');
});

test('its refusal is obeyed', async () => {
    const untagged = await refused(makePod(pod('untagged', {}, 'app'), 'shop'));
    assert.equal(untagged.code, 422);
    assert.match(untagged.message, /^admission webhook "pepr-teams\.pepr\.dev" denied the request: no tag: app$/);

    const body = { metadata: { name: 'secrets' }, data: { password: 'hunter2' } };
    const password = await refused(core.createNamespacedConfigMap({ namespace: 'office', body }));
    assert.match(password.message, /^admission webhook "pepr-teams\.pepr\.dev" denied the request: passwords belong into Secrets$/);
    await core.createNamespacedConfigMap({ namespace: 'office', body: { metadata: { name: 'settings' } } });
    const update = await refused(core.replaceNamespacedConfigMap(
        { name: 'settings', namespace: 'office', body: { metadata: { name: 'settings' }, data: body.data } }));
    assert.equal(update.message, password.message);
});

test('its warnings reach the client', async () => {
    const warnings = await new Promise((resolve, reject) => {
        const options = { method: 'POST', headers: { 'Content-Type': 'application/json' } };
        config.applyToHTTPSOptions(options).then(() => {
            const url = `https://127.0.0.1:${server.port}/api/v1/namespaces/shop/pods`;
            https.request(url, options, (answer) => {
                answer.resume();
                resolve(answer.headers.warning);
            }).on('error', reject).end(JSON.stringify(pod('aged', { old: 'yes' })));
        });
    });
    assert.equal(warnings, '299 - "the label \\"old\\" is deprecated"');
});

test('an action that fails refuses the request, as the module asks for', async () => {
    const { message } = await refused(core.createNamespacedSecret(
        { namespace: 'shop', body: { metadata: { name: 'broken', labels: { broken: 'yes' } } } }));
    assert.equal(message, 'admission webhook "pepr-teams.pepr.dev" denied the request without explanation');
});

test('it is not asked about namespaces that are none of its business', async () => {
    assert.equal((await makePod(pod('free', {}, 'app'), 'elsewhere')).metadata.labels?.team, undefined);
    await core.createNamespacedConfigMap({ namespace: 'pepr-system', body: { metadata: { name: 'any' }, data: { password: 'x' } } });
});

test('its watcher sees what happens and acts with the rights of its service account', async () => {
    await core.createNamespacedConfigMap({ namespace: 'shop', body: { metadata: { name: 'wish', labels: { wants: 'secret' } } } });
    const secret = await until('the secret', () => core.readNamespacedSecret({ name: 'wish', namespace: 'shop' }).catch(() => null));
    assert.equal(Buffer.from(secret.data.made, 'base64').toString(), 'by pepr');
    const owner = secret.metadata.managedFields.find((entry) => entry.manager === 'pepr');
    assert.equal(owner.operation, 'Apply');

    // And keeps its store in a custom object.
    const store = { apiVersion: 'pepr.dev/v1', kind: 'PeprStore', metadata: { name: 'pepr-teams-store', namespace: 'pepr-system' } };
    await until('the stored item', async () => {
        const { data = {} } = await objects.read(store);
        return Object.entries(data).some(([key, value]) => key.endsWith('made-wish') && value === 'yes');
    });
});

test('when it has gone, its failure policy refuses', async () => {
    await end(controllers[0]);
    const { code, message } = await refused(makePod(pod('late'), 'shop'));
    assert.equal(code, 500);
    assert.match(message, /^Internal error occurred: failed calling webhook "pepr-teams\.pepr\.dev": failed to call webhook: Post "https:\/\/pepr-teams\.pepr-system\.svc:443\/mutate\/[0-9a-f]+\?timeout=10s": dial tcp 127\.0\.0\.1:\d+: connect: connection refused$/);
});
