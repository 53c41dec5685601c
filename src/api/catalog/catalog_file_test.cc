// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/catalog_file.h"

#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "api/embedded_data.h"

namespace portcullis::api::catalog {
namespace {

TEST(CatalogFileTest, ADamagedFileIsAnError) {
  EXPECT_EQ(Catalog::Load("x", {}).status().message(), "not a catalog file");
  std::string file(EmbeddedCatalogFile());
  EXPECT_FALSE(Catalog::Load(file.substr(0, 1000), {}).ok());
  for (std::size_t at = 40; at < 400; at += 7) file[at] = static_cast<char>(file[at] ^ 0x5A);
  EXPECT_FALSE(Catalog::Load(file, {}).ok());
}

TEST(CatalogFileTest, SectionsComeBackAsTheyWere) {
  const std::string file = PackSections({{"a", "text"}, {"b", ""}});
  EXPECT_EQ(*UnpackSection(file, "a"), "text");
  EXPECT_EQ(*UnpackSection(file, "b"), "");
  EXPECT_FALSE(UnpackSection(file, "c").ok());
}

}  // namespace
}  // namespace portcullis::api::catalog
