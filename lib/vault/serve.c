/* The process that the vault is. Started by client.c, through the program's main. */
#include "vault/internal.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

void phx_vault_serve(int fd, const struct phx_vault_config *config)
{
	struct vault v = {.config = config};
	struct phx_err err = {0};
	const struct phx_apart_server server = {
		.body_max = VAULT_BODY_MAX, .answer = vault_answer, .arg = &v};
	phx_apart_deaf();
	int r = vault_confine(config, &err);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text);
	r = r ? r : phx_apart_serve(fd, &server);
	vault_fini(&v);
	/* nothing is left to do that exit handlers might want to do without their system calls */
	_exit(r == -EPIPE ? 0 : 1);
}
