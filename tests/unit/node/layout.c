/* Layouts of disks: which disks a volume gets and when that is refused; which hand-overs make one,
 * keep one, or are refused because only an erase would make room for it. */
#include "node/layout.h"
#include "node/plan.h"
#include "node/protect.h"
#include "unit/core/world.h"

#include "base/json.h"

#define GIB (1ull << 30)
#define VOLUME(name, more) \
	"{\"name\": \"" name "\", \"type\": \"ext4\", \"mount\": \"/" name "\"" more "}"
#define ID(id) ", \"disks\": [{\"text\": \"id=" id "\"}]"

static void parse(const char *volumes, struct phx_layout *ret)
{
	char json[2000];
	struct phx_err err = {0};
	snprintf(json, sizeof(json), "{\"volumes\": [%s]}", volumes);
	if (phx_json_text_to_record(&phx_layout_record, json, ret, &err) < 0)
		fail_msg("%s: %s", json, err.text);
	if (phx_layout_check(&ret->volumes, NULL, &err) < 0)
		fail_msg("%s: %s", json, err.text);
}

/* ---- which disks ---- */

static struct phx_disk_facts *add_disk(struct phx_node *n, const char *id, uint64_t bytes)
{
	struct phx_disk_facts *d = phx_list_push(&n->facts.disks, sizeof(*d));
	PHX_STR_SET(d->id, id);
	d->size_bytes = bytes;
	return d;
}

/* sys has the system; a, b and c are of one kind, c is larger; d is protected, u removable, r read
 * only. */
static void fill(struct phx_node *n)
{
	n->env = PHX_ENV_DEPLOY;
	n->fresh = true;
	add_disk(n, "c", 20 * GIB);
	add_disk(n, "b", 10 * GIB);
	add_disk(n, "sys", 4 * GIB);
	add_disk(n, "a", 10 * GIB)->rotational = true;
	add_disk(n, "d", 10 * GIB);
	add_disk(n, "u", 10 * GIB)->removable = true;
	add_disk(n, "r", 10 * GIB)->read_only = true;
}

static int decide(const char *volumes, struct phx_layout *ret, struct phx_err *err)
{
	static const struct phx_protect protect = {.selectors = "id=d"};
	struct phx_node n = {0};
	struct phx_layout of;
	parse(volumes, &of);
	fill(&n);
	const struct phx_layout_ask q = {&n, &protect, "sys", &of.volumes};
	int r = phx_layout_decide(&q, ret, err);
	phx_record_fini(&phx_layout_record, &of);
	phx_record_fini(&phx_node_record, &n);
	return r;
}

static void text_of(const struct phx_layout *l, char *ret, size_t size)
{
	size_t n = 0;
	ret[0] = '\0';
	PHX_LIST_EACH(struct phx_layout_part, p, &l->parts)
		n += (size_t)snprintf(ret + n, size - n, "%s%s on %s: %llu", n ? "; " : "",
				      p->volume, p->disk,
				      (unsigned long long)(p->size_bytes >> 20));
}

static void what_is_meant_is_found(void **state)
{
	static const struct {
		const char *volumes, *parts; /* sizes in MiB */
	} cases[] = {
		{VOLUME("x", ID("a")), "x on a: 10238"},
		{VOLUME("x", ", \"kind\": \"hdd\""), "x on a: 10238"},
		{VOLUME("x", ", \"pick\": \"smallest\""), "x on a: 10238"},
		{VOLUME("x", ", \"pick\": \"smallest\", \"kind\": \"ssd\""), "x on b: 10238"},
		{VOLUME("x", ", \"pick\": \"largest\""), "x on c: 20478"},
		{VOLUME("x", ", \"disks\": [{\"text\": \"size=15GiB..\"}]"), "x on c: 20478"},
		{VOLUME("x", ", \"pick\": \"all\", \"join\": \"raid1\", \"size\": \"1 GiB\""),
		 "x on a: 1024; x on b: 1024; x on c: 1024"},
		{VOLUME("x",
			", \"pick\": \"all\", \"count\": 2, \"join\": \"raid0\", \"disks\": "
			"[{\"text\": \"id=a\"}, {\"text\": \"id=b\"}]"),
		 "x on a: 10238; x on b: 10238"},
		/* several on one disk, in their order */
		{VOLUME("x", ID("a") ", \"size\": \"238 MiB\"") "," VOLUME(
			 "y", ID("a") ", \"size\": \"50%\"") "," VOLUME("z", ID("a")),
		 "x on a: 238; y on a: 5000; z on a: 5000"},
		{"", ""},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_layout l;
		struct phx_err err = {0};
		char text[300];
		if (decide(cases[i].volumes, &l, &err) < 0)
			fail_msg("%s: %s", cases[i].volumes, err.text);
		text_of(&l, text, sizeof(text));
		if (strcmp(text, cases[i].parts) != 0)
			fail_msg("%s: %s", cases[i].volumes, text);
		phx_record_fini(&phx_layout_record, &l);
	}
}

static void what_is_not_clear_is_refused(void **state)
{
	static const struct {
		const char *volumes;
		int r;
		const char *says;
	} cases[] = {
		{VOLUME("x", ""), -ENOTUNIQ,
		 "layout: volume 'x': 3 disks fit (a, b, c), and one is meant: name it by its id"},
		{VOLUME("x", ", \"pick\": \"all\", \"count\": 2, \"join\": \"raid1\""), -ENOTUNIQ,
		 "3 disks fit (a, b, c), and 2 are meant"},
		{VOLUME("x", ", \"pick\": \"all\", \"join\": \"raid10\""), -ENODEV,
		 "3 disks fit (a, b, c), and raid10 needs 4"},
		{VOLUME("x", ", \"pick\": \"all\", \"count\": 4, \"join\": \"raid10\""), -ENODEV,
		 "and 4 are meant"},
		{VOLUME("x", ID("nothing")), -ENODEV, "no disk fits"},
		{VOLUME("x", ID("d")), -ENODEV,
		 "no disk fits: d would, and is protected: setting protected_disks: id=d"},
		{VOLUME("x", ID("sys")), -ENODEV, "no disk fits: sys would, and takes the system"},
		{VOLUME("x", ID("u")), -ENODEV, "no disk fits"},
		{VOLUME("x", ID("r")), -ENODEV, "no disk fits"},
		{VOLUME("x", ID("a") ", \"size\": \"11 GiB\""), -ENOSPC,
		 "disk a has 10.0 GiB left, and 11.0 GiB are needed"},
		{VOLUME("x", ID("a")) "," VOLUME("y", ID("a")), -ENOSPC,
		 "volume 'y': disk a has 0 B left"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_layout l = {0};
		struct phx_err err = {0};
		int r = decide(cases[i].volumes, &l, &err);
		if (r != cases[i].r || !strstr(err.text, cases[i].says))
			fail_msg("%s: %d: %s", cases[i].volumes, r, err.text);
		assert_int_equal(l.volumes.n, 0);
	}
}

/* ---- hand-overs ---- */

static uint64_t data_bytes;

static void more(struct phx_facts *f, int env)
{
	(void)env;
	struct phx_disk_facts *d = data_bytes ? phx_list_push(&f->disks, sizeof(*d)) : NULL;
	if (!d)
		return;
	PHX_STR_SET(d->id, "z-data");
	d->size_bytes = data_bytes;
	d->can_discard = true;
}

static int setup(void **state)
{
	int r = world_setup(state);
	((struct world *)*state)->more_facts = more;
	data_bytes = 4 * GIB;
	return r;
}

static void give_layout(struct world *w, const char *role, const char *volumes)
{
	struct phx_layout l;
	struct phx_event ev = {.kind = PHX_EV_role_put};
	assert_int_equal(
		phx_record_copy(&phx_role_record, &ev.role.role_put, phx_state_role(&w->s, role)),
		0);
	parse(volumes, &l);
	phx_record_fini(&phx_layout_record,
			&(struct phx_layout){.volumes = ev.role.role_put.layout});
	ev.role.role_put.layout = l.volumes;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static uint32_t did(const struct world *w, const char *what)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_word, word, &w->done)
		n += !strcmp(word->text, what);
	return n;
}

#define DATA VOLUME("x", ID("z-data"))

static void a_layout_is_made_and_known(void **state)
{
	struct world *w = *state;
	char plan[400];
	give_layout(w, "guest", DATA);
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), 0);
	assert_non_null(strstr(world_plan(w, "n1", plan, sizeof(plan)), "image layout enter"));
	world_run(w, "n1");
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_int_equal(did(w, "n1 layout"), 1);
	assert_int_equal(n->layout.volumes.n, 1);
	assert_int_equal(n->layout.parts.n, 1);
	assert_string_equal(PHX_LIST_AT(&n->layout.parts, struct phx_layout_part, 0)->disk,
			    "z-data");
}

/* The system is written anew, and the data stays; without that, nothing happens at all. */
static void the_same_layout_is_kept(void **state)
{
	struct world *w = *state;
	give_layout(w, "guest", DATA);
	world_serving(w, "n1", "guest", true);
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(world_assign_setup(w, "n1", "guest", PHX_SETUP_REIMAGE, 0), 0);
	assert_true(n->plan.keeps_layout);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_int_equal(n->layout.volumes.n, 1);
	phx_list_fini(&w->done);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), 0);
	assert_null(phx_node_step(n));
}

static void another_layout_wants_an_erase(void **state)
{
	struct world *w = *state;
	give_layout(w, "guest", DATA);
	world_serving(w, "n1", "guest", true);
	const struct phx_node *n = world_node(w, "n1");
	give_layout(w, "guest", VOLUME("x", ID("z-data") ", \"size\": \"1 GiB\""));
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), -EPERM);
	assert_non_null(strstr(w->err.text, "another layout than that of role guest"));
	/* nor does a role without one take it over */
	give_layout(w, "guest", "");
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), -EPERM);
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_int_equal(n->layout.volumes.n, 1);
	give_layout(w, "guest", VOLUME("x", ID("z-data") ", \"size\": \"1 GiB\""));
	assert_int_equal(world_assign_setup(w, "n1", "guest", PHX_SETUP_WIPE, PHX_WIPE_AUTO), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_int_equal(did(w, "n1 wipe"), 2);
	assert_int_equal(PHX_LIST_AT(&n->layout.parts, struct phx_layout_part, 0)->size_bytes,
			 1 * GIB);
}

static void an_erase_ends_it(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_release,
			       .node = "n1",
			       .order = {.has_setup = true, .setup = {.mode = PHX_SETUP_WIPE}}};
	give_layout(w, "guest", DATA);
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_int_equal(world_node(w, "n1")->layout.volumes.n, 0);
}

/* Between the plan and its turn the disk becomes protected, or is taken out. */
static void what_changes_meanwhile_is_seen(void **state)
{
	struct world *w = *state;
	give_layout(w, "guest", DATA);
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), 0);
	PHX_STR_SET(w->s.settings.protect.selectors, "id=z-data");
	world_run(w, "n1");
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "z-data would, and is protected"));
	assert_int_equal(did(w, "n1 layout"), 0);
}

/* What is kept is not even opened where it is protected by now. */
static void a_kept_disk_may_not_be_protected(void **state)
{
	struct world *w = *state;
	give_layout(w, "guest", DATA);
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_assign_setup(w, "n1", "guest", PHX_SETUP_REIMAGE, 0), 0);
	PHX_STR_SET(w->s.settings.protect.selectors, "id=z-data");
	world_run(w, "n1");
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "layout: disk z-data is protected"));
}

static void an_older_agent_is_told(void **state)
{
	struct world *w = *state;
	give_layout(w, "guest", DATA);
	world_ready(w, "n1", true);
	world_node(w, "n1")->layouts = false;
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(world_node(w, "n1")->reason, "knows of no layouts"));
}

static void a_disk_that_does_not_fit_is_refused_at_once(void **state)
{
	struct world *w = *state;
	give_layout(w, "guest", VOLUME("x", ID("other")));
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), -ENODEV);
	assert_non_null(strstr(w->err.text, "layout: volume 'x': no disk fits"));
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, world_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_meant_is_found),
		cmocka_unit_test(what_is_not_clear_is_refused),
		T(a_layout_is_made_and_known),
		T(the_same_layout_is_kept),
		T(another_layout_wants_an_erase),
		T(an_erase_ends_it),
		T(what_changes_meanwhile_is_seen),
		T(a_kept_disk_may_not_be_protected),
		T(an_older_agent_is_told),
		T(a_disk_that_does_not_fit_is_refused_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
