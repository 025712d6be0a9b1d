/* phx re check, request and create: agreements of runtime environments, from files. What is wrong
 * with one by itself is said here, all else is phxd's to say. */
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "config/agreement.h"
#include "phx/cli.h"

enum { CALL_MS = 60000 };

/* ---- check ---- */

static const struct cli_column finding_columns[] = {
	{.head = "FILE", .path = "file"},
	{.head = "LINE", .path = "line", .right = true},
	{.head = "FIELD", .path = "field"},
	{.head = "FINDING", .path = "text"},
};

static void add_findings(json_t *rows, const char *path, const struct phx_list *findings)
{
	PHX_LIST_EACH(struct phx_agreement_finding, f, findings) {
		json_t *row = phx_json_from_record(&phx_agreement_finding_record, f);
		json_object_set_new(row, "file", json_string(path));
		json_array_append_new(rows, row);
	}
}

/* For people: a line a finding, as compilers write them. */
static void print_findings(const char *path, const struct phx_list *findings)
{
	PHX_LIST_EACH(struct phx_agreement_finding, f, findings) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		phx_buf_addf(&b, "%s", path);
		if (f->line)
			phx_buf_addf(&b, ":%u", f->line);
		phx_buf_addf(&b, ": %s%s", f->field, f->field[0] ? ": " : "");
		cli_put_clean(&b, f->text);
		fprintf(stderr, "phx: %s\n", b.data ? b.data : "");
	}
}

static void print_right(const char *path, const struct phx_agreement *a)
{
	uint32_t upper = phx_agreement_upper(a);
	printf("%s: RE %s: %s, %s, ", path, a->name, phx_enum_name(&phx_re_type_names, a->type),
	       phx_enum_name(&phx_policy_names, a->model));
	if (upper && upper == a->lower)
		printf("%u node%s\n", upper, upper == 1 ? "" : "s");
	else if (upper)
		printf("%u to %u nodes\n", a->lower, upper);
	else
		printf("%u node%s and more\n", a->lower, a->lower == 1 ? "" : "s");
}

static int check_one(struct cli *cli, const char *path, json_t *rows)
{
	struct phx_agreement a;
	struct phx_list findings = {0};
	struct phx_err err = {0};
	int r = phx_agreement_load(path, &a, &findings, &err);
	bool lines = cli->format == CLI_TABLE;
	add_findings(rows, path, &findings);
	if (r < 0 && !findings.n)
		cli_fail(CLI_CONFIG, "%s", err.text);
	if (lines)
		print_findings(path, &findings);
	phx_list_fini(&findings);
	if (r < 0)
		return CLI_CONFIG;
	if (lines)
		print_right(path, &a);
	phx_record_fini(&phx_agreement_record, &a);
	return CLI_OK;
}

int cmd_re_check(struct cli *cli)
{
	PHX_AUTO_JSON json_t *rows = json_array(), *whole = json_pack("{s:O}", "findings", rows);
	int worst = CLI_OK;
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		int code = check_one(cli, cli_arg(cli, i), rows);
		worst = code ? code : worst;
	}
	if (cli->format != CLI_TABLE)
		cli_print_rows(cli, finding_columns, PHX_ARRAY_SIZE(finding_columns), rows, whole);
	return worst;
}

/* ---- request, create ---- */

/* Of what only phxd knows, such as its images, it says "FIELD: why": that is in a line of the file,
 * too. */
static int refused(const char *file, int code, const struct phx_err *err)
{
	char field[PHX_NAME_MAX];
	snprintf(field, sizeof(field), "%.*s", (int)strcspn(err->text, ":"), err->text);
	uint32_t line = phx_agreement_line_in(file, field);
	return line ? cli_fail(code, "%s:%u: %s", file, line, err->text)
		    : cli_fail(code, "%s", err->text);
}

static int post_file(struct cli *cli, const char *file, json_t *body)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	struct phx_err err = {0};
	if (cli_has(cli, CLI_OPT_dry_run))
		json_object_set_new(body, "dry_run", json_true());
	int code = cli_call_quiet(cli, "POST", "/v1/res", body, CALL_MS, &answer, &err);
	if (code)
		return err.text[0] ? refused(file, code, &err) : code;
	return cli_re_done(cli, answer);
}

static int ask_with_file(struct cli *cli, const char *file, bool create)
{
	struct phx_agreement a;
	struct phx_list findings = {0};
	struct phx_err err = {0};
	int r = phx_agreement_load(file, &a, &findings, &err);
	if (r < 0 && !findings.n)
		cli_fail(CLI_CONFIG, "%s", err.text);
	print_findings(file, &findings);
	phx_list_fini(&findings);
	if (r < 0)
		return CLI_CONFIG;
	PHX_AUTO_JSON json_t *body =
		json_pack("{s:o,s:b}", "agreement", phx_json_from_record(&phx_agreement_record, &a),
			  "create", create);
	phx_record_fini(&phx_agreement_record, &a);
	return post_file(cli, file, body);
}

int cmd_re_request(struct cli *cli)
{
	return ask_with_file(cli, cli_arg(cli, 0), false);
}

/* What lies about here under the name of a request is not taken for it. */
static bool is_file(const char *what)
{
	const char *dot = strrchr(what, '.');
	bool ends = dot && (phx_str_eq(dot, ".conf") || phx_str_eq(dot, ".xml"));
	return strchr(what, '/') || (ends && access(what, F_OK) == 0);
}

int cmd_re_create(struct cli *cli)
{
	const char *what = cli_arg(cli, 0);
	if (is_file(what))
		return ask_with_file(cli, what, true);
	return cli_re_order(cli, "create", what, NULL);
}
