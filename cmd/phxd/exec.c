/* Passes actions to drivers after their commit. Power operations go to their queue, and from there
 * to the hands; work on files (disk keys, DHCP host files) to one worker thread; orders wake the
 * agent's long poll. Results come back as events. Called by the engine, through main.c. Decides
 * nothing. */
#include "phxd/starts.h"
#include "phxd/daemon.h"
#include "phxd/metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct exec {
	struct daemon *d;
	struct phx_power_queue *power;
	pthread_t worker;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct phx_list todo; /* struct phx_action */
	bool stop;
	uint64_t hints;          /* tickets of power operations without a step */
	struct phx_list tickets; /* struct ticket: the owners of power tickets */
};

/* What came of a power operation. */
struct power_result {
	int result;
	enum phx_power_state state;
	char text[256];
};

struct ticket {
	uint64_t ticket;
	uint64_t step_id, epoch;
	char node[PHX_NAME_MAX];
	enum phx_power_op op;
	/* the operation is over; if the journal does not take its result, it has the action carried
	 * out again when it takes events, and the result is told then: nothing is switched twice */
	bool over;
	struct power_result came;
};

/* Tickets of hints lie above every step id. */
#define HINT_BASE (1ULL << 62)

static int submit(struct exec *x, struct phx_event *ev)
{
	PHX_STR_SET(ev->by, "phxd");
	return engine_submit(x->d->engine, ev, NULL, NULL);
}

/* ---- power ---- */

static int bmc_of(struct exec *x, const char *node, struct phx_bmc *ret)
{
	const struct phx_state *s = engine_lock(x->d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	if (n)
		*ret = n->bmc;
	engine_unlock(x->d->engine);
	return n ? 0 : -ENOENT;
}

/* Under the lock. */
static struct ticket *find_ticket(struct exec *x, uint64_t id)
{
	PHX_LIST_EACH(struct ticket, t, &x->tickets)
		if (t->ticket == id)
			return t;
	return NULL;
}

static bool get_ticket(struct exec *x, uint64_t id, struct ticket *ret)
{
	pthread_mutex_lock(&x->lock);
	const struct ticket *t = find_ticket(x, id);
	if (t)
		*ret = *t;
	pthread_mutex_unlock(&x->lock);
	return t;
}

static void drop_ticket(struct exec *x, uint64_t id)
{
	pthread_mutex_lock(&x->lock);
	const struct ticket *t = find_ticket(x, id);
	if (t)
		phx_list_remove(&x->tickets, sizeof(*t),
				(uint32_t)(t - PHX_LIST_AT(&x->tickets, struct ticket, 0)));
	pthread_mutex_unlock(&x->lock);
}

/* Tells the core what came of an operation that is over. */
static void tell_power(struct exec *x, const struct ticket *t)
{
	struct phx_event ev = {
		.kind = PHX_EV_power_result,
		.answer = {.step_id = t->step_id, .epoch = t->epoch, .result = t->came.result}};
	PHX_STR_SET(ev.node, t->node);
	starts_power(x->d, t->node, t->op, t->came.result, t->came.text);
	ev.answer.op = (int)t->op;
	ev.answer.power = (int)t->came.state;
	snprintf(ev.text, sizeof(ev.text), "%s", t->came.text);
	if (submit(x, &ev) != -EROFS || !t->step_id)
		drop_ticket(x, t->ticket);
}

static void power_is_over(struct exec *x, uint64_t id, const struct power_result *came)
{
	struct ticket copy;
	pthread_mutex_lock(&x->lock);
	struct ticket *t = find_ticket(x, id);
	if (t) {
		t->over = true;
		t->came = *came;
		copy = *t;
	}
	pthread_mutex_unlock(&x->lock);
	if (t)
		tell_power(x, &copy);
}

static void queue_power(struct exec *x, const struct ticket *t)
{
	struct phx_bmc bmc = {0};
	struct phx_err err = {0};
	int r = bmc_of(x, t->node, &bmc);
	r = r ? r
	      : phx_power_queue_add(x->power, &bmc, t->op, x->d->cfg.power_timeout_ms, t->ticket,
				    &err);
	struct power_result came = {.result = r};
	PHX_STR_SET(came.text, err.text);
	if (r < 0)
		power_is_over(x, t->ticket, &came);
}

/* The ticket of this step, or NULL. What is over for other steps of its node, and was never asked
 * for again, is forgotten. Under the lock. */
static struct ticket *step_ticket(struct exec *x, const struct phx_action *act)
{
	struct ticket *found = NULL;
	for (uint32_t i = x->tickets.n; i-- > 0;) {
		struct ticket *t = PHX_LIST_AT(&x->tickets, struct ticket, i);
		if (t->over && t->step_id != act->step_id && !strcmp(t->node, act->node))
			phx_list_remove(&x->tickets, sizeof(*t), i);
	}
	PHX_LIST_EACH(struct ticket, t, &x->tickets)
		if (act->step_id && t->step_id == act->step_id)
			found = t;
	return found;
}

/* Puts a new ticket into *ret, or gives a copy of the one that the step has already. */
static int make_ticket(struct exec *x, const struct phx_action *act, struct ticket *ret,
		       bool *ret_there)
{
	pthread_mutex_lock(&x->lock);
	struct ticket *t = step_ticket(x, act);
	*ret_there = t;
	if (!t && (t = phx_list_push(&x->tickets, sizeof(*t)))) {
		*t = (struct ticket){.ticket = HINT_BASE + ++x->hints,
				     .step_id = act->step_id,
				     .epoch = act->epoch,
				     .op = (enum phx_power_op)act->op};
		PHX_STR_SET(t->node, act->node);
	}
	if (t)
		*ret = *t;
	pthread_mutex_unlock(&x->lock);
	return t ? 0 : -ENOMEM;
}

static int start_power(struct exec *x, const struct phx_action *act)
{
	struct ticket t;
	bool there;
	int r = make_ticket(x, act, &t, &there);
	if (r == 0 && !there) {
		starts_power_asked(x->d, t.node, t.op);
		queue_power(x, &t);
	} else if (r == 0 && t.over)
		tell_power(x, &t);
	return r;
}

/* On threads of the power queue. */
static int run_power(void *arg, const struct phx_bmc *bmc, enum phx_power_op op,
		     uint32_t timeout_ms, enum phx_power_state *ret_state, struct phx_err *err)
{
	struct exec *x = arg;
	return phx_hands_power(hands_process(x->d->hands), bmc, op, timeout_ms, ret_state, err);
}

static void power_done(void *arg, uint64_t id, int result, enum phx_power_state state,
		       const char *text)
{
	struct exec *x = arg;
	struct ticket t;
	struct power_result came = {.result = result, .state = state};
	if (!get_ticket(x, id, &t))
		return;
	metrics_power(x->d->metrics, t.op, result < 0);
	snprintf(came.text, sizeof(came.text), "%s: %s",
		 phx_enum_name(&phx_power_op_names, (int)t.op), text && text[0] ? text : "done");
	power_is_over(x, id, &came);
}

/* ---- disk keys ---- */

static void do_key(struct exec *x, const struct phx_action *act)
{
	struct phx_err err = {0};
	int r;
	if (act->kind == PHX_ACT_KEY_MAKE) {
		r = phx_vault_key_make(keys_vault(x->d->keys), act->key_id, &err);
		if (r == -EEXIST)
			r = 0; /* made before the crash that made us ask again */
	} else {
		r = phx_vault_key_destroy(keys_vault(x->d->keys), act->key_id, &err);
	}
	struct phx_event ev = {
		.kind = PHX_EV_key_result,
		.answer = {.step_id = act->step_id, .epoch = act->epoch, .result = r}};
	PHX_STR_SET(ev.node, act->node);
	if (!act->step_id)
		PHX_STR_SET(ev.answer.name, act->key_id);
	snprintf(ev.text, sizeof(ev.text), "%s", err.text);
	submit(x, &ev);
}

/* *change_max: the greatest change of host files so far, PHX_DHCP_SAME, ... */
static void work(struct exec *x, const struct phx_action *act, int *change_max)
{
	int change;
	switch ((enum phx_action_kind)act->kind) {
	case PHX_ACT_KEY_MAKE:
	case PHX_ACT_KEY_DESTROY:
		do_key(x, act);
		return;
	case PHX_ACT_DHCP:
		change = net_sync_host(x->d, act->node);
		*change_max = change > *change_max ? change : *change_max;
		return;
	case PHX_ACT_ORDER:
	case PHX_ACT_POWER:
	case PHX_ACT_ERASED:
	case PHX_ACT_ATTEST:
	case PHX_ACT_NOTE:
		return;
	}
}

static bool stops(struct exec *x)
{
	pthread_mutex_lock(&x->lock);
	bool stop = x->stop;
	pthread_mutex_unlock(&x->lock);
	return stop;
}

/* Does all waiting actions in order. dnsmasq is told once, after the last, as it reads all host
 * files again at a signal. */
static void work_all(struct exec *x, const struct phx_list *todo)
{
	int change = -1;
	PHX_LIST_EACH(struct phx_action, act, todo) {
		work(x, act, &change);
		if (stops(x)) /* the next start issues the others again */
			break;
	}
	if (change >= 0)
		net_hosts_changed(x->d, change);
}

static void *worker(void *arg)
{
	struct exec *x = arg;
	pthread_mutex_lock(&x->lock);
	while (!x->stop) {
		if (!x->todo.n) {
			pthread_cond_wait(&x->more, &x->lock);
			continue;
		}
		struct phx_list todo = x->todo;
		x->todo = (struct phx_list){0};
		pthread_mutex_unlock(&x->lock);
		work_all(x, &todo);
		phx_list_fini(&todo);
		pthread_mutex_lock(&x->lock);
	}
	pthread_mutex_unlock(&x->lock);
	return NULL;
}

static int enqueue(struct exec *x, const struct phx_action *act)
{
	pthread_mutex_lock(&x->lock);
	struct phx_action *to = phx_list_push(&x->todo, sizeof(*to));
	if (to)
		*to = *act;
	pthread_cond_signal(&x->more);
	pthread_mutex_unlock(&x->lock);
	return to ? 0 : -ENOMEM;
}

uint32_t exec_power_waiting(struct exec *x)
{
	uint32_t n = 0;
	pthread_mutex_lock(&x->lock);
	PHX_LIST_EACH(const struct ticket, t, &x->tickets)
		n += !t->over;
	pthread_mutex_unlock(&x->lock);
	return n;
}

int exec_action(struct exec *x, const struct phx_action *act)
{
	switch ((enum phx_action_kind)act->kind) {
	case PHX_ACT_ORDER:
		live_wake(x->d->live, act->node);
		if (act->step_id)
			starts_step_begins(x->d, act->node);
		return 0;
	case PHX_ACT_POWER:
		return start_power(x, act);
	case PHX_ACT_DHCP:
		live_forget_gone(x->d->live, act->node); /* removed or renamed */
		return enqueue(x, act);
	case PHX_ACT_KEY_MAKE:
	case PHX_ACT_KEY_DESTROY:
		return enqueue(x, act);
	case PHX_ACT_ERASED:
	case PHX_ACT_ATTEST: /* written with the commit */
	case PHX_ACT_NOTE:   /* told by the journal */
		return 0;
	}
	return -EINVAL;
}

int exec_new(struct daemon *d, struct exec **ret, struct phx_err *err)
{
	struct exec *x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->d = d;
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->more, NULL);
	int r = phx_power_queue_new(d->cfg.power_threads, run_power, power_done, x, &x->power, err);
	if (r == 0) {
		r = -pthread_create(&x->worker, NULL, worker, x);
		x->started = r == 0;
	}
	if (r < 0) {
		exec_free(x);
		return r;
	}
	*ret = x;
	return 0;
}

void exec_free(struct exec *x)
{
	if (!x)
		return;
	phx_power_queue_free(x->power);
	pthread_mutex_lock(&x->lock);
	x->stop = true;
	pthread_cond_signal(&x->more);
	pthread_mutex_unlock(&x->lock);
	if (x->started)
		pthread_join(x->worker, NULL);
	phx_list_fini(&x->todo);
	phx_list_fini(&x->tickets);
	pthread_cond_destroy(&x->more);
	pthread_mutex_destroy(&x->lock);
	free(x);
}
