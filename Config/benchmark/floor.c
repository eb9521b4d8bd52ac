// floor N LIST FOLDER BUFFER: what libcurl alone needs for a list of addresses, N at a time, in reads of BUFFER bytes.
#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct file { CURL *easy; int descriptor; char address[4096]; };
static int epoll, running, known[1 << 20];  // by socket: what the kernel was told to wait for
static FILE *list;
static CURLM *multi;

static void must(int condition, const char *what) { if (!condition) perror(what), exit(1); }

static size_t received(char *bytes, size_t one, size_t count, void *file) {
  return write(((struct file *)file)->descriptor, bytes, count);
}

static curl_socket_t opened(void *none, curlsocktype type, struct curl_sockaddr *a) {
  int number = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
  return number < 0 ? number : (known[number] = 0, number);
}

static int interested(CURL *easy, curl_socket_t socket, int what, void *none, void *also_none) {
  // An interest's end is not passed on: the next file on the connection has the same one.
  if (what == CURL_POLL_REMOVE || what == known[socket]) return 0;
  int bits = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
  struct epoll_event event = {bits, {.fd = socket}};
  must(epoll_ctl(epoll, known[socket] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) == 0, "epoll_ctl");
  return known[socket] = what, 0;
}

static void start(struct file *file) {
  if (!fgets(file->address, sizeof file->address, list)) return;
  file->address[strcspn(file->address, "\n")] = 0;
  file->descriptor = open(strrchr(file->address, '/') + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  curl_easy_setopt(file->easy, CURLOPT_URL, file->address);
  must(file->descriptor >= 0 && curl_multi_add_handle(multi, file->easy) == CURLM_OK, file->address);
  running++;
}

int main(int count, char **arguments) {
  must(count == 5 && (list = fopen(arguments[2], "r")) && chdir(arguments[3]) == 0, "floor N LIST FOLDER BUFFER");
  int width = atoi(arguments[1]), left;
  struct file *files = calloc(width, sizeof *files), *file;
  epoll = epoll_create1(EPOLL_CLOEXEC), multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, interested);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)width);
  for (file = files; file < files + width; start(file++)) {
    curl_easy_setopt(file->easy = curl_easy_init(), CURLOPT_PRIVATE, file);
    curl_easy_setopt(file->easy, CURLOPT_WRITEDATA, file);
    curl_easy_setopt(file->easy, CURLOPT_WRITEFUNCTION, received);
    curl_easy_setopt(file->easy, CURLOPT_OPENSOCKETFUNCTION, opened);
    curl_easy_setopt(file->easy, CURLOPT_BUFFERSIZE, atol(arguments[4]));
    curl_easy_setopt(file->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(file->easy, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(file->easy, CURLOPT_FRESH_CONNECT, 1L);  // there is none to reuse: else all are looked through
  }
  while (running > 0) {
    struct epoll_event events[256];
    long milliseconds = 0;
    curl_multi_timeout(multi, &milliseconds);
    int ready = milliseconds == 0 ? 0 : epoll_wait(epoll, events, 256, milliseconds), active;
    if (ready == 0) curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &active);
    for (struct epoll_event *event = events; event < events + ready; event++) {
      int bits = (event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) | (event->events & ~EPOLLOUT ? CURL_CSELECT_IN : 0);
      curl_multi_socket_action(multi, event->data.fd, bits, &active);
    }
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)); running--, start(file)) {
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &file);
      must(message->data.result == CURLE_OK && close(file->descriptor) == 0, file->address);
      curl_multi_remove_handle(multi, file->easy);
      curl_easy_setopt(file->easy, CURLOPT_FRESH_CONNECT, 0L);
    }
  }
}
