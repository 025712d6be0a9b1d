/* Who is let in: announced and unknown machines, keys that come back, keys
 * that do not, duplicates, jobs, rules, replay. */
#include "unit/core/world.h"

#include "base/json.h"

static void unknown_machine_waits(void **state)
{
	struct world *w = *state;
	assert_int_equal(world_enrol(w, 7, "k"), PHX_ENROL_PENDING);
	struct phx_node *n = world_node(w, "n-525400000007");
	assert_int_equal(n->state, PHX_NODE_NEW);
	assert_string_equal(n->pool, "");
	uint64_t seq = w->s.seq;
	assert_int_equal(world_enrol(w, 7, "k"), PHX_ENROL_PENDING);
	assert_int_equal(w->s.seq, seq); /* asking again is no event */
	struct phx_event ev = {.kind = PHX_EV_node_accept};
	PHX_STR_SET(ev.node, n->name);
	PHX_STR_SET(ev.named.name, "n7");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(world_enrol(w, 7, "k"), PHX_ENROL_CERTIFY);
	assert_int_equal(world_node(w, "n7")->state, PHX_NODE_COMMISSIONING);
}

/* in journals of before there is none, and the name is made of the MAC address */
static void unknown_machine_has_the_name_that_was_drawn(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_enrol};
	PHX_STR_SET(ev.enrol.name, "n-0badcafe");
	PHX_STR_SET(ev.enrol.key_fp, "k");
	world_event_mac(&ev.enrol.macs, 7);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(world_node(w, "n-0badcafe")->state, PHX_NODE_NEW);
	assert_null(phx_state_node(&w->s, "n-525400000007"));
	PHX_STR_SET(ev.enrol.name, "n-00000001"); /* it asks again */
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_null(phx_state_node(&w->s, "n-00000001"));
	phx_event_fini(&ev);
}

static void announced_on_hold_waits_too(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_node_add, .node_add.hold = true};
	PHX_STR_SET(ev.node, "n1");
	world_event_mac(&ev.node_add.macs, 1);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_int_equal(world_enrol(w, 1, "k"), PHX_ENROL_PENDING);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), -EPERM);
	assert_int_equal(world_order(w, PHX_EV_node_accept, "n1", NULL), 0);
	assert_int_equal(world_enrol(w, 1, "k"), PHX_ENROL_CERTIFY);
}

static void same_key_again_is_no_question(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(world_enrol(w, 1, "key-n1"), PHX_ENROL_CERTIFY);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
}

static void another_key_while_the_node_is_up_is_refused_and_disturbs_nothing(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_enrol(w, 1, "stolen"), PHX_ENROL_REFUSED);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_string_equal(world_node(w, "n1")->key_fp, "key-n1");
}

static void another_key_outside_the_window_is_refused(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(gone.node, "n1");
	world_apply(w, &gone, NULL);
	assert_int_equal(world_enrol(w, 1, "new key"), PHX_ENROL_REFUSED);
	/* who asks is not known to be the machine: nothing happens to the node */
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_string_equal(world_node(w, "n1")->key_fp, "key-n1");
}

static void the_window_is_good_for_one_key(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	struct phx_event power = {.kind = PHX_EV_power};
	PHX_STR_SET(power.node, "n1");
	power.order.op = PHX_POWER_CYCLE;
	assert_int_equal(world_apply(w, &power, NULL), 0);
	uint64_t start = world_node(w, "n1")->start;
	assert_int_equal(world_enrol_by(w, 1, "after our order", start), PHX_ENROL_CERTIFY);
	/* a lost answer */
	assert_int_equal(world_enrol_by(w, 1, "after our order", start), PHX_ENROL_CERTIFY);
	assert_int_equal(world_enrol_by(w, 1, "one more", start), PHX_ENROL_REFUSED);
}

static void known_mac_with_another_serial_is_refused(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	struct phx_event ev = {.kind = PHX_EV_enrol};
	struct phx_outcome out;
	world_event_mac(&ev.enrol.macs, 1);
	PHX_STR_SET(ev.enrol.key_fp, "k");
	PHX_STR_SET(ev.enrol.serial, "another machine");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_int_equal(out.enrol, PHX_ENROL_REFUSED);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}

static void macs_of_two_nodes_are_never_merged(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	struct phx_event ev = {.kind = PHX_EV_enrol};
	world_event_mac(&ev.enrol.macs, 1);
	world_event_mac(&ev.enrol.macs, 2);
	PHX_STR_SET(ev.enrol.key_fp, "k");
	assert_int_equal(world_apply(w, &ev, NULL), -ENOTUNIQ);
	phx_event_fini(&ev);
	struct phx_event add = {.kind = PHX_EV_node_add};
	PHX_STR_SET(add.node, "n3");
	world_event_mac(&add.node_add.macs, 1);
	assert_int_equal(world_apply(w, &add, NULL), -EEXIST);
	assert_non_null(strstr(w->err.text, "n1"));
	phx_event_fini(&add);
}

/* What was announced is announced again: the same changes nothing, and what would be dropped is
 * refused. */
static int announce(struct world *w, const char *serial, const char *ip, const char *bmc)
{
	struct phx_event add = {.kind = PHX_EV_node_add};
	PHX_STR_SET(add.node, "n7");
	world_event_mac(&add.node_add.macs, 7);
	PHX_STR_SET(add.node_add.serial, serial);
	PHX_STR_SET(add.node_add.ip, ip);
	PHX_STR_SET(add.node_add.bmc.driver, bmc[0] ? "ipmi" : "");
	PHX_STR_SET(add.node_add.bmc.address, bmc);
	int r = world_apply(w, &add, NULL);
	phx_event_fini(&add);
	return r;
}
static void an_announcement_that_says_otherwise_is_refused(void **state)
{
	struct world *w = *state;
	assert_int_equal(announce(w, "S7", "10.77.0.7", "10.9.0.7"), 0);
	assert_int_equal(announce(w, "S7", "10.77.0.7", "10.9.0.7"), 0);
	assert_int_equal(announce(w, "", "", ""), 0);
	assert_int_equal(w->s.nodes.n, 1);
	assert_int_equal(announce(w, "S8", "", ""), -EEXIST);
	assert_non_null(strstr(w->err.text, "serial number"));
	assert_int_equal(announce(w, "", "10.77.0.8", ""), -EEXIST);
	assert_non_null(strstr(w->err.text, "address"));
	assert_int_equal(announce(w, "", "", "10.9.0.8"), -EEXIST);
	assert_non_null(strstr(w->err.text, "BMC"));
}

/* ---- system UUIDs: everybody can read them from the network ---- */

/* The agent of the node says that UUID; "boot": the boot that it is in. */
static void says(struct world *w, const char *node, int env, const char *boot, const char *uuid)
{
	struct phx_event ev = {.kind = PHX_EV_hello, .hello = {.env = env, .echoes = true}};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.hello.boot_id, boot);
	PHX_STR_SET(ev.hello.system_digest, world_node(w, node)->system_digest);
	PHX_STR_SET(ev.hello.actual_role, world_node(w, node)->actual_role);
	world_facts(&ev.hello.facts, world_index(node));
	PHX_STR_SET(ev.hello.facts.uuid, uuid);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static void comes_with(struct world *w, const char *node, const char *uuid)
{
	world_add(w, node, true);
	assert_int_equal(world_enrol(w, world_index(node), "another"), PHX_ENROL_CERTIFY);
	says(w, node, PHX_ENV_DEPLOY, "b", uuid);
}

static void who_claims_a_uuid_is_quarantined_alone(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	comes_with(w, "n2", "uuid-1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_string_equal(world_node(w, "n1")->pool, "web");
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(world_node(w, "n2")->reason, "n1 reports the same system UUID"));
	assert_string_equal(world_node(w, "n2")->proven_uuid, "");
	/* whoever resumes it is told the same; the known one comes back whenever it should */
	assert_int_equal(world_order(w, PHX_EV_quarantine, "n1", NULL), 0);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
}

static void in_older_journals_both_are(void **state)
{
	struct world *w = *state;
	w->s.settings.doubts_uuids = false;
	world_ready(w, "n1", true);
	comes_with(w, "n2", "uuid-1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_QUARANTINED);
	assert_string_equal(world_node(w, "n1")->proven_uuid, "");
}

/* An owner says no UUID, then another one: it is noticed, and his node alone is quarantined. */
static void no_uuid_erases_none(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	char boot[40];
	PHX_STR_SET(boot, world_node(w, "n1")->boot_id);
	says(w, "n1", PHX_ENV_OS, boot, "");
	assert_string_equal(world_node(w, "n1")->facts.uuid, "uuid-1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	says(w, "n1", PHX_ENV_OS, boot, "uuid-7");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(world_node(w, "n1")->reason, "another system UUID"));
	assert_string_equal(world_node(w, "n1")->proven_uuid, "uuid-1");
}

/* What an owner's system says is nobody's: the machine that it belongs to comes, and comes back. */
static void a_claim_keeps_nobody_out(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	char boot[40];
	PHX_STR_SET(boot, world_node(w, "n1")->boot_id);
	says(w, "n1", PHX_ENV_OS, boot, "uuid-7");
	world_ready(w, "n7", true);
	assert_string_equal(world_node(w, "n7")->proven_uuid, ""); /* two say so */
	assert_int_equal(world_order(w, PHX_EV_quarantine, "n7", NULL), 0);
	assert_int_equal(world_order(w, PHX_EV_resume, "n7", NULL), 0);
	world_run(w, "n7");
	assert_int_equal(world_node(w, "n7")->state, PHX_NODE_READY);
	/* his own has to prove who it is */
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_run(w, "n1");
	assert_string_equal(world_node(w, "n1")->facts.uuid, "uuid-1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
}

static void has_uuid_9(struct phx_facts *f, int env)
{
	(void)env;
	PHX_STR_SET(f->uuid, "uuid-9");
}

/* A machine with another board: a person has said so, and its start has shown it. */
static void another_board_is_proven_by_a_start(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	says(w, "n1", PHX_ENV_OS, "b", "uuid-9");
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	w->more_facts = has_uuid_9;
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_string_equal(n->proven_uuid, "uuid-9");
}

static void two_disks_with_one_serial_quarantine(void **state)
{
	struct world *w = *state;
	world_add(w, "n1", true);
	world_enrol(w, 1, "k");
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.hello.boot_id, "b");
	world_facts(&ev.hello.facts, 1);
	struct phx_disk_facts *d = phx_list_push(&ev.hello.facts.disks, sizeof(*d));
	*d = *PHX_LIST_AT(&ev.hello.facts.disks, struct phx_disk_facts, 0);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(world_node(w, "n1")->reason, "serial-disk1"));
}

static void rules_deploy_by_themselves(void **state)
{
	struct world *w = *state;
	struct phx_event on = {.kind = PHX_EV_settings, .site.settings = w->s.settings};
	on.site.settings.auto_assign = true;
	assert_int_equal(world_apply(w, &on, NULL), 0);
	struct phx_event rules = {.kind = PHX_EV_rules_put};
	struct phx_rule *r = phx_list_push(&rules.rules_put.rules, sizeof(*r));
	struct phx_rule_term *t = phx_list_push(&r->terms, sizeof(*t));
	PHX_STR_SET(r->role, "web");
	r->line = 3;
	*t = (struct phx_rule_term){"memory_bytes", PHX_RULE_GE, "512 MiB"};
	assert_int_equal(world_apply(w, &rules, NULL), 0);
	phx_event_fini(&rules);
	world_add(w, "n1", true);
	world_enrol(w, 1, "k");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_DEPLOYING);
	world_run(w, "n1");
	assert_string_equal(world_node(w, "n1")->role, "web");
}

static uint64_t submit(struct world *w, uint32_t nodes, uint32_t uid)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = nodes, .uid = uid, .gid = uid}};
	struct phx_outcome out;
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "hostname"), 0);
	int r = world_apply(w, &ev, &out);
	uint64_t id = r < 0 ? 0 : out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return id;
}

static void end_part(struct world *w, uint64_t id, const char *node, int status)
{
	struct phx_event ev = {.kind = PHX_EV_job_result,
			       .job_result = {.job = id, .result = status}};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void jobs_start_whole_or_not(void **state)
{
	struct world *w = *state;
	struct phx_list orders = {0};
	world_serving(w, "n1", "compute", true);
	uint64_t id = submit(w, 2, 1000);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_QUEUED);
	world_serving(w, "n2", "compute", true);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_RUNNING);
	world_orders(w, "n2", &orders);
	assert_int_equal(orders.n, 1);
	assert_int_equal(PHX_LIST_AT(&orders, struct phx_order, 0)->kind, PHX_ORDER_job);
	phx_record_fini(&phx_order_record, orders.items);
	phx_list_fini(&orders);
	end_part(w, id, "n1", 0);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_RUNNING);
	end_part(w, id, "n2", 0);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_DONE);
	assert_int_equal(world_node(w, "n1")->jobs_running, 0);
}

static void a_failed_part_ends_the_others(void **state)
{
	struct world *w = *state;
	struct phx_list orders = {0};
	world_serving(w, "n1", "compute", true);
	world_serving(w, "n2", "compute", true);
	uint64_t id = submit(w, 2, 1000);
	end_part(w, id, "n1", 3);
	world_orders(w, "n2", &orders);
	assert_int_equal(PHX_LIST_AT(&orders, struct phx_order, 0)->kind, PHX_ORDER_kill);
	phx_record_fini(&phx_order_record, orders.items);
	phx_list_fini(&orders);
	end_part(w, id, "n2", 143);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_FAILED);
}

static void jobs_never_run_as_root(void **state)
{
	struct world *w = *state;
	assert_int_equal(submit(w, 1, 0), 0);
	assert_non_null(strstr(w->err.text, "root"));
	/* which the system's calls take for "as it is" */
	assert_int_equal(submit(w, 1, UINT32_MAX), 0);
	assert_non_null(strstr(w->err.text, "no number of a user"));
	struct phx_event away = {
		.kind = PHX_EV_job_submit,
		.job_submit = {.job_nodes = 1, .uid = 1000, .gid = 1000, .chdir = "tmp"}};
	assert_int_equal(phx_text_push(&away.job_submit.argv, "/bin/true"), 0);
	assert_int_equal(world_apply(w, &away, NULL), -EINVAL); /* where the agent happens to be */
	assert_non_null(strstr(w->err.text, "absolute path"));
	phx_event_fini(&away);
	/* nor with a group that is root's */
	static const struct {
		uint32_t uid, gid;
		const char *why;
	} cases[] = {{1000, 0, "never run as root"},
		     {0, 1000, "never run as root"},
		     {1000, UINT32_MAX, "no number of a user or group"},
		     {UINT32_MAX, 1000, "no number of a user or group"}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_event ev = {
			.kind = PHX_EV_job_submit,
			.job_submit = {.job_nodes = 1, .uid = cases[i].uid, .gid = cases[i].gid}};
		assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/true"), 0);
		assert_int_equal(world_apply(w, &ev, NULL), -EPERM);
		assert_non_null(strstr(w->err.text, cases[i].why));
		phx_event_fini(&ev);
	}
}

static void a_reboot_ends_its_parts(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	uint64_t id = submit(w, 1, 1000);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_FAILED);
	assert_true(phx_node_boots_local(&w->s, world_node(w, "n1")));
}

static void facts_on_demand(void **state)
{
	struct world *w = *state;
	struct phx_list orders = {0};
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_inspect, "n1", NULL), 0);
	world_orders(w, "n1", &orders);
	assert_int_equal(orders.n, 1);
	assert_int_equal(PHX_LIST_AT(&orders, struct phx_order, 0)->kind, PHX_ORDER_inspect);
	phx_list_fini(&orders);
	struct phx_event ev = {.kind = PHX_EV_inventory};
	PHX_STR_SET(ev.node, "n1");
	world_facts(&ev.inventory.facts, 1);
	ev.inventory.facts.memory_bytes = 2ULL << 30;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	world_orders(w, "n1", &orders);
	assert_int_equal(orders.n, 0);
	phx_list_fini(&orders);
	assert_int_equal(world_node(w, "n1")->facts.memory_bytes, 2ULL << 30);
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(gone.node, "n1");
	world_apply(w, &gone, NULL);
	assert_int_equal(world_order(w, PHX_EV_inspect, "n1", NULL), -EHOSTUNREACH);
}

/* What goes through JSON comes back the same: state, and with it snapshots. */
static void state_survives_json(void **state)
{
	struct world *w = *state;
	struct phx_state back;
	world_serving(w, "n1", "vault", true);
	world_add(w, "n2", false);
	submit(w, 1, 1000);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_state_record, &w->s);
	assert_int_equal(phx_json_to_record(&phx_state_record, j, &back, &w->err), 0);
	assert_true(phx_record_equal(&phx_state_record, &back, &w->s));
	phx_state_fini(&back);
}

/* Quarantined before it ever had a certificate: whoever resumes it lets it in. */
static void what_was_never_let_in_begins_anew(void **state)
{
	struct world *w = *state;
	struct phx_node *n;
	world_add(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_quarantine, "n1", ""), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", ""), 0);
	n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_NEW);
	assert_true(n->accepted);
	assert_int_equal(world_enrol(w, 1, "key-1"), PHX_ENROL_CERTIFY);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_COMMISSIONING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(unknown_machine_waits),
		WORLD_TEST(what_was_never_let_in_begins_anew),
		WORLD_TEST(unknown_machine_has_the_name_that_was_drawn),
		WORLD_TEST(announced_on_hold_waits_too),
		WORLD_TEST(same_key_again_is_no_question),
		WORLD_TEST(another_key_while_the_node_is_up_is_refused_and_disturbs_nothing),
		WORLD_TEST(another_key_outside_the_window_is_refused),
		WORLD_TEST(the_window_is_good_for_one_key),
		WORLD_TEST(known_mac_with_another_serial_is_refused),
		WORLD_TEST(macs_of_two_nodes_are_never_merged),
		WORLD_TEST(an_announcement_that_says_otherwise_is_refused),
		WORLD_TEST(who_claims_a_uuid_is_quarantined_alone),
		WORLD_TEST(in_older_journals_both_are),
		WORLD_TEST(no_uuid_erases_none),
		WORLD_TEST(a_claim_keeps_nobody_out),
		WORLD_TEST(another_board_is_proven_by_a_start),
		WORLD_TEST(two_disks_with_one_serial_quarantine),
		WORLD_TEST(rules_deploy_by_themselves),
		WORLD_TEST(jobs_start_whole_or_not),
		WORLD_TEST(a_failed_part_ends_the_others),
		WORLD_TEST(jobs_never_run_as_root),
		WORLD_TEST(a_reboot_ends_its_parts),
		WORLD_TEST(facts_on_demand),
		WORLD_TEST(state_survives_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
