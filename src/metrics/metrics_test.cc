// SPDX-License-Identifier: Apache-2.0

#include "metrics/metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "base/strings.h"
#include "metrics/access_metrics.h"
#include "metrics/apiserver_metrics.h"
#include "metrics/exposition.h"
#include "metrics/process_metrics.h"

namespace portcullis::metrics {
namespace {

TEST(FormatNumber, PrintsAsGoDoes) {
  struct Case {
    double value;
    std::string_view text;
  };
  constexpr Case kCases[] = {
      {0, "0"},
      {1, "1"},
      {-1.5, "-1.5"},
      {0.005, "0.005"},
      {123456, "123456"},
      {1000000, "1e+06"},
      {1234567, "1.234567e+06"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {5e-7, "5e-07"},
      {1e21, "1e+21"},
  };
  for (const Case& c : kCases) EXPECT_EQ(FormatNumber(c.value), c.text);
  EXPECT_EQ(FormatNumber(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(FormatNumber(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

TEST(Registry, WritesCountersAsKubernetesDoes) {
  Registry registry;
  auto& family =
      registry.AddCounter({"calls_total", "Calls made.", Stability::kStable}, {"verb", "code"});
  family.With({"get", "200"}).Increment(2);
  family.With({"create", "a\"b\\c\nd"}).Increment();

  EXPECT_EQ(registry.Expose(),
            "# HELP calls_total [STABLE] Calls made.\n"
            "# TYPE calls_total counter\n"
            "calls_total{code=\"a\\\"b\\\\c\\nd\",verb=\"create\"} 1\n"
            "calls_total{code=\"200\",verb=\"get\"} 2\n");
}

TEST(Registry, HistogramBucketsAreCumulative) {
  Registry registry;
  auto& family = registry.AddHistogram({"t_seconds", "Time."}, {"type"}, {0.1, 1});
  Histogram& histogram = family.With({"admit"});
  for (double value : {0.1, 0.5, 3.0}) histogram.Observe(value);

  EXPECT_EQ(registry.Expose(),
            "# HELP t_seconds [ALPHA] Time.\n"
            "# TYPE t_seconds histogram\n"
            "t_seconds_bucket{type=\"admit\",le=\"0.1\"} 1\n"
            "t_seconds_bucket{type=\"admit\",le=\"1\"} 2\n"
            "t_seconds_bucket{type=\"admit\",le=\"+Inf\"} 3\n"
            "t_seconds_sum{type=\"admit\"} 3.6\n"
            "t_seconds_count{type=\"admit\"} 3\n");
}

TEST(Registry, SummariesShowQuantiles) {
  Registry registry;
  registry.AddSummary({"s", "S."}, {}).With({}).Observe(2);

  EXPECT_EQ(registry.Expose(),
            "# HELP s [ALPHA] S.\n# TYPE s summary\ns{quantile=\"0.5\"} 2.0625\n"
            "s{quantile=\"0.9\"} 2.0625\ns{quantile=\"0.99\"} 2.0625\ns_sum 2\ns_count 1\n");
}

TEST(RequestSeries, AreThoseOfTheFamilies) {
  Registry registry;
  const RequestMetrics metrics(registry);
  const RequestLabels labels{"POST", "", "", "v1", "pods", "", "resource", "apiserver", "201"};

  metrics.series->Of(labels).requests->Increment();
  metrics.series->Of(labels).requests->Increment();

  EXPECT_EQ(
      metrics.requests.With({"POST", "", "", "v1", "pods", "", "resource", "apiserver", "201"})
          .value(),
      2U);
}

TEST(RequestSeries, OfDryRunsAreNotOfTheServiceLevel) {
  Registry registry;
  const RequestMetrics metrics(registry);
  const auto series = [&](std::string_view verb, std::string_view dry_run, std::string_view scope) {
    return metrics.series->Of({verb, dry_run, "", "v1", "pods", "", scope, "apiserver", "200"});
  };

  EXPECT_EQ(series("POST", "All", "resource").slo_duration, nullptr);
  EXPECT_NE(series("POST", "", "resource").slo_duration, nullptr);
  EXPECT_EQ(series("DELETE", "", "namespace").body_sizes,
            &metrics.request_body_sizes.With({"", "pods", "delete_collection"}));
  EXPECT_EQ(series("LIST", "", "cluster").lists, &metrics.cache_lists.With({"", "pods", ""}));
  EXPECT_EQ(series("GET", "", "resource").lists, nullptr);
}

TEST(Slots, AppearWhenTheyAreUsed) {
  Registry registry;
  const AccessMetrics metrics(registry);
  const auto has = [&](std::string_view line) {
    return registry.Expose().find(line) != std::string::npos;
  };
  EXPECT_FALSE(has("authentication_attempts"));

  metrics.authentications[static_cast<std::size_t>(Authenticated::kFailure)].Increment();
  metrics.Took(Filter::kAudit, 0.002);

  EXPECT_TRUE(has("authentication_attempts{result=\"failure\"} 1\n"));
  EXPECT_FALSE(has("result=\"success\""));
  EXPECT_TRUE(has("apiserver_request_filter_duration_seconds_count{filter=\"audit\"} 1\n"));
}

TEST(Registry, CountsItsMetricsByStability) {
  Registry registry;
  registry.AddCounter({"a_total", "A.", Stability::kStable, "1.34.0"}, {});
  registry.AddCounter({"b_total", "B."}, {"x"});
  registry.AddGaugeFunction({"process_c", "C.", Stability::kNone}, [] { return 1.0; });
  registry.AddCountsOfMetrics();

  const std::string page = registry.Expose();
  for (const std::string_view line :
       {"# HELP a_total [STABLE] (Deprecated since 1.34.0) A.\n", "hidden_metrics_total 5\n",
        "disabled_metrics_total 0\n",
        "registered_metrics_total{deprecated_version=\"\",stability_level=\"ALPHA\"} 2\n",
        "registered_metrics_total{deprecated_version=\"\",stability_level=\"BETA\"} 3\n",
        "registered_metrics_total{deprecated_version=\"1.34.0\",stability_level=\"STABLE\"} 1\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
}

TEST(Registry, LimitsTheValuesOfLabels) {
  Registry registry;
  registry.Limit({.allowed = {{"a_total,x", "1,2"}, {"b_seconds,y", ""}}});
  registry.AddCountsOfMetrics();
  auto& a = registry.AddCounter({"a_total", "A."}, {"x", "y"});
  a.With({"1", "1"}).Increment();
  a.With({"3", "1"}).Increment(2);
  a.With({"4", "1"}).Increment(3);
  auto& b = registry.AddHistogram({"b_seconds", "B."}, {"x", "y"}, {1, 2});
  b.With({"1", "1"}).Observe(0.5);
  b.With({"1", "2"}).Observe(1.5);

  const std::string page = registry.Expose();
  for (const std::string_view line :
       {"\na_total{x=\"1\",y=\"1\"} 1\na_total{x=\"unexpected\",y=\"1\"} 5\n#",
        "\nb_seconds_bucket{x=\"1\",y=\"unexpected\",le=\"1\"} 1\n",
        "\nb_seconds_bucket{x=\"1\",y=\"unexpected\",le=\"2\"} 2\n",
        "\nb_seconds_sum{x=\"1\",y=\"unexpected\"} 2\n",
        "\ncardinality_enforcement_unexpected_categorizations_total 7\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
}

TEST(Registry, LeavesOutWhatIsDisabledAndShowsWhatIsHidden) {
  Registry registry;
  registry.Limit({.disabled = {"a_total", "a_total", "authentication_b",
                               "apiserver_request_sli_duration_seconds"},
                  .shows_hidden = true});
  registry.AddCountsOfMetrics();
  registry.AddCounter({"a_total", "A."}, {}).With({}).Increment();
  registry.AddGauge({"authentication_b", "B."}, {}).With({}).Set(1);
  registry.AddCounter({"etcd_bookmark_total", "C."}, {}).With({}).Increment();
  registry.AddHistogram({"apiserver_request_sli_duration_seconds", "D."}, {}, {1});

  const std::string page = registry.Expose();
  for (const std::string_view line :
       {"\nauthentication_b 1\n", "\ndisabled_metrics_total 3\n", "\nhidden_metrics_total 2\n",
        "\n# HELP etcd_bookmark_counts [ALPHA] (Deprecated since 1.36.0) C.\n"
        "# TYPE etcd_bookmark_counts gauge\netcd_bookmark_counts 1\n",
        "# HELP apiserver_request_slo_duration_seconds [ALPHA] (Deprecated since 1.27.0) D.\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
  EXPECT_EQ(page.find("a_total 1"), std::string::npos);
  EXPECT_EQ(page.find("sli_duration"), std::string::npos);
}

TEST(Counter, NeverGoesBack) {
  Counter counter;
  counter.RaiseTo(5);
  counter.RaiseTo(3);
  EXPECT_EQ(counter.value(), 5U);
}

TEST(Registry, LeavesOutFamiliesNobodyHasUsed) {
  Registry registry;
  registry.AddCounter({"unused_total", "U."}, {"x"});
  registry.AddCounter({"bare_total", "B."}, {});
  registry.AddGaugeFunction({"asked", "A.", Stability::kNone}, [] { return 7.0; });

  EXPECT_EQ(registry.Expose(),
            "# HELP asked A.\n# TYPE asked gauge\nasked 7\n"
            "# HELP bare_total [ALPHA] B.\n# TYPE bare_total counter\nbare_total 0\n");
}

TEST(Registry, TheSameNameIsTheSameFamily) {
  Registry registry;
  AdmissionMetrics a(registry);
  AdmissionMetrics b(registry);
  EXPECT_EQ(&a.step_duration, &b.step_duration);
  a.webhook_requests.With({"w", "admit", "CREATE", "200", "false"}).Increment();
  EXPECT_NE(registry.Expose().find(
                "apiserver_admission_webhook_request_total{code=\"200\",name=\"w\",operation="
                "\"CREATE\",rejected=\"false\",type=\"admit\"} 1\n"),
            std::string::npos);
}

TEST(ProcessMetrics, AreThoseOfThisProcess) {
  Registry registry;
  AddProcessMetrics(registry);

  const std::string page = registry.Expose();

  for (const std::string_view line :
       {"# TYPE process_cpu_seconds_total counter\n", "# TYPE process_open_fds gauge\n",
        "# HELP process_resident_memory_bytes Resident memory size in bytes.\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
  const auto value = [&](std::string_view name) {
    const std::size_t at = page.find(base::StrCat("\n", name, " "));
    return at == std::string::npos ? -1.0 : std::stod(page.substr(at + name.size() + 2));
  };
  EXPECT_GT(value("process_resident_memory_bytes"), 1e5);
  EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
  EXPECT_GT(value("process_start_time_seconds"), 1.5e9);
}

TEST(Registry, ThreadsMayCountTogether) {
  Registry registry;
  RequestMetrics metrics(registry);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        metrics.authenticated_users.With({"u"}).Increment();
        metrics.storage_objects.With({"pods"}).Add(1);
        if (i % 100 == 0) (void)registry.Expose();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(metrics.authenticated_users.With({"u"}).value(), 4000U);
  EXPECT_EQ(metrics.storage_objects.With({"pods"}).value(), 4000.0);
}

}  // namespace
}  // namespace portcullis::metrics
