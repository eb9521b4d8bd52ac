// Checksums: OpenSSL's libcrypto, which libcurl brings along.

#pragma once
// The functions of one algorithm each are deprecated in favour of EVP, whose state is a handle.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>

typedef union {
  MD5_CTX md5;
  SHA_CTX sha1;
  SHA256_CTX sha256;  // and SHA-224
  SHA512_CTX sha512;  // and SHA-384
} dlm_hash;
