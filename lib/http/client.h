/* What client.c and transfer.c share. */
#ifndef PHX_HTTP_CLIENT_H
#define PHX_HTTP_CLIENT_H

#include <curl/curl.h>

#include "http/http.h"

struct phx_http_client {
	CURL *easy;
	struct curl_slist *headers; /* of the request under way */
	char *unix_path, *base_url, *ca, *cert, *key, *user, *password;
	uint32_t connect_timeout_ms;
	int watched_fd; /* -1: none */
	CURLM *multi;   /* of calls beside which that one is watched; NULL before the first */
	bool insecure;
	char error[CURL_ERROR_SIZE];
	/* of the request under way: */
	bool headers_ended; /* libcurl takes an answer cut within its headers for a whole one */
	void (*on_header)(void *arg, const char *line, size_t n); /* or NULL */
	void *on_header_arg;
};

/** Forget the last request and set what all requests of this client have in common. NULL with
 * a text on failure. */
CURL *phx_http_client_begin(struct phx_http_client *c, const char *path, struct phx_err *err);
/** Add a header to the request under way. */
void phx_http_client_header(struct phx_http_client *c, const char *name, const char *value);
/** Perform it. `receiver_code` (or NULL) points to what the body's receiver failed with: that wins
 * over what libcurl makes of it. */
int phx_http_client_perform(struct phx_http_client *c, const char *path, const int *receiver_code,
			    struct phx_err *err);
/** Perform it and take the body into memory. */
int phx_http_client_receive(struct phx_http_client *c, const char *path,
			    struct phx_http_response *ret, struct phx_err *err);
/** What phx_http_call_json() makes of an answer. */
int phx_http_answer_json(const char *path, const struct phx_http_response *response,
			 json_t **ret_json, struct phx_err *err);

#endif
