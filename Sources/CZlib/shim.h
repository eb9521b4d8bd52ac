#pragma once
#include <zlib.h>

// zlib's own is a macro, which Swift does not import. 16 beside the window: gzip's form (RFC 1952), and no other.
static inline int dlm_inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 15 + 16); }
