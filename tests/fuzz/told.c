/* What agents tell phxd: enrolment, hello, beats, results, inventory. The first byte chooses which,
 * and what comes of it; the rest is the body. All behind the handlers is fake: each request is
 * answered once or held, and an event that reaches the core is one that the journal gives back as
 * it was.
 * Parsers: cmd/phxd/api_agent.c cmd/phxd/beat.c */
#include "fuzz/fuzz.h"

/* parts of a program, not of the library */
#include "fake/metrics.h"
#include "fake/starts.h"
#include "phxd/api_agent.c"
#include "phxd/api_hello.c"
#include "phxd/beat.c"
#include "phxd/parse.c"
#include "phxd/seal.c"

/* what comes of it */
enum { CERTIFIED, PENDING, REFUSED, DISK_FULL, TELLS_TOO_MUCH, MOODS };

static const struct phx_http_peer peer = {.via = PHX_HTTP_TLS, .address = "10.77.0.9"};

#include "fuzz/request.h"

/* ---- the request ---- */

const char *phx_http_body(const struct phx_http_request *q, size_t *ret_n)
{
	(void)q;
	*ret_n = strlen(body);
	return body;
}

const char *phx_http_param(const struct phx_http_request *q, int index)
{
	(void)q, (void)index;
	return "n1-k1";
}

void phx_http_reply_json(struct phx_http_request *q, int status, const json_t *j)
{
	(void)q;
	fuzz_never(!j || status < 200 || status > 299);
	answers++;
}

bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	(void)d, (void)q;
	strcpy(ret_node, "n1");
	return true;
}

void person_name(const struct phx_http_peer *p, char *ret, size_t ret_size)
{
	snprintf(ret, ret_size, "addr:%s", p->address);
}

void catalog_deploy_of(const struct daemon *d, const char *sha256, char *ret, size_t size)
{
	(void)d;
	snprintf(ret, size, "%s", sha256[0] == 'a' ? "deploy 1" : "");
}

/* ---- the core ---- */

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err)
{
	(void)e;
	check_journal(ev);
	if (ret) {
		ret->enrol = mood == PENDING ? PHX_ENROL_PENDING
			: mood == REFUSED    ? PHX_ENROL_REFUSED
					     : PHX_ENROL_CERTIFY;
		snprintf(ret->node, sizeof(ret->node), "n1");
		snprintf(ret->text, sizeof(ret->text), "not announced");
	}
	return mood == DISK_FULL ? phx_err_set(err, -ENOSPC, "the disk is full") : 0;
}

bool live_heard(struct live *l, const char *node)
{
	(void)l, (void)node;
	return true;
}

bool live_may_tell(struct live *l, const char *node, size_t bytes)
{
	(void)l, (void)node, (void)bytes;
	return mood != TELLS_TOO_MUCH;
}

void live_told_version(struct live *l, const char *node, const char *version)
{
	(void)l, (void)node;
	fuzz_never(!version);
}

void live_untold(struct live *l, const char *node)
{
	(void)l, (void)node;
}

void site_portions_heard(struct site_portions *p)
{
	(void)p;
}

struct live_news live_beat(struct live *l, const char *node, struct beat *b)
{
	(void)l, (void)node;
	for (const char *text = b->monitor; text; text = text == b->monitor ? b->sessions : NULL) {
		PHX_AUTO_JSON json_t *j = NULL;
		fuzz_never(phx_json_parse_answer(text, strlen(text), &j, NULL) < 0);
	}
	return (struct live_news){.report = mood != TELLS_TOO_MUCH, .back = mood == PENDING};
}

void live_hold(struct live *l, const char *node, struct phx_http_request *q,
	       struct phx_list *running, bool look, int64_t wait_ms)
{
	(void)l, (void)node, (void)q, (void)look;
	fuzz_never(wait_ms > WAIT_MAX_MS);
	PHX_LIST_EACH(const struct beat_running, r, running)
		fuzz_never((unsigned)r->kind >= PHX_ORDER_KIND_COUNT_);
	phx_list_fini(running);
	answers++;
}

void live_wake(struct live *l, const char *node)
{
	(void)l, (void)node;
}

void live_back(struct live *l, const char *node)
{
	(void)l, (void)node;
}

void directors_sample(struct directors *b, const char *node, const struct beat *beat)
{
	(void)b, (void)node, (void)beat;
}

void directors_heard(struct directors *b, const char *node, const struct beat *beat)
{
	(void)b, (void)node, (void)beat;
}

void seldom_tell(struct seldom *s, const struct seldom_fact *f)
{
	(void)s;
	(void)f;
}

/* The keys' process is this one. */
struct phx_vault *keys_vault(struct keys *k)
{
	(void)k;
	return NULL;
}

static struct daemon head;

uint64_t keys_start_shown(struct keys *k, const char *node, const char *token)
{
	(void)k;
	return node[0] ? phx_start_said(token) : 0;
}

int keys_certify(struct keys *k, const struct phx_cert_ask *ask, char **ret_cert, char **ret_ca,
		 struct phx_err *err)
{
	(void)k;
	int r = phx_cert_issue(head.pki, ask->csr, PHX_CERT_NODE, ask->node, ask->days, ret_cert,
			       err);
	*ret_ca = r < 0 ? NULL : strdup(phx_pki_ca_pem(head.pki));
	return r;
}

int phx_vault_key_give(struct phx_vault *v, const char *key_id, const struct phx_key_ask *ask,
		       struct phx_key_sealed *ret, struct phx_err *err)
{
	struct phx_cert_info node;
	uint8_t key[PHX_DISK_KEY_SIZE];
	(void)v;
	int r = phx_key_ask_verify(ask, key_id, phx_pki_ca_pem(head.pki), &node, err);
	r = r ? r : phx_diskkey_read(head.cfg.key_dir, key_id, key, err);
	return r ? r : phx_key_seal(ask, key_id, key, ret, err);
}

/* One node, which may have the key n1-k1. */
static void begin(struct daemon *d)
{
	static struct phx_node node = {.name = "n1",
				       .boot_id = "b1",
				       .disk_key_id = "n1-k1",
				       .env = PHX_ENV_DEPLOY,
				       .up = true};
	PHX_AUTO_FREE char *dir = phx_path("%s/pki", fuzz_dir());
	struct phx_pki *pki = NULL;
	if (d->pki)
		return;
	snprintf(d->cfg.key_dir, sizeof(d->cfg.key_dir), "%s/keys", fuzz_dir());
	state.nodes = (struct phx_list){.items = &node, .n = 1};
	fuzz_never(!dir || phx_pki_open(dir, NULL, 0, &pki, NULL) < 0);
	d->pki = pki;
	fuzz_never(phx_diskkey_make(d->cfg.key_dir, "n1-k1", NULL) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const phx_http_handler handlers[] = {
		api_enrol, api_hello, api_beat, api_result, api_inventory, api_disk_key, api_rekey};
	if (!n)
		return 0;
	begin(&head);
	PHX_AUTO_FREE char *text = fuzz_text(data + 1, n - 1);
	body = text;
	answers = 0;
	mood = data[0] / PHX_ARRAY_SIZE(handlers) % MOODS;
	handlers[data[0] % PHX_ARRAY_SIZE(handlers)](NULL, &head);
	fuzz_never(answers != 1);
	return 0;
}
