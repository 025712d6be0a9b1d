/* To whom keys of disks are given: to the node whose disk it is, a few times for each start of its
 * machine. What was given stands beside the key, as "BOOT TIMES"; what was refused in the log.
 * Called by answer.c. Gives nothing itself. */
#include "vault/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum {
	/* a start asks once; a step that is tried again, an agent that crashed or an answer that
	 * was lost ask more often */
	GIVEN_MAX = 10,
	REFUSALS_MAX = 10,
	REFUSALS_MS = 60 * 1000, /* so many are logged in that time: who asks may be an owner */
	RECORD_MAX = 128
};

struct given {
	char boot_id[PHX_ASK_BOOT_MAX];
	unsigned n;
};

bool vault_key_is_of(const char *key_id, const char *node)
{
	char begins[PHX_NAME_MAX];
	int n = snprintf(begins, sizeof(begins), "%.40s-", node);
	const char *number = key_id + n;
	return phx_str_starts(key_id, begins) && number[0] &&
		strspn(number, "0123456789") == strlen(number);
}

/* ---- what was given ---- */

static char *record_path(const struct vault *v, const char *key_id)
{
	return phx_path("%s/.%s", v->config->key_dir, key_id);
}

/* Without a record nothing was given; what cannot be read may be any. */
static int read_given(const char *path, struct given *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	char boot[PHX_ASK_BOOT_MAX];
	unsigned n;
	*ret = (struct given){0};
	int r = phx_file_read(path, RECORD_MAX, &text, NULL, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (sscanf(text, "%39s %u\n", boot, &n) != 2)
		return phx_err_set(err, -EBADMSG, "%s: does not say to which start it was given",
				   path);
	PHX_STR_SET(ret->boot_id, boot);
	ret->n = n;
	return 0;
}

int vault_note_given(const struct vault *v, const char *key_id, const char *boot_id,
		     unsigned *ret_n, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = record_path(v, key_id);
	char line[RECORD_MAX];
	struct given given;
	int r = path ? read_given(path, &given, err) : -ENOMEM;
	if (r < 0)
		return r;
	if (strcmp(given.boot_id, boot_id) != 0)
		given.n = 0;
	if (given.n >= GIVEN_MAX)
		return phx_err_set(err, -EPERM,
				   "it was given %u times since that start of the machine: start "
				   "it anew",
				   given.n);
	int n = snprintf(line, sizeof(line), "%s %u\n", boot_id, given.n + 1);
	r = phx_file_write(path, line, (size_t)n, 0600, err);
	if (r == 0)
		*ret_n = given.n + 1;
	return r;
}

void vault_forget_given(const struct vault *v, const char *key_id)
{
	PHX_AUTO_FREE char *path = phx_name_valid(key_id) ? record_path(v, key_id) : NULL;
	if (path)
		unlink(path);
}

/* ---- what was refused ---- */

/* Is another refusal logged? ret_unsaid: so many were not before it. */
static bool tells_refusal(struct vault *v, unsigned *ret_unsaid)
{
	int64_t now = phx_clock_ms();
	*ret_unsaid = 0;
	if (!v->refusals_ms || now - v->refusals_ms >= REFUSALS_MS) {
		*ret_unsaid = v->n_refusals > REFUSALS_MAX ? v->n_refusals - REFUSALS_MAX : 0;
		v->refusals_ms = now;
		v->n_refusals = 0;
	}
	return v->n_refusals++ < REFUSALS_MAX;
}

void vault_log_refusal(struct vault *v, const char *what, const char *which, const char *why)
{
	unsigned unsaid;
	if (!tells_refusal(v, &unsaid))
		return;
	if (unsaid)
		VAULT_LOGGED(v, NULL, "%s refuse: %u more", what, unsaid);
	VAULT_LOGGED(v, NULL, "%s refuse%s%s: %.150s", what, which[0] ? " " : "", which, why);
}
