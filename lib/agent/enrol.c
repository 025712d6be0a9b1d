/* Enrolment: see enrol.h. Called by the link, and by the step rekey. The key is never sent. */
#include "agent/enrol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "agent/beacon.h"
#include "agent/decide.h"
#include "agent/log.h"
#include "agent/root.h"
#include "agent/trust.h"

enum {
	TIMEOUT_MS = 10000,
	WAIT_FIRST_MS = 500,
	WAIT_MAX_MS = 2000,
	REFUSED_WAIT_MS = 10000,
	LOOK_EVERY_MS = 60 * 1000,
	RENEW_BEATS = 30,
	FAILED_WAIT_MS = 2 * 3600 * 1000,
	RENEWED_WAIT_MS = 24 * 3600 * 1000,
	PEM_MAX = 65536
};

static char *state_path(const struct agent *a, const char *name)
{
	return phx_path("%s/%s", a->cfg.state_dir, name);
}

static int write_state(const struct agent *a, const char *name, const char *text,
		       struct phx_err *err)
{
	PHX_AUTO_FREE char *path = state_path(a, name);
	return path ? phx_file_write(path, text, strlen(text), 0600, err) : -ENOMEM;
}

/* Makes a certificate request for the node's key, or for a new key if there is none. */
static int make_request(const struct agent *a, char **ret_csr, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = state_path(a, "agent.key");
	PHX_AUTO_FREE char *key = NULL;
	PHX_AUTO_FREE char *csr = NULL;
	if (!path)
		return -ENOMEM;
	int r = phx_file_read(path, PEM_MAX, &key, NULL, NULL);
	if (r == 0)
		r = phx_csr_from_key(key, "node", ret_csr, err);
	else
		r = phx_csr_make("node", &key, &csr, err);
	if (r == 0 && csr) {
		r = write_state(a, "agent.key", key, err);
		if (r == 0)
			*ret_csr = PHX_TAKE(csr);
	}
	if (key)
		explicit_bzero(key, strlen(key));
	return r;
}

static json_t *macs_of(const struct phx_facts *facts)
{
	json_t *macs = json_array();
	PHX_LIST_EACH(struct phx_nic_facts, nic, &facts->nics)
		json_array_append_new(macs, json_string(nic->mac));
	return macs;
}

/* Reads the first line of the token file into `ret`, which is "". */
static void read_token(const struct agent *a, char ret[256])
{
	PHX_AUTO_FREE char *text = NULL;
	if (phx_file_read(a->cfg.token_file, 255, &text, NULL, NULL) < 0)
		return;
	text[strcspn(text, "\r\n")] = '\0';
	snprintf(ret, 256, "%s", text);
}

static json_t *make_body(struct agent *a, const char *csr, const struct phx_next_key *next)
{
	struct phx_told_enrol e = {.csr = (char *)csr, .env = (int)a->env};
	if (next)
		e.next = *next;
	read_token(a, e.token);
	PHX_STR_SET(e.start, a->cfg.start);
	PHX_STR_SET(e.boot_id, a->boot_id);
	loop_hold(a->loop);
	PHX_STR_SET(e.serial, a->facts.serial);
	PHX_STR_SET(e.uuid, a->facts.uuid);
	json_t *macs = macs_of(&a->facts);
	loop_release(a->loop);
	json_t *body = phx_json_from_record(&phx_told_enrol_record, &e);
	explicit_bzero(e.token, sizeof(e.token));
	json_object_set_new(body, "macs", macs);
	return body;
}

static int enrol_client(const struct agent *a, struct phx_http_client **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *url = phx_path("https://%s", a->cfg.server);
	struct phx_http_client_config config = {.base_url = url, .ca_pem_path = a->cfg.ca};
	return url ? phx_http_client_new(&config, ret, err) : -ENOMEM;
}

static int read_key(const struct agent *a, char **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = state_path(a, "agent.key");
	return path ? phx_file_read(path, PEM_MAX, ret, NULL, err) : -ENOMEM;
}

static void free_key(char *key)
{
	if (key)
		explicit_bzero(key, strlen(key));
	free(key);
}

/* Can the node use this certificate with the head: is it for the node's key, for a node, and signed
 * by the site's CA? */
static int check_certificate(const struct agent *a, const char *cert, struct phx_err *err)
{
	PHX_AUTO_FREE char *ca = NULL;
	char *key = NULL;
	int r = read_key(a, &key, err);
	r = r ? r : phx_file_read(a->cfg.ca, PEM_MAX, &ca, NULL, err);
	r = r ? r : phx_cert_check(cert, PHX_CERT_NODE, key, ca, err);
	free_key(key);
	return r < 0 ? r : 0;
}

void enrol_certified_fini(struct phx_told_certified *c)
{
	phx_record_fini(&phx_told_certified_record, c);
}

/* Stores CAs and certificate; the CAs first, since a certificate that none of them has signed would
 * be rejected. */
static int take_certificate(struct agent *a, const struct phx_told_certified *c,
			    struct phx_err *err)
{
	char *key = NULL;
	int r = read_key(a, &key, err);
	r = r ? r : trust_take(a, phx_text(c->ca), c->cert, key, err);
	free_key(key);
	if (r < 0)
		return r;
	r = check_certificate(a, c->cert, err);
	if (r < 0)
		return phx_err_prefix(err, -EBADMSG,
				      "enrol: the certificate that was given cannot be used");
	r = write_state(a, "agent.pem", c->cert, err);
	if (r == 0)
		unlink(a->cfg.token_file); /* a token is good for one enrolment */
	return r;
}

int enrol_certified(const json_t *answer, struct phx_told_certified *ret, struct phx_err *err)
{
	int r = phx_json_to_message(&phx_told_certified_record, answer, ret, err);
	if (r == 0 && !ret->cert) {
		enrol_certified_fini(ret);
		r = phx_err_set(err, -EINVAL, "the answer holds no certificate");
	}
	return r < 0 ? phx_err_prefix(err, r == -EINVAL ? -EBADMSG : r, "enrol") : 0;
}

static int certificate_of(const struct phx_http_response *response, struct phx_told_certified *ret,
			  struct phx_err *err)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int r = phx_json_parse(response->body, response->n, &answer, err);
	r = r ? r : enrol_certified(answer, ret, err);
	if (r == 0)
		agent_log("enrolled as %s", ret->node);
	return r;
}

/* 0: given; -EAGAIN: the node is not accepted yet; -EPERM: refused; -EBADMSG: what came
 * is no certificate; others: the call failed. */
static int ask_for(struct agent *a, struct phx_http_client *c, const char *csr,
		   const struct phx_next_key *next, struct phx_told_certified *ret,
		   struct phx_err *err)
{
	PHX_AUTO_JSON json_t *body = make_body(a, csr, next);
	struct phx_http_response response = {0};
	if (!body)
		return -ENOMEM;
	int r = phx_http_call(c, "POST", "/v1/agent/enrol", body, TIMEOUT_MS, &response, err);
	if (r == 0 && response.status == 202)
		r = phx_err_set(err, -EAGAIN, "waiting to be accepted");
	else if (r == 0 && response.status != 200)
		r = phx_err_set(err, response.status == 403 ? -EPERM : -EIO,
				"enrol: status %ld: %.200s", response.status,
				response.body ? response.body : "");
	else if (r == 0)
		r = certificate_of(&response, ret, err);
	phx_http_response_fini(&response);
	return r;
}

/* Asks once; 0: the certificate is stored. Errors as ask_for(), or of storing. */
static int ask_once(struct agent *a, struct phx_http_client *c, const char *csr,
		    struct phx_err *err)
{
	PHX_AUTO(enrol_certified_fini) struct phx_told_certified given = {0};
	int r = ask_for(a, c, csr, NULL, &given, err);
	return r ? r : take_certificate(a, &given, err);
}

int enrol_for(struct agent *a, const char *csr, const struct phx_next_key *next,
	      struct phx_told_certified *ret, struct phx_err *err)
{
	struct phx_http_client *c = NULL;
	int r = enrol_client(a, &c, err);
	r = r ? r : ask_for(a, c, csr, next, ret, err);
	phx_http_client_free(c);
	return r;
}

static uint32_t next_wait(uint32_t wait_ms, uint32_t max_ms)
{
	return wait_ms * 3 / 2 > max_ms ? max_ms : wait_ms * 3 / 2;
}

/* Is there a usable certificate? A useless one is replaced, since the head would refuse it each
 * time. */
static bool has_certificate(const struct agent *a, const char *path)
{
	PHX_AUTO_FREE char *pem = NULL;
	struct phx_err err = {0};
	int r = phx_file_read(path, PEM_MAX, &pem, NULL, NULL);
	if (r == 0 && check_certificate(a, pem, &err) == 0)
		return true;
	if (r == 0)
		agent_log("%s: %s; another is asked for", path, err.text);
	return false;
}

/* Does the node have a key, and a usable certificate for it? */
static bool has_both(const struct agent *a)
{
	PHX_AUTO_FREE char *cert = state_path(a, "agent.pem");
	return cert && enrol_has_key(a) && has_certificate(a, cert);
}

/* ---- refused in the deploy environment ---- */

/* True if the head gives a token for this network card that was not tried yet. */
static bool given_token(struct agent *a, struct phx_http_client *c, const char *mac)
{
	struct phx_http_response response = {0};
	PHX_AUTO_FREE char *path = phx_path("/boot/%s", mac);
	bool given = path &&
		phx_http_call(c, "GET", path, NULL, TIMEOUT_MS, &response, NULL) == 0 &&
		response.status == 200 && response.body &&
		agent_config_start(&a->cfg, response.body);
	phx_http_response_fini(&response);
	return given;
}

/* Asks the head for the token of this start, as the machine's firmware did: the firmware may have
 * asked too early, or its token may be used up by a start that was not completed. */
static bool ask_token(struct agent *a, struct phx_http_client *c)
{
	PHX_AUTO(phx_list_fini) struct phx_list macs = {0};
	bool given = false;
	loop_hold(a->loop);
	PHX_LIST_EACH(struct phx_nic_facts, nic, &a->facts.nics) {
		struct phx_mac *mac = phx_list_push(&macs, sizeof(*mac));
		if (mac)
			PHX_STR_SET(mac->mac, nic->mac);
	}
	loop_release(a->loop);
	PHX_LIST_EACH(struct phx_mac, mac, &macs)
		given = given || given_token(a, c, mac->mac);
	return given;
}

static void forget_key(struct agent *a)
{
	PHX_AUTO_FREE char *key = state_path(a, "agent.key");
	enrol_forget(a);
	if (key)
		unlink(key);
}

/* What one call of enrol() has tried. */
struct attempt {
	char *csr;
	bool tried_disk;
};

/* Called when the head refused the request. If there is a token that was not tried, makes a new key
 * for it; otherwise uses the key of the installed system, once. True: there is a certificate
 * now. */
static bool try_otherwise(struct agent *a, struct phx_http_client *c, struct attempt *t)
{
	struct phx_err err = {0};
	char *csr = NULL;
	if (a->env != PHX_ENV_DEPLOY || !c)
		return false;
	if (ask_token(a, c)) {
		forget_key(a);
	} else {
		bool adopted = !t->tried_disk && root_adopt(a, true, &err) == 0 && has_both(a);
		t->tried_disk = true;
		return adopted;
	}
	if (make_request(a, &csr, &err) < 0) {
		agent_log("%s", err.text);
		return false;
	}
	free(t->csr);
	t->csr = csr;
	return false;
}

/* ---- until there is a certificate ---- */

static int ask_until_certified(struct agent *a, struct attempt *t)
{
	struct phx_http_client *c = NULL;
	uint32_t wait_ms = WAIT_FIRST_MS;
	struct phx_err last = {0};
	int r = -EAGAIN;
	while (!agent_stopping(a)) {
		struct phx_err err = {0};
		r = c ? 0 : enrol_client(a, &c, &err);
		r = r ? r : ask_once(a, c, t->csr, &err);
		if (r == -EPERM && try_otherwise(a, c, t))
			r = 0;
		if (r == 0)
			break;
		if (!phx_str_eq(err.text, last.text))
			trust_log(a, &err);
		last = err;
		if (r != -EAGAIN && r != -EPERM && r != -EIO && r != -EBADMSG)
			beacon_trouble(a, &err); /* the head did not answer */
		agent_wait_ms(a, r == -EPERM ? REFUSED_WAIT_MS : wait_ms);
		wait_ms = next_wait(wait_ms, r == -EBADMSG ? REFUSED_WAIT_MS : WAIT_MAX_MS);
	}
	phx_http_client_free(c);
	return r == 0 ? 0 : -ECANCELED;
}

bool enrol_has_key(const struct agent *a)
{
	PHX_AUTO_FREE char *key = state_path(a, "agent.key");
	return key && access(key, R_OK) == 0;
}

int enrol(struct agent *a, struct phx_err *err)
{
	struct attempt t = {0};
	if (has_both(a))
		return 0;
	int r = make_request(a, &t.csr, err);
	r = r ? r : ask_until_certified(a, &t);
	free(t.csr);
	return r;
}

/* 0 with the time at which the certificate ends. */
static int read_end(const struct agent *a, int64_t *ret_expires_s, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = state_path(a, "agent.pem");
	PHX_AUTO_FREE char *pem = NULL;
	struct phx_cert_info info;
	int r = path ? phx_file_read(path, PEM_MAX, &pem, NULL, err) : -ENOMEM;
	r = r ? r : phx_cert_info_pem(pem, path, &info, err);
	if (r == 0)
		*ret_expires_s = info.expires_s;
	return r;
}

static int renew(struct agent *a, struct phx_err *err)
{
	struct phx_http_client *c = NULL;
	PHX_AUTO_FREE char *csr = NULL;
	int r = make_request(a, &csr, err);
	r = r ? r : enrol_client(a, &c, err);
	r = r ? r : ask_once(a, c, csr, err);
	phx_http_client_free(c);
	return r;
}

/* Half of the time is fixed, half random: a thousand nodes may have got their certificates on the
 * same day. */
static int64_t spread(int64_t ms)
{
	uint32_t draw = 0;
	(void)!getrandom(&draw, sizeof(draw), GRND_NONBLOCK);
	return ms / 2 + draw % (ms / 2);
}

void enrol_renew_soon(struct renewal *w, uint64_t ca, uint32_t beat_ms)
{
	uint32_t draw = 0;
	(void)!getrandom(&draw, sizeof(draw), GRND_NONBLOCK);
	w->ca = ca;
	w->within_ms = RENEW_BEATS * beat_ms;
	w->due_ms = phx_clock_boot_ms() + draw % w->within_ms;
}

/* Sets when renewal is tried next. The head asks again if it is not content with the
 * certificate. */
static void settle(struct agent *a, struct renewal *w, bool renewed)
{
	int64_t now_ms = phx_clock_boot_ms();
	int64_t again_ms = w->within_ms ? w->within_ms * 2 : spread(FAILED_WAIT_MS);
	w->due_ms = now_ms + (renewed ? spread(RENEWED_WAIT_MS) : again_ms);
	if (!renewed) {
		w->within_ms = w->within_ms < FAILED_WAIT_MS / 2 ? w->within_ms * 2 : 0;
		return;
	}
	w->got_ms = now_ms;
	w->within_ms = 0;
	w->ca = trust_number(a);
}

bool enrol_renew(struct agent *a, struct renewal *w)
{
	int64_t expires_s = 0, now_ms = phx_clock_boot_ms();
	struct phx_err err = {0};
	if (!w->got_ms) {
		w->got_ms = now_ms;
		w->ca = trust_number(a);
	}
	if (now_ms < w->due_ms)
		return false;
	w->due_ms = now_ms + LOOK_EVERY_MS;
	int r = read_end(a, &expires_s, &err);
	if (r == 0 && !w->within_ms &&
	    !decide_renews(phx_wall_ms() / 1000, expires_s, now_ms - w->got_ms))
		return false;
	r = r ? r : renew(a, &err);
	if (r < 0)
		agent_log("the certificate is not renewed yet: %s", err.text);
	settle(a, w, r == 0);
	return r == 0;
}

void enrol_forget(struct agent *a)
{
	PHX_AUTO_FREE char *cert = state_path(a, "agent.pem");
	if (cert)
		unlink(cert);
}
