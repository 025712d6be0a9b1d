/* What the files of this room share; nobody outside it includes this. */
#ifndef PHX_APART_INTERNAL_H
#define PHX_APART_INTERNAL_H

#include "apart/apart.h"

/** A question or its answer: of one shape, followed by `n` bytes. */
struct apart_message {
	uint32_t op;
	int32_t result; /* of an answer: 0, or negative errno; the bytes are then its text */
	uint64_t number;
	uint32_t n;
	char name[PHX_NAME_MAX];
};

/** Descriptors that come with a message: the socket of the answer, and one that goes along. */
enum { APART_FDS = 2 };
struct apart_fds {
	int fd[APART_FDS];
	unsigned n;
};
void apart_fds_close(struct apart_fds *f);

/** Both block. -EPIPE when the other side has ended, -ETIMEDOUT (socket option), -EPROTO for what
 * is no message. `fds`: NULL = none; received ones are the caller's, and more than that are closed.
 * `ret_body` is malloc'd, with a '\0' behind its n bytes; the caller wipes it. */
int apart_send(int fd, const struct apart_message *m, const void *body,
	       const struct apart_fds *fds);
int apart_receive(int fd, uint32_t body_max, struct apart_message *ret, char **ret_body,
		  struct apart_fds *ret_fds);

#endif
