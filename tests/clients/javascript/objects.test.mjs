// SPDX-License-Identifier: Apache-2.0

// Objects: create, read, replace, patch in every way, list by pages, delete.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import {
    ApiextensionsV1Api, AppsV1Api, CoreV1Api, CustomObjectsApi, KubernetesObjectApi, PatchStrategy, setHeaderOptions,
} from '@kubernetes/client-node';

import { Server, administrator, refusal } from './client.mjs';

let server, config, core, apps, objects;
before(async () => {
    server = await Server.start('--store=memory');
    config = administrator(server);
    core = config.makeApiClient(CoreV1Api);
    apps = config.makeApiClient(AppsV1Api);
    objects = KubernetesObjectApi.makeApiClient(config);
});
after(() => server?.stop());

const as = (type) => setHeaderOptions('Content-Type', type);
const web = () => ({
    metadata: { name: 'web' },
    spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web' } },
        template: {
            metadata: { labels: { app: 'web' } },
            spec: { containers: [{ name: 'server', image: 'server:1' }, { name: 'helper', image: 'helper:1' }] },
        },
    },
});

describe('built-in objects', () => {
    const namespace = 'default';

    test('are created, read, replaced and deleted', async () => {
        const made = await core.createNamespacedConfigMap(
            { namespace, body: { metadata: { name: 'settings' }, data: { colour: 'red' } } });
        assert.equal(made.metadata.name, 'settings');
        assert.match(made.metadata.uid, /^[0-9a-f-]{36}$/);
        assert.ok(made.metadata.creationTimestamp instanceof Date);

        const read = await core.readNamespacedConfigMap({ name: 'settings', namespace });
        assert.deepEqual(read.data, { colour: 'red' });
        assert.equal(read.metadata.resourceVersion, made.metadata.resourceVersion);

        read.data.colour = 'blue';
        const replaced = await core.replaceNamespacedConfigMap({ name: 'settings', namespace, body: read });
        assert.equal(replaced.data.colour, 'blue');
        assert.equal(replaced.metadata.uid, made.metadata.uid);

        const stale = await refusal(
            core.replaceNamespacedConfigMap({ name: 'settings', namespace, body: read }), 409, 'Conflict');
        assert.match(stale.message, /the object has been modified; please apply your changes to the latest version/);

        await core.deleteNamespacedConfigMap({ name: 'settings', namespace });
        await refusal(core.readNamespacedConfigMap({ name: 'settings', namespace }), 404, 'NotFound');
    });

    test('come back with their defaults', async () => {
        const made = await apps.createNamespacedDeployment({ namespace, body: web() });
        assert.equal(made.spec.strategy.type, 'RollingUpdate');
        assert.equal(made.spec.template.spec.restartPolicy, 'Always');
        assert.equal(made.spec.template.spec.containers[0].imagePullPolicy, 'IfNotPresent');
        await apps.deleteNamespacedDeployment({ name: 'web', namespace });
    });

    test('are not kept by a dry run', async () => {
        const body = { metadata: { name: 'thought' } };
        const made = await core.createNamespacedConfigMap({ namespace, body, dryRun: 'All' });
        assert.equal(made.metadata.name, 'thought');
        await refusal(core.readNamespacedConfigMap({ name: 'thought', namespace }), 404, 'NotFound');
    });

    test('have generated names', async () => {
        const body = { metadata: { generateName: 'part-' } };
        const made = await core.createNamespacedConfigMap({ namespace, body });
        assert.match(made.metadata.name, /^part-[a-z0-9]{5}$/);
    });

    test('scale', async () => {
        await apps.createNamespacedDeployment({ namespace, body: web() });
        const scale = await apps.readNamespacedDeploymentScale({ name: 'web', namespace });
        assert.equal(scale.spec.replicas, 1);
        scale.spec.replicas = 3;
        await apps.replaceNamespacedDeploymentScale({ name: 'web', namespace, body: scale });
        assert.equal((await apps.readNamespacedDeployment({ name: 'web', namespace })).spec.replicas, 3);
        await apps.deleteNamespacedDeployment({ name: 'web', namespace });
    });
});

describe('patches', () => {
    const namespace = 'patches';
    before(async () => {
        await core.createNamespace({ body: { metadata: { name: namespace } } });
        await apps.createNamespacedDeployment({ namespace, body: web() });
    });
    const patch = (type, body, more = {}) =>
        apps.patchNamespacedDeployment({ name: 'web', namespace, body, ...more }, as(type));

    test('by JSON Patch', async () => {
        const patched = await patch(PatchStrategy.JsonPatch, [
            { op: 'test', path: '/spec/replicas', value: 1 },
            { op: 'replace', path: '/spec/replicas', value: 2 },
            { op: 'add', path: '/metadata/labels', value: { 'a/b': 'c' } },
        ]);
        assert.equal(patched.spec.replicas, 2);
        assert.deepEqual(patched.metadata.labels, { 'a/b': 'c' });
        const failed = await refusal(patch(PatchStrategy.JsonPatch, [{ op: 'test', path: '/spec/replicas', value: 1 }]),
            422, 'Invalid');
        assert.equal(failed.message, 'the server rejected our request due to an error in our request');
    });

    test('by merge patch', async () => {
        const patched = await patch(PatchStrategy.MergePatch, {
            metadata: { labels: { 'a/b': null, d: 'e' } },
            spec: { template: { spec: { containers: [{ name: 'only', image: 'only:1' }] } } },
        });
        assert.deepEqual(patched.metadata.labels, { d: 'e' });
        assert.deepEqual(patched.spec.template.spec.containers.map((c) => c.name), ['only']);
    });

    test('by strategic merge patch', async () => {
        const patched = await patch(PatchStrategy.StrategicMergePatch, {
            spec: { template: { spec: { containers: [{ name: 'second', image: 'second:2' }, { name: 'only', image: 'only:2' }] } } },
        });
        const images = Object.fromEntries(patched.spec.template.spec.containers.map((c) => [c.name, c.image]));
        assert.deepEqual(images, { only: 'only:2', second: 'second:2' });
        const without = await patch(PatchStrategy.StrategicMergePatch, {
            spec: { template: { spec: { containers: [{ name: 'second', $patch: 'delete' }] } } },
        });
        assert.deepEqual(without.spec.template.spec.containers.map((c) => c.name), ['only']);
    });

    test('by server-side apply, with owners and conflicts', async () => {
        const applied = (replicas) => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas } });
        const apply = PatchStrategy.ServerSideApply;
        const conflict = await refusal(patch(apply, applied(7), { fieldManager: 'one' }), 409, 'Conflict');
        assert.equal(conflict.details.causes[0].reason, 'FieldManagerConflict');
        assert.equal(conflict.details.causes[0].field, '.spec.replicas');

        const forced = await patch(apply, applied(7), { fieldManager: 'one', force: true });
        assert.equal(forced.spec.replicas, 7);
        const owner = forced.metadata.managedFields.find((entry) => entry.manager === 'one');
        assert.equal(owner.operation, 'Apply');

        const other = await refusal(patch(apply, applied(8), { fieldManager: 'two' }), 409, 'Conflict');
        assert.match(other.message, /conflict with "one": \.spec\.replicas/);
        await patch(apply, applied(7), { fieldManager: 'two' });
        const nobody = await refusal(patch(apply, applied(7)), 422, 'Invalid');
        assert.match(nobody.message, /fieldManager: Required value: is required for apply patch/);
    });

    test('of an unknown form are refused', async () => {
        await refusal(patch('application/odd-patch+json', {}), 415, 'UnsupportedMediaType');
    });
});

describe('lists', () => {
    const namespace = 'lists';
    before(async () => {
        await core.createNamespace({ body: { metadata: { name: namespace } } });
        for (let i = 0; i < 25; ++i) {
            const name = `item-${String(i).padStart(2, '0')}`;
            const labels = { half: i % 2 ? 'odd' : 'even' };
            await core.createNamespacedSecret({ namespace, body: { metadata: { name, labels }, type: i < 5 ? 'one/kind' : 'Opaque' } });
        }
    });

    test('by pages, all of one moment', async () => {
        const names = [];
        let page, pages = 0, version, _continue;
        do {
            page = await core.listNamespacedSecret({ namespace, limit: 10, _continue });
            version ??= page.metadata.resourceVersion;
            assert.equal(page.metadata.resourceVersion, version);
            names.push(...page.items.map((item) => item.metadata.name));
            if (++pages === 1) {
                assert.equal(page.metadata.remainingItemCount, 15);
                await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'item-15-late' } } });
            }
            _continue = page.metadata._continue;
        } while (_continue);
        assert.equal(pages, 3);
        assert.equal(names.length, 25);
        assert.deepEqual(names, [...names].sort());
        assert.ok(!names.includes('item-15-late'));
    });

    test('by labels and fields', async () => {
        const odd = await core.listNamespacedSecret({ namespace, labelSelector: 'half=odd' });
        assert.equal(odd.items.length, 12);
        const some = await core.listNamespacedSecret({ namespace, labelSelector: 'half in (even)', fieldSelector: 'type=one/kind' });
        assert.deepEqual(some.items.map((item) => item.metadata.name), ['item-00', 'item-02', 'item-04']);
    });

    test('of a continue token that is none', async () => {
        const status = await refusal(core.listNamespacedSecret({ namespace, limit: 1, _continue: 'nonsense' }), 400, 'BadRequest');
        assert.match(status.message, /continue key is not valid/);
    });

    test('are deleted as a whole', async () => {
        await core.deleteCollectionNamespacedSecret({ namespace, labelSelector: 'half=odd' });
        assert.equal((await core.listNamespacedSecret({ namespace, labelSelector: 'half' })).items.length, 13);
    });
});

describe('custom objects', () => {
    const group = 'example.com', version = 'v1', plural = 'widgets', namespace = 'default';
    let custom;
    before(async () => {
        custom = config.makeApiClient(CustomObjectsApi);
        await config.makeApiClient(ApiextensionsV1Api).createCustomResourceDefinition({
            body: {
                metadata: { name: 'widgets.example.com' },
                spec: {
                    group,
                    scope: 'Namespaced',
                    names: { plural, singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
                    versions: [{
                        name: version, served: true, storage: true,
                        subresources: { status: {} },
                        schema: {
                            openAPIV3Schema: {
                                type: 'object',
                                properties: {
                                    spec: {
                                        type: 'object',
                                        required: ['size'],
                                        properties: { size: { type: 'integer', minimum: 1 }, colour: { type: 'string', _default: 'grey' } },
                                    },
                                    status: { type: 'object', properties: { ready: { type: 'boolean' } } },
                                },
                            },
                        },
                    }],
                },
            },
        });
    });
    const widget = (name, spec) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec });

    test('are created, defaulted, pruned, read, replaced and deleted', async () => {
        const made = await custom.createNamespacedCustomObject(
            { group, version, namespace, plural, body: widget('one', { size: 1, unknown: true }) });
        assert.deepEqual(made.spec, { size: 1, colour: 'grey' });
        made.spec.size = 2;
        await custom.replaceNamespacedCustomObject({ group, version, namespace, plural, name: 'one', body: made });
        const read = await custom.getNamespacedCustomObject({ group, version, namespace, plural, name: 'one' });
        assert.equal(read.spec.size, 2);
        await custom.deleteNamespacedCustomObject({ group, version, namespace, plural, name: 'one' });
        await refusal(custom.getNamespacedCustomObject({ group, version, namespace, plural, name: 'one' }), 404, 'NotFound');
    });

    test('are judged by their schema', async () => {
        const status = await refusal(custom.createNamespacedCustomObject(
            { group, version, namespace, plural, body: widget('small', { size: 0 }) }), 422, 'Invalid');
        assert.equal(status.message, 'Widget.example.com "small" is invalid: spec.size: Invalid value: 0: '
            + 'spec.size in body should be greater than or equal to 1');
    });

    test('are patched in the three ways they know', async () => {
        const at = { group, version, namespace, plural, name: 'patched' };
        await custom.createNamespacedCustomObject({ group, version, namespace, plural, body: widget('patched', { size: 1 }) });
        const merged = await custom.patchNamespacedCustomObject({ ...at, body: { spec: { colour: 'red' } } }, as(PatchStrategy.MergePatch));
        assert.deepEqual(merged.spec, { size: 1, colour: 'red' });
        const changed = await custom.patchNamespacedCustomObject(
            { ...at, body: [{ op: 'replace', path: '/spec/size', value: 5 }] }, as(PatchStrategy.JsonPatch));
        assert.equal(changed.spec.size, 5);
        const applied = await custom.patchNamespacedCustomObject(
            { ...at, body: widget('patched', { size: 6 }), fieldManager: 'me', force: true }, as(PatchStrategy.ServerSideApply));
        assert.equal(applied.spec.size, 6);
        const strategic = custom.patchNamespacedCustomObject({ ...at, body: {} }, as(PatchStrategy.StrategicMergePatch));
        await refusal(strategic, 415, 'UnsupportedMediaType');
    });

    test('have a status of their own', async () => {
        const at = { group, version, namespace, plural, name: 'judged' };
        await custom.createNamespacedCustomObject({ group, version, namespace, plural, body: widget('judged', { size: 1 }) });
        await custom.patchNamespacedCustomObjectStatus(
            { ...at, body: { spec: { size: 9 }, status: { ready: true } } }, as(PatchStrategy.MergePatch));
        const read = await custom.getNamespacedCustomObject(at);
        assert.equal(read.spec.size, 1);
        assert.deepEqual(read.status, { ready: true });
    });

    test('go through the client that finds paths by discovery', async () => {
        const made = await objects.create(widget('found', { size: 3 }));
        assert.equal(made.spec.colour, 'grey');
        const read = await objects.read({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'found' } });
        assert.equal(read.metadata.uid, made.metadata.uid);
        const patched = await objects.patch(widget('found', { size: 4 }), undefined, undefined, 'me', true, PatchStrategy.ServerSideApply);
        assert.equal(patched.spec.size, 4);
        const list = await objects.list('example.com/v1', 'Widget', namespace);
        assert.ok(list.items.some((item) => item.metadata.name === 'found'));
        await objects.delete(patched);
        await refusal(objects.read(widget('found')), 404, 'NotFound');
    });
});
