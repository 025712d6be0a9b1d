/* The requests of agents: certificates, beats, results, disk keys. An agent speaks only for its own
 * node, which its certificate names. Called by way of routes.def. */
#include "phxd/api_agent.h"
#include "phxd/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <sys/random.h>

#include "base/clock.h"
#include "node/node.h"
#include "phxd/parse.h"
#include "phxd/site.h"
#include "phxd/starts.h"

enum { WAIT_MAX_MS = 60000, MONITOR_MAX = 32 << 10 };

/* ---- enrolment ---- */

/* Journals, at most once a minute, that something left the head for a node. */
static void tell_of_node(struct daemon *d, const char *node, const char *kind, const char *what)
{
	char who[PHX_NAME_MAX + 8], text[PHX_NAME_MAX + 64];
	snprintf(who, sizeof(who), "node:%.50s", node);
	snprintf(text, sizeof(text), "%s %s", node, what);
	seldom_tell(d->seldom, &(struct seldom_fact){.who = who, .kind = kind, .text = text});
}

static void certified_fini(struct phx_told_certified *told)
{
	phx_record_fini(&phx_told_certified_record, told);
}

_Static_assert(sizeof(((struct phx_told_enrol *)0)->start) == PHX_START_TOKEN_MAX, "its token");

/* What both requests for a certificate have, read by PHX_TOLD_ASK_FIELDS; borrowed. */
#define ASK_OF(told) \
	{ \
		.csr = phx_text((told)->csr), .days = PHX_NODE_CERT_DAYS, .token = (told)->start, \
		.next = &(told)->next \
	}

static void reply_certified(struct daemon *d, struct phx_http_request *q, struct phx_cert_ask *ask,
			    const char *node)
{
	struct phx_err err = {0};
	PHX_AUTO(certified_fini) struct phx_told_certified told = {0};
	ask->node = node;
	PHX_STR_SET(told.node, node);
	int r = keys_certify(d->keys, ask, &told.cert, &told.ca, &err);
	if (r < 0) {
		if (r == -EPERM)
			tell_of_node(d, node, "refused",
				     "is refused a certificate for another key");
		phx_http_reply_error(q, r, err.text);
		return;
	}
	tell_of_node(d, node, "certificate", "was given a certificate");
	PHX_AUTO_JSON json_t *answer = phx_json_from_record(&phx_told_certified_record, &told);
	phx_http_reply_json(q, 200, answer);
}

static void reply_enrol(struct daemon *d, struct phx_http_request *q, struct phx_cert_ask *ask,
			const struct phx_outcome *out)
{
	switch ((enum phx_enrol_answer)out->enrol) {
	case PHX_ENROL_CERTIFY:
		reply_certified(d, q, ask, out->node);
		return;
	case PHX_ENROL_PENDING: {
		PHX_AUTO_JSON json_t *answer =
			json_pack("{s:s,s:s}", "node", out->node, "state", "new");
		phx_http_reply_json(q, 202, answer);
		return;
	}
	case PHX_ENROL_REFUSED:
		phx_http_reply_error(q, -EACCES, out->text);
		return;
	}
}

/* Is it an address of this machine? Any user of the head can connect from one of these. */
static bool is_own_address(const char *address)
{
	struct in_addr ours, theirs;
	struct ifaddrs *all = NULL;
	bool own = inet_pton(AF_INET, address, &theirs) != 1 ||
		(ntohl(theirs.s_addr) >> 24) == IN_LOOPBACKNET;
	if (own || getifaddrs(&all) < 0)
		return true;
	for (const struct ifaddrs *i = all; i && !own; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
			continue;
		ours = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
		own = ours.s_addr == theirs.s_addr;
	}
	freeifaddrs(all);
	return own;
}

/* The address comes from the connection, not from the machine's own words. */
static void set_origin(const struct daemon *d, const struct phx_http_request *q,
		       struct phx_event_enrol *p)
{
	PHX_STR_SET(p->address, phx_http_peer(q)->address);
	p->local = is_own_address(p->address);
	p->local_ok = p->local && d->cfg.enrol_over_loopback;
}

/* A random name for a machine that was not announced; says nothing about it. */
static void draw_name(char ret[PHX_NAME_MAX])
{
	uint32_t draw = 0;
	(void)!getrandom(&draw, sizeof(draw), 0);
	snprintf(ret, PHX_NAME_MAX, "n-%08x", draw);
}

/* The start whose token the machine shows, of the node that it says it is; 0: of none. */
static uint64_t start_shown(struct daemon *d, const struct phx_event_enrol *p, const char *token)
{
	char node[PHX_NAME_MAX];
	if (!token[0])
		return 0;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_STR_SET(node, phx_enrolling(s, p));
	engine_unlock(d->engine);
	return keys_start_shown(d->keys, node, token);
}

/* The key of a request. */
static bool parse_csr(struct phx_http_request *q, const char *csr, char ret_fp[PHX_FINGERPRINT_MAX])
{
	struct phx_err err = {0};
	int r = phx_csr_fingerprint(phx_text(csr), ret_fp, &err);
	if (r < 0) {
		phx_err_prefix(&err, 0, "csr");
		phx_http_reply_error(q, -EINVAL, err.text);
	}
	return r == 0;
}

static bool take_enrol(struct daemon *d, struct phx_http_request *q, const json_t *j,
		       const struct phx_told_enrol *told, struct phx_event_enrol *p)
{
	set_origin(d, q, p);
	p->macs_by_start = true;
	draw_name(p->name);
	PHX_MEMBERS_COPY(PHX_TOLD_MACHINE_FIELDS, p, told);
	PHX_MEMBERS_COPY(PHX_TOLD_BOOT_FIELDS, p, told);
	if (!parse_csr(q, told->csr, p->key_fp) || !parse_macs(q, j, &p->macs) ||
	    !parse_token_digest(q, told->token, p->token_sha256))
		return false;
	p->start = start_shown(d, p, told->start);
	return true;
}

/* By its MAC while it has no name. */
static void tell_enrol(struct daemon *d, const struct phx_event_enrol *p,
		       const struct phx_outcome *out, const char *failed)
{
	const char *mac = p->macs.n ? PHX_LIST_AT(&p->macs, struct phx_mac, 0)->mac : "";
	const char *who = out->node[0] ? out->node : mac;
	bool refused = failed || out->enrol == PHX_ENROL_REFUSED;
	if (p->macs.n)
		starts_at(d->starts, p->address, mac);
	starts_say(d->starts, who, PHX_START_enrol_asked, "from %s", p->address);
	if (refused)
		starts_say(d->starts, who, PHX_START_enrol_refused, "%s",
			   failed ? failed : out->text);
}

void api_enrol(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_event ev = {.kind = PHX_EV_enrol};
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	struct phx_told_enrol told;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j || !parse_message(q, j, &phx_told_enrol_record, &told))
		return;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	if (take_enrol(d, q, j, &told, &ev.enrol)) {
		struct phx_cert_ask ask = ASK_OF(&told);
		int r = engine_submit(d->engine, &ev, &out, &err);
		tell_enrol(d, &ev.enrol, &out, r < 0 ? err.text : NULL);
		if (r < 0)
			phx_http_reply_error(q, r, err.text);
		else
			reply_enrol(d, q, &ask, &out);
	}
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	phx_record_fini(&phx_told_enrol_record, &told);
}

/* ---- another key, within a step ---- */

/* The former key is invalid once this is committed: polls that are held under it are ended. If the
 * answer is lost, the agent gets the certificate by enrolling with the new key. */
static void take_rekey(struct daemon *d, struct phx_http_request *q,
		       const struct phx_told_rekey *told, struct phx_event *ev)
{
	struct phx_err err = {0};
	struct phx_cert_ask ask = ASK_OF(told);
	PHX_CARRIES(ev, rekey);
	if (!parse_csr(q, told->csr, ev->rekey.key_fp))
		return;
	ev->rekey.step_id = told->step_id;
	PHX_MEMBERS_COPY(PHX_TOLD_REKEY_RUN_FIELDS, &ev->rekey, told);
	snprintf(ev->by, sizeof(ev->by), "node:%.50s", ev->node);
	PHX_STR_SET(ev->rekey.address, phx_http_peer(q)->address);
	int r = engine_submit(d->engine, ev, NULL, &err);
	if (r < 0) {
		if (r == -EACCES)
			tell_of_node(d, ev->node, "refused",
				     "is refused a certificate for another key");
		phx_http_reply_error(q, r, err.text);
		return;
	}
	live_wake(d->live, ev->node);
	reply_certified(d, q, &ask, ev->node);
}

void api_rekey(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_event ev = {.kind = PHX_EV_rekey};
	struct phx_told_rekey told;
	if (!person_agent(d, q, ev.node))
		return;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j || !parse_message(q, j, &phx_told_rekey_record, &told))
		return;
	take_rekey(d, q, &told, &ev);
	phx_record_fini(&phx_told_rekey_record, &told);
}

bool agent_may_tell(struct daemon *d, struct phx_http_request *q, const char *node)
{
	size_t n = 0;
	phx_http_body(q, &n);
	if (live_may_tell(d->live, node, n))
		return true;
	phx_http_reply_error(
		q, -EAGAIN,
		"this node sends more than phxd keeps of one node: send it again later");
	return false;
}

/* ---- beats ---- */

/* Is this the start of the node that the core knows? ret_down: the core believes the node down (its
 * BMC wrongly said off). */
static bool same_boot(struct daemon *d, const char *node, const struct beat_report *r,
		      bool *ret_down)
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	bool same = n && n->env && n->env == r->env && !strcmp(n->boot_id, r->boot_id);
	*ret_down = n && !n->up;
	engine_unlock(d->engine);
	return same;
}

/* Role, identity and health go to the core when they change, and only then. */
static void tell_report(struct daemon *d, const char *node, const struct beat_report *r)
{
	struct phx_event ev = {.kind = PHX_EV_report};
	PHX_STR_SET(ev.node, node);
	snprintf(ev.by, sizeof(ev.by), "node:%.50s", node);
	PHX_MEMBERS_COPY(PHX_TOLD_RUNS_FIELDS, &ev.report, r);
	PHX_STR_SET(ev.report.ca, r->ca);
	parse_words(ev.text, sizeof(ev.text), r->health_text);
	starts_report(d, node, r->healthy, r->actual_role, ev.text);
	if (engine_submit(d->engine, &ev, NULL, NULL) < 0)
		live_untold(d->live, node);
}

/* False after answering. */
static bool parse_beat(struct phx_http_request *q, struct beat *ret)
{
	size_t n = 0;
	struct phx_err err = {0};
	int r = beat_parse(phx_http_body(q, &n), ret, &err);
	size_t told = (ret->monitor ? strlen(ret->monitor) : 0) +
		(ret->sessions ? strlen(ret->sessions) : 0);
	if (r == 0 && told > MONITOR_MAX)
		r = phx_err_set(&err, -EINVAL, "monitor: longer than 32 KiB");
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	return r == 0;
}

static void take_beat(struct daemon *d, struct phx_http_request *q, const char *node,
		      struct beat *b)
{
	bool down;
	if (!same_boot(d, node, &b->report, &down)) {
		phx_http_reply_error(q, -ESTALE, "say hello first");
		return;
	}
	int64_t began_us = phx_clock_us();
	PHX_STR_SET(b->report.ca, phx_http_peer(q)->cert.ca);
	directors_sample(d->directors, node, b);
	directors_heard(d->directors, node, b);
	struct live_news news = live_beat(d->live, node, b);
	if (news.back || down)
		live_back(d->live, node);
	if (news.report)
		tell_report(d, node, &b->report);
	if (news.site)
		site_portions_heard(d->site_portions);
	metrics_beat(d->metrics, node, &b->figures, phx_clock_us() - began_us);
	live_hold(d->live, node, q, &b->running, news.look,
		  b->wait_ms < WAIT_MAX_MS ? b->wait_ms : WAIT_MAX_MS);
}

void api_beat(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char node[PHX_NAME_MAX];
	PHX_AUTO(beat_fini) struct beat b = {0};
	if (person_agent(d, q, node) && parse_beat(q, &b))
		take_beat(d, q, node, &b);
}

/* ---- results ---- */

/* What an agent says is shown on terminals and written into lines: no control characters. A text
 * that had some is not the one that was signed, either. */
static void clean(const struct phx_record *rec, void *obj)
{
	for (size_t i = 0; i < rec->n_fields; i++)
		if (rec->fields[i].type == PHX_F_STR)
			parse_clean((char *)obj + rec->fields[i].offset);
}

/* A sum of what was read back that is no digest is none: the core does not count the erase then. */
static void take_wipe(struct phx_wipe_result *w, struct phx_event *ev)
{
	PHX_CARRIES(ev, answer);
	struct phx_event_answer *p = &ev->answer;
	clean(&phx_wipe_result_record, w);
	if (!phx_is_sha256(w->read_sha256))
		w->read_sha256[0] = '\0';
	PHX_MEMBERS_COPY(PHX_ERASED_SAID_FIELDS, p, w);
	if (!w->verified)
		p->verified_bytes = 0;
	p->erased_bytes = w->size_bytes;
	p->used = w->used;
	p->setup.method = w->method;
	PHX_STR_SET(p->erased_disk, w->disk_id);
	if (w->detail[0])
		PHX_STR_SET(ev->text, w->detail);
}

static bool parse_job_result(struct phx_http_request *q, const json_t *j, struct phx_event *ev)
{
	struct phx_told_job told;
	if (!parse_message(q, j, &phx_told_job_record, &told))
		return false;
	ev->kind = PHX_EV_job_result;
	ev->job_result.job = told.job;
	PHX_MEMBERS_COPY(PHX_TOLD_JOB_RUN_FIELDS, &ev->job_result, &told);
	parse_words(ev->text, sizeof(ev->text), phx_text(told.text));
	phx_record_fini(&phx_told_job_record, &told);
	return true;
}

static bool parse_step_result(struct daemon *d, struct phx_http_request *q, const json_t *j,
			      struct phx_event *ev)
{
	struct phx_told_step told;
	if (!parse_message(q, j, &phx_told_step_record, &told))
		return false;
	ev->kind = PHX_EV_step_result;
	ev->answer.step_id = told.step_id;
	PHX_MEMBERS_COPY(PHX_TOLD_STEP_RUN_FIELDS, &ev->answer, &told);
	parse_words(ev->text, sizeof(ev->text), phx_text(told.text));
	take_wipe(&told.wipe, ev);
	clean(&phx_check_record, &told.check);
	ev->answer.has_check = json_object_get(j, "check") != NULL;
	ev->answer.check = told.check;
	seal_take(d, q, &told.seal, &told.quote, ev);
	phx_record_fini(&phx_told_step_record, &told);
	return true;
}

static bool parse_result(struct daemon *d, struct phx_http_request *q, const json_t *j,
			 struct phx_event *ev)
{
	const char *job = phx_enum_name(&phx_told_kind_names, PHX_TOLD_JOB);
	if (phx_json_int(j, "id", 0) == 0) {
		phx_http_reply_error(q, -EINVAL, "id: must be a positive number");
		return false;
	}
	return phx_str_eq(phx_json_str(j, "kind", ""), job) ? parse_job_result(q, j, ev)
							    : parse_step_result(d, q, j, ev);
}

void api_result(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO(phx_event_fini) struct phx_event ev = {0};
	struct phx_err err = {0};
	if (!person_agent(d, q, ev.node))
		return;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j || !parse_result(d, q, j, &ev))
		return;
	snprintf(ev.by, sizeof(ev.by), "node:%.50s", ev.node);
	live_heard(d->live, ev.node);
	if (ev.kind == PHX_EV_step_result)
		starts_step(d, ev.node, ev.answer.step_id, ev.answer.result, ev.text);
	int r = engine_submit(d->engine, &ev, NULL, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *empty = json_object();
	phx_http_reply_json(q, 200, empty);
}

void api_inventory(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_event ev = {.kind = PHX_EV_inventory};
	struct phx_err err = {0};
	if (!person_agent(d, q, ev.node))
		return;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j || !agent_may_tell(d, q, ev.node))
		return;
	snprintf(ev.by, sizeof(ev.by), "node:%.50s", ev.node);
	int r = phx_json_to_message(&phx_facts_record, j, &ev.inventory.facts, &err);
	r = r ? r : engine_submit(d->engine, &ev, NULL, &err);
	PHX_AUTO_JSON json_t *empty = json_object();
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, empty);
	phx_event_fini(&ev);
}

/* ---- disk keys ---- */

/* The vault checks who asks, and seals the key: the head cannot read what it passes on. */
static int give_key(struct daemon *d, const char *key_id, const json_t *body,
		    struct phx_key_sealed *ret, struct phx_err *err)
{
	struct phx_key_ask ask;
	int r = phx_json_to_record(&phx_key_ask_record, body, &ask, err);
	if (r < 0)
		return r;
	r = phx_vault_key_give(keys_vault(d->keys), key_id, &ask, ret, err);
	phx_record_fini(&phx_key_ask_record, &ask);
	return r;
}

void api_disk_key(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char node[PHX_NAME_MAX];
	struct phx_key_sealed sealed;
	struct phx_err err = {0};
	if (!person_agent(d, q, node))
		return;
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body)
		return;
	const char *key_id = phx_http_param(q, 0);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	bool may = n && phx_key_may_have(n, key_id);
	engine_unlock(d->engine);
	if (!may) {
		phx_http_reply_error(q, -EACCES, "this node may not have this key");
		return;
	}
	int r = give_key(d, key_id, body, &sealed, &err);
	bool refused = r == -EPERM || r == -EKEYREJECTED;
	if (refused)
		tell_of_node(d, node, "refused key", "was refused the key of its disk");
	if (r < 0) {
		phx_http_reply_error(q, refused ? -EACCES : r, err.text);
		return;
	}
	tell_of_node(d, node, "disk key", "was given the key of its disk");
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_key_sealed_record, &sealed);
	phx_http_reply_json(q, 200, j);
}
