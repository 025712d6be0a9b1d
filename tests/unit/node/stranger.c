/* Who asks for the certificate of a node and is not it: from where, with which serial number,
 * without its token. He gets nothing, nothing happens to the node, and so much of it is told as
 * nobody can make too much of. */
#include "state/index.h"
#include "unit/core/world.h"

#define ITS_ADDRESS "10.0.0.11"

struct asking {
	const char *address, *serial, *token, *key;
	bool local, local_ok;
	bool bare; /* as in a journal of before: it is not said from where */
};

static int ask(struct world *w, unsigned i, const struct asking *q, struct phx_outcome *ret)
{
	struct phx_event ev = {.kind = PHX_EV_enrol,
			       .enrol = {.local = q->local, .local_ok = q->local_ok}};
	world_event_mac(&ev.enrol.macs, i);
	PHX_STR_SET(ev.enrol.key_fp, q->key ? q->key : "key-of-a-stranger");
	PHX_STR_SET(ev.enrol.serial, q->serial ? q->serial : "");
	PHX_STR_SET(ev.enrol.token_sha256, q->token ? q->token : "");
	PHX_STR_SET(ev.enrol.address, q->bare ? "" : q->address ? q->address : ITS_ADDRESS);
	int r = world_apply(w, &ev, ret);
	int answer = r < 0 ? r : ret->enrol;
	phx_event_fini(&ev);
	return answer;
}

static bool said(const struct phx_outcome *out, const char *sentence)
{
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		if (act->kind == PHX_ACT_NOTE && strstr(act->text, sentence))
			return true;
	return false;
}

static int asked(struct world *w, unsigned i, struct asking q)
{
	struct phx_outcome out = {0};
	int answer = ask(w, i, &q, &out);
	phx_outcome_fini(&out);
	return answer;
}

/* n1: announced with its address, certified with its serial number, serves and is not heard any
 * more. */
static struct phx_node *silent(struct world *w)
{
	struct phx_event add = {.kind = PHX_EV_node_add};
	PHX_STR_SET(add.node, "n1");
	PHX_STR_SET(add.node_add.ip, ITS_ADDRESS);
	PHX_STR_SET(add.node_add.serial, "serial-1");
	PHX_STR_SET(add.node_add.bmc.driver, "ipmi");
	world_event_mac(&add.node_add.macs, 1);
	assert_int_equal(world_apply(w, &add, NULL), 0);
	phx_event_fini(&add);
	world_serving(w, "n1", "web", true);
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(gone.node, "n1");
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	assert_string_equal(world_node(w, "n1")->serial, "serial-1");
	return world_node(w, "n1");
}

static void assert_undisturbed(struct world *w)
{
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->role, "web");
	assert_string_equal(n->key_fp, "key-n1");
	assert_string_equal(n->reason, "");
	assert_false(n->off_wanted);
}

/* Its owner has its key, and would have it that machines which nobody has announced are this node:
 * they could not be announced any more, and would be booted as it. */
static void its_key_brings_no_addresses(void **state)
{
	struct world *w = *state;
	struct phx_node *n = silent(w);
	for (int before = 1; before >= 0; before--) {
		struct phx_event ev = {.kind = PHX_EV_enrol, .enrol.macs_by_start = !before};
		struct phx_outcome out = {0};
		uint32_t n_macs = n->macs.n;
		world_event_mac(&ev.enrol.macs, 1);
		world_event_mac(&ev.enrol.macs, before ? 7 : 8);
		PHX_STR_SET(ev.enrol.key_fp, "key-n1");
		PHX_STR_SET(ev.enrol.serial, "serial-1");
		PHX_STR_SET(ev.enrol.address, ITS_ADDRESS);
		assert_int_equal(world_apply(w, &ev, &out), 0);
		assert_int_equal(out.enrol, PHX_ENROL_CERTIFY);
		/* in a journal of before it did */
		assert_int_equal(n->macs.n, n_macs + (uint32_t)before);
		phx_outcome_fini(&out);
		phx_event_fini(&ev);
	}
}

/* More addresses than a node may have: those for which there is room, and no error of memory. */
static void its_key_brings_more_addresses_than_fit(void **state)
{
	enum { MACS = 64 };
	struct world *w = *state;
	struct phx_node *n = silent(w);
	struct phx_event ev = {.kind = PHX_EV_enrol};
	while (n->macs.n < MACS - 1) {
		struct phx_mac *m = phx_list_push(&n->macs, sizeof(*m));
		snprintf(m->mac, sizeof(m->mac), "52:54:00:07:00:%02x", n->macs.n);
	}
	phx_index_drop(&w->s);
	world_event_mac(&ev.enrol.macs, 1);
	for (unsigned i = 20; i < 24; i++)
		world_event_mac(&ev.enrol.macs, i);
	PHX_STR_SET(ev.enrol.key_fp, "key-n1");
	PHX_STR_SET(ev.enrol.serial, "serial-1");
	PHX_STR_SET(ev.enrol.address, ITS_ADDRESS);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(n->macs.n, MACS);
	phx_event_fini(&ev);
}

/* anyone who reached the port took every silent node out of service with its MAC address and any
 * serial number */
static void another_serial_disturbs_no_silent_node(void **state)
{
	struct world *w = *state;
	silent(w);
	assert_int_equal(asked(w, 1, (struct asking){.serial = "any"}), PHX_ENROL_REFUSED);
	assert_undisturbed(w);
	assert_int_equal(asked(w, 1, (struct asking){.serial = ""}), PHX_ENROL_REFUSED);
	assert_undisturbed(w);
}

static void another_address_disturbs_no_silent_node(void **state)
{
	struct world *w = *state;
	silent(w);
	assert_int_equal(asked(w, 1, (struct asking){.address = "10.0.0.99", .serial = "serial-1"}),
			 PHX_ENROL_REFUSED);
	assert_undisturbed(w);
}

/* a user of the head has its MAC address and serial number, and is there while it is being
 * deployed */
static void who_is_elsewhere_gets_nothing_in_the_window(void **state)
{
	struct world *w = *state;
	struct phx_node *n = silent(w);
	n->window = true;
	n->window_until_ms = INT64_MAX;
	assert_int_equal(
		asked(w, 1,
		      (struct asking){.address = "127.0.0.1", .serial = "serial-1", .local = true}),
		PHX_ENROL_REFUSED);
	assert_int_equal(
		asked(w, 1,
		      (struct asking){.address = "10.0.0.1", .serial = "serial-1", .local = true}),
		PHX_ENROL_REFUSED);
	assert_int_equal(asked(w, 1, (struct asking){.address = "10.0.0.99", .serial = "serial-1"}),
			 PHX_ENROL_REFUSED);
	assert_int_equal(asked(w, 1, (struct asking){.serial = "serial-2"}), PHX_ENROL_REFUSED);
	assert_true(n->window);
	assert_undisturbed(w);
	assert_int_equal(asked(w, 1, (struct asking){.serial = "serial-1", .key = "its-new-key"}),
			 PHX_ENROL_CERTIFY);
	assert_string_equal(world_node(w, "n1")->key_fp, "its-new-key");
}

/* on the head itself: nobody, but by configuration, or where the node's own address is there */
static void the_head_itself(void **state)
{
	struct world *w = *state;
	const struct asking here = {.address = "127.0.0.1", .serial = "serial-2", .local = true};
	struct asking allowed = here;
	allowed.local_ok = true;
	world_add(w, "n2", true);
	assert_int_equal(asked(w, 2, here), PHX_ENROL_REFUSED);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_NEW);
	uint32_t nodes = w->s.nodes.n;
	assert_int_equal(asked(w, 9, here), PHX_ENROL_REFUSED);
	/* nor does it become an unknown machine that waits */
	assert_int_equal(w->s.nodes.n, nodes);
	assert_int_equal(asked(w, 2, allowed), PHX_ENROL_CERTIFY);
	assert_int_equal(asked(w, 9, allowed), PHX_ENROL_PENDING);
	struct phx_event add = {.kind = PHX_EV_node_add, .node_add.ip = "127.0.0.3"};
	PHX_STR_SET(add.node, "n3");
	world_event_mac(&add.node_add.macs, 3);
	assert_int_equal(world_apply(w, &add, NULL), 0);
	phx_event_fini(&add);
	assert_int_equal(asked(w, 3, (struct asking){.address = "127.0.0.4", .local = true}),
			 PHX_ENROL_REFUSED);
	assert_int_equal(asked(w, 3, (struct asking){.address = "127.0.0.3", .local = true}),
			 PHX_ENROL_CERTIFY);
}

static void its_token_is_demanded(void **state)
{
	struct world *w = *state;
	struct phx_event add = {.kind = PHX_EV_node_add};
	PHX_STR_SET(add.node, "n1");
	PHX_STR_SET(add.node_add.token_sha256, "digest-of-its-token");
	world_event_mac(&add.node_add.macs, 1);
	assert_int_equal(world_apply(w, &add, NULL), 0);
	phx_event_fini(&add);
	assert_int_equal(asked(w, 1, (struct asking){.serial = "s"}), PHX_ENROL_REFUSED);
	assert_int_equal(asked(w, 1, (struct asking){.serial = "s", .token = "another"}),
			 PHX_ENROL_REFUSED);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_NEW);
	assert_int_equal(
		asked(w, 1, (struct asking){.serial = "s", .token = "digest-of-its-token"}),
		PHX_ENROL_CERTIFY);
	/* it is good for this one: who has it now is a machine like any other */
	assert_int_equal(
		asked(w, 2, (struct asking){.serial = "t", .token = "digest-of-its-token"}),
		PHX_ENROL_PENDING);
}

/* The machine itself, as far as can be known, without its key and without an order of ours; or
 * somebody who took its address. He is told of, and no act follows. */
static void its_address_and_serial_prove_nothing(void **state)
{
	struct world *w = *state;
	struct phx_node *n = silent(w);
	struct phx_outcome out = {0};
	const struct asking q = {.serial = "serial-1"};
	for (int bmc = 1; bmc >= 0; bmc--) {
		PHX_STR_SET(n->bmc.driver, bmc ? "ipmi" : "");
		assert_int_equal(ask(w, 1, &q, &out), PHX_ENROL_REFUSED);
		assert_true(said(&out,
				 bmc ? "if this is the machine: phx node power n1 cycle"
				     : "if this is the machine: phx node accept n1"));
		assert_int_equal(out.actions.n, 1); /* the note */
		phx_outcome_fini(&out);
		assert_undisturbed(w);
		assert_false(n->window || n->start);
		assert_int_equal(n->claimed_ms, w->s.now_ms);
		w->now += 60000;
	}
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, true), 0);
	assert_int_equal(n->claimed_ms, 0); /* that was not the machine */
}

/* One without a serial number is known by its MAC address alone. */
static void a_mac_address_alone_quarantines_nobody(void **state)
{
	struct world *w = *state;
	silent(w)->serial[0] = '\0';
	assert_int_equal(asked(w, 1, (struct asking){.serial = ""}), PHX_ENROL_REFUSED);
	assert_int_equal(asked(w, 1, (struct asking){.serial = "any"}), PHX_ENROL_REFUSED);
	assert_undisturbed(w);
}

/* A thousand of them in a minute are a handful of events. */
static void refusals_are_told_and_not_too_often(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	const struct asking other = {.serial = "any"};
	silent(w);
	world_add(w, "n2", true);
	PHX_STR_SET(world_node(w, "n2")->serial, "serial-2");
	uint64_t before = w->s.seq;
	assert_int_equal(ask(w, 1, &other, &out), PHX_ENROL_REFUSED);
	assert_true(
		said(&out, "n1: a certificate is refused to who asks for it from " ITS_ADDRESS));
	phx_outcome_fini(&out);
	for (int i = 0; i < 900; i++) {
		w->now += 60;
		asked(w, 1, other);
		asked(w, 2, other);
	}
	assert_int_equal(w->s.seq - before, 2); /* each node once: the two not at the same moment */
	w->now += 60000;
	assert_int_equal(ask(w, 1, &other, &out), PHX_ENROL_REFUSED);
	assert_true(said(&out, "another serial number"));
	phx_outcome_fini(&out);
	assert_int_equal(w->s.seq - before, 3);
}

/* Nor one of each of many nodes at once. */
static void refusals_of_many_nodes_are_not_told_at_once(void **state)
{
	struct world *w = *state;
	char name[PHX_NAME_MAX];
	for (unsigned i = 1; i <= 20; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		world_add(w, name, true);
		PHX_STR_SET(world_node(w, name)->serial, "its-own");
	}
	uint64_t before = w->s.seq;
	for (unsigned i = 1; i <= 20; i++)
		assert_int_equal(asked(w, i, (struct asking){.serial = "any"}), PHX_ENROL_REFUSED);
	assert_int_equal(w->s.seq - before, 1);
	w->now += 10000;
	assert_int_equal(asked(w, 20, (struct asking){.serial = "any"}), PHX_ENROL_REFUSED);
	assert_int_equal(w->s.seq - before, 2);
}

/* What a journal of before says, it says as it did: what came of it then comes of it again. */
static void journals_of_before_replay(void **state)
{
	struct world *w = *state;
	silent(w);
	assert_int_equal(asked(w, 1, (struct asking){.serial = "any", .bare = true}),
			 PHX_ENROL_REFUSED);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(another_serial_disturbs_no_silent_node),
		WORLD_TEST(another_address_disturbs_no_silent_node),
		WORLD_TEST(who_is_elsewhere_gets_nothing_in_the_window),
		WORLD_TEST(the_head_itself),
		WORLD_TEST(its_token_is_demanded),
		WORLD_TEST(its_address_and_serial_prove_nothing),
		WORLD_TEST(a_mac_address_alone_quarantines_nobody),
		WORLD_TEST(its_key_brings_no_addresses),
		WORLD_TEST(its_key_brings_more_addresses_than_fit),
		WORLD_TEST(refusals_are_told_and_not_too_often),
		WORLD_TEST(refusals_of_many_nodes_are_not_told_at_once),
		WORLD_TEST(journals_of_before_replay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
