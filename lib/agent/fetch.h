/* Files from the head, checked before they are published. */
#ifndef PHX_AGENT_FETCH_H
#define PHX_AGENT_FETCH_H

#include "http/http.h"

/** `wanted` is asked while bytes come in: true ends the transfer with -ECANCELED. NULL: never. */
struct fetch_stop {
	bool (*wanted)(void *arg);
	void *arg;
};

/** Fetch `path` into the file `dest`. The file is written beside it, compared with `size` (0 =
 * unknown, then at most `max`) and `sha256` (hex; "" = unchecked), synced, renamed. A `dest` that
 * is right already is kept. `stop` may be NULL. -EFBIG, -EBADMSG, -ECANCELED. */
int fetch_file(struct phx_http_client *c, const char *path, const char *dest, uint64_t size,
	       uint64_t max, const char *sha256, const struct fetch_stop *stop,
	       struct phx_err *err);

/** Append `path` to the open file `fd` with the same checks. On failure the file is cut back to its
 * old size. */
int fetch_append(struct phx_http_client *c, const char *path, int fd, uint64_t size, uint64_t max,
		 const char *sha256, struct phx_err *err);

#endif
