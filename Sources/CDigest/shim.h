// Checksums and keyed hashes: OpenSSL's libcrypto, which libcurl brings along.

#pragma once
#include <openssl/evp.h>
