/* The step rekey: see rekey.h. The files change in such an order that, wherever it is interrupted,
 * the node has a key that the head knows:
 *
 *   next-key.json ──the head commits──▶ agent.key ──▶ agent.pem ──▶ next-key.json is removed
 *
 * Called through the table of step_table.c, and by the link. The key is never sent. */
#include "agent/rekey.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/decide.h"
#include "agent/enrol.h"
#include "agent/log.h"
#include "agent/site.h"
#include "agent/step.h"
#include "agent/trust.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/record_file.h"
#include "pki/next_key.h"

enum { NEXT_MAX = 65536, CALL_MS = 10000, AGAIN_FIRST_MS = 100, AGAIN_MOST_MS = 4000 };

#define CERT "agent.pem"
#define CERT_NEXT CERT ".next"

#define NEXT_KEY_FIELDS(F, S) \
	F(S, id, U64)    /* of the step for which it was made */ \
	F(S, nonce, U64) /* of the attempt: nobody could write this file beforehand */ \
	F(S, key, TEXT)
PHX_RECORD_STRUCT(next_key, NEXT_KEY_FIELDS);
PHX_RECORD_TABLE(next_key, NEXT_KEY_FIELDS);

static char *path_of(const struct agent *a, const char *name)
{
	return phx_path("%s/%s", a->cfg.state_dir, name);
}

static void next_fini(struct next_key *k)
{
	if (k->key)
		explicit_bzero(k->key, strlen(k->key));
	phx_record_fini(&next_key_record, k);
}

static int next_read(const struct agent *a, struct next_key *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = path_of(a, REKEY_FILE);
	int r = phx_record_file_read(path, NEXT_MAX, &next_key_record, ret, err);
	if (r == 0 && !ret->key)
		r = phx_err_set(err, -EBADMSG, "%s: holds no key", path);
	return r;
}

/* Reads or makes the key of this attempt; a recorded key of another attempt is not trusted. */
static int next_make(const struct agent *a, const struct phx_order *o, struct next_key *ret,
		     char **ret_csr, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = path_of(a, REKEY_FILE);
	struct next_key k = {0};
	if (next_read(a, &k, NULL) == 0 && k.id == o->id && k.nonce == o->step.nonce) {
		*ret = k;
		return phx_csr_from_key(k.key, "node", ret_csr, err);
	}
	next_fini(&k);
	*ret = (struct next_key){.id = o->id, .nonce = o->step.nonce};
	int r = phx_csr_make("node", &ret->key, ret_csr, err);
	return r ? r : phx_record_file_write(path, &next_key_record, ret, 0600, err);
}

static int check(struct agent *a, const struct next_key *k, const struct phx_told_certified *c,
		 struct phx_err *err)
{
	PHX_AUTO_FREE char *ca = NULL;
	int r = trust_take(a, phx_text(c->ca), c->cert, k->key, err);
	r = r ? r : phx_file_read(a->cfg.ca, NEXT_MAX, &ca, NULL, err);
	r = r ? r : phx_cert_check(c->cert, PHX_CERT_NODE, k->key, ca, err);
	return r < 0 ? phx_err_prefix(err, -EBADMSG, "the certificate of the new key") : 0;
}

static int write_text(const struct agent *a, const char *name, const char *text,
		      struct phx_err *err)
{
	PHX_AUTO_FREE char *path = path_of(a, name);
	return path ? phx_file_write(path, text, strlen(text), 0600, err) : -ENOMEM;
}

/* Writes both files. What may fail for want of room comes first: with a key that is not the
 * certificate's the node could speak to nobody until its next start. */
static int write_both(const struct agent *a, const struct next_key *k,
		      const struct phx_told_certified *c, struct phx_err *err)
{
	PHX_AUTO_FREE char *cert = path_of(a, CERT), *new = path_of(a, CERT_NEXT);
	int r = cert && new ? write_text(a, CERT_NEXT, c->cert, err) : -ENOMEM;
	r = r ? r : write_text(a, "agent.key", k->key, err);
	return r ? r : phx_file_publish(new, cert, err);
}

/* Makes it the node's key. */
static int take(struct agent *a, const struct next_key *k, const struct phx_told_certified *c,
		struct phx_err *err)
{
	PHX_AUTO_FREE char *next = path_of(a, REKEY_FILE);
	int r = check(a, k, c, err);
	r = r ? r : write_both(a, k, c, err);
	if (r < 0)
		return r;
	if (next)
		unlink(next);
	outbox_renew(a->outbox);
	atomic_fetch_add(&a->keys, 1);
	loop_news(a->loop);
	agent_log("the node has another key");
	return 0;
}

/* What asks for the certificate of the next key. */
struct asking {
	char *csr;
	struct phx_next_key next; /* the key that the node has signs for it */
};

static void asking_fini(struct asking *k)
{
	free(k->csr);
}

/* Where the node's files are those of the next key already, that is certified, and nothing has to
 * speak for it. */
static void prove(const struct agent *a, struct asking *k)
{
	PHX_AUTO_FREE char *key = path_of(a, "agent.key"), *cert = path_of(a, CERT);
	struct phx_err err = {0};
	if (!key || !cert || phx_next_key_prove(k->csr, key, cert, &k->next, &err) < 0)
		agent_log("the node's key does not sign for the next one: %s", err.text);
}

/* Asks under the key that the node has. -EACCES: that key is dead, or the head does not accept the
 * address. */
static int ask(struct step_run *s, const struct asking *k, struct phx_told_certified *ret,
	       struct phx_err *err)
{
	struct phx_http_client *c;
	PHX_AUTO_JSON json_t *answer = NULL;
	struct phx_told_rekey told = {.csr = k->csr,
				      .next = k->next,
				      .step_id = s->order->id,
				      .epoch = s->order->epoch,
				      .nonce = s->order->step.nonce};
	PHX_AUTO_JSON json_t *body = phx_json_from_record(&phx_told_rekey_record, &told);
	int r = body ? step_http(s, &c, err) : -ENOMEM;
	r = r ? r : phx_http_call_json(c, "POST", "/v1/agent/rekey", body, CALL_MS, &answer, err);
	return r ? r : enrol_certified(answer, ret, err);
}

/* Asks until the key is certified or refused. If an answer was lost, the old key may be dead
 * already; the head then knows the new one. */
static int ask_until(struct step_run *s, const struct asking *k, struct phx_told_certified *ret,
		     struct phx_err *err)
{
	struct phx_again again = {AGAIN_FIRST_MS, AGAIN_MOST_MS, 0};
	for (;;) {
		phx_err_clear(err);
		int r = ask(s, k, ret, err);
		if (r == -EACCES) {
			phx_err_clear(err);
			r = enrol_for(s->agent, k->csr, &k->next, ret, err);
		}
		if (!decide_again(r) || step_wait_ms(s, phx_again_ms(&again)))
			return r;
	}
}

int step_rekey(struct step_run *s, struct phx_err *err)
{
	struct next_key k = {0};
	PHX_AUTO(asking_fini) struct asking asking = {0};
	PHX_AUTO(enrol_certified_fini) struct phx_told_certified c = {0};
	int r = next_make(s->agent, s->order, &k, &asking.csr, err);
	if (r == 0)
		prove(s->agent, &asking);
	r = r ? r : ask_until(s, &asking, &c, err);
	r = r ? r : take(s->agent, &k, &c, err);
	next_fini(&k);
	if (r == 0)
		site_host_key_forget(s->agent->cfg.root);
	phx_http_client_free(PHX_TAKE(s->http)); /* it is under the old key */
	return r;
}

bool rekey_take_up(struct agent *a)
{
	struct next_key k = {0};
	struct phx_err err = {0};
	PHX_AUTO(asking_fini) struct asking asking = {0};
	PHX_AUTO(enrol_certified_fini) struct phx_told_certified c = {0};
	int r = next_read(a, &k, &err);
	r = r ? r : phx_csr_from_key(k.key, "node", &asking.csr, &err);
	if (r == 0)
		prove(a, &asking);
	r = r ? r : enrol_for(a, asking.csr, &asking.next, &c, &err);
	r = r ? r : take(a, &k, &c, &err);
	if (r < 0 && r != -ENOENT)
		agent_log("the key of a step rekey is not taken up: %s", err.text);
	next_fini(&k);
	return r == 0;
}
