// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "base/clock.h"
#include "json/reader.h"
#include "json/writer.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

class ServiceUpdate : public testing::Test {
 protected:
  // What becomes of the spec `given` over the spec `stored`.
  std::string Updated(std::string_view given, std::string_view stored) {
    const Kind* kind = KindTable::BuiltIn().Find("", "services");
    const auto strategy = kind->make(*kind);
    const Context context{arena_, resource_, kind_, "", "a", "", user_, base::SystemClock()};
    const auto object = [&](std::string_view spec) {
      return json::MakeObject(arena_, {{"spec", json::Parse(arena_, spec).value()}});
    };
    return json::ToString(
        strategy->PrepareForUpdate(context, object(given), object(stored))["spec"]);
  }

  json::Arena arena_;
  api::GroupVersionResource resource_;
  api::GroupVersionKind kind_;
  api::UserInfo user_;
};

constexpr std::string_view kNodePort =
    R"({"type":"NodePort","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],)"
    R"("ports":[{"name":"a","port":80,"nodePort":30080}]})";

TEST_F(ServiceUpdate, AnAddressThatIsChangedAloneIsTheFirstOfTheList) {
  const std::string updated = Updated(
      R"({"type":"ClusterIP","clusterIP":"10.0.0.2","clusterIPs":["10.0.0.1"]})", kNodePort);
  EXPECT_NE(updated.find(R"("clusterIPs":["10.0.0.2"])"), std::string::npos) << updated;
}

TEST_F(ServiceUpdate, NodePortsGoWithTheirType) {
  for (const std::string_view type : {"ClusterIP", "ExternalName"}) {
    const std::string updated = Updated(R"({"type":")" + std::string(type) +
                                            R"(","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],)"
                                            R"("ports":[{"name":"a","port":80,"nodePort":30080}]})",
                                        kNodePort);
    EXPECT_EQ(updated.find("nodePort"), std::string::npos) << updated;
    EXPECT_EQ(updated.find("10.0.0.1") == std::string::npos, type == "ExternalName") << updated;
  }
  const std::string changed = Updated(
      R"({"type":"ClusterIP","ports":[{"name":"a","port":80,"nodePort":30081}]})", kNodePort);
  EXPECT_NE(changed.find("30081"), std::string::npos) << changed;
}

TEST_F(ServiceUpdate, NodePortsAreKeptByTheNameOfThePort) {
  const std::string updated = Updated(
      R"({"type":"NodePort","ports":[{"name":"b","port":80},{"name":"a","port":81}]})", kNodePort);
  EXPECT_NE(updated.find(R"({"name":"b","port":80},{"name":"a","port":81,"nodePort":30080})"),
            std::string::npos)
      << updated;
}

TEST_F(ServiceUpdate, NodePortsAreNotKeptByABalancerThatWantsNone) {
  constexpr std::string_view kBalancer =
      R"({"type":"LoadBalancer","allocateLoadBalancerNodePorts":true,)"
      R"("ports":[{"name":"a","port":80,"nodePort":30080},{"name":"b","port":81,"nodePort":30081}]})";
  const std::string updated =
      Updated(R"({"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,)"
              R"("ports":[{"name":"a","port":80},{"name":"b","port":81,"nodePort":30081}]})",
              kBalancer);
  EXPECT_NE(updated.find(R"([{"name":"a","port":80},{"name":"b","port":81,"nodePort":30081}])"),
            std::string::npos)
      << updated;
}

}  // namespace
}  // namespace portcullis::registry
