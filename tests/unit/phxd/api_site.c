/* Settings of the site as they are applied and shown (cmd/phxd/api_site.c): what is refused before
 * anything is changed, which content is on the disk while, and after, the journal names it, how
 * many nodes are told at once, and who gets the bundle of a node. The settings in force are those
 * of site.c, in a real directory; the state is the core's. */
#include "unit/core/pair.h"

#include "fake/submitted.h"
#include "fake/person.h"

#include <dirent.h>

#include "base/tree.h"
#include "phxd/api_site.c" /* parts of a program, not of the library */
#include "phxd/parse.c"
#include "phxd/site.c"

#define N1_MAC "52:54:00:00:00:01"

static struct world *w;
static struct daemon head;
static char top[64], path[80], error[FAKE_TEXT];
static json_t *answer;
static unsigned n_woken, n_names, n_networks;
static const char *network_error; /* of the networks; NULL: they fit */
static const char *agent;         /* whose certificate came; NULL: none is believed */
static const char *agent_key;
static int64_t agent_has;       /* which bundle each node has */
static const char *agent_error; /* why it could not be applied */
static char file_at_event[PHX_SHA256_HEX];

/* ---- what is behind ---- */

const char *phx_http_path(const struct phx_http_request *q)
{
	(void)q;
	return path;
}

int64_t live_site(struct live *l, const char *node, char ret_error[BEAT_ERROR_MAX])
{
	(void)l, (void)node;
	phx_str_copy(ret_error, BEAT_ERROR_MAX, agent_error);
	return agent_has;
}

void live_wake(struct live *l, const char *node)
{
	(void)l, (void)node;
	assert_false(fake_engine_held);
	n_woken++;
}

void tell_up_nodes(struct daemon *d, struct phx_list *ret)
{
	(void)d;
	PHX_NODES_EACH(n, &w->s) {
		struct phx_word *word = phx_list_push(ret, sizeof(*word));
		PHX_STR_SET(word->text, n->name);
	}
}

void net_sync_names(struct daemon *d)
{
	(void)d;
	n_names++;
}

void site_networks_changed(struct daemon *d)
{
	(void)d;
	n_networks++;
}

void site_networks_check(struct daemon *d, const struct phx_site *site, json_t *errors)
{
	(void)d, (void)site;
	if (network_error)
		json_array_append_new(errors, json_string(network_error));
}

bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	(void)d;
	if (!agent)
		phx_http_reply_error(q, -EACCES, "an older certificate");
	return agent && phx_str_copy(ret_node, PHX_NAME_MAX, agent) == 0;
}

/* ---- a head with two nodes in their systems ---- */

static bool has_file(const char *digest)
{
	PHX_AUTO_FREE char *name = site_file(&head, digest);
	return access(name, F_OK) == 0;
}

/* Contents of settings, the temporary ones too. */
static unsigned n_files(void)
{
	unsigned n = 0;
	DIR *dir = opendir(top);
	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(dir);
	return n;
}

/* The journal names no content that is not on the disk; then the settings are in force. */
static void look(const struct phx_event *ev, struct phx_outcome *ret)
{
	(void)ret;
	assert_true(has_file(ev->site_apply.digest));
	PHX_STR_SET(file_at_event, ev->site_apply.digest);
	PHX_STR_SET(w->s.site.digest, ev->site_apply.digest);
}

static struct phx_node *n1(void)
{
	return world_node(w, "n1");
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	strcpy(top, "/tmp/phx-api-site.XXXXXX");
	if (!mkdtemp(top) || world_setup((void **)&w) < 0)
		return -1;
	for (unsigned i = 1; i <= 2; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		world_ready(w, name, true);
		world_node(w, name)->env = PHX_ENV_OS;
	}
	fake_state = &w->s;
	fake_submit_looks = look;
	fake_roles = FAKE_ADMIN;
	fake_identity = "unix:root";
	head = (struct daemon){0};
	PHX_STR_SET(head.cfg.state_dir, top);
	n_woken = n_names = n_networks = 0;
	network_error = agent = NULL;
	agent_key = n1()->key_fp;
	agent_has = 0;
	agent_error = "";
	return site_new(&head, &head.site);
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	json_decref(PHX_TAKE(answer));
	site_free(PHX_TAKE(head.site));
	world_teardown((void **)&w);
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return phx_dir_remove(top, NULL);
}

static int ends(struct phx_http_request *q)
{
	json_decref(PHX_TAKE(answer));
	PHX_STR_SET(error, q->text);
	answer = json_incref(q->json);
	return q->code;
}

/* ' stands for ". */
static int applies(const char *text)
{
	char body[2000];
	snprintf(body, sizeof(body), "%s", text);
	for (char *p = body; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	FAKE_REQUEST q = {.body = body};
	api_site_apply(&q, &head);
	return ends(&q);
}

static bool applied(void)
{
	return json_is_true(json_object_get(answer, "applied"));
}

static const char *said(const char *list, size_t i)
{
	const char *text = json_string_value(json_array_get(json_object_get(answer, list), i));
	return text ? text : "";
}

/* ---- applied ---- */

static void what_is_in_force_is_on_the_disk(void **state)
{
	char first[PHX_SHA256_HEX];
	(void)state;
	if (applies("{'site':{'domain':'example.org'}}") != 200)
		fail_msg("%s", error);
	assert_true(applied());
	assert_string_equal(said("errors", 0), "");
	assert_string_not_equal(said("changes", 0), "");
	assert_int_equal(fake_event(0)->kind, PHX_EV_site_apply);
	assert_string_equal(fake_event(0)->by, "by unix:root");
	PHX_STR_SET(first, file_at_event);
	assert_true(has_file(first));
	assert_int_equal(n_woken, 2); /* who is up is told */
	assert_int_equal(n_names, 1);
	assert_int_equal(n_networks, 1);
	/* the former content goes when the next one is in force */
	assert_int_equal(applies("{'site':{'domain':'example.com'}}"), 200);
	assert_true(applied());
	assert_string_not_equal(file_at_event, first);
	assert_false(has_file(first));
	assert_true(has_file(file_at_event));
	assert_int_equal(n_files(), 1);
}

static void the_same_is_applied_once(void **state)
{
	(void)state;
	applies("{'site':{'domain':'example.org'}}");
	char first[PHX_SHA256_HEX];
	PHX_STR_SET(first, file_at_event);
	assert_int_equal(applies("{'site':{'domain':'example.org'}}"), 200);
	assert_false(applied());
	assert_int_equal(fake_events.n, 1);
	/* nodes have not all been told: it goes on */
	w->s.site.last = 1;
	applies("{'site':{'domain':'example.org'}}");
	assert_true(applied());
	assert_true(has_file(first)); /* the same content has the same name */
	w->s.site.last = 0;
	/* again: each node does it once more, so its bundle has another id */
	applies("{'site':{'domain':'example.org'},'again':true}");
	assert_true(applied());
	assert_string_not_equal(file_at_event, first);
	assert_int_equal(n_files(), 1);
}

static void a_dry_run_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(applies("{'site':{'domain':'example.org'},'dry_run':true}"), 200);
	assert_false(applied());
	assert_string_not_equal(said("changes", 0), "");
	assert_int_equal(fake_events.n, 0);
	assert_int_equal(n_files(), 0);
	assert_int_equal(n_woken, 0);
	assert_int_equal(applies("{'site':{'domain':'x'},'dry_runn':true}"), -EINVAL);
	assert_int_equal(fake_events.n, 0);
}

/* What is in force stays, and its content; also where it is what was to be applied. */
static void what_the_journal_refuses_leaves_nothing(void **state)
{
	char first[PHX_SHA256_HEX];
	(void)state;
	fake_submit_result = -EROFS;
	assert_int_equal(applies("{'site':{'domain':'example.org'}}"), -EROFS);
	assert_int_equal(n_files(), 0);
	fake_submit_result = 0;
	applies("{'site':{'domain':'example.org'}}");
	PHX_STR_SET(first, file_at_event);
	fake_submit_result = -EROFS;
	assert_int_equal(applies("{'site':{'domain':'example.com'}}"), -EROFS);
	assert_true(has_file(first));
	assert_int_equal(n_files(), 1);
	w->s.site.last = 1;
	assert_int_equal(applies("{'site':{'domain':'example.org'}}"), -EROFS);
	assert_true(has_file(first));
	assert_int_equal(n_woken, 2); /* of the one that was applied */
	bool there;
	struct phx_site site;
	assert_int_equal(site_copy(head.site, &there, &site), 0);
	assert_string_equal(site.domain, "example.org");
	phx_record_fini(&phx_site_record, &site);
}

/* ---- refused ---- */

static void wrong(const char *text, const char *says)
{
	if (applies(text) != 200)
		fail_msg("%s: %s", text, error);
	assert_false(applied());
	if (!strstr(said("errors", 0), says))
		fail_msg("%s: %s", text, said("errors", 0));
	assert_int_equal(fake_events.n, 0);
	assert_int_equal(n_files(), 0);
}

static void names_that_are_not_there_are_told(void **state)
{
	(void)state;
	wrong("{'site':{'domain':'-x'}}", "-x");
	wrong("{'site':{'users':[{'name':'alice','uid':1000,'shell':'/bin/"
	      "sh','roles':[{'text':'cook'}],"
	      "'place':'users.conf:3'}]}}",
	      "users.conf:3: there is no role 'cook'");
	wrong("{'site':{'users':[{'name':'alice','uid':1000,'shell':'/bin/"
	      "sh','nodes':[{'text':'n[1-3]'}],"
	      "'place':'users.conf:3'}]}}",
	      "users.conf:3: there is no node 'n3'");
	wrong("{'site':{'files':[{'path':'/etc/a','owner':'root','group':'root','mode':'0644',"
	      "'scope':'role','of':'cook','place':'files/role/cook/etc/a'}]}}",
	      "files/role/cook/etc/a: there is no role 'cook'");
	wrong("{'site':{'files':[{'path':'/etc/a','owner':'root','group':'root','mode':'0644',"
	      "'scope':'node','of':'n9','place':'files/node/n9/etc/a'}]}}",
	      "files/node/n9/etc/a: there is no node 'n9'");
	network_error = "networks.conf:1: not of this head";
	wrong("{'site':{'domain':'example.org'}}", network_error);
}

#define BOND(nodes, mac) \
	"{'site':{'nodes':[{'nodes':'" nodes "','nics':[{'name':'lan0','mac':'" mac "'}]}]}}"

static void a_card_of_another_machine_is_told(void **state)
{
	(void)state;
	wrong(BOND("n2", N1_MAC), N1_MAC " is a card of node n1");
	assert_int_equal(applies(BOND("n1", N1_MAC)), 200);
	if (!applied())
		fail_msg("%s", said("errors", 0));
}

/* What the system of an owner says of cards is his word: with it he had settings refused. */
static void a_claimed_card_is_no_proof(void **state)
{
	struct phx_node *n = n1();
	(void)state;
	struct phx_nic_facts *nic = phx_list_push(&n->facts.nics, sizeof(*nic));
	PHX_STR_SET(nic->mac, "52:54:00:00:00:77");
	n->fresh = true;
	wrong(BOND("n2", "52:54:00:00:00:77"), "is a card of node n1");
	n->fresh = false;
	assert_int_equal(applies(BOND("n2", "52:54:00:00:00:77")), 200);
	if (!applied())
		fail_msg("%s", said("errors", 0));
}

static void so_many_nodes_are_told_at_once(void **state)
{
	static const struct {
		const char *more;
		int r;
		uint32_t portion;
	} rows[] = {
		{"'batch':'1'", 200, 1},
		{"'batch':'50%','max_failures':3", 200, 1},
		{"'batch':'100%'", 200, 2},
		{"'batch':'2'", 200, 2},
		{"'batch':'3'", -EINVAL, 0},
		{"'batch':'0'", -EINVAL, 0},
		{"'batch':'x'", -EINVAL, 0},
		{"'max_failures':1", -EINVAL, 0},
		{"'batch':'1','max_failures':-1", -EINVAL, 0},
		{"'batch':2", -EINVAL, 0},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char text[200];
		uint32_t n = fake_events.n;
		snprintf(text, sizeof(text), "{'site':{'domain':'example.org'},'again':true,%s}",
			 rows[i].more);
		if (applies(text) != rows[i].r)
			fail_msg("%s: %s", rows[i].more, error);
		assert_int_equal(fake_events.n, n + (rows[i].r == 200));
		if (rows[i].r != 200)
			continue;
		assert_int_equal(fake_event(n)->site_apply.portion, rows[i].portion);
		assert_int_equal(phx_json_int(answer, "portion", 0), rows[i].portion);
	}
	assert_int_equal(fake_event(1)->site_apply.max_failed, 3);
}

/* ---- shown ---- */

static int64_t n_are(const char *how)
{
	FAKE_REQUEST q = {0};
	api_site(&q, &head);
	assert_int_equal(ends(&q), 200);
	return phx_json_int(json_object_get(answer, "nodes"), how, -1);
}

static void nodes_are_counted_by_how_they_stand(void **state)
{
	struct site_facts f;
	(void)state;
	assert_int_equal(n_are("current"), 0);
	assert_int_equal(n_are("applying"), 0);
	applies("{'site':{'domain':'example.org'}}");
	assert_int_equal(n_are("applying"), 2);
	assert_true(site_facts_of(&w->s, n1(), &f));
	agent_has = (int64_t)site_wanted(head.site, &f, NULL); /* of both: they are alike */
	site_facts_fini(&f);
	assert_int_equal(n_are("current") + n_are("applying"), 2);
	assert_true(n_are("current") >= 1);
	agent_error = "useradd: no space";
	assert_true(n_are("failed") >= 1);
	n1()->env = PHX_ENV_DEPLOY; /* its system does not run: nothing is said of it */
	world_node(w, "n2")->env = PHX_ENV_DEPLOY;
	assert_int_equal(n_are("failed") + n_are("current") + n_are("applying"), 0);
}

static int shows(const char *node)
{
	FAKE_REQUEST q = {0};
	snprintf(path, sizeof(path), "/v1/site/nodes/%s", node);
	api_site_node(&q, &head);
	return ends(&q);
}

static void what_a_node_is_to_have_is_told_with_its_place(void **state)
{
	(void)state;
	assert_int_equal(shows("n9"), -ENOENT);
	assert_string_equal(error, "there is no such node");
	assert_int_equal(shows("n1"), 200); /* nothing is applied, and that is no error */
	assert_int_equal(json_array_size(json_object_get(answer, "settings")), 0);
	assert_int_equal(applies("{'site':{'nodes':[{'nodes':'n1','place':'nodes.conf:2',"
				 "'sysctl':[{'name':'vm.swappiness','text':'10','line':4}],"
				 "'kernel_args':[{'name':'quiet','text':'quiet'}]}]}}"),
			 200);
	if (!applied())
		fail_msg("%s", said("errors", 0));
	assert_int_equal(shows("n1"), 200);
	const json_t *row = json_array_get(json_object_get(answer, "settings"), 1);
	assert_string_equal(phx_json_str(row, "key", ""), "sysctl");
	assert_string_equal(phx_json_str(row, "value", ""), "10");
	assert_string_equal(phx_json_str(row, "from", ""), "nodes.conf:4");
	assert_string_equal(phx_json_str(answer, "kernel_args", ""), "quiet");
	assert_int_equal(shows("n2"), 200);
	assert_int_equal(json_array_size(json_object_get(answer, "settings")), 0);
}

/* ---- the bundle of a node ---- */

static int asks(bool busy)
{
	FAKE_REQUEST q = {.busy = busy};
	PHX_STR_SET(q.peer.cert.fingerprint, agent_key);
	api_agent_site(&q, &head);
	return ends(&q);
}

static void the_bundle_is_for_the_system_of_that_node(void **state)
{
	(void)state;
	assert_int_equal(asks(false), -EACCES);
	assert_string_equal(error, "an older certificate");
	agent = "n1";
	assert_int_equal(asks(false), -ENOENT);
	assert_string_equal(error, "there are no settings of the site");
	applies("{'site':{'domain':'example.org'}}");
	assert_int_equal(asks(false), 200);
	PHX_AUTO_JSON json_t *b = json_loads(error, 0, NULL);
	assert_true(phx_json_int(b, "id", 0) != 0);
	assert_int_equal(asks(true), FAKE_LATER); /* two are on their way already */
	/* another key has the certificate of the same name */
	agent_key = "another";
	assert_int_equal(asks(false), -EACCES);
	agent_key = n1()->key_fp;
	n1()->env = PHX_ENV_DEPLOY;
	assert_int_equal(asks(false), -EACCES);
	assert_string_equal(error, "there are no settings for this node now");
	n1()->env = PHX_ENV_OS;
	n1()->state = PHX_NODE_QUARANTINED;
	assert_int_equal(asks(false), -EACCES);
	n1()->state = PHX_NODE_READY;
	assert_int_equal(asks(false), 200);
}

/* Who has a bundle, and could ask for the next one before the others, is told none until then. */
static void a_node_gets_it_in_its_turn(void **state)
{
	(void)state;
	agent = "n1";
	applies("{'site':{'domain':'example.org'}}");
	w->s.site.next = n1()->number;
	w->s.site.last = n1()->number;
	assert_int_equal(asks(false), 200); /* it has none yet */
	agent_has = 7;
	assert_int_equal(asks(false), -EACCES);
	assert_string_equal(error, "the node waits for its turn");
	w->s.site.next = n1()->number + 1;
	assert_int_equal(asks(false), 200);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_is_in_force_is_on_the_disk),
		T(the_same_is_applied_once),
		T(a_dry_run_changes_nothing),
		T(what_the_journal_refuses_leaves_nothing),
		T(names_that_are_not_there_are_told),
		T(a_card_of_another_machine_is_told),
		T(a_claimed_card_is_no_proof),
		T(so_many_nodes_are_told_at_once),
		T(nodes_are_counted_by_how_they_stand),
		T(what_a_node_is_to_have_is_told_with_its_place),
		T(the_bundle_is_for_the_system_of_that_node),
		T(a_node_gets_it_in_its_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
