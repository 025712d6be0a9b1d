/* Facts that are refused, which state may follow which, and the tables of steps. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "types/node.h"

/* ---- facts ---- */

static struct phx_facts facts;
static struct phx_err err;

static struct phx_disk_facts *add_disk(const char *id, uint64_t size)
{
	struct phx_disk_facts *d = phx_list_push(&facts.disks, sizeof(*d));
	PHX_STR_SET(d->id, id);
	d->size_bytes = size;
	return d;
}

static struct phx_nic_facts *add_nic(const char *mac)
{
	struct phx_nic_facts *nic = phx_list_push(&facts.nics, sizeof(*nic));
	PHX_STR_SET(nic->mac, mac);
	return nic;
}

static int setup(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	phx_err_clear(&err);
	add_nic("52:54:00:00:00:01");
	add_disk("wwn-1", 1 << 30);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_record_fini(&phx_facts_record, &facts);
	return 0;
}

static void refused(const char *text)
{
	phx_err_clear(&err);
	assert_int_equal(phx_facts_check(&facts, &err), -EINVAL);
	if (!strstr(err.text, text))
		fail_msg("'%s' does not say '%s'", err.text, text);
}

static void sound_facts(void **state)
{
	(void)state;
	assert_int_equal(phx_facts_check(&facts, &err), 0);
	add_nic("52:54:00:00:00:02");
	add_disk("wwn-2", 1);
	assert_int_equal(phx_facts_check(&facts, &err), 0);
	facts.disks.n = 0; /* a machine without disks is one */
	assert_int_equal(phx_facts_check(&facts, &err), 0);
}

static void macs(void **state)
{
	static const char *const bad[] = {"", "52:54:00:00:00", "52-54-00-00-00-02",
					  "52:54:00:00:00:0G", "525400000002"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		facts.nics.n = 1;
		add_nic(bad[i]);
		refused("nics[1].mac: '");
	}
	facts.nics.n = 1;
	add_nic("52:54:00:00:00:01");
	refused("nics[1].mac: 52:54:00:00:00:01 is there twice");
	facts.nics.n = 0;
	refused("no network interface");
}

static void disks(void **state)
{
	(void)state;
	/* what names itself by nothing is nobody's target, and two of them are no twins */
	add_disk("", 1);
	add_disk("", 1);
	assert_int_equal(phx_facts_check(&facts, &err), 0);
	facts.disks.n = 1;
	add_disk("wwn-2", 0);
	refused("disks[1]: has no size");
	facts.disks.n = 1;
	add_disk("wwn-1", 1);
	refused("two disks call themselves wwn-1");
	assert_null(phx_facts_disk(&facts, "wwn-1"));
	assert_null(phx_facts_disk(&facts, "wwn-3"));
	facts.disks.n = 1;
	assert_ptr_equal(phx_facts_disk(&facts, "wwn-1"), facts.disks.items);
}

/* What agents send is read strictly: a member of another type is named by its path. */
static void facts_as_json(void **state)
{
	static const struct {
		const char *json, *why;
	} bad[] = {
		{"{\"disks\": [{\"id\": \"a\"}, {\"size_bytes\": \"4\"}]}", "disks[1].size_bytes"},
		{"{\"disks\": [{\"size_bytes\": -4}]}", "disks[0].size_bytes"},
		{"{\"disks\": {}}", "disks: must be a list"},
		{"{\"cpus\": 4294967296}", "cpus: is too large"},
		{"{\"cpus\": 1.5}", "cpus: must be a whole number"},
		{"{\"boot_mode\": \"u-boot\"}", "boot_mode"},
		{"{\"cpu\": 1}", "cpu: is not known here"},
		{"{\"arch\": \"0123456789abcdef\"}", "arch: is too long"},
		{"[]", "must be an object"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		PHX_AUTO_JSON json_t *j = NULL;
		struct phx_facts f;
		phx_err_clear(&err);
		assert_int_equal(phx_json_parse(bad[i].json, strlen(bad[i].json), &j, &err), 0);
		assert_int_equal(phx_json_to_record(&phx_facts_record, j, &f, &err), -EINVAL);
		if (!strstr(err.text, bad[i].why))
			fail_msg("'%s' does not say '%s'", err.text, bad[i].why);
	}
}

/* ---- states ---- */

/* Row: from; column: to, in the order of enum phx_node_state. */
static const char *const may[] = {
	/*                   n c r d a D C q m */
	/* new */ "x x . . . . . x .",
	/* commissioning */ ". x x . . . . x .",
	/* ready */ ". . x x x x x x x",
	/* deploying */ ". . x x x x x x x",
	/* active */ ". . x x x x x x x",
	/* draining */ ". . x x x x x x x",
	/* cleaning */ ". . x x x x x x x",
	/* quarantined */ "x . x . . . x x .",
	/* maintenance */ ". . x x x x x x x",
};

static void all_pairs_of_states(void **state)
{
	(void)state;
	assert_int_equal(PHX_ARRAY_SIZE(may), phx_node_state_names.n_names);
	for (int from = 0; from < phx_node_state_names.n_names; from++)
		for (int to = 0; to < phx_node_state_names.n_names; to++)
			if (phx_node_state_may((enum phx_node_state)from,
					       (enum phx_node_state)to) !=
			    (may[from][to * 2] == 'x'))
				fail_msg("%s -> %s", phx_node_state_names.names[from],
					 phx_node_state_names.names[to]);
}

static void what_may_not_follow_is_refused(void **state)
{
	struct phx_node n = {.state = PHX_NODE_QUARANTINED};
	(void)state;
	assert_int_equal(phx_node_become(&n, PHX_NODE_ACTIVE), -EPROTO);
	assert_int_equal(n.state, PHX_NODE_QUARANTINED);
	assert_int_equal(phx_node_become(&n, PHX_NODE_READY), 0);
	assert_int_equal(n.state, PHX_NODE_READY);
	assert_int_equal(phx_node_become(&n, PHX_NODE_COMMISSIONING), -EPROTO);
	assert_int_equal(n.state, PHX_NODE_READY);
}

/* A quarantined node serves nobody before it was looked at again: no way leads straight into
 * service. */
static void quarantine_fails_closed(void **state)
{
	(void)state;
	assert_false(phx_node_state_may(PHX_NODE_QUARANTINED, PHX_NODE_ACTIVE));
	assert_false(phx_node_state_may(PHX_NODE_QUARANTINED, PHX_NODE_DEPLOYING));
	for (int s = 0; s < phx_node_state_names.n_names; s++)
		assert_true(phx_node_state_may((enum phx_node_state)s, PHX_NODE_QUARANTINED));
}

static void transient_states(void **state)
{
	(void)state;
	for (int s = 0; s < phx_node_state_names.n_names; s++)
		assert_int_equal(phx_node_state_transient((enum phx_node_state)s),
				 s == PHX_NODE_DRAINING || s == PHX_NODE_CLEANING ||
					 s == PHX_NODE_DEPLOYING);
}

/* ---- steps ---- */

static void every_step_has_an_end(void **state)
{
	(void)state;
	assert_int_equal(phx_step_kind_names.n_names, PHX_STEP_COUNT_);
	for (int k = 0; k < PHX_STEP_COUNT_; k++) {
		const struct phx_step_info *info = phx_step_info((enum phx_step_kind)k);
		assert_string_equal(info->name, phx_enum_name(&phx_step_kind_names, k));
		assert_true(info->deadline_s > 0 && info->attempts > 0 && info->expected_ms > 0 &&
			    info->text[0]);
		assert_true(phx_node_state_transient(info->phase));
		/* what failed after something was changed must not look served or free */
		if (info->phase == PHX_NODE_CLEANING)
			assert_int_not_equal(info->on_fail, PHX_ON_FAIL_ABORT);
	}
}

static void current_step(void **state)
{
	struct phx_node n = {0};
	(void)state;
	assert_null(phx_node_step(&n));
	struct phx_step *s = phx_list_push(&n.plan.steps, sizeof(*s));
	assert_ptr_equal(phx_node_step(&n), s);
	n.plan.cursor = 1;
	assert_null(phx_node_step(&n));
	phx_record_fini(&phx_node_record, &n);
}

/* A node goes through its JSON and comes back the same: snapshots are made of it. */
static void a_node_as_json_and_back(void **state)
{
	struct phx_node n = {.number = 7,
			     .state = PHX_NODE_DRAINING,
			     .epoch = INT64_MAX,
			     .dirty = true},
			back;
	(void)state;
	PHX_STR_SET(n.name, "n1");
	PHX_STR_SET(n.reason, "a \"quoted\" reason with ä, ü and a\ttab");
	PHX_STR_SET(n.bmc.driver, "ipmi");
	struct phx_step *s = phx_list_push(&n.plan.steps, sizeof(*s));
	s->kind = PHX_STEP_wipe;
	s->method = PHX_WIPE_CRYPTO;
	PHX_STR_SET(s->disk, "wwn-1");
	assert_int_equal(phx_record_copy(&phx_facts_record, &n.facts, &facts), 0);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_node_record, &n);
	assert_int_equal(phx_json_to_record(&phx_node_record, j, &back, &err), 0);
	assert_true(phx_record_equal(&phx_node_record, &n, &back));
	phx_record_fini(&phx_node_record, &n);
	phx_record_fini(&phx_node_record, &back);
}

/* What holds until its disks are erased outlasts a restart of the head. */
static void what_is_known_of_its_data_as_json_and_back(void **state)
{
	struct phx_node n = {.dirty = true,
			     .mixed = true,
			     .owes_wipe = true,
			     .plain = true,
			     .key_unread = true},
			back;
	(void)state;
	PHX_STR_SET(n.tenant, "hpc");
	PHX_STR_SET(n.tenant_pool, "batch");
	PHX_STR_SET(n.disk_key_id, "n1-7");
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_node_record, &n);
	assert_int_equal(phx_json_to_record(&phx_node_record, j, &back, &err), 0);
	assert_true(back.dirty && back.mixed && back.owes_wipe && back.plain && back.key_unread);
	assert_string_equal(back.tenant, "hpc");
	assert_string_equal(back.tenant_pool, "batch");
	assert_string_equal(back.disk_key_id, "n1-7");
	phx_record_fini(&phx_node_record, &back);
}

/* A text that was cut within a character is written all the same: the journal must not stop for
 * it. */
static void a_text_cut_within_a_character(void **state)
{
	struct phx_node n = {0}, back;
	(void)state;
	PHX_STR_SET(n.reason, "broken \xc3");
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_node_record, &n);
	assert_non_null(j);
	assert_int_equal(phx_json_to_record(&phx_node_record, j, &back, &err), 0);
	assert_string_equal(back.reason, "broken ?");
}

/* ---- agreements ---- */

static void an_agreement_wipes_at_its_moment(void **state)
{
	static const struct {
		struct phx_setup setup;
		bool at_release, at_assign;
	} cases[] = {
		{{PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_RELEASE, PHX_VERIFY_SAMPLE,
		  PHX_SETUP_START_AUTO},
		 true,
		 false},
		{{PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_ASSIGN, PHX_VERIFY_SAMPLE,
		  PHX_SETUP_START_AUTO},
		 false,
		 true},
		{{PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_BOTH, PHX_VERIFY_SAMPLE,
		  PHX_SETUP_START_AUTO},
		 true,
		 true},
		{{PHX_SETUP_NOOP, PHX_WIPE_AUTO, PHX_WHEN_BOTH, PHX_VERIFY_SAMPLE,
		  PHX_SETUP_START_AUTO},
		 false,
		 false},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		assert_int_equal(phx_setup_wipes(&cases[i].setup, PHX_WHEN_RELEASE),
				 cases[i].at_release);
		assert_int_equal(phx_setup_wipes(&cases[i].setup, PHX_WHEN_ASSIGN),
				 cases[i].at_assign);
	}
}

#define NODE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(sound_facts),
		NODE_TEST(macs),
		NODE_TEST(disks),
		NODE_TEST(facts_as_json),
		NODE_TEST(all_pairs_of_states),
		NODE_TEST(quarantine_fails_closed),
		NODE_TEST(what_may_not_follow_is_refused),
		NODE_TEST(transient_states),
		NODE_TEST(every_step_has_an_end),
		NODE_TEST(current_step),
		NODE_TEST(a_node_as_json_and_back),
		NODE_TEST(a_text_cut_within_a_character),
		NODE_TEST(an_agreement_wipes_at_its_moment),
		NODE_TEST(what_is_known_of_its_data_as_json_and_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
