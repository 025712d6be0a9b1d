/* A small world around core_apply for tests: pools, roles, nodes made of
 * facts, and a model of agents and BMCs that answers every action with success
 * until a test tells it otherwise. Everything real but the machines. */
#ifndef TESTS_CORE_WORLD_H
#define TESTS_CORE_WORLD_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/core.h"
#include "job/job.h"
#include "node/director.h"
#include "node/node.h"
#include "node/order.h"
#include "re/re.h"
#include "state/node_sets.h"

struct world {
	struct phx_state s;
	int64_t now;
	unsigned boots; /* makes boot ids differ */
	struct phx_err err;
	struct phx_list done; /* struct phx_word: "NODE STEP" in the order they took effect */
	uint32_t power_offs;
	uint32_t erasures;
	/* what else the machine reports from that environment; NULL: nothing */
	void (*more_facts)(struct phx_facts *f, int env);
	/* its agent knows of kernels of images, and says that it runs this one */
	bool kernels;
	char kernel_word[112];
	uint64_t random; /* each event has another one, as a head's */
	/* applies events in place of phx_core_apply(), and looks at what that does; NULL: nobody
	 * looks, and the state is checked after each event */
	int (*apply)(struct world *w, const struct phx_event *ev, struct phx_outcome *out);
};

static inline int world_apply(struct world *w, struct phx_event *ev, struct phx_outcome *out)
{
	struct phx_outcome mine = {0};
	struct phx_err why = {0};
	phx_err_clear(&w->err);
	ev->now_ms = w->now;
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	ev->random = w->random >> 1 | 1;
	struct phx_outcome *ret = out ? out : &mine;
	int r = w->apply ? w->apply(w, ev, ret) : phx_core_apply(&w->s, ev, ret, &w->err);
	if (!out)
		phx_outcome_fini(&mine);
	if (!w->apply && phx_state_check(&w->s, &why) < 0)
		fail_msg("invariant after %s: %s", phx_enum_name(&phx_event_kind_names, ev->kind),
			 why.text);
	return r;
}

static inline void world_add_pool(struct world *w, const char *name, const char *owner,
				  struct phx_setup setup)
{
	struct phx_event ev = {.kind = PHX_EV_pool_put, .pool.pool_put = {.setup = setup}};
	PHX_STR_SET(ev.pool.pool_put.name, name);
	PHX_STR_SET(ev.pool.pool_put.owner, owner);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static inline void world_add_role(struct world *w, const char *name, const char *pool, bool jobs,
				  int boot)
{
	struct phx_event ev = {.kind = PHX_EV_role_put,
			       .role.role_put = {.runs_jobs = jobs, .boot = boot}};
	struct phx_package_ref *p = phx_list_push(&ev.role.role_put.packages, sizeof(*p));
	PHX_STR_SET(ev.role.role_put.name, name);
	PHX_STR_SET(ev.role.role_put.pool, pool);
	PHX_STR_SET(ev.role.role_put.image, "debian-12");
	PHX_STR_SET(ev.role.role_put.image_version, "1");
	PHX_STR_SET(ev.role.role_put.image_digest, "d1");
	snprintf(p->name, sizeof(p->name), "pkg-%s", name);
	PHX_STR_SET(p->version, "1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static inline int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	w->now = 1000000;
	phx_state_init(&w->s);
	/* as a head has one; without, it decides as before there were any
	 * (tests/golden/before.c) */
	w->s.incarnation = 1;
	w->s.last_step_id = 1 << 16;
	/* what the daemon has on (config/config.c); a test of what it was without says so */
	w->s.settings.looks = w->s.settings.attests = w->s.settings.rekeys = true;
	w->s.settings.tokens = w->s.settings.resets = w->s.settings.measures = true;
	w->s.settings.takes_back = w->s.settings.takes_unheard = true;
	w->s.settings.shares_triggers = w->s.settings.doubts_claims = true;
	w->s.settings.keeps_left = true;
	w->s.settings.serves_late = true;
	w->s.settings.redoes_role = true;
	w->s.settings.shares_addresses = true;
	w->s.settings.doubts_uuids = true;
	w->s.settings.protects = w->s.settings.protect.remote = true;
	struct phx_setup noop = {0};
	world_add_pool(w, "batch", "hpc", noop);
	world_add_pool(w, "web", "hpc", noop);
	world_add_pool(w, "guest", "other",
		       (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_BOTH,
					  PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO});
	world_add_pool(w, "vault", "hpc",
		       (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_CRYPTO, PHX_WHEN_RELEASE,
					  PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO});
	world_add_role(w, "compute", "batch", true, PHX_ROLE_BOOT_DISK);
	world_add_role(w, "web", "web", false, PHX_ROLE_BOOT_DISK);
	world_add_role(w, "ramweb", "web", false, PHX_ROLE_BOOT_RAM);
	world_add_role(w, "guest", "guest", false, PHX_ROLE_BOOT_DISK);
	world_add_role(w, "vault", "vault", false, PHX_ROLE_BOOT_DISK);
	*state = w;
	return 0;
}

static inline int world_teardown(void **state)
{
	struct world *w = *state;
	phx_state_fini(&w->s);
	phx_list_fini(&w->done);
	free(w);
	return 0;
}

static inline struct phx_node *world_node(struct world *w, const char *name)
{
	struct phx_node *n = phx_state_node(&w->s, name);
	assert_non_null(n);
	return n;
}

/* Facts of node number i: one NIC, one virtio disk that can discard. */
static inline void world_facts(struct phx_facts *f, unsigned i)
{
	struct phx_disk_facts *d = phx_list_push(&f->disks, sizeof(*d));
	struct phx_nic_facts *nic = phx_list_push(&f->nics, sizeof(*nic));
	snprintf(d->id, sizeof(d->id), "serial-disk%u", i);
	d->size_bytes = 4ULL << 30;
	d->can_discard = true;
	snprintf(nic->mac, sizeof(nic->mac), "52:54:00:00:00:%02x", i);
	snprintf(f->uuid, sizeof(f->uuid), "uuid-%u", i);
	f->cpus = 2;
	f->memory_bytes = 1ULL << 30;
}

static inline unsigned world_index(const char *node)
{
	return (unsigned)strtoul(node + strcspn(node, "0123456789"), NULL, 10);
}

static inline void world_event_mac(struct phx_list *macs, unsigned i)
{
	struct phx_mac *m = phx_list_push(macs, sizeof(*m));
	snprintf(m->mac, sizeof(m->mac), "52:54:00:00:00:%02x", i);
}

static inline void world_add(struct world *w, const char *name, bool bmc)
{
	struct phx_event ev = {.kind = PHX_EV_node_add};
	PHX_STR_SET(ev.node, name);
	world_event_mac(&ev.node_add.macs, world_index(name));
	PHX_STR_SET(ev.node_add.bmc.driver, bmc ? "ipmi" : "");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

/* Of node number i, with the token of that start. */
static inline int world_enrol_by(struct world *w, unsigned i, const char *key, uint64_t start)
{
	struct phx_event ev = {.kind = PHX_EV_enrol, .enrol.start = start};
	struct phx_outcome out = {0};
	world_event_mac(&ev.enrol.macs, i);
	PHX_STR_SET(ev.enrol.key_fp, key);
	snprintf(ev.enrol.serial, sizeof(ev.enrol.serial), "serial-%u", i);
	int r = world_apply(w, &ev, &out);
	int answer = r < 0 ? r : out.enrol;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return answer;
}

static inline int world_enrol(struct world *w, unsigned i, const char *key)
{
	return world_enrol_by(w, i, key, 0);
}

/* A machine that was started shows the token that it was given, and has a key for it. */
static inline void world_new_key(struct world *w, const char *node)
{
	char key[80];
	struct phx_node *n = world_node(w, node);
	if (!n->start)
		return;
	snprintf(key, sizeof(key), "key-%s-%llu", node, (unsigned long long)n->start);
	assert_int_equal(world_enrol_by(w, world_index(node), key, n->start), PHX_ENROL_CERTIFY);
}

/* The agent of `node` registers; a new boot id unless it only changed sides of the switch-root. */
static inline int world_hello(struct world *w, const char *node, int env, bool new_boot)
{
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = env,
					 .echoes = true,
					 .rekeys = true,
					 .scratches = true,
					 .protects = true,
					 .layouts = true,
					 .shares = true,
					 .checker = true}};
	struct phx_node *n = world_node(w, node);
	PHX_STR_SET(ev.node, node);
	if (new_boot)
		w->boots++;
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "boot-%u", w->boots);
	if (!new_boot)
		PHX_STR_SET(ev.hello.boot_id, n->boot_id);
	PHX_STR_SET(ev.hello.system_image, n->system_image);
	PHX_STR_SET(ev.hello.system_digest, n->system_digest);
	PHX_STR_SET(ev.hello.actual_role, n->actual_role);
	PHX_STR_SET(ev.hello.actual_identity, n->actual_identity);
	ev.hello.kernels = w->kernels;
	PHX_STR_SET(ev.hello.kernel_word, w->kernel_word);
	world_facts(&ev.hello.facts, world_index(node));
	if (w->more_facts)
		w->more_facts(&ev.hello.facts, env);
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

/* Announced, enrolled, registered from the deploy initramfs: ready. */
static inline void world_ready(struct world *w, const char *name, bool bmc)
{
	char key[80];
	snprintf(key, sizeof(key), "key-%s", name);
	world_add(w, name, bmc);
	assert_int_equal(world_enrol(w, world_index(name), key), PHX_ENROL_CERTIFY);
	assert_int_equal(world_hello(w, name, PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(world_node(w, name)->state, PHX_NODE_READY);
}

/* The BMC has switched the machine off and on: the step that waits for it knows. */
static inline void world_started(struct world *w, const char *node)
{
	struct phx_node *n = world_node(w, node);
	struct phx_event ev = {.kind = PHX_EV_power_result, .answer.power = PHX_POWER_IS_ON};
	PHX_STR_SET(ev.node, node);
	ev.answer.step_id = phx_node_step(n)->id;
	ev.answer.epoch = n->plan.epoch;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static inline int world_order(struct world *w, int kind, const char *node, const char *role)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.order.role, role ? role : "");
	return world_apply(w, &ev, NULL);
}

static inline int world_assign_setup(struct world *w, const char *node, const char *role, int mode,
				     int method)
{
	struct phx_event ev = {
		.kind = PHX_EV_assign,
		.order = {.has_setup = true,
			  .setup = {mode, method, 0, PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO}}};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.order.role, role);
	return world_apply(w, &ev, NULL);
}

/* What phxd says of an answer whose signature and image it knows. */
static inline void world_sealed(struct phx_event_answer *p)
{
	PHX_STR_SET(p->signature, "of its key");
	PHX_STR_SET(p->signer, "its key");
	PHX_STR_SET(p->image, "deploy 1");
}

/* What the agent answers to the wipe that the node is at. */
static inline struct phx_event world_erased(const struct phx_node *n)
{
	const struct phx_step *step = phx_node_step(n);
	struct phx_event ev = {.kind = PHX_EV_step_result,
			       .answer = {.step_id = step->id,
					  .epoch = n->plan.epoch,
					  .nonce = step->nonce,
					  .erased_bytes = 4ULL << 30,
					  .verified_bytes = 64 << 20,
					  .used = step->method,
					  .read_sha256 = "sum",
					  .setup = {.method = step->method}}};
	PHX_STR_SET(ev.node, n->name);
	PHX_STR_SET(ev.answer.erased_disk, step->disk);
	world_sealed(&ev.answer);
	return ev;
}

static inline int world_result(struct world *w, const char *node, int64_t result, const char *text)
{
	struct phx_node *n = world_node(w, node);
	struct phx_step *step = phx_node_step(n);
	struct phx_event ev = {.kind = PHX_EV_step_result, .answer.result = result};
	assert_non_null(step);
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.text, text ? text : "");
	ev.answer.step_id = step->id;
	ev.answer.epoch = n->plan.epoch;
	ev.answer.nonce = step->nonce;
	if (step->kind == PHX_STEP_wipe) {
		PHX_STR_SET(ev.answer.erased_disk, step->disk);
		ev.answer.setup.method = ev.answer.used = step->method;
		PHX_STR_SET(ev.answer.read_sha256, "sum");
		world_sealed(&ev.answer);
		ev.answer.erased_bytes = ev.answer.verified_bytes = 4ULL << 30;
	}
	enum phx_check_part part;
	ev.answer.has_check = phx_step_checks(step->kind, &part);
	if (ev.answer.has_check) {
		ev.answer.check = (struct phx_check){.part = (int)part,
						     .passed = true,
						     .seconds = step->seconds,
						     .rate = 1000,
						     .writes = step->writes,
						     .tool = "a program 1"};
		PHX_STR_SET(ev.answer.check.disk, step->disk);
	}
	return world_apply(w, &ev, NULL);
}

static inline void world_note_done(struct world *w, const char *node, int kind)
{
	struct phx_word *word = phx_list_push(&w->done, sizeof(*word));
	snprintf(word->text, sizeof(word->text), "%s %s", node,
		 phx_enum_name(&phx_step_kind_names, kind));
}

/* Its agent has made another key within its step, and asks for a certificate. */
static inline int world_rekey(struct world *w, const char *node, const char *key)
{
	const struct phx_node *n = world_node(w, node);
	const struct phx_step *step = phx_node_step(n);
	struct phx_event ev = {.kind = PHX_EV_rekey, .rekey.epoch = n->plan.epoch};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.rekey.key_fp, key);
	PHX_STR_SET(ev.rekey.address, n->ip[0] ? n->ip : n->address);
	ev.rekey.step_id = step ? step->id : 0;
	ev.rekey.nonce = step ? step->nonce : 0;
	return world_apply(w, &ev, NULL);
}

static inline void world_rekeys(struct world *w, const char *node)
{
	char key[80];
	snprintf(key, sizeof(key), "key-%s-%llu", node,
		 (unsigned long long)phx_node_step(world_node(w, node))->id);
	assert_int_equal(world_rekey(w, node, key), 0);
}

/* The model machine does what the current step wants, successfully. False when there is nothing to
 * do. */
static inline bool world_step(struct world *w, const char *node)
{
	struct phx_node *n = world_node(w, node);
	struct phx_step *step = phx_node_step(n);
	if (!step)
		return false;
	w->now += 100;
	int kind = step->kind;
	if (step->status != PHX_STEP_ISSUED) {
		struct phx_event tick = {.kind = PHX_EV_tick};
		w->now = step->deadline_ms > w->now ? step->deadline_ms : w->now;
		world_apply(w, &tick, NULL);
		return true;
	}
	world_note_done(w, node, kind);
	if (kind == PHX_STEP_boot)
		world_started(w, node);
	if (phx_step_starts(kind)) {
		world_new_key(w, node);
		world_hello(w, node, PHX_ENV_DEPLOY, true);
	} else if (kind == PHX_STEP_enter) {
		world_hello(w, node, PHX_ENV_OS, false);
	} else if (kind == PHX_STEP_make_key || kind == PHX_STEP_destroy_key) {
		struct phx_event ev = {.kind = PHX_EV_key_result,
				       .answer = {.step_id = step->id, .epoch = n->plan.epoch}};
		PHX_STR_SET(ev.node, node);
		assert_int_equal(world_apply(w, &ev, NULL), 0);
	} else if (kind == PHX_STEP_divert || kind == PHX_STEP_settle) {
		struct phx_event ev = {.kind = PHX_EV_balanced,
				       .answer = {.step_id = step->id, .epoch = n->plan.epoch}};
		PHX_STR_SET(ev.node, node);
		assert_int_equal(world_apply(w, &ev, NULL), 0);
	} else {
		if (kind == PHX_STEP_activate) {
			const struct phx_role *role = phx_state_role(&w->s, step->role);
			PHX_STR_SET(n->actual_role, role->name);
			phx_role_identity(role, n->actual_identity, sizeof(n->actual_identity));
		}
		if (kind == PHX_STEP_leave)
			n->actual_role[0] = n->actual_identity[0] = '\0';
		if (kind == PHX_STEP_rekey)
			world_rekeys(w, node);
		assert_int_equal(world_result(w, node, 0, ""), 0);
	}
	return true;
}

/* Steps until the node is idle; fails the test when it never is. */
static inline void world_run(struct world *w, const char *node)
{
	for (int i = 0; i < 200; i++)
		if (!world_step(w, node))
			return;
	fail_msg("%s never comes to rest", node);
}

/* Steps until `kind` is issued and current. */
static inline void world_run_to(struct world *w, const char *node, int kind)
{
	for (int i = 0; i < 200; i++) {
		struct phx_step *step = phx_node_step(world_node(w, node));
		if (!step)
			break;
		if (step->kind == kind && step->status == PHX_STEP_ISSUED)
			return;
		world_step(w, node);
	}
	fail_msg("%s never comes to step %s", node, phx_enum_name(&phx_step_kind_names, kind));
}

/* The step names of a node's plan, joined. */
static inline const char *world_plan(struct world *w, const char *node, char *buf, size_t n_buf)
{
	struct phx_node *n = world_node(w, node);
	size_t at = 0;
	buf[0] = '\0';
	PHX_LIST_EACH(struct phx_step, s, &n->plan.steps)
		at += (size_t)snprintf(buf + at, n_buf - at, "%s%s", at ? " " : "",
				       phx_enum_name(&phx_step_kind_names, s->kind));
	return buf;
}

static inline void world_serving(struct world *w, const char *node, const char *role, bool bmc)
{
	world_ready(w, node, bmc);
	assert_int_equal(world_order(w, PHX_EV_assign, node, role), 0);
	world_run(w, node);
	assert_int_equal(world_node(w, node)->state, PHX_NODE_ACTIVE);
	phx_list_fini(&w->done);
}

/* Its orders without those that stand beside all others. Freed one by one by the
 * caller. */
static inline void world_orders(struct world *w, const char *node, struct phx_list *ret)
{
	assert_int_equal(phx_core_orders(&w->s, node, ret), 0);
	while (ret->n) {
		struct phx_order *last = PHX_LIST_AT(ret, struct phx_order, ret->n - 1);
		if (last->kind != PHX_ORDER_prefetch && last->kind != PHX_ORDER_ahead)
			return;
		phx_record_fini(&phx_order_record, last);
		ret->n--;
	}
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

#endif
