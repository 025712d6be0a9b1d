/* plan_handover: makes a list of steps from a node's facts, its old and new role, and its setup
 * policy. Called by the core, for the daemon and for --dry-run alike; agents and drivers carry the
 * steps out. Pure. */
#include "node/plan.h"
#include "node/kernel.h"
#include "node/plan_disk.h"
#include "node/plan_setup.h"
#include "node/protect.h"
#include "node/wipes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- building ---- */

struct builder {
	const struct phx_plan_request *q;
	struct phx_plan *plan;
	struct phx_err *err;
	int code; /* sticky */
};

static struct phx_step *add(struct builder *b, enum phx_step_kind kind, const struct phx_role *role)
{
	struct phx_step *s = phx_list_push(&b->plan->steps, sizeof(*s));
	if (!s) {
		b->code = -ENOMEM;
		return NULL;
	}
	s->kind = (int)kind;
	s->expected_ms = phx_step_info(kind)->expected_ms;
	b->plan->expected_ms += s->expected_ms;
	if (role)
		PHX_STR_SET(s->role, role->name);
	return s;
}

/* The steps that end the work of a role: requests under way, and jobs. */
static void add_drain(struct builder *b, const struct phx_role *from)
{
	bool web = from->web.address[0];
	if (web)
		add(b, PHX_STEP_divert, from);
	if (web || from->runs_jobs)
		add(b, PHX_STEP_drain, from);
	if (web)
		add(b, PHX_STEP_settle, from);
}

int phx_plan_drain(const struct phx_role *role, struct phx_plan *plan)
{
	struct builder b = {.plan = plan};
	add_drain(&b, role);
	return b.code;
}

/* The steps that take the old role off the node; `remove`: also its packages. */
static void add_leave(struct builder *b, bool remove)
{
	const struct phx_role *from = b->q->from;
	if (!from)
		return;
	add_drain(b, from);
	add(b, PHX_STEP_stop, from);
	if (remove)
		add(b, PHX_STEP_leave, from);
}

/* The services of a role settle at the same time, so the longest time counts. */
static uint32_t settle_ms(const struct phx_role *role)
{
	uint32_t longest = 0;
	PHX_LIST_EACH(struct phx_service, s, &role->services)
		if (s->settle_s > longest)
			longest = s->settle_s;
	return longest * 1000;
}

static void add_start(struct builder *b)
{
	struct phx_step *start = add(b, PHX_STEP_start, b->q->to);
	if (start) {
		start->expected_ms += settle_ms(b->q->to);
		b->plan->expected_ms += settle_ms(b->q->to);
	}
	add(b, PHX_STEP_health, b->q->to);
	add(b, PHX_STEP_join, b->q->to);
}

static void add_serve(struct builder *b)
{
	add(b, PHX_STEP_activate, b->q->to);
	add_start(b);
}

/* Destroys the key first, before the node is brought down or woken: from then on the data is gone,
 * whatever happens to the machine. */
static void add_destroy_key(struct builder *b)
{
	const struct phx_node *n = b->q->node;
	struct phx_step *key = n->disk_key_id[0] ? add(b, PHX_STEP_destroy_key, NULL) : NULL;
	if (!key)
		return;
	PHX_STR_SET(key->key_id, n->disk_key_id);
	PHX_STR_SET(key->disk, n->system_disk);
}

static void add_wipe_step(struct builder *b, struct phx_step wipe)
{
	struct phx_step *s = add(b, PHX_STEP_wipe, NULL);
	if (!s)
		return;
	wipe.kind = s->kind;
	wipe.expected_ms = s->expected_ms;
	*s = wipe;
}

/* Is the disk left alone? What is in doubt is erased, or is not, once a deploy environment has seen
 * it. */
static bool leaves(struct builder *b, const char *id)
{
	char why[PHX_PROTECTED_WHY_MAX];
	if (phx_protection_of(b->q->node, b->q->protect, id, why) != PHX_PROTECTION_HOLDS)
		return false;
	int r = phx_plan_leave(b->plan, id, why);
	b->code = b->code ? b->code : r;
	return true;
}

static void add_wipe(struct builder *b, const struct phx_wipes *w, const struct phx_disk_facts *d)
{
	struct phx_step wipe = {0};
	if (leaves(b, d->id))
		return;
	int r = phx_wipes_step(w, d, &wipe, b->err);
	if (r == 0)
		add_wipe_step(b, wipe);
	else
		b->code = b->code ? b->code : r;
}

/* Adds erases for known disks that the node does not report now: no tenant shall save a disk by
 * hiding it. The deploy environment sees whether they are present, and how they can be erased. */
static void add_unseen(struct builder *b)
{
	const struct phx_plan_request *q = b->q;
	bool chosen = q->setup.method == PHX_WIPE_AUTO || q->setup.method == PHX_WIPE_CRYPTO;
	PHX_LIST_EACH(struct phx_known_disk, k, &q->node->known_disks) {
		struct phx_step wipe = {.method = chosen ? PHX_WIPE_OVERWRITE : q->setup.method,
					.verify = q->setup.verify};
		PHX_STR_SET(wipe.disk, k->id);
		if (!phx_facts_disk(&q->node->facts, k->id) && !leaves(b, k->id))
			add_wipe_step(b, wipe);
	}
}

static void add_wipes(struct builder *b)
{
	const struct phx_plan_request *q = b->q;
	const struct phx_wipes w = {q->node, &q->setup, q->agreed, q->looks, q->protect};
	uint32_t before = b->plan->steps.n;
	b->plan->erase = q->setup;
	/* the key that 'crypto' destroys is gone with the first of the disks */
	b->plan->agreed = q->agreed || q->node->disk_key_id[0];
	b->plan->looks = q->looks;
	PHX_LIST_EACH(struct phx_disk_facts, d, &q->node->facts.disks)
		if (phx_wipes_wants(&w, d))
			add_wipe(b, &w, d);
	if (q->looks)
		add_unseen(b);
	if (!b->code && b->plan->steps.n == before)
		b->code = phx_err_set(b->err, -ENODEV,
				      b->plan->left.n
					      ? "all of its disks are protected: none could be "
						"erased"
					      : "the node reports no disk that could be erased");
}

/* Why no system can be written; names a protected disk, if there is one. */
static int no_disk(struct builder *b)
{
	const struct phx_plan_request *q = b->q;
	char why[PHX_PROTECTED_WHY_MAX];
	PHX_LIST_EACH(struct phx_disk_facts, d, &q->node->facts.disks)
		if (phx_protection_of(q->node, q->protect, d->id, why) != PHX_PROTECTION_NONE)
			return phx_err_set(
				b->err, -ENODEV,
				"role %s is deployed to disk, and the node has no fixed, "
				"writable disk of 1 GiB that is not protected, as %.100s "
				"is: %s",
				q->to->name, d->id, why);
	return phx_err_set(
		b->err, -ENODEV,
		"role %s is deployed to disk, and the node has no fixed, writable disk of "
		"1 GiB",
		q->to->name);
}

/* The node's system, and its key, are on a disk that is protected by now. */
static bool system_is_protected(struct builder *b)
{
	const struct phx_node *n = b->q->node;
	char why[PHX_PROTECTED_WHY_MAX];
	if (!n->system_disk[0] ||
	    phx_protection_of(n, b->q->protect, n->system_disk, why) != PHX_PROTECTION_HOLDS)
		return false;
	b->code =
		phx_err_set(b->err, -EPERM, "its system is on disk %.100s, which is protected: %s",
			    n->system_disk, why);
	return true;
}

static void add_image(struct builder *b)
{
	const struct phx_plan_request *q = b->q;
	if (!phx_role_boot(q->to)->on_disk) {
		add(b, PHX_STEP_ram, q->to);
		return;
	}
	if (system_is_protected(b))
		return;
	const struct phx_disk_facts *d = phx_plan_system_disk(q);
	if (!d) {
		b->code = no_disk(b);
		return;
	}
	/* the new image makes an older key useless: do not leave it behind */
	if (!phx_plan_erases(q))
		add_destroy_key(b);
	if (q->encrypt) {
		struct phx_step *key = add(b, PHX_STEP_make_key, NULL);
		if (key)
			PHX_STR_SET(key->key_id, "new");
	}
	struct phx_step *s = add(b, PHX_STEP_image, q->to);
	if (!s)
		return;
	PHX_STR_SET(s->disk, d->id);
	PHX_STR_SET(s->key_id, q->encrypt ? "new" : "");
}

/* Is the system that `to` wants on the node already? */
static bool system_fits(const struct phx_plan_request *q)
{
	const struct phx_node *n = q->node;
	bool on_disk = n->system_disk[0];
	if (q->rebuild || !n->system_digest[0])
		return false;
	if (!q->to)
		return true;
	return !strcmp(n->system_digest, q->to->image_digest) &&
		on_disk == phx_role_boot(q->to)->on_disk && (!q->encrypt || n->disk_key_id[0]);
}

static bool runs_already(const struct phx_plan_request *q)
{
	char want[sizeof(q->node->actual_identity)];
	if (!q->to || !q->from || strcmp(q->to->name, q->from->name))
		return false;
	phx_role_identity(q->to, want, sizeof(want));
	return q->node->state == PHX_NODE_ACTIVE && q->node->env == PHX_ENV_OS &&
		!strcmp(q->node->pool, q->to_pool) && !strcmp(q->node->actual_role, q->to->name) &&
		!strcmp(q->node->actual_identity, want);
}

/* Is the node's agent too old for step rekey, so that only a start replaces the key that its former
 * owner knows? */
static bool cannot_rekey(const struct phx_plan_request *q)
{
	return q->rekey && q->to && !q->node->rekeys;
}

static void plan_in_place(struct builder *b)
{
	const struct phx_plan_request *q = b->q;
	b->plan->tier = PHX_TIER_IN_PLACE;
	snprintf(b->plan->reason, sizeof(b->plan->reason), "%s",
		 q->to ? "the installed system serves the new role too"
		       : "nothing has to be erased");
	if (q->to)
		add(b, PHX_STEP_prefetch, q->to);
	add_leave(b, true);
	if (phx_plan_scratches(q))
		add(b, PHX_STEP_scratch, NULL);
	if (q->to && q->rekey)
		add(b, PHX_STEP_rekey, NULL);
	if (q->to)
		add_serve(b);
}

/* Why the installed system cannot stay although no erase was asked for. */
static const char *why_not_in_place(const struct phx_plan_request *q)
{
	const struct phx_node *n = q->node;
	if (phx_plan_erases(q) || q->rebuild || !n->system_digest[0])
		return "";
	if (phx_plan_renews(q))
		return "its system is to be written anew";
	if (system_fits(q) && !phx_plan_layout_fits(q))
		return "the role's layout is not on its disks";
	if (system_fits(q))
		return cannot_rekey(q) ? "its agent is of before there was step rekey" : "";
	const struct phx_role_boot_kind *boot = phx_role_boot(q->to);
	bool on_disk = n->system_disk[0];
	if (on_disk != boot->on_disk)
		return boot->elsewhere;
	if (strcmp(n->system_digest, q->to->image_digest))
		return "the role wants another image";
	return "the role's disk is encrypted, this one is not";
}

/* Is the machine out of reach while its disk key is on the head? Destroying the key erases its
 * system disk now; the rest follows when the machine comes back. */
static bool key_alone(const struct phx_plan_request *q)
{
	const struct phx_node *n = q->node;
	int method = q->setup.method;
	return phx_plan_erases(q) && !q->to && !q->deploy_env_only && !n->up &&
		!phx_node_has_bmc(n) && n->disk_key_id[0] &&
		(method == PHX_WIPE_AUTO || method == PHX_WIPE_CRYPTO);
}

static void plan_key_alone(struct builder *b)
{
	snprintf(b->plan->reason, sizeof(b->plan->reason), "%s",
		 "the node is off or silent and has no BMC: its key goes now, its disks are erased "
		 "and read back when it "
		 "comes");
	if (!b->q->node->key_unread)
		add_destroy_key(b);
}

/* Why the machine is reset; NULL: it need not be. Its tenant is root on the system that a kexec
 * goes through, and on anything that claims to be the deploy environment without the token of a
 * start. */
static const char *why_reset(const struct phx_plan_request *q)
{
	const struct phx_node *n = q->node;
	bool waits = n->env == PHX_ENV_DEPLOY;
	if (q->power_cycle)
		return "a start from reset was asked for";
	if ((phx_plan_erases(q) || q->to) && phx_node_has_bmc(n) &&
	    phx_protection_doubted(n, q->protect))
		return "only after that is it certain which of its disks are protected";
	if (waits && n->fresh)
		return NULL;
	if (phx_plan_renews(q) && q->setup.start == PHX_SETUP_START_POWER)
		return "an agreement wants a start from reset";
	if (waits && q->apart && (phx_plan_erases(q) || q->to))
		return "another owner gets it, and it does not show the token of a start";
	if (!q->apart || q->setup.start != PHX_SETUP_START_AUTO || !phx_node_has_bmc(n))
		return NULL;
	return phx_plan_erases(q)    ? "it is erased for another owner"
		: phx_plan_renews(q) ? "its system is written anew for another owner"
				     : NULL;
}

/* Why kexec will do. */
static const char *why_kexec(const struct phx_plan_request *q)
{
	if (!phx_plan_renews(q) || !q->apart)
		return "the node is up: no firmware start needed";
	return phx_node_has_bmc(q->node)
		? "both agreements say kexec"
		: "it has no BMC: kexec through the system of the owner that it leaves";
}

/* The steps that bring the node into the deploy environment. */
static void add_way_down(struct builder *b)
{
	const struct phx_plan_request *q = b->q;
	const struct phx_node *n = q->node;
	const char *why = "the node waits in the deploy initramfs", *reset = why_reset(q);
	b->plan->tier = PHX_TIER_DEPLOY;
	b->plan->apart = q->apart;
	if (n->up && n->env == PHX_ENV_OS) {
		add_leave(b, false);
		if (phx_plan_scratches(q))
			add(b, PHX_STEP_scratch, NULL);
		b->plan->tier = reset ? PHX_TIER_POWER : PHX_TIER_KEXEC;
		why = reset ? reset : why_kexec(q);
	} else if (!n->up || n->env != PHX_ENV_DEPLOY || reset) {
		b->plan->tier = PHX_TIER_POWER;
		why = n->up && reset ? reset : "the node is off or silent";
	}
	if (b->plan->tier == PHX_TIER_POWER && !phx_node_has_bmc(n)) {
		b->code = phx_err_set(b->err, -EHOSTUNREACH,
				      "%s must be power cycled (%s), and it has no BMC", n->name,
				      why);
		return;
	}
	if (phx_plan_erases(q) && n->disk_key_id[0] && system_is_protected(b))
		return;
	if (phx_plan_erases(q))
		add_destroy_key(b);
	if (b->plan->tier != PHX_TIER_DEPLOY)
		add(b, b->plan->tier == PHX_TIER_KEXEC ? PHX_STEP_kexec : PHX_STEP_boot, NULL);
	const char *not_in_place = q->to ? why_not_in_place(q) : "";
	snprintf(b->plan->reason, sizeof(b->plan->reason), "%s%s%s", why,
		 not_in_place[0] ? "; not in place: " : "", not_in_place);
}

/* Once in the deploy environment: into the kernel under which disks are erased, if another runs. */
static void add_kernel_back(struct builder *b)
{
	const struct phx_plan_request *q = b->q;
	if (b->plan->tier == PHX_TIER_DEPLOY && phx_plan_erases(q) && q->node->kernel_word)
		add(b, PHX_STEP_kernel, NULL);
}

/* And after that into the one of the new system. A start that erases nothing leads there at once:
 * phx_kernel_of(). */
static void add_kernel(struct builder *b)
{
	const struct phx_plan_request *q = b->q;
	bool waits = b->plan->tier == PHX_TIER_DEPLOY, erases = phx_plan_erases(q);
	if ((waits || erases) && phx_kernel_wanted(q, erases))
		add(b, PHX_STEP_kernel, q->to);
}

/* For the plan's reason: why a disk is erased by a method other than the agreement's 'crypto'. */
static const char *why_not_crypto(const struct phx_plan_request *q, const struct phx_plan *p)
{
	bool other = false;
	PHX_LIST_EACH(struct phx_step, s, &p->steps)
		other = other || (s->kind == PHX_STEP_wipe && s->method != PHX_WIPE_CRYPTO);
	if (!other || !q->agreed || q->setup.method != PHX_WIPE_CRYPTO)
		return "";
	return q->encrypt ? "; crypto cannot erase a plain disk: the best it can do instead, "
			    "encrypted from now on"
			  : "; crypto cannot erase a plain disk: the best it can do instead";
}

/* A system in memory does not survive the way into the deploy environment. If the node is there
 * already, the system that it reports is on a disk, left by an earlier role. */
static bool gone_from_memory(const struct phx_plan_request *q)
{
	return !phx_role_boot(q->to)->on_disk;
}

static void add_layout(struct builder *b)
{
	if (b->code || !phx_plan_has_layout(b->q))
		return;
	add(b, PHX_STEP_layout, b->q->to);
	int r = phx_plan_layout(b->q, b->plan, b->err);
	b->code = b->code ? b->code : r;
}

static void plan_deploy(struct builder *b)
{
	const struct phx_plan_request *q = b->q;
	add_way_down(b);
	if (!b->code)
		add_kernel_back(b);
	if (phx_plan_erases(q) && !b->code)
		add_wipes(b);
	size_t said = strlen(b->plan->reason);
	snprintf(b->plan->reason + said, sizeof(b->plan->reason) - said, "%s",
		 why_not_crypto(q, b->plan));
	if (!q->to || b->code)
		return;
	add_kernel(b);
	if (phx_plan_renews(q) || !system_fits(q) || gone_from_memory(q))
		add_image(b);
	add_layout(b);
	add(b, PHX_STEP_enter, q->to);
	add_serve(b);
}

static bool needs_node(const struct phx_plan *p)
{
	PHX_LIST_EACH(struct phx_step, s, &p->steps)
		if (phx_step_info((enum phx_step_kind)s->kind)->executor != PHX_EXEC_KEY)
			return true;
	return false;
}

/* Does the installed system run under another kernel than its image's? It may have been started
 * while it served nobody. */
static bool runs_other_kernel(const struct phx_plan_request *q)
{
	return q->to && q->to->image_kernel[0] && q->node->kernels &&
		strcmp(q->node->facts.kernel, q->to->image_kernel) != 0;
}

/* May the hand-over be done in place? Only without erase and reset, and if the installed system
 * fits or no role is involved. */
static bool may_stay(const struct phx_plan_request *q)
{
	if (phx_plan_renews(q) || q->power_cycle || q->rebuild || q->deploy_env_only)
		return false;
	if (runs_other_kernel(q) || !phx_plan_layout_fits(q))
		return false;
	if (!q->to && !q->from)
		return true;
	/* a system in memory is lost when the node comes back */
	if (!q->node->up && !q->node->system_disk[0] && !runs_already(q))
		return false;
	return q->node->env == PHX_ENV_OS && system_fits(q) && !cannot_rekey(q);
}

static void add_why_wiped(struct phx_plan *plan, const char *why)
{
	size_t said = strlen(plan->reason);
	if (why && said)
		snprintf(plan->reason + said, sizeof(plan->reason) - said,
			 "; wiped, as its scratch cannot be destroyed in place: %s", why);
}

/* The steps that end the work of the node and start it anew. */
static void add_restart(struct builder *b)
{
	const struct phx_node *n = b->q->node;
	bool runs = n->up && n->env == PHX_ENV_OS;
	/* started by a kernel that is not its system's: the next one needs no firmware either */
	bool waits = n->up && n->env == PHX_ENV_DEPLOY && !b->q->power_cycle &&
		phx_kernel_wanted(b->q, false);
	bool cut = b->q->power_cycle || !(runs || waits);
	const char *why = waits     ? "the node waits under another kernel than its system's"
		: !cut              ? "the node is up: no firmware start needed"
		: b->q->power_cycle ? "a start from reset was asked for"
		: n->up             ? "the node is not in its system"
				    : "the node is off or silent";
	if (runs && b->q->from && n->state == PHX_NODE_ACTIVE)
		add_leave(b, false);
	if (cut && !phx_node_has_bmc(n))
		b->code = phx_err_set(b->err, -EHOSTUNREACH,
				      "%s must be power cycled (%s), and it has no BMC", n->name,
				      why);
	b->plan->tier = cut ? PHX_TIER_POWER : waits ? PHX_TIER_DEPLOY : PHX_TIER_KEXEC;
	snprintf(b->plan->reason, sizeof(b->plan->reason), "%s", why);
	add(b, cut ? PHX_STEP_boot : waits ? PHX_STEP_kernel : PHX_STEP_kexec, NULL);
}

int phx_plan_reboot(const struct phx_plan_request *q, struct phx_plan *ret, struct phx_err *err)
{
	struct phx_plan plan = {0};
	struct builder b = {q, &plan, err, 0};
	bool in_memory = !q->node->system_disk[0];
	PHX_STR_SET(plan.to_pool, q->to_pool);
	PHX_STR_SET(plan.from_pool, q->node->pool);
	PHX_STR_SET(plan.to_role, q->to->name);
	add_restart(&b);
	if (in_memory)
		add(&b, PHX_STEP_ram, q->to);
	add(&b, PHX_STEP_enter, q->to);
	if (in_memory)
		add_serve(&b);
	else
		add_start(&b);
	if (b.code < 0) {
		phx_record_fini(&phx_plan_record, &plan);
		return b.code;
	}
	*ret = plan;
	return 0;
}

int phx_plan_handover(const struct phx_plan_request *asked, struct phx_plan *ret,
		      struct phx_err *err)
{
	const char *why_wiped;
	const struct phx_plan_request settled = phx_plan_settle(asked, &why_wiped), *q = &settled;
	struct phx_plan plan = {0};
	struct builder b = {q, &plan, err, 0};
	if (phx_facts_check(&q->node->facts, NULL) < 0 && (phx_plan_erases(q) || q->to))
		b.code = phx_facts_check(&q->node->facts, err);
	PHX_STR_SET(plan.to_pool, q->to_pool);
	PHX_STR_SET(plan.from_pool, q->node->pool);
	if (q->to)
		PHX_STR_SET(plan.to_role, q->to->name);
	if (!b.code && may_stay(q)) {
		if (!runs_already(q) || phx_plan_scratches(q))
			plan_in_place(&b);
	} else if (!b.code && key_alone(q)) {
		plan_key_alone(&b);
	} else if (!b.code) {
		plan_deploy(&b);
	}
	if (!b.code && needs_node(&plan) && !q->node->up && !phx_node_has_bmc(q->node))
		b.code = phx_err_set(err, -EHOSTUNREACH,
				     "%s is not up, and it has no BMC to start it with",
				     q->node->name);
	if (b.code < 0) {
		phx_record_fini(&phx_plan_record, &plan);
		return b.code;
	}
	add_why_wiped(&plan, why_wiped);
	*ret = plan;
	return 0;
}
