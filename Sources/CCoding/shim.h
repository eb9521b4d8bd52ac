// What takes content codings off: zlib and brotli, which libcurl brings along. libcurl's own decoders do not
// tell a coded body that was cut from one that has ended.

#pragma once
#include <brotli/decode.h>
#include <zlib.h>

// inflateInit2 is a macro, which Swift does not import.
static inline int dlm_inflate_begin(z_stream *stream, int windowBits) {
  return inflateInit2(stream, windowBits);
}
