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
#include <stddef.h>
#include <stdint.h>

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

// CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION share this shape.
typedef size_t (*dlm_data_callback)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode dlm_setopt_data_callback(CURL *easy, CURLoption option, dlm_data_callback callback) {
  return curl_easy_setopt(easy, option, callback);
}
typedef int (*dlm_close_callback)(void *context, curl_socket_t socket);
static inline CURLcode dlm_setopt_close_callback(CURL *easy, dlm_close_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

typedef int (*dlm_open_callback)(void *context, curl_socket_t socket, curlsocktype purpose);
static inline CURLcode dlm_setopt_open_callback(CURL *easy, dlm_open_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, callback);
}

typedef int (*dlm_request_callback)(
  void *context, char *remoteAddress, char *localAddress, int remotePort, int localPort);
static inline CURLcode dlm_setopt_request_callback(CURL *easy, dlm_request_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
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

// The caller frees the list.
static inline CURLcode dlm_getinfo_list(CURL *easy, CURLINFO info, struct curl_slist **value) {
  return curl_easy_getinfo(easy, info, value);
}

// CURLAUTH_… are macros with casts, which Swift does not import.
static const long dlm_auth_none = (long)CURLAUTH_NONE;
static const long dlm_auth_basic = (long)CURLAUTH_BASIC;
static const long dlm_auth_digest = (long)CURLAUTH_DIGEST;
static const long dlm_auth_negotiate = (long)CURLAUTH_NEGOTIATE;

// A CURLSH that threads share: a mutex for each kind of data, since libcurl may hold one while it asks for
// another.
typedef struct {
  pthread_mutex_t mutexes[CURL_LOCK_DATA_LAST];
} dlm_share_locks;
static inline void dlm_share_locks_init(dlm_share_locks *locks) {
  for (int i = 0; i < CURL_LOCK_DATA_LAST; i++) (void)pthread_mutex_init(&locks->mutexes[i], NULL);
}
static inline void dlm_share_locks_destroy(dlm_share_locks *locks) {
  for (int i = 0; i < CURL_LOCK_DATA_LAST; i++) (void)pthread_mutex_destroy(&locks->mutexes[i]);
}
static inline void dlm_share_lock(CURL *easy, curl_lock_data data, curl_lock_access access, void *locks) {
  (void)easy;
  (void)access;
  (void)pthread_mutex_lock(&((dlm_share_locks *)locks)->mutexes[data]);
}
static inline void dlm_share_unlock(CURL *easy, curl_lock_data data, void *locks) {
  (void)easy;
  (void)pthread_mutex_unlock(&((dlm_share_locks *)locks)->mutexes[data]);
}
static inline CURLSHcode dlm_share_cookies(CURLSH *share, dlm_share_locks *locks) {
  CURLSHcode code = curl_share_setopt(share, CURLSHOPT_LOCKFUNC, dlm_share_lock);
  if (!code) code = curl_share_setopt(share, CURLSHOPT_UNLOCKFUNC, dlm_share_unlock);
  if (!code) code = curl_share_setopt(share, CURLSHOPT_USERDATA, locks);
  return code ? code : curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
}

typedef int (*dlm_socket_callback)(
  CURL *easy, curl_socket_t socket, int what, void *context, void *socketContext);
static inline CURLMcode dlm_multi_set_socket_callback(
  CURLM *multi, dlm_socket_callback callback, void *context) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return code ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}
typedef int (*dlm_timer_callback)(CURLM *multi, long milliseconds, void *context);
static inline CURLMcode dlm_multi_set_timer_callback(
  CURLM *multi, dlm_timer_callback callback, void *context) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return code ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}
static inline CURLMcode dlm_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
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

static inline int dlm_curl_has_https_proxy(void) {
  return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTPS_PROXY) != 0;
}

// Whether libcurl has Negotiate. CURL_VERSION_SPNEGO is a macro with a shift.
static inline int dlm_curl_has_negotiate(void) {
  return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_SPNEGO) != 0;
}

// As shown by ps -L and top -H; at most 15 characters. pthread_setname_np is hidden from Swift.
static inline void dlm_name_thread(const char *name) { (void)prctl(PR_SET_NAME, name, 0, 0, 0); }
