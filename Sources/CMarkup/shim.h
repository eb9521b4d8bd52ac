// Lists in XML and HTML: libxml2's push parsers, whose callbacks add records to a buffer that Swift reads between two
// blocks. The library is loaded when the first such list is read: linked, it and what it brings (ICU) would make every
// start a third longer, and its headers cannot be found without linking it. So what is needed of its interface, which is
// the same since 2.6, stands here.

#pragma once
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// xmlSAXHandler, by the places of its functions.
typedef struct {
  void *other0[14];
  void (*startElement)(void *state, const char *name, const char **attributes);
  void (*endElement)(void *state, const char *name);
  void *reference;
  void (*characters)(void *state, const char *text, int length);
  void (*ignorableWhitespace)(void *state, const char *text, int length);
  void *processingInstruction;
  void (*comment)(void *state, const char *text);
  void *other21[4];
  void (*cdataBlock)(void *state, const char *text, int length);
  void *externalSubset;
  unsigned int initialized;  // 1: without namespaces
  void *others[4];
} dlm_sax;

// The beginning of xmlError.
typedef struct {
  int domain, code;
  const char *message;
} dlm_markup_error;

typedef struct {
  // Records: a kind (`<`, `>` or `t`), the line and the length of what follows, four bytes each: a text, or a name and,
  // for `<`, its attributes' names and values, each with a zero byte.
  uint8_t *bytes;
  size_t count, room;
  // How often the parser told of anything: else it holds what it was given.
  size_t told;
  void *parser;
  int is_html;
  int (*parse)(void *parser, const char *bytes, int count, int is_end);
  int (*line)(void *parser);
  dlm_markup_error *(*last_error)(void *parser);
  void (*release)(void *parser);
} dlm_markup;

// What is longer is no address, and is left out.
#define DLM_MARKUP_LONGEST 65536

static inline void dlm_markup_add(dlm_markup *markup, const void *bytes, size_t count) {
  if (markup->count + count > markup->room) {
    size_t room = (markup->count + count) * 2;
    uint8_t *grown = realloc(markup->bytes, room);
    if (!grown) abort();  // as Swift does where memory is out
    markup->bytes = grown;
    markup->room = room;
  }
  if (count) memcpy(markup->bytes + markup->count, bytes, count);
  markup->count += count;
}

static inline void dlm_markup_head(dlm_markup *markup, char kind, size_t length) {
  markup->told += 1;
  uint32_t numbers[2] = {(uint32_t)markup->line(markup->parser), (uint32_t)length};
  dlm_markup_add(markup, &kind, 1);
  dlm_markup_add(markup, numbers, sizeof numbers);
}

static void dlm_markup_start(void *state, const char *name, const char **attributes) {
  dlm_markup *markup = state;
  dlm_markup_head(markup, '<', 0);
  size_t begin = markup->count;
  dlm_markup_add(markup, name, strlen(name) + 1);
  for (const char **next = attributes; next && next[0]; next += 2) {
    const char *value = next[1] ? next[1] : "";
    if (strlen(value) > DLM_MARKUP_LONGEST) continue;
    dlm_markup_add(markup, next[0], strlen(next[0]) + 1);
    dlm_markup_add(markup, value, strlen(value) + 1);
  }
  uint32_t length = (uint32_t)(markup->count - begin);
  memcpy(markup->bytes + begin - sizeof length, &length, sizeof length);
}

static void dlm_markup_end(void *state, const char *name) {
  size_t length = strlen(name) + 1;
  dlm_markup_head(state, '>', length);
  dlm_markup_add(state, name, length);
}

static void dlm_markup_text(void *state, const char *text, int length) {
  dlm_markup_head(state, 't', (size_t)length);
  dlm_markup_add(state, text, (size_t)length);
}

static void dlm_markup_blank(void *state, const char *text, int length) { ((dlm_markup *)state)->told += 1; }

static void dlm_markup_comment(void *state, const char *text) { ((dlm_markup *)state)->told += 1; }

static inline void *dlm_markup_library(void) {
  void *library = dlopen("libxml2.so.2", RTLD_NOW);
  return library ? library : dlopen("libxml2.so.16", RTLD_NOW);  // 2.14 and newer
}

// Returns null without the library. No entity is ever declared, so none can grow; nothing is read from elsewhere.
static inline dlm_markup *dlm_markup_new(int is_html) {
  void *library = dlm_markup_library();
  dlm_markup *markup = library ? calloc(1, sizeof *markup) : NULL;
  if (!markup) return NULL;
  // They are all there since 2.6, unless the library was built without a part of them.
  *(void **)&markup->parse = dlsym(library, is_html ? "htmlParseChunk" : "xmlParseChunk");
  *(void **)&markup->release = dlsym(library, is_html ? "htmlFreeParserCtxt" : "xmlFreeParserCtxt");
  *(void **)&markup->line = dlsym(library, "xmlSAX2GetLineNumber");
  *(void **)&markup->last_error = dlsym(library, "xmlCtxtGetLastError");
  void *(*create)(dlm_sax *, void *state, const char *start, int count, const char *name, int encoding);
  *(void **)&create = dlsym(library, is_html ? "htmlCreatePushParserCtxt" : "xmlCreatePushParserCtxt");
  int (*use)(void *parser, int options);
  *(void **)&use = dlsym(library, is_html ? "htmlCtxtUseOptions" : "xmlCtxtUseOptions");
  dlm_sax sax = {
    .startElement = dlm_markup_start, .endElement = dlm_markup_end, .characters = dlm_markup_text,
    .ignorableWhitespace = dlm_markup_blank, .comment = dlm_markup_comment, .cdataBlock = dlm_markup_text,
    .initialized = 1,
  };
  int is_whole = markup->parse && markup->release && markup->line && markup->last_error && create && use;
  markup->is_html = is_html;
  markup->parser = is_whole ? create(&sax, markup, NULL, 0, NULL, 0) : NULL;
  if (!markup->parser) {
    free(markup);
    return NULL;
  }
  const int no_error = 32, no_warning = 64, no_net = 2048;
  use(markup->parser, no_error | no_warning | no_net);
  return markup;
}

// Takes the next bytes; none is the end. Its records replace those of the call before.
// Returns what is wrong with the document, at the parser's line; null for nothing.
static inline const char *dlm_markup_take(dlm_markup *markup, const void *bytes, size_t count) {
  markup->count = 0;
  int code = markup->parse(markup->parser, bytes, (int)count, count == 0);
  if (markup->is_html || code == 0) return NULL;
  const int document_end = 5;  // said of what is not at its end
  if (count == 0 && code == document_end) return "it ends in the middle";
  dlm_markup_error *error = markup->last_error(markup->parser);
  return error && error->message ? error->message : "it is not well-formed";
}

static inline void dlm_markup_free(dlm_markup *markup) {
  markup->release(markup->parser);
  free(markup->bytes);
  free(markup);
}
