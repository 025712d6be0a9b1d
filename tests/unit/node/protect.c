/* Protected disks of a node: what is proven to be on a storage network is left, and said; what its
 * owner says of a disk neither saves it nor endangers another. */
#include "node/protect.h"
#include "node/wipes.h"
#include "unit/core/world.h"

#define LUN "wwn-0x600a098038303053453f463045727654"

/* The second disk of n1, as the system of its owner and as the deploy environment report it. */
static struct {
	bool in_os, in_deploy;
	const char *os_transport, *deploy_transport; /* "": one of the machine */
	const char *os_model, *deploy_model;
	const char *path;
	uint64_t size_bytes;
} second;

static void more(struct phx_facts *f, int env)
{
	bool os = env == PHX_ENV_OS;
	if (os ? !second.in_os : !second.in_deploy)
		return;
	struct phx_disk_facts *d = phx_list_push(&f->disks, sizeof(*d));
	PHX_STR_SET(d->id, LUN);
	PHX_STR_SET(d->transport, os ? second.os_transport : second.deploy_transport);
	PHX_STR_SET(d->model, os ? second.os_model : second.deploy_model);
	PHX_STR_SET(d->path, second.path);
	d->remote = d->transport[0];
	d->size_bytes = second.size_bytes;
}

static int setup(void **state)
{
	int r = world_setup(state);
	((struct world *)*state)->more_facts = more;
	memset(&second, 0, sizeof(second));
	second.in_os = second.in_deploy = true;
	second.os_transport = second.deploy_transport = "fc";
	second.os_model = second.deploy_model = "LUN";
	second.path = "";
	second.size_bytes = 4ULL << 30;
	return r;
}

/* ret_changed: is it journalled? May be NULL. */
static int report_news(struct world *w, bool *ret_changed)
{
	struct phx_event ev = {.kind = PHX_EV_inventory, .node = "n1"};
	struct phx_outcome out = {0};
	world_facts(&ev.inventory.facts, 1);
	more(&ev.inventory.facts, world_node(w, "n1")->env);
	int r = world_apply(w, &ev, &out);
	if (ret_changed)
		*ret_changed = out.changed;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return r;
}

static int report(struct world *w)
{
	return report_news(w, NULL);
}

static uint32_t erased(const struct world *w)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_word, word, &w->done)
		n += !strcmp(word->text, "n1 wipe");
	return n;
}

static struct phx_node *taken_back(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_release,
			       .node = "n1",
			       .order = {.has_setup = true, .setup = {.mode = PHX_SETUP_WIPE}}};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run(w, "n1");
	return world_node(w, "n1");
}

static const char *left(const struct phx_node *n)
{
	const struct phx_known_disk *k = phx_known_disk(n, LUN);
	return k ? phx_text(k->left) : "unknown";
}

static void assert_left(const struct phx_node *n)
{
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_false(n->dirty);
	assert_string_equal(left(n), "remote (fc), setting protect_remote_disks");
	assert_int_equal(n->plan.left.n, 1);
	assert_string_equal(PHX_LIST_AT(&n->plan.left, struct phx_left_disk, 0)->id, LUN);
}

static void a_lun_is_left_and_said(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	const struct phx_node *n = taken_back(w);
	assert_left(n);
	assert_int_equal(erased(w), 1);
}

/* Without the setting it is a disk as all are; so it is in a journal of before. */
static void it_is_erased_where_nothing_protects_it(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	w->s.settings.protect.remote = false;
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
	assert_string_equal(left(world_node(w, "n1")), "");
}

static void a_journal_of_before_erases_all(void **state)
{
	struct world *w = *state;
	w->s.settings.protects = false;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
}

/* It is root there: its agent, or what poses as it, says that the disk is on Fibre Channel. */
static void what_an_owner_claims_saves_no_disk(void **state)
{
	struct world *w = *state;
	second.os_transport = second.deploy_transport = "";
	world_serving(w, "n1", "guest", true);
	second.os_transport = "fc";
	assert_int_equal(report(w), 0);
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
}

/* A selector of its model: the same. */
static void another_model_saves_no_disk(void **state)
{
	struct world *w = *state;
	second.os_transport = second.deploy_transport = "";
	PHX_STR_SET(w->s.settings.protect.selectors, "model=ARCHIVE*");
	world_serving(w, "n1", "guest", true);
	second.os_model = "ARCHIVE 9000";
	assert_int_equal(report(w), 0);
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
}

/* It made even the drive say so: then nobody knows which it is. */
static void a_disk_that_became_another_quarantines(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_disk_forget, .node = "n1", .text = LUN};
	second.os_transport = second.deploy_transport = "";
	PHX_STR_SET(w->s.settings.protect.selectors, "model=ARCHIVE*");
	world_serving(w, "n1", "guest", true);
	second.os_model = second.deploy_model = "ARCHIVE 9000";
	const struct phx_node *n = taken_back(w);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "it is another than it was"));
	assert_int_equal(erased(w), 0);
	assert_true(n->dirty);
	/* a person knows why; it is seen anew */
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 1);
	assert_string_equal(left(n), "setting protected_disks: model=ARCHIVE*");
}

/* A disk that nobody has seen but the owner's system: his LUN, or a word of his. */
static void a_lun_that_only_its_owner_saw_is_not_looked_for(void **state)
{
	struct world *w = *state;
	second.in_os = second.in_deploy = false;
	world_serving(w, "n1", "guest", true);
	second.in_os = true;
	assert_int_equal(report(w), 0);
	assert_null(phx_known_disk(world_node(w, "n1"), LUN));
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 1);
}

/* The same of a disk that says nothing of the kind: as ever. */
static void any_other_disk_is_looked_for(void **state)
{
	struct world *w = *state;
	second.in_os = second.in_deploy = false;
	world_serving(w, "n1", "guest", true);
	second.in_os = true;
	second.os_transport = "";
	assert_int_equal(report(w), 0);
	assert_int_equal(taken_back(w)->state, PHX_NODE_QUARANTINED);
}

static const char *known_path(struct world *w)
{
	const struct phx_known_disk *k = phx_known_disk(world_node(w, "n1"), LUN);
	return k ? phx_text(k->path) : "unknown";
}

/* Its place is as proven as the rest; while its node has no owner it may get another one. */
static void a_lun_may_move_while_nobody_has_its_node(void **state)
{
	struct world *w = *state;
	second.path = "pci-0000:04:00.0-fc-0x5-lun-1";
	world_serving(w, "n1", "guest", true);
	assert_string_equal(known_path(w), second.path);
	second.path = "pci-0000:05:00.0-fc-0x5-lun-1";
	assert_int_equal(report(w), 0);
	assert_string_equal(known_path(w), "pci-0000:04:00.0-fc-0x5-lun-1");
	assert_left(taken_back(w));
	/* its facts are as they were reported last; that they are believed is news, once */
	bool changed;
	assert_int_equal(report_news(w, &changed), 0);
	assert_string_equal(known_path(w), second.path);
	assert_true(changed);
	assert_int_equal(report_news(w, &changed), 0);
	assert_false(changed);
	second.path = "";
	assert_int_equal(report(w), 0);
	assert_string_equal(known_path(w), "");
}

/* Its storage shows it no more, or shows more of it. */
static void a_lun_may_go_and_change(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	second.size_bytes = 1ULL << 30;
	assert_left(taken_back(w));
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), 0);
	world_run(w, "n1");
	second.in_os = second.in_deploy = false;
	assert_left(taken_back(w));
}

/* First seen by the deploy environment after the reset: its planned erase is dropped. */
static void a_lun_of_which_nothing_was_known_is_left(void **state)
{
	struct world *w = *state;
	second.in_os = second.in_deploy = false;
	world_serving(w, "n1", "guest", true);
	second.in_os = second.in_deploy = true;
	assert_int_equal(report(w), 0);
	const struct phx_node *n = taken_back(w);
	assert_left(n);
	assert_int_equal(erased(w), 1);
}

/* The same owner keeps it: a kexec would do, and proves nothing; so it is reset. */
static void what_is_in_doubt_is_looked_at_after_a_reset(void **state)
{
	struct world *w = *state;
	second.in_os = second.in_deploy = false;
	world_serving(w, "n1", "guest", true);
	second.in_os = second.in_deploy = true;
	assert_int_equal(report(w), 0);
	assert_int_equal(world_assign_setup(w, "n1", "guest", PHX_SETUP_WIPE, PHX_WIPE_AUTO), 0);
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->plan.tier, PHX_TIER_POWER);
	assert_non_null(strstr(n->plan.reason, "only after that is it certain"));
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_int_equal(erased(w), 1);
}

/* No BMC: what comes by a kexec may be its owner's. */
static void after_a_kexec_a_claim_proves_nothing(void **state)
{
	struct world *w = *state;
	second.os_transport = second.deploy_transport = "";
	second.in_os = second.in_deploy = false;
	world_serving(w, "n1", "guest", false);
	second.in_os = second.in_deploy = true;
	second.os_transport = second.deploy_transport = "fc";
	assert_int_equal(report(w), 0);
	const struct phx_node *n = taken_back(w);
	assert_true(n->by_kexec);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "start the machine from reset"));
	assert_int_equal(erased(w), 0);
}

/* An agent of before says nothing of transports, and proves nothing: as before. */
static void an_older_agent_proves_nothing(void **state)
{
	struct world *w = *state;
	second.os_transport = second.deploy_transport = "";
	world_serving(w, "n1", "guest", true);
	struct phx_known_disk *k = phx_known_disk(world_node(w, "n1"), LUN);
	k->proven = false;
	world_node(w, "n1")->protects = false;
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
}

/* The settings are read anew while a node is under way to its image. */
static void a_disk_that_becomes_protected_is_not_written(void **state)
{
	struct world *w = *state;
	second.in_os = second.in_deploy = false;
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	struct phx_node *n = world_node(w, "n1");
	const struct phx_step *step = phx_node_step(n);
	assert_int_equal(step->kind, PHX_STEP_image);
	assert_int_equal(world_result(w, "n1", -EIO, "it failed"), 0);
	PHX_STR_SET(w->s.settings.protect.selectors, "id=serial-disk1");
	for (int i = 0; i < 3 && n->state != PHX_NODE_QUARANTINED; i++)
		world_step(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "disk serial-disk1 is protected"));
}

/* All erases are dropped: the node does not pass as one that was erased. */
static void a_node_of_which_nothing_is_erased_does_not_pass(void **state)
{
	struct world *w = *state;
	second.in_os = second.in_deploy = false;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	PHX_STR_SET(w->s.settings.protect.selectors, "id=serial-*");
	world_run(w, "n1");
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "all of its disks are protected"));
	assert_true(n->dirty);
}

/* ---- what the settings of the site protect ---- */

static void apply_site(struct world *w, char digit, const char *nodes, const char *selectors)
{
	struct phx_event ev = {.kind = PHX_EV_site_apply};
	memset(ev.site_apply.digest, digit, sizeof(ev.site_apply.digest) - 1);
	struct phx_protect_group *g = phx_list_push(&ev.site_apply.protects, sizeof(*g));
	g->nodes = strdup(nodes);
	g->selectors = strdup(selectors);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static void forget_site(struct world *w, char digit)
{
	struct phx_event ev = {.kind = PHX_EV_site_apply};
	memset(ev.site_apply.digest, digit, sizeof(ev.site_apply.digest) - 1);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void a_local_disk(void)
{
	second.os_transport = second.deploy_transport = "";
}

/* A profile alone protects it, on this node and on none that it does not name. */
static void the_site_protects_disks_of_its_nodes(void **state)
{
	struct world *w = *state;
	a_local_disk();
	PHX_STR_SET(w->s.settings.protect.selectors, "id=none");
	apply_site(w, 'a', "m[1-3],n[1,5]", "serial=no\nid=" LUN);
	world_serving(w, "n1", "guest", true);
	world_serving(w, "n2", "guest", true);
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 1);
	assert_string_equal(left(world_node(w, "n1")), "setting protected_disks: id=" LUN);
	struct phx_protect p;
	assert_string_equal(phx_protect_of(&w->s, world_node(w, "n2"), &p)->selectors, "id=none");
}

static void the_site_protects_no_disk_any_more(void **state)
{
	struct world *w = *state;
	a_local_disk();
	apply_site(w, 'a', "n1", "id=" LUN);
	world_serving(w, "n1", "guest", true);
	forget_site(w, 'b');
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
}

/* A profile gets a selector after the order, and before the disk's turn. */
static void what_the_site_protects_by_now_is_left(void **state)
{
	struct world *w = *state;
	a_local_disk();
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	apply_site(w, 'a', "n1", "id=" LUN);
	world_run(w, "n1");
	assert_int_equal(erased(w), 1);
	assert_string_equal(left(world_node(w, "n1")), "setting protected_disks: id=" LUN);
}

/* It loses one: who ordered it was told that the disk is left. */
static void what_the_plan_leaves_is_left(void **state)
{
	struct world *w = *state;
	a_local_disk();
	apply_site(w, 'a', "n1", "id=" LUN);
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	forget_site(w, 'b');
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 1);
	assert_string_equal(left(world_node(w, "n1")), "setting protected_disks: id=" LUN);
	/* and erased by the next order */
	assert_int_equal(world_assign_setup(w, "n1", "guest", PHX_SETUP_WIPE, PHX_WIPE_AUTO), 0);
	world_run(w, "n1");
	assert_int_equal(erased(w), 3);
}

/* What is no selector protects nothing: the event is refused, and what was protected stays. */
static void a_wrong_selector_changes_nothing(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_site_apply};
	struct phx_protect p;
	world_serving(w, "n1", "guest", true);
	apply_site(w, 'a', "n1", "id=x");
	memset(ev.site_apply.digest, 'b', sizeof(ev.site_apply.digest) - 1);
	struct phx_protect_group *g = phx_list_push(&ev.site_apply.protects, sizeof(*g));
	g->nodes = strdup("n1");
	g->selectors = strdup("disk=x");
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
	phx_event_fini(&ev);
	assert_string_equal(phx_protect_of(&w->s, world_node(w, "n1"), &p)->selectors, "id=x");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(a_lun_is_left_and_said),
		T(it_is_erased_where_nothing_protects_it),
		T(a_journal_of_before_erases_all),
		T(what_an_owner_claims_saves_no_disk),
		T(another_model_saves_no_disk),
		T(a_disk_that_became_another_quarantines),
		T(a_lun_that_only_its_owner_saw_is_not_looked_for),
		T(any_other_disk_is_looked_for),
		T(a_lun_may_move_while_nobody_has_its_node),
		T(a_lun_may_go_and_change),
		T(a_lun_of_which_nothing_was_known_is_left),
		T(what_is_in_doubt_is_looked_at_after_a_reset),
		T(after_a_kexec_a_claim_proves_nothing),
		T(an_older_agent_proves_nothing),
		T(a_disk_that_becomes_protected_is_not_written),
		T(a_node_of_which_nothing_is_erased_does_not_pass),
		T(the_site_protects_disks_of_its_nodes),
		T(the_site_protects_no_disk_any_more),
		T(what_the_site_protects_by_now_is_left),
		T(what_the_plan_leaves_is_left),
		T(a_wrong_selector_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
