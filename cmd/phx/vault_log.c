/* phx journal vault, and phx journal verify --vault-log: what the process that holds the keys has
 * done, by its own log (lib/vault/log.h). Reads files; asks nobody. Writes nothing. */
#include "phx/vault_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"

/* ---- compared with anchors ---- */

static const char **sorted(const char *const *paths, size_t n)
{
	const char **ret = calloc(n + 1, sizeof(*ret));
	for (size_t i = 0; ret && i < n; i++)
		ret[i] = paths[i];
	if (ret)
		phx_vault_log_sort(ret, n);
	return ret;
}

int vault_log_find(const struct cli_values *files, const struct phx_list *anchors,
		   struct vault_log_found *ret, struct phx_err *err)
{
	PHX_AUTO_FREE const char **paths = sorted(files->v, files->n);
	int r = paths ? phx_vault_log_audit(paths, files->n, anchors, &ret->audit, err) : -ENOMEM;
	ret->finding = r > 0 ? r : 0;
	return r < 0 ? r : 0;
}

void vault_log_say(const struct vault_log_found *f)
{
	const struct phx_vault_audit *a = &f->audit;
	if (f->finding) {
		cli_fail(CLI_PARTIAL, "the vault's log: %s", a->text);
		return;
	}
	printf("The vault's log: lines %llu to %llu follow each other.\n",
	       (unsigned long long)a->first, (unsigned long long)a->last);
	if (a->first > 1)
		printf("Lines before them are not in these files: %s.\n",
		       a->n_proofs ? "the log says that they were dropped (vault_log_keep)"
				   : "whether they were dropped or cut off cannot be told");
	if (a->n_before)
		printf("%u anchors are of lines before them.\n", a->n_before);
	if (a->n_proofs)
		printf("%u anchors fit, the last says line %llu; what was taken away behind it "
		       "cannot be told.\n",
		       a->n_proofs, (unsigned long long)a->proven);
	else
		printf("No anchor from elsewhere says how far it was: its end may be cut.\n");
}

json_t *vault_log_view(const struct vault_log_found *f)
{
	static const char *const findings[] = {"ok", "line", "anchor"};
	const struct phx_vault_audit *a = &f->audit;
	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "finding", findings[f->finding],
			 "text", a->text, "first", (json_int_t)a->first, "last",
			 (json_int_t)a->last, "proven", (json_int_t)a->proven, "proven_ms",
			 (json_int_t)a->proven_ms, "anchors", (json_int_t)a->n_proofs,
			 "anchors_before", (json_int_t)a->n_before);
}

/* ---- shown ---- */

struct shown {
	const char *node; /* only lines that name it; NULL: all */
	json_t *rows;     /* NULL: as text */
};

static bool names(const char *text, const char *node)
{
	size_t n = strlen(node);
	for (const char *at = text; (at = strstr(at, node)); at += n)
		if ((at == text || at[-1] == ' ') && (!at[n] || strchr(" :", at[n])))
			return true;
	return false;
}

static void show(void *arg, const struct phx_vault_line *line)
{
	const struct shown *s = arg;
	time_t t = (time_t)(line->time_ms / 1000);
	struct tm tm;
	char when[40] = "-";
	if (s->node && !names(line->text, s->node))
		return;
	if (s->rows) {
		json_array_append_new(s->rows,
				      json_pack("{s:I,s:I,s:s}", "line", (json_int_t)line->number,
						"time_ms", (json_int_t)line->time_ms, "text",
						line->text));
		return;
	}
	if (localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	printf("%llu  %s  %s\n", (unsigned long long)line->number, when, line->text);
}

/* This head's files (struct phx_vault_file). */
static int own_files(struct cli *cli, struct phx_list *ret, struct phx_err *err)
{
	const char *dir = cli_head_dir(cli, "pki_dir");
	if (!dir)
		return -ENOENT;
	int r = phx_vault_log_turned(dir, ret, err);
	struct phx_vault_file *last = r == 0 ? phx_list_push(ret, sizeof(*last)) : NULL;
	if (!last)
		return r ? r : -ENOMEM;
	snprintf(last->path, sizeof(last->path), "%s/vault.log", dir);
	return 0;
}

static int show_all(struct cli *cli, const char *const *paths, size_t n)
{
	struct phx_vault_reader reader = {0};
	struct phx_err err = {0};
	PHX_AUTO_FREE const char **in_order = sorted(paths, n);
	PHX_AUTO_JSON json_t *rows = cli_structured(cli) ? json_array() : NULL;
	struct shown shown = {cli_opt(cli, CLI_OPT_node, NULL), rows};
	int r = in_order ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = phx_vault_log_read(&reader, in_order[i], show, &shown, NULL, &err);
	PHX_AUTO_FREE char *complaint = reader.complaint;
	if (r < 0)
		return cli_fail_err(r, &err);
	if (rows)
		cli_print_value(cli, rows);
	return complaint ? cli_fail(CLI_PARTIAL, "%s", complaint) : CLI_OK;
}

int cmd_journal_vault(struct cli *cli)
{
	const struct cli_values *given = &cli->args.opt[CLI_OPT_vault_log];
	PHX_AUTO(phx_list_fini) struct phx_list own = {0};
	struct phx_err err = {0};
	if (given->n)
		return show_all(cli, given->v, given->n);
	int r = own_files(cli, &own, &err);
	if (r < 0)
		return cli->head_code ? cli->head_code : cli_fail_err(r, &err);
	PHX_AUTO_FREE const char **paths = calloc(own.n, sizeof(*paths));
	if (!paths)
		return cli_fail_err(-ENOMEM, &err);
	for (uint32_t i = 0; i < own.n; i++)
		paths[i] = PHX_LIST_AT(&own, struct phx_vault_file, i)->path;
	return show_all(cli, paths, own.n);
}
