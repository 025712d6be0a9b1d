/* The vault's loop: one question at a time, until the head is gone. Started by client.c, through
 * the program's main. */
#include "vault/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the answer held is wiped: it may have been a key. */
static int serve_one(struct vault *v, int fd)
{
	struct vault_message q, a;
	struct phx_buf answer = {0};
	char *body = NULL;
	int r = vault_receive(fd, &q, &body);
	if (r < 0)
		return r;
	vault_answer(v, &q, body, &a, &answer);
	r = vault_send(fd, &a, answer.data);
	if (answer.data)
		explicit_bzero(answer.data, answer.n);
	phx_buf_fini(&answer);
	free(body);
	return r;
}

void phx_vault_serve(int fd, const struct phx_vault_config *config)
{
	struct vault v = {.config = config};
	struct phx_err err = {0};
	/* ends with the head, not by what a terminal sends to both */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	int r = vault_confine(config, &err);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text);
	while (r == 0)
		r = serve_one(&v, fd);
	vault_fini(&v);
	/* nothing is left to do that exit handlers might want to do without their system calls */
	_exit(r == -EPIPE ? 0 : 1);
}
