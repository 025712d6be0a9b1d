/* Disks that profiles and groups of nodes protect: those of all sets of a node, told by nodes that
 * have the same; what is wrong is refused; where each was written is shown. */
#include "unit/site/help.h"

#include <errno.h>
#include <stdio.h>

#include "site/effective.h"
#include "types/disk_select.h"

#define SITE(profile, group) \
	"{\"profiles\": [{\"name\": \"storage\", \"place\": \"d/profiles.conf:1\", " \
	"\"protected_disks\": [" profile "]}], \"nodes\": [{\"nodes\": \"n[1-3]\", \"place\": " \
	"\"d/nodes.conf:1\", \"profiles\": [{\"name\": \"storage\", \"text\": \"storage\", " \
	"\"line\": 1}]}, {\"nodes\": \"n2,m[1-2]\", \"place\": \"d/nodes.conf:2\", " \
	"\"protected_disks\": [" group "]}]}"
#define DISK(text, line) "{\"text\": \"" text "\", \"line\": " #line "}"

static const struct wrong settings[] = {
	{SITE(DISK("id=wwn-1", 3) "," DISK("id=wwn-2, size=1TiB..", 3), DISK("id=wwn-1", 9)), NULL},
	{SITE(DISK("wwn-1", 4), ""), "d/profiles.conf:4: protected_disks 'wwn-1' is no selector"},
	{SITE(DISK("size=big", 4), ""), "size as in size=1TiB.."},
	{SITE("", DISK("id=a", 8) "," DISK("id=a", 9)),
	 "d/nodes.conf:9: protected_disks 'id=a' is there twice"},
};

static void what_is_wrong_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(settings); i++)
		check_wrong(&settings[i]);
}

static void index_of(const char *json, struct phx_site *s, struct phx_site_index **ix)
{
	parse(json, s);
	assert_int_equal(phx_site_index_new(s, ix), 0);
}

static void done(struct phx_site *s, struct phx_site_index *ix)
{
	phx_site_index_free(ix);
	phx_record_fini(&phx_site_record, s);
}

/* n2 has those of its profile and its own; n1 and n3 have the same, and are told together. */
static void those_of_all_sets_count(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
	struct phx_site s;
	struct phx_site_index *ix;
	struct phx_list groups;
	(void)state;
	index_of(SITE(DISK("id=wwn-1", 3) "," DISK("id=wwn-2", 3),
		      DISK("id=wwn-1", 9) "," DISK("model=X", 9)),
		 &s, &ix);
	assert_int_equal(phx_site_protected(ix, &groups, NULL), 0);
	PHX_LIST_EACH(struct phx_protect_group, g, &groups)
		phx_buf_addf(&said, "%s\n%s\n\n", g->nodes, g->selectors);
	assert_string_equal(said.data,
			    "n[1,3]\nid=wwn-1\nid=wwn-2\n\n"
			    "n2\nid=wwn-1\nid=wwn-2\nmodel=X\n\n"
			    "m[1-2]\nid=wwn-1\nmodel=X\n\n");
	phx_site_protected_fini(&groups);
	done(&s, ix);
}

static void add_origin(void *arg, const char *key, const char *name, const char *text,
		       const char *place)
{
	if (!strcmp(key, "protected_disks"))
		phx_buf_addf(arg, "%s%s %s\n", name, text, place);
}

static void its_place_is_shown(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
	struct phx_site s;
	struct phx_site_index *ix;
	(void)state;
	index_of(SITE(DISK("id=wwn-1", 3), DISK("model=X", 9)), &s, &ix);
	assert_int_equal(phx_site_origins(ix, "n2", add_origin, &said), 0);
	assert_string_equal(said.data, "id=wwn-1 d/profiles.conf:3\nmodel=X d/nodes.conf:9\n");
	done(&s, ix);
}

static void without_any_there_is_none(void **state)
{
	struct phx_site s;
	struct phx_site_index *ix;
	struct phx_list groups;
	(void)state;
	index_of(SITE("", ""), &s, &ix);
	assert_int_equal(phx_site_protected(ix, &groups, NULL), 0);
	assert_int_equal(groups.n, 0);
	done(&s, ix);
}

/* They must fit beside those of phoenix.conf. */
static void too_many_are_refused(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf json = {0}, said = {0};
	struct phx_site s;
	(void)state;
	phx_buf_addf(&json,
		     "{\"nodes\": [{\"nodes\": \"n1\", \"place\": \"d/nodes.conf:1\", "
		     "\"protected_disks\": [");
	for (int i = 0; i < 20; i++)
		phx_buf_addf(&json, "%s{\"text\": \"id=%060d\", \"line\": 2}", i ? ", " : "", i);
	phx_buf_addf(&json, "]}]}");
	parse(json.data, &s);
	assert_int_equal(phx_site_check(&s, add_line, &said), 1);
	assert_string_equal(said.data,
			    "nodes.conf: protected_disks of node n1 must have less than 1024 "
			    "characters in all, and have 1279\n");
	phx_record_fini(&phx_site_record, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(those_of_all_sets_count),
		cmocka_unit_test(its_place_is_shown),
		cmocka_unit_test(without_any_there_is_none),
		cmocka_unit_test(too_many_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
