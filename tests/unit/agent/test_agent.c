/* The agent as a process against a head that answers as the test says: who it is, orders once,
 * orders of the past, what it never does. */
#include "base/clock.h"
#include "fake/head.h"

#include "base/process.h"
#include "pki/ring.h"
#include "repo/repo.h"

/* ---- orders ---- */

struct ask {
	const char *step;
	uint64_t id, epoch;
	uint32_t attempt, deadline_s;
};

/* The role of all orders: its health check is a program, so that what is done can be counted. */
static struct phx_role make_role(const struct fake_head *h, const char *check)
{
	struct phx_role role = {0};
	PHX_STR_SET(role.name, "test");
	PHX_STR_SET(role.image, "test");
	role.health.kind = PHX_HEALTH_EXEC;
	role.health.timeout_s = 1;
	const char *const words[] = {"sh", "-c", check};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		struct phx_word *w = phx_list_push(&role.health.argv, sizeof(*w));
		PHX_STR_SET(w->text, words[i]);
	}
	(void)h;
	return role;
}

static json_t *order_with(const struct ask *ask, const struct phx_role *role)
{
	struct phx_order o = {.id = ask->id,
			      .epoch = ask->epoch,
			      .deadline_s = ask->deadline_s ? ask->deadline_s : 20};
	o.kind = PHX_ORDER_step;
	o.step.id = ask->id;
	o.step.attempt = ask->attempt ? ask->attempt : 1;
	assert_int_equal(phx_enum_parse(&phx_step_kind_names, ask->step, &o.step.kind, NULL), 0);
	o.role = *role;
	return phx_json_from_record(&phx_order_record, &o);
}

/* An order whose doing appends a line to NODE/count. */
static json_t *counted(struct fake_head *h, const struct ask *ask, bool succeeds)
{
	char check[200];
	snprintf(check, sizeof(check), "echo done >>%s/count; %s", h->root,
		 succeeds ? "true" : "false");
	struct phx_role role = make_role(h, check);
	json_t *j = order_with(ask, &role);
	phx_record_fini(&phx_role_record, &role);
	return j;
}

static size_t done_times(struct fake_head *h)
{
	char *text = NULL;
	size_t n = 0;
	if (phx_file_read(root_path(h, "count"), 1 << 20, &text, &n, NULL) < 0)
		return 0;
	free(text);
	return n / strlen("done\n");
}

static int64_t result_of(struct fake_head *h, json_t *order)
{
	PHX_AUTO_JSON json_t *result = fake_ask(h, order);
	return phx_json_int(result, "result", -9999);
}

static void start_registered(struct fake_head *h)
{
	fake_agent_start(h);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > 0);
}

/* ---- who it is ---- */

static void test_enrol(void **state)
{
	struct fake_head *h = *state;
	struct stat st;
	h->enrol_waits = 2;
	start_registered(h);
	assert_int_equal(h->n_enrols, 3);
	assert_string_equal(h->key_fp[0], h->key_fp[2]); /* one key, however often it asks */
	assert_string_equal(phx_json_str(h->enrol, "serial", ""), "SN1");
	assert_string_equal(phx_json_str(h->enrol, "token", ""), "secret-token");
	assert_string_equal(phx_json_str(h->enrol, "env", ""), "os");
	assert_int_equal(json_array_size(json_object_get(h->enrol, "macs")), 2);
	assert_int_equal(stat(root_path(h, "var/lib/phoenix/agent.key"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(access(root_path(h, "etc/phoenix/token"), F_OK) < 0); /* spent */
	assert_string_equal(phx_json_str(h->hello, "boot_id", ""), "boot-1");
	assert_int_equal(phx_json_int(json_object_get(h->hello, "facts"), "cpus", 0), 2);
	assert_true(json_is_object(json_object_get(h->beat, "monitor")));
	assert_int_equal(fake_agent_end(h, SIGTERM), 0);
	start_registered(h);
	assert_int_equal(h->n_enrols, 3); /* known */
}

/* What an agent that was killed had begun to write goes; what only looks like it stays. */
static void test_sweeps(void **state)
{
	static const char *const gone[] = {
		"var/lib/phoenix/epoch.1234.tmp", "var/lib/phoenix/steps/7.json.1234.tmp",
		"var/lib/phoenix/jobs/3.json.1234.tmp", "run/jobs/3.nodes.1234.tmp"};
	static const char *const stays[] = {"var/lib/phoenix/jobs/3.0.end.tmp",
					    "var/lib/phoenix/a.1234"};
	struct fake_head *h = *state;
	assert_int_equal(phx_dir_make(root_path(h, "var/lib/phoenix/steps"), 0700, NULL), 0);
	assert_int_equal(phx_dir_make(root_path(h, "var/lib/phoenix/jobs"), 0700, NULL), 0);
	assert_int_equal(phx_dir_make(root_path(h, "run/jobs"), 0755, NULL), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(gone); i++)
		world_put(root_path(h, gone[i]), "half of a fi");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(stays); i++)
		world_put(root_path(h, stays[i]), "whole");
	start_registered(h);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(gone); i++)
		assert_int_equal(access(root_path(h, gone[i]), F_OK), -1);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(stays); i++)
		assert_int_equal(access(root_path(h, stays[i]), F_OK), 0);
}

/* What it is given and cannot be used is not kept: it asks again, with the same key. */
static void test_unusable_certificates(void **state)
{
	struct fake_head *h = *state;
	h->enrol_bad = 3;
	start_registered(h);
	assert_int_equal(h->n_enrols, 4);
	assert_string_equal(h->key_fp[0], h->key_fp[3]);
}

/* Nor is one that it finds, of whatever time. */
static void test_kept_certificate_is_looked_at(void **state)
{
	struct fake_head *h = *state;
	start_registered(h);
	assert_int_equal(fake_agent_end(h, SIGTERM), 0);
	assert_int_equal(truncate(root_path(h, "var/lib/phoenix/agent.pem"), 100), 0);
	fake_agent_start(h);
	/* a beat of before may be counted now */
	HEAD_WAIT(h, fake_count(h, &h->n_enrols) == 2);
	int before = fake_count(h, &h->n_beats);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > before);
	assert_int_equal(fake_count(h, &h->n_enrols), 2);
	assert_string_equal(h->key_fp[0], h->key_fp[1]);
}

static void test_hello_again(void **state)
{
	struct fake_head *h = *state;
	start_registered(h);
	int before = fake_count(h, &h->n_hellos);
	pthread_mutex_lock(&h->lock);
	h->beat_409 = 1;
	pthread_mutex_unlock(&h->lock);
	HEAD_WAIT(h, fake_count(h, &h->n_hellos) > before);
	int beats = fake_count(h, &h->n_beats);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > beats);
	assert_int_equal(h->n_enrols, 1);
}

/* A head that does not know the certificate any more gets a new request, for the same key. */
static void test_enrol_again_when_refused(void **state)
{
	struct fake_head *h = *state;
	h->hello_refuses = 3;
	start_registered(h);
	assert_int_equal(h->n_enrols, 2);
	assert_string_equal(h->key_fp[0], h->key_fp[1]);
}

static void test_wrong_server(void **state)
{
	struct fake_head *h = *state;
	/* trusts another site's CA: talks to nobody */
	char dir[128], conf[400];
	struct phx_pki *other = NULL;
	snprintf(dir, sizeof(dir), "%s/other", h->world->dir);
	assert_int_equal(phx_pki_open(dir, NULL, 0, &other, NULL), 0);
	phx_pki_free(other);
	snprintf(conf, sizeof(conf), "server = \"127.0.0.1:%u\"; ca = \"%s/ca.pem\";",
		 phx_http_server_port(h->world->server, PHX_HTTP_TLS), dir);
	world_put(root_path(h, "etc/phoenix/agent.conf"), conf);
	fake_agent_start(h);
	phx_sleep_ms(1500);
	assert_int_equal(fake_count(h, &h->n_enrols), 0);
	assert_int_equal(fake_agent_end(h, SIGTERM), 0);
}

static void test_bad_configuration(void **state)
{
	struct fake_head *h = *state;
	int status;
	char *log = NULL;
	world_put(root_path(h, "etc/phoenix/agent.conf"), "server = \"nowhere\";\n");
	fake_agent_start(h);
	waitpid(h->agent, &status, 0);
	h->agent = 0;
	assert_int_equal(WEXITSTATUS(status), 78);
	assert_int_equal(phx_file_read(root_path(h, "log"), 1 << 16, &log, NULL, NULL), 0);
	assert_non_null(strstr(log, "agent.conf:1: server = \"nowhere\" must be ADDRESS:PORT"));
	free(log);
}

/* ---- orders once ---- */

static void test_done_once(void **state)
{
	struct fake_head *h = *state;
	struct ask ask = {"health", 7, 3, 1, 0};
	start_registered(h);
	assert_int_equal(result_of(h, counted(h, &ask, true)), 0);
	/* repeated: only the answer is */
	assert_int_equal(result_of(h, counted(h, &ask, true)), 0);
	ask.attempt = 2;
	assert_int_equal(result_of(h, counted(h, &ask, true)), 0);
	fake_agent_end(h, SIGKILL);
	start_registered(h);
	assert_int_equal(result_of(h, counted(h, &ask, true)), 0); /* over a crash too */
	assert_int_equal(done_times(h), 1);
}

static void test_of_the_past(void **state)
{
	struct fake_head *h = *state;
	struct ask now = {"health", 8, 5, 1, 0}, past = {"health", 9, 4, 1, 0};
	start_registered(h);
	assert_int_equal(result_of(h, counted(h, &now, true)), 0);
	assert_int_equal(result_of(h, counted(h, &past, true)), -ESTALE);
	fake_agent_end(h, SIGKILL);
	start_registered(h);
	assert_int_equal(result_of(h, counted(h, &past, true)), -ESTALE);
	assert_int_equal(done_times(h), 1);
}

static void test_failure_and_next_attempt(void **state)
{
	struct fake_head *h = *state;
	struct ask ask = {"health", 10, 3, 1, 1};
	start_registered(h);
	PHX_AUTO_JSON json_t *result = fake_ask(h, counted(h, &ask, false));
	assert_int_equal(phx_json_int(result, "result", 0), -ETIMEDOUT);
	assert_non_null(strstr(phx_json_str(result, "text", ""), "not healthy"));
	size_t times = done_times(h);
	assert_true(times > 0);
	/* the same attempt: the same answer */
	assert_int_equal(result_of(h, counted(h, &ask, true)), -ETIMEDOUT);
	assert_int_equal(done_times(h), times);
	ask.attempt = 2;
	assert_int_equal(result_of(h, counted(h, &ask, true)), 0);
	assert_int_equal(done_times(h), times + 1);
}

/* A step of an older plan is given up when a newer order comes. */
/* What the disk did not take may be forgotten: it is no result, and the step is not done twice
 * meanwhile. */
static void test_a_result_that_is_not_kept_is_not_done(void **state)
{
	struct fake_head *h = *state;
	struct ask ask = {"health", 11, 3, 1, 0};
	start_registered(h);
	assert_int_equal(rename(root_path(h, "var/lib/phoenix/steps"),
				root_path(h, "var/lib/phoenix/steps.away")),
			 0);
	PHX_AUTO_JSON json_t *result = fake_ask(h, counted(h, &ask, true));
	assert_int_equal(phx_json_int(result, "result", 0), -EIO);
	assert_non_null(strstr(phx_json_str(result, "text", ""), "cannot be kept"));
	/* with its directory back, it is done and kept */
	assert_int_equal(rename(root_path(h, "var/lib/phoenix/steps.away"),
				root_path(h, "var/lib/phoenix/steps")),
			 0);
	ask.attempt = 2;
	assert_int_equal(result_of(h, counted(h, &ask, true)), 0);
	assert_int_equal(access(root_path(h, "var/lib/phoenix/steps/11.json"), F_OK), 0);
}

static void test_newer_order_ends_older(void **state)
{
	struct fake_head *h = *state;
	struct ask older = {"health", 11, 3, 1, 60}, newer = {"health", 12, 4, 1, 20};
	start_registered(h);
	fake_order(h, counted(h, &older, false));
	HEAD_WAIT(h, done_times(h) > 0);
	size_t before = fake_n_results(h);
	fake_order(h, counted(h, &newer, true));
	HEAD_WAIT(h, fake_n_results(h) >= before + 2);
	assert_int_equal(phx_json_int(json_array_get(h->results, before), "id", 0), 11);
	assert_true(phx_json_int(json_array_get(h->results, before), "result", 0) < 0);
	assert_int_equal(phx_json_int(json_array_get(h->results, before + 1), "result", -1), 0);
}

/* A role with a service that must run for a minute before its start counts. */
static struct phx_role settling_role(struct fake_head *h, const char *script)
{
	static const char *const words[] = {"/bin/sh", "-c"};
	struct phx_role role = make_role(h, "true");
	struct phx_service *s = phx_list_push(&role.services, sizeof(*s));
	PHX_STR_SET(s->name, "late");
	s->restart = true;
	s->settle_s = 60;
	for (size_t i = 0; i < 3; i++) {
		struct phx_word *w = phx_list_push(&s->argv, sizeof(*w));
		PHX_STR_SET(w->text, i < 2 ? words[i] : script);
	}
	return role;
}

static void test_a_service_that_dies_soon_fails_its_start(void **state)
{
	struct fake_head *h = *state;
	struct ask ask = {"start", 14, 3, 1, 0};
	struct phx_role role = settling_role(h, "sleep 0.5; exit 3");
	start_registered(h);
	PHX_AUTO_JSON json_t *result = fake_ask(h, order_with(&ask, &role));
	assert_int_equal(phx_json_int(result, "result", 0), -EIO);
	assert_string_equal(phx_json_str(result, "text", ""),
			    "service late ended within its settle time of 60 s with status 3");
	phx_record_fini(&phx_role_record, &role);
}

/* Nobody waits a minute for what is of the past. */
static void test_newer_order_ends_settling(void **state)
{
	struct fake_head *h = *state;
	char script[200];
	struct ask older = {"start", 15, 3, 1, 60}, newer = {"health", 16, 4, 1, 20};
	snprintf(script, sizeof(script), "echo done >>%s/count; exec sleep 1000", h->root);
	struct phx_role role = settling_role(h, script);
	start_registered(h);
	fake_order(h, order_with(&older, &role));
	HEAD_WAIT(h, done_times(h) > 0);
	size_t before = fake_n_results(h);
	fake_order(h, counted(h, &newer, true));
	HEAD_WAIT(h, fake_n_results(h) >= before + 2);
	assert_int_equal(phx_json_int(json_array_get(h->results, before), "id", 0), 15);
	assert_int_equal(phx_json_int(json_array_get(h->results, before), "result", 0), -ECANCELED);
	assert_int_equal(phx_json_int(json_array_get(h->results, before + 1), "result", -1), 0);
	phx_record_fini(&phx_role_record, &role);
}

static void test_bad_answers_are_survived(void **state)
{
	struct fake_head *h = *state;
	static const char *const bad[] = {
		"not json",
		"{}",
		"[]",
		"{\"orders\": 5}",
		"{\"orders\": [5]}",
		"{\"orders\": [{\"kind\": \"step\", \"id\": \"x\"}]}",
		"{\"orders\": [{\"kind\": \"dance\", \"id\": 3}]}",
	};
	struct ask ask = {"health", 13, 3, 1, 0};
	start_registered(h);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		pthread_mutex_lock(&h->lock);
		h->beat_text = bad[i];
		pthread_mutex_unlock(&h->lock);
		HEAD_WAIT(h, ({
				  pthread_mutex_lock(&h->lock);
				  bool taken = !h->beat_text;
				  pthread_mutex_unlock(&h->lock);
				  taken;
			  }));
	}
	assert_int_equal(result_of(h, counted(h, &ask, true)), 0);
}

/* ---- what it never does ---- */

static void test_destructive_steps_are_refused(void **state)
{
	struct fake_head *h = *state;
	static const struct {
		const char *step;
		int64_t result;
	} steps[] = {{"wipe", -EPERM},     {"image", -EPERM},      {"ram", -EPERM},
		     {"enter", -EPERM},    {"kexec", -EOPNOTSUPP}, {"boot", -EOPNOTSUPP},
		     {"join", -EOPNOTSUPP}};
	start_registered(h);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(steps); i++) {
		struct ask ask = {steps[i].step, 20 + i, 3, 1, 0};
		if (result_of(h, counted(h, &ask, true)) != steps[i].result)
			fail_msg("step %s", steps[i].step);
	}
}

static void add_package(struct phx_role *role, const char *name, const char *version)
{
	struct phx_package_ref *p = phx_list_push(&role->packages, sizeof(*p));
	PHX_STR_SET(p->name, name);
	PHX_STR_SET(p->version, version);
}

static void add_leave(struct phx_role *role, const char *path)
{
	struct phx_word *w = phx_list_push(&role->leave_remove, sizeof(*w));
	PHX_STR_SET(w->text, path);
}

static void test_leave_is_guarded(void **state)
{
	struct fake_head *h = *state;
	struct ask ask = {"leave", 30, 3, 1, 0};
	struct phx_role role = make_role(h, "true");
	add_package(&role, "tool", "1");
	add_leave(&role, "/var/lib/tool");
	add_leave(&role, "/etc/passwd");
	assert_int_equal(phx_dir_make(root_path(h, "opt/phoenix/pkg/tool/1"), 0755, NULL), 0);
	assert_int_equal(phx_dir_make(root_path(h, "var/lib/tool"), 0755, NULL), 0);
	world_put(root_path(h, "etc/passwd"), "root\n");
	start_registered(h);
	assert_int_equal(result_of(h, order_with(&ask, &role)), -EPERM);
	/* all stays as it was, the allowed too */
	assert_int_equal(access(root_path(h, "opt/phoenix/pkg/tool/1"), F_OK), 0);
	assert_int_equal(access(root_path(h, "var/lib/tool"), F_OK), 0);
	assert_int_equal(access(root_path(h, "etc/passwd"), F_OK), 0);
	PHX_STR_SET(PHX_LIST_AT(&role.leave_remove, struct phx_word, 1)->text, "/srv/none");
	ask.attempt = 2;
	assert_int_equal(result_of(h, order_with(&ask, &role)), 0);
	assert_true(access(root_path(h, "opt/phoenix/pkg/tool"), F_OK) < 0);
	assert_true(access(root_path(h, "var/lib/tool"), F_OK) < 0);
	phx_record_fini(&phx_role_record, &role);
}

/* After a start of the machine the role is known at once; that it serves is not. */
static void test_healthy_only_when_it_runs(void **state)
{
	struct fake_head *h = *state;
	struct phx_role role = make_role(h, "true");
	struct ask activate = {"activate", 70, 1, 0, 0}, start = {"start", 71, 1, 0, 0};
	start_registered(h);
	assert_int_equal(result_of(h, order_with(&activate, &role)), 0);
	assert_int_equal(result_of(h, order_with(&start, &role)), 0);
	assert_int_equal(fake_agent_end(h, SIGTERM), 0);
	h->role = phx_json_from_record(&phx_role_record, &role);
	int before = h->n_hellos;
	start_registered(h);
	HEAD_WAIT(h, fake_count(h, &h->n_hellos) > before);
	HEAD_WAIT(h, phx_str_eq(phx_json_str(h->hello, "actual_role", ""), "test"));
	assert_false(phx_json_bool(h->hello, "healthy", true));
	HEAD_WAIT(h, phx_json_bool(h->beat, "healthy", false));
	phx_record_fini(&phx_role_record, &role);
}

static void test_jobs_without_a_role(void **state)
{
	struct fake_head *h = *state;
	struct phx_order o = {.id = 5};
	o.kind = PHX_ORDER_job;
	o.job.id = 5;
	o.job.uid = o.job.gid = 65534;
	start_registered(h);
	PHX_AUTO_JSON json_t *result = fake_ask(h, phx_json_from_record(&phx_order_record, &o));
	assert_string_equal(phx_json_str(result, "kind", ""), "job");
	assert_int_equal(phx_json_int(result, "result", 0), 126);
	assert_non_null(strstr(phx_json_str(result, "text", ""), "runs no jobs"));
}

/* ---- packages ---- */

/* NAME-VERSION signed with the site's key in the head's repository; its bin/run prints `says`. Its
 * digest. */
static struct phx_package publish_as(struct fake_head *h, const char *name, const char *version,
				     const char *says)
{
	char src[200], path[300], text[200], out[200], key[200];
	char *file = NULL;
	struct phx_err err = {0};
	snprintf(src, sizeof(src), "%s/src-%s-%s", h->world->dir, name, version);
	snprintf(out, sizeof(out), "%s/packages", h->world->dir);
	snprintf(key, sizeof(key), "%s/pki/site.key", h->world->dir);
	snprintf(path, sizeof(path), "%s/files/bin", src);
	assert_int_equal(phx_dir_make(path, 0755, NULL), 0);
	assert_int_equal(phx_dir_make(out, 0755, NULL), 0);
	snprintf(path, sizeof(path), "%s/package.conf", src);
	snprintf(text, sizeof(text),
		 "name = \"%s\"; version = \"%s\"; arch = \"all\"; summary = \"test\";\n", name,
		 version);
	world_put(path, text);
	snprintf(path, sizeof(path), "%s/files/bin/run", src);
	snprintf(text, sizeof(text), "#!/bin/sh\necho %s\n", says);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0755, NULL), 0);
	struct phx_package built;
	if (phx_package_build(src, out, &file, &err) < 0 || phx_package_sign(file, key, &err) < 0 ||
	    phx_package_inspect(file, &built, &err) < 0)
		fail_msg("%s", err.text);
	free(file);
	return built;
}

static void publish(struct fake_head *h, const char *name, const char *version)
{
	publish_as(h, name, version, version);
}

static bool current_is(struct fake_head *h, const char *name, const char *version)
{
	char found[PHX_NAME_MAX] = "";
	phx_package_current(root_path(h, "opt/phoenix/pkg"), name, found, NULL);
	return phx_str_eq(found, version);
}

static void test_prefetch_and_activate(void **state)
{
	struct fake_head *h = *state;
	struct ask fetch = {"prefetch", 40, 3, 1, 0}, activate = {"activate", 41, 3, 1, 0};
	struct phx_role role = make_role(h, "true");
	add_package(&role, "tool", "1.0");
	publish(h, "tool", "1.0");
	start_registered(h);
	assert_int_equal(result_of(h, order_with(&fetch, &role)), 0);
	assert_int_equal(access(root_path(h, "var/cache/phoenix/packages/tool-1.0.tar.zst"), F_OK),
			 0);
	assert_true(current_is(h, "tool", "")); /* nothing is changed by it */
	assert_int_equal(result_of(h, order_with(&activate, &role)), 0);
	assert_true(current_is(h, "tool", "1.0"));
	assert_int_equal(access(root_path(h, "opt/phoenix/pkg/tool/1.0/bin/run"), X_OK), 0);
	phx_record_fini(&phx_role_record, &role);
}

static bool run_says(struct fake_head *h, const char *what)
{
	PHX_AUTO_FREE char *text = NULL;
	return phx_file_read(root_path(h, "opt/phoenix/pkg/tool/1.0/bin/run"), 4096, &text, NULL,
			     NULL) == 0 &&
		strstr(text, what);
}

/* A package that was built again has the same name: what is in the cache is not what the role means
 * now. */
static void test_other_bytes_in_the_cache(void **state)
{
	struct fake_head *h = *state;
	struct ask fetch = {"prefetch", 42, 3, 1, 0}, activate = {"activate", 43, 3, 1, 0};
	struct phx_role role = make_role(h, "true");
	add_package(&role, "tool", "1.0");
	struct phx_package_ref *ref = PHX_LIST_AT(&role.packages, struct phx_package_ref, 0);
	publish_as(h, "tool", "1.0", "before");
	start_registered(h);
	assert_int_equal(result_of(h, order_with(&fetch, &role)), 0);
	PHX_STR_SET(ref->sha256, publish_as(h, "tool", "1.0", "after").sha256);
	assert_int_equal(result_of(h, order_with(&activate, &role)), 0);
	assert_true(run_says(h, "after"));
	/* and one that nobody has is not replaced by what there is */
	struct ask other = {"activate", 44, 4, 1, 0};
	memset(ref->sha256, 'f', strlen(ref->sha256));
	assert_true(result_of(h, order_with(&other, &role)) < 0);
	assert_true(run_says(h, "after"));
	phx_record_fini(&phx_role_record, &role);
}

static void spoil(struct fake_head *h, const char *file)
{
	char path[300];
	snprintf(path, sizeof(path), "%s/packages/%s", h->world->dir, file);
	int fd = open(path, O_RDWR);
	char c = 0;
	assert_true(fd >= 0 && pread(fd, &c, 1, 40) == 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, 40), 1);
	close(fd);
}

/* Of two packages the second is bad: the first stays at the version it had. */
static void test_bad_package_changes_nothing(void **state)
{
	struct fake_head *h = *state;
	struct ask first = {"activate", 50, 3, 1, 0}, second = {"activate", 51, 4, 1, 0};
	struct phx_role role = make_role(h, "true");
	add_package(&role, "tool", "1.0");
	publish(h, "tool", "1.0");
	publish(h, "tool", "2.0");
	publish(h, "extra", "1.0");
	spoil(h, "extra-1.0.tar.zst");
	start_registered(h);
	assert_int_equal(result_of(h, order_with(&first, &role)), 0);
	PHX_STR_SET(PHX_LIST_AT(&role.packages, struct phx_package_ref, 0)->version, "2.0");
	add_package(&role, "extra", "1.0");
	assert_int_equal(result_of(h, order_with(&second, &role)), -EKEYREJECTED);
	assert_true(current_is(h, "tool", "1.0"));
	assert_true(current_is(h, "extra", ""));
	assert_true(access(root_path(h, "var/cache/phoenix/packages/extra-1.0.tar.zst"), F_OK) < 0);
	phx_record_fini(&phx_role_record, &role);
}

/* A version of tool as role web has it; what came of activating it. */
static int activate_tool(struct fake_head *h, struct phx_role *role, uint64_t id,
			 const char *version)
{
	struct ask ask = {"activate", id, id, 1, 0};
	PHX_STR_SET(PHX_LIST_AT(&role->packages, struct phx_package_ref, 0)->version, version);
	return result_of(h, order_with(&ask, role));
}

/* A catalogue that was restored orders what was before; going back is said by the role. */
static void test_older_is_not_installed_unsaid(void **state)
{
	struct fake_head *h = *state;
	struct phx_role role = make_role(h, "true");
	add_package(&role, "tool", "1.10");
	publish(h, "tool", "1.10");
	publish(h, "tool", "1.9");
	start_registered(h);
	assert_int_equal(activate_tool(h, &role, 70, "1.10"), 0);
	assert_int_equal(activate_tool(h, &role, 71, "1.9"), -ESTALE);
	assert_true(current_is(h, "tool", "1.10"));
	struct phx_word *w = phx_list_push(&role.allow_older, sizeof(*w));
	PHX_STR_SET(w->text, "tool-1.9");
	assert_int_equal(activate_tool(h, &role, 72, "1.9"), 0);
	assert_true(current_is(h, "tool", "1.9"));
	phx_record_fini(&phx_role_record, &role);
}

/* Which keys it believes lies with the node: where there are package keys, the site's own, which is
 * on the head, is none of them. */
static void test_the_heads_own_key_signs_no_package(void **state)
{
	struct fake_head *h = *state;
	struct ask first = {"activate", 75, 3, 1, 0}, second = {"activate", 76, 4, 1, 0};
	struct phx_role role = make_role(h, "true");
	char key[200], package_path[300];
	PHX_AUTO_FREE char *pub = NULL, *pem = NULL;
	snprintf(key, sizeof(key), "%s/builder.key", h->world->dir);
	assert_int_equal(phx_sign_key_new(key, &pub, NULL), 0);
	assert_int_equal(phx_file_read(pub, 4096, &pem, NULL, NULL), 0);
	world_put(root_path(h, "etc/phoenix/packages.pub"), pem);
	add_package(&role, "tool", "1.0");
	publish(h, "tool", "1.0");
	start_registered(h);
	assert_int_equal(result_of(h, order_with(&first, &role)), -EKEYREJECTED);
	assert_true(current_is(h, "tool", ""));
	snprintf(package_path, sizeof(package_path), "%s/packages/tool-1.0.tar.zst", h->world->dir);
	assert_int_equal(phx_package_sign(package_path, key, NULL), 0);
	assert_int_equal(result_of(h, order_with(&second, &role)), 0);
	assert_true(current_is(h, "tool", "1.0"));
	phx_record_fini(&phx_role_record, &role);
}

static void test_package_of_another_name(void **state)
{
	struct fake_head *h = *state;
	struct ask ask = {"prefetch", 60, 3, 1, 0};
	struct phx_role role = make_role(h, "true");
	char from[300], to[300];
	publish(h, "good", "1.0");
	/* well signed, but not what the name says: a swapped file */
	snprintf(from, sizeof(from), "%s/packages/good-1.0.tar.zst", h->world->dir);
	snprintf(to, sizeof(to), "%s/packages/wanted-1.0.tar.zst", h->world->dir);
	assert_int_equal(rename(from, to), 0);
	strcat(from, ".sig");
	strcat(to, ".sig");
	assert_int_equal(rename(from, to), 0);
	add_package(&role, "wanted", "1.0");
	start_registered(h);
	assert_true(result_of(h, order_with(&ask, &role)) < 0);
	assert_true(access(root_path(h, "var/cache/phoenix/packages/wanted-1.0.tar.zst"), F_OK) <
		    0);
	phx_record_fini(&phx_role_record, &role);
}

/* The digest of what the head has under the name now. */
static void set_digest(struct fake_head *h, struct phx_package_ref *p)
{
	char path[300], pub[200];
	struct phx_package found;
	snprintf(path, sizeof(path), "%s/packages/%s-%s.tar.zst", h->world->dir, p->name,
		 p->version);
	snprintf(pub, sizeof(pub), "%s/pki/site.pub", h->world->dir);
	assert_int_equal(phx_package_verify(path, pub, &found, NULL), 0);
	PHX_STR_SET(p->sha256, found.sha256);
}

/* Built anew under its name and version, and signed: what was fetched before is not what the role
 * means now. */
static void test_package_of_another_digest(void **state)
{
	struct fake_head *h = *state;
	struct ask fetch = {"prefetch", 61, 3, 1, 0}, activate = {"activate", 62, 3, 1, 0};
	struct phx_role role = make_role(h, "true");
	char path[300], unpacked[65];
	add_package(&role, "tool", "1.0");
	struct phx_package_ref *p = PHX_LIST_AT(&role.packages, struct phx_package_ref, 0);
	publish(h, "tool", "1.0");
	set_digest(h, p);
	start_registered(h);
	assert_int_equal(result_of(h, order_with(&fetch, &role)), 0);
	char *before = strdup(p->sha256);
	snprintf(path, sizeof(path), "%s/src-tool-1.0/files/more", h->world->dir);
	world_put(path, "more\n");
	publish(h, "tool", "1.0");
	set_digest(h, p);
	assert_string_not_equal(p->sha256, before);
	assert_int_equal(result_of(h, order_with(&activate, &role)), 0);
	assert_int_equal(
		phx_package_unpacked(root_path(h, "opt/phoenix/pkg"), "tool", "1.0", unpacked), 0);
	assert_string_equal(unpacked, p->sha256);
	free(before);
	phx_record_fini(&phx_role_record, &role);
}

static void test_ends_quickly(void **state)
{
	struct fake_head *h = *state;
	start_registered(h);
	int64_t began = phx_clock_ms();
	assert_int_equal(fake_agent_end(h, SIGTERM), 0);
	assert_in_range(phx_clock_ms() - began, 0, 1000);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_head_setup, fake_head_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_enrol),
		TEST(test_sweeps),
		TEST(test_unusable_certificates),
		TEST(test_kept_certificate_is_looked_at),
		TEST(test_hello_again),
		TEST(test_enrol_again_when_refused),
		TEST(test_wrong_server),
		TEST(test_bad_configuration),
		TEST(test_done_once),
		TEST(test_of_the_past),
		TEST(test_failure_and_next_attempt),
		TEST(test_a_result_that_is_not_kept_is_not_done),
		TEST(test_newer_order_ends_older),
		TEST(test_a_service_that_dies_soon_fails_its_start),
		TEST(test_newer_order_ends_settling),
		TEST(test_bad_answers_are_survived),
		TEST(test_destructive_steps_are_refused),
		TEST(test_leave_is_guarded),
		TEST(test_healthy_only_when_it_runs),
		TEST(test_jobs_without_a_role),
		TEST(test_prefetch_and_activate),
		TEST(test_older_is_not_installed_unsaid),
		TEST(test_the_heads_own_key_signs_no_package),
		TEST(test_other_bytes_in_the_cache),
		TEST(test_bad_package_changes_nothing),
		TEST(test_package_of_another_name),
		TEST(test_package_of_another_digest),
		TEST(test_ends_quickly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
