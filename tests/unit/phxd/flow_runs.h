/* What cmd/phxd/api_flows.c stands on in its tests: an RE "mtc" of the core itself on node n1, runs
 * of alice and bob in it, whose text is read as it is; who asks, and what agents are asked and
 * told. */
#ifndef TESTS_PHXD_FLOW_RUNS_H
#define TESTS_PHXD_FLOW_RUNS_H

#include "unit/core/runs.h"

#include "fake/submitted.h"
#include "fake/person.h"

#include "base/tree.h"
#include "phxd/api_flows.c" /* parts of a program, not of the library */
#include "phxd/parse.c"
#include "phxd/viewer.c"
#include "trace/wfformat.h"

enum { ALICE = 1000, BOB = 1002, HPC = 1003, N_TASKS = 3 };

static struct world *w;
static struct daemon head;
static struct phx_flow flow; /* the text of each run */
static char top[64], body[96], error[FAKE_TEXT];
static json_t *answer;
static unsigned n_kept, n_members, n_asked, n_heard;
static int settled;               /* with what, last; 1: nothing was */
static const char *wrong;         /* with the workflow, whatever it is */
static const char *unread;        /* why the text of a run cannot be read; NULL: it can */
static const char *group;         /* that makes a member; NULL: he is none */
static const char *agent;         /* whose certificate came; NULL: none is believed */
static bool has_login;            /* the asker works as a user of the head */
static char works_as[40];         /* whom he asked to be */
static struct phx_task_ask asked; /* of an agent, last */
static json_t *frame;
static char asked_node[PHX_NAME_MAX], told_node[PHX_NAME_MAX], told_error[FAKE_TEXT];
static uint64_t told_id;
static json_t *told;

/* ---- what is behind ---- */

int flows_read(const char *path, char ret_digest[PHX_SHA256_HEX], struct phx_flow *ret,
	       struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	int r = phx_file_read(path, 1 << 20, &text, &n, err);
	r = r ? r : phx_sha256_of(text, n, ret_digest);
	return r ? r : phx_wfformat_read("workflow", text, n, ret, err);
}

int flow_check_first(const struct phx_flow *f, struct phx_err *err)
{
	(void)f;
	return wrong ? phx_err_set(err, -EINVAL, "%s", wrong) : 0;
}

int flows_keep(struct flows *f, const char *from, const char *of, struct phx_err *err)
{
	(void)f, (void)err;
	assert_string_equal(from, body);
	assert_int_equal(strlen(of), 64);
	n_kept++;
	return 0;
}

void flows_settle(struct flows *f, const char *of, int r)
{
	(void)f;
	assert_int_equal(strlen(of), 64);
	n_kept--;
	settled = r;
}

char *flows_path(const struct flows *f, const char *of)
{
	(void)f;
	assert_string_equal(of, digest);
	return strdup(body);
}

const struct phx_flow *flows_lock(struct flows *f, const char *of, struct phx_err *err)
{
	(void)f;
	assert_false(fake_engine_held);
	assert_string_equal(of, digest);
	if (unread)
		phx_err_set(err, -EIO, "%s", unread);
	return unread ? NULL : &flow;
}

void flows_unlock(struct flows *f)
{
	(void)f;
	assert_null(unread);
}

void member_init(const struct person_login *login, struct member *ret)
{
	assert_false(fake_engine_held);
	assert_int_equal(login->uid, ALICE);
	*ret = (struct member){0};
	n_members++;
}

bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group)
{
	(void)m;
	assert_true(fake_engine_held);
	assert_string_equal(a->name, "mtc");
	*ret_group = group;
	return group;
}

void member_fini(struct member *m)
{
	(void)m;
	n_members--;
}

bool person_works_as(struct daemon *d, struct phx_http_request *q, const char *name,
		     struct person_login *ret)
{
	(void)d;
	PHX_STR_SET(works_as, name ? name : "himself");
	if (!has_login)
		phx_http_reply_error(q, -EPERM, "nobody of that name");
	*ret = (struct person_login){.name = "alice", .uid = ALICE, .gid = 100};
	return has_login;
}

bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	(void)d;
	if (!agent)
		phx_http_reply_error(q, -EACCES, "an older certificate");
	return agent && phx_str_copy(ret_node, PHX_NAME_MAX, agent) == 0;
}

bool live_heard(struct live *l, const char *node)
{
	(void)l;
	assert_string_equal(node, agent);
	n_heard++;
	return false;
}

void asks_put(struct asks *k, struct phx_http_request *q, const struct asks_wish *wish)
{
	struct phx_err err = {0};
	(void)k;
	assert_int_equal(wish->kind->order, PHX_ORDER_output);
	assert_int_equal(wish->kind->may(&head, q, wish->node, &err), 0);
	assert_int_equal(phx_json_to_record(&phx_task_ask_record, wish->words, &asked, &err), 0);
	PHX_STR_SET(asked_node, wish->node);
	json_decref(wish->words);
	json_decref(frame);
	frame = wish->frame;
	phx_http_suspend(q);
	n_asked++;
}

void asks_told(struct asks *k, const struct asks_kind *kind, const char *node, uint64_t id,
	       const char *why, json_t *of)
{
	(void)k;
	assert_int_equal(kind->order, PHX_ORDER_output);
	PHX_STR_SET(told_node, node);
	PHX_STR_SET(told_error, why);
	told_id = id;
	json_decref(told);
	told = json_incref(of);
}

/* ---- a head with runs ---- */

/* "a", for which "b" and "c" wait. */
static const char text[] =
	"{\"name\":\"three\",\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":["
	"{\"name\":\"first\",\"id\":\"a\",\"parents\":[],\"children\":[\"b\",\"c\"]},"
	"{\"name\":\"next\",\"id\":\"b\",\"parents\":[\"a\"],\"children\":[]},"
	"{\"name\":\"next\",\"id\":\"c\",\"parents\":[\"a\"],\"children\":[]}]},"
	"\"execution\":{\"tasks\":["
	"{\"id\":\"a\",\"command\":{\"program\":\"/bin/true\",\"arguments\":[]}},"
	"{\"id\":\"b\",\"command\":{\"program\":\"/bin/true\",\"arguments\":[]}},"
	"{\"id\":\"c\",\"command\":{\"program\":\"/bin/true\",\"arguments\":[]}}]}}}";

/* Of the user; its id. */
static inline uint64_t submits(uint32_t uid)
{
	struct phx_event ev = {.kind = PHX_EV_workflow_submit,
			       .workflow_submit = {.n_tasks = N_TASKS, .uid = uid, .gid = uid}};
	struct phx_outcome out = {0};
	PHX_STR_SET(ev.workflow_submit.digest, digest);
	PHX_STR_SET(ev.re, "mtc");
	assert_int_equal(phx_flow_shape_write(&flow, &ev.workflow_submit.shape), 0);
	if (world_apply(w, &ev, &out) < 0)
		fail_msg("%s", w->err.text);
	uint64_t id = out.workflow;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	tick(w, 1000); /* its first task begins */
	return id;
}

static inline int setup(void **state)
{
	struct phx_err err = {0};
	struct phx_agreement a = mtc_agreement("unix:hpc", 1);
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	strcpy(top, "/tmp/phx-api-flows.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(body, sizeof(body), "%s/upload", top);
	if (phx_wfformat_read("workflow", text, strlen(text), &flow, &err) < 0)
		fail_msg("%s", err.text);
	world_setup((void **)&w);
	world_ready(w, "n1", true);
	a.upper = 1;
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "mtc"), 0);
	settle(w);
	fake_state = &w->s;
	fake_roles = FAKE_USER;
	fake_identity = "unix:alice";
	n_kept = n_members = n_asked = n_heard = 0;
	settled = 1;
	wrong = unread = agent = NULL;
	group = "";
	has_login = true;
	works_as[0] = told_node[0] = told_error[0] = '\0';
	told_id = 0;
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	assert_int_equal(n_kept, 0); /* each text that was kept is settled */
	assert_int_equal(n_members, 0);
	json_decref(PHX_TAKE(answer));
	json_decref(PHX_TAKE(frame));
	json_decref(PHX_TAKE(told));
	phx_flow_fini(&flow);
	world_teardown((void **)&w);
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return phx_dir_remove(top, NULL);
}

static inline int ends(struct phx_http_request *q)
{
	json_decref(PHX_TAKE(answer));
	PHX_STR_SET(error, q->text);
	answer = json_incref(q->json);
	return q->code;
}

static inline void asks_as(unsigned roles, const char *identity)
{
	fake_roles = roles;
	fake_identity = identity;
}

#endif
