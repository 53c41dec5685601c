// SPDX-License-Identifier: Apache-2.0

// Who one is: by client certificate, by service account token, by neither; and what one is told then.

import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { after, before, test } from 'node:test';

import {
    AuthenticationV1Api, AuthorizationV1Api, CoreV1Api, Exec, KubernetesObjectApi, RbacAuthorizationV1Api, VersionApi,
} from '@kubernetes/client-node';

import { Server, administrator, refusal, somebody } from './client.mjs';

const namespace = 'default';

let server, admin;
before(async () => {
    server = await Server.start('--store=memory');
    admin = administrator(server);
});
after(() => server?.stop());

const whoAmI = async (config) =>
    (await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} })).status.userInfo;

// By the client that keeps the body of a 401; the generated ones drop it. Its discovery is what is refused first.
const pods = (config) => KubernetesObjectApi.makeApiClient(config).list('v1', 'Pod', namespace);

async function tokenOf(name, spec = {}) {
    const core = admin.makeApiClient(CoreV1Api);
    await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name } } });
    return core.createNamespacedServiceAccountToken({ name, namespace, body: { spec } });
}

test('a client certificate makes a user of its subject', async () => {
    const user = await whoAmI(somebody(server, { certFile: server.file('pki/admin.crt'), keyFile: server.file('pki/admin.key') }));
    assert.equal(user.username, 'kubernetes-admin');
    assert.deepEqual(user.groups, ['system:masters', 'system:authenticated']);
});

test('a token of TokenRequest makes one a service account, with what RBAC lets it do', async () => {
    const answer = await tokenOf('robot', { expirationSeconds: 3600 });
    const lasts = answer.status.expirationTimestamp - Date.now();
    assert.ok(lasts > 3_500_000 && lasts <= 3_600_000, `${lasts} ms`);
    const robot = somebody(server, { token: answer.status.token });

    const user = await whoAmI(robot);
    assert.equal(user.username, 'system:serviceaccount:default:robot');
    assert.ok(user.groups.includes('system:serviceaccounts:default'));

    const core = robot.makeApiClient(CoreV1Api);
    const forbidden = await refusal(core.listNamespacedPod({ namespace }), 403, 'Forbidden');
    assert.equal(forbidden.message, 'pods is forbidden: User "system:serviceaccount:default:robot" cannot list resource '
        + '"pods" in API group "" in the namespace "default"');

    const rbac = admin.makeApiClient(RbacAuthorizationV1Api);
    await rbac.createNamespacedRole({
        namespace, body: { metadata: { name: 'reader' }, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }] },
    });
    await rbac.createNamespacedRoleBinding({
        namespace, body: {
            metadata: { name: 'robot-reads' },
            roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
            subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace }],
        },
    });
    assert.deepEqual((await core.listNamespacedPod({ namespace })).items, []);
    const may = await robot.makeApiClient(AuthorizationV1Api).createSelfSubjectAccessReview({
        body: { spec: { resourceAttributes: { namespace, verb: 'delete', resource: 'pods' } } },
    });
    assert.equal(may.status.allowed, false);

    const review = await admin.makeApiClient(AuthenticationV1Api).createTokenReview({ body: { spec: { token: answer.status.token } } });
    assert.equal(review.status.authenticated, true);
    assert.equal(review.status.user.username, 'system:serviceaccount:default:robot');
});

test('a token is worth nothing when its service account has gone', async () => {
    const answer = await tokenOf('leaver');
    await admin.makeApiClient(CoreV1Api).deleteNamespacedServiceAccount({ name: 'leaver', namespace });
    await refusal(pods(somebody(server, { token: answer.status.token })), 401, 'Unauthorized');
});

test('a wrong token is refused, no token at all is anonymous', async () => {
    const wrong = await refusal(pods(somebody(server, { token: 'wrong' })), 401, 'Unauthorized');
    assert.equal(wrong.message, 'Unauthorized');

    const anonymous = somebody(server, {});
    assert.equal((await anonymous.makeApiClient(VersionApi).getCode()).major, '1');
    const forbidden = await refusal(anonymous.makeApiClient(CoreV1Api).listNamespacedPod({ namespace }), 403, 'Forbidden');
    assert.match(forbidden.message, /User "system:anonymous" cannot list resource "pods"/);
});

test('errors are Status objects with their details', async () => {
    const core = admin.makeApiClient(CoreV1Api);
    const missing = await refusal(core.readNamespacedPod({ name: 'none', namespace }), 404, 'NotFound');
    assert.equal(missing.message, 'pods "none" not found');
    assert.deepEqual(missing.details, { name: 'none', kind: 'pods' });

    await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'twice' } } });
    const twice = await refusal(core.createNamespacedSecret({ namespace, body: { metadata: { name: 'twice' } } }), 409, 'AlreadyExists');
    assert.equal(twice.message, 'secrets "twice" already exists');

    const invalid = await refusal(core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'Not A Name' } } }), 422, 'Invalid');
    assert.equal(invalid.details.causes[0].field, 'metadata.name');
    assert.equal(invalid.details.causes[0].reason, 'FieldValueInvalid');

    const unknown = KubernetesObjectApi.makeApiClient(admin)
        .create({ apiVersion: 'nothing.example.com/v1', kind: 'Nothing', metadata: { name: 'x' } });
    await assert.rejects(unknown, /Failed to fetch resource metadata for nothing\.example\.com\/v1\/Nothing: HTTP-Code: 404/);
});

test('exec into a pod that runs nowhere fails with an error, soon', async () => {
    const core = admin.makeApiClient(CoreV1Api);
    await core.createNamespacedPod({
        namespace, body: { metadata: { name: 'idle' }, spec: { containers: [{ name: 'main', image: 'none:1' }] } },
    });
    const nowhere = new Writable({ write: (chunk, encoding, done) => done() });
    const exec = (pod) => new Exec(admin).exec(namespace, pod, 'main', ['true'], nowhere, nowhere, null, false);
    const code = async (promise) => {
        const event = await promise.then(() => assert.fail('exec must fail'), (error) => error);
        return Number(String(event.message).match(/Unexpected server response: (\d+)/)?.[1]);
    };
    assert.equal(await code(exec('idle')), 400);
    assert.equal(await code(exec('absent')), 404);

    // What a client that can show texts shows.
    const told = await refusal(core.connectGetNamespacedPodExec({ name: 'idle', namespace, command: 'true', stdout: true }), 400, 'BadRequest');
    assert.equal(told.message, 'pod idle does not have a host assigned');
});
