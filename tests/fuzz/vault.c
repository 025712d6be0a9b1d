/* Questions to the process that holds the keys, by a head that was taken over; and its log. Each
 * has an answer; what is signed is an erase record or a line about a journal. The first byte is
 * the question, or its log; the second the days.
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

/* `turn`: the log is full then, and goes on in another file behind the one that was given. */
static void read_log(const uint8_t *data, size_t n, bool turn)
{
	static char dir[256];
	struct vault_log l;
	struct phx_err err = {0};
	char path[300];
	snprintf(dir, sizeof(dir), "%s/log", fuzz_dir());
	snprintf(path, sizeof(path), "%s/vault.log", dir);
	/* the digest of what is given is never in it: a line is altered, or a half one dropped */
	PHX_AUTO_FREE char *complaint = NULL, *again = NULL;
	fuzz_never(phx_dir_remove(dir, &err) < 0 || mkdir(dir, 0700) < 0);
	fuzz_never(phx_file_write(path, data, n, 0600, &err) < 0);
	int r = vault_log_open(&l, dir, 0, &complaint, &err);
	fuzz_never(r == 0 && memchr(data, '\n', n) && !memchr(data, '\0', n) && !complaint);
	l.max_bytes = turn ? 0 : l.max_bytes;
	fuzz_never(r == 0 && vault_log_add(&l, &err, "key give n1") < 0);
	if (l.fd >= 0)
		close(l.fd);
	fuzz_never(vault_log_open(&l, dir, 0, &again, &err) < 0 || (again && !complaint));
	close(l.fd);
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
	else
		ask(data[0] >= 'a' ? (uint32_t)data[0] - 'a' : data[0], data[1], text, n - 2);
	return 0;
}
