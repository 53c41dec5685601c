// SPDX-License-Identifier: Apache-2.0

#include "flags/flags.h"

#include <gtest/gtest.h>

#include "flags/setters.h"

namespace portcullis::flags {
namespace {

struct Options {
  std::string text;
  int number = 0;
  bool on = false;
  bool all = false;
  std::chrono::nanoseconds time{};
  std::vector<std::string> list = {"default"};
  std::string form = "table";
};

constexpr std::string_view kForms[] = {"table", "json"};

constexpr Flag<Options> kFlags[] = {
    {"text", Type::kString, "", "A text", &SetText<&Options::text>, "", 't', "WORD"},
    {"number", Type::kInt, "0", "A number", &SetInt<&Options::number>, ""},
    {"on", Type::kBool, "", "A switch", &SetBool<&Options::on>, "", 'o'},
    {"all", Type::kBool, "", "Another", &SetBool<&Options::all>, "", 'a'},
    {"time", Type::kDuration, "", "A time", &SetDuration<&Options::time>, ""},
    {"list", Type::kList, "default", "A list\nof two lines", &AddToList<&Options::list>, "", '\0',
     "", &ClearList<&Options::list>},
    {"form", Type::kString, "table", "A form", &SetOneOf<&Options::form, kForms>, ""},
    {"ignored", Type::kString, "", "", nullptr, "has no effect"},
};

struct Outcome {
  Options options;
  Line line;
  std::string error;
};

Outcome Read(std::vector<std::string> words, Arguments arguments = Arguments::kAny) {
  Outcome out;
  auto line = Parse<Options>(kFlags, words, {"program", arguments}, out.options);
  if (line.ok()) {
    out.line = *std::move(line);
  } else {
    out.error = line.status().message();
  }
  return out;
}

using Texts = std::vector<std::string>;

TEST(FlagsTest, ValuesStandBehindAnEqualsSignOrInTheNextWord) {
  EXPECT_EQ(Read({"--text=a=b"}).options.text, "a=b");
  EXPECT_EQ(Read({"--text", "--on"}).options.text, "--on");
  EXPECT_EQ(Read({"--text="}).options.text, "");
  EXPECT_TRUE(Read({"--on"}).options.on);
  EXPECT_FALSE(Read({"--on", "--on=false"}).options.on);
  EXPECT_EQ(Read({"--on", "false"}).line.arguments, Texts{"false"});
  EXPECT_EQ(Read({"--number=0x10"}).options.number, 16);
  EXPECT_EQ(Read({"--time=1m30s"}).options.time, std::chrono::seconds(90));
  EXPECT_EQ(Read({"--ignored=x"}).line.given, (std::set<std::string_view>{"ignored"}));
}

TEST(FlagsTest, ShorthandsMayBeJoined) {
  EXPECT_EQ(Read({"-t", "a"}).options.text, "a");
  EXPECT_EQ(Read({"-ta"}).options.text, "a");
  EXPECT_EQ(Read({"-t=a"}).options.text, "a");
  const Outcome both = Read({"-oat", "b"});
  EXPECT_TRUE(both.options.on && both.options.all);
  EXPECT_EQ(both.options.text, "b");
  EXPECT_FALSE(Read({"-o=false"}).options.on);
}

TEST(FlagsTest, ListsReplaceTheirDefaultAndAddUp) {
  EXPECT_EQ(Read({}).options.list, Texts{"default"});
  EXPECT_EQ(Read({"--list=a,b", "--list", "c"}).options.list, (Texts{"a", "b", "c"}));
}

TEST(FlagsTest, TwoDashesEndTheFlags) {
  const Outcome out = Read({"a", "--", "--on", "-t"});
  EXPECT_EQ(out.line.arguments, (Texts{"a", "--on", "-t"}));
  EXPECT_FALSE(out.options.on);
}

TEST(FlagsTest, ExpressionsMayBeginWithADash) {
  const Outcome out = Read({"-1", "-x", "--5", "-t", "a", "--on"}, Arguments::kExpressions);
  EXPECT_EQ(out.line.arguments, (Texts{"-1", "-x", "--5"}));
  EXPECT_EQ(out.options.text, "a");
  EXPECT_TRUE(out.options.on);
}

TEST(FlagsTest, HelpEndsTheReading) {
  EXPECT_TRUE(Read({"--help", "--nonsense"}).line.help);
  EXPECT_TRUE(Read({"-oh"}).line.help);
}

struct Case {
  Texts words;
  std::string_view error;
};

// What pflag says.
TEST(FlagsTest, SaysWhatIsWrong) {
  const Case cases[] = {
      {{"--txt=a"}, "unknown flag: --txt (did you mean --text?)"},
      {{"--zzzzzzzz"}, "unknown flag: --zzzzzzzz"},
      {{"-x"}, "unknown shorthand flag: 'x' in -x"},
      {{"-ox"}, "unknown shorthand flag: 'x' in -ox"},
      {{"--text"}, "flag needs an argument: --text"},
      {{"-ot"}, "flag needs an argument: 't' in -ot"},
      {{"---on"}, "bad flag syntax: ---on"},
      {{"--=on"}, "bad flag syntax: --=on"},
      {{"--on=perhaps"},
       "invalid argument \"perhaps\" for \"-o, --on\" flag: strconv.ParseBool: parsing "
       "\"perhaps\": invalid syntax"},
      {{"--number=4294967296"},
       "invalid argument \"4294967296\" for \"--number\" flag: strconv.ParseInt: parsing "
       "\"4294967296\": value out of range"},
      {{"--time=5"},
       "invalid argument \"5\" for \"--time\" flag: time: missing unit in duration \"5\""},
      {{"--form=xml"}, "invalid argument \"xml\" for \"--form\" flag: must be one of table, json"},
  };
  for (const Case& c : cases) EXPECT_EQ(Read(c.words).error, c.error);
  EXPECT_EQ(Read({"x"}, Arguments::kNone).error, "unknown command \"x\" for \"program\"");
}

TEST(ValuesTest, AreWhatPflagPrints) {
  const Info table[] = {
      {.name = "bool", .type = Type::kBool, .default_text = "true"},
      {.name = "duration", .type = Type::kDuration, .default_text = "60s"},
      {.name = "int", .type = Type::kInt, .default_text = "7"},
      {.name = "list", .type = Type::kList, .default_text = "RBAC"},
      {.name = "map", .type = Type::kMap},
      {.name = "other-list", .type = Type::kList},
      {.name = "text", .type = Type::kString, .default_text = "a"},
  };
  const std::map<std::string, std::string> defaults = {
      {"bool", "true"},   {"duration", "1m0s"}, {"help", "false"},    {"int", "7"},
      {"list", "[RBAC]"}, {"map", ""},          {"other-list", "[]"}, {"text", "a"}};
  EXPECT_EQ(ValuesOf(table, {}), defaults);
  const std::string words[] = {"--bool=f",      "--list=a,b", "--list=c d", "--map=b=2",
                               "--map=a=1,c=3", "--text=x",   "--text=y",   "--int=0x10"};
  const auto line =
      Read(table, words, {"p"}, [](std::size_t, std::string_view) { return base::OkStatus(); });
  ASSERT_TRUE(line.ok());
  const auto values = ValuesOf(table, *line);
  const std::map<std::string, std::string> given = {
      {"bool", "false"},     {"duration", "1m0s"},   {"help", "false"},    {"int", "16"},
      {"list", "[a,b,c d]"}, {"map", "a=1,b=2,c=3"}, {"other-list", "[]"}, {"text", "y"}};
  EXPECT_EQ(values, given);
}

TEST(HelpTest, ShowsTheRowsThatHaveAnEffect) {
  std::vector<Info> infos = InfosOf<Options>(std::span(kFlags).subspan(5));
  infos.push_back(InfoOf(kFlags[0]));
  infos.back().risk = "everyone can read it";
  EXPECT_EQ(Help(infos),
            "Flags:\n"
            "  --list strings\n      A list\n      of two lines (default default)\n"
            "  --form string\n      A form (default table)\n"
            "  -t, --text WORD\n      A text\n      Opens a door: everyone can read it\n"
            "\nAccepted as kube-apiserver's, without effect:\n"
            "  --ignored\n      has no effect\n");
}

TEST(HelpTest, RowsStandBelowTheHeadingsOfTheirGroups) {
  std::vector<Info> infos = InfosOf<Options>(std::span(kFlags).first(4));
  for (const std::size_t i : {0UL, 2UL}) infos[i].group = "Log";
  infos[1].group = infos[3].group = "Audit";
  EXPECT_EQ(Help(infos),
            "Log flags:\n"
            "  -t, --text WORD\n      A text\n"
            "  -o, --on\n      A switch\n"
            "\nAudit flags:\n"
            "  --number int\n      A number (default 0)\n"
            "  -a, --all\n      Another\n");
}

}  // namespace
}  // namespace portcullis::flags
