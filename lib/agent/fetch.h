/* Files from the head, checked before anybody sees them. */
#ifndef PHX_AGENT_FETCH_H
#define PHX_AGENT_FETCH_H

#include "http/http.h"

/** Asked while bytes come in: true ends the transfer with -ECANCELED. No function: never. */
struct fetch_stop {
	bool (*wanted)(void *arg);
	void *arg;
};

/** Fetch `path` into the file `dest`: written beside, its size (0 = unknown, then at most `max`)
 * and SHA-256 (hex; "" = unchecked) compared, synced, renamed. A `dest` that already is right is
 * kept. `stop` may be NULL. -EFBIG, -EBADMSG, -ECANCELED. */
int fetch_file(struct phx_http_client *c, const char *path, const char *dest, uint64_t size,
	       uint64_t max, const char *sha256, const struct fetch_stop *stop,
	       struct phx_err *err);

/** Append `path` to the open file `fd` with the same checks; ret_size may be NULL. On failure the
 * file is cut back. */
int fetch_append(struct phx_http_client *c, const char *path, int fd, uint64_t size, uint64_t max,
		 const char *sha256, struct phx_err *err);

#endif
