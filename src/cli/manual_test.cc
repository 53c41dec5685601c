// SPDX-License-Identifier: Apache-2.0

#include "cli/manual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/strings.h"
#include "cli/completion.h"

namespace portcullis::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<flags::Info> SomeFlags() {
  return {{.name = "output-file",
           .type = flags::Type::kString,
           .default_text = "-",
           .meaning = ".where it's written",
           .shorthand = 'o',
           .value_name = "FILE",
           .group = "Output"},
          {.name = "all", .type = flags::Type::kBool, .meaning = "All [of] them"},
          {.name = "old", .type = flags::Type::kString, .note = "no longer read"}};
}

const Command kSome = {"some thing",
                       "does something of its user's",
                       nullptr,
                       &SomeFlags,
                       "Does \\this.\n\nUsage:\n  portcullis some thing\n\nIt also does that.\n\n"
                       "Examples:\n  portcullis some thing --all\n",
                       "\nExit status: 0.\n"};

TEST(Manual, HasThePartsOfTheUsageUnderTheirHeadings) {
  const std::string page = ManualPage(kSome);
  EXPECT_THAT(page, HasSubstr(".TH PORTCULLIS-SOME-THING 1 "));
  EXPECT_THAT(page, HasSubstr("portcullis\\-some\\-thing \\- does something of its user's\n"));
  EXPECT_THAT(page, HasSubstr(".SH SYNOPSIS\n.nf\n  portcullis some thing\n.fi\n"));
  EXPECT_THAT(page, HasSubstr(".SH DESCRIPTION\n.nf\nDoes \\ethis.\n\nIt also does that.\n.fi\n"));
  EXPECT_THAT(page, HasSubstr(".SH EXAMPLES\n.nf\n  portcullis some thing \\-\\-all\n.fi\n"));
  EXPECT_THAT(page, HasSubstr(".SH NOTES\n.nf\nExit status: 0.\n.fi\n"));
}

TEST(Manual, ShowsFlagsBelowTheirGroupsAndLeavesOutThoseWithoutEffect) {
  const std::string page = ManualPage(kSome);
  EXPECT_THAT(page, HasSubstr(".SS Output\n.TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\-file\\fR "
                              "\\fIFILE\\fR\n\\&.where it's written (default \\-)\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-all\\fR\nAll [of] them\n"));
  EXPECT_THAT(page, Not(HasSubstr("old")));
}

TEST(Completion, OffersFlagsWithTheSignThatTheirValuesFollow) {
  const Command commands[] = {kSome};
  EXPECT_THAT(CompletionScript("bash", commands),
              HasSubstr("\"some thing \"*) flags=\"--output-file= --all --old= --help\""));
  EXPECT_THAT(CompletionScript("zsh", commands), HasSubstr("'--all[All of them]'"));
  EXPECT_THAT(CompletionScript("zsh", commands), HasSubstr("[.where its written]:FILE:_files"));
  EXPECT_THAT(CompletionScript("fish", commands),
              HasSubstr("-l output-file -r -s o -d '.where its written'"));
  EXPECT_EQ(CompletionScript("tcsh", commands), "");
}

TEST(Completion, OffersTheSecondWordsOfCommandsBehindTheFirst) {
  const Command other = {"some rest", "does the rest", nullptr};
  const Command plain = {"plain", "does something of its user's", nullptr};
  const Command commands[] = {kSome, other, plain};
  EXPECT_THAT(CompletionScript("bash", commands),
              AllOf(HasSubstr("compgen -W \"some plain help\""),
                    HasSubstr("\"some \" | \"help some \" | \"man some \") COMPREPLY=($(compgen -W "
                              "\"thing rest\"")));
  EXPECT_THAT(CompletionScript("zsh", commands),
              AllOf(HasSubstr("    'some:thing, rest'\n    'plain:does something of its users'\n"),
                    HasSubstr("some) compadd thing rest; return ;;\n"),
                    HasSubstr("case $name in some) name+=\" $words[3]\" ;; esac\n"),
                    HasSubstr("'some rest') _arguments")));
  EXPECT_THAT(
      CompletionScript("fish", commands),
      AllOf(HasSubstr("-a some -d 'thing, rest'\n"),
            HasSubstr("-a plain -d 'does something of its users'\n"),
            HasSubstr("'__fish_seen_subcommand_from some; and not __fish_seen_subcommand_from "
                      "thing rest' -f -a 'thing rest'\n"),
            HasSubstr("'__fish_seen_subcommand_from some; and __fish_seen_subcommand_from thing' "
                      "-l all")));
}

TEST(Help, HasUsageFlagsAndNotes) {
  EXPECT_EQ(HelpOf(kSome),
            "Does \\this.\n\nUsage:\n  portcullis some thing\n\nIt also does that.\n\n"
            "Examples:\n  portcullis some thing --all\n\n"
            "Output flags:\n  -o, --output-file FILE\n      .where it's written (default -)\n\n"
            "Flags:\n  --all\n      All [of] them\n\n"
            "Accepted as kube-apiserver's, without effect:\n  --old\n      no longer read\n"
            "\nExit status: 0.\n");
}

TEST(Help, TellsTheExitStatusIfTheCommandDoesNot) {
  constexpr std::string_view kStatus =
      "\nExit status: 0 done, 2 flags or files are wrong, 3 a mistake of ours.\n";
  const Command quiet = {"quiet", "says little", nullptr, nullptr, "Says little.\n"};
  EXPECT_EQ(HelpOf(quiet), base::StrCat("Says little.\n", kStatus));
  EXPECT_THAT(ManualPage(quiet), HasSubstr("Exit status: 0 done"));
}

}  // namespace
}  // namespace portcullis::cli
