// SPDX-License-Identifier: Apache-2.0

#include "admission/request.h"

namespace portcullis::admission {

std::string_view OperationText(Operation operation) {
  switch (operation) {
    case kCreate:
      return "CREATE";
    case kUpdate:
      return "UPDATE";
    case kDelete:
      return "DELETE";
    case kConnect:
      return "CONNECT";
  }
  return "";
}

}  // namespace portcullis::admission
