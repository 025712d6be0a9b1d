/* The head's side of the vault: what it is asked, on top of apart/apart.h. Called by the head's
 * threads. */
#include "vault/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define WHAT "the process that holds the keys"
enum { ANSWER_MS = 30000 /* longer than the first question takes, which makes keys */, ARGS = 7 };

struct phx_vault {
	struct phx_apart_config config;
	const char *argv[ARGS];
	char keep[12];
	struct phx_apart *process;
};

/* `want`: how long the answer must be; 0: any. */
static int ask(struct phx_vault *v, const struct phx_apart_question *q, uint32_t want,
	       struct phx_apart_reply *ret, struct phx_err *err)
{
	int r = phx_apart_ask(v->process, q, 0, ret, err);
	if (r < 0 || !want || ret->body.n == want)
		return r;
	phx_apart_reply_fini(ret);
	return phx_err_set(err, -EPROTO, "the vault's answer is not as long as it should be");
}

/* ---- the site ---- */

static int take_site(const struct phx_buf *b, struct phx_pki **ret, char **ret_complaint,
		     struct phx_err *err)
{
	const char *texts = b->data, *complaint = vault_text_at(texts, b->n, 5);
	const struct phx_pki_texts parts = {.ca = vault_text_at(texts, b->n, 0),
					    .server = vault_text_at(texts, b->n, 1),
					    .server_key = vault_text_at(texts, b->n, 2),
					    .site_pub = vault_text_at(texts, b->n, 3),
					    .attest_pub = vault_text_at(texts, b->n, 4)};
	int r = complaint ? phx_pki_public(&parts, ret)
			  : phx_err_set(err, -EPROTO, "the vault's answer is cut off");
	*ret_complaint = r == 0 && complaint[0] ? strdup(complaint) : NULL;
	return r;
}

/* The site is opened again by each process that follows. */
int phx_vault_site(struct phx_vault *v, const char *const *server_names, size_t n_names,
		   struct phx_pki **ret, char **ret_complaint, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf names = {0};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	for (size_t i = 0; i < n_names; i++)
		phx_buf_add(&names, server_names[i], strlen(server_names[i]) + 1);
	const struct phx_apart_question q = {
		.op = VAULT_site, .body = names.data, .n = (uint32_t)names.n};
	int r = names.failed ? -ENOMEM : phx_apart_first(v->process, q.op, q.body, q.n);
	r = r ? r : ask(v, &q, 0, &reply, err);
	return r ? r : take_site(&reply.body, ret, ret_complaint, err);
}

int phx_vault_change_ca(struct phx_vault *v, enum phx_vault_change change, struct phx_pki **ret,
			struct phx_err *err)
{
	const struct phx_apart_question q = {.op = change == PHX_VAULT_RETIRE ? VAULT_retire
									      : VAULT_rotate};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	PHX_AUTO_FREE char *complaint = NULL; /* told when the site was opened */
	int r = ask(v, &q, 0, &reply, err);
	return r ? r : take_site(&reply.body, ret, &complaint, err);
}

int phx_vault_people(struct phx_vault *v, struct phx_list *ret, struct phx_err *err)
{
	const struct phx_apart_question q = {.op = VAULT_people};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	PHX_AUTO_JSON json_t *rows = NULL;
	size_t i;
	json_t *row;
	int r = ask(v, &q, 0, &reply, err);
	r = r ? r : phx_json_parse(reply.body.data, strlen(reply.body.data), &rows, err);
	json_array_foreach(rows, i, row) {
		struct phx_issued *to = r ? NULL : phx_list_push(ret, sizeof(*to));
		r = to ? phx_json_to_record(&phx_issued_record, row, to, err) : r ? r : -ENOMEM;
	}
	return r;
}

/* ---- the other questions ---- */

/* A question about one node. */
static int about(const char *node, enum vault_op op, struct phx_apart_question *ret,
		 struct phx_err *err)
{
	*ret = (struct phx_apart_question){.op = op};
	return PHX_STR_SET(ret->name, node) < 0
		? phx_err_set(err, -EINVAL, "'%s' is no name of a node", node)
		: 0;
}

int phx_vault_cert(struct phx_vault *v, const struct phx_cert_ask *c, char **ret_pem,
		   struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf texts = {0};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_apart_question q;
	int r = about(c->node, VAULT_cert, &q, err);
	if (r < 0)
		return r;
	vault_add_text(&texts, c->csr);
	vault_add_text(&texts, c->token);
	vault_add_text(&texts, c->next ? c->next->signature : "");
	vault_add_text(&texts, c->next ? c->next->cert : "");
	q.number = c->days;
	q.body = texts.data;
	q.n = (uint32_t)texts.n;
	r = texts.failed ? -ENOMEM : ask(v, &q, 0, &reply, err);
	if (r == 0)
		*ret_pem = PHX_TAKE(reply.body.data);
	return r;
}

int phx_vault_start_token(struct phx_vault *v, const char *node, uint64_t start,
			  char ret[PHX_START_TOKEN_MAX], struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_apart_question q;
	ret[0] = '\0';
	int r = start ? about(node, VAULT_start, &q, err) : 0;
	if (r < 0 || !start)
		return r;
	q.number = start;
	r = ask(v, &q, 0, &reply, err);
	if (r == 0 && phx_str_copy(ret, PHX_START_TOKEN_MAX, reply.body.data) < 0)
		r = phx_err_set(err, -EPROTO, "the vault's answer is longer than a token");
	return r;
}

int phx_vault_start_shown(struct phx_vault *v, const char *node, const char *token,
			  struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_apart_question q;
	int r = about(node, VAULT_shown, &q, err);
	q.body = token;
	q.n = (uint32_t)strlen(token);
	return r ? r : ask(v, &q, 0, &reply, err);
}

int phx_vault_forget(struct phx_vault *v, const char *node, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_apart_question q;
	int r = about(node, VAULT_forget, &q, err);
	return r ? r : ask(v, &q, 0, &reply, err);
}

int phx_vault_sign(struct phx_vault *v, enum phx_vault_key key, const char *text,
		   uint8_t ret_sig[PHX_SIG_SIZE], struct phx_err *err)
{
	const struct phx_apart_question q = {.op = key == PHX_VAULT_ATTEST ? VAULT_attest
									   : VAULT_sign,
					     .body = text,
					     .n = (uint32_t)strlen(text)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask(v, &q, PHX_SIG_SIZE, &reply, err);
	if (r == 0)
		memcpy(ret_sig, reply.body.data, PHX_SIG_SIZE);
	return r;
}

int phx_vault_sign_end(struct phx_vault *v, const char *text, char ret_end[PHX_ANCHOR_END_MAX],
		       uint8_t ret_sig[PHX_SIG_SIZE], struct phx_err *err)
{
	const struct phx_apart_question q = {.op = VAULT_sign,
					     .number = VAULT_WITH_END,
					     .body = text,
					     .n = (uint32_t)strlen(text)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask(v, &q, 0, &reply, err);
	if (r < 0)
		return r;
	if (reply.body.n <= PHX_SIG_SIZE ||
	    phx_str_copy(ret_end, PHX_ANCHOR_END_MAX, reply.body.data + PHX_SIG_SIZE) < 0)
		return phx_err_set(err, -EPROTO, "the vault's answer is no signature of an anchor");
	memcpy(ret_sig, reply.body.data, PHX_SIG_SIZE);
	return 0;
}

static int ask_key(struct phx_vault *v, enum vault_op op, const char *key_id, uint32_t want,
		   struct phx_apart_reply *ret, struct phx_err *err)
{
	struct phx_apart_question q = {.op = op};
	if (PHX_STR_SET(q.name, key_id) < 0)
		return phx_err_set(err, -EINVAL, "'%s' is not a key id", key_id);
	return ask(v, &q, want, ret, err);
}

int phx_vault_key_make(struct phx_vault *v, const char *key_id, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	return ask_key(v, VAULT_key_make, key_id, 0, &reply, err);
}

int phx_vault_key_give(struct phx_vault *v, const char *key_id, const struct phx_key_ask *asked,
		       struct phx_key_sealed *ret, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf texts = {0};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_apart_question q = {.op = VAULT_key_give};
	if (PHX_STR_SET(q.name, key_id) < 0)
		return phx_err_set(err, -EINVAL, "'%s' is not a key id", key_id);
	vault_add_text(&texts, asked->boot_id);
	vault_add_text(&texts, asked->to);
	vault_add_text(&texts, asked->signature);
	vault_add_text(&texts, asked->cert);
	q.body = texts.data;
	q.n = (uint32_t)texts.n;
	int r = texts.failed ? -ENOMEM : ask(v, &q, sizeof(*ret), &reply, err);
	if (r == 0)
		memcpy(ret, reply.body.data, sizeof(*ret));
	return r;
}

int phx_vault_key_destroy(struct phx_vault *v, const char *key_id, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	return ask_key(v, VAULT_key_destroy, key_id, 0, &reply, err);
}

/* ---- start and end ---- */

static void name_process(const struct phx_vault_config *c, char keep[12],
			 const char *ret_argv[ARGS])
{
	snprintf(keep, 12, "%u", c->log_keep);
	const char *const argv[ARGS] = {c->program, "--vault", c->pki_dir, c->key_dir,
					c->user,    keep,      NULL};
	memcpy(ret_argv, argv, sizeof(argv));
}

int phx_vault_spawn(const struct phx_vault_config *config, struct phx_process *ret, int *ret_fd,
		    struct phx_err *err)
{
	const char *argv[ARGS];
	char keep[12];
	const struct phx_launch how = {.argv = argv};
	name_process(config, keep, argv);
	return phx_apart_spawn(&how, WHAT, ret, ret_fd, err);
}

int phx_vault_start(const struct phx_vault_config *config, struct phx_vault **ret,
		    struct phx_err *err)
{
	struct phx_vault *v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	name_process(config, v->keep, v->argv);
	v->config = (struct phx_apart_config){.what = WHAT,
					      .argv = v->argv,
					      .start = config->start,
					      .start_arg = config->start_arg,
					      .answer_ms = ANSWER_MS,
					      .body_max = VAULT_BODY_MAX,
					      .restarted = config->restarted,
					      .arg = config->arg};
	int r = phx_apart_start(&v->config, &v->process, err);
	if (r < 0) {
		phx_vault_end(v);
		return r;
	}
	*ret = v;
	return 0;
}

void phx_vault_end(struct phx_vault *v)
{
	if (!v)
		return;
	phx_apart_end(v->process);
	free(v);
}

pid_t phx_vault_pid(struct phx_vault *v)
{
	return phx_apart_pid(v->process);
}
