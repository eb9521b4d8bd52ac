// The C door: what Swift cannot call by itself.
//
// libcurl's setopt and getinfo are variadic, which Swift does not import: one inline function per argument
// kind. The kind must match the option (curl_easy_setopt(3)): an int where a long is read is garbage, so the
// Swift side sees only these typed doors. epoll and eventfd are not in Swift's Glibc module.

#pragma once
#include <curl/curl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline CURLcode dlm_setopt_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode dlm_setopt_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode dlm_setopt_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode dlm_setopt_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

typedef size_t (*dlm_data_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*dlm_open_callback)(void *context, curl_socket_t socket, curlsocktype purpose);
typedef int (*dlm_close_callback)(void *context, curl_socket_t socket);
typedef int (*dlm_request_callback)(
  void *context, char *remoteAddress, char *localAddress, int remotePort, int localPort);

typedef int (*dlm_host_key_callback)(void *context, int type, const char *key, size_t length);

// Asked about the key of each server over SSH.
static inline CURLcode dlm_setopt_host_key(CURL *easy, dlm_host_key_callback judge, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SSH_HOSTKEYFUNCTION, judge);
  return code ? code : curl_easy_setopt(easy, CURLOPT_SSH_HOSTKEYDATA, context);
}

static const long dlm_ssh_auth_types =
  CURLSSH_AUTH_PUBLICKEY | CURLSSH_AUTH_AGENT | CURLSSH_AUTH_PASSWORD | CURLSSH_AUTH_KEYBOARD;

// A file that is in memory only; negative if the kernel refuses. memfd_create and MFD_CLOEXEC are hidden from Swift.
static inline int dlm_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 1U); }

// The lines of a head on their way to Swift, which is called once for each head, and not for each line.
typedef struct {
  char *bytes;
  size_t count, capacity;
  size_t limit;  // a longer head is passed on as far as it came
  bool isEndless;  // its lines are replies of a server without heads: no empty line ends them
  dlm_data_callback take;
  void *context;
} dlm_head;
static inline size_t dlm_head_gather(char *line, size_t size, size_t count, void *context) {
  dlm_head *head = context;
  size_t length = size * count, all = head->count + length;
  if (all > head->capacity) {
    size_t capacity = all < 1024 ? 1024 : all * 2;
    char *bytes = realloc(head->bytes, capacity);
    if (!bytes) return 0;
    head->bytes = bytes;
    head->capacity = capacity;
  }
  memcpy(head->bytes + head->count, line, length);
  head->count = all;
  bool isEnd = length > 0 && !head->isEndless && (line[0] == '\r' || line[0] == '\n');
  if (!isEnd && all <= head->limit) return length;
  head->count = 0;
  bool isTaken = head->take(head->bytes, 1, all, head->context) == all;
  free(head->bytes);  // thousands of transfers may wait for the rest of their bodies
  head->bytes = NULL;
  head->capacity = 0;
  return isTaken ? length : 0;
}

// All that libcurl calls for a handle. The close callback's context is another, which outlives the handle.
static inline CURLcode dlm_setopt_callbacks(
  CURL *easy, void *context, dlm_head *head, dlm_data_callback body, dlm_open_callback open,
  dlm_request_callback request, dlm_close_callback close, void *closeContext) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, dlm_head_gather);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, head);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, open);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, context);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, request);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close);
  return code ? code : curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, closeContext);
}

static inline CURLcode dlm_getinfo_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode dlm_getinfo_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode dlm_getinfo_pointer(CURL *easy, CURLINFO info, char **value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode dlm_getinfo_socket(CURL *easy, CURLINFO info, curl_socket_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

// The caller frees the list.
static inline CURLcode dlm_getinfo_list(CURL *easy, CURLINFO info, struct curl_slist **value) {
  return curl_easy_getinfo(easy, info, value);
}

// CURLAUTH_… are macros with casts, which Swift does not import.
static const long dlm_auth_none = (long)CURLAUTH_NONE;
static const long dlm_auth_basic = (long)CURLAUTH_BASIC;
static const long dlm_auth_digest = (long)CURLAUTH_DIGEST;
static const long dlm_auth_negotiate = (long)CURLAUTH_NEGOTIATE;

// Cookies that threads share. Sendable, since libcurl uses the data only between calls of the lock functions below; a
// mutex for each kind of data, since libcurl may hold one while it asks for another.
typedef struct {
  CURLSH *share;
  pthread_mutex_t *mutexes;
} __attribute__((swift_attr("@Sendable"))) dlm_cookies;
static inline void dlm_share_lock(CURL *easy, curl_lock_data data, curl_lock_access access, void *mutexes) {
  (void)easy;
  (void)access;
  (void)pthread_mutex_lock((pthread_mutex_t *)mutexes + data);
}
static inline void dlm_share_unlock(CURL *easy, curl_lock_data data, void *mutexes) {
  (void)easy;
  (void)pthread_mutex_unlock((pthread_mutex_t *)mutexes + data);
}
static inline CURLcode dlm_cookies_init(dlm_cookies *cookies) {
  cookies->mutexes = calloc(CURL_LOCK_DATA_LAST, sizeof(pthread_mutex_t));
  if (!cookies->mutexes) return CURLE_OUT_OF_MEMORY;
  for (int i = 0; i < CURL_LOCK_DATA_LAST; i++) (void)pthread_mutex_init(&cookies->mutexes[i], NULL);
  cookies->share = curl_share_init();
  CURLSHcode code = cookies->share ? CURLSHE_OK : CURLSHE_NOMEM;
  if (!code) code = curl_share_setopt(cookies->share, CURLSHOPT_LOCKFUNC, dlm_share_lock);
  if (!code) code = curl_share_setopt(cookies->share, CURLSHOPT_UNLOCKFUNC, dlm_share_unlock);
  if (!code) code = curl_share_setopt(cookies->share, CURLSHOPT_USERDATA, cookies->mutexes);
  if (!code) code = curl_share_setopt(cookies->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
  return code ? CURLE_OUT_OF_MEMORY : CURLE_OK;
}
// False where a handle still uses them: they are leaked rather than freed then.
static inline bool dlm_cookies_free(dlm_cookies cookies) {
  if (cookies.share && curl_share_cleanup(cookies.share)) return false;
  for (int i = 0; cookies.mutexes && i < CURL_LOCK_DATA_LAST; i++) (void)pthread_mutex_destroy(&cookies.mutexes[i]);
  free(cookies.mutexes);
  return true;
}

typedef int (*dlm_socket_callback)(
  CURL *easy, curl_socket_t socket, int what, void *context, void *socketContext);
typedef int (*dlm_timer_callback)(CURLM *multi, long milliseconds, void *context);
static inline CURLMcode dlm_multi_set_callbacks(
  CURLM *multi, dlm_socket_callback socket, dlm_timer_callback timer, void *context) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
  if (!code) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  if (!code) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
  return code ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}
static inline CURLMcode dlm_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

// Deprecated for its cost. libcurl 7.88 watches neither socket of an FTP server while the handshake of its data's TLS
// waits for RETR, which it sends only when asked.
static inline CURLMcode dlm_multi_act_on_all(CURLM *multi) {
  int running = 0;
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  return curl_multi_socket_all(multi, &running);
#pragma clang diagnostic pop
}

// The union inside CURLMsg, by name.
static inline CURLcode dlm_message_result(const CURLMsg *message) { return message->data.result; }

// struct epoll_event is packed on x86-64; its union is filled here.
static inline int dlm_epoll_control(int epoll, int operation, int descriptor, uint32_t events) {
  struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
  return epoll_ctl(epoll, operation, descriptor, &event);
}
static inline int dlm_epoll_event_descriptor(const struct epoll_event *event) { return event->data.fd; }
static inline uint32_t dlm_epoll_event_mask(const struct epoll_event *event) { return event->events; }

// CURLVERSION_NOW is a macro over an enum, which Swift does not import.
static inline const char *dlm_curl_version(void) { return curl_version_info(CURLVERSION_NOW)->version; }

// Where libcurl was built to look for certificates; NULL for nowhere.
static inline const char *dlm_curl_ca_file(void) { return curl_version_info(CURLVERSION_NOW)->cainfo; }
static inline const char *dlm_curl_ca_folder(void) { return curl_version_info(CURLVERSION_NOW)->capath; }

static inline int dlm_curl_has_https_proxy(void) {
  return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTPS_PROXY) != 0;
}

// Whether libcurl has Negotiate. CURL_VERSION_SPNEGO is a macro with a shift.
static inline int dlm_curl_has_negotiate(void) {
  return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_SPNEGO) != 0;
}

// As shown by ps -L and top -H; at most 15 characters. pthread_setname_np is hidden from Swift.
static inline void dlm_name_thread(const char *name) { (void)prctl(PR_SET_NAME, name, 0, 0, 0); }
