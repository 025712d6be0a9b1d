/* The table of rights: each row of what is promised to whom, by columns. A right that is added or
 * widened without its row here fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "types/rights.h"

enum { N = PHX_SCOPE_NONE, O = PHX_SCOPE_OWN, A = PHX_SCOPE_ALL };

/* Columns of the promise: admin, operator, auditor, owner of an RE, member of it, user, node. */
enum { COLUMNS = 7 };

/* The rights that a row is of; the cell of one of them may be narrower than the row's. */
static const struct {
	const char *promise;
	int most[COLUMNS];
	enum phx_right rights[8];
	size_t n;
} rows[] = {
#define ROW(...) {__VA_ARGS__}, sizeof((enum phx_right[]){__VA_ARGS__}) / sizeof(enum phx_right)
#define R(name) PHX_RIGHT_##name
	{"certificates, people, BMC credentials", {A, N, N, N, N, N, N}, ROW(R(people), R(bmc))},
	/* who may apply them is root on nodes: no operator */
	{"users and files of nodes", {A, N, N, N, N, N, N}, ROW(R(site))},
	{"assign, wipe, power, images, roles: to order", {A, A, N, N, N, N, N}, ROW(R(nodes))},
	{"assign, wipe, power, images, roles: to read", {A, A, A, N, N, N, N}, ROW(R(rules))},
	{"what is in roles and images", {A, A, A, O, N, N, N}, ROW(R(catalog))},
	/* a node fetches those of its roles, which is the agent's right */
	{"packages, configuration", {A, A, N, N, N, N, N}, ROW(R(packages))},
	{"names of what there is", {A, A, A, A, A, A, N}, ROW(R(look))},
	/* everybody else is told of his own REs, by other rights */
	{"metrics of everything", {A, A, A, N, N, N, N}, ROW(R(metrics))},
	/* a member and a user are told of their own jobs */
	{"journal, attestations, events",
	 {A, A, A, O, O, O, N},
	 ROW(R(events), R(journal), R(erasures))},
	{"what services of a node write", {A, A, N, O, N, N, N}, ROW(R(logs))},
	{"RE: grant", {A, A, N, N, N, N, N}, ROW(R(re_grant))},
	/* own: where the resource provider is the service provider, too */
	{"RE: ask, life cycle, members", {O, O, N, O, N, N, N}, ROW(R(re_order))},
	{"RE: what it holds and held", {A, A, A, O, N, N, N}, ROW(R(re_history))},
	{"RE: agreement", {A, A, A, O, O, N, N}, ROW(R(re_see), R(re_know))},
	{"RE data directory", {O, N, N, O, O, N, N}, ROW(R(re_data))},
	{"jobs: submit", {A, N, N, O, O, N, N}, ROW(R(job_submit))},
	{"jobs: see", {A, A, A, O, O, O, N}, ROW(R(job_see))},
	{"jobs: cancel", {A, A, N, O, O, O, N}, ROW(R(job_cancel))},
	{"jobs: hold, and what they wrote", {A, N, N, O, O, O, N}, ROW(R(job_hold), R(job_output))},
	{"hardware ids, addresses", {A, A, A, O, N, N, N}, ROW(R(hardware))},
	{"what an agent tells and fetches", {N, N, N, N, N, N, O}, ROW(R(agent))},
	{"without a name", {A, A, A, A, A, A, A}, ROW(R(public))},
#undef R
#undef ROW
};

static int cell(enum phx_right right, int column)
{
	static const enum phx_who whos[COLUMNS] = {
		PHX_WHO_ADMIN,  PHX_WHO_OPERATOR, PHX_WHO_AUDITOR, PHX_WHO_PROVIDER,
		PHX_WHO_COUNT_, PHX_WHO_USER,     PHX_WHO_NODE};
	return (int)(whos[column] == PHX_WHO_COUNT_ ? phx_right_member(right)
						    : phx_right_cell(right, whos[column]));
}

static void no_cell_is_wider_than_promised(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		for (size_t k = 0; k < rows[i].n; k++)
			for (int c = 0; c < COLUMNS; c++)
				if (cell(rows[i].rights[k], c) > rows[i].most[c])
					fail_msg("%s: %s may, in column %d", rows[i].promise,
						 phx_enum_name(&phx_right_names,
							       (int)rows[i].rights[k]),
						 c);
}

/* What a row promises to somebody is given by one of its rights. */
static void what_is_promised_is_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		for (int c = 0; c < COLUMNS; c++) {
			int widest = N;
			for (size_t k = 0; k < rows[i].n; k++)
				if (cell(rows[i].rights[k], c) > widest)
					widest = cell(rows[i].rights[k], c);
			if (widest != rows[i].most[c])
				fail_msg("%s: column %d", rows[i].promise, c);
		}
}

static void each_right_has_its_row(void **state)
{
	(void)state;
	for (int right = 0; right < PHX_RIGHT_COUNT_; right++) {
		int n = 0;
		for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
			for (size_t k = 0; k < rows[i].n; k++)
				n += (int)rows[i].rights[k] == right;
		if (n != 1)
			fail_msg("%s stands in %d rows", phx_enum_name(&phx_right_names, right), n);
	}
}

static void roles_combine_to_the_widest(void **state)
{
	(void)state;
	unsigned user = 1u << PHX_WHO_USER, operator= 1u << PHX_WHO_OPERATOR,
		 auditor = 1u << PHX_WHO_AUDITOR;
	assert_int_equal(phx_right_scope(PHX_RIGHT_nodes, operator| auditor), A);
	assert_int_equal(phx_right_scope(PHX_RIGHT_journal, operator| auditor), A);
	assert_int_equal(phx_right_scope(PHX_RIGHT_journal, operator), N);
	/* any user may be a member of some RE */
	assert_int_equal(phx_right_scope(PHX_RIGHT_re_data, operator), N);
	assert_int_equal(phx_right_scope(PHX_RIGHT_re_data, operator| user), O);
	assert_int_equal(phx_right_scope(PHX_RIGHT_public, 0), A);
	assert_int_equal(phx_right_scope(PHX_RIGHT_look, 0), N);
}

/* Of an RE whose service provider the resource provider is. */
static void who_acts_for_the_resource_provider(void **state)
{
	(void)state;
	unsigned admin = 1u << PHX_WHO_ADMIN, operator= 1u << PHX_WHO_OPERATOR,
		 others = 1u << PHX_WHO_AUDITOR | 1u << PHX_WHO_PROVIDER | 1u << PHX_WHO_USER;
	assert_true(phx_right_as_provider(PHX_RIGHT_re_data, admin));
	assert_false(phx_right_as_provider(PHX_RIGHT_re_data, operator| others));
	assert_true(phx_right_as_provider(PHX_RIGHT_re_grant, operator));
	assert_false(phx_right_as_provider(PHX_RIGHT_re_grant, others));
	assert_false(phx_right_as_provider(PHX_RIGHT_re_see, others));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_cell_is_wider_than_promised),
		cmocka_unit_test(what_is_promised_is_there),
		cmocka_unit_test(each_right_has_its_row),
		cmocka_unit_test(roles_combine_to_the_widest),
		cmocka_unit_test(who_acts_for_the_resource_provider),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
