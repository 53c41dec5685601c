// SPDX-License-Identifier: Apache-2.0

// The roles and bindings of a new cluster, as Kubernetes 1.36 makes them
// (Kubernetes docs, "Default roles and role bindings").
//
// Grammar, line by line:
//   role NAME [to=AGGREGATE] [from=AGGREGATE]     a ClusterRole; to: its label, from: its selector
//   role NAME in=NAMESPACE                        a Role
//   role … like=OTHER, bind … like=OTHER          where it is missing and OTHER is there, as an
//                                                 earlier release has left it, it begins as OTHER
//   controller NAME                               a ClusterRole system:controller:NAME, bound to
//                                                 the service account NAME of kube-system
//   GROUPS | RESOURCES | VERBS [| NAMES]          a rule; lists by comma; "core": the empty group;
//                                                 verbs: read = get list watch, write = create
//                                                 delete deletecollection patch update
//   url | URLS | VERBS                            a rule for paths
//   events                                        the rule for writing events
//   bind ROLE SUBJECT…                            a binding of ROLE with its name;
//   bind ROLE in=NAMESPACE [as=NAME] SUBJECT…     a RoleBinding of a Role; subjects are user:NAME,
//                                                 group:NAME, sa:NAMESPACE/NAME
//   GATE?…                                        before a line, the name of a role or an element
//                                                 of a list: only where the feature gate is on,
//                                                 or all of several
//
// Left out: roles of what is not served behind its feature gate, and those of cloud providers.

#include "authz/rbac/bootstrap_policy.h"

namespace portcullis::authz::rbac {

const std::string_view kBootstrapPolicy = R"(
role admin from=admin
role edit from=edit to=admin
role view from=view to=edit
role cluster-admin
  * | * | *
  url | * | *

role system:aggregate-to-admin to=admin like=admin
  authorization.k8s.io | localsubjectaccessreviews | create
  rbac.authorization.k8s.io | rolebindings,roles | read,write
role system:aggregate-to-edit to=edit like=edit
  core | pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy | read
  core | serviceaccounts | impersonate
  core | pods,pods/attach,pods/exec,pods/portforward,pods/proxy | write
  core | pods/eviction | create
  core | configmaps,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,secrets,serviceaccounts,services,services/proxy | write
  core | serviceaccounts/token | create
  core,events.k8s.io | events | write
  apps | daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale,statefulsets,statefulsets/scale | write
  autoscaling | horizontalpodautoscalers | write
  batch | cronjobs,jobs | write
  extensions | daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,networkpolicies,replicasets,replicasets/scale,replicationcontrollers/scale | write
  policy | poddisruptionbudgets | write
  networking.k8s.io | ingresses,networkpolicies | write
  coordination.k8s.io | leases | read,write
  DynamicResourceAllocation?resource.k8s.io | resourceclaims,resourceclaimtemplates | write
  GenericWorkload?scheduling.k8s.io | podgroups,workloads | write
role system:aggregate-to-view to=view like=view
  core | configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status | read
  core | bindings,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,resourcequotas,resourcequotas/status | read
  core | namespaces | read
  core,events.k8s.io | events | read
  discovery.k8s.io | endpointslices | read
  apps | controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,statefulsets/scale,statefulsets/status | read
  autoscaling | horizontalpodautoscalers,horizontalpodautoscalers/status | read
  batch | cronjobs,cronjobs/status,jobs,jobs/status | read
  extensions | daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,ingresses,ingresses/status,networkpolicies,replicasets,replicasets/scale,replicasets/status,replicationcontrollers/scale | read
  policy | poddisruptionbudgets,poddisruptionbudgets/status | read
  networking.k8s.io | ingresses,ingresses/status,networkpolicies | read
  DynamicResourceAllocation?resource.k8s.io | resourceclaims,resourceclaims/status,resourceclaimtemplates | read
  GenericWorkload?scheduling.k8s.io | podgroups,podgroups/status,workloads | read

role system:auth-delegator
  authentication.k8s.io | tokenreviews | create
  authorization.k8s.io | subjectaccessreviews | create
role system:basic-user
  authorization.k8s.io | selfsubjectaccessreviews,selfsubjectrulesreviews | create
  authentication.k8s.io | selfsubjectreviews | create
role system:certificates.k8s.io:certificatesigningrequests:nodeclient
  certificates.k8s.io | certificatesigningrequests/nodeclient | create
role system:certificates.k8s.io:certificatesigningrequests:selfnodeclient
  certificates.k8s.io | certificatesigningrequests/selfnodeclient | create
role system:certificates.k8s.io:kube-apiserver-client-approver
  certificates.k8s.io | signers | approve | kubernetes.io/kube-apiserver-client
role system:certificates.k8s.io:kube-apiserver-client-kubelet-approver
  certificates.k8s.io | signers | approve | kubernetes.io/kube-apiserver-client-kubelet
role system:certificates.k8s.io:kubelet-serving-approver
  certificates.k8s.io | signers | approve | kubernetes.io/kubelet-serving
role system:certificates.k8s.io:legacy-unknown-approver
  certificates.k8s.io | signers | approve | kubernetes.io/legacy-unknown
role system:discovery
  url | /api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/ | get
role system:heapster
  core | events,namespaces,nodes,pods | read
  extensions | deployments | read
role system:kube-aggregator
  core | endpoints,services | read
role system:kube-controller-manager
  events
  coordination.k8s.io | leases | create
  coordination.k8s.io | leases | get,update | kube-controller-manager
  core | secrets,serviceaccounts | create
  core | secrets | delete
  core | configmaps,namespaces,secrets,serviceaccounts | get
  core | secrets,serviceaccounts | update
  authentication.k8s.io | tokenreviews | create
  authorization.k8s.io | subjectaccessreviews | create
  * | * | list,watch
  core | serviceaccounts/token | create
role system:kube-dns
  core | endpoints,services | list,watch
role system:kube-scheduler
  events
  coordination.k8s.io | leases | create
  coordination.k8s.io | leases | get,list,update,watch | kube-scheduler
  coordination.k8s.io | leasecandidates | read,write
  core | nodes | read
  core | pods | delete,get,list,watch
  core | bindings,pods/binding | create
  core | pods/status | patch,update
  core | replicationcontrollers,services | read
  apps,extensions | replicasets | read
  apps | statefulsets | read
  policy | poddisruptionbudgets | read
  core | persistentvolumeclaims,persistentvolumes | read
  authentication.k8s.io | tokenreviews | create
  authorization.k8s.io | subjectaccessreviews | create
  storage.k8s.io | csinodes | read
  storage.k8s.io | volumeattachments | read
  core | namespaces | read
  storage.k8s.io | csidrivers | read
  storage.k8s.io | csistoragecapacities | read
  DynamicResourceAllocation?resource.k8s.io | deviceclasses | read
  DynamicResourceAllocation?resource.k8s.io | resourceclaims | get,list,patch,update,watch
  DynamicResourceAllocation?resource.k8s.io | resourceclaims/status | get,list,patch,update,watch
  DynamicResourceAllocation?core | pods/finalizers | update
  DynamicResourceAllocation?resource.k8s.io | resourceslices | read
  DRAExtendedResource?resource.k8s.io | resourceclaims | create,delete
  DRADeviceTaintRules?resource.k8s.io | devicetaintrules | read
  DRAResourceClaimGranularStatusAuthorization?resource.k8s.io | resourceclaims/binding | patch,update
  GenericWorkload?scheduling.k8s.io | podgroups | read
  GenericWorkload?scheduling.k8s.io | podgroups/status | patch,update
role system:kubelet-api-admin
  core | nodes | read
  core | nodes | proxy
  core | nodes/log,nodes/metrics,nodes/proxy,nodes/stats | *
  KubeletFineGrainedAuthz?core | nodes/configz,nodes/healthz,nodes/pods | *
role system:monitoring
  url | ComponentFlagz?/flagz,/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*,ComponentStatusz?/statusz | get
  core | nodes/metrics | get
role system:node
  authentication.k8s.io | tokenreviews | create
  authorization.k8s.io | localsubjectaccessreviews,subjectaccessreviews | create
  core | services | read
  core | nodes | create,get,list,watch
  core | nodes/status | patch,update
  core | nodes | patch,update
  core,events.k8s.io | events | create,patch,update
  core | pods | read
  core | pods | create,delete
  core | pods/status | patch,update
  core | pods/eviction | create
  core | configmaps,secrets | read
  core | persistentvolumeclaims,persistentvolumes | get
  core | endpoints | get
  certificates.k8s.io | certificatesigningrequests | create,get,list,watch
  coordination.k8s.io | leases | create,delete,get,patch,update
  storage.k8s.io | volumeattachments | get
  core | serviceaccounts/token | create
  core | persistentvolumeclaims/status | get,patch,update
  storage.k8s.io | csidrivers | read
  storage.k8s.io | csinodes | create,delete,get,patch,update
  node.k8s.io | runtimeclasses | read
  DynamicResourceAllocation?resource.k8s.io | resourceclaims | get
  DynamicResourceAllocation?resource.k8s.io | resourceslices | deletecollection
  ClusterTrustBundle?certificates.k8s.io | clustertrustbundles | read
  KubeletServiceAccountTokenForCredentialProviders?core | serviceaccounts | get
  PodCertificateRequest?certificates.k8s.io | podcertificaterequests | create,get,list,watch
role system:node-bootstrapper
  certificates.k8s.io | certificatesigningrequests | create,get,list,watch
role system:node-problem-detector
  core | nodes | get
  core | nodes/status | patch
  events
role system:node-proxier
  core | endpoints,services | list,watch
  core | nodes | read
  events
  MultiCIDRServiceAllocator?networking.k8s.io | servicecidrs | list,watch
  discovery.k8s.io | endpointslices | list,watch
role system:persistent-volume-provisioner
  core | persistentvolumes | create,delete,get,list,watch
  core | persistentvolumeclaims | get,list,update,watch
  storage.k8s.io | storageclasses | read
  core | events | watch
  events
role system:public-info-viewer
  url | /healthz,/livez,/readyz,/version,/version/ | get
role system:service-account-issuer-discovery
  url | /.well-known/openid-configuration,/.well-known/openid-configuration/,/openid/v1/jwks,/openid/v1/jwks/ | get
role ClusterTrustBundle?system:cluster-trust-bundle-discovery
  certificates.k8s.io | clustertrustbundles | read
role system:volume-scheduler
  core | persistentvolumes | get,list,patch,update,watch
  storage.k8s.io | storageclasses | read
  core | persistentvolumeclaims | get,list,patch,update,watch

controller attachdetach-controller
  core | persistentvolumeclaims,persistentvolumes | list,watch
  core | nodes | read
  core | nodes/status | patch,update
  core | pods | list,watch
  events
  storage.k8s.io | volumeattachments | create,delete,get,list,watch
  storage.k8s.io | csidrivers | read
  storage.k8s.io | csinodes | read
controller certificate-controller
  certificates.k8s.io | certificatesigningrequests | delete,get,list,watch
  certificates.k8s.io | certificatesigningrequests/approval,certificatesigningrequests/status | update
  certificates.k8s.io | signers | approve | kubernetes.io/kube-apiserver-client-kubelet
  certificates.k8s.io | signers | sign | kubernetes.io/kube-apiserver-client,kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,kubernetes.io/legacy-unknown
  authorization.k8s.io | subjectaccessreviews | create
  events
controller clusterrole-aggregation-controller
  rbac.authorization.k8s.io | clusterroles | escalate,get,list,patch,update,watch
controller cronjob-controller
  batch | cronjobs | get,list,update,watch
  batch | jobs | create,delete,get,list,patch,update,watch
  batch | cronjobs/status | update
  batch | cronjobs/finalizers | update
  core | pods | delete,list,watch
  events
controller daemon-set-controller
  apps,extensions | daemonsets | read
  apps,extensions | daemonsets/status | update
  apps,extensions | daemonsets/finalizers | update
  core | nodes | list,watch
  core | pods | create,delete,list,patch,watch
  core | pods/binding | create
  apps | controllerrevisions | create,delete,get,list,patch,update,watch
  events
controller deployment-controller
  apps,extensions | deployments | get,list,update,watch
  apps,extensions | deployments/status | update
  apps,extensions | deployments/finalizers | update
  apps,extensions | replicasets | create,delete,get,list,patch,update,watch
  core | pods | get,list,update,watch
  events
controller DRADeviceTaints?device-taint-eviction-controller
  core | pods | delete,get,list,watch
  core | pods/status | patch,update
  resource.k8s.io | resourceclaims | read
  resource.k8s.io | resourceslices | read
  resource.k8s.io | deviceclasses | read
  events
  DRADeviceTaintRules?resource.k8s.io | devicetaintrules/status | patch,update
  DRADeviceTaintRules?resource.k8s.io | devicetaintrules | read
controller disruption-controller
  apps,extensions | deployments | read
  apps,extensions | replicasets | read
  core | replicationcontrollers | read
  policy | poddisruptionbudgets | read
  apps | statefulsets | read
  policy | poddisruptionbudgets/status | update
  core | pods/status | patch,update
  * | */scale | get
  events
controller endpoint-controller
  core | pods,services | read
  core | endpoints | create,delete,get,list,update,watch
  core | endpoints/restricted | create
  events
controller endpointslice-controller
  core | nodes,pods,services | read
  core | services/finalizers | update
  discovery.k8s.io | endpointslices | create,delete,get,list,update,watch
  events
controller endpointslicemirroring-controller
  core | endpoints,services | read
  core | services/finalizers | update
  core | endpoints/finalizers | update
  discovery.k8s.io | endpointslices | create,delete,get,list,update,watch
  events
controller ephemeral-volume-controller
  core | pods | read
  core | pods/finalizers | update
  core | persistentvolumeclaims | create,get,list,watch
  events
controller expand-controller
  core | persistentvolumes | get,list,patch,update,watch
  core | persistentvolumeclaims/status | patch,update
  core | persistentvolumeclaims | read
  events
controller generic-garbage-collector
  * | * | delete,get,list,patch,update,watch
  events
controller horizontal-pod-autoscaler
  autoscaling | horizontalpodautoscalers | read
  autoscaling | horizontalpodautoscalers/status | update
  * | */scale | get,update
  core | pods | list,watch
  metrics.k8s.io | pods | list,watch
  custom.metrics.k8s.io | * | read
  external.metrics.k8s.io | * | read
  events
controller job-controller
  batch | jobs | get,list,patch,update,watch
  batch | jobs/status | update
  batch | jobs/finalizers | update
  core | pods | create,delete,list,patch,watch
  events
  WorkloadWithJob?scheduling.k8s.io | podgroups,workloads | create,get,list,watch
controller legacy-service-account-token-cleaner
  core | configmaps | get | kube-apiserver-legacy-service-account-token-tracking
  core | secrets | delete,patch
controller namespace-controller
  core | namespaces | delete,get,list,watch
  core | namespaces/finalize,namespaces/status | update
  * | * | delete,deletecollection,get,list,watch
controller node-controller
  core | nodes | delete,get,list,patch,update,watch
  core | nodes/status | patch,update
  core | pods/status | patch,update
  core | pods | delete,get,list,watch
  events
controller persistent-volume-binder
  core | persistentvolumes | create,delete,get,list,update,watch
  core | persistentvolumes/status | update
  core | persistentvolumeclaims | get,list,update,watch
  core | persistentvolumeclaims/status | update
  core | pods | create,delete,get,list,watch
  storage.k8s.io | storageclasses | read
  core | nodes | list,watch
  events
  core | events | watch
controller pod-garbage-collector
  core | pods | delete,list,watch
  core | nodes | read
  core | pods/status | patch
controller PodCertificateRequest?podcertificaterequestcleaner
  certificates.k8s.io | podcertificaterequests | delete,get,list,watch
controller GenericWorkload?podgroup-protection-controller
  scheduling.k8s.io | podgroups | get,list,update,watch
  core | pods | read
controller pv-protection-controller
  core | persistentvolumes | get,list,update,watch
  events
controller pvc-protection-controller
  core | persistentvolumeclaims | get,list,update,watch
  core | persistentvolumeclaims/status | update
  core | pods | read
  events
controller replicaset-controller
  apps,extensions | replicasets | get,list,update,watch
  apps,extensions | replicasets/status | update
  apps,extensions | replicasets/finalizers | update
  core | pods | create,delete,list,patch,watch
  events
controller replication-controller
  core | replicationcontrollers | get,list,update,watch
  core | replicationcontrollers/status | update
  core | replicationcontrollers/finalizers | update
  core | pods | create,delete,list,patch,watch
  events
controller DynamicResourceAllocation?resource-claim-controller
  core | pods | read
  core | pods/finalizers | update
  resource.k8s.io | resourceclaims | create,delete,get,list,watch
  resource.k8s.io | resourceclaims,resourceclaims/status | patch,update
  core | pods/status | patch,update
  events
  DRAWorkloadResourceClaims?scheduling.k8s.io | podgroups | read
  DRAWorkloadResourceClaims?scheduling.k8s.io | podgroups/status | patch,update
  DRAResourceClaimGranularStatusAuthorization?resource.k8s.io | resourceclaims/binding | patch,update
controller DRAResourcePoolStatus?resourcepoolstatusrequest-controller
  resource.k8s.io | resourcepoolstatusrequests | delete,get,list,watch
  resource.k8s.io | resourcepoolstatusrequests/status | patch,update
  resource.k8s.io | resourceslices | read
  resource.k8s.io | resourceclaims | read
  events
controller resourcequota-controller
  * | * | list,watch
  core | resourcequotas/status | update
  events
controller root-ca-cert-publisher
  core | configmaps | create,update
  events
controller ClusterTrustBundle?kube-apiserver-serving-clustertrustbundle-publisher
  certificates.k8s.io | signers | attest | kubernetes.io/kube-apiserver-serving
  certificates.k8s.io | clustertrustbundles | create,delete,list,update,watch
  events
controller route-controller
  core | nodes | list,watch
  core | nodes/status | patch
  events
controller SELinuxChangePolicy?selinux-warning-controller
  events
  core | persistentvolumes | read
  core | persistentvolumeclaims | read
  core | pods | read
  storage.k8s.io | csidrivers | read
controller service-account-controller
  core | serviceaccounts | create
  events
controller MultiCIDRServiceAllocator?service-cidrs-controller
  networking.k8s.io | servicecidrs | get,list,patch,update,watch
  networking.k8s.io | servicecidrs/finalizers | patch,update
  networking.k8s.io | servicecidrs/status | patch,update
  networking.k8s.io | ipaddresses | read
  events
controller service-controller
  core | services | read
  core | services/status | patch,update
  core | nodes | list,watch
  events
controller statefulset-controller
  core | pods | list,watch
  apps | statefulsets | read
  apps | statefulsets/status | update
  apps | statefulsets/finalizers | update
  core | pods | create,delete,get,patch,update
  apps | controllerrevisions | create,delete,get,list,patch,update,watch
  core | persistentvolumeclaims | create,get,list,watch
  core | persistentvolumeclaims | delete,update
  core | pods/finalizers | update
  events
controller StorageVersionAPI?APIServerIdentity?storage-version-garbage-collector
  coordination.k8s.io | leases | read
  internal.apiserver.k8s.io | storageversions | delete,get,list,patch,update,watch
  internal.apiserver.k8s.io | storageversions/status | get,patch,update
controller StorageVersionMigrator?storage-version-migrator-controller
  * | * | create,list,patch
  apiextensions.k8s.io | customresourcedefinitions | get
  apiextensions.k8s.io | customresourcedefinitions/status | patch
  storagemigration.k8s.io | storageversionmigrations/status | update
controller ttl-after-finished-controller
  batch | jobs | delete,get,list,watch
  events
controller ttl-controller
  core | nodes | list,patch,update,watch
  events
controller validatingadmissionpolicy-status-controller
  admissionregistration.k8s.io | validatingadmissionpolicies | read
  admissionregistration.k8s.io | validatingadmissionpolicies/status | get,patch,update
  events
controller VolumeAttributesClass?volumeattributesclass-protection-controller
  core | persistentvolumeclaims | read
  core | persistentvolumes | read
  storage.k8s.io | volumeattributesclasses | get,list,update,watch
  events

role extension-apiserver-authentication-reader in=kube-system
  core | configmaps | read | extension-apiserver-authentication
role system::leader-locking-kube-controller-manager in=kube-system
  coordination.k8s.io | leases | create,get,list,update,watch
  coordination.k8s.io | leasecandidates | create,get,list,update,watch
role system::leader-locking-kube-scheduler in=kube-system
  coordination.k8s.io | leases | create,get,list,update,watch
  coordination.k8s.io | leasecandidates | create,get,list,update,watch
role system:controller:bootstrap-signer in=kube-system
  core | secrets | read
role system:controller:cloud-provider in=kube-system
  core | configmaps | create,get,list,watch
role system:controller:token-cleaner in=kube-system
  core | secrets | delete,get,list,watch
  events
role system:controller:bootstrap-signer in=kube-public
  core | configmaps | read
  core | configmaps | update | cluster-info
  events

bind cluster-admin group:system:masters
bind system:basic-user group:system:authenticated
bind system:discovery group:system:authenticated
bind system:kube-controller-manager user:system:kube-controller-manager
bind system:kube-dns sa:kube-system/kube-dns
bind system:kube-scheduler user:system:kube-scheduler
bind system:monitoring group:system:monitoring
bind system:node
bind system:node-proxier user:system:kube-proxy
bind system:public-info-viewer like=system:discovery group:system:authenticated group:system:unauthenticated
bind system:service-account-issuer-discovery group:system:serviceaccounts
bind ClusterTrustBundle?system:cluster-trust-bundle-discovery group:system:serviceaccounts
bind system:volume-scheduler user:system:kube-scheduler
bind extension-apiserver-authentication-reader in=kube-system as=system::extension-apiserver-authentication-reader user:system:kube-controller-manager user:system:kube-scheduler
bind system::leader-locking-kube-controller-manager in=kube-system user:system:kube-controller-manager sa:kube-system/kube-controller-manager sa:kube-system/leader-election-controller
bind system::leader-locking-kube-scheduler in=kube-system user:system:kube-scheduler sa:kube-system/kube-scheduler
bind system:controller:bootstrap-signer in=kube-system sa:kube-system/bootstrap-signer
bind system:controller:cloud-provider in=kube-system sa:kube-system/cloud-provider
bind system:controller:token-cleaner in=kube-system sa:kube-system/token-cleaner
bind system:controller:bootstrap-signer in=kube-public sa:kube-system/bootstrap-signer
)";

}  // namespace portcullis::authz::rbac
