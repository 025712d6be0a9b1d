/* What is shown of a node, and to whom (cmd/phxd/view_node.c). view_node.txt says of each member
 * who sees it: a member that it does not name fails, so that who adds one decides. Each text of the
 * node has ids of disks, an address and what a service wrote within. The state is real, what agents
 * told is a fake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "phxd/view_hide.c" /* parts of a program, not of the library */
#include "phxd/view_node.c"

#define DISK "serial-DISK"
#define ADDRESS "10.66.0.1"
#define SAID "SAID"
#define RUNS "mark@7 mpi-4"
#define MARK DISK " " ADDRESS " " RUNS " status 1: " SAID
#define CUT "serial-... ... mark... status 1" /* of a sentence like that, all that others read */

/* who has nothing, whose the node is, the resource provider */
static const struct view_scopes others, owner = {PHX_SCOPE_OWN, PHX_SCOPE_OWN, PHX_SCOPE_OWN},
					provider = {PHX_SCOPE_ALL, PHX_SCOPE_ALL, PHX_SCOPE_ALL};

static struct daemon head;
static struct phx_state core;
static struct phx_node node;
static struct phx_line line;
static enum site_standing stands;
static const char *site_error;

/* ---- what agents told ---- */

void live_version(struct live *l, const char *name, char ret[PHX_TOLD_VERSION_MAX])
{
	(void)l, (void)name;
	phx_str_copy(ret, PHX_TOLD_VERSION_MAX, "0.1.0");
}

void live_put_monitor(struct live *l, const char *name, struct phx_buf *b)
{
	(void)l;
	assert_string_equal(name, node.name);
	phx_buf_addf(b, "{\"web_use_error\":\"" MARK "\"}");
}

enum site_standing site_standing(struct daemon *d, const struct phx_state *s,
				 const struct phx_node *n, char ret_error[BEAT_ERROR_MAX])
{
	assert_ptr_equal(d, &head);
	assert_ptr_equal(s, &core);
	assert_ptr_equal(n, &node);
	snprintf(ret_error, BEAT_ERROR_MAX, "%s", site_error);
	return stands;
}

/* ---- a node that has something in each of its members ---- */

static void fill(const struct phx_record *rec, void *obj)
{
	for (size_t i = 0; i < rec->n_fields; i++) {
		const struct phx_field *f = &rec->fields[i];
		void *at = (char *)obj + f->offset;
		switch (f->type) {
		case PHX_F_STR:
			snprintf(at, f->size, MARK);
			break;
		case PHX_F_TEXT:
			*(char **)at = strdup(MARK);
			break;
		case PHX_F_U32:
			*(uint32_t *)at = 7;
			break;
		case PHX_F_U64:
		case PHX_F_I64:
			*(uint64_t *)at = 7;
			break;
		case PHX_F_BOOL:
			*(bool *)at = true;
			break;
		case PHX_F_ENUM:
		case PHX_F_ONEOF:
			*(int *)at = 1;
			break;
		case PHX_F_REC:
			fill(f->record, at);
			break;
		case PHX_F_LIST:
			fill(f->record, phx_list_push(at, f->record->size));
			break;
		case PHX_F_CASE:
		case PHX_F_LIVE:
			fail_msg("%s: a node has none of this kind", f->name);
		}
	}
}

static int setup(void **state)
{
	(void)state;
	struct phx_role *role =
		phx_state_init(&core) < 0 ? NULL : phx_list_push(&core.roles, sizeof(*role));
	struct phx_package_ref *p = role ? phx_list_push(&role->packages, sizeof(*p)) : NULL;
	if (!p)
		return -1;
	PHX_STR_SET(role->name, "web");
	PHX_STR_SET(role->image, "debian");
	PHX_STR_SET(role->image_version, "12");
	PHX_STR_SET(p->name, "nginx");
	PHX_STR_SET(p->version, "1");
	fill(&phx_node_record, &node);
	PHX_STR_SET(node.name, "n1");
	PHX_STR_SET(node.role, "web");
	PHX_STR_SET(node.pool, "free");
	node.state = PHX_NODE_ACTIVE;
	line = (struct phx_line){.id = node.line, .done = 3, .most = 2, .stopped = MARK};
	*(struct phx_line *)phx_list_push(&core.lines, sizeof(line)) = line;
	stands = SITE_FAILED;
	site_error = MARK;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_record_fini(&phx_node_record, &node);
	node = (struct phx_node){0};
	phx_state_fini(&core);
	return 0;
}

static char *text_for(const char *list, const struct view_scopes *scopes, bool sparse)
{
	struct view_members members;
	struct phx_buf b = {0};
	struct phx_err err = {0};
	if (view_members(list, scopes, &members, &err) < 0)
		fail_msg("%s", err.text);
	members.less.empty = sparse;
	view_node_put(&head, &core, &node, &members, &b);
	return phx_buf_take(&b);
}

static json_t *shown_to(const char *list, const struct view_scopes *scopes)
{
	PHX_AUTO_FREE char *text = text_for(list, scopes, false);
	json_t *j = json_loads(text, 0, NULL);
	if (!j)
		fail_msg("no JSON: %s", text);
	return j;
}

/* ---- who sees which member ---- */

/* Of an object, or the first of a list, each member: "facts.disks.id cut", by what stands in it. */
static void add_members(const json_t *j, const char *path, struct phx_buf *b)
{
	const char *key;
	json_t *value;
	const json_t *of = json_is_array(j) ? json_array_get(j, 0) : j;
	if (!json_is_object(of)) {
		const char *text = json_is_string(of) ? json_string_value(of) : "";
		bool cut = strstr(text, "serial-...") && !strstr(text, SAID) &&
			!strstr(text, ADDRESS) && !strstr(text, RUNS);
		phx_buf_addf(b, "%s %s\n", path, cut ? "cut" : "all");
		return;
	}
	json_object_foreach((json_t *)of, key, value) {
		char below[120];
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
		add_members(value, below, b);
	}
}

/* Is there a line that begins with `path` and a blank? */
static bool has_path(const struct phx_buf *b, const char *path, size_t n)
{
	const char *at = b->data;
	while (at && *at && !(strncmp(at, path, n) == 0 && at[n] == ' '))
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
	return at && *at;
}

static void assert_lines(const char *is, const char *want)
{
	for (; *is && *want; is = strchr(is, '\n') + 1, want = strchr(want, '\n') + 1) {
		int n = (int)strcspn(is, "\n"), m = (int)strcspn(want, "\n");
		if (n != m || strncmp(is, want, (size_t)n) != 0)
			fail_msg("%.*s is shown, and view_node.txt says: %.*s", n, is, m, want);
	}
	if (*is || *want)
		fail_msg("view_node.txt ends before, or after: %s%s", is, want);
}

/* What view_node.txt says is what is shown: `all` of a member by everybody, `cut` if it is a
 * sentence, in which others see less; `holder` by who holds the node, and the resource provider;
 * `head` by the resource provider alone; `nobody`. */
static void each_member_is_shown_to_those_who_may_see_it(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf none = {0}, own = {0}, all = {0}, is = {0};
	PHX_AUTO_JSON json_t *to_none = shown_to(NULL, &others), *to_own = shown_to(NULL, &owner),
			     *to_all = shown_to(NULL, &provider),
			     *whole = phx_json_from_record(&phx_node_record, &node);
	PHX_AUTO_FREE char *want = NULL;
	struct phx_buf every = {0};
	(void)state;
	add_members(to_none, "", &none);
	add_members(to_own, "", &own);
	add_members(to_all, "", &all);
	json_object_update_missing(whole, to_all); /* the added members */
	add_members(whole, "", &every);
	for (const char *at = every.data; *at; at = strchr(at, '\n') + 1) {
		size_t n = strcspn(at, " ");
		bool cut = false;
		for (const char *of = none.data; *of && !cut; of = strchr(of, '\n') + 1)
			cut = !strncmp(of, at, n) && phx_str_starts(of + n, " cut\n");
		phx_buf_addf(&is, "%.*s %s\n", (int)n, at,
			     cut                              ? "cut"
				     : has_path(&none, at, n) ? "all"
				     : has_path(&own, at, n)  ? "holder"
				     : has_path(&all, at, n)  ? "head"
							      : "nobody");
	}
	phx_buf_fini(&every);
	assert_int_equal(
		phx_file_read(TEST_DIR "/unit/phxd/view_node.txt", 1 << 20, &want, NULL, NULL), 0);
	if (strcmp(is.data, want) != 0)
		fputs(is.data, stderr); /* as the file would be */
	assert_lines(is.data, want);
}

/* ---- members that are asked for ---- */

static const char *refusal_of(const char *list)
{
	static struct phx_err err;
	struct view_members members;
	phx_err_clear(&err);
	assert_int_equal(view_members(list, &provider, &members, &err), -EINVAL);
	return err.text;
}

static void members_that_there_are_not_are_named(void **state)
{
	(void)state;
	assert_string_equal(refusal_of("name,colour"), "fields: a node has no member 'colour'");
	assert_string_equal(refusal_of("names"), "fields: a node has no member 'names'");
	assert_string_equal(refusal_of("nam"), "fields: a node has no member 'nam'");
	assert_string_equal(refusal_of("facts.cpus"), "fields: a node has no member 'facts.cpus'");
	assert_string_equal(refusal_of("name,,up"), "fields: a node has no member ''");
}

static void assert_shown(const char *list, const struct view_scopes *scopes, const char *want)
{
	PHX_AUTO_FREE char *text = text_for(list, scopes, false);
	assert_string_equal(text, want);
}

/* To name a member does not show it to who may not see it. */
static void what_is_asked_for_is_shown_as_far_as_it_may_be_seen(void **state)
{
	(void)state;
	assert_shown("", &others, "{}");
	assert_shown("up,name,name,drift", &others, "{\"name\":\"n1\",\"up\":true,\"drift\":true}");
	assert_shown("macs,serial,bmc,key_fp,token_sha256,by_mac_alone,notes", &others, "{}");
	assert_shown("expected,actual_identity,system_version,layout", &others, "{}");
	assert_shown("expected,system_version", &owner,
		     "{\"system_version\":\"" MARK "\",\"expected\":\"debian@12 nginx-1\"}");
	assert_shown("serial,key_fp,token_sha256", &owner, "{\"serial\":\"" MARK "\"}");
	assert_shown("key_fp,token_sha256,by_mac_alone", &provider,
		     "{\"key_fp\":\"" MARK "\",\"by_mac_alone\":false}");
	assert_shown("reason,site", &others,
		     "{\"reason\":\"" CUT "\",\"site\":\"failed: " CUT "\"}");
}

/* A list of all names is the longest that there is. */
static void all_members_may_be_named(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf list = {0};
	PHX_AUTO_FREE char *all = text_for(NULL, &provider, false);
	(void)state;
	for (size_t i = 0; i < phx_node_record.n_fields; i++)
		phx_buf_addf(&list, "%s,", phx_node_record.fields[i].name);
	for (size_t i = 0; i < VIEW_EXTRAS; i++)
		phx_buf_addf(&list, "%s%s", i ? "," : "", extras[i].name);
	PHX_AUTO_FREE char *named = text_for(list.data, &provider, false);
	assert_string_equal(named, all);
}

/* The rights are apart: an auditor sees hardware and versions, and no logs. */
static void each_right_shows_its_own(void **state)
{
	static const char list[] = "reason,monitor,unfit_for,checks,turn,by_mac_alone,expected";
	static const struct {
		struct view_scopes scopes;
		bool hardware, said, software;
	} rows[] = {
		{{.hardware = PHX_SCOPE_ALL}, true, false, false},
		{{.logs = PHX_SCOPE_ALL}, false, true, false},
		{{.catalog = PHX_SCOPE_ALL}, false, false, true},
		{{.hardware = PHX_SCOPE_ALL, .catalog = PHX_SCOPE_ALL}, true, false, true},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_FREE char *text = text_for(list, &rows[i].scopes, false);
		assert_int_equal(strstr(text, DISK) != NULL, rows[i].hardware);
		assert_int_equal(strstr(text, ADDRESS) != NULL, rows[i].hardware);
		assert_int_equal(strstr(text, "by_mac_alone") != NULL, rows[i].hardware);
		assert_int_equal(strstr(text, SAID) != NULL, rows[i].said);
		assert_int_equal(strstr(text, RUNS) != NULL, rows[i].software);
		assert_int_equal(strstr(text, "nginx-1") != NULL, rows[i].software);
	}
}

/* Who may know what is in roles sees how the disks are used, and not which disks they are. */
static void a_layout_is_shown_without_its_disks(void **state)
{
	const struct view_scopes auditor = {.catalog = PHX_SCOPE_ALL};
	PHX_AUTO_JSON json_t *some = shown_to("layout", &auditor);
	PHX_AUTO_JSON json_t *all = shown_to("layout", &provider);
	(void)state;
	const json_t *part =
		json_array_get(json_object_get(json_object_get(some, "layout"), "parts"), 0);
	const json_t *whole =
		json_array_get(json_object_get(json_object_get(all, "layout"), "parts"), 0);
	assert_string_equal(phx_json_str(whole, "disk", ""), MARK);
	assert_int_equal(json_object_size(part) + 1, json_object_size(whole));
	assert_null(json_object_get(part, "disk"));
}

/* ---- members that are added ---- */

static bool drifts(void)
{
	PHX_AUTO_JSON json_t *j = shown_to("drift", &provider);
	return phx_json_bool(j, "drift", false);
}

/* Of a node that serves and is heard alone anybody knows what it runs. */
static void a_node_drifts_that_runs_something_else(void **state)
{
	(void)state;
	PHX_STR_SET(node.actual_role, "web");
	PHX_STR_SET(node.actual_identity, "debian@12 nginx-1");
	assert_false(drifts());
	PHX_STR_SET(node.actual_identity, "debian@12 nginx-2");
	assert_true(drifts());
	node.up = false;
	assert_false(drifts());
	node.up = true;
	node.state = PHX_NODE_DEPLOYING;
	assert_false(drifts());
	node.state = PHX_NODE_ACTIVE;
	PHX_STR_SET(node.actual_identity, "debian@12 nginx-1");
	PHX_STR_SET(node.actual_role, "");
	assert_true(drifts());
	/* there is no such role any more: nothing is expected */
	PHX_STR_SET(node.role, "gone");
	PHX_STR_SET(node.actual_role, "gone");
	PHX_STR_SET(node.actual_identity, "");
	assert_false(drifts());
	assert_shown("expected", &provider, "{\"expected\":\"\"}");
}

static void the_settings_of_the_site_are_told_in_words(void **state)
{
	static const struct {
		enum site_standing stands;
		const char *error, *want;
	} rows[] = {
		{SITE_NONE, "", "{\"site\":\"\"}"},
		{SITE_NONE, "old", "{\"site\":\"\"}"},
		{SITE_WAITING, "", "{\"site\":\"waits for its turn\"}"},
		{SITE_APPLYING, "", "{\"site\":\"applying\"}"},
		{SITE_CURRENT, "", "{\"site\":\"up to date\"}"},
		{SITE_FAILED, "no disk", "{\"site\":\"failed: no disk\"}"},
	};
	char most[BEAT_ERROR_MAX], want[BEAT_ERROR_MAX + 40];
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		stands = rows[i].stands;
		site_error = rows[i].error;
		assert_shown("site", &provider, rows[i].want);
	}
	/* the longest that an agent may tell */
	memset(most, 'x', sizeof(most) - 1);
	most[sizeof(most) - 1] = '\0';
	snprintf(want, sizeof(want), "{\"site\":\"failed: %s\"}", most);
	site_error = most;
	assert_shown("site", &provider, want);
}

static void a_turn_is_told_while_the_node_waits_for_it(void **state)
{
	(void)state;
	assert_shown("turn", &provider,
		     "{\"turn\":{\"done\":3,\"of\":0,\"most\":2,\"stopped\":\"" MARK "\"}}");
	node.line_waits = false;
	assert_shown("turn", &provider, "{\"turn\":null}");
	node.line_waits = true;
	node.line = 8; /* it has ended */
	assert_shown("turn", &provider, "{\"turn\":null}");
}

/* A long list has none of what says nothing, and keeps words of states. */
static void a_sparse_list_leaves_out_what_says_nothing(void **state)
{
	static const char list[] = "name,state,reason,pinned,number,labels,drift,site,turn";
	struct phx_label *label = PHX_LIST_AT(&node.labels, struct phx_label, 0);
	(void)state;
	node.reason[0] = '\0';
	node.pinned = node.line_waits = node.up = false;
	node.number = 0;
	label->value[0] = '\0';
	PHX_STR_SET(label->key, "rack");
	stands = SITE_NONE;
	PHX_AUTO_FREE char *text = text_for(list, &provider, true);
	assert_string_equal(text,
			    "{\"name\":\"n1\",\"state\":\"active\","
			    "\"labels\":[{\"key\":\"rack\",\"value\":\"\"}]}");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_member_is_shown_to_those_who_may_see_it),
		T(members_that_there_are_not_are_named),
		T(what_is_asked_for_is_shown_as_far_as_it_may_be_seen),
		T(all_members_may_be_named),
		T(each_right_shows_its_own),
		T(a_layout_is_shown_without_its_disks),
		T(a_node_drifts_that_runs_something_else),
		T(the_settings_of_the_site_are_told_in_words),
		T(a_turn_is_told_while_the_node_waits_for_it),
		T(a_sparse_list_leaves_out_what_says_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
