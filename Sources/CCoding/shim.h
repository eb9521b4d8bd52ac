// What takes codings off, a step at a time: zlib and brotli, which libcurl brings along, and for lists zstd and xz.
// libcurl's own decoders do not tell a coded body that was cut from one that has ended.
//
// Few lists are compressed with the latter two, so their libraries are loaded when the first one is read; what is needed
// of their interfaces, which do not change, stands here.

#pragma once
#include <brotli/decode.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <zlib.h>

// lzma_stream
typedef struct {
  const void *next_in;
  size_t avail_in;
  uint64_t total_in;
  void *next_out;
  size_t avail_out;
  uint64_t total_out;
  void *pointers[6];
  uint64_t numbers[2];
  size_t sizes[2];
  int others[2];
} dlm_lzma;

// ZSTD_inBuffer and ZSTD_outBuffer
typedef struct {
  const void *bytes;
  size_t size, place;
} dlm_zstd_buffer;

enum dlm_coding { DLM_GZIP, DLM_DEFLATE, DLM_BROTLI, DLM_ZSTD, DLM_XZ };
enum dlm_unpacked { DLM_GOES_ON, DLM_ENDED, DLM_DAMAGED, DLM_NO_MEMORY };

typedef struct {
  enum dlm_coding coding;
  int has_begun;
  z_stream zlib;
  BrotliDecoderState *brotli;
  void *zstd;
  size_t (*zstd_step)(void *zstd, dlm_zstd_buffer *output, dlm_zstd_buffer *input);
  size_t (*zstd_free)(void *zstd);
  dlm_lzma xz;
  int (*xz_begin)(dlm_lzma *xz, uint64_t most_memory, uint32_t flags);
  int (*xz_step)(dlm_lzma *xz, int action);
  void (*xz_free)(dlm_lzma *xz);
} dlm_unpacker;

static inline void dlm_unpacker_free(dlm_unpacker *unpacker) {
  inflateEnd(&unpacker->zlib);  // for a stream that never began, this only returns an error
  if (unpacker->brotli) BrotliDecoderDestroyInstance(unpacker->brotli);
  if (unpacker->zstd) unpacker->zstd_free(unpacker->zstd);
  if (unpacker->xz_free) unpacker->xz_free(&unpacker->xz);
  free(unpacker);
}

// Returns null without memory, or without the library.
static inline dlm_unpacker *dlm_unpacker_new(enum dlm_coding coding) {
  dlm_unpacker *unpacker = calloc(1, sizeof *unpacker);
  if (!unpacker) return NULL;
  unpacker->coding = coding;
  int is_ready = coding == DLM_GZIP || coding == DLM_DEFLATE;
  if (coding == DLM_BROTLI) {
    unpacker->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    is_ready = unpacker->brotli != NULL;
  }
  void *library = coding == DLM_ZSTD ? dlopen("libzstd.so.1", RTLD_NOW)
    : coding == DLM_XZ ? dlopen("liblzma.so.5", RTLD_NOW) : NULL;
  if (library && coding == DLM_ZSTD) {
    void *(*create)(void);
    *(void **)&create = dlsym(library, "ZSTD_createDStream");
    *(void **)&unpacker->zstd_step = dlsym(library, "ZSTD_decompressStream");
    *(void **)&unpacker->zstd_free = dlsym(library, "ZSTD_freeDStream");
    if (create && unpacker->zstd_step && unpacker->zstd_free) unpacker->zstd = create();
    is_ready = unpacker->zstd != NULL;
  } else if (library) {
    *(void **)&unpacker->xz_begin = dlsym(library, "lzma_stream_decoder");
    *(void **)&unpacker->xz_step = dlsym(library, "lzma_code");
    *(void **)&unpacker->xz_free = dlsym(library, "lzma_end");
    is_ready = unpacker->xz_begin && unpacker->xz_step && unpacker->xz_free;
  }
  if (is_ready) return unpacker;
  dlm_unpacker_free(unpacker);
  return NULL;
}

// Before each member, with its first byte. Returns 0 without memory. A window of zstd or xz may take 128 MiB, which is
// zstd's own limit, and twice what xz(1) makes.
static inline int dlm_unpacker_begin(dlm_unpacker *unpacker, uint8_t first) {
  int is_next = unpacker->has_begun;
  unpacker->has_begun = 1;
  switch (unpacker->coding) {
  case DLM_GZIP:
    return (is_next ? inflateReset(&unpacker->zlib) : inflateInit2(&unpacker->zlib, 15 + 16)) == Z_OK;
  case DLM_DEFLATE:
    // The low half of zlib's first byte is 8; a bare block begins like that only if its encoder padded it with ones.
    return inflateInit2(&unpacker->zlib, (first & 0x0F) == 8 ? 15 : -15) == Z_OK;
  case DLM_XZ: return unpacker->xz_begin(&unpacker->xz, 128 << 20, 0) == 0;
  default: return 1;
  }
}

// Takes `taken` bytes and gives `given` at most, and sets these to what it did: less than fit only where it has no more,
// or has come to its end.
static inline enum dlm_unpacked dlm_unpacker_step(
  dlm_unpacker *unpacker, const void *input, size_t *taken, void *output, size_t *given
) {
  if (unpacker->brotli) {
    const uint8_t *from = input;
    uint8_t *to = output;
    size_t left = *taken, room = *given;
    BrotliDecoderResult result = BrotliDecoderDecompressStream(unpacker->brotli, &left, &from, &room, &to, NULL);
    *taken -= left, *given -= room;
    if (result == BROTLI_DECODER_RESULT_SUCCESS) return DLM_ENDED;
    return result == BROTLI_DECODER_RESULT_ERROR ? DLM_DAMAGED : DLM_GOES_ON;
  }
  if (unpacker->zstd) {
    dlm_zstd_buffer from = {input, *taken, 0}, to = {output, *given, 0};
    size_t code = unpacker->zstd_step(unpacker->zstd, &to, &from);
    *taken = from.place, *given = to.place;
    if (code == 0) return DLM_ENDED;
    if (code == (size_t)-16 || code == (size_t)-64) return DLM_NO_MEMORY;  // for its window; for anything
    return code > (size_t)-120 ? DLM_DAMAGED : DLM_GOES_ON;                // ZSTD_isError
  }
  if (unpacker->xz_step) {
    dlm_lzma *xz = &unpacker->xz;
    xz->next_in = input, xz->avail_in = *taken, xz->next_out = output, xz->avail_out = *given;
    int code = unpacker->xz_step(xz, 0);
    *taken -= xz->avail_in, *given -= xz->avail_out;
    switch (code) {
    case 0: case 10: return DLM_GOES_ON;   // LZMA_OK; LZMA_BUF_ERROR: no progress with the bytes that are there
    case 1: return DLM_ENDED;              // LZMA_STREAM_END
    case 5: case 6: return DLM_NO_MEMORY;  // LZMA_MEM_ERROR, LZMA_MEMLIMIT_ERROR
    default: return DLM_DAMAGED;
    }
  }
  z_stream *zlib = &unpacker->zlib;
  zlib->next_in = (Bytef *)input, zlib->avail_in = (uInt)*taken, zlib->next_out = output, zlib->avail_out = (uInt)*given;
  int code = inflate(zlib, Z_NO_FLUSH);
  *taken -= zlib->avail_in, *given -= zlib->avail_out;
  switch (code) {
  case Z_OK: case Z_BUF_ERROR: return DLM_GOES_ON;  // the second: no progress with the bytes that are there
  case Z_STREAM_END: return DLM_ENDED;
  case Z_MEM_ERROR: return DLM_NO_MEMORY;
  default: return DLM_DAMAGED;
  }
}
