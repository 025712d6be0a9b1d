/* A check of a node (types/check.h): a plan of its own, which takes nothing off the node and puts
 * nothing onto it but what a test writes to a disk that holds nobody's data.
 *
 *   ready, maintenance ──(kexec, boot)──▶ check_cpu ─▶ check_memory ─▶ check_disk, one a disk
 *         ▲                                   │ errors, the machine dies          │
 *         │                                   ▼                                   │
 *         │ could not be done            maintenance ◀── as before it ────────────┘
 *         └ (no program, cancelled)
 *
 * The head checks only a node that nobody holds, and nobody gets the node while it is checked. What
 * the node says is a claim: a check proves nothing of an erase, and the head leaves out no erase
 * for a check. planning.c, result.c and handover.c call this file. Pure. */
#include "node/check.h"
#include "node/internal.h"
#include "node/protect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- disks ---- */

/* Is the disk checked? A disk that `p` protects, or may protect, is not even read. */
static bool is_checked(const struct phx_node *n, const struct phx_protect *p,
		       const struct phx_disk_facts *d)
{
	char why[PHX_PROTECTED_WHY_MAX];
	return d->id[0] && !d->removable && !d->read_only &&
		phx_facts_disk(&n->facts, d->id) == d &&
		phx_protection_of(n, p, d->id, why) == PHX_PROTECTION_NONE;
}

static uint32_t n_checked(const struct phx_node *n, const struct phx_protect *p)
{
	uint32_t ret = 0;
	PHX_LIST_EACH(struct phx_disk_facts, d, &n->facts.disks)
		ret += is_checked(n, p, d);
	return ret;
}

/* Do the node's disks hold nothing that anybody may want back? */
static bool is_blank(const struct phx_node *n)
{
	return !n->dirty && !n->key_unread && !n->disk_key_id[0] && !n->system_disk[0];
}

/* ---- the plan ---- */

struct making {
	const struct phx_node *n;
	const struct phx_protect *protect;
	struct phx_plan plan;
	bool full; /* there was no memory for a step */
};

static struct phx_step *add(struct making *m, enum phx_step_kind kind, uint32_t seconds)
{
	struct phx_step *step = phx_list_push(&m->plan.steps, sizeof(*step));
	m->full = m->full || !step;
	if (!step)
		return NULL;
	step->kind = (int)kind;
	step->seconds = seconds;
	step->expected_ms = phx_step_info(kind)->expected_ms + seconds * 1000;
	m->plan.expected_ms += step->expected_ms;
	return step;
}

/* Adds a step for each disk: the disks take turns, so that none disturbs the figures of another,
 * and share the time. */
static void add_disks(struct making *m, uint32_t seconds)
{
	uint32_t n = n_checked(m->n, m->protect), each = n ? seconds / n : 0;
	uint32_t least = seconds < PHX_CHECK_DISK_S_MIN ? seconds : PHX_CHECK_DISK_S_MIN;
	PHX_LIST_EACH(struct phx_disk_facts, d, &m->n->facts.disks) {
		struct phx_step *step = is_checked(m->n, m->protect, d)
			? add(m, PHX_STEP_check_disk, each < least ? least : each)
			: NULL;
		if (!step)
			continue;
		PHX_STR_SET(step->disk, d->id);
		step->writes = is_blank(m->n);
	}
}

/* Adds the steps that bring the node into the deploy environment, whose programs do the check. */
static int add_way(struct making *m, struct phx_err *err)
{
	const struct phx_node *n = m->n;
	bool runs = n->up && n->env == PHX_ENV_OS, waits = n->up && n->env == PHX_ENV_DEPLOY;
	const char *why = waits ? "the node waits in the deploy initramfs"
		: runs          ? "the node is up: no firmware start needed"
				: "the node is off or silent";
	m->plan.tier = waits ? PHX_TIER_DEPLOY : runs ? PHX_TIER_KEXEC : PHX_TIER_POWER;
	PHX_STR_SET(m->plan.reason, why);
	if (waits && !n->checker)
		return phx_err_set(err, -EOPNOTSUPP,
				   "the agent of %s is of before there were checks: build the "
				   "deploy image anew, and start the node again",
				   n->name);
	if (!waits && !runs && !phx_node_has_bmc(n))
		return phx_err_set(err, -EHOSTUNREACH,
				   "%s is not up, and it has no BMC to start it with", n->name);
	if (!waits)
		add(m, runs ? PHX_STEP_kexec : PHX_STEP_boot, 0);
	return 0;
}

/* Does nobody hold the node? */
static int check_free(const struct phx_node *n, struct phx_err *err)
{
	if (n->role[0] || (n->state != PHX_NODE_READY && n->state != PHX_NODE_MAINTENANCE))
		return phx_err_set(err, -EPERM,
				   "%s is %s as %s in pool %s: only a node that nobody holds is "
				   "checked, release it first",
				   n->name, phx_enum_name(&phx_node_state_names, n->state), n->role,
				   n->pool);
	if (n->key_unread)
		return phx_err_set(err, -EPERM, "%s waits for its disks to be erased and read back",
				   n->name);
	return 0;
}

static int check_order(const struct phx_node_order *o, uint32_t *ret_parts, uint32_t *ret_seconds,
		       struct phx_err *err)
{
	*ret_seconds = o->for_s ? o->for_s : PHX_CHECK_S;
	if (*ret_seconds > PHX_CHECK_S_MAX)
		return phx_err_set(err, -EINVAL, "for_s: a part is checked for %d days at most",
				   PHX_CHECK_S_MAX / (24 * 3600));
	return phx_check_parts_parse(o->with, ret_parts, err);
}

/* The head may not know the node's disks until the deploy environment has seen them. */
static int check_disks(const struct making *m, bool all, struct phx_err *err)
{
	if (all || n_checked(m->n, m->protect))
		return 0;
	return phx_err_set(err, -ENODEV,
			   "%s reports no fixed disk with an id that may be written and is not "
			   "protected",
			   m->n->name);
}

int phx_check_plan(const struct phx_state *s, const struct phx_node_order *o, struct phx_plan *ret,
		   struct phx_err *err)
{
	struct phx_protect protect;
	struct making m = {.n = o->node, .protect = phx_protect_of(s, o->node, &protect)};
	uint32_t parts = 0, seconds = 0;
	int r = check_free(o->node, err);
	r = r ? r : check_order(o, &parts, &seconds, err);
	if (r == 0 && (parts & phx_check_bit(PHX_CHECK_disk)))
		r = check_disks(&m, !o->with[0], err);
	r = r ? r : add_way(&m, err);
	PHX_STR_SET(m.plan.to_pool, PHX_POOL_FREE);
	PHX_STR_SET(m.plan.from_pool, o->node->pool);
	if (r == 0 && (parts & phx_check_bit(PHX_CHECK_cpu)))
		add(&m, PHX_STEP_check_cpu, seconds);
	if (r == 0 && (parts & phx_check_bit(PHX_CHECK_memory)))
		add(&m, PHX_STEP_check_memory, seconds);
	if (r == 0 && (parts & phx_check_bit(PHX_CHECK_disk)))
		add_disks(&m, seconds);
	if (r == 0 && !m.full) {
		*ret = m.plan;
		return 0;
	}
	phx_record_fini(&phx_plan_record, &m.plan);
	return r ? r : phx_err_set(err, -ENOMEM, "out of memory");
}

/* ---- what a pool asks for ---- */

static struct phx_check *find(const struct phx_node *n, enum phx_check_part part, const char *disk)
{
	PHX_LIST_EACH(struct phx_check, c, &n->checks)
		if (c->part == (int)part && !strcmp(c->disk, disk))
			return c;
	return NULL;
}

/* What is wrong with the node's last check of that part; NULL: nothing is. */
static const char *fault_of(const struct phx_state *s, const struct phx_node *n,
			    const struct phx_pool *pool, enum phx_check_part part, const char *disk)
{
	const struct phx_check *c = find(n, part, disk);
	if (!c)
		return "never checked";
	if (!c->passed)
		return "did not pass";
	return s->now_ms - c->ended_ms > (int64_t)pool->needs_check_s * 1000
		? "checked too long ago"
		: NULL;
}

int phx_check_suffices(const struct phx_state *s, const struct phx_node *n,
		       const struct phx_pool *pool, struct phx_err *err)
{
	static const struct {
		enum phx_check_part part;
		const char *name;
	} wholes[] = {{PHX_CHECK_cpu, "processors"}, {PHX_CHECK_memory, "memory"}};
	struct phx_protect protect;
	const char *what = "", *why = NULL;
	if (!pool->needs_check_s)
		return 0;
	for (size_t i = 0; !why && i < PHX_ARRAY_SIZE(wholes); i++) {
		why = fault_of(s, n, pool, wholes[i].part, "");
		what = wholes[i].name;
	}
	const struct phx_protect *p = why ? NULL : phx_protect_of(s, n, &protect);
	PHX_LIST_EACH(struct phx_disk_facts, d, &n->facts.disks) {
		if (why || !is_checked(n, p, d))
			continue;
		why = fault_of(s, n, pool, PHX_CHECK_disk, d->id);
		what = "a disk";
	}
	if (!why)
		return 0;
	return phx_err_set(err, -EPERM,
			   "pool %.40s wants checked nodes (needs_check), and %.40s is none: "
			   "%s %s",
			   pool->name, n->name, what, why);
}

/* ---- what comes of it ---- */

const char *phx_check_fault(const struct phx_step *step, const struct phx_event_answer *p)
{
	enum phx_check_part part;
	if (!p->has_check)
		return "the answer does not say what came of it";
	if (!phx_step_checks(step->kind, &part) || p->check.part != (int)part ||
	    strcmp(p->check.disk, step->disk) != 0)
		return "the answer is of another part than the one ordered";
	if (p->check.passed && p->check.seconds < step->seconds)
		return "it was done for less time than ordered";
	if (p->check.writes && !step->writes)
		return "the agent says that it wrote to a disk that was only to be read";
	return NULL;
}

/* Forgets the checks of disks that are not there any more. */
static void forget_gone(struct phx_node *n)
{
	for (uint32_t i = n->checks.n; i-- > 0;) {
		const struct phx_check *c = PHX_LIST_AT(&n->checks, struct phx_check, i);
		if (c->disk[0] && !phx_facts_disk(&n->facts, c->disk))
			phx_list_remove(&n->checks, sizeof(*c), i);
	}
}

void phx_check_failed(struct phx_apply *a, struct phx_node *n, const char *why)
{
	char text[sizeof(n->reason)];
	snprintf(text, sizeof(text), "its check failed: %.220s", why);
	phx_maintain(a, n, text);
	a->out->changed = true;
}

void phx_check_take(struct phx_apply *a, struct phx_node *n, const struct phx_step *step,
		    const struct phx_check *said)
{
	forget_gone(n);
	struct phx_check *c = find(n, (enum phx_check_part)said->part, step->disk);
	c = c ? c : phx_grow(a, &n->checks, sizeof(*c));
	phx_touch(a->s, n);
	if (!c)
		return;
	*c = *said;
	c->ended_ms = a->s->now_ms;
}
