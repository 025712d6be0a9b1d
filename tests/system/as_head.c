/* Who has taken over the head asks what holds the site's keys, with words of his own:
 *
 *	as_head PHXD PKI_DIR KEY_DIR cert NODE DIR [BEHIND...]
 *
 * a certificate of NODE for a key that is made on the spot: DIR/key.pem, DIR/cert.pem. BEHIND: what
 * he says of it besides, an argument a text.
 *
 * On a head that is stopped: there is one such process at a time. Exits with 1 where it is refused,
 * which is said. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "vault/internal.h"

static int write_in(const char *dir, const char *name, const char *text, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	return path ? phx_file_write(path, text, strlen(text), 0600, err) : -ENOMEM;
}

static int ask_cert(struct phx_apart *vault, char *argv[], struct phx_err *err)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL;
	PHX_AUTO(phx_buf_fini) struct phx_buf texts = {0};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = phx_csr_make("me", &key, &csr, err);
	if (r < 0)
		return r;
	vault_add_text(&texts, csr);
	for (char **behind = argv + 2; *behind; behind++)
		vault_add_text(&texts, *behind);
	/* the last end of a text comes with every question */
	struct phx_apart_question q = {
		.op = VAULT_cert, .number = 1, .body = texts.data, .n = (uint32_t)texts.n - 1};
	PHX_STR_SET(q.name, argv[0]);
	r = phx_apart_ask(vault, &q, 0, &reply, err);
	r = r ? r : write_in(argv[1], "key.pem", key, err);
	return r ? r : write_in(argv[1], "cert.pem", reply.body.data, err);
}

int main(int argc, char *argv[])
{
	struct phx_err err = {0};
	struct phx_apart *vault = NULL;
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	if (argc < 7 || strcmp(argv[4], "cert")) {
		fprintf(stderr, "as_head PHXD PKI_DIR KEY_DIR cert NODE DIR [BEHIND...]\n");
		return 2;
	}
	const char *const process[] = {argv[1], "--vault", argv[2], argv[3], "", "0", NULL};
	const struct phx_apart_config config = {.what = "the vault",
						.argv = process,
						.answer_ms = 30000,
						.body_max = VAULT_BODY_MAX};
	int r = phx_apart_start(&config, &vault, &err);
	const struct phx_apart_question site = {.op = VAULT_site, .body = ""};
	r = r ? r : phx_apart_ask(vault, &site, 0, &reply, &err);
	r = r ? r : ask_cert(vault, argv + 5, &err);
	phx_apart_end(vault);
	if (r < 0)
		printf("%s: %s\n", strerror(-r), err.text);
	return r < 0;
}
