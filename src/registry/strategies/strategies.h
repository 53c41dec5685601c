// The factories of all strategies: one line per file of this folder. strategy_table.cc has one row
// for each.
#pragma once

#include <memory>

#include "registry/strategy.h"

namespace portcullis::registry {

std::unique_ptr<Strategy> MakeCertificateSigningRequests();
std::unique_ptr<Strategy> MakeCustomResourceDefinitions();
std::unique_ptr<Strategy> MakeCustomResources(bool has_status);
std::unique_ptr<Strategy> MakeDaemonSets();
std::unique_ptr<Strategy> MakeJobs();
std::unique_ptr<Strategy> MakeMutatingAdmissionPolicies();
std::unique_ptr<Strategy> MakeMutatingAdmissionPolicyBindings();
std::unique_ptr<Strategy> MakeMutatingWebhookConfigurations();
std::unique_ptr<Strategy> MakeNamespaces();
std::unique_ptr<Strategy> MakePersistentVolumeClaims();
std::unique_ptr<Strategy> MakePersistentVolumes();
std::unique_ptr<Strategy> MakePods();
std::unique_ptr<Strategy> MakePriorityClasses();
std::unique_ptr<Strategy> MakeServiceAccounts();
std::unique_ptr<Strategy> MakeServices();
std::unique_ptr<Strategy> MakeValidatingAdmissionPolicies();
std::unique_ptr<Strategy> MakeValidatingAdmissionPolicyBindings();
std::unique_ptr<Strategy> MakeValidatingWebhookConfigurations();

}  // namespace portcullis::registry
