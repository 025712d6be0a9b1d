/* Every kind of event of event.def happens to a world: to a node, to machines that come, to jobs,
 * REs, workflows and triggers, and to the site. For tests of what an event looks at. */
#ifndef TESTS_CORE_KINDS_H
#define TESTS_CORE_KINDS_H

#include "unit/core/pair.h"

static void must(struct world *w, struct phx_event *ev)
{
	if (world_apply(w, ev, NULL) < 0)
		fail_msg("%s: %s", phx_enum_name(&phx_event_kind_names, ev->kind), w->err.text);
	phx_event_fini(ev);
}

static void node_event(struct world *w, int kind, const char *node, const char *text)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.text, text);
	must(w, &ev);
}

static void node_order(struct world *w, int kind, const char *node, const char *role)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.order.role, role);
	must(w, &ev);
}

/* ---- a site ---- */

static void what_concerns_the_site(struct world *w)
{
	struct phx_event rules = {.kind = PHX_EV_rules_put}, keys = {.kind = PHX_EV_package_keys},
			 image = {.kind = PHX_EV_deploy_image}, note = {.kind = PHX_EV_notice},
			 site = {.kind = PHX_EV_settings, .site.settings = w->s.settings},
			 role = {.kind = PHX_EV_role_remove}, pool = {.kind = PHX_EV_pool_remove},
			 right = {.kind = PHX_EV_access, .access.role = PHX_WHO_OPERATOR},
			 cert = {.kind = PHX_EV_cert_revoke}, who = {.kind = PHX_EV_identity},
			 users = {.kind = PHX_EV_site_apply,
				  .site_apply = {.users = 2, .portion = 1}},
			 told = {.kind = PHX_EV_site_portion, .site_portion.from = 1},
			 anew = {.kind = PHX_EV_restart};
	world_add_pool(w, "attic", "hpc", (struct phx_setup){0});
	world_add_role(w, "old", "attic", false, PHX_ROLE_BOOT_DISK);
	PHX_STR_SET(role.named.name, "old");
	PHX_STR_SET(pool.named.name, "attic");
	PHX_STR_SET(image.deploy_image.name, "deploy");
	PHX_STR_SET(image.deploy_image.version, "2");
	PHX_STR_SET(note.text, "the clock was set");
	memset(users.site_apply.digest, 'a', sizeof(users.site_apply.digest) - 1);
	struct phx_protect_group *g = phx_list_push(&users.site_apply.protects, sizeof(*g));
	g->nodes = strdup("n[1-2]");
	g->selectors = strdup("id=archive-*");
	PHX_STR_SET(told.site_portion.digest, users.site_apply.digest);
	PHX_STR_SET(right.access.identity, "unix:carol");
	PHX_STR_SET(cert.cert_revoke.serial, "0a0b");
	PHX_STR_SET(who.identity.word, "hpc");
	PHX_STR_SET(who.identity.identity, "unix:hpc");
	struct phx_event *events[] = {&rules, &keys, &image, &note,  &site, &role, &pool,
				      &right, &cert, &who,   &users, &told, &anew};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(events); i++)
		must(w, events[i]);
}

/* ---- a node ---- */

static void what_is_told_of_it(struct world *w, const char *node)
{
	struct phx_event label = {.kind = PHX_EV_node_label}, bmc = {.kind = PHX_EV_node_bmc},
			 facts = {.kind = PHX_EV_inventory},
			 report = {.kind = PHX_EV_report, .report.healthy = true};
	struct phx_label *l = phx_list_push(&label.node_label.labels, sizeof(*l));
	PHX_STR_SET(l->key, "rack");
	PHX_STR_SET(l->value, "7");
	PHX_STR_SET(bmc.node_bmc.bmc.driver, "ipmi");
	PHX_STR_SET(bmc.node_bmc.bmc.address, "10.1.0.50");
	world_facts(&facts.inventory.facts, world_index(node));
	struct phx_event *events[] = {&label, &bmc, &facts, &report};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(events); i++) {
		PHX_STR_SET(events[i]->node, node);
		must(w, events[i]);
	}
	node_event(w, PHX_EV_node_note, node, "moved to rack 7");
	node_event(w, PHX_EV_inspect, node, "");
	node_event(w, PHX_EV_quiet, node, "");
	node_event(w, PHX_EV_missing, node, "");
	node_event(w, PHX_EV_back, node, "");
	node_event(w, PHX_EV_tick, "", "");
}

/* It goes from owner to owner in each way that there is. */
static void its_hand_overs(struct world *w, const char *node)
{
	struct phx_event key = {.kind = PHX_EV_assign, .order.encrypt = true};
	node_order(w, PHX_EV_assign, node, "compute");
	world_run(w, node);
	node_order(w, PHX_EV_assign, node, "lab");
	node_event(w, PHX_EV_cancel, node, "");
	world_run(w, node);
	node_order(w, PHX_EV_assign, node, "lab"); /* another key, without an erase */
	world_run(w, node);
	node_order(w, PHX_EV_assign, node, "guest");
	world_run(w, node);
	node_order(w, PHX_EV_rebuild, node, "");
	world_run(w, node);
	PHX_STR_SET(key.node, node);
	PHX_STR_SET(key.order.role, "vault");
	must(w, &key);
	world_run(w, node);
	node_order(w, PHX_EV_release, node, "");
	world_run(w, node);
	assert_int_equal(world_node(w, node)->state, PHX_NODE_READY);
	node_order(w, PHX_EV_check, node, "");
	world_run(w, node);
	assert_int_equal(world_node(w, node)->state, PHX_NODE_READY);
}

static void what_a_person_does_with_it(struct world *w, const char *node)
{
	node_order(w, PHX_EV_assign, node, "compute");
	world_run(w, node);
	node_order(w, PHX_EV_drain, node, "");
	world_run(w, node);
	struct phx_event edit = {.kind = PHX_EV_node_edit, .node_edit.has_serial = true};
	PHX_STR_SET(edit.node, node);
	PHX_STR_SET(edit.node_edit.serial, "serial-50");
	must(w, &edit);
	node_order(w, PHX_EV_resume, node, "");
	world_run(w, node);
	node_order(w, PHX_EV_reboot, node, "");
	world_run(w, node);
	node_event(w, PHX_EV_power, node, "status");
	node_event(w, PHX_EV_quarantine, node, "it smells");
	node_order(w, PHX_EV_resume, node, "");
	world_run(w, node);
}

/* Its TPM signed an erase, and a disk of it was not found any more: both are forgotten. */
static void what_it_lost(struct world *w, const char *node)
{
	node_order(w, PHX_EV_wipe, node, "");
	world_run_to(w, node, PHX_STEP_wipe);
	struct phx_event ev = world_erased(world_node(w, node));
	PHX_STR_SET(ev.answer.tpm_said, "a quote");
	PHX_STR_SET(ev.answer.tpm, "its key");
	PHX_STR_SET(ev.answer.tpm_sum, "registers");
	ev.answer.tpm_resets = 1;
	must(w, &ev);
	world_run(w, node);
	struct phx_node *n = world_node(w, node);
	node_event(w, PHX_EV_tpm_forget, node, "its key");
	struct phx_disk_facts *d = PHX_LIST_AT(&n->facts.disks, struct phx_disk_facts, 0);
	PHX_STR_SET(d->id, "another");
	node_event(w, PHX_EV_disk_forget, node, "serial-disk50");
}

static void a_node(struct world *w)
{
	what_is_told_of_it(w, "n50");
	its_hand_overs(w, "n50");
	what_a_person_does_with_it(w, "n50");
	what_it_lost(w, "n50");
}

/* ---- machines that come, and one that goes ---- */

static void announces(struct world *w, const char *name, const char *mac, const char *serial)
{
	struct phx_event ev = {.kind = PHX_EV_node_add};
	PHX_STR_SET(ev.node, name);
	PHX_STR_SET(ev.node_add.serial, serial);
	PHX_STR_SET(ev.node_add.ip, mac ? "10.9.0.1" : "");
	struct phx_mac *m = mac ? phx_list_push(&ev.node_add.macs, sizeof(*m)) : NULL;
	if (m)
		PHX_STR_SET(m->mac, mac);
	must(w, &ev);
}

/* `name`: it calls itself so; "": it does not say. */
static void enrols(struct world *w, const char *mac, const char *serial, const char *name)
{
	struct phx_event ev = {.kind = PHX_EV_enrol};
	struct phx_mac *m = phx_list_push(&ev.enrol.macs, sizeof(*m));
	PHX_STR_SET(m->mac, mac);
	PHX_STR_SET(ev.enrol.serial, serial);
	PHX_STR_SET(ev.enrol.name, name);
	snprintf(ev.enrol.key_fp, sizeof(ev.enrol.key_fp), "key-of-%s", mac);
	snprintf(ev.enrol.address, sizeof(ev.enrol.address), "10.9.0.%s", mac + 16);
	must(w, &ev);
}

static void is_accepted(struct world *w, const char *node, const char *as)
{
	struct phx_event ev = {.kind = PHX_EV_node_accept};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.named.name, as);
	must(w, &ev);
}

static void newcomers(struct world *w)
{
	struct phx_event hello = {.kind = PHX_EV_hello,
				  .hello = {.healthy = true, .env = PHX_ENV_DEPLOY}};
	announces(w, "new1", "52:54:00:01:00:01", "");
	enrols(w, "52:54:00:01:00:01", "", "");
	PHX_STR_SET(hello.node, "new1");
	PHX_STR_SET(hello.hello.boot_id, "its-first-boot");
	world_facts(&hello.hello.facts, 1 << 20);
	must(w, &hello);
	announces(w, "new2", NULL, "serial-of-new2");
	enrols(w, "52:54:00:01:00:02", "serial-of-new2", "");
	enrols(w, "52:54:00:01:00:03", "", "stranger");
	is_accepted(w, "stranger", "");
	enrols(w, "52:54:00:01:00:04", "", "stranger2");
	is_accepted(w, "stranger2", "new3");
	node_event(w, PHX_EV_node_remove, "new1", "");
}

static void key_result(struct world *w, const char *key, int64_t result)
{
	struct phx_event ev = {.kind = PHX_EV_key_result, .answer.result = result};
	PHX_STR_SET(ev.answer.name, key);
	must(w, &ev);
}

/* A node goes whose disk is encrypted; the key store says that it could not destroy the key yet,
 * and then that it has. */
static void a_key_is_destroyed(struct world *w, const char *node)
{
	struct phx_event assign = {.kind = PHX_EV_assign, .order.encrypt = true},
			 remove = {.kind = PHX_EV_node_remove, .order.force = true};
	char key[PHX_NAME_MAX];
	PHX_STR_SET(assign.node, node);
	PHX_STR_SET(assign.order.role, "vault");
	must(w, &assign);
	world_run(w, node);
	PHX_STR_SET(key, world_node(w, node)->disk_key_id);
	PHX_STR_SET(remove.node, node);
	must(w, &remove);
	key_result(w, key, -EIO);
	key_result(w, key, 0);
}

/* A web node behind a director leaves it. */
static void a_balanced_node(struct world *w, const char *director, const char *node)
{
	const struct {
		const char *name, *address;
		bool director;
	} roles[] = {{"pages", "10.0.0.250", false}, {"lvs", "", true}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(roles); i++) {
		struct phx_event ev = {.kind = PHX_EV_role_put,
				       .role.role_put = {.director = roles[i].director}};
		struct phx_role *role = &ev.role.role_put;
		PHX_STR_SET(role->name, roles[i].name);
		PHX_STR_SET(role->pool, "web");
		PHX_STR_SET(role->image, "debian-12");
		PHX_STR_SET(role->image_version, "1");
		PHX_STR_SET(role->image_digest, "d1");
		PHX_STR_SET(role->web.address, roles[i].address);
		PHX_STR_SET(role->web.scheduler, "wlc");
		role->web.port = roles[i].director ? 0 : 80;
		must(w, &ev);
	}
	PHX_STR_SET(world_node(w, director)->ip, "10.0.0.11");
	PHX_STR_SET(world_node(w, node)->ip, "10.0.0.12");
	node_order(w, PHX_EV_assign, director, "lvs");
	world_run(w, director);
	node_order(w, PHX_EV_assign, node, "pages");
	world_run(w, node);
	struct phx_event well = {.kind = PHX_EV_report, .report.healthy = true};
	PHX_STR_SET(well.node, node);
	PHX_STR_SET(well.report.actual_role, "pages");
	must(w, &well);
	node_order(w, PHX_EV_assign, node, "compute");
	world_run(w, node);
}

/* ---- jobs ---- */

static void job_order(struct world *w, int kind, uint64_t job, bool hold)
{
	struct phx_event ev = {.kind = kind, .job_order = {.job = job, .hold = hold}};
	must(w, &ev);
}

static uint64_t job_of_no_re(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = 1, .uid = 1000, .gid = 1000}};
	struct phx_outcome out = {0};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return id;
}

static void jobs(struct world *w, const char *node)
{
	node_order(w, PHX_EV_assign, node, "compute");
	world_run(w, node);
	uint64_t first = job_of_no_re(w), last = first;
	for (int i = 0; i < 5 && phx_state_job(&w->s, last)->state == PHX_JOB_RUNNING; i++)
		last = job_of_no_re(w);
	job_order(w, PHX_EV_job_hold, last, true);
	job_order(w, PHX_EV_job_hold, last, false);
	job_order(w, PHX_EV_job_cancel, last, false);
	const struct phx_job *j = phx_state_job(&w->s, first);
	assert_int_equal(j->state, PHX_JOB_RUNNING);
	struct phx_event done = {.kind = PHX_EV_job_result, .job_result.job = first};
	PHX_STR_SET(done.node, PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node);
	must(w, &done);
}

/* ---- REs ---- */

static void ask(struct world *w, int kind, int who, const struct phx_agreement *g)
{
	struct phx_event ev = {.kind = kind, .ask = {.who = who, .agreement = *g}};
	PHX_STR_SET(ev.re, g->name);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void re_order(struct world *w, int kind, int who, const char *re)
{
	struct phx_event ev = {.kind = kind, .re_order = {.who = who, .jobs = PHX_JOBS_ANY}};
	PHX_STR_SET(ev.re, re);
	PHX_STR_SET(ev.text, "not this year");
	must(w, &ev);
}

static void a_request(struct world *w, int answer, int who)
{
	struct phx_agreement q = agreement("asked", PHX_RE_BATCH, 2);
	q.partner[0] = '\0';
	q.coordination = PHX_RE_COORDINATED_NONE;
	ask(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q);
	re_order(w, answer, who, "asked");
}

static void operates(struct world *w, int kind, const char *re)
{
	if (operate(w, kind, re) < 0)
		fail_msg("%s: %s", phx_enum_name(&phx_event_kind_names, kind), w->err.text);
	settle(w);
}

/* `knows`: all nodes are in its configuration, and those of its RE, and one more, may start jobs;
 * else it has no node any more, and nobody waits for it to let one go. */
static void engine_tells(struct world *w, bool knows)
{
	struct phx_event ev = {.kind = PHX_EV_re_queue, .re_queue.whole = true};
	struct phx_engine_job *j = phx_list_push(&ev.re_queue.engine_jobs, sizeof(*j));
	PHX_STR_SET(ev.re, "queue");
	PHX_STR_SET(j->id, "7");
	PHX_STR_SET(j->user, "alice");
	j->state = PHX_ENGINE_JOB_WAITING;
	j->nodes = 1;
	for (const struct phx_node *n = phx_nodes_next(&w->s, 0); knows && n;
	     n = phx_nodes_after(&w->s, n)) {
		struct phx_engine_node *row =
			phx_list_push(&ev.re_queue.engine_nodes, sizeof(*row));
		bool open = !strcmp(n->pool, "queue") || !strcmp(n->name, "n9");
		PHX_STR_SET(row->name, n->name);
		row->state = open ? PHX_ENGINE_NODE_OPEN : PHX_ENGINE_NODE_CLOSED;
		row->ours = true;
	}
	must(w, &ev);
}

static void res(struct world *w)
{
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2),
			     s = agreement("shop", PHX_RE_WEB, 1);
	struct phx_event who = {.kind = PHX_EV_re_members, .re_members.who = PHX_RE_WHO_SERVICE};
	a_request(w, PHX_EV_re_refuse, PHX_RE_WHO_PROVIDER);
	a_request(w, PHX_EV_re_withdraw, PHX_RE_WHO_SERVICE);
	q.engine = PHX_RE_ENGINE_SLURM;
	ask(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &q);
	ask(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &s);
	operates(w, PHX_EV_re_activate, "queue");
	operates(w, PHX_EV_re_activate, "shop");
	assert_int_equal(held(w, "queue"), 2);
	PHX_STR_SET(who.re, "queue");
	PHX_STR_SET(who.re_members.add, "unix:alice");
	must(w, &who);
	engine_tells(w, true);
	engine_tells(w, false);
	web_is_busy(w);
	operates(w, PHX_EV_re_suspend, "shop");
	operates(w, PHX_EV_re_resume, "shop");
	operates(w, PHX_EV_re_safe_deactivate, "shop");
	operates(w, PHX_EV_re_deactivate, "queue");
	operates(w, PHX_EV_re_destroy, "shop");
}

/* ---- workflows and triggers of a many-task RE ---- */

static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void flow_order(struct world *w, int kind, uint64_t id)
{
	struct phx_event ev = {.kind = kind, .workflow_order.workflow = id};
	must(w, &ev);
}

static uint64_t flow(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_workflow_submit,
			       .workflow_submit = {.n_tasks = 1, .uid = 1000, .gid = 1000}};
	struct phx_outcome out = {0};
	PHX_STR_SET(ev.workflow_submit.digest, digest);
	PHX_STR_SET(ev.re, "mtc");
	assert_int_equal(phx_text_push(&ev.workflow_submit.shape, "=1,0,0,0,0\n"), 0);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.workflow;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return id;
}

static void a_task_ends(struct world *w, uint64_t id)
{
	const struct phx_flowrun *run = phx_state_flowrun(&w->s, id);
	struct phx_event ev = {.kind = PHX_EV_task_results};
	struct phx_task_result *row = phx_list_push(&ev.task_results.rows, sizeof(*row));
	tick(w, 1000);
	settle(w);
	tick(w, 1000);
	row->run = run->id;
	row->submitted_ms = run->submitted_ms;
	row->attempt = run->live->at[0].n_runs;
	PHX_NODES_EACH(n, &w->s)
		if (!strcmp(n->pool, "mtc"))
			PHX_STR_SET(ev.node, n->name);
	must(w, &ev);
	assert_int_equal(phx_state_flowrun(&w->s, id)->status, PHX_FLOW_COMPLETE);
}

static uint64_t trigger(struct world *w, const char *name, bool file)
{
	struct phx_event ev = {.kind = PHX_EV_trigger_create};
	struct phx_event_trigger_create *p = &ev.trigger_create;
	struct phx_outcome out = {0};
	p->uid = p->gid = 1000;
	p->queue_max = p->at_once = 1;
	p->trigger_kind = file ? PHX_TRIGGER_FILE : PHX_TRIGGER_HTTP;
	PHX_STR_SET(ev.re, "mtc");
	PHX_STR_SET(p->name, name);
	PHX_STR_SET(p->user, "alice");
	PHX_STR_SET(p->owner, "unix:alice");
	PHX_STR_SET(p->when.file, file ? "in/?" : "");
	PHX_STR_SET(p->when.http, file ? "" : "/hook/calls");
	PHX_STR_SET(p->flow.digest, digest);
	p->flow.n_tasks = 1;
	assert_int_equal(phx_text_push(&p->flow.shape, "=1,0,0,0,0\n"), 0);
	memset(p->token_sha256, 'a', 64);
	if (world_apply(w, &ev, &out) < 0)
		fail_msg("trigger %s: %s", name, w->err.text);
	uint64_t id = out.trigger;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return id;
}

static void triggers(struct world *w)
{
	uint64_t file = trigger(w, "files", true), http = trigger(w, "calls", false);
	static const int kinds[] = {PHX_EV_trigger_pause, PHX_EV_trigger_resume,
				    PHX_EV_trigger_fire, PHX_EV_trigger_hook,
				    PHX_EV_trigger_delete};
	struct phx_event files = {.kind = PHX_EV_trigger_files, .trigger_files.trigger = file};
	struct phx_trigger_file *row = phx_list_push(&files.trigger_files.rows, sizeof(*row));
	memset(row->digest, 'b', 64);
	row->path = strdup("in/a");
	must(w, &files);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		struct phx_event ev = {.kind = kinds[i], .trigger_order.trigger = http};
		PHX_STR_SET(ev.by, "unix:alice");
		memset(ev.trigger_order.digest, 'c', 64);
		must(w, &ev);
	}
}

static void many_tasks(struct world *w)
{
	struct phx_agreement a = mtc_agreement("unix:hpc", 1);
	PHX_STR_SET(a.users, "unix:alice");
	a.upper = 1;
	assert_int_equal(create(w, &a), 0);
	operates(w, PHX_EV_re_activate, "mtc");
	a_task_ends(w, flow(w));
	uint64_t id = flow(w);
	flow_order(w, PHX_EV_workflow_hold, id);
	flow_order(w, PHX_EV_workflow_release, id);
	flow_order(w, PHX_EV_workflow_cancel, id);
	flow_order(w, PHX_EV_workflow_resume, id);
	triggers(w);
}

/* Some of the first nodes are on their way to RE "queue". */
static inline void make_re(struct world *w)
{
	enum { RE_NODES = 20 };
	struct phx_agreement a = agreement("queue", PHX_RE_BATCH, RE_NODES);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	PHX_STR_SET(a.role, "compute");
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
}

/* One of those nodes. */
static inline void a_node_of_an_re(struct world *w)
{
	what_is_told_of_it(w, "n5");
	assert_int_equal(world_hello(w, "n5", PHX_ENV_DEPLOY, false), 0);
	node_event(w, PHX_EV_power, "n5", "status");
	world_run(w, "n5");
	node_event(w, PHX_EV_tick, "", "");
	node_event(w, PHX_EV_quarantine, "n5", "it smells");
	newcomers(w);
}

/* All of it, in a world with more than 54 free nodes. */
static inline void every_kind(struct world *w)
{
	a_node(w);
	newcomers(w);
	a_key_is_destroyed(w, "n54");
	a_balanced_node(w, "n51", "n52");
	jobs(w, "n53");
	res(w);
	many_tasks(w);
	what_concerns_the_site(w);
}

#endif
