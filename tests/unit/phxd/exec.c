/* Actions to drivers: what cannot be queued is said to be so, and nothing of it is done; what came
 * of one is told, also if the journal refuses it for a while. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/util.h"
#include "deploy/deploy.h"

static bool no_memory;

static void *list_push(struct phx_list *l, size_t size)
{
	return no_memory ? NULL : phx_list_push(l, size);
}

#define phx_list_push list_push
#include "fake/metrics.h"
#include "fake/starts.h"
#include "phxd/exec.c" /* parts of a program, not of the library */
#undef phx_list_push

static int n_synced, n_changed, n_woken;

/* what of the daemon it calls */
void live_wake(struct live *l, const char *node)
{
	(void)l;
	(void)node;
	n_woken++;
}

void live_forget_gone(struct live *l, const char *node)
{
	(void)l;
	(void)node;
}

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

int net_sync_host(struct daemon *d, const char *name)
{
	(void)d;
	pthread_mutex_lock(&busy);
	pthread_mutex_unlock(&busy);
	assert_string_not_equal(name, "");
	__atomic_add_fetch(&n_synced, 1, __ATOMIC_SEQ_CST);
	return PHX_DHCP_LIVE;
}

void net_hosts_changed(struct daemon *d, int change)
{
	(void)d;
	assert_int_equal(change, PHX_DHCP_LIVE);
	__atomic_add_fetch(&n_changed, 1, __ATOMIC_SEQ_CST);
}

static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static bool refuses; /* as a journal whose disk is full */
static int n_told, n_refused;
static struct phx_event_answer told;
static struct exec *watched;
static uint32_t n_tickets; /* of `watched`, when the core is told */

static int seen(const int *n)
{
	pthread_mutex_lock(&told_lock);
	int now = *n;
	pthread_mutex_unlock(&told_lock);
	return now;
}

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err)
{
	(void)e;
	(void)ret;
	(void)err;
	if (ev->kind != PHX_EV_power_result)
		return 0;
	pthread_mutex_lock(&told_lock);
	n_told += !refuses;
	n_refused += refuses;
	told = ev->answer;
	if (watched) {
		pthread_mutex_lock(&watched->lock);
		n_tickets = watched->tickets.n;
		pthread_mutex_unlock(&watched->lock);
	}
	pthread_mutex_unlock(&told_lock);
	return refuses ? -EROFS : 0;
}

static struct phx_state fake_state; /* of the engine */

const struct phx_state *engine_lock(struct engine *e)
{
	(void)e;
	return &fake_state;
}

void engine_unlock(struct engine *e)
{
	(void)e;
}

/* keys that cannot be made: the step is told of it */
struct phx_vault *keys_vault(struct keys *k)
{
	(void)k;
	return NULL;
}

int phx_vault_key_make(struct phx_vault *v, const char *key_id, struct phx_err *err)
{
	(void)v;
	return phx_err_set(err, -ENOENT, "%s: no place for it", key_id);
}

int phx_vault_key_destroy(struct phx_vault *v, const char *key_id, struct phx_err *err)
{
	return phx_vault_key_make(v, key_id, err);
}

static int n_switched;
static enum phx_power_op switched;

struct phx_hands *hands_process(struct hands *h)
{
	(void)h;
	return NULL;
}

int phx_hands_power(struct phx_hands *h, const struct phx_bmc *bmc, enum phx_power_op op,
		    uint32_t timeout_ms, enum phx_power_state *ret_state, struct phx_err *err)
{
	(void)h;
	(void)bmc;
	(void)timeout_ms;
	__atomic_store_n(&switched, op, __ATOMIC_SEQ_CST);
	*ret_state = PHX_POWER_IS_OFF;
	__atomic_add_fetch(&n_switched, 1, __ATOMIC_SEQ_CST);
	(void)err;
	return 0;
}

static void what_cannot_be_queued_is_an_error(void **state)
{
	static const int kinds[] = {PHX_ACT_POWER, PHX_ACT_KEY_MAKE, PHX_ACT_KEY_DESTROY,
				    PHX_ACT_DHCP};
	struct daemon d = {.cfg = {.power_threads = 1}};
	struct phx_err err = {0};
	struct exec *x = NULL;
	(void)state;
	assert_int_equal(exec_new(&d, &x, &err), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		struct phx_action a = {.kind = kinds[i],
				       .node = "n1",
				       .key_id = "k1",
				       .step_id = i + 1,
				       .op = PHX_POWER_OFF};
		no_memory = true;
		assert_int_equal(exec_action(x, &a), -ENOMEM);
		assert_int_equal(x->tickets.n, 0);
		assert_int_equal(x->todo.n, 0);
		no_memory = false;
		assert_int_equal(exec_action(x, &a), 0);
		while (x->todo.n) /* the worker takes it before the next may not be queued */
			sched_yield();
	}
	struct phx_action order = {.kind = PHX_ACT_ORDER, .node = "n1"};
	assert_int_equal(exec_action(x, &order), 0);
	assert_int_equal(n_woken, 1);
	exec_free(x);
	assert_int_equal(__atomic_load_n(&n_synced, __ATOMIC_SEQ_CST), 1);
}

/* Each entry is looked at by itself, in its order, and dnsmasq is told of all of them. */
static void entries_that_change_together_are_told_once(void **state)
{
	enum { NODES = 50 };
	struct daemon d = {.cfg = {.power_threads = 1}};
	struct phx_err err = {0};
	struct exec *x = NULL;
	(void)state;
	assert_int_equal(exec_new(&d, &x, &err), 0);
	n_synced = n_changed = 0;
	pthread_mutex_lock(&busy);
	for (int i = 0; i < NODES; i++) {
		struct phx_action a = {.kind = PHX_ACT_DHCP};
		snprintf(a.node, sizeof(a.node), "n%d", i);
		assert_int_equal(exec_action(x, &a), 0);
	}
	pthread_mutex_unlock(&busy);
	while (__atomic_load_n(&n_synced, __ATOMIC_SEQ_CST) < NODES)
		sched_yield();
	exec_free(x);
	assert_int_equal(n_synced, NODES);
	/* what the worker had taken when the rest came, and the rest */
	assert_in_range(n_changed, 1, 2);
}

/* A node with a BMC, so that its power can be switched. */
static struct exec *switchable(struct daemon *d)
{
	struct phx_err err = {0};
	struct exec *x = NULL;
	struct phx_node *n = phx_list_push(&fake_state.nodes, sizeof(*n));
	PHX_STR_SET(n->name, "n1");
	PHX_STR_SET(n->bmc.driver, "ipmi");
	PHX_STR_SET(n->bmc.address, "192.0.2.9");
	n_switched = n_told = n_refused = 0;
	assert_int_equal(exec_new(d, &x, &err), 0);
	watched = x;
	return x;
}

static void wait_for(const int *n, int want)
{
	while (seen(n) < want)
		sched_yield();
}

/* What the journal did not take is told when it has the action carried out again; the machine is
 * switched once. */
static void a_refused_result_is_told_later(void **state)
{
	struct daemon d = {.cfg = {.power_threads = 1, .power_timeout_ms = 1000}};
	struct phx_action off = {
		.kind = PHX_ACT_POWER, .node = "n1", .step_id = 7, .epoch = 3, .op = PHX_POWER_OFF};
	struct exec *x = switchable(&d);
	(void)state;
	refuses = true;
	assert_int_equal(exec_action(x, &off), 0);
	wait_for(&n_refused, 1);
	assert_int_equal(exec_action(x, &off), 0); /* it is still refused */
	wait_for(&n_refused, 2);
	refuses = false;
	assert_int_equal(exec_action(x, &off), 0);
	wait_for(&n_told, 1);
	assert_int_equal(told.step_id, 7);
	assert_int_equal(told.epoch, 3);
	assert_int_equal(told.result, 0);
	assert_int_equal(told.power, PHX_POWER_IS_OFF);
	assert_int_equal(__atomic_load_n(&switched, __ATOMIC_SEQ_CST), PHX_POWER_OFF);
	assert_int_equal(__atomic_load_n(&n_switched, __ATOMIC_SEQ_CST), 1);
	exec_free(x);
	phx_list_fini(&fake_state.nodes);
}

/* The next step of the node switches it, whatever an older one left. */
static void a_new_step_forgets_what_was_not_told(void **state)
{
	struct daemon d = {.cfg = {.power_threads = 1, .power_timeout_ms = 1000}};
	struct phx_action off = {
		.kind = PHX_ACT_POWER, .node = "n1", .step_id = 7, .op = PHX_POWER_OFF};
	struct exec *x = switchable(&d);
	(void)state;
	refuses = true;
	assert_int_equal(exec_action(x, &off), 0);
	wait_for(&n_refused, 1);
	refuses = false;
	off.step_id = 8;
	assert_int_equal(exec_action(x, &off), 0);
	wait_for(&n_told, 1);
	assert_int_equal(told.step_id, 8);
	assert_int_equal(n_tickets, 1); /* its own */
	assert_int_equal(__atomic_load_n(&n_switched, __ATOMIC_SEQ_CST), 2);
	exec_free(x);
	phx_list_fini(&fake_state.nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_queued_is_an_error),
		cmocka_unit_test(entries_that_change_together_are_told_once),
		cmocka_unit_test(a_refused_result_is_told_later),
		cmocka_unit_test(a_new_step_forgets_what_was_not_told)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
