// Names of hosts that are not written in ASCII (IDNA2008, UTS #46): libidn2, which libcurl brings along. libcurl itself
// converts them by the process's locale only, which cron and containers leave at "C".

#pragma once
#include <idn2.h>

// UTS #46, as browsers do it: capitals, full-width letters and dots are mapped; "ß" stays a letter of its own.
static inline int dlm_host_to_ascii(const char *host, char **ascii) {
  return idn2_to_ascii_8z(host, ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
}
