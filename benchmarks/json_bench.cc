// SPDX-License-Identifier: Apache-2.0

// Reading, printing and editing a typical pod and a long list of pods.
#include <benchmark/benchmark.h>

#include "json/patch.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::json {
namespace {

constexpr std::string_view kPod =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-6d4cf56db6-x2v8k","generateName":)"
    R"("web-6d4cf56db6-","namespace":"default","uid":"0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0",)"
    R"("resourceVersion":"123456","creationTimestamp":"2024-01-01T00:00:00Z","labels":{"app":"web",)"
    R"("pod-template-hash":"6d4cf56db6","tier":"frontend"},"annotations":{"example.com/note":)"
    R"("{\"a\":1,\"b\":[true]}","prometheus.io/scrape":"true"},"ownerReferences":[{"apiVersion":)"
    R"("apps/v1","kind":"ReplicaSet","name":"web-6d4cf56db6","uid":)"
    R"("9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0","controller":true,"blockOwnerDeletion":true}]},"spec":)"
    R"({"volumes":[{"name":"kube-api-access-abcde","projected":{"sources":[{"serviceAccountToken":)"
    R"({"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":)"
    R"([{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":)"
    R"({"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":)"
    R"([{"name":"web","image":"registry.example.com/team/web:1.2.3","args":["--port=8080","--v=2"],)"
    R"("ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"MODE",)"
    R"("value":"production"},{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
    R"("fieldPath":"status.podIP"}}}],"resources":{"limits":{"cpu":"500m","memory":"256Mi"},)"
    R"("requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":)"
    R"("kube-api-access-abcde","readOnly":true,"mountPath":)"
    R"("/var/run/secrets/kubernetes.io/serviceaccount"}],"livenessProbe":{"httpGet":{"path":)"
    R"("/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,)"
    R"("successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log",)"
    R"("terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":)"
    R"({"runAsNonRoot":true,"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}],)"
    R"("restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",)"
    R"("serviceAccountName":"default","schedulerName":"default-scheduler","tolerations":[{"key":)"
    R"("node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",)"
    R"("tolerationSeconds":300}],"priority":0,"enableServiceLinks":true}})";

std::string List(int count) {
  std::string text = R"({"kind":"PodList","apiVersion":"v1","items":[)";
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    text += kPod;
  }
  return text + "]}";
}

void CountBytes(benchmark::State& state, std::size_t size) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(size));
}

void BM_Parse(benchmark::State& state) {
  const std::string text = List(static_cast<int>(state.range(0)));
  ParseOptions options;
  options.borrow_text = true;
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(Parse(arena, text, options));
  }
  CountBytes(state, text.size());
}
BENCHMARK(BM_Parse)->Arg(1)->Arg(100)->Arg(1000);

void BM_ParseIndented(benchmark::State& state) {
  Arena kept;
  WriteOptions indented;
  indented.indent = 2;
  const std::string text = ToString(*Parse(kept, List(100)), indented);
  ParseOptions options;
  options.borrow_text = true;
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(Parse(arena, text, options));
  }
  CountBytes(state, text.size());
}
BENCHMARK(BM_ParseIndented);

void BM_Write(benchmark::State& state) {
  Arena arena;
  const std::string text = List(static_cast<int>(state.range(0)));
  const Value value = *Parse(arena, text);
  WriteOptions options;
  options.splice_source = state.range(1) != 0;
  std::string out;
  for (auto _ : state) {
    out.clear();
    Write(value, out, options);
    benchmark::DoNotOptimize(out.data());
  }
  CountBytes(state, out.size());
}
BENCHMARK(BM_Write)->ArgNames({"pods", "splice"})->Args({1, 0})->Args({1, 1})->Args({100, 0});

void BM_WriteSorted(benchmark::State& state) {
  Arena arena;
  const Value value = *Parse(arena, kPod);
  WriteOptions options;
  options.sort_keys = true;
  std::string out;
  for (auto _ : state) {
    out.clear();
    Write(value, out, options);
    benchmark::DoNotOptimize(out.data());
  }
  CountBytes(state, out.size());
}
BENCHMARK(BM_WriteSorted);

void BM_ApplyPatch(benchmark::State& state) {
  Arena arena;
  const Value pod = *Parse(arena, kPod);
  const Value patch =
      *DecodePatch(arena,
                   R"([{"op":"add","path":"/metadata/labels/injected","value":"true"},
          {"op":"add","path":"/spec/containers/-","value":{"name":"proxy","image":"proxy:1"}}])");
  for (auto _ : state) {
    Arena scratch;
    benchmark::DoNotOptimize(ApplyPatch(scratch, pod, patch));
  }
}
BENCHMARK(BM_ApplyPatch);

void BM_ParseYaml(benchmark::State& state) {
  Arena kept;
  const std::string text = ToYaml(*Parse(kept, kPod));
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(ParseYaml(arena, text));
  }
  CountBytes(state, text.size());
}
BENCHMARK(BM_ParseYaml);

}  // namespace
}  // namespace portcullis::json
