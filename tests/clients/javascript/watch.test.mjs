// SPDX-License-Identifier: Apache-2.0

// Informers: what they hold stays right whatever happens to the connection and to the server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { CoreV1Api, Watch, makeInformer } from '@kubernetes/client-node';

import { Line, Server, administrator, sleep, until } from './client.mjs';

const namespace = 'default';
const path = `/api/v1/namespaces/${namespace}/configmaps`;

let server, line, core, config;
before(async () => {
    server = await Server.start('--controllers=-*');
    line = await Line.to(server);
    config = administrator(server, line.port);
    core = config.makeApiClient(CoreV1Api);
});
after(async () => {
    await line?.close();
    await server?.stop();
});

// The administrator past the line: does not notice when that is cut.
const straight = () => administrator(server).makeApiClient(CoreV1Api);
const make = (name, data = {}) => straight().createNamespacedConfigMap({ namespace, body: { metadata: { name }, data } });
const change = async (name, data) => {
    const client = straight();
    const body = await client.readNamespacedConfigMap({ name, namespace });
    return client.replaceNamespacedConfigMap({ name, namespace, body: { ...body, data } });
};
const remove = (name) => straight().deleteNamespacedConfigMap({ name, namespace });

// An informer that starts again after an error, as the client's documentation tells, and what it saw.
async function inform() {
    const seen = [], errors = [];
    const informer = makeInformer(config, path, () => core.listNamespacedConfigMap({ namespace }));
    for (const event of ['add', 'update', 'delete']) {
        informer.on(event, (object) => seen.push(`${event} ${object.metadata.name}`));
    }
    let connects = 0, ended = false;
    informer.on('connect', () => ++connects);
    informer.on('error', async (error) => {
        errors.push(error);
        await sleep(50);
        if (!ended) informer.start();
    });
    await informer.start();
    return {
        seen, errors, get: (name) => informer.get(name, namespace), connects: () => connects,
        stop: () => { ended = true; return informer.stop(); },
    };
}

test('an informer sees what is there and what comes', async () => {
    await make('there');
    const informer = await inform();
    assert.ok(informer.get('there'));

    await make('comes', { step: '1' });
    await change('comes', { step: '2' });
    await remove('comes');

    await until('the end of comes', () => informer.seen.includes('delete comes'));
    assert.deepEqual(informer.seen.filter((event) => event.endsWith(' comes')), ['add comes', 'update comes', 'delete comes']);
    await informer.stop();
});

test('an informer misses nothing when its connection breaks', async () => {
    await make('steady', { step: '0' });
    const informer = await inform();
    await sleep(100);
    for (const step of ['1', '2', '3']) {
        const before_cut = informer.connects();
        line.cut();
        await change('steady', { step });
        await until('the new connection', () => informer.connects() > before_cut);
        await until(`step ${step}`, () => informer.get('steady').data.step === step);
    }
    await make('after-the-cuts');
    await until('after-the-cuts', () => informer.get('after-the-cuts'));
    await informer.stop();
});

test('an informer goes on when the server has been killed and started again', async () => {
    await make('stays', { step: '1' });
    await make('goes');
    const informer = await inform();
    assert.ok(informer.get('goes'));

    await server.kill('SIGKILL');
    await server.run();
    await change('stays', { step: '2' });
    await remove('goes');
    await make('new');

    await until('the change', () => informer.get('stays')?.data?.step === '2');
    await until('the new object', () => informer.get('new'));
    await until('the deletion', () => !informer.get('goes'));
    await informer.stop();
});

test('a stop of the server ends watches in good order', async () => {
    const informer = await inform();
    await server.kill('SIGTERM');
    await server.run();
    await make('after-the-stop');
    await until('after-the-stop', () => informer.get('after-the-stop'));
    await informer.stop();
});

test('a watch from a version that is too old is told 410 and lists again', async () => {
    await server.kill('SIGTERM');
    await server.run();

    const lines = [];
    await new Promise((resolve, reject) => {
        new Watch(config).watch(path, { resourceVersion: '1' }, (type, object) => lines.push({ type, object }), 
            (error) => (error && error.name !== 'AbortError' ? reject(error) : resolve()));
    });
    assert.equal(lines.length, 1);
    assert.equal(lines[0].type, 'ERROR');
    assert.equal(lines[0].object.code, 410);
    assert.equal(lines[0].object.reason, 'Expired');
    assert.match(lines[0].object.message, /^too old resource version: 1 \(\d+\)$/);

    // An informer whose first list is that old ends up with today's objects all the same.
    let lists = 0;
    const informer = makeInformer(config, path, async () => {
        const list = await core.listNamespacedConfigMap({ namespace });
        if (++lists === 1) list.metadata.resourceVersion = '1';
        return list;
    });
    await informer.start();
    await until('the second list', () => lists === 2);
    await make('since-then');
    await until('since-then', () => informer.get('since-then', namespace));
    await informer.stop();
});

test('bookmarks come to who asks for them', async () => {
    const bookmark = await new Promise((resolve, reject) => {
        const watching = new Watch(config).watch(
            path, { allowWatchBookmarks: 'true', sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' },
            (type, object) => {
                if (type !== 'BOOKMARK') return;
                watching.then((controller) => controller.abort());
                resolve(object);
            }, (error) => error && reject(error));
    });
    assert.equal(bookmark.kind, 'ConfigMap');
    assert.equal(bookmark.metadata.annotations['k8s.io/initial-events-end'], 'true');
});
