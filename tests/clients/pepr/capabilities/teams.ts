// SPDX-License-Identifier: Apache-2.0

// Every pod belongs to a team, ConfigMaps keep no passwords, and a ConfigMap that asks for it gets a
// Secret: one action of each of Pepr's kinds.

import { Capability, K8s, a, kind } from 'pepr';

export const Teams = new Capability({
    name: 'teams',
    description: 'Pods belong to teams',
    namespaces: ['shop', 'office'],
});

const { When, Store } = Teams;

When(a.Pod)
    .IsCreatedOrUpdated()
    .Mutate(request => {
        if (!request.HasLabel('team')) request.SetLabel('team', request.Raw.metadata?.namespace ?? 'none');
        request.SetAnnotation('teams.example.com/asked-by', request.Request.userInfo.username ?? '');
        request.RemoveLabel('obsolete');
    })
    .Validate(request => {
        const images = request.Raw.spec?.containers.map(container => container.image ?? '') ?? [];
        const untagged = images.filter(image => !image.includes(':'));
        if (untagged.length > 0) return request.Deny(`no tag: ${untagged.join(', ')}`, 422);
        return request.Approve(request.HasLabel('old') ? ['the label "old" is deprecated'] : undefined);
    });

When(a.ConfigMap)
    .IsCreatedOrUpdated()
    .Validate(request => ('password' in (request.Raw.data ?? {})
        ? request.Deny('passwords belong into Secrets')
        : request.Approve()));

When(a.Secret)
    .IsCreated()
    .WithLabel('broken')
    .Mutate(() => {
        throw new Error('this action is broken');
    });

When(a.ConfigMap)
    .IsCreated()
    .InNamespace('shop')
    .WithLabel('wants', 'secret')
    .Watch(async map => {
        await K8s(kind.Secret).Apply({
            metadata: { name: map.metadata?.name, namespace: 'shop' },
            stringData: { made: 'by pepr' },
        });
        Store.setItem(`made-${map.metadata?.name}`, 'yes');
    });
