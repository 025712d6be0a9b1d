/* Questions to the process that holds the keys, by a head that was taken over; and its log. Each
 * has an answer; what is signed is an erase record or a line about a journal. The first byte is
 * the question, or its log, or what speaks for the key of a node; the second the days.
 * Parsers: lib/vault/answer.c lib/vault/cert.c lib/vault/log_read.c */
#include "fuzz/fuzz.h"
#include "vault/internal.h"

#include <sys/stat.h>

static char pki_dir[256], key_dir[256];

static struct vault *vault(void)
{
	static const struct phx_vault_config config = {
		.pki_dir = pki_dir, .key_dir = key_dir, .user = ""};
	static struct vault v = {.config = &config};
	if (pki_dir[0])
		return &v;
	snprintf(pki_dir, sizeof(pki_dir), "%s/pki", fuzz_dir());
	snprintf(key_dir, sizeof(key_dir), "%s/keys", fuzz_dir());
	fuzz_never(mkdir(pki_dir, 0700) < 0 || mkdir(key_dir, 0700) < 0);
	const struct phx_apart_question q = {.op = VAULT_site, .body = ""};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	fuzz_never(vault_answer(&v, &q, &reply, NULL) < 0);
	return &v;
}

/* The files of the log, as a reader has them, with an anchor that says too much. */
static void audit(const char *dir)
{
	PHX_AUTO(phx_list_fini) struct phx_list turned = {0};
	struct phx_anchor anchors[2] = {{.log_lines = 1}, {.log_lines = UINT64_MAX}};
	const struct phx_list list = {.items = anchors, .n = 2};
	struct phx_vault_audit found;
	const char *paths[8];
	char last[300];
	size_t n = 0;
	memset(anchors[1].log_hash, 'a', sizeof(anchors[1].log_hash) - 1);
	snprintf(last, sizeof(last), "%s/vault.log", dir);
	paths[n++] = last;
	fuzz_never(phx_vault_log_turned(dir, &turned, NULL) < 0);
	PHX_LIST_EACH(struct phx_vault_file, f, &turned)
		if (n < PHX_ARRAY_SIZE(paths))
			paths[n++] = f->path;
	phx_vault_log_sort(paths, n);
	fuzz_never(phx_vault_log_audit(paths, n, &list, &found, NULL) < 1);
}

/* `turn`: the log is full then, and goes on in another file behind the one that was given. */
static void read_log(const uint8_t *data, size_t n, bool turn)
{
	static char dir[256];
	struct vault_log l;
	struct phx_err err = {0};
	char path[300];
	snprintf(dir, sizeof(dir), "%s/log", fuzz_dir());
	snprintf(path, sizeof(path), "%s/vault.log", dir);
	/* the digest of what is given is never in it: a line is altered, or a half one dropped;
	 * what says that it is not the first is believed */
	PHX_AUTO_FREE char *complaint = NULL, *again = NULL;
	fuzz_never(phx_dir_remove(dir, &err) < 0 || mkdir(dir, 0700) < 0);
	fuzz_never(phx_file_write(path, data, n, 0600, &err) < 0);
	int r = vault_log_open(&l, dir, 0, &complaint, &err);
	fuzz_never(r == 0 && memchr(data, '\n', n) && !memchr(data, '\0', n) &&
		   !memmem(data, n, " turned ", 8) && !complaint);
	l.max_bytes = turn ? 0 : l.max_bytes;
	fuzz_never(r == 0 && vault_log_add(&l, &err, "key give n1") < 0);
	if (l.fd >= 0)
		close(l.fd);
	fuzz_never(vault_log_open(&l, dir, 0, &again, &err) < 0 || (again && !complaint));
	audit(dir);
	close(l.fd);
}

/* A node has a key: nobody has another one certified for it by words. */
static void claim(const char *text, size_t n)
{
	static const char node[] = "the-node-of-the-claim";
	static char *csr[2];
	PHX_AUTO_FREE char *key = NULL;
	for (size_t i = 0; i < 2; i++)
		fuzz_never(!csr[i] && phx_csr_make("n", &key, &csr[i], NULL) < 0);
	for (size_t i = 0; i < 3; i++) {
		PHX_AUTO(phx_buf_fini) struct phx_buf body = {0};
		struct phx_apart_question q = {.op = VAULT_cert, .number = 1};
		PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
		vault_add_text(&body, csr[i > 0]);
		if (i == 2)
			vault_add_text(&body, ""); /* no token: a signature, a certificate */
		phx_buf_add(&body, text, n);
		q.body = body.data;
		q.n = (uint32_t)body.n;
		PHX_STR_SET(q.name, node);
		int r = vault_answer(vault(), &q, &reply, NULL);
		fuzz_never(i > 0 && r == 0);
	}
	struct phx_apart_question start = {.op = VAULT_start, .number = 7};
	struct phx_apart_question shown = {.op = VAULT_shown, .body = text, .n = (uint32_t)n};
	PHX_AUTO_REPLY struct phx_apart_reply token = {0}, said = {0};
	PHX_STR_SET(start.name, node);
	PHX_STR_SET(shown.name, node);
	fuzz_never(vault_answer(vault(), &start, &token, NULL) < 0 ||
		   vault_answer(vault(), &shown, &said, NULL) == 0);
	shown.body = token.body.data;
	fuzz_never(vault_answer(vault(), &shown, &said, NULL) < 0);
}

/* A node that has another key by what it can show, and is gone then. */
static void next(void)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL;
	PHX_AUTO(phx_buf_fini) struct phx_buf body = {0};
	struct phx_apart_question start = {.op = VAULT_start, .number = 8, .name = "of-a-start"},
				  cert = {.op = VAULT_cert, .number = 1, .name = "of-a-start"},
				  gone = {.op = VAULT_forget, .name = "of-a-start"};
	PHX_AUTO_REPLY struct phx_apart_reply token = {0}, given = {0}, none = {0};
	fuzz_never(phx_csr_make("n", &key, &csr, NULL) < 0 ||
		   vault_answer(vault(), &start, &token, NULL) < 0);
	vault_add_text(&body, csr);
	vault_add_text(&body, token.body.data);
	cert.body = body.data;
	cert.n = (uint32_t)body.n;
	fuzz_never(vault_answer(vault(), &cert, &given, NULL) < 0 ||
		   vault_answer(vault(), &gone, &none, NULL) < 0);
}

static void ask(uint32_t op, uint32_t days, const char *text, size_t n)
{
	struct phx_apart_question q = {.op = op, .number = days, .body = text, .n = (uint32_t)n};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	/* keys have the text as their name, nodes one of ours */
	snprintf(q.name, sizeof(q.name), "%.*s", PHX_NAME_MAX - 1,
		 op >= VAULT_key_make ? text : "n1");
	int r = vault_answer(vault(), &q, &reply, NULL);
	fuzz_never(r > 0 || reply.body.failed);
	fuzz_never(op == VAULT_sign && r == 0 && text[0] != '{' && !strstr(text, " journal "));
	fuzz_never(op == VAULT_cert && r == 0 && days > PHX_NODE_CERT_DAYS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 2)
		return 0;
	PHX_AUTO_FREE char *text = fuzz_text(data + 2, n - 2);
	vault();
	if (data[0] == 'l')
		read_log(data + 2, n - 2, data[1] == 't');
	else if (data[0] == 'n')
		claim(text, n - 2);
	else if (data[0] == 's')
		next();
	else
		ask(data[0] >= 'a' ? (uint32_t)data[0] - 'a' : data[0], data[1], text, n - 2);
	return 0;
}
