/* The site's CA and its change (cmd/phxd/api_pki.c): who would be shut out with the former CA,
 * that nobody is without force, and that each change is journalled before it is made and after. The
 * vault and the keys are fakes; nodes and revocations are the state's. */
#include "fake/submitted.h"
#include "fake/person.h"

#include "pki/pki.h"
#include "vault/vault.h"

static bool rolls;
static struct phx_list issued; /* struct phx_issued */
static int people_result;

#define phx_pki_rolls(pki) ((void)(pki), rolls)
#define phx_pki_ca_id(pki) ((void)(pki), "new-ca")
#define phx_pki_ca_pem(pki) ((void)(pki), "PEM")

static int fake_people(struct phx_vault *v, struct phx_list *ret, struct phx_err *err)
{
	(void)v;
	assert_false(fake_engine_held); /* it waits for another process */
	PHX_LIST_EACH(struct phx_issued, i, &issued)
		*(struct phx_issued *)phx_list_push(ret, sizeof(*i)) = *i;
	return people_result < 0 ? phx_err_set(err, people_result, "the vault is gone") : 0;
}

static int fake_ca_list(const char *pem, const char *what, struct phx_ca_info ret[PHX_CAS_MAX],
			struct phx_err *err)
{
	(void)what, (void)err;
	assert_string_equal(pem, "PEM");
	ret[0] = (struct phx_ca_info){.begins_s = 1, .expires_s = 2};
	PHX_STR_SET(ret[0].id, "new-ca");
	ret[1] = ret[0];
	PHX_STR_SET(ret[1].id, "old-ca");
	return rolls ? 2 : 1;
}

#define phx_vault_people fake_people
#define phx_ca_list fake_ca_list
#include "phxd/api_pki.c" /* parts of a program, not of the library */
#include "phxd/parse.c"
#include "phxd/tell.c"

static struct daemon head;
static struct phx_state core;
static struct phx_buf done; /* what was done, in its order */
static int change_result, site_result;
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- what is behind ---- */

struct phx_vault *keys_vault(struct keys *k)
{
	(void)k;
	return NULL;
}

int keys_change_ca(struct keys *k, enum phx_vault_change what, struct phx_err *err)
{
	(void)k;
	phx_buf_addf(&done, "%s;", what == PHX_VAULT_ROTATE ? "rotate" : "retire");
	return change_result < 0 ? phx_err_set(err, change_result, "the vault says no") : 0;
}

int catalog_site_files(struct daemon *d, struct phx_err *err)
{
	(void)d;
	phx_buf_addf(&done, "site;");
	return site_result < 0 ? phx_err_set(err, site_result, "no space") : 0;
}

void access_changed(struct daemon *d)
{
	(void)d;
	phx_buf_addf(&done, "access;");
}

static void looks(const struct phx_event *ev, struct phx_outcome *ret)
{
	(void)ret;
	assert_int_equal(ev->kind, PHX_EV_notice);
	assert_string_equal(ev->by, "by unix:root");
	phx_buf_addf(&done, "\"%s\";", ev->text);
}

/* ---- who depends on it ---- */

static void node(const char *name, const char *ca)
{
	struct phx_node *n = phx_list_push(&core.nodes, sizeof(*n));
	n->number = core.nodes.n;
	PHX_STR_SET(n->name, name);
	PHX_STR_SET(n->ca, ca);
	PHX_STR_SET(n->key_fp, ca[0] ? "key" : "");
}

static void cert(const char *serial, const char *name, const char *ca, int64_t expires_s)
{
	struct phx_issued *i = phx_list_push(&issued, sizeof(*i));
	PHX_STR_SET(i->serial, serial);
	PHX_STR_SET(i->name, name);
	PHX_STR_SET(i->ca, ca);
	i->expires_s = expires_s;
}

#define LATER (phx_wall_ms() / 1000 + 1000)

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	fake_submit_looks = looks;
	if (phx_state_init(&core) < 0)
		return -1;
	fake_state = &core;
	fake_roles = FAKE_ADMIN;
	fake_identity = "unix:root";
	rolls = true;
	people_result = change_result = site_result = 0;
	done = (struct phx_buf){0};
	answer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	json_decref(PHX_TAKE(answer));
	phx_buf_fini(&done);
	phx_list_fini(&issued);
	issued = (struct phx_list){0};
	phx_state_fini(&core);
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return 0;
}

static int asks(phx_http_handler handler, const char *body)
{
	FAKE_REQUEST q = {.body = body};
	json_decref(PHX_TAKE(answer));
	phx_buf_fini(&done);
	done = (struct phx_buf){0};
	handler(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.code;
}

static void assert_done(const char *want)
{
	assert_string_equal(done.n ? done.data : "", want);
}

static void people_and_nodes(void)
{
	node("n1", "old-ca");
	node("n2", "new-ca");
	node("n3", "old-ca");
	node("n4", ""); /* it has no key yet */
	cert("1", "alice", "old-ca", LATER);
	cert("2", "bob", "new-ca", LATER);
	cert("3", "carol", "old-ca", LATER - 2000); /* it is over */
	cert("4", "dave", "", LATER);               /* nobody believes it now */
	cert("5", "eve", "old-ca", LATER);
	struct phx_revoked *r = phx_list_push(&core.revoked, sizeof(*r));
	PHX_STR_SET(r->serial, "5");
}

static void who_depends_on_the_former_ca_is_named(void **state)
{
	(void)state;
	people_and_nodes();
	assert_int_equal(asks(api_pki, NULL), 200);
	PHX_AUTO_FREE char *nodes = json_dumps(json_object_get(answer, "nodes"), JSON_COMPACT);
	assert_string_equal(nodes, "[\"n1\",\"n3\"]");
	const json_t *certs = json_object_get(answer, "certs"),
		     *cas = json_object_get(answer, "cas");
	assert_int_equal(json_array_size(certs), 1);
	assert_string_equal(phx_json_str(json_array_get(certs, 0), "name", ""), "alice");
	assert_int_equal(json_array_size(cas), 2);
	assert_true(phx_json_bool(json_array_get(cas, 0), "signs", false));
	assert_false(phx_json_bool(json_array_get(cas, 1), "signs", true));
	people_result = -EPIPE;
	assert_int_equal(asks(api_pki, NULL), -EPIPE);
	/* with one CA nobody does, and the vault is not asked */
	rolls = false;
	assert_int_equal(asks(api_pki, NULL), 200);
	assert_int_equal(json_array_size(json_object_get(answer, "nodes")), 0);
	assert_int_equal(json_array_size(json_object_get(answer, "certs")), 0);
}

static void nobody_is_shut_out_without_force(void **state)
{
	(void)state;
	people_and_nodes();
	assert_int_equal(asks(api_pki_retire, NULL), -EBUSY);
	assert_true(
		phx_str_starts(error, "2 nodes (n[1,3]) and 1 certificate (alice): start nodes"));
	assert_done("");
	people_result = -EPIPE; /* who it would be is not known */
	assert_int_equal(asks(api_pki_retire, "{\"force\":true}"), -EPIPE);
	assert_done("");
	people_result = 0;
	assert_int_equal(asks(api_pki_retire, "{\"force\":true}"), 200);
	assert_done("\"the former CA is to be retired, which shuts out 2 nodes (n[1,3]) and 1 "
		    "certificate (alice)\";retire;\"the site's CA: new-ca signs, and no other is "
		    "believed\";site;access;");
	issued.n = 0;
	core.nodes.n = 0;
	assert_int_equal(asks(api_pki_retire, NULL), 200);
	assert_true(phx_str_starts(done.data, "\"the former CA is to be retired\";retire;"));
}

static void names_of_many_are_cut(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%d", i * 7);
		node(name, "old-ca");
	}
	assert_int_equal(asks(api_pki_retire, NULL), -EBUSY);
	assert_true(phx_str_starts(error, "60 nodes (n["));
	assert_non_null(strstr(error, "...): start nodes"));
	assert_non_null(strstr(error, "phx pki retire --force shuts them out"));
}

static void a_change_is_journalled_before_it_is_made(void **state)
{
	(void)state;
	assert_int_equal(asks(api_pki_rotate, "{\"reason\":\"it leaked\"}"), 200);
	assert_done("\"the site's CA is to be changed: it leaked\";rotate;\"the site's CA: new-ca "
		    "signs; the one before is believed until phx pki retire\";site;access;");
	assert_int_equal(json_array_size(json_object_get(answer, "cas")), 2);
	assert_int_equal(asks(api_pki_rotate, NULL), 200);
	assert_true(phx_str_starts(done.data, "\"the site's CA is to be changed\";"));
	/* what cannot be told is not done */
	fake_submit_result = -EROFS;
	assert_int_equal(asks(api_pki_rotate, NULL), -EROFS);
	assert_null(strstr(done.n ? done.data : "", "rotate"));
	fake_submit_result = 0;
	change_result = -EBUSY;
	site_result = -ENOSPC; /* it is told on standard error, and changes no answer */
	assert_int_equal(asks(api_pki_rotate, NULL), -EBUSY);
	assert_string_equal(error, "the vault says no");
	assert_non_null(strstr(done.data, "\"the site's CA is not changed: the vault says no\";"));
	change_result = 0;
	assert_int_equal(asks(api_pki_rotate, NULL), 200);
}

static void what_is_wrong_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(asks(api_pki_rotate, "{\"force\":true}"), -EINVAL);
	assert_string_equal(error, "force: is not known here");
	assert_int_equal(asks(api_pki_rotate, "{\"reason\":\"a\\nb\"}"), -EINVAL);
	assert_int_equal(asks(api_pki_retire, "{\"force\":1}"), -EINVAL);
	assert_string_equal(error, "force: must be true or false");
	assert_int_equal(asks(api_pki_retire, "{\"reason\":\"x\"}"), -EINVAL);
	assert_done("");
	assert_int_equal(fake_events.n, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(who_depends_on_the_former_ca_is_named),
		T(nobody_is_shut_out_without_force),
		T(names_of_many_are_cut),
		T(a_change_is_journalled_before_it_is_made),
		T(what_is_wrong_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
