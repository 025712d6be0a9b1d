/* Which nodes failed and why: grouped by reason, folded, on stderr. Called by the commands that
 * act on several nodes or jobs. Orders nothing. */
#include <string.h>

#include "base/json.h"
#include "phx/cli.h"

const char *cli_without_name(const char *text, const char *node)
{
	size_t n = strlen(node);
	const char *p = text + (phx_str_starts(text, "node ") ? strlen("node ") : 0);
	if (strncmp(p, node, n) != 0 || (p[n] != ' ' && p[n] != ':'))
		return text;
	p += n + (p[n] == ':');
	return p + strspn(p, " ");
}

void cli_report_add(struct cli_report *r, const char *node, const char *reason)
{
	reason = cli_without_name(reason, node);
	if (!r->reasons)
		r->reasons = json_object();
	json_t *names = json_object_get(r->reasons, reason);
	if (!names) {
		names = json_array();
		json_object_set_new(r->reasons, reason, names);
	}
	json_array_append_new(names, json_string(node));
	r->n_failed++;
}

void cli_report_print(const struct cli_report *r)
{
	const char *reason;
	json_t *names;
	json_object_foreach(r->reasons, reason, names) {
		PHX_AUTO_FREE char *folded = cli_nodes_fold(names);
		PHX_AUTO(phx_buf_fini) struct phx_buf clean = {0};
		cli_put_clean(&clean, reason);
		cli_fail(CLI_PARTIAL, "%s: %s", folded ? folded : "?",
			 clean.data ? clean.data : "failed");
	}
}

void cli_report_fini(struct cli_report *r)
{
	json_decref(r->reasons);
	*r = (struct cli_report){0};
}
